//! `keyed_ipv6_tunnel`: carries Ethernet frames over IPv6, guarded by a cookie (RFC 8159).
//!
//! ```text
//!              ┌────────┐              Ethernet 14 │ IPv6 40 │ session 4 │ cookie 8 │ frame
//! decapsulated │        │ encapsulated
//! ─────────────┤ tunnel ├─────────────
//!   frames     │        │   packets between the two ends
//!              └────────┘
//! ```
//!
//! | inputs, outputs | `decapsulated`, `encapsulated` |
//! |---|---|
//! | `local_address`, `remote_address` | IPv6 addresses of the ends |
//! | `local_cookie` | what is sent: pairs of hexadecimal digits, 8 at most; fewer are filled up with zeros at the end |
//! | `remote_cookie` | what must be received |
//! | `local_session` | what is sent as session; 4294967295 unless set, which means none (RFC 8159, 4) |
//! | `default_gateway_mac` | hardware address that packets are sent to; zero unless set. Also `default_gateway_MAC` |
//! | `local_mac` | hardware address that packets are sent from; zero unless set |
//! | `hop_limit` | 1 to 255; 64 unless set |
//! | drops `length_errors` | counts packets that are cut, and frames that would become longer than 65535 bytes, or than 10240 while the pool has no large packet |
//! | drops `protocol_errors` | counts packets that are something else, also control messages and fragments |
//! | drops `remote_address_errors`, `local_address_errors` | count packets from or for somebody else |
//! | drops `cookie_errors` | counts packets with another cookie |
//!
//! Ports, options and counters are those of Snabb's `SimpleKeyedTunnel`. Unlike there, an address is looked at before the
//! cookie, and what follows the packet in its frame is left out of the frame inside. Sessions of packets received are not looked at, as
//! the addresses say which tunnel it is. Nothing is fragmented: the network between must take 66 bytes more.

mod pattern;

use crate::shared::host::{check_ends, check_mac};
use crate::shared::outer::{Counters, PORTS, Tunnel, hop_limit, no_mac};
use crate::shared::text;
use engine::shm::Counter;
use engine::{App, Class, Io, OptionError, Packet, Passage, Ports, Setup};
use pattern::Pattern;
use serde::Deserialize;
use std::fmt;
use std::net::Ipv6Addr;
use std::ops::Range;
use std::str::FromStr;
use wire::ether::{Ethernet, EthernetHeader, Mac, ethertype};
use wire::ip::{Ipv6, Ipv6Header, protocol};
use wire::tunnel::{KeyedTunnel, KeyedTunnelHeader, SESSION_ANY};

/// Options of `keyed_ipv6_tunnel`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyedIpv6Tunnel {
    /// Address of this end.
    pub local_address: Ipv6Addr,
    /// Address of the other end.
    pub remote_address: Ipv6Addr,
    /// The cookie that is sent.
    #[serde(deserialize_with = "text::one")]
    pub local_cookie: Cookie,
    /// The cookie that must be received.
    #[serde(deserialize_with = "text::one")]
    pub remote_cookie: Cookie,
    /// The session that is sent.
    #[serde(default = "session_any")]
    pub local_session: u32,
    /// Hardware address that packets are sent to.
    #[serde(default = "no_mac", deserialize_with = "text::one", alias = "default_gateway_MAC")]
    pub default_gateway_mac: Mac,
    /// Hardware address that packets are sent from.
    #[serde(default = "no_mac", deserialize_with = "text::one")]
    pub local_mac: Mac,
    /// Hop limit of what is sent.
    #[serde(default = "hop_limit")]
    pub hop_limit: u8,
}

/// A cookie, which guards a tunnel against packets that were not meant for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cookie(pub [u8; 8]);

/// A running `keyed_ipv6_tunnel`.
#[derive(Debug)]
pub struct Running {
    /// The bytes before each frame that is sent, all but the length.
    header: [u8; HEADER_LEN],
    /// The bytes before each frame that is received.
    expected: Pattern<HEADER_LEN>,
    local: Ipv6Addr,
    remote: Ipv6Addr,
    counters: Counters,
    cookie_errors: Counter,
}

/// Ethernet, IPv6, session and cookie.
const HEADER_LEN: usize = Ethernet::LEN + Ipv6::LEN + KeyedTunnel::LEN;
/// Where the header says how long what follows is.
const PAYLOAD_LEN_AT: usize = Ethernet::LEN + Ipv6::PAYLOAD_LEN_AT;

