//! Telnet (RFC 854, RFC 855).
//!
//! Asked of the bytes: negotiations of options that exist at the beginning of a stream, two of one side or one of each.

use super::answer::Answer;
use super::tcp::Talk;
use crate::Protocol;

const IAC: u8 = 255;
const SB: u8 = 250;
const SE: u8 = 240;

pub(super) fn detect(talk: Talk) -> Answer {
    let is_text = |rest: &[u8]| rest.iter().all(|byte| matches!(byte, b'\t'..=b'\r' | b' '..=b'~'));
    let peer = negotiations(talk.peer).filter(|(_, rest)| is_text(rest)).map_or(0, |(count, _)| count);
    match negotiations(talk.this) {
        Some((2.., _)) => Answer::yes(Protocol::TELNET, "Telnet negotiation"),
        Some((1, rest)) if !is_text(rest) => Answer::No,
        Some((1, _)) if peer > 0 => Answer::yes(Protocol::TELNET, "Telnet negotiation"),
        Some((1, _)) => Answer::likely(Protocol::TELNET, "Telnet negotiation"),
        Some((0, [IAC] | [IAC, 251..=254])) => Answer::Maybe,
        _ => Answer::No,
    }
}

/// How many options are negotiated in front of everything else, and what is behind, a negotiation that is not whole left out; `None` where something is none.
fn negotiations(mut bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut count = 0;
    loop {
        match bytes {
            [IAC, 251..=254, option, rest @ ..] if is_option(*option) => {
                count += 1;
                bytes = rest;
            }
            [IAC, SB, option, rest @ ..] if is_option(*option) && count > 0 => {
                let Some(end) = rest.windows(2).position(|pair| pair == [IAC, SE]) else {
                    return Some((count, &[]));
                };
                bytes = &rest[end + 2..];
            }
            [IAC, 241..=249, rest @ ..] if count > 0 => bytes = rest,
            [IAC] | [IAC, 251..=254] => return Some((count, if count == 0 { bytes } else { &[] })),
            [IAC, ..] => return None,
            _ => return Some((count, bytes)),
        }
    }
}

/// Options that IANA lists, but for the obsolete.
fn is_option(option: u8) -> bool {
    matches!(option, 0..=49 | 85..=93 | 138..=140)
}
