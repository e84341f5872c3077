//! `nd_responder`: says which hardware address belongs to IPv6 addresses (RFC 4861).
//!
//! | inputs, outputs | `south`, where solicitations come from and are answered; `north`, for everything else in both directions |
//! |---|---|
//! | `ip` | an IPv6 address, or a list of them |
//! | `mac` | the hardware address they are at |
//! | `router` | whether the advertisements say that a router sends them; `false` unless set |
//! | `answered` | counts solicitations answered |
//! | drops `invalid` | counts solicitations that break a rule of RFC 4861, 7.1.1, of which the hop limit of 255 is the first, that came in fragments (RFC 6980), or that are from an address or a hardware address that no host can have, such as that of a group |
//!
//! A host that probes for a duplicate of its address gets an answer to all nodes (RFC 4861, 7.2.4). Solicitations for other addresses,
//! those that come from one of `ip`, frames for another station than `mac`, advertisements, and frames with a VLAN tag go north.

use crate::shared::host::{check_ips, check_mac, is_station};
use crate::shared::responder::{Fate, PORTS, is_for, turn};
use crate::shared::text;
use engine::shm::Counter;
use engine::{App, Class, Io, OptionError, Packet, Ports, Setup};
use serde::Deserialize;
use std::net::Ipv6Addr;
use wire::ether::{Ethernet, EthernetMut, Mac, ethertype};
use wire::ip::is_host_v6;
use wire::ip::{Ipv6, protocol};
use wire::ndp::{Advertisement, Neighbour, PACKET_LEN_MAX, Sender, Solicitation};
use wire::transport::icmp_kind;

/// Options of `nd_responder`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NdResponder {
    /// The addresses to answer for.
    #[serde(deserialize_with = "text::one_or_more")]
    pub ip: Vec<Ipv6Addr>,
    /// The hardware address they are at.
    #[serde(deserialize_with = "text::one")]
    pub mac: Mac,
    /// Whether a router sends the advertisements.
    #[serde(default)]
    pub router: bool,
}

/// A running `nd_responder`.
#[derive(Debug)]
pub struct Running {
    /// Sorted.
    ours: Vec<Ipv6Addr>,
    mac: Mac,
    sender: Sender,
    answered: Counter,
    invalid: Counter,
}

/// Where all nodes of a link listen.
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

impl Class for NdResponder {
    const TYPE: &'static str = "nd_responder";
    const INPUTS: Ports = PORTS;
    const OUTPUTS: Ports = PORTS;
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        OptionError::all([check_ips("ip", &self.ip), check_mac("mac", self.mac)])
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        let mut ours = self.ip.clone();
        ours.sort_unstable();
        let (answered, invalid) = (setup.counter("answered"), setup.drops("invalid"));
        let sender = if self.router { Sender::Router } else { Sender::Host };
        Ok(Running { ours, mac: self.mac, sender, answered, invalid })
    }
}

impl App for Running {
    fn push(&mut self, io: &mut Io<'_>) {
        turn(io, &self.answered, is_solicitation, |packet| self.answer(packet));
    }
}

impl Running {
    fn answer(&self, packet: &mut Packet) -> Fate<'_> {
        let ether = Ethernet::new(packet.data()).filter(|ether| is_for(ether, self.mac));
        let Some(ether) = ether else { return Fate::Pass };
        let Some(ip) = Ipv6::new(ether.payload()) else { return Fate::Pass };
        let question = match Neighbour::parse(&ip) {
            Ok(Neighbour::Solicitation(question)) => question,
            Ok(Neighbour::Advertisement(_)) => return Fate::Pass,
            Err(_) => return Fate::Drop(&self.invalid),
        };
        let (asker, asker_mac) = (ip.src(), question.source_mac.unwrap_or(ether.src()));
        // A group asks nothing, and an answer to it would be heard by many; nobody is reached at a loopback.
        let can_ask = asker.is_unspecified() || is_host_v6(asker);
        if !can_ask || !is_station(asker_mac) || !is_station(ether.src()) {
            return Fate::Drop(&self.invalid);
        }
        // Who asks from one of our addresses has a conflict with us, which an answer would not end.
        if !self.is_ours(question.target) || self.is_ours(asker) {
            return Fate::Pass;
        }
        self.advertise(packet, &question, asker, asker_mac)
    }

    fn is_ours(&self, ip: Ipv6Addr) -> bool {
        self.ours.binary_search(&ip).is_ok()
    }

    /// Turns a packet into the answer to a question.
    fn advertise(
        &self,
        packet: &mut Packet,
        question: &Solicitation,
        asker: Ipv6Addr,
        asker_mac: Mac,
    ) -> Fate<'_> {
        let is_probe = asker.is_unspecified();
        let advertisement = Advertisement {
            is_solicited: !is_probe,
            ..Advertisement::answer(question.target, self.mac, self.sender)
        };
        let (dst, dst_mac) =
            if is_probe { (ALL_NODES, Mac::of_ipv6_multicast(ALL_NODES)) } else { (asker, asker_mac) };
        // It is shorter than the longest packet by far.
        let _ = packet.resize(Ethernet::LEN + PACKET_LEN_MAX);
        let Some(mut ether) = EthernetMut::new(packet.data_mut()) else { return Fate::Pass };
        ether.set_dst(dst_mac);
        ether.set_src(self.mac);
        let len = advertisement.write_packet(question.target, dst, ether.payload_mut()).unwrap_or(0);
        packet.truncate(Ethernet::LEN + len);
        // The question was whole; what was not captured stood behind it.
        packet.metadata_mut().cut_len = 0;
        Fate::Answer
    }
}

