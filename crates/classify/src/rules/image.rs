//! What a rule list is compiled to: tables, nodes and leaves in two arrays.
//!
//! ```text
//! table   bits that all its rules share; two masks, where its entries begin, its lowest rule
//! cells   entries of tables; nodes: [mask, mask, entries…]
//! entry   leaf: where in `words`, how many rules, which bits they share  |  node: where in `cells`, which two words of the key its masks select from
//! words   a leaf: bits that all its rules share, of the addresses or of the rest, as a value and a mask; then groups of up to 16 rules: rows (see `table::simd::lanes`), then the rules' numbers
//! ```
//! An index among entries is the selected bits of one word, and above them those of the other.

use super::Address;
use super::family::Family;
use table::pages::Pages;
use table::simd::lanes::{GROUP, Lanes};

/// No rule.
pub(super) const NONE: u32 = u32::MAX;

/// Set in the number of a rule whose rows do not say all of it: it has a residual, or a range that is no ternary word.
pub(super) const SPECIAL: u32 = 1 << 31;

/// Bits that rules ask for alike, of the addresses, and of ports, protocol and features. A packet that has not these bits matches none of the rules: that
/// holds of most leaves that a random packet comes to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shared {
    values: [u64; 2],
    masks: [u64; 2],
}

/// Words in front of a leaf's groups.
pub(super) const SHARED: usize = 4;

/// What is shared most in front of the empty leaf, which is at offset 0: a value that no packet has under the mask.
pub(super) const NOTHING_SHARED: [u32; SHARED] = [1, 0, 0, 0];

impl Shared {
    /// Those of rules whose ternary words are given.
    pub(super) fn of<A: Family>(rules: impl Iterator<Item = [A::Words; 2]>) -> Shared {
        let mut all = rules.map(|sides| sides.map(|words| [A::addresses(&words), A::tail(&words)]));
        let [values, masks] = all.next().unwrap_or_default();
        let mut shared = Shared { values, masks };
        for [values, cares] in all {
            let differing = [values[0] ^ shared.values[0], values[1] ^ shared.values[1]];
            shared.masks =
                [shared.masks[0] & cares[0] & !differing[0], shared.masks[1] & cares[1] & !differing[1]];
        }
        shared.values = [shared.values[0] & shared.masks[0], shared.values[1] & shared.masks[1]];
        shared
    }

    /// Of which of both there are more, and these as the words in front of a leaf.
    pub(super) fn most(self) -> (usize, [u32; SHARED]) {
        let which = usize::from(self.masks[1].count_ones() > self.masks[0].count_ones());
        let (value, mask) = (self.values[which], self.masks[which]);
        (which, [value as u32, (value >> 32) as u32, mask as u32, (mask >> 32) as u32])
    }

    /// Whether a key with these words has them.
    #[inline(always)]
    pub(super) fn is_in<A: Family>(&self, words: &A::Words) -> bool {
        let addresses = A::addresses(words) & self.masks[0] ^ self.values[0];
        addresses | A::tail(words) & self.masks[1] ^ self.values[1] == 0
    }
}

/// A leaf or a node; the empty leaf is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry(pub(super) u64);

const NODE: u64 = 1 << 63;
const COUNT: u64 = (1 << 24) - 1;

impl Entry {
    pub(super) const EMPTY: Entry = Entry(0);
    /// Rules that one leaf may have.
    pub(super) const LEAF_MAX: usize = COUNT as usize;

    /// `shares` says which bits the rules share: 0 for those of addresses, 1 for the others.
    pub(super) fn leaf(offset: u32, count: usize, shares: usize) -> Entry {
        debug_assert!(count <= Entry::LEAF_MAX);
        Entry(u64::from(offset) | (count as u64) << 32 | (shares as u64 & 1) << 56)
    }

    /// Whether it is not the bits of addresses that the rules of a leaf share.
    #[inline(always)]
    fn shares_tail(self) -> bool {
        self.0 >> 56 & 1 == 1
    }

    pub(super) fn node(offset: u32, which: [u8; 2]) -> Entry {
        Entry(u64::from(offset) | u64::from(which[0]) << 56 | u64::from(which[1]) << 59 | NODE)
    }

    #[inline(always)]
    pub(super) fn is_node(self) -> bool {
        self.0 & NODE != 0
    }

    #[inline(always)]
    pub(super) fn offset(self) -> usize {
        self.0 as u32 as usize
    }

    /// Rules of a leaf.
    #[inline(always)]
    pub(super) fn count(self) -> usize {
        (self.0 >> 32 & COUNT) as usize
    }

    /// The words of the key that a node's masks select from.
    #[inline(always)]
    pub(super) fn which(self) -> [u8; 2] {
        [(self.0 >> 56 & 7) as u8, (self.0 >> 59 & 7) as u8]
    }
}

/// Bits of a key by which entries are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Masks {
    /// The words that are selected from.
    pub(super) which: [u8; 2],
    /// The bits of each that count.
    pub(super) bits: [u64; 2],
}

impl Masks {
    /// The entry that a key has.
    #[inline(always)]
    pub(super) fn index<A: Family, L: Lanes>(self, lanes: L, words: &A::Words) -> usize {
        let low = lanes.extract(A::word(words, self.which[0]), self.bits[0]);
        let high = lanes.extract(A::word(words, self.which[1]), self.bits[1]);
        (low | high << (self.bits[0].count_ones() & 63)) as usize
    }

