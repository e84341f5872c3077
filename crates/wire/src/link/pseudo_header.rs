//! Headers that capturing machines put in front of a packet (pseudo-headers), and link layers of old, each a few bytes of fixed form.
//!
//! Layouts are those of <https://www.tcpdump.org/linktypes.html>. Where a header can be longer than libpcap believes (routed token
//! ring, extensions of Juniper's header), what the packet says counts here.

use super::{Link, Network, by_family, by_version, ethernet, frame_relay, llc, ppp, wifi};
use super::{cisco_hdlc, ethernet_network};
use crate::bytes::{array_at, u8_at, u16_at, u32_at};
use crate::ether::ethertype;
use crate::linktype::LinkType;
use crate::mac::Mac;

/// AppleTalk's EtherType.
const APPLETALK: u16 = 0x809b;

/// Takes the link header of one of these types off; `None` for other types, and for a header that is not whole.
pub(super) fn header(linktype: LinkType, bytes: &[u8]) -> Option<Link<'_>> {
    Some(match linktype {
        LinkType::IEEE802 => token_ring(bytes)?,
        LinkType::FDDI => of_llc(bytes, 1, 13)?,
        LinkType::IP_OVER_FC => of_llc_behind(bytes, 16)?,
        LinkType::ATM_RFC1483 | LinkType::ATM_CLIP => of_llc_behind(bytes, 0)?,
        LinkType::SUNATM => sun_atm(bytes)?,
        LinkType::ARCNET => arcnet(bytes, 2, 6)?,
        LinkType::ARCNET_LINUX => arcnet(bytes, 4, 8)?,
        LinkType::LTALK => local_talk(bytes)?,
        LinkType::SLIP => by_nibble(bytes, 16)?,
        LinkType::SLIP_BSDOS => by_nibble(bytes, 24)?,
        LinkType::PPP_BSDOS => Link::carrying(super::ppp_network(u16_at(bytes, 5)?), bytes.get(24..)?),
        LinkType::SYMANTEC_FIREWALL => of_ethertype(bytes, 6, 44)?,
        LinkType::APPLE_IP_OVER_IEEE1394 => of_ethertype(bytes, 16, 18)?,
        LinkType::HDLC => cisco_hdlc(bytes)?,
        LinkType::PFLOG => pflog(bytes)?,
        LinkType::IPNET => ipnet(bytes)?,
        LinkType::NETANALYZER => ethernet(bytes.get(4..)?)?,
        LinkType::NETANALYZER_TRANSPARENT => ethernet(bytes.get(12..)?)?,
        LinkType::PRISM_HEADER => prism(bytes)?,
        LinkType::IEEE802_11_RADIO_AVS => avs(bytes)?,
        LinkType::PPI => per_packet_information(bytes)?,
        _ => juniper(linktype, bytes)?,
    })
}

/// An EtherType and, further on, what it announces.
fn of_ethertype(bytes: &[u8], ethertype_at: usize, payload_at: usize) -> Option<Link<'_>> {
    Some(Link::carrying(Network::Ethertype(u16_at(bytes, ethertype_at)?), bytes.get(payload_at..)?))
}

/// A packet of IP, of the version that its first bits say.
fn by_nibble(bytes: &[u8], payload_at: usize) -> Option<Link<'_>> {
    let payload = bytes.get(payload_at..)?;
    Some(Link::carrying(by_version(payload)?, payload))
}

fn of_llc_behind(bytes: &[u8], header_len: usize) -> Option<Link<'_>> {
    let (network, payload) = llc(bytes.get(header_len..)?);
    Some(Link::carrying(network, payload))
}

/// Hardware addresses, destination first, and LLC behind the header.
fn of_llc(bytes: &[u8], addresses_at: usize, header_len: usize) -> Option<Link<'_>> {
    let link = of_llc_behind(bytes, header_len)?;
    let address = |at| array_at(bytes, at).map(Mac);
    Some(Link { dst: address(addresses_at), src: address(addresses_at + 6), ..link })
}

/// Access control, frame control, addresses, and a route if the sender's address says that there is one (IEEE 802.5, 3.3).
fn token_ring(bytes: &[u8]) -> Option<Link<'_>> {
    const IS_ROUTED: u8 = 0x80;
    let route_len = match u8_at(bytes, 8)? & IS_ROUTED {
        0 => 0,
        _ => usize::from(u8_at(bytes, 14)? & 0x1f),
    };
    of_llc(bytes, 2, 14 + route_len)
}

/// Which kind of frame, the virtual path and the channel; of LAN emulation, two bytes in front of the frame.
fn sun_atm(bytes: &[u8]) -> Option<Link<'_>> {
    match u8_at(bytes, 0)? & 0xf {
        1 => ethernet(bytes.get(6..)?),
        2 => of_llc_behind(bytes, 4),
        _ => None,
    }
}

