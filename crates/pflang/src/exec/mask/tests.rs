//! Small enough for Miri, which sees each byte that plain Rust reads: `cargo +nightly miri test -p sluss-pflang exec::mask`.
//! Generated graphs and packets at the edge of memory are in `tests/native`.

use super::glance::Glance;
use super::program::{Bits, Ends, MaskProgram, Step, Test};
use super::translate::translate;
use super::window::{Fetches, Pair, Wanted, Window};
use super::{Isa, MaskFilter};
use crate::compiler::Stages;
use crate::emit;
use crate::ir::interp::Interp;
use crate::ir::verify::Verified;
use crate::ir::{BinOp, Order, Size, ValueId};
use crate::{Backend, Compiler, Limits, Packet};
use wire::LinkType;

/// Miri needs longer than the limit on time.
fn stages(source: &str) -> Stages {
    let limits = Limits { time_ms: u64::MAX, ..Limits::default() };
    Compiler::new(LinkType::EN10MB).limits(limits).stages(source).unwrap()
}

fn translated(source: &str, words_max: u64) -> MaskProgram {
    translated_with(source, Fetches { words_max, pairs: false })
}

fn translated_with(source: &str, fetches: Fetches) -> MaskProgram {
    let stages = stages(source);
    translate(Verified::new(&stages.optimised).unwrap(), fetches, Ends::Accept).unwrap()
}

/// An IPv4 TCP packet to port 80, a piece of an IPv6 one, and noise, cut at every length (at some, under Miri), each in memory of its own.
fn packets() -> Vec<Box<[u8]>> {
    let ip4 = [
        &[2; 12][..],
        &[8, 0, 0x45, 0, 0, 44, 0, 0, 0, 0, 9, 6],
        &[1; 10],
        &[7, 7, 0, 80, 0, 0],
        &[0x50; 14],
    ];
    let ip6 = [&[2; 12][..], &[0x86, 0xdd, 0x60, 0, 0, 0, 0, 20, 6, 9], &[1; 32], &[0, 80, 7, 7]];
    let all = [ip4.concat(), ip6.concat(), (0..66).collect()];
    let step = if cfg!(miri) { 7 } else { 1 };
    all.iter()
        .flat_map(|packet| (0..=packet.len()).rev().step_by(step).map(|len| packet[..len].into()))
        .collect()
}

const FILTERS: &[&str] = &[
    "ip",
    "tcp port 80",
    "tcp[((tcp[12:1] & 0xf0) >> 2):4] = 0x50505050",
    "ether[0] = 2 or ether[1:2] = 0x0102",
    "ether[ether[0]:2] = ether[ether[1] + 1:2] or len > 70",
    "port in {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,80,443}",
    "tcp port 80 or udp port 53 or vlan 1",
    "tcp port 80 and tcp[12] & 0xf0 != 0x70",
];

#[test]
fn agrees_with_the_interpreter() {
    let packets = packets();
    let views: Vec<Packet<'_>> = packets.iter().map(|packet| Packet::new(packet, 71)).collect();
    // Miri takes minutes to compile the longest.
    for source in FILTERS.iter().filter(|source| !cfg!(miri) || source.len() < 50) {
        let stages = stages(source);
        let all = [(&stages.graph, false), (&stages.optimised, false), (&stages.optimised, true)];
        for (graph, pairs) in all {
            // The list of ports needs too many columns as built.
            let fetches = Fetches { words_max: 4, pairs };
            let Some(filter) = MaskFilter::<emit::Bits>::with(Verified::new(graph).unwrap(), fetches) else {
                continue;
            };
            let mut interp = Interp::new(graph);
            let mut leaf = |data| interp.run(data, 71);
            let leaves: Vec<u32> = packets.iter().map(|packet| leaf(packet)).collect();
            for &isa in Isa::ALL.iter().filter(|isa| isa.is_available()) {
                let mut bits = vec![0; views.len().div_ceil(64)];
                filter.run_burst(isa, &views, &mut bits);
                for (i, (data, leaf)) in packets.iter().zip(&leaves).enumerate() {
                    assert_eq!(
                        bits[i / 64] >> (i % 64) & 1 == 1,
                        *leaf != 0,
                        "{source}, {isa}: {data:02x?}\n{filter}"
                    );
                }
            }
        }
    }
}

