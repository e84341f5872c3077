//! Every table and every set of instructions against a plain search.

use super::{Limit, RankMap, Ranks32, Ranks64, Ranks128};
use crate::interval::Pieces;
use crate::simd::Isa;
use proptest::prelude::*;

/// Those that this processor has; the others are named.
fn isas() -> Vec<Isa> {
    let (here, missing): (Vec<Isa>, Vec<Isa>) =
        Isa::ALL.into_iter().partition(|isa| isa.is_here() && !(cfg!(miri) && *isa != Isa::Portable));
    for isa in missing {
        eprintln!("skipped: {} is not among this processor's instructions", isa.name());
    }
    here
}

/// Boundaries and what lies beside them.
fn around(starts: &[u128], max: u128) -> Vec<u128> {
    let beside =
        starts.iter().flat_map(|&start| [start.saturating_sub(1), start, start.saturating_add(1).min(max)]);
    beside.chain([0, 1, max - 1, max, max / 2]).collect()
}

fn check(mut starts: Vec<u128>, more: &[u128]) {
    starts.sort_unstable();
    starts.dedup();
    let limit = Limit::default();
    for isa in isas() {
        let narrow: Vec<u32> = dedup(starts.iter().map(|&x| x as u32));
        let table = Ranks32::with_isa(&narrow, limit, isa).unwrap();
        let keys: Vec<u32> = around(&narrow.iter().map(|&x| x.into()).collect::<Vec<_>>(), u32::MAX.into())
            .iter()
            .chain(more)
            .map(|&x| x as u32)
            .collect();
        let mut ranks = vec![0; keys.len()];
        table.ranks(&keys, &mut ranks);
        for (&x, rank) in keys.iter().zip(ranks) {
            let expected = narrow.partition_point(|&start| start <= x) as u32;
            assert_eq!((table.rank(x), rank), (expected, expected), "{} {x:#x}", isa.name());
        }

        let middle: Vec<u64> = dedup(starts.iter().map(|&x| x as u64));
        let table = Ranks64::with_isa(&middle, limit, isa).unwrap();
        let keys: Vec<u64> = around(&middle.iter().map(|&x| x.into()).collect::<Vec<_>>(), u64::MAX.into())
            .iter()
            .chain(more)
            .map(|&x| x as u64)
            .collect();
        let mut ranks = vec![0; keys.len()];
        table.ranks(&keys, &mut ranks);
        for (&x, rank) in keys.iter().zip(ranks) {
            let expected = middle.partition_point(|&start| start <= x) as u32;
            assert_eq!((table.rank(x), rank), (expected, expected), "{} {x:#x}", isa.name());
        }

        let table = Ranks128::with_isa(&starts, limit, isa).unwrap();
        let keys: Vec<u128> = around(&starts, u128::MAX).into_iter().chain(more.iter().copied()).collect();
        let mut ranks = vec![0; keys.len()];
        table.ranks(&keys, &mut ranks);
        for (&x, rank) in keys.iter().zip(ranks) {
            let expected = starts.partition_point(|&start| start <= x) as u32;
            assert_eq!((table.rank(x), rank), (expected, expected), "{} {x:#x}", isa.name());
        }
    }
}

