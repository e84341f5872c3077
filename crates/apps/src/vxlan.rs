//! `vxlan`: carries Ethernet frames in UDP over IPv4 or IPv6, marked with the number of their network (RFC 7348).
//!
//! | inputs, outputs | `decapsulated`, frames; `encapsulated`, packets between the two ends |
//! |---|---|
//! | `local_address`, `remote_address` | IP addresses of the ends, both of one version |
//! | `vni` | number of the network, 0 to 16777215 |
//! | `port` | UDP port that packets are sent to and received at; 4789 unless set |
//! | `checksum` | whether packets get a UDP checksum; unless set, over IPv6 only |
//! | `default_gateway_mac` | hardware address that packets are sent to; zero unless set |
//! | `local_mac` | hardware address that packets are sent from; zero unless set |
//! | `hop_limit` | 1 to 255; 64 unless set |
//! | `dont_fragment` | whether IPv4 packets must not be cut on their way; `true` unless set. IPv6 packets are cut by their sender only |
//! | `inner_vlan` | whether packets may bring frames with a VLAN tag; `false` unless set (RFC 7348, 6.1) |
//! | drops `length_errors` | counts packets that are cut, and frames that would become longer than 65535 bytes, or than 10240 while the pool has no large packet |
//! | drops `protocol_errors` | counts packets that are something else, are fragments, or have an IPv4 header with options or a wrong checksum |
//! | drops `remote_address_errors`, `local_address_errors` | count packets from or for somebody else |
//! | drops `vni_errors` | counts packets of other networks |
//! | drops `vlan_errors` | counts packets whose frame has a VLAN tag, without `inner_vlan` |
//! | drops `checksum_errors` | counts packets with a wrong checksum; it need not be there (RFC 6935) |
//!
//! The source port is a hash of the flow inside, so that the network between can spread flows. Nothing is learned: there is one other
//! end; a `bridge` before several of these apps makes a network of many. Nothing is fragmented (RFC 7348, 4.3, is against it): where
//! it has to be, put a `fragmenter` and a `reassembler` on the encapsulated side, and over IPv4 set `dont_fragment = false`.

use crate::shared::outer::{Ends, Outer, OverIp, PORTS, Tunnel, dont_fragment, hop_limit, no_mac};
use crate::shared::text;
use engine::shm::Counter;
use engine::{App, Class, Io, OptionError, Packet, Passage, Ports, Setup};
use serde::Deserialize;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::ops::Range;
use wire::FlowHasher;
use wire::checksum::Addresses;
use wire::ether::{Ethernet, Mac};
use wire::ip::protocol;
use wire::transport::{Udp, UdpHeader, UdpMut};
use wire::tunnel::{VXLAN_PORT, Vxlan as View, VxlanHeader, vxlan_src_port};
use wire::vlan::Vlan;

/// Options of `vxlan`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vxlan {
    /// Address of this end.
    pub local_address: IpAddr,
    /// Address of the other end.
    pub remote_address: IpAddr,
    /// Number of the network.
    pub vni: u32,
    /// UDP port that packets are sent to.
    #[serde(default = "vxlan_port")]
    pub port: u16,
    /// Whether packets get a UDP checksum.
    #[serde(default)]
    pub checksum: Option<bool>,
    /// Hardware address that packets are sent to.
    #[serde(default = "no_mac", deserialize_with = "text::one")]
    pub default_gateway_mac: Mac,
    /// Hardware address that packets are sent from.
    #[serde(default = "no_mac", deserialize_with = "text::one")]
    pub local_mac: Mac,
    /// Hop limit of what is sent.
    #[serde(default = "hop_limit")]
    pub hop_limit: u8,
    /// Whether IPv4 packets must not be cut on their way.
    #[serde(default = "dont_fragment")]
    pub dont_fragment: bool,
    /// Whether frames that are received may have a VLAN tag.
    #[serde(default)]
    pub inner_vlan: bool,
}

/// A running `vxlan`.
#[derive(Debug)]
pub struct Running {
    outer: Outer,
    vni: u32,
    port: u16,
    has_checksum: bool,
    takes_inner_vlan: bool,
    hasher: FlowHasher,
    vni_errors: Counter,
    vlan_errors: Counter,
    checksum_errors: Counter,
}

