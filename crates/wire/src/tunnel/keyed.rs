//! The keyed IPv6 tunnel (RFC 8159): an Ethernet frame in L2TPv3 over IPv6 (RFC 3931, 4.1), without its control
//! messages and with a cookie of 64 bits, which guards against packets that only look as if they belonged to it.
//!
//! ```
//! use wire::ip::{Ipv6Header, protocol};
//! use wire::tunnel::{KeyedTunnel, KeyedTunnelHeader, SESSION_ANY};
//! let cookie = *b"\x25\x31\x0f\xc6\x98\x3b\x71\xd2";
//! let header = KeyedTunnelHeader { session: SESSION_ANY, cookie };
//! let frame = [0; 60];
//! let message = [&header.to_bytes()[..], &frame].concat();
//! let (near, far) = ("2001:db8::1".parse().unwrap(), "2001:db8::2".parse().unwrap());
//! let packet = [&Ipv6Header::carrying(protocol::L2TP, message.len(), near, far).unwrap().to_bytes()[..], &message];
//!
//! let tunnel = KeyedTunnel::new(packet[1]).unwrap();
//! assert_eq!((tunnel.cookie(), tunnel.payload()), (cookie, &frame[..]));
//! ```

use crate::bytes::{array_at, put, u32_at};

/// The session of a tunnel that its addresses alone identify (RFC 8159, 4).
pub const SESSION_ANY: u32 = u32::MAX;

/// What stands before the frame in a keyed IPv6 tunnel: session and cookie.
#[derive(Clone, Copy, Debug)]
pub struct KeyedTunnel<'a> {
    bytes: &'a [u8],
}

impl<'a> KeyedTunnel<'a> {
    /// Length of the header.
    pub const LEN: usize = 12;

    /// A view of what IPv6 carries as protocol 115, if the header is whole and of a session; session 0 is for
    /// control messages, which this tunnel has not (RFC 3931, 4.1.1.2; RFC 8159, 4).
    #[inline]
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<KeyedTunnel<'a>> {
        let is_session = bytes.len() >= KeyedTunnel::LEN && u32_at(bytes, 0)? != 0;
        is_session.then_some(KeyedTunnel { bytes })
    }

    /// The session.
    #[inline]
    #[must_use]
    pub fn session(&self) -> u32 {
        u32_at(self.bytes, 0).unwrap_or_default()
    }

    /// The cookie; a packet with another than the one agreed on is to be dropped (RFC 8159, 3).
    #[inline]
    #[must_use]
    pub fn cookie(&self) -> [u8; 8] {
        array_at(self.bytes, 4).unwrap_or_default()
    }

    /// The Ethernet frame inside.
    #[inline]
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[KeyedTunnel::LEN..]
    }
}

/// Session and cookie as values, to write them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyedTunnelHeader {
    /// The session, not 0.
    pub session: u32,
    /// The cookie.
    pub cookie: [u8; 8],
}

impl KeyedTunnelHeader {
    /// The header as it goes over the wire.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; KeyedTunnel::LEN] {
        let mut bytes = [0; KeyedTunnel::LEN];
        put(&mut bytes, 0, self.session.to_be_bytes());
        put(&mut bytes, 4, self.cookie);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        let header = KeyedTunnelHeader { session: 0x1234_5678, cookie: *b"\xa1\xb2\xc3\xd4\xe5\xf6\x07\x18" };
        let message = [&header.to_bytes()[..], b"frame"].concat();
        assert_eq!(message, b"\x12\x34\x56\x78\xa1\xb2\xc3\xd4\xe5\xf6\x07\x18frame");
        let tunnel = KeyedTunnel::new(&message).unwrap();
        let read = KeyedTunnelHeader { session: tunnel.session(), cookie: tunnel.cookie() };
        assert_eq!((read, tunnel.payload()), (header, &b"frame"[..]));
    }

    #[test]
    fn control_messages_and_short_ones_have_no_view() {
        let mut message = [0xff; 12];
        assert!(KeyedTunnel::new(&message).is_some_and(|tunnel| tunnel.payload().is_empty()));
        for len in 0..12 {
            assert!(KeyedTunnel::new(&message[..len]).is_none(), "{len}");
        }
        message[..4].fill(0);
        assert!(KeyedTunnel::new(&message).is_none());
    }
}
