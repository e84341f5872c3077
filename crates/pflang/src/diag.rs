//! Findings of the compiler about a text: errors and lints, one object for the library, the command
//! line and JSON.

mod columns;
mod json;
mod render;
#[cfg(test)]
mod tests;

pub(crate) use columns::{harmless, is_dangerous};

use crate::Span;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// One finding, with its place in the source.
///
/// ```
/// use pflang::{Code, Compiler, Severity};
/// use wire::LinkType;
///
/// let lint = &Compiler::new(LinkType::EN10MB).lints("vlan or arp")?[0];
/// assert_eq!((lint.code, lint.severity()), (Code::ShiftsOffsets, Severity::Warning));
/// assert_eq!(lint.span.text("vlan or arp"), "arp");
/// # Ok::<(), pflang::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Which finding.
    pub code: Code,
    /// The problem, in one line without a full stop.
    pub message: String,
    /// Where.
    pub span: Span,
    /// The text under the carets: `expected …`.
    pub label: Option<String>,
    /// A second place that matters, and why.
    pub also: Option<(Span, String)>,
    /// A remedy.
    pub help: Option<String>,
    /// The filter or word that may stand in place of the text. Nobody has compiled it yet: [`Compiler::help`](crate::Compiler::help) does, and
    /// makes a remedy of it.
    pub(crate) suggestion: Option<Suggestion>,
    /// What has no such name, of [`Code::UnknownName`].
    pub unknown: Option<Unknown>,
}

impl Diagnostic {
    /// A finding without suggestion.
    ///
    /// PERF: cold, so that whatever leads here is laid out apart: most compilations find nothing, and each step of one
    /// runs once, so they wait for code more than for data.
    ///
    /// ```
    /// use pflang::{Code, Diagnostic, Severity, Span};
    ///
    /// let found = Diagnostic::new(Code::SetFile, Span::new(5, 13), "`bad.txt` is gone")
    ///     .label("read before")
    ///     .help("restore it");
    /// assert_eq!(found.severity(), Severity::Error);
    /// assert_eq!(found.label.as_deref(), Some("read before"));
    /// ```
    #[cold]
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            code,
            message: message.into(),
            span,
            label: None,
            also: None,
            help: None,
            suggestion: None,
            unknown: None,
        }
    }

    /// With the words under the carets.
    ///
    /// ```
    /// # use pflang::{Code, Diagnostic, Severity, Span};
    /// let found = Diagnostic::new(Code::SetFile, Span::new(5, 13), "`bad.txt` is gone");
    /// assert_eq!(found.label("read before").label.as_deref(), Some("read before"));
    /// ```
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// With a suggestion.
    ///
    /// ```
    /// # use pflang::{Code, Diagnostic, Severity, Span};
    /// let found = Diagnostic::new(Code::SetFile, Span::new(5, 13), "`bad.txt` is gone");
    /// assert_eq!(found.help("restore it").help.as_deref(), Some("restore it"));
    /// ```
    pub fn help(mut self, help: impl Into<String>) -> Self {
        (self.help, self.suggestion) = (Some(help.into()), None);
        self
    }

    /// With the filter or word that was probably meant, which may still turn out to be refused.
    pub(crate) fn suggest(self, meant: impl fmt::Display) -> Self {
        Diagnostic { suggestion: Some(Suggestion::Instead(meant.to_string())), ..self }
    }

    /// How bad it is.
    ///
    /// ```
    /// # use pflang::{Code, Diagnostic, Severity, Span};
    /// let found = Diagnostic::new(Code::AlwaysTrue, Span::new(0, 9), "this is always true");
    /// assert_eq!(found.severity(), Severity::Warning);
    /// ```
    pub fn severity(&self) -> Severity {
        if self.code.is_lint() { Severity::Warning } else { Severity::Error }
    }

    /// The finding as text, several lines without a newline at the end, safe to print on a terminal.
    ///
    /// ```
    /// use pflang::{Colours, Compiler};
    /// use wire::LinkType;
    ///
    /// let compiler = Compiler::new(LinkType::EN10MB);
    /// let error = compiler.help(&compiler.compile("tcp prot 80").unwrap_err());
    /// assert_eq!(error.diagnostic.render("tcp prot 80", Colours::None), "\
    /// error[PF003]: unknown word `prot`
    ///   | tcp prot 80
    ///   |     ^^^^ expected `port`, `portrange`, `src` or `dst`
    /// help: did you mean `tcp port 80`?");
    /// ```
    pub fn render(&self, source: &str, colours: Colours) -> String {
        self.finding().render(source, colours)
    }

    /// The finding as a JSON object on one line: `code`, `severity`, `message`, `span`, `label`, `also`, `help`.
    ///
    /// ```
    /// use pflang::{Compiler, Dialect};
    /// use wire::LinkType;
    ///
    /// let error = Compiler::new(LinkType::EN10MB).compile("tcp prot 80").unwrap_err();
    /// assert!(error.diagnostic.to_json().starts_with(r#"{"code":"PF003","severity":"error","#));
    /// ```
    pub fn to_json(&self) -> String {
        self.finding().to_json()
    }

    /// The parts of it that are shown.
    fn finding(&self) -> Finding<'_> {
        Finding {
            code: self.code.name().into(),
            severity: self.severity(),
            message: &self.message,
            span: self.span,
            label: self.label.as_deref(),
            also: self.also.as_ref().map(|(span, label)| (*span, label.as_str())),
            help: self.help.as_deref(),
        }
    }
}

