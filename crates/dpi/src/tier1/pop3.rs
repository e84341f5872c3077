//! POP3 (RFC 1939 sections 3 and 7, RFC 2449, RFC 2595).
//!
//! Asked of the bytes: the server's `+OK` and a command of the client.

use super::answer::Answer;
use super::startline::Line;
use super::tcp::Talk;
use crate::Protocol;

const COMMANDS: [&[u8]; 5] = [b"USER", b"CAPA", b"AUTH", b"APOP", b"STLS"];

pub(super) fn detect(line: &Line, talk: Talk) -> Answer {
    let peer = Line::first(talk.peer);
    if line.begins(b"+OK") && line.text.get(3).is_none_or(|&byte| byte == b' ') {
        return if peer.is_some_and(|peer| peer.command(&COMMANDS)) {
            Answer::yes(Protocol::POP3, "POP3 greeting and command")
        } else if line.has_word(|word| word.eq_ignore_ascii_case(b"POP3")) {
            Answer::likely(Protocol::POP3, "POP3 greeting")
        } else {
            Answer::Maybe
        };
    }
    if line.command(&COMMANDS) {
        return match peer {
            Some(peer) if peer.begins(b"+OK") => Answer::yes(Protocol::POP3, "POP3 greeting and command"),
            _ if talk.peer.is_empty() => Answer::Maybe,
            _ => Answer::No,
        };
    }
    let begins: [&[u8]; 6] = [b"USER ", b"CAPA", b"AUTH", b"APOP ", b"STLS", b"+OK"];
    if !line.whole && line.may_begin(&begins) { Answer::Maybe } else { Answer::No }
}
