//! From words and signs to rules: tests, in which what the wall adds is told from the language of filters, and verdicts.

use super::scan::{Kind, Token, tokens};
use crate::policy::limit::Rate;
use crate::policy::problem::{Code, Problem};
use crate::rules::Action;
use std::ops::Range;

/// Rules in blocks, at most.
const DEPTH_MAX: usize = 64;

/// Words of the wall that mean nothing to filters.
const ALWAYS_OWN: [&str; 8] = ["app", "category", "sni", "state", "confidence", "risk", "from", "limit"];

/// What is advised about a word that filters do not know, with which `rest` begins: what the wall has for it, which filters have not.
pub(in crate::policy) fn advice(text: &str, rest: &str) -> Option<String> {
    // As nft has it.
    let text = if text == "meta" { rest.split_whitespace().nth(1).unwrap_or_default() } else { text };
    match text {
        "ct" | "ctstate" => return Some("write `state`, as in `state established`".to_owned()),
        "iif" | "iifname" => return Some("write `in`, as in `in lan`".to_owned()),
        "oif" | "oifname" => return Some("write `out`, as in `out wan`".to_owned()),
        _ if ALWAYS_OWN.contains(&text) => {
            return Some(format!("`{text}` begins a test of its own: put `and` before it"));
        }
        _ => {}
    }
    // One letter or two away.
    let near = ALWAYS_OWN.into_iter().map(|word| (strsim::osa_distance(text, word), word)).min();
    let near = near.filter(|(distance, word)| *distance <= 1 + word.len() / 6);
    near.map(|(_, word)| format!("did you mean `{word}`?"))
}

/// A line of a list of rules.
#[derive(Clone, Debug)]
pub(super) enum Line {
    /// A test and its verdict.
    Rule { test: Test, verdict: Verdict },
    /// A test, and the rules for what passes it.
    Block { test: Test },
    /// The end of a block.
    End,
}

/// A test, in parts.
#[derive(Clone, Debug)]
pub(super) struct Test {
    pub(super) parts: Vec<Part>,
    pub(super) span: Range<usize>,
}

/// A part of a test. Spans are places in the text of the rules.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// A token of the language of filters, as it stands.
    Token(Range<usize>),
    /// A test of the wall's own.
    Word { word: Word, span: Range<usize> },
    /// `in @NAME`, of addresses or ports.
    Set { name: Range<usize>, span: Range<usize> },
    /// `@NAME` within the braces of a set.
    Member { name: Range<usize> },
}

impl Part {
    pub(super) fn span(&self) -> Range<usize> {
        match self {
            Part::Token(span) | Part::Word { span, .. } | Part::Set { span, .. } => span.clone(),
            Part::Member { name } => name.start - 1..name.end,
        }
    }
}

/// A test of the wall's own. Each range is a name as written.
#[derive(Clone, Debug)]
pub(super) enum Word {
    App(Vec<Range<usize>>),
    Category(Vec<Range<usize>>),
    Sni(Vec<Range<usize>>),
    State(Vec<Range<usize>>),
    Confidence(Range<usize>),
    Risk(Vec<Range<usize>>),
    From(Range<usize>),
    In(Range<usize>),
    Out(Range<usize>),
    Limit(Rate),
}

/// What becomes of a packet, and what is done besides.
#[derive(Clone, Debug)]
pub(super) struct Verdict {
    pub(super) action: Action,
    pub(super) mark: Option<u32>,
    pub(super) log: bool,
    pub(super) span: Range<usize>,
}

/// Reads rules.
pub(super) fn parse(text: &str) -> Result<Vec<Line>, Problem> {
    let mut parser = Parser { text, tokens: tokens(text), at: 0 };
    parser.lines()
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    at: usize,
}

impl<'t> Parser<'t> {
    fn peek(&self) -> &Token {
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn kind_after(&self, ahead: usize) -> Kind {
        self.tokens.get(self.at + ahead).map_or(Kind::End, |token| token.kind)
    }

    fn word_at(&self, at: usize) -> &'t str {
        self.tokens.get(at).map_or("", |token| &self.text[token.span.clone()])
    }

