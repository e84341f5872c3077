//! Lists of prefixes and hosts from a seed, and what is asked of them.

use std::collections::HashSet;
use testkit::rng::Rng;

/// How many in a hundred thousand Internet routes have each length, roughly: the number of routes by length in public tables of 2024.
#[rustfmt::skip]
const LENGTHS: [(u8, usize); 17] = [
    (8, 2), (9, 1), (10, 4), (11, 10), (12, 30), (13, 60), (14, 120), (15, 210), (16, 1400), (17, 850), (18, 1400), (19, 2500), (20, 4600),
    (21, 5300), (22, 11_500), (23, 10_500), (24, 61_500),
];
const LENGTHS6: [(u8, usize); 6] = [(29, 40), (32, 180), (36, 60), (40, 120), (44, 150), (48, 450)];

fn length(rng: &mut Rng, lengths: &[(u8, usize)]) -> u8 {
    let mut at = rng.below(lengths.iter().map(|&(_, weight)| weight).sum());
    for &(len, weight) in lengths {
        match at.checked_sub(weight) {
            Some(rest) => at = rest,
            None => return len,
        }
    }
    lengths[0].0
}

/// Prefixes of IPv4, all different.
pub(super) fn prefixes(count: usize) -> Vec<(u32, u8)> {
    let mut rng = Rng::new(7);
    let mut known = HashSet::new();
    let mut list = Vec::with_capacity(count);
    while list.len() < count {
        let len = length(&mut rng, &LENGTHS);
        // Between 1.0.0.0 and 224.0.0.0, in clusters: routes of one provider stand together.
        let key = (1 << 24) + rng.next_u32() % (223 << 24);
        for step in 0..1 + rng.below(8) as u32 {
            let prefix = classify::set::prefix(key.wrapping_add(step << (32 - len)), len).0;
            if list.len() < count && known.insert((prefix, len)) {
                list.push((prefix, len));
            }
        }
    }
    list
}

/// Hosts of IPv4, all different: a quarter of them in a few networks of 16 bits.
pub(super) fn hosts(count: usize) -> Vec<u32> {
    let mut rng = Rng::new(8);
    let networks: Vec<u32> = (0..1 + count / 4000).map(|_| rng.next_u32() & 0xffff_0000).collect();
    let mut known = HashSet::with_capacity(count);
    let mut list = Vec::with_capacity(count);
    while list.len() < count {
        let host =
            if rng.chance(1, 4) { rng.pick(&networks) | rng.next_u32() & 0xffff } else { rng.next_u32() };
        if known.insert(host) {
            list.push(host);
        }
    }
    list
}

/// Prefixes of IPv6 within 2000::/3, all different.
pub(super) fn prefixes6(count: usize) -> Vec<(u128, u8)> {
    let mut rng = Rng::new(9);
    let providers: Vec<u128> =
        (0..1 + count / 20).map(|_| 1 << 125 | u128::from(rng.next_u32() >> 3) << 96).collect();
    let mut known = HashSet::new();
    let mut list = Vec::with_capacity(count);
    while list.len() < count {
        let len = length(&mut rng, &LENGTHS6);
        let key = rng.pick(&providers) | u128::from(rng.next_u32()) << 64;
        let prefix = classify::set::prefix(key, len).0;
        if known.insert((prefix, len)) {
            list.push((prefix, len));
        }
    }
    list
}

/// Addresses that are asked for.
pub(super) struct Asked;

const COUNT: usize = 1 << 18;

impl Asked {
    pub(super) fn four(list: &[(u32, u8)]) -> Vec<u32> {
        let mut rng = Rng::new(10);
        let mut one = || match rng.chance(1, 2) {
            true => rng.next_u32(),
            false => {
                let &(key, len) = rng.pick(list);
                key | rng.next_u32() & u32::MAX.checked_shr(len.into()).unwrap_or(0)
            }
        };
        (0..COUNT).map(|_| one()).collect()
    }

    pub(super) fn six(list: &[(u128, u8)]) -> Vec<u128> {
        let mut rng = Rng::new(11);
        let mut one = || {
            let random = u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64());
            match rng.chance(1, 2) {
                true => 1 << 125 | random >> 3,
                false => {
                    let &(key, len) = rng.pick(list);
                    key | random & u128::MAX.checked_shr(len.into()).unwrap_or(0)
                }
            }
        };
        (0..COUNT).map(|_| one()).collect()
    }
}
