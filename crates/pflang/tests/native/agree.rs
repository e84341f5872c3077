//! Native, one packet at a time and in bursts, agrees with the interpreter.

use crate::graphs::{Shape, random_graph};
use crate::guarded::{Guarded, with_guarded};
use pflang::internals::emit::{self, Features, Options};
use pflang::internals::exec::{NativeFilter, NativeList};
use pflang::internals::ir::Graph;
use pflang::internals::ir::interp::Interp;
use pflang::internals::ir::verify::Verified;
use testkit::rng::Rng;

const SEED: u64 = 0x5105_5001;
const PACKETS: usize = 330;
pub(crate) const PACKET_LEN_MAX: usize = 80;

/// Small numbers and repeated bytes, so that tests come out both ways.
pub(crate) fn random_packets(rng: &mut Rng) -> Vec<(Vec<u8>, u32)> {
    let packet = |rng: &mut Rng| {
        let len = rng.below(PACKET_LEN_MAX);
        let mask = *rng.pick(&[0xff, 0x3f, 0x07, 0x01]);
        let data: Vec<u8> = (0..len).map(|_| rng.next_u32() as u8 & mask).collect();
        let wire_len = if rng.chance(1, 4) { rng.next_u32() } else { rng.below(100) as u32 };
        (data, wire_len)
    };
    (0..PACKETS).map(|_| packet(rng)).collect()
}

fn check(graph: &Graph, packets: &[(Vec<u8>, u32)], options: &Options, what: &str) {
    let verified = Verified::new(graph).unwrap_or_else(|e| panic!("{what}: {e:?}"));
    let code = match emit::compile(verified, options) {
        Ok(code) => code,
        Err(emit::NoCode::TooComplex) => return,
        Err(error) => panic!("{what}: {error}"),
    };
    let filter = NativeFilter::new(&code).unwrap();
    let mut interp = Interp::new(graph);
    let mut guarded = Guarded::new(PACKET_LEN_MAX);
    let (mut expected, mut leaves) = (Vec::new(), Vec::new());
    for (i, (data, wire_len)) in packets.iter().enumerate() {
        let placed = guarded.put(data);
        let leaf = interp.run(placed, *wire_len);
        assert_eq!(
            filter.run(placed, *wire_len),
            leaf,
            "{what}, packet {i}: {data:02x?}\n{}",
            listing(verified, options)
        );
        expected.extend((leaf != 0).then_some(i as u32));
        leaves.push(leaf);
    }
    check_bursts(&filter, packets, &expected, what);
    crate::masks::check(verified, packets, &leaves, what);
    let code = emit::compile_leaves(verified, options).unwrap_or_else(|error| panic!("{what}: {error}"));
    check_bursts_of_leaves(&NativeFilter::new(&code).unwrap(), packets, &leaves, what);
}

/// All at once, in guarded memory of their own, and in bursts of every short length.
fn check_bursts(filter: &NativeFilter, packets: &[(Vec<u8>, u32)], expected: &[u32], what: &str) {
    with_guarded(packets, Guarded::put, |descriptors| {
        for len in [1, 2, 23, 24, 25, 63, 64, 65, 88, 89, 127, 128, 129, packets.len()] {
            let mut indices = Vec::new();
            filter.run_burst_indices(&descriptors[..len], &mut indices);
            let expected: Vec<u32> = expected.iter().copied().filter(|&i| (i as usize) < len).collect();
            assert_eq!(indices, expected, "{what}, burst of {len}");
        }
    });
}

fn check_bursts_of_leaves(program: &NativeList, packets: &[(Vec<u8>, u32)], expected: &[u32], what: &str) {
    with_guarded(packets, Guarded::put, |descriptors| {
        for len in [0, 1, 2, 23, 24, 25, 64, 65, 89, packets.len()] {
            let mut leaves = vec![u32::MAX; len];
            program.run_burst(&descriptors[..len], &mut leaves);
            assert_eq!(leaves, expected[..len], "{what}, leaves of a burst of {len}");
            for (packet, &leaf) in descriptors[..len].iter().zip(expected) {
                assert_eq!(program.run(packet.data(), packet.wire_len()), leaf, "{what}");
            }
        }
    });
}

fn listing(verified: Verified<'_>, options: &Options) -> String {
    emit::print_allocated(verified, options).unwrap_or_default()
}

fn options(rng: &mut Rng) -> Options {
    let mut options = Options::default();
    options.prefetch_distance = *rng.pick(&[0, 1, 16, 24, 64]);
    options.seed = rng.next_u64();
    if rng.chance(1, 2) {
        options.features = Features::BASELINE;
    }
    options
}

fn check_shape(shape: Shape, rounds: u64) {
    for round in 0..rounds {
        let seed = SEED + round;
        let mut rng = Rng::new(seed);
        let packets = random_packets(&mut rng);
        let graph = random_graph(&mut rng, shape);
        let options = options(&mut rng);
        check(&graph, &packets, &options, &format!("seed {seed:#x}"));
        let optimised = pflang::internals::opt::optimise(&graph);
        check(&optimised, &packets, &options, &format!("seed {seed:#x}, optimised"));
    }
}

#[test]
fn small_graphs() {
    check_shape(Shape { values: 6, tests: 3, filters: 1, switches: 0 }, 600);
}

#[test]
fn lists_of_filters() {
    check_shape(Shape { values: 12, tests: 5, filters: 4, switches: 0 }, 200);
}

#[test]
fn switches() {
    check_shape(Shape { values: 6, tests: 2, filters: 2, switches: 3 }, 400);
}

/// More values at once than there are registers.
#[test]
fn spills() {
    check_shape(Shape { values: 80, tests: 40, filters: 3, switches: 1 }, 60);
}

/// Last tests that are joined: equalities of short loads, ranges, masks, sets; either way round.
#[test]
fn either_of_two_ports() {
    let filters = [
        "ether[0] = 1 or ether[1] = 0",
        "ether[0:2] = 257 or ether[2:2] = 0",
        "ether[0:2] = 257 or ether[2:2] = 0x10000",
        "ether[0:4] = 0x01010101 or ether[4:4] = 0",
        "not (ether[0] = 1 or ether[1] = 1)",
        "ether[0] > 3 or ether[1] & 3 != 0 or ether[2] = 1 or ether[3] < 1",
        "ether[1] = 0 or ether[2] / ether[1] = 2",
        "port 80",
        "portrange 1-300",
        "host 1.1.1.1",
        "port in {1, 257, 258, 263, 80, 443, 8080}",
        "host in {1.1.1.1, 0.0.0.0, 7.7.7.7, 1.0.1.0, 3.3.3.3, 0.1.0.1}",
    ];
    let mut rng = Rng::new(SEED);
    let mut packets = random_packets(&mut rng);
    for (i, (data, _)) in packets.iter_mut().enumerate() {
        if let (true, Some(head)) = (i % 2 == 0, data.get_mut(12..24)) {
            head.copy_from_slice(&[8, 0, 0x45, 0, 0, 0, 0, 0, 0, 0, 0, [6, 17][i / 2 % 2]]);
        }
    }
    for filter in filters {
        let stages = pflang::Compiler::new(wire::LinkType::EN10MB).stages(filter).unwrap();
        for graph in [&stages.graph, &stages.optimised] {
            check(graph, &packets, &Options::default(), filter);
        }
    }
}