/// What may stand in place of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Suggestion {
    /// A filter or a word.
    Instead(String),
    /// The filter with the `and` that it lacks, and with `or` in place of that.
    Joined { and: String, or: String },
    /// The filter that a display filter is.
    CaptureFilter(String),
}

impl Suggestion {
    /// The filter or word.
    pub(crate) fn text(&self) -> &str {
        let (Suggestion::Instead(text)
        | Suggestion::Joined { and: text, .. }
        | Suggestion::CaptureFilter(text)) = self;
        text
    }
}

/// The remedy that offers it.
impl fmt::Display for Suggestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Suggestion::Instead(text) | Suggestion::Joined { and: text, .. } => {
                write!(f, "did you mean `{text}`?")
            }
            Suggestion::CaptureFilter(text) => write!(f, "as a capture filter: `{text}`"),
        }
    }
}

/// What has no such name.
///
/// ```
/// use pflang::{Compiler, LinkType, Unknown};
///
/// let error = Compiler::new(LinkType::EN10MB).compile("host no-such-host").unwrap_err();
/// assert_eq!(error.diagnostic.unknown, Some(Unknown::Host));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unknown {
    /// A host: a resolver may know it.
    Host,
    /// Anything else: only files know it.
    Other,
}

/// The parts of a finding that are shown, whatever language it is about: other texts than filters are shown in this way, too.
///
/// ```
/// use pflang::{Colours, Finding, Severity, Span};
///
/// let found = Finding {
///     code: "GR006".into(),
///     severity: Severity::Error,
///     message: "app `a` has no type",
///     span: Span::new(1, 6),
///     label: None,
///     also: None,
///     help: Some("write type = \"...\""),
/// };
/// assert_eq!(found.render("[app.a]", Colours::None), "\
/// error[GR006]: app `a` has no type
///   | [app.a]
///   |  ^^^^^
/// help: write type = \"...\"");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding<'a> {
    /// Which finding.
    pub code: Cow<'a, str>,
    /// How bad it is.
    pub severity: Severity,
    /// The problem, in one line without a full stop.
    pub message: &'a str,
    /// Where.
    pub span: Span,
    /// The text under the carets.
    pub label: Option<&'a str>,
    /// A second place that matters, and why.
    pub also: Option<(Span, &'a str)>,
    /// A remedy.
    pub help: Option<&'a str>,
}

impl Finding<'_> {
    /// As [`Diagnostic::render`].
    ///
    /// ```
    /// use pflang::{Colours, Finding, Severity, Span};
    ///
    /// let found = Finding {
    ///     code: "GR006".into(),
    ///     severity: Severity::Error,
    ///     message: "app `a` has no type",
    ///     span: Span::new(0, 7),
    ///     label: None,
    ///     also: None,
    ///     help: None,
    /// };
    /// assert_eq!(found.render("[app.a]", Colours::None), "\
    /// error[GR006]: app `a` has no type
    ///   | [app.a]
    ///   | ^^^^^^^");
    /// ```
    pub fn render(&self, source: &str, colours: Colours) -> String {
        render::render(self, source, colours)
    }

    /// As [`Diagnostic::to_json`].
    ///
    /// ```
    /// use pflang::{Finding, Severity, Span};
    ///
    /// let found = Finding {
    ///     code: "GR006".into(),
    ///     severity: Severity::Error,
    ///     message: "app `a` has no type",
    ///     span: Span::new(1, 6),
    ///     label: None,
    ///     also: None,
    ///     help: None,
    /// };
    /// assert!(found.to_json().starts_with(r#"{"code":"GR006","severity":"error","#));
    /// ```
    pub fn to_json(&self) -> String {
        json::object(self)
    }
}

