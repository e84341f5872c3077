//! Packets of any input to bytes of one output, without the output itself: workers encode in parallel, one
//! writer puts their bytes in order.

use wire::LinkType;

use crate::batch::Batch;
use crate::block_type::{CUSTOM_NO_COPY, ENHANCED_PACKET, OLD_PACKET, SECTION_HEADER};
use crate::error::{Error, ErrorKind};
use crate::found::{Block, Interface, Record};
use crate::growth;
use crate::order::ByteOrder;
use crate::pcap::{self, FILE_HEADER_LEN, MAGIC_MICRO, MAGIC_NANO, PcapHeader};
use crate::pcapng;
use crate::section::Format;
use crate::time::{NS_PER_S, Precision};
use crate::write::layout::{self, InterfaceOption, put_block};

/// The format of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A pcap file, version 2.4.
    Pcap {
        /// Byte order of its numbers.
        order: ByteOrder,
        /// Fraction of a second its timestamps count.
        precision: Precision,
        /// Snap length its header states. A packet may be longer, see [`Encoded::longest`].
        snaplen: u32,
        /// The one link type its packets may have.
        linktype: LinkType,
        /// The bits above the link type.
        link_bits: u32,
    },
    /// A pcapng file: each input becomes a section, or several.
    Pcapng,
}

impl Target {
    /// The format that an input of this format is copied into.
    #[must_use]
    pub fn like(format: Format) -> Target {
        match format {
            Format::Pcap(PcapHeader { order, precision, snaplen, linktype, link_bits, .. }) => {
                Target::Pcap { order, precision, snaplen, linktype, link_bits }
            }
            Format::Pcapng(_) => Target::Pcapng,
        }
    }

    /// Whether all packets of these interfaces can be put into such a file, unless one is too long.
    #[must_use]
    pub fn takes_all(&self, interfaces: &[Interface]) -> bool {
        interfaces.iter().all(|interface| match *self {
            Target::Pcap { linktype, link_bits, .. } => {
                let fcs_len = pcap::fcs_len(link_bits).unwrap_or(0);
                interface.linktype == linktype && interface.fcs_len.unwrap_or(0) == fcs_len
            }
            Target::Pcapng => u16::try_from(interface.linktype.value()).is_ok(),
        })
    }

    /// The bits above the link type ([`Target::Pcap`]) that say how many bytes of frame check sequence stand behind each packet; `None` for a
    /// number that they have no room for: odd, or above 30.
    ///
    /// ```
    /// assert_eq!([0, 4, 3].map(capture::Target::fcs_bits), [Some(0x0400_0000), Some(0x2400_0000), None]);
    /// ```
    #[must_use]
    pub fn fcs_bits(len: u8) -> Option<u32> {
        pcap::fcs_bits(len)
    }

    /// The header of such a file; empty for pcapng, where sections bring their own headers.
    #[must_use]
    pub fn file_header(&self) -> Vec<u8> {
        let &Target::Pcap { order, precision, snaplen, linktype, link_bits } = self else {
            return Vec::new();
        };
        let magic = if precision == Precision::Nano { MAGIC_NANO } else { MAGIC_MICRO };
        let mut header = Vec::with_capacity(FILE_HEADER_LEN);
        header.extend(order.put_u32(magic));
        header.extend(order.put_u16(2));
        header.extend(order.put_u16(4));
        header.extend([0; 8]);
        header.extend(order.put_u32(snaplen));
        header.extend(order.put_u32(linktype.value() | link_bits));
        header
    }
}

/// What encoding packets for an output has come to, beside their bytes: [`Writer::write_encoded`](crate::Writer::write_encoded) takes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Encoded {
    /// The most bytes of a packet that stand under one snap length which the output states: of all packets of a pcap file. Where
    /// that is more than was stated, [`Writer`](crate::Writer) raises the snap length.
    pub longest: u32,
    /// Packets whose times the output cannot hold: a pcap file has those from 1970 to 2106. Each has the nearest time that the file can hold.
    pub changed_times: u64,
}

impl std::ops::AddAssign for Encoded {
    fn add_assign(&mut self, other: Encoded) {
        self.longest = self.longest.max(other.longest);
        self.changed_times += other.changed_times;
    }
}

