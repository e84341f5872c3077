//! Packets that match rules, from a seed.

use super::{Address, Key, Rule};
use std::ops::RangeInclusive;

/// Numbers from a seed (SplitMix64).
#[derive(Clone, Debug)]
pub(super) struct Numbers(pub(super) u64);

impl Numbers {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `n`.
    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }
}

/// Endless packets, each a random point in the box of a random rule; none where all boxes are empty. A rule that leaves the protocol open gets TCP.
pub fn points<A: Address>(rules: &[Rule<A>], seed: u64) -> impl Iterator<Item = Key<A>> {
    let mut numbers = Numbers(seed);
    let is_possible = rules.iter().any(|rule| !rule.is_empty());
    std::iter::from_fn(move || {
        if !is_possible {
            return None;
        }
        loop {
            let rule = &rules[numbers.below(rules.len() as u64) as usize];
            if !rule.is_empty() {
                return Some(point(rule, &mut numbers));
            }
        }
    })
}

fn point<A: Address>(rule: &Rule<A>, numbers: &mut Numbers) -> Key<A> {
    let mut port = |range: &RangeInclusive<u16>| {
        let width = u64::from(range.end() - range.start()) + 1;
        range.start() + numbers.below(width) as u16
    };
    let (sport, dport) = (port(&rule.sport), port(&rule.dport));
    Key {
        src: A::within(&rule.src, numbers.next()),
        dst: A::within(&rule.dst, numbers.next()),
        sport,
        dport,
        proto: rule.proto.0 & rule.proto.1 | 6 & !rule.proto.1,
        features: rule.features.0 & rule.features.1,
    }
}
