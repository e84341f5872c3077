//! IMAP (RFC 9051 sections 6 and 7, RFC 3501).
//!
//! Asked of the bytes: the server's `* OK`, `* PREAUTH` or `* CAPABILITY IMAP4…`, and a command of the client behind a tag; or such a command and a reply with its tag.

use super::answer::Answer;
use super::startline::Line;
use super::tcp::Talk;
use crate::Protocol;

const COMMANDS: [&[u8]; 12] = [
    b"CAPABILITY",
    b"LOGIN",
    b"AUTHENTICATE",
    b"STARTTLS",
    b"ID",
    b"NOOP",
    b"LOGOUT",
    b"SELECT",
    b"LIST",
    b"ENABLE",
    b"LSUB",
    b"NAMESPACE",
];

pub(super) fn detect(line: &Line, talk: Talk) -> Answer {
    let peer = Line::first(talk.peer).filter(|_| !talk.peer.is_empty());
    let both = || Answer::yes(Protocol::IMAP, "IMAP command and reply");
    if line.begins(b"* CAPABILITY IMAP4") {
        return Answer::yes(Protocol::IMAP, "IMAP capabilities");
    }
    if is_greeting(line) {
        return if peer.is_some_and(|peer| tag(&peer).is_some()) {
            both()
        } else if line.text.windows(4).any(|four| four.eq_ignore_ascii_case(b"IMAP")) {
            Answer::likely(Protocol::IMAP, "IMAP greeting")
        } else {
            Answer::Maybe
        };
    }
    if tag(line).is_some() {
        return match peer {
            Some(peer) if is_greeting(&peer) => both(),
            Some(_) => Answer::No,
            None => Answer::Maybe,
        };
    }
    // The reply to a command whose greeting was not seen.
    if let Some(tag) = peer.as_ref().and_then(tag)
        && let Some(reply) = line.text.strip_prefix(tag)
        && [&b" OK"[..], b" NO", b" BAD"].iter().any(|word| reply.starts_with(word))
    {
        return both();
    }
    if line.whole {
        return Answer::No;
    }
    // A tag, and what may become a command.
    let mut words = line.text.splitn(2, |&byte| byte == b' ');
    let (tag, command) = (words.next().unwrap_or_default(), words.next());
    let may_be = match command {
        None => true,
        Some(begun) => COMMANDS.iter().any(|command| begins(command, begun)),
    };
    let greetings: [&[u8]; 3] = [b"* OK ", b"* PREAUTH ", b"* CAPABILITY IMAP4"];
    if is_tag(tag) && may_be || line.may_begin(&greetings) { Answer::Maybe } else { Answer::No }
}

fn begins(command: &[u8], begun: &[u8]) -> bool {
    command.len() >= begun.len() && command[..begun.len()].eq_ignore_ascii_case(begun)
}

fn is_greeting(line: &Line) -> bool {
    line.begins(b"* OK ") || line.begins(b"* PREAUTH ") || line.begins(b"* CAPABILITY ")
}

/// RFC 9051 section 9, as clients write them.
fn is_tag(tag: &[u8]) -> bool {
    (1..=16).contains(&tag.len()) && tag.iter().all(|&byte| byte.is_ascii_alphanumeric() || byte == b'.')
}

/// The tag of a line that is a command.
fn tag<'a>(line: &Line<'a>) -> Option<&'a [u8]> {
    let mut words = line.text.split(|&byte| byte == b' ');
    let (tag, command) = (words.next()?, words.next()?);
    let ended = line.whole || words.next().is_some();
    (is_tag(tag) && ended && COMMANDS.iter().any(|known| known.eq_ignore_ascii_case(command))).then_some(tag)
}
