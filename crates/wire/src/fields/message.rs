//! Fields of messages that TCP and UDP carry: DNS, TLS, HTTP.

use std::ops::Range;

use super::{Dissection, Header, Name, Part, Text, Value};
use crate::bytes::{array_at, u8_at, u16_at};
use crate::dns::{HEADER_LEN, name_end};
use crate::ip::protocol;
use crate::summary::tls::Hello;
use crate::transport::{Tcp, Udp};

/// The ports of DNS, of multicast DNS and of LLMNR.
const DNS_PORTS: [u16; 3] = [53, MULTICAST_PORT, 5355];
const MULTICAST_PORT: u16 = 5353;
/// Records of a message that are looked into.
const RECORDS_MAX: usize = 64;

impl<'p> Dissection<'p> {
    /// A message of DNS: over UDP, or whole in a segment of TCP.
    pub(super) fn dns(&self) -> Option<Dns<'p>> {
        self.parts().find_map(|part| {
            let message = part.datagram(&DNS_PORTS).or_else(|| {
                let segment = part.segment().filter(|_| part.has_port(protocol::TCP, &DNS_PORTS))?;
                segment.get(2..2 + usize::from(u16_at(segment, 0)?))
            })?;
            let is_multicast = part.has_port(protocol::UDP, &[MULTICAST_PORT]);
            (message.len() >= HEADER_LEN).then_some(Dns { message, is_multicast })
        })
    }

    /// What TCP carries.
    fn segments(&self) -> impl Iterator<Item = &'p [u8]> {
        self.parts().filter_map(|part| part.segment())
    }

    /// A record of TLS.
    pub(super) fn tls(&self) -> Option<&'p [u8]> {
        self.segments().find(|segment| {
            // ChangeCipherSpec, alert, handshake, application data (RFC 8446, B.1), at most 2^14 + 2048 bytes.
            matches!(segment, [20..=23, 3, 0..=4, high, _, ..] if *high <= 0x48)
        })
    }

    /// The name of the server that a client asks for.
    pub(super) fn server_name(&self) -> Option<Value<'p>> {
        self.segments().find_map(|segment| match Hello::read(segment)? {
            Hello::Client { server } => server.map(|name| Value::Text(Text(name))),
            Hello::Server => None,
        })
    }

    /// The head of a message of HTTP/1.
    pub(super) fn http(&self) -> Option<Http<'p>> {
        self.segments().find_map(Http::read)
    }
}

impl<'p> Part<'p> {
    fn has_port(&self, number: u8, of: &[u16]) -> bool {
        let header = self.over(number).unwrap_or_default();
        [0, 2].into_iter().filter_map(|at| u16_at(header, at)).any(|port| of.contains(&port))
    }

    /// What UDP carries to or from one of these ports.
    fn datagram(&self, ports: &[u16]) -> Option<&'p [u8]> {
        let datagram = self.over(protocol::UDP).filter(|_| self.has_port(protocol::UDP, ports))?;
        Udp::new(datagram).map(|udp| udp.stated_payload())
    }

    /// What TCP carries.
    fn segment(&self) -> Option<&'p [u8]> {
        let segment = Tcp::new(self.over(protocol::TCP)?)?;
        Some(segment.payload()).filter(|payload| !payload.is_empty())
    }
}

/// A message of DNS with a whole header.
pub(super) struct Dns<'p> {
    message: &'p [u8],
    is_multicast: bool,
}

impl<'p> Dns<'p> {
    /// A number of the header.
    pub(super) fn number(&self, at: usize) -> u16 {
        u16_at(self.message, at).unwrap_or_default()
    }

    /// The first name that is asked for, and where its type is.
    fn question(&self) -> Option<(Name<'p>, usize)> {
        let asks = self.number(4) > 0;
        let end = name_end(self.message, HEADER_LEN).ok().filter(|_| asks)?;
        Some((Name { message: self.message, at: HEADER_LEN }, end))
    }

    pub(super) fn name(&self) -> Option<Value<'p>> {
        self.question().map(|(name, _)| Value::Name(name))
    }

    /// The type that is asked for.
    pub(super) fn kind(&self) -> Option<u16> {
        u16_at(self.message, self.question()?.1)
    }

    /// The class that is asked for.
    pub(super) fn class(&self) -> Option<u16> {
        let class = u16_at(self.message, self.question()?.1 + 2)?;
        // The upper bit says how to answer (RFC 6762, 5.4).
        Some(if self.is_multicast { class & 0x7fff } else { class })
    }

    /// The data of the first record of a type.
    pub(super) fn record<const N: usize>(&self, kind: u16) -> Option<[u8; N]> {
        let mut at = HEADER_LEN;
        for _ in 0..usize::from(self.number(4)).min(RECORDS_MAX) {
            at = name_end(self.message, at).ok()? + 4;
        }
        let records: usize = [6, 8, 10].into_iter().map(|at| usize::from(self.number(at))).sum();
        for _ in 0..records.min(RECORDS_MAX) {
            // Behind the name: type, class, time to live, length.
            let end = name_end(self.message, at).ok()?;
            let (this, len) = (u16_at(self.message, end)?, usize::from(u16_at(self.message, end + 8)?));
            if this == kind && len == N {
                return array_at(self.message, end + 10);
            }
            at = end + 10 + len;
        }
        None
    }
}

