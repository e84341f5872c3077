//! Gathered lists against the lists themselves, for packets cut at every length.

use super::gather;
use crate::budget::Budget;
use crate::ir::build::build_within;
use crate::ir::interp::Interp;
use crate::ir::tree::{Clause, Tree, TreeId, TreeNode};
use crate::ir::verify::verify;
use crate::ir::{CmpOp, Cond, Graph, Pool, Size, ValueId};
use crate::span::Span;

/// How many lists were written twice.
fn splits(tree: &Tree) -> usize {
    let is_guard = |&id: &u32| match tree.node(TreeId(id)) {
        TreeNode::Test(cond) => matches!(tree.pool.get_cond(cond), Cond::Bounds { .. }),
        _ => false,
    };
    (0..tree.len() as u32).filter(is_guard).count()
}

struct Rng(u64);

impl Rng {
    /// splitmix64.
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ x >> 31) % u64::from(n)) as u32
    }
}

const PACKET_LEN: u32 = 9;

fn value(pool: &mut Pool, rng: &mut Rng) -> ValueId {
    let zero = pool.constant(0);
    let size = [Size::B1, Size::B1, Size::B2][rng.below(3) as usize];
    let base = if rng.below(4) == 0 { pool.load(zero, rng.below(3), Size::B1) } else { zero };
    let load = pool.load(base, rng.below(PACKET_LEN - 1), size);
    match rng.below(6) {
        0 => {
            let mask = pool.constant([0xfffe, 0xff, 0xf0, 0x0e][rng.below(4) as usize]);
            pool.op(crate::ir::BinOp::And, load, mask)
        }
        _ => load,
    }
}

/// A term in which each `?` of the template is compared with a number of its own, and all else is of its kind.
fn term(tree: &mut Tree, template: &[Piece], rng: &mut Rng) -> TreeId {
    let mut open = Vec::new();
    for piece in template {
        let span = Span::new(tree.len() as u32, tree.len() as u32 + 1);
        let node = match *piece {
            Piece::Compare(value, fixed) => {
                let k = fixed.unwrap_or_else(|| rng.below(5));
                let k = tree.pool.constant(k);
                TreeNode::Test(tree.pool.cond(Cond::Cmp(CmpOp::Eq, value, k)))
            }
            Piece::Between(value) => {
                let [low, high] = [0, 1].map(|_| {
                    let k = rng.below(5);
                    tree.pool.constant(k)
                });
                let [below, above] = [(value, low), (high, value)].map(|(a, b)| {
                    let less = TreeNode::Test(tree.pool.cond(Cond::Cmp(CmpOp::Lt, a, b)));
                    let less = tree.push(less, span);
                    tree.push(TreeNode::Not(less), span)
                });
                TreeNode::And(below, above)
            }
            Piece::Eval(value) => TreeNode::Eval(value),
            Piece::Not => TreeNode::Not(open.pop().expect("an operand")),
            Piece::And | Piece::Or => {
                let (b, a) = (open.pop().expect("an operand"), open.pop().expect("an operand"));
                if matches!(piece, Piece::And) { TreeNode::And(a, b) } else { TreeNode::Or(a, b) }
            }
        };
        open.push(tree.push(node, span));
    }
    open[0]
}

#[derive(Clone, Copy)]
enum Piece {
    Compare(ValueId, Option<u32>),
    Between(ValueId),
    Eval(ValueId),
    Not,
    And,
    Or,
}

fn template(pool: &mut Pool, rng: &mut Rng) -> Vec<Piece> {
    let mut pieces = Vec::new();
    if rng.below(3) == 0 {
        let values = [(); 2].map(|()| value(pool, rng));
        pieces.extend([Piece::Compare(values[0], None), Piece::Compare(values[1], None), Piece::And]);
        return pieces;
    }
    let two_ends = rng.below(2) == 0;
    if two_ends {
        let values = [(); 2].map(|()| value(pool, rng));
        pieces.extend([Piece::Compare(values[0], None), Piece::Compare(values[1], None), Piece::Or]);
    }
    let leaves = 1 + rng.below(4);
    for i in 0..leaves {
        let value = value(pool, rng);
        pieces.push(match rng.below(8) {
            0 => Piece::Eval(value),
            1..4 => Piece::Compare(value, Some(rng.below(3))),
            4 => Piece::Between(value),
            _ => Piece::Compare(value, None),
        });
        if rng.below(5) == 0 {
            pieces.push(Piece::Not);
        }
        if i > 0 {
            pieces.push(if rng.below(2) == 0 { Piece::And } else { Piece::Or });
        }
    }
    if two_ends {
        pieces.push(Piece::And);
    }
    pieces
}

/// A list of terms of a few kinds, mixed, itself perhaps part of another.
fn random_list(tree: &mut Tree, rng: &mut Rng) -> TreeId {
    let templates: Vec<Vec<Piece>> = (0..1 + rng.below(3)).map(|_| template(&mut tree.pool, rng)).collect();
    let (is_or, is_tried) = (rng.below(2) == 0, rng.below(3) == 0);
    let mut all = None;
    for _ in 0..4 + rng.below(30) {
        let template = &templates[rng.below(templates.len() as u32) as usize];
        let mut next = term(tree, template, rng);
        if rng.below(30) == 0 {
            next = tree.push(TreeNode::Not(next), Span::default());
        }
        if is_tried {
            next = tree.push(TreeNode::Try(next), Span::default());
        }
        all = Some(match all {
            None => next,
            Some(all) if is_or => tree.push(TreeNode::Or(all, next), Span::default()),
            Some(all) => tree.push(TreeNode::And(all, next), Span::default()),
        });
    }
    all.expect("some terms")
}

fn build_all(tree: Tree, clauses: &[Clause]) -> Graph {
    build_within(tree, clauses, &Budget::unlimited()).expect("no bound")
}

fn leaves(graph: &Graph, packets: &[Vec<u8>]) -> Vec<u32> {
    let mut interp = Interp::new(graph);
    let packet = |data: &Vec<u8>| interp.run(data, PACKET_LEN);
    packets.iter().map(packet).collect()
}

#[test]
fn random_lists_mean_what_they_meant() {
    let (mut gathered_any, mut split_any) = (0, 0);
    for seed in 0..3000 {
        let mut rng = Rng(seed);
        let mut tree = Tree::default();
        let (a, b) = (random_list(&mut tree, &mut rng), random_list(&mut tree, &mut rng));
        let node = if rng.below(2) == 0 { TreeNode::And(a, b) } else { TreeNode::Or(a, b) };
        let both = tree.push(node, Span::default());
        let arms = [Clause::Leaf(both, 7), Clause::Leaf(a, 8)];
        let (mut gathered, mut gathered_arms) = (tree.clone(), arms);
        gather(&mut gathered, &mut gathered_arms);
        gathered_any += u32::from(gathered_arms != arms);
        split_any += u32::from(splits(&gathered) > 0);
        let (before, after) = (build_all(tree, &arms), build_all(gathered, &gathered_arms));
        assert_eq!(verify(&after), Ok(()), "seed {seed}");
        let packets: Vec<Vec<u8>> =
            (0..120).map(|_| (0..rng.below(PACKET_LEN + 1)).map(|_| rng.below(5) as u8).collect()).collect();
        assert_eq!(leaves(&before, &packets), leaves(&after, &packets), "seed {seed}");
    }
    assert!(gathered_any > 1000, "{gathered_any} of the lists had something to gather");
    assert!(split_any > 100, "{split_any} of the lists are there twice");
}
