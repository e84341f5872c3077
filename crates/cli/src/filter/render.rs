//! What a matching packet becomes: a record of a capture, a line, a JSON object, or nothing.

use super::bits::set_bits;
use super::dump::Dump;
use super::fields::{Columns, Writer};
use super::objects::Objects;
use crate::escape::shown;
use crate::exit::Failure;
use capture::{Batch, ByteOrder, Encoded, Encoder, Line, MergingEncoder, PacketRef, Target};
use std::io::Write;

/// Turns the selected packets of a batch into output.
#[derive(Clone, Debug)]
pub(crate) enum Renderer {
    /// Nothing: they are counted elsewhere.
    Count,
    /// Records of a capture.
    Capture(Encoder),
    /// Records of a capture, of several inputs in turns; and the number of the one at hand.
    Merged(Box<MergingEncoder>, usize),
    /// One line a packet, and its bytes below.
    Lines(Numbers, Dump),
    /// One line a packet, with what a program calls for it.
    Calls(Numbers),
    /// Fields of each packet.
    Fields(Writer),
    /// One JSON object a packet, with these fields.
    Json(Objects),
}

/// What a line says of the packet's place, which `sluss trace` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// Nothing.
    Hidden,
    /// The number in the only capture.
    Alone,
    /// The name of the capture, and the number in it.
    WithName,
}

impl Renderer {
    /// One that writes these columns.
    pub(crate) fn of_columns(columns: &Columns) -> Renderer {
        Renderer::Fields(Writer::new(columns.clone()))
    }

    /// One that writes an object a packet.
    pub(crate) fn of_objects() -> Renderer {
        Renderer::Json(Objects::new())
    }

    /// One that does the same for several inputs in turns; a section of pcapng has this byte order.
    pub(super) fn merging(self, order: ByteOrder) -> Renderer {
        match self {
            Renderer::Capture(encoder) => Renderer::Merged(Box::new(MergingEncoder::new(encoder, order)), 0),
            other => other,
        }
    }

    /// The format of the capture that is written, if one is.
    pub(super) fn target(&self) -> Option<Target> {
        match self {
            Renderer::Capture(encoder) => Some(encoder.target()),
            Renderer::Merged(encoder, _) => Some(encoder.target()),
            _ => None,
        }
    }

    /// Appends the output for the packets whose bit is set. Of their input, `before` packets came before this batch.
    pub(crate) fn render(
        &mut self,
        batch: &Batch<'_>,
        before: u64,
        bits: &[u64],
        out: &mut Vec<u8>,
    ) -> Result<Encoded, Failure> {
        match self {
            Renderer::Count => {}
            Renderer::Capture(encoder) => {
                let encoded = encoder.encode(batch, set_bits(bits), out);
                return encoded.map_err(|error| Failure::capture(&error));
            }
            Renderer::Merged(encoder, input) => {
                let encoded = encoder.encode(*input, batch, set_bits(bits), out);
                return encoded.map_err(|error| Failure::capture(&error));
            }
            // Without a program, nothing is called.
            Renderer::Calls(numbers) => {
                numbered(batch, before, bits).for_each(|of| line(batch, *numbers, of, out));
            }
            Renderer::Lines(numbers, dump) => {
                for (number, packet) in numbered(batch, before, bits) {
                    line(batch, *numbers, (number, packet), out);
                    dump.put(&packet, out);
                }
            }
            Renderer::Fields(writer) => {
                numbered(batch, before, bits).for_each(|of| writer.line(batch, of, out));
            }
            Renderer::Json(objects) => {
                for (number, packet) in numbered(batch, before, bits) {
                    objects.put(batch.input(), number, &packet, out);
                }
            }
        }
        Ok(Encoded::default())
    }
}

/// Appends a line for each packet of a batch: what is called for it, and the packet.
pub(super) fn calls<'c>(
    calls: impl Iterator<Item = Option<pflang::Call<'c>>>,
    numbers: Numbers,
    batch: &Batch<'_>,
    before: u64,
    out: &mut Vec<u8>,
) {
    for ((number, packet), call) in (before + 1..).zip(batch.iter()).zip(calls) {
        // Writing to a Vec cannot fail.
        let _ = match call {
            Some(call) => write!(out, "{call}  "),
            None => write!(out, "-  "),
        };
        line(batch, numbers, (number, packet), out);
    }
}

fn line(batch: &Batch<'_>, numbers: Numbers, (number, packet): (u64, PacketRef<'_>), out: &mut Vec<u8>) {
    let _ = match numbers {
        Numbers::Hidden => Ok(()),
        Numbers::Alone => write!(out, "{number:>5}  "),
        Numbers::WithName => write!(out, "{}:{number}  ", shown(batch.input())),
    };
    let _ = writeln!(out, "{}", Line::from(&packet));
}

/// The packets whose bit is set, and their numbers in the input, counted from 1.
fn numbered<'b>(
    batch: &'b Batch<'_>,
    before: u64,
    bits: &'b [u64],
) -> impl Iterator<Item = (u64, PacketRef<'b>)> {
    let mut wanted = set_bits(bits).peekable();
    let number = move |i: usize| before + i as u64 + 1;
    batch.iter().enumerate().filter_map(move |(i, packet)| wanted.next_if_eq(&i).map(|_| (number(i), packet)))
}
