//! `gre`: carries Ethernet frames over IPv4 or IPv6 (RFC 2784; with a key, RFC 2890).
//!
//! | inputs, outputs | `decapsulated`, frames; `encapsulated`, packets between the two ends |
//! |---|---|
//! | `local_address`, `remote_address` | IP addresses of the ends, both of one version |
//! | `key` | what is sent as key and must be received; unless set, there is none |
//! | `default_gateway_mac` | hardware address that packets are sent to; zero unless set |
//! | `local_mac` | hardware address that packets are sent from; zero unless set |
//! | `hop_limit` | 1 to 255; 64 unless set |
//! | `dont_fragment` | whether IPv4 packets must not be cut on their way; `true` unless set. IPv6 packets are cut by their sender only |
//! | drops `length_errors` | counts packets that are cut, and frames that would become longer than 65535 bytes, or than 10240 while the pool has no large packet |
//! | drops `protocol_errors` | counts packets that are something else, carry something else than frames, are fragments, or have an IPv4 header with options or a wrong checksum |
//! | drops `remote_address_errors`, `local_address_errors` | count packets from or for somebody else |
//! | drops `key_errors` | counts packets with another key, or with one where there is to be none |
//! | drops `checksum_errors` | counts packets with a wrong checksum of GRE; it need not be there |
//!
//! This is what Linux calls `gretap`. Sequence numbers are passed over. Nothing is fragmented, and packets that are fragments are
//! dropped: put a `fragmenter` and a `reassembler` on the encapsulated side, and over IPv4 set `dont_fragment = false`. There is an
//! identification for each of 65536 packets only, so that at high rates fragments of different packets may be joined where some are
//! lost (RFC 4963): a network that takes longer packets is better.

use crate::shared::outer::{Ends, Outer, OverIp, PORTS, Tunnel, dont_fragment, hop_limit, no_mac};
use crate::shared::text;
use engine::shm::Counter;
use engine::{App, Class, Io, OptionError, Packet, Passage, Ports, Setup};
use serde::Deserialize;
use std::net::IpAddr;
use std::ops::Range;
use wire::ether::Mac;
use wire::ip::protocol;
use wire::tunnel::{Gre as View, GreHeader, TRANSPARENT_ETHERNET};

/// Options of `gre`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gre {
    /// Address of this end.
    pub local_address: IpAddr,
    /// Address of the other end.
    pub remote_address: IpAddr,
    /// The key that is sent, and must be received.
    #[serde(default)]
    pub key: Option<u32>,
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
}

/// A running `gre`.
#[derive(Debug)]
pub struct Running {
    outer: Outer,
    /// The bytes before each frame.
    header: Vec<u8>,
    key: Option<u32>,
    key_errors: Counter,
    checksum_errors: Counter,
}

