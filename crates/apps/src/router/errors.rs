//! The ICMP errors of a router: what they say, and to whom.
//!
//! The quoted bytes have not been changed: a router finds out that a packet goes no further before it takes off a hop.

use engine::Packet;
use std::net::IpAddr;
use wire::ether::{Ethernet, EthernetHeader, Mac, ethertype};
use wire::transport::{IcmpHeader, Subject, icmp_kind};

/// Why a packet goes no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// No hop is left.
    TtlExceeded,
    /// No route leads to its destination.
    NoRoute,
    /// It is longer than this, and may not be cut.
    TooBig { mtu: u16 },
}

/// A packet whose sender may get an error.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told<'a> {
    ether: Ethernet<'a>,
    subject: Subject<'a>,
}

/// From whom an error comes, and the way it takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    pub(super) from: IpAddr,
    pub(super) mac: Mac,
    /// Longest packet on this way, if one knows.
    pub(super) mtu: usize,
}

impl<'a> Told<'a> {
    /// `None` if no error may be sent about a frame. Frames for groups do not come so far.
    pub(super) fn new(frame: &'a [u8]) -> Option<Self> {
        let ether = Ethernet::new(frame).filter(|ether| !ether.src().is_multicast())?;
        let is_ip = matches!(ether.ethertype(), ethertype::IPV4 | ethertype::IPV6);
        let subject = is_ip.then(|| Subject::new(ether.payload())).flatten()?;
        Some(Told { ether, subject })
    }

    /// The sender of the packet.
    pub(super) fn src(&self) -> IpAddr {
        self.subject.src()
    }

    /// The sender of the frame.
    pub(super) fn src_mac(&self) -> Mac {
        self.ether.src()
    }

    /// Writes the frame that tells of an error into an empty packet. `None` if the way is of the other version.
    pub(super) fn write(&self, cause: Cause, way: Way, frame: &mut Packet) -> Option<()> {
        let header =
            EthernetHeader { dst: way.mac, src: self.ether.dst(), ethertype: self.ether.ethertype() };
        let message = if self.src().is_ipv4() { cause.message_v4() } else { cause.message_v6() };
        let error = self.subject.error(message, way.from, way.mtu)?;
        frame.append(&header.to_bytes()).ok()?;
        error.parts().iter().try_for_each(|part| frame.append(part)).ok()
    }
}

impl Cause {
    fn message_v4(self) -> IcmpHeader {
        match self {
            Cause::TtlExceeded => IcmpHeader { kind: icmp_kind::TIME_EXCEEDED, code: 0, rest: [0; 4] },
            // Network unreachable.
            Cause::NoRoute => IcmpHeader { kind: icmp_kind::UNREACHABLE, code: 0, rest: [0; 4] },
            // Fragmentation needed, and the length that needs none (RFC 1191, 4).
            Cause::TooBig { mtu } => {
                let [high, low] = mtu.to_be_bytes();
                IcmpHeader { kind: icmp_kind::UNREACHABLE, code: 4, rest: [0, 0, high, low] }
            }
        }
    }

    fn message_v6(self) -> IcmpHeader {
        match self {
            Cause::TtlExceeded => IcmpHeader { kind: icmp_kind::TIME_EXCEEDED_V6, code: 0, rest: [0; 4] },
            Cause::NoRoute => IcmpHeader { kind: icmp_kind::UNREACHABLE_V6, code: 0, rest: [0; 4] },
            Cause::TooBig { mtu } => {
                IcmpHeader { kind: icmp_kind::TOO_BIG_V6, code: 0, rest: u32::from(mtu).to_be_bytes() }
            }
        }
    }
}
