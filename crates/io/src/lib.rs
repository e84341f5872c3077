//! Apps that move packets between a graph and the world: captures and devices, one file or folder each.
//!
//! The engine knows none of them; they arrive as classes, as any other app does.

#![forbid(unsafe_code)]

#[cfg(test)]
mod scratch;

pub mod pcap_reader;
pub mod pcap_writer;

pub use pcap_reader::PcapReader;
pub use pcap_writer::PcapWriter;

use engine::Registry;

/// The classes that a graph file can name.
pub fn registry() -> Registry {
    Registry::new().with::<PcapReader>().with::<PcapWriter>()
}
