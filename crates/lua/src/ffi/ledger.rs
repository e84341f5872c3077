//! Which packets a Lua app has: one mark for each chunk of packet memory. What an app in Lua has lost can be found again by it, and
//! what it gives away twice is noticed.

use std::num::NonZero;
use std::ptr::NonNull;

/// Packets lie in regions of this size, at a multiple of it, in chunks at multiples of `CHUNK`.
const REGION: usize = 1 << 30;
const CHUNK: usize = 512;

#[derive(Default)]
pub(super) struct Ledger {
    regions: Vec<Marks>,
}

/// The marks of a region. Memory of those that are never set is never used.
struct Marks {
    base: usize,
    chunks: Vec<bool>,
}

impl Ledger {
    /// The mark of the chunk that a packet lies in.
    #[inline]
    fn mark(&mut self, packet: NonNull<u8>) -> &mut bool {
        let address = packet.addr().get();
        let base = address & !(REGION - 1);
        let region = match self.regions.iter().position(|marks| marks.base == base) {
            Some(region) => region,
            None => {
                self.regions.push(Marks { base, chunks: vec![false; REGION / CHUNK] });
                self.regions.len() - 1
            }
        };
        &mut self.regions[region].chunks[(address - base) / CHUNK]
    }

    /// The app has been given a packet.
    #[inline]
    pub(super) fn enter(&mut self, packet: NonNull<u8>) {
        *self.mark(packet) = true;
    }

    /// The app gives a packet away. Returns whether it had it.
    #[inline]
    pub(super) fn leave(&mut self, packet: NonNull<u8>) -> bool {
        std::mem::replace(self.mark(packet), false)
    }

    /// Everything that the app still has, as addresses of chunks; it has nothing any more.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = NonZero<usize>> {
        let regions = std::mem::take(&mut self.regions);
        regions.into_iter().flat_map(|marks| {
            let chunks = marks.chunks.into_iter().enumerate().filter(|&(_, is_here)| is_here);
            chunks.filter_map(move |(index, _)| NonZero::new(marks.base + index * CHUNK))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_leaves_once_wherever_it_begins_in_its_chunk() {
        let mut ledger = Ledger::default();
        let at = |address: usize| NonNull::without_provenance(NonZero::new(address).expect("an address"));
        let (chunk, other) = (REGION + 7 * CHUNK, 5 * REGION + CHUNK);
        ledger.enter(at(chunk + 192));
        ledger.enter(at(other + 256));
        assert!(ledger.leave(at(chunk + 14)) && !ledger.leave(at(chunk + 192)));
        assert_eq!(ledger.drain().map(NonZero::get).collect::<Vec<_>>(), [other]);
        assert_eq!(ledger.drain().count(), 0);
    }
}