/// Encodes batches for one output.
///
/// Feed it every batch of an input, also those nothing was selected from: they carry section headers,
/// interfaces and names.
///
/// ```
/// use capture::{Encoder, Target, Writer};
///
/// # let bytes = capture::doc_example();
/// let mut reader = capture::Reader::new(std::io::Cursor::new(bytes), "web.pcap")?;
/// let mut writer = Writer::new(Vec::new(), "out.pcapng");
/// writer.begin(Target::Pcapng);
/// // One for each thread that reads; the writer takes what they have made in order.
/// let encoder = Encoder::new(Target::Pcapng);
/// while let Some(batch) = reader.next_batch()? {
///     let mut records = Vec::new();
///     let encoded = encoder.encode(&batch, 0..batch.len(), &mut records)?;
///     writer.write_encoded(&records, encoded)?;
/// }
/// writer.finish()?;
/// # Ok::<(), capture::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Encoder {
    target: Target,
    /// The most bytes of a packet that are written.
    cut: Option<u32>,
}

impl Encoder {
    /// An encoder for an output of this format.
    #[must_use]
    pub fn new(target: Target) -> Encoder {
        Encoder { target, cut: None }
    }

    /// One that writes so many bytes of each packet at most. Simple packet blocks of pcapng, which do not say how many they have, stay whole.
    #[must_use]
    pub fn cutting(self, len: u32) -> Encoder {
        Encoder { cut: Some(len), ..self }
    }

    /// What is written of a packet.
    pub(super) fn data<'a>(&self, batch: &Batch<'a>, packet: &Record) -> &'a [u8] {
        let data = batch.data(packet);
        let len = self.cut.map_or(data.len(), |cut| data.len().min(cut as usize));
        &data[..len]
    }

    /// The format of the output.
    #[must_use]
    pub fn target(&self) -> Target {
        self.target
    }

    /// Appends the selected packets, given by rising index into [`Batch::packets`], and the blocks around them.
    ///
    /// # Errors
    /// If a selected packet cannot be put into this format: another link type, or one for which it has no room, another length of frame check
    /// sequence, or longer than readers of the format take. The error names the input.
    ///
    /// # Panics
    /// If an index is beyond the batch.
    pub fn encode(
        &self,
        batch: &Batch<'_>,
        selected: impl IntoIterator<Item = usize>,
        out: &mut Vec<u8>,
    ) -> Result<Encoded, Error> {
        let mut selected = selected.into_iter().map(|index| &batch.packets()[index]);
        match (self.target, batch.format()) {
            (Target::Pcap { .. }, format) => self
                .put_records(format, batch, selected, out)
                .map_err(|kind| Error::new(kind).of(batch.input)),
            (Target::Pcapng, Format::Pcapng(order)) => {
                copy_blocks(order, batch, selected, self.cut, out);
                Ok(Encoded::default())
            }
            (Target::Pcapng, Format::Pcap(from)) => {
                let Ok(linktype) = u16::try_from(from.linktype.value()) else {
                    // Nor is the interface written, which need not fit without packets.
                    let misfit = ErrorKind::LinkTypeBeyondPcapng(from.linktype);
                    let is_none = selected.next().is_none();
                    let none = is_none.then(Encoded::default);
                    return none.ok_or_else(|| Error::new(misfit).of(batch.input));
                };
                if batch.starts_section() {
                    put_section(&from, linktype, batch, out);
                }
                selected.for_each(|packet| {
                    put_enhanced(&from, (batch, packet), self.data(batch, packet), out);
                });
                Ok(Encoded::default())
            }
        }
    }

    fn put_records<'a>(
        &self,
        format: Format,
        batch: &Batch<'_>,
        mut selected: impl Iterator<Item = &'a Record>,
        out: &mut Vec<u8>,
    ) -> Result<Encoded, ErrorKind> {
        if let Some(misfit) = self.other_linktype(batch) {
            // What is not written need not fit.
            return selected.next().map_or(Ok(Encoded::default()), |_| Err(misfit));
        }
        match format {
            Format::Pcap(from) if self.cut.is_none() && self.takes_records_of(&from) => {
                let longest = copy_records(batch, selected, out);
                Ok(Encoded { longest, changed_times: 0 })
            }
            _ => self.translate_to_pcap(batch, selected, out),
        }
    }

    /// The error about all packets of a batch that are of another link type than the file.
    fn other_linktype(&self, batch: &Batch<'_>) -> Option<ErrorKind> {
        let Target::Pcap { linktype: first, .. } = self.target else { return None };
        let second = batch.linktype().filter(|&second| second != first)?;
        Some(ErrorKind::MixedLinkTypes { first, second })
    }

    /// Whether records of such a file can be copied as they are, whatever they hold.
    fn takes_records_of(&self, from: &PcapHeader) -> bool {
        let Target::Pcap { order, precision, link_bits, .. } = self.target else { return false };
        from.is_plain()
            && (from.order, from.precision) == (order, precision)
            && from.interface().fcs_len == pcap::fcs_len(link_bits)
    }

    fn translate_to_pcap<'a>(
        &self,
        batch: &Batch<'_>,
        selected: impl Iterator<Item = &'a Record>,
        out: &mut Vec<u8>,
    ) -> Result<Encoded, ErrorKind> {
        let mut encoded = Encoded::default();
        let Target::Pcap { order, precision, linktype, link_bits, .. } = self.target else {
            return Ok(encoded);
        };
        // Packets of pcapng may be longer than any reader takes from pcap.
        let limit = pcap::captured_max(linktype);
        // Where nothing is said of a frame check sequence there is none, as far as anybody knows.
        let first = pcap::fcs_len(link_bits).unwrap_or(0);
        for packet in selected {
            let data = self.data(batch, packet);
            let captured = data.len() as u32;
            if captured > limit {
                return Err(ErrorKind::TooLongForPcap { captured, limit });
            }
            let second = batch.interface(packet).fcs_len.unwrap_or(0);
            if second != first {
                return Err(ErrorKind::MixedFcsLengths { first, second });
            }
            let time = pcap_time(batch.timestamp_ns(packet), precision);
            let changed_times = u64::from(time.is_err());
            encoded += Encoded { longest: captured, changed_times };
            let (Ok(time) | Err(time)) = time;
            layout::put_record(order, time, packet.wire_len, data, out);
        }
        Ok(encoded)
    }
}

