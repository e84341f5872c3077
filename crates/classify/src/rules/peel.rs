//! Tables: rules that are specific enough to be told apart together, the others peeled off into the next table.
//!
//! ```text
//! while rules are left:
//!   few: one leaf
//!   for each shape (at least so many bits of source and destination, exact ports):
//!       rules that have it → a table, of which only the cells are built that the sample of packets meets
//!       cost = what the sample costs there  +  a guess for the rules that are left  +  a penalty for memory
//!   build the cheapest in full
//! ```

use super::cell::{Arena, CellBuilder};
use super::cut::{Bounds, Cutter, each_index};
use super::family::Family;
use super::image::{Entry, Image, Masks, Table};
use super::shape::{Shape, Spread};
use super::{Address, Key};
use std::collections::HashMap;
use table::pages::Pages;
use table::simd::lanes::{GROUP, PADDING, Portable};

/// Rules that one leaf takes rather than another table.
const FLAT: usize = 2 * GROUP;
/// Bits of a table's index at most.
const BITS: u32 = 16;
/// Entries of rules in a table's cells, for each rule: tables of specific rules, and one that takes all.
const COPIES: [f64; 2] = [1.3, 3.0];
/// Tables at most; the rules beyond are leaves that are compared one group after another.
const TABLES: usize = 48;

/// Peels a rule list into tables.
pub(super) struct Peeler<'a, A: Address> {
    pub(super) cells: CellBuilder<'a, A>,
    pub(super) spreads: Vec<Spread>,
    /// Packets whose cost is estimated.
    pub(super) sample: Vec<Key<A>>,
    /// Bytes that the image may have.
    pub(super) bytes_max: usize,
}

/// What a table would cost.
struct Estimate {
    /// Nanoseconds, about.
    time: f32,
    bytes: f32,
}

