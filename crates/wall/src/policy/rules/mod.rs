//! The rules of a policy: their text, and the program that it becomes.
//!
//! ```text
//! sni example.com and tcp port 443 => drop(log)
//!     wall_name in a range         ─► (wall_name >= 2 and wall_name <= 4) and tcp port 443 => r0
//! ```
//!
//! What the wall adds to the language of filters becomes comparisons of numbers that are given with each packet; all else stays as it is written. So one
//! program decides all rules. Errors of the compiler are told at the place that the text came from.

mod parse;
mod scan;

use super::limit::Rate;
use super::names::domain;
use super::problem::{Code, Problem};
use super::settings::App;
use super::vocabulary::{Bit, CONFIDENCES, Input, STATES, Vocabulary};
use crate::rules::Action;
use dpi::Protocol;
use dpi::protocol::Naming;
pub(super) use parse::advice;
use parse::{Line, Part, Test, Verdict, Word};
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

/// A rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// What becomes of packets that it takes.
    pub action: Action,
    /// What accepted packets are marked with.
    pub mark: Option<u32>,
    /// Whether they are logged.
    pub log: bool,
    /// Its limits, by number.
    pub(crate) limits: Vec<usize>,
    /// The rule as written, in bytes of the policy's text.
    pub span: Range<usize>,
    /// Its line in that text, from 1.
    pub line: usize,
    /// Its test as a text of its own, without its verdict, and those around it.
    pub(crate) test: String,
    /// The tests around it and its own as they were written, without comments.
    pub(crate) written: String,
    /// Tests of the blocks before it that decide what enters them: a packet that comes to this rule has passed none.
    #[cfg(test)]
    pub(crate) passed: Vec<String>,
    /// Tests of the blocks that it is in, each with those around it.
    #[cfg(test)]
    pub(crate) around: Vec<String>,
}

/// What a rule looks at besides the bytes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Needs {
    /// Nothing: it decides without a look at the flow.
    Packet,
    /// The flow: its state, who began it, how many packets it has had; or a limit.
    Flow,
    /// What the flow speaks.
    Identification,
}

impl Rule {
    /// What it looks at besides the bytes of a packet.
    #[must_use]
    pub fn needs(&self) -> Needs {
        let asks = |input: Input| self.test.contains(&input.name());
        let is_identification = |input: &Input| input.is_of_identification();
        let words = [Input::App, Input::Master, Input::Category, Input::Confidence, Input::Name];
        let words = words.into_iter().chain([Input::FlowCount, Input::State, Input::From]);
        let found: Vec<Input> = words.filter(|input| asks(*input)).collect();
        if found.iter().any(is_identification)
            || self.test.contains("wall_sets")
            || self.test.contains("wall_risks")
            || self.test.contains("wall_own")
        {
            Needs::Identification
        } else if !found.is_empty() || !self.limits.is_empty() {
            Needs::Flow
        } else {
            Needs::Packet
        }
    }
}

/// Rules, and the program that they are.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) rules: Vec<Rule>,
    /// The program, whose handler of rule number N is `rN`.
    pub(super) text: String,
    /// Where its parts came from.
    places: Vec<Place>,
    pub(super) vocabulary: Vocabulary,
    /// Sets of addresses and ports that tests name.
    pub(super) sets: HashSet<String>,
    pub(super) apps: HashSet<usize>,
}

/// Where a part of a program came from.
#[derive(Clone, Debug)]
struct Place {
    of: Range<usize>,
    from: Range<usize>,
    /// Whether it stands there as it is.
    is_verbatim: bool,
}

/// What rules may name besides protocols.
pub(super) struct Known<'a> {
    pub(super) sets: &'a BTreeMap<String, Range<usize>>,
    pub(super) apps: &'a [App],
    /// The whole text of the policy, and where the rules begin in it; `None` if they do not stand there as they are.
    pub(super) policy: &'a str,
    pub(super) begin: Option<usize>,
    /// The value of `rules`.
    pub(super) whole: Range<usize>,
}

