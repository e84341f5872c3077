//! Policies of the wall: an ordered list of rules, of which the first that takes a packet decides, and what goes with it.
//!
//! ```toml
//! default = "drop"
//! rules = '''
//! state established => accept
//! in lan and app {HTTP, TLS} => accept
//! sni in @bad => reject(log)
//! '''
//!
//! [sets]
//! bad = ["ads.example", "tracker.example"]
//! ```
//!
//! ```text
//!  text ─► settings, sets, applications
//!       └► rules ─► one program ─┬► whole          everything is known
//!                                ├► early          what the flow speaks is not known yet
//!                                └► stateless      nothing is known of the flow
//! ```
//!
//! All rules are one pfmatch program. What is known of a flow is given to it as numbers. Two more programs are made of it by three-valued evaluation
//! ([`Compiler::compile_match_without`]): they answer where the rules decide whatever those numbers are, and leave the rest open. So a packet that its
//! addresses condemn never costs a look at its flow.

// A problem ends the reading of a policy: its size costs nothing.
#![allow(clippy::result_large_err)]

mod limit;
mod names;
mod not_ip;
mod problem;
mod rules;
mod sets;
mod settings;
mod vocabulary;

pub(crate) use limit::Bucket;
pub use limit::Rate;
pub use problem::{Code, Problem};
pub use rules::{Needs, Rule};
pub use settings::{
    Faults, Flows, Hold, Identify, Mode, NotIp, OnFault, PolicyTest, Records, Rejects, Settings, SipMedia,
    Undecided,
};
pub(crate) use vocabulary::{Input, Vocabulary};

use classify::lists::ChangedLists;
use dpi::{Details, Protocol};
use names::DomainSet;
use pflang::internals::ir::Node;
use pflang::{CommonHeader, Compiler, Dialect, Limits, LinkType, LookedUp, Matcher};
use rules::{Known, Program};
use sets::Sets;
use settings::{App, File, SetSource};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Instant;

/// Rules from which on two threads compile the programs that they become.
const RULES_OF_THREADS: usize = 4096;

/// Nodes of the tree of a program of those rules that are not looked up in tables. One set of all odd ports has 5.5 million, and a few hundred in the graph.
const TREE_NODES_MAX: usize = 6 << 20;

/// Nodes of the graph of such a program: they are what is slow to compile.
const NODES_MAX: usize = if cfg!(test) { 1 << 16 } else { 1 << 19 };

/// How long compiling each program may take, in milliseconds. A hundred thousand rules that are looked up take three seconds; what stays large when it is optimised
/// takes 40 µs a node.
const COMPILE_MS: u64 = 30_000;

/// What a compilation gives, and the milliseconds that it has taken.
fn timed<T>(compile: impl FnOnce() -> T) -> (T, f64) {
    let begin = Instant::now();
    let compiled = compile();
    (compiled, begin.elapsed().as_secs_f64() * 1e3)
}

/// In policies with more rules, those about packets without IP are not looked for.
const RULES_WITHOUT_IP_MAX: usize = 512;

/// The handler of what a program leaves open.
const OPEN: &str = "open";

/// A policy that was read, and in which nothing is wrong.
///
/// ```
/// use std::path::Path;
/// use wall::policy::Policy;
/// let policy = Policy::read("rules = '''\napp HTTP => reject\notherwise => accept\n'''", Path::new("")).unwrap();
/// assert_eq!(policy.rules().len(), 2);
/// let problems = Policy::read("rules = 'app HTPP => reject'", Path::new("")).unwrap_err();
/// assert_eq!((problems[0].code.as_str(), problems[0].help.as_deref()), ("WP009", Some("did you mean `HTTP`?")));
/// ```
#[derive(Debug)]
pub struct Policy {
    text: String,
    settings: Settings,
    program: Program,
    sets: Arc<Sets>,
    apps: Vec<App>,
    tests: Vec<PolicyTest>,
    /// Of domains, by number.
    domain_sets: Vec<DomainSet>,
    files: Vec<PathBuf>,
    warnings: Vec<Problem>,
    /// The programs for Ethernet, which were made to see what is wrong.
    compiled: OnceLock<Programs>,
}

impl Policy {
    /// Reads the text of a policy. Files in it are named from `folder`.
    ///
    /// # Errors
    /// Everything that is wrong, in the order of the text.
    pub fn read(text: &str, folder: &Path) -> Result<Policy, Vec<Problem>> {
        Policy::read_changed(text, folder, &ChangedLists::default())
    }

