//! What is done to a frame that has come, before it is a packet of the graph: a tag put back, a checksum completed, datagrams cut.

use super::datagrams::Datagrams;
use super::framing::Framing;
use super::offload;
use super::socket::Received;
use crate::device::{self, Long, Refusal, Refusals};
use engine::shm::Counter;
use engine::{Metadata, Output, Packet, Pool};
use std::collections::VecDeque;

/// Where a VLAN tag is: after both addresses.
const TAG_OFFSET: usize = 12;
const TAG_LEN: usize = 4;

/// A frame that is complete, and waits for room in the output.
#[derive(Debug)]
pub(super) struct Frame {
    packet: Packet,
    metadata: Metadata,
    /// How it is cut, where it consists of several datagrams.
    datagrams: Option<Datagrams>,
}

impl Frame {
    /// Packets that it becomes. Room for more than [`Datagrams::MAX`] is not waited for: there might never be as much.
    fn count(&self) -> usize {
        self.datagrams.map_or(1, |datagrams| datagrams.count().min(Datagrams::MAX))
    }

    /// Whether the output has room for it.
    pub(super) fn fits(&self, output: &Output) -> bool {
        self.count() <= output.room()
    }

    /// Sends it on, or the datagrams of which it consists.
    pub(super) fn put(self, output: &mut Output, pool: &mut Pool, refusals: &Refusals) {
        let Frame { packet, metadata, datagrams } = self;
        match datagrams {
            None => put(packet, metadata, output, pool),
            Some(datagrams) => match datagrams.cut(packet.data(), pool) {
                Some(datagrams) => {
                    datagrams.into_iter().for_each(|datagram| put(datagram, metadata, output, pool));
                    pool.take_back(packet);
                }
                None => pool.free(packet, refusals.long(Long::NoPacket)),
            },
        }
    }

    /// Gives its packet back: it is lost.
    pub(super) fn abandon(self, pool: &mut Pool) {
        pool.take_back(self.packet);
    }
}

fn put(mut packet: Packet, metadata: Metadata, output: &mut Output, pool: &mut Pool) {
    pool.describe(&mut packet, metadata);
    output.put(packet);
}

/// Where frames of a turn go.
pub(super) struct Intake<'a> {
    pub(super) framing: Framing,
    /// What is known of all of them.
    pub(super) metadata: Metadata,
    pub(super) refusals: &'a Refusals,
    pub(super) no_checksum: &'a Counter,
    pub(super) pool: &'a mut Pool,
    pub(super) output: &'a mut Output,
    /// Frames that the output has no room for yet.
    pub(super) waiting: &'a mut VecDeque<Frame>,
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
        let metadata = Metadata {
            timestamp_ns,
            packet_type: received.packet_type,
            inline_tag: self.has_inline_tag(&packet, told.vlan).into(),
            ..self.metadata
        };
        let mut frame = Frame { packet, metadata, datagrams: None };
        if let Some(len) = received.datagram_len {
            let udp_at = received.checksum.map(|(start, _)| start + tag_len);
            frame.datagrams = Datagrams::of(frame.packet.data(), self.framing, len, udp_at);
            if frame.datagrams.is_none() {
                return self.pool.free(frame.packet, self.refusals.counter(Refusal::TooLong));
            }
        }
        if self.waiting.is_empty() && frame.fits(self.output) {
            frame.put(self.output, self.pool, self.refusals);
        } else {
            self.waiting.push_back(frame);
        }
    }

    /// Whether the kernel has left an outer VLAN tag among the bytes of a frame, if anybody wants to know.
    fn has_inline_tag(&self, packet: &Packet, vlan: Option<(u16, u16)>) -> bool {
        let kind = || packet.data().get(TAG_OFFSET..TAG_OFFSET + 2);
        let has_tag = || matches!(kind(), Some([0x81, 0x00] | [0x88, 0xa8]));
        self.pool.uses_metadata() && self.framing == Framing::Ethernet && vlan.is_none() && has_tag()
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
