//! What was probably meant by a text that is no filter.
//!
//! Runs when somebody asks about an error of the parser or of lowering. What it proposes, it has compiled.
//!
//! ```text
//! display_filter   Wireshark's other language
//! stop             the word that could stand where the parser stopped
//! primitive        one primitive in other words, or in another order
//! fields           fields of headers by other names
//! phrases          other phrases of nftables and others, and of this language, nearly
//! hints            what to know where nothing can be proposed
//! ```

mod cursor;
mod display_filter;
mod fields;
mod hints;
mod phrases;
mod primitive;
mod set_file;
mod stop;
mod suggest;
mod width;

use crate::Span;
use crate::clock::Clock;
use crate::compiler::Compiler;
use crate::diag::{Code, Diagnostic, Suggestion};
use crate::help::lint;
use crate::lower;
use crate::options::{Dialect, Limits, NoNames};
use crate::syntax::ast::{Ast, Expr, Id, Kind};
use crate::syntax::lex::{Sign, TokenKind, Tokens, lex};
use crate::syntax::parse;
use crate::syntax::parser::expected::Expected;
use crate::syntax::parser::{self, Parser, is_filter};
use cursor::{Cursor, Phrase};
use phrases::{OF_FILTERS, PATTERNS, Pattern};
use suggest::SUGGESTION_MAX;

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
            Code::UnknownName => set_file::help(compiler, &parser.ast, protocol_meant(&parser.ast, found)),
            _ => set_file::help(compiler, &parser.ast, found),
        },
    };
    vouched(compiler, &mistake, found)
}

/// With the filter for a protocol that has no number: a port, or a word.
fn protocol_meant(ast: &Ast, found: Diagnostic) -> Diagnostic {
    let name = ast.exprs.iter().zip(&ast.expr_spans).find_map(|(expr, span)| match expr {
        Expr::Id(quals, Id::Name(name)) if *span == found.span => {
            matches!(quals.kind, Some(Kind::Proto | Kind::Protochain)).then_some(name)
        }
        _ => None,
    });
    match name.and_then(|name| display_filter::protocol(name)) {
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
        match refusal(compiler, mistake.tokens.source, &found, suggestion.text()) {
            Some(Some(refusal)) => found.help = Some(refusal),
            Some(None) => found.help = None,
            None => found = suggested(compiler, found, suggestion),
        }
    }
    if found.help.is_none() {
        found.help = mistake.hint(&found);
    }
    found
}

/// Whether a suggestion would be refused; with what there is to say instead, if there is anything. Names count as known: nobody is
/// asked for them.
fn refusal(compiler: &Compiler, source: &str, found: &Diagnostic, meant: &str) -> Option<Option<String>> {
    let but = |refused: Diagnostic| {
        let more = refused.help.map(|help| format!(": {help}")).unwrap_or_default();
        Some(Some(format!("it is written `{meant}`, but {}{more}", refused.message)))
    };
    let Some(ast) = parser::attempt(meant, &compiler.dialect, &compiler.limits) else {
        // Words that stand in place of others may be offered without what follows them.
        if is_words(meant) {
            return None;
        }
        return match parse::parse(meant, &compiler.dialect, &compiler.limits) {
            Err(refused) if refused.code == Code::Strict => but(*refused),
            _ => Some(None),
        };
    };
    let options = lower::Options { names: &NoNames, ..compiler.lower_options() };
    let refused = lower::lower_within(&ast, &options, Clock::new(compiler.limits)).err()?;
    match refused.code {
        Code::UnknownName | Code::SetFile if refused.suggestion.is_none() => None,
        // Of words guessed by their letters, or for a number or an address alone, one that cannot be meant.
        Code::LinkType if is_words(meant) => Some(None),
        Code::LinkType if found.code == Code::Unexpected && !has_first_word_of(meant, source) => {
            Some(refused.help)
        }
        // It is what was meant all the same, and something else is wrong with it.
        Code::OutOfRange | Code::LinkType | Code::LiveOnly | Code::Netmask => but(*refused),
        _ => Some(None),
    }
}

/// With a suggestion that compiles, and what it is warned of. Of two primitives that no packet is both, either may be meant.
fn suggested(compiler: &Compiler, found: Diagnostic, suggestion: Suggestion) -> Diagnostic {
    let lint = |meant: &str| {
        let lints =
            lint::lints_of_suggestion(compiler, meant, &Clock::new(compiler.limits)).unwrap_or_default();
        lints.into_iter().find(|lint| TOLD.contains(&lint.code))
    };
    let told = lint(suggestion.text());
    let suggestion = match (suggestion, &told) {
        (Suggestion::Joined { or, .. }, Some(Diagnostic { code: Code::AlwaysFalse, .. }))
            if lint(&or).is_none() =>
        {
            let help = format!("no packet is both: did you mean `{or}`?");
            return Diagnostic { help: Some(help), suggestion: Some(Suggestion::Instead(or)), ..found };
        }
        (suggestion, _) => suggestion,
    };
    let warning = told.map(|lint| {
        let stop = if matches!(suggestion, Suggestion::CaptureFilter(_)) { "." } else { "" };
        format!("{stop} It gets {}: `{}`: {}", lint.code, lint.span.text(suggestion.text()), lint.message)
    });
    let help = format!("{suggestion}{}", warning.unwrap_or_default());
    Diagnostic { help: Some(help), suggestion: Some(suggestion), ..found }
}

