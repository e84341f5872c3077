//! DHCPv6 (RFC 8415 sections 8, 9 and 21).
//!
//! Asked of the bytes: a type of message, and options that fill the message to its end; among them a client's or server's identifier of a kind that exists, or a relayed message.

use super::answer::Answer;
use super::reader::Reader;
use crate::{Message, Protocol};

const CLIENT_ID: u16 = 1;
const SERVER_ID: u16 = 2;
const RELAY_MESSAGE: u16 = 9;

pub(super) fn detect(message: &Message) -> Answer {
    match is_dhcpv6(message.payload) {
        Some(()) => Answer::yes(Protocol::DHCPV6, "DHCPv6 options and identifier"),
        None => Answer::No,
    }
}

fn is_dhcpv6(bytes: &[u8]) -> Option<()> {
    let mut reader = Reader::new(bytes);
    let relayed = match reader.u8()? {
        1..=11 => {
            let _transaction = reader.take(3)?;
            false
        }
        12 | 13 => {
            (reader.u8()? <= 32).then_some(())?;
            let _link_and_peer = reader.take(32)?;
            true
        }
        _ => return None,
    };
    let mut identified = false;
    while !reader.is_empty() {
        let (kind, value) = (reader.u16()?, reader.vector16()?);
        identified |= match kind {
            CLIENT_ID | SERVER_ID => is_duid(value),
            RELAY_MESSAGE => relayed && matches!(value.first(), Some(1..=13)),
            0 | 1000.. => return None,
            _ => false,
        };
    }
    identified.then_some(())
}

/// RFC 8415 section 11: by address and time, by vendor, by address, by UUID.
fn is_duid(value: &[u8]) -> bool {
    match value {
        [0, 1, 0, _, ..] => (8 + 4..=8 + 20).contains(&value.len()),
        [0, 2, ..] => (7..=130).contains(&value.len()),
        [0, 3, 0, _, ..] => (4 + 4..=4 + 20).contains(&value.len()),
        [0, 4, ..] => value.len() == 18,
        _ => false,
    }
}
