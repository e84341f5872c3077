//! Errors and warnings about the text of a graph.

use std::fmt;
use std::ops::Range;
use wire::in_one_line;

/// Everything that is wrong with the text of a graph, in its order; warnings are among it.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("{}", lines(.0, *.1))]
pub struct GraphFileErrors(pub Vec<GraphFileError>, pub(super) usize);

impl GraphFileErrors {
    /// How many more there are, which are not told.
    pub fn untold(&self) -> usize {
        self.1
    }
}

fn lines(errors: &[GraphFileError], untold: usize) -> String {
    let mut lines: Vec<String> = errors.iter().map(GraphFileError::to_string).collect();
    if untold > 0 {
        lines.push(format!("and {untold} more"));
    }
    lines.join("\n")
}

/// Something that is wrong with the text of a graph, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}{}", place(*.line, *.column), help_after(.help.as_deref()))]
#[non_exhaustive]
pub struct GraphFileError {
    /// The kind of problem.
    pub code: GraphCode,
    /// The problem, in one line.
    pub message: String,
    /// Bytes of the text that it is about.
    pub span: Range<usize>,
    /// The line where these begin; the first is 1.
    pub line: usize,
    /// The character of that line where they begin; the first is 1.
    pub column: usize,
    /// The text to write below the place.
    pub label: Option<String>,
    /// A second place that matters, and why.
    pub also: Option<(Range<usize>, String)>,
    /// A remedy.
    pub help: Option<String>,
    /// More to tell, over several lines, from whoever reads the option.
    pub detail: Option<String>,
    /// The app that it is about.
    pub app: Option<String>,
    /// The option or other key that it is about.
    pub key: Option<String>,
}

fn place(line: usize, column: usize) -> String {
    format!("line {line}, column {column}: ")
}

fn help_after(help: Option<&str>) -> String {
    help.map_or(String::new(), |help| format!("; {help}"))
}

/// The kind of a problem in the text of a graph. Below 100: errors; from 100: warnings, with which the graph runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum GraphCode {
    /// GR001: not TOML.
    Syntax = 1,
    /// GR002: too long, or too many apps or links.
    Limit = 2,
    /// GR003: a key at top level that is neither `links` nor `app`.
    UnknownKey = 3,
    /// GR004: `links` in the table of an app.
    LinksInApp = 4,
    /// GR005: something that must be a table, a list or a text is something else.
    Shape = 5,
    /// GR006: a name that is none.
    BadName = 6,
    /// GR007: an app without `type`.
    NoType = 7,
    /// GR008: a type that there is not.
    UnknownType = 8,
    /// GR009: an option that the class has not.
    UnknownOption = 9,
    /// GR010: an option that must be set and is not.
    MissingOption = 10,
    /// GR011: an option of another type than the class wants.
    OptionType = 11,
    /// GR012: an option that cannot be what it is.
    OptionValue = 12,
    /// GR013: a link that is not written as one.
    BadLink = 13,
    /// GR014: a link to or from an app that there is not.
    UnknownApp = 14,
    /// GR015: a port that the class has not.
    UnknownPort = 15,
    /// GR016: two links at one port.
    PortTwice = 16,
    /// GR017: two apps of one name, or a key that appears twice.
    Twice = 17,
    /// GR018: no app at all.
    Empty = 18,
    /// GR019: the system refuses what an app asks for.
    Refused = 19,
    /// GR020: something that one app wants for itself, and another uses as well.
    InUse = 20,
    /// GR021: what an app is to read is damaged, or not what it reads.
    Damaged = 21,
    /// GR022: an app failed before it ran.
    Failed = 22,
    /// GR101: an app without links.
    NoLink = 101,
    /// GR102: an option that may not mean what was meant.
    Odd = 102,
    /// GR103: what comes into an app can leave it nowhere.
    LeadsNowhere = 103,
    /// GR104: an app that sends what comes in, and nothing can.
    NothingComes = 104,
    /// GR105: no app brings packets in.
    NoSource = 105,
    /// GR106: what an app is to read is not there.
    Absent = 106,
}

