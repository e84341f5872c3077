//! A burst: packets in the slots of a link, taken out together.
//!
//! INVARIANT: the slots from `first` hold `len` packets, which the burst owns; the link, or the list whose packets these were and which says that it is empty, stays
//! borrowed, so that nobody else reads or writes these slots meanwhile. Packets that are left when it is dropped are dropped too, also while an app panics.

use super::Packet;
use std::fmt;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Packets received together, or those of a list: a slice that owns what it holds.
///
/// As a slice it shows the packets, to read and to change; as an iterator it hands them out one by one. It is passed on
/// whole by [`Output::send`](crate::Output::send), or given back by [`Pool::free_burst`](crate::Pool::free_burst). Packets that are left when
/// it goes out of scope count as `discarded`.
pub struct Burst<'a> {
    /// The next packet.
    first: NonNull<Packet>,
    len: usize,
    /// How many bytes the packets have together, while that is known without looking.
    known_bytes: Option<u64>,
    /// The slots belong to the receiving end of a link, or to a list, which stays borrowed.
    link: std::marker::PhantomData<&'a mut [Packet]>,
}

impl<'a> Burst<'a> {
    /// Packets among which [`Output::sift`](crate::Output::sift) and [`Burst::partition`] can choose, at most.
    pub const SIFTED: usize = 64;

    /// Takes the packets out of slots. What is known of their bytes must be so.
    ///
    /// # Safety
    /// `first` points to `len` packets; whoever owns the slots regards them as empty from now on, and leaves them alone for `'a`.
    pub(crate) unsafe fn from_slots(first: NonNull<Packet>, len: usize, known_bytes: Option<u64>) -> Self {
        Burst { first, len, known_bytes, link: std::marker::PhantomData }
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
        // Of the whole it is known as before; of a part, and of the rest, it is not.
        let known_bytes = self.known_bytes.take().filter(|_| count == self.len);
        let front = Burst { first: self.first, len: count, known_bytes, link: self.link };
        // SAFETY: `count` packets lie there.
        self.first = unsafe { self.first.add(count) };
        self.len -= count;
        front
    }

    /// Separates at most 64 packets: those whose bit is set in `selected`, the first packet's being the lowest, and the
    /// others. Both are in the order in which they were.
    ///
    /// PERF: nothing depends on a bit but numbers: where one packet in four is selected at random, a branch would be
    /// missed for every fourth packet.
    ///
    /// ```
    /// # use engine::{App, Io, shm::Counter};
    /// struct Short(Counter);
    ///
    /// impl App for Short {
    ///     fn push(&mut self, io: &mut Io<'_>) {
    ///         while let Some(burst) = io.inputs[0].burst_of_at_most(64) {
    ///             let bit = |(i, packet): (usize, &engine::Packet)| u64::from(packet.len() <= 100) << i;
    ///             let bits = burst.iter().enumerate().map(bit).sum();
    ///             let (short, long) = burst.partition(bits);
    ///             io.outputs[0].send(short);
    ///             io.pool.free_burst(long, &self.0);
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// # Panics
    /// If there are more than 64 packets.
    #[inline]
    pub fn partition(mut self, selected: u64) -> (Burst<'a>, Burst<'a>) {
        assert!(self.len <= 64, "64 bits do not select among {} packets", self.len);
        self.known_bytes = None;
        let mut others = [const { MaybeUninit::<Packet>::uninit() }; 64];
        let mut kept = 0;
        for i in 0..self.len {
            let bit = (selected >> i & 1) as usize;
            // SAFETY: `kept <= i < len`: what is read lies in the burst and has not been written over, as at most `i`
            // packets were written before. Each packet counts in one of the two places only, by `kept`.
            unsafe {
                let packet = self.first.add(i);
                others[i - kept].as_mut_ptr().copy_from_nonoverlapping(packet.as_ptr(), 1);
                packet.copy_to(self.first.add(kept), 1);
            }
            kept += bit;
        }
        let count = self.len - kept;
        // SAFETY: `count` packets were written to `others`, and the slots behind those kept are as many.
        unsafe {
            others.as_ptr().cast::<Packet>().copy_to_nonoverlapping(self.first.add(kept).as_ptr(), count)
        };
        (self.split_front(kept), self)
    }

