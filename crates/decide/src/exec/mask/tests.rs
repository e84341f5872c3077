//! Small enough for Miri, which sees each byte that plain Rust reads: `cargo +nightly miri test -p sluss-decide exec::mask`.
//! Generated graphs and packets at the edge of memory are in `tests/native`.

use super::glance::Glance;
use super::program::{Bits, Ends, MaskProgram, Step, Test};
use super::translate::translate;
use super::window::{Fetches, Pair, Wanted, Window};
use super::{Isa, MaskFilter};
use crate::burst::Bits as Burst;
use crate::ir::build::build;
use crate::ir::interp::Interp;
use crate::ir::tree::{Clause, Tree, TreeId};
use crate::ir::verify::Verified;
use crate::ir::{BinOp, Order, Size, Value, ValueId};
use crate::ir::{CmpOp, Cond, Graph};
use crate::opt::Passes;
use crate::{Budget, Packet};

/// A tree of tests, made by hand.
type Make = fn(&mut Tree) -> TreeId;

/// Its graph as built, and optimised.
fn graphs(make: Make) -> [Graph; 2] {
    let mut tree = Tree::default();
    let root = make(&mut tree);
    let optimised = crate::pipeline::optimised(
        &mut tree.clone(),
        &mut [Clause::Leaf(root, 1)],
        Passes::ALL,
        &Budget::unlimited(),
    );
    [build(tree, &[(root, 1)]), optimised.unwrap()]
}

fn translated(make: Make, words_max: u64) -> MaskProgram {
    translated_with(make, Fetches { words_max, pairs: false })
}

fn translated_with(make: Make, fetches: Fetches) -> MaskProgram {
    let [_, optimised] = graphs(make);
    translate(Verified::new(&optimised).unwrap(), fetches, Ends::Accept).unwrap()
}

/// `bytes at offset == k`.
fn is(tree: &mut Tree, offset: u32, size: Size, k: u32) -> TreeId {
    let value = tree.pool.at(offset, size);
    tree.equals(value, k)
}

/// `bytes at offset & mask == k`.
fn is_masked(tree: &mut Tree, offset: u32, size: Size, mask: u32, k: u32) -> TreeId {
    let (load, mask) = (tree.pool.at(offset, size), tree.pool.constant(mask));
    let value = tree.pool.op(BinOp::And, load, mask);
    tree.equals(value, k)
}

/// `len > k`.
fn longer(tree: &mut Tree, k: u32) -> TreeId {
    let (k, len) = (tree.pool.constant(k), tree.pool.value(Value::Len));
    tree.test(Cond::Cmp(CmpOp::Lt, k, len))
}

fn ip(tree: &mut Tree) -> TreeId {
    is(tree, 12, Size::B2, 0x0800)
}

/// Where the transport header of an IPv4 packet begins, but for the 14 bytes before its header.
fn ip_header_len(tree: &mut Tree) -> ValueId {
    let (first, mask, two) = (tree.pool.at(14, Size::B1), tree.pool.constant(15), tree.pool.constant(2));
    let words = tree.pool.op(BinOp::And, first, mask);
    tree.pool.op(BinOp::Shl, words, two)
}

