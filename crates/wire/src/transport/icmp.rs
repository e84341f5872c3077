//! ICMP (RFC 792) and ICMPv6 (RFC 4443) messages.
//!
//! ```
//! use std::net::Ipv6Addr;
//! use wire::checksum::Addresses;
//! use wire::transport::{Icmp, IcmpHeader, IcmpMut, icmp_kind};
//! let mut ping = *b"--head--abcdefgh";
//! let header = IcmpHeader::echo(icmp_kind::ECHO_REQUEST_V6, 77, 1);
//! ping[..Icmp::LEN].copy_from_slice(&header.to_bytes());
//! let addresses = Addresses::V6 { src: Ipv6Addr::LOCALHOST, dst: Ipv6Addr::LOCALHOST };
//! IcmpMut::new(&mut ping).unwrap().fill_checksum(addresses);
//!
//! let icmp = Icmp::new(&ping).unwrap();
//! assert!(icmp.is_checksum_right(addresses));
//! assert_eq!((icmp.id(), icmp.seq()), (77, 1));
//! ```

use crate::bytes::{array_at, put, u16_at};
use crate::checksum::{Addresses, checksum};
use crate::ip::protocol;

/// Types of messages by name.
pub mod icmp_kind {
    /// ICMP: answer to an echo request.
    pub const ECHO_REPLY: u8 = 0;
    /// ICMP: destination unreachable.
    pub const UNREACHABLE: u8 = 3;
    /// ICMP: echo request.
    pub const ECHO_REQUEST: u8 = 8;
    /// ICMP: time exceeded.
    pub const TIME_EXCEEDED: u8 = 11;
    /// ICMPv6: destination unreachable.
    pub const UNREACHABLE_V6: u8 = 1;
    /// ICMPv6: packet too big.
    pub const TOO_BIG_V6: u8 = 2;
    /// ICMPv6: time exceeded.
    pub const TIME_EXCEEDED_V6: u8 = 3;
    /// ICMPv6: echo request.
    pub const ECHO_REQUEST_V6: u8 = 128;
    /// ICMPv6: answer to an echo request.
    pub const ECHO_REPLY_V6: u8 = 129;
    /// ICMPv6: neighbour solicitation (RFC 4861, 4.3).
    pub const NEIGHBOUR_SOLICITATION: u8 = 135;
    /// ICMPv6: neighbour advertisement (RFC 4861, 4.4).
    pub const NEIGHBOUR_ADVERTISEMENT: u8 = 136;
    /// ICMPv6: redirect (RFC 4861, 4.5).
    pub const REDIRECT_V6: u8 = 137;
}

/// The common start of ICMP and ICMPv6 messages.
#[derive(Clone, Copy, Debug)]
pub struct Icmp<'a> {
    bytes: &'a [u8],
}

impl<'a> Icmp<'a> {
    /// Length of the common header.
    pub const LEN: usize = 8;

    /// A view of a message, if its header is whole.
    #[inline]
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<Icmp<'a>> {
        (bytes.len() >= Icmp::LEN).then_some(Icmp { bytes })
    }

    /// Type.
    #[inline]
    #[must_use]
    pub fn kind(&self) -> u8 {
        self.bytes[0]
    }

    /// Code.
    #[inline]
    #[must_use]
    pub fn code(&self) -> u8 {
        self.bytes[1]
    }

    /// Identifier of an echo.
    #[inline]
    #[must_use]
    pub fn id(&self) -> u16 {
        u16_at(self.bytes, 4).unwrap_or_default()
    }

    /// Sequence number of an echo.
    #[inline]
    #[must_use]
    pub fn seq(&self) -> u16 {
        u16_at(self.bytes, 6).unwrap_or_default()
    }

    /// The four bytes whose meaning depends on the type.
    #[inline]
    #[must_use]
    pub fn rest(&self) -> [u8; 4] {
        array_at(self.bytes, 4).unwrap_or_default()
    }

    /// What follows the header.
    #[inline]
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[Icmp::LEN..]
    }

    /// The checksum, as it is stated.
    #[inline]
    #[must_use]
    pub fn checksum(&self) -> u16 {
        u16_at(self.bytes, 2).unwrap_or_default()
    }

    /// Whether the checksum is right for a message between these addresses, all of which the view must hold.
    /// That of ICMPv6 covers the addresses (RFC 4443, 2.3), that of ICMP does not.
    #[must_use]
    pub fn is_checksum_right(&self, addresses: Addresses) -> bool {
        checksum_between(addresses, self.bytes) == 0
    }
}

