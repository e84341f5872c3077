//! Lists of many clauses, of which the first that holds decides, as a few look-ups.
//!
//! ```text
//! tests ─► terms ─► tables      clauses that differ in addresses, ports or numbers that are given: a table a field, or rules over several
//!                └► checks      what a table does not say of a term: boxes once more, and parts of tests, compiled together and asked one by one
//!      └─► outside              all other clauses: a program of the ordinary kind
//!
//! packet ─► fields ─► the lowest clause of all tables, and of the program outside
//! ```
//! Clauses that are looked up are never lowered, optimised or written as code: their cost is that of reading them. What they mean is told by the program that
//! finds the fields ([`crate::lower::lower_key`]): a field is there where the tests of the language find it.

mod depends;
mod index;
mod key;
mod plan;
mod read;
mod summary;
mod switch;
mod term;

use crate::clock::{Clock, worded};
use crate::compiler::Compiler;
use crate::diag::Diagnostic;
use crate::exec::Packet;
use crate::ir::tree::Clause;
use crate::ir::verify::Checked;
use crate::ir::{Graph, Node, REJECT};
use crate::lower::{self, Wanted};
use crate::syntax::ast::{Ast, ExprId, RelOp};
use crate::syntax::program::Line;
use classify::rules;
use decide::Decision;
pub use depends::CommonHeader;
pub(crate) use depends::depends;
use index::{NONE, Table};
use key::{Fields, Key};
use plan::Plan;
use read::Atom;
use std::cell::RefCell;
use std::collections::HashSet;
pub(crate) use summary::longest_path;
pub use summary::{LookedUp, TableSummary};
use term::{Dim, Term};

/// What became of the clauses of a list.
#[derive(Debug)]
pub(crate) enum Tables {
    /// All are asked by the program.
    None,
    /// The program is a switch, made of them without their tests.
    Switch(LookedUp),
    /// The program is of those that are not looked up.
    Classifier(Box<Classifier>),
}

impl Tables {
    /// What they are, if anything; `inputs` are the names of the numbers that are given with each packet.
    pub(crate) fn summary(&self, inputs: &[String]) -> Option<LookedUp> {
        match self {
            Tables::None => None,
            Tables::Switch(looked_up) => Some(looked_up.clone()),
            Tables::Classifier(classifier) => Some(classifier.summary(inputs)),
        }
    }

    /// What is asked beside the program.
    #[inline]
    pub(crate) fn classifier(&self) -> Option<&Classifier> {
        if let Tables::Classifier(classifier) = self { Some(classifier) } else { None }
    }
}

/// Finds the first clause of a packet.
#[derive(Debug)]
pub(crate) struct Classifier {
    /// Finds the fields of packets, where tables ask for some.
    fields: Option<Fields>,
    tables: Vec<Table>,
    checks: Vec<Term>,
    atoms: Atoms,
    /// By clause that is looked up: the leaf that it leads to.
    leaves: Vec<u32>,
    /// By leaf of the program outside, from 1: how many clauses that are looked up come before it, and the leaf that it leads to.
    outside: Vec<(u32, u32)>,
    first_outside: u32,
}

/// Parts of tests that are asked one by one.
#[derive(Debug, Default)]
struct Atoms {
    kinds: Vec<AtomKind>,
    /// The parts that are compiled, in one program: a number behind the row says which is asked.
    program: Option<Decision>,
    inputs: usize,
}

#[derive(Clone, Copy, Debug)]
enum AtomKind {
    Bits { slot: u32, mask: u32, op: RelOp, k: u32 },
    Part(u32),
}

/// Memory that is used from packet to packet.
#[derive(Default)]
struct Scratch {
    rules: rules::Scratch,
    asked: Asked,
}

/// What was asked of a packet.
#[derive(Default)]
struct Asked {
    /// By atom: 0 if it was not asked, 1 for no, 2 for yes.
    answers: Vec<u8>,
    atoms: Vec<u32>,
    row: Vec<u32>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// A list whose clauses are looked up as far as they can be, and what is left of it.
pub(crate) struct Divided<'a> {
    plan: Plan<'a>,
    inputs: usize,
    tries: bool,
}