    fn word(&self) -> &'t str {
        self.word_at(self.at)
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn skip(&mut self, sign: u8) -> bool {
        let is_there = self.peek().kind == Kind::Sign(sign);
        self.at += usize::from(is_there);
        is_there
    }

    fn lines(&mut self) -> Result<Vec<Line>, Problem> {
        // The rules may stand in the braces of a program.
        let is_program = self.word() == "match" && self.kind_after(1) == Kind::Sign(b'{');
        self.at += if is_program { 2 } else { 0 };
        let mut lines = Vec::new();
        let mut open: Vec<Range<usize>> = Vec::new();
        loop {
            match self.peek().kind {
                Kind::End if open.is_empty() && !is_program => return Ok(lines),
                Kind::End => {
                    let found = Problem::new(Code::Rule, self.peek().span.clone(), "the rules end too early");
                    let found = found.label("expected `}`");
                    return Err(match open.pop() {
                        Some(block) => Problem { also: Some((block, "this block is open".into())), ..found },
                        None => found,
                    });
                }
                Kind::Sign(b'}') if !open.is_empty() => {
                    self.next();
                    open.pop();
                    lines.push(Line::End);
                    self.separator();
                }
                Kind::Sign(b'}') if is_program => {
                    self.next();
                    if self.peek().kind == Kind::End {
                        return Ok(lines);
                    }
                    return Err(self.unexpected("the end of the rules"));
                }
                _ => {
                    let line = self.line()?;
                    if let Line::Block { .. } = line {
                        if open.len() == DEPTH_MAX {
                            let message = format!("blocks are nested deeper than {DEPTH_MAX}");
                            return Err(Problem::new(Code::Limit, self.peek().span.clone(), message));
                        }
                        open.push(self.tokens[self.at - 1].span.clone());
                    }
                    lines.push(line);
                }
            }
        }
    }

    fn separator(&mut self) {
        let _ = self.skip(b',') || self.skip(b';');
    }

    fn unexpected(&self, expected: &str) -> Problem {
        let token = self.peek();
        let found = match token.kind {
            Kind::End => "the rules end here".to_owned(),
            _ => format!("`{}` does not belong here", wire::in_one_line(&self.text[token.span.clone()])),
        };
        Problem::new(Code::Rule, token.span.clone(), found).label(format!("expected {expected}"))
    }

    fn line(&mut self) -> Result<Line, Problem> {
        let test = self.test()?;
        if self.skip(b'{') {
            return Ok(Line::Block { test });
        }
        let verdict = self.verdict()?;
        self.separator();
        Ok(Line::Rule { test, verdict })
    }