    /// Bytes of all packets.
    ///
    /// PERF: an app that passes on what it has received does not look at packets at all; a burst that did was half of its turn.
    /// Else by eights, without looking for the end after each.
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        if let Some(bytes) = self.known_bytes {
            return bytes;
        }
        let sum = |packets: &[Packet]| packets.iter().map(|packet| packet.len() as u64).sum::<u64>();
        let (eights, rest) = self.as_chunks::<8>();
        eights.iter().map(|eight| sum(eight)).sum::<u64>() + sum(rest)
    }

    /// Whether [`Burst::bytes`] need not look.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn knows_its_bytes(&self) -> bool {
        self.known_bytes.is_some()
    }

    /// Gives packets away from the front, `limit` at most, with their numbers, until one comes back: that stays the first.
    ///
    /// PERF: counts in one register; as an iterator a burst has two.
    #[inline(always)]
    pub(super) fn take_while(&mut self, limit: usize, mut give: impl FnMut(usize, Packet) -> Option<Packet>) {
        /// What has been taken is not in the burst any more when the loop ends, in whatever way.
        struct Taking<'b, 'a> {
            burst: &'b mut Burst<'a>,
            taken: usize,
        }

        impl Drop for Taking<'_, '_> {
            #[inline(always)]
            fn drop(&mut self) {
                self.burst.split_front(self.taken).into_slots();
            }
        }

        let count = self.len.min(limit);
        let mut taking = Taking { burst: self, taken: 0 };
        for index in 0..count {
            // SAFETY: the packet lies in the burst, which begins behind it from now on.
            let place = unsafe { taking.burst.first.add(index) };
            taking.taken = index + 1;
            // SAFETY: as above.
            if let Some(packet) = give(index, unsafe { place.read() }) {
                // SAFETY: the place is empty, and becomes the first of the burst.
                unsafe { place.write(packet) };
                taking.taken = index;
                return;
            }
        }
    }

    /// Puts what is left behind the packets of a list.
    #[inline]
    pub fn append_to(self, packets: &mut Vec<Packet>) {
        packets.reserve(self.len);
        let (first, count) = self.into_slots();
        let len = packets.len();
        // SAFETY: so many packets lie there, which the burst has given up; the list has room for them, and is not the slots, which were borrowed.
        unsafe {
            packets.as_mut_ptr().add(len).copy_from_nonoverlapping(first.as_ptr(), count);
            packets.set_len(len + count);
        }
    }

    /// Lets go of the first packets, which have another owner: a device that has their memory, which [`Pool::lend_sent`](super::Pool::lend_sent) counts.
    #[inline]
    pub fn forget_front(&mut self, count: usize) {
        self.split_front(count).into_slots();
    }

    /// Gives the slots up: the caller owns the packets in them.
    pub(crate) fn into_slots(self) -> (NonNull<Packet>, usize) {
        let burst = std::mem::ManuallyDrop::new(self);
        (burst.first, burst.len)
    }
}

/// All packets of a list, which is empty then.
impl<'a> From<&'a mut Vec<Packet>> for Burst<'a> {
    #[inline]
    fn from(packets: &'a mut Vec<Packet>) -> Self {
        let len = packets.len();
        // SAFETY: the list gives them up, and stays borrowed.
        unsafe {
            packets.set_len(0);
            Burst::from_slots(NonNull::new_unchecked(packets.as_mut_ptr()), len, None)
        }
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
        self.known_bytes = None;
        // SAFETY: as in `deref`, and the packets are ours alone.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr(), self.len) }
    }
}

impl Iterator for Burst<'_> {
    type Item = Packet;

    #[inline]
    fn next(&mut self) -> Option<Packet> {
        self.len = self.len.checked_sub(1)?;
        self.known_bytes = None;
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

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::link::{Between, link};
    use crate::pool::{Burst, Pool};
    use crate::shm::{Counter, LinkCounters};

    fn first_bytes(burst: &Burst<'_>) -> Vec<u8> {
        burst.iter().map(|packet| packet.data()[0]).collect()
    }

    #[test]
    fn a_partition_keeps_every_packet_once_and_in_order() {
        let patterns = [0, 1, u64::MAX, 1 << 63, 0x5555_5555_5555_5555, 0xf0f0_0000_1234_8001];
        for len in [0, 1, 2, 63, 64] {
            for bits in patterns {
                let mut pool = Pool::new(64).unwrap();
                let (mut output, mut input) = link(LinkCounters::hidden(), Between::OneThread);
                (0..len).for_each(|i| output.put(pool.packet(&[i]).unwrap()));
                output.end();
                input.begin();
                let expect = |set: u64| -> Vec<u8> { (0..len).filter(|i| bits >> i & 1 == set).collect() };
                if let Some(burst) = input.burst() {
                    let (selected, others) = burst.partition(bits);
                    assert_eq!(first_bytes(&selected), expect(1), "{len} {bits:#x}");
                    assert_eq!(first_bytes(&others), expect(0), "{len} {bits:#x}");
                    pool.free_burst(others, &Counter::hidden());
                    pool.free_burst(selected, &Counter::hidden());
                }
                assert_eq!(pool.available(), 64, "{len} {bits:#x}");
            }
        }
    }

    #[test]
    fn what_is_peeked_at_stays_in_the_link() {
        let mut pool = Pool::new(8).unwrap();
        let (mut output, mut input) = link(LinkCounters::hidden(), Between::OneThread);
        assert!(input.peek().is_empty());
        (0..4).for_each(|i| output.put(pool.packet(&[i]).unwrap()));
        output.end();
        assert!(input.peek().is_empty(), "the turn has not begun");
        input.begin();
        assert_eq!((input.peek().len(), input.waiting()), (4, 4));
        pool.free_burst(input.burst_of_at_most(3).unwrap(), &Counter::hidden());
        assert_eq!(input.peek()[0].data(), [3]);
        input.end();
        input.begin();
        assert_eq!(first_bytes(&input.burst().unwrap().split_front(1)), [3], "left for the next turn");
    }
}
