//! The mask VM, with each set of instructions, agrees with the interpreter, on packets at the edge of memory.

use super::guarded::{Guarded, Put, with_guarded};
use decide::Packet;
use decide::internals::exec::mask::{Isa, MaskFilter, MaskList};
use decide::internals::ir::verify::Verified;

/// All packets at once and in bursts of other lengths, with memory ending where each ends, and beginning where it begins.
///
/// # Panics
/// Where they disagree.
pub fn check(graph: Verified<'_>, packets: &[(Vec<u8>, u32)], leaves: &[u32], what: &str) {
    let Some(filter) = MaskFilter::new(graph) else { return };
    let list = MaskList::new(graph).expect("it is no larger");
    let expected: Vec<bool> = leaves.iter().map(|&leaf| leaf != 0).collect();
    for put in [Guarded::put as Put, Guarded::put_first] {
        with_guarded(packets, put, |descriptors| {
            for &isa in Isa::ALL {
                for len in [0, 1, 2, 63, 64, 65, 127, 128, 200, 255, 256, 257, packets.len()] {
                    let len = len.min(packets.len());
                    let answers = run(&filter, isa, &descriptors[..len]);
                    let wrong = answers.iter().zip(&expected).position(|(is, should)| is != should);
                    assert_eq!(
                        wrong, None,
                        "{what}, {isa}, burst of {len}: the first wrong packet\n{filter}"
                    );
                    let answers = run_list(&list, isa, &descriptors[..len]);
                    assert_eq!(answers, leaves[..len], "{what}, {isa}, leaves of a burst of {len}\n{list}");
                }
            }
        });
    }
}

fn run(filter: &MaskFilter, isa: Isa, packets: &[Packet<'_>]) -> Vec<bool> {
    let mut bits = vec![u64::MAX; packets.len().div_ceil(64) + 1];
    filter.run_burst(isa, packets, &mut bits);
    assert_eq!(bits.pop(), Some(u64::MAX), "no more words than packets need");
    (0..packets.len()).map(|i| bits[i / 64] >> (i % 64) & 1 == 1).collect()
}

fn run_list(list: &MaskList, isa: Isa, packets: &[Packet<'_>]) -> Vec<u32> {
    const UNTOUCHED: u32 = 0xdead_beef;
    let mut leaves = vec![UNTOUCHED; packets.len() + 1];
    list.run_burst(isa, packets, &mut leaves);
    assert_eq!(leaves.pop(), Some(UNTOUCHED), "no more leaves than packets");
    leaves
}