/// Whether what is rendered is coloured.
///
/// ```
/// use pflang::{Colours, Compiler};
/// use wire::LinkType;
///
/// let error = Compiler::new(LinkType::EN10MB).compile("tcp and").unwrap_err();
/// assert!(error.render(Colours::Ansi).starts_with("\x1b[1;31merror"));
/// assert_eq!(Colours::from(false), Colours::None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    /// Plain text.
    None,
    /// By escape sequences, for a terminal.
    Ansi,
}

impl From<bool> for Colours {
    /// For a terminal that takes colours, or for anything else.
    fn from(takes_colours: bool) -> Colours {
        if takes_colours { Colours::Ansi } else { Colours::None }
    }
}

/// How bad a finding is.
///
/// ```
/// use pflang::{Code, Diagnostic, Severity, Span};
///
/// let lint = Diagnostic::new(Code::AlwaysTrue, Span::new(0, 9), "this is always true");
/// assert_eq!(lint.severity(), Severity::Warning);
/// assert_eq!(lint.severity().to_string(), "warning");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The filter does not compile.
    Error,
    /// The filter compiles, and may not mean what was meant.
    Warning,
}

impl Severity {
    /// `error` or `warning`.
    ///
    /// ```
    /// assert_eq!(pflang::Severity::Warning.name(), "warning");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// Its [name](Severity::name).
impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A filter that does not compile, or a list with such a filter: the finding and the text it is about.
///
/// ```
/// use pflang::{Code, Compiler};
/// use wire::LinkType;
///
/// let error = Compiler::new(LinkType::EN10MB).compile("tcp prot 80").unwrap_err();
/// assert_eq!(error.code(), Code::UnknownWord);
/// assert_eq!(error.span().text(&error.source), "prot");
/// assert_eq!(error.entry, None, "not in a list");
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Error {
    /// The finding.
    pub diagnostic: Box<Diagnostic>,
    /// The filter; empty where a list as a whole is at fault.
    pub source: Arc<str>,
    /// Which filter of a list it is, counted from 0.
    pub entry: Option<usize>,
    /// The test of a program that it is about.
    pub(crate) test: Option<Span>,
}

/// Stable identification of a finding. Below 100: errors; from 100: lints.
///
/// ```
/// use pflang::Code;
///
/// assert_eq!(Code::UnknownWord.name(), "PF003");
/// assert_eq!(Code::UnknownWord.to_string(), "PF003");
/// assert!(Code::AlwaysTrue.is_lint() && !Code::UnknownWord.is_lint());
/// assert!(Code::ALL.contains(&Code::Limit));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Code {
    /// PF001: a character that no token starts with, or a malformed number or address.
    BadToken = 1,
    /// PF002: a word or sign where the grammar allows none such.
    Unexpected = 2,
    /// PF003: a word that is not a keyword and cannot be a name here.
    UnknownWord = 3,
    /// PF004: a display filter of Wireshark's.
    DisplaySyntax = 4,
    /// PF005: a host, net, port, protocol or other name that cannot be resolved.
    UnknownName = 5,
    /// PF006: qualifiers that do not go together, or with this identifier.
    BadQualifier = 6,
    /// PF007: a number, address, prefix or mask out of range.
    OutOfRange = 7,
    /// PF008: not possible on this link type.
    LinkType = 8,
    /// PF009: only possible on a live capture.
    LiveOnly = 9,
    /// PF010: division by the constant zero, or a constant shift of more than 31.
    Arithmetic = 10,
    /// PF011: an extension while `strict` is on.
    Strict = 11,
    /// PF012: needs the netmask, which is unknown.
    Netmask = 12,
    /// PF013: a limit of the compiler is exceeded.
    Limit = 13,
    /// PF014: a primitive that is not supported after the words before it.
    Encapsulation = 14,
    /// PF015: a broken invariant of the compiler itself.
    Internal = 15,
    /// PF016: the file of a set cannot be read.
    SetFile = 16,
    /// PF101: an encapsulation word shifts everything to its right.
    ShiftsOffsets = 101,
    /// PF102: `not` over a load that rejects short packets.
    NotOverLoad = 102,
    /// PF103: a transport load or port that never sees some IPv6 packets.
    NoIpv6 = 103,
    /// PF104: a part that is always true.
    AlwaysTrue = 104,
    /// PF105: a part that is always false.
    AlwaysFalse = 105,
    /// PF106: operators of equal precedence mixed without parentheses.
    Precedence = 106,
    /// PF107: a `!=` that means `=`.
    NotEqualIsEqual = 107,
    /// PF108: an entry of a list that never decides.
    NeverDecides = 108,
    /// PF109: a field that is read whatever the packet carries.
    LostGuard = 109,
    /// PF110: an address that is another than it looks.
    OtherAddress = 110,
    /// PF111: alternatives that are all negated.
    NegatedAlternatives = 111,
}