impl Gre {
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

impl Class for Gre {
    const TYPE: &'static str = "gre";
    const INPUTS: Ports = PORTS;
    const OUTPUTS: Ports = PORTS;
    const PASSAGE: Passage = Passage::Across;
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        self.ends().check()
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        let header = GreHeader { key: self.key, ..GreHeader::carrying(TRANSPARENT_ETHERNET) };
        let mut bytes = vec![0; header.header_len()];
        let _ = header.write(&mut bytes);
        Ok(Running {
            outer: Outer::new(&self.ends(), protocol::GRE, setup)?,
            header: bytes,
            key: self.key,
            key_errors: setup.drops("key_errors"),
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

    #[inline]
    fn encapsulate(&mut self, packet: &mut Packet) -> bool {
        if packet.prepend(&self.header).is_err() {
            return false;
        }
        let is_wrapped = self.outer.wrap(packet);
        if !is_wrapped {
            packet.trim_front(self.header.len());
        }
        is_wrapped
    }

    fn frame(&self, data: &[u8]) -> Result<Range<usize>, &Counter> {
        let message = self.outer.unwrap(data)?;
        let gre = View::new(&data[message.clone()]).ok_or(self.outer.protocol_errors())?;
        if gre.protocol() != TRANSPARENT_ETHERNET {
            Err(self.outer.protocol_errors())
        } else if gre.key() != self.key {
            Err(&self.key_errors)
        } else if !gre.is_checksum_right() {
            Err(&self.checksum_errors)
        } else {
            Ok(message.start + gre.header_len()..message.end)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Gre;
    use crate::testing::{frame, read};
    use crate::{Fragmenter, Reassembler};
    use engine::{Class, MAX_LARGE_PAYLOAD, MAX_PAYLOAD, Metadata};
    use testkit::rig::Rig;
    use wire::ip::Ipv4;

    const PORTS: [&str; 2] = ["decapsulated", "encapsulated"];
    const NEAR: &str = "
        local_address = '192.0.2.1'
        remote_address = '192.0.2.2'
        default_gateway_mac = '02:00:00:00:00:99'
        local_mac = '02:00:00:00:00:11'
        hop_limit = 33";
    const FAR: &str = "local_address = '192.0.2.2'\nremote_address = '192.0.2.1'";
    const NEAR_V6: &str = "local_address = '2001:db8::1'\nremote_address = '2001:db8::2'\nkey = 7";
    const FAR_V6: &str = "local_address = '2001:db8::2'\nremote_address = '2001:db8::1'\nkey = 7";

    fn rig(options: &str) -> Rig {
        Rig::new(read::<Gre>(options).unwrap(), &PORTS, &PORTS)
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
        let out = through(NEAR, "decapsulated", &[b"frame".to_vec()]);
        let outer = "eth(dst=02:00:00:00:00:99, src=02:00:00:00:00:11) / ip4(id=0, df=1, ttl=33, proto=47)";
        assert_eq!(out, [frame(&format!("{outer} / hex(00 00 65 58) / 'frame'"))]);
        let out = through(NEAR_V6, "decapsulated", &[b"frame".to_vec()]);
        let outer = "eth(dst=00:00:00:00:00:00, src=00:00:00:00:00:00) / ip6(next=47)";
        assert_eq!(out, [frame(&format!("{outer} / hex(20 00 65 58 00 00 00 07) / 'frame'"))]);
    }

    #[test]
    fn the_other_end_gets_them_back() {
        let lens =
            [0, 1, 60, 1514, MAX_PAYLOAD - 62, MAX_LARGE_PAYLOAD - 62, MAX_PAYLOAD - 39, MAX_PAYLOAD - 1];
        let frames: Vec<Vec<u8>> = lens.map(|len| vec![7; len]).into();
        for (near, far) in [(NEAR, FAR), (NEAR_V6, FAR_V6)] {
            let packets = through(near, "decapsulated", &frames);
            assert!(through(far, "encapsulated", &packets) == frames, "{near}");
        }
    }

    #[test]
    fn what_a_fragmenter_cuts_gets_through() {
        let frames: Vec<Vec<u8>> = (0..200_u8).map(|i| vec![i; 300 + usize::from(i)]).collect();
        for (near, far, is_cut) in [
            (&format!("{NEAR}\ndont_fragment = false")[..], FAR, true),
            (NEAR_V6, FAR_V6, true),
            (NEAR, FAR, false),
        ] {
            let packets = through(near, "decapsulated", &frames);
            let mut fragmenter = Rig::new(Fragmenter { mtu: 256 }, &["input"], &["output"]);
            let fragments = fragmenter.pass(&packets.iter().map(Vec::as_slice).collect::<Vec<_>>());
            assert_eq!(fragments.is_empty(), !is_cut);
            let mut reassembler = Rig::new(Reassembler::default(), &["input"], &["output"]);
            let packets = reassembler.pass(&fragments.iter().map(Vec::as_slice).collect::<Vec<_>>());
            let expected = if is_cut { &frames[..] } else { &[] };
            assert!(through(far, "encapsulated", &packets) == expected, "{near}");
        }
    }

    #[test]
    fn packets_that_may_be_cut_have_identifications() {
        let frames = vec![vec![7; 60]; 300];
        let packets = through(&format!("{NEAR}\ndont_fragment = false"), "decapsulated", &frames);
        let views: Vec<_> = packets.iter().map(|packet| Ipv4::new(&packet[14..]).unwrap()).collect();
        assert!(views.iter().all(|ip| ip.is_checksum_right() && !ip.has_dont_fragment()));
        assert!(views.windows(2).all(|two| two[0].ident().wrapping_add(1) == two[1].ident()));
    }

    #[test]
    fn optional_fields_and_padding_are_left_out() {
        let outer = "eth / ip4(src=192.0.2.2, dst=192.0.2.1, proto=47)";
        let mut padded = frame(&format!("{outer} / hex(00 00 65 58) / 'frame'"));
        padded.extend([0; 9]);
        let with_all = format!("{outer} / hex(90 00 65 58 df 42 00 00 00 00 00 05) / hex(66 72 61 6d)");
        let mut with_all = frame(&with_all);
        let sum = wire::checksum::checksum(&with_all[34..]);
        // As it was written, the sum is not right; made so, it is.
        assert!(through(NEAR, "encapsulated", &[with_all.clone()]).is_empty());
        let old = u16::from_be_bytes([with_all[38], with_all[39]]);
        let right = wire::checksum::Sum::new().add_u16(sum).add_u16(old).partial();
        with_all[38..40].copy_from_slice(&right.to_be_bytes());
        assert_eq!(through(NEAR, "encapsulated", &[padded, with_all]), [&b"frame"[..], b"fram"]);
    }

    #[test]
    fn a_frame_lacks_nothing_that_stood_behind_its_packet() {
        let mut rig = rig(NEAR);
        let cut = Metadata { cut_len: 4, ..Metadata::default() };
        let packet = frame("eth / ip4(src=192.0.2.2, dst=192.0.2.1, proto=47) / hex(00 00 65 58) / 'frame'");
        rig.send_with("encapsulated", packet, cut);
        // Here it cannot be told where the packet was cut.
        rig.send_with("decapsulated", "frame", cut);
        rig.breathe();
        assert_eq!(rig.received("decapsulated")[0].metadata.cut_len, 0);
        assert_eq!(rig.received("encapsulated")[0].metadata.cut_len, 4);
    }

    #[test]
    fn packets_of_others_are_counted_by_what_is_wrong() {
        for (options, line, reason) in [
            (
                NEAR,
                "eth / ip4(src=192.0.2.3, dst=192.0.2.1, proto=47) / hex(00 00 65 58)",
                "remote_address_errors",
            ),
            (
                NEAR,
                "eth / ip4(src=192.0.2.2, dst=192.0.2.3, proto=47) / hex(00 00 65 58)",
                "local_address_errors",
            ),
            (NEAR, "eth / ip4(src=192.0.2.2, dst=192.0.2.1, proto=46) / hex(00 00 65 58)", "protocol_errors"),
            (
                NEAR,
                "eth / ip4(src=192.0.2.2, dst=192.0.2.1, proto=47, mf=1) / hex(00 00 65 58)",
                "protocol_errors",
            ),
            (
                NEAR,
                "eth / ip4(src=192.0.2.2, dst=192.0.2.1, proto=47, sum=1) / hex(00 00 65 58)",
                "protocol_errors",
            ),
            (NEAR, "eth / ip4(src=192.0.2.2, dst=192.0.2.1, proto=47) / hex(00 00 08 00)", "protocol_errors"),
            (NEAR, "eth / ip4(src=192.0.2.2, dst=192.0.2.1, proto=47) / hex(00 01 65 58)", "protocol_errors"),
            (NEAR, "eth / ip4(src=192.0.2.2, dst=192.0.2.1, proto=47) / hex(00 00 65)", "protocol_errors"),
            (
                NEAR,
                "eth / ip4(src=192.0.2.2, dst=192.0.2.1, proto=47, len=99) / hex(00 00 65 58)",
                "length_errors",
            ),
            (
                NEAR,
                "eth / ip4(src=192.0.2.2, dst=192.0.2.1, proto=47) / hex(20 00 65 58 00 00 00 07)",
                "key_errors",
            ),
            (NEAR, "eth / ip6 / hex(00 00 65 58)", "protocol_errors"),
            (NEAR, "eth / cut(13)", "length_errors"),
            (
                NEAR_V6,
                "eth / ip6(src=2001:db8::2, dst=2001:db8::1, next=47) / hex(00 00 65 58)",
                "key_errors",
            ),
            (
                NEAR_V6,
                "eth / ip6(src=2001:db8::2, dst=2001:db8::1, next=47) / hex(20 00 65 58 00 00 00 08)",
                "key_errors",
            ),
            (
                NEAR_V6,
                "eth / ip6(src=2001:db8::2, dst=2001:db8::3, next=47) / hex(20 00 65 58 00 00 00 07)",
                "local_address_errors",
            ),
        ] {
            let mut rig = rig(options);
            rig.send("encapsulated", frame(line));
            rig.breathe();
            assert!(rig.take("decapsulated").is_empty(), "{line}");
            assert_eq!(rig.counter(reason), 1, "{line}");
        }
    }

    #[test]
    fn what_is_too_long_is_dropped() {
        let mut rig = rig(NEAR);
        rig.send("decapsulated", vec![7; MAX_LARGE_PAYLOAD - 37]);
        rig.send("decapsulated", vec![7; MAX_LARGE_PAYLOAD]);
        rig.breathe();
        assert_eq!(rig.counter("length_errors"), 2);
    }

    #[test]
    fn options_are_checked() {
        let options: Gre = read("local_address = '192.0.2.1'\nremote_address = '2001:db8::1'").unwrap();
        let error = options.check().unwrap_err().to_string();
        assert_eq!(
            error,
            "`remote_address`: 2001:db8::1 is not of the same version as `local_address`, 192.0.2.1"
        );
        for (local, remote, mac, message) in [
            ("0.0.0.0", "192.0.2.2", "00", "`local_address`: 0.0.0.0 is not the address of one host"),
            ("192.0.2.1", "224.0.0.1", "00", "`remote_address`: 224.0.0.1 is not the address of one host"),
            ("2001:db8::1", "ff02::1", "00", "`remote_address`: ff02::1 is not the address of one host"),
            ("192.0.2.1", "192.0.2.1", "00", "`remote_address`: 192.0.2.1 is the `local_address` as well"),
            (
                "192.0.2.1",
                "192.0.2.2",
                "01",
                "`local_mac`: 01:00:00:00:00:01 is the address of a group, not of one host",
            ),
        ] {
            let text = format!(
                "local_address = '{local}'\nremote_address = '{remote}'\nlocal_mac = '{mac}:00:00:00:00:01'"
            );
            let options: Gre = read(&text).unwrap();
            assert_eq!(options.check().unwrap_err().to_string(), message);
        }
    }
}
