//! By which bits of the key is a list of rules told apart best?
//!
//! ```text
//! cells = [rules]
//! repeat: for each bit: gain = information about the rule, summed over cells  -  penalty for each rule that has to go into both halves
//!         take the bit with the highest gain, unless rules would be copied too often; halve all cells by it
//! ```
//! A node reads two words of the key, so that bits come from two words at most.

use super::counts::BitCounts;
use super::family::Family;
use super::image::Masks;
use table::simd::lanes::{Isa, Lanes, Task, run};

/// Rules that are looked at to choose bits; of longer lists every k-th.
const LOOKED_AT: usize = 8192;
/// Words of a key at most.
const WORDS: usize = 5;

/// Values of a rule's words, and which of their bits count.
pub(super) type Ternary<A> = [<A as Family>::Words; 2];

/// What bounds the choice of bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Bits at most.
    pub(super) bits: u32,
    /// Entries of rules in all cells, for each rule.
    pub(super) copies: f64,
    /// Cells with so many rules need no further bit.
    pub(super) enough: usize,
}

/// Chooses bits for parts of one rule list.
pub(super) struct Cutter<'a, A: Family> {
    pub(super) ternary: &'a [Ternary<A>],
    pub(super) isa: Isa,
    /// Logarithms of whole numbers; of 0 it is 0.
    log: Vec<f32>,
}

impl<'a, A: Family> Cutter<'a, A> {
    pub(super) fn new(ternary: &'a [Ternary<A>], isa: Isa) -> Self {
        let log = (0..=2 * LOOKED_AT).map(|n| (n.max(1) as f32).log2()).collect();
        Cutter { ternary, isa, log }
    }

    /// The bits that tell these rules apart; none if no bit is worth it.
    pub(super) fn choose(&self, rules: &[u32], bounds: Bounds) -> Masks {
        let step = (rules.len() / LOOKED_AT).max(1);
        let first: Vec<u32> = rules.iter().step_by(step).copied().collect();
        let looked_at = first.len();
        let enough = (bounds.enough / step).max(1);
        let mut cells = vec![first];
        let mut chosen = Chosen::default();
        let mut entries = looked_at;
        let mut scores = Scores::default();
        while chosen.len < bounds.bits {
            let live = self.score(&cells, enough, &mut scores);
            let most = (bounds.copies * looked_at as f64) as usize;
            let Some(bit) = chosen.best(&scores, entries, most, live) else { break };
            chosen.add(bit);
            let mut halves = Vec::with_capacity(2 * cells.len());
            entries = 0;
            for cell in cells {
                for half in self.halve(cell, bit) {
                    entries += half.len();
                    halves.extend((!half.is_empty()).then_some(half));
                }
            }
            cells = halves;
        }
        chosen.masks::<A>()
    }

    /// The gain of every bit; how many rules lie in cells that are too large.
    fn score(&self, cells: &[Vec<u32>], enough: usize, scores: &mut Scores) -> usize {
        let words = A::Words::default().as_ref().len();
        scores.gain[..words].fill([0.0; 64]);
        scores.wild[..words].fill([0; 64]);
        let mut live = 0;
        for cell in cells {
            self.count(cell, &mut scores.counter, words);
            let total = cell.len();
            let is_large = total > enough;
            live += if is_large { total } else { 0 };
            let log_total = self.log[total];
            for word in 0..words {
                let Counter { set, cared, .. } = &scores.counter;
                let (set, cared) = (&set[word], &cared[word]);
                let (gain, wild) = (&mut scores.gain[word], &mut scores.wild[word]);
                for bit in 0..64 {
                    let cared = cared[bit] as usize;
                    let both = total - cared;
                    wild[bit] += both as u32;
                    if is_large && cared > 0 {
                        let ones = set[bit] as usize;
                        let zeros = cared - ones;
                        gain[bit] += zeros as f32 * (log_total - self.log[zeros + both])
                            + ones as f32 * (log_total - self.log[ones + both]);
                    }
                }
            }
        }
        live
    }

    /// For each bit how many rules want a 1, and how many want anything.
    fn count(&self, rules: &[u32], counter: &mut Counter, words: usize) {
        let (blocks, rest) = rules.as_chunks::<8>();
        for word in 0..words {
            let mut side = |side: usize, into: &mut [u32; 64]| {
                let of = |rule: u32| self.ternary[rule as usize][side].as_ref()[word];
                blocks.iter().for_each(|block| counter.bits.add_eight(block.map(of)));
                if !rest.is_empty() {
                    let mut last = [0; 8];
                    last.iter_mut().zip(rest).for_each(|(last, &rule)| *last = of(rule));
                    counter.bits.add_eight(last);
                }
                counter.bits.take(into);
            };
            side(0, &mut counter.set[word]);
            side(1, &mut counter.cared[word]);
        }
    }

