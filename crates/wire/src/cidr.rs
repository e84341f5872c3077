//! Prefixes of IP addresses, `192.0.2.0/24` (RFC 4632, 3.1; RFC 4291, 2.3).
//!
//! ```
//! use wire::Cidr;
//! let office: Cidr = "192.0.2.0/24".parse().unwrap();
//! assert!(office.contains("192.0.2.77".parse().unwrap()));
//! assert!(!office.contains("2001:db8::1".parse().unwrap()));
//! assert_eq!(office.to_string(), "192.0.2.0/24");
//! assert_eq!("::1".parse::<Cidr>().unwrap().to_string(), "::1/128");
//! assert_eq!(
//!     "192.0.2.77/24".parse::<Cidr>().unwrap_err().to_string(),
//!     "`192.0.2.77/24` has bits set behind its first 24: write 192.0.2.0/24, or 192.0.2.77/32 for one address"
//! );
//! ```

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A prefix of IPv4 addresses. Bits behind the prefix are 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cidr4 {
    addr: Ipv4Addr,
    len: u8,
}

impl Cidr4 {
    /// Every address.
    pub const ALL: Cidr4 = Cidr4 { addr: Ipv4Addr::UNSPECIFIED, len: 0 };

    /// The prefix of this many bits that an address lies in; `None` for more than 32.
    #[must_use]
    pub fn of(addr: Ipv4Addr, len: u8) -> Option<Cidr4> {
        (len <= 32).then(|| Cidr4 { addr: Ipv4Addr::from_bits(addr.to_bits() & mask4(len)), len })
    }

    /// The first address.
    #[must_use]
    pub fn addr(self) -> Ipv4Addr {
        self.addr
    }

    /// How many bits of the address count, 0 to 32.
    #[must_use]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(self) -> u8 {
        self.len
    }

    /// The bits that count, as ones.
    #[must_use]
    pub fn mask(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(mask4(self.len))
    }

    /// The last address.
    #[must_use]
    pub fn last(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.addr.to_bits() | !mask4(self.len))
    }

    /// Whether an address lies in it.
    #[inline]
    #[must_use]
    pub fn contains(self, addr: Ipv4Addr) -> bool {
        addr.to_bits() & mask4(self.len) == self.addr.to_bits()
    }

    /// Whether all of another lies in it.
    #[must_use]
    pub fn covers(self, other: Cidr4) -> bool {
        self.len <= other.len && self.contains(other.addr)
    }
}

/// A prefix of IPv6 addresses. Bits behind the prefix are 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cidr6 {
    addr: Ipv6Addr,
    len: u8,
}

impl Cidr6 {
    /// Every address.
    pub const ALL: Cidr6 = Cidr6 { addr: Ipv6Addr::UNSPECIFIED, len: 0 };

    /// The prefix of this many bits that an address lies in; `None` for more than 128.
    #[must_use]
    pub fn of(addr: Ipv6Addr, len: u8) -> Option<Cidr6> {
        (len <= 128).then(|| Cidr6 { addr: Ipv6Addr::from_bits(addr.to_bits() & mask6(len)), len })
    }

    /// The first address.
    #[must_use]
    pub fn addr(self) -> Ipv6Addr {
        self.addr
    }

    /// How many bits of the address count, 0 to 128.
    #[must_use]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(self) -> u8 {
        self.len
    }

    /// The bits that count, as ones.
    #[must_use]
    pub fn mask(self) -> Ipv6Addr {
        Ipv6Addr::from_bits(mask6(self.len))
    }

    /// The last address.
    #[must_use]
    pub fn last(self) -> Ipv6Addr {
        Ipv6Addr::from_bits(self.addr.to_bits() | !mask6(self.len))
    }

    /// Whether an address lies in it.
    #[inline]
    #[must_use]
    pub fn contains(self, addr: Ipv6Addr) -> bool {
        addr.to_bits() & mask6(self.len) == self.addr.to_bits()
    }

    /// Whether all of another lies in it.
    #[must_use]
    pub fn covers(self, other: Cidr6) -> bool {
        self.len <= other.len && self.contains(other.addr)
    }
}

