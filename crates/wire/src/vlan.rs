//! VLAN tags (IEEE 802.1Q, and 802.1ad for the outer of two), and how a frame gains and loses one.
//!
//! ```text
//! dst src │ 8100 │ PCP:3 DEI:1 VID:12 │ EtherType payload
//!           TPID          TCI
//! ```
//!
//! The addresses stand before a tag, so they are what moves: [`push`] moves them to the front by four bytes,
//! into headroom, and [`pop`] back.
//!
//! ```
//! use wire::ether::ethertype;
//! use wire::vlan::{self, Tci, Vlan};
//! let mut buffer = [0; 4 + 60]; // four bytes of headroom, then a frame
//! vlan::push(&mut buffer, ethertype::VLAN, Tci { priority: 5, is_drop_eligible: false, id: 100 }).unwrap();
//! let tagged = &buffer[..];
//! assert_eq!(tagged[12..16], [0x81, 0x00, 0xa0, 0x64]);
//!
//! let (tpid, tci) = vlan::pop(&mut buffer).unwrap();
//! assert_eq!((tpid, tci.id), (ethertype::VLAN, 100));
//! let untagged = &buffer[Vlan::LEN..];
//! # assert_eq!(untagged, [0; 60]);
//! ```

use crate::bytes::{put, u16_at};
use crate::ether::{Ethernet, ethertype};

/// Where the tag starts: behind both addresses.
const TAG_AT: usize = Ethernet::LEN - 2;

/// Tags a frame. It starts at `bytes[4..]` before and at `bytes[..]` afterwards; `tpid` is
/// [`ethertype::VLAN`], or [`ethertype::QINQ`] for the outer of two tags.
///
/// `None`, and no change, if there is no Ethernet header behind four bytes.
#[inline]
#[must_use = "nothing was pushed if there is no room"]
pub fn push(bytes: &mut [u8], tpid: u16, tci: Tci) -> Option<()> {
    Ethernet::new(bytes.get(Vlan::LEN..)?)?;
    bytes.copy_within(Vlan::LEN..Vlan::LEN + TAG_AT, 0);
    // In one piece: who pushes many tags has it ready.
    let tag = u32::from(tpid) << 16 | u32::from(u16::from(tci));
    put(bytes, TAG_AT, tag.to_be_bytes());
    Some(())
}

/// Takes the outer tag off a frame, and returns its TPID and what else it said. The frame starts at `bytes[..]`
/// before and at `bytes[4..]` afterwards.
///
/// `None`, and no change, if the frame has no tag or ends within it.
#[inline]
#[must_use = "the frame starts elsewhere only if a tag was popped"]
pub fn pop(bytes: &mut [u8]) -> Option<(u16, Tci)> {
    let ether = Ethernet::new(bytes)?;
    let tpid = Some(ether.ethertype()).filter(|&tpid| Vlan::follows(tpid))?;
    let tci = Vlan::new(ether.payload())?.tci();
    bytes.copy_within(..TAG_AT, Vlan::LEN);
    Some((tpid, tci))
}

/// What a tag says: tag control information.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tci {
    /// Priority code point, 0 to 7.
    pub priority: u8,
    /// Whether to drop this frame rather than others.
    pub is_drop_eligible: bool,
    /// The VLAN's number, 0 to 4095; 0 is a tag for its priority alone, and 4095 is reserved.
    pub id: u16,
}

impl From<u16> for Tci {
    #[inline]
    fn from(bits: u16) -> Tci {
        Tci { priority: (bits >> 13) as u8, is_drop_eligible: bits & 0x1000 != 0, id: bits & 0x0fff }
    }
}

/// Bits beyond the width of a field are left out.
impl From<Tci> for u16 {
    #[inline]
    fn from(tci: Tci) -> u16 {
        u16::from(tci.priority) << 13 | u16::from(tci.is_drop_eligible) << 12 | tci.id & 0x0fff
    }
}

/// A VLAN tag behind its EtherType: priority and id, then the EtherType of what follows.
#[derive(Clone, Copy, Debug)]
pub struct Vlan<'a> {
    bytes: &'a [u8],
}

impl<'a> Vlan<'a> {
    /// Length of the tag.
    pub const LEN: usize = 4;

