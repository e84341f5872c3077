//! Chains of rules, and the program that they are.
//!
//! A block of pfmatch decides once it is entered, and a chain may return. So chains are followed: a rule of a chain becomes a clause with the tests on the
//! way to it, and what returns before it excluded.

use super::express::{self, Family};
use super::prefixes::Range;
use super::test::Test;
use super::{Choice, ImportError, Imported, Problem};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use wire::plural::counted;

/// Clauses of a program at most.
pub(super) const CLAUSES_MAX: usize = 1 << 20;
/// Primitives of a program at most.
const PRIMITIVES_MAX: usize = 8 << 20;
/// Chains that lead to each other at most.
const DEPTH_MAX: usize = 64;

/// What becomes of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Accept,
    Drop,
    Reject,
    /// A handler of another name, as it stands in the program.
    Call(String),
}

impl Verdict {
    fn handler(&self) -> &str {
        match self {
            Verdict::Accept => "accept",
            Verdict::Drop => "drop",
            Verdict::Reject => "reject",
            Verdict::Call(text) => text,
        }
    }
}

/// What a rule leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Verdict(Verdict),
    Jump(String),
    Goto(String),
    Return,
    /// Counting, logging: the next rule.
    Nothing,
}

#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) test: Test,
    pub(super) action: Action,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Chain {
    /// Packets come to it, and not only other chains.
    pub(super) is_base: bool,
    /// What becomes of a packet that no rule of a base chain decides about.
    pub(super) policy: Option<Verdict>,
    pub(super) rules: Vec<Rule>,
    pub(super) family: Family,
}

/// Members of a set: of each field of its type a value, as text.
#[derive(Clone, Debug, Default)]
pub(super) struct Set {
    /// Types of its fields, as their format names them.
    pub(super) types: Vec<String>,
    pub(super) members: Vec<Vec<String>>,
    /// Of nft's maps, what each member leads to.
    pub(super) actions: Vec<Action>,
}

/// All that was read.
#[derive(Debug, Default)]
pub(super) struct Ruleset {
    /// Which source is being read.
    pub(super) source: usize,
    /// Chains by table and name.
    pub(super) chains: BTreeMap<(String, String), Chain>,
    /// Sets of ipset.
    pub(super) sets: HashMap<String, Set>,
    pub(super) problems: Vec<Problem>,
    /// Interfaces that rules name, the bit of each its place.
    interfaces: Vec<String>,
    /// Text in front of the program.
    pub(super) notes: Vec<String>,
}

impl Ruleset {
    pub(super) fn problem(&mut self, line: usize, text: &str, reason: impl Into<String>) {
        let (source, text) = (self.source, text.trim().to_owned());
        self.problems.push(Problem { source, line, text, reason: reason.into() });
    }

    /// A test for an interface: `input` is `iif` or `oif`, a name may end with `+` or `*` for any rest.
    pub(super) fn interface(&mut self, input: &str, name: &str, negated: bool) -> Option<Test> {
        let at = self.interfaces.iter().position(|known| known == name).unwrap_or_else(|| {
            self.interfaces.push(name.to_owned());
            self.interfaces.len() - 1
        });
        (at < 32).then(|| express::input_bits(input, 1 << at, negated))
    }

    /// A chain of nothing but sets: the name of the first that the source address is in.
    pub(super) fn chain_of_sets(&mut self) {
        let mut names: Vec<&String> = self.sets.keys().collect();
        names.sort();
        let mut chain = Chain { is_base: true, family: Family::Inet, ..Chain::default() };
        let (mut notes, mut skipped) = (Vec::new(), Vec::new());
        for name in names {
            let set = &self.sets[name];
            let ranges: Option<Vec<Range>> = set
                .members
                .iter()
                .map(|fields| Range::parse(fields.first()?).filter(|_| fields.len() == 1))
                .collect();
            let Some(ranges) = ranges else {
                skipped.push(name.clone());
                continue;
            };
            let handler: String =
                name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
            let handler = if handler.starts_with(|c: char| c.is_ascii_digit()) {
                format!("set_{handler}")
            } else {
                handler
            };
            notes.push(format!("{handler}: the source address is in the set {name}"));
            let test = express::addresses("src", &ranges, false, Family::Inet);
            chain.rules.push(Rule { test, action: Action::Verdict(Verdict::Call(handler)) });
        }
        for name in skipped {
            self.problem(1, &name, "a set of other things than addresses is of use with rules only");
        }
        self.notes.extend(notes);
        self.chains.insert(("filter".into(), "sets".into()), chain);
    }

    /// The chain that is wanted.
    fn choose(&self, choice: &Choice) -> Result<(String, String), ImportError> {
        let wanted = |(table, name): &(String, String), chain: &Chain| {
            choice.table.as_ref().is_none_or(|wanted| wanted == table)
                && choice.chain.as_ref().map_or(chain.is_base, |wanted| wanted == name)
        };
        let mut found: Vec<_> = self.chains.iter().filter(|(at, chain)| wanted(at, chain)).collect();
        if found.len() > 1 && choice.table.is_none() && found.iter().any(|((table, _), _)| table == "filter")
        {
            found.retain(|((table, _), _)| table == "filter");
        }
        if found.len() > 1 && choice.chain.is_none() && found.iter().any(|(_, chain)| !chain.rules.is_empty())
        {
            found.retain(|(_, chain)| !chain.rules.is_empty());
        }
        match &found[..] {
            [(at, _)] => Ok((*at).clone()),
            [] => Err(self.no_such(choice)),
            many => Err(ImportError::Chain(many.iter().map(|(at, _)| named(at)).collect())),
        }
    }

