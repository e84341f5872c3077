//! Apps that move packets between a graph and the world: captures and devices, one file or folder each.
//!
//! The engine knows none of them; they arrive as classes, as any other app does. Devices are reached through system
//! calls, which only [`tap`], [`af_packet`], [`nfqueue`] and [`netdev`] make, or through DPDK, which [`dpdk`] calls, each in one file that has no other purpose. [`live`] brings
//! the packets of a device without a graph.

#![deny(unsafe_code)]

#[cfg(test)]
mod scratch;

pub mod af_packet;
mod device;
pub mod dpdk;
mod held;
mod interfaces;
pub mod live;
#[allow(unsafe_code)]
pub mod netdev;
pub mod nfqueue;
pub mod pcap_reader;
pub mod pcap_writer;
pub mod tap;

pub use af_packet::{AfPacket, FanoutAddresses};
pub use dpdk::Dpdk;
pub use nfqueue::Nfqueue;
pub use pcap_reader::{Passes, PcapReader, Replay};
pub use pcap_writer::PcapWriter;
pub use tap::Tap;

use engine::Registry;

/// The classes that a graph file can name.
pub fn registry() -> Registry {
    Registry::new()
        .with::<AfPacket>()
        .with::<Dpdk>()
        .with::<Nfqueue>()
        .with::<PcapReader>()
        .with::<PcapWriter>()
        .with::<Tap>()
}
