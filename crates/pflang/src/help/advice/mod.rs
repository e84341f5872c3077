//! What was probably meant by a text that is no filter.
//!
//! Runs when somebody asks about an error of the parser or of lowering. What it proposes, it has compiled.
//!
//! ```text
//! display_filter   Wireshark's other language
//! stop             the word that could stand where the parser stopped, also in a set's file
//! primitive        one primitive in other words, or in another order
//! fields           fields of headers by other names, and numbers that do not fit them
//! phrases          other phrases of nftables and others, and of this language, nearly
//! hints            what to know where nothing can be proposed
//! ```

mod cursor;
mod display_filter;
mod fields;
mod hints;
mod phrases;
mod primitive;
mod stop;

use crate::clock::Clock;
use crate::compiler::Compiler;
use crate::diag::{Code, Diagnostic, Suggestion};
use crate::help::lint;
use crate::lower;
use crate::options::{Dialect, Limits, NoNames};
use crate::syntax::ast::{Ast, Expr, Id, Kind, Quals};
use crate::syntax::lex::{Sign, TokenKind, Tokens, lex};
use crate::syntax::parse;
use crate::syntax::parser::expected::Expected;
use crate::syntax::parser::{self, Parser, is_filter};
use cursor::{Cursor, Phrase};
use fields::{exceeded, fields, message};
use phrases::{OF_FILTERS, PATTERNS, Pattern, addresses_of_transport, repeated, rule};
use primitive::primitive;

/// Bytes of a suggestion that is still helpful.
const SUGGESTION_MAX: usize = 100;

/// What was found in a text that is no filter, with what to do about it.
pub(super) fn help(compiler: &Compiler, source: &str, found: Diagnostic) -> Diagnostic {
    if matches!(found.code, Code::Limit | Code::Internal | Code::SetFile) {
        return found;
    }
    let tokens = lex(source);
    let mut parser = Parser::new(&tokens, &compiler.dialect, &compiler.limits);
    let stopped = parser.filter();
    let mistake = Mistake { tokens: &tokens, expected: parser.stop.map(|stop| stop.expected) };
    let found = match stopped {
        Err(_) => display_filter::recognise(&tokens)
            .unwrap_or_else(|| mistake.advise(stop::help(&parser, found), &compiler.dialect)),
        // Only lowering knows that it was not what the words say: `icmp type 8` of nftables' reads as a type of 802.11, and
        // `tcp host a or b` as two primitives.
        Ok(()) => match found.code {
            Code::LinkType | Code::BadQualifier => mistake.advise(found, &compiler.dialect),
            Code::UnknownName => {
                stop::help_with_set(compiler, &parser.ast, protocol_meant(&parser.ast, found))
            }
            _ => stop::help_with_set(compiler, &parser.ast, found),
        },
    };
    vouched(compiler, &mistake, found)
}

/// With the filter for a protocol that has no number: a port, or a word.
fn protocol_meant(ast: &Ast, found: Diagnostic) -> Diagnostic {
    let filter = ast.exprs.iter().zip(&ast.expr_spans).find_map(|(expr, span)| match expr {
        Expr::Id(Quals { kind: Some(Kind::Proto | Kind::Protochain), .. }, Id::Name(name)) => {
            display_filter::protocol(name).filter(|_| *span == found.span)
        }
        _ => None,
    });
    match filter {
        Some(filter) => found.suggest(filter),
        None => found,
    }
}

/// A text that is no filter.
pub(super) struct Mistake<'a> {
    pub(super) tokens: &'a Tokens<'a>,
    /// What could have stood where the parser stopped.
    pub(super) expected: Option<Expected>,
}

/// With what was meant as a remedy, or without it, if that would be refused as well.
fn vouched(compiler: &Compiler, mistake: &Mistake<'_>, mut found: Diagnostic) -> Diagnostic {
    if let Some(suggestion) = found.suggestion.take() {
        match accepted(compiler, mistake, &found, suggestion.text()) {
            Ok(()) => found = suggested(compiler, found, suggestion),
            Err(refusal) => found.help = refusal,
        }
    }
    found.help = found.help.take().or_else(|| mistake.hint(&found));
    found
}

