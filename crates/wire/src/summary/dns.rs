//! DNS (RFC 1035), and what is spoken like it: multicast DNS (RFC 6762) and LLMNR (RFC 4795).

mod answer;
mod names;

use std::fmt;

use answer::Answer;
use names::{code_name, opcode_name, type_name};

use super::text::{Escaper, Kind, WORD_MAX};
use crate::bytes::{u16_at, u32_at};
pub(super) use crate::dns::HEADER_LEN;
use crate::dns::{self, Labels, NameError, Part};

/// The ports of DNS, of multicast DNS and of LLMNR.
pub(super) const PORTS: [u16; 3] = [53, 5353, 5355];

/// Records that are looked into. Servers send fewer to who takes them over UDP.
const RECORDS_MAX: usize = 64;

const IS_RESPONSE: u16 = 0x8000;
const IS_TRUNCATED: u16 = 0x0200;

const TYPE_OPT: u16 = 41;

/// A message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dns<'a> {
    message: &'a [u8],
    id: u16,
    flags: u16,
    /// The response code, of which an OPT record has the upper eight bits (RFC 6891, 6.1.3).
    code: u16,
    answers: u16,
    /// What is asked, or the first answer where no question is repeated: its type, and where its name is.
    subject: Option<(u16, usize)>,
    /// The answer that says most.
    answer: Option<Answer<'a>>,
    /// Whether all was there that a line shows.
    pub(super) is_whole: bool,
    /// Whether a name was met that cannot be one, behind which nothing can be found.
    pub(super) has_bad_name: bool,
}

/// A resource record (RFC 1035, 4.1.3).
#[derive(Clone, Copy, Debug)]
struct Record {
    kind: u16,
    /// Of an OPT record, what it adds to the header.
    ttl: u32,
    /// Where its data begins, and where it should end.
    data: usize,
    end: usize,
}

impl<'a> Dns<'a> {
    /// Reads a message whose header is there.
    pub(super) fn read(message: &'a [u8]) -> Option<Dns<'a>> {
        let number = |at| u16_at(message, at);
        let (id, flags, questions, answers) = (number(0)?, number(2)?, number(4)?, number(6)?);
        let (authorities, additional) = (number(8)?, number(10)?);
        let mut dns = Dns {
            message,
            id,
            flags,
            code: flags & 15,
            answers,
            subject: None,
            answer: None,
            is_whole: false,
            has_bad_name: false,
        };
        dns.is_whole = dns.read_records(questions, [authorities, additional]).is_some() || dns.has_bad_name;
        Some(dns)
    }

    /// Reads what is asked and answered; `None` where the message ends early.
    fn read_records(&mut self, questions: u16, others: [u16; 2]) -> Option<()> {
        let mut at = HEADER_LEN;
        if questions > 0 {
            let end = self.name_end(at)?;
            self.subject = Some((u16_at(self.message, end)?, at));
            at = end + 4;
        }
        // Behind several questions, which nobody asks in one message, the answers are not looked for.
        if questions > 1 || self.flags & IS_RESPONSE == 0 {
            return Some(());
        }
        let answers = usize::from(self.answers);
        // An OPT record is an additional one; without any, nothing matters behind the answers.
        let behind = if others[1] > 0 { others.map(usize::from).iter().sum() } else { 0 };
        for number in 0..(answers + behind).min(RECORDS_MAX) {
            let record = self.record(at)?;
            if number < answers {
                self.subject = self.subject.or(Some((record.kind, at)));
                self.take_answer(&record)?;
                if behind == 0 && self.answer.is_some_and(|answer| Some(answer.kind) == self.asked()) {
                    break;
                }
            } else if record.kind == TYPE_OPT {
                self.code |= (record.ttl >> 24 << 4) as u16;
                break;
            }
            at = record.end;
        }
        Some(())
    }

    fn asked(&self) -> Option<u16> {
        self.subject.map(|(kind, _)| kind)
    }

    fn record(&mut self, at: usize) -> Option<Record> {
        let end = self.name_end(at)?;
        // Behind the name: type, class, time to live, length.
        let (kind, ttl) = (u16_at(self.message, end)?, u32_at(self.message, end + 4)?);
        let data = end + 10;
        Some(Record { kind, ttl, data, end: data + usize::from(u16_at(self.message, end + 8)?) })
    }

    /// Takes the answer in if it says more than what there is: what was asked, then an address, then the first of others, such as another name to ask for.
    fn take_answer(&mut self, record: &Record) -> Option<()> {
        let worth = |kind| (Some(kind) == self.asked(), answer::is_address(kind));
        if self.answer.is_none_or(|answer| worth(record.kind) > worth(answer.kind))
            && answer::is_known(record.kind)
        {
            self.answer = Answer::read(self, record)?.or(self.answer);
        }
        Some(())
    }

    /// Where the name ends that begins here; not where it goes on elsewhere.
    fn name_end(&mut self, at: usize) -> Option<usize> {
        let end = dns::name_end(self.message, at);
        self.has_bad_name |= end == Err(NameError::Bad);
        end.ok()
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
            match self.code {
                // Then the number of answers says it.
                0 => {}
                code => match code_name(code) {
                    Some(name) => write!(f, " {name}")?,
                    None => write!(f, " code {code}")?,
                },
            }
            write!(f, " answers {}", self.answers)?;
        }
        if let Some(answer) = self.answer {
            // What was asked for needs not be named again, and an address says what it is.
            match type_name(answer.kind) {
                Some(name) if Some(answer.kind) != self.asked() && !answer::is_address(answer.kind) => {
                    write!(f, " {name} ")?;
                }
                _ => f.write_str(" ")?,
            }
            answer.write(self.message, f)?;
        }
        if self.flags & IS_TRUNCATED != 0 {
            f.write_str(" truncated")?;
        }
        Ok(())
    }
}

/// Writes a name; a `?` stands for what is not there or cannot be.
fn write_name(message: &[u8], at: usize, out: &mut Escaper<'_, '_>) -> fmt::Result {
    let mut is_first = true;
    for part in Labels::new(message, at) {
        let Part::Label(label) = part else { return out.separator('?') };
        if !std::mem::take(&mut is_first) {
            out.separator('.')?;
        }
        if !out.bytes(label)? {
            return Ok(());
        }
    }
    if is_first { out.separator('.') } else { Ok(()) }
}
