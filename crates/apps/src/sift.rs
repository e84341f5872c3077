//! The loop of apps that change packets in place and refuse some of them.

use engine::{Burst, Output, Packet};

/// Packets in a burst that is to be sifted, at most.
pub(crate) const BURST: usize = 64;

/// Sends those packets of a burst on that `keep` has changed and wants to keep, and returns the others, all in their order.
///
/// # Panics
/// If there are more than [`BURST`] packets.
///
/// PERF: as long as all are kept, nothing is noted of each: 6 to 11 instructions a packet less than with a bit for each from the first on.
#[inline]
pub(crate) fn sift<'a>(
    mut burst: Burst<'a>,
    output: &mut Output,
    mut keep: impl FnMut(&mut Packet) -> bool,
) -> Burst<'a> {
    assert!(burst.len() <= BURST, "{} packets are more than {BURST}", burst.len());
    let first = burst.iter_mut().position(|packet| !keep(packet)).unwrap_or(burst.len());
    if first < burst.len() {
        return sift_mixed(burst, first, output, keep);
    }
    output.send(burst.split_front(BURST));
    burst
}

/// The same, where `first` packets have been kept and the next has not.
#[inline(never)]
fn sift_mixed<'a>(
    mut burst: Burst<'a>,
    first: usize,
    output: &mut Output,
    mut keep: impl FnMut(&mut Packet) -> bool,
) -> Burst<'a> {
    let mut kept = (1_u64 << first) - 1;
    for (i, packet) in burst.iter_mut().enumerate().skip(first + 1) {
        kept |= u64::from(keep(packet)) << i;
    }
    let (kept, others) = burst.partition(kept);
    output.send(kept);
    others
}
