//! A packet as generated code sees it: address, captured length, wire length; 16 bytes, so that a burst is an array.

use std::fmt;
use std::marker::PhantomData;

/// A borrowed packet: what was captured of it, and how long it was on the wire.
///
/// ```
/// let packet = decide::Packet::new(&[0; 60], 1500);
/// assert_eq!((packet.data().len(), packet.wire_len()), (60, 1500));
/// ```
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Packet<'p> {
    /// INVARIANT: points to `captured` bytes that live and do not change for `'p`.
    data: *const u8,
    captured: u32,
    wire: u32,
    borrow: PhantomData<&'p [u8]>,
}

impl<'p> Packet<'p> {
    /// No bytes at all.
    ///
    /// ```
    /// use decide::Packet;
    ///
    /// let burst = [Packet::EMPTY; 64];
    /// assert!(burst.iter().all(|packet| packet.wire_len() == 0));
    /// ```
    pub const EMPTY: Packet<'static> =
        Packet { data: [].as_ptr(), captured: 0, wire: 0, borrow: PhantomData };

    /// The captured bytes, from the start of the link-layer header, and the length on the wire. Of a slice of
    /// more than 4 GiB the first 4 GiB - 1 are seen.
    ///
    /// ```
    /// use decide::Packet;
    ///
    /// let packet = Packet::new(&[0; 96], 1500);
    /// assert_eq!((packet.data().len(), packet.wire_len()), (96, 1500));
    /// // A packet of which every byte was captured.
    /// assert_eq!(Packet::from(&[0; 96][..]).wire_len(), 96);
    /// ```
    #[inline]
    pub fn new(data: &'p [u8], wire_len: u32) -> Self {
        let captured = u32::try_from(data.len()).unwrap_or(u32::MAX);
        Packet { data: data.as_ptr(), captured, wire: wire_len, borrow: PhantomData }
    }

    /// The captured bytes.
    ///
    /// ```
    /// # use decide::Packet;
    /// assert_eq!(Packet::new(&[1, 2, 3], 1500).data(), [1, 2, 3]);
    /// ```
    #[inline]
    pub fn data(&self) -> &'p [u8] {
        // SAFETY: the invariant of `data`: both fields come from one slice that lives for `'p`.
        unsafe { std::slice::from_raw_parts(self.data, self.captured as usize) }
    }

    /// Length on the wire, in bytes.
    ///
    /// ```
    /// # use decide::Packet;
    /// assert_eq!(Packet::new(&[1, 2, 3], 1500).wire_len(), 1500);
    /// ```
    #[inline]
    pub fn wire_len(&self) -> u32 {
        self.wire
    }
}

// SAFETY: a packet is a shared borrow of plain bytes.
unsafe impl Send for Packet<'_> {}
// SAFETY: as above.
unsafe impl Sync for Packet<'_> {}

impl fmt::Debug for Packet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Packet({} of {} bytes)", self.captured, self.wire)
    }
}

impl<'p> From<&'p [u8]> for Packet<'p> {
    /// A packet of which every byte was captured.
    fn from(data: &'p [u8]) -> Self {
        Packet::new(data, u32::try_from(data.len()).unwrap_or(u32::MAX))
    }
}
