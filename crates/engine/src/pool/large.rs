//! Large chunks: for packets of more than [`MAX_PAYLOAD`](super::MAX_PAYLOAD) bytes, of which a pool has few.
//!
//! They are a region of their own, mapped when it is first asked for. Nothing on the way of usual packets looks here: a large one is
//! known by its length where it is copied, and by its address where it is freed.

#[cfg(all(test, not(loom)))]
mod tests;

use super::packet::Packet;
use super::region::{Region, Size};
use super::{Metadata, returns};
use std::io;

/// The large chunks of a pool.
#[derive(Debug)]
pub(super) struct Large {
    /// How many there are, once they are asked for.
    max: usize,
    engine: u64,
    chunks: Option<Chunks>,
}

#[derive(Debug)]
struct Chunks {
    /// The packets at home, each at its chunk's first position.
    free: Vec<Packet>,
    region: Region,
}

impl Large {
    /// Up to `max` packets; 0 for none.
    pub(super) fn new(max: usize, engine: u64) -> io::Result<Self> {
        let most = Size::Large.max_chunks();
        if max > most {
            let why = format!("a pool holds at most {most} large packets, not {max}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        Ok(Large { max, engine, chunks: None })
    }

    /// Packets that there can be.
    pub(super) fn max(&self) -> usize {
        self.max
    }

    /// Packets that there are.
    pub(super) fn total(&self) -> usize {
        self.chunks.as_ref().map_or(0, |chunks| chunks.region.chunks())
    }

    /// Whether an app that holds `own` of them may hold one more.
    pub(super) fn has_room_to_hold(&self, own: usize) -> bool {
        self.chunks.as_ref().is_none_or(|chunks| chunks.region.has_room_to_hold(own))
    }

    /// Packets of them that devices have given back without a pool at hand.
    pub(super) fn come_back(&self) -> u64 {
        self.chunks.as_ref().map_or(0, |chunks| chunks.region.come_back())
    }

    /// Packets ready to be allocated.
    pub(super) fn available(&self) -> usize {
        self.chunks.as_ref().map_or(0, |chunks| chunks.free.len())
    }

    /// Those that are ready to be allocated.
    pub(super) fn free(&self) -> &[Packet] {
        self.chunks.as_ref().map_or(&[], |chunks| &chunks.free)
    }

    /// A packet whose bytes, length and metadata are those of its last use.
    pub(super) fn allocate(&mut self) -> Option<Packet> {
        let chunks = self.mapped()?;
        if chunks.free.is_empty() {
            chunks.fetch_returns();
        }
        chunks.free.pop()
    }

    /// The chunks, mapped if they have not been.
    fn mapped(&mut self) -> Option<&mut Chunks> {
        if self.chunks.is_none() && self.max > 0 {
            match Region::new(Size::Large, self.max, self.engine) {
                Ok(region) => self.chunks = Some(Chunks { free: region.packets(), region }),
                // The system has no memory for them. To ask again for each packet would cost much, and change little.
                Err(_) => self.max = 0,
            }
        }
        self.chunks.as_mut()
    }

    /// Puts a packet of a large chunk back: here, or to the pool that it belongs to.
    pub(super) fn put_back(&mut self, packet: Packet) {
        match &mut self.chunks {
            Some(chunks) if chunks.region.owns(std::slice::from_ref(&packet)) => {
                chunks.free.push(packet.at_home());
            }
            // There are few, so none waits for others to go with.
            _ => returns::send(packet),
        }
    }

    /// Takes in what other workers have returned.
    pub(super) fn fetch_returns(&mut self) {
        if let Some(chunks) = &mut self.chunks {
            chunks.fetch_returns();
        }
    }

    /// Sets the metadata of the packets that are out, unless that was done before.
    pub(super) fn set_metadata_without_stamp(&self, metadata: Metadata) {
        if let Some(chunks) = &self.chunks {
            chunks.region.set_metadata_without_stamp(metadata);
        }
    }
}

impl Chunks {
    fn fetch_returns(&mut self) {
        self.region.take_returns(&mut self.free);
    }
}

impl Drop for Chunks {
    fn drop(&mut self) {
        self.fetch_returns();
        if self.free.len() < self.region.chunks() {
            // Somebody still holds packets of this memory: it stays.
            self.region.leak();
        }
        for packet in self.free.drain(..) {
            packet.forget();
        }
    }
}
