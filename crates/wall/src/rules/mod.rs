//! Rules of SnabbWall: which protocol is accepted, dropped or rejected.
//!
//! ```lua
//! { HTTP = "reject", RTP = [[match { flow_count >= 69 => accept; otherwise => drop }]], default = "drop" }
//! ```
//!
//! The table is read as data; nothing of it is executed. A value is an action, or a pfmatch program whose handlers are the actions and whose input
//! `flow_count` is the number of packets of the flow so far, this one included. A flow that is not yet identified, or speaks what has no rule,
//! falls under `default`; without one it is accepted. A packet that no clause of its program takes is dropped. Packets without a flow, such as ARP, are accepted.

mod lua;

use dpi::Protocol;
use dpi::protocol::Naming;
use pflang::{Compiler, LinkType, Matcher};
use std::collections::HashMap;
use std::fmt;

/// Places in a text, in bytes.
pub type Span = std::ops::Range<usize>;

/// The longest text of rules, in bytes.
pub const TEXT_MAX: usize = 1 << 20;

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// It goes on.
    Accept,
    /// It does not, and its sender is told.
    Reject,
    /// It does not.
    Drop,
}

impl Action {
    /// The action of that name.
    pub(crate) fn named(name: &str) -> Option<Action> {
        Some(match name {
            "accept" => Action::Accept,
            "reject" => Action::Reject,
            "drop" => Action::Drop,
            _ => return None,
        })
    }

    /// Its name, as rules have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Action::Accept => "accept",
            Action::Reject => "reject",
            Action::Drop => "drop",
        }
    }
}

/// What the packets of a protocol fall under.
#[derive(Clone, Debug, PartialEq)]
enum Policy {
    /// The same for all of them.
    Always(Action),
    /// The program of that number.
    Program(usize),
}

/// Rules, as they were read.
///
/// ```
/// use wall::rules::Rules;
/// assert!(Rules::read("{ HTTP = 'reject', default = 'accept' }").is_ok());
/// let error = Rules::read("{ HTPP = 'reject' }").unwrap_err();
/// assert_eq!(error.to_string(), "1:3: no protocol is called `HTPP` (did you mean `HTTP`?)");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    by_protocol: HashMap<Protocol, Policy>,
    default: Policy,
    /// Texts of programs.
    programs: Vec<String>,
}

/// What is wrong with rules.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleError {
    /// The problem, in one line without a full stop.
    pub message: String,
    /// Where, in bytes of the text.
    pub span: Span,
    /// What to do about it.
    pub help: Option<String>,
    /// Line and column of its beginning, from 1; columns are characters.
    pub place: (usize, usize),
    /// The line that it begins in.
    pub line: String,
}

impl RuleError {
    fn new(span: Span, message: String) -> RuleError {
        RuleError { message, span, help: None, place: (1, 1), line: String::new() }
    }

    fn help(self, help: String) -> RuleError {
        RuleError { help: Some(help), ..self }
    }

    /// With the line of the text that it is about.
    fn in_text(mut self, text: &str) -> RuleError {
        let before = &text[..self.span.start.min(text.len())];
        let begin = before.rfind('\n').map_or(0, |newline| newline + 1);
        self.place = (before.matches('\n').count() + 1, before[begin..].chars().count() + 1);
        text[begin..].lines().next().unwrap_or_default().clone_into(&mut self.line);
        self
    }
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.place.0, self.place.1, self.message)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, " ({help})"))
    }
}

impl std::error::Error for RuleError {}

impl Rules {
    /// Reads rules.
    ///
    /// # Errors
    /// Text that is no table of strings; a protocol that nobody knows, or that has two rules; an action that there is none of; a program that
    /// does not compile, has other handlers than the actions, or hands arguments to them.
    pub fn read(text: &str) -> Result<Rules, RuleError> {
        if text.len() > TEXT_MAX {
            let message = format!("these rules have {} bytes; {TEXT_MAX} are the most", text.len());
            return Err(RuleError::new(0..0, message));
        }
        Rules::of(text).map_err(|error| error.in_text(text))
    }

    fn of(text: &str) -> Result<Rules, RuleError> {
        let mut rules = Rules {
            by_protocol: HashMap::new(),
            default: Policy::Always(Action::Accept),
            programs: Vec::new(),
        };
        let mut has_default = false;
        for lua::Field { name, value } in lua::fields(text)? {
            let twice = |other: &str| {
                RuleError::new(
                    name.span.clone(),
                    format!("`{}` has two rules", wire::in_one_line(&name.text)),
                )
                .help(format!("leave one of them out; {other}"))
            };
            let policy = rules.policy(&value)?;
            if name.text == "default" {
                if std::mem::replace(&mut has_default, true) {
                    return Err(twice("a packet falls under one default"));
                }
                rules.default = policy;
                continue;
            }
            let protocol = protocol(&name)?;
            if rules.by_protocol.insert(protocol, policy).is_some() {
                return Err(twice("names of one protocol are one name"));
            }
        }
        Ok(rules)
    }

    fn policy(&mut self, value: &lua::Text) -> Result<Policy, RuleError> {
        let text = value.text.trim();
        if let Some(action) = Action::named(text) {
            return Ok(Policy::Always(action));
        }
        if !text.starts_with("match") {
            return Err(RuleError::new(
                value.span.clone(),
                format!("`{}` is no action", wire::in_one_line(text)),
            )
            .help("write \"accept\", \"drop\", \"reject\", or [[match { … }]]".to_owned()));
        }
        check_program(value)?;
        let known = self.programs.iter().position(|program| *program == value.text);
        Ok(Policy::Program(known.unwrap_or_else(|| {
            self.programs.push(value.text.clone());
            self.programs.len() - 1
        })))
    }

