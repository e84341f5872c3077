//! Packets as records of a file: pcap (draft-ietf-opsawg-pcap) or pcapng (draft-ietf-opsawg-pcapng), in this
//! machine's byte order.

use super::Format;
use crate::interfaces::{self, Facts};
use capture::layout::{self, InterfaceOption, RecordSpan, RecordSpans};
use capture::{ByteOrder, Precision, Target};
use engine::{Metadata, Packet};
use std::collections::HashMap;
use std::ops::Range;
use wire::LinkType;

/// The snap length that files state: what tcpdump writes unless told otherwise, and more than any packet has.
pub(super) const SNAPLEN: u32 = 256 << 10;

const ORDER: ByteOrder = ByteOrder::NATIVE;
const NS_PER_S: u64 = 1_000_000_000;
/// The last time that pcap has room for.
const TIME_MAX_NS: u64 = (1 << 32) * NS_PER_S - 1;

/// Makes records of packets.
#[derive(Debug)]
pub(super) struct Encoder {
    format: Format,
    snaplen: usize,
    /// The interface of the last packet.
    current: Option<Origin>,
    /// Of pcapng: the interfaces that are in the file.
    interfaces: HashMap<Origin, u32>,
    /// Of pcap: the fate of packets of other origins than the first.
    others: HashMap<Origin, Put>,
    /// The last of them.
    last_other: Option<(Origin, Put)>,
    /// Of pcapng: the interface of `current`.
    interface: u32,
    /// The length of one unit of a timestamp of `current`.
    ns_per_unit: u64,
}

/// The properties that packets of one interface share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Origin {
    linktype: u16,
    interface: u32,
    precision: u8,
}

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Put {
    Done,
    /// Digits of its timestamp were cut off.
    LessPrecise,
    /// Its time, which the file cannot hold, was set to the nearest that it can.
    ChangedTime,
    /// It is not in the file.
    Left(Misfit),
}

/// Why a packet has no place in a pcap file, of which the header says one thing of all packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Misfit {
    LinkType,
    /// Its frame check sequence has another length.
    FcsLen,
}

impl From<&Metadata> for Origin {
    #[inline]
    fn from(metadata: &Metadata) -> Self {
        // Unknown means nanoseconds: nothing is lost.
        let precision = if matches!(metadata.precision, 1..=9) { metadata.precision } else { 9 };
        Origin { linktype: metadata.linktype, interface: metadata.interface, precision }
    }
}

impl Origin {
    /// What becomes of a packet of another origin in a pcap file whose first packet is of this one, and which counts nanoseconds or not.
    fn fate_of(self, other: Origin, is_exact: bool) -> Put {
        // Where nothing is said of a frame check sequence there is none, as far as anybody knows.
        let fcs_len = |origin: Origin| interfaces::facts_of(origin.interface).fcs_len.unwrap_or(0);
        if self.linktype != other.linktype {
            Put::Left(Misfit::LinkType)
        } else if fcs_len(self) != fcs_len(other) {
            Put::Left(Misfit::FcsLen)
        } else if other.precision > 6 && !is_exact {
            Put::LessPrecise
        } else {
            Put::Done
        }
    }
}

impl Encoder {
    pub(super) fn new(format: Format, snaplen: usize) -> Self {
        Encoder {
            format,
            snaplen,
            current: None,
            interfaces: HashMap::new(),
            others: HashMap::new(),
            last_other: None,
            interface: 0,
            ns_per_unit: 1,
        }
    }

    pub(super) fn format(&self) -> Format {
        self.format
    }

    pub(super) fn set_snaplen(&mut self, snaplen: usize) {
        self.snaplen = snaplen;
    }

    /// Records that were made are not in the file, which has begun or not: what follows needs none of them. Interfaces among them would be
    /// missing, so that pcapng goes on with a new section.
    pub(super) fn go_on_without(&mut self, has_begun: bool) {
        if self.format == Format::Pcapng || !has_begun {
            *self = Encoder::new(self.format, self.snaplen);
        }
    }

    /// Why such a packet, which was to be put into the file, is not in it; `None` if it is.
    pub(super) fn misfit(&self, metadata: &Metadata) -> Option<Misfit> {
        match self.others.get(&Origin::from(metadata)) {
            Some(&Put::Left(misfit)) => Some(misfit),
            _ => None,
        }
    }

    /// Writes what a file begins with whose first packet is such.
    pub(super) fn begin(&mut self, metadata: &Metadata, out: &mut Vec<u8>) {
        self.change(Origin::from(metadata), out);
    }

    /// Appends the record of a packet.
    #[inline]
    pub(super) fn put(&mut self, packet: &Packet, out: &mut Vec<u8>) -> Put {
        let metadata = packet.metadata();
        let origin = Origin::from(metadata);
        let mut outcome = Put::Done;
        if self.current != Some(origin) {
            outcome = self.change(origin, out);
            if matches!(outcome, Put::Left(_)) {
                return outcome;
            }
        }
        let wire_len = packet.wire_len();
        let data = packet.data();
        let data = data.get(..self.snaplen).unwrap_or(data);
        match self.format {
            Format::Pcap => {
                if !self.put_record(metadata.timestamp_ns, data, wire_len, out) {
                    outcome = Put::ChangedTime;
                }
            }
            Format::Pcapng => self.put_enhanced(metadata.timestamp_ns, data, wire_len, out),
        }
        outcome
    }