fn vxlan_port() -> u16 {
    VXLAN_PORT
}

impl Vxlan {
    fn ends(&self) -> Ends {
        Ends {
            local_address: self.local_address,
            remote_address: self.remote_address,
            local_mac: self.local_mac,
            gateway_mac: self.default_gateway_mac,
            hop_limit: self.hop_limit,
            dont_fragment: self.dont_fragment,
        }
    }
}

impl Class for Vxlan {
    const TYPE: &'static str = "vxlan";
    const INPUTS: Ports = PORTS;
    const OUTPUTS: Ports = PORTS;
    const PASSAGE: Passage = Passage::Across;
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        OptionError::all([
            self.ends().check(),
            OptionError::check_range("vni", self.vni, 0..=0xff_ffff),
            OptionError::check_range("port", self.port, 1..=u16::MAX),
        ])
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        Ok(Running {
            outer: Outer::new(&self.ends(), protocol::UDP, setup)?,
            vni: self.vni,
            port: self.port,
            has_checksum: self.checksum.unwrap_or(self.local_address.is_ipv6()),
            takes_inner_vlan: self.inner_vlan,
            hasher: FlowHasher::new(RandomState::new().hash_one(0)),
            vni_errors: setup.drops("vni_errors"),
            vlan_errors: setup.drops("vlan_errors"),
            checksum_errors: setup.drops("checksum_errors"),
        })
    }
}

impl App for Running {
    fn push(&mut self, io: &mut Io<'_>) {
        self.pass(io);
    }
}

impl OverIp for Running {
    fn outer(&self) -> &Outer {
        &self.outer
    }

    fn encapsulate(&mut self, packet: &mut Packet) -> bool {
        let len = packet.len();
        let is_done = self.put_headers(packet);
        if !is_done {
            packet.trim_front(packet.len() - len);
        }
        is_done
    }

    fn frame(&self, data: &[u8]) -> Result<Range<usize>, &Counter> {
        let datagram = self.outer.unwrap(data)?;
        let protocol_errors = self.outer.protocol_errors();
        let udp = Udp::new(&data[datagram.clone()]).ok_or(protocol_errors)?;
        if udp.dst_port() != self.port {
            return Err(protocol_errors);
        }
        if !(Udp::LEN + View::LEN..=datagram.len()).contains(&usize::from(udp.len())) {
            return Err(self.outer.length_errors());
        }
        let vxlan = View::new(udp.payload()).ok_or(protocol_errors)?;
        if vxlan.vni() != self.vni {
            return Err(&self.vni_errors);
        }
        if udp.checksum() != 0 && !udp.is_checksum_right(self.received_addresses()) {
            return Err(&self.checksum_errors);
        }
        let frame = datagram.start + Udp::LEN + View::LEN..datagram.start + usize::from(udp.len());
        // They would get past whoever keeps the VLANs on this side apart (RFC 7348, 6.1).
        if !self.takes_inner_vlan && has_vlan(&data[frame.clone()]) {
            return Err(&self.vlan_errors);
        }
        Ok(frame)
    }
}

impl Running {
    /// Puts all headers before a frame, or some, and `false`, if it becomes too long.
    #[inline]
    fn put_headers(&mut self, packet: &mut Packet) -> bool {
        let src_port = vxlan_src_port(self.hasher.frame(packet.data()).value);
        if packet.prepend(&VxlanHeader { vni: self.vni }.to_bytes()).is_err() {
            return false;
        }
        let Some(udp) = UdpHeader::carrying(packet.len(), src_port, self.port) else { return false };
        if packet.prepend(&udp.to_bytes()).is_err() {
            return false;
        }
        if self.has_checksum
            && let Some(mut udp) = UdpMut::new(packet.data_mut())
        {
            let _ = udp.fill_checksum(self.outer.addresses());
        }
        self.outer.wrap(packet)
    }

    /// The addresses of what is received.
    fn received_addresses(&self) -> Addresses {
        match self.outer.addresses() {
            Addresses::V4 { src, dst } => Addresses::V4 { src: dst, dst: src },
            Addresses::V6 { src, dst } => Addresses::V6 { src: dst, dst: src },
        }
    }
}

#[inline]
fn has_vlan(frame: &[u8]) -> bool {
    Ethernet::new(frame).is_some_and(|ether| Vlan::follows(ether.ethertype()))
}

