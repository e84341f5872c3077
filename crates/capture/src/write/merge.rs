//! Packets of several inputs in turns, in one output.
//!
//! A pcap file takes them as any others. Blocks of pcapng speak of interfaces of their own section, and a section cannot be gone back to: all packets
//! are put into one section, whose interfaces are those of all inputs. Interfaces that are described by the same bytes are one.
//!
//! ```text
//! input 0   interfaces 0 1      output   section, interfaces 0 (of input 0), 1 (of input 1), 2 (of input 0) …
//! input 1   interfaces 0                 each described before its first packet
//! ```
//! Options go along with packets and interfaces. Where an input has another byte order than the output, those whose layout is known are turned, and the
//! others left out. Blocks of names and secrets of the same byte order go along as well; statistics, which count packets of whole sections, comments on
//! sections, and blocks that are not known do not.

use std::collections::HashMap;

use crate::batch::Batch;
use crate::block_type::{ENHANCED_PACKET, INTERFACE, NAMES, OLD_PACKET, SECRETS};
use crate::error::{Error, ErrorKind};
use crate::found::Record;
use crate::order::ByteOrder;
use crate::pcapng::{self, Options};
use crate::section::Format;
use crate::write::encoder::{self, Encoded, Encoder, Target};
use crate::write::layout::{self, put_block, put_option};

/// Encodes batches of several inputs for one output, in any turns.
///
/// ```
/// # let bytes = capture::doc_example();
/// use capture::{ByteOrder, MergingEncoder, Reader, Target, Writer};
///
/// let mut inputs = [(); 2].map(|()| Reader::new(std::io::Cursor::new(bytes.clone()), "in.pcap").unwrap());
/// let mut writer = Writer::new(Vec::new(), "out.pcapng");
/// writer.begin(Target::Pcapng);
/// let mut encoder = MergingEncoder::new(capture::Encoder::new(Target::Pcapng), ByteOrder::NATIVE);
/// for (i, input) in inputs.iter_mut().enumerate() {
///     while let Some(batch) = input.next_batch()? {
///         let mut records = Vec::new();
///         encoder.look(i, &batch, &mut records);
///         let encoded = encoder.encode(i, &batch, 0..batch.len(), &mut records)?;
///         writer.write_encoded(&records, encoded)?;
///     }
/// }
/// writer.finish()?;
/// # Ok::<(), capture::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct MergingEncoder {
    encoder: Encoder,
    /// That of the section.
    order: ByteOrder,
    has_section: bool,
    inputs: Vec<Interfaces>,
    /// The numbers of interfaces in the output, by the blocks that describe them.
    known: HashMap<Vec<u8>, u32>,
}

/// The interfaces of the current section of an input: the block that describes each in the output, and its number there, once it has one. No block
/// where the link type has no room in one.
#[derive(Clone, Debug, Default)]
struct Interfaces(Vec<(Option<Vec<u8>>, Option<u32>)>);

impl MergingEncoder {
    /// One for the output of this encoder; a section of pcapng has this byte order.
    #[must_use]
    pub fn new(encoder: Encoder, order: ByteOrder) -> MergingEncoder {
        MergingEncoder { encoder, order, has_section: false, inputs: Vec::new(), known: HashMap::new() }
    }

    /// The format of the output.
    #[must_use]
    pub fn target(&self) -> Target {
        self.encoder.target()
    }

    /// Takes note of a batch of this input, before any of its packets is encoded; appends what goes along beside packets.
    pub fn look(&mut self, input: usize, batch: &Batch<'_>, out: &mut Vec<u8>) {
        if self.encoder.target() != Target::Pcapng {
            return;
        }
        if self.inputs.len() <= input {
            self.inputs.resize_with(input + 1, Interfaces::default);
        }
        if batch.starts_section() {
            self.inputs[input].0.clear();
        }
        match batch.format() {
            Format::Pcap(from) => {
                if batch.starts_section() {
                    let linktype = u16::try_from(from.linktype.value()).ok();
                    let block = linktype.map(|linktype| {
                        let mut block = Vec::new();
                        encoder::put_pcap_interface(self.order, &from, linktype, batch, &mut block);
                        block
                    });
                    self.inputs[input].0.push((block, None));
                }
            }
            Format::Pcapng(order) => {
                for block in batch.blocks() {
                    let bytes = batch.block(block);
                    match block.kind {
                        INTERFACE => {
                            let block = interface_in(order, self.order, bytes);
                            self.inputs[input].0.push((Some(block), None));
                        }
                        NAMES | SECRETS if order == self.order => {
                            self.begin_section(out);
                            encoder::copy_block(order, bytes, out);
                        }
                        _ => {}
                    }
                }
            }
        }
    }

