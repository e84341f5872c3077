//! FTP's control connection (RFC 959 section 4.1, RFC 4217, RFC 2389).
//!
//! Asked of the bytes: the greeting `220` and a command of FTP, or the command USER and the reply `331` or `230`.

use super::answer::Answer;
use super::smtp;
use super::startline::Line;
use super::tcp::Talk;
use crate::Protocol;

/// Commands that a client begins with.
const COMMANDS: [&[u8]; 6] = [b"USER", b"AUTH", b"FEAT", b"SYST", b"HOST", b"OPTS"];

pub(super) fn detect(line: &Line, talk: Talk) -> Answer {
    let peer = Line::first(talk.peer);
    if line.command(&COMMANDS) {
        return match peer {
            Some(peer) if smtp::is_greeting(&peer) => {
                Answer::yes(Protocol::FTP_CONTROL, "FTP greeting and command")
            }
            Some(peer) if !talk.peer.is_empty() && !peer.begins(b"220") => Answer::No,
            _ => Answer::Maybe,
        };
    }
    let has_command = |commands| peer.is_some_and(|peer| peer.command(commands));
    if smtp::is_greeting(line) {
        return if has_command(&COMMANDS[..]) {
            Answer::yes(Protocol::FTP_CONTROL, "FTP greeting and command")
        } else if line.has_word(is_name) {
            Answer::likely(Protocol::FTP_CONTROL, "FTP greeting")
        } else {
            Answer::Maybe
        };
    }
    if (line.begins(b"331 ") || line.begins(b"230 ") || line.begins(b"230-")) && has_command(&[b"USER"]) {
        return Answer::yes(Protocol::FTP_CONTROL, "FTP command and reply");
    }
    let begins: [&[u8]; 11] = [
        b"USER ", b"AUTH ", b"FEAT", b"SYST", b"HOST ", b"OPTS ", b"220 ", b"220-", b"331 ", b"230 ", b"230-",
    ];
    if !line.whole && line.may_begin(&begins) { Answer::Maybe } else { Answer::No }
}

/// A word of a greeting that names the protocol or a server of it, and is no name of a host.
fn is_name(word: &[u8]) -> bool {
    word.len() < 32
        && !word.contains(&b'.')
        && word.windows(3).any(|three| three.eq_ignore_ascii_case(b"ftp"))
}
