//! Tests of two values by turns, each with an answer of its own: which value is met first, without asking for one after the other.
//!
//! ```text
//! v in r₀ -> t₀, w in r₁ -> t₁, v in r₂ -> t₂, w in r₃ -> t₃, … rest       turns 0, 1, 2, 3, …
//!
//! first(turns) = switch v { its turn is in block b of turns -> against b } else last(w)
//! against b    = switch w { its turn is before b -> last(w), in b -> first(b) } else last(v)
//! last(v)      = switch v { rᵢ -> tᵢ } else rest
//! ```
//! A list of filters `host a`, `host b`, … asks for the source, then for the destination, and each time the answer is another. The first filter that
//! matches is the lesser of the turns at which either is met. Turns are compared digit by digit: digits of [`BLOCKS`]. Most packets have one end
//! in the list at most, and are through with that after three lookups. Each turn is named once in a switch of `v` and about `BLOCKS / 2` times in
//! those of `w` for each digit, so what comes out is larger than the list by a factor that grows with its logarithm.

use crate::ir::{Arm, NodeId};
use std::ops::Range;

/// Into how many blocks turns are parted at a time. Fewer make more levels, more make larger switches: with 4 and with 16 there are more arms.
const BLOCKS: u32 = 8;

/// The ranges of one value.
pub(super) struct Side {
    /// Disjoint, ascending.
    pub(super) arms: Vec<Turn>,
    /// Where the value leads if it is met first.
    pub(super) last: NodeId,
}

/// A range, and at which turn it is asked for.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    pub(super) low: u32,
    pub(super) high: u32,
    pub(super) turn: u32,
}

impl Turn {
    fn leads_to(&self, target: NodeId) -> Arm {
        Arm { low: self.low, high: self.high, target }
    }
}

/// Where to begin, given both values' ranges, of which no two of different values have one turn. `lookup` makes a switch: of the value of this side,
/// over these arms, with this default.
pub(super) fn first(sides: &[Side; 2], lookup: &mut impl FnMut(usize, Vec<Arm>, NodeId) -> NodeId) -> NodeId {
    let turns = sides.iter().flat_map(|side| &side.arms).map(|arm| arm.turn + 1).max().unwrap_or(0);
    let last = [sides[0].last, sides[1].last];
    first_of(0..turns, [sides[0].arms.clone(), sides[1].arms.clone()], last, lookup)
}

/// The same for the arms of these turns, where each value is in one of its own or, where all turns are asked, in none.
fn first_of(
    turns: Range<u32>,
    [ours, theirs]: [Vec<Turn>; 2],
    last: [NodeId; 2],
    lookup: &mut impl FnMut(usize, Vec<Arm>, NodeId) -> NodeId,
) -> NodeId {
    // One turn alone: of the two values, the other one has none here.
    if theirs.is_empty() {
        return last[0];
    }
    let width = turns.len().div_ceil(BLOCKS as usize) as u32;
    let mut blocks = Vec::with_capacity(BLOCKS as usize);
    for begin in turns.clone().step_by(width as usize) {
        let block = begin..turns.end.min(begin + width);
        let in_block = |arms: &[Turn]| arms.iter().copied().filter(|arm| block.contains(&arm.turn)).collect();
        let mine: Vec<Turn> = in_block(&ours);
        if mine.is_empty() {
            blocks.push(last[1]);
            continue;
        }
        let both = first_of(block.clone(), [mine, in_block(&theirs)], last, lookup);
        let not_behind = theirs.iter().filter(|arm| arm.turn < block.end);
        let target = |arm: &Turn| if arm.turn < begin { last[1] } else { both };
        blocks.push(lookup(1, not_behind.map(|arm| arm.leads_to(target(arm))).collect(), last[0]));
    }
    let target = |arm: &Turn| blocks[((arm.turn - turns.start) / width) as usize];
    lookup(0, ours.iter().map(|arm| arm.leads_to(target(arm))).collect(), last[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Graph, Node, Pool, Size, Switch};

    /// Which leaf an evaluation ends at, with these two values.
    fn answer(graph: &Graph, mut at: NodeId, sides: [crate::ir::ValueId; 2], values: [u32; 2]) -> u32 {
        loop {
            at = match graph.node(at) {
                Node::Leaf(leaf) => return *leaf,
                Node::Switch(switch) => switch.target(values[usize::from(switch.value == sides[1])]),
                Node::Branch { .. } => panic!("there are switches only"),
            }
        }
    }

    #[test]
    fn the_lesser_turn_decides() {
        const NONE: u32 = 999;
        for count in [1, 2, 3, 8, 9, 64, 65, 200] {
            let mut pool = Pool::default();
            let zero = pool.constant(0);
            let values = [0, 4].map(|offset| pool.load(zero, offset, Size::B4));
            let mut graph = Graph::new(pool);
            let rest = graph.leaf(NONE);
            // Number k is met at turn 2k (first value), or at some odd turn (second value).
            let turn_of = |side: u32, k: u32| if side == 0 { 2 * k } else { 2 * (k * 7 % count) + 1 };
            let side = |graph: &mut Graph, side: u32| {
                let arms = (0..count).map(|k| Turn { low: 3 * k, high: 3 * k, turn: turn_of(side, k) });
                let arms: Vec<Turn> = arms.collect();
                let leaves = arms.iter().map(|arm| arm.leads_to(graph.leaf(arm.turn))).collect();
                let value = values[side as usize];
                let last = graph.switch(Switch { value, arms: leaves, default: rest });
                Side { arms, last }
            };
            let sides = [0, 1].map(|number| side(&mut graph, number));
            let root = first(&sides, &mut |side, arms, default| {
                graph.switch(Switch { value: values[side], arms, default })
            });
            for (v, w) in (0..3 * count + 2).flat_map(|v| (0..3 * count + 2).map(move |w| (v, w))) {
                let turn =
                    |side, v: u32| (v.is_multiple_of(3) && v / 3 < count).then(|| turn_of(side, v / 3));
                let expected = [turn(0, v), turn(1, w)].into_iter().flatten().min().unwrap_or(NONE);
                assert_eq!(answer(&graph, root, values, [v, w]), expected, "{v} and {w} of {count}");
            }
        }
    }
}
