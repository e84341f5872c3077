//! TFTP (RFC 1350): requests for files, and what is said to and from the port of servers. Transfers go on between other ports.

use std::fmt;

use super::text::{Quoted, Word};
use crate::bytes::u16_at;

pub(super) const PORT: u16 = 69;
/// Bytes that show what kind of packet it is.
pub(super) const LEAST: usize = 2;
const WRITE: u16 = 2;

/// A packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tftp<'a> {
    kind: Kind<'a>,
    /// Whether all was there that a line shows.
    pub(super) is_whole: bool,
}

#[derive(Clone, Copy, Debug)]
enum Kind<'a> {
    /// To read, or to write: the name of the file, and the mode.
    Request(u16, &'a [u8], &'a [u8]),
    Data(Option<u16>),
    Ack(Option<u16>),
    /// A number, and what it means.
    Error(Option<u16>, &'a [u8]),
    /// Options that are agreed to (RFC 2347).
    Options,
}

impl<'a> Tftp<'a> {
    /// Reads a packet, if its kind is there and known.
    pub(super) fn read(payload: &'a [u8]) -> Option<Tftp<'a>> {
        let rest = payload.get(LEAST..)?;
        let number = u16_at(rest, 0);
        let (kind, is_whole) = match u16_at(payload, 0)? {
            operation @ 1..=WRITE => {
                let (file, behind) = text(rest);
                let (mode, end) = text(behind.unwrap_or_default());
                (Kind::Request(operation, file, mode), end.is_some())
            }
            3 => (Kind::Data(number), number.is_some()),
            4 => (Kind::Ack(number), number.is_some()),
            5 => {
                let (message, end) = text(rest.get(2..).unwrap_or_default());
                (Kind::Error(number, message), end.is_some())
            }
            6 => (Kind::Options, true),
            _ => return None,
        };
        Some(Tftp { kind, is_whole })
    }
}

/// A text, and what stands behind the zero that ends it.
fn text(bytes: &[u8]) -> (&[u8], Option<&[u8]>) {
    match bytes.iter().position(|&byte| byte == 0) {
        Some(end) => (&bytes[..end], Some(&bytes[end + 1..])),
        None => (bytes, None),
    }
}

impl fmt::Display for Tftp<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbered = |name: &str, number: Option<u16>, f: &mut fmt::Formatter<'_>| {
            write!(f, "tftp {name}")?;
            number.map_or(Ok(()), |number| write!(f, " {number}"))
        };
        match self.kind {
            Kind::Request(operation, file, mode) => {
                let name = if operation == WRITE { "write" } else { "read" };
                write!(f, "tftp {name} {}", Quoted(file))?;
                if mode.is_empty() { Ok(()) } else { write!(f, " {}", Word(mode)) }
            }
            Kind::Data(block) => numbered("data block", block, f),
            Kind::Ack(block) => numbered("ack block", block, f),
            Kind::Error(code, message) => {
                numbered("error", code, f)?;
                if message.is_empty() { Ok(()) } else { write!(f, " {}", Quoted(message)) }
            }
            Kind::Options => f.write_str("tftp options"),
        }
    }
}
