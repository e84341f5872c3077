//! IPv4 and IPv6: how a key becomes words whose bits are cut, and rows that are compared.
//!
//! ```text
//!        IPv4                                    IPv6
//! words  src : dst                               src, 64 bits twice; dst, 64 bits twice
//!        sport : dport : proto : 24 bits         the same
//! rows   range src, range dst, ports, ternary    ports, ternary src x4, ternary dst x4, ternary
//! ```
//! The 24 bits are the caller's 22 feature bits, and two that the structure derives: the ports are at or above 1024. With these the commonest ranges
//! of ports are a ternary bit, by which a table can be cut.
//!
//! An IPv6 range that is no prefix is not a ternary word: its rows hold the prefix around it, and the rule is checked as a whole where they match.

use super::rule::{FEATURE_MASK, FEATURES, Key, Rule};
use std::fmt::Debug;
use std::hash::Hash;
use std::ops::RangeInclusive;
use table::simd::lanes::{Lanes, Probe, rows};

/// An address as a number: `u32` for IPv4, `u128` for IPv6.
pub trait Address: Copy + Ord + Default + Debug + Hash + Send + Sync + 'static + Family {}

impl<A: Copy + Ord + Default + Debug + Hash + Send + Sync + 'static + Family> Address for A {}

/// Words of a key, or of a rule; at most five.
pub trait Words: Copy + Default + AsRef<[u64]> + AsMut<[u64]> + Debug + Send + Sync {}

impl<W: Copy + Default + AsRef<[u64]> + AsMut<[u64]> + Debug + Send + Sync> Words for W {}

/// What differs between address families; sealed, since only this module names it.
pub trait Family: Sized {
    /// The lowest address.
    const MIN: Self;
    /// The highest address.
    const MAX: Self;
    /// Bits of an address.
    const BITS: u8;
    /// Words of a rule in a leaf, its number included.
    const WORDS_PER_RULE: usize;
    /// Lengths of prefixes by which rules are told apart before they are cut.
    const LENGTHS: &'static [u8];
    /// The words of a key.
    type Words: Words;
    /// A key that is compared with rows.
    type Probe<L: Lanes>: Copy;

    /// The bits that a prefix of this length leaves open.
    fn host_mask(len: u8) -> Self;
    /// The address with these bits 0.
    fn without(self, mask: Self) -> Self;
    /// The address with these bits 1.
    fn with(self, mask: Self) -> Self;
    /// Bits that all addresses of a range share, from the left.
    fn shared(range: &RangeInclusive<Self>) -> u8;
    /// A number that differs for most prefixes of this length.
    fn prefix_hash(self, len: u8) -> u64;
    /// An address of a range, chosen by a number.
    fn within(range: &RangeInclusive<Self>, choice: u64) -> Self;
    /// The words of a key.
    fn words(key: &Key<Self>) -> Self::Words;
    /// The words of the ternary box around a rule: values, and which bits count.
    fn ternary(rule: &Rule<Self>) -> [Self::Words; 2];
    /// Whether the rows say all of the box.
    fn is_exact(rule: &Rule<Self>) -> bool;
    /// Rows of a rule, without its number.
    fn rows(rule: &Rule<Self>, push: impl FnMut(u32));
    /// A key that is compared with rows.
    fn probe<L: Lanes>(lanes: L, key: &Key<Self>) -> Self::Probe<L>;
    /// The rules of a group that match.
    fn matches<L: Lanes>(lanes: L, words: &[u32], count: usize, probe: &Self::Probe<L>) -> u32;
    /// The upper 32 bits of both addresses: what a leaf is passed over by.
    fn addresses(words: &Self::Words) -> u64;
    /// Ports, protocol and features: the same.
    fn tail(words: &Self::Words) -> u64;
    /// The word that a node reads: `which` is one that a builder chose.
    fn word(words: &Self::Words, which: u8) -> u64;
    /// The words that a node may read, as pairs: all nodes of IPv4 read both.
    fn fixed_words() -> Option<[u8; 2]>;
}

/// The last word of a key: ports, protocol, the caller's features, and two derived bits.
#[inline(always)]
fn tail<A>(key: &Key<A>) -> u64 {
    u64::from(key.sport) << 48
        | u64::from(key.dport) << 32
        | u64::from(key.proto) << 24
        | u64::from(key.sport >= 1024) << (FEATURES + 1)
        | u64::from(key.dport >= 1024) << FEATURES
        | u64::from(key.features & FEATURE_MASK)
}