impl<'a> Divided<'a> {
    /// Divides a program, some of whose inputs are not known; `None` where it stays as it is.
    pub(crate) fn program(
        compiler: &Compiler,
        ast: &'a Ast,
        lines: &'a [Line],
        unknown: &'a HashSet<u32>,
    ) -> Option<Self> {
        if !compiler.may_look_up_of(lines.len()) {
            return None;
        }
        let plan = plan::of_program(compiler, ast, lines, unknown)?;
        Some(Divided { plan, inputs: ast.inputs.len(), tries: true })
    }

    /// Divides a list of filters.
    pub(crate) fn list(
        compiler: &Compiler,
        tests: impl ExactSizeIterator<Item = (&'a Ast, Option<ExprId>)>,
        unknown: &'a HashSet<u32>,
    ) -> Option<Self> {
        if !compiler.may_look_up_of(tests.len()) {
            return None;
        }
        Some(Divided { plan: plan::of_list(compiler, tests, unknown)?, inputs: 0, tries: false })
    }

    /// How many clauses are looked up.
    fn clauses(&self) -> usize {
        self.plan.flats.len()
    }

    /// Where the program outside leads all packets, if it does and stands behind all clauses that are looked up.
    pub(crate) fn default(&self, outside: &Checked, leaves: &[(u32, u32)]) -> Option<u32> {
        let graph = outside.graph();
        let Node::Leaf(number) = *graph.node(graph.root) else { return None };
        let Some(at) = number.checked_sub(1) else { return Some(REJECT) };
        leaves
            .get(at as usize)
            .filter(|(before, _)| *before as usize == self.clauses())
            .map(|(_, leaf)| *leaf)
    }

    /// Whether a line stays outside.
    pub(crate) fn is_outside(&self, line: usize) -> bool {
        self.plan.is_outside[line]
    }

    /// How many clauses that are looked up come before a line.
    pub(crate) fn before(&self, line: usize) -> u32 {
        self.plan.before[line]
    }

    /// Whether all parts of tests that are asked by themselves mean something.
    pub(crate) fn check(&self, compiler: &Compiler, clock: Clock) -> Result<(), Box<Diagnostic>> {
        let parts = self.plan.atoms.iter().filter_map(|atom| match *atom {
            Atom::Part(part) => Some(part),
            Atom::Bits { .. } => None,
        });
        lower::lower_tests(parts, &compiler.lower_options(), clock, self.tries).map(|_| ())
    }

    /// Makes the tables. `leaf` gives the leaf of a line, `open` is the one for what is not known, and `outside` are the leaves of the program outside, each
    /// with how many clauses that are looked up come before it. `None` where that takes too much memory, or the link type is not one for it.
    pub(crate) fn build(
        self,
        compiler: &Compiler,
        clock: Clock,
        leaf: impl Fn(usize) -> u32,
        open: u32,
        outside: Vec<(u32, u32)>,
    ) -> Result<Option<Classifier>, Box<Diagnostic>> {
        let Plan { flats, groups, atoms, .. } = &self.plan;
        let dims: Vec<Dim> = flats.iter().flat_map(|flat| &flat.terms).flat_map(Term::dims).collect();
        let terms = || flats.iter().flat_map(|flat| &flat.terms);
        let wanted = Wanted {
            addresses4: dims.iter().any(|dim| matches!(dim, Dim::V4(_))),
            addresses6: dims.iter().any(|dim| matches!(dim, Dim::V6(_))),
            ports: dims.iter().any(|dim| matches!(dim, Dim::Port(_))),
        };
        let asks_kind = terms().any(|term| term.kinds.1 != 0);
        let fields = match wanted != Wanted::default() || asks_kind {
            true => match Fields::new(compiler, wanted, clock)? {
                Some(fields) => Some(fields),
                None => return Ok(None),
            },
            false => None,
        };
        clock.check(crate::Span::default())?;
        let mut checks = Vec::new();
        let limit = compiler.limits.code_bytes;
        let mut tables = Vec::with_capacity(groups.len());
        for group in groups {
            match group.table(flats, &mut checks, limit) {
                Some(table) => tables.push(table),
                None => return Ok(None),
            }
            clock.check(crate::Span::default())?;
        }
        tables.sort_by_key(|table| table.first);
        let mut checks: Vec<Term> = checks.into_iter().cloned().collect();
        let atoms = Atoms::new(compiler, (atoms, self.inputs, self.tries), &mut checks, clock)?;
        let leaves = flats.iter().map(|flat| flat.target.leaf(&leaf, open)).collect();
        let first_outside = outside.iter().map(|(before, _)| *before).min().unwrap_or(NONE);
        Ok(Some(Classifier { fields, tables, checks, atoms, leaves, outside, first_outside }))
    }
}

/// Numbers the leaves of a program outside: by how many clauses that are looked up come before them, and the leaf that they lead to.
#[derive(Default)]
pub(crate) struct OutsideLeaves {
    numbers: std::collections::HashMap<(u32, u32), u32>,
    leaves: Vec<(u32, u32)>,
}

impl OutsideLeaves {
    pub(crate) fn number(&mut self, before: u32, leaf: u32) -> u32 {
        let next = self.leaves.len() as u32 + 1;
        let number = *self.numbers.entry((before, leaf)).or_insert(next);
        if number == next {
            self.leaves.push((before, leaf));
        }
        number
    }

