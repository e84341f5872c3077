//! What an ICMP or ICMPv6 message says: why, about whom, and what to do.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Endpoint, ports};
use crate::bytes::{array_at, u8_at, u16_at, u32_at};
use crate::ip::{Ipv4, Ipv6, protocol, protocol_name};
use crate::mac::Mac;
use crate::transport::{Icmp, icmp_kind, icmp_name, icmpv6_name};

const ROUTER_ADVERTISEMENT: u8 = 134;
const ROUTER_OPTIONS_AT: usize = 16;
const NEIGHBOUR_OPTIONS_AT: usize = 24;
const REDIRECT_OPTIONS_AT: usize = 40;
const TARGET_LINK_ADDRESS: u8 = 2;
const PREFIX_INFORMATION: u8 = 3;
const REDIRECTED_HEADER: u8 = 4;
/// Bytes of that option before the packet (RFC 4861, 4.6.3).
const REDIRECTED_AT: usize = 8;
const LISTENER_REPORT_V2: u8 = 143;

/// An ICMP or ICMPv6 message; a field is there where its type has it and it was captured.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IcmpDetail {
    kind: u8,
    code: u8,
    /// What the type is called.
    name: Option<&'static str>,
    /// What the code means.
    reason: Option<&'static str>,
    /// Identifier and sequence number of an echo.
    echo: Option<(u16, u16)>,
    /// The largest packet that fits the next link, in bytes.
    mtu: Option<u32>,
    /// Byte of the quoted packet that is wrong.
    pointer: Option<u32>,
    /// The better next hop of a redirect.
    gateway: Option<IpAddr>,
    /// Seconds for which a router may be used; 0 for one that is no default router.
    lifetime_s: Option<u16>,
    /// The first prefix that a router announces, and its length.
    prefix: Option<(Ipv6Addr, u8)>,
    /// How many groups a report lists.
    groups: Option<u16>,
    /// The address, or the group, that is asked for or told of; of several groups the first.
    target: Option<Ipv6Addr>,
    /// The hardware address of that one.
    target_mac: Option<Mac>,
    /// The packet that an error is about.
    quoted: Option<Quoted>,
    /// Whether all was there that a line shows, if no more follows than was captured.
    pub(super) is_whole: bool,
}

/// Where a packet went that an error is about.
#[derive(Clone, Copy, Debug)]
struct Quoted {
    dst: Endpoint,
    /// What it carried, where the error says so.
    protocol: Option<u8>,
}

impl IcmpDetail {
    /// Reads what is there of a message: nothing but its type must be.
    pub(super) fn read(number: u8, message: &[u8]) -> Option<IcmpDetail> {
        let kind = u8_at(message, 0)?;
        let code = u8_at(message, 1).unwrap_or(0);
        let quoted = message.get(Icmp::LEN..).unwrap_or_default();
        let detail = IcmpDetail { kind, code, ..IcmpDetail::default() };
        Some(match number {
            protocol::ICMP => {
                let is_whole = detail.is_whole_v4(quoted);
                IcmpDetail { is_whole, ..detail.v4(message, quoted) }
            }
            _ => {
                let detail = detail.v6(message, quoted);
                IcmpDetail { is_whole: detail.is_whole_v6(message, quoted), ..detail }
            }
        })
    }

    /// Whether all is there that is shown of what follows the common header.
    fn is_whole_v4(&self, quoted: &[u8]) -> bool {
        match self.kind {
            3..=5 | 11 | 12 => Ipv4::new(quoted)
                .is_some_and(|ip| ip.fragment_off() != 0 || has_ports(ip.protocol(), ip.payload())),
            _ => true,
        }
    }

    fn is_whole_v6(&self, message: &[u8], quoted: &[u8]) -> bool {
        match self.kind {
            1..=4 => is_quoted_v6(quoted),
            130..=132 | icmp_kind::NEIGHBOUR_SOLICITATION => message.len() >= 24,
            LISTENER_REPORT_V2 => self.groups == Some(0) || message.len() >= 28,
            // More options may follow.
            ROUTER_ADVERTISEMENT => self.prefix.is_some(),
            icmp_kind::NEIGHBOUR_ADVERTISEMENT => self.target_mac.is_some(),
            icmp_kind::REDIRECT_V6 => redirected(message).is_some_and(is_quoted_v6),
            _ => true,
        }
    }