/// Whether a suggestion would be accepted; if not, what there is to say instead, if there is anything. Names count as known: nobody
/// is asked for them.
fn accepted(
    compiler: &Compiler,
    mistake: &Mistake<'_>,
    found: &Diagnostic,
    meant: &str,
) -> Result<(), Option<String>> {
    let but = |refused: Diagnostic| {
        let more = refused.help.map(|help| format!(": {help}")).unwrap_or_default();
        Err(Some(format!("it is written `{meant}`, but {}{more}", refused.message)))
    };
    let tokens = lex(meant);
    let mut kinds = tokens.list.iter().map(|token| token.kind).filter(|kind| *kind != TokenKind::End);
    let are_words = tokens.list.len() == 2 || kinds.all(|kind| matches!(kind, TokenKind::Word(_)));
    let ast = match parse::parse(meant, &compiler.dialect, &compiler.limits) {
        Ok(ast) => ast,
        // Words that stand in place of others may be offered without what follows them.
        Err(_) if are_words => return Ok(()),
        Err(refused) if refused.code == Code::Strict => return but(*refused),
        Err(_) => return Err(None),
    };
    let options = lower::Options { names: &NoNames, ..compiler.lower_options() };
    let Err(refused) = lower::lower_within(&ast, &options, Clock::new(compiler.limits)) else {
        return Ok(());
    };
    let has_first_word = || {
        let first = meant.split_whitespace().next();
        mistake.tokens.list.iter().any(|token| Some(mistake.tokens.text(*token)) == first)
    };
    match refused.code {
        Code::UnknownName | Code::SetFile if refused.suggestion.is_none() => Ok(()),
        // Of words guessed by their letters, or for a number or an address alone, one that cannot be meant.
        Code::LinkType if are_words => Err(None),
        Code::LinkType if found.code == Code::Unexpected && !has_first_word() => Err(refused.help),
        // It is what was meant all the same, and something else is wrong with it.
        Code::OutOfRange | Code::LinkType | Code::LiveOnly | Code::Netmask => but(*refused),
        _ => Err(None),
    }
}

/// With a suggestion that compiles, and what it is warned of. Of two primitives that no packet is both, either may be meant.
fn suggested(compiler: &Compiler, found: Diagnostic, suggestion: Suggestion) -> Diagnostic {
    use Code::{AlwaysFalse, AlwaysTrue, LostGuard, NegatedAlternatives, ShiftsOffsets};
    // That it is not what it seems to be.
    let told = [ShiftsOffsets, AlwaysTrue, AlwaysFalse, LostGuard, NegatedAlternatives];
    let lint = |meant: &str| {
        let lints = lint::lints_of_suggestion(compiler, meant, &Clock::new(compiler.limits));
        lints.unwrap_or_default().into_iter().find(|lint| told.contains(&lint.code))
    };
    let lint_of_it = lint(suggestion.text());
    if let Suggestion::Joined { or, .. } = &suggestion
        && lint_of_it.as_ref().is_some_and(|lint| lint.code == AlwaysFalse)
        && lint(or).is_none()
    {
        let help = format!("no packet is both: did you mean `{or}`?");
        return Diagnostic { help: Some(help), ..found.suggest(or) };
    }
    let warning = lint_of_it.map(|lint| {
        let stop = if matches!(suggestion, Suggestion::CaptureFilter(_)) { "." } else { "" };
        format!("{stop} It gets {}: `{}`: {}", lint.code, lint.span.text(suggestion.text()), lint.message)
    });
    let help = format!("{suggestion}{}", warning.unwrap_or_default());
    Diagnostic { help: Some(help), suggestion: Some(suggestion), ..found }
}

/// How many words in front of the place a phrase may begin: it counts only if the place lies within it.
const WORDS_BEFORE: usize = 12;

