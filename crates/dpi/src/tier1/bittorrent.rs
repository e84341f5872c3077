//! BitTorrent: the handshake of peers (BEP 3), its DHT (BEP 5), uTP (BEP 29), trackers over UDP (BEP 15), and the search of local peers (BEP 14).
//!
//! Asked of the bytes: the length and name of the protocol at the beginning of a stream; a dictionary of the DHT whose first entries are those of a query, an answer or an error; a tracker's magic number; a connection of
//! uTP that is answered with its own number, or carries the handshake.
//!
//! Peers may exchange keys first (Message Stream Encryption: `http://wiki.vuze.com/w/Message_Stream_Encryption`) and go on in clear: 96 bytes of a public key and up to 512 of padding each way, then
//! the handshake within the next 650 bytes. So a stream that begins with 96 bytes that look random is searched for it. Where they go on encrypted,
//! nothing tells them from other encrypted connections, and they are not found.

use super::answer::Answer;
use crate::{Message, Protocol};

const HANDSHAKE: &[u8] = b"\x13BitTorrent protocol";
/// Bytes of a public key, with which an exchange of keys begins.
const PUBLIC_KEY: usize = 96;
/// Within so many bytes of a stream that begins with a key, the handshake has begun: key, padding, two hashes, the initiator's choice of
/// ciphers with its padding.
const HANDSHAKE_WITHIN: usize = PUBLIC_KEY + 512 + 20 + 20 + 8 + 4 + 2 + 512 + 2 + HANDSHAKE.len();
/// Different values that 96 random bytes have at least: 80 on average, with a standard deviation of 3.
const DISTINCT_MIN: usize = 64;
/// A request to connect to a tracker: magic number, action 0.
const TRACKER: &[u8] = b"\0\0\x04\x17\x27\x10\x19\x80\0\0\0\0";
/// How messages of the DHT begin: a query, a response (with the address of who asked, BEP 42), an error.
const DHT: [&[u8]; 4] = [b"d1:ad2:id20:", b"d1:rd2:id20:", b"d2:ip6:", b"d1:eli2"];
const UTP_HEADER: usize = 20;

pub(super) fn detect(stream: &[u8]) -> Answer {
    if stream.starts_with(HANDSHAKE) {
        Answer::yes(Protocol::BITTORRENT, "BitTorrent handshake")
    } else if HANDSHAKE.starts_with(stream) {
        Answer::Maybe
    } else {
        Answer::No
    }
}

/// A stream that may begin with an exchange of keys.
pub(super) fn detect_exchange(stream: &[u8]) -> Answer {
    let Some((key, rest)) = stream.split_at_checked(PUBLIC_KEY) else { return Answer::No };
    if distinct(key) < DISTINCT_MIN {
        return Answer::No;
    }
    let rest = &rest[..rest.len().min(HANDSHAKE_WITHIN - PUBLIC_KEY)];
    if rest.windows(HANDSHAKE.len()).any(|window| window == HANDSHAKE) {
        Answer::yes(Protocol::BITTORRENT, "BitTorrent handshake after an exchange of keys")
    } else if stream.len() < HANDSHAKE_WITHIN {
        Answer::Maybe
    } else {
        Answer::No
    }
}

/// How many different values bytes have.
fn distinct(bytes: &[u8]) -> usize {
    let mut seen = [0_u64; 4];
    for &byte in bytes {
        seen[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }
    seen.iter().map(|word| word.count_ones() as usize).sum()
}

pub(super) fn detect_udp(message: &Message) -> Answer {
    let payload = message.payload;
    let yes = |evidence| Answer::yes(Protocol::BITTORRENT, evidence);
    if payload.starts_with(b"d") && is_dht(payload) {
        yes("DHT message")
    } else if payload.starts_with(TRACKER) && payload.len() == 16 {
        yes("tracker's magic number")
    } else if payload.starts_with(b"BT-SEARCH * HTTP/1.1\r\n") {
        yes("search of local peers")
    } else {
        Answer::No
    }
}

fn is_dht(payload: &[u8]) -> bool {
    let kind: [&[u8]; 3] = [b"1:y1:qe", b"1:y1:re", b"1:y1:ee"];
    // `v`, the version, goes before `y` in the order of keys; entries of extensions may be last.
    DHT.iter().any(|begin| payload.starts_with(begin))
        && payload.ends_with(b"e")
        && payload.windows(7).any(|window| kind.contains(&window) || window.starts_with(b"1:y1:"))
}

/// The connection of uTP that one side asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Utp {
    forward: bool,
    connection: u16,
    sequence: u16,
}

/// Types of packets.
const ST_DATA: u8 = 0;
const ST_STATE: u8 = 2;
const ST_SYN: u8 = 4;

/// Follows a connection of uTP from its first packet on.
pub(super) fn detect_utp(message: &Message, asked: &mut Option<Utp>) -> Answer {
    let Some((header, rest)) = message.payload.split_first_chunk::<UTP_HEADER>() else { return Answer::No };
    let (kind, version, extension) = (header[0] >> 4, header[0] & 0xf, header[1]);
    let pair = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let (connection, sequence, acknowledged) = (pair(2), pair(16), pair(18));
    if version != 1 || extension > 3 {
        return Answer::No;
    }
    let yes = |evidence| Answer::yes(Protocol::BITTORRENT, evidence);
    match (kind, *asked) {
        // No time can have passed since a packet of the other side.
        (ST_SYN, None) if acknowledged == 0 && header[8..12] == [0; 4] => {
            *asked = Some(Utp { forward: message.forward, connection, sequence });
            Answer::Maybe
        }
        (ST_SYN, Some(_)) => Answer::Maybe,
        (ST_STATE, Some(utp))
            if utp.forward != message.forward
                && utp.connection == connection
                && acknowledged == utp.sequence =>
        {
            yes("uTP connection and answer")
        }
        (ST_DATA, _) if extension == 0 && rest.starts_with(HANDSHAKE) => yes("BitTorrent handshake over uTP"),
        _ => Answer::No,
    }
}
