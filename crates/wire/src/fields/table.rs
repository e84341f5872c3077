//! The fields that there are.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::Read::{At, By};
use super::message::{Dns, Http, tcp_len, tcp_option};
use super::{Dissection, Field, Form, Header, Value};
use crate::bytes::{u8_at, u16_at, u32_at};
use crate::ip::{Ipv6, protocol};
use crate::linktype::LinkType;

const TCP: Header = Header::Over(protocol::TCP);
const UDP: Header = Header::Over(protocol::UDP);
const SCTP: Header = Header::Over(protocol::SCTP);
const ICMP: Header = Header::Over(protocol::ICMP);
const ICMPV6: Header = Header::Over(protocol::ICMPV6);
const IGMP: Header = Header::Over(protocol::IGMP);

/// A whole number of so many bytes.
const fn number(bytes: u8) -> Form {
    bits(bytes, 0, u32::MAX)
}

/// Some bits of one.
const fn bits(bytes: u8, shift: u8, mask: u32) -> Form {
    Form::Number { bytes, shift, mask }
}

/// One of two hexadecimal digits a byte.
const fn hex(bytes: u8) -> Form {
    Form::Hex { bytes, mask: u32::MAX, digits: 2 * bytes }
}

macro_rules! fields {
    ($($name:literal, $about:literal, $read:expr;)*) => {
        /// All fields, by protocol, from the link upwards.
        pub static FIELDS: &[Field] = &[$(Field { name: $name, about: $about, read: $read }),*];
    };
}