    /// Reads a policy whose sets have changed since they were written, by their names.
    ///
    /// # Errors
    /// As for [`Policy::read`]; a set that cannot be changed.
    pub fn read_changed(text: &str, folder: &Path, lists: &ChangedLists) -> Result<Policy, Vec<Problem>> {
        Policy::read_with(text, folder, lists, None)
    }

    /// The same policy, with its sets as they were read and what has changed of them since: no file is read.
    ///
    /// # Errors
    /// A set that cannot be changed.
    pub fn changed(&self, lists: &ChangedLists) -> Result<Policy, Vec<Problem>> {
        Policy::read_with(&self.text, Path::new(""), lists, Some(&*self.sets))
    }

    fn read_with(
        text: &str,
        folder: &Path,
        lists: &ChangedLists,
        running: Option<&Sets>,
    ) -> Result<Policy, Vec<Problem>> {
        let File { settings, rules, sets: sources, apps, tests } = File::read(text)?;
        let sets = Arc::new(Sets::read(&sources, folder, lists, running)?);
        let files = sources.values().filter_map(|(_, source)| match source {
            SetSource::File(path) => Some(path.clone()),
            SetSource::Members(_) => None,
        });
        let files = files.collect();
        let names = sources.iter().map(|(name, (span, _))| (name.clone(), span.clone())).collect();
        let known =
            Known { sets: &names, apps: &apps, policy: text, begin: rules.begin, whole: rules.span.clone() };
        let program = Program::read(&rules.text, &known)?;
        let domain_sets = program.vocabulary.name_sets.iter().map(|name| sets.domains(name, &names[name]));
        let domain_sets = domain_sets.collect::<Result<Vec<_>, _>>().map_err(|problem| vec![problem])?;
        let used = |name: &String| program.sets.contains(name) || program.vocabulary.name_sets.contains(name);
        let mut warnings: Vec<Problem> = names
            .iter()
            .filter(|(name, _)| !used(name))
            .map(|(name, span)| {
                Problem::new(
                    Code::Unused,
                    span.clone(),
                    format!("no rule names the set `{}`", wire::in_one_line(name)),
                )
            })
            .collect();
        let unused = apps.iter().enumerate().filter(|(at, _)| !program.apps.contains(at));
        warnings.extend(unused.map(|(_, app)| {
            let message = format!("no rule names the application `{}`", wire::in_one_line(&app.name));
            Problem::new(Code::Unused, app.span.clone(), message)
        }));
        let policy = Policy {
            text: text.to_owned(),
            settings,
            program,
            sets,
            tests,
            domain_sets,
            apps: apps.clone(),
            files,
            warnings,
            compiled: OnceLock::new(),
        };
        // What the compiler finds wrong, in the text as written.
        let compiled = policy.compile_anew(LinkType::EN10MB).map_err(|error| {
            vec![policy.problem(
                &policy.compiler(LinkType::EN10MB).help(&error).diagnostic,
                rules.begin,
                &rules.span,
            )]
        })?;
        let _ = policy.compiled.set(compiled);
        Ok(policy)
    }

    /// What may not mean what was meant: what no rule names, rules that no packet reaches or that are not asked, and tests that may surprise.
    #[must_use]
    pub fn warnings(&self) -> Vec<Problem> {
        let mut warnings = self.warnings.clone();
        warnings.extend(self.without_risks());
        let (begin, whole) = self.rules_place();
        let compiler = self.compiler(LinkType::EN10MB);
        let lints = compiler.lints_of_match(&self.program.text).unwrap_or_default();
        if self.settings.not_ip != NotIp::Rules && self.rules().len() <= RULES_WITHOUT_IP_MAX {
            let never_asked = not_ip::never_asked(&compiler, &self.program.text);
            let place = |span| self.place(span, begin, &whole);
            warnings.extend(never_asked.into_iter().map(|span| not_ip::problem(place(span))));
        }
        for lint in &lints {
            let mut problem = self.problem(lint, begin, &whole);
            problem.is_warning = true;
            if lint.code == pflang::Code::NeverDecides {
                problem.code = Code::NeverDecides.to_string();
                problem.message = "no packet reaches this rule".to_owned();
            }
            warnings.push(problem);
        }
        warnings.sort_by_key(|warning| warning.span.start);
        warnings
    }