impl<A: Address> Peeler<'_, A> {
    /// All tables of these rules, sorted by their lowest rule; an error where memory is exceeded: how many bytes it had come to.
    pub(super) fn peel(&self, mut rules: Vec<u32>) -> Result<Image, usize> {
        let mut arena = Arena::new(8 * rules.len() + (1 << 16));
        let mut tables = Vec::new();
        while !rules.is_empty() {
            let choice =
                if rules.len() <= FLAT || tables.len() >= TABLES { None } else { self.choose(&rules) };
            rules = match choice {
                Some((shape, copies)) => self.table(&mut arena, &mut tables, &rules, shape, copies),
                None => self.flat(&mut arena, &mut tables, &rules),
            };
            if arena.bytes() > self.bytes_max || arena.words.len() > u32::MAX as usize {
                return Err(arena.bytes());
            }
        }
        tables.sort_by_key(|table| table.first);
        // An empty leaf is read as the first group.
        let read_past = A::WORDS_PER_RULE * GROUP + PADDING;
        arena.words.resize(arena.words.len() + read_past, 0);
        Ok(Image { tables, cells: Pages::of(arena.cells), words: Pages::of(arena.words) })
    }

    /// The rest as leaves.
    fn flat(&self, arena: &mut Arena, tables: &mut Vec<Table>, rules: &[u32]) -> Vec<u32> {
        for rules in rules.chunks(Entry::LEAF_MAX) {
            let leaf = self.cells.leaf(arena, rules);
            let base = arena.cells.len();
            arena.cells.push(leaf.0);
            let shared = self.cells.shared(rules);
            let masks = masks_of_none::<A>();
            tables.push(Table { shared, masks, base, first: rules[0], rules: rules.len() });
        }
        Vec::new()
    }

    /// A table of the rules of a shape; the others are left.
    fn table(
        &self,
        arena: &mut Arena,
        tables: &mut Vec<Table>,
        rules: &[u32],
        shape: Shape,
        copies: f64,
    ) -> Vec<u32> {
        let (specific, rest): (Vec<u32>, Vec<u32>) =
            rules.iter().partition(|&&rule| shape.fits(self.spreads[rule as usize]));
        let masks = self.cutter().choose(&specific, table_bounds(specific.len(), copies));
        let base = arena.cells.len();
        arena.cells.resize(base + (1 << masks.len()), Entry::EMPTY.0);
        for (i, cell) in self.cutter().spread(&specific, masks).into_iter().enumerate() {
            if !cell.is_empty() {
                arena.cells[base + i] = self.cells.cell(arena, &cell, 1).0;
            }
        }
        let shared = self.cells.shared(&specific);
        tables.push(Table { shared, masks, base, first: specific[0], rules: specific.len() });
        rest
    }

    fn cutter(&self) -> &Cutter<'_, A> {
        &self.cells.cutter
    }

    /// The cheapest shape, and how often its rules may be copied.
    fn choose(&self, rules: &[u32]) -> Option<(Shape, f64)> {
        let mut best: Option<(f32, Shape, f64)> = None;
        let mut tried: Vec<(Shape, usize)> = Vec::new();
        for shape in Shape::candidates(self.cells.rules, &self.spreads, rules) {
            let fits = |&&rule: &&u32| shape.fits(self.spreads[rule as usize]);
            let specific: Vec<u32> = rules.iter().filter(fits).copied().collect();
            let rest = rest_time(rules.len() - specific.len());
            if specific.len() < 2 || best.is_some_and(|(cost, ..)| rest + 6.0 > cost) {
                continue;
            }
            let count = specific.len();
            if tried.iter().any(|&(known, same)| same == count && known.is_nested(shape)) {
                // The same rules.
                continue;
            }
            tried.push((shape, count));
            for copies in COPIES {
                if copies > 2.0 && !shape.is_any() && specific.len() < rules.len() {
                    continue;
                }
                let Some(estimate) = self.estimate(&specific, copies) else { continue };
                let cost = estimate.time + rest + 3.0 * (1.0 + estimate.bytes / 1e6).log2();
                if best.is_none_or(|(least, ..)| cost < least) {
                    best = Some((cost, shape, copies));
                }
            }
        }
        best.map(|(_, shape, copies)| (shape, copies))
    }

    /// What a table of these rules would cost; nothing where it would not tell them apart.
    fn estimate(&self, rules: &[u32], copies: f64) -> Option<Estimate> {
        let masks = self.cutter().choose(rules, table_bounds(rules.len(), copies));
        if masks.len() == 0 {
            return None;
        }
        // The entries that the sample meets, and their rules.
        let met: Vec<usize> =
            self.sample.iter().map(|key| masks.index::<A, _>(Portable, &A::words(key))).collect();
        let mut slots: HashMap<usize, Vec<u32>> = met.iter().map(|&index| (index, Vec::new())).collect();
        let mut is_met = vec![false; 1 << masks.len()];
        met.iter().for_each(|&index| is_met[index] = true);
        let mut sizes = vec![0_u32; 1 << masks.len()];
        let mut entries = 0_usize;
        for (&rule, at) in rules.iter().zip(self.cutter().indices(rules, masks)) {
            each_index(at, |index| {
                sizes[index] += 1;
                entries += 1;
                if is_met[index] {
                    slots.entry(index).or_default().push(rule);
                }
            });
        }
        if sizes.into_iter().max()? as usize > 1500.max(rules.len() / 64) {
            return None;
        }
        let in_slots: usize = slots.values().map(Vec::len).sum();
        if in_slots > 60_000 {
            return None;
        }
        let mut arena = Arena::new(8 * in_slots + (1 << 12));
        let built: HashMap<usize, Entry> =
            slots.iter().map(|(&index, rules)| (index, self.cells.cell(&mut arena, rules, 1))).collect();
        let image = Image { cells: Pages::of(arena.cells), ..Image::default() };
        let (mut nodes, mut groups) = (0_u32, 0_usize);
        for (key, index) in self.sample.iter().zip(&met) {
            let words = A::words(key);
            let mut entry = built[index];
            while entry.is_node() {
                nodes += 1;
                entry = Entry(image.cells[image.child::<A, _>(Portable, entry, &words)]);
            }
            groups += entry.count().div_ceil(GROUP);
        }
        let packets = self.sample.len() as f32;
        let (nodes, groups) = (nodes as f32 / packets, groups as f32 / packets);
        let below = if nodes < 0.03 { 0.0 } else { 3.0 + 7.0 * (nodes - 1.0).max(0.0) };
        let time = 5.0 + below + 3.5 * (groups - 1.0).max(0.0);
        let copied = if in_slots > 0 { arena.entries as f32 / in_slots as f32 } else { 1.0 };
        let per_rule = 4 * A::WORDS_PER_RULE;
        Some(Estimate { time, bytes: copied * (entries * per_rule) as f32 + (8_u32 << masks.len()) as f32 })
    }
}

/// Masks under which every key has index 0.
fn masks_of_none<A: Family>() -> Masks {
    Masks { which: A::fixed_words().unwrap_or_default(), bits: [0; 2] }
}

fn table_bounds(rules: usize, copies: f64) -> Bounds {
    let wanted = (rules as f32 / (GROUP as f32 / 2.0)).log2().ceil() + 1.0;
    Bounds { bits: (wanted as u32).clamp(1, BITS), copies, enough: GROUP / 2 }
}

/// A guess at what the rules cost that are left: one leaf, or tables.
pub(super) fn rest_time(rules: usize) -> f32 {
    match rules {
        0 => 0.0,
        _ if rules <= FLAT => 1.0 + 2.0 * rules.div_ceil(GROUP) as f32,
        _ => 6.0 + 2.5 * (rules as f32 / GROUP as f32).log2(),
    }
}
