//! JA4, the fingerprint of a TLS client (FoxIO, `technical_details/JA4.md`), and what else a ClientHello tells.
//!
//! ```text
//!  t13d1516h2_8daaf6152771_e5627efa2ab1
//!  │ │ │ │ │       │            └ hash of the extensions in order of their numbers, without server name and ALPN, then `_` and the signature algorithms as they stand
//!  │ │ │ │ │       └ hash of the cipher suites in order of their numbers
//!  │ │ │ │ └ first and last letter of the first protocol inside
//!  │ │ │ └ extensions, counted     │ over TCP (t) or QUIC (q), version 1.3,
//!  │ │ └ cipher suites, counted    │ to a name (d) or an address (i)
//! ```

use super::answer::text;
use super::hello::{ClientHello, extension, numbers};
use crate::Details;
use sha2::{Digest, Sha256};

/// What carries the hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    Tcp,
    Quic,
}

/// Server name, protocol inside, and the fingerprint of a hello that is whole.
pub(super) fn details(hello: &ClientHello, transport: Transport) -> Details {
    Details {
        sni: hello.server_name().and_then(text),
        alpn: hello.alpn().and_then(text),
        ja4: hello.is_sound.then(|| fingerprint(hello, transport).into()),
    }
}

fn fingerprint(hello: &ClientHello, transport: Transport) -> String {
    let mut ciphers: Vec<u16> = numbers(hello.ciphers).filter(|&number| !is_grease(number)).collect();
    let kinds = hello.extensions().map(|(kind, _)| kind);
    let mut extensions: Vec<u16> = kinds.filter(|&number| !is_grease(number)).collect();
    let offered = hello.versions().and_then(|versions| versions.filter(|&version| !is_grease(version)).max());
    let version = match offered.unwrap_or(hello.version) {
        0x0304 => "13",
        0x0303 => "12",
        0x0302 => "11",
        0x0301 => "10",
        0x0300 => "s3",
        _ => "00",
    };
    let named = extensions.contains(&extension::SERVER_NAME);
    let (suites, count) = (ciphers.len().min(99) as u8, extensions.len().min(99) as u8);
    let mut print = String::with_capacity(36);
    print.push(if transport == Transport::Tcp { 't' } else { 'q' });
    print.push_str(version);
    print.push(if named { 'd' } else { 'i' });
    for digit in [suites / 10, suites % 10, count / 10, count % 10] {
        print.push(char::from(b'0' + digit));
    }
    print.extend(ends(hello.alpn().unwrap_or_default()));
    ciphers.sort_unstable();
    extensions.retain(|&kind| kind != extension::SERVER_NAME && kind != extension::ALPN);
    extensions.sort_unstable();
    print.push('_');
    let mut list = Vec::with_capacity(5 * (ciphers.len().max(extensions.len()) + 16));
    push_hex(&mut list, ciphers);
    push_hash(&mut print, &list);
    print.push('_');
    list.clear();
    push_hex(&mut list, extensions);
    let mut signatures = hello.signature_algorithms().filter(|&number| !is_grease(number)).peekable();
    if !list.is_empty() && signatures.peek().is_some() {
        list.push(b'_');
        push_hex(&mut list, signatures);
    }
    push_hash(&mut print, &list);
    print
}

/// Numbers that clients throw in to keep servers tolerant (RFC 8701).
fn is_grease(number: u16) -> bool {
    let [high, low] = number.to_be_bytes();
    high == low && low & 0x0f == 0x0a
}

/// First and last letter of the first protocol; of its hexadecimal form where one of them is no letter or digit.
fn ends(alpn: &[u8]) -> [char; 2] {
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    match (alpn.first(), alpn.last()) {
        (Some(first), Some(last)) if first.is_ascii_alphanumeric() && last.is_ascii_alphanumeric() => {
            [char::from(*first), char::from(*last)]
        }
        (Some(first), Some(last)) => [digit(first >> 4), digit(last & 0xf)],
        _ => ['0', '0'],
    }
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Four digits of each number, commas between them.
fn push_hex(list: &mut Vec<u8>, numbers: impl IntoIterator<Item = u16>) {
    for (at, number) in numbers.into_iter().enumerate() {
        if at > 0 {
            list.push(b',');
        }
        list.extend([12, 8, 4, 0].map(|shift| DIGITS[usize::from(number >> shift & 0xf)]));
    }
}

/// The first twelve digits of a list's SHA-256; zeros for nothing.
fn push_hash(print: &mut String, list: &[u8]) {
    let mut digest = [0; 6];
    if !list.is_empty() {
        digest.copy_from_slice(&Sha256::digest(list)[..6]);
    }
    for byte in digest {
        print.extend([byte >> 4, byte & 0xf].map(|nibble| char::from(DIGITS[usize::from(nibble)])));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_specification() {
        let ciphers = "002f,0035,009c,009d,1301,1302,1303,c013,c014,c02b,c02c,c02f,c030,cca8,cca9";
        let extensions = "0005,000a,000b,000d,0012,0015,0017,001b,0023,002b,002d,0033,4469,ff01";
        let signatures = "0403,0804,0401,0503,0805,0501,0806,0601";
        let hash = |list: &str| {
            let mut print = String::new();
            push_hash(&mut print, list.as_bytes());
            print
        };
        assert_eq!(hash(ciphers), "8daaf6152771");
        assert_eq!(hash(&format!("{extensions}_{signatures}")), "e5627efa2ab1");
        assert_eq!(hash(extensions), "6d807ffa2a79");
        assert_eq!(hash(""), "000000000000");
    }

    #[test]
    fn ends_of_protocols_are_those_of_the_specification() {
        let cases: [(&[u8], &str); 12] = [
            (b"h2", "h2"),
            (b"http/1.1", "h1"),
            (b"", "00"),
            (b"x", "xx"),
            (b"\xab", "ab"),
            (b"\x20", "20"),
            (b"\xab\xcd", "ad"),
            (b"\x20\x61", "21"),
            (b"\x30\xab", "3b"),
            (b"\x61\x20", "60"),
            (b"\x30\x31\xab\xcd", "3d"),
            (b"\x30\xab\xcd\x31", "01"),
        ];
        for (alpn, expected) in cases {
            assert_eq!(ends(alpn).iter().collect::<String>(), expected, "{alpn:x?}");
        }
    }
}