    /// Reads a test and the arrow behind it.
    fn test(&mut self) -> Result<Test, Problem> {
        let start = self.peek().span.start;
        let mut parts = Vec::new();
        // For each open bracket: its sign, and whether what is in it is negated.
        let mut open: Vec<(Range<usize>, u8, bool)> = Vec::new();
        // Whether an operand may begin here, and whether an odd number of `not` stands before it.
        let (mut begins, mut is_negated) = (true, false);
        loop {
            let token = self.peek().clone();
            let word = self.word();
            let around = open.last().is_some_and(|(.., is_negated)| *is_negated);
            let is_in_set = open.last().is_some_and(|(_, sign, _)| *sign == b'{');
            match token.kind {
                Kind::Arrow if open.is_empty() => {
                    if parts.is_empty() {
                        return Err(self.unexpected("a test, or `otherwise`"));
                    }
                    let end = self.tokens[self.at - 1].span.end;
                    self.next();
                    return Ok(Test { parts, span: start..end });
                }
                Kind::End | Kind::Arrow => {
                    return Err(match open.pop() {
                        Some((bracket, ..)) => Problem {
                            also: Some((bracket, "this is open".into())),
                            ..self.unexpected("what closes it")
                        },
                        None => self.unexpected("`=>` and a verdict"),
                    });
                }
                Kind::Sign(sign @ (b'(' | b'[' | b'{')) => {
                    open.push((token.span.clone(), sign, around ^ is_negated));
                    (begins, is_negated) = (sign == b'(', false);
                    parts.push(Part::Token(token.span));
                    self.next();
                }
                Kind::Sign(sign @ (b')' | b']' | b'}')) => {
                    match open.pop() {
                        Some((_, b'(', _)) if sign == b')' => {}
                        Some((_, b'[', _)) if sign == b']' => {}
                        Some((_, b'{', _)) if sign == b'}' => {}
                        _ => return Err(self.unexpected("`=>` and a verdict")),
                    }
                    (begins, is_negated) = (false, false);
                    parts.push(Part::Token(token.span));
                    self.next();
                }
                Kind::Sign(b';') => return Err(self.unexpected("`=>` and a verdict")),
                Kind::Word if is_in_set && word.starts_with('@') => {
                    parts.push(Part::Member { name: token.span.start + 1..token.span.end });
                    self.next();
                }
                Kind::Word if !is_in_set && begins && self.own_word(word) => {
                    let word_is_negated = around ^ is_negated;
                    parts.push(self.read_own_word(word_is_negated)?);
                    (begins, is_negated) = (false, false);
                }
                Kind::Word if !is_in_set && word == "in" && self.word_at(self.at + 1).starts_with('@') => {
                    self.next();
                    let name = self.next().span;
                    parts
                        .push(Part::Set { name: name.start + 1..name.end, span: token.span.start..name.end });
                    (begins, is_negated) = (false, false);
                }
                _ => {
                    (begins, is_negated) = match word {
                        "not" | "!" => (true, !is_negated),
                        "and" | "or" | "&&" | "||" => (true, false),
                        _ => (false, false),
                    };
                    parts.push(Part::Token(token.span));
                    self.next();
                }
            }
        }
    }

    /// Whether a word at the beginning of an operand is one of the wall's own.
    fn own_word(&self, word: &str) -> bool {
        match word {
            _ if ALWAYS_OWN.contains(&word) => true,
            // `in {…}` and `in @NAME` are sets of addresses.
            "in" => {
                matches!(self.kind_after(1), Kind::Word | Kind::Quoted)
                    && !self.word_at(self.at + 1).starts_with('@')
            }
            "out" => true,
            _ => false,
        }
    }

    fn read_own_word(&mut self, is_negated: bool) -> Result<Part, Problem> {
        let first = self.next().span;
        let word = match &self.text[first.clone()] {
            "app" => Word::App(self.names("a protocol, such as HTTP")?),
            "category" => Word::Category(self.names("a category, such as VoIP")?),
            "sni" => {
                // `sni in @NAME` and `sni @NAME` are the same.
                self.at += usize::from(self.word() == "in");
                Word::Sni(self.names("a domain, such as example.com, or @NAME of a set")?)
            }
            "state" => Word::State(self.names("new, established, related or invalid")?),
            "confidence" => {
                Word::Confidence(self.name("how sure: payload, partial, related, address or port")?)
            }
            "risk" => Word::Risk(self.names("a risk, such as TLS_WEAK_CIPHER, or `any`")?),
            "from" => Word::From(self.name("`initiator` or `responder`")?),
            "in" => Word::In(self.name("an interface")?),
            "out" => Word::Out(self.name("an interface")?),
            _ => self.limit(&first, is_negated)?,
        };
        let span = first.start..self.tokens[self.at - 1].span.end;
        Ok(Part::Word { word, span })
    }

