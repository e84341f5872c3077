//! Looking up one packet, or a batch.

use super::family::Family;
use super::image::{Entry, Image, NONE, SHARED};
use super::{Address, Key};
use table::simd::lanes::{GROUP, Lanes, Task};

/// Packets that a batch takes through each step together.
const BATCH: usize = 128;

/// The first rule of one packet, of rules none of which is special.
pub(super) struct FindOne<'a, A> {
    pub(super) image: &'a Image,
    pub(super) key: &'a Key<A>,
}

impl<A: Address> Task for FindOne<'_, A> {
    type Output = u32;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> u32 {
        let FindOne { image, key } = self;
        let words = A::words(key);
        let probe = A::probe(lanes, key);
        let mut best = NONE;
        for table in &image.tables {
            if best < table.first {
                break;
            }
            if !table.shared.is_in::<A>(&words) {
                continue;
            }
            let leaf = image.leaf_of::<A, L>(lanes, table, &words);
            if image.may_match::<A>(leaf, &words) {
                best = best.min(image.first_in_leaf::<A, L>(lanes, leaf, &probe));
            }
        }
        best
    }
}

/// The first rule of each packet of a batch.
///
/// Packets go through each table together, step by step. What differs between them (can this table still improve the answer, is the entry a node, a
/// leaf, or empty, are there more than 16 rules) decides which list a packet is written to; lists are compacted without a branch, so that a branch
/// is mispredicted about once a step and not once a packet.
pub(super) struct FindBatch<'a, A> {
    pub(super) image: &'a Image,
    pub(super) keys: &'a [Key<A>],
    pub(super) found: &'a mut [u32],
}

impl<A: Address> Task for FindBatch<'_, A> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        // What the next step reads is asked for ahead.
        if self.image.is_large() { self.chunks::<L, true>(lanes) } else { self.chunks::<L, false>(lanes) }
    }
}

impl<A: Address> FindBatch<'_, A> {
    #[inline(always)]
    fn chunks<L: Lanes, const AHEAD: bool>(self, lanes: L) {
        let mut batch = Batch::<A> {
            words: [A::Words::default(); BATCH],
            best: [NONE; BATCH],
            active: [0; BATCH],
            here: [0; BATCH],
            slots: [0; BATCH],
            nodes: List::new(),
            leaves: List::new(),
        };
        for (keys, found) in self.keys.chunks(BATCH).zip(self.found.chunks_mut(BATCH)) {
            batch.find::<L, AHEAD>(lanes, self.image, keys);
            found.copy_from_slice(&batch.best[..found.len()]);
        }
    }
}

/// Packets of a batch that are at an entry.
struct List {
    len: usize,
    packets: [u8; BATCH],
    entries: [Entry; BATCH],
}

impl List {
    const fn new() -> List {
        List { len: 0, packets: [0; BATCH], entries: [Entry::EMPTY; BATCH] }
    }

    /// Writes an element, and keeps it where `keep`. A list has never more elements than a batch has packets.
    #[inline(always)]
    fn push_if(&mut self, packet: u8, entry: Entry, keep: bool) {
        self.packets[self.len % BATCH] = packet;
        self.entries[self.len % BATCH] = entry;
        self.len += usize::from(keep);
    }
}

/// What is known of the packets of a batch.
struct Batch<A: Family> {
    words: [A::Words; BATCH],
    best: [u32; BATCH],
    /// Packets that the table at hand, or one behind it, may still improve.
    active: [u8; BATCH],
    /// Those of which the table at hand may have a rule.
    here: [u8; BATCH],
    /// Where in `cells` each of a list looks next.
    slots: [u32; BATCH],
    nodes: List,
    leaves: List,
}

