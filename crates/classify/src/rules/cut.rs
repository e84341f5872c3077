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
        let looked_at = rules.iter().step_by(step).map(|&rule| self.ternary[rule as usize]).collect();
        let enough = (bounds.enough / step).max(1);
        let mut cells = Cells::<A>::new(looked_at, enough);
        let most = (bounds.copies * cells.ternary.len() as f64) as usize;
        let mut chosen = Chosen::default();
        let mut scores = Scores::default();
        while chosen.len < bounds.bits {
            self.score(&cells, &mut scores);
            let live = cells.live();
            let Some(bit) = chosen.best(&scores, live + cells.settled.len(), most, live) else { break };
            chosen.add(bit);
            cells.halve(bit, enough);
        }
        chosen.masks::<A>()
    }

    /// The gain of every bit, and the rules that would be copied.
    fn score(&self, cells: &Cells<A>, scores: &mut Scores) {
        let words = A::Words::default().as_ref().len();
        for word in 0..words {
            let Counter { bits, set, cared } = &mut scores.counter;
            cells.count(&cells.settled, (word, CARE), bits, &mut cared[word]);
            scores.wild[word] = cared[word].map(|cared| cells.settled.len() as u32 - cared);
            cells.count_apart(word, bits, &mut set[word]);
            scores.gain[word] = set[word].map(|apart| 2.0 * apart as f32);
            cells.count(cells.pairs.as_flattened(), (word, CARE), bits, &mut cared[word]);
            for (wild, cared) in scores.wild[word].iter_mut().zip(cared[word]) {
                *wild += 2 * cells.pairs.len() as u32 - cared;
            }
        }
        for cell in &cells.large {
            let total = cell.len();
            let log_total = self.log[total];
            for word in 0..words {
                let Counter { bits, set, cared } = &mut scores.counter;
                cells.count(cell, (word, VALUE), bits, &mut set[word]);
                cells.count(cell, (word, CARE), bits, &mut cared[word]);
                let (set, cared) = (&set[word], &cared[word]);
                let (gain, wild) = (&mut scores.gain[word], &mut scores.wild[word]);
                for bit in 0..64 {
                    let cared = cared[bit] as usize;
                    let both = total - cared;
                    wild[bit] += both as u32;
                    if cared > 0 {
                        let ones = set[bit] as usize;
                        let zeros = cared - ones;
                        gain[bit] += zeros as f32 * (log_total - self.log[zeros + both])
                            + ones as f32 * (log_total - self.log[ones + both]);
                    }
                }
            }
        }
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

/// The cells of the rules that are looked at, as they are cut. Rules are places in `ternary`, so that what is read lies together.
struct Cells<A: Family> {
    ternary: Vec<Ternary<A>>,
    /// Cells of three rules and more that need another bit.
    large: Vec<Vec<u32>>,
    /// Cells of two rules that need another bit. PERF: they and the settled ones are most cells of a long list; each kind is counted together, and
    /// not cell by cell.
    pairs: Vec<[u32; 2]>,
    /// The rules of all other cells: one that is in several cells as often.
    settled: Vec<u32>,
}

/// The sides of a ternary word.
const VALUE: usize = 0;
const CARE: usize = 1;

impl<A: Family> Cells<A> {
    fn new(ternary: Vec<Ternary<A>>, enough: usize) -> Self {
        let all = (0..ternary.len() as u32).collect();
        let mut cells = Cells { ternary, large: Vec::new(), pairs: Vec::new(), settled: Vec::new() };
        cells.put(all, enough);
        cells
    }

    fn put(&mut self, cell: Vec<u32>, enough: usize) {
        if cell.len() <= enough {
            self.settled.extend(cell);
        } else if let [a, b] = cell[..] {
            self.pairs.push([a, b]);
        } else {
            self.large.push(cell);
        }
    }

    /// Rules in cells that need another bit.
    fn live(&self) -> usize {
        self.large.iter().map(Vec::len).sum::<usize>() + 2 * self.pairs.len()
    }

    /// For each bit of a word how many of these rules have it: want a 1, or want anything.
    fn count(&self, rules: &[u32], (word, side): (usize, usize), bits: &mut BitCounts, into: &mut Bits<u32>) {
        bits.count(rules, |rule| self.ternary[rule as usize][side].as_ref()[word], into);
    }

    /// For each bit of a word how many pairs it tells apart, which is a gain of one bit of information for either rule: both want it, with different values.
    fn count_apart(&self, word: usize, bits: &mut BitCounts, into: &mut Bits<u32>) {
        let apart = |pair: [u32; 2]| {
            let [[a, care_a], [b, care_b]] =
                pair.map(|rule| self.ternary[rule as usize].map(|words| words.as_ref()[word]));
            (a ^ b) & care_a & care_b
        };
        bits.count(&self.pairs, apart, into);
    }

    /// Cuts all cells by a bit: a rule goes where the bit may be 0, and where it may be 1.
    fn halve(&mut self, (word, bit): (usize, usize), enough: usize) {
        let side = |ternary: &[Ternary<A>], rule: u32, side: usize| {
            ternary[rule as usize][side].as_ref()[word] >> bit & 1
        };
        let copies: Vec<u32> =
            self.settled.iter().copied().filter(|&rule| side(&self.ternary, rule, CARE) == 0).collect();
        self.settled.extend(copies);
        for pair in std::mem::take(&mut self.pairs) {
            let sides = pair.map(|rule| [VALUE, CARE].map(|of| side(&self.ternary, rule, of)));
            for half in [0, 1] {
                match sides.map(|[value, care]| care == 0 || value == half) {
                    [true, true] => self.pairs.push(pair),
                    [true, false] => self.settled.push(pair[0]),
                    [false, true] => self.settled.push(pair[1]),
                    [false, false] => {}
                }
            }
        }
        for cell in std::mem::take(&mut self.large) {
            let mut halves = [Vec::new(), Vec::new()];
            for rule in cell {
                let (value, care) = (side(&self.ternary, rule, VALUE), side(&self.ternary, rule, CARE));
                if care == 0 || value == 0 {
                    halves[0].push(rule);
                }
                if care == 0 || value == 1 {
                    halves[1].push(rule);
                }
            }
            halves.into_iter().for_each(|half| self.put(half, enough));
        }
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
