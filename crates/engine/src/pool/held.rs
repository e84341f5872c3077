//! Packets that apps hold until others have come, such as packets in the making: half of each pool, or three quarters where many hold few each.
//!
//! As for packets that are [kept](super::Kept), the tally is in the head of the region that a packet belongs to. It is another one: who keeps packets
//! for ever would leave nothing to those who hold them for a while.

use super::{Packet, Pool, region};
use std::ops::{Deref, DerefMut};

/// A packet that an app holds until others have come. One that is dropped, also by a panic, no longer counts.
///
/// ```
/// # use engine::{Held, Pool, shm::Counter};
/// let mut pool = Pool::new(64)?;
/// let packet = pool.packet(b"part").expect("a free packet");
/// assert!(Held::has_room(&packet, 0));
/// let mut held = Held::new(packet);
/// held.append(b" and part")?;
/// let packet = held.release();
/// assert_eq!(packet.data(), b"part and part");
/// # pool.free(packet, &Counter::hidden());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Held(
    /// There until it is released.
    Option<Packet>,
);

const THERE: &str = "it has not been released";

impl Held {
    /// Whether an app that holds `own` packets of this size may hold this one as well: if all apps together hold less than half of those of its pool
    /// and size, or the app less than a sixteenth, so that one that holds much does not leave others without any. The sixteenth becomes less the more
    /// than half is held, and nothing where that is three quarters.
    pub fn has_room(packet: &Packet, own: usize) -> bool {
        region::has_room_to_hold(packet, own)
    }

    /// Holds a packet, whether there is room or not.
    pub fn new(packet: Packet) -> Held {
        region::begin_to_hold(&packet);
        Held(Some(packet))
    }

    /// The packet, which is no longer held.
    pub fn release(mut self) -> Packet {
        let packet = self.0.take().expect(THERE);
        region::end_to_hold(&packet);
        packet
    }

    /// Whether a packet is of the same pool and size: this one makes room for it.
    pub fn is_beside(&self, packet: &Packet) -> bool {
        region::are_of_one(self, packet)
    }

    /// As [`Pool::make_room`].
    pub fn make_room(&mut self, pool: &mut Pool, len: usize) -> bool {
        // It may go to another region.
        region::end_to_hold(self);
        let has_room = pool.make_room(self, len);
        region::begin_to_hold(self);
        has_room
    }
}

impl Deref for Held {
    type Target = Packet;

    fn deref(&self) -> &Packet {
        self.0.as_ref().expect(THERE)
    }
}

/// To change the packet. Who puts another one in its place spoils the tally if that is of another pool.
impl DerefMut for Held {
    fn deref_mut(&mut self) -> &mut Packet {
        self.0.as_mut().expect(THERE)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.iter().for_each(region::end_to_hold);
    }
}
