//! `icmp_echo`: answers pings, over IPv4 (RFC 792) and IPv6 (RFC 4443).
//!
//! | inputs, outputs | `south`, where requests come from and are answered; `north`, for everything else in both directions |
//! |---|---|
//! | `ip` | an address of either version, or a list of them |
//! | `mac` | the hardware address they are at; frames for others go north. Unless set, frames for any are answered |
//! | `answered` | counts requests answered |
//! | drops `bad_source` | counts requests from an address that nobody can be reached at, such as that of a group or a loopback, or from one of `ip`, which only somebody else can have sent |
//!
//! The request itself becomes the answer: addresses are exchanged, the type is changed, and checksums are corrected by what has
//! changed (RFC 1624). A request with a wrong checksum so gets an answer with a wrong one, which nobody takes. Fragments, packets with
//! options or extension headers, frames for groups, and frames with a VLAN tag go north.

use crate::shared::host::{check_ips, check_mac};
use crate::shared::responder::{Fate, PORTS, is_for, turn};
use crate::shared::text;
use engine::shm::Counter;
use engine::{App, Class, Io, OptionError, Packet, Ports, Setup};
use serde::Deserialize;
use std::net::IpAddr;
use wire::checksum::update;
use wire::ether::{Ethernet, EthernetMut, Mac, ethertype};
use wire::ip::is_host;
use wire::ip::{Ipv4, Ipv4Mut, Ipv6, Ipv6Mut, protocol};
use wire::transport::{Icmp, IcmpMut, icmp_kind};

/// Options of `icmp_echo`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IcmpEcho {
    /// The addresses to answer for.
    #[serde(deserialize_with = "text::one_or_more")]
    pub ip: Vec<IpAddr>,
    /// The hardware address they are at.
    #[serde(default, deserialize_with = "text::some")]
    pub mac: Option<Mac>,
}

/// A running `icmp_echo`.
#[derive(Debug)]
pub struct Running {
    /// Sorted.
    ours: Vec<IpAddr>,
    mac: Option<Mac>,
    answered: Counter,
    bad_source: Counter,
}

/// How many hops an answer may take.
const HOPS: u8 = 64;

impl Class for IcmpEcho {
    const TYPE: &'static str = "icmp_echo";
    const INPUTS: Ports = PORTS;
    const OUTPUTS: Ports = PORTS;
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        let mac = self.mac.map_or(Ok(()), |mac| check_mac("mac", mac));
        OptionError::all([check_ips("ip", &self.ip), mac])
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        let mut ours = self.ip.clone();
        ours.sort_unstable();
        let (answered, bad_source) = (setup.counter("answered"), setup.drops("bad_source"));
        Ok(Running { ours, mac: self.mac, answered, bad_source })
    }
}

impl App for Running {
    fn push(&mut self, io: &mut Io<'_>) {
        let is_for_us = |frame: &[u8]| self.request(frame).is_some();
        turn(io, &self.answered, is_for_us, |packet| self.answer(packet));
    }
}

impl Running {
    /// From whom a frame brings a request for us.
    #[inline]
    fn request(&self, frame: &[u8]) -> Option<IpAddr> {
        let ether = Ethernet::new(frame)?;
        if self.mac.is_some_and(|mac| !is_for(&ether, mac)) {
            return None;
        }
        let (src, dst) = match ether.ethertype() {
            ethertype::IPV4 => request_v4(&Ipv4::new(ether.payload())?)?,
            ethertype::IPV6 => request_v6(&Ipv6::new(ether.payload())?)?,
            _ => return None,
        };
        self.is_ours(dst).then_some(src)
    }

    #[inline]
    fn is_ours(&self, ip: IpAddr) -> bool {
        self.ours.binary_search(&ip).is_ok()
    }

    fn answer(&self, packet: &mut Packet) -> Fate<'_> {
        let Some(src) = self.request(packet.data()) else { return Fate::Pass };
        let Some(mut ether) = EthernetMut::new(packet.data_mut()) else { return Fate::Pass };
        if !is_host(src) || self.is_ours(src) || ether.view().src().is_multicast() {
            return Fate::Drop(&self.bad_source);
        }
        // The destination may have been a group; we are not.
        if ether.view().dst().is_multicast() {
            return Fate::Pass;
        }
        ether.swap_addresses();
        match src {
            IpAddr::V4(_) => answer_v4(ether.payload_mut()),
            IpAddr::V6(_) => answer_v6(ether.payload_mut()),
        }
        Fate::Answer
    }
}