fn session_any() -> u32 {
    SESSION_ANY
}

impl Class for KeyedIpv6Tunnel {
    const TYPE: &'static str = "keyed_ipv6_tunnel";
    const INPUTS: Ports = PORTS;
    const OUTPUTS: Ports = PORTS;
    const PASSAGE: Passage = Passage::Across;
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        OptionError::all([
            OptionError::check_range("local_session", self.local_session, 1..=u32::MAX),
            OptionError::check_range("hop_limit", self.hop_limit, 1..=u8::MAX),
            check_mac("local_mac", self.local_mac),
            check_ends(self.local_address, self.remote_address),
        ])
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        Ok(Running {
            header: self.sent(),
            local: self.local_address,
            remote: self.remote_address,
            expected: Pattern::common(self.received(0), self.received(u32::MAX)),
            counters: Counters::new(setup),
            cookie_errors: setup.drops("cookie_errors"),
        })
    }
}

impl KeyedIpv6Tunnel {
    /// The headers that are sent, without the length.
    fn sent(&self) -> [u8; HEADER_LEN] {
        let ether =
            EthernetHeader { dst: self.default_gateway_mac, src: self.local_mac, ethertype: ethertype::IPV6 };
        let ip = Ipv6Header {
            traffic_class: 0,
            flow_label: 0,
            payload_len: 0,
            next_header: protocol::L2TP,
            hop_limit: self.hop_limit,
            src: self.local_address,
            dst: self.remote_address,
        };
        headers(ether, ip, KeyedTunnelHeader { session: self.local_session, cookie: self.local_cookie.0 })
    }

    /// The headers that are received, with these bits in all fields that are not compared.
    fn received(&self, bits: u32) -> [u8; HEADER_LEN] {
        let mac = Mac([bits as u8; 6]);
        let ip = Ipv6Header {
            traffic_class: bits as u8,
            flow_label: bits & 0xf_ffff,
            payload_len: bits as u16,
            next_header: protocol::L2TP,
            hop_limit: bits as u8,
            src: self.remote_address,
            dst: self.local_address,
        };
        let tunnel = KeyedTunnelHeader { session: bits, cookie: self.remote_cookie.0 };
        headers(EthernetHeader { dst: mac, src: mac, ethertype: ethertype::IPV6 }, ip, tunnel)
    }
}

fn headers(ether: EthernetHeader, ip: Ipv6Header, tunnel: KeyedTunnelHeader) -> [u8; HEADER_LEN] {
    let mut headers = [0; HEADER_LEN];
    let (front, back) = headers.split_at_mut(Ethernet::LEN);
    front.copy_from_slice(&ether.to_bytes());
    let (front, back) = back.split_at_mut(Ipv6::LEN);
    front.copy_from_slice(&ip.to_bytes());
    back.copy_from_slice(&tunnel.to_bytes());
    headers
}

impl App for Running {
    fn push(&mut self, io: &mut Io<'_>) {
        self.pass(io);
    }
}

impl Tunnel for Running {
    #[inline]
    fn encapsulator(&mut self) -> impl FnMut(&mut Packet) -> bool {
        let header = self.header;
        #[inline(always)]
        move |packet: &mut Packet| {
            let payload_len = (packet.len() + KeyedTunnel::LEN) as u16;
            let Ok(front) = packet.open_header() else { return false };
            *front = header;
            front[PAYLOAD_LEN_AT..PAYLOAD_LEN_AT + 2].copy_from_slice(&payload_len.to_be_bytes());
            true
        }
    }

    #[inline]
    fn decapsulator(&self) -> impl FnMut(&mut Packet) -> bool {
        let expected = self.expected;
        #[inline(always)]
        move |packet: &mut Packet| {
            let Some(frame) = frame_of(packet.data(), &expected) else { return false };
            packet.narrow(frame);
            true
        }
    }

    fn length_errors(&self) -> &Counter {
        &self.counters.length
    }

