//! The first line of what is said in words: requests and responses of HTTP/1 (RFC 9112) on any port, commands and replies of SMTP
//! (RFC 5321) and FTP (RFC 959), and requests and responses of SIP (RFC 3261) on theirs.

use std::fmt;

use super::text::{LINE_MAX, QuotedLine};

const FTP_PORT: u16 = 21;
/// To other servers, and from users (RFC 6409).
const SMTP_PORTS: [u16; 2] = [25, 587];

/// Of both UDP and TCP.
pub(super) const SIP_PORT: u16 = 5060;

/// What HTTP begins with. A method alone might be that of another protocol, such as RTSP.
const HTTP: [&[u8]; 20] = [
    b"HTTP/1.",
    b"GET /",
    b"POST /",
    b"PUT /",
    b"HEAD /",
    b"DELETE /",
    b"PATCH /",
    b"TRACE /",
    b"OPTIONS /",
    b"OPTIONS * HTTP/",
    b"PROPFIND /",
    b"REPORT /",
    b"CONNECT ",
    // As a proxy is asked.
    b"GET http",
    b"POST http",
    b"PUT http",
    b"HEAD http",
    b"DELETE http",
    b"PATCH http",
    b"OPTIONS http",
];

/// What SIP begins with (IANA, "SIP Methods").
const SIP: [&[u8]; 15] = [
    b"SIP/2.0 ",
    b"INVITE ",
    b"ACK ",
    b"BYE ",
    b"CANCEL ",
    b"OPTIONS ",
    b"REGISTER ",
    b"PRACK ",
    b"SUBSCRIBE ",
    b"NOTIFY ",
    b"PUBLISH ",
    b"INFO ",
    b"REFER ",
    b"MESSAGE ",
    b"UPDATE ",
];

const SMTP: [&[u8]; 15] = [
    b"HELO",
    b"EHLO",
    b"LHLO",
    b"MAIL",
    b"RCPT",
    b"DATA",
    b"BDAT",
    b"RSET",
    b"VRFY",
    b"EXPN",
    b"HELP",
    b"NOOP",
    b"QUIT",
    b"AUTH",
    b"STARTTLS",
];

#[rustfmt::skip]
const FTP: [&[u8]; 44] = [
    b"USER", b"PASS", b"ACCT", b"CWD", b"CDUP", b"SMNT", b"QUIT", b"REIN", b"PORT", b"PASV", b"EPRT", b"EPSV", b"TYPE",
    b"STRU", b"MODE", b"RETR", b"STOR", b"STOU", b"APPE", b"ALLO", b"REST", b"RNFR", b"RNTO", b"ABOR", b"DELE", b"RMD",
    b"MKD", b"PWD", b"LIST", b"NLST", b"SITE", b"SYST", b"STAT", b"HELP", b"NOOP", b"AUTH", b"PBSZ", b"PROT", b"FEAT",
    b"OPTS", b"SIZE", b"MDTM", b"MLSD", b"MLST",
];

/// A line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words<'a> {
    protocol: &'static str,
    text: &'a [u8],
    /// Whether all was there that is shown.
    pub(super) is_whole: bool,
}

/// How bytes begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beginning {
    /// As a line that is shown.
    Known,
    /// There are too few to tell.
    Open,
    Other,
}

impl<'a> Words<'a> {
    /// Reads the first line of a segment between these ports, of which `sent` bytes were sent, and `payload` captured.
    pub(super) fn read(ports: [u16; 2], payload: &'a [u8], sent: usize) -> Option<Words<'a>> {
        let (protocol, beginning) = beginning(ports, payload);
        if beginning != Beginning::Known {
            return None;
        }
        // One byte more shows that there is more than fits.
        let seen = &payload[..payload.len().min(LINE_MAX + 1)];
        let end = seen.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
        let is_whole = end.is_some() || seen.len() > LINE_MAX || payload.len() >= sent;
        Some(Words { protocol, text: &seen[..end.unwrap_or(seen.len())], is_whole })
    }
}

/// Bytes that show what a segment between these ports begins with, where that is `payload`.
pub(super) fn least(ports: [u16; 2], payload: &[u8]) -> usize {
    match beginning(ports, payload) {
        (_, Beginning::Open) => payload.len() + 1,
        _ => 1,
    }
}

fn beginning([src, dst]: [u16; 2], payload: &[u8]) -> (&'static str, Beginning) {
    let is_of = |known: &[u16]| (known.contains(&src), known.contains(&dst));
    let spoken = |is_server: bool, commands| {
        if is_server { of_reply(payload) } else { of_command(payload, commands) }
    };
    match (is_of(&[FTP_PORT]), is_of(&SMTP_PORTS)) {
        ((from, to), _) if from || to => ("ftp", spoken(from, &FTP)),
        (_, (from, to)) if from || to => ("smtp", spoken(from, &SMTP)),
        _ if src == SIP_PORT || dst == SIP_PORT => ("sip", of_known(payload, &SIP)),
        _ => ("http", of_known(payload, &HTTP)),
    }
}

/// One of several beginnings, each with a capital letter.
fn of_known(payload: &[u8], beginnings: &[&[u8]]) -> Beginning {
    // Most of what TCP carries begins with no capital letter.
    if !payload.first().is_some_and(u8::is_ascii_uppercase) {
        return Beginning::Other;
    }
    most(beginnings.iter().map(|&known| {
        if payload.starts_with(known) {
            Beginning::Known
        } else if known.starts_with(payload) {
            Beginning::Open
        } else {
            Beginning::Other
        }
    }))
}

/// A command in either case, and a blank or the end of the line.
fn of_command(payload: &[u8], commands: &[&[u8]]) -> Beginning {
    most(commands.iter().map(|&known| {
        let same = payload.len().min(known.len());
        match payload.get(known.len()) {
            _ if !payload[..same].eq_ignore_ascii_case(&known[..same]) => Beginning::Other,
            None => Beginning::Open,
            Some(b' ' | b'\r' | b'\n') => Beginning::Known,
            Some(_) => Beginning::Other,
        }
    }))
}

/// Three digits, and a blank or, where more lines follow, a hyphen.
fn of_reply(payload: &[u8]) -> Beginning {
    let is_code = payload.iter().take(3).all(u8::is_ascii_digit);
    match payload.get(3) {
        _ if !is_code => Beginning::Other,
        None => Beginning::Open,
        Some(b' ' | b'-') => Beginning::Known,
        Some(_) => Beginning::Other,
    }
}

/// What is known of what begins in one of several ways.
fn most(ways: impl Iterator<Item = Beginning>) -> Beginning {
    ways.min_by_key(|way| match way {
        Beginning::Known => 0,
        Beginning::Open => 1,
        Beginning::Other => 2,
    })
    .unwrap_or(Beginning::Other)
}

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.protocol, QuotedLine(self.text))
    }
}