    /// Why there is no chain that is wanted.
    fn no_such(&self, choice: &Choice) -> ImportError {
        let has_table = |wanted: &String| self.chains.keys().any(|(table, _)| table == wanted);
        let what = match (&choice.table, &choice.chain) {
            _ if self.chains.is_empty() => None,
            (Some(table), _) if !has_table(table) => Some(format!("table {table}")),
            (Some(table), Some(chain)) => Some(format!("chain {chain} in table {table}")),
            (Some(table), None) => Some(format!("base chain in table {table}")),
            (None, Some(chain)) => Some(format!("chain {chain}")),
            (None, None) => None,
        };
        match what {
            Some(what) => ImportError::NoSuch(what, self.chains.keys().map(named).collect()),
            None => ImportError::Chain(Vec::new()),
        }
    }

    /// The program of the chain that is wanted.
    pub(super) fn into_program(self, choice: &Choice) -> Result<Imported, ImportError> {
        let at = self.choose(choice)?;
        let base = &self.chains[&at];
        let mut flat = Flat { chains: &self.chains, table: &at.0, clauses: Vec::new(), primitives: 0 };
        flat.follow(&at.1, Vec::new(), 0)?;
        let clauses = flat.clauses;
        let text: Vec<String> =
            clauses.iter().map(|(test, verdict)| format!("{test} => {}", verdict.handler())).collect();
        let rules = base.rules.len();
        let mut program = String::new();
        let [told_rules, told_clauses] =
            [(rules, "rule"), (clauses.len(), "clause")].map(|(count, noun)| counted(count as u64, noun));
        let _ = writeln!(program, "-- {} {}: {told_rules}, {told_clauses}", at.0, at.1);
        for note in &self.notes {
            let _ = writeln!(program, "-- {note}");
        }
        for (bit, name) in self.interfaces.iter().enumerate() {
            let _ = writeln!(program, "-- iif, oif: bit {:#x} is {name}", 1_u64 << bit);
        }
        let uses = |input: &str| clauses.iter().any(|(test, _)| asks(test, input));
        let inputs: Vec<&str> =
            ["ct_state", "iif", "oif", "mark"].into_iter().filter(|input| uses(input)).collect();
        let inputs = if inputs.is_empty() { String::new() } else { format!(" ({})", inputs.join(", ")) };
        let guard = match base.family {
            Family::Ip => "ip",
            Family::Ip6 => "ip6",
            Family::Inet => "ip or ip6",
        };
        let _ = writeln!(program, "match{inputs} {{\n    {guard} => {{");
        for clause in text {
            // Without the comma, a parenthesis in the next line would begin the handler's arguments.
            let _ = writeln!(program, "        {clause},");
        }
        if let Some(policy) = &base.policy {
            let _ = writeln!(program, "        otherwise => {}", policy.handler());
        }
        program += "    }\n}\n";
        Ok(Imported { program, rules, problems: self.problems })
    }
}

/// A chain as it is told: with its table.
fn named((table, name): &(String, String)) -> String {
    format!("{table} {name}")
}

/// Whether a test reads an input.
fn asks(test: &Test, input: &str) -> bool {
    match test {
        Test::Text(text) => text.starts_with(input) && text[input.len()..].starts_with(' '),
        Test::All(tests) | Test::Any(tests) => tests.iter().any(|test| asks(test, input)),
        Test::Not(inner) => asks(inner, input),
    }
}

/// Clauses, as chains are followed.
struct Flat<'a> {
    chains: &'a BTreeMap<(String, String), Chain>,
    table: &'a str,
    clauses: Vec<(Test, Verdict)>,
    primitives: usize,
}

impl Flat<'_> {
    /// Adds the clauses of a chain, which is reached where all of `guard` holds.
    fn follow(&mut self, name: &str, mut guard: Vec<Test>, depth: usize) -> Result<(), ImportError> {
        let chain = self.chains.get(&(self.table.to_owned(), name.to_owned()));
        let chain = chain.filter(|_| depth < DEPTH_MAX).ok_or_else(|| ImportError::Loop(name.to_owned()))?;
        for rule in &chain.rules {
            let here = || Test::All(guard.clone()).and(rule.test.clone());
            match &rule.action {
                Action::Nothing => continue,
                Action::Verdict(verdict) => self.clause(here(), verdict)?,
                Action::Jump(to) | Action::Goto(to) => {
                    let Test::All(tests) = here() else { unreachable!("`and` of all gives all") };
                    self.follow(to, tests, depth + 1)?;
                }
                Action::Return => match &chain.policy {
                    Some(policy) if depth == 0 => self.clause(here(), policy)?,
                    _ => {}
                },
            }
            // What comes back from another chain goes on; nothing else does.
            if matches!(rule.action, Action::Return | Action::Goto(_)) {
                guard.push(rule.test.clone().not());
            }
            if rule.test.is_always() && !matches!(rule.action, Action::Jump(_)) {
                break;
            }
        }
        Ok(())
    }

    fn clause(&mut self, test: Test, verdict: &Verdict) -> Result<(), ImportError> {
        self.primitives += test.size();
        if self.clauses.len() >= CLAUSES_MAX || self.primitives > PRIMITIVES_MAX {
            return Err(ImportError::TooLarge);
        }
        self.clauses.push((test, verdict.clone()));
        Ok(())
    }
}