fn dedup<K: Ord>(keys: impl Iterator<Item = K>) -> Vec<K> {
    let mut keys: Vec<K> = keys.collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Repeats a 32-bit number in all four words, so that one list serves all widths.
fn wide(x: u32) -> u128 {
    u128::from(x) * 0x1_0000_0001_0000_0001_0000_0001
}

#[test]
fn few_boundaries_and_the_ends() {
    check(vec![], &[7]);
    check(vec![0], &[7]);
    check(vec![u128::MAX], &[7]);
    check(vec![0, u128::MAX, wide(5), wide(u32::MAX)], &[7]);
    for count in 1..if cfg!(miri) { 9 } else { 100 } {
        check((0..count).map(|i| wide(0x0a00_0000 + 3 * i)).collect(), &[]);
    }
}

/// Chunks with as many boundaries as may be compared at once, one more, and all.
#[test]
fn dense_chunks() {
    for count in [31, 32, 33, 60, 61, 62, 63, 64, 65, 4096, 65_536] {
        if cfg!(miri) && count > 65 {
            continue;
        }
        check((0..count).map(|i| u128::from(0xc0a8_0000_u32 + i)).collect(), &[]);
        check((0..count).map(|i| u128::from(0xffff_0000_u32 + i)).collect(), &[]);
        check((0..count).map(|i| u128::from(7 * i) << 64 | u128::from(i)).collect(), &[]);
    }
}

/// Each level of the tree: empty, with one node, full, with one more.
#[test]
#[cfg_attr(miri, ignore = "too long")]
fn trees_of_every_shape() {
    for count in [8_u32, 9, 71, 72, 73, 80, 647, 648, 649, 5832, 5833, 52_488, 52_489] {
        check((0..count).map(|i| (u128::from(i) << 90) | (u128::from(i) * 977)).collect(), &[]);
    }
}

#[test]
#[cfg_attr(miri, ignore = "too long")]
fn every_size_of_root() {
    for (count, stride) in [
        (40_000_u32, 100_001_u32),
        (70_000, 61_001),
        (200_000, 21_001),
        (300_000, 14_000),
        (1_100_000, 3_900),
    ] {
        let starts: Vec<u32> = (0..count).map(|i| i * stride).collect();
        let limit = Limit::default();
        for isa in isas() {
            let table = Ranks32::with_isa(&starts, limit, isa).unwrap();
            assert_eq!(table.boundaries(), starts.len());
            let mut x = 1_u32;
            let next = || {
                x = x.wrapping_mul(0x9e37_79b1).wrapping_add(12_345);
                x
            };
            let keys: Vec<u32> = std::iter::repeat_with(next).take(100_000).collect();
            let mut ranks = vec![0; keys.len()];
            table.ranks(&keys, &mut ranks);
            for (&x, rank) in keys.iter().zip(ranks) {
                let expected = starts.partition_point(|&start| start <= x) as u32;
                assert_eq!((table.rank(x), rank), (expected, expected), "{x:#x}");
            }
        }
    }
}

/// Chunks that fill a line, have one more, as many as are compared at once, and more: all in one table.
#[test]
#[cfg_attr(miri, ignore = "too long")]
fn lines_of_every_kind() {
    for (root_bits, chunks) in [(16, 20_000_u32), (17, 80_000), (18, 200_000)] {
        let chunk = |at: u32| {
            let count = if at.is_multiple_of(997) { 62 } else { [0, 1, 28, 29, 61][at as usize % 5] };
            (0..count).map(move |i| at << (32 - root_bits) | (i * 199 + at % 7))
        };
        let starts: Vec<u32> = (0..chunks).flat_map(chunk).collect();
        for isa in isas() {
            let table = Ranks32::with_isa(&starts, Limit::default(), isa).unwrap();
            assert_eq!(table.boundaries(), starts.len());
            let bytes = 64 << root_bits..=19 * starts.len() + (4 << 20);
            assert!(bytes.contains(&table.bytes()), "{root_bits}: {} of {bytes:?}", table.bytes());
            let mut x = 1_u32;
            let mut keys: Vec<u32> = starts.iter().step_by(97).copied().collect();
            keys.extend(starts.iter().step_by(101).map(|start| start.wrapping_sub(1)));
            keys.extend((0..100_000).map(|_| {
                x = x.wrapping_mul(0x9e37_79b1).wrapping_add(12_345);
                x
            }));
            keys.push(u32::MAX);
            let mut ranks = vec![0; keys.len()];
            table.ranks(&keys, &mut ranks);
            for (&x, rank) in keys.iter().zip(ranks) {
                let expected = starts.partition_point(|&start| start <= x) as u32;
                assert_eq!((table.rank(x), rank), (expected, expected), "{} {x:#x}", isa.name());
            }
        }
    }
}

/// Whatever the list, a boundary takes at most 19 bytes beside the root and what is read behind the last.
#[test]
#[cfg_attr(miri, ignore = "too long")]
fn memory_is_bounded_for_hostile_lists() {
    for per_chunk in [61, 62, 63, 200] {
        let starts: Vec<u32> =
            (0..4096_u32).flat_map(|top| (0..per_chunk).map(move |i| (top << 20) | (13 * i))).collect();
        let table = Ranks32::new(&starts, Limit::default()).unwrap();
        let bound = 19 * starts.len() + (4 << 20) + 200;
        assert!(table.bytes() <= bound, "{per_chunk}: {} > {bound}", table.bytes());
    }
}

#[test]
fn limits_are_errors_with_numbers() {
    let starts: Vec<u32> = (0..1000).collect();
    let error = Ranks32::new(&starts, Limit { bytes: 1000 }).unwrap_err();
    assert_eq!((error.boundaries, error.limit), (1000, 1000));
    assert!(error.to_string().contains("more than the limit of 1000"), "{error}");
    assert!(Ranks64::new(&[1], Limit { bytes: 0 }).is_err());
    assert!(Ranks128::new(&[1], Limit { bytes: 0 }).is_err());
}

#[test]
fn a_map_is_within_its_limit_with_its_values() {
    if cfg!(miri) {
        return;
    }
    let count = 300_000_u32;
    let starts: Vec<u32> = (0..count).map(|i| i * 14_000).collect();
    let pieces = Pieces { values: (0..=count).collect(), starts };
    let limit = Limit { bytes: 5 << 20 };
    let map: RankMap<Ranks32> = RankMap::new(&pieces, limit).expect("a smaller form fits");
    assert!(map.bytes() <= limit.bytes, "{}", map.bytes());
    assert_eq!(map.find(14_000 * 7 + 3), Some(8));
    assert!(RankMap::<Ranks32>::new(&pieces, Limit { bytes: 1 << 20 }).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 2 } else { 60 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_boundaries(
        starts in proptest::collection::vec(prop_oneof![
            any::<u128>(),
            (0..4_u128, 0..4_u128, 0..90_u128).prop_map(|(top, upper, low)| top << 100 | upper << 64 | low),
            any::<u32>().prop_map(wide),
        ], 0..300),
        more in proptest::collection::vec(any::<u128>(), 20),
    ) {
        check(starts, &more);
    }
}