    fn v4(self, message: &[u8], quoted: &[u8]) -> IcmpDetail {
        let mut detail =
            IcmpDetail { name: icmp_name(self.kind), reason: reason_v4(self.kind, self.code), ..self };
        match self.kind {
            icmp_kind::ECHO_REPLY | icmp_kind::ECHO_REQUEST => detail.echo = echo(message),
            3..=5 | 11 | 12 => detail.quoted = quoted_v4(quoted),
            _ => {}
        }
        match (self.kind, self.code) {
            // Routers older than RFC 1191 leave it 0.
            (icmp_kind::UNREACHABLE, 4) => {
                detail.mtu = u16_at(message, 6).filter(|&mtu| mtu > 0).map(u32::from);
            }
            (5, _) => detail.gateway = array_at::<4>(message, 4).map(|a| Ipv4Addr::from(a).into()),
            (12, 0) => detail.pointer = u8_at(message, 4).map(u32::from),
            _ => {}
        }
        detail
    }

    fn v6(self, message: &[u8], quoted: &[u8]) -> IcmpDetail {
        let mut detail =
            IcmpDetail { name: icmpv6_name(self.kind), reason: reason_v6(self.kind, self.code), ..self };
        let address = |at| array_at::<16>(message, at).map(Ipv6Addr::from);
        match self.kind {
            icmp_kind::ECHO_REPLY_V6 | icmp_kind::ECHO_REQUEST_V6 => detail.echo = echo(message),
            1..=4 => detail.quoted = quoted_v6(quoted),
            // Listeners name their group where neighbours name their target.
            130..=132 => detail.target = address(8).filter(|group| !group.is_unspecified()),
            LISTENER_REPORT_V2 => {
                detail.groups = u16_at(message, 6);
                // Each record: type, two lengths, the group (RFC 3810, 5.2).
                detail.target = address(12).filter(|_| detail.groups != Some(0));
            }
            ROUTER_ADVERTISEMENT => {
                detail.lifetime_s = u16_at(message, 6);
                let prefix = option(message, ROUTER_OPTIONS_AT, PREFIX_INFORMATION).unwrap_or_default();
                detail.prefix = array_at::<16>(prefix, 16).map(Ipv6Addr::from).zip(u8_at(prefix, 2));
            }
            icmp_kind::NEIGHBOUR_SOLICITATION => detail.target = address(8),
            icmp_kind::NEIGHBOUR_ADVERTISEMENT => {
                detail.target = address(8);
                // Of eight bytes: a hardware address of six (RFC 4861, 4.6.1).
                let link = option(message, NEIGHBOUR_OPTIONS_AT, TARGET_LINK_ADDRESS).unwrap_or_default();
                detail.target_mac = array_at(link, 2).filter(|_| link.len() == 8 && link[1] == 1).map(Mac);
            }
            icmp_kind::REDIRECT_V6 => {
                detail.gateway = address(8).map(IpAddr::from);
                // Where it goes stands in front of what may quote it.
                let dst = address(24).map(|dst| Endpoint::Ip(dst.into()));
                let unquoted = dst.map(|dst| Quoted { dst, protocol: None });
                detail.quoted = redirected(message).and_then(quoted_v6).or(unquoted);
            }
            _ => {}
        }
        match self.kind {
            icmp_kind::TOO_BIG_V6 => detail.mtu = u32_at(message, 4),
            4 => detail.pointer = u32_at(message, 4),
            _ => {}
        }
        detail
    }
}

/// What was captured of the packet that a redirect quotes, if it does.
fn redirected(message: &[u8]) -> Option<&[u8]> {
    option(message, REDIRECT_OPTIONS_AT, REDIRECTED_HEADER)?.get(REDIRECTED_AT..)
}

/// What was captured of the first option of a kind, its header included (RFC 4861, 4.6). Each takes eight bytes or more, so this ends.
fn option(message: &[u8], at: usize, kind: u8) -> Option<&[u8]> {
    let mut options = message.get(at..)?;
    loop {
        let len = 8 * usize::from(u8_at(options, 1).filter(|&len| len > 0)?);
        if options[0] == kind {
            return Some(&options[..len.min(options.len())]);
        }
        options = options.get(len..)?;
    }
}

/// Whether the ports are there, of a protocol that has them.
fn has_ports(number: u8, payload: &[u8]) -> bool {
    ports(number, payload).is_some() || ports(number, &[0; 4]).is_none()
}

fn echo(message: &[u8]) -> Option<(u16, u16)> {
    Some((u16_at(message, 4)?, u16_at(message, 6)?))
}

fn quoted_v4(packet: &[u8]) -> Option<Quoted> {
    let ip = Ipv4::new(packet)?;
    let payload = if ip.fragment_off() == 0 { ip.payload() } else { &[] };
    Some(Quoted::new(ip.dst().into(), ip.protocol(), payload))
}