    fn why_not(&self, data: &[u8]) -> &Counter {
        let counters = &self.counters;
        let Some(ether) = Ethernet::new(data) else { return &counters.length };
        let ip = Ipv6::new(ether.payload());
        let Some(ip) = ip.filter(|_| ether.ethertype() == ethertype::IPV6) else { return &counters.protocol };
        let payload_len = usize::from(ip.payload_len());
        let is_whole = ip.payload().len() == payload_len && payload_len >= KeyedTunnel::LEN;
        if ip.next_header() != protocol::L2TP {
            &counters.protocol
        } else if !is_whole {
            &counters.length
        } else if ip.src() != self.remote {
            &counters.remote_address
        } else if ip.dst() != self.local {
            &counters.local_address
        } else if KeyedTunnel::new(ip.payload()).is_none() {
            &counters.protocol
        } else {
            &self.cookie_errors
        }
    }
}

/// Where the frame is in a packet of this tunnel.
#[inline(always)]
fn frame_of(packet: &[u8], expected: &Pattern<HEADER_LEN>) -> Option<Range<usize>> {
    let header = packet.first_chunk::<HEADER_LEN>()?;
    let payload_len = u16::from_be_bytes([header[PAYLOAD_LEN_AT], header[PAYLOAD_LEN_AT + 1]]);
    let end = Ethernet::LEN + Ipv6::LEN + usize::from(payload_len);
    let is_whole = (HEADER_LEN..=packet.len()).contains(&end);
    let has_session = KeyedTunnel::new(&header[Ethernet::LEN + Ipv6::LEN..]).is_some();
    (is_whole && has_session && expected.fits(header)).then_some(HEADER_LEN..end)
}

impl FromStr for Cookie {
    type Err = ParseCookieError;

    fn from_str(text: &str) -> Result<Self, ParseCookieError> {
        let error = || ParseCookieError(text.to_owned());
        let is_hex = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hex || text.len() > 16 || !text.len().is_multiple_of(2) {
            return Err(error());
        }
        u64::from_str_radix(&format!("{text:0<16}"), 16)
            .map(|bits| Cookie(bits.to_be_bytes()))
            .map_err(|_| error())
    }
}

/// A text is not a cookie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseCookieError(String);

impl fmt::Display for ParseCookieError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no cookie; write up to 8 bytes as pairs of hexadecimal digits", self.0)
    }
}

impl std::error::Error for ParseCookieError {}

#[cfg(test)]
mod tests {
    use super::{Cookie, KeyedIpv6Tunnel};
    use crate::testing::read;
    use engine::{Class, MAX_LARGE_PAYLOAD, MAX_PAYLOAD, Metadata};
    use testkit::rig::Rig;

    const PORTS: [&str; 2] = ["decapsulated", "encapsulated"];
    const OPTIONS: &str = "
        local_address = '2001:db8::1'
        remote_address = '2001:db8::2'
        local_cookie = '1122334455667788'
        remote_cookie = '8877665544332211'
        default_gateway_MAC = '02:00:00:00:00:99'
        local_mac = '02:00:00:00:00:11'
        hop_limit = 33";

    /// The tunnel with its ends exchanged: what it sends, the tunnel above takes.
    const OTHER_END: &str = "
        local_address = '2001:db8::2'
        remote_address = '2001:db8::1'
        local_cookie = '8877665544332211'
        remote_cookie = '1122334455667788'";

    fn rig(options: &str) -> Rig {
        Rig::new(read::<KeyedIpv6Tunnel>(options).unwrap(), &PORTS, &PORTS)
    }

    /// What a tunnel makes of frames.
    fn encapsulated(options: &str, frames: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut rig = rig(options);
        frames.iter().for_each(|frame| rig.send("decapsulated", frame));
        rig.breathe();
        rig.take("encapsulated")
    }

    #[test]
    fn a_frame_gets_66_bytes() {
        let expected: &[u8] = b"\x02\0\0\0\0\x99\x02\0\0\0\0\x11\x86\xdd\
            \x60\0\0\0\0\x11\x73\x21\
            \x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x02\
            \xff\xff\xff\xff\x11\x22\x33\x44\x55\x66\x77\x88frame";
        assert_eq!(encapsulated(OPTIONS, &[b"frame"]), [expected]);
    }