fields! {
    "eth.dst", "hardware address of the receiver", At(Header::Ethernet, 0, Form::Mac);
    "eth.src", "hardware address of the sender", At(Header::Ethernet, 6, Form::Mac);
    "eth.type", "EtherType", By(|packet| ether_type(packet, true));
    "eth.len", "length of an IEEE 802.3 frame", By(|packet| ether_type(packet, false));
    "sll.pkttype", "which way the packet went, of a cooked capture", By(|packet| {
        packet.cooked(0, 10).map(|number| Value::Number(number.into()))
    });
    "sll.etype", "EtherType, of a cooked capture", By(|packet| {
        packet.cooked(14, 0).map(|number| Value::Hex { value: number.into(), digits: 4 })
    });
    "ieee8021ad.id", "number of the outermost service VLAN", At(Header::ServiceVlan, 0, bits(2, 0, 0xfff));
    "vlan.priority", "priority of the outermost VLAN tag", At(Header::Vlan, 0, bits(2, 13, 7));
    "vlan.dei", "drop eligible", At(Header::Vlan, 0, bits(2, 12, 1));
    "vlan.id", "number of the outermost VLAN", At(Header::Vlan, 0, bits(2, 0, 0xfff));
    "vlan.etype", "EtherType behind the tag", At(Header::Vlan, 2, hex(2));
    "mpls.label", "outermost label", At(Header::Mpls, 0, bits(4, 12, 0xf_ffff));
    "mpls.exp", "traffic class of the label", At(Header::Mpls, 0, bits(4, 9, 7));
    "mpls.bottom", "whether it is the last label", At(Header::Mpls, 0, bits(4, 8, 1));
    "mpls.ttl", "time to live of the label", At(Header::Mpls, 3, number(1));
    "pppoe.session_id", "session of PPP over Ethernet", At(Header::Pppoe, 2, hex(2));

    "arp.hw.type", "kind of hardware address", At(Header::Arp, 0, number(2));
    "arp.proto.type", "kind of protocol address", At(Header::Arp, 2, hex(2));
    "arp.opcode", "1 request, 2 reply", At(Header::Arp, 6, number(2));
    "arp.src.hw_mac", "hardware address of the sender", At(Header::Arp, 8, Form::Mac);
    "arp.src.proto_ipv4", "IPv4 address of the sender", At(Header::Arp, 14, Form::Ipv4);
    "arp.dst.hw_mac", "hardware address of the target", At(Header::Arp, 18, Form::Mac);
    "arp.dst.proto_ipv4", "IPv4 address of the target", At(Header::Arp, 24, Form::Ipv4);

    "ip.hdr_len", "bytes of the header", By(|packet| {
        Some(Value::Number(u64::from(u8_at(packet.header(Header::Ipv4)?, 0)? & 15) * 4))
    });
    "ip.dsfield", "differentiated services", At(Header::Ipv4, 1, hex(1));
    "ip.dsfield.dscp", "their code point", At(Header::Ipv4, 1, bits(1, 2, 63));
    "ip.dsfield.ecn", "explicit congestion notification", At(Header::Ipv4, 1, bits(1, 0, 3));
    "ip.len", "bytes of the packet", At(Header::Ipv4, 2, number(2));
    "ip.id", "identification", At(Header::Ipv4, 4, hex(2));
    "ip.flags", "flags", By(|packet| {
        Some(Value::Hex { value: u32::from(u8_at(packet.header(Header::Ipv4)?, 6)? >> 5), digits: 2 })
    });
    "ip.flags.df", "do not fragment", At(Header::Ipv4, 6, Form::Bit(6));
    "ip.flags.mf", "more fragments", At(Header::Ipv4, 6, Form::Bit(5));
    "ip.frag_offset", "offset of the fragment, in units of eight bytes", At(Header::Ipv4, 6, bits(2, 0, 0x1fff));
    "ip.ttl", "time to live", At(Header::Ipv4, 8, number(1));
    "ip.proto", "what it carries", At(Header::Ipv4, 9, number(1));
    "ip.checksum", "checksum of the header", At(Header::Ipv4, 10, hex(2));
    "ip.src", "source", At(Header::Ipv4, 12, Form::Ipv4);
    "ip.dst", "destination", At(Header::Ipv4, 16, Form::Ipv4);

    "ipv6.tclass", "traffic class", By(|packet| {
        let first = u32_at(packet.header(Header::Ipv6)?, 0)?;
        Some(Value::Hex { value: first >> 20 & 0xff, digits: 8 })
    });
    "ipv6.flow", "flow label", At(Header::Ipv6, 0, Form::Hex { bytes: 4, mask: 0xf_ffff, digits: 6 });
    "ipv6.plen", "bytes behind the header", At(Header::Ipv6, 4, number(2));
    "ipv6.nxt", "next header", At(Header::Ipv6, 6, number(1));
    "ipv6.hlim", "hop limit", At(Header::Ipv6, 7, number(1));
    "ipv6.src", "source", At(Header::Ipv6, 8, Form::Ipv6);
    "ipv6.dst", "destination", At(Header::Ipv6, 24, Form::Ipv6);
    "ipv6.fraghdr.offset", "offset of the fragment, in units of eight bytes", By(|packet| {
        fragment(packet, |bytes| Some(Value::Number((u16_at(bytes, 2)? >> 3).into())))
    });
    "ipv6.fraghdr.more", "more fragments", By(|packet| {
        fragment(packet, |bytes| Some(Value::Flag(u8_at(bytes, 3)? & 1 != 0)))
    });
    "ipv6.fraghdr.ident", "identification of the packet", By(|packet| {
        fragment(packet, |bytes| Some(Value::Hex { value: u32_at(bytes, 4)?, digits: 8 }))
    });

    "gre.proto", "EtherType within GRE", At(Header::Gre, 2, hex(2));
    "gre.key", "key of GRE", By(|packet| {
        let key = crate::tunnel::Gre::new(packet.header(Header::Gre)?)?.key()?;
        Some(Value::Hex { value: key, digits: 8 })
    });
    "vxlan.vni", "network of VXLAN", At(Header::Vxlan, 4, bits(3, 0, u32::MAX));
    "geneve.vni", "network of Geneve", At(Header::Geneve, 4, Form::Hex { bytes: 3, mask: u32::MAX, digits: 6 });
    "gtp.teid", "endpoint of GTP-U", At(Header::Gtpu, 4, hex(4));

    "icmp.type", "type", At(ICMP, 0, number(1));
    "icmp.code", "code", At(ICMP, 1, number(1));
    "icmp.checksum", "checksum", At(ICMP, 2, hex(2));
    "icmp.ident", "identifier of an echo", By(|packet| echo(packet, ICMP, [0, 8], 4));
    "icmp.seq", "sequence number of an echo", By(|packet| echo(packet, ICMP, [0, 8], 6));
    "icmpv6.type", "type", At(ICMPV6, 0, number(1));
    "icmpv6.code", "code", At(ICMPV6, 1, number(1));
    "icmpv6.checksum", "checksum", At(ICMPV6, 2, hex(2));
    "icmpv6.echo.identifier", "identifier of an echo", By(|packet| {
        let Value::Number(number) = echo(packet, ICMPV6, [128, 129], 4)? else { return None };
        Some(Value::Hex { value: number as u32, digits: 4 })
    });
    "icmpv6.echo.sequence_number", "sequence number of an echo", By(|packet| {
        echo(packet, ICMPV6, [128, 129], 6)
    });
    "igmp.type", "type", At(IGMP, 0, hex(1));

    "tcp.srcport", "source port", At(TCP, 0, number(2));
    "tcp.dstport", "destination port", At(TCP, 2, number(2));
    "tcp.seq_raw", "number of the first byte, as it was sent", At(TCP, 4, number(4));
    "tcp.ack_raw", "number of the next byte expected, as it was sent", At(TCP, 8, number(4));
    "tcp.hdr_len", "bytes of the header", By(|packet| {
        Some(Value::Number(u64::from(u8_at(packet.header(TCP)?, 12)? >> 4) * 4))
    });
    "tcp.flags", "all flags", At(TCP, 12, Form::Hex { bytes: 2, mask: 0xfff, digits: 4 });
    "tcp.flags.cwr", "congestion window reduced", At(TCP, 13, Form::Bit(7));
    "tcp.flags.ece", "ECN echo", At(TCP, 13, Form::Bit(6));
    "tcp.flags.urg", "urgent", At(TCP, 13, Form::Bit(5));
    "tcp.flags.ack", "acknowledgement", At(TCP, 13, Form::Bit(4));
    "tcp.flags.push", "push", At(TCP, 13, Form::Bit(3));
    "tcp.flags.reset", "reset", At(TCP, 13, Form::Bit(2));
    "tcp.flags.syn", "begin", At(TCP, 13, Form::Bit(1));
    "tcp.flags.fin", "end", At(TCP, 13, Form::Bit(0));
    "tcp.window_size_value", "window, without scaling", At(TCP, 14, number(2));
    "tcp.checksum", "checksum", At(TCP, 16, hex(2));
    "tcp.urgent_pointer", "urgent pointer", At(TCP, 18, number(2));
    "tcp.len", "bytes that it carries", By(tcp_len);
    "tcp.options.mss_val", "largest segment", By(|packet| {
        u16_at(tcp_option(packet, 2)?, 2).map(u64::from).map(Value::Number)
    });
    "tcp.options.wscale.shift", "window scale", By(|packet| {
        u8_at(tcp_option(packet, 3)?, 2).map(u64::from).map(Value::Number)
    });
    "tcp.options.timestamp.tsval", "time stamp", By(|packet| {
        u32_at(tcp_option(packet, 8)?, 2).map(u64::from).map(Value::Number)
    });
    "tcp.options.timestamp.tsecr", "time stamp that is answered", By(|packet| {
        u32_at(tcp_option(packet, 8)?, 6).map(u64::from).map(Value::Number)
    });
    "udp.srcport", "source port", At(UDP, 0, number(2));
    "udp.dstport", "destination port", At(UDP, 2, number(2));
    "udp.length", "bytes, with the header", At(UDP, 4, number(2));
    "udp.checksum", "checksum", At(UDP, 6, hex(2));
    "sctp.srcport", "source port", At(SCTP, 0, number(2));
    "sctp.dstport", "destination port", At(SCTP, 2, number(2));
    "sctp.verification_tag", "verification tag", At(SCTP, 4, hex(4));

    "dns.id", "number of the message", By(|packet| {
        Some(Value::Hex { value: packet.dns()?.number(0).into(), digits: 4 })
    });
    "dns.flags.response", "whether it is a response", By(|packet| {
        Some(Value::Flag(packet.dns()?.number(2) & 0x8000 != 0))
    });
    "dns.flags.opcode", "operation", By(|packet| dns_bits(packet.dns()?, 11, 15));
    "dns.flags.truncated", "whether it is truncated", By(|packet| {
        Some(Value::Flag(packet.dns()?.number(2) & 0x200 != 0))
    });
    "dns.flags.rcode", "response code", By(|packet| {
        let dns = packet.dns()?;
        if dns.number(2) & 0x8000 == 0 { None } else { dns_bits(dns, 0, 15) }
    });
    "dns.count.queries", "number of questions", By(|packet| dns_number(packet, 4));
    "dns.count.answers", "number of answers", By(|packet| dns_number(packet, 6));
    "dns.qry.name", "name that is asked for", By(|packet| packet.dns()?.name());
    "dns.qry.type", "type that is asked for", By(|packet| {
        packet.dns()?.kind().map(u64::from).map(Value::Number)
    });
    "dns.qry.class", "class that is asked for", By(|packet| {
        packet.dns()?.class().map(|class| Value::Hex { value: class.into(), digits: 4 })
    });
    "dns.a", "first IPv4 address", By(|packet| {
        packet.dns()?.record::<4>(1).map(|ip| Value::Ip(Ipv4Addr::from(ip).into()))
    });
    "dns.aaaa", "first IPv6 address", By(|packet| {
        packet.dns()?.record::<16>(28).map(|ip| Value::Ip(Ipv6Addr::from(ip).into()))
    });

    "tls.record.version", "version of the record", By(|packet| {
        u16_at(packet.tls()?, 1).map(|version| Value::Hex { value: version.into(), digits: 4 })
    });
    "tls.handshake.type", "type of the first handshake message", By(|packet| {
        let record = packet.tls().filter(|record| record[0] == 22)?;
        let len = u32_at(record, 5)? & 0xff_ffff;
        // Behind a change of ciphers it is encrypted.
        let kind = u8_at(record, 5).filter(|kind| *kind <= 24 && len < 0x4000)?;
        Some(Value::Number(kind.into()))
    });
    "tls.handshake.extensions_server_name", "name of the server, in a ClientHello that is whole in the packet",
        By(|packet| packet.server_name());
    "http.request.method", "method of a request", By(|packet| packet.http()?.of_request(0));
    "http.request.uri", "what is asked for", By(|packet| packet.http()?.of_request(1));
    "http.request.version", "version of a request", By(|packet| packet.http()?.of_request(2));
    "http.host", "header Host", By(|packet| http_header(packet.http()?, "Host"));
    "http.user_agent", "header User-Agent", By(|packet| http_header(packet.http()?, "User-Agent"));
    "http.response.code", "number of a response", By(|packet| packet.http()?.code());
}