    /// The rules of a cell in which a bit may be 0, and in which it may be 1.
    fn halve(&self, cell: Vec<u32>, (word, bit): (usize, usize)) -> [Vec<u32>; 2] {
        let mut halves = [Vec::new(), Vec::new()];
        for rule in cell {
            let [value, care] = self.ternary[rule as usize].map(|words| words.as_ref()[word] >> bit & 1);
            if care == 0 || value == 0 {
                halves[0].push(rule);
            }
            if care == 0 || value == 1 {
                halves[1].push(rule);
            }
        }
        halves
    }

    /// For each of these rules the index under `masks` with its open bits 0, and the open bits.
    pub(super) fn indices(&self, rules: &[u32], masks: Masks) -> Vec<(u32, u32)> {
        run(self.isa, Indices::<A> { ternary: self.ternary, rules, masks })
    }

    /// The rules of each entry under `masks`, in order.
    pub(super) fn spread(&self, rules: &[u32], masks: Masks) -> Vec<Vec<u32>> {
        let mut entries = vec![Vec::new(); 1 << masks.len()];
        for (&rule, at) in rules.iter().zip(self.indices(rules, masks)) {
            each_index(at, |index| entries[index].push(rule));
        }
        entries
    }
}

/// Calls with every index that a rule has.
#[inline(always)]
pub(super) fn each_index((value, open): (u32, u32), mut call: impl FnMut(usize)) {
    let mut some = open;
    loop {
        call((value | some) as usize);
        if some == 0 {
            break;
        }
        some = (some - 1) & open;
    }
}

/// Indices of many rules.
struct Indices<'a, A: Family> {
    ternary: &'a [Ternary<A>],
    rules: &'a [u32],
    masks: Masks,
}

impl<A: Family> Task for Indices<'_, A> {
    type Output = Vec<(u32, u32)>;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Self::Output {
        let open = (1_u64 << self.masks.len()) - 1;
        let mut indices = Vec::with_capacity(self.rules.len());
        for &rule in self.rules {
            let [value, care] = &self.ternary[rule as usize];
            let care = self.masks.index::<A, L>(lanes, care) as u64;
            let value = self.masks.index::<A, L>(lanes, value) as u64;
            indices.push(((value & care) as u32, (!care & open) as u32));
        }
        indices
    }
}

/// Counts of one cell.
struct Counter {
    bits: BitCounts,
    set: [Bits<u32>; WORDS],
    cared: [Bits<u32>; WORDS],
}

/// A number for each bit of a word.
type Bits<T> = [T; 64];

struct Scores {
    counter: Counter,
    gain: [Bits<f32>; WORDS],
    /// Rules that are in both halves.
    wild: [Bits<u32>; WORDS],
}

impl Default for Scores {
    fn default() -> Self {
        let counter = Counter { bits: BitCounts::default(), set: [[0; 64]; WORDS], cared: [[0; 64]; WORDS] };
        Scores { counter, gain: [[0.0; 64]; WORDS], wild: [[0; 64]; WORDS] }
    }
}

/// The bits that were chosen.
#[derive(Default)]
struct Chosen {
    len: u32,
    bits: [u64; WORDS],
}

impl Chosen {
    /// The most a rule in both halves costs, in bits of information.
    const COPY: f32 = 0.5;
    /// A bit is worth it from this gain a rule.
    const LEAST: f32 = 0.02;

    fn best(&self, scores: &Scores, entries: usize, most: usize, live: usize) -> Option<(usize, usize)> {
        let words_used = self.bits.iter().filter(|&&bits| bits != 0).count();
        let (mut best, mut best_gain) = (None, 0.0);
        for (word, &used) in self.bits.iter().enumerate() {
            if words_used >= 2 && used == 0 {
                continue;
            }
            for bit in (0..64).filter(|bit| used >> bit & 1 == 0) {
                let wild = scores.wild[word][bit];
                let gain = scores.gain[word][bit] - Chosen::COPY * wild as f32;
                if gain > best_gain && entries + wild as usize <= most {
                    (best, best_gain) = (Some((word, bit)), gain);
                }
            }
        }
        best.filter(|_| live > 0 && best_gain >= Chosen::LEAST * live as f32)
    }

    fn add(&mut self, (word, bit): (usize, usize)) {
        self.bits[word] |= 1 << bit;
        self.len += 1;
    }

    fn masks<A: Family>(&self) -> Masks {
        if let Some(which) = A::fixed_words() {
            return Masks { which, bits: which.map(|word| self.bits[usize::from(word)]) };
        }
        let mut used = (0..WORDS).filter(|&word| self.bits[word] != 0);
        let mut next = || used.next().map_or((0, 0), |word| (word as u8, self.bits[word]));
        let (first, second) = (next(), next());
        Masks { which: [first.0, second.0], bits: [first.1, second.1] }
    }
}
