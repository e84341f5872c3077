//! Graphs that read numbers of the caller's, in every way in which they run.

use super::guarded::{Guarded, with_guarded};
use crate::rng::Rng;
use decide::internals::exec::NativeWithInputs;
use decide::internals::exec::mask::{Isa, MaskFilter, MaskList};
use decide::internals::ir::interp::Interp;
use decide::internals::ir::verify::Verified;
use decide::internals::x64::{self, Options};
use decide::{Bits, Graph, NoCode};

/// Machine code, one packet at a time and in bursts, and the mask VM against the interpreter.
///
/// # Panics
/// Where they disagree.
pub fn check(rng: &mut Rng, graph: &Graph, packets: &[(Vec<u8>, u32)], what: &str) {
    let verified = Verified::new(graph).unwrap_or_else(|e| panic!("{what}: {e:?}"));
    let (bits, leaves) = match (
        x64::compile(verified, &Options::default()),
        x64::compile_leaves(verified, &Options::default()),
    ) {
        (Ok(bits), Ok(leaves)) => (bits, leaves),
        (Err(NoCode::TooComplex), _) | (_, Err(NoCode::TooComplex)) => return,
        (Err(error), _) | (_, Err(error)) => panic!("{what}: {error}"),
    };
    // Nothing is left of the inputs where no test that remains reads one.
    let Some(row) = bits.inputs().map(|row| row as usize) else { return };
    let (bits, leaves) = (NativeWithInputs::new(&bits).unwrap(), NativeWithInputs::new(&leaves).unwrap());
    let rows: Vec<u32> = (0..row * packets.len())
        .map(|_| if rng.chance(1, 4) { rng.next_u32() } else { rng.below(40) as u32 })
        .collect();
    let mut interp = Interp::new(graph);
    let with_rows = packets.iter().zip(rows.chunks(row));
    let expected: Vec<u32> = with_rows.map(|((data, len), row)| interp.run_with(data, *len, row)).collect();
    let set = |bits: &[u64], i: usize| bits[i / 64] >> (i % 64) & 1 == 1;
    with_guarded(packets, Guarded::put, |packets| {
        for (i, (packet, row)) in packets.iter().zip(rows.chunks(row)).enumerate() {
            assert_eq!(bits.run(packet.data(), packet.wire_len(), row), expected[i], "{what}, packet {i}");
        }
        for len in [0, 1, 2, 63, 64, 65, 129, 255, 256, 257, packets.len()] {
            let (packets, rows) = (&packets[..len], &rows[..len * row]);
            let mut numbers = vec![u32::MAX; len];
            leaves.run_burst(packets, rows, &mut numbers);
            assert_eq!(numbers, expected[..len], "{what}, leaves of a burst of {len}");
            let mut words = vec![u64::MAX; len.div_ceil(64)];
            bits.run_burst(packets, rows, &mut words);
            assert!((0..len).all(|i| set(&words, i) == (expected[i] != 0)), "{what}, burst of {len}");
            let (Some(masks), Some(lists)) = (MaskFilter::<Bits>::new(verified), MaskList::new(verified))
            else {
                continue;
            };
            for &isa in Isa::ALL.iter().filter(|isa| isa.is_available()) {
                lists.run_burst_with(isa, packets, rows, &mut numbers);
                assert_eq!(numbers, expected[..len], "{what}, {isa}, leaves of a burst of {len}\n{lists}");
                masks.run_burst_with(isa, packets, rows, &mut words);
                assert!(
                    (0..len).all(|i| set(&words, i) == (expected[i] != 0)),
                    "{what}, {isa}, burst of {len}"
                );
            }
        }
    });
}