    /// A view of a tag, if it is whole.
    #[inline]
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<Vlan<'a>> {
        (bytes.len() >= Vlan::LEN).then_some(Vlan { bytes })
    }

    /// Whether a VLAN tag follows this EtherType.
    #[inline]
    #[must_use]
    pub fn follows(ethertype: u16) -> bool {
        matches!(ethertype, ethertype::VLAN | ethertype::QINQ | ethertype::QINQ_OLD)
    }

    /// Priority, drop eligibility and VLAN.
    #[inline]
    #[must_use]
    pub fn tci(&self) -> Tci {
        u16_at(self.bytes, 0).unwrap_or_default().into()
    }

    /// The VLAN's number, 12 bits.
    #[inline]
    #[must_use]
    pub fn id(&self) -> u16 {
        u16_at(self.bytes, 0).unwrap_or_default() & 0x0fff
    }

    /// EtherType of what follows.
    #[inline]
    #[must_use]
    pub fn ethertype(&self) -> u16 {
        u16_at(self.bytes, 2).unwrap_or_default()
    }

    /// What follows the tag.
    #[inline]
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[Vlan::LEN..]
    }
}

impl Ethernet<'_> {
    /// The EtherType behind the VLAN tags, of which two at most are passed over, and where in the frame that starts which it
    /// announces. `None` if the frame ends within a tag.
    ///
    /// ```
    /// use wire::ether::{Ethernet, ethertype};
    /// let mut frame = [0; 60];
    /// frame[12..18].copy_from_slice(&[0x81, 0x00, 0x00, 0x07, 0x08, 0x00]);
    /// assert_eq!(Ethernet::new(&frame).unwrap().network(), Some((ethertype::IPV4, 18)));
    /// ```
    #[inline]
    #[must_use]
    pub fn network(&self) -> Option<(u16, usize)> {
        self.behind_vlans(2)
    }

    /// The same behind at most so many tags.
    #[inline]
    #[must_use]
    pub fn behind_vlans(&self, tags_max: usize) -> Option<(u16, usize)> {
        let (mut ethertype, mut off) = (self.ethertype(), 0);
        while Vlan::follows(ethertype) && off < tags_max * Vlan::LEN {
            ethertype = Vlan::new(&self.payload()[off..])?.ethertype();
            off += Vlan::LEN;
        }
        Some((ethertype, Ethernet::LEN + off))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNTAGGED: [u8; 16] = *b"\xff\xff\xff\xff\xff\xff\x02\x00\x00\x00\x00\x01\x08\x06\x00\x01";
    /// The same within VLAN 7 with priority 6, within service VLAN 2049 that may be dropped.
    const TAGGED_TWICE: [u8; 24] = *b"\xff\xff\xff\xff\xff\xff\x02\x00\x00\x00\x00\x01\
        \x88\xa8\x18\x01\x81\x00\xc0\x07\x08\x06\x00\x01";
    const INNER: Tci = Tci { priority: 6, is_drop_eligible: false, id: 7 };
    const OUTER: Tci = Tci { priority: 0, is_drop_eligible: true, id: 2049 };

    #[test]
    fn pushes_two_tags_and_pops_them() {
        let mut bytes = [0; 24];
        bytes[8..].copy_from_slice(&UNTAGGED);
        push(&mut bytes[4..], ethertype::VLAN, INNER).unwrap();
        push(&mut bytes, ethertype::QINQ, OUTER).unwrap();
        assert_eq!(bytes, TAGGED_TWICE);

        assert_eq!(pop(&mut bytes), Some((ethertype::QINQ, OUTER)));
        assert_eq!(pop(&mut bytes[4..]), Some((ethertype::VLAN, INNER)));
        assert_eq!(bytes[8..], UNTAGGED);
        assert_eq!(pop(&mut bytes[8..]), None);
        assert_eq!(bytes[8..], UNTAGGED);
    }

    #[test]
    fn needs_room_and_a_whole_header() {
        for len in 0..18 {
            let mut bytes = TAGGED_TWICE;
            assert_eq!(push(&mut bytes[..len], ethertype::VLAN, INNER), None, "{len}");
            assert_eq!(pop(&mut bytes[..len]), None, "{len}");
            assert_eq!(bytes, TAGGED_TWICE);
        }
        assert!(push(&mut { TAGGED_TWICE }[..18], ethertype::VLAN, INNER).is_some());
        assert!(pop(&mut { TAGGED_TWICE }[..18]).is_some());
    }

    #[test]
    fn control_information_is_sixteen_bits() {
        for bits in [0, 0x0fff, 0x1000, 0xe000, 0xffff, 0xa064] {
            assert_eq!(u16::from(Tci::from(bits)), bits);
        }
        let too_wide = Tci { priority: 9, is_drop_eligible: false, id: 0x1002 };
        assert_eq!(Tci::from(u16::from(too_wide)), Tci { priority: 1, is_drop_eligible: false, id: 2 });
    }
}