    /// Returns whether the format has room for the time: 32 bits for the seconds, until 2106.
    #[inline]
    fn put_record(&self, timestamp_ns: u64, data: &[u8], wire_len: u32, out: &mut Vec<u8>) -> bool {
        let held_ns = timestamp_ns.min(TIME_MAX_NS);
        let seconds = (held_ns / NS_PER_S) as u32;
        let fraction = units(held_ns % NS_PER_S, self.ns_per_unit) as u32;
        layout::put_record(ORDER, (seconds, fraction), wire_len, data, out);
        held_ns == timestamp_ns
    }

    fn put_enhanced(&self, timestamp_ns: u64, data: &[u8], wire_len: u32, out: &mut Vec<u8>) {
        let ticks = units(timestamp_ns, self.ns_per_unit);
        layout::put_enhanced(ORDER, self.interface, ticks, wire_len, data, out);
    }

    /// A packet of another origin than the last one: finds its place in the file.
    #[cold]
    fn change(&mut self, origin: Origin, out: &mut Vec<u8>) -> Put {
        match (self.format, self.current) {
            (Format::Pcap, Some(file)) => {
                if let Some((_, fate)) = self.last_other.filter(|&(last, _)| last == origin) {
                    return fate;
                }
                let is_exact = self.ns_per_unit == 1;
                let fate = *self.others.entry(origin).or_insert_with(|| file.fate_of(origin, is_exact));
                self.last_other = Some((origin, fate));
                fate
            }
            (Format::Pcap, None) => {
                self.current = Some(origin);
                let precision = if origin.precision > 6 { Precision::Nano } else { Precision::Micro };
                self.ns_per_unit = u64::from(precision.ns_per_unit());
                out.extend(file_header(origin, precision));
                Put::Done
            }
            (Format::Pcapng, current) => {
                if current.is_none() {
                    layout::put_section(ORDER, out);
                }
                self.current = Some(origin);
                self.ns_per_unit = 10_u64.pow(9 - u32::from(origin.precision));
                let next = self.interfaces.len() as u32;
                self.interface = *self.interfaces.entry(origin).or_insert_with(|| {
                    put_interface(origin, out);
                    next
                });
                Put::Done
            }
        }
    }

    /// How many bytes of the buffer are whole records of which all bytes are among the first `done`, and how many packets
    /// stand behind them, but for those among the first `counted` bytes.
    pub(super) fn whole(&self, buffer: &[u8], is_begin: bool, done: usize, counted: usize) -> (usize, u64) {
        let mut whole = 0;
        let mut lost = 0;
        for RecordSpan { range, is_packet, .. } in self.spans(buffer, is_begin) {
            if range.end <= done {
                whole = range.end;
            } else {
                lost += u64::from(is_packet && range.end > counted);
            }
        }
        (whole, lost)
    }

    /// Which record of the buffer has some of its bytes among the first `done`, and others not; an empty range if none.
    pub(super) fn begun(&self, buffer: &[u8], is_begin: bool, done: usize) -> Range<usize> {
        let mut ranges = self.spans(buffer, is_begin).map(|span| span.range);
        ranges.find(|range| range.start < done && done < range.end).unwrap_or(done..done)
    }

    fn spans<'a>(&self, buffer: &'a [u8], is_begin: bool) -> RecordSpans<'a> {
        match self.format {
            Format::Pcap if is_begin => RecordSpans::of_pcap_file(ORDER, buffer),
            Format::Pcap => RecordSpans::of_records(ORDER, buffer),
            Format::Pcapng => RecordSpans::of_blocks(ORDER, buffer),
        }
    }
}

/// Nanoseconds in units of a file.
///
/// PERF: a division by a number that is known takes a few cycles, one by any other tens: 2 to 3 % of a graph that only reads and writes captures.
#[inline]
fn units(ns: u64, ns_per_unit: u64) -> u64 {
    match ns_per_unit {
        1 => ns,
        1_000 => ns / 1_000,
        _ => ns / ns_per_unit,
    }
}

fn file_header(origin: Origin, precision: Precision) -> Vec<u8> {
    let linktype = LinkType::new(origin.linktype.into());
    let fcs_len = interfaces::facts_of(origin.interface).fcs_len;
    let link_bits = fcs_len.and_then(Target::fcs_bits).unwrap_or(0);
    Target::Pcap { order: ORDER, precision, snaplen: SNAPLEN, linktype, link_bits }.file_header()
}

/// Describes an interface: its name, if it has one, the resolution of its timestamps, and the length of its frame check sequence, if that is known.
fn put_interface(origin: Origin, out: &mut Vec<u8>) {
    let Facts { name, fcs_len } = interfaces::facts_of(origin.interface);
    let name = name.as_deref().map(InterfaceOption::Name);
    let digits = InterfaceOption::Digits(origin.precision);
    let fcs_len = fcs_len.map(InterfaceOption::FcsLen);
    let options: Vec<InterfaceOption<'_>> = name.into_iter().chain([digits]).chain(fcs_len).collect();
    layout::put_interface(ORDER, origin.linktype, SNAPLEN, &options, out);
}

#[cfg(test)]
mod tests {
    use super::units;

    #[test]
    fn every_precision_has_its_units() {
        let ns = 1_234_567_890_123_456_789;
        for digits in 1..=9 {
            let ns_per_unit = 10_u64.pow(9 - digits);
            let text = ns.to_string();
            assert_eq!(units(ns, ns_per_unit).to_string(), text[..10 + digits as usize]);
        }
    }
}
