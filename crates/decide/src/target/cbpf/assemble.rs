//! Blocks to instructions: from the last to the first, so that the distance to everything behind is known.
//!
//! A conditional jump leads at most 255 instructions ahead. What is further is reached by a `ja` behind the jump, or a return is
//! written there again; jumps in front of that use it as well, as long as it is near enough.

use super::{Insn, op};
use crate::ir::NodeId;
use std::collections::{HashMap, HashSet};

/// Where a jump leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Label {
    /// To the first block of a node.
    Node(NodeId),
    /// To another block.
    Inner(u32),
}

/// Straight code, and where it ends.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) label: Label,
    pub(super) insns: Vec<Insn>,
    pub(super) exit: Exit,
}

/// How a block ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum Exit {
    Goto(Label),
    /// With this code and operand.
    Jump {
        code: u16,
        k: u32,
        yes: Label,
        no: Label,
    },
    /// With the answer of its leaf.
    Return,
}

/// The instructions of blocks, each of which jumps to blocks behind it only; `returned` has the answers of leaves.
pub(super) fn assemble(blocks: &[Block], returned: impl Fn(NodeId) -> Option<u32>) -> Vec<Insn> {
    let answer = |label: Label| match label {
        Label::Node(node) => returned(node),
        Label::Inner(_) => None,
    };
    // The kernel's checker believes that a return goes on behind itself, and finds what was written to cells in front of it only.
    let reads_cells = blocks
        .iter()
        .flat_map(|block| &block.insns)
        .any(|insn| insn.mode() == op::MEM && insn.class() <= op::LDX);
    let written_again = |label: Label| answer(label).filter(|_| !reads_cells);
    let is_reached = reached(blocks);
    let mut code = Backwards::default();
    for (block, _) in blocks.iter().zip(is_reached).rev().filter(|(_, is_reached)| *is_reached) {
        match block.exit {
            Exit::Return => code.push(plain(op::RET, answer(block.label).unwrap_or(0))),
            Exit::Goto(to) => code.go(to, written_again(to)),
            Exit::Jump { code: test, k, yes, no } => {
                // The no first, since it stands last: the way to the yes leads over it.
                let far_no = code.reach(no, 1, written_again(no));
                let far_yes = code.reach(yes, 0, written_again(yes));
                let jt = code.distance(yes, far_yes);
                let jf = code.distance(no, far_no);
                code.push(Insn { code: test, jt, jf, k });
            }
        }
        block.insns.iter().rev().for_each(|insn| code.push(*insn));
        code.places.insert(block.label, code.insns.len());
    }
    code.insns.reverse();
    code.insns
}

/// Which blocks something leads to.
fn reached(blocks: &[Block]) -> Vec<bool> {
    let mut labels: HashSet<Label> = blocks.first().map(|block| block.label).into_iter().collect();
    let reach = |block: &Block| {
        let is_reached = labels.contains(&block.label);
        match block.exit {
            Exit::Goto(to) if is_reached => labels.extend([to]),
            Exit::Jump { yes, no, .. } if is_reached => labels.extend([yes, no]),
            _ => {}
        }
        is_reached
    };
    blocks.iter().map(reach).collect()
}

fn plain(code: u16, k: u32) -> Insn {
    Insn { code, jt: 0, jf: 0, k }
}

/// Instructions, the last one first.
#[derive(Default)]
struct Backwards {
    insns: Vec<Insn>,
    /// How many instructions there are from the first of a block to the end.
    places: HashMap<Label, usize>,
    /// The same of the last instruction that does nothing but lead to a block.
    ways: HashMap<Label, usize>,
}

impl Backwards {
    fn push(&mut self, insn: Insn) {
        self.insns.push(insn);
    }

    /// Instructions between the next one that is put in front and a block.
    fn ahead(&self, to: Label) -> usize {
        self.insns.len() - self.places.get(&to).copied().unwrap_or(0)
    }

    /// Goes on at a block: by no instruction where that is the next, by a return where it only returns.
    fn go(&mut self, to: Label, answer: Option<u32>) {
        match (self.ahead(to), answer) {
            (0, _) => {}
            (_, Some(k)) => self.push(plain(op::RET, k)),
            (distance, None) => self.push(plain(op::JMP | op::JA, distance as u32)),
        }
    }

    /// Makes sure that a conditional jump, in front of which so many instructions may still come, reaches a block: the place of the instruction that
    /// leads there, if the jump itself does not.
    fn reach(&mut self, to: Label, between: usize, answer: Option<u32>) -> Option<usize> {
        if self.ahead(to) + between <= usize::from(u8::MAX) {
            return None;
        }
        let near = |place: &usize| self.insns.len() - place + between <= usize::from(u8::MAX);
        if let Some(place) = self.ways.get(&to).copied().filter(near) {
            return Some(place);
        }
        self.go(to, answer);
        self.ways.insert(to, self.insns.len());
        Some(self.insns.len())
    }

    /// The distance from a jump in front of everything to a block, or to the instruction that leads there.
    fn distance(&self, to: Label, far: Option<usize>) -> u8 {
        let distance = far.map_or_else(|| self.ahead(to), |place| self.insns.len() - place);
        u8::try_from(distance).unwrap_or(u8::MAX)
    }
}
