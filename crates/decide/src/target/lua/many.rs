//! Many-way branches as Lua, by size and shape.
//!
//! ```text
//! up to 4 arms                       a test for each target
//! more, mostly single values         a table from value to the number of its target
//! more, ranges of 16 bits            an array of the numbers of targets, for every value
//! more, wider ranges                 a sorted array, searched
//! ```

use super::text::number;
use super::values::{Form, Need, Question};
use super::{Last, Piece, Writer};
use crate::ir::{Arm, Node, NodeId, ValueId};
use crate::target::lir::switch::{merged, segments};
use std::fmt::Write;

/// Up to this many arms are tested one by one.
const TESTS_MAX: usize = 4;
/// Ranges are taken apart into values as long as that makes at most this many an arm, and a few.
const KEYS_PER_ARM: u64 = 2;
const KEYS_EXTRA: u64 = 16;
/// Up to this many targets are told apart by tests.
const TARGETS_MAX: usize = 8;
/// Tables that are local variables of the chunk: LuaJIT allows 60 outer locals in a function.
pub(super) const LOCAL_TABLES: usize = 20;

impl Writer<'_> {
    /// The piece of a switch; its value stands in a variable.
    pub(super) fn many(&mut self, value: ValueId, arms: &[Arm], default: NodeId, piece: &mut Piece) {
        piece.last = Last::To(default);
        let mut targets: Vec<NodeId> = arms.iter().map(|arm| arm.target).collect();
        targets.sort_unstable();
        targets.dedup();
        if arms.len() <= TESTS_MAX {
            let arms_of =
                |target: &NodeId| arms.iter().filter(|arm| arm.target == *target).collect::<Vec<_>>();
            // What takes one comparison goes first: IPv4 before ARP and RARP.
            targets.sort_by_key(|target| arms_of(target).len());
            for target in targets {
                piece.tests.push((self.any_of(value, &arms_of(&target)), target));
            }
            return;
        }

        let number_of = |arm: &Arm| targets.binary_search(&arm.target).unwrap_or_default() + 1;
        let keys: u64 = arms.iter().map(|arm| u64::from(arm.high - arm.low) + 1).sum();
        let (found, nothing) = if keys <= KEYS_PER_ARM * arms.len() as u64 + KEYS_EXTRA {
            let form = self.values.form(value);
            let key = |k: u32| if form == Form::Signed { i64::from(k as i32) } else { i64::from(k) };
            let entries = arms.iter().flat_map(|arm| (arm.low..=arm.high).map(move |k| (k, arm)));
            let entries = entries.map(|(k, arm)| format!("[{}]={}", number(key(k)), number_of(arm)));
            let table = self.table(&format!("{{\n{}}}", wrapped(entries)));
            (format!("{table}[{}]", self.values.named(value)), "nil")
        } else if self.values.max(value) <= 0xffff {
            self.values.need(Need::Ranges);
            self.values.need(Need::Ffi);
            let size = self.values.max(value) + 1;
            let entries =
                arms.iter().map(|arm| format!("{},{},{}", arm.low, arm.high.min(size - 1), number_of(arm)));
            let table = self.table(&format!("ranges({size}, {{\n{}}})", wrapped(entries)));
            (format!("{table}[{}]", self.values.unsigned(value)), "0")
        } else {
            let (begins, leads) = segments(arms, default);
            let lows = wrapped(begins.iter().map(|&k| number(k.into())));
            let lows = self.table(&format!("{{\n{lows}}}"));
            let leads =
                leads.iter().map(|lead| targets.binary_search(lead).map_or(0, |at| at + 1).to_string());
            let leads = self.table(&format!("{{\n{}}}", wrapped(leads)));
            self.searches = true;
            (format!("{leads}[rank({lows}, {})]", self.values.unsigned(value)), "0")
        };
        if let [only] = targets[..] {
            return piece.tests.push((Question::of(&found, "~=", "==", nothing), only));
        }
        self.values.need(Need::At);
        piece.setup.push(format!("at = {found}"));
        piece.tests.push((Question::of("at", "==", "~=", nothing), default));
        if targets.len() > TARGETS_MAX {
            piece.last = Last::Dispatch(targets);
        } else {
            let (last, others) = targets.split_last().expect("more than one");
            for (i, &target) in others.iter().enumerate() {
                piece.tests.push((Question::of("at", "==", "~=", &(i + 1).to_string()), target));
            }
            piece.last = Last::To(*last);
        }
    }

    /// Whether a value lies in one of few arms.
    fn any_of(&self, value: ValueId, arms: &[&Arm]) -> Question {
        let x = self.values.unsigned(value);
        let signed = self.values.form(value) == Form::Signed;
        let name = &self.values.named(value);
        let is_alone = arms.len() == 1;
        let tests = arms.iter().map(|arm| match (arm.low, arm.high) {
            (low, high) if low == high => {
                let k = if signed { i64::from(low as i32) } else { low.into() };
                Question::of(name, "==", "~=", &number(k))
            }
            (0, u32::MAX) => Question { yes: "true".to_owned(), no: "false".to_owned() },
            (0, high) => Question::of(&x, "<=", ">", &number(high.into())),
            (low, u32::MAX) => Question::of(&x, ">=", "<", &number(low.into())),
            (low, high) => {
                let [low, high] = [low, high].map(|k| number(k.into()));
                let [yes, no] =
                    [format!("{x} >= {low} and {x} <= {high}"), format!("{x} < {low} or {x} > {high}")];
                if is_alone {
                    Question { yes, no }
                } else {
                    Question { yes: format!("({yes})"), no: format!("({no})") }
                }
            }
        });
        let tests: Vec<Question> = tests.collect();
        let join = |of: fn(&Question) -> &str, by: &str| tests.iter().map(of).collect::<Vec<_>>().join(by);
        Question { yes: join(|test| &test.yes, " or "), no: join(|test| &test.no, " and ") }
    }

    /// The name of an outer table; equal tables stand there once.
    fn table(&mut self, text: &str) -> String {
        if let Some(name) = self.tables.get(text) {
            return name.clone();
        }
        let next = self.tables.len() + 1;
        let name = if next <= LOCAL_TABLES { format!("set{next}") } else { format!("sets[{next}]") };
        let local = if next <= LOCAL_TABLES { "local " } else { "" };
        let _ = writeln!(self.declarations, "{local}{name} = {text}");
        self.tables.insert(text.to_owned(), name.clone());
        name
    }

    /// The arms of a switch that differ from its default.
    pub(super) fn arms(&self, id: NodeId) -> Vec<Arm> {
        match self.graph.node(id) {
            Node::Switch(switch) => merged(switch),
            _ => Vec::new(),
        }
    }
}

/// Whether the targets of so many arms are told apart by a table of functions.
pub(super) fn dispatches(arms: &[Arm]) -> bool {
    let mut targets: Vec<NodeId> = arms.iter().map(|arm| arm.target).collect();
    targets.sort_unstable();
    targets.dedup();
    targets.len() > TARGETS_MAX
}

/// Entries of a table, as many to a line as fit.
fn wrapped(entries: impl Iterator<Item = String>) -> String {
    let (mut out, mut width) = (String::new(), 0);
    for entry in entries {
        if width + entry.len() > 96 {
            out.push('\n');
            width = 0;
        }
        out.push_str(if width == 0 { "   " } else { " " });
        width += entry.len() + 2;
        out.push_str(&entry);
        out.push(',');
    }
    out.push('\n');
    out
}
