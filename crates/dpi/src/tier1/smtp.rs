//! SMTP (RFC 5321 sections 3.1 and 4.1).
//!
//! Asked of the bytes: that the client begins with EHLO, HELO or MAIL FROM. The server's greeting alone, `220 host ESMTP`, is only likely to be SMTP's: FTP's begins alike, and
//! anybody may write anything behind the number.

use super::answer::Answer;
use super::startline::Line;
use super::tcp::Talk;
use crate::Protocol;

const COMMANDS: [&[u8]; 3] = [b"EHLO ", b"HELO ", b"MAIL FROM:"];

pub(super) fn detect(line: &Line, talk: Talk) -> Answer {
    if line.whole && COMMANDS.iter().any(|command| line.begins(command)) {
        return Answer::yes(Protocol::SMTP, "SMTP command of the client");
    }
    if !is_greeting(line) {
        return if line.may_begin(&COMMANDS) || line.may_begin(&[b"220 ", b"220-"]) && !line.whole {
            Answer::Maybe
        } else {
            Answer::No
        };
    }
    if COMMANDS.iter().any(|command| {
        talk.peer.get(..command.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(command))
    }) {
        return Answer::yes(Protocol::SMTP, "SMTP greeting and command");
    }
    if line.has_word(|word| word.eq_ignore_ascii_case(b"ESMTP") || word.eq_ignore_ascii_case(b"SMTP")) {
        return Answer::likely(Protocol::SMTP, "SMTP greeting");
    }
    Answer::Maybe
}

/// The greeting that SMTP and FTP have in common.
pub(super) fn is_greeting(line: &Line) -> bool {
    line.begins(b"220 ") || line.begins(b"220-")
}