/// 64 packets with headers of one length, then with one header that is longer, wherever it is among them.
#[test]
fn headers_of_one_length_or_of_two() {
    let source = "tcp port 80 and tcp[12] & 0xf0 = 0x50";
    let stages = stages(source);
    let frame = |words: usize, port: u8| {
        let header =
            [&[0x40 | words as u8, 0, 0, 60, 0, 0, 0, 0, 9, 6][..], &vec![1; 4 * words - 10]].concat();
        [&[2; 12][..], &[8, 0], &header, &[7, 7, 0, port], &[0; 8], &[0x50; 8]].concat()
    };
    let step = if cfg!(miri) { 31 } else { 1 };
    for odd in (0..=64).step_by(step) {
        let frames: Vec<Vec<u8>> =
            (0..64).map(|lane| frame(5 + usize::from(lane == odd), 80 + (lane as u8 & 1))).collect();
        let views: Vec<Packet<'_>> = frames.iter().map(|frame| Packet::from(&frame[..])).collect();
        for pairs in [false, true] {
            let fetches = Fetches { words_max: 4, pairs };
            let filter =
                MaskFilter::<emit::Bits>::with(Verified::new(&stages.optimised).unwrap(), fetches).unwrap();
            for &isa in Isa::ALL.iter().filter(|isa| isa.is_available()) {
                let mut bits = [0];
                filter.run_burst(isa, &views, &mut bits);
                assert_eq!(bits, [0x5555_5555_5555_5555], "{isa}, the longer one is {odd}");
            }
        }
    }
}

#[test]
fn a_filter_need_not_be_native() {
    let filter = Compiler::new(LinkType::EN10MB).backend(Backend::Interpreter).compile("ip").unwrap();
    let masks = MaskFilter::<emit::Bits>::new(Verified::new(filter.graph()).unwrap()).unwrap();
    let frame = [&[0; 12][..], &[8, 0]].concat();
    let mut bits = [u64::MAX; 3];
    masks.run_burst(Isa::Portable, &[Packet::from(&frame[..]), Packet::EMPTY], &mut bits);
    assert_eq!(bits, [0b01, u64::MAX, u64::MAX]);
}

#[test]
fn neighbours_are_fetched_together() {
    let fetches = |source, words_max| {
        let is_fetch =
            |step: &&Step| matches!(step, Step::Fetch4 { .. } | Step::Fetch8 { .. } | Step::Fetch16 { .. });
        translated(source, words_max).steps.iter().filter(is_fetch).count()
    };
    // The type; nothing else.
    assert_eq!(fetches("ip", 4), 1);
    // Type and header length, protocol and fragment, both ports; for short packets the first port only; for IPv6 likewise.
    assert_eq!(fetches("tcp port 80", 2), 7);
    // Type, header length, fragment and both protocols together.
    assert_eq!(fetches("tcp port 80", 4), 5);
    assert_eq!(fetches("ether[14:4] = 1 and ether[18:4] = 2", 2), 1);
    assert_eq!(fetches("ether[14:4] = 1 and ether[18:4] = 2 and ether[26:4] = 3", 4), 1);
}

