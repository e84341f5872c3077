//! Errors and warnings about the text of a policy.

use pflang::{Colours, Finding, Severity};
use std::fmt;
use std::ops::Range;

/// The kind of a problem in the text of a policy. Below 100: errors; from 100: warnings, with which the policy holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Code {
    /// WP001: not TOML.
    Syntax = 1,
    /// WP002: too long, or too much of something.
    Limit = 2,
    /// WP003: a key that there is not.
    UnknownKey = 3,
    /// WP004: a value of another type than the key wants.
    Shape = 4,
    /// WP005: a value that the key cannot have.
    Value = 5,
    /// WP006: rules that are not written as rules.
    Rule = 6,
    /// WP007: a verdict that there is not.
    Verdict = 7,
    /// WP008: something behind a verdict that does not belong there.
    Modifier = 8,
    /// WP009: a protocol, category, state or other name that nobody knows.
    UnknownName = 9,
    /// WP010: a set that the policy has not.
    UnknownSet = 10,
    /// WP011: a set that cannot be read.
    SetFile = 11,
    /// WP012: a rate that is none.
    Rate = 12,
    /// WP013: a test of the policy that cannot be run.
    Test = 13,
    /// WP101: a rule that no packet reaches.
    NeverDecides = 101,
    /// WP102: a set or an application that no rule names.
    Unused = 102,
    /// WP103: a rule about packets that no rule is asked about.
    NeverAsked = 103,
}

impl Code {
    /// Every code there is, in order.
    pub const ALL: &[Code] = &[
        Code::Syntax,
        Code::Limit,
        Code::UnknownKey,
        Code::Shape,
        Code::Value,
        Code::Rule,
        Code::Verdict,
        Code::Modifier,
        Code::UnknownName,
        Code::UnknownSet,
        Code::SetFile,
        Code::Rate,
        Code::Test,
        Code::NeverDecides,
        Code::Unused,
        Code::NeverAsked,
    ];
}

/// `WP` and three digits.
impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WP{:03}", *self as u16)
    }
}

/// Something that is wrong with a policy, or may not mean what was meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its code: that of a [`Code`], or of a test the code that the language of filters has for it.
    pub code: String,
    /// Whether the policy holds nevertheless.
    pub is_warning: bool,
    /// The problem, in one line without a full stop.
    pub message: String,
    /// Bytes of the policy's text that it is about.
    pub span: Range<usize>,
    /// The text under the carets.
    pub label: Option<String>,
    /// A second place that matters, and why.
    pub also: Option<(Range<usize>, String)>,
    /// A remedy.
    pub help: Option<String>,
}

impl Problem {
    pub(super) fn new(code: Code, span: Range<usize>, message: impl Into<String>) -> Problem {
        Problem {
            code: code.to_string(),
            is_warning: code as u16 >= 100,
            message: message.into(),
            span,
            label: None,
            also: None,
            help: None,
        }
    }

    pub(super) fn label(self, label: impl Into<String>) -> Problem {
        Problem { label: Some(label.into()), ..self }
    }

    pub(super) fn help(self, help: impl Into<String>) -> Problem {
        Problem { help: Some(help.into()), ..self }
    }

    /// What the compiler says of a filter that exceeds a limit, as said of all rules together.
    pub(super) fn of_rules(self) -> Problem {
        let Some(what) = self.message.strip_prefix("the filter ") else { return self };
        let is_place = what.starts_with("needs more than");
        Problem {
            code: Code::Limit.to_string(),
            message: format!("these rules are too large: their program {what}"),
            label: is_place.then(|| "with this test it is reached".to_owned()),
            help: Some(
                "write lists as sets, which are looked up: `port in {80, 443}`, `src host in @name`; and ask once in a block what many rules ask: \
                 `tcp => { … }`"
                    .to_owned(),
            ),
            ..self
        }
    }

    fn finding(&self) -> Finding<'_> {
        Finding {
            code: self.code.as_str().into(),
            severity: if self.is_warning { Severity::Warning } else { Severity::Error },
            message: &self.message,
            span: span(&self.span),
            label: self.label.as_deref(),
            also: self.also.as_ref().map(|(place, text)| (span(place), text.as_str())),
            help: self.help.as_deref(),
        }
    }

    /// With its place in the text pointed at, over several lines.
    #[must_use]
    pub fn render(&self, text: &str, colours: Colours) -> String {
        self.finding().render(text, colours)
    }

    /// As an object of JSON, on one line.
    #[must_use]
    pub fn to_json(&self) -> String {
        self.finding().to_json()
    }

    /// The line where it stands, from 1.
    #[must_use]
    pub fn line(&self, text: &str) -> usize {
        line_of(text, self.span.start)
    }
}

fn span(place: &Range<usize>) -> pflang::Span {
    let at = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    pflang::Span::new(at(place.start), at(place.end))
}

/// The line of a place, from 1.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count()
}