impl Known<'_> {
    /// A place of the rules as one of the policy.
    fn place(&self, span: &Range<usize>) -> Range<usize> {
        self.begin.map_or_else(|| self.whole.clone(), |begin| begin + span.start..begin + span.end)
    }

    fn moved(&self, problem: Problem) -> Problem {
        let also = problem.also.map(|(span, text)| (self.place(&span), text));
        Problem { span: self.place(&problem.span), also, ..problem }
    }
}

impl Program {
    /// Reads rules.
    pub(super) fn read(text: &str, known: &Known<'_>) -> Result<Program, Vec<Problem>> {
        let lines = parse::parse(text).map_err(|problem| vec![known.moved(problem)])?;
        let mut vocabulary = Vocabulary::default();
        vocabulary.uses(Input::FlowCount);
        for domain in known.apps.iter().flat_map(|app| &app.names) {
            vocabulary.domains.add(domain);
        }
        // Domains have numbers when all of them are known.
        for line in &lines {
            let (Line::Rule { test, .. } | Line::Block { test }) = line else { continue };
            for part in &test.parts {
                if let Part::Word { word: Word::Sni(names), .. } = part {
                    names
                        .iter()
                        .filter_map(|name| domain(wild(&text[name.clone()]).0))
                        .for_each(|domain| vocabulary.domains.add(&domain));
                }
            }
        }
        vocabulary.domains.number();
        let mut writer = Writer {
            source: text,
            known,
            program: Program {
                rules: Vec::new(),
                text: "match {\n".to_owned(),
                places: Vec::new(),
                vocabulary,
                sets: HashSet::new(),
                apps: HashSet::new(),
            },
            problems: Vec::new(),
            counted: (0, 1),
            limits: Vec::new(),
            around: Vec::new(),
            #[cfg(test)]
            passed: vec![Vec::new()],
        };
        lines.iter().for_each(|line| writer.line(line));
        writer.program.text.push_str("}\n");
        let Writer { program, problems, .. } = writer;
        if problems.is_empty() {
            Ok(program)
        } else {
            Err(problems.into_iter().map(|problem| known.moved(problem)).collect())
        }
    }

    /// Where a place of the program came from, in the text of the rules.
    pub(super) fn as_written(&self, span: Range<usize>) -> Range<usize> {
        let first = self.places.partition_point(|place| place.of.end <= span.start);
        let last = self.places.partition_point(|place| place.of.start < span.end.max(span.start + 1));
        let Some(first) = self.places.get(first) else {
            let end = self.places.last().map_or(0, |place| place.from.end);
            return end..end;
        };
        let last = last.checked_sub(1).and_then(|last| self.places.get(last)).unwrap_or(first);
        let start = match first.is_verbatim {
            true => first.from.start + span.start.saturating_sub(first.of.start),
            false => first.from.start,
        };
        let end = match last.is_verbatim {
            true => (last.from.start + span.end.saturating_sub(last.of.start)).min(last.from.end),
            false => last.from.end,
        };
        start..end.max(start)
    }
}

/// Writes a program.
struct Writer<'a> {
    source: &'a str,
    known: &'a Known<'a>,
    program: Program,
    problems: Vec<Problem>,
    /// A place in the policy, and the line that it is on.
    counted: (usize, usize),
    /// The limits of the test at hand.
    limits: Vec<usize>,
    /// The tests of the blocks that are open, and the limits in them.
    around: Vec<Around>,
    /// By open block: the tests of those that are closed in it.
    #[cfg(test)]
    passed: Vec<Vec<String>>,
}

/// The test of a block that is open.
struct Around {
    test: String,
    written: String,
    limits: Vec<usize>,
}