#[test]
fn a_window_lies_in_what_is_captured() {
    let load = |start, size| Wanted { value: ValueId(0), base: None, start, size, order: Order::Little };
    let window = |wanted, others: &[Wanted], captured| {
        let Window { start, words } = Window::around(&wanted, others, captured, 2);
        (start, words == 2)
    };
    let widest = |wanted, others: &[Wanted], captured| Window::around(&wanted, others, captured, 4);
    assert_eq!(window(load(12, Size::B2), &[], 14), (10, false));
    assert_eq!(window(load(12, Size::B2), &[], 99), (12, false));
    assert_eq!(window(load(0, Size::B1), &[], 4), (0, false));
    assert_eq!(window(load(12, Size::B2), &[load(14, Size::B1)], 24), (12, false));
    assert_eq!(window(load(12, Size::B2), &[load(16, Size::B2)], 24), (12, true));
    assert_eq!(window(load(12, Size::B2), &[load(16, Size::B2)], 18), (10, true));
    assert_eq!(window(load(16, Size::B2), &[load(12, Size::B2)], 18), (10, true));
    assert_eq!(window(load(2, Size::B4), &[load(0, Size::B4)], 7), (2, false));
    let ports = [load(36, Size::B2), load(47, Size::B1)];
    assert_eq!(widest(load(34, Size::B2), &ports, 48), Window { start: 32, words: 4 });
    assert_eq!(widest(load(34, Size::B2), &ports, 47), Window { start: 34, words: 1 });
    assert_eq!(widest(load(47, Size::B1), &[load(34, Size::B2)], 48), Window { start: 32, words: 4 });
    assert_eq!(widest(load(12, Size::B2), &[load(0, Size::B4)], 15), Window { start: 11, words: 1 });
}

#[test]
fn two_places_of_sixteen_are_fetched_together() {
    let load = |start, size| Wanted { value: ValueId(0), base: None, start, size, order: Order::Little };
    let four = |start| Window { start, words: 1 };
    let (near, far) = (load(26, Size::B1), load(31, Size::B1));
    assert_eq!(Pair::of(four(14), &[near], 27), Some(Pair { start: 11, from: [3, 12] }));
    let (near, other) = (load(26, Size::B1), load(24, Size::B1));
    assert_eq!(Pair::of(four(14), &[near, other], 40), Some(Pair { start: 14, from: [0, 10] }));
    assert_eq!(Pair::of(four(14), &[far], 40), None);
    assert_eq!(Pair::of(four(0), &[load(6, Size::B1)], 15), None);
    assert_eq!(Pair::of(four(14), &[load(16, Size::B2)], 40), None);
}

#[test]
fn of_sixteen_bytes_two_numbers_are_fetched_if_no_others_are_asked_for() {
    let fetches = |source, pairs| {
        let program = translated_with(source, Fetches { words_max: 4, pairs });
        let from = |step: &Step| match step {
            Step::FetchPair { from, .. } => Some(from.to_vec()),
            Step::Fetch16 { .. } => Some(vec![0, 4, 8, 12]),
            _ => None,
        };
        program.steps.iter().filter_map(from).collect::<Vec<_>>()
    };
    // Type and header length; fragment and protocol.
    assert_eq!(fetches("tcp port 80", true), [[4, 12]]);
    assert_eq!(fetches("tcp port 80", false), [[0, 4, 8, 12]]);
    let three = "ether[14:4] = 1 and ether[18:4] = 2 and ether[26:4] = 3";
    assert_eq!(fetches(three, true), [[0, 4, 8, 12]]);
}

#[test]
fn two_tests_of_one_column_are_one() {
    let tests = |source| {
        let of_column = |step: &&Step| match step {
            Step::Fork { test, .. } | Step::Branch { test, .. } => !matches!(test, Test::Captured { .. }),
            _ => false,
        };
        translated(source, 4).steps.iter().filter(of_column).count()
    };
    assert_eq!(tests("ether[12] = 1 and ether[13] & 0xf = 2 and ether[14] & 0x80 = 0"), 1);
    assert_eq!(tests("ether[12] = 1 and not ether[13] & 0xf = 2 and ether[14] & 0x80 = 0"), 3);
    // The packets that do not go on have different ways to go.
    assert_eq!(tests("ether[12] = 1 and (ether[13] = 2 or ether[14] = 3)"), 3);
}