    pub(crate) fn into_leaves(self) -> Vec<(u32, u32)> {
        self.leaves
    }
}

impl Classifier {
    /// The leaf of a packet. `outside` decides the clauses that are not looked up.
    pub(crate) fn leaf(&self, outside: &Decision, captured: &[u8], wire_len: u32, row: &[u32]) -> u32 {
        let best = SCRATCH.with_borrow_mut(|scratch| self.find(captured, wire_len, row, scratch));
        let number = match self.first_outside <= best {
            true => outside.leaf_with(captured, wire_len, row),
            false => REJECT,
        };
        self.first(best, number)
    }

    /// The leaves of packets, with each of which the caller gives a row of so many numbers.
    pub(crate) fn leaves(
        &self,
        outside: &Decision,
        packets: &[Packet<'_>],
        (rows, width): (&[u32], usize),
        to: &mut [u32],
    ) {
        for (at, (packets, to)) in packets.chunks(BURST).zip(to.chunks_mut(BURST)).enumerate() {
            let rows = &rows[at * BURST * width..][..packets.len() * width];
            let to = &mut to[..packets.len()];
            SCRATCH.with_borrow_mut(|scratch| self.find_each(packets, (rows, width), to, scratch));
            let mut numbers = [REJECT; BURST];
            if to.iter().any(|best| self.first_outside <= *best) {
                outside.run_burst_with(packets, rows, &mut numbers[..packets.len()]);
            }
            to.iter_mut().zip(numbers).for_each(|(to, number)| *to = self.first(*to, number));
        }
    }

    /// The first clauses that are looked up, of packets up to [`BURST`].
    fn find_each(
        &self,
        packets: &[Packet<'_>],
        (rows, width): (&[u32], usize),
        best: &mut [u32],
        scratch: &mut Scratch,
    ) {
        let mut keys = [Key::default(); BURST];
        let keys = &mut keys[..packets.len()];
        if let Some(fields) = &self.fields {
            fields.of_each(packets, keys);
        }
        best.fill(NONE);
        let Scratch { rules, asked } = scratch;
        // What was asked is kept for one packet at a time.
        let mut about = 0;
        for table in &self.tables {
            if best.iter().all(|best| *best <= table.first) {
                continue;
            }
            table.find_each(keys, (rows, width), best, rules, |at, check| {
                if at != about {
                    asked.forget();
                    about = at;
                }
                let (packet, row) = (&packets[at], &rows[at * width..(at + 1) * width]);
                self.holds(check, &keys[at], (packet.data(), packet.wire_len()), row, asked)
            });
        }
        asked.forget();
    }

    /// The leaf of the first of two: a clause that was looked up, and a leaf of the program outside.
    #[inline]
    fn first(&self, best: u32, number: u32) -> u32 {
        let outside = number.checked_sub(1).and_then(|at| self.outside.get(at as usize));
        match outside {
            Some(&(before, leaf)) if before <= best => leaf,
            _ => self.leaves.get(best as usize).copied().unwrap_or(REJECT),
        }
    }

    /// The first clause that is looked up.
    #[inline]
    fn find(&self, captured: &[u8], wire_len: u32, row: &[u32], scratch: &mut Scratch) -> u32 {
        let key = self.fields.as_ref().map_or_else(Key::default, |fields| fields.of(captured, wire_len));
        let Scratch { rules, asked } = scratch;
        let mut best = NONE;
        for table in &self.tables {
            if best <= table.first {
                break;
            }
            best = table.find(&key, row, best, rules, |check| {
                self.holds(check, &key, (captured, wire_len), row, asked)
            });
        }
        asked.forget();
        best
    }

    /// Whether all of a term holds that a table has led to.
    fn holds(&self, check: u32, key: &Key, packet: (&[u8], u32), row: &[u32], asked: &mut Asked) -> bool {
        let term = &self.checks[check as usize];
        let mut atoms = term.atoms.iter();
        term.contains(key, row)
            && atoms.all(|&(atom, wanted)| self.atoms.holds(atom, packet, row, asked) == wanted)
    }
}

impl Asked {
    /// Begins with another packet.
    fn forget(&mut self) {
        for atom in self.atoms.drain(..) {
            self.answers[atom as usize] = 0;
        }
    }
}

/// Packets that the program outside is asked about at once.
const BURST: usize = 256;

impl Atoms {
    /// The atoms that checks name, which are numbered anew.
    fn new(
        compiler: &Compiler,
        (all, inputs, tries): (&[Atom<'_>], usize, bool),
        checks: &mut [Term],
        clock: Clock,
    ) -> Result<Atoms, Box<Diagnostic>> {
        let mut numbers = vec![NONE; all.len()];
        let (mut kinds, mut parts) = (Vec::new(), Vec::new());
        for (atom, _) in checks.iter_mut().flat_map(|term| &mut term.atoms) {
            let number = &mut numbers[*atom as usize];
            if *number == NONE {
                *number = kinds.len() as u32;
                kinds.push(match all[*atom as usize] {
                    Atom::Bits { slot, mask, op, k } => AtomKind::Bits { slot, mask, op, k },
                    Atom::Part(part) => {
                        parts.push(part);
                        AtomKind::Part(parts.len() as u32 - 1)
                    }
                });
            }
            *atom = *number;
        }
        if parts.is_empty() {
            return Ok(Atoms { kinds, program: None, inputs });
        }
        let (mut tree, roots) =
            lower::lower_tests(parts.into_iter(), &compiler.lower_options(), clock, tries)?;
        let selector = tree.pool.input(inputs as u32);
        let mut clauses = Vec::with_capacity(3 * roots.len());
        for (number, root) in (0..).zip(roots) {
            let is_asked = tree.equals(selector, number);
            clauses.extend([Clause::Block(is_asked), Clause::Leaf(root, 1), Clause::End]);
        }
        let graph = compiler.checked(tree, &mut clauses, compiler.passes(), &clock, "")?;
        let program = Decision::of_checked(graph, &compiler.decide_options())
            .map_err(|error| worded(error.into(), crate::Span::default()))?;
        Ok(Atoms { kinds, program: Some(program), inputs })
    }

    /// Whether an atom holds: asked once a packet.
    fn holds(&self, atom: u32, packet: (&[u8], u32), row: &[u32], asked: &mut Asked) -> bool {
        let part = match self.kinds[atom as usize] {
            AtomKind::Bits { slot, mask, op, k } => {
                let bits = row.get(slot as usize).copied().unwrap_or(0) & mask;
                return match op {
                    RelOp::Eq => bits == k,
                    RelOp::Ne => bits != k,
                    RelOp::Lt => bits < k,
                    RelOp::Le => bits <= k,
                    RelOp::Gt => bits > k,
                    RelOp::Ge => bits >= k,
                };
            }
            AtomKind::Part(part) => part,
        };
        let Some(program) = &self.program else { return false };
        if asked.answers.len() < self.kinds.len() {
            asked.answers.resize(self.kinds.len(), 0);
        }
        match asked.answers[atom as usize] {
            0 => {
                asked.row.clear();
                asked.row.extend_from_slice(&row[..self.inputs.min(row.len())]);
                asked.row.push(part);
                let holds = program.leaf_with(packet.0, packet.1, &asked.row) == 1;
                asked.answers[atom as usize] = 1 + u8::from(holds);
                asked.atoms.push(atom);
                holds
            }
            known => known == 2,
        }
    }

    fn graph(&self) -> Option<&Graph> {
        self.program.as_ref().map(Decision::graph)
    }
}