/// Source and destination of an IPv4 packet, if it is an echo request, whole and without options.
#[inline]
fn request_v4(ip: &Ipv4<'_>) -> Option<(IpAddr, IpAddr)> {
    let is_plain = ip.protocol() == protocol::ICMP && !ip.is_fragment() && ip.header_len() == Ipv4::LEN;
    let is_whole = ip.payload_len() == Some(ip.payload().len());
    let is_request = is_request(ip.payload(), icmp_kind::ECHO_REQUEST);
    (is_plain && is_whole && is_request).then(|| (ip.src().into(), ip.dst().into()))
}

/// Source and destination of an IPv6 packet, if it is an echo request, whole and without extension headers.
#[inline]
fn request_v6(ip: &Ipv6<'_>) -> Option<(IpAddr, IpAddr)> {
    let is_whole = usize::from(ip.payload_len()) == ip.payload().len();
    let is_request = is_request(ip.payload(), icmp_kind::ECHO_REQUEST_V6);
    let is_plain = ip.next_header() == protocol::ICMPV6;
    (is_plain && is_whole && is_request).then(|| (ip.src().into(), ip.dst().into()))
}

#[inline]
fn is_request(message: &[u8], kind: u8) -> bool {
    Icmp::new(message).is_some_and(|icmp| icmp.kind() == kind && icmp.code() == 0)
}

fn answer_v4(packet: &mut [u8]) {
    let Some(mut ip) = Ipv4Mut::new(packet) else { return };
    let (src, dst, ttl, proto) = (ip.view().src(), ip.view().dst(), ip.view().ttl(), ip.view().protocol());
    // Where the addresses stand makes no difference to the sum; the time to live does.
    ip.set_src(dst);
    ip.set_dst(src);
    ip.set_ttl(HOPS);
    let word = |ttl| u16::from_be_bytes([ttl, proto]);
    ip.set_checksum(update(ip.view().checksum(), word(ttl), word(HOPS)));
    change_kind(ip.payload_mut(), icmp_kind::ECHO_REPLY);
}

fn answer_v6(packet: &mut [u8]) {
    let Some(mut ip) = Ipv6Mut::new(packet) else { return };
    let (src, dst) = (ip.view().src(), ip.view().dst());
    ip.set_src(dst);
    ip.set_dst(src);
    ip.set_hop_limit(HOPS);
    change_kind(ip.payload_mut(), icmp_kind::ECHO_REPLY_V6);
}

fn change_kind(message: &mut [u8], kind: u8) {
    let Some(mut icmp) = IcmpMut::new(message) else { return };
    let word = |kind| u16::from_be_bytes([kind, 0]);
    let checksum = update(icmp.view().checksum(), word(icmp.view().kind()), word(kind));
    icmp.set_kind(kind);
    icmp.set_checksum(checksum);
    // An answer over IPv4 may be zero throughout: there, the update gives the wrong zero of the two.
    if checksum == 0 && is_zero_beside_checksum(icmp.view()) {
        icmp.set_checksum(0xffff);
    }
}

fn is_zero_beside_checksum(icmp: Icmp<'_>) -> bool {
    let (kind, code) = (icmp.kind(), icmp.code());
    (kind, code) == (0, 0) && icmp.rest() == [0; 4] && icmp.payload().iter().all(|&byte| byte == 0)
}

#[cfg(test)]
mod tests {
    use super::IcmpEcho;
    use crate::testing::{ask, frame, read};
    use engine::Class;
    use testkit::rig::Rig;

    const PORTS: [&str; 2] = ["south", "north"];

    fn rig() -> Rig {
        Rig::new(read::<IcmpEcho>("ip = ['192.0.2.2', '2001:db8::2']").unwrap(), &PORTS, &PORTS)
    }