    /// Appends the selected packets, given by rising index into [`Batch::packets`]. A batch may be given several times, for some of its packets each.
    ///
    /// # Errors
    /// As [`Encoder::encode`].
    ///
    /// # Panics
    /// If an index is beyond the batch.
    pub fn encode(
        &mut self,
        input: usize,
        batch: &Batch<'_>,
        selected: impl IntoIterator<Item = usize>,
        out: &mut Vec<u8>,
    ) -> Result<Encoded, Error> {
        if self.encoder.target() != Target::Pcapng {
            return self.encoder.encode(batch, selected, out);
        }
        for packet in selected.into_iter().map(|index| &batch.packets()[index]) {
            let number = self.number(input, packet.interface, out).ok_or_else(|| {
                let linktype = batch.interface(packet).linktype;
                Error::new(ErrorKind::LinkTypeBeyondPcapng(linktype)).of(batch.input)
            })?;
            self.put_packet(number, batch, packet, out);
        }
        Ok(Encoded::default())
    }

    /// The number in the output of an interface, which is described if it was not before.
    fn number(&mut self, input: usize, interface: u32, out: &mut Vec<u8>) -> Option<u32> {
        let (block, number) = self.inputs.get(input)?.0.get(interface as usize)?;
        if let Some(number) = number {
            return Some(*number);
        }
        let block = block.clone()?;
        let next = self.known.len() as u32;
        let number = self.known.get(&block).copied().unwrap_or(next);
        if number == next {
            self.begin_section(out);
            out.extend_from_slice(&block);
            self.known.insert(block, number);
        }
        self.inputs[input].0[interface as usize].1 = Some(number);
        Some(number)
    }

    fn begin_section(&mut self, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.has_section, true) {
            layout::put_section(self.order, out);
        }
    }

    fn put_packet(&self, number: u32, batch: &Batch<'_>, packet: &Record, out: &mut Vec<u8>) {
        let data = self.encoder.data(batch, packet);
        let raw = batch.raw(packet);
        let (ticks, options) = match batch.format() {
            Format::Pcap(from) => {
                (batch.timestamp_ns(packet) as u64 / u64::from(from.precision.ns_per_unit()), None)
            }
            Format::Pcapng(order) if matches!(order.u32(raw, 0), ENHANCED_PACKET | OLD_PACKET) => {
                let ticks = u64::from(order.u32(raw, 12)) << 32 | u64::from(order.u32(raw, 16));
                (ticks, pcapng::options_in(order, raw).map(|options| (order, &raw[options])))
            }
            // A simple packet has no time.
            Format::Pcapng(_) => (0, None),
        };
        let order = self.order;
        put_block(order, ENHANCED_PACKET, out, |out| {
            let fields = [number, (ticks >> 32) as u32, ticks as u32, data.len() as u32, packet.wire_len];
            fields.iter().for_each(|&field| out.extend(order.put_u32(field)));
            out.extend_from_slice(data);
            out.extend_from_slice(&[0; 3][..data.len().next_multiple_of(4) - data.len()]);
            if let Some((from, options)) = options {
                put_options(from, order, options, packet_option, out);
            }
        });
    }
}

/// The block that describes an interface, in the byte order of the output.
fn interface_in(from: ByteOrder, to: ByteOrder, block: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(block.len());
    put_block(to, INTERFACE, &mut out, |out| {
        out.extend(to.put_u16(from.u16(block, 8)));
        out.extend([0; 2]);
        out.extend(to.put_u32(from.u32(block, 12)));
        if let Some(options) = pcapng::options_in(from, block) {
            put_options(from, to, &block[options], interface_option, out);
        }
    });
    out
}

/// How the value of an option is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    /// Bytes, in whatever order they are.
    Bytes,
    /// Numbers of so many bytes.
    Numbers(usize),
    Unknown,
}

/// Of a packet (section 4.3 of the draft): comment, flags, hash, drops, id, queue, verdict.
fn packet_option(code: u16) -> Value {
    match code {
        1 | 3 | 7 => Value::Bytes,
        2 | 6 => Value::Numbers(4),
        4 | 5 => Value::Numbers(8),
        _ => Value::Unknown,
    }
}

/// Of an interface (section 4.2): texts, addresses, resolution, filter and check sequence; speeds and the offset of times; the time zone.
fn interface_option(code: u16) -> Value {
    match code {
        1..=7 | 9 | 11..=13 | 15 => Value::Bytes,
        8 | 14 | 16 | 17 => Value::Numbers(8),
        10 => Value::Numbers(4),
        _ => Value::Unknown,
    }
}

/// Appends options with their end, except those that must not be copied.
fn put_options(
    from: ByteOrder,
    to: ByteOrder,
    options: &[u8],
    layout: impl Fn(u16) -> Value,
    out: &mut Vec<u8>,
) {
    let before = out.len();
    for (code, value) in Options::new(from, options).flatten() {
        match layout(code) {
            _ if pcapng::is_uncopyable(code) => {}
            Value::Numbers(len) if from != to && value.len() == len => {
                let turned: Vec<u8> = value.iter().rev().copied().collect();
                put_option(to, code, &turned, out);
            }
            Value::Bytes => put_option(to, code, value, out),
            _ if from == to => put_option(to, code, value, out),
            _ => {}
        }
    }
    if out.len() > before {
        out.extend([0; 4]);
    }
}