/// An ICMP or ICMPv6 header that can be changed in place.
#[derive(Debug)]
pub struct IcmpMut<'a> {
    bytes: &'a mut [u8],
}

impl<'a> IcmpMut<'a> {
    /// A view of a message, if its header is whole.
    #[inline]
    #[must_use]
    pub fn new(bytes: &'a mut [u8]) -> Option<IcmpMut<'a>> {
        (bytes.len() >= Icmp::LEN).then_some(IcmpMut { bytes })
    }

    /// What the header says now.
    #[inline]
    #[must_use]
    pub fn view(&self) -> Icmp<'_> {
        Icmp { bytes: self.bytes }
    }

    /// Sets the type.
    #[inline]
    pub fn set_kind(&mut self, kind: u8) {
        self.bytes[0] = kind;
    }

    /// Sets the checksum.
    #[inline]
    pub fn set_checksum(&mut self, checksum: u16) {
        put(self.bytes, 2, checksum.to_be_bytes());
    }

    /// Computes the checksum of the message, which is all the view holds, and sets it.
    pub fn fill_checksum(&mut self, addresses: Addresses) {
        self.set_checksum(0);
        self.set_checksum(checksum_between(addresses, self.bytes));
    }

    /// What follows the header.
    #[inline]
    #[must_use]
    pub fn payload_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[Icmp::LEN..]
    }
}

/// An ICMP or ICMPv6 header as values, to write one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IcmpHeader {
    /// Type.
    pub kind: u8,
    /// Code.
    pub code: u8,
    /// The four bytes whose meaning depends on the type.
    pub rest: [u8; 4],
}

impl IcmpHeader {
    /// The header of an echo request or reply.
    #[must_use]
    pub fn echo(kind: u8, id: u16, seq: u16) -> IcmpHeader {
        let ([a, b], [c, d]) = (id.to_be_bytes(), seq.to_be_bytes());
        IcmpHeader { kind, code: 0, rest: [a, b, c, d] }
    }

    /// The header as it goes over the wire; its checksum is 0.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Icmp::LEN] {
        let [a, b, c, d] = self.rest;
        [self.kind, self.code, 0, 0, a, b, c, d]
    }
}

/// Whether an ICMP message of this type tells of an error, or may do so because the type is not known: about such a message no error
/// is sent (RFC 1122, 3.2.2).
#[must_use]
pub fn icmp_may_be_error(kind: u8) -> bool {
    // Echo, router discovery, timestamps, information, address masks, extended echo (RFC 8335).
    !matches!(kind, 0 | 8..=10 | 13..=18 | 42 | 43)
}

/// Whether an ICMPv6 message of this type tells of an error, or counts as if it did: about such a message no error is sent
/// (RFC 4443, 2.1 and 2.4, e). A redirect counts.
#[must_use]
pub fn icmpv6_may_be_error(kind: u8) -> bool {
    kind < 128 || kind == icmp_kind::REDIRECT_V6
}

/// What an ICMP type is called, where it is common.
#[must_use]
pub fn icmp_name(kind: u8) -> Option<&'static str> {
    Some(match kind {
        0 => "echo reply",
        3 => "unreachable",
        4 => "source quench",
        5 => "redirect",
        8 => "echo request",
        9 => "router advertisement",
        10 => "router solicitation",
        11 => "time exceeded",
        12 => "parameter problem",
        13 => "timestamp request",
        14 => "timestamp reply",
        17 => "address mask request",
        18 => "address mask reply",
        _ => return None,
    })
}