/// The last word of a rule, and which of its bits count.
fn ternary_tail<A>(rule: &Rule<A>) -> [u64; 2] {
    let (mut value, mut care) = (0, 0);
    for (range, shift, derived) in [(&rule.sport, 48, FEATURES + 1), (&rule.dport, 32, FEATURES)] {
        let differing = range.start() ^ range.end();
        let shared = !u16::MAX.checked_shr(differing.leading_zeros()).unwrap_or(0);
        value |= u64::from(range.start() & shared) << shift;
        care |= u64::from(shared) << shift;
        let is_high = *range.start() >= 1024;
        if is_high || *range.end() < 1024 {
            value |= u64::from(is_high) << derived;
            care |= 1 << derived;
        }
    }
    value |= u64::from(rule.proto.0 & rule.proto.1) << 24;
    care |= u64::from(rule.proto.1) << 24;
    let features = rule.features.1 & FEATURE_MASK;
    [value | u64::from(rule.features.0 & features), care | u64::from(features)]
}

/// Both ports in a word, as a leaf compares them.
#[inline(always)]
fn ports(sport: u16, dport: u16) -> u32 {
    u32::from(sport) | u32::from(dport) << 16
}

/// Protocol and features in a word.
#[inline(always)]
fn kind(proto: u8, features: u32) -> u32 {
    u32::from(proto) << 24 | features & FEATURE_MASK
}

/// The rows of ports, low and span.
fn port_rows<A>(rule: &Rule<A>, mut push: impl FnMut(u32)) {
    push(ports(*rule.sport.start(), *rule.dport.start()));
    push(ports(rule.sport.end() - rule.sport.start(), rule.dport.end() - rule.dport.start()));
}

/// The rows of protocol and features, value and mask.
fn kind_rows<A>(rule: &Rule<A>, mut push: impl FnMut(u32)) {
    push(kind(rule.proto.0, rule.features.0));
    push(kind(rule.proto.1, rule.features.1));
}

macro_rules! bits {
    ($address:ty) => {
        const MIN: Self = <$address>::MIN;
        const MAX: Self = <$address>::MAX;
        const BITS: u8 = <$address>::BITS as u8;

        fn host_mask(len: u8) -> Self {
            <$address>::MAX.checked_shr(len.into()).unwrap_or(0)
        }

        fn without(self, mask: Self) -> Self {
            self & !mask
        }

        fn with(self, mask: Self) -> Self {
            self | mask
        }

        fn shared(range: &RangeInclusive<Self>) -> u8 {
            (range.start() ^ range.end()).leading_zeros() as u8
        }
    };
}

impl Family for u32 {
    bits!(u32);
    const WORDS_PER_RULE: usize = rows(2, 1) + 1;
    const LENGTHS: &'static [u8] = &[0, 8, 12, 16, 20, 24, 28, 32];
    type Words = [u64; 2];
    type Probe<L: Lanes> = Probe<L::Vector, 2, 1>;

    fn prefix_hash(self, len: u8) -> u64 {
        u64::from(self.without(Self::host_mask(len))) << 8 | u64::from(len)
    }

    fn within(range: &RangeInclusive<u32>, choice: u64) -> u32 {
        let width = u64::from(range.end() - range.start()) + 1;
        range.start() + ((u128::from(choice) * u128::from(width)) >> 64) as u32
    }

    #[inline(always)]
    fn words(key: &Key<u32>) -> [u64; 2] {
        [u64::from(key.src) << 32 | u64::from(key.dst), tail(key)]
    }

    fn ternary(rule: &Rule<u32>) -> [[u64; 2]; 2] {
        let [tail, tail_care] = ternary_tail(rule);
        let prefix = |range: &RangeInclusive<u32>| {
            let care = !Self::host_mask(Self::shared(range));
            [u64::from(range.start() & care), u64::from(care)]
        };
        let ([src, src_care], [dst, dst_care]) = (prefix(&rule.src), prefix(&rule.dst));
        [[src << 32 | dst, tail], [src_care << 32 | dst_care, tail_care]]
    }

    fn is_exact(_: &Rule<u32>) -> bool {
        true
    }

    fn rows(rule: &Rule<u32>, mut push: impl FnMut(u32)) {
        for range in [&rule.src, &rule.dst] {
            push(*range.start());
            push(range.end() - range.start());
        }
        port_rows(rule, &mut push);
        kind_rows(rule, &mut push);
    }

    #[inline(always)]
    fn probe<L: Lanes>(lanes: L, key: &Key<u32>) -> Self::Probe<L> {
        lanes.probe([key.src, key.dst], ports(key.sport, key.dport), [kind(key.proto, key.features)])
    }