#[cfg(test)]
mod tests {
    use super::Vxlan;
    use crate::testing::{frame, read};
    use engine::{Class, MAX_LARGE_PAYLOAD, MAX_PAYLOAD};
    use testkit::rig::Rig;
    use wire::ether::Ethernet;
    use wire::ip::{Ipv4, Ipv6};
    use wire::transport::Udp;

    const PORTS: [&str; 2] = ["decapsulated", "encapsulated"];
    const NEAR: &str = "local_address = '192.0.2.1'\nremote_address = '192.0.2.2'\nvni = 5000";
    const FAR: &str = "local_address = '192.0.2.2'\nremote_address = '192.0.2.1'\nvni = 5000";
    const NEAR_V6: &str = "local_address = '2001:db8::1'\nremote_address = '2001:db8::2'\nvni = 5000";
    const FAR_V6: &str = "local_address = '2001:db8::2'\nremote_address = '2001:db8::1'\nvni = 5000";
    /// What the other end of [`NEAR`] sends.
    const OUTER: &str = "eth / ip4(src=192.0.2.2, dst=192.0.2.1)";

    fn rig(options: &str) -> Rig {
        Rig::new(read::<Vxlan>(options).unwrap(), &PORTS, &PORTS)
    }

    /// What a tunnel makes of packets at one port.
    fn through(options: &str, port: &str, packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let mut rig = rig(options);
        packets.iter().for_each(|packet| rig.send(port, packet));
        rig.breathe();
        rig.take(if port == PORTS[0] { PORTS[1] } else { PORTS[0] })
    }

    #[test]
    fn frames_get_headers() {
        let inner = frame("eth / ip4 / tcp");
        let out = through(NEAR, "decapsulated", std::slice::from_ref(&inner));
        let ip = Ipv4::new(Ethernet::new(&out[0]).unwrap().payload()).unwrap();
        assert!(ip.is_checksum_right() && ip.has_dont_fragment());
        let udp = Udp::new(ip.payload()).unwrap();
        assert_eq!((udp.dst_port(), udp.checksum(), usize::from(udp.len())), (4789, 0, 16 + inner.len()));
        assert!(udp.src_port() >= 49152);
        assert_eq!(udp.payload(), [&[8, 0, 0, 0, 0, 0x13, 0x88, 0][..], &inner].concat());

        let out = through(NEAR_V6, "decapsulated", &[inner]);
        let ip = Ipv6::new(Ethernet::new(&out[0]).unwrap().payload()).unwrap();
        let udp = Udp::new(ip.payload()).unwrap();
        assert!(udp.checksum() != 0 && udp.is_checksum_right(ip.addresses()));
    }

    #[test]
    fn flows_keep_their_source_port() {
        let line = |sport| frame(&format!("eth / ip4 / tcp(sport={sport}) / 'x'"));
        let packets: Vec<_> = (0..100).map(line).chain((0..100).map(line)).collect();
        let out = through(NEAR, "decapsulated", &packets);
        let ports: Vec<[u8; 2]> = out.iter().map(|packet| [packet[34], packet[35]]).collect();
        assert_eq!(ports[..100], ports[100..]);
        assert!(ports.iter().collect::<std::collections::BTreeSet<_>>().len() > 90);
    }

    #[test]
    fn the_other_end_gets_them_back() {
        let lens = [0, 1, 60, 1514, MAX_PAYLOAD - 70, 20_000, MAX_LARGE_PAYLOAD - 70];
        let frames: Vec<Vec<u8>> = lens.map(|len| vec![7; len]).into();
        for (near, far) in [(NEAR, FAR), (NEAR_V6, FAR_V6)] {
            for extra in ["", "\nchecksum = true", "\nchecksum = false"] {
                let packets = through(&format!("{near}{extra}"), "decapsulated", &frames);
                assert!(through(far, "encapsulated", &packets) == frames, "{near}{extra}");
            }
        }
    }