/// What an ICMPv6 type is called, where it is common.
#[must_use]
pub fn icmpv6_name(kind: u8) -> Option<&'static str> {
    Some(match kind {
        1 => "unreachable",
        2 => "packet too big",
        3 => "time exceeded",
        4 => "parameter problem",
        128 => "echo request",
        129 => "echo reply",
        130 => "listener query",
        131 => "listener report",
        132 => "listener done",
        133 => "router solicitation",
        134 => "router advertisement",
        135 => "neighbour solicitation",
        136 => "neighbour advertisement",
        137 => "redirect",
        138 => "router renumbering",
        139 => "node information query",
        140 => "node information reply",
        143 => "listener report v2",
        151 => "multicast router advertisement",
        152 => "multicast router solicitation",
        153 => "multicast router termination",
        155 => "rpl control",
        _ => return None,
    })
}

fn checksum_between(addresses: Addresses, message: &[u8]) -> u16 {
    match addresses {
        Addresses::V4 { .. } => checksum(message),
        Addresses::V6 { .. } => addresses.checksum(protocol::ICMPV6, message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::from_hex;
    use crate::ip::{Ipv4, Ipv6};

    /// Echo requests of both versions, from this project's captures.
    const REQUEST: &str = "45000054 eb8d4000 400162c9 c000020a c6336414 0800e140 02b40001
        6626026b 00000000 e2a50a00 00000000 101112131415161718191a1b1c1d1e1f
        202122232425262728292a2b2c2d2e2f3031323334353637";
    const REQUEST_V6: &str = "6004cd0f 00403a40 20010db8000100000000000000000010
        20010db8000200000000000000000020 80006bfb 02b50001 6726026b 00000000
        88ca0400 00000000 101112131415161718191a1b1c1d1e1f
        202122232425262728292a2b2c2d2e2f3031323334353637";

    #[test]
    fn answers_a_ping() {
        let packet = from_hex(REQUEST);
        let ip = Ipv4::new(&packet).unwrap();
        check_answer(ip.payload(), ip.addresses(), (692, 1), icmp_kind::ECHO_REPLY);
    }

    #[test]
    fn answers_a_ping_of_version_6() {
        let packet = from_hex(REQUEST_V6);
        let ip = Ipv6::new(&packet).unwrap();
        check_answer(ip.payload(), ip.addresses(), (693, 1), icmp_kind::ECHO_REPLY_V6);
    }

    fn check_answer(request: &[u8], addresses: Addresses, (id, seq): (u16, u16), reply: u8) {
        let icmp = Icmp::new(request).unwrap();
        assert!(icmp.is_checksum_right(addresses));
        assert_eq!((icmp.id(), icmp.seq(), icmp.payload().len()), (id, seq, 56));
        assert_eq!(icmp.rest(), IcmpHeader::echo(0, id, seq).rest);

        let mut answer = request.to_vec();
        let mut changed = IcmpMut::new(&mut answer).unwrap();
        changed.set_kind(reply);
        assert!(!changed.view().is_checksum_right(addresses));
        changed.fill_checksum(addresses);
        assert!(changed.view().is_checksum_right(addresses));
        let header = IcmpHeader::echo(reply, id, seq).to_bytes();
        changed.set_checksum(0);
        assert_eq!(answer, [&header, &request[8..]].concat());
        assert!(!Icmp::new(&request[..63]).unwrap().is_checksum_right(addresses), "cut");
    }

    #[test]
    fn short_messages_have_no_view() {
        let mut bytes = [0; 8];
        assert!(IcmpMut::new(&mut bytes).unwrap().payload_mut().is_empty());
        assert!(Icmp::new(&bytes[..7]).is_none() && IcmpMut::new(&mut bytes[..7]).is_none());
    }

    #[test]
    fn errors_are_told_from_questions_and_answers() {
        let errors = (0..=255).filter(|&kind| icmp_may_be_error(kind)).take(10).collect::<Vec<_>>();
        assert_eq!(errors, [1, 2, 3, 4, 5, 6, 7, 11, 12, 19]);
        assert!(icmp_may_be_error(253) && !icmp_may_be_error(icmp_kind::ECHO_REQUEST));
        let errors = (120..=255).filter(|&kind| icmpv6_may_be_error(kind)).collect::<Vec<_>>();
        assert_eq!(errors, [120, 121, 122, 123, 124, 125, 126, 127, 137]);
    }
}
