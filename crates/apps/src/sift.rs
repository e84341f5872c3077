//! The loop of apps that change packets in place and refuse some of them.

use engine::{Burst, Output, Packet};

/// Packets in a burst that is to be sifted, at most.
pub(crate) const BURST: usize = 64;

/// Sends those packets of a burst on that `keep` has changed and wants to keep, and returns the others, all in their order.
///
/// # Panics
/// If there are more than [`BURST`] packets.
#[inline]
pub(crate) fn sift<'a>(
    mut burst: Burst<'a>,
    output: &mut Output,
    mut keep: impl FnMut(&mut Packet) -> bool,
) -> Burst<'a> {
    let mut kept = 0_u64;
    for (i, packet) in burst.iter_mut().enumerate() {
        kept |= u64::from(keep(packet)) << i;
    }
    if kept.count_ones() as usize == burst.len() {
        output.send(burst.split_front(BURST));
        return burst;
    }
    let (kept, others) = burst.partition(kept);
    output.send(kept);
    others
}
