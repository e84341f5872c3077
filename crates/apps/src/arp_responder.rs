//! `arp_responder`: says which hardware address belongs to IPv4 addresses (RFC 826).
//!
//! | inputs, outputs | `south`, where requests come from and are answered; `north`, for everything else in both directions |
//! |---|---|
//! | `ip` | an IPv4 address, or a list of them |
//! | `mac` | the hardware address they are at |
//! | `answered` | counts requests answered |
//! | `conflicts` | counts messages of others who claim one of the addresses |
//!
//! Probes and requests are answered alike, an announcement of somebody else is not (RFC 5227, 2.3 and 2.4). Requests
//! for other addresses, or from a hardware address that no station can have, replies, frames for another station than `mac`, and frames with a VLAN tag go north.

use crate::shared::host::{check_ips, check_mac, is_station};
use crate::shared::responder::{Fate, PORTS, is_for, turn};
use crate::shared::text;
use engine::shm::Counter;
use engine::{App, Class, Io, OptionError, Packet, Ports, Setup};
use serde::Deserialize;
use std::net::Ipv4Addr;
use wire::arp::{Arp, ArpMessage, operation};
use wire::ether::{Ethernet, EthernetMut, Mac, ethertype};

/// Options of `arp_responder`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArpResponder {
    /// The addresses to answer for.
    #[serde(deserialize_with = "text::one_or_more")]
    pub ip: Vec<Ipv4Addr>,
    /// The hardware address they are at.
    #[serde(deserialize_with = "text::one")]
    pub mac: Mac,
}

/// A running `arp_responder`.
#[derive(Debug)]
pub struct Running {
    /// Sorted.
    ours: Vec<Ipv4Addr>,
    mac: Mac,
    answered: Counter,
    conflicts: Counter,
}

/// The hardware type of Ethernet.
const ETHERNET: u16 = 1;

impl Class for ArpResponder {
    const TYPE: &'static str = "arp_responder";
    const INPUTS: Ports = PORTS;
    const OUTPUTS: Ports = PORTS;
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        OptionError::all([check_ips("ip", &self.ip), check_mac("mac", self.mac)])
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        let mut ours = self.ip.clone();
        ours.sort_unstable();
        let (answered, conflicts) = (setup.counter("answered"), setup.counter("conflicts"));
        Ok(Running { ours, mac: self.mac, answered, conflicts })
    }
}

impl App for Running {
    fn push(&mut self, io: &mut Io<'_>) {
        let is_arp =
            |frame: &[u8]| Ethernet::new(frame).is_some_and(|ether| ether.ethertype() == ethertype::ARP);
        turn(io, &self.answered, is_arp, |packet| self.answer(packet));
    }
}

impl Running {
    fn answer(&self, packet: &mut Packet) -> Fate<'_> {
        let Some(mut ether) = EthernetMut::new(packet.data_mut()) else { return Fate::Pass };
        let Some(arp) = Arp::new(ether.view().payload()) else { return Fate::Pass };
        let is_ours = |ip: Ipv4Addr| self.ours.binary_search(&ip).is_ok();
        if is_ours(arp.sender_ip()) && arp.sender_mac() != self.mac {
            self.conflicts.add(1);
        }
        let is_request = arp.operation() == operation::REQUEST && arp.hardware() == ETHERNET;
        let is_announcement = arp.sender_ip() == arp.target_ip();
        let can_hear = is_station(arp.sender_mac()) && is_station(ether.view().src());
        let is_question = is_request && !is_announcement && is_ours(arp.target_ip());
        if !is_question || !can_hear || !is_for(&ether.view(), self.mac) {
            return Fate::Pass;
        }
        let asker = arp.sender_mac();
        let reply = ArpMessage::reply(&arp, self.mac).to_bytes();
        ether.set_dst(asker);
        ether.set_src(self.mac);
        ether.payload_mut()[..Arp::LEN].copy_from_slice(&reply);
        Fate::Answer
    }
}

#[cfg(test)]
mod tests {
    use super::ArpResponder;
    use crate::testing::{ask, frame, read};
    use engine::Class;
    use testkit::rig::Rig;
    use wire::arp::{Arp, ArpMessage};
    use wire::ether::{EthernetHeader, Mac, ethertype};

    const PORTS: [&str; 2] = ["south", "north"];
    const OURS: Mac = Mac([2, 0, 0, 0, 0, 1]);
    const ASKER: Mac = Mac([2, 0, 0, 0, 0, 9]);

    fn rig() -> Rig {
        let options: ArpResponder =
            read("ip = ['192.0.2.1', '192.0.2.2']\nmac = '02:00:00:00:00:01'").unwrap();
        Rig::new(options, &PORTS, &PORTS)
    }

    fn request(sender: &str, target: &str) -> ArpMessage {
        ArpMessage::request(ASKER, sender.parse().unwrap(), target.parse().unwrap())
    }