    /// A name; of one in quotation marks, what is between them.
    fn name(&mut self, expected: &str) -> Result<Range<usize>, Problem> {
        let token = self.peek().clone();
        match token.kind {
            Kind::Word => {
                self.next();
                Ok(token.span)
            }
            Kind::Quoted => {
                self.next();
                Ok(token.span.start + 1..token.span.end - 1)
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    /// One name, or several in braces.
    fn names(&mut self, expected: &str) -> Result<Vec<Range<usize>>, Problem> {
        if !self.skip(b'{') {
            return Ok(vec![self.name(expected)?]);
        }
        let mut names = Vec::new();
        loop {
            names.push(self.name(expected)?);
            self.skip(b',');
            if self.skip(b'}') {
                return Ok(names);
            }
        }
    }

    fn limit(&mut self, first: &Range<usize>, is_negated: bool) -> Result<Word, Problem> {
        let written = self.name("a rate, such as 100/s")?;
        let text = &self.text[written.clone()];
        let mut span = written;
        let mut burst = None;
        if self.word() == "burst" {
            self.next();
            let number = self.name("how many packets may come at once")?;
            burst = self.text[number.clone()].parse::<u32>().ok().filter(|burst| *burst > 0);
            if burst.is_none() {
                let message =
                    format!("`{}` is no number of packets", wire::in_one_line(&self.text[number.clone()]));
                return Err(Problem::new(Code::Rate, number, message).label("1 or more"));
            }
            span.end = number.end;
        }
        if is_negated {
            let found = Problem::new(Code::Rate, first.start..span.end, "a limit cannot be negated");
            return Err(found.help("what is over the limit goes on to the rules below: `limit 100/s => accept`, and behind it what becomes of the rest"));
        }
        let rate = Rate::read(text, burst);
        let wrong = || {
            let found = Problem::new(Code::Rate, span, format!("`{}` is no rate", wire::in_one_line(text)))
                .label("a number of packets, and `/s`, `/m`, `/h` or `/d`");
            // As nft has it.
            if text == "rate" { found.help("leave `rate` out, as in `limit 10/s`") } else { found }
        };
        rate.map(Word::Limit).ok_or_else(wrong)
    }

    fn verdict(&mut self) -> Result<Verdict, Problem> {
        let token = self.peek().clone();
        let word = self.word();
        let Some(action) = Action::named(word).filter(|_| token.kind == Kind::Word) else {
            let expected = "accept, drop, reject, or `{`";
            return Err(match token.kind {
                Kind::Word => {
                    let found = format!("there is no verdict `{}`", wire::in_one_line(word));
                    Problem::new(Code::Verdict, token.span, found).label(format!("expected {expected}"))
                }
                _ => self.unexpected(expected),
            });
        };
        self.next();
        let mut verdict = Verdict { action, mark: None, log: false, span: token.span };
        // A parenthesis on its own begins the next test.
        let is_joined = self.peek().span.start == verdict.span.end;
        if is_joined && self.skip(b'(') && !self.skip(b')') {
            loop {
                self.modifier(&mut verdict)?;
                self.skip(b',');
                if self.peek().kind == Kind::Sign(b')') {
                    verdict.span.end = self.next().span.end;
                    break;
                }
            }
        }
        Ok(verdict)
    }

    fn modifier(&mut self, verdict: &mut Verdict) -> Result<(), Problem> {
        let token = self.peek().clone();
        match self.word() {
            "log" => {
                self.next();
                verdict.log = true;
                Ok(())
            }
            "mark" => {
                self.next();
                let number = self.peek().span.clone();
                let text = self.word();
                let value = match text.strip_prefix("0x") {
                    Some(digits) => u32::from_str_radix(digits, 16).ok(),
                    None => text.parse().ok(),
                };
                let Some(value) = value else {
                    let message = format!("`{}` is no mark", wire::in_one_line(text));
                    return Err(Problem::new(Code::Modifier, number, message).label("a number of 32 bits"));
                };
                self.next();
                if verdict.action != Action::Accept {
                    let message = "only what is accepted can be marked";
                    return Err(Problem::new(Code::Modifier, token.span.start..number.end, message));
                }
                verdict.mark = Some(value);
                Ok(())
            }
            other => {
                let message = format!("`{}` cannot stand behind a verdict", wire::in_one_line(other));
                Err(Problem::new(Code::Modifier, token.span, message)
                    .label("expected `log`, or `mark` and a number"))
            }
        }
    }
}