/// What is told of a suggestion: that it is not what it seems to be.
const TOLD: [Code; 5] =
    [Code::ShiftsOffsets, Code::AlwaysTrue, Code::AlwaysFalse, Code::LostGuard, Code::NegatedAlternatives];

/// Whether a text is a single token, or nothing but keywords.
fn is_words(text: &str) -> bool {
    let tokens = lex(text).list;
    let tokens = tokens.iter().filter(|token| token.kind != TokenKind::End);
    tokens.clone().count() == 1 || tokens.into_iter().all(|token| matches!(token.kind, TokenKind::Word(_)))
}

/// Whether the first word of `meant` stands in the text as well.
fn has_first_word_of(meant: &str, source: &str) -> bool {
    let first = meant.split_whitespace().next().unwrap_or_default();
    let tokens = lex(source);
    tokens.list.iter().any(|token| tokens.text(*token) == first)
}

/// How many words in front of the place a phrase may begin: it counts only if the place lies within it.
const WORDS_BEFORE: usize = 12;

impl Mistake<'_> {
    /// The finding with what was meant, where that is known and the dialect does not refuse it.
    fn advise(&self, found: Diagnostic, dialect: &Dialect) -> Diagnostic {
        // Of a text that ends too early the counterpart lacks a value as well.
        let is_helpful = |meant: &String| {
            meant.len() <= SUGGESTION_MAX
                && (is_filter(meant, dialect) || is_filter(&format!("{meant} 1"), dialect))
        };
        if let Some(meant) = meant(self.tokens, found.span, found.code, dialect).filter(is_helpful) {
            return match width::exceeded(&meant, dialect) {
                Some(range) if found.code == Code::OutOfRange => range.instead_of(found),
                Some(range) => found.help(range.to_string()),
                None => found.suggest(meant),
            };
        }
        let has_help = found.help.is_some() || found.suggestion.is_some();
        if (found.code == Code::BadQualifier && has_help)
            || found.suggestion.as_ref().is_some_and(|meant| meant.text().contains(' '))
        {
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
}

/// What may be read where there is such an error: the first phrase that is there is taken.
fn phrases(code: Code) -> (&'static [Phrase], [&'static [Pattern]; 2]) {
    match code {
        Code::Unexpected | Code::UnknownWord => (
            &[
                fields::message,
                fields::fields,
                phrases::repeated,
                primitive::socket,
                primitive::service,
                primitive::several,
                primitive::primitive,
                phrases::rule,
            ],
            [OF_FILTERS, PATTERNS],
        ),
        Code::OutOfRange | Code::LinkType => (&[fields::message], [OF_FILTERS, &[]]),
        Code::BadQualifier => (&[phrases::addresses_of_transport], [&[]; 2]),
        _ => (&[], [&[]; 2]),
    }
}

/// The meaning of the phrase that `place` lies in.
fn meant(tokens: &Tokens<'_>, place: Span, code: Code, dialect: &Dialect) -> Option<String> {
    let at = tokens.list.iter().position(|token| token.span.start >= place.start)?;
    let (phrases, patterns) = phrases(code);
    (at.saturating_sub(WORDS_BEFORE)..=at).find_map(|start| {
        let read = |read: &dyn Fn(&mut Cursor<'_>) -> Option<String>| {
            let mut cursor = Cursor { tokens, at: start };
            let meant = read(&mut cursor)?;
            // What follows a comma is part of the phrase, though not understood.
            let is_whole = cursor.at > at && cursor.sign(Sign::Comma).is_none();
            (is_whole && cursor.is_news(start, &meant)).then(|| operand(tokens, start, meant, dialect))
        };
        let mut patterns = patterns.into_iter().flatten();
        let found = patterns.find_map(|pattern| read(&|cursor| phrases::read(cursor, *pattern)));
        found.or_else(|| phrases.iter().find_map(|phrase| read(phrase)))
    })
}

/// What stands in place of the phrase that begins at `start`. Operands stay together: `and` and `or` bind alike, from the left, and
/// `not` binds closer.
fn operand(tokens: &Tokens<'_>, start: usize, meant: String, dialect: &Dialect) -> String {
    let before = start.checked_sub(1).map(|before| tokens.list[before].kind);
    let is_joined = parser::attempt(&meant, dialect, &Limits::default()).is_some_and(|ast| {
        let root = ast.root.map(|root| &ast.exprs[root.0 as usize]);
        matches!(root, Some(Expr::And(..) | Expr::Or(..)))
    });
    let stands_alone = before.is_none_or(|before| before == TokenKind::Sign(Sign::LParen));
    if is_joined && !stands_alone { format!("({meant})") } else { meant }
}