    /// A padded frame, as on a wire.
    fn framed(message: ArpMessage, dst: Mac, src: Mac) -> Vec<u8> {
        let header = EthernetHeader { dst, src, ethertype: ethertype::ARP }.to_bytes();
        [&header[..], &message.to_bytes(), &[0; 18]].concat()
    }

    #[test]
    fn requests_are_answered() {
        let mut rig = rig();
        for (sender, dst) in [("192.0.2.9", Mac::BROADCAST), ("192.0.2.9", OURS), ("0.0.0.0", Mac::BROADCAST)]
        {
            let message = request(sender, "192.0.2.2");
            let bytes = message.to_bytes();
            let reply = ArpMessage::reply(&Arp::new(&bytes).unwrap(), OURS);
            let out = ask(&mut rig, &framed(message, dst, ASKER));
            assert_eq!(out, (vec![framed(reply, ASKER, OURS)], vec![]), "{sender} {dst}");
        }
        assert_eq!((rig.counter("answered"), rig.counter("conflicts")), (3, 0));
    }

    #[test]
    fn everything_else_goes_north() {
        let mut rig = rig();
        let reply = ArpMessage { operation: 2, ..request("192.0.2.9", "192.0.2.1") };
        let mut other_hardware = framed(request("192.0.2.9", "192.0.2.1"), Mac::BROADCAST, ASKER);
        other_hardware[15] = 6;
        let of_nobody = ArpMessage { sender_mac: Mac::ZERO, ..request("192.0.2.9", "192.0.2.1") };
        let of_group = ArpMessage { sender_mac: Mac::BROADCAST, ..request("192.0.2.9", "192.0.2.1") };
        for packet in [
            framed(request("192.0.2.9", "192.0.2.3"), Mac::BROADCAST, ASKER),
            framed(reply, OURS, ASKER),
            framed(of_group, OURS, ASKER),
            framed(of_nobody, OURS, ASKER),
            framed(request("192.0.2.9", "192.0.2.1"), OURS, Mac::BROADCAST),
            framed(request("192.0.2.9", "192.0.2.1"), OURS, Mac::ZERO),
            framed(request("192.0.2.9", "192.0.2.1"), Mac([2, 0, 0, 0, 0, 7]), ASKER),
            other_hardware,
            framed(request("192.0.2.9", "192.0.2.1"), Mac::BROADCAST, ASKER)[..41].to_vec(),
            frame("eth / vlan(3) / arp"),
            frame("eth / ip4 / udp"),
            vec![],
        ] {
            assert_eq!(ask(&mut rig, &packet), (vec![], vec![packet.clone()]));
        }
        assert_eq!(rig.counter("answered"), 0);
    }

    #[test]
    fn others_who_claim_an_address_are_counted() {
        let mut rig = rig();
        let announcement = framed(request("192.0.2.1", "192.0.2.1"), Mac::BROADCAST, ASKER);
        assert_eq!(ask(&mut rig, &announcement), (vec![], vec![announcement.clone()]));
        assert_eq!(rig.counter("conflicts"), 1);
    }

    #[test]
    fn the_north_goes_south() {
        let mut rig = rig();
        let packet = framed(request("192.0.2.9", "192.0.2.1"), Mac::BROADCAST, ASKER);
        rig.send("north", &packet);
        rig.breathe();
        assert_eq!((rig.take("south"), rig.take("north")), (vec![packet], vec![]));
    }

    #[test]
    fn options_are_checked() {
        let one: ArpResponder = read("ip = '192.0.2.1'\nmac = '02:00:00:00:00:01'").unwrap();
        assert_eq!(one.ip.len(), 1);
        let group: ArpResponder = read("ip = '192.0.2.1'\nmac = '01:00:00:00:00:01'").unwrap();
        let error = group.check().unwrap_err().to_string();
        assert_eq!(error, "`mac`: 01:00:00:00:00:01 is the address of a group, not of one host");
        for (ip, message) in [
            ("[]", "`ip`: is empty: which addresses?"),
            ("'0.0.0.0'", "`ip`: 0.0.0.0 is not the address of one host"),
            ("'255.255.255.255'", "`ip`: 255.255.255.255 is not the address of one host"),
            ("['192.0.2.1', '224.0.0.1']", "`ip`: 224.0.0.1 is not the address of one host"),
        ] {
            let options: ArpResponder = read(&format!("ip = {ip}\nmac = '02:00:00:00:00:01'")).unwrap();
            assert_eq!(options.check().unwrap_err().to_string(), message);
        }
        let error =
            read::<ArpResponder>("ip = ['192.0.2']\nmac = '02:00:00:00:00:01'").unwrap_err().to_string();
        assert!(error.contains("`192.0.2`: invalid IPv4 address syntax"), "{error}");
    }
}