    /// Bits of an index.
    pub(super) fn len(self) -> u32 {
        self.bits[0].count_ones() + self.bits[1].count_ones()
    }
}

/// One table: an array of entries for the rules that are specific enough to be told apart by its bits.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) shared: Shared,
    pub(super) masks: Masks,
    /// Where its entries begin in `cells`.
    pub(super) base: usize,
    /// The lowest number of its rules.
    pub(super) first: u32,
    /// How many rules it has: for people.
    pub(super) rules: usize,
}

/// All tables, in the order of their lowest rules.
#[derive(Clone, Debug, Default)]
pub(super) struct Image {
    pub(super) tables: Vec<Table>,
    pub(super) cells: Pages<u64>,
    /// Ends with padding that vectors may read.
    pub(super) words: Pages<u32>,
}

impl Image {
    /// Memory of all parts.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.tables[..]) + size_of_val(&self.cells[..]) + size_of_val(&self.words[..])
    }

    /// Whether it does not fit the second-level cache, beside what else is there.
    #[inline(always)]
    pub(super) fn is_large(&self) -> bool {
        self.bytes() > 256 << 10
    }

    /// The entry of a key in a table, before nodes are followed.
    #[inline(always)]
    pub(super) fn root<A: Family, L: Lanes>(&self, lanes: L, table: &Table, words: &A::Words) -> Entry {
        Entry(self.cells[table.base + table.masks.index::<A, L>(lanes, words)])
    }

    /// Where the entry lies that a node has for a key.
    #[inline(always)]
    pub(super) fn child<A: Family, L: Lanes>(&self, lanes: L, node: Entry, words: &A::Words) -> usize {
        let at = node.offset();
        let which = A::fixed_words().unwrap_or_else(|| node.which());
        let masks = Masks { which, bits: [self.cells[at], self.cells[at + 1]] };
        at + 2 + masks.index::<A, L>(lanes, words)
    }

    /// The leaf of a key in a table.
    #[inline(always)]
    pub(super) fn leaf_of<A: Family, L: Lanes>(&self, lanes: L, table: &Table, words: &A::Words) -> Entry {
        let mut entry = self.root::<A, L>(lanes, table, words);
        while entry.is_node() {
            entry = Entry(self.cells[self.child::<A, L>(lanes, entry, words)]);
        }
        entry
    }

    /// Whether a rule of the leaf may match a packet, by the bits that all of them share.
    #[inline(always)]
    pub(super) fn may_match<A: Family>(&self, leaf: Entry, words: &A::Words) -> bool {
        let &[value, value_high, mask, mask_high] =
            self.words[leaf.offset()..].first_chunk::<SHARED>().expect("padding is behind the last leaf");
        let word = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let key = if leaf.shares_tail() { A::tail(words) } else { A::addresses(words) };
        key & word(mask, mask_high) == word(value, value_high)
    }

    /// The lowest rule of a leaf that matches.
    #[inline(always)]
    pub(super) fn first_in_leaf<A: Address, L: Lanes>(
        &self,
        lanes: L,
        leaf: Entry,
        probe: &A::Probe<L>,
    ) -> u32 {
        let (at, count) = (leaf.offset() + SHARED, leaf.count());
        let found = self.first_in_group::<A, L>(lanes, at, count.min(GROUP), probe);
        if count > GROUP && found == NONE {
            return self.first_in_rest::<A, L>(lanes, at + GROUP * A::WORDS_PER_RULE, count - GROUP, probe);
        }
        found
    }

    /// The lowest rule of further groups.
    #[inline(always)]
    fn first_in_rest<A: Address, L: Lanes>(
        &self,
        lanes: L,
        mut at: usize,
        mut left: usize,
        probe: &A::Probe<L>,
    ) -> u32 {
        while left > 0 {
            let count = left.min(GROUP);
            let found = self.first_in_group::<A, L>(lanes, at, count, probe);
            if found != NONE {
                return found;
            }
            at += count * A::WORDS_PER_RULE;
            left -= count;
        }
        NONE
    }

    /// The lowest rule of a group that matches. Its number is read without a branch.
    #[inline(always)]
    pub(super) fn first_in_group<A: Address, L: Lanes>(
        &self,
        lanes: L,
        at: usize,
        count: usize,
        probe: &A::Probe<L>,
    ) -> u32 {
        let words = &self.words[at..];
        let hits = A::matches(lanes, words, count, probe);
        let lane = (hits | 1 << (GROUP - 1)).trailing_zeros() as usize;
        let number = words[(A::WORDS_PER_RULE - 1) * count + lane];
        number | 0_u32.wrapping_sub(u32::from(hits == 0))
    }

    /// All rules of a leaf that match, from the lowest, until `visit` says that it is enough.
    #[inline(always)]
    pub(super) fn all_in_leaf<A: Address, L: Lanes>(
        &self,
        lanes: L,
        leaf: Entry,
        probe: &A::Probe<L>,
        mut visit: impl FnMut(u32) -> bool,
    ) {
        let (mut at, mut left) = (leaf.offset() + SHARED, leaf.count());
        while left > 0 {
            let count = left.min(GROUP);
            let words = &self.words[at..];
            let mut hits = A::matches(lanes, words, count, probe);
            while hits != 0 {
                let lane = hits.trailing_zeros() as usize;
                if visit(words[(A::WORDS_PER_RULE - 1) * count + lane]) {
                    return;
                }
                hits &= hits - 1;
            }
            at += count * A::WORDS_PER_RULE;
            left -= count;
        }
    }
}