    #[test]
    fn pings_are_answered() {
        let macs = "dst=02:00:00:00:00:02, src=02:00:00:00:00:01";
        let back = "dst=02:00:00:00:00:01, src=02:00:00:00:00:02";
        for (ping, pong) in [
            (
                format!("eth({macs}) / ip4(ttl=3, tos=5, id=9) / icmp(8, rest=0x12345678) / 'data'"),
                format!(
                    "eth({back}) / ip4(src=192.0.2.2, dst=192.0.2.1, ttl=64, tos=5, id=9) \
                     / icmp(0, rest=0x12345678) / 'data'"
                ),
            ),
            (
                format!("eth({macs}) / ip6(hops=3, flow=7) / icmp6(128, rest=0x12345678) / 'odd'"),
                format!(
                    "eth({back}) / ip6(src=2001:db8::2, dst=2001:db8::1, hops=64, flow=7) \
                     / icmp6(129, rest=0x12345678) / 'odd'"
                ),
            ),
            (
                format!("eth({macs}) / ip4 / icmp(8)"),
                format!("eth({back}) / ip4(src=192.0.2.2, dst=192.0.2.1) / icmp(0)"),
            ),
        ] {
            let mut rig = rig();
            // Padding stays.
            let [mut ping, mut pong] = [ping, pong].map(|line| frame(&line));
            ping.extend([7; 9]);
            pong.extend([7; 9]);
            assert_eq!(ask(&mut rig, &ping), (vec![pong], vec![]));
            assert_eq!(rig.counter("answered"), 1);
        }
    }

    #[test]
    fn a_ping_of_zeroes_gets_an_answer_with_a_right_checksum() {
        for payload in ["", " / pad(1)", " / pad(57)"] {
            let ping = frame(&format!("eth / ip4 / icmp(8, rest=0){payload}"));
            let (south, _) = ask(&mut rig(), &ping);
            let ip = wire::ip::Ipv4::new(&south[0][14..]).unwrap();
            assert_eq!(ip.payload()[..4], [0, 0, 0xff, 0xff], "{payload}");
            assert!(wire::transport::Icmp::new(ip.payload()).unwrap().is_checksum_right(ip.addresses()));
        }
        // Where it is not zero throughout, the sum of a right answer may well be 0xffff.
        let (south, _) = ask(&mut rig(), &frame("eth / ip4 / icmp(8, rest=0xffff0000)"));
        assert_eq!(south[0][36..38], [0, 0]);
    }

    #[test]
    fn wrong_checksums_stay_wrong() {
        let (south, _) = ask(&mut rig(), &frame("eth / ip4 / icmp(8, sum=0x1234)"));
        let icmp = wire::transport::Icmp::new(&south[0][34..]).unwrap();
        let addresses = wire::ip::Ipv4::new(&south[0][14..]).unwrap().addresses();
        assert!(!icmp.is_checksum_right(addresses));
    }

    #[test]
    fn everything_else_goes_north() {
        let mut rig = rig();
        for line in [
            "eth / ip4(dst=192.0.2.3) / icmp(8)",
            "eth / ip4 / icmp(0)",
            "eth / ip4 / icmp(8, code=1)",
            "eth / ip4(mf=1) / icmp(8)",
            "eth / ip4(options=01 01 01 00) / icmp(8)",
            "eth / ip4 / icmp(8) / cut(41)",
            "eth / ip4(len=200) / icmp(8)",
            "eth / ip4 / udp",
            "eth(dst=ff:ff:ff:ff:ff:ff) / ip4 / icmp(8)",
            "eth / ip6(dst=2001:db8::3) / icmp6(128)",
            "eth / ip6 / icmp6(129)",
            "eth / ip6 / hopopt / icmp6(128)",
            "eth / ip6 / icmp(128) / cut(60)",
            "eth / vlan(3) / ip4 / icmp(8)",
            "eth / arp",
            "hex()",
        ] {
            let packet = frame(line);
            assert_eq!(ask(&mut rig, &packet), (vec![], vec![packet.clone()]), "{line}");
        }
        let packet = frame("eth / ip4 / icmp(8)");
        rig.send("north", &packet);
        rig.breathe();
        assert_eq!((rig.take("south"), rig.take("north")), (vec![packet], vec![]));
    }

