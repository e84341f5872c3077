//! Rule lists to test with, from a seed.

use classify::rules::{Address, Key, Rule};
use std::ops::RangeInclusive;

/// The next pseudo-random number for a seed (SplitMix64).
pub(crate) fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// Addresses from few networks, so that rules and packets meet.
pub(crate) trait Draw: Address {
    fn draw(dice: u64) -> Self;
    fn step(self, by: i32) -> Self;
}

impl Draw for u32 {
    fn draw(dice: u64) -> u32 {
        match dice % 8 {
            0 => dice as u32,
            1 => 0,
            2 => u32::MAX,
            _ => 0x0a00_0000 | (dice >> 40) as u32 & 0x0003_0303,
        }
    }

    fn step(self, by: i32) -> u32 {
        self.saturating_add_signed(by)
    }
}

impl Draw for u128 {
    fn draw(dice: u64) -> u128 {
        match dice % 8 {
            0 => u128::from(dice) << 64 | u128::from(mix(dice)),
            1 => 0,
            2 => u128::MAX,
            _ => 0x2001_0db8 << 96 | u128::from(dice >> 40 & 0x3) << 64 | u128::from(dice >> 50 & 0x0303),
        }
    }

    fn step(self, by: i32) -> u128 {
        self.saturating_add_signed(by.into())
    }
}

fn draw_port(dice: u64) -> u16 {
    [0, 22, 80, 443, 1023, 1024, 8080, u16::MAX][(dice % 8) as usize]
}

fn draw_ports(dice: u64) -> RangeInclusive<u16> {
    let one = draw_port(dice >> 8);
    match dice % 6 {
        0 => one..=one,
        1 => 0..=1023,
        2 => 1024..=u16::MAX,
        3 => one.min((dice >> 20) as u16)..=one.max((dice >> 20) as u16),
        _ => 0..=u16::MAX,
    }
}

fn draw_addresses<A: Draw>(dice: u64) -> RangeInclusive<A> {
    let address = A::draw(mix(dice));
    match dice % 7 {
        0 => A::MIN..=A::MAX,
        1 => address..=address,
        // A range that is no prefix, as a rule; now and then one that is empty.
        2 => address..=address.step((dice >> 32 & 0xfff) as i32 - 8),
        _ => Rule::prefix(address, (dice >> 16) as u8 % (A::BITS + 1)),
    }
}

pub(crate) fn draw_key<A: Draw>(seed: u64) -> Key<A> {
    let dice = mix(seed);
    Key {
        src: A::draw(mix(dice)),
        dst: A::draw(mix(dice ^ 1)),
        sport: draw_port(dice >> 3),
        dport: draw_port(dice >> 9),
        proto: [1, 6, 17, 0][(dice >> 20) as usize % 4],
        features: (dice >> 24) as u32,
    }
}

pub(crate) fn draw_list<A: Draw>(seed: u64, count: usize) -> Vec<Rule<A>> {
    let rule = |i: u64| {
        let dice = mix(seed.wrapping_mul(31) ^ i << 40);
        Rule {
            src: draw_addresses(mix(dice ^ 1)),
            dst: draw_addresses(mix(dice ^ 2)),
            sport: draw_ports(mix(dice ^ 3)),
            dport: draw_ports(mix(dice ^ 4)),
            proto: [(0, 0), (6, 0xff), (17, 0xff), (1, 0xff), (4, 6)][(dice >> 8) as usize % 5],
            features: if dice.is_multiple_of(4) {
                ((dice >> 20) as u32, (dice >> 26) as u32 & 7)
            } else {
                (0, 0)
            },
            residual: None,
        }
    };
    (0..count as u64).map(rule).collect()
}

/// Lists that defeat cuts, or are at the ends of ranges.
pub(crate) fn adversarial<A: Draw>() -> Vec<(&'static str, Vec<Rule<A>>)> {
    let any = Rule::<A>::any;
    let bits = A::BITS;
    let some = |i: u64| A::draw(mix(i) | 7);
    let nested = (0..=bits).rev().map(|len| Rule { src: Rule::prefix(some(1), len), ..any() });
    let both = (0..=bits).flat_map(|len| {
        [Rule { src: Rule::prefix(some(2), len), dst: Rule::prefix(some(3), bits - len), ..any() }]
    });
    let crossing = (0..600_u16).map(|i| Rule { dport: 100 + i..=60_000 - i, ..any() }).rev();
    let crossing_both =
        (0..300_u16).map(|i| Rule { sport: 32_767 - i..=32_768 + i, dport: i..=u16::MAX - 2 * i, ..any() });
    let ends = [A::MIN, A::MAX].into_iter().flat_map(|end| {
        [0, 1, bits - 1, bits].into_iter().flat_map(move |len| {
            let one = Rule { src: Rule::prefix(end, len), sport: 0..=0, ..Rule::any() };
            [one.clone(), Rule { dst: one.src.clone(), sport: u16::MAX..=u16::MAX, ..one }]
        })
    });
    let shadowed = std::iter::once(any()).chain(draw_list(5, 200));
    let repeated = draw_list(6, 40).into_iter().cycle().take(400);
    let empty = (0..50).map(|i| Rule { dst: some(i)..=A::MIN, ..any() });
    let features = (0..500_u32).map(|i| Rule { features: (i, 1 << (i % 22) | 1 << (i % 7)), ..any() });
    let protocols = (0..=255).map(|proto| Rule { proto: (proto, 0xff), ..any() });
    let hosts = (0..3000_u64).map(|i| {
        let host = A::draw(mix(i) & !7 | 3).step(i as i32);
        Rule { src: host..=host, ..any() }
    });
    vec![
        ("nested", nested.collect()),
        ("longer source, shorter destination", both.collect()),
        ("ranges across the middle", crossing.collect()),
        ("ranges of both ports across the middle", crossing_both.collect()),
        ("ends of all ranges", ends.collect()),
        ("all wild", vec![any(); 100]),
        ("shadowed", shadowed.collect()),
        ("repeated", repeated.collect()),
        ("empty", empty.collect()),
        ("features", features.collect()),
        ("protocols", protocols.collect()),
        ("hosts", hosts.collect()),
    ]
}
