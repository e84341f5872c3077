//! DHCP and BOOTP with options (RFC 2131 section 2, RFC 1497).
//!
//! Asked of the bytes: a BOOTP header, and the magic cookie behind it.

use super::answer::Answer;
use crate::{Message, Protocol};

/// Where the options begin, with this.
const COOKIE_OFF: usize = 236;
const COOKIE: &[u8] = &[0x63, 0x82, 0x53, 0x63];

pub(super) fn detect(message: &Message) -> Answer {
    match message.payload {
        [1 | 2, 1..=39, 0..=16, 0..=16, ..]
            if message.payload.get(COOKIE_OFF..COOKIE_OFF + 4) == Some(COOKIE) =>
        {
            Answer::yes(Protocol::DHCP, "DHCP magic cookie")
        }
        _ => Answer::No,
    }
}
