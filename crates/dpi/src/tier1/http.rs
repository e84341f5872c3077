//! HTTP/1 (RFC 9112), and what goes over it by the words of its headers: IPP (RFC 8010 section 4), BitTorrent's trackers (BEP 3); the preface of HTTP/2 (RFC 9113 section 3.4).
//!
//! Asked of the bytes: a whole request line, `method target HTTP/1.x` with a token as method, or a status line `HTTP/1.x 200`. The headers are waited for until the
//! empty line, for the host and the type of content; what is no header ends them.

use super::answer::{Answer, text};
use super::startline::{Line, Request, is_token};
use super::tcp::Talk;
use crate::{Details, Protocol};

/// Bytes of headers that are waited for.
const HEADERS_MAX: usize = 8192;
/// Methods that a request whose line has not ended is taken for HTTP's by (RFC 9110 section 9).
const METHODS: [&[u8]; 5] = [b"GET ", b"POST ", b"PUT ", b"HEAD ", b"DELETE "];
/// What stands behind the line `PRI * HTTP/2.0`.
const PREFACE: &[u8] = b"\r\nSM\r\n\r\n";

pub(super) fn detect(line: &Line, talk: Talk) -> Answer {
    if line.may_begin(&[b"HTTP/1."]) {
        return response(line, talk);
    }
    match line.request() {
        Some(request) if is_version_1(request.version) => of_request(&request, line.rest, talk),
        Some(Request { method: b"PRI", target: b"*", version: b"HTTP/2.0" }) => preface(line.rest),
        Some(_) => Answer::No,
        None if line.whole => Answer::No,
        None => part(line.text),
    }
}

fn is_version_1(version: &[u8]) -> bool {
    matches!(version, b"HTTP/1.0" | b"HTTP/1.1")
}

/// A request line whose end has not come.
fn part(text: &[u8]) -> Answer {
    let Some(space) = text.iter().position(|&byte| byte == b' ') else {
        return if is_token(text) { Answer::Maybe } else { Answer::No };
    };
    let target = &text[space + 1..];
    if METHODS.contains(&&text[..=space]) && (target.starts_with(b"/") || target.starts_with(b"http://")) {
        Answer::likely(Protocol::HTTP, "HTTP method and target")
    } else if is_token(&text[..space]) {
        Answer::Maybe
    } else {
        Answer::No
    }
}

fn preface(rest: &[u8]) -> Answer {
    if rest.starts_with(PREFACE) {
        Answer::yes(Protocol::HTTP2, "HTTP/2 connection preface")
    } else if PREFACE.starts_with(rest) {
        Answer::likely(Protocol::HTTP2, "HTTP/2 connection preface")
    } else {
        Answer::No
    }
}

fn of_request(request: &Request, rest: &[u8], talk: Talk) -> Answer {
    let headers = Headers::read(rest);
    if !headers.complete && rest.len() < HEADERS_MAX && talk.peer.is_empty() && !talk.cut {
        return Answer::likely(Protocol::HTTP, "HTTP request line");
    }
    // What the target names counts, whatever `Host` says (RFC 9112 section 3.2.2).
    let host = authority(request).or(headers.host);
    let details = Details { sni: host.and_then(|host| text(without_port(host))), ..Details::default() };
    let answer = if request.method == b"CONNECT" {
        Answer::yes(Protocol::HTTP_CONNECT, "HTTP method CONNECT").over(Protocol::HTTP)
    } else if request.method == b"POST" && is_ipp(headers.content_type) {
        Answer::yes(Protocol::IPP, "HTTP content application/ipp")
    } else if request.target.windows(10).any(|window| window == b"info_hash=") {
        Answer::yes(Protocol::BITTORRENT, "HTTP request to a tracker").over(Protocol::HTTP)
    } else {
        Answer::yes(Protocol::HTTP, "HTTP request line")
    };
    answer.with(details)
}

fn response(line: &Line, talk: Talk) -> Answer {
    if !line.is_status(b"HTTP/1.") {
        return if line.whole { Answer::No } else { Answer::Maybe };
    }
    // Who asked says more.
    if let Some(asked) = Line::first(talk.peer)
        && let Some(request) = asked.request()
        && is_version_1(request.version)
    {
        return of_request(&request, asked.rest, Talk { this: talk.peer, peer: talk.this, ..talk });
    }
    let headers = Headers::read(line.rest);
    if is_ipp(headers.content_type) {
        return Answer::yes(Protocol::IPP, "HTTP content application/ipp");
    }
    if headers.complete || line.rest.len() >= HEADERS_MAX || !talk.peer.is_empty() || talk.cut {
        Answer::yes(Protocol::HTTP, "HTTP status line")
    } else {
        Answer::likely(Protocol::HTTP, "HTTP status line")
    }
}

fn is_ipp(content_type: Option<&[u8]>) -> bool {
    content_type.is_some_and(|value| {
        let media = value.split(|&byte| byte == b';').next().unwrap_or_default();
        media.trim_ascii().eq_ignore_ascii_case(b"application/ipp")
    })
}

/// The host that a target names: `http://host/`, or `host:443` of CONNECT.
fn authority<'a>(request: &Request<'a>) -> Option<&'a [u8]> {
    let target = request.target;
    let behind = |scheme: &[u8]| {
        let (begin, behind) = target.split_at_checked(scheme.len())?;
        begin.eq_ignore_ascii_case(scheme).then_some(behind)
    };
    let authority = match behind(b"http://").or_else(|| behind(b"https://")) {
        Some(behind) => behind.split(|byte| b"/?#".contains(byte)).next()?,
        None if request.method == b"CONNECT" => target,
        None => return None,
    };
    // Without a user (RFC 3986 section 3.2).
    authority.rsplit(|&byte| byte == b'@').next().filter(|host| !host.is_empty())
}

fn without_port(host: &[u8]) -> &[u8] {
    match host.iter().rposition(|&byte| byte == b':') {
        // The colons of an IPv6 address are within brackets.
        Some(colon) if host[colon + 1..].iter().all(u8::is_ascii_digit) && !host[..colon].contains(&b':') => {
            &host[..colon]
        }
        Some(colon) if host[..colon].ends_with(b"]") => &host[..colon],
        _ => host,
    }
}

/// The headers that say something.
#[derive(Debug, Default)]
struct Headers<'a> {
    host: Option<&'a [u8]>,
    content_type: Option<&'a [u8]>,
    /// Whether they have ended.
    complete: bool,
}

impl<'a> Headers<'a> {
    fn read(mut rest: &'a [u8]) -> Self {
        let mut headers = Headers::default();
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            let line = rest[..end].trim_ascii_end();
            rest = &rest[end + 1..];
            let Some(colon) = line.iter().position(|&byte| byte == b':') else {
                headers.complete = true;
                break;
            };
            let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
            if name.eq_ignore_ascii_case(b"host") {
                headers.host.get_or_insert(value);
            } else if name.eq_ignore_ascii_case(b"content-type") {
                headers.content_type.get_or_insert(value);
            }
        }
        headers
    }
}
