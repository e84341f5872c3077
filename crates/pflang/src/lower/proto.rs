//! Protocols: the abbreviations (`tcp`, `arp`, …) and `proto N`.

use super::Result;
use super::layers::Rel;
use super::lowerer::Lowerer;
use super::numbers::{ethertype, ipproto, sap};
use crate::diag::{Code, Diagnostic};
use crate::ir::Size;
use crate::syntax::ast::{Proto, Quals};

impl Lowerer<'_> {
    /// A protocol's name alone.
    pub(crate) fn abbreviation(&mut self, proto: Proto) -> Result {
        match proto {
            Proto::Tcp => self.any_ip_proto(ipproto::TCP),
            Proto::Udp => self.any_ip_proto(ipproto::UDP),
            Proto::Sctp => self.any_ip_proto(ipproto::SCTP),
            Proto::Pim => self.any_ip_proto(ipproto::PIM),
            Proto::Ah => self.any_ip_proto(ipproto::AH),
            Proto::Esp => self.any_ip_proto(ipproto::ESP),
            Proto::Icmp => self.ip4_proto(ipproto::ICMP),
            Proto::Igmp => self.ip4_proto(ipproto::IGMP),
            Proto::Igrp => self.ip4_proto(ipproto::IGRP),
            Proto::Vrrp => self.ip4_proto(ipproto::VRRP),
            Proto::Carp => self.ip4_proto(ipproto::CARP),
            Proto::Icmp6 => self.ip6_proto(ipproto::ICMPV6),
            Proto::Ip => self.linktype(ethertype::IP),
            Proto::Ip6 => self.linktype(ethertype::IPV6),
            Proto::Arp => self.linktype(ethertype::ARP),
            Proto::Rarp => self.linktype(ethertype::RARP),
            Proto::Atalk => self.linktype(ethertype::ATALK),
            Proto::Aarp => self.linktype(ethertype::AARP),
            Proto::Decnet => self.linktype(ethertype::DECNET),
            Proto::Sca => self.linktype(ethertype::SCA),
            Proto::Lat => self.linktype(ethertype::LAT),
            Proto::Mopdl => self.linktype(ethertype::MOPDL),
            Proto::Moprc => self.linktype(ethertype::MOPRC),
            Proto::Stp => self.linktype(sap::STP),
            Proto::Ipx => self.linktype(sap::IPX),
            Proto::Netbeui => self.linktype(sap::NETBEUI),
            Proto::Iso
            | Proto::Clnp
            | Proto::Esis
            | Proto::Isis
            | Proto::IsisL1
            | Proto::IsisL2
            | Proto::IsisIih
            | Proto::IsisLsp
            | Proto::IsisSnp
            | Proto::IsisCsnp
            | Proto::IsisPsnp => self.iso_abbreviation(proto),
            Proto::Link | Proto::Radio => {
                let word = proto.name();
                let mut error = self.error(Code::BadQualifier, format!("`{word}` alone is no test"));
                error.help = Some(format!(
                    "a field follows it, as in `{word}[0]`, or an address, as in `ether host …`"
                ));
                Err(error)
            }
        }
    }

    /// `proto N` behind its qualifiers.
    pub(crate) fn proto_number(&mut self, number: u32, quals: Quals) -> Result {
        if let Some(dir) = quals.dir {
            let dir = dir.name();
            return Err(self.error(
                Code::BadQualifier,
                format!("`{dir}` does not go with `proto`: a protocol has no direction"),
            ));
        }
        match quals.proto {
            None => self.any_ip_proto(number),
            Some(Proto::Link) => self.linktype(number),
            Some(Proto::Ip) => self.ip4_proto(number),
            Some(Proto::Ip6) => self.ip6_proto(number),
            Some(Proto::Iso) => self.iso_proto(number),
            Some(Proto::Isis) => self.isis_proto(number),
            Some(proto) => Err(self.no_proto_field(proto)),
        }
    }

    /// `proto NAME`: which list the name is in depends on what carries the protocol.
    pub(crate) fn named_proto(&mut self, name: &str, quals: Quals) -> Result {
        let number = self.proto_by_name(name, quals.proto)?;
        self.proto_number(number, quals)
    }

    /// The number of a protocol: of IP's by protocols(5), of the link layer's and ISO's by lists as old as tcpdump.
    pub(crate) fn proto_by_name(&self, name: &str, carrier: Option<Proto>) -> Result<u32> {
        let (number, what) = match carrier {
            None | Some(Proto::Ip | Proto::Ip6) => {
                (self.options.names.protocol(name).map(u32::from), "IP protocol")
            }
            Some(Proto::Link) => (link_protocol(name), "link-layer protocol"),
            Some(Proto::Iso) => (super::iso::protocol(name), "ISO protocol"),
            Some(_) => (None, "protocol"),
        };
        number.ok_or_else(|| self.unknown(what, name))
    }

    /// Over IPv4 or IPv6.
    pub(crate) fn any_ip_proto(&mut self, number: u32) -> Result {
        let four = self.ip4_proto(number)?;
        let six = self.ip6_proto(number)?;
        Ok(self.or(four, six))
    }

    pub(crate) fn ip4_proto(&mut self, number: u32) -> Result {
        let link = self.linktype(ethertype::IP)?;
        let same = self.eq(Rel::Net, 9, Size::B1, number);
        Ok(self.and(link, same))
    }

    /// Directly, or behind one fragment header. (Behind any extension headers where the dialect walks them.)
    pub(crate) fn ip6_proto(&mut self, number: u32) -> Result {
        if self.options.dialect.ipv6 {
            return self.ip6_proto_walked(number);
        }
        let link = self.linktype(ethertype::IPV6)?;
        let direct = self.eq(Rel::Net, 6, Size::B1, number);
        let fragment = self.eq(Rel::Net, 6, Size::B1, ipproto::FRAGMENT);
        let inside = self.eq(Rel::Net, 40, Size::B1, number);
        let fragmented = self.and(fragment, inside);
        let either = self.or(direct, fragmented);
        Ok(self.and(link, either))
    }

    fn no_proto_field(&self, proto: Proto) -> Box<Diagnostic> {
        let word = proto.name();
        let mut error = self.error(Code::BadQualifier, format!("`{word}` does not say what it carries"));
        error.help = Some("`proto` goes with `ether`, `ip`, `ip6`, `iso` and `isis`".into());
        error
    }
}

/// The link-layer protocols that libpcap knows by name: Ethernet types first, then service access points.
#[rustfmt::skip]
fn link_protocol(name: &str) -> Option<u32> {
    Some(match name {
        "aarp" => ethertype::AARP, "arp" => ethertype::ARP, "atalk" => ethertype::ATALK,
        "decnet" => ethertype::DECNET, "ip" => ethertype::IP, "ip6" => ethertype::IPV6, "lat" => ethertype::LAT,
        "loopback" => ethertype::LOOPBACK, "mopdl" => ethertype::MOPDL, "moprc" => ethertype::MOPRC,
        "rarp" => ethertype::RARP, "sca" => ethertype::SCA,
        "iso" => sap::ISO, "stp" => sap::STP, "ipx" => sap::IPX, "netbeui" => sap::NETBEUI,
        _ => return None,
    })
}
