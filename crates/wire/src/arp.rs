//! ARP and RARP for IPv4 over six-byte hardware addresses (RFC 826, RFC 903).
//!
//! ```
//! use std::net::Ipv4Addr;
//! use wire::Mac;
//! use wire::arp::{Arp, ArpMessage};
//! let (asker, asked) = (Ipv4Addr::new(192, 0, 2, 10), Ipv4Addr::new(192, 0, 2, 1));
//! let request = ArpMessage::request(Mac([2, 0, 0, 0, 0, 10]), asker, asked).to_bytes();
//!
//! // The one asked:
//! let request = Arp::new(&request).unwrap();
//! let reply = ArpMessage::reply(&request, Mac([2, 0, 0, 0, 0, 1]));
//! assert_eq!((reply.sender_ip, reply.target_ip), (asked, asker));
//! ```

use std::net::Ipv4Addr;

use crate::bytes::{array_at, put, u16_at};
use crate::mac::Mac;

/// An ARP message.
#[derive(Clone, Copy, Debug)]
pub struct Arp<'a> {
    bytes: &'a [u8],
}

impl<'a> Arp<'a> {
    /// Length of such a message.
    pub const LEN: usize = 28;

    /// A view of a message, if it is whole and about IPv4 and six-byte hardware addresses.
    #[inline]
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<Arp<'a>> {
        let fits = bytes.len() >= Arp::LEN && u16_at(bytes, 2)? == 0x0800 && bytes[4..6] == [6, 4];
        fits.then_some(Arp { bytes })
    }

    /// What the hardware is: 1 for Ethernet.
    #[inline]
    #[must_use]
    pub fn hardware(&self) -> u16 {
        u16_at(self.bytes, 0).unwrap_or_default()
    }

    /// 1 request, 2 reply, 3 and 4 the reverse ones.
    #[inline]
    #[must_use]
    pub fn operation(&self) -> u16 {
        u16_at(self.bytes, 6).unwrap_or_default()
    }

    /// Who speaks: hardware address.
    #[inline]
    #[must_use]
    pub fn sender_mac(&self) -> Mac {
        Mac(array_at(self.bytes, 8).unwrap_or_default())
    }

    /// Who speaks: IPv4 address.
    #[inline]
    #[must_use]
    pub fn sender_ip(&self) -> Ipv4Addr {
        array_at::<4>(self.bytes, 14).unwrap_or_default().into()
    }

    /// About whom: hardware address.
    #[inline]
    #[must_use]
    pub fn target_mac(&self) -> Mac {
        Mac(array_at(self.bytes, 18).unwrap_or_default())
    }

    /// About whom: IPv4 address.
    #[inline]
    #[must_use]
    pub fn target_ip(&self) -> Ipv4Addr {
        array_at::<4>(self.bytes, 24).unwrap_or_default().into()
    }
}

/// What a message is for.
pub mod operation {
    /// Who has this IPv4 address?
    pub const REQUEST: u16 = 1;
    /// The answer to that.
    pub const REPLY: u16 = 2;
}

/// A message about IPv4 over Ethernet as values, to write one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArpMessage {
    /// See [`operation`].
    pub operation: u16,
    /// Who speaks: hardware address.
    pub sender_mac: Mac,
    /// Who speaks: IPv4 address.
    pub sender_ip: Ipv4Addr,
    /// About whom: hardware address.
    pub target_mac: Mac,
    /// About whom: IPv4 address.
    pub target_ip: Ipv4Addr,
}

impl ArpMessage {
    /// Asks, by broadcast, who has `target_ip`. With `target_ip` the sender's own it announces the sender's
    /// addresses, and with an unspecified `sender_ip` it probes for a conflict (RFC 5227, 1.1).
    #[must_use]
    pub fn request(sender_mac: Mac, sender_ip: Ipv4Addr, target_ip: Ipv4Addr) -> ArpMessage {
        let operation = operation::REQUEST;
        ArpMessage { operation, sender_mac, sender_ip, target_mac: Mac::ZERO, target_ip }
    }

    /// Answers a request: whom it asks about has the address `mac`.
    #[must_use]
    pub fn reply(request: &Arp<'_>, mac: Mac) -> ArpMessage {
        ArpMessage {
            operation: operation::REPLY,
            sender_mac: mac,
            sender_ip: request.target_ip(),
            target_mac: request.sender_mac(),
            target_ip: request.sender_ip(),
        }
    }

    /// The message as it goes over the wire.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Arp::LEN] {
        let mut bytes = [0; Arp::LEN];
        put(&mut bytes, 0, [0, 1, 0x08, 0x00, 6, 4]);
        put(&mut bytes, 6, self.operation.to_be_bytes());
        put(&mut bytes, 8, self.sender_mac.0);
        put(&mut bytes, 14, self.sender_ip.octets());
        put(&mut bytes, 18, self.target_mac.0);
        put(&mut bytes, 24, self.target_ip.octets());
        bytes
    }
}

impl From<Arp<'_>> for ArpMessage {
    fn from(arp: Arp<'_>) -> ArpMessage {
        ArpMessage {
            operation: arp.operation(),
            sender_mac: arp.sender_mac(),
            sender_ip: arp.sender_ip(),
            target_mac: arp.target_mac(),
            target_ip: arp.target_ip(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::from_hex;

    /// A question and its answer, from this project's captures.
    const REQUEST: &str = "0001080006040001 02005e10001ac000020a 000000000000c0000201";
    const REPLY: &str = "0001080006040002 02005e10001bc0000201 02005e10001ac000020a";

    #[test]
    fn asks_and_answers_as_linux_does() {
        let (request, reply) = (from_hex(REQUEST), from_hex(REPLY));
        let asked = Arp::new(&request).unwrap();
        assert_eq!((asked.hardware(), asked.operation()), (1, operation::REQUEST));
        let made = ArpMessage::request(asked.sender_mac(), asked.sender_ip(), asked.target_ip());
        assert_eq!(made.to_bytes(), *request);
        assert_eq!(ArpMessage::from(asked), made);

        let answered = Arp::new(&reply).unwrap();
        assert_eq!(ArpMessage::reply(&asked, answered.sender_mac()).to_bytes(), *reply);
    }

    #[test]
    fn other_messages_have_no_view() {
        let whole = from_hex(REQUEST);
        for len in 0..whole.len() {
            assert!(Arp::new(&whole[..len]).is_none(), "{len}");
        }
        for (at, what) in [(2, "protocol"), (4, "length of hardware address"), (5, "length of address")] {
            let mut other = whole.clone();
            other[at] ^= 1;
            assert!(Arp::new(&other).is_none(), "{what}");
        }
    }
}
