//! Packets of a capture that lie ready to be sent: in a batch of its reader, or in memory.

use crate::interfaces::Section;
use capture::{Batch, Format};
use engine::Metadata;
use wire::{LinkType, in_one_line};

/// Captures up to this size are kept for further passes, in bytes of packets and of what is known of them. Tests have small ones.
const MEMORY_MAX: usize = if cfg!(test) { 1 << 20 } else { 64 << 20 };

/// Records that lie ready.
pub(super) trait Records {
    fn len(&self) -> usize;
    /// The captured bytes of a record.
    fn data(&self, index: usize) -> &[u8];
    /// When it was captured.
    fn timestamp_ns(&self, index: usize) -> u64;
    fn metadata(&self, index: usize) -> Metadata;
    /// Whether it was captured before 1970, which is before all times that packets can have.
    fn is_before_1970(&self, index: usize) -> bool;

    /// Whether it is an Ethernet frame.
    #[inline]
    fn is_ethernet(&self, index: usize) -> bool {
        u32::from(self.metadata(index).linktype) == LinkType::ETHERNET.value()
    }
}

/// Records that lie ready, of either kind.
pub(super) enum Ready<'a> {
    Batch(Described<'a>),
    Memory(&'a Memory),
}

/// A batch, and the interfaces of its section.
pub(super) struct Described<'a> {
    pub(super) batch: Batch<'a>,
    pub(super) section: &'a Section,
}

/// The records of a whole capture.
#[derive(Debug, Default)]
pub(super) struct Memory {
    bytes: Vec<u8>,
    records: Vec<Record>,
}

#[derive(Debug)]
struct Record {
    offset: usize,
    captured_len: usize,
    timestamp_ns: u64,
    is_before_1970: bool,
    cut_len: u32,
    linktype: u16,
    interface: u32,
    precision: u8,
}

impl Memory {
    /// Forgets what it holds.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.records.clear();
    }

    /// The link type of the first record: all of a batch share it.
    pub(super) fn linktype(&self) -> Option<LinkType> {
        self.records.first().map(|record| LinkType::new(record.linktype.into()))
    }

    /// Takes a batch in; `false` if that would be too much.
    pub(super) fn keep(&mut self, batch: &Described<'_>) -> bool {
        for index in 0..batch.len() {
            let data = batch.data(index);
            let Metadata { timestamp_ns, cut_len, linktype, interface, precision, .. } =
                batch.metadata(index);
            let (offset, captured_len) = (self.bytes.len(), data.len());
            self.bytes.extend_from_slice(data);
            self.records.push(Record {
                offset,
                captured_len,
                timestamp_ns,
                is_before_1970: batch.is_before_1970(index),
                cut_len,
                linktype,
                interface,
                precision,
            });
        }
        self.bytes.len() + self.records.len() * size_of::<Record>() <= MEMORY_MAX
    }
}

impl Records for Memory {
    fn len(&self) -> usize {
        self.records.len()
    }

    #[inline]
    fn data(&self, index: usize) -> &[u8] {
        let record = &self.records[index];
        &self.bytes[record.offset..][..record.captured_len]
    }

    #[inline]
    fn timestamp_ns(&self, index: usize) -> u64 {
        self.records[index].timestamp_ns
    }

    #[inline]
    fn metadata(&self, index: usize) -> Metadata {
        let &Record { timestamp_ns, cut_len, linktype, interface, precision, .. } = &self.records[index];
        Metadata { timestamp_ns, cut_len, linktype, interface, precision, ..Metadata::default() }
    }

    #[inline]
    fn is_before_1970(&self, index: usize) -> bool {
        self.records[index].is_before_1970
    }
}

impl Records for Described<'_> {
    fn len(&self) -> usize {
        self.batch.len()
    }

    #[inline]
    fn data(&self, index: usize) -> &[u8] {
        self.batch.data(&self.batch.packets()[index])
    }

    #[inline]
    fn timestamp_ns(&self, index: usize) -> u64 {
        // Packets have no times before 1970.
        u64::try_from(self.batch.timestamp_ns(&self.batch.packets()[index])).unwrap_or(0)
    }

    #[inline]
    fn metadata(&self, index: usize) -> Metadata {
        let Described { batch, section } = self;
        let packet = &batch.packets()[index];
        let interface = batch.interface(packet);
        Metadata {
            timestamp_ns: self.timestamp_ns(index),
            cut_len: packet.wire_len.saturating_sub(packet.captured_len),
            linktype: number_of(batch.format().as_read_here(interface.linktype)).unwrap_or(u16::MAX),
            interface: section.number(packet.interface),
            precision: precision(interface.resolution.ticks_per_s()),
            ..Metadata::default()
        }
    }

    #[inline]
    fn is_before_1970(&self, index: usize) -> bool {
        self.batch.timestamp_ns(&self.batch.packets()[index]) < 0
    }
}

/// Refuses a capture whose link type metadata have no room for: that of a pcap file has 26 bits, and all that are known have 16.
pub(super) fn check_linktype(format: Format, input: &str) -> Result<(), String> {
    match format {
        Format::Pcap(header) if number_of(header.linktype).is_none() => Err(format!(
            "{}: packets of link type {}, but networks of apps know such up to {} only",
            in_one_line(input),
            header.linktype,
            u16::MAX
        )),
        _ => Ok(()),
    }
}

fn number_of(linktype: LinkType) -> Option<u16> {
    linktype.value().try_into().ok()
}

/// Decimal digits of a second that timestamps have; 9 where they are no power of ten, or finer than nanoseconds.
#[inline]
fn precision(ticks_per_s: u64) -> u8 {
    match ticks_per_s {
        1_000_000 => 6,
        1_000_000_000 => 9,
        _ => {
            let digits = ticks_per_s.max(1).ilog10();
            if digits > 9 || 10_u64.pow(digits) != ticks_per_s { 9 } else { digits as u8 }
        }
    }
}