impl Dissection<'_> {
    /// A number of a cooked header, by where it is in each version; the second one has a type of one byte.
    fn cooked(&self, first: usize, second: usize) -> Option<u16> {
        if let Some(header) = self.whole.link(LinkType::LINUX_SLL) {
            return u16_at(header, first);
        }
        let header = self.whole.link(LinkType::LINUX_SLL2)?;
        if second == 10 { u8_at(header, second).map(u16::from) } else { u16_at(header, second) }
    }
}

/// The EtherType, or the length that stands in its place.
fn ether_type<'p>(packet: &Dissection<'p>, is_type: bool) -> Option<Value<'p>> {
    let number = u16_at(packet.header(Header::Ethernet)?, 12)?;
    match number >= 0x0600 {
        true => is_type.then_some(Value::Hex { value: number.into(), digits: 4 }),
        false => (!is_type).then_some(Value::Number(number.into())),
    }
}

/// A number of an echo's header.
fn echo<'p>(packet: &Dissection<'p>, header: Header, kinds: [u8; 2], at: usize) -> Option<Value<'p>> {
    packet.parts().filter_map(|part| part.header(header)).find_map(|message| {
        let is_echo = u8_at(message, 0).is_some_and(|kind| kinds.contains(&kind));
        u16_at(message, at).filter(|_| is_echo).map(|number| Value::Number(number.into()))
    })
}

/// Something of the fragment header of IPv6.
fn fragment<'p>(packet: &Dissection<'p>, read: impl Fn(&'p [u8]) -> Option<Value<'p>>) -> Option<Value<'p>> {
    packet.parts().find_map(|part| {
        let ip = part.header(Header::Ipv6)?;
        let place = Ipv6::new(ip)?.fragment_place()?;
        place.fragment?;
        read(ip.get(place.off..)?)
    })
}

fn dns_number<'p>(packet: &Dissection<'p>, at: usize) -> Option<Value<'p>> {
    Some(Value::Number(packet.dns()?.number(at).into()))
}

#[expect(clippy::needless_pass_by_value, reason = "it is two words")]
fn dns_bits<'p>(dns: Dns<'p>, shift: u16, mask: u16) -> Option<Value<'p>> {
    Some(Value::Number((dns.number(2) >> shift & mask).into()))
}

#[expect(clippy::needless_pass_by_value, reason = "it is four words")]
fn http_header<'p>(http: Http<'p>, name: &str) -> Option<Value<'p>> {
    http.header(name)
}