impl Code {
    /// Every code there is, in order.
    ///
    /// ```
    /// use pflang::Code;
    ///
    /// assert!(Code::ALL.iter().any(|code| code.to_string() == "PF104"));
    /// ```
    #[rustfmt::skip]
    pub const ALL: &[Code] = {
        use Code::*;
        &[
            BadToken, Unexpected, UnknownWord, DisplaySyntax, UnknownName, BadQualifier, OutOfRange, LinkType,
            LiveOnly, Arithmetic, Strict, Netmask, Limit, Encapsulation, Internal, SetFile,
            ShiftsOffsets, NotOverLoad, NoIpv6, AlwaysTrue, AlwaysFalse, Precedence, NotEqualIsEqual,
            NeverDecides, LostGuard, OtherAddress, NegatedAlternatives,
        ]
    };

    /// `PF` and three digits.
    ///
    /// ```
    /// assert_eq!(pflang::Code::UnknownWord.name(), "PF003");
    /// ```
    pub fn name(self) -> String {
        format!("PF{:03}", self as u16)
    }

    /// Whether it is a lint, with which the filter compiles.
    ///
    /// ```
    /// # use pflang::Code;
    /// assert!(Code::AlwaysTrue.is_lint() && !Code::UnknownWord.is_lint());
    /// ```
    pub fn is_lint(self) -> bool {
        self as u16 >= 100
    }
}

/// Its [name](Code::name).
impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name())
    }
}

impl Error {
    #[cold]
    pub(crate) fn new(mut diagnostic: Box<Diagnostic>, source: Arc<str>) -> Error {
        let Diagnostic { message, label, help, .. } = &mut *diagnostic;
        [Some(message), label.as_mut(), help.as_mut()].into_iter().flatten().for_each(shorten);
        Error { diagnostic, source, entry: None, test: None }
    }

    pub(crate) fn in_entry(self, entry: usize) -> Error {
        Error { entry: Some(entry), ..self }
    }

    pub(crate) fn in_test(self, test: Option<Span>) -> Error {
        Error { test, ..self }
    }

    /// Which finding.
    ///
    /// ```
    /// # use pflang::{Compiler, LinkType};
    /// let error = Compiler::new(LinkType::EN10MB).compile("tcp prot 80").unwrap_err();
    /// assert_eq!(error.code(), pflang::Code::UnknownWord);
    /// ```
    pub fn code(&self) -> Code {
        self.diagnostic.code
    }

    /// Where in the filter.
    ///
    /// ```
    /// # use pflang::{Compiler, LinkType};
    /// let error = Compiler::new(LinkType::EN10MB).compile("tcp prot 80").unwrap_err();
    /// assert_eq!(error.span().text("tcp prot 80"), "prot");
    /// ```
    pub fn span(&self) -> Span {
        self.diagnostic.span
    }

    /// The error as a JSON object on one line: `source`, `entry`, and what [`Diagnostic::to_json`] has.
    ///
    /// ```
    /// use pflang::Compiler;
    /// use wire::LinkType;
    ///
    /// let entries = [("arp", 1), ("tcp prot 80", 2)];
    /// let error = Compiler::new(LinkType::EN10MB).compile_list(&entries).unwrap_err();
    /// assert!(error.to_json().starts_with(r#"{"source":"tcp prot 80","entry":1,"code":"PF003","#));
    /// ```
    pub fn to_json(&self) -> String {
        json::error(self)
    }

    /// The finding as text, as [`Diagnostic::render`] of the filter; of a list, with the number of the filter in it.
    ///
    /// ```
    /// use pflang::{Colours, Compiler};
    /// use wire::LinkType;
    ///
    /// let error = Compiler::new(LinkType::EN10MB).compile("tcp and").unwrap_err();
    /// assert_eq!(error.render(Colours::None), error.to_string());
    /// ```
    pub fn render(&self, colours: Colours) -> String {
        match self.entry {
            None => self.diagnostic.render(&self.source, colours),
            Some(entry) => {
                let message = format!("entry [{entry}]: {}", self.diagnostic.message);
                Diagnostic { message, ..(*self.diagnostic).clone() }.render(&self.source, colours)
            }
        }
    }
}

/// Bytes of a sentence that is still read. A name in it may have megabytes.
const SENTENCE_MAX: usize = 1000;

fn shorten(sentence: &mut String) {
    if sentence.len() > SENTENCE_MAX {
        sentence.truncate(sentence.floor_char_boundary(SENTENCE_MAX));
        sentence.push('…');
    }
}

/// The finding with its place, several lines, without colours.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Colours::None))
    }
}

impl std::error::Error for Error {}
