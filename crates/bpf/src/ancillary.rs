//! What the Linux kernel tells beside the bytes of a packet: loads from offsets that no packet has.

use std::fmt;

/// The first of the offsets, `SKF_AD_OFF`.
pub(crate) const ANCILLARY: u32 = 0xffff_f000;
/// From here on an offset is one behind the network header, `SKF_NET_OFF`.
const NETWORK: u32 = 0xfff0_0000;
/// From here on an offset is one behind the link-layer header, `SKF_LL_OFF`.
const LINK: u32 = 0xffe0_0000;

/// A number that the kernel keeps beside a packet, and whose load stands in programs for live captures: `tcpdump -ddd 'vlan 10'`.
///
/// ```
/// use bpf::Ancillary;
///
/// assert_eq!(Ancillary::at(0xffff_f030), Some(Ancillary::VlanTagPresent));
/// assert_eq!(Ancillary::VlanTagPresent.to_string(), "VLAN tag present");
/// assert_eq!(Ancillary::at(12), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Ancillary {
    Protocol = 0,
    PacketType = 4,
    Interface = 8,
    NetlinkAttribute = 12,
    NestedNetlinkAttribute = 16,
    Mark = 20,
    Queue = 24,
    HardwareType = 28,
    Hash = 32,
    Cpu = 36,
    XorX = 40,
    VlanTag = 44,
    VlanTagPresent = 48,
    PayloadOffset = 52,
    Random = 56,
    VlanProtocol = 60,
}

impl Ancillary {
    /// Every one.
    ///
    /// ```
    /// assert!(bpf::Ancillary::ALL.iter().all(|data| bpf::Ancillary::at(data.offset()) == Some(*data)));
    /// ```
    pub const ALL: [Ancillary; 16] = [
        Ancillary::Protocol,
        Ancillary::PacketType,
        Ancillary::Interface,
        Ancillary::NetlinkAttribute,
        Ancillary::NestedNetlinkAttribute,
        Ancillary::Mark,
        Ancillary::Queue,
        Ancillary::HardwareType,
        Ancillary::Hash,
        Ancillary::Cpu,
        Ancillary::XorX,
        Ancillary::VlanTag,
        Ancillary::VlanTagPresent,
        Ancillary::PayloadOffset,
        Ancillary::Random,
        Ancillary::VlanProtocol,
    ];

    /// What stands at an offset of a load, if that is no offset in a packet.
    pub fn at(offset: u32) -> Option<Ancillary> {
        Ancillary::ALL.into_iter().find(|data| data.offset() == offset)
    }

    /// Its offset.
    ///
    /// ```
    /// assert_eq!(bpf::Ancillary::Mark.offset() as i32, -4096 + 20);
    /// ```
    pub fn offset(self) -> u32 {
        ANCILLARY + self as u32
    }

    /// Whether it is one number for each packet, which a caller may know. Others depend on registers, or are another at each load.
    ///
    /// ```
    /// use bpf::Ancillary;
    ///
    /// assert!(Ancillary::Mark.is_of_packet() && !Ancillary::Random.is_of_packet());
    /// ```
    pub fn is_of_packet(self) -> bool {
        use Ancillary::{NestedNetlinkAttribute, NetlinkAttribute, Random, XorX};
        !matches!(self, NetlinkAttribute | NestedNetlinkAttribute | XorX | Random)
    }

    /// What libpcap's listings have in the brackets of a load of it.
    pub(crate) fn listed(self) -> &'static str {
        match self {
            Ancillary::Protocol => "proto",
            Ancillary::PacketType => "type",
            Ancillary::Interface => "ifidx",
            Ancillary::NetlinkAttribute => "nla",
            Ancillary::NestedNetlinkAttribute => "nlan",
            Ancillary::Mark => "mark",
            Ancillary::Queue => "queue",
            Ancillary::HardwareType => "hatype",
            Ancillary::Hash => "rxhash",
            Ancillary::Cpu => "cpu",
            Ancillary::XorX => "xor_x",
            Ancillary::VlanTag => "vlan_tci",
            Ancillary::VlanTagPresent => "vlanp",
            Ancillary::PayloadOffset => "poff",
            Ancillary::Random => "random",
            Ancillary::VlanProtocol => "vlan_tpid",
        }
    }
}

impl fmt::Display for Ancillary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ancillary::Protocol => "protocol",
            Ancillary::PacketType => "packet type",
            Ancillary::Interface => "interface index",
            Ancillary::NetlinkAttribute => "netlink attribute",
            Ancillary::NestedNetlinkAttribute => "nested netlink attribute",
            Ancillary::Mark => "mark",
            Ancillary::Queue => "queue",
            Ancillary::HardwareType => "hardware type",
            Ancillary::Hash => "hash",
            Ancillary::Cpu => "CPU",
            Ancillary::XorX => "exclusive or with X",
            Ancillary::VlanTag => "VLAN tag",
            Ancillary::VlanTagPresent => "VLAN tag present",
            Ancillary::PayloadOffset => "payload offset",
            Ancillary::Random => "random number",
            Ancillary::VlanProtocol => "VLAN protocol",
        })
    }
}

/// The place that only the kernel knows at which an absolute load reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KernelPlace {
    Data(Ancillary),
    NetworkHeader,
    LinkHeader,
}

impl KernelPlace {
    /// Of an absolute load; `None` for offsets in packets, and for those at which nothing stands: they lie outside of any packet, and libpcap's
    /// programs have such where a link type has no header of the kind.
    pub(crate) fn of(offset: u32) -> Option<KernelPlace> {
        match offset {
            ANCILLARY.. => Ancillary::at(offset).map(KernelPlace::Data),
            NETWORK.. => Some(KernelPlace::NetworkHeader),
            LINK.. => Some(KernelPlace::LinkHeader),
            _ => None,
        }
    }
}
