//! A burst: packets in the slots of a link, taken out together.

use super::Packet;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Packets received together: a slice that owns what it holds.
///
/// As a slice it shows the packets, to read and to change; as an iterator it hands them out one by one. It is passed on
/// whole by [`Output::send`](crate::Output::send), or given back by [`Pool::free_burst`](crate::Pool::free_burst). Packets that are left when
/// it goes out of scope count as `discarded`.
pub struct Burst<'a> {
    /// The next packet.
    first: NonNull<Packet>,
    len: usize,
    /// The slots belong to the receiving end of a link, which stays borrowed.
    link: std::marker::PhantomData<&'a mut [Packet]>,
}

impl<'a> Burst<'a> {
    /// Takes the packets out of slots.
    ///
    /// # Safety
    /// `first` points to `len` packets; whoever owns the slots regards them as empty from now on, and leaves them alone for `'a`.
    pub(crate) unsafe fn from_slots(first: NonNull<Packet>, len: usize) -> Self {
        Burst { first, len, link: std::marker::PhantomData }
    }

    /// Packets that are left.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none is left.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Takes up to `count` packets off the front.
    #[inline]
    pub fn split_front(&mut self, count: usize) -> Burst<'a> {
        let count = count.min(self.len);
        let front = Burst { first: self.first, len: count, link: self.link };
        // SAFETY: `count` packets lie there.
        self.first = unsafe { self.first.add(count) };
        self.len -= count;
        front
    }

    /// Gives the slots up: the caller owns the packets in them.
    pub(crate) fn into_slots(self) -> (NonNull<Packet>, usize) {
        let burst = std::mem::ManuallyDrop::new(self);
        (burst.first, burst.len)
    }
}

impl Deref for Burst<'_> {
    type Target = [Packet];

    #[inline]
    fn deref(&self) -> &[Packet] {
        // SAFETY: by the contract of `from_slots`, which iteration keeps up.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.len) }
    }
}

impl DerefMut for Burst<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Packet] {
        // SAFETY: as in `deref`, and the packets are ours alone.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr(), self.len) }
    }
}

impl Iterator for Burst<'_> {
    type Item = Packet;

    #[inline]
    fn next(&mut self) -> Option<Packet> {
        self.len = self.len.checked_sub(1)?;
        // SAFETY: there was a packet left; it is read once, as the burst begins behind it from now on.
        unsafe {
            let packet = self.first.read();
            self.first = self.first.add(1);
            Some(packet)
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len, Some(self.len))
    }
}

impl ExactSizeIterator for Burst<'_> {}

impl Drop for Burst<'_> {
    #[inline]
    fn drop(&mut self) {
        for packet in self {
            drop(packet);
        }
    }
}

impl fmt::Debug for Burst<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
