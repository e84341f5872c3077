//! Connections that others announce: of FTP, the addresses of data (RFC 959, RFC 2428); of SIP, those of media (RFC 4566).
//!
//! ```text
//! client: PORT 192,0,2,1,156,64     the server will connect to 192.0.2.1, port 40000
//! server: 229 Entering … (|||40000|)    the client will connect to the server, port 40000
//! either: c=IN IP4 192.0.2.1, m=audio 40000 RTP/AVP 0    the other will send media there
//! ```
//!
//! Only what is written as these RFCs have it counts, of FTP at the beginning of a segment: a page that makes a browser send `PORT …` in the midst of something else opens nothing.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Media of a message of SIP, at most.
const MEDIA_MAX: usize = 4;

/// What a line of FTP announces, from who has begun the connection or from the other.
pub(super) fn of_ftp(payload: &[u8], is_client: bool, sender: IpAddr) -> Option<SocketAddr> {
    let end = payload.windows(2).position(|pair| pair == b"\r\n")?;
    let line = std::str::from_utf8(&payload[..end]).ok()?;
    let (word, rest) = line.split_once(' ')?;
    match (is_client, &word.to_ascii_uppercase()[..]) {
        (true, "PORT") => with_commas(rest),
        (true, "EPRT") => with_bars(rest, None),
        (false, "227") => with_commas(rest.get(rest.find(|c: char| c.is_ascii_digit())?..)?),
        (false, "229") => with_bars(rest.split_once('(')?.1, Some(sender)),
        _ => None,
    }
}

/// `192,0,2,1,156,64`.
fn with_commas(text: &str) -> Option<SocketAddr> {
    let numbers = text.find(|c: char| !c.is_ascii_digit() && c != ',').map_or(text, |end| &text[..end]);
    let bytes: Vec<u8> = numbers.split(',').map(|number| number.parse().ok()).collect::<Option<_>>()?;
    let [a, b, c, d, high, low] = bytes[..] else { return None };
    Some((Ipv4Addr::new(a, b, c, d), u16::from_be_bytes([high, low])).into())
}

/// `|1|192.0.2.1|40000|`, or `|||40000|` where the address is that of the sender.
fn with_bars(text: &str, sender: Option<IpAddr>) -> Option<SocketAddr> {
    let mut parts = text.split('|').skip(1);
    let (family, address, port) = (parts.next()?, parts.next()?, parts.next()?.parse().ok()?);
    parts.next()?;
    let address = match (sender, family) {
        (Some(sender), "") if address.is_empty() => sender,
        (None, "1") => IpAddr::V4(address.parse().ok()?),
        (None, "2") => IpAddr::V6(address.parse().ok()?),
        _ => return None,
    };
    Some((address, port).into())
}

/// Where a message of SIP wants media to be sent: the address and port of each medium.
pub(super) fn of_sip(payload: &[u8]) -> Vec<SocketAddr> {
    let Some(body) = payload.windows(4).position(|end| end == b"\r\n\r\n") else { return Vec::new() };
    let Ok(body) = std::str::from_utf8(&payload[body + 4..]) else { return Vec::new() };
    let connection = |line: &str| {
        let mut words = line.strip_prefix("c=IN ")?.split_whitespace();
        let (_, address) = (words.next()?, words.next()?);
        address.parse::<IpAddr>().ok()
    };
    // An address before all media is that of those without one of their own.
    let mut common = None;
    let mut media: Vec<(Option<IpAddr>, u16)> = Vec::new();
    for line in body.lines().map(str::trim_end) {
        if let Some(address) = connection(line) {
            match media.last_mut() {
                Some(last) => last.0 = Some(address),
                None => common = Some(address),
            }
        } else if let Some(medium) = line.strip_prefix("m=") {
            let port = medium.split_whitespace().nth(1).and_then(|port| port.parse().ok());
            media.extend(port.filter(|_| media.len() < MEDIA_MAX).map(|port| (None, port)));
        }
    }
    media.into_iter().filter_map(|(own, port)| Some((own.or(common)?, port).into())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_ftp_announce_an_address() {
        let sender: IpAddr = "192.0.2.7".parse().unwrap();
        for (is_client, line, expected) in [
            (true, "PORT 192,0,2,1,156,64\r\n", "192.0.2.1:40000"),
            (true, "port 192,0,2,1,156,64\r\n", "192.0.2.1:40000"),
            (true, "EPRT |2|2001:db8::1|40000|\r\n", "[2001:db8::1]:40000"),
            (false, "227 Entering Passive Mode (192,0,2,1,156,64).\r\n", "192.0.2.1:40000"),
            (false, "229 Entering Extended Passive Mode (|||40000|)\r\n", "192.0.2.7:40000"),
        ] {
            let found = of_ftp(line.as_bytes(), is_client, sender);
            assert_eq!(found, Some(expected.parse().unwrap()), "{line}");
            assert_eq!(of_ftp(line.as_bytes(), !is_client, sender), None, "{line} of the other");
            assert_eq!(of_ftp(line.trim_end().as_bytes(), is_client, sender), None, "a part of {line}");
        }
        for line in [
            "PORT 1,2,3,4,5\r\n",
            "PORT 1,2,3,4,5,256\r\n",
            "X\r\nPORT 192,0,2,1,156,64\r\n",
            "EPRT |3|x|1|\r\n",
        ] {
            assert_eq!(of_ftp(line.as_bytes(), true, sender), None, "{line}");
        }
    }

    #[test]
    fn any_bytes_will_do() {
        let sender: IpAddr = "192.0.2.7".parse().unwrap();
        let good = b"227 (192,0,2,1,156,64)\r\n\r\nc=IN IP4 192.0.2.1\r\nm=audio 40000 x\r\nEPRT |1|192.0.2.1|9|\r\n";
        for from in 0..good.len() {
            for to in from..=good.len() {
                let mut bytes = good[from..to].to_vec();
                for _ in 0..2 {
                    of_sip(&bytes);
                    for is_client in [false, true] {
                        of_ftp(&bytes, is_client, sender);
                    }
                    if let Some(byte) = bytes.get_mut((to - from) / 2) {
                        *byte = 0xff;
                    }
                }
            }
        }
    }

    #[test]
    fn media_have_the_last_address_before_them() {
        let message = "INVITE sip:a SIP/2.0\r\n\r\nv=0\r\nc=IN IP4 192.0.2.1\r\nm=audio 40000 RTP/AVP 0\r\nm=video 40002 RTP/AVP 31\r\nc=IN IP4 192.0.2.2\r\n";
        let expected = ["192.0.2.1:40000", "192.0.2.2:40002"].map(|text| text.parse().unwrap());
        assert_eq!(of_sip(message.as_bytes()), expected);
        assert!(of_sip(b"INVITE\r\n\r\nm=audio 40000 RTP/AVP 0\r\n").is_empty());
        assert_eq!(of_sip(format!("{message}{}", "m=audio 5 x\r\n".repeat(9)).as_bytes()).len(), MEDIA_MAX);
    }
}
