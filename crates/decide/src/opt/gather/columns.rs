//! Columns: what terms of one shape ask, place by place.
//!
//! Here any constant may differ from term to term that a loaded number is compared with, whatever a yes settles.

use super::kinds::{Member, TERM_WORDS_MAX, membership};
use crate::ir::ValueId;
use crate::ir::tree::{Tree, TreeId, TreeNode};

/// How many of the first terms have one shape.
pub(super) fn alike(tree: &Tree, terms: &[TreeId]) -> usize {
    let Some(first) = terms.first().and_then(|&term| shape(tree, term)) else { return 1 };
    terms
        .iter()
        .take_while(|&&term| shape(tree, term).is_some_and(|shape| shape.words == first.words))
        .count()
}

/// A term without the constants that it compares with.
struct Shape {
    words: Vec<u32>,
    atoms: Vec<Atom>,
}

/// A test of a term.
#[derive(Clone, Copy)]
pub(super) struct Atom {
    pub(super) test: TreeId,
    pub(super) member: Option<Member>,
}

/// The shape of a term; `None` for those that are too large, or have sets of their own.
fn shape(tree: &Tree, term: TreeId) -> Option<Shape> {
    let mut shape = Shape { words: Vec::new(), atoms: Vec::new() };
    let mut pending = vec![term];
    while let Some(id) = pending.pop() {
        let member = membership(tree, id);
        let words = match (member, tree.node(id)) {
            (Some(member), _) => [7, member.value.0],
            (None, TreeNode::Test(cond)) => [8, cond.0],
            (None, TreeNode::And(a, b)) => {
                pending.extend([b, a]);
                [0, 0]
            }
            (None, TreeNode::Or(a, b)) => {
                pending.extend([b, a]);
                [1, 0]
            }
            (None, TreeNode::Not(a)) => {
                pending.push(a);
                [2, 0]
            }
            (None, TreeNode::Try(a)) => {
                pending.push(a);
                [3, 0]
            }
            (None, TreeNode::True | TreeNode::False | TreeNode::In(_) | TreeNode::Eval(_)) => return None,
        };
        if words[0] >= 7 {
            shape.atoms.push(Atom { test: id, member });
        }
        shape.words.extend(words);
        if shape.words.len() > TERM_WORDS_MAX {
            return None;
        }
    }
    Some(shape)
}

/// The tests of all terms, by place.
pub(super) struct Columns {
    pub(super) model: TreeId,
    pub(super) places: Vec<Vec<Atom>>,
}

impl Columns {
    pub(super) fn read(tree: &Tree, terms: &[TreeId]) -> Option<Columns> {
        let model = shape(tree, terms[0])?;
        let mut places: Vec<Vec<Atom>> =
            model.atoms.iter().map(|_| Vec::with_capacity(terms.len())).collect();
        for &term in terms {
            let atoms = shape(tree, term)?.atoms;
            places.iter_mut().zip(atoms).for_each(|(place, atom)| place.push(atom));
        }
        Some(Columns { model: terms[0], places })
    }

    /// The ranges that the terms ask for at a place.
    fn ranges(&self, place: usize) -> impl Iterator<Item = Option<(ValueId, (u32, u32))>> {
        self.places[place].iter().map(|atom| atom.member.map(|member| (member.value, member.range())))
    }

    /// Whether all terms ask the same here.
    pub(super) fn is_common(&self, place: usize) -> bool {
        let mut ranges = self.ranges(place);
        let first = ranges.next();
        ranges.all(|range| Some(range) == first)
    }

    /// By place: the first at which every term asks the same as here.
    pub(super) fn same(&self) -> Vec<usize> {
        let same = |place: usize| (0..place).find(|&other| self.ranges(other).eq(self.ranges(place)));
        // A test that is no comparison with constants is the same only where it is common, which is found out there.
        (0..self.places.len())
            .map(
                |place| {
                    if self.places[place][0].member.is_some() { same(place).unwrap_or(place) } else { place }
                },
            )
            .collect()
    }
}