    /// Where the rules begin in the text, if they stand there as they are, and their value.
    fn rules_place(&self) -> (Option<usize>, std::ops::Range<usize>) {
        File::read(&self.text).map_or((None, 0..0), |file| (file.rules.begin, file.rules.span))
    }

    /// A place of the program, in the text of the policy.
    fn place(
        &self,
        span: pflang::Span,
        begin: Option<usize>,
        whole: &std::ops::Range<usize>,
    ) -> std::ops::Range<usize> {
        match begin {
            Some(begin) => {
                let at = self.program.as_written(span.start as usize..span.end as usize);
                begin + at.start..begin + at.end
            }
            None => whole.clone(),
        }
    }

    /// A finding about the program, as one about the policy.
    fn problem(
        &self,
        found: &pflang::Diagnostic,
        begin: Option<usize>,
        whole: &std::ops::Range<usize>,
    ) -> Problem {
        // The language of filters knows nothing of the wall's words.
        let own = || {
            let rest = self.program.text.get(found.span.start as usize..)?;
            rules::advice(rest.get(..found.span.end.checked_sub(found.span.start)? as usize)?, rest)
        };
        let own = (found.code == pflang::Code::UnknownWord).then(own).flatten();
        let place = |span| self.place(span, begin, whole);
        let problem = Problem {
            code: found.code.to_string(),
            is_warning: found.code.is_lint(),
            message: found.message.clone(),
            span: place(found.span),
            label: found.label.clone(),
            also: found.also.as_ref().map(|(span, text)| (place(*span), text.clone())),
            help: own.or_else(|| found.help.clone()),
        };
        if found.code == pflang::Code::Limit { problem.of_rules() } else { problem }
    }