impl GraphCode {
    /// Every code there is, in order.
    pub const ALL: &[GraphCode] = &[
        GraphCode::Syntax,
        GraphCode::Limit,
        GraphCode::UnknownKey,
        GraphCode::LinksInApp,
        GraphCode::Shape,
        GraphCode::BadName,
        GraphCode::NoType,
        GraphCode::UnknownType,
        GraphCode::UnknownOption,
        GraphCode::MissingOption,
        GraphCode::OptionType,
        GraphCode::OptionValue,
        GraphCode::BadLink,
        GraphCode::UnknownApp,
        GraphCode::UnknownPort,
        GraphCode::PortTwice,
        GraphCode::Twice,
        GraphCode::Empty,
        GraphCode::Refused,
        GraphCode::InUse,
        GraphCode::Damaged,
        GraphCode::Failed,
        GraphCode::NoLink,
        GraphCode::Odd,
        GraphCode::LeadsNowhere,
        GraphCode::NothingComes,
        GraphCode::NoSource,
        GraphCode::Absent,
    ];

    /// Whether the graph runs nevertheless.
    pub fn is_warning(self) -> bool {
        self as u16 >= 100
    }
}

/// `GR` and three digits.
impl fmt::Display for GraphCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GR{:03}", *self as u16)
    }
}

impl GraphFileError {
    pub(super) fn new(code: GraphCode, span: Range<usize>, message: impl Into<String>) -> Self {
        GraphFileError {
            code,
            message: message.into(),
            span,
            line: 1,
            column: 1,
            label: None,
            also: None,
            help: None,
            detail: None,
            app: None,
            key: None,
        }
    }

    pub(super) fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(super) fn also(mut self, span: Range<usize>, label: impl Into<String>) -> Self {
        self.also = Some((span, label.into()));
        self
    }

    pub(super) fn of(mut self, app: &str, key: Option<&str>) -> Self {
        self.app = Some(app.to_owned());
        self.key = key.map(str::to_owned);
        self
    }

    /// With the line and column of its span in `text`.
    pub(super) fn placed(mut self, text: &str) -> Self {
        let before = &text[..text.floor_char_boundary(self.span.start)];
        self.line = 1 + before.bytes().filter(|&byte| byte == b'\n').count();
        self.column = 1 + before.chars().rev().take_while(|&c| c != '\n').count();
        self
    }
}

/// Collects problems; beyond a number that nobody would read they are only counted.
#[derive(Debug)]
pub(super) struct Problems<'t> {
    text: &'t str,
    told: Vec<GraphFileError>,
    untold: usize,
    warnings: Vec<GraphFileError>,
}

impl<'t> Problems<'t> {
    /// Errors that are reported, and warnings. A hostile file has millions, and each costs a search for what may have been meant.
    const MAX: usize = 100;

    pub(super) fn new(text: &'t str) -> Self {
        Problems { text, told: Vec::new(), untold: 0, warnings: Vec::new() }
    }

    /// Adds an error.
    pub(super) fn add(&mut self, problem: impl FnOnce() -> GraphFileError) {
        if self.told.len() < Self::MAX {
            self.told.push(problem().placed(self.text));
        } else {
            self.pass_over();
        }
    }

    /// Adds a warning. Those that are too many are left out: a graph runs with any number of them.
    pub(super) fn warn(&mut self, problem: impl FnOnce() -> GraphFileError) {
        if self.warnings.len() < Self::MAX {
            self.warnings.push(problem().placed(self.text));
        }
    }

    /// Counts an error that is not told.
    pub(super) fn pass_over(&mut self) {
        self.untold += 1;
    }

    /// Whether there is anything with which the graph does not run.
    pub(super) fn any_errors(&self) -> bool {
        self.untold > 0 || !self.told.is_empty()
    }

    /// All of them, in the order of the text; an error if any of them is.
    pub(super) fn finish(self) -> Result<Vec<GraphFileError>, GraphFileErrors> {
        let wrong = self.any_errors();
        let Problems { mut told, untold, warnings, .. } = self;
        told.extend(warnings);
        told.sort_by_key(|problem| problem.span.start);
        if wrong { Err(GraphFileErrors(told, untold)) } else { Ok(told) }
    }
}

/// Text of a file for a message: in one line, and not too much of it.
pub(super) fn shown(text: &str) -> String {
    const MAX: usize = 60;
    match text.char_indices().nth(MAX) {
        Some((end, _)) => format!("{}…", in_one_line(&text[..end])),
        None => in_one_line(text).into_owned(),
    }
}
