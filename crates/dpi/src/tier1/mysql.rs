//! MySQL's client/server protocol: the server's greeting, `Protocol::HandshakeV10` of the MySQL Internals Manual, "Connection Phase Packets".
//!
//! Asked of the bytes: a packet of number 0 that is all the server sends, version 10, the server's version as text, and behind thread and
//! salt the zero that divides the salt.

use super::answer::Answer;
use crate::Protocol;

/// Thread number and the first part of the salt.
const THREAD_AND_SALT: usize = 4 + 8;
/// Bytes of the longest version that is taken for one.
const VERSION_MAX: usize = 64;
/// Length, number and version of the protocol; no greeting has 256 bytes.
const BEGIN: usize = 5;

pub(super) fn detect(this: &[u8]) -> Answer {
    let is_begin =
        this.iter().take(BEGIN).skip(1).zip([0, 0, 0, 10]).all(|(&byte, expected)| byte == expected);
    let len = usize::from(this[0]) + BEGIN - 1;
    if !is_begin || len < BEGIN + THREAD_AND_SALT || this.len() > len {
        return Answer::No;
    }
    let version = this.get(BEGIN..).unwrap_or_default();
    let end = version.iter().take(VERSION_MAX).position(|&byte| byte == 0);
    let version = &version[..end.unwrap_or(version.len())];
    let is_text = version.first().is_none_or(u8::is_ascii_digit) && version.iter().all(u8::is_ascii_graphic);
    if !is_text || version.len() > VERSION_MAX {
        Answer::No
    } else if this.len() < len {
        Answer::Maybe
    } else if version.contains(&b'.') && this.get(BEGIN + version.len() + 1 + THREAD_AND_SALT) == Some(&0) {
        Answer::yes(Protocol::MYSQL, "MySQL greeting of the server")
    } else {
        Answer::No
    }
}