    #[test]
    fn pings_for_another_station_go_north() {
        let options = "ip = ['192.0.2.2', '2001:db8::2']\nmac = '02:00:00:00:00:07'";
        let mut rig = Rig::new(read::<IcmpEcho>(options).unwrap(), &PORTS, &PORTS);
        for ping in ["ip4 / icmp(8)", "ip6 / icmp6(128)", "ip4(src=127.0.0.1) / icmp(8)"] {
            let others = frame(&format!("eth(dst=02:00:00:00:00:08) / {ping}"));
            assert_eq!(ask(&mut rig, &others), (vec![], vec![others.clone()]), "{ping}");
        }
        assert_eq!((rig.counter("answered"), rig.counter("bad_source")), (0, 0));
        for ping in ["ip4 / icmp(8)", "ip6 / icmp6(128)"] {
            let (south, north) = ask(&mut rig, &frame(&format!("eth(dst=02:00:00:00:00:07) / {ping}")));
            assert!(south.len() == 1 && north.is_empty(), "{ping}");
        }
    }

    #[test]
    fn what_goes_north_keeps_its_order() {
        let mut rig = rig();
        // Requests to a group look like questions for us until one looks closer.
        let to_group = |i: u8| frame(&format!("eth(dst=ff:ff:ff:ff:ff:ff) / ip4(id={i}) / icmp(8)"));
        let mut expected = Vec::new();
        for i in 0..150_u8 {
            let packet = match i % 4 {
                0 => to_group(i),
                1 => frame(&format!("eth / ip4(id={i}) / icmp(8)")),
                2 => frame(&format!("eth / ip4(id={i}, src=0.0.0.0) / icmp(8)")),
                _ => frame(&format!("eth / ip4(id={i}) / udp")),
            };
            rig.send("south", &packet);
            if matches!(i % 4, 0 | 3) {
                expected.push(packet);
            }
        }
        rig.breathe();
        assert!(rig.take("north") == expected);
        let ids: Vec<u8> = rig.take("south").iter().map(|answer| answer[19]).collect();
        assert_eq!(ids, (0..150).filter(|i| i % 4 == 1).collect::<Vec<u8>>());
        assert_eq!((rig.counter("answered"), rig.counter("bad_source")), (38, 37));
    }

    #[test]
    fn nobody_is_answered_at_a_group() {
        let mut rig = rig();
        for line in [
            "eth / ip4(src=224.0.0.1) / icmp(8)",
            "eth / ip4(src=255.255.255.255) / icmp(8)",
            "eth / ip4(src=0.0.0.0) / icmp(8)",
            "eth(src=ff:ff:ff:ff:ff:ff) / ip4 / icmp(8)",
            "eth / ip6(src=ff02::1) / icmp6(128)",
            "eth / ip6(src=::) / icmp6(128)",
            "eth / ip4(src=127.0.0.1) / icmp(8)",
            "eth / ip4(src=127.255.3.4) / icmp(8)",
            "eth / ip6(src=::1) / icmp6(128)",
            "eth / ip4(src=0.1.2.3) / icmp(8)",
            "eth / ip4(src=240.0.0.1) / icmp(8)",
            "eth / ip6(src=::ffff:192.0.2.1) / icmp6(128)",
            // Nobody else has our addresses.
            "eth / ip4(src=192.0.2.2) / icmp(8)",
            "eth / ip6(src=2001:db8::2) / icmp6(128)",
        ] {
            assert_eq!(ask(&mut rig, &frame(line)), (vec![], vec![]), "{line}");
        }
        assert_eq!(rig.counter("bad_source"), 14);
    }

    #[test]
    fn options_are_checked() {
        let error = read::<IcmpEcho>("ip = '224.0.0.1'").unwrap().check().unwrap_err();
        assert_eq!(error.to_string(), "`ip`: 224.0.0.1 is not the address of one host");
        let error = read::<IcmpEcho>("ip = []").unwrap().check().unwrap_err();
        assert_eq!(error.to_string(), "`ip`: is empty: which addresses?");
        let options = "ip = '192.0.2.2'\nmac = '03:00:00:00:00:01'";
        let error = read::<IcmpEcho>(options).unwrap().check().unwrap_err();
        assert_eq!(error.to_string(), "`mac`: 03:00:00:00:00:01 is the address of a group, not of one host");
    }
}
