//! ARP and RARP for IPv4 over six-byte hardware addresses (RFC 826, RFC 903).

use std::net::Ipv4Addr;

use crate::bytes::{array_at, u16_at};
use crate::ether::Mac;

/// An ARP message.
#[derive(Clone, Copy, Debug)]
pub struct Arp<'a> {
    bytes: &'a [u8],
}

impl<'a> Arp<'a> {
    /// Length of such a message.
    pub const LEN: usize = 28;

    /// A view of a message, if it is whole and about IPv4 and six-byte hardware addresses.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<Arp<'a>> {
        let fits = bytes.len() >= Arp::LEN && u16_at(bytes, 2)? == 0x0800 && bytes[4..6] == [6, 4];
        fits.then_some(Arp { bytes })
    }

    /// 1 request, 2 reply, 3 and 4 the reverse ones.
    #[must_use]
    pub fn operation(&self) -> u16 {
        u16_at(self.bytes, 6).unwrap_or_default()
    }

    /// Who speaks: hardware address.
    #[must_use]
    pub fn sender_mac(&self) -> Mac {
        Mac(array_at(self.bytes, 8).unwrap_or_default())
    }

    /// Who speaks: IPv4 address.
    #[must_use]
    pub fn sender_ip(&self) -> Ipv4Addr {
        array_at::<4>(self.bytes, 14).unwrap_or_default().into()
    }

    /// About whom: hardware address.
    #[must_use]
    pub fn target_mac(&self) -> Mac {
        Mac(array_at(self.bytes, 18).unwrap_or_default())
    }

    /// About whom: IPv4 address.
    #[must_use]
    pub fn target_ip(&self) -> Ipv4Addr {
        array_at::<4>(self.bytes, 24).unwrap_or_default().into()
    }
}
