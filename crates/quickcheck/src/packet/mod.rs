//! Packets from a line of text.
//!
//! ```
//! use quickcheck::packet::Packet;
//!
//! let packet = Packet::parse("eth / vlan(10) / ip4(ttl=3) / tcp(dport=80,flags=PA) / 'GET /' / cut(60)").unwrap();
//! assert_eq!(packet.bytes.len(), 60);
//! assert_eq!(packet.wire_len, 14 + 4 + 20 + 20 + 5);
//! assert_eq!(packet.bytes[12..18], [0x81, 0x00, 0x00, 10, 0x08, 0x00]);
//! ```
//!
//! A line is a list of layers between slashes, outermost first. A layer is a name with arguments by position or by
//! name; what is left out follows from its neighbours (types, lengths, header lengths, checksums) or is a fixed
//! value, so that each test says only what it is about. Payload is `'text'`, `hex(de ad be ef)` or `pad(n)`;
//! `cut(n)` keeps the first `n` bytes as captured, `wire(n)` sets the length on the wire.
//!
//! The parts: `text` splits the line, `layers` is the table of headers, `value` reads arguments, `encode`
//! writes bytes from the innermost layer outwards. A new header is one entry in the table.
//!
//! Not here: parsing bytes back into text, and any wish to be a complete stack: wrong packets are welcome.

mod encode;
mod layers;
mod numbers;
mod spec;
mod text;
mod value;

use std::fmt;

/// The bytes that were captured of a packet, and its length on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Packet {
    /// What was captured.
    pub bytes: Vec<u8>,
    /// How long the packet was on the wire.
    pub wire_len: u32,
}

impl Packet {
    /// A packet that was captured whole.
    pub fn whole(bytes: Vec<u8>) -> Self {
        let wire_len = bytes.len() as u32;
        Packet { bytes, wire_len }
    }

    /// Builds the packet that `line` describes.
    ///
    /// # Errors
    ///
    /// Says which layer or argument is wrong, and what would be right.
    pub fn parse(line: &str) -> Result<Self, Error> {
        let layers = text::split(line)?;
        encode::packet(&layers)
    }

    /// Its bytes as hexadecimal digits.
    pub fn to_hex(&self) -> String {
        self.bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The line that builds this very packet, whatever it holds.
    pub fn to_line(&self) -> String {
        let bytes = self.to_hex();
        if self.wire_len as usize == self.bytes.len() {
            return format!("hex({bytes})");
        }
        format!("hex({bytes}) / wire({})", self.wire_len)
    }
}

/// The names of all layers, for whoever wants to list them.
pub fn layer_names() -> impl Iterator<Item = &'static str> {
    layers::all().map(|spec| spec.name)
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    fn new(message: impl Into<String>) -> Self {
        Error(message.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// The candidate that is nearest to `word`, if one is near.
fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let near =
        candidates.map(|name| (strsim::levenshtein(word, name), name)).filter(|&(slips, _)| slips <= 2);
    near.min().map(|(_, name)| name)
}

#[cfg(test)]
mod tests;
