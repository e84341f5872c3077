//! Sets and maps against a walk through their entries.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use table::ranks::{Ranks32, Ranks128};

fn span() -> impl Strategy<Value = (u32, u32)> {
    // Narrow, so that they overlap, and with both ends of all numbers.
    let end = prop_oneof![0..40_u32, (u32::MAX - 20)..=u32::MAX, Just(1 << 16), any::<u32>()];
    (end.clone(), end).prop_map(|(a, b)| (a.min(b), a.max(b)))
}

fn keys(spans: &[(u32, u32)]) -> Vec<u32> {
    let beside = spans.iter().flat_map(|&(a, b)| [a, b, a.wrapping_sub(1), b.wrapping_add(1)]);
    beside.chain(0..45).chain([u32::MAX, 1 << 31]).collect()
}

fn holds(spans: &[(u32, u32)], key: u32) -> bool {
    spans.iter().any(|&(low, high)| (low..=high).contains(&key))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn address_sets(spans in proptest::collection::vec(span(), 0..30)) {
        let wide = |&(low, high): &(u32, u32)| (u128::from(low) << 70, u128::from(high) << 70);
        let all = AddressSpans { v4: spans.clone(), v6: spans.iter().map(wide).collect() };
        let set = AddressSet::new(all, Limit::default()).unwrap();
        let keys = keys(&spans);
        let mut members = vec![false; keys.len()];
        set.v4.contains_each(&keys, &mut members);
        for (&key, member) in keys.iter().zip(members) {
            let expected = holds(&spans, key);
            prop_assert_eq!((set.v4.contains(key), member), (expected, expected), "{:x}", key);
            prop_assert_eq!(set.v6.contains(u128::from(key) << 70), expected, "{:x}", key);
        }
    }

    #[test]
    fn several_sets_in_one(sets in proptest::collection::vec(proptest::collection::vec(span(), 0..8), 0..8)) {
        let shared: SharedSets<Ranks32> = SharedSets::new(sets.clone(), Limit::default()).unwrap();
        let keys = keys(&sets.concat());
        let mut masks = vec![0; keys.len()];
        shared.find_each(&keys, &mut masks);
        for (&key, each) in keys.iter().zip(masks) {
            let mask = sets.iter().zip(0..).map(|(set, i)| u64::from(holds(set, key)) << i).sum::<u64>();
            prop_assert_eq!((shared.find(key), each), (mask, mask), "{:x}", key);
        }
    }

    #[test]
    fn pairs(entries in proptest::collection::vec((span(), 0..9_u16, 0..9_u16), 0..12)) {
        let entries: Vec<_> = entries.into_iter().map(|((low, high), a, b)| (low, high, a.min(b), a.max(b))).collect();
        let set: PairSet<Ranks32> = PairSet::new(&entries, Limit::default()).unwrap();
        for key in keys(&entries.iter().map(|e| (e.0, e.1)).collect::<Vec<_>>()) {
            for port in [0, 1, 4, 8, 9, 65535] {
                let is_in = entries.iter().any(|&(low, high, a, b)| (low..=high).contains(&key) && (a..=b).contains(&port));
                prop_assert_eq!(set.contains(key, port), is_in, "{:x} {}", key, port);
            }
        }
    }

    /// Random changes at random times, among them more than an overlay holds; the model is a map from entry to deadline.
    #[test]
    fn a_set_that_changes(
        first in proptest::collection::vec(span(), 0..10),
        steps in proptest::collection::vec((
            proptest::collection::vec((span(), proptest::option::of(0..20_u64)), 0..40),
            proptest::collection::vec(any::<proptest::sample::Index>(), 0..6),
            0..3_u64,
        ), 0..12),
    ) {
        let mut model: BTreeMap<(u32, u32), Option<u64>> = first.iter().map(|&span| (span, None)).collect();
        let mut set: LiveSet<Ranks32> = LiveSet::new(first, Limit::default()).unwrap();
        let mut reader = set.reader();
        let mut now = 0;
        for (add, remove, later) in steps {
            now += later;
            let known: Vec<(u32, u32)> = model.keys().copied().collect();
            let remove: Vec<(u32, u32)> = if known.is_empty() { vec![] } else { remove.iter().map(|at| *at.get(&known)).collect() };
            model.retain(|span, deadline| deadline.is_none_or(|deadline| deadline > now) && !remove.contains(span));
            let add: Vec<_> = add.into_iter().map(|((low, high), after)| (low, high, after.map(|after| now + 1 + after))).collect();
            model.extend(add.iter().map(|&(low, high, deadline)| ((low, high), deadline)));
            set.update(Update { add, remove }, now).unwrap();
            prop_assert_eq!(set.len(), model.len());
            let spans: Vec<(u32, u32)> = model.keys().copied().collect();
            for key in keys(&spans) {
                prop_assert_eq!(reader.contains(key), holds(&spans, key), "{:x}", key);
            }
        }
        set.settle().unwrap();
        let spans: Vec<(u32, u32)> = model.keys().copied().collect();
        let keys = keys(&spans);
        let mut members = vec![false; keys.len()];
        reader.contains_each(&keys, &mut members);
        prop_assert!(keys.iter().zip(members).all(|(&key, member)| member == holds(&spans, key)));
    }
}

