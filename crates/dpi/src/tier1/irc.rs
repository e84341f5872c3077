//! IRC (RFC 2812 section 3.1, RFC 1459 section 4.1).
//!
//! Asked of the bytes: a client that registers with NICK and USER, or such a line and a server that speaks with a prefix; a server's `:host 001 nick :` alone, and messages of other users, `:nick!user@host PRIVMSG …`.

use super::answer::Answer;
use super::startline::Line;
use super::tcp::Talk;
use crate::Protocol;

/// What registers a client.
const REGISTERING: [&[u8]; 5] = [b"NICK", b"USER", b"PASS", b"CAP", b"AUTHENTICATE"];
/// What a client may say later, which a flow that is picked up midstream begins with.
const LATER: [&[u8]; 12] = [
    b"ISON",
    b"JOIN",
    b"PRIVMSG",
    b"WHO",
    b"WHOIS",
    b"MODE",
    b"PING",
    b"PONG",
    b"NOTICE",
    b"TOPIC",
    b"NAMES",
    b"USERHOST",
];

pub(super) fn detect(line: &Line, talk: Talk) -> Answer {
    if line.begins(b":") || line.begins(b"NOTICE AUTH ") {
        return server(line, talk);
    }
    if is_command(line) {
        return client(line, talk);
    }
    let begins: [&[u8]; 6] = [b"NICK ", b"USER ", b"PASS ", b"CAP ", b"AUTHENTICATE ", b"NOTICE AUTH "];
    if !line.whole && line.may_begin(&begins) { Answer::Maybe } else { Answer::No }
}

fn is_command(line: &Line) -> bool {
    line.command(&REGISTERING) || line.command(&LATER)
}

/// Whether the lines of a client register it.
fn client(line: &Line, talk: Talk) -> Answer {
    let (mut nick, mut user, mut next) = (false, false, Some(*line));
    while let Some(line) = next.filter(|line| line.whole) {
        nick |= line.begins(b"NICK ");
        user |= line.begins(b"USER ") && line.text.split(|&byte| byte == b' ').nth(4).is_some();
        next = Line::first(line.rest).filter(|_| !line.rest.is_empty());
    }
    if nick && user {
        return Answer::yes(Protocol::IRC, "IRC registration");
    }
    match Line::first(talk.peer) {
        _ if talk.peer.is_empty() => Answer::Maybe,
        Some(peer) if is_from_server(&peer) => Answer::yes(Protocol::IRC, "IRC command and reply"),
        _ => Answer::No,
    }
}

fn server(line: &Line, talk: Talk) -> Answer {
    let asked = Line::first(talk.peer).is_some_and(|peer| is_command(&peer));
    if !is_from_server(line) {
        return if line.whole { Answer::No } else { Answer::Maybe };
    }
    let mut words = line.text.split(|&byte| byte == b' ');
    let (prefix, command) = (words.next().unwrap_or_default(), words.next());
    let is_user = prefix.contains(&b'!') && prefix.contains(&b'@');
    // Names of servers have dots.
    let is_host = prefix.contains(&b'.');
    if asked || is_user || is_host && command == Some(b"001") {
        Answer::yes(Protocol::IRC, "IRC command and reply")
    } else if is_host || line.begins(b"NOTICE AUTH :") {
        Answer::likely(Protocol::IRC, "IRC message of a server")
    } else {
        Answer::Maybe
    }
}

/// `:host 433 * nick :`, `:nick!user@host PRIVMSG #channel :`, `NOTICE AUTH :*** Looking up`.
fn is_from_server(line: &Line) -> bool {
    if line.begins(b"NOTICE AUTH :") {
        return true;
    }
    let mut words = line.text.split(|&byte| byte == b' ');
    let (Some([b':', prefix @ ..]), Some(command), Some(parameter)) =
        (words.next(), words.next(), words.next())
    else {
        return false;
    };
    let numeric = command.len() == 3 && command.iter().all(u8::is_ascii_digit);
    let words: [&[u8]; 9] =
        [b"CAP", b"NOTICE", b"PRIVMSG", b"JOIN", b"PART", b"QUIT", b"MODE", b"NICK", b"PONG"];
    !prefix.is_empty() && !parameter.is_empty() && (numeric || words.contains(&command))
}