/// What may be read where there is such an error: the first that is there is taken.
fn phrases(code: Code) -> (&'static [&'static [Pattern]], &'static [Phrase]) {
    match code {
        Code::Unexpected | Code::UnknownWord => {
            (&[OF_FILTERS, PATTERNS], &[message, fields, repeated, primitive, rule])
        }
        Code::OutOfRange | Code::LinkType => (&[OF_FILTERS], &[message]),
        Code::BadQualifier => (&[], &[addresses_of_transport]),
        _ => (&[], &[]),
    }
}

impl Mistake<'_> {
    /// The finding with what was meant, where that is known and the dialect does not refuse it.
    fn advise(&self, found: Diagnostic, dialect: &Dialect) -> Diagnostic {
        if let Some(meant) = self.meant(&found, dialect) {
            return exceeded(&found, &meant, dialect).unwrap_or_else(|| found.suggest(meant));
        }
        let has_help = found.help.is_some() || found.suggestion.is_some();
        let has_filter = found.suggestion.as_ref().is_some_and(|meant| meant.text().contains(' '));
        if has_filter || (found.code == Code::BadQualifier && has_help) {
            return found;
        }
        match (self.repaired(&found, dialect), self.hint(&found)) {
            (Some(meant), _) => found.suggest(meant),
            (None, Some(hint)) => found.help(hint),
            (None, None) => found,
        }
    }

    /// The whole filter without the quotes around it and the full stop behind it, if that is all that is wrong.
    fn repaired(&self, found: &Diagnostic, dialect: &Dialect) -> Option<String> {
        let source = self.tokens.source.trim();
        let plain = source.replace(['"', '\'', '`', '“', '”', '‘', '’'], "").replace(['–', '—', '−'], "-");
        let plain = plain.trim().trim_end_matches(|c: char| matches!(c, ';' | '?') || c.is_whitespace());
        let is_other = found.code == Code::BadToken && source.len() <= SUGGESTION_MAX && plain != source;
        (is_other && !plain.is_empty() && is_filter(plain, dialect)).then(|| plain.to_owned())
    }

    /// The meaning of the phrase that the finding lies in.
    fn meant(&self, found: &Diagnostic, dialect: &Dialect) -> Option<String> {
        let tokens = self.tokens;
        let at = tokens.list.iter().position(|token| token.span.start >= found.span.start)?;
        let (patterns, phrases) = phrases(found.code);
        let meant = (at.saturating_sub(WORDS_BEFORE)..=at).find_map(|start| {
            let read = |read: &dyn Fn(&mut Cursor<'_>) -> Option<String>| {
                let mut cursor = Cursor { tokens, at: start };
                let meant = read(&mut cursor)?;
                // What follows a comma is part of the phrase, though not understood.
                let is_whole = cursor.at > at && cursor.one_of(",").is_none();
                (is_whole && cursor.is_news(start, &meant)).then(|| operand(&cursor, start, meant, dialect))
            };
            let mut patterns = patterns.iter().copied().flatten();
            let pattern = patterns.find_map(|pattern| read(&|cursor| phrases::read(cursor, *pattern)));
            pattern.or_else(|| phrases.iter().find_map(|phrase| read(phrase)))
        })?;
        // Of a text that ends too early the counterpart lacks a value as well.
        let is_filter = is_filter(&meant, dialect) || is_filter(&format!("{meant} 1"), dialect);
        (is_filter && meant.len() <= SUGGESTION_MAX).then_some(meant)
    }
}

/// What stands in place of the phrase that begins at `start`. Operands stay together: `and` and `or` bind alike, from the left, and
/// `not` binds closer.
fn operand(cursor: &Cursor<'_>, start: usize, meant: String, dialect: &Dialect) -> String {
    let before = Cursor { tokens: cursor.tokens, at: start }.back(1);
    let ast = parser::attempt(&meant, dialect, &Limits::default());
    let is_joined = ast.is_some_and(|ast| {
        let root = ast.root.map(|root| &ast.exprs[root.0 as usize]);
        matches!(root, Some(Expr::And(..) | Expr::Or(..)))
    });
    let stands_alone = matches!(before, None | Some(TokenKind::Sign(Sign::LParen)));
    if is_joined && !stands_alone { format!("({meant})") } else { meant }
}