    /// The rules, ready for packets of a link type. A program that means nothing there drops what falls under it.
    #[must_use]
    pub fn compile(&self, linktype: LinkType) -> Compiled {
        let row = |policy: &Policy| match policy {
            Policy::Always(action) => Row::Always(*action),
            Policy::Program(number) => Row::Program(*number as u32),
        };
        let last = self.by_protocol.keys().map(|protocol| usize::from(protocol.number())).max();
        let mut rows = vec![row(&self.default); last.map_or(0, |last| last + 1)];
        for (protocol, policy) in &self.by_protocol {
            rows[usize::from(protocol.number())] = row(policy);
        }
        let programs = self.programs.iter().map(|text| Program::compile(text, linktype)).collect();
        Compiled { rows, default: row(&self.default), programs, values: Vec::new() }
    }

    /// Whether what becomes of a packet may depend on its bytes, or on how many came before: not on its protocol alone.
    #[must_use]
    pub fn has_programs(&self) -> bool {
        !self.programs.is_empty()
    }
}

fn protocol(name: &lua::Text) -> Result<Protocol, RuleError> {
    Protocol::named(&name.text).ok_or_else(|| {
        let error = RuleError::new(
            name.span.clone(),
            format!("no protocol is called `{}`", wire::in_one_line(&name.text)),
        );
        match Protocol::nearest(&name.text) {
            Some(nearest) => error.help(format!("did you mean `{}`?", nearest.name(Naming::Snabbwall))),
            None => error.help("`sluss wall protocols` lists them".to_owned()),
        }
    })
}

/// The number that a program is given with each packet.
const INPUT: &str = "flow_count";

fn compiler(linktype: LinkType) -> Compiler {
    Compiler::new(linktype).inputs([INPUT])
}

/// Refuses a program that does not compile for Ethernet, or asks for what a firewall has not.
fn check_program(value: &lua::Text) -> Result<(), RuleError> {
    let compiler = compiler(LinkType::EN10MB);
    let matcher = compiler.compile_match(&value.text).map_err(|error| {
        let error = compiler.help(&error);
        let span = error.span();
        // Where it stands in the rules, if it stands there as it is.
        let span = match value.verbatim {
            Some(begin) => begin + span.start as usize..begin + span.end as usize,
            None => value.span.clone(),
        };
        let label = error.diagnostic.label.as_ref().map(|label| format!(", {label}")).unwrap_or_default();
        let mut told = RuleError::new(span, format!("{}{label}", error.diagnostic.message));
        told.help = error.diagnostic.help.clone();
        told
    })?;
    let wrong =
        |message: String, help: &str| Err(RuleError::new(value.span.clone(), message).help(help.to_owned()));
    if let Some(handler) = matcher.handlers().find(|handler| Action::named(handler).is_none()) {
        return wrong(
            format!("`{handler}` is none of the actions that a program can call"),
            "these are accept, drop and reject",
        );
    }
    if matcher.has_arguments() {
        return wrong("the actions take no arguments".to_owned(), "write `accept`, not `accept(…)`");
    }
    match matcher.inputs().find(|input| *input != INPUT) {
        Some(input) => wrong(
            format!("the program has an input `{input}`, of which nobody knows a number"),
            "flow_count is there without being named in front",
        ),
        None => Ok(()),
    }
}

/// Rules, ready for packets of one link type.
#[derive(Debug)]
pub struct Compiled {
    /// By number of protocol.
    rows: Vec<Row>,
    default: Row,
    programs: Vec<Program>,
    values: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
enum Row {
    Always(Action),
    Program(u32),
}

#[derive(Debug)]
struct Program {
    /// `None` where it means nothing on the link type.
    matcher: Option<Matcher>,
    /// By number of handler.
    actions: Vec<Action>,
}

impl Program {
    fn compile(text: &str, linktype: LinkType) -> Program {
        let matcher = compiler(linktype).compile_match(text).ok();
        let actions = matcher
            .iter()
            .flat_map(Matcher::handlers)
            .map(|name| Action::named(name).unwrap_or(Action::Drop));
        Program { actions: actions.collect(), matcher }
    }
}

/// A packet, as rules see it.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'a> {
    /// What was captured of it.
    pub packet: &'a [u8],
    /// How long it was on the wire.
    pub wire_len: u32,
    /// What its flow speaks, [`Protocol::UNKNOWN`] while that is not known.
    pub protocol: Protocol,
    /// How many packets its flow has had, with this one.
    pub flow_count: u32,
}

impl Compiled {
    /// What becomes of a packet of a flow.
    #[inline]
    pub fn judge(&mut self, judged: &Judged<'_>) -> Action {
        let row = self.rows.get(usize::from(judged.protocol.number())).unwrap_or(&self.default);
        match *row {
            Row::Always(action) => action,
            Row::Program(number) => self.run(number, judged),
        }
    }

    fn run(&mut self, number: u32, judged: &Judged<'_>) -> Action {
        let Program { matcher: Some(matcher), actions } = &self.programs[number as usize] else {
            return Action::Drop;
        };
        let count = [judged.flow_count];
        let inputs = &count[..matcher.inputs().len().min(1)];
        let call = matcher.call_captured(judged.packet, judged.wire_len, inputs, &mut self.values);
        call.map_or(Action::Drop, |call| actions[call.number as usize])
    }
}

#[cfg(test)]
mod tests;