impl<A: Address> Batch<A> {
    #[inline(always)]
    fn find<L: Lanes, const AHEAD: bool>(&mut self, lanes: L, image: &Image, keys: &[Key<A>]) {
        for (i, key) in keys.iter().enumerate().take(BATCH) {
            self.words[i] = A::words(key);
            self.best[i] = NONE;
            self.active[i] = i as u8;
        }
        let mut active = keys.len().min(BATCH);
        for table in &image.tables {
            let (mut kept, mut here) = (0, 0);
            for x in 0..active {
                let packet = self.active[x % BATCH];
                let may_improve = self.best[usize::from(packet) % BATCH] >= table.first;
                self.active[kept % BATCH] = packet;
                kept += usize::from(may_improve);
                // PERF: to look into a table that is in the cache takes no longer than to find out whether that may be left.
                let is_here = !AHEAD || table.shared.is_in::<A>(&self.words[usize::from(packet) % BATCH]);
                self.here[here % BATCH] = packet;
                here += usize::from(may_improve & is_here);
            }
            active = kept;
            if active == 0 {
                break;
            }
            for x in 0..here {
                let words = &self.words[usize::from(self.here[x % BATCH]) % BATCH];
                let slot = table.base + table.masks.index::<A, L>(lanes, words);
                self.slots[x % BATCH] = slot as u32;
                if AHEAD {
                    lanes.prefetch(&image.cells, slot);
                }
            }
            self.nodes.len = 0;
            self.leaves.len = 0;
            for x in 0..here {
                let entry = Entry(image.cells[self.slots[x % BATCH] as usize]);
                self.sort::<L, AHEAD>(lanes, image, self.here[x % BATCH], entry);
            }
            while self.nodes.len > 0 {
                self.descend::<L, AHEAD>(lanes, image);
            }
            self.compare::<L, AHEAD>(lanes, image, keys);
        }
    }

    /// Puts a packet onto the list of those at a node, or at a leaf, or onto none where its leaf is empty.
    #[inline(always)]
    fn sort<L: Lanes, const AHEAD: bool>(&mut self, lanes: L, image: &Image, packet: u8, entry: Entry) {
        self.nodes.push_if(packet, entry, entry.is_node());
        self.leaves.push_if(packet, entry, !entry.is_node() & (entry != Entry::EMPTY));
        if AHEAD {
            if entry.is_node() {
                lanes.prefetch(&image.cells, entry.offset());
            } else {
                for line in 0..4 {
                    lanes.prefetch(&image.words, entry.offset() + 16 * line);
                }
            }
        }
    }

    /// One level down, for all packets at nodes.
    #[inline(always)]
    fn descend<L: Lanes, const AHEAD: bool>(&mut self, lanes: L, image: &Image) {
        let count = self.nodes.len;
        for x in 0..count {
            let words = &self.words[usize::from(self.nodes.packets[x % BATCH]) % BATCH];
            let slot = image.child::<A, L>(lanes, self.nodes.entries[x % BATCH], words);
            self.slots[x % BATCH] = slot as u32;
            if AHEAD {
                lanes.prefetch(&image.cells, slot);
            }
        }
        self.nodes.len = 0;
        for x in 0..count {
            let entry = Entry(image.cells[self.slots[x % BATCH] as usize]);
            self.sort::<L, AHEAD>(lanes, image, self.nodes.packets[x % BATCH], entry);
        }
    }

    /// Compares all packets at leaves, a group of each at a time.
    #[inline(always)]
    fn compare<L: Lanes, const AHEAD: bool>(&mut self, lanes: L, image: &Image, keys: &[Key<A>]) {
        if AHEAD {
            let count = self.leaves.len;
            self.leaves.len = 0;
            for x in 0..count {
                let (packet, leaf) = (self.leaves.packets[x % BATCH], self.leaves.entries[x % BATCH]);
                let words = &self.words[usize::from(packet) % BATCH];
                self.leaves.push_if(packet, leaf, image.may_match::<A>(leaf, words));
            }
        }
        let mut done = 0;
        while self.leaves.len > 0 {
            let count = self.leaves.len;
            self.leaves.len = 0;
            for x in 0..count {
                let (packet, leaf) = (self.leaves.packets[x % BATCH], self.leaves.entries[x % BATCH]);
                let probe = A::probe(lanes, &keys[usize::from(packet)]);
                let left = leaf.count() - done;
                let at = leaf.offset() + SHARED + done * A::WORDS_PER_RULE;
                let found = image.first_in_group::<A, L>(lanes, at, left.min(GROUP), &probe);
                let best = &mut self.best[usize::from(packet) % BATCH];
                *best = found.min(*best);
                self.leaves.push_if(packet, leaf, (left > GROUP) & (found == NONE));
            }
            done += GROUP;
        }
    }
}