    #[test]
    fn packets_of_others_are_counted_by_what_is_wrong() {
        for (packet, reason) in [
            (format!("{OUTER} / udp(dport=4790) / vxlan(5000) / 'x'"), "protocol_errors"),
            (format!("{OUTER} / udp(dport=4789) / vxlan(5000, flags=0) / 'x'"), "protocol_errors"),
            (format!("{OUTER} / tcp(dport=4789) / vxlan(5000) / 'x'"), "protocol_errors"),
            (format!("{OUTER} / udp(dport=4789) / vxlan(5001) / 'x'"), "vni_errors"),
            (format!("{OUTER} / udp(dport=4789, sum=0x1234) / vxlan(5000) / 'x'"), "checksum_errors"),
            (format!("{OUTER} / udp(dport=4789, len=15) / vxlan(5000) / 'x'"), "length_errors"),
            (format!("{OUTER} / udp(dport=4789, len=99) / vxlan(5000) / 'x'"), "length_errors"),
            (format!("{OUTER} / udp(dport=4789) / vxlan(5000) / 'x' / cut(50)"), "length_errors"),
            (
                "eth / ip4(src=192.0.2.3, dst=192.0.2.1) / udp(dport=4789) / vxlan(5000)".into(),
                "remote_address_errors",
            ),
            (
                "eth / ip4(src=192.0.2.2, dst=192.0.2.3) / udp(dport=4789) / vxlan(5000)".into(),
                "local_address_errors",
            ),
            ("eth / arp".into(), "protocol_errors"),
            ("hex()".into(), "length_errors"),
        ] {
            let mut rig = rig(NEAR);
            rig.send("encapsulated", frame(&packet));
            rig.breathe();
            assert!(rig.take("decapsulated").is_empty(), "{packet}");
            assert_eq!(rig.counter(reason), 1, "{packet}");
        }
    }

    #[test]
    fn trailers_and_reserved_bits_are_passed_over() {
        let mut packet =
            frame(&format!("{OUTER} / udp(dport=4789) / vxlan(5000, flags=0xff, reserved=7) / 'inner'"));
        packet.extend([0; 9]);
        assert_eq!(through(NEAR, "encapsulated", &[packet]), [b"inner"]);
    }

    /// RFC 7348, 6.1.
    #[test]
    fn frames_with_a_tag_pass_if_they_may() {
        let tagged = ["eth / vlan(5) / ip4 / udp", "eth(type=0x88a8) / vlan(5) / ip4 / udp"].map(frame);
        let frames = [&tagged[..], &[frame("eth / ip4 / udp")]].concat();
        let packets = through(FAR, "decapsulated", &frames);
        assert_eq!(through(&format!("{NEAR}\ninner_vlan = true"), "encapsulated", &packets), frames);
        let mut rig = rig(NEAR);
        packets.iter().for_each(|packet| rig.send("encapsulated", packet));
        rig.breathe();
        assert_eq!(rig.take("decapsulated"), frames[2..]);
        assert_eq!(rig.counter("vlan_errors"), 2);
    }

    #[test]
    fn what_is_too_long_is_dropped() {
        let mut rig = rig(NEAR);
        for less in [49, 40, 7, 0] {
            rig.send("decapsulated", vec![7; MAX_LARGE_PAYLOAD - less]);
        }
        rig.breathe();
        assert_eq!(rig.counter("length_errors"), 4);
    }

    #[test]
    fn what_becomes_long_takes_a_large_packet_if_there_is_one() {
        // None of the headers has room, then all but the last, or but the last two.
        let frames: Vec<Vec<u8>> = [0, 10, 45].map(|less| vec![less as u8; MAX_PAYLOAD - less]).into();
        for (near, far, large) in [(NEAR, FAR, 3), (NEAR_V6, FAR_V6, 3), (NEAR, FAR, 2), (NEAR, FAR, 0)] {
            let mut rig = Rig::with_large(read::<Vxlan>(near).unwrap(), &PORTS, &PORTS, 64, large);
            frames.iter().for_each(|frame| rig.send("decapsulated", frame));
            rig.breathe();
            let packets = rig.take("encapsulated");
            assert_eq!((packets.len(), rig.counter("length_errors")), (large, 3 - large as u64));
            assert!(through(far, "encapsulated", &packets) == frames[..large]);
        }
    }

    #[test]
    fn options_are_checked() {
        let options: Vxlan = read(&NEAR.replace("5000", "16777216")).unwrap();
        assert_eq!(options.check().unwrap_err().to_string(), "`vni`: 16777216 is not between 0 and 16777215");
        assert!(read::<Vxlan>("vni = 1").is_err());
    }
}
