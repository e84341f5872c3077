//! SNMP (RFC 1157, RFC 3416): version, community and kind of a message. What version 3 says is mostly encrypted.

use std::fmt;

use super::text::Quoted;
use crate::bytes::u8_at;

/// Of agents, and of who is told by them.
pub(super) const PORTS: [u16; 2] = [161, 162];

/// Tags of the basic encoding rules (ITU-T X.690).
const INTEGER: u8 = 2;
const OCTET_STRING: u8 = 4;
const SEQUENCE: u8 = 0x30;
const VERSION_3: u8 = 3;
/// The trap of version 1, which has no number.
const TRAP_1: u8 = 0xa4;

/// A message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Snmp<'a> {
    version: u8,
    community: Option<&'a [u8]>,
    /// The tag of what is asked or told, which says its kind.
    kind: Option<u8>,
    id: Option<i32>,
    /// Whether all was there that a line shows.
    pub(super) is_whole: bool,
}

/// A value, as much of it as is there, and what follows it.
struct Value<'a> {
    tag: u8,
    bytes: &'a [u8],
    is_whole: bool,
    rest: &'a [u8],
}

impl<'a> Value<'a> {
    fn read(all: &'a [u8]) -> Option<Value<'a>> {
        let header_len = header_len(all);
        let len = match u8_at(all, 1)? {
            short @ ..=0x7f => usize::from(short),
            // A long length has its own length in front.
            0x81..=0x84 => all.get(2..header_len)?.iter().fold(0, |len, &byte| len << 8 | usize::from(byte)),
            _ => return None,
        };
        let behind = all.get(header_len..)?;
        let (bytes, rest) = behind.split_at(len.min(behind.len()));
        Some(Value { tag: all[0], bytes, is_whole: bytes.len() == len, rest })
    }

    /// The same, of a value that is there as a whole and has this tag.
    fn whole(all: &'a [u8], tag: u8) -> Option<Value<'a>> {
        Value::read(all).filter(|value| value.is_whole && value.tag == tag)
    }
}

fn header_len(value: &[u8]) -> usize {
    match u8_at(value, 1) {
        Some(long @ 0x81..=0x84) => 2 + usize::from(long & 0x7f),
        _ => 2,
    }
}

impl<'a> Snmp<'a> {
    /// Bytes that show that it is one: the header of the message, and its version.
    pub(super) fn least(payload: &[u8]) -> usize {
        header_len(payload) + 3
    }

    /// Reads a message, if its version is there.
    pub(super) fn read(payload: &'a [u8]) -> Option<Snmp<'a>> {
        let message = Value::read(payload).filter(|value| value.tag == SEQUENCE)?;
        let version = Value::whole(message.bytes, INTEGER)?;
        let &[number @ (0 | 1 | VERSION_3)] = version.bytes else { return None };
        let mut snmp =
            Snmp { version: number, community: None, kind: None, id: None, is_whole: number == VERSION_3 };
        if number != VERSION_3 {
            snmp.is_whole = snmp.read_kind(version.rest).is_some();
        }
        Some(snmp)
    }

    fn read_kind(&mut self, bytes: &'a [u8]) -> Option<()> {
        let community = Value::whole(bytes, OCTET_STRING)?;
        self.community = Some(community.bytes);
        self.kind = Some(u8_at(community.rest, 0)?);
        if self.kind != Some(TRAP_1) {
            let id = Value::whole(Value::read(community.rest)?.bytes, INTEGER)?;
            let first = if id.bytes.first()? & 0x80 == 0 { 0 } else { -1 };
            self.id = Some(id.bytes.iter().fold(first, |id, &byte| id << 8 | i32::from(byte)));
        }
        Some(())
    }
}

impl fmt::Display for Snmp<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "snmp v{}", ["1", "2c", "2", "3"][usize::from(self.version)])?;
        if let Some(community) = self.community {
            write!(f, " {}", Quoted(community))?;
        }
        match self.kind.map(|kind| (kind, kind_name(kind))) {
            Some((_, Some(name))) => write!(f, " {name}")?,
            Some((kind, None)) => write!(f, " tag {kind:#04x}")?,
            None => {}
        }
        self.id.map_or(Ok(()), |id| write!(f, " id {id}"))
    }
}

/// RFC 3416, 3.
fn kind_name(tag: u8) -> Option<&'static str> {
    const NAMES: [&str; 9] =
        ["get", "get-next", "response", "set", "trap", "get-bulk", "inform", "trap-v2", "report"];
    NAMES.get(usize::from(tag.checked_sub(0xa0)?)).copied()
}
