//! Metadata: facts about a packet beside its bytes, on a cache line of their own.
//!
//! They are written and copied only if an app of the graph asks for them, so a graph without such apps never touches these lines. Nothing here
//! is derived from the bytes: an app that changes a header need not know of them.

/// Facts about a packet beside its bytes, in a cache line apart from them.
///
/// A new packet has the time of its breath, link type Ethernet and zeroes; `pcap_reader` and the devices fill in what
/// they know. Nothing is written or copied unless an app of the graph has asked for metadata
/// ([`Roles::METADATA`](crate::Roles::METADATA)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Metadata {
    /// When the packet was seen, in nanoseconds since 1970-01-01 UTC.
    pub timestamp_ns: u64,
    /// A hash that is the same for both directions of a flow; 0 when not computed.
    pub flow_hash: u64,
    /// Its number in a row of packets, where one was given: a `merge` restores their order. 0 for none.
    pub sequence: u64,
    /// Bytes that were on the wire but not captured: the length on the wire is the packet's plus this, whatever apps
    /// put before or take from the front of the packet.
    pub cut_len: u32,
    /// Link type, as in pcap files (`LINKTYPE_…`).
    pub linktype: u16,
    /// The kernel's queue that it waits in for an answer: see `queue_id`.
    pub queue: u16,
    /// A number that stands for the interface it came from, a device or one of a capture, in the whole process; 0 for none. Numbers below 2^31
    /// are those of interfaces in their captures, where captures describe too many to tell them all apart.
    pub interface: u32,
    /// For apps to talk to apps downstream.
    pub mark: u32,
    /// Number of the application that its flow speaks; 0 for not known. Who identifies flows says what the numbers stand for.
    pub application: u16,
    /// Number of the protocol that carries this application; 0 for none.
    pub master: u16,
    /// How many packets its flow has had, this one included; 0 if it belongs to no flow that anybody follows.
    pub flow_packets: u32,
    /// How far the precision of the timestamp goes: 9 for nanoseconds, 6 for microseconds; 0 for unknown.
    pub precision: u8,
    /// Whom the kernel took it to be for, `sll_pkttype` of packet(7): 0 for this host, or where nobody has said anything; 4 where this host has sent it.
    pub packet_type: u8,
    /// Not 0 if its outer VLAN tag stood among its bytes when the kernel saw it, as in a frame that a program has sent. From a frame that comes in the
    /// kernel takes the tag out; the app that brings it in puts it back.
    pub inline_tag: u8,
    /// Its number in the kernel's queue `queue`, by which it is answered; 0 if it waits in none.
    pub queue_id: u32,
}

/// The line of a chunk in which its metadata is. Zeroes will do: nothing is known then. Like the bytes of the packet, it is its owner's alone.
#[repr(C, align(64))]
pub(super) struct MetadataLine {
    pub(super) metadata: Metadata,
    /// Not 0 if the metadata was written since the pool began to stamp packets. No `bool`, as other processes may come to map this memory, and
    /// any byte must do.
    stamp: u8,
}

impl MetadataLine {
    #[inline]
    pub(super) fn stamped(metadata: Metadata) -> Self {
        MetadataLine { metadata, stamp: 1 }
    }

    /// What is here is no packet's any more.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.stamp = 0;
    }

    /// Whether the metadata is the packet's own. If not, it is that of its [region](super::region::metadata_without_stamp).
    #[inline]
    pub(super) fn is_stamped(&self) -> bool {
        self.stamp != 0
    }
}

const _: () = assert!(size_of::<MetadataLine>() == 64);