/// Whether a frame carries a neighbour solicitation, right or wrong.
#[inline]
fn is_solicitation(frame: &[u8]) -> bool {
    let Some(ether) = Ethernet::new(frame).filter(|ether| ether.ethertype() == ethertype::IPV6) else {
        return false;
    };
    let Some(ip) = Ipv6::new(ether.payload()) else { return false };
    if matches!(ip.next_header(), protocol::TCP | protocol::UDP) {
        return false;
    }
    let transport = ip.transport();
    let kind = transport.payload.first();
    let is_solicitation = kind == Some(&icmp_kind::NEIGHBOUR_SOLICITATION);
    transport.protocol == protocol::ICMPV6 && is_solicitation && !transport.is_later_fragment()
}

#[cfg(test)]
mod tests {
    use super::NdResponder;
    use crate::testing::{ask, frame, read};
    use engine::{Class, Metadata};
    use std::net::Ipv6Addr;
    use testkit::rig::Rig;
    use wire::ether::{Ethernet, EthernetHeader, Mac, ethertype};
    use wire::ip::Ipv6;
    use wire::ndp::{Advertisement, Neighbour, PACKET_LEN_MAX, Sender, Solicitation, solicited_node};

    const PORTS: [&str; 2] = ["south", "north"];
    const OURS: Mac = Mac([2, 0, 0, 0, 0, 1]);
    const ASKER: Mac = Mac([2, 0, 0, 0, 0, 9]);

    fn rig() -> Rig {
        let options: NdResponder =
            read("ip = ['2001:db8::1', 'fe80::1']\nmac = '02:00:00:00:00:01'\nrouter = true").unwrap();
        Rig::new(options, &PORTS, &PORTS)
    }

    fn ip(text: &str) -> Ipv6Addr {
        text.parse().unwrap()
    }

    fn solicitation(src: &str, target: &str, source_mac: Option<Mac>) -> Vec<u8> {
        let target = ip(target);
        let group = solicited_node(target);
        let header =
            EthernetHeader { dst: Mac::of_ipv6_multicast(group), src: ASKER, ethertype: ethertype::IPV6 };
        let mut packet = [0; PACKET_LEN_MAX];
        let len = Solicitation { target, source_mac }.write_packet(ip(src), group, &mut packet).unwrap();
        [&header.to_bytes()[..], &packet[..len]].concat()
    }

    #[test]
    fn solicitations_are_answered() {
        for (src, mac, dst, dst_mac, is_solicited) in [
            ("fe80::9", Some(ASKER), "fe80::9", ASKER, true),
            ("fe80::9", None, "fe80::9", ASKER, true),
            ("fe80::9", Some(Mac([2; 6])), "fe80::9", Mac([2; 6]), true),
            ("::", None, "ff02::1", Mac([0x33, 0x33, 0, 0, 0, 1]), false),
        ] {
            let mut rig = rig();
            let (south, north) = ask(&mut rig, &solicitation(src, "2001:db8::1", mac));
            assert!(south.len() == 1 && north.is_empty());
            let ether = Ethernet::new(&south[0]).unwrap();
            assert_eq!((ether.dst(), ether.src()), (dst_mac, OURS));
            let packet = Ipv6::new(ether.payload()).unwrap();
            assert_eq!((packet.src(), packet.dst()), (ip("2001:db8::1"), ip(dst)));
            let answer = Advertisement {
                is_solicited,
                ..Advertisement::answer(ip("2001:db8::1"), OURS, Sender::Router)
            };
            assert_eq!(Neighbour::parse(&packet), Ok(Neighbour::Advertisement(answer)), "{src}");
            assert_eq!(south[0].len(), 86);
        }
    }

