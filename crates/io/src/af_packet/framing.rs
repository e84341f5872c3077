//! What the frames of a device begin with.

pub use crate::netdev::Hardware;
use wire::LinkType;

/// What the frames of a network device begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// An Ethernet header.
    Ethernet,
    /// An IP header: a TUN device, or a tunnel.
    Bare,
}

/// Who is at the other end of a device, which says how a tunnel treats its packets: a GRE device with several other ends puts outer headers before
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peers {
    /// Another end (`IFF_POINTOPOINT`).
    One,
    /// Several, as on an Ethernet.
    Several,
}

impl Framing {
    /// What frames of a type of device begin with, where an app can do something with them.
    pub fn of(hardware: Hardware, peers: Peers) -> Option<Self> {
        match hardware {
            libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => Some(Framing::Ethernet),
            libc::ARPHRD_NONE | ARPHRD_RAWIP | libc::ARPHRD_PPP => Some(Framing::Bare),
            libc::ARPHRD_TUNNEL | libc::ARPHRD_TUNNEL6 | libc::ARPHRD_SIT => Some(Framing::Bare),
            libc::ARPHRD_IPGRE | ARPHRD_IP6GRE if peers == Peers::One => Some(Framing::Bare),
            _ => None,
        }
    }

    /// Bytes before the IP header, where there is no VLAN tag.
    pub(super) fn header_len(self) -> usize {
        match self {
            Framing::Ethernet => 14,
            Framing::Bare => 0,
        }
    }

    /// The link type of frames that come.
    pub fn linktype(self) -> LinkType {
        match self {
            Framing::Ethernet => LinkType::EN10MB,
            Framing::Bare => LinkType::RAW,
        }
    }

    /// Whether packets of a link type can be sent as they are.
    #[inline]
    pub fn takes(self, linktype: LinkType) -> bool {
        match self {
            Framing::Ethernet => linktype == LinkType::EN10MB,
            Framing::Bare => [LinkType::RAW, LinkType::IPV4, LinkType::IPV6].contains(&linktype),
        }
    }
}

/// The name of a type of device, for some that there may be.
pub(super) fn name(hardware: Hardware) -> &'static str {
    match hardware {
        libc::ARPHRD_INFINIBAND => "InfiniBand",
        libc::ARPHRD_CAN => "CAN",
        libc::ARPHRD_IPGRE | ARPHRD_IP6GRE => "GRE with several other ends",
        libc::ARPHRD_IEEE80211 => "IEEE 802.11",
        libc::ARPHRD_IEEE80211_PRISM | libc::ARPHRD_IEEE80211_RADIOTAP => "IEEE 802.11 with a radio header",
        libc::ARPHRD_IEEE802154 => "IEEE 802.15.4",
        ARPHRD_NETLINK => "netlink",
        ARPHRD_6LOWPAN => "6LoWPAN",
        _ => "unknown",
    }
}

/// What `libc` does not have.
const ARPHRD_RAWIP: Hardware = 519;
const ARPHRD_IP6GRE: Hardware = 823;
const ARPHRD_NETLINK: Hardware = 824;
const ARPHRD_6LOWPAN: Hardware = 825;