/// A TCP port is 80, in IPv6 without extension headers or in IPv4: what `tcp port 80` asks of Ethernet.
fn tcp_port_80(tree: &mut Tree) -> TreeId {
    let (ip6, tcp6) = (is(tree, 12, Size::B2, 0x86dd), is(tree, 20, Size::B1, 6));
    let ports6 = [54, 56].map(|at| is(tree, at, Size::B2, 80));
    let ports6 = tree.any(&ports6);
    let over_ip6 = tree.all(&[ip6, tcp6, ports6]);
    let (ip, tcp) = (ip(tree), is(tree, 23, Size::B1, 6));
    let fragment = tree.pool.at(20, Size::B2);
    let later = tree.has_bits(fragment, 0x1fff);
    let first = tree.not(later);
    let header = ip_header_len(tree);
    let ports = [14, 16].map(|at| {
        let port = tree.pool.load(header, at, Size::B2);
        tree.equals(port, 80)
    });
    let ports = tree.any(&ports);
    let over_ip = tree.all(&[ip, tcp, first, ports]);
    tree.any(&[over_ip6, over_ip])
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

const FILTERS: &[(&str, Make)] = &[
    ("an IPv4 packet", ip),
    ("a TCP port", tcp_port_80),
    ("bytes behind two headers of variable length", |tree| {
        let header = ip_header_len(tree);
        let (twelfth, mask, two) =
            (tree.pool.load(header, 26, Size::B1), tree.pool.constant(0xf0), tree.pool.constant(2));
        let length = tree.pool.op(BinOp::And, twelfth, mask);
        let length = tree.pool.op(BinOp::Shr, length, two);
        let payload = tree.pool.op(BinOp::Add, header, length);
        let payload = tree.pool.load(payload, 14, Size::B4);
        let (ip, found) = (ip(tree), tree.equals(payload, 0x5050_5050));
        tree.all(&[ip, found])
    }),
    ("either of two", |tree| {
        let either = [is(tree, 0, Size::B1, 2), is(tree, 1, Size::B2, 0x0102)];
        tree.any(&either)
    }),
    ("bytes at places that bytes tell, or the length on the wire", |tree| {
        let (first, second, one) =
            (tree.pool.at(0, Size::B1), tree.pool.at(1, Size::B1), tree.pool.constant(1));
        let next = tree.pool.op(BinOp::Add, second, one);
        let (a, b) = (tree.pool.load(first, 0, Size::B2), tree.pool.load(next, 0, Size::B2));
        let same = tree.test(Cond::Cmp(CmpOp::Eq, a, b));
        let long = longer(tree, 70);
        tree.any(&[same, long])
    }),
    ("a set", |tree| {
        let port = tree.pool.at(36, Size::B2);
        tree.is_in(port, (1..18).map(|port| (3 * port, 3 * port)).chain([(80, 80), (443, 500)]).collect())
    }),
    ("a TCP port, or others", |tree| {
        let (tcp, dns) = (tcp_port_80(tree), is(tree, 36, Size::B2, 53));
        let vlan = [is(tree, 12, Size::B2, 0x8100), is_masked(tree, 14, Size::B2, 0xfff, 1)];
        let vlan = tree.all(&vlan);
        tree.any(&[tcp, dns, vlan])
    }),
    ("a TCP port, and a length of the header that is not 28", |tree| {
        let header = ip_header_len(tree);
        let (twelfth, mask) = (tree.pool.load(header, 26, Size::B1), tree.pool.constant(0xf0));
        let length = tree.pool.op(BinOp::And, twelfth, mask);
        let is_28 = tree.equals(length, 0x70);
        let both = [tcp_port_80(tree), tree.not(is_28)];
        tree.all(&both)
    }),
];

#[test]
fn agrees_with_the_interpreter() {
    let packets = packets();
    let views: Vec<Packet<'_>> = packets.iter().map(|packet| Packet::new(packet, 71)).collect();
    for (source, make) in FILTERS {
        let [as_built, optimised] = &graphs(*make);
        let all = [(as_built, false), (optimised, false), (optimised, true)];
        for (graph, pairs) in all {
            // The list of ports needs too many columns as built.
            let fetches = Fetches { words_max: 4, pairs };
            let Some(filter) = MaskFilter::<Burst>::with(Verified::new(graph).unwrap(), fetches) else {
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
    let [_, optimised] = graphs(|tree| {
        let header = ip_header_len(tree);
        let (twelfth, mask) = (tree.pool.load(header, 26, Size::B1), tree.pool.constant(0xf0));
        let length = tree.pool.op(BinOp::And, twelfth, mask);
        let both = [tcp_port_80(tree), tree.equals(length, 0x50)];
        tree.all(&both)
    });
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
            let filter = MaskFilter::<Burst>::with(Verified::new(&optimised).unwrap(), fetches).unwrap();
            for &isa in Isa::ALL.iter().filter(|isa| isa.is_available()) {
                let mut bits = [0];
                filter.run_burst(isa, &views, &mut bits);
                assert_eq!(bits, [0x5555_5555_5555_5555], "{isa}, the longer one is {odd}");
            }
        }
    }
}

#[test]
fn no_code_is_needed() {
    let [_, optimised] = graphs(ip);
    let masks = MaskFilter::<Burst>::new(Verified::new(&optimised).unwrap()).unwrap();
    let frame = [&[0; 12][..], &[8, 0]].concat();
    let mut bits = [u64::MAX; 3];
    masks.run_burst(Isa::Portable, &[Packet::from(&frame[..]), Packet::EMPTY], &mut bits);
    assert_eq!(bits, [0b01, u64::MAX, u64::MAX]);
}

fn two_words(tree: &mut Tree) -> TreeId {
    let both = [is(tree, 14, Size::B4, 1), is(tree, 18, Size::B4, 2)];
    tree.all(&both)
}

fn three_words(tree: &mut Tree) -> TreeId {
    let all = [two_words(tree), is(tree, 26, Size::B4, 3)];
    tree.all(&all)
}

#[test]
fn neighbours_are_fetched_together() {
    let fetches = |make: Make, words_max| {
        let is_fetch =
            |step: &&Step| matches!(step, Step::Fetch4 { .. } | Step::Fetch8 { .. } | Step::Fetch16 { .. });
        translated(make, words_max).steps.iter().filter(is_fetch).count()
    };
    // The type; nothing else.
    assert_eq!(fetches(ip, 4), 1);
    // Type and header length, protocol and fragment, both ports; for short packets the first port only; for IPv6 likewise.
    assert_eq!(fetches(tcp_port_80, 2), 7);
    // Type, header length, fragment and both protocols together.
    assert_eq!(fetches(tcp_port_80, 4), 5);
    assert_eq!(fetches(two_words, 2), 1);
    assert_eq!(fetches(three_words, 4), 1);
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
    let fetches = |make: Make, pairs| {
        let program = translated_with(make, Fetches { words_max: 4, pairs });
        let from = |step: &Step| match step {
            Step::FetchPair { from, .. } => Some(from.to_vec()),
            Step::Fetch16 { .. } => Some(vec![0, 4, 8, 12]),
            _ => None,
        };
        program.steps.iter().filter_map(from).collect::<Vec<_>>()
    };
    // Type and header length; fragment and protocol.
    assert_eq!(fetches(tcp_port_80, true), [[4, 12]]);
    assert_eq!(fetches(tcp_port_80, false), [[0, 4, 8, 12]]);
    assert_eq!(fetches(three_words, true), [[0, 4, 8, 12]]);
}

#[test]
fn two_tests_of_one_column_are_one() {
    let tests = |make: Make| {
        let of_column = |step: &&Step| match step {
            Step::Fork { test, .. } | Step::Branch { test, .. } => !matches!(test, Test::Captured { .. }),
            _ => false,
        };
        translated(make, 4).steps.iter().filter(of_column).count()
    };
    assert_eq!(
        tests(|tree| {
            let all = three_tests(tree);
            tree.all(&all)
        }),
        1
    );
    assert_eq!(
        tests(|tree| {
            let [a, b, c] = three_tests(tree);
            let b = tree.not(b);
            tree.all(&[a, b, c])
        }),
        3
    );
    // The packets that do not go on have different ways to go.
    assert_eq!(
        tests(|tree| {
            let [a, b, c] = [(12, 1), (13, 2), (14, 3)].map(|(at, k)| is(tree, at, Size::B1, k));
            let b_or_c = tree.any(&[b, c]);
            tree.all(&[a, b_or_c])
        }),
        3
    );
}

fn three_tests(tree: &mut Tree) -> [TreeId; 3] {
    [is(tree, 12, Size::B1, 1), is_masked(tree, 13, Size::B1, 0xf, 2), is_masked(tree, 14, Size::B1, 0x80, 0)]
}

fn not_ip(tree: &mut Tree) -> TreeId {
    let ip = ip(tree);
    tree.not(ip)
}

#[test]
fn a_glance_is_enough() {
    let glance = |make: Make| Glance::of(&translated(make, 4));
    let bits = |captured, offset, bits, k, accepts| Some(Glance { captured, offset, bits, k, accepts });
    assert_eq!(glance(ip), bits(14, 6, 0xffff << 48, 0x0008 << 48, true));
    assert_eq!(glance(not_ip), bits(14, 6, 0xffff << 48, 0x0008 << 48, false));
    assert_eq!(
        glance(|tree| {
            let all =
                [is_masked(tree, 6, Size::B1, 1, 0), is(tree, 0, Size::B1, 2), is(tree, 7, Size::B1, 0)];
            tree.all(&all)
        }),
        bits(8, 0, !0 << 56 | 1 << 48 | 0xff, 2, true)
    );
    let two_that_differ: Make = |tree| {
        let both = [not_ip(tree), is(tree, 10, Size::B2, 1)];
        tree.all(&both)
    };
    assert_eq!(glance(two_that_differ), None);
    let others: [Make; 5] = [
        |tree| {
            let both = [ip(tree), is(tree, 23, Size::B1, 6)];
            tree.all(&both)
        },
        |tree| is(tree, 3, Size::B1, 1),
        |tree| {
            let (one, first) = (tree.pool.constant(1), tree.pool.at(0, Size::B2));
            tree.test(Cond::Cmp(CmpOp::Lt, one, first))
        },
        |tree| longer(tree, 99),
        |tree| {
            let either = [is(tree, 0, Size::B1, 1), is(tree, 9, Size::B1, 1)];
            tree.any(&either)
        },
    ];
    for (i, make) in others.into_iter().enumerate() {
        assert_eq!(glance(make), None, "{i}");
    }
}

/// What a glance decides, and from where on it does not.
#[test]
fn a_short_packet_among_long_ones() {
    let long: [&[u8]; 3] = [&[&[2; 12][..], &[8, 0], &[0; 46]].concat(), &[2; 60], &[8, 0].repeat(7)];
    let filters: [Make; 5] = [
        ip,
        not_ip,
        |tree| {
            let kind = tree.pool.at(12, Size::B1);
            tree.has_bits(kind, 8)
        },
        |tree| {
            let both = [is(tree, 8, Size::B4, 0x0202_0202), is(tree, 6, Size::B2, 0x0202)];
            tree.all(&both)
        },
        |tree| {
            let both = [ip(tree), is(tree, 6, Size::B1, 2)];
            tree.all(&both)
        },
    ];
    for (source, make) in filters.into_iter().enumerate() {
        let [_, optimised] = &graphs(make);
        let filter = MaskFilter::<Burst>::new(Verified::new(optimised).unwrap()).unwrap();
        let mut interp = Interp::new(optimised);
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
