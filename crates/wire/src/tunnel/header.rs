//! Which tunnel a packet is: by its protocol over IP, or by the port that UDP sends it to.

use super::{
    GENEVE_PORT, GTPU_PORT, Geneve, Gre, Gtpu, TRANSPARENT_ETHERNET, VXLAN_GPE_PORT, VXLAN_PORT,
    VXLAN_PORT_LINUX, Vxlan, VxlanGpe,
};
use crate::ether::ethertype;
use crate::ip::protocol;

/// The UDP port of MPLS over UDP (RFC 7510).
pub const MPLS_PORT: u16 = 6635;

/// Bytes of a label.
const LABEL_LEN: usize = 4;

/// The header of a tunnel.
///
/// ```
/// use wire::ether::ethertype;
/// use wire::tunnel::{Tunnel, VXLAN_PORT};
/// let datagram = [0x08, 0, 0, 0, 0x00, 0x13, 0x88, 0, 0xff];
/// let tunnel = Tunnel::of_udp(VXLAN_PORT, &datagram).unwrap();
/// assert_eq!((tunnel.id(), tunnel.header_len()), (Some(5000), 8));
/// assert!(Tunnel::of_udp(53, &datagram).is_none());
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Tunnel<'a> {
    /// A packet of IPv4 directly in IP (RFC 2003).
    Ipv4InIp,
    /// A packet of IPv6 directly in IP (RFC 2473, and 6in4, RFC 4213).
    Ipv6InIp,
    /// GRE.
    Gre(Gre<'a>),
    /// VXLAN.
    Vxlan(Vxlan<'a>),
    /// VXLAN that says what it carries.
    VxlanGpe(VxlanGpe<'a>),
    /// Geneve.
    Geneve(Geneve<'a>),
    /// GTP-U.
    Gtpu(Gtpu<'a>),
    /// MPLS labels in UDP.
    MplsInUdp,
}

impl<'a> Tunnel<'a> {
    /// The tunnel that IP carries as this protocol; `None` if it is none, or its header is not whole.
    #[inline]
    #[must_use]
    pub fn of_protocol(number: u8, payload: &'a [u8]) -> Option<Tunnel<'a>> {
        match number {
            protocol::IPIP => Some(Tunnel::Ipv4InIp),
            protocol::IPV6 => Some(Tunnel::Ipv6InIp),
            protocol::GRE => Gre::new(payload).map(Tunnel::Gre),
            _ => None,
        }
    }

    /// Whether this is the port of a tunnel. That of who receives counts; who sends chooses one for each flow inside.
    #[inline]
    #[must_use]
    pub fn has_port(dst_port: u16) -> bool {
        matches!(
            dst_port,
            VXLAN_PORT | VXLAN_PORT_LINUX | VXLAN_GPE_PORT | GENEVE_PORT | GTPU_PORT | MPLS_PORT
        )
    }

    /// The tunnel in a datagram to this port; `None` if it is none, or its header is not whole.
    #[inline]
    #[must_use]
    pub fn of_udp(dst_port: u16, payload: &'a [u8]) -> Option<Tunnel<'a>> {
        match dst_port {
            VXLAN_PORT | VXLAN_PORT_LINUX => Vxlan::new(payload).map(Tunnel::Vxlan),
            VXLAN_GPE_PORT => VxlanGpe::new(payload).map(Tunnel::VxlanGpe),
            GENEVE_PORT => Geneve::new(payload).map(Tunnel::Geneve),
            GTPU_PORT => Gtpu::new(payload).map(Tunnel::Gtpu),
            MPLS_PORT => payload.get(..LABEL_LEN).map(|_| Tunnel::MplsInUdp),
            _ => None,
        }
    }

    /// Bytes that show what a datagram to a port of a tunnel is, where it begins with `payload`.
    #[must_use]
    pub fn least_of_udp(dst_port: u16, payload: &[u8]) -> usize {
        match dst_port {
            MPLS_PORT => LABEL_LEN,
            // The first byte counts the options.
            GENEVE_PORT => Geneve::LEN + payload.first().map_or(0, |first| usize::from(first & 0x3f) * 4),
            GTPU_PORT => Gtpu::least(payload),
            // Those of VXLAN and VXLAN-GPE.
            _ => Vxlan::LEN,
        }
    }

    /// Length of the header.
    #[inline]
    #[must_use]
    pub fn header_len(&self) -> usize {
        match self {
            Tunnel::Ipv4InIp | Tunnel::Ipv6InIp | Tunnel::MplsInUdp => 0,
            Tunnel::Gre(gre) => gre.header_len(),
            Tunnel::Vxlan(_) => Vxlan::LEN,
            Tunnel::VxlanGpe(_) => VxlanGpe::LEN,
            Tunnel::Geneve(geneve) => geneve.header_len(),
            Tunnel::Gtpu(gtpu) => gtpu.header_len(),
        }
    }

    /// EtherType of what is inside, where it has one; [`TRANSPARENT_ETHERNET`] for a frame.
    #[inline]
    #[must_use]
    pub fn ethertype(&self) -> Option<u16> {
        match self {
            Tunnel::Ipv4InIp => Some(ethertype::IPV4),
            Tunnel::Ipv6InIp => Some(ethertype::IPV6),
            Tunnel::Gre(gre) => Some(gre.protocol()),
            Tunnel::Vxlan(_) => Some(TRANSPARENT_ETHERNET),
            Tunnel::VxlanGpe(gpe) => gpe.ethertype(),
            Tunnel::Geneve(geneve) => Some(geneve.protocol()),
            Tunnel::Gtpu(gtpu) => gtpu.ethertype(),
            Tunnel::MplsInUdp => Some(ethertype::MPLS),
        }
    }

    /// What tells it from other tunnels between the same addresses: a network identifier, an endpoint identifier, or a key.
    #[inline]
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        match self {
            Tunnel::Ipv4InIp | Tunnel::Ipv6InIp | Tunnel::MplsInUdp => None,
            Tunnel::Gre(gre) => gre.key(),
            Tunnel::Vxlan(vxlan) => Some(vxlan.vni()),
            Tunnel::VxlanGpe(gpe) => Some(gpe.vni()),
            Tunnel::Geneve(geneve) => Some(geneve.vni()),
            Tunnel::Gtpu(gtpu) => Some(gtpu.teid()),
        }
    }
}
