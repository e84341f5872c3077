//! The data of an answer, of the types that say something in few words (RFC 1035, 3.3; RFC 2782).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Dns, Record, write_name};
use crate::bytes::{array_at, u8_at, u16_at, u32_at};
use crate::summary::text::{Escaper, Kind, Quoted, WORD_MAX};

pub(super) const TYPE_A: u16 = 1;
pub(super) const TYPE_NS: u16 = 2;
pub(super) const TYPE_CNAME: u16 = 5;
pub(super) const TYPE_SOA: u16 = 6;
pub(super) const TYPE_PTR: u16 = 12;
pub(super) const TYPE_MX: u16 = 15;
pub(super) const TYPE_TXT: u16 = 16;
pub(super) const TYPE_AAAA: u16 = 28;
pub(super) const TYPE_SRV: u16 = 33;
const TYPE_DNAME: u16 = 39;

/// An answer that has something to show.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer<'a> {
    pub(super) kind: u16,
    data: Data<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Data<'a> {
    Address(IpAddr),
    /// Where a name begins.
    Name(usize),
    /// A server for mail: its preference, and its name.
    Mail(u16, usize),
    /// Priority, weight and port of a service, and where it is.
    Service([u16; 3], usize),
    /// The first of its strings.
    Text(&'a [u8]),
    /// The first server of a zone, and the zone's serial number.
    Zone(usize, u32),
}

pub(super) fn is_address(kind: u16) -> bool {
    matches!(kind, TYPE_A | TYPE_AAAA)
}

/// Whether the data of such a record is shown.
pub(super) fn is_known(kind: u16) -> bool {
    matches!(kind, TYPE_NS | TYPE_CNAME | TYPE_SOA | TYPE_PTR | TYPE_MX | TYPE_TXT | TYPE_SRV | TYPE_DNAME)
        || is_address(kind)
}

impl<'a> Answer<'a> {
    /// Reads the data of a record of a known type: `None` where the message ends within it, and no answer where it is not what it should be.
    pub(super) fn read(dns: &mut Dns<'a>, record: &Record) -> Option<Option<Answer<'a>>> {
        let &Record { kind, data: at, end, .. } = record;
        let message = dns.message;
        let bytes = message.get(at..end)?;
        let data = match kind {
            TYPE_A => array_at::<4>(bytes, 0)
                .filter(|_| bytes.len() == 4)
                .map(|ip| Data::Address(Ipv4Addr::from(ip).into())),
            TYPE_AAAA => array_at::<16>(bytes, 0)
                .filter(|_| bytes.len() == 16)
                .map(|ip| Data::Address(Ipv6Addr::from(ip).into())),
            TYPE_MX => u16_at(bytes, 0).map(|preference| Data::Mail(preference, at + 2)),
            TYPE_SRV => {
                let fields = u16_at(bytes, 0).zip(u16_at(bytes, 2)).zip(u16_at(bytes, 4));
                fields.map(|((priority, weight), port)| Data::Service([priority, weight, port], at + 6))
            }
            TYPE_TXT => u8_at(bytes, 0).and_then(|len| bytes.get(1..1 + usize::from(len))).map(Data::Text),
            TYPE_SOA => {
                // The server, then who answers for the zone.
                let serial_at = dns.name_end(at).and_then(|mailbox| dns.name_end(mailbox));
                let serial = serial_at.and_then(|at| u32_at(message.get(..end)?, at));
                serial.map(|serial| Data::Zone(at, serial))
            }
            _ => Some(Data::Name(at)),
        };
        Some(data.map(|data| Answer { kind, data }).filter(|answer| answer.is_within(dns, end)))
    }

    /// Whether a name in it ends within the record.
    fn is_within(&self, dns: &mut Dns<'_>, end: usize) -> bool {
        match self.data {
            Data::Name(at) | Data::Mail(_, at) | Data::Service(_, at) | Data::Zone(at, _) => {
                dns.name_end(at).is_some_and(|name_end| name_end <= end)
            }
            Data::Address(_) | Data::Text(_) => true,
        }
    }

    /// Writes it, out of this message.
    pub(super) fn write(&self, message: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |at, f: &mut fmt::Formatter<'_>| {
            write_name(message, at, &mut Escaper::new(f, Kind::Label, WORD_MAX))
        };
        match self.data {
            Data::Address(address) => write!(f, "{address}"),
            Data::Name(at) => name(at, f),
            Data::Mail(preference, at) => {
                write!(f, "{preference} ")?;
                name(at, f)
            }
            Data::Service([priority, weight, port], at) => {
                write!(f, "{priority} {weight} {port} ")?;
                name(at, f)
            }
            Data::Text(text) => write!(f, "{}", Quoted(text)),
            Data::Zone(server, serial) => {
                name(server, f)?;
                write!(f, " serial {serial}")
            }
        }
    }
}
