//! What a check has looked at is what is used: selected code never computes a base or a divisor again between its check
//! and its use.
//!
//! Between the two another party may write to the packet (a ring shared with another process), so that a value read
//! again need not be the one that was checked. A forward pass over the blocks keeps, for each register, what was checked
//! *of the value that it holds*: a definition forgets it, a join keeps what holds on both sides. It shares nothing with
//! the selector, nor with the verifier, and knows no ranges: graphs as built and optimised have a guard on every path.

use decide::NoCode;
use decide::internals::ir::verify::Verified;
use decide::internals::ir::{BinOp, Graph, Size};
use decide::internals::lir::program::{
    Address, Exit, Inst, Label, Operand, Program, Relation, Table, TableId, Test,
};
use decide::internals::lir::select::{Machine, VReg, select};
use decide::internals::x64::Options;
use std::collections::{BTreeMap, BTreeSet};

/// What has been checked on every way to a place.
#[derive(Clone, Default)]
struct Checked {
    captured: u64,
    ends: BTreeMap<VReg, u64>,
    nonzero: BTreeSet<VReg>,
}

impl Checked {
    fn join(&mut self, other: &Checked) {
        self.captured = self.captured.min(other.captured);
        self.ends.retain(|base, end| {
            *end = (*end).min(other.ends.get(base).copied().unwrap_or(0));
            *end > 0
        });
        self.nonzero.retain(|divisor| other.nonzero.contains(divisor));
    }

    fn define(&mut self, register: VReg) {
        self.ends.remove(&register);
        self.nonzero.remove(&register);
    }

    fn load(&self, at: Address<VReg>, size: Size) -> Result<(), String> {
        let known = at.base.map_or(self.captured, |base| self.ends.get(&base).copied().unwrap_or(0));
        let end = at.offset + u64::from(size.bytes());
        if end <= known { Ok(()) } else { Err(format!("{at:?} of {size:?}, checked to {known}")) }
    }

    fn test(&self, test: &Test<VReg>) -> Result<(), String> {
        match *test {
            Test::CompareMemory(_, at, size, _) | Test::MaskMemory(at, size, _) => self.load(at, size),
            _ => Ok(()),
        }
    }

    fn inst(&mut self, inst: &Inst<VReg>) -> Result<(), String> {
        match inst {
            Inst::Load { at, size, .. } => self.load(*at, *size)?,
            Inst::Set { test, .. } => self.test(test)?,
            Inst::Op { op: BinOp::Div | BinOp::Mod, b: Operand::Reg(by), .. }
                if !self.nonzero.contains(by) =>
            {
                return Err(format!("division by {by}"));
            }
            Inst::Const { .. }
            | Inst::Input { .. }
            | Inst::Op { .. }
            | Inst::Locate { .. }
            | Inst::Word { .. }
            | Inst::Ask { .. }
            | Inst::Store { .. } => {}
        }
        let (Inst::Const { dst, .. }
        | Inst::Input { dst, .. }
        | Inst::Load { dst, .. }
        | Inst::Op { dst, .. }
        | Inst::Set { dst, .. }
        | Inst::Locate { dst, .. }) = inst
        else {
            return Ok(());
        };
        self.define(*dst);
        Ok(())
    }

    /// What is known besides where a test turned out so.
    fn given(mut self, test: &Test<VReg>, holds: bool) -> Checked {
        match *test {
            Test::Captured(end) if holds => self.captured = self.captured.max(end),
            Test::Bounds(base, end) if holds => {
                let known = self.ends.entry(base).or_insert(0);
                *known = (*known).max(end.into());
                self.captured = self.captured.max(end.into());
            }
            Test::Compare(Relation::Equal, divisor, Operand::Const(0)) if !holds => {
                self.nonzero.insert(divisor);
            }
            Test::Mask(divisor, _) if holds => {
                self.nonzero.insert(divisor);
            }
            _ => {}
        }
        self
    }
}

/// Where an exit leads, and what is known there.
fn successors(program: &Program<VReg>, exit: &Exit<VReg>, known: &Checked) -> Vec<(Label, Checked)> {
    match exit {
        Exit::Leaf(_) | Exit::Flag(_) | Exit::Answer { .. } => Vec::new(),
        Exit::Jump(to) => vec![(*to, known.clone())],
        Exit::Branch { test, then, els } => {
            vec![(*then, known.clone().given(test, true)), (*els, known.clone().given(test, false))]
        }
        Exit::Dispatch { table: TableId(table), .. } => match &program.tables[*table as usize] {
            Table::Targets(labels) => labels.iter().map(|&label| (label, known.clone())).collect(),
            _ => panic!("dispatch goes through a table of targets"),
        },
    }
}

/// The first use of something that was not checked, in words.
fn unchecked_use(program: &Program<VReg>) -> Result<(), String> {
    let mut entry: BTreeMap<Label, Checked> = BTreeMap::new();
    entry.insert(program.blocks[0].label, Checked::default());
    for block in &program.blocks {
        let Some(mut known) = entry.remove(&block.label) else { continue };
        let found = program.insts_of(block).iter().try_for_each(|inst| known.inst(inst));
        let found = found.and_then(|()| match &block.exit {
            Exit::Branch { test, .. } => known.test(test),
            _ => Ok(()),
        });
        found.map_err(|what| format!("{what} in the block of {:?}", block.origin))?;
        for (to, known) in successors(program, &block.exit, &known) {
            entry.entry(to).and_modify(|there| there.join(&known)).or_insert(known);
        }
    }
    Ok(())
}

/// Code selected for a graph uses what has been checked only, and compares in memory on such machines only.
///
/// # Panics
/// Where it does not.
pub fn check(graph: &Graph, what: &str) {
    let verified = Verified::new(graph).unwrap_or_else(|violation| panic!("{what}: {violation:?}"));
    let machine = Options::default().machine();
    for machine in [machine, Machine { compares_memory: &[], ..machine }] {
        match select(verified, machine) {
            Ok(program) => {
                unchecked_use(&program).unwrap_or_else(|found| panic!("{what}: {found}\n{program}"));
                assert!(
                    !machine.compares_memory.is_empty() || !compares_memory(&program),
                    "{what}\n{program}"
                );
            }
            Err(error) => assert_eq!(error, NoCode::TooComplex),
        }
    }
}

fn compares_memory(program: &Program<VReg>) -> bool {
    let in_memory = |test: &Test<VReg>| matches!(test, Test::CompareMemory(..) | Test::MaskMemory(..));
    let sets = program.insts.iter().any(|inst| matches!(inst, Inst::Set { test, .. } if in_memory(test)));
    let branches = program
        .blocks
        .iter()
        .any(|block| matches!(&block.exit, Exit::Branch { test, .. } if in_memory(test)));
    sets || branches
}