    /// The text that it was read from.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it says besides its rules.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Its rules, in their order.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.program.rules
    }

    /// Its tests.
    #[must_use]
    pub fn tests(&self) -> &[PolicyTest] {
        &self.tests
    }

    /// The program that its rules are.
    #[must_use]
    pub fn program(&self) -> &str {
        &self.program.text
    }

    /// Its sets, by name, with how many lines each has.
    pub fn sets(&self) -> impl Iterator<Item = (&str, usize)> {
        self.sets.texts.iter().map(|(name, text)| (name.as_str(), text.lines().count()))
    }

    /// The files of its sets, as written.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(PathBuf::as_path)
    }

    pub(crate) fn vocabulary(&self) -> &Vocabulary {
        &self.program.vocabulary
    }

    /// By number of an own application with a payload: what one of its first packets begins with.
    pub(crate) fn payloads(&self) -> impl Iterator<Item = &[Vec<u8>]> {
        self.program.vocabulary.own.iter().map(|at| self.apps[*at].payloads.as_slice())
    }

    /// What the names that a flow gives come to: the number of the domain, and a bit for each set.
    pub(crate) fn name(&self, details: &Details) -> (u32, Vec<u32>) {
        let name = details.sni.as_deref().map(|name| name.trim_end_matches('.')).unwrap_or_default();
        let mut bits = vec![0; self.domain_sets.len().div_ceil(32)];
        for (at, _) in self.domain_sets.iter().enumerate().filter(|(_, set)| set.has(name)) {
            bits[at / 32] |= 1 << (at % 32);
        }
        (self.program.vocabulary.domains.number_of(name), bits)
    }

    /// The interfaces that rules name, in the order in which they are first named.
    pub fn interfaces(&self) -> impl Iterator<Item = &str> {
        self.program.vocabulary.interfaces.iter().map(String::as_str)
    }

    /// Whether rules ask for the state of flows.
    pub(crate) fn asks_for_states(&self) -> bool {
        self.program.vocabulary.inputs.contains(&Input::State)
    }

    /// Whether rules ask for risks.
    pub(crate) fn asks_for_risks(&self) -> bool {
        self.program.vocabulary.inputs.iter().any(|input| matches!(input, Input::Risks(_)))
    }

    /// That rules ask for risks, which nobody finds, if that is so.
    fn without_risks(&self) -> Option<Problem> {
        let why = match dpi::ndpi::built_with() {
            _ if !self.asks_for_risks() => return None,
            Some(_) if self.settings.dpi == Identify::Own => "`dpi = \"own\"` does not ask it",
            Some(_) => return None,
            None => "this program was built without it",
        };
        let rule = self.rules().iter().find(|rule| rule.test.contains("wall_risks"));
        let span = rule.map_or(0..0, |rule| rule.span.clone());
        let message = format!("`risk` never holds: nDPI finds risks, and {why}");
        Some(Problem::new(Code::NeverDecides, span, message))
    }

    /// Whether rules ask for sets of domains.
    pub(crate) fn has_domain_sets(&self) -> bool {
        !self.domain_sets.is_empty()
    }

    /// Which rules a packet comes to, and what their tests ask, with these numbers.
    pub(crate) fn trace(
        &self,
        (linktype, frame, wire_len): (LinkType, &[u8], u32),
        row: &[u32],
    ) -> Result<Vec<AskedRule>, pflang::Error> {
        let trace = self.compiler(linktype).trace_match(&self.program.text, frame, wire_len, row)?;
        let begin = self.rules_place().0;
        let written = |span: pflang::Span, text: &str| match begin {
            Some(begin) => {
                let at = self.program.as_written(span.start as usize..span.end as usize);
                self.text.get(begin + at.start..begin + at.end).unwrap_or_default().to_owned()
            }
            None => span.text(text).to_owned(),
        };
        let line = |span: pflang::Span| {
            let at = self.program.as_written(span.start as usize..span.end as usize);
            begin.map_or(0, |begin| problem::line_of(&self.text, begin + at.start))
        };
        let asked = |clause: &pflang::TracedClause| {
            let mut parts: Vec<AskedPart> = Vec::new();
            for primitive in
                clause.test.primitives.iter().filter(|primitive| primitive.is_asked && !primitive.is_member)
            {
                let text = written(primitive.span, &clause.text);
                // A word of the wall's own may be several comparisons.
                match parts.last_mut() {
                    Some(last) if last.text == text => {
                        last.holds = primitive.holds.or(last.holds);
                    }
                    _ => parts.push(AskedPart { text, holds: primitive.holds }),
                }
            }
            AskedRule {
                text: written(clause.span, &clause.text),
                line: line(clause.span),
                depth: clause.depth,
                holds: clause.holds,
                parts,
            }
        };
        Ok(trace.clauses.iter().map(asked).collect())
    }

    /// Where the compiler finds the sets.
    #[cfg(test)]
    pub(crate) fn names(&self) -> Arc<dyn pflang::Names + Send + Sync> {
        Arc::<Sets>::clone(&self.sets)
    }

    fn compiler(&self, linktype: LinkType) -> Compiler {
        let inputs = self.program.vocabulary.inputs.iter().map(|input| input.name());
        let mut limits = Limits::default();
        limits.terms = 8 << 20;
        limits.source_bytes = 512 << 20;
        (limits.nodes, limits.graph_nodes, limits.time_ms) = (TREE_NODES_MAX, NODES_MAX, COMPILE_MS);
        Compiler::new(linktype)
            .dialect(Dialect::MODERN)
            .limits(limits)
            .inputs(inputs)
            .names(Arc::<Sets>::clone(&self.sets))
    }

    /// Its rules, ready for packets of a link type.
    ///
    /// # Errors
    /// A test means nothing on this link type, or the program is too large.
    pub fn compile(&self, linktype: LinkType) -> Result<Programs, pflang::Error> {
        match self.compiled.get() {
            // Clones are the same programs.
            Some(programs) if linktype == LinkType::EN10MB => Ok(programs.clone()),
            _ => self.compile_anew(linktype),
        }
    }

    fn compile_anew(&self, linktype: LinkType) -> Result<Programs, pflang::Error> {
        let compiler = self.compiler(linktype);
        let parsed = compiler.parse_match(&self.program.text)?;
        // What rules ask besides packets: every policy has `flow_count`, which few rules name.
        let asked = |input: &&Input| **input != Input::FlowCount || self.program.text.contains("flow_count");
        let inputs: Vec<Input> = self.program.vocabulary.inputs.iter().filter(asked).copied().collect();
        let named = |is_unknown: fn(Input) -> bool| -> Vec<String> {
            inputs.iter().filter(|input| is_unknown(**input)).map(|input| input.name()).collect()
        };
        let unknown_early = named(Input::is_of_identification);
        let unknown_stateless = named(|input| !input.is_of_packet());
        let whole = || timed(|| compiler.compile_parsed(&parsed));
        let without = |unknown: &[String]| {
            let unknown: Vec<&str> = unknown.iter().map(String::as_str).collect();
            timed(|| compiler.compile_parsed_without(&parsed, &unknown, OPEN))
        };
        // Programs without the same numbers are the same program.
        let others = || {
            let stateless = (!unknown_stateless.is_empty()).then(|| without(&unknown_stateless));
            let is_another = !unknown_early.is_empty() && unknown_early != unknown_stateless;
            (is_another.then(|| without(&unknown_early)), stateless)
        };
        let has_others = !unknown_stateless.is_empty();
        let ((whole, whole_ms), (early, stateless)) =
            match has_others && self.program.rules.len() >= RULES_OF_THREADS {
                true => thread::scope(|scope| match thread::Builder::new().spawn_scoped(scope, others) {
                    Ok(thread) => (whole(), thread.join().unwrap_or_else(|panic| resume_unwind(panic))),
                    // The system has no thread for us: one after the other.
                    Err(_) => (whole(), others()),
                }),
                false => {
                    let whole = whole();
                    if let (Err(error), _) = whole {
                        return Err(error);
                    }
                    (whole, others())
                }
            };
        let whole = whole?;
        let (stateless, stateless_ms) = match stateless {
            Some((stateless, ms)) => (stateless?, ms),
            None => (whole.clone(), 0.0),
        };
        let (early, early_ms) = match early {
            Some((early, ms)) => (Some(early?), ms),
            None => ((!unknown_early.is_empty()).then(|| stateless.clone()), 0.0),
        };
        let build_ms = [whole_ms, early_ms, stateless_ms];
        let graph = stateless.graph();
        let is_open =
            matches!(graph.node(graph.root), Node::Leaf(leaf) if *leaf != pflang::internals::ir::REJECT);
        let stateless_decides =
            !is_open || stateless.has_tables() || !stateless.handlers().any(|name| name == OPEN);
        let rules = self.program.rules.len() as u32;
        Ok(Programs { whole, early, stateless, stateless_decides, rules, build_ms })
    }

    /// Bytes that names and sets of domains take, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.domain_sets.iter().map(DomainSet::bytes).sum::<usize>()
            + self.text.len()
            + self.program.text.len()
            + self.sets.bytes()
    }

    /// How many domains its sets have.
    #[must_use]
    pub fn domains(&self) -> usize {
        self.domain_sets.iter().map(DomainSet::len).sum()
    }
}