/// Copies records as they are, neighbours in one go. Returns how long the longest is.
fn copy_records<'a>(batch: &Batch<'_>, selected: impl Iterator<Item = &'a Record>, out: &mut Vec<u8>) -> u32 {
    let window = batch.window();
    let mut run = 0..0;
    let mut longest = 0;
    for packet in selected {
        longest = longest.max(packet.captured_len);
        if packet.raw_offset as usize == run.end {
            run.end = packet.raw_end() as usize;
        } else {
            out.extend_from_slice(&window[run]);
            run = packet.raw_offset as usize..packet.raw_end() as usize;
        }
    }
    out.extend_from_slice(&window[run]);
    longest
}

/// A time in seconds and units of the file's precision, of which digits beyond that are cut off. Where 32 bits have no room for the seconds, the
/// nearest time for which they do is the error.
fn pcap_time(ns: i64, precision: Precision) -> Result<(u32, u32), (u32, u32)> {
    let units_per_s = NS_PER_S as u32 / precision.ns_per_unit();
    match u32::try_from(ns.div_euclid(NS_PER_S)) {
        Ok(seconds) => Ok((seconds, ns.rem_euclid(NS_PER_S) as u32 / precision.ns_per_unit())),
        Err(_) if ns < 0 => Err((0, 0)),
        Err(_) => Err((u32::MAX, units_per_s - 1)),
    }
}

/// Copies the selected packet blocks and every other block, in file order.
fn copy_blocks<'a>(
    order: ByteOrder,
    batch: &Batch<'_>,
    selected: impl Iterator<Item = &'a Record>,
    cut: Option<u32>,
    out: &mut Vec<u8>,
) {
    let mut blocks = batch.blocks().iter().peekable();
    for packet in selected {
        while let Some(block) = blocks.next_if(|block| block.raw_offset < packet.raw_offset) {
            copy_other_block(order, batch, block, out);
        }
        match cut.filter(|cut| packet.captured_len > *cut) {
            Some(cut) => copy_cut(order, batch.raw(packet), cut, out),
            None => copy_block(order, batch.raw(packet), out),
        }
    }
    blocks.for_each(|block| copy_other_block(order, batch, block, out));
}

