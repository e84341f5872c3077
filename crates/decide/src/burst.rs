//! What a burst of packets is answered with.

use crate::ir::REJECT;

/// The output of a burst, as the code that writes it knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// A bit for each packet.
    Bits,
    /// The leaf of each packet.
    Leaves,
}

/// A burst writes a bit for each packet, set where its leaf does not reject: that of packet `i` is bit `i % 64` of word
/// `i / 64`. The others of the words in use are cleared.
#[derive(Debug)]
pub enum Bits {}

/// A burst writes the number of each packet's leaf, in 32 bits.
#[derive(Debug)]
pub enum Leaves {}

/// What a burst writes.
pub trait Written {
    /// A part of it.
    type Cell;
    /// The same, as the code that writes it knows it.
    const WRITES: Writes;
    /// The cells that so many packets need.
    fn cells(packets: usize) -> usize;
    /// Writes that this packet reached this leaf.
    fn write(to: &mut [Self::Cell], packet: usize, leaf: u32);
}

impl Written for Bits {
    type Cell = u64;
    const WRITES: Writes = Writes::Bits;

    #[inline]
    fn cells(packets: usize) -> usize {
        packets.div_ceil(64)
    }

    fn write(to: &mut [u64], packet: usize, leaf: u32) {
        let word = &mut to[packet / 64];
        // The first packet of a word clears the bits of all.
        *word =
            if packet.is_multiple_of(64) { 0 } else { *word } | u64::from(leaf != REJECT) << (packet % 64);
    }
}

impl Written for Leaves {
    type Cell = u32;
    const WRITES: Writes = Writes::Leaves;

    #[inline]
    fn cells(packets: usize) -> usize {
        packets
    }

    fn write(to: &mut [u32], packet: usize, leaf: u32) {
        to[packet] = leaf;
    }
}