/// A rule that a packet has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedRule {
    /// As written; of a block its test.
    pub text: String,
    /// Its line in the policy, from 1; 0 where that is not known.
    pub line: usize,
    /// How many blocks it is in.
    pub depth: usize,
    /// Whether it takes the packet.
    pub holds: bool,
    /// What was asked, in this order.
    pub parts: Vec<AskedPart>,
}

/// A part of a rule's test that was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedPart {
    /// As written.
    pub text: String,
    /// Whether it holds; `None` where the packet was cut before that was known.
    pub holds: Option<bool>,
}

/// The rules of a policy, ready for packets of one link type.
#[derive(Clone, Debug)]
pub struct Programs {
    /// With all that is known of a packet's flow.
    whole: Matcher,
    /// Before it is known what the flow speaks; `None` where no rule asks for that.
    early: Option<Matcher>,
    /// Without a look at the flow.
    stateless: Matcher,
    /// Whether that decides anything.
    stateless_decides: bool,
    rules: u32,
    /// What compiling each of these programs took.
    build_ms: [f64; 3],
}

/// One of the programs that rules are, for people and reports.
#[derive(Clone, Debug)]
pub struct ProgramSummary {
    /// What is known when it is asked.
    pub known: &'static str,
    /// Nodes of its graphs; a table in which rules are looked up counts as one.
    pub nodes: usize,
    /// Nodes that a packet passes at most, without those of parts of tests that are asked by themselves.
    pub longest_path: usize,
    /// Rules that are looked up.
    pub looked_up: Option<LookedUp>,
    /// What compiling it took.
    pub build_ms: f64,
}

/// What a program says of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A rule takes it.
    Rule(u32),
    /// None does.
    None,
    /// That depends on what is not known.
    Open,
}

impl Programs {
    #[inline]
    fn answer(&self, matcher: &Matcher, packet: (&[u8], u32), row: &[u32], values: &mut Vec<u32>) -> Answer {
        match matcher.call_captured(packet.0, packet.1, row, values) {
            None => Answer::None,
            Some(call) if call.number < self.rules => Answer::Rule(call.number),
            Some(_) => Answer::Open,
        }
    }

