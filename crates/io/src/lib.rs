//! Apps that move packets between a graph and the world: captures and devices, one file or folder each.
//!
//! The engine knows none of them; they arrive as classes, as any other app does. Devices are reached through system
//! calls, which only [`tap`] and [`af_packet`] make, in files that have no other purpose. [`live`] brings the packets of a device without a graph.

#![deny(unsafe_code)]

#[cfg(test)]
mod scratch;

pub mod af_packet;
mod device;
mod held;
mod interfaces;
pub mod live;
pub mod pcap_reader;
pub mod pcap_writer;
pub mod tap;

pub use af_packet::AfPacket;
pub use pcap_reader::{Passes, PcapReader, Replay};
pub use pcap_writer::PcapWriter;
pub use tap::Tap;

use engine::Registry;

/// The classes that a graph file can name.
pub fn registry() -> Registry {
    Registry::new().with::<AfPacket>().with::<PcapReader>().with::<PcapWriter>().with::<Tap>()
}
