//! The most that a look-up costs, found by walking all entries.

use super::family::Family;
use super::image::{Entry, Image};
use std::collections::HashMap;
use std::fmt;
use table::simd::lanes::GROUP;

/// The most work of a look-up, over all packets that there are. A group is up to 16 rules, compared at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// Rules of the list.
    pub rules: usize,
    /// Its tables, in the order in which they are looked up.
    pub tables: Vec<TableBound>,
    /// Nodes at most, over all tables.
    pub nodes: usize,
    /// Groups at most, over all tables.
    pub groups: usize,
    /// Memory of the structure.
    pub bytes: usize,
}

/// The most work in one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableBound {
    /// Its rules.
    pub rules: usize,
    /// Bits of the key that its entries are told apart by.
    pub bits: u32,
    /// Nodes at most between an entry and a leaf.
    pub nodes: usize,
    /// Groups of a leaf at most.
    pub groups: usize,
}

impl Certificate {
    pub(super) fn of<A: Family>(image: &Image, rules: usize, bytes: usize) -> Certificate {
        let mut walk = Walk { image, known: HashMap::new() };
        let bound = |table: &super::image::Table| {
            let entries = &image.cells[table.base..][..1 << table.masks.len()];
            let (nodes, groups) = walk.most(entries);
            TableBound { rules: table.rules, bits: table.masks.len(), nodes, groups }
        };
        let tables: Vec<TableBound> = image.tables.iter().map(bound).collect();
        Certificate {
            rules,
            nodes: tables.iter().map(|table| table.nodes).sum(),
            groups: tables.iter().map(|table| table.groups).sum(),
            tables,
            bytes,
        }
    }
}

/// Walks over all entries; nodes that several share once.
struct Walk<'a> {
    image: &'a Image,
    known: HashMap<u64, (usize, usize)>,
}

impl Walk<'_> {
    /// Nodes and groups at most below these entries. The depth is bounded by the builder.
    fn most(&mut self, entries: &[u64]) -> (usize, usize) {
        let each = entries.iter().map(|&entry| self.below(Entry(entry)));
        each.fold((0, 0), |(nodes, groups), (n, g)| (nodes.max(n), groups.max(g)))
    }

    fn below(&mut self, entry: Entry) -> (usize, usize) {
        if !entry.is_node() {
            return (0, entry.count().div_ceil(GROUP));
        }
        if let Some(&known) = self.known.get(&entry.0) {
            return known;
        }
        let image = self.image;
        let at = entry.offset();
        let bits = image.cells[at].count_ones() + image.cells[at + 1].count_ones();
        let (nodes, groups) = self.most(&image.cells[at + 2..][..1 << bits]);
        self.known.insert(entry.0, (nodes + 1, groups));
        (nodes + 1, groups)
    }
}

impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
        write!(
            f,
            "{} in {}, {} bytes; a packet costs at most {} and {} of {GROUP} rules",
            plural(self.rules, "rule"),
            plural(self.tables.len(), "table"),
            self.bytes,
            plural(self.nodes, "node"),
            plural(self.groups, "group"),
        )
    }
}