    /// With all that is known.
    #[inline]
    pub(crate) fn whole(&self, packet: (&[u8], u32), row: &[u32], values: &mut Vec<u32>) -> Answer {
        self.answer(&self.whole, packet, row, values)
    }

    /// Before it is known what the flow speaks.
    #[inline]
    pub(crate) fn early(&self, packet: (&[u8], u32), row: &[u32], values: &mut Vec<u32>) -> Answer {
        self.answer(self.early.as_ref().unwrap_or(&self.whole), packet, row, values)
    }

    /// Without a look at the flow.
    #[inline]
    pub(crate) fn stateless(&self, packet: (&[u8], u32), row: &[u32], values: &mut Vec<u32>) -> Answer {
        self.answer(&self.stateless, packet, row, values)
    }

    /// Whether the stateless program decides anything.
    #[inline]
    pub(crate) fn stateless_decides(&self) -> bool {
        self.stateless_decides
    }

    /// The places of the row that the programs read, if they read nothing of packets: with all known, and before that.
    pub(crate) fn places(&self) -> [Option<Vec<usize>>; 2] {
        [self.whole.places(), self.early.as_ref().unwrap_or(&self.whole).places()]
    }

    /// The places of the row that the verdicts of a flow depend on, identified or not, if its packets have this header and verdicts depend on nothing else of them.
    pub(crate) fn places_for_flow(&self, header: &CommonHeader) -> Option<Vec<usize>> {
        let stateless = self.stateless_decides.then_some(&self.stateless);
        let mut places = self.whole.places_for(header)?;
        for program in self.early.iter().chain(stateless) {
            places.extend(program.places_for(header)?);
        }
        Some(places)
    }

    /// The programs, in the order whole, early, stateless; the second is empty unless some rule asks what a flow speaks.
    #[must_use]
    pub fn summaries(&self) -> Vec<ProgramSummary> {
        let summary = |(known, matcher, build_ms): (&'static str, &Matcher, f64)| ProgramSummary {
            known,
            nodes: matcher.nodes(),
            longest_path: matcher.longest_path(),
            looked_up: matcher.looked_up(),
            build_ms,
        };
        let [whole, early, stateless] = self.build_ms;
        let known = "not what the flow speaks";
        let nothing = ProgramSummary { known, nodes: 0, longest_path: 0, looked_up: None, build_ms: 0.0 };
        vec![
            summary(("everything", &self.whole, whole)),
            self.early.as_ref().map_or(nothing, |matcher| summary((known, matcher, early))),
            summary(("nothing of the flow", &self.stateless, stateless)),
        ]
    }
}

/// Reads a text as rules, and judges a packet by them if they are: for fuzzing. Whatever the text is, what is wrong with it has its place in it.
#[doc(hidden)]
pub fn fuzz(rules: &str) {
    let quoted = rules.replace("'''", "");
    let text =
        format!("rules = '''\n{quoted}'''\nsets.a = ['10.0.0.1', 'a.example']\n[apps.own]\npayload = 'x'\n");
    match Policy::read(&text, Path::new("")) {
        Ok(policy) => {
            let Ok(programs) = policy.compile(LinkType::EN10MB) else { return };
            let row = vec![1; policy.vocabulary().inputs.len()];
            let (packet, mut values) = ((rules.as_bytes(), rules.len() as u32), Vec::new());
            let whole = programs.whole(packet, &row, &mut values);
            for certain in
                [programs.stateless(packet, &row, &mut values), programs.early(packet, &row, &mut values)]
            {
                assert!(certain == Answer::Open || certain == whole, "{text}: {certain:?}, {whole:?}");
            }
        }
        Err(problems) => {
            assert!(!problems.is_empty());
            for problem in problems {
                assert!(
                    problem.span.start <= problem.span.end && problem.span.end <= text.len(),
                    "{problem:?}"
                );
                let _ = problem.render(&text, pflang::Colours::None);
            }
        }
    }
}

/// The number of a protocol's category, from 1.
pub(crate) fn categories() -> Vec<u32> {
    let names = Protocol::categories();
    let number = |protocol: Protocol| {
        names.iter().position(|name| *name == protocol.category()).map_or(0, |at| at as u32 + 1)
    };
    Protocol::all().map(number).collect()
}

#[cfg(test)]
mod tests;
