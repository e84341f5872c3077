//! BitTorrent: the handshake of peers (BEP 3), its DHT (BEP 5), uTP (BEP 29), trackers over UDP (BEP 15), and the search of local peers (BEP 14).
//!
//! Asked of the bytes: the length and name of the protocol at the beginning of a stream; a dictionary of the DHT whose first entries are those of a query, an answer or an error; a tracker's magic number; a connection of
//! uTP that is answered with its own number, or carries the handshake. Encrypted connections look like nothing, and are not found.

use super::answer::Answer;
use crate::{Message, Protocol};

const HANDSHAKE: &[u8] = b"\x13BitTorrent protocol";
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