    #[inline(always)]
    fn matches<L: Lanes>(lanes: L, words: &[u32], count: usize, probe: &Self::Probe<L>) -> u32 {
        lanes.matches(words, count, probe)
    }

    #[inline(always)]
    fn addresses(words: &[u64; 2]) -> u64 {
        words[0]
    }

    #[inline(always)]
    fn tail(words: &[u64; 2]) -> u64 {
        words[1]
    }

    #[inline(always)]
    fn word(words: &[u64; 2], which: u8) -> u64 {
        words[usize::from(which) & 1]
    }

    #[inline(always)]
    fn fixed_words() -> Option<[u8; 2]> {
        Some([0, 1])
    }
}

/// The quarters of an IPv6 address, from the left.
#[inline(always)]
fn quarters(address: u128) -> [u32; 4] {
    [96, 64, 32, 0].map(|shift| (address >> shift) as u32)
}

impl Family for u128 {
    bits!(u128);
    const WORDS_PER_RULE: usize = rows(0, 9) + 1;
    const LENGTHS: &'static [u8] = &[0, 16, 32, 40, 48, 56, 64, 128];
    type Words = [u64; 5];
    type Probe<L: Lanes> = Probe<L::Vector, 0, 9>;

    fn prefix_hash(self, len: u8) -> u64 {
        let prefix = self.without(Self::host_mask(len));
        (prefix as u64).wrapping_mul(0xa076_1d64_78bd_642f) ^ (prefix >> 64) as u64 ^ u64::from(len) << 56
    }

    fn within(range: &RangeInclusive<u128>, choice: u64) -> u128 {
        let open = range.end() - range.start();
        // Both halves from one choice: the upper bits decide in wide ranges, the lower ones in narrow ranges.
        let spread = u128::from(choice) << 64 | u128::from(choice.swap_bytes());
        match open.checked_add(1) {
            Some(width) => range.start() + spread % width,
            None => spread,
        }
    }

    #[inline(always)]
    fn words(key: &Key<u128>) -> [u64; 5] {
        let (src, dst) = (key.src, key.dst);
        [(src >> 64) as u64, src as u64, (dst >> 64) as u64, dst as u64, tail(key)]
    }

    fn ternary(rule: &Rule<u128>) -> [[u64; 5]; 2] {
        let [tail, tail_care] = ternary_tail(rule);
        let [src, dst] = [&rule.src, &rule.dst].map(|range| {
            let care = !Self::host_mask(Self::shared(range));
            [range.start() & care, care]
        });
        let words = |src: u128, dst: u128, tail| {
            [(src >> 64) as u64, src as u64, (dst >> 64) as u64, dst as u64, tail]
        };
        [words(src[0], dst[0], tail), words(src[1], dst[1], tail_care)]
    }

    fn is_exact(rule: &Rule<u128>) -> bool {
        [&rule.src, &rule.dst]
            .into_iter()
            .all(|range| *range == Rule::prefix(*range.start(), Self::shared(range)))
    }

    fn rows(rule: &Rule<u128>, mut push: impl FnMut(u32)) {
        port_rows(rule, &mut push);
        for range in [&rule.src, &rule.dst] {
            let care = !Self::host_mask(Self::shared(range));
            for (value, mask) in quarters(*range.start()).into_iter().zip(quarters(care)) {
                push(value);
                push(mask);
            }
        }
        kind_rows(rule, &mut push);
    }

    #[inline(always)]
    fn probe<L: Lanes>(lanes: L, key: &Key<u128>) -> Self::Probe<L> {
        let [a, b, c, d] = quarters(key.src);
        let [e, f, g, h] = quarters(key.dst);
        lanes.probe([], ports(key.sport, key.dport), [a, b, c, d, e, f, g, h, kind(key.proto, key.features)])
    }

    #[inline(always)]
    fn matches<L: Lanes>(lanes: L, words: &[u32], count: usize, probe: &Self::Probe<L>) -> u32 {
        lanes.matches(words, count, probe)
    }

    #[inline(always)]
    fn addresses(words: &[u64; 5]) -> u64 {
        words[0] >> 32 << 32 | words[2] >> 32
    }

    #[inline(always)]
    fn tail(words: &[u64; 5]) -> u64 {
        words[4]
    }

    #[inline(always)]
    fn word(words: &[u64; 5], which: u8) -> u64 {
        words[usize::from(which.min(4))]
    }

    #[inline(always)]
    fn fixed_words() -> Option<[u8; 2]> {
        None
    }
}
