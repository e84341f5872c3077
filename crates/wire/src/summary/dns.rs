//! DNS (RFC 1035), and what is spoken like it: multicast DNS (RFC 6762) and LLMNR (RFC 4795).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::text::{Escaper, Kind, WORD_MAX};
use crate::bytes::{array_at, u8_at, u16_at};

/// The ports of DNS, of multicast DNS and of LLMNR.
pub(super) const PORTS: [u16; 3] = [53, 5353, 5355];

/// Bytes that show that it is one.
pub(super) const HEADER_LEN: usize = 12;
/// Records among which an address is looked for.
const RECORDS_MAX: usize = 8;
/// Times that a name may go on elsewhere. Each goes back, so this only makes it sooner that a hostile one ends.
const JUMPS_MAX: usize = 16;
/// Bytes of a name (RFC 1035, 2.3.4).
const NAME_LEN_MAX: usize = 255;

const IS_RESPONSE: u16 = 0x8000;
const IS_TRUNCATED: u16 = 0x0200;

const TYPE_A: u16 = 1;
const TYPE_AAAA: u16 = 28;

/// A message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dns<'a> {
    message: &'a [u8],
    id: u16,
    flags: u16,
    answers: u16,
    /// What is asked, or the first answer where no question is repeated: its type, and where its name is.
    subject: Option<(u16, usize)>,
    /// The first address among the answers.
    address: Option<IpAddr>,
    /// Whether all was there that a line shows.
    pub(super) is_whole: bool,
    /// Whether a name was met that cannot be one, behind which nothing can be found.
    pub(super) has_bad_name: bool,
}

impl<'a> Dns<'a> {
    /// Reads a message whose header is there.
    pub(super) fn read(message: &'a [u8]) -> Option<Dns<'a>> {
        let number = |at| u16_at(message, at);
        let (id, flags, questions, answers) = (number(0)?, number(2)?, number(4)?, number(6)?);
        message.get(HEADER_LEN..)?;
        let mut dns = Dns {
            message,
            id,
            flags,
            answers,
            subject: None,
            address: None,
            is_whole: false,
            has_bad_name: false,
        };
        dns.is_whole = dns.read_records(questions).is_some() || dns.has_bad_name;
        Some(dns)
    }

    /// Reads what is asked and answered; `None` where the message ends early.
    fn read_records(&mut self, questions: u16) -> Option<()> {
        let mut at = HEADER_LEN;
        if questions > 0 {
            let end = self.name_end(at)?;
            self.subject = Some((u16_at(self.message, end)?, at));
            at = end + 4;
        }
        // Behind several questions, which nobody asks in one message, the answers are not looked for.
        if questions <= 1 && self.flags & IS_RESPONSE != 0 {
            self.read_answers(at)?;
        }
        Some(())
    }

    /// Where the name ends that begins here; not where it goes on elsewhere.
    fn name_end(&mut self, mut at: usize) -> Option<usize> {
        let least_beyond = at + NAME_LEN_MAX;
        while at < least_beyond {
            match u8_at(self.message, at)? {
                0 => return Some(at + 1),
                len @ 1..=63 => at += 1 + usize::from(len),
                0xc0.. => return Some(at + 2),
                _ => break,
            }
        }
        self.has_bad_name = true;
        None
    }

    fn read_answers(&mut self, mut at: usize) -> Option<()> {
        for _ in 0..usize::from(self.answers).min(RECORDS_MAX) {
            let end = self.name_end(at)?;
            // Behind the name: type, class, time to live, length.
            let (kind, len) = (u16_at(self.message, end)?, u16_at(self.message, end + 8)?);
            self.subject = self.subject.or(Some((kind, at)));
            let data = end + 10;
            self.address = match (kind, len) {
                (TYPE_A, 4) => Some(Ipv4Addr::from(array_at::<4>(self.message, data)?).into()),
                (TYPE_AAAA, 16) => Some(Ipv6Addr::from(array_at::<16>(self.message, data)?).into()),
                _ => None,
            };
            if self.address.is_some() {
                break;
            }
            at = data + usize::from(len);
        }
        Some(())
    }
}

impl fmt::Display for Dns<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("dns")?;
        match self.flags >> 11 & 15 {
            0 => {}
            opcode => match opcode_name(opcode) {
                Some(name) => write!(f, " {name}")?,
                None => write!(f, " opcode {opcode}")?,
            },
        }
        let is_response = self.flags & IS_RESPONSE != 0;
        write!(f, " {} id {}", if is_response { "response" } else { "query" }, self.id)?;
        if let Some((kind, at)) = self.subject {
            match type_name(kind) {
                Some(name) => write!(f, " {name} ")?,
                None => write!(f, " TYPE{kind} ")?,
            }
            write_name(self.message, at, &mut Escaper::new(f, Kind::Label, WORD_MAX))?;
        }
        if is_response {
            match self.flags & 15 {
                // Then the number of answers says it.
                0 => {}
                code => match code_name(code) {
                    Some(name) => write!(f, " {name}")?,
                    None => write!(f, " code {code}")?,
                },
            }
            write!(f, " answers {}", self.answers)?;
        }
        if let Some(address) = self.address {
            write!(f, " {address}")?;
        }
        if self.flags & IS_TRUNCATED != 0 {
            f.write_str(" truncated")?;
        }
        Ok(())
    }
}

