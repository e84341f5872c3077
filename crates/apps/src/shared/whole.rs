//! Packets that are whole, however little of their frames was captured.

use engine::{Packet, Pool};

/// Says that a packet is as long as on the wire: its IP packet is whole and ends it, so that what was not captured stood behind, and has gone with
/// the rest of the frame.
#[inline]
pub(crate) fn note_whole(packet: &mut Packet, pool: &Pool) {
    if pool.uses_metadata() {
        packet.metadata_mut().cut_len = 0;
    }
}
