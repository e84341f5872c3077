//! Packets of any input to bytes of one output, without the output itself: workers encode in parallel, one
//! writer puts their bytes in order.

use wire::LinkType;

use crate::batch::Batch;
use crate::block_type::{CUSTOM_NO_COPY, SECTION_HEADER};
use crate::error::{Error, ErrorKind};
use crate::found::{Block, Record};
use crate::growth;
use crate::order::ByteOrder;
use crate::pcap::{self, FILE_HEADER_LEN, MAGIC_MICRO, MAGIC_NANO, PcapHeader, RECORD_HEADER_LEN};
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
        /// Snap length its header states.
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
///     encoder.encode(&batch, 0..batch.len(), &mut records)?;
///     writer.write_encoded(&records)?;
/// }
/// writer.finish()?;
/// # Ok::<(), capture::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Encoder {
    target: Target,
}

impl Encoder {
    /// An encoder for an output of this format.
    #[must_use]
    pub fn new(target: Target) -> Encoder {
        Encoder { target }
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
    /// sequence, or longer than the snap length. The error names the input.
    ///
    /// # Panics
    /// If an index is beyond the batch.
    pub fn encode(
        &self,
        batch: &Batch<'_>,
        selected: impl IntoIterator<Item = usize>,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let mut selected = selected.into_iter().map(|index| &batch.packets()[index]);
        match (self.target, batch.format()) {
            (Target::Pcap { .. }, format) => self
                .put_records(format, batch, selected, out)
                .map_err(|kind| Error::new(kind).of(batch.input)),
            (Target::Pcapng, Format::Pcapng(order)) => {
                copy_blocks(order, batch, selected, out);
                Ok(())
            }
            (Target::Pcapng, Format::Pcap(from)) => {
                let Ok(linktype) = u16::try_from(from.linktype.value()) else {
                    // Nor is the interface written, which need not fit without packets.
                    let misfit = ErrorKind::LinkTypeBeyondPcapng(from.linktype);
                    return selected.next().map_or(Ok(()), |_| Err(Error::new(misfit).of(batch.input)));
                };
                if batch.starts_section() {
                    put_section(&from, linktype, out);
                }
                selected.for_each(|packet| put_enhanced(&from, batch, packet, out));
                Ok(())
            }
        }
    }

    fn put_records<'a>(
        &self,
        format: Format,
        batch: &Batch<'_>,
        mut selected: impl Iterator<Item = &'a Record>,
        out: &mut Vec<u8>,
    ) -> Result<(), ErrorKind> {
        if let Some(misfit) = self.other_linktype(batch) {
            // What is not written need not fit.
            return selected.next().map_or(Ok(()), |_| Err(misfit));
        }
        match format {
            Format::Pcap(from) if self.takes_records_of(&from) => {
                copy_records(batch, selected, out);
                Ok(())
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
        let Target::Pcap { order, precision, snaplen, link_bits, .. } = self.target else { return false };
        from.is_plain()
            && (from.order, from.precision) == (order, precision)
            && from.snaplen <= snaplen
            && from.interface().fcs_len == pcap::fcs_len(link_bits)
    }

    fn translate_to_pcap<'a>(
        &self,
        batch: &Batch<'_>,
        selected: impl Iterator<Item = &'a Record>,
        out: &mut Vec<u8>,
    ) -> Result<(), ErrorKind> {
        let Target::Pcap { order, precision, snaplen, linktype, link_bits } = self.target else {
            return Ok(());
        };
        // Packets of pcapng may be longer than any reader takes from pcap.
        let snaplen = snaplen.min(pcap::captured_max(linktype));
        // Where nothing is said of a frame check sequence there is none, as far as anybody knows.
        let first = pcap::fcs_len(link_bits).unwrap_or(0);
        for packet in selected {
            let captured = packet.captured_len;
            if captured > snaplen {
                return Err(ErrorKind::OverSnaplen { captured, snaplen });
            }
            let second = batch.interface(packet).fcs_len.unwrap_or(0);
            if second != first {
                return Err(ErrorKind::MixedFcsLengths { first, second });
            }
            put_record(order, precision, batch, packet, out);
        }
        Ok(())
    }
}

/// Copies records as they are, neighbours in one go. Records that the snap length cut get a header of their own.
fn copy_records<'a>(batch: &Batch<'_>, selected: impl Iterator<Item = &'a Record>, out: &mut Vec<u8>) {
    let window = batch.window();
    let mut run = 0..0;
    for packet in selected {
        if packet.captured_len as usize + RECORD_HEADER_LEN != packet.raw_len as usize {
            out.extend_from_slice(&window[run]);
            put_cut_record(batch, packet, out);
            run = 0..0;
        } else if packet.raw_offset as usize == run.end {
            run.end = packet.raw_end() as usize;
        } else {
            out.extend_from_slice(&window[run]);
            run = packet.raw_offset as usize..packet.raw_end() as usize;
        }
    }
    out.extend_from_slice(&window[run]);
}

/// A plain record of which only the captured length changes.
fn put_cut_record(batch: &Batch<'_>, packet: &Record, out: &mut Vec<u8>) {
    let Format::Pcap(PcapHeader { order, .. }) = batch.format() else { unreachable!("records are of pcap") };
    out.extend_from_slice(&batch.raw(packet)[..8]);
    out.extend(order.put_u32(packet.captured_len));
    out.extend(order.put_u32(packet.wire_len));
    out.extend_from_slice(batch.data(packet));
}

/// A record of a packet from elsewhere. Digits beyond the precision are cut off.
fn put_record(order: ByteOrder, precision: Precision, batch: &Batch<'_>, packet: &Record, out: &mut Vec<u8>) {
    let ns = batch.timestamp_ns(packet);
    // The format has 32 bits for the seconds; what they cannot hold wraps, as in every writer.
    let time = (ns.div_euclid(NS_PER_S) as u32, ns.rem_euclid(NS_PER_S) as u32 / precision.ns_per_unit());
    layout::put_record(order, time, packet.wire_len, batch.data(packet), out);
}

/// Copies the selected packet blocks and every other block, in file order.
fn copy_blocks<'a>(
    order: ByteOrder,
    batch: &Batch<'_>,
    selected: impl Iterator<Item = &'a Record>,
    out: &mut Vec<u8>,
) {
    let mut blocks = batch.blocks().iter().peekable();
    for packet in selected {
        while let Some(block) = blocks.next_if(|block| block.raw_offset < packet.raw_offset) {
            copy_other_block(order, batch, block, out);
        }
        copy_block(order, batch.raw(packet), out);
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

/// Copies a block without the options that must not be copied.
fn copy_block(order: ByteOrder, block: &[u8], out: &mut Vec<u8>) {
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
fn put_section(from: &PcapHeader, linktype: u16, out: &mut Vec<u8>) {
    layout::put_section(from.order, out);
    let interface = from.interface();
    let digits = if from.precision == Precision::Nano { 9 } else { 6 };
    let fcs_len = interface.fcs_len.map(InterfaceOption::FcsLen);
    let options: Vec<InterfaceOption<'_>> =
        [InterfaceOption::Digits(digits)].into_iter().chain(fcs_len).collect();
    layout::put_interface(from.order, linktype, interface.snaplen, &options, out);
}

fn put_enhanced(from: &PcapHeader, batch: &Batch<'_>, packet: &Record, out: &mut Vec<u8>) {
    let ticks = batch.timestamp_ns(packet) as u64 / u64::from(from.precision.ns_per_unit());
    layout::put_enhanced(from.order, 0, ticks, packet.wire_len, batch.data(packet), out);
}
