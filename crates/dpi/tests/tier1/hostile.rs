//! What may be done to every case: ports moved, segments split, reordered, sent twice, cut; and bytes that are nothing.

use crate::case::{Case, Known, Segment, check, check_not_else, check_on, run};
use crate::cases;
use dpi::tier1::{Limits, PACKETS_MAX, Step, Tier1};
use dpi::{Confidence, Protocol};
use testkit::rng::Rng;

/// Ports of others, and of nobody.
const PORTS: [(u16, u16); 9] = [
    (50_000, 1),
    (80, 443),
    (443, 50_000),
    (53, 40_000),
    (22, 25),
    (40_000, 5353),
    (123, 5355),
    (67, 68),
    (0, 0),
];

/// Whether a port gives the case another name: of the three that have one format.
fn is_named_by(case: &Case, ports: (u16, u16)) -> bool {
    let names = [Protocol::DNS, Protocol::MDNS, Protocol::LLMNR];
    case.transport == 17
        && names.contains(&case.protocol)
        && [53, 5353, 5355].iter().any(|port| ports.0 == *port || ports.1 == *port)
}

/// A turn's segment in two, at `at`.
fn split(segments: &[Segment], which: usize, at: usize) -> Vec<Segment> {
    let mut segments = segments.to_vec();
    let Segment { forward, offset, bytes } = segments[which].clone();
    segments[which].bytes.truncate(at);
    segments.insert(which + 1, Segment { forward, offset: offset + at, bytes: bytes[at..].to_vec() });
    segments
}

/// Places to split `len` bytes at: each, or, of many, those near the ends and some between.
fn places(len: usize) -> impl Iterator<Item = usize> {
    (1..len).filter(move |at| len < 400 || *at < 100 || len - at < 20 || at % 997 == 0)
}

fn over_tcp() -> Vec<Case> {
    cases().into_iter().filter(|case| case.transport == 6).collect()
}

#[test]
fn ports_may_be_any() {
    for case in cases() {
        for ports in PORTS {
            if case.named_by_port || is_named_by(&case, ports) {
                let formats = [Protocol::DNS, Protocol::MDNS, Protocol::LLMNR];
                let outcome = run(case.transport, ports, &case.segments(), Known::Start);
                assert!(
                    outcome.verdict.is_none_or(|verdict| formats.contains(&verdict.protocol)),
                    "{}",
                    case.name
                );
            } else {
                check_on(&case, ports, &case.segments(), Known::Start, "on other ports");
            }
        }
        if case.named_by_port {
            check_not_else(&case, (50_000, 1), &case.segments(), Known::Start, "on other ports");
        }
    }
}

#[test]
fn a_flow_may_be_picked_up_without_its_syn() {
    for case in cases() {
        check(&case, &case.segments(), Known::Nothing, "without its SYN");
    }
}

#[test]
fn segments_may_be_split_anywhere() {
    for case in over_tcp() {
        let whole = case.segments();
        for which in 0..whole.len() {
            for at in places(whole[which].bytes.len()) {
                let mut segments = split(&whole, which, at);
                for known in [Known::Start, Known::Nothing] {
                    check(&case, &segments, known, &format!("turn {which} split at {at}, {known:?}"));
                }
                segments.swap(which, which + 1);
                let how = format!("turn {which} split at {at}, its second part first");
                // Without the SYN, what comes first is taken for the beginning.
                check(&case, &segments, Known::Start, &how);
            }
        }
    }
}

#[test]
fn segments_may_come_in_any_order_and_twice() {
    let mut rng = Rng::new(28);
    for case in over_tcp() {
        for round in 0..60 {
            // Each turn in up to three parts, shuffled, some of them twice, each longer than it must be.
            let mut segments = Vec::new();
            for turn in case.segments() {
                let mut cuts: Vec<usize> =
                    (0..rng.below(3)).map(|_| rng.below(turn.bytes.len() + 1)).collect();
                cuts.extend([0, turn.bytes.len()]);
                cuts.sort_unstable();
                let mut parts: Vec<Segment> = cuts
                    .windows(2)
                    .filter(|cut| cut[0] < cut[1])
                    .map(|cut| {
                        let from = cut[0].saturating_sub(rng.below(3));
                        Segment {
                            offset: turn.offset + from,
                            bytes: turn.bytes[from..cut[1]].to_vec(),
                            ..turn
                        }
                    })
                    .collect();
                (1..parts.len()).rev().for_each(|at| parts.swap(at, rng.below(at + 1)));
                if rng.below(3) == 0 {
                    parts.insert(0, parts[parts.len() - 1].clone());
                }
                segments.extend(parts);
            }
            let how = format!("shuffled, round {round}");
            // More packets than are waited for, if they are too little for any likelihood.
            if segments.len() > usize::from(PACKETS_MAX) {
                check_not_else(&case, case.ports, &segments, Known::Start, &how);
            } else {
                check(&case, &segments, Known::Start, &how);
            }
        }
    }
}