    #[test]
    fn the_other_end_gets_it_back() {
        let lens = [0, 1, 60, 1514, MAX_PAYLOAD - 66, 30_000, MAX_LARGE_PAYLOAD - 66, MAX_PAYLOAD - 65];
        let frames: Vec<Vec<u8>> = lens.map(|len| vec![7; len]).into();
        let packets = encapsulated(OTHER_END, &frames.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let mut rig = rig(OPTIONS);
        packets.iter().for_each(|packet| rig.send("encapsulated", packet));
        rig.breathe();
        assert!(rig.take("decapsulated") == frames);
    }

    #[test]
    fn what_is_too_long_is_dropped() {
        let mut rig = rig(OPTIONS);
        rig.send("decapsulated", vec![7; MAX_LARGE_PAYLOAD - 65]);
        rig.breathe();
        assert_eq!(rig.counter("length_errors"), 1);
    }

    #[test]
    fn packets_of_others_are_counted_by_what_is_wrong() {
        let right = encapsulated(OTHER_END, &[b"frame"]).remove(0);
        for (at, reason) in [
            (12, "protocol_errors"),
            (14, "protocol_errors"),
            (20, "protocol_errors"),
            (18, "length_errors"),
            (19, "length_errors"),
            (37, "remote_address_errors"),
            (53, "local_address_errors"),
            (58, "cookie_errors"),
            (65, "cookie_errors"),
        ] {
            let mut rig = rig(OPTIONS);
            let mut wrong = right.clone();
            wrong[at] ^= 0x80;
            rig.send("encapsulated", &wrong);
            rig.send("encapsulated", &right);
            rig.breathe();
            assert_eq!(rig.take("decapsulated"), [b"frame"], "{at}");
            assert_eq!(rig.counter(reason), 1, "{at}");
        }
    }

    #[test]
    fn no_part_of_a_packet_passes() {
        let right = encapsulated(OTHER_END, &[b"frame"]).remove(0);
        let mut rig = rig(OPTIONS);
        (0..right.len()).for_each(|len| rig.send("encapsulated", &right[..len]));
        rig.breathe();
        assert!(rig.take("decapsulated").is_empty());
        assert_eq!(rig.counter("length_errors") + rig.counter("protocol_errors"), right.len() as u64);
    }

    #[test]
    fn control_messages_and_padding_are_left_out() {
        let mut packet = encapsulated(OTHER_END, &[b"frame"]).remove(0);
        packet.extend([0; 9]);
        let mut control = packet.clone();
        control[54..58].fill(0);
        let mut rig = rig(OPTIONS);
        rig.send("encapsulated", packet);
        rig.send("encapsulated", control);
        rig.breathe();
        assert_eq!(rig.take("decapsulated"), [b"frame"]);
        assert_eq!(rig.counter("protocol_errors"), 1);
    }

    #[test]
    fn a_frame_lacks_nothing_that_stood_behind_its_packet() {
        let packet = encapsulated(OTHER_END, &[b"frame"]).remove(0);
        let mut rig = rig(OPTIONS);
        rig.send_with("encapsulated", packet, Metadata { cut_len: 4, ..Metadata::default() });
        rig.breathe();
        assert_eq!(rig.received("decapsulated")[0].metadata.cut_len, 0);
    }

    #[test]
    fn cookies_are_hexadecimal() {
        assert_eq!("12345678".parse(), Ok(Cookie([0x12, 0x34, 0x56, 0x78, 0, 0, 0, 0])));
        assert_eq!("FFeeddccbbaa9988".parse(), Ok(Cookie(*b"\xff\xee\xdd\xcc\xbb\xaa\x99\x88")));
        for text in ["", "1", "123", "xx", "112233445566778899", "+1", "é"] {
            let error = text.parse::<Cookie>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{text}` is no cookie")), "{error}");
        }
    }

    #[test]
    fn options_are_checked() {
        let options: KeyedIpv6Tunnel = read(&format!("{OTHER_END}\nlocal_session = 0")).unwrap();
        assert!(options.check().is_err());
        let options: KeyedIpv6Tunnel =
            read(&format!("{OTHER_END}\nlocal_mac = '03:00:00:00:00:01'")).unwrap();
        let error = options.check().unwrap_err().to_string();
        assert_eq!(error, "`local_mac`: 03:00:00:00:00:01 is the address of a group, not of one host");
        let same = OTHER_END.replace("db8::1", "db8::2");
        let error = read::<KeyedIpv6Tunnel>(&same).unwrap().check().unwrap_err().to_string();
        assert_eq!(error, "`remote_address`: 2001:db8::2 is the `local_address` as well");
        let error = read::<KeyedIpv6Tunnel>("local_address = '2001:db8::1'").unwrap_err().to_string();
        assert!(error.contains("missing field `remote_address`"), "{error}");
    }
}