impl Writer<'_> {
    fn line(&mut self, line: &Line) {
        match line {
            Line::End => {
                #[cfg(test)]
                self.note_passed();
                self.around.pop();
                self.program.text.push_str("}\n");
            }
            Line::Block { test } => {
                let text = self.test(test);
                let limits = std::mem::take(&mut self.limits);
                self.around.push(Around { written: self.written(test), test: text, limits });
                #[cfg(test)]
                self.passed.push(Vec::new());
                self.program.text.push_str(" => {\n");
            }
            Line::Rule { test, verdict } => {
                let text = self.test(test);
                let number = self.program.rules.len();
                // Without `;` what follows in parentheses would be its arguments.
                self.put(&format!(" => r{number};\n"), &verdict.span, false);
                let rule = self.rule(test, verdict, &text);
                self.program.rules.push(rule);
            }
        }
    }

    /// A block is at its end: what comes behind it has not entered it.
    #[cfg(test)]
    fn note_passed(&mut self) {
        self.passed.pop();
        let all = self.entered(self.around.len());
        self.passed.last_mut().unwrap().push(all);
    }

    /// The test of having entered so many blocks.
    #[cfg(test)]
    fn entered(&self, depth: usize) -> String {
        let around = self.around[..depth].iter().filter(|around| around.test != "otherwise");
        let tests: Vec<String> = around.map(|around| format!("({})", around.test)).collect();
        if tests.is_empty() { "otherwise".to_owned() } else { tests.join(" and ") }
    }

    fn rule(&mut self, test: &Test, verdict: &Verdict, text: &str) -> Rule {
        let mut limits: Vec<usize> = self.around.iter().flat_map(|around| &around.limits).copied().collect();
        limits.append(&mut self.limits);
        let around = self.around.iter().map(|around| around.test.as_str());
        let tests: Vec<String> = around
            .chain([text])
            .filter(|test| *test != "otherwise")
            .map(|test| format!("({test})"))
            .collect();
        let span = self.known.place(&(test.span.start..verdict.span.end));
        let mut written: String =
            self.around.iter().flat_map(|around| [around.written.as_str(), " => "]).collect();
        written += &self.written(test);
        Rule {
            written,
            #[cfg(test)]
            passed: self.passed.concat(),
            #[cfg(test)]
            around: (1..=self.around.len()).map(|depth| self.entered(depth)).collect(),
            action: verdict.action,
            mark: verdict.mark,
            log: verdict.log,
            limits,
            line: self.line_of(span.start),
            span,
            test: if tests.is_empty() { "otherwise".to_owned() } else { tests.join(" and ") },
        }
    }

    /// The line of a place. Rules come in their order, so the lines since the one before are counted.
    fn line_of(&mut self, at: usize) -> usize {
        let (from, line) = if self.counted.0 <= at { self.counted } else { (0, 1) };
        let since = self.known.policy.as_bytes().get(from..at).unwrap_or_default();
        self.counted = (at, line + since.iter().filter(|byte| **byte == b'\n').count());
        self.counted.1
    }

    /// A test as it was written, without comments.
    fn written(&self, test: &Test) -> String {
        let words = test.parts.iter().map(|part| &self.source[part.span()]);
        words.collect::<Vec<_>>().join(" ")
    }

    /// Writes a test, and gives what was written.
    fn test(&mut self, test: &Test) -> String {
        let begin = self.program.text.len();
        let mut last_end = test.span.start;
        for part in &test.parts {
            let span = part.span();
            if span.start > last_end {
                self.program.text.push(' ');
            }
            last_end = span.end;
            match part {
                Part::Token(span) => {
                    let text = &self.source[span.clone()];
                    self.put(text, span, true);
                }
                Part::Word { word, span } => {
                    let text = self.word(word);
                    self.put(&text, span, false);
                }
                Part::Set { name, span } => {
                    self.note_set(name);
                    let text = format!("in {{@{}}}", &self.source[name.clone()]);
                    self.put(&text, span, false);
                }
                Part::Member { name } => {
                    self.note_set(name);
                    let span = name.start - 1..name.end;
                    let text = &self.source[span.clone()];
                    self.put(text, &span, true);
                }
            }
        }
        self.program.text[begin..].to_owned()
    }

    fn put(&mut self, text: &str, from: &Range<usize>, is_verbatim: bool) {
        let begin = self.program.text.len();
        self.program.text.push_str(text);
        let of = begin..self.program.text.len();
        self.program.places.push(Place { of, from: from.clone(), is_verbatim });
    }

    fn note_set(&mut self, name: &Range<usize>) {
        let text = &self.source[name.clone()];
        if self.known.sets.contains_key(text) {
            self.program.sets.insert(text.to_owned());
            return;
        }
        self.unknown_set(name);
    }

    fn unknown_set(&mut self, name: &Range<usize>) {
        let text = &self.source[name.clone()];
        let found = format!("there is no set `{}`", wire::in_one_line(text));
        let mut problem = Problem::new(Code::UnknownSet, name.clone(), found);
        let known: Vec<&str> = self.known.sets.keys().take(8).map(String::as_str).collect();
        problem = match &known[..] {
            [] => problem.help("name it in the table `[sets]`: bad = \"bad.txt\""),
            known => problem.help(format!("`[sets]` has {}", known.join(", "))),
        };
        self.problems.push(problem);
    }

    fn uses(&mut self, input: Input) -> String {
        self.program.vocabulary.uses(input);
        input.name()
    }

    fn word(&mut self, word: &Word) -> String {
        match word {
            Word::App(names) => self.any(names, Writer::app),
            Word::Category(names) => self.any(names, Writer::category),
            Word::Sni(names) => self.any(names, Writer::sni),
            Word::State(names) => self.any(names, |writer, name| {
                let number = writer.one_of(name, &STATES, "state")?;
                Some(format!("{} = {number}", writer.uses(Input::State)))
            }),
            Word::Confidence(name) => {
                let number = self.one_of(name, &CONFIDENCES, "confidence").unwrap_or(0);
                format!("({} >= {number})", self.uses(Input::Confidence))
            }
            Word::Risk(names) => self.any(names, Writer::risk),
            Word::From(name) => {
                let number = self.one_of(name, &["initiator", "responder"], "end of a flow").unwrap_or(0);
                format!("({} = {number})", self.uses(Input::From))
            }
            Word::In(name) => self.interface(Input::In, name),
            Word::Out(name) => self.interface(Input::Out, name),
            Word::Limit(rate) => self.limit(*rate),
        }
    }

    fn any(
        &mut self,
        names: &[Range<usize>],
        mut test: impl FnMut(&mut Self, &Range<usize>) -> Option<String>,
    ) -> String {
        let tests: Vec<String> = names.iter().filter_map(|name| test(self, name)).collect();
        format!("({})", tests.join(" or "))
    }

    /// The number of a word among those that may stand there, from 1.
    fn one_of(&mut self, name: &Range<usize>, words: &[&str], what: &str) -> Option<usize> {
        let text = &self.source[name.clone()];
        let found = words.iter().position(|word| *word == text);
        if found.is_none() {
            let message = format!("there is no {what} `{}`", wire::in_one_line(text));
            let label = format!("expected {}", words.join(", "));
            self.problems.push(Problem::new(Code::UnknownName, name.clone(), message).label(label));
        }
        found.map(|at| at + 1)
    }

    fn app(&mut self, name: &Range<usize>) -> Option<String> {
        let text = &self.source[name.clone()];
        if let Some(at) = self.known.apps.iter().position(|app| app.name.eq_ignore_ascii_case(text)) {
            self.program.apps.insert(at);
            return Some(self.own_app(at));
        }
        let Some(protocol) = Protocol::named(text) else {
            let message = format!("no protocol is called `{}`", wire::in_one_line(text));
            let problem = Problem::new(Code::UnknownName, name.clone(), message);
            self.problems.push(match Protocol::nearest(text) {
                Some(nearest) => problem.help(format!("did you mean `{}`?", nearest.name(Naming::Ndpi))),
                None => problem
                    .help("`sluss wall protocols` lists them; those of your own stand in `[apps.NAME]`"),
            });
            return None;
        };
        let app = self.uses(Input::App);
        let number = protocol.number();
        if protocol.is_unknown() {
            // Most flows are carried by nothing that has a name.
            return Some(format!("{app} = {number}"));
        }
        let master = self.uses(Input::Master);
        Some(format!("{app} = {number} or {master} = {number}"))
    }

    /// What an application of the policy's own is told by: any of it.
    fn own_app(&mut self, at: usize) -> String {
        let app = &self.known.apps[at];
        let mut tests: Vec<String> =
            app.names.iter().filter_map(|name| self.in_domain(name, false)).collect();
        tests.extend(app.tests.iter().cloned());
        if !app.payloads.is_empty() {
            let own = &mut self.program.vocabulary.own;
            let number = own.iter().position(|known| *known == at).unwrap_or_else(|| {
                own.push(at);
                own.len() - 1
            });
            let Bit { word, mask } = Bit::of(number);
            tests.push(format!("{} & {mask} != 0", self.uses(Input::Own(word))));
        }
        tests.join(" or ")
    }

    fn category(&mut self, name: &Range<usize>) -> Option<String> {
        let text = &self.source[name.clone()];
        let categories = Protocol::categories();
        let Some(number) = categories.iter().position(|known| known.eq_ignore_ascii_case(text)) else {
            let message = format!("no category is called `{}`", wire::in_one_line(text));
            let problem = Problem::new(Code::UnknownName, name.clone(), message);
            self.problems.push(problem.help(format!("there are {}", categories.join(", "))));
            return None;
        };
        Some(format!("{} = {}", self.uses(Input::Category), number + 1))
    }

    fn risk(&mut self, name: &Range<usize>) -> Option<String> {
        let text = &self.source[name.clone()];
        if text == "any" {
            let words = [0, 1].map(|word| format!("{} != 0", self.uses(Input::Risks(word))));
            return Some(words.join(" or "));
        }
        let Some(number) = dpi::risk::number(text) else {
            let message = format!("no risk is called `{}`", wire::in_one_line(text));
            let problem = Problem::new(Code::UnknownName, name.clone(), message);
            let written = text.to_ascii_uppercase();
            let nearest = dpi::risk::all()
                .map(|(risk, _)| risk)
                .min_by_key(|risk| strsim::osa_distance(&written, risk))
                .filter(|risk| strsim::osa_distance(&written, risk) <= risk.len() / 4);
            self.problems.push(match nearest {
                Some(nearest) => problem.help(format!("did you mean `{nearest}`?")),
                None => problem.help("`sluss wall protocols --risks` lists them; `risk any` is one of them"),
            });
            return None;
        };
        let Bit { word, mask } = Bit::of(number as usize);
        Some(format!("{} & {mask} != 0", self.uses(Input::Risks(word))))
    }

    fn sni(&mut self, name: &Range<usize>) -> Option<String> {
        let text = &self.source[name.clone()];
        if let Some(set) = text.strip_prefix('@') {
            if !self.known.sets.contains_key(set) {
                self.unknown_set(&(name.start + 1..name.end));
                return None;
            }
            let Bit { word, mask } = Bit::of(self.program.vocabulary.name_set(set));
            return Some(format!("{} & {mask} != 0", self.uses(Input::Sets(word))));
        }
        let (written, is_below) = wild(text);
        match domain(written) {
            Some(domain) => self.in_domain(&domain, is_below),
            None => {
                let message = format!("`{}` is no domain", wire::in_one_line(text));
                let problem = Problem::new(Code::UnknownName, name.clone(), message);
                self.problems.push(problem.help("write `example.com`, which takes what lies below it as well, or `*.example.com`, which takes that alone"));
                None
            }
        }
    }

    /// Whether the name of a flow is a domain or lies in it; with `is_below`, only the latter.
    fn in_domain(&mut self, domain: &str, is_below: bool) -> Option<String> {
        let (low, high) = self.program.vocabulary.domains.range(domain)?;
        let input = self.uses(Input::Name);
        // The lowest number is that of the domain itself.
        Some(format!("({input} >= {} and {input} <= {high})", low + u32::from(is_below)))
    }

    fn interface(&mut self, input: Input, name: &Range<usize>) -> String {
        let number = self.program.vocabulary.interface(&self.source[name.clone()]);
        format!("({} = {number})", self.uses(input))
    }

    fn limit(&mut self, rate: Rate) -> String {
        let limits = &mut self.program.vocabulary.limits;
        limits.push(rate);
        let number = limits.len() - 1;
        self.limits.push(number);
        let Bit { word, mask } = Bit::of(number);
        format!("({} & {mask} != 0)", self.uses(Input::Limits(word)))
    }
}

/// A domain without `*.`, and whether that stood there.
fn wild(text: &str) -> (&str, bool) {
    text.strip_prefix("*.").map_or((text, false), |rest| (rest, true))
}
