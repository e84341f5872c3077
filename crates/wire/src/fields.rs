//! Fields of packets, by the names that tshark has for them.
//!
//! ```
//! use wire::LinkType;
//! use wire::fields::{Dissector, field};
//! let packet = *b"\x45\0\0\x20\0\0\0\0\x40\x11\0\0\xc0\0\x02\x01\xc0\0\x02\x02\x14\xe9\0\x35\0\x0c\0\0abcd";
//! let mut dissector = Dissector::default();
//! let dissection = dissector.read(LinkType::RAW, &packet, packet.len() as u32);
//! let text = |name| field(name).unwrap().read(&dissection).map(|value| value.to_string());
//! assert_eq!(text("ip.src").as_deref(), Some("192.0.2.1"));
//! assert_eq!(text("udp.dstport").as_deref(), Some("53"));
//! assert_eq!(text("ip.id").as_deref(), Some("0x0000"));
//! assert_eq!(text("tcp.flags"), None);
//! ```
//!
//! Values are those of tshark 4.0 with `-E occurrence=f -o ip.defragment:FALSE`: of several headers of a kind the outermost counts, and those of the
//! packet that an ICMP error quotes come last. A field has no value where its bytes were not captured. Nothing is put together from several
//! packets: a name in a message of DNS over TCP, or in a ClientHello, counts where all of it is in one.
//!
//! The walk over headers is that of [`layers`](crate::layers), taken once for all fields of a packet; nothing is allocated.

mod message;
mod table;
mod value;

pub use table::FIELDS;
pub use value::{Name, Text, Value};

use crate::bytes::{u8_at, u16_at};
use crate::ether::ethertype;
use crate::ip::protocol;
use crate::layers::{End, Layer, LayerKind, Layers};
use crate::linktype::LinkType;
use crate::transport::Icmp;

/// A field.
#[derive(Debug)]
pub struct Field {
    /// Its name, such as `ip.src`.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    read: Read,
}

/// The field of a name.
#[must_use]
pub fn field(name: &str) -> Option<&'static Field> {
    FIELDS.iter().find(|field| field.name == name)
}

impl Field {
    /// Its value in a packet.
    #[inline]
    #[must_use]
    pub fn read<'p>(&self, packet: &Dissection<'p>) -> Option<Value<'p>> {
        match self.read {
            Read::At(header, at, form) => form.read(packet.header(header)?, at.into()),
            Read::By(read) => read(packet),
        }
    }
}

/// How a field is read.
#[derive(Clone, Copy, Debug)]
enum Read {
    /// So many bytes behind the beginning of a header.
    At(Header, u8, Form),
    By(for<'p> fn(&Dissection<'p>) -> Option<Value<'p>>),
}

/// A header whose fields have places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Header {
    Ethernet,
    /// A tag of IEEE 802.1Q.
    Vlan,
    /// A service tag of IEEE 802.1ad.
    ServiceVlan,
    Mpls,
    Pppoe,
    Arp,
    Ipv4,
    Ipv6,
    Gre,
    Vxlan,
    Geneve,
    Gtpu,
    /// What IP carries, by its protocol.
    Over(u8),
}

/// What the bytes of a field are.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// Bits of a number of so many bytes: shifted to the right, then masked.
    Number {
        bytes: u8,
        shift: u8,
        mask: u32,
    },
    /// The same, written as that many hexadecimal digits.
    Hex {
        bytes: u8,
        mask: u32,
        digits: u8,
    },
    /// A bit of a byte.
    Bit(u8),
    Mac,
    Ipv4,
    Ipv6,
}

/// Reads packets, with memory that is used again.
#[derive(Clone, Debug, Default)]
pub struct Dissector {
    whole: Layers,
    quoted: Layers,
}

impl Dissector {
    /// The headers of a packet that had so many bytes on the wire. Any bytes have some; there is no error.
    pub fn read<'p>(&'p mut self, linktype: LinkType, packet: &'p [u8], wire_len: u32) -> Dissection<'p> {
        self.whole.read(linktype, packet);
        let whole = Part { layers: &self.whole, bytes: packet, wire_len: wire_len as usize };
        let quoted = whole.quoted().and_then(|range| packet.get(range)).map(|bytes| {
            self.quoted.read(LinkType::RAW, bytes);
            // Of a packet that is quoted, a part is there mostly.
            Part { layers: &self.quoted, bytes, wire_len: usize::MAX }
        });
        Dissection { whole, quoted }
    }
}

/// The headers of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Dissection<'p> {
    whole: Part<'p>,
    /// What an ICMP error in it quotes.
    quoted: Option<Part<'p>>,
}

impl<'p> Dissection<'p> {
    fn parts(&self) -> impl Iterator<Item = Part<'p>> {
        std::iter::once(self.whole).chain(self.quoted)
    }

    /// The first header of a kind, up to the end of what it is in.
    #[inline]
    fn header(&self, header: Header) -> Option<&'p [u8]> {
        self.whole.header(header).or_else(|| self.quoted?.header(header))
    }
}

/// A packet, or one that is quoted.
#[derive(Clone, Copy, Debug)]
struct Part<'p> {
    layers: &'p Layers,
    bytes: &'p [u8],
    wire_len: usize,
}