#[test]
fn the_largest_hello_backwards_is_found() {
    // 16 KiB in 12 segments, the last first: more packets than any other case has.
    let case = cases().into_iter().find(|case| case.name == "tls-largest").expect("a case");
    let whole = &case.segments()[0];
    let parts = whole.bytes.chunks(1460).enumerate();
    let mut segments: Vec<Segment> = parts
        .map(|(at, bytes)| Segment { forward: true, offset: 1460 * at, bytes: bytes.to_vec() })
        .collect();
    check(&case, &segments, Known::Start, "in order");
    segments.reverse();
    check(&case, &segments, Known::Start, "backwards");
}

#[test]
fn bytes_one_by_one_are_never_something_else() {
    for case in over_tcp() {
        let bytes: Vec<Segment> = case
            .segments()
            .iter()
            .flat_map(|turn| {
                let each = turn.bytes.iter().take(400).enumerate();
                each.map(|(at, &byte)| Segment { offset: turn.offset + at, bytes: vec![byte], ..*turn })
                    .collect::<Vec<_>>()
            })
            .collect();
        for known in [Known::Start, Known::Nothing] {
            check_not_else(&case, case.ports, &bytes, known, "byte by byte");
        }
    }
}

#[test]
fn what_is_cut_is_never_something_else() {
    for case in cases() {
        let whole = case.segments();
        for which in 0..whole.len() {
            for len in places(whole[which].bytes.len()) {
                let mut segments = whole[..=which].to_vec();
                segments[which].bytes.truncate(len);
                for known in [Known::Start, Known::Nothing, Known::Cut] {
                    for ports in [case.ports, (50_000, 1)] {
                        if case.named_by_port && ports != case.ports {
                            continue;
                        }
                        let how = format!("turn {which} cut to {len}, {known:?}");
                        check_not_else(&case, ports, &segments, known, &how);
                    }
                }
            }
        }
    }
}

#[test]
fn a_hello_that_was_cut_tells_what_it_has() {
    let case = cases().into_iter().find(|case| case.name == "tls-specification-of-ja4").expect("a case");
    let mut segments = case.segments();
    segments[0].bytes.truncate(220);
    let outcome = run(case.transport, case.ports, &segments, Known::Cut);
    assert_eq!(
        outcome.verdict.map(|verdict| (verdict.protocol, verdict.confidence)),
        Some((Protocol::TLS, Confidence::Partial))
    );
    assert_eq!((outcome.details.sni, outcome.details.ja4), (case.sni.map(Into::into), None));
}

#[test]
fn noise_is_nothing() {
    let mut rng = Rng::new(7);
    let first: Vec<u8> = cases().iter().map(|case| case.turns[0].1[0]).collect();
    for round in 0..60_000_u32 {
        let len = 1 + rng.below(300);
        let mut segments = Vec::new();
        for _ in 0..1 + rng.below(3) {
            let mut bytes: Vec<u8> = (0..len).map(|_| rng.next_u32() as u8).collect();
            bytes[0] = *rng.pick(&first);
            segments.push(Segment { forward: rng.below(2) == 0, offset: 0, bytes });
        }
        let transport = if round % 2 == 0 { 6 } else { 17 };
        let outcome = run(transport, (53, 5353), &segments, Known::Start);
        assert_eq!(outcome.verdict, None, "{segments:x?}");
    }
}

#[test]
fn cases_with_changed_bytes_never_panic() {
    let mut rng = Rng::new(99);
    for case in cases() {
        for _ in 0..300 {
            let mut segments = case.segments();
            for _ in 0..1 + rng.below(4) {
                let which = rng.below(segments.len());
                let len = segments[which].bytes.len();
                segments[which].bytes[rng.below(len.min(80))] = rng.next_u32() as u8;
            }
            run(case.transport, case.ports, &segments, Known::Nothing);
        }
    }
}

#[test]
fn memory_is_bounded_and_what_finds_no_room_is_counted() {
    let limits = Limits { states: 100, bytes: 50_000 };
    let mut tier1 = Tier1::new(limits);
    let mut states = Vec::new();
    let payload = [&b"\x16\x03\x01\x40\x00\x01\x00\x3f\xfc\x03\x03"[..], &[8; 1400]].concat();
    let (transport, ipv6, forward, source_port, destination_port) = (6, false, true, 1, 2);
    for _ in 0..1000 {
        let mut state = None;
        let message = dpi::Message {
            transport,
            ipv6,
            forward,
            source_port,
            destination_port,
            sequence: 1,
            start: Some(1),
            payload: &payload,
            cut: false,
        };
        let step = tier1.inspect(&mut state, &message);
        assert_eq!(step == Step::Undecided, state.is_some());
        assert!(tier1.usage().states <= limits.states && tier1.usage().bytes <= limits.bytes);
        states.push(state);
    }
    let held = states.iter().flatten().count();
    assert_eq!((tier1.usage().states, tier1.usage().full), (held, 1000 - held as u64));
    assert!((10..100).contains(&held), "{held}");
    let likely: Vec<_> = states.iter_mut().filter_map(|state| tier1.conclude(state)).collect();
    assert_eq!(likely.len(), held);
    assert!(likely.iter().all(|verdict| verdict.protocol == Protocol::TLS));
    assert_eq!((tier1.usage().states, tier1.usage().bytes), (0, 0));
}