/// Whether all is there of a quoted packet that is shown.
fn is_quoted_v6(packet: &[u8]) -> bool {
    Ipv6::new(packet).is_some_and(|ip| {
        let transport = ip.transport();
        let is_later = transport.is_later_fragment();
        !transport.is_cut && (is_later || has_ports(transport.protocol, transport.payload))
    })
}

fn quoted_v6(packet: &[u8]) -> Option<Quoted> {
    let ip = Ipv6::new(packet)?;
    let transport = ip.transport();
    let payload = if transport.is_later_fragment() { &[] } else { transport.payload };
    Some(Quoted::new(ip.dst().into(), transport.protocol, payload))
}

impl Quoted {
    fn new(dst: IpAddr, number: u8, payload: &[u8]) -> Quoted {
        let dst = match ports(number, payload) {
            Some((_, port)) => Endpoint::Socket((dst, port).into()),
            None => Endpoint::Ip(dst),
        };
        Quoted { dst, protocol: Some(number) }
    }
}

impl fmt::Display for IcmpDetail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            Some(name) => f.write_str(name)?,
            None => write!(f, "type {}", self.kind)?,
        }
        match self.reason {
            Some(reason) => write!(f, " ({reason})")?,
            None if self.code != 0 => write!(f, " code {}", self.code)?,
            None => {}
        }
        if let Some((id, seq)) = self.echo {
            write!(f, " id {id} seq {seq}")?;
        }
        if let Some(mtu) = self.mtu {
            write!(f, " mtu {mtu}")?;
        }
        if let Some(pointer) = self.pointer {
            write!(f, " at byte {pointer}")?;
        }
        if let Some(lifetime_s) = self.lifetime_s {
            write!(f, " lifetime {lifetime_s}")?;
        }
        if let Some((prefix, len)) = self.prefix {
            write!(f, " prefix {prefix}/{len}")?;
        }
        if let Some(groups) = self.groups {
            write!(f, " groups {groups}")?;
        }
        match (self.target, self.target_mac) {
            (Some(target), Some(mac)) => write!(f, " {target} is at {mac}")?,
            (Some(target), None) if self.kind == icmp_kind::NEIGHBOUR_SOLICITATION => {
                write!(f, " who has {target}")?;
            }
            (Some(target), None) => write!(f, " {target}")?,
            (None, _) => {}
        }
        if let Some(gateway) = self.gateway {
            write!(f, " gateway {gateway}")?;
        }
        if let Some(Quoted { dst, protocol }) = self.quoted {
            write!(f, " to {dst}")?;
            match protocol.map(|number| (number, protocol_name(number))) {
                Some((_, Some(name))) => write!(f, " {name}")?,
                Some((number, None)) => write!(f, " protocol {number}")?,
                None => {}
            }
        }
        Ok(())
    }
}

/// What a code means (RFC 792; RFC 1122, 3.2.2.1; RFC 1812, 5.2.7.1).
fn reason_v4(kind: u8, code: u8) -> Option<&'static str> {
    const UNREACHABLE: [&str; 16] = [
        "net",
        "host",
        "protocol",
        "port",
        "fragmentation needed",
        "source route failed",
        "net unknown",
        "host unknown",
        "source isolated",
        "net prohibited",
        "host prohibited",
        "net for type of service",
        "host for type of service",
        "prohibited",
        "precedence violation",
        "precedence cutoff",
    ];
    let reasons: &[&str] = match kind {
        3 => &UNREACHABLE,
        5 => &["net", "host", "net for type of service", "host for type of service"],
        11 => &["in transit", "reassembly"],
        12 => &["bad header", "option missing", "bad length"],
        _ => &[],
    };
    reasons.get(usize::from(code)).copied()
}

/// What a code means (RFC 4443, 3; RFC 6550, 20.18; RFC 7112, 7; RFC 8754, 4.3.1.2; RFC 8883, 2 and 3).
fn reason_v6(kind: u8, code: u8) -> Option<&'static str> {
    const UNREACHABLE: [&str; 9] = [
        "no route",
        "prohibited",
        "beyond scope",
        "address",
        "port",
        "policy",
        "reject route",
        "source route failed",
        "headers too long",
    ];
    const PROBLEM: [&str; 11] = [
        "bad header",
        "next header",
        "option",
        "incomplete headers",
        "segment routing",
        "next header in transit",
        "header too big",
        "headers too long",
        "too many headers",
        "too many options",
        "option too big",
    ];
    let reasons: &[&str] = match kind {
        1 => &UNREACHABLE,
        3 => &["in transit", "reassembly"],
        4 => &PROBLEM,
        _ => &[],
    };
    reasons.get(usize::from(code)).copied()
}