    #[test]
    fn an_answer_lacks_nothing_of_what_the_question_lacked() {
        let mut rig = rig();
        let metadata = Metadata { cut_len: 4, linktype: 1, ..Metadata::default() };
        rig.send_with("south", solicitation("fe80::9", "2001:db8::1", None), metadata);
        rig.breathe();
        assert_eq!(rig.received("south")[0].metadata.cut_len, 0);
    }

    #[test]
    fn everything_else_goes_north() {
        let mut rig = rig();
        let mut for_others = solicitation("fe80::9", "2001:db8::1", Some(ASKER));
        for_others[..6].copy_from_slice(&[2, 0, 0, 0, 0, 7]);
        let mut wrong_for_others = for_others.clone();
        wrong_for_others[21] = 64;
        for packet in [
            for_others,
            wrong_for_others,
            solicitation("fe80::9", "2001:db8::2", Some(ASKER)),
            solicitation("2001:db8::1", "2001:db8::1", Some(ASKER)),
            solicitation("fe80::1", "2001:db8::1", Some(ASKER)),
            frame("eth / ip6(hops=255) / icmp6(136) / pad(16)"),
            frame("eth / ip6 / icmp6(128)"),
            frame("eth / ip6 / udp"),
            frame("eth / ip4 / icmp(135)"),
            frame("eth / vlan(1) / ip6 / icmp6(135)"),
            frame("eth / ip6 / frag(offset=185, more=0, id=5, next=58) / hex(87 87 87 87 87 87 87 87)"),
            frame("eth / ip6 / frag(offset=1, more=1, id=5, next=58) / hex(87 00 00 00 00 00 00 00)"),
            vec![],
        ] {
            assert_eq!(ask(&mut rig, &packet), (vec![], vec![packet.clone()]));
        }
        let packet = solicitation("fe80::9", "2001:db8::1", Some(ASKER));
        rig.send("north", &packet);
        rig.breathe();
        assert_eq!((rig.take("south"), rig.take("north")), (vec![packet], vec![]));
    }

    #[test]
    fn what_breaks_a_rule_is_dropped() {
        let right = solicitation("fe80::9", "2001:db8::1", Some(ASKER));
        // Hop limit, code, checksum, and the length of an option.
        for at in [21, 55, 57, 79] {
            let mut rig = rig();
            let mut wrong = right.clone();
            wrong[at] ^= 0x40;
            assert_eq!(ask(&mut rig, &wrong), (vec![], vec![]), "{at}");
            assert_eq!(rig.counter("invalid"), 1, "{at}");
        }
        let mut rig = rig();
        for len in 55..right.len() {
            assert_eq!(ask(&mut rig, &right[..len]), (vec![], vec![]), "{len}");
        }
    }

    #[test]
    fn a_solicitation_in_fragments_is_dropped() {
        let mut rig = rig();
        let first = frame(
            "eth(dst=02:00:00:00:00:01) / ip6(hops=255) / frag(offset=0, more=1, id=5, next=58) / icmp6(135) / pad(16)",
        );
        assert_eq!(ask(&mut rig, &first), (vec![], vec![]));
        assert_eq!(rig.counter("invalid"), 1);
    }

    #[test]
    fn who_cannot_be_reached_gets_no_answer() {
        let group = Mac([1, 0, 0x5e, 0, 0, 1]);
        let mut from_group = solicitation("fe80::9", "2001:db8::1", Some(ASKER));
        from_group[6..12].copy_from_slice(&group.0);
        let mut from_nobody = solicitation("fe80::9", "2001:db8::1", Some(ASKER));
        from_nobody[6..12].fill(0);
        for packet in [
            from_nobody,
            solicitation("fe80::9", "2001:db8::1", Some(Mac::ZERO)),
            solicitation("::1", "2001:db8::1", Some(ASKER)),
            solicitation("::ffff:192.0.2.9", "2001:db8::1", Some(ASKER)),
            solicitation("ff02::9", "2001:db8::1", Some(ASKER)),
            solicitation("fe80::9", "2001:db8::1", Some(group)),
            solicitation("fe80::9", "2001:db8::1", Some(Mac::BROADCAST)),
            from_group,
        ] {
            let mut rig = rig();
            assert_eq!(ask(&mut rig, &packet), (vec![], vec![]));
            assert_eq!(rig.counter("invalid"), 1);
        }
    }

    #[test]
    fn options_are_checked() {
        let options: NdResponder = read("ip = 'ff02::1'\nmac = '02:00:00:00:00:01'").unwrap();
        assert_eq!(options.check().unwrap_err().to_string(), "`ip`: ff02::1 is not the address of one host");
        let options: NdResponder = read("ip = []\nmac = '02:00:00:00:00:01'").unwrap();
        assert_eq!(options.check().unwrap_err().to_string(), "`ip`: is empty: which addresses?");
    }
}
