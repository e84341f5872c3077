//! The hash of two addresses in arithmetic of 32 bits, which a program of classic BPF can do as well: so the kernel finds the bucket of a frame that we find.
//!
//! ```text
//!  address ─► fold: for each word, hash = (hash ^ word) * FOLD, hash ^= hash >> 15 ─► finish ─┐
//!                                                                                             ├─► sum ^ end ─► finish ─► 32 bits
//!  address ─► fold ─► finish ─────────────────────────────────────────────────────────────────┘
//! ```
//!
//! Both addresses are summed, so both directions come to the same. `10.0.0.1 > 10.0.0.3` and `10.0.0.2 > 10.0.0.2` do not, since the sum is one of hashes: what is folded
//! alone grows with the address so evenly that sums would meet.

use std::net::IpAddr;

/// The hash of addresses under a key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AddressHash {
    /// What folding begins with.
    pub start: u32,
    /// What the sum is xored with.
    pub end: u32,
}

/// Keys are not shown.
impl std::fmt::Debug for AddressHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AddressHash").finish_non_exhaustive()
    }
}

impl AddressHash {
    /// The factor of each word, and by how many bits the product is shifted to be xored with itself.
    pub const FOLD: (u32, u32) = (0x9e37_79b1, 15);
    /// The steps of an end: by how many bits the hash is shifted to be xored with itself, and what it is multiplied with then (Wellons, "lowbias32").
    pub const FINISH: [(u32, u32); 2] = [(16, 0x7feb_352d), (15, 0x846c_a68b)];
    /// The shift of the last step.
    pub const LAST_SHIFT: u32 = 16;

    /// The hash of a pair of addresses.
    #[inline]
    #[must_use]
    pub fn of(self, src: IpAddr, dst: IpAddr) -> u32 {
        AddressHash::finish(self.fold(src).wrapping_add(self.fold(dst)) ^ self.end)
    }

    #[inline]
    fn fold(self, addr: IpAddr) -> u32 {
        AddressHash::finish(match addr {
            IpAddr::V4(addr) => AddressHash::step(self.start, addr.to_bits()),
            IpAddr::V6(addr) => {
                let bits = addr.to_bits();
                let words = [bits >> 96, bits >> 64, bits >> 32, bits];
                words.into_iter().fold(self.start, |hash, word| AddressHash::step(hash, word as u32))
            }
        })
    }

    #[inline]
    fn step(hash: u32, word: u32) -> u32 {
        let (factor, shift) = AddressHash::FOLD;
        let hash = (hash ^ word).wrapping_mul(factor);
        hash ^ hash >> shift
    }

    /// A function that maps each number to one of its own, in which each bit depends on all.
    #[inline]
    pub(super) fn finish(hash: u32) -> u32 {
        let steps = AddressHash::FINISH.into_iter();
        let hash = steps.fold(hash, |hash, (shift, factor)| (hash ^ hash >> shift).wrapping_mul(factor));
        hash ^ hash >> AddressHash::LAST_SHIFT
    }
}
