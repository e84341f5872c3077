//! From rules to the structure.

use super::cell::CellBuilder;
use super::cut::Cutter;
use super::matching::Specials;
use super::peel::Peeler;
use super::sample::points;
use super::shape::Spread;
use super::{Address, Key, Rule, Rules};
use std::fmt;
use std::hash::{Hash, Hasher};
use table::simd::lanes::Isa;

/// Packets whose cost is estimated.
const SAMPLE: usize = 384;

/// How to build a list.
#[derive(Clone, Debug)]
pub struct Options<A> {
    /// Packets as they are expected: the structure is built so that these cost little. Without any, packets that match the rules, each alike often.
    pub sample: Vec<Key<A>>,
    /// Bytes that the structure may take; a list that needs more is an error. By default a gibibyte.
    pub bytes_max: usize,
    /// The instructions that look-ups run with; plain ones where the processor does not have these. By default the fastest.
    pub isa: Isa,
    /// Leaves out rules that repeat an earlier one, which no packet can match. By default they are.
    pub drop_repeated: bool,
}

impl<A> Default for Options<A> {
    fn default() -> Self {
        Options { sample: Vec::new(), bytes_max: 1 << 30, isa: Isa::best(), drop_repeated: true }
    }
}

/// Why a list was not built.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// More rules than a list may have.
    Rules {
        /// So many there are.
        rules: usize,
        /// So many there may be.
        max: usize,
    },
    /// More memory than [`Options::bytes_max`].
    Bytes {
        /// Rules of the list.
        rules: usize,
        /// Bytes when building stopped.
        bytes: usize,
        /// Bytes that there may be.
        max: usize,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Rules { rules, max } => write!(f, "{rules} rules: a list may have {max} at most"),
            BuildError::Bytes { rules, bytes, max } => write!(
                f,
                "{rules} rules need more than {bytes} bytes of memory, where the limit is {max}: raise the limit or split the list"
            ),
        }
    }
}

impl std::error::Error for BuildError {}

impl<A: Address> Rules<A> {
    /// Builds the structure for these rules, the first of which has the highest priority. Time is about linear in their number.
    ///
    /// # Errors
    /// See [`BuildError`].
    pub fn build(rules: &[Rule<A>], options: &Options<A>) -> Result<Self, BuildError> {
        if rules.len() > Self::MAX {
            return Err(BuildError::Rules { rules: rules.len(), max: Self::MAX });
        }
        let specials = Specials::new(rules);
        let ternary: Vec<_> = rules.iter().map(A::ternary).collect();
        let peeler = Peeler {
            cells: CellBuilder { rules, specials: &specials, cutter: Cutter::new(&ternary, options.isa) },
            spreads: rules.iter().map(Spread::of).collect(),
            sample: sample(rules, &options.sample),
            bytes_max: options.bytes_max.saturating_sub(specials.bytes()),
        };
        let image = peeler.peel(numbers(rules, options.drop_repeated));
        let max = options.bytes_max;
        let image = image.map_err(|bytes| BuildError::Bytes { rules: rules.len(), bytes, max })?;
        Ok(Rules { image, specials, isa: options.isa, len: rules.len() })
    }
}

/// The rules that a packet can match.
fn numbers<A: Address>(rules: &[Rule<A>], drop_repeated: bool) -> Vec<u32> {
    let present = (0..rules.len() as u32).filter(|&number| !rules[number as usize].is_empty());
    if !drop_repeated {
        return present.collect();
    }
    // PERF: of a million rules, a sorted list of hashes takes a tenth of the time of a hash table, which waits for memory at each rule.
    let mut hashed: Vec<u64> = present
        .map(|number| {
            let mut hasher = Mix::default();
            rules[number as usize].canonical().hash(&mut hasher);
            hasher.finish() >> NUMBER_BITS << NUMBER_BITS | u64::from(number)
        })
        .collect();
    hashed.sort_unstable();
    let number = |hashed: u64| hashed as u32 & ((1 << NUMBER_BITS) - 1);
    let rule = |hashed: u64| rules[number(hashed) as usize].canonical();
    let mut kept = Vec::with_capacity(hashed.len());
    for alike in hashed.chunk_by(|a, b| a >> NUMBER_BITS == b >> NUMBER_BITS) {
        kept.push(number(alike[0]));
        let differs = |&&other: &&u64| rule(other) != rule(alike[0]);
        kept.extend(alike[1..].iter().filter(differs).map(|&other| number(other)));
    }
    kept.sort_unstable();
    kept
}

/// Bits of a rule's number.
const NUMBER_BITS: u32 = 24;

/// A hash of numbers, whose upper bits are good. Rules that were chosen to share one cost no time: at most, some that repeat another stay.
#[derive(Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(number.into());
    }

    fn write_u16(&mut self, number: u16) {
        self.write_u64(number.into());
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(23) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_u128(&mut self, number: u128) {
        self.write_u64(number as u64);
        self.write_u64((number >> 64) as u64);
    }
}

/// The packets that costs are estimated with.
fn sample<A: Address>(rules: &[Rule<A>], given: &[Key<A>]) -> Vec<Key<A>> {
    let step = (given.len() / SAMPLE).max(1);
    let given: Vec<Key<A>> = given.iter().step_by(step).take(SAMPLE).copied().collect();
    if given.is_empty() { points(rules, 5).take(SAMPLE).collect() } else { given }
}
