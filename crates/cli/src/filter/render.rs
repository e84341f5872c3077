//! What a matching packet becomes: a record of a capture, a line, a JSON object, or nothing.

use super::bits::set_bits;
use crate::exit::Failure;
use capture::{Batch, Encoder, Line, PacketRef};
use serde_json::json;
use std::io::Write;

/// Turns the selected packets of a batch into output.
#[derive(Clone, Debug)]
pub(crate) enum Renderer {
    /// Nothing: they are counted elsewhere.
    Count,
    /// Records of a capture.
    Capture(Encoder),
    /// One line a packet.
    Lines,
    /// One JSON object a packet.
    Json,
}

impl Renderer {
    /// Appends the output for the packets whose bit is set.
    pub(crate) fn render(
        &mut self,
        batch: &Batch<'_>,
        bits: &[u64],
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        match self {
            Renderer::Count => Ok(()),
            Renderer::Capture(encoder) => {
                encoder.encode(batch, set_bits(bits), out).map_err(|error| Failure::capture(&error))
            }
            Renderer::Lines => {
                for packet in selected(batch, bits) {
                    // Writing to a Vec cannot fail.
                    let _ = writeln!(out, "{}", Line::from(&packet));
                }
                Ok(())
            }
            Renderer::Json => {
                selected(batch, bits).for_each(|packet| object(batch.input(), &packet, out));
                Ok(())
            }
        }
    }
}

fn selected<'b>(batch: &'b Batch<'_>, bits: &'b [u64]) -> impl Iterator<Item = PacketRef<'b>> {
    let mut wanted = set_bits(bits).peekable();
    batch.iter().enumerate().filter_map(move |(i, packet)| wanted.next_if_eq(&i).map(|_| packet))
}

fn object(input: &str, packet: &PacketRef<'_>, out: &mut Vec<u8>) {
    let summary = wire::summary::summarize(packet.linktype, packet.data, packet.wire_len);
    let object = json!({
        "v": 1,
        "type": "packet",
        "file": input,
        "offset": packet.offset,
        "time": humantime::format_rfc3339_nanos(Line::from(packet).time()).to_string(),
        "linktype": packet.linktype.to_string(),
        "interface": packet.interface,
        "captured_bytes": packet.data.len(),
        "wire_bytes": packet.wire_len,
        "summary": summary.to_string(),
    });
    let _ = writeln!(out, "{object}");
}
