//! First-match lists of rules over addresses, ports, protocol and feature bits: a million of them at little more than the price of one.
//!
//! ```text
//! packet ──► table 1: bits of the key pick an entry ──► leaf: up to 16 rules compared at once ──► lowest match
//!        ──► table 2: rules too wild for table 1        (or a node: other bits, another entry)
//!        ──► …   until no later table can hold a lower rule
//! ```
//! The structure is built in bulk ([`Rules::build`]) and does not change; [`LiveRules`] adds and deletes single rules and swaps in what it rebuilds.
//! [`docs/design/classify.md`](https://github.com/sluss/sluss/blob/main/docs/design/classify.md) tells how bits are chosen, and why.
//!
//! ```
//! use classify::rules::{Key, Rule, Rules};
//! let rules = Rules::build(
//!     &[
//!         Rule { src: Rule::prefix(0x0a00_0000_u32, 8), dport: 22..=22, ..Rule::any() },
//!         Rule { dport: 0..=1023, ..Rule::any() },
//!     ],
//!     &Default::default(),
//! )?;
//! let key = Key { src: 0x0a01_0203, dport: 22, ..Key::default() };
//! assert_eq!(rules.find(&key), Some(0));
//! assert_eq!(rules.find(&Key { src: 1, ..key }), Some(1));
//! assert_eq!(rules.find(&Key { dport: 8080, ..key }), None);
//! # Ok::<(), classify::rules::BuildError>(())
//! ```

mod build;
mod cell;
mod certificate;
pub mod classbench;
mod counts;
mod cut;
mod family;
mod find;
pub mod generate;
mod image;
mod live;
mod matching;
mod peel;
mod publish;
mod rule;
mod sample;
mod shape;

pub use build::{BuildError, Options};
pub use certificate::{Certificate, TableBound};
pub use family::Address;
pub use live::{Handle, LiveRules, Rebuild, Rebuilt, Snapshot};
pub use matching::Scratch;
pub use publish::Reader;
pub use rule::{FEATURES, Key, Rule, linear};
pub use sample::points;
pub use table::simd::lanes::Isa;

use find::{FindBatch, FindOne};
use image::{Image, NONE};
use matching::{FindWith, Specials};
use table::simd::lanes::run;

/// A rule list, compiled: answers with the position of the first rule that a packet matches.
#[derive(Clone, Debug)]
pub struct Rules<A> {
    image: Image,
    specials: Specials<A>,
    isa: Isa,
    len: usize,
}

impl<A: Address> Rules<A> {
    /// The most rules that a list may have.
    pub const MAX: usize = image::Entry::LEAF_MAX;

    /// The first rule that matches. A rule with a residual does not match here; see [`find_with`](Self::find_with).
    #[inline]
    #[must_use]
    pub fn find(&self, key: &Key<A>) -> Option<u32> {
        let found = if self.specials.of.is_empty() {
            run(self.isa, FindOne { image: &self.image, key })
        } else {
            self.find_among(key, &mut Scratch::default(), |_| false, |_| false)
        };
        (found != NONE).then_some(found)
    }

    /// The first rule that matches and whose residual, if it has one, `holds` confirms. Each number is asked at most once.
    ///
    /// ```
    /// use classify::rules::{Key, Rule, Rules, Scratch};
    /// let rules = [Rule { residual: Some(7), ..Rule::<u32>::any() }, Rule::any()];
    /// let rules = Rules::build(&rules, &Default::default())?;
    /// let mut scratch = Scratch::default();
    /// assert_eq!(rules.find_with(&Key::default(), &mut scratch, |residual| residual == 7), Some(0));
    /// assert_eq!(rules.find_with(&Key::default(), &mut scratch, |_| false), Some(1));
    /// # Ok::<(), classify::rules::BuildError>(())
    /// ```
    #[inline]
    pub fn find_with(
        &self,
        key: &Key<A>,
        scratch: &mut Scratch,
        holds: impl FnMut(u32) -> bool,
    ) -> Option<u32> {
        let found = if self.specials.of.is_empty() {
            run(self.isa, FindOne { image: &self.image, key })
        } else {
            self.find_among(key, scratch, |_| false, holds)
        };
        (found != NONE).then_some(found)
    }

    /// The first rule of each packet, [`NO_RULE`] where none matches: what [`find`](Self::find) answers, several times as fast on many packets.
    ///
    /// # Panics
    /// Where there are fewer places in `found` than keys.
    pub fn find_batch(&self, keys: &[Key<A>], found: &mut [u32]) {
        let found = &mut found[..keys.len()];
        if self.specials.of.is_empty() {
            return run(self.isa, FindBatch { image: &self.image, keys, found });
        }
        let mut scratch = Scratch::default();
        for (key, found) in keys.iter().zip(found) {
            *found = self.find_among(key, &mut scratch, |_| false, |_| false);
        }
    }

    /// The general way, where rules are special or deleted.
    fn find_among(
        &self,
        key: &Key<A>,
        scratch: &mut Scratch,
        is_dead: impl FnMut(u32) -> bool,
        holds: impl FnMut(u32) -> bool,
    ) -> u32 {
        let (image, specials) = (&self.image, &self.specials);
        run(self.isa, FindWith { image, specials, key, scratch, is_dead, holds })
    }

    /// How many rules it was built from.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it was built from no rules.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Memory that the structure takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.image.bytes() + self.specials.bytes()
    }

    /// The instructions that look-ups run with.
    #[must_use]
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// The most that a look-up costs, whatever the packet.
    #[must_use]
    pub fn certificate(&self) -> Certificate {
        Certificate::of::<A>(&self.image, self.len, self.bytes())
    }
}

/// What [`Rules::find_batch`] answers where no rule matches.
pub const NO_RULE: u32 = NONE;