/// The head of a message of HTTP/1 (RFC 9112).
pub(super) struct Http<'p> {
    head: &'p [u8],
    line: &'p [u8],
}

impl<'p> Http<'p> {
    fn read(head: &'p [u8]) -> Option<Self> {
        let http = Http { head, line: &head[..line_end(head)?] };
        let is_http = http.line.starts_with(b"HTTP/1.")
            || http.words().is_some_and(|[method, _, version]| {
                !method.is_empty()
                    && method.iter().all(u8::is_ascii_uppercase)
                    && version.starts_with(b"HTTP/1.")
            });
        is_http.then_some(http)
    }

    /// The three words of the first line; the third one is all the rest.
    fn words(&self) -> Option<[&'p [u8]; 3]> {
        let mut words = self.line.splitn(3, |&byte| byte == b' ');
        Some([words.next()?, words.next()?, words.next()?])
    }

    /// A word of a request.
    pub(super) fn of_request(&self, number: usize) -> Option<Value<'p>> {
        let words = self.words().filter(|_| !self.line.starts_with(b"HTTP/"))?;
        Some(Value::Text(Text(words[number])))
    }

    /// The number of a response.
    pub(super) fn code(&self) -> Option<Value<'p>> {
        let code = self.line.strip_prefix(b"HTTP/1.")?.get(2..5)?;
        str::from_utf8(code).ok()?.parse().ok().map(Value::Number)
    }

    /// What a header says.
    pub(super) fn header(&self, name: &str) -> Option<Value<'p>> {
        let mut rest = &self.head[self.line.len()..];
        loop {
            rest = rest.strip_prefix(b"\r\n").or_else(|| rest.strip_prefix(b"\n"))?;
            let line = &rest[..line_end(rest).filter(|len| *len > 0)?];
            rest = &rest[line.len()..];
            let colon = line.iter().position(|&byte| byte == b':');
            if let Some(colon) = colon.filter(|&colon| line[..colon].eq_ignore_ascii_case(name.as_bytes())) {
                return Some(Value::Text(Text(line[colon + 1..].trim_ascii())));
            }
        }
    }
}

/// Where the line ends, without what ends it.
fn line_end(bytes: &[u8]) -> Option<usize> {
    let end = bytes.iter().position(|&byte| byte == b'\n')?;
    Some(if end > 0 && bytes[end - 1] == b'\r' { end - 1 } else { end })
}

/// The options of TCP (RFC 9293, 3.1): the bytes of the first of a kind, with kind and length.
pub(super) fn tcp_option<'p>(packet: &Dissection<'p>, kind: u8) -> Option<&'p [u8]> {
    let header = packet.header(Header::Over(protocol::TCP))?;
    let len = usize::from(u8_at(header, 12)? >> 4) * 4;
    let mut rest = header.get(Tcp::LEN..len.min(header.len()))?;
    loop {
        match rest {
            [] | [0, ..] => return None,
            [1, behind @ ..] => rest = behind,
            [this, len, ..] => {
                let len = usize::from(*len);
                let (option, behind) = rest.split_at_checked(len).filter(|_| len >= 2)?;
                if *this == kind {
                    return Some(option);
                }
                rest = behind;
            }
            [_] => return None,
        }
    }
}

/// Bytes that TCP carries, as IP says: not all of them need to be captured.
pub(super) fn tcp_len(packet: &Dissection<'_>) -> Option<Value<'static>> {
    let part = packet.parts().find(|part| part.over(protocol::TCP).is_some())?;
    let tcp = part.over(protocol::TCP)?;
    let network = part.layers.network()?;
    let ip = part.bytes.get(network.off.into()..)?;
    let transport: Range<usize> = part.offset_of(tcp);
    let end = match ip.first()? >> 4 {
        4 => usize::from(u16_at(ip, 2)?),
        _ => crate::ip::Ipv6::LEN + usize::from(u16_at(ip, 4)?),
    } + usize::from(network.off);
    // Where segmentation is left to a device, IP may say more than there was.
    let end = end.min(part.wire_len);
    let header_len = usize::from(u8_at(tcp, 12)? >> 4) * 4;
    Some(Value::Number(end.checked_sub(transport.start + header_len)? as u64))
}

impl<'p> Part<'p> {
    /// Where bytes of this packet are in it.
    fn offset_of(&self, bytes: &'p [u8]) -> Range<usize> {
        let off = bytes.as_ptr().addr() - self.bytes.as_ptr().addr();
        off..off + bytes.len()
    }
}