/// Writes a name; a `?` stands for what is not there or cannot be. Pointers only go back, as they must (RFC 1035, 4.1.4), so this ends.
fn write_name(message: &[u8], mut at: usize, out: &mut Escaper<'_, '_>) -> fmt::Result {
    let (mut jumps, mut is_first) = (0, true);
    let mut least_pointed_at = at;
    loop {
        match u8_at(message, at) {
            Some(0) if is_first => return out.separator('.'),
            Some(0) => return Ok(()),
            Some(len @ 1..=63) => {
                if !is_first {
                    out.separator('.')?;
                }
                is_first = false;
                let label = message.get(at + 1..).unwrap_or_default();
                let has_room = out.bytes(&label[..label.len().min(len.into())])?;
                at += 1 + usize::from(len);
                if !has_room {
                    return Ok(());
                }
            }
            Some(0xc0..) => {
                let Some(pointer) = u16_at(message, at).map(|pointer| usize::from(pointer & 0x3fff)) else {
                    return out.separator('?');
                };
                jumps += 1;
                if !(HEADER_LEN..least_pointed_at).contains(&pointer) || jumps > JUMPS_MAX {
                    return out.separator('?');
                }
                (at, least_pointed_at) = (pointer, pointer);
            }
            _ => return out.separator('?'),
        }
    }
}

/// IANA, "DNS Parameters": OpCodes.
fn opcode_name(opcode: u16) -> Option<&'static str> {
    Some(match opcode {
        2 => "status",
        4 => "notify",
        5 => "update",
        6 => "stateful",
        _ => return None,
    })
}

/// IANA, "DNS Parameters": RCODEs that fit the header.
fn code_name(code: u16) -> Option<&'static str> {
    Some(match code {
        1 => "FORMERR",
        2 => "SERVFAIL",
        3 => "NXDOMAIN",
        4 => "NOTIMP",
        5 => "REFUSED",
        6 => "YXDOMAIN",
        7 => "YXRRSET",
        8 => "NXRRSET",
        9 => "NOTAUTH",
        10 => "NOTZONE",
        _ => return None,
    })
}

/// IANA, "DNS Parameters": resource record types; others are written as RFC 3597 has it.
fn type_name(kind: u16) -> Option<&'static str> {
    Some(match kind {
        TYPE_A => "A",
        2 => "NS",
        5 => "CNAME",
        6 => "SOA",
        10 => "NULL",
        12 => "PTR",
        13 => "HINFO",
        15 => "MX",
        16 => "TXT",
        TYPE_AAAA => "AAAA",
        29 => "LOC",
        33 => "SRV",
        35 => "NAPTR",
        37 => "CERT",
        39 => "DNAME",
        41 => "OPT",
        43 => "DS",
        44 => "SSHFP",
        46 => "RRSIG",
        47 => "NSEC",
        48 => "DNSKEY",
        50 => "NSEC3",
        52 => "TLSA",
        59 => "CDS",
        60 => "CDNSKEY",
        64 => "SVCB",
        65 => "HTTPS",
        99 => "SPF",
        249 => "TKEY",
        250 => "TSIG",
        251 => "IXFR",
        252 => "AXFR",
        255 => "ANY",
        256 => "URI",
        257 => "CAA",
        _ => return None,
    })
}