/// A prefix of either version.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cidr {
    /// Of IPv4 addresses.
    V4(Cidr4),
    /// Of IPv6 addresses.
    V6(Cidr6),
}

impl Cidr {
    /// The prefix of this many bits that an address lies in; `None` for more than the address has.
    ///
    /// ```
    /// let network = wire::Cidr::of("192.0.2.77".parse().unwrap(), 24);
    /// assert_eq!(network, "192.0.2.0/24".parse().ok());
    /// ```
    #[must_use]
    pub fn of(addr: IpAddr, len: u8) -> Option<Cidr> {
        match addr {
            IpAddr::V4(addr) => Cidr4::of(addr, len).map(Cidr::V4),
            IpAddr::V6(addr) => Cidr6::of(addr, len).map(Cidr::V6),
        }
    }

    /// The first address.
    #[must_use]
    pub fn addr(self) -> IpAddr {
        match self {
            Cidr::V4(cidr) => cidr.addr.into(),
            Cidr::V6(cidr) => cidr.addr.into(),
        }
    }

    /// How many bits of the address count.
    #[must_use]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(self) -> u8 {
        match self {
            Cidr::V4(cidr) => cidr.len,
            Cidr::V6(cidr) => cidr.len,
        }
    }

    /// Whether an address lies in it; one of the other version does not, even if IPv6 maps it.
    #[must_use]
    pub fn contains(self, addr: IpAddr) -> bool {
        match (self, addr) {
            (Cidr::V4(cidr), IpAddr::V4(addr)) => cidr.contains(addr),
            (Cidr::V6(cidr), IpAddr::V6(addr)) => cidr.contains(addr),
            _ => false,
        }
    }

    /// Whether all of another lies in it.
    #[must_use]
    pub fn covers(self, other: Cidr) -> bool {
        self.len() <= other.len() && self.contains(other.addr())
    }
}

impl From<Cidr4> for Cidr {
    fn from(cidr: Cidr4) -> Cidr {
        Cidr::V4(cidr)
    }
}

impl From<Cidr6> for Cidr {
    fn from(cidr: Cidr6) -> Cidr {
        Cidr::V6(cidr)
    }
}

impl fmt::Display for Cidr4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.addr, self.len)
    }
}

impl fmt::Display for Cidr6 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.addr, self.len)
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cidr::V4(cidr) => cidr.fmt(f),
            Cidr::V6(cidr) => cidr.fmt(f),
        }
    }
}

impl fmt::Debug for Cidr4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Cidr6 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Cidr {
    type Err = ParseCidrError;

    /// Reads an address and the length of a prefix; without a length the address is one alone. Bits behind
    /// the prefix must be 0, since who sets them meant something else.
    fn from_str(text: &str) -> Result<Cidr, ParseCidrError> {
        parse(text).map_err(|why| ParseCidrError { text: text.to_owned(), why })
    }
}

impl FromStr for Cidr4 {
    type Err = ParseCidrError;

    /// As for [`Cidr`], of IPv4 only.
    fn from_str(text: &str) -> Result<Cidr4, ParseCidrError> {
        match text.parse()? {
            Cidr::V4(cidr) => Ok(cidr),
            Cidr::V6(_) => Err(ParseCidrError { text: text.to_owned(), why: Why::Version(6) }),
        }
    }
}

impl FromStr for Cidr6 {
    type Err = ParseCidrError;

    /// As for [`Cidr`], of IPv6 only.
    fn from_str(text: &str) -> Result<Cidr6, ParseCidrError> {
        match text.parse()? {
            Cidr::V6(cidr) => Ok(cidr),
            Cidr::V4(_) => Err(ParseCidrError { text: text.to_owned(), why: Why::Version(4) }),
        }
    }
}