#[test]
fn a_glance_is_enough() {
    let glance = |source| Glance::of(&translated(source, 4));
    let bits = |captured, offset, bits, k, accepts| Some(Glance { captured, offset, bits, k, accepts });
    assert_eq!(glance("ip"), bits(14, 6, 0xffff << 48, 0x0008 << 48, true));
    assert_eq!(glance("not ip"), bits(14, 6, 0xffff << 48, 0x0008 << 48, false));
    assert_eq!(
        glance("ether[6] & 1 = 0 and ether[0] = 2 and ether[7] = 0"),
        bits(8, 0, !0 << 56 | 1 << 48 | 0xff, 2, true)
    );
    assert_eq!(glance("ether[12:2] != 0x0800"), bits(14, 6, 0xffff << 48, 0x0008 << 48, false));
    assert_eq!(glance("ether[12:2] != 0x0800 and ether[10:2] = 1"), None, "two tests that differ");
    for source in ["ip proto 6", "ether[3] = 1", "ether[0:2] > 1", "len > 99", "ether[0] = 1 or ether[9] = 1"]
    {
        assert_eq!(glance(source), None, "{source}");
    }
}

/// What a glance decides, and from where on it does not.
#[test]
fn a_short_packet_among_long_ones() {
    let long: [&[u8]; 3] = [&[&[2; 12][..], &[8, 0], &[0; 46]].concat(), &[2; 60], &[8, 0].repeat(7)];
    for source in [
        "ip",
        "not ip",
        "ether[12] & 8 != 0",
        "ether src 2:2:2:2:2:2",
        "ether[12:2] = 0x0800 and ether[6] = 2",
    ] {
        let stages = stages(source);
        let filter = MaskFilter::<emit::Bits>::new(Verified::new(&stages.optimised).unwrap()).unwrap();
        let mut interp = Interp::new(&stages.optimised);
        for (count, short_at) in
            [(0_usize, 0), (1, 0), (63, 9), (64, 64), (64, 63), (327, 327), (327, 0), (327, 130), (327, 325)]
        {
            let packet = |i| if i == short_at { &long[0][..13] } else { long[i * i % 7 % 3] };
            let packets: Vec<Packet<'_>> = (0..count).map(|i| Packet::from(packet(i))).collect();
            for &isa in Isa::ALL.iter().filter(|isa| isa.is_available()) {
                let mut bits = vec![u64::MAX; count.div_ceil(64)];
                filter.run_burst(isa, &packets, &mut bits);
                for i in 0..bits.len() * 64 {
                    let expected = i < count && interp.run(packet(i), 0) != 0;
                    assert_eq!(
                        bits[i / 64] >> (i % 64) & 1 == 1,
                        expected,
                        "{source}, {isa}, {i} of {count}"
                    );
                }
            }
        }
    }
}

#[test]
fn bits_of_bits() {
    let numbers = [0, 1, 0x8000_0001, 0x1234_5678, u32::MAX];
    let apply = |Bits { swap, right, mask, left }: Bits, x: u32| {
        let x = if swap { x.swap_bytes() } else { x };
        (x >> right & mask) << left
    };
    let ops = [BinOp::And, BinOp::Shl, BinOp::Shr];
    let mut known = vec![Bits::ALL, Bits { swap: true, right: 16, mask: 0xffff, left: 0 }];
    let mut joined = 0;
    let rounds = if cfg!(miri) { 2 } else { 3 };
    for round in 0..rounds {
        for bits in std::mem::take(&mut known) {
            for (op, k) in
                ops.into_iter().flat_map(|op| [0, 1, 2, 15, 24, 31, 32, 0xf0, u32::MAX].map(|k| (op, k)))
            {
                let Some(then) = bits.then(op, k) else { continue };
                for x in numbers {
                    assert_eq!(
                        Some(apply(then, x)),
                        op.eval(apply(bits, x), k),
                        "{bits:?} {op:?} {k}, {x:#x}"
                    );
                }
                joined += 1;
                known.extend((round + 1 < rounds).then_some(then));
            }
        }
    }
    assert!(joined > 100, "{joined}");
}
