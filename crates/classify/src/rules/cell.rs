//! Leaves and nodes, as they are built.

use super::cut::{Bounds, Cutter};
use super::image::{Entry, Masks, NOTHING_SHARED, SHARED, SPECIAL, Shared};
use super::matching::Specials;
use super::{Address, Rule};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use table::simd::lanes::GROUP;

/// Rules of a leaf that is not cut further, at the top and below.
const LEAF: [usize; 4] = [GROUP, GROUP, 2 * GROUP, 3 * GROUP];
/// Nodes above each other at most.
const DEPTH: usize = 12;

/// What leaves and nodes are written to.
pub(super) struct Arena {
    pub(super) cells: Vec<u64>,
    pub(super) words: Vec<u32>,
    leaves: HashMap<u64, Entry>,
    nodes: HashMap<Box<[u32]>, Entry>,
    hash: RandomState,
    /// Rules in leaves, copies counted.
    pub(super) entries: usize,
    /// So many are allowed; then cells become leaves as they are.
    entries_max: usize,
}

impl Arena {
    pub(super) fn new(entries_max: usize) -> Arena {
        Arena {
            cells: Vec::new(),
            words: NOTHING_SHARED.to_vec(),
            leaves: HashMap::new(),
            nodes: HashMap::new(),
            hash: RandomState::new(),
            entries: 0,
            entries_max,
        }
    }

    /// Bytes so far, as far as they stay.
    pub(super) fn bytes(&self) -> usize {
        8 * self.cells.len() + 4 * self.words.len()
    }
}

/// Builds cells of one rule list.
pub(super) struct CellBuilder<'a, A: Address> {
    pub(super) rules: &'a [Rule<A>],
    pub(super) specials: &'a Specials<A>,
    pub(super) cutter: Cutter<'a, A>,
}

impl<A: Address> CellBuilder<'_, A> {
    /// A leaf of these rules, in order; the same rules are written once.
    pub(super) fn leaf(&self, arena: &mut Arena, rules: &[u32]) -> Entry {
        if rules.is_empty() {
            return Entry::EMPTY;
        }
        let hash = arena.hash.hash_one(rules);
        let known = arena.leaves.get(&hash).copied();
        if let Some(entry) = known.filter(|&entry| self.numbers(arena, entry).eq(rules.iter().copied())) {
            return entry;
        }
        let offset = arena.words.len();
        let (shares, shared) = self.shared(rules).most();
        arena.words.extend(shared);
        for group in rules.chunks(GROUP) {
            self.write_group(&mut arena.words, group);
        }
        arena.entries += rules.len();
        let entry = Entry::leaf(offset as u32, rules.len(), shares);
        arena.leaves.insert(hash, entry);
        entry
    }

    /// The bits that rules ask for alike.
    pub(super) fn shared(&self, rules: &[u32]) -> Shared {
        Shared::of::<A>(rules.iter().map(|&rule| self.cutter.ternary[rule as usize]))
    }

    /// Rows of a group, then its numbers.
    fn write_group(&self, words: &mut Vec<u32>, group: &[u32]) {
        let at = words.len();
        words.resize(at + A::WORDS_PER_RULE * group.len(), 0);
        for (lane, &number) in group.iter().enumerate() {
            let mut place = at + lane;
            A::rows(&self.rules[number as usize], |word| {
                words[place] = word;
                place += group.len();
            });
            words[place] = number | if self.specials.is_special(number) { SPECIAL } else { 0 };
        }
    }

    /// The numbers of a leaf's rules.
    fn numbers(&self, arena: &Arena, leaf: Entry) -> impl Iterator<Item = u32> {
        let per_rule = A::WORDS_PER_RULE;
        (0..leaf.count()).map(move |i| {
            let group = i / GROUP;
            let count = (leaf.count() - group * GROUP).min(GROUP);
            let at = leaf.offset() + SHARED + group * GROUP * per_rule + (per_rule - 1) * count;
            arena.words[at + i % GROUP] & !SPECIAL
        })
    }

    /// A leaf, or a node where these rules can be told apart further.
    pub(super) fn cell(&self, arena: &mut Arena, rules: &[u32], depth: usize) -> Entry {
        let count = rules.len();
        if count <= LEAF[depth.min(3)] || depth > DEPTH || arena.entries >= arena.entries_max {
            return self.leaf(arena, rules);
        }
        if let Some(&entry) = arena.nodes.get(rules) {
            return entry;
        }
        let wanted = (count as f32 / GROUP as f32).log2().ceil() as u32 + 3;
        let bits = wanted.min(if count > 4000 { 12 } else { 10 });
        let masks = self.cutter.choose(rules, Bounds { bits, copies: 3.0, enough: GROUP * 3 / 4 });
        if masks.len() == 0 {
            return self.leaf(arena, rules);
        }
        let children = self.cutter.spread(rules, masks);
        if !is_worth_it(&children, count) {
            return self.leaf(arena, rules);
        }
        let entry = self.node(arena, masks, &children, depth);
        arena.nodes.insert(rules.into(), entry);
        entry
    }

    fn node(&self, arena: &mut Arena, masks: Masks, children: &[Vec<u32>], depth: usize) -> Entry {
        let at = arena.cells.len();
        arena.cells.resize(at + 2 + children.len(), Entry::EMPTY.0);
        arena.cells[at..at + 2].copy_from_slice(&masks.bits);
        for (i, rules) in children.iter().enumerate().filter(|(_, rules)| !rules.is_empty()) {
            arena.cells[at + 2 + i] = self.cell(arena, rules, depth + 1).0;
        }
        Entry::node(at as u32, masks.which)
    }
}

/// Whether a rule is among clearly fewer others after a cut. Large cells are cut in any case.
fn is_worth_it(children: &[Vec<u32>], count: usize) -> bool {
    let entries: usize = children.iter().map(Vec::len).sum();
    let squares: f64 = children.iter().map(|rules| (rules.len() as f64).powi(2)).sum();
    let largest = children.iter().map(Vec::len).max().unwrap_or(0);
    largest < count && (count > 240 || squares / entries as f64 <= 0.8 * count as f64)
}
