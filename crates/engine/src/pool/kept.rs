//! Packets that apps keep for as long as they run, such as those that are repeated: at most half of each pool, whoever keeps them.
//!
//! The tally is in the head of the region that a packet belongs to. So it is right wherever the packet came from and whichever worker its keeper is
//! on, and takes one atomic addition for each packet that is kept, and one when it is let go.

use super::{Packet, Pool, region};
use crate::shm::Counter;
use std::ops::Deref;

/// Packets that an app keeps to make copies of them. Copies take as many again, so that no more than half of a pool's packets are kept, nor of its large
/// ones, by all apps together. Those of one that is dropped, also by a panic, are no longer counted among them.
///
/// ```
/// # use engine::{Kept, Pool, shm::Counter};
/// let mut pool = Pool::new(4)?;
/// let (mut one, mut other) = (Kept::default(), Kept::default());
/// for kept in [&mut one, &mut other] {
///     let packet = pool.packet(b"again").expect("a free packet");
///     assert!(kept.keep(packet).is_ok());
/// }
/// let packet = pool.packet(b"once").expect("a free packet");
/// let refused = one.keep(packet).expect_err("two of four are kept");
/// assert_eq!((one.len(), other.len(), refused.data()), (1, 1, &b"once"[..]));
/// # let counter = Counter::hidden();
/// # pool.free(refused, &counter);
/// # one.free(&mut pool, &counter);
/// # other.free(&mut pool, &counter);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Kept(Vec<Packet>);

impl Kept {
    /// Makes room for so many packets in all.
    pub fn make_room(&mut self, packets: usize) {
        self.0.reserve(packets.saturating_sub(self.0.len()));
    }

    /// Keeps a packet.
    ///
    /// # Errors
    /// The packet, if half of those of its pool and size are kept already.
    pub fn keep(&mut self, packet: Packet) -> Result<(), Packet> {
        if !region::begin_to_keep(&packet) {
            return Err(packet);
        }
        self.0.push(packet);
        Ok(())
    }

    /// Gives all back; `counter` says why.
    pub fn free(&mut self, pool: &mut Pool, counter: &Counter) {
        for packet in self.0.drain(..) {
            region::end_to_keep(&packet);
            pool.free(packet, counter);
        }
    }
}

impl Deref for Kept {
    type Target = [Packet];

    fn deref(&self) -> &[Packet] {
        &self.0
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.0.iter().for_each(region::end_to_keep);
    }
}
