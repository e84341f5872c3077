//! The first message of each side of TLS (RFC 8446, RFC 5246), and the name of the server that a client asks for (RFC 6066, 3).

use std::fmt;

use super::text::Word;
use super::up_to;
use crate::bytes::{u8_at, u16_at, u32_at};

pub(crate) const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
const RECORD_HEADER_LEN: usize = 5;
/// Bytes that show that a segment begins with a hello.
pub(super) const LEAST: usize = RECORD_HEADER_LEN + 4;
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;
/// Extensions among which the name is looked for.
const EXTENSIONS_MAX: usize = 64;

/// A hello.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Hello<'a> {
    Client { server: Option<&'a [u8]> },
    Server,
}

impl<'a> Hello<'a> {
    /// Reads a segment that begins with the record of a hello.
    pub(crate) fn read(segment: &'a [u8]) -> Option<Hello<'a>> {
        let &[kind, 3, 0..=4, ..] = segment else { return None };
        let record_len = u32::from(u16_at(segment, 3)?);
        let message = u32_at(segment, RECORD_HEADER_LEN)?;
        // A hello has its version and 32 random bytes at least; longer than its record it is seldom, and no harm.
        if kind != HANDSHAKE || record_len < 4 || message & 0x00ff_ffff < 34 {
            return None;
        }
        match (message >> 24) as u8 {
            CLIENT_HELLO => {
                let hello = up_to(&segment[RECORD_HEADER_LEN + 4..], message & 0x00ff_ffff);
                Some(Hello::Client { server: server_name(hello) })
            }
            SERVER_HELLO => Some(Hello::Server),
            _ => None,
        }
    }
}

/// The name of the server in a hello, as far as that was captured.
fn server_name(hello: &[u8]) -> Option<&[u8]> {
    // Version and random bytes, then a session, cipher suites and methods of compression.
    let rest = hello.get(34..)?;
    let rest = rest.get(1 + usize::from(u8_at(rest, 0)?)..)?;
    let rest = rest.get(2 + usize::from(u16_at(rest, 0)?)..)?;
    let rest = rest.get(1 + usize::from(u8_at(rest, 0)?)..)?;
    let mut extensions = list(rest)?;
    for _ in 0..EXTENSIONS_MAX {
        let (kind, len) = (u16_at(extensions, 0)?, usize::from(u16_at(extensions, 2)?));
        let value = extensions.get(4..)?;
        if kind == SERVER_NAME {
            return host_name(up_to(value, len as u32));
        }
        extensions = value.get(len..)?;
    }
    None
}

/// The first name in the extension for it: a list of entries, each a type, a length, and a name, which is not empty.
fn host_name(extension: &[u8]) -> Option<&[u8]> {
    let names = list(extension)?;
    let len = usize::from(u16_at(names, 1)?);
    names.get(3..)?.get(..len).filter(|name| names[0] == HOST_NAME && !name.is_empty())
}

/// What the length of two bytes in front of a list says is in it, as far as that was captured.
fn list(bytes: &[u8]) -> Option<&[u8]> {
    Some(up_to(bytes.get(2..)?, u16_at(bytes, 0)?.into()))
}

impl fmt::Display for Hello<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Hello::Client { server: None } => f.write_str("tls client hello"),
            Hello::Client { server: Some(name) } => write!(f, "tls client hello {}", Word(name)),
            Hello::Server => f.write_str("tls server hello"),
        }
    }
}
