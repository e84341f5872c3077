//! Native, one packet at a time and in bursts, agrees with the interpreter.

use super::guarded::{Guarded, with_guarded};
use crate::rng::Rng;
use decide::NoCode;
use decide::internals::exec::{NativeFilter, NativeList};
use decide::internals::ir::Graph;
use decide::internals::ir::interp::Interp;
use decide::internals::ir::verify::Verified;
use decide::internals::x64::{self, Features, Options};

/// How many random packets a graph runs on.
pub const PACKETS: usize = 330;
/// Their longest.
pub const PACKET_LEN_MAX: usize = 80;

/// Small numbers and repeated bytes, so that tests come out both ways.
pub fn random_packets(rng: &mut Rng) -> Vec<(Vec<u8>, u32)> {
    let packet = |rng: &mut Rng| {
        let len = rng.below(PACKET_LEN_MAX);
        let mask = *rng.pick(&[0xff, 0x3f, 0x07, 0x01]);
        let data: Vec<u8> = (0..len).map(|_| rng.next_u32() as u8 & mask).collect();
        let wire_len = if rng.chance(1, 4) { rng.next_u32() } else { rng.below(100) as u32 };
        (data, wire_len)
    };
    (0..PACKETS).map(|_| packet(rng)).collect()
}

/// Machine code, one packet at a time and in bursts, and the mask VM against the interpreter.
///
/// # Panics
/// Where they disagree.
pub fn check(graph: &Graph, packets: &[(Vec<u8>, u32)], options: &Options, what: &str) {
    let verified = Verified::new(graph).unwrap_or_else(|e| panic!("{what}: {e:?}"));
    let code = match x64::compile(verified, options) {
        Ok(code) => code,
        Err(NoCode::TooComplex) => return,
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
    super::masks::check(verified, packets, &leaves, what);
    let code = x64::compile_leaves(verified, options).unwrap_or_else(|error| panic!("{what}: {error}"));
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
    x64::print_allocated(verified, options).unwrap_or_default()
}

/// Options at random.
pub fn options(rng: &mut Rng) -> Options {
    let mut options = Options::default();
    options.prefetch_distance = *rng.pick(&[0, 1, 16, 24, 64]);
    options.seed = rng.next_u64();
    options.compares_memory = !rng.chance(1, 3);
    if rng.chance(1, 2) {
        options.features = Features::BASELINE;
    }
    options
}