#[test]
fn ports_of_ranges() {
    let ends = [0, 1, 62, 63, 64, 65, 127, 128, 640, 65471, 65472, 65534, 65535];
    for (low, high) in ends.iter().flat_map(|&low| ends.map(|high| (low, high))) {
        let set = PortSet::new([(low, high), (300, 300)]);
        for port in 0..=u16::MAX {
            let is_in = (low..=high).contains(&port) || port == 300;
            assert_eq!(set.contains(port), is_in, "{port} of {low}-{high}");
        }
    }
}

#[test]
fn a_range_of_ports_costs_no_step_for_each_port() {
    let begin = std::time::Instant::now();
    let set = PortSet::new((0..200_000_u32).map(|n| ((n % 100) as u16, u16::MAX)));
    assert!(set.contains(0) && set.contains(u16::MAX));
    // Step by step it would take half a minute.
    assert!(begin.elapsed() < std::time::Duration::from_secs(8), "{:?}", begin.elapsed());
}

#[test]
fn maps_of_both_versions() {
    let map = AddressMap::longest_prefix(
        [("10.0.0.0", 8, 1), ("10.1.0.0", 16, 2), ("::", 0, 3), ("2001:db8::1", 128, 4)]
            .map(|(address, len, value)| (address.parse().unwrap(), len, value)),
        Limit::default(),
    )
    .unwrap();
    for (address, value) in [
        ("10.9.9.9", Some(1)),
        ("10.1.9.9", Some(2)),
        ("11.0.0.0", None),
        ("::1", Some(3)),
        ("2001:db8::1", Some(4)),
    ] {
        assert_eq!(map.find(address.parse().unwrap()), value, "{address}");
    }
    let first = AddressMap::first_match(&[(5, 9, 1), (0, 20, 2)], &[], Limit::default()).unwrap();
    assert_eq!([4, 5, 9, 10, 21].map(|key| first.v4.find(key)), [Some(2), Some(1), Some(1), Some(2), None]);
}

#[test]
fn ranges_have_ends_of_one_version_in_order() {
    let mut spans = AddressSpans::default();
    let [low, high, six] = ["10.0.0.1", "10.0.0.9", "::1"].map(|text| text.parse().unwrap());
    assert!(spans.push_range(low, high));
    assert!(!spans.push_range(low, six));
    assert!(!spans.push_range(high, low));
    assert_eq!(spans.clone().joined().v4, [(0x0a00_0001, 0x0a00_0009)]);
    spans.push_prefix(six, 0);
    assert_eq!(spans.v6, [(0, u128::MAX)]);
    assert_eq!((spans.len(), spans.is_empty()), (3, false));
}

#[test]
fn pairs_that_overlap_too_often_are_an_error() {
    let entries: Vec<(u32, u32, u16, u16)> = (0..2000).map(|i| (i, 1 << 20, i as u16, i as u16)).collect();
    let error = PairSet::<Ranks32>::new(&entries, Limit { bytes: 1 << 20 }).unwrap_err();
    assert!(error.bytes > error.limit);
}

/// Threads read while a writer changes the set: each number that never changes keeps its answer, and the two that change are never both out.
#[test]
fn readers_while_sets_are_swapped() {
    let spans: Vec<(u128, u128)> = (0..20_000_u128).map(|i| (i << 64, i << 64 | 9)).collect();
    let mut set: LiveSet<Ranks128> = LiveSet::new(spans, Limit::default()).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let (a, b) = ((1 << 100, 1 << 100), (1 << 101, 1 << 101));
    set.update(Update { add: vec![(a.0, a.1, None), (b.0, b.1, None)], remove: vec![] }, 0).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let mut reader = set.reader();
            let stop = &stop;
            scope.spawn(move || {
                let mut x = 1_u64;
                let mut members = [false; 3];
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    x = x.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
                    let upper = u128::from(x % 20_000) << 64;
                    assert!(reader.contains(upper | 5) && !reader.contains(upper | 10));
                    reader.contains_each(&[a.0, b.0, upper], &mut members);
                    assert!((members[0] || members[1]) && members[2], "{members:?}");
                }
            });
        }
        for i in 0..300_u128 {
            let more = (0..9).map(|j| ((i * 9 + j) << 80 | 1 << 120, (i * 9 + j) << 80 | 1 << 120, None));
            let (add, remove) = if i % 2 == 0 { (b, a) } else { (a, b) };
            let add = more.chain([(add.0, add.1, None)]).collect();
            set.update(Update { add, remove: vec![remove] }, 0).unwrap();
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(set.len(), 20_000 + 2700 + 1);
}