/// The numbers of protocols are those of RFC 1201; the two of RFC 1051 have a header that is shorter by three bytes.
fn arcnet(bytes: &[u8], type_at: usize, header_len: usize) -> Option<Link<'_>> {
    let (ethertype, header_len) = match u8_at(bytes, type_at)? {
        212 => (ethertype::IPV4, header_len),
        213 => (ethertype::ARP, header_len),
        214 => (ethertype::RARP, header_len),
        196 => (ethertype::IPV6, header_len),
        221 => (APPLETALK, header_len),
        240 => (ethertype::IPV4, header_len - 3),
        241 => (ethertype::ARP, header_len - 3),
        _ => return None,
    };
    Some(Link::carrying(Network::Ethertype(ethertype), bytes.get(header_len..)?))
}

/// Two addresses of a byte, and whether the header of the datagram is short or long.
fn local_talk(bytes: &[u8]) -> Option<Link<'_>> {
    matches!(u8_at(bytes, 2)?, 1 | 2).then(|| Link::carrying(Network::Ethertype(APPLETALK), &bytes[3..]))
}

/// A length, which is padded to four bytes, and an address family.
fn pflog(bytes: &[u8]) -> Option<Link<'_>> {
    let header_len = usize::from(u8_at(bytes, 0)?).next_multiple_of(4);
    let network = by_family(&[0, 0, 0, u8_at(bytes, 1)?])?;
    Some(Link::carrying(network, bytes.get(header_len.max(4)..)?))
}

/// A version and Solaris's address family.
fn ipnet(bytes: &[u8]) -> Option<Link<'_>> {
    let network = match u8_at(bytes, 1)? {
        2 => Network::Ethertype(ethertype::IPV4),
        26 => Network::Ethertype(ethertype::IPV6),
        _ => Network::Unknown,
    };
    Some(Link::carrying(network, bytes.get(24..)?))
}

/// 144 bytes; or, from drivers that say so in the first four, an AVS header.
fn prism(bytes: &[u8]) -> Option<Link<'_>> {
    const PRISM_LEN: usize = 144;
    match u32_at(bytes, 0)? & 0xffff_f000 {
        0x8021_1000 => avs(bytes),
        _ => wifi::wifi(bytes.get(PRISM_LEN..)?),
    }
}

/// A magic number and the length of the header.
fn avs(bytes: &[u8]) -> Option<Link<'_>> {
    wifi::wifi(bytes.get(u32_at(bytes, 4)? as usize..)?)
}

/// A version, flags, the length of the header and the link type of what follows, little-endian.
fn per_packet_information(bytes: &[u8]) -> Option<Link<'_>> {
    let len = u16::from_le_bytes(array_at(bytes, 2)?);
    let inner = LinkType::from_dlt(u32::from_le_bytes(array_at(bytes, 4)?))?;
    let packet = bytes.get(len.into()..)?;
    match inner {
        LinkType::IEEE802_11 => wifi::wifi(packet),
        LinkType::EN10MB => ethernet(packet),
        _ => None,
    }
}

/// "MGC", a byte of flags, perhaps extensions with their length, and a link header; where that is one of Juniper's own, what looks like
/// IP where libpcap expects it.
fn juniper(linktype: LinkType, bytes: &[u8]) -> Option<Link<'_>> {
    const HAS_EXTENSIONS: u8 = 0x80;
    let flags = u8_at(bytes.strip_prefix(b"MGC")?, 0)?;
    let extensions_len = match flags & HAS_EXTENSIONS {
        0 => 0,
        _ => 2 + usize::from(u16_at(bytes, 4)?),
    };
    let body = bytes.get(4 + extensions_len..)?;
    // Where IP is in the body.
    let at = match linktype {
        LinkType::JUNIPER_ETHER => return ethernet(body),
        LinkType::JUNIPER_PPP => return ppp(body),
        LinkType::JUNIPER_FRELAY => return frame_relay(body),
        LinkType::JUNIPER_CHDLC => return cisco_hdlc(body),
        LinkType::JUNIPER_MLPPP | LinkType::JUNIPER_MLFR | LinkType::JUNIPER_MFR | LinkType::JUNIPER_ATM1 => {
            0
        }
        LinkType::JUNIPER_ATM2 => 4,
        LinkType::JUNIPER_GGSN | LinkType::JUNIPER_MONITOR => 8,
        LinkType::JUNIPER_PPPOE => {
            let (network, payload) = ethernet_network(body)?;
            return Some(Link::carrying(network, payload));
        }
        _ => return None,
    };
    by_nibble(body, at)
}
