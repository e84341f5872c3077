//! Lowering of many-way branches, by size and shape.
//!
//! ```text
//! up to 4 arms                a compare each
//! more, mostly single values  two-choice table -> member or not, or slot -> target
//! more, ranges                search without branches -> rank -> target
//! ```
//! Never a tree of branches: above a handful of arms it mispredicts at every level. Where the answers are all
//! leaves, they are looked up instead of jumped to.

use super::program::{Exit, Inst, Label, Operand, Relation, Table, Test};
use super::select::{Selector, VReg};
use crate::ir::{Arm, Node, NodeId, Switch};
use table::cuckoo::Cuckoo;
use table::rank::Rank;

/// Up to this many arms are compared one by one.
const COMPARES_MAX: usize = 4;
/// Ranges are taken apart into keys as long as that makes at most this many keys an arm, and a few.
const KEYS_PER_ARM: u64 = 2;
const KEYS_EXTRA: u64 = 16;

impl Selector<'_> {
    /// The blocks of one switch.
    pub(super) fn switch(&mut self, id: NodeId, switch: &Switch) {
        let value = self.reg(switch.value);
        let arms = merged(switch);
        if arms.len() <= COMPARES_MAX {
            return self.compares(id, value, &arms, switch.default);
        }
        if one_target(&arms) {
            let (test, negated) = self.membership(value, &arms);
            let (mut then, mut els) = (self.label(arms[0].target), self.label(switch.default));
            if negated {
                (then, els) = (els, then);
            }
            return self.finish_block(id, self.label(id), Exit::Branch { test, then, els });
        }
        match self.two_choice(&arms) {
            Some(table) => {
                let found = table.slots().iter().map(|&key| switch.target(key));
                let targets = found.chain([switch.default]).collect();
                self.locate(id, value, Table::Cuckoo(table), targets);
            }
            None => {
                let (boundaries, targets) = segments(&arms, switch.default);
                self.locate(id, value, Table::Rank(Rank::new(boundaries)), targets);
            }
        }
    }

    /// The question that a switch with two ways out is, if it takes one test to answer: where yes and no lead.
    pub(super) fn switch_question(&self, switch: &Switch) -> Option<(NodeId, NodeId)> {
        let arms = merged(switch);
        let one_test = arms.len() == 1 || arms.len() > COMPARES_MAX;
        (one_test && one_target(&arms)).then(|| (arms[0].target, switch.default))
    }

    /// The test for it, and whether it is the other way round.
    pub(super) fn switch_test(&mut self, switch: &Switch) -> (Test<VReg>, bool) {
        let value = self.reg(switch.value);
        let arms = merged(switch);
        if arms.len() == 1 { (in_arm(value, &arms[0]), false) } else { self.membership(value, &arms) }
    }

    /// A test of whether the value is in one of the arms, and whether it is the other way round.
    fn membership(&mut self, value: VReg, arms: &[Arm]) -> (Test<VReg>, bool) {
        if let Some(table) = self.two_choice(arms) {
            let table = self.table(Table::Cuckoo(table));
            return (Test::Member(value, table), false);
        }
        // Segments in and out of the arms alternate, beginning with out unless an arm begins at 0.
        let out = NodeId(u32::MAX);
        let (boundaries, targets) = segments(arms, out);
        let index = self.index(value, Table::Rank(Rank::new(boundaries)));
        (Test::Mask(index, Operand::Const(1)), targets[0] != out)
    }

    fn two_choice(&self, arms: &[Arm]) -> Option<Cuckoo> {
        keys(arms).and_then(|keys| Cuckoo::build(&keys, self.machine.seed).ok())
    }

    fn compares(&mut self, id: NodeId, value: VReg, arms: &[Arm], default: NodeId) {
        let mut here = self.label(id);
        let Some((last, firsts)) = arms.split_last() else {
            return self.finish_block(id, here, Exit::Jump(self.label(default)));
        };
        for arm in firsts {
            let next = self.fresh_label();
            let exit = Exit::Branch { test: in_arm(value, arm), then: self.label(arm.target), els: next };
            self.finish_block(id, here, exit);
            here = next;
        }
        let exit = Exit::Branch {
            test: in_arm(value, last),
            then: self.label(last.target),
            els: self.label(default),
        };
        self.finish_block(id, here, exit);
    }

    fn locate(&mut self, id: NodeId, value: VReg, table: Table, targets: Vec<NodeId>) {
        let index = self.index(value, table);
        let answers: Option<Vec<u32>> = targets.iter().map(|&target| self.answer(target)).collect();
        let exit = match answers {
            Some(answers) => Exit::Answer { index, table: self.table(Table::Answers(answers)) },
            None => {
                let labels: Vec<Label> = targets.into_iter().map(|target| self.label(target)).collect();
                Exit::Dispatch { index, table: self.table(Table::Targets(labels)) }
            }
        };
        self.finish_block(id, self.label(id), exit);
    }

    fn index(&mut self, key: VReg, table: Table) -> VReg {
        let dst = self.fresh();
        let table = self.table(table);
        self.push(Inst::Locate { dst, key, table });
        dst
    }

    fn answer(&self, node: NodeId) -> Option<u32> {
        match self.graph.node(node) {
            Node::Leaf(leaf) => Some(*leaf),
            _ => None,
        }
    }
}

pub(crate) fn one_target(arms: &[Arm]) -> bool {
    arms.windows(2).all(|pair| pair[0].target == pair[1].target)
}

fn in_arm(value: VReg, arm: &Arm) -> Test<VReg> {
    if arm.low == arm.high {
        Test::Compare(Relation::Equal, value, Operand::Const(arm.low))
    } else {
        Test::InRange(value, arm.low, arm.high)
    }
}

/// The arms that differ from the default, neighbours with one target joined.
pub(crate) fn merged(switch: &Switch) -> Vec<Arm> {
    let mut arms: Vec<Arm> = Vec::with_capacity(switch.arms.len());
    for arm in switch.arms.iter().filter(|arm| arm.target != switch.default) {
        match arms.last_mut() {
            Some(last) if last.target == arm.target && last.high + 1 == arm.low => last.high = arm.high,
            _ => arms.push(*arm),
        }
    }
    arms
}

/// All values in the arms, if they are few enough to be listed.
fn keys(arms: &[Arm]) -> Option<Vec<u32>> {
    let count: u64 = arms.iter().map(|arm| u64::from(arm.high - arm.low) + 1).sum();
    let few = count <= KEYS_PER_ARM * arms.len() as u64 + KEYS_EXTRA;
    few.then(|| arms.iter().flat_map(|arm| arm.low..=arm.high).collect())
}

/// Where each segment after the first starts, and where each segment leads.
pub(crate) fn segments(arms: &[Arm], default: NodeId) -> (Vec<u32>, Vec<NodeId>) {
    let mut boundaries = Vec::new();
    let mut targets = vec![default];
    let mut enter = |start: u32, target: NodeId| {
        if start == 0 {
            targets[0] = target;
        } else if boundaries.last() == Some(&start) {
            *targets.last_mut().expect("never empty") = target;
        } else {
            boundaries.push(start);
            targets.push(target);
        }
    };
    for arm in arms {
        enter(arm.low, arm.target);
        if let Some(after) = arm.high.checked_add(1) {
            enter(after, default);
        }
    }
    (boundaries, targets)
}
