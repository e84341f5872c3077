//! MySQL's client/server protocol: the server's greeting, `Protocol::HandshakeV10` of the MySQL Internals Manual, "Connection Phase Packets".
//!
//! Asked of the bytes: a packet of number 0 whose length is that of the segment, version 10, the server's version as text, and behind thread and
//! salt the zero that divides the salt.

use super::answer::Answer;
use crate::Protocol;

/// Thread number and the first part of the salt.
const THREAD_AND_SALT: usize = 4 + 8;
/// Bytes of the longest version that is taken for one.
const VERSION_MAX: usize = 64;

pub(super) fn detect(this: &[u8]) -> Answer {
    let [a, b, c, 0, 10, rest @ ..] = this else { return Answer::No };
    let len = usize::from(*a) | usize::from(*b) << 8 | usize::from(*c) << 16;
    let Some(end) = rest.iter().take(VERSION_MAX).position(|&byte| byte == 0) else { return Answer::No };
    let version = &rest[..end];
    let is_version = version.first().is_some_and(u8::is_ascii_digit)
        && version.contains(&b'.')
        && version.iter().all(u8::is_ascii_graphic);
    let is_divided = rest.get(end + 1 + THREAD_AND_SALT) == Some(&0);
    if len + 4 == this.len() && is_version && is_divided {
        Answer::yes(Protocol::MYSQL, "MySQL greeting of the server")
    } else {
        Answer::No
    }
}
