//! TeamSpeak 3 (its handshake's `TS3INIT1`, and the greeting of its query interface) and TeamSpeak 2.
//!
//! Neither is specified in public. Asked of the bytes: of version 3, the eight letters that stand in place of the authentication code while a connection begins; of version 2, a class and kind of packet, and the CRC-32 of the packet with
//! its own field as zero.

use super::answer::Answer;
use super::startline::Line;
use crate::{Message, Protocol};

const INIT: &[u8] = b"TS3INIT1";
/// Where version 2's packets that connect or ask for life have their sum, and those with data, which count parts in front of it.
const SUM_OFF: usize = 16;
const SUM_OFF_DATA: usize = 20;

pub(super) fn detect_udp(message: &Message) -> Answer {
    let payload = message.payload;
    // Packet number, client number and type, or without the client's number.
    if payload.starts_with(INIT) && payload.len() >= INIT.len() + 3 {
        return Answer::yes(Protocol::TEAMSPEAK, "TeamSpeak 3 handshake");
    }
    match payload {
        [0xf4, 0xbe, ..] if has_sum(payload, SUM_OFF) => version_2(),
        [0xf0, 0xbe, ..] if has_sum(payload, SUM_OFF_DATA) => version_2(),
        _ => Answer::No,
    }
}

/// What is behind the first line of the query interface's greeting.
const GREETING: &[u8] = b"\rWelcome to the TeamSpeak 3";

/// The greeting of the interface for queries, over TCP.
pub(super) fn detect_query(line: &Line) -> Answer {
    match line.text {
        b"TS3" if line.rest.starts_with(GREETING) => {
            Answer::yes(Protocol::TEAMSPEAK, "TeamSpeak 3 query greeting")
        }
        b"TS3" if GREETING.starts_with(line.rest) => Answer::Maybe,
        text if !line.whole && b"TS3".starts_with(text) => Answer::Maybe,
        _ => Answer::No,
    }
}

fn version_2() -> Answer {
    Answer::yes(Protocol::TEAMSPEAK, "TeamSpeak 2 packet with its sum")
}

fn has_sum(payload: &[u8], off: usize) -> bool {
    let (Some(head), Some(sum), Some(tail)) =
        (payload.get(..off), payload.get(off..off + 4), payload.get(off + 4..))
    else {
        return false;
    };
    let crc = crc32(crc32(crc32(!0, head), &[0; 4]), tail);
    (!crc).to_le_bytes() == sum
}

/// CRC-32 of IEEE 802.3, bit by bit: packets that begin a connection are few and short.
fn crc32(state: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(state, |state, &byte| {
        (0..8).fold(state ^ u32::from(byte), |state, _| {
            state >> 1 ^ if state & 1 == 1 { 0xedb8_8320 } else { 0 }
        })
    })
}