/// A text that is no prefix, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseCidrError {
    text: String,
    why: Why,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Why {
    Empty,
    Address(String),
    Length(String),
    TooLong(u8),
    HostBits(IpAddr, Cidr),
    Version(u8),
}

impl ParseCidrError {
    /// What was given.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for ParseCidrError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.text;
        match &self.why {
            Why::Empty => write!(f, "empty text: expected a prefix such as 192.0.2.0/24 or 2001:db8::/32"),
            Why::Address(addr) => write!(
                f,
                "`{addr}` in `{text}` is no IP address: expected a prefix such as 192.0.2.0/24 or 2001:db8::/32"
            ),
            Why::Length(len) => write!(
                f,
                "`{len}` in `{text}` is no length of a prefix: expected a number of bits behind the slash"
            ),
            Why::TooLong(bits) => {
                write!(
                    f,
                    "`{text}` is longer than its address: expected a number from 0 to {bits} behind the slash"
                )
            }
            Why::HostBits(addr, cidr) => {
                let bits = bits(*addr);
                write!(
                    f,
                    "`{text}` has bits set behind its first {}: write {cidr}, or {addr}/{bits} for one address",
                    cidr.len()
                )
            }
            Why::Version(4) => {
                write!(f, "`{text}` is of IPv4: expected a prefix of IPv6 such as 2001:db8::/32")
            }
            Why::Version(_) => {
                write!(f, "`{text}` is of IPv6: expected a prefix of IPv4 such as 192.0.2.0/24")
            }
        }
    }
}

impl std::error::Error for ParseCidrError {}

fn parse(text: &str) -> Result<Cidr, Why> {
    if text.is_empty() {
        return Err(Why::Empty);
    }
    let (addr_text, len_text) = match text.split_once('/') {
        Some((addr, len)) => (addr, Some(len)),
        None => (text, None),
    };
    let addr: IpAddr = addr_text.parse().map_err(|_| Why::Address(addr_text.to_owned()))?;
    let len = len_text.map_or(Ok(bits(addr)), |len| parse_len(len, bits(addr)))?;
    let cidr = Cidr::of(addr, len).ok_or(Why::TooLong(bits(addr)))?;
    if cidr.addr() == addr { Ok(cidr) } else { Err(Why::HostBits(addr, cidr)) }
}

/// Only digits: `u8::from_str` alone would take `+1`.
fn parse_len(text: &str, bits: u8) -> Result<u8, Why> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Why::Length(text.to_owned()));
    }
    text.parse().map_err(|_| Why::TooLong(bits))
}

fn bits(addr: IpAddr) -> u8 {
    if addr.is_ipv4() { 32 } else { 128 }
}

/// The first `len` bits; the shift by all 32 that length 0 asks for is the one that has no result.
fn mask4(len: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(len)).unwrap_or(0)
}