/// Copies a block other than a packet's, if it may be copied. The length of its section that a section header states is no longer true, and that
/// of itself at its end need not have been.
fn copy_other_block(order: ByteOrder, batch: &Batch<'_>, block: &Block, out: &mut Vec<u8>) {
    if block.kind == CUSTOM_NO_COPY {
        return;
    }
    let start = out.len();
    copy_block(order, batch.block(block), out);
    if block.kind == SECTION_HEADER {
        out[start + 16..start + 24].fill(0xff);
        let end = out.len();
        out.copy_within(start + 4..start + 8, end - 4);
    }
}

/// Copies the block of a packet with so many bytes of it, if the block says how many there are.
fn copy_cut(order: ByteOrder, block: &[u8], cut: u32, out: &mut Vec<u8>) {
    const LEN_AT: usize = 20;
    const DATA_AT: usize = 28;
    let kind = order.u32(block, 0);
    if !matches!(kind, ENHANCED_PACKET | OLD_PACKET) {
        return copy_block(order, block, out);
    }
    let start = out.len();
    put_block(order, kind, out, |out| {
        out.extend_from_slice(&block[8..LEN_AT]);
        out.extend(order.put_u32(cut));
        out.extend_from_slice(&block[LEN_AT + 4..DATA_AT + cut as usize]);
        let padding = (cut as usize).next_multiple_of(4) - cut as usize;
        out.extend_from_slice(&[0; 3][..padding]);
        if let Some(options) = pcapng::options_in(order, block) {
            pcapng::copy_copyable(order, &block[options], out);
        }
    });
    debug_assert_eq!(out.len() % 4, start % 4);
}

/// Copies a block without the options that must not be copied.
pub(super) fn copy_block(order: ByteOrder, block: &[u8], out: &mut Vec<u8>) {
    growth::reserve(out, out.len() + block.len());
    let options = pcapng::options_in(order, block);
    match options.filter(|options| pcapng::has_uncopyable(order, &block[options.clone()])) {
        None => out.extend_from_slice(block),
        Some(options) => put_block(order, order.u32(block, 0), out, |out| {
            out.extend_from_slice(&block[8..options.start]);
            pcapng::copy_copyable(order, &block[options], out);
        }),
    }
}

/// A section header and the one interface of a pcap file.
///
/// Readers refuse packets that are longer than their interface says. Where one of the first is, the file's snap length is not true, and 0, which means
/// no limit, stands in its place.
fn put_section(from: &PcapHeader, linktype: u16, first: &Batch<'_>, out: &mut Vec<u8>) {
    layout::put_section(from.order, out);
    put_pcap_interface(from.order, from, linktype, first, out);
}

/// The interface alone.
pub(super) fn put_pcap_interface(
    order: ByteOrder,
    from: &PcapHeader,
    linktype: u16,
    first: &Batch<'_>,
    out: &mut Vec<u8>,
) {
    let interface = from.interface();
    let is_exceeded = first.packets().iter().any(|packet| packet.captured_len > interface.snaplen);
    let snaplen = if is_exceeded { 0 } else { interface.snaplen };
    let digits = if from.precision == Precision::Nano { 9 } else { 6 };
    let fcs_len = interface.fcs_len.map(InterfaceOption::FcsLen);
    let options: Vec<InterfaceOption<'_>> =
        [InterfaceOption::Digits(digits)].into_iter().chain(fcs_len).collect();
    layout::put_interface(order, linktype, snaplen, &options, out);
}

fn put_enhanced(from: &PcapHeader, (batch, packet): (&Batch<'_>, &Record), data: &[u8], out: &mut Vec<u8>) {
    let ticks = batch.timestamp_ns(packet) as u64 / u64::from(from.precision.ns_per_unit());
    layout::put_enhanced(from.order, 0, ticks, packet.wire_len, data, out);
}
