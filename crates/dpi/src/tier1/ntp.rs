//! NTP (RFC 5905 section 7.3, RFC 4330 for simple clients), its modes 1 to 5.
//!
//! Asked of the bytes: 48 bytes, or those with an authenticator or extension fields; a version of 1 to 4; and times that fit each other. A server's four timestamps lie in one era, its
//! answer not before the question; a client's request is empty but for a time, or has the times of its last synchronisation.

use super::answer::Answer;
use crate::{Message, Protocol};

/// Seconds from 1900 to 1990.
const YEAR_1990: u32 = 2_840_140_800;
/// Mode of who answers a client, and of who says the time to all.
const SERVER: u8 = 4;
const BROADCAST: u8 = 5;

pub(super) fn detect(message: &Message) -> Answer {
    if is_ntp(message.payload) { Answer::yes(Protocol::NTP, "NTP header and times") } else { Answer::No }
}

fn is_ntp(bytes: &[u8]) -> bool {
    let Some((header, tail)) = bytes.split_first_chunk::<48>() else { return false };
    // Key and digest, or extension fields, all of whole words.
    if tail.len() % 4 != 0 || tail.len() > 1024 {
        return false;
    }
    let (version, mode) = (header[0] >> 3 & 7, header[0] & 7);
    let (stratum, poll, precision) = (header[1], header[2] as i8, header[3] as i8);
    if !(1..=4).contains(&version)
        || stratum > 16
        || !(-6..=17).contains(&poll)
        || !(-32..=32).contains(&precision)
    {
        return false;
    }
    let word = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let (delay, dispersion) = (word(4), word(8));
    // Seconds of the four timestamps.
    let [reference, origin, receive, transmit] = [16, 24, 32, 40].map(word);
    // Root delay and dispersion, as 16.16 bits: up to a minute, or a little below zero.
    let is_short = |value: u32| !(64 << 16..0xffff_0000).contains(&value);
    let near = |a: u32, b: u32, seconds: u32| b.wrapping_sub(a) < seconds || a.wrapping_sub(b) < seconds;
    // A clock is synchronised seldom, or never.
    let since = |reference: u32, now: u32| reference == 0 || near(reference, now, 32 * 86_400);
    match mode {
        _ if !is_short(delay) || !is_short(dispersion) => false,
        // Who asks first, or wants to say little, sends the time that shall come back, which may be random.
        1..=3 if header[12..40].iter().all(|&byte| byte == 0) => {
            stratum == 0
                && (transmit >= YEAR_1990 || header[4..12] == [0; 8])
                && (tail.is_empty() || tail.len() >= 20)
        }
        SERVER => transmit >= YEAR_1990 && near(receive, transmit, 3600) && since(reference, transmit),
        BROADCAST => transmit >= YEAR_1990 && stratum > 0 && reference != 0 && since(reference, transmit),
        1..=3 => {
            let known =
                [reference, origin, receive, transmit].into_iter().filter(|&seconds| seconds >= YEAR_1990);
            let latest = known.clone().max().unwrap_or_default();
            let related =
                [reference, origin, receive, transmit].into_iter().all(|seconds| since(seconds, latest));
            known.count() >= 2 && related
        }
        _ => false,
    }
}