fn mask6(len: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(len)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn says_what_is_wrong() {
        for (text, what) in [
            ("", "empty text"),
            ("/24", "`` in `/24` is no IP address"),
            ("192.0.2/24", "`192.0.2` in `192.0.2/24` is no IP address"),
            ("192.0.2.0/", "`` in `192.0.2.0/` is no length"),
            ("192.0.2.0/+8", "`+8` in `192.0.2.0/+8` is no length"),
            ("192.0.2.0/24/1", "`24/1` in"),
            ("192.0.2.0/255.255.255.0", "`255.255.255.0` in"),
            ("192.0.2.0/33", "expected a number from 0 to 32"),
            ("192.0.2.0/4294967328", "expected a number from 0 to 32"),
            ("::/129", "expected a number from 0 to 128"),
            ("10.0.0.1/8", "write 10.0.0.0/8, or 10.0.0.1/32 for one address"),
            ("2001:db8::1/32", "write 2001:db8::/32, or 2001:db8::1/128 for one address"),
            (" 10.0.0.0/8", "` 10.0.0.0` in"),
            ("fe80::1%eth0/64", "`fe80::1%eth0` in"),
        ] {
            let error = text.parse::<Cidr>().unwrap_err();
            assert!(error.to_string().contains(what), "{error}");
            assert_eq!(error.text(), text);
        }
        let error = "::/0".parse::<Cidr4>().unwrap_err();
        assert!(error.to_string().contains("`::/0` is of IPv6: expected a prefix of IPv4"), "{error}");
        let error = "0.0.0.0/0".parse::<Cidr6>().unwrap_err();
        assert!(error.to_string().contains("`0.0.0.0/0` is of IPv4: expected a prefix of IPv6"), "{error}");
    }

    #[test]
    fn first_and_last() {
        for (text, first, last) in [
            ("0.0.0.0/0", "0.0.0.0", "255.255.255.255"),
            ("10.0.0.0/31", "10.0.0.0", "10.0.0.1"),
            ("192.0.2.1", "192.0.2.1", "192.0.2.1"),
        ] {
            let cidr: Cidr4 = text.parse().unwrap();
            assert_eq!(
                (cidr.addr().to_string(), cidr.last().to_string()),
                (first.to_owned(), last.to_owned())
            );
        }
        let cidr: Cidr6 = "2001:db8::/127".parse().unwrap();
        assert_eq!(cidr.last().to_string(), "2001:db8::1");
        assert_eq!("10.0.0.0/9".parse::<Cidr4>().unwrap().mask(), Ipv4Addr::new(255, 128, 0, 0));
        assert_eq!("fe80::/10".parse::<Cidr6>().unwrap().mask().to_string(), "ffc0::");
        assert_eq!(Cidr6::ALL.last(), Ipv6Addr::from_bits(u128::MAX));
        assert_eq!("0.0.0.0/0".parse(), Ok(Cidr4::ALL));
    }

    #[test]
    fn covering() {
        let cidr = |text: &str| text.parse::<Cidr>().unwrap();
        assert!(cidr("10.0.0.0/8").covers(cidr("10.1.0.0/16")));
        assert!(!cidr("10.1.0.0/16").covers(cidr("10.0.0.0/8")));
        assert!(!cidr("0.0.0.0/0").covers(cidr("::/0")));
        assert!(!cidr("::ffff:0:0/96").contains("192.0.2.1".parse().unwrap()), "mapped is another version");
        assert_eq!(Cidr::of("10.0.0.1".parse().unwrap(), 33), None);
        assert_eq!(Cidr6::of(Ipv6Addr::LOCALHOST, 129), None);
    }

    proptest! {
        #[test]
        fn reads_what_it_writes(v4: u32, len4 in 0_u8..=32, v6: u128, len6 in 0_u8..=128) {
            let cidr4 = Cidr4::of(v4.into(), len4).unwrap();
            prop_assert_eq!(cidr4.to_string().parse(), Ok(cidr4));
            let cidr6 = Cidr6::of(v6.into(), len6).unwrap();
            prop_assert_eq!(cidr6.to_string().parse(), Ok(cidr6));
        }

        #[test]
        fn holds_what_lies_between_first_and_last(v4: u32, other: u32, len in 0_u8..=32, v6: u128) {
            let cidr = Cidr4::of(v4.into(), len).unwrap();
            prop_assert!(cidr.contains(v4.into()));
            let other = Ipv4Addr::from(other >> (len % 31));
            prop_assert_eq!(cidr.contains(other), (cidr.addr()..=cidr.last()).contains(&other));
            let cidr = Cidr6::of(v6.into(), len * 4).unwrap();
            let other = Ipv6Addr::from(v6 ^ 1 << 63);
            prop_assert_eq!(cidr.contains(other), (cidr.addr()..=cidr.last()).contains(&other));
        }

        #[test]
        fn never_panics(text in ".{0,40}") {
            let _ = text.parse::<Cidr>();
        }
    }
}