impl<'p> Part<'p> {
    fn header(&self, header: Header) -> Option<&'p [u8]> {
        let kind = match header {
            Header::Over(number) => return self.over(number),
            Header::Arp => return self.carried(ethertype::ARP),
            Header::Ethernet => return self.link(LinkType::EN10MB),
            Header::Vlan => return self.vlan(false),
            Header::ServiceVlan => return self.vlan(true),
            Header::Mpls => LayerKind::Mpls,
            Header::Pppoe => LayerKind::Pppoe,
            Header::Ipv4 => return self.network(LayerKind::Ipv4, ethertype::IPV4),
            Header::Ipv6 => return self.network(LayerKind::Ipv6, ethertype::IPV6),
            Header::Gre => LayerKind::Gre,
            Header::Vxlan => LayerKind::Vxlan,
            Header::Geneve => LayerKind::Geneve,
            Header::Gtpu => LayerKind::Gtpu,
        };
        self.layer(kind)
    }

    fn layer(&self, kind: LayerKind) -> Option<&'p [u8]> {
        let layer = self.layers.iter().find(|layer| layer.kind == kind)?;
        self.bytes.get(layer.off.into()..)
    }

    /// An IP header, as far as it is there.
    fn network(&self, kind: LayerKind, ethertype: u16) -> Option<&'p [u8]> {
        let cut = || self.carried(ethertype).filter(|_| self.layers.end() == End::Cut);
        self.layer(kind).or_else(cut)
    }

    fn link(&self, linktype: LinkType) -> Option<&'p [u8]> {
        let is_it = |layer: &&Layer| layer.kind == LayerKind::Link && layer.id == linktype.value();
        self.bytes.get(self.layers.iter().find(is_it)?.off.into()..)
    }

    /// The first tag of a kind, which the number before it says.
    fn vlan(&self, is_service: bool) -> Option<&'p [u8]> {
        let tags = self.layers.iter().filter(|layer| layer.kind == LayerKind::Vlan);
        let mut tags = tags.map(|layer| usize::from(layer.off));
        let at = tags.find(|&off| {
            let tpid = off.checked_sub(2).and_then(|at| u16_at(self.bytes, at));
            (tpid == Some(ethertype::QINQ)) == is_service
        });
        self.bytes.get(at?..)
    }

    /// The header of a protocol over IP, as far as it is there.
    fn over(&self, number: u8) -> Option<&'p [u8]> {
        let is_it = |layer: &&Layer| layer.kind == LayerKind::Transport && layer.id == number.into();
        match self.layers.iter().find(is_it) {
            // The last one ends with the payload; a tunnel goes on behind another.
            Some(layer) if self.layers.transport() == Some(layer) && self.layers.end() != End::Cut => {
                self.bytes.get(layer.off.into()..self.layers.payload().end)
            }
            Some(layer) => self.bytes.get(layer.off.into()..),
            None => self.cut_transport(number),
        }
    }

    /// The header of the protocol where the walk ended in it, since not all of it is there.
    fn cut_transport(&self, number: u8) -> Option<&'p [u8]> {
        let last = self.layers.as_slice().last()?;
        let is_ip = matches!(last.kind, LayerKind::Ipv4 | LayerKind::Ipv6);
        let is_it = is_ip && last.id == number.into() && self.layers.end() == End::Cut;
        self.bytes.get(self.layers.payload()).filter(|_| is_it)
    }

    /// What the last link header or tag carries, if that is of this EtherType.
    fn carried(&self, ethertype: u16) -> Option<&'p [u8]> {
        let last = self.layers.as_slice().last()?;
        let bytes = self.bytes.get(last.off.into()..)?;
        let carried = match last.kind {
            LayerKind::Link if last.id == LinkType::EN10MB.value() => u16_at(bytes, 12),
            LayerKind::Link if last.id == LinkType::LINUX_SLL.value() => u16_at(bytes, 14),
            LayerKind::Link if last.id == LinkType::LINUX_SLL2.value() => u16_at(bytes, 0),
            LayerKind::Vlan => u16_at(bytes, 2),
            _ => None,
        };
        self.bytes.get(self.layers.payload()).filter(|_| carried == Some(ethertype))
    }

    /// Where the packet is that an ICMP error quotes, if this is one.
    fn quoted(&self) -> Option<std::ops::Range<usize>> {
        let layer = self.layers.transport()?;
        let kind = u8_at(self.bytes, layer.off.into())?;
        // RFC 792; RFC 4443, 3.
        let quotes = match u8::try_from(layer.id) {
            Ok(protocol::ICMP) => matches!(kind, 3..=5 | 11 | 12),
            Ok(protocol::ICMPV6) => matches!(kind, 1..=4),
            _ => false,
        };
        quotes.then(|| usize::from(layer.off) + Icmp::LEN..self.layers.payload().end)
    }
}

impl Form {
    #[inline]
    fn read<'p>(self, header: &'p [u8], at: usize) -> Option<Value<'p>> {
        let number = |bytes: u8| {
            let bytes = header.get(at..at + usize::from(bytes))?;
            Some(bytes.iter().fold(0_u32, |number, &byte| number << 8 | u32::from(byte)))
        };
        Some(match self {
            Form::Number { bytes, shift, mask } => Value::Number((number(bytes)? >> shift & mask).into()),
            Form::Hex { bytes, mask, digits } => Value::Hex { value: number(bytes)? & mask, digits },
            Form::Bit(bit) => Value::Flag(u8_at(header, at)? >> bit & 1 != 0),
            Form::Mac => Value::Mac(crate::bytes::array_at(header, at)?.into()),
            Form::Ipv4 => Value::Ip(crate::bytes::array_at::<4>(header, at)?.into()),
            Form::Ipv6 => Value::Ip(crate::bytes::array_at::<16>(header, at)?.into()),
        })
    }
}

#[cfg(test)]
mod tests;
