//! What is done to a frame that has come, before it is a packet of the graph: a tag put back, a checksum completed, datagrams cut.

use super::datagrams::Datagrams;
use super::framing::Framing;
use super::offload;
use super::socket::Received;
use crate::device::{self, Long, Refusal, Refusals};
use engine::shm::Counter;
use engine::{Metadata, Output, Packet, Pool};

/// Where a VLAN tag stands: behind both addresses.
const TAG_OFFSET: usize = 12;
const TAG_LEN: usize = 4;

/// Where frames of a turn go.
pub(super) struct Intake<'a> {
    pub(super) framing: Framing,
    /// What is known of all of them.
    pub(super) metadata: Metadata,
    pub(super) refusals: &'a Refusals,
    pub(super) no_checksum: &'a Counter,
    pub(super) pool: &'a mut Pool,
    pub(super) output: &'a mut Output,
}

impl Intake<'_> {
    /// Takes a frame in, of which `rest` begins with what had no room in the packet.
    pub(super) fn take(&mut self, mut packet: Packet, received: &Received, rest: &[u8]) {
        let told = received.told;
        let tag_len = if told.vlan.is_some() { TAG_LEN } else { 0 };
        if !received.is_cut
            && received.len + tag_len > packet.len()
            && let Err(long) = device::complete(&mut packet, received.len, rest, tag_len, self.pool)
        {
            return self.pool.free(packet, self.refusals.long(long));
        }
        packet.truncate(received.len);
        // Of several datagrams each gets its own.
        let is_complete = received.datagram_len.is_some()
            || received.checksum.is_some_and(|place| offload::complete_checksum(packet.data_mut(), place));
        if received.is_cut || put_tag_back(&mut packet, told.vlan).is_err() {
            return self.pool.free(packet, self.refusals.counter(Refusal::TooLong));
        }
        if told.lacks_checksum && !is_complete {
            self.no_checksum.add(1);
        }
        let timestamp_ns = told.timestamp_ns.unwrap_or(self.metadata.timestamp_ns);
        match received.datagram_len {
            None => self.put(packet, timestamp_ns),
            Some(len) => {
                let udp_at = received.checksum.map(|(start, _)| start + tag_len);
                self.put_datagrams(packet, len, udp_at, timestamp_ns);
            }
        }
    }

    /// Sends on the datagrams of which a frame consists.
    #[cold]
    fn put_datagrams(&mut self, packet: Packet, len: usize, udp_at: Option<usize>, timestamp_ns: u64) {
        let Some(datagrams) = Datagrams::of(packet.data(), self.framing, len, udp_at) else {
            return self.pool.free(packet, self.refusals.counter(Refusal::TooLong));
        };
        match datagrams.cut(packet.data(), self.pool) {
            Some(datagrams) => {
                datagrams.into_iter().for_each(|datagram| self.put(datagram, timestamp_ns));
                self.pool.take_back(packet);
            }
            None => self.pool.free(packet, self.refusals.long(Long::NoPacket)),
        }
    }

    fn put(&mut self, mut packet: Packet, timestamp_ns: u64) {
        self.pool.describe(&mut packet, Metadata { timestamp_ns, ..self.metadata });
        self.output.put(packet);
    }
}

/// Puts the VLAN tag back that the kernel has taken out.
fn put_tag_back(packet: &mut Packet, vlan: Option<(u16, u16)>) -> Result<(), engine::TooLong> {
    let Some((tpid, tci)) = vlan.filter(|_| packet.len() >= TAG_OFFSET) else { return Ok(()) };
    packet.open_front(TAG_LEN)?;
    let data = packet.data_mut();
    data.copy_within(TAG_LEN..TAG_LEN + TAG_OFFSET, 0);
    data[TAG_OFFSET..TAG_OFFSET + 2].copy_from_slice(&tpid.to_be_bytes());
    data[TAG_OFFSET + 2..TAG_OFFSET + TAG_LEN].copy_from_slice(&tci.to_be_bytes());
    Ok(())
}
