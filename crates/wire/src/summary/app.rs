//! What UDP and TCP carry, where that can be told from ports and first bytes.

use std::fmt;
use std::ops::Range;

use super::dhcp::{self, Dhcp, Dhcp6};
use super::dns::{self, Dns};
use super::inside::Kind;
use super::ipsec::{self, Ipsec};
use super::l2tp;
use super::ntp::{self, Ntp};
use super::quic::{self, Quic};
use super::radius::{self, Radius};
use super::snmp::{self, Snmp};
use super::syslog::{self, Syslog};
use super::tftp::{self, Tftp};
use super::tls::{self, Hello};
use super::words::{self, Words};
use crate::bytes::u16_at;
use crate::tunnel::Tunnel;

/// A message of an application, or the header of a tunnel.
#[derive(Clone, Copy, Debug)]
pub(super) enum App<'a> {
    Dns(Dns<'a>),
    Dhcp(Dhcp),
    Dhcp6(Dhcp6),
    Ntp(Ntp),
    Tls(Hello<'a>),
    Words(Words<'a>),
    Snmp(Snmp<'a>),
    Radius(Radius),
    Syslog(Syslog<'a>),
    Tftp(Tftp<'a>),
    Quic(Quic),
    Tunnel(Tunnel<'a>),
    L2tp(l2tp::Datagram),
    Ipsec(Ipsec),
}

impl<'a> App<'a> {
    /// What a datagram between these ports carries, of which `sent` bytes were sent, and `payload` captured.
    pub(super) fn of_udp(ports: [u16; 2], payload: &'a [u8], sent: usize) -> Option<App<'a>> {
        let is_of = |known: &[u16]| ports.iter().any(|port| known.contains(port));
        if let Some(tunnel) = Tunnel::of_udp(ports[1], payload) {
            Some(App::Tunnel(tunnel))
        } else if Tunnel::has_port(ports[1]) && payload.len() < Tunnel::least_of_udp(ports[1], payload) {
            None
        } else if is_of(&dns::PORTS) {
            Dns::read(payload).map(App::Dns)
        } else if is_of(&dhcp::PORTS) {
            Dhcp::read(payload).map(App::Dhcp)
        } else if is_of(&dhcp::PORTS_V6) {
            Dhcp6::read(payload).map(App::Dhcp6)
        } else if is_of(&[ntp::PORT]) {
            Ntp::read(payload, sent).map(App::Ntp)
        } else if is_of(&[l2tp::PORT]) {
            l2tp::Datagram::read(payload, sent).map(App::L2tp)
        } else if is_of(&snmp::PORTS) {
            Snmp::read(payload).map(App::Snmp)
        } else if is_of(&radius::PORTS) {
            Radius::read(payload, sent).map(App::Radius)
        } else if is_of(&[radius::PORT_OF_CHANGES]) {
            Radius::read_change(payload, sent).map(App::Radius)
        } else if is_of(&[ipsec::IKE_PORT]) {
            Ipsec::read_ike(payload, sent).map(App::Ipsec)
        } else if is_of(&[ipsec::NAT_PORT]) {
            Ipsec::read(payload, sent).map(App::Ipsec)
        } else if is_of(&[syslog::PORT]) {
            Syslog::read(payload, sent).map(App::Syslog)
        } else if is_of(&[tftp::PORT]) {
            Tftp::read(payload).map(App::Tftp)
        } else if is_of(&[words::SIP_PORT]) {
            Words::read(ports, payload, sent).map(App::Words)
        } else {
            Quic::read(payload, ports).map(App::Quic)
        }
    }

    /// What a segment between these ports begins with, of which `sent` bytes were sent, and `payload` captured.
    pub(super) fn of_tcp(ports: [u16; 2], payload: &'a [u8], sent: usize) -> Option<App<'a>> {
        // Over TCP, the length of a message stands before it; here all of it is in this segment, or none is shown.
        if ports.contains(&dns::PORTS[0])
            && u16_at(payload, 0).is_some_and(|len| usize::from(len) + 2 == sent)
        {
            return Dns::read(&payload[2..]).map(App::Dns);
        }
        Hello::read(payload).map(App::Tls).or_else(|| Words::read(ports, payload, sent).map(App::Words))
    }

    /// Bytes that show what a datagram between these ports carries, or that it is nothing that is known, where it begins with `payload`.
    pub(super) fn least_of_udp(ports: [u16; 2], payload: &[u8]) -> usize {
        let is_of = |known: &[u16]| ports.iter().any(|port| known.contains(port));
        match (ports[1], payload.first()) {
            (port, _) if Tunnel::has_port(port) => Tunnel::least_of_udp(port, payload),
            _ if is_of(&dns::PORTS) => dns::HEADER_LEN,
            _ if is_of(&dhcp::PORTS) => dhcp::LEAST,
            _ if is_of(&dhcp::PORTS_V6) => dhcp::LEAST_V6,
            _ if is_of(&[ntp::PORT]) => ntp::LEAST,
            _ if is_of(&[l2tp::PORT]) => l2tp::Datagram::least(payload),
            _ if is_of(&snmp::PORTS) => Snmp::least(payload),
            _ if is_of(&radius::PORTS) || is_of(&[radius::PORT_OF_CHANGES]) => radius::LEAST,
            _ if is_of(&[ipsec::IKE_PORT]) => Ipsec::least(ipsec::IKE_PORT, payload),
            _ if is_of(&[ipsec::NAT_PORT]) => Ipsec::least(ipsec::NAT_PORT, payload),
            _ if is_of(&[syslog::PORT]) => Syslog::least(payload),
            _ if is_of(&[tftp::PORT]) => tftp::LEAST,
            _ if is_of(&[words::SIP_PORT]) => words::least(ports, payload),
            (_, Some(first)) if first & quic::LONG_HEADER == 0 => 1,
            _ => quic::LEAST,
        }
    }

    /// The same of a segment of which `sent` bytes were sent.
    pub(super) fn least_of_tcp(ports: [u16; 2], payload: &[u8], sent: usize) -> usize {
        if ports.contains(&dns::PORTS[0]) && u16_at(payload, 0).is_none_or(|len| usize::from(len) + 2 == sent)
        {
            return 2 + dns::HEADER_LEN;
        }
        match payload.first() {
            None => 0,
            Some(&tls::HANDSHAKE) => tls::LEAST,
            Some(_) => words::least(ports, payload),
        }
    }
}

impl App<'_> {
    /// Whether a name in it cannot be one.
    pub(super) fn has_bad_name(&self) -> bool {
        matches!(self, App::Dns(Dns { has_bad_name: true, .. }))
    }

    /// The packet that a tunnel carries in a datagram of which `sent` bytes were sent: its kind, and where it is.
    pub(super) fn carried(&self, sent: usize) -> Option<(Kind, Range<usize>)> {
        let (kind, at) = match self {
            App::Tunnel(tunnel) => (Kind::Ethertype(tunnel.ethertype()?), tunnel.header_len()),
            App::L2tp(l2tp) => return l2tp.carried(sent),
            _ => return None,
        };
        Some((kind, at..sent.max(at)))
    }

    /// Whether all was there that a line would show.
    pub(super) fn is_whole(&self) -> bool {
        match self {
            App::Dns(dns) => dns.is_whole,
            App::Dhcp(dhcp) => dhcp.is_whole,
            App::Ntp(ntp) => ntp.is_whole(),
            App::Tls(Hello::Client { server }) => server.is_some(),
            App::Words(words) => words.is_whole,
            App::L2tp(l2tp) => l2tp.is_whole(),
            App::Snmp(snmp) => snmp.is_whole,
            App::Syslog(syslog) => syslog.is_whole,
            App::Tftp(tftp) => tftp.is_whole,
            // What is inside says itself what it is.
            App::Tunnel(Tunnel::Gtpu(gtpu)) => !gtpu.payload().is_empty(),
            _ => true,
        }
    }
}

impl fmt::Display for App<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            App::Dns(dns) => dns.fmt(f),
            App::Dhcp(dhcp) => dhcp.fmt(f),
            App::Dhcp6(dhcp) => dhcp.fmt(f),
            App::Ntp(ntp) => ntp.fmt(f),
            App::Tls(hello) => hello.fmt(f),
            App::Words(words) => words.fmt(f),
            App::Quic(quic) => quic.fmt(f),
            App::Snmp(snmp) => snmp.fmt(f),
            App::Radius(radius) => radius.fmt(f),
            App::Syslog(syslog) => syslog.fmt(f),
            App::Tftp(tftp) => tftp.fmt(f),
            App::Tunnel(tunnel) => tunnel_fmt(tunnel, f),
            App::L2tp(l2tp) => l2tp.fmt(f),
            App::Ipsec(ipsec) => ipsec.fmt(f),
        }
    }
}

fn tunnel_fmt(tunnel: &Tunnel<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match tunnel {
        Tunnel::Vxlan(vxlan) => write!(f, "vxlan {}", vxlan.vni()),
        Tunnel::VxlanGpe(gpe) => {
            write!(f, "vxlan-gpe {}", gpe.vni())?;
            if gpe.ethertype().is_none() {
                write!(f, " protocol {}", gpe.protocol())?;
            }
            Ok(())
        }
        Tunnel::Geneve(geneve) => write!(f, "geneve {}", geneve.vni()),
        Tunnel::Gtpu(gtpu) => write!(f, "gtp-u {}", gtpu.teid()),
        Tunnel::MplsInUdp => f.write_str("mpls"),
        // They are in IP, not in UDP.
        Tunnel::Ipv4InIp | Tunnel::Ipv6InIp | Tunnel::Gre(_) => Ok(()),
    }
}
