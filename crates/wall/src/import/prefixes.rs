//! Addresses, prefixes and ranges, as all these programs write them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Addresses from a first to a last, of one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) is_v6: bool,
    first: u128,
    last: u128,
}

/// An address as a number, and whether it is one of IPv6.
fn number(address: IpAddr) -> (u128, bool) {
    match address {
        IpAddr::V4(address) => (u32::from(address).into(), false),
        IpAddr::V6(address) => (address.into(), true),
    }
}

impl Range {
    /// `10.0.0.1`, `10.0.0.0/8`, `10.0.0.0/255.0.0.0` or `10.0.0.1-10.0.0.9`.
    pub(super) fn parse(text: &str) -> Option<Range> {
        if let Some((first, last)) = text.split_once('-') {
            let ((first, is_v6), (last, is_same)) = (number(first.parse().ok()?), number(last.parse().ok()?));
            return (is_v6 == is_same && first <= last).then_some(Range { is_v6, first, last });
        }
        let (address, len) = text.split_once('/').map_or((text, None), |(address, len)| (address, Some(len)));
        let (address, is_v6) = number(address.parse().ok()?);
        let bits = if is_v6 { 128 } else { 32 };
        let len = match len {
            None => bits,
            Some(len) => prefix_len(len, bits)?,
        };
        let open = u128::MAX.checked_shr(128 - bits + len).unwrap_or(0);
        Some(Range { is_v6, first: address & !open, last: address | open })
    }

    /// Whether these are all addresses of the family.
    pub(super) fn is_all(self) -> bool {
        self.first == 0 && self.last == if self.is_v6 { u128::MAX } else { u32::MAX.into() }
    }

    /// The prefixes that the range is made of, as text.
    pub(super) fn prefixes(self) -> Vec<String> {
        let bits = if self.is_v6 { 128 } else { 32 };
        let mut prefixes = Vec::new();
        let mut first = self.first;
        loop {
            // The largest block that begins here and does not go beyond the end.
            let mut open = first.trailing_zeros().min(bits);
            while open > 0 && first | (u128::MAX >> (128 - open)) > self.last {
                open -= 1;
            }
            prefixes.push(match (self.is_v6, open) {
                (true, 0) => Ipv6Addr::from(first).to_string(),
                (true, open) => format!("{}/{}", Ipv6Addr::from(first), 128 - open),
                (false, 0) => Ipv4Addr::from(first as u32).to_string(),
                (false, open) => format!("{}/{}", Ipv4Addr::from(first as u32), 32 - open),
            });
            let last = first | u128::MAX.checked_shr(128 - open).unwrap_or(0);
            if last >= self.last {
                return prefixes;
            }
            first = last + 1;
        }
    }
}

/// Bits of a prefix, written as a number or as a mask.
fn prefix_len(text: &str, bits: u32) -> Option<u32> {
    if let Ok(len) = text.parse() {
        return Some(len).filter(|&len| len <= bits);
    }
    let (mask, is_v6) = number(text.parse().ok()?);
    let mask = mask << (128 - bits);
    let len = mask.leading_ones();
    (is_v6 == (bits == 128) && mask.checked_shl(len).unwrap_or(0) == 0).then_some(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_prefixes() {
        let prefixes = |text| Range::parse(text).map(Range::prefixes).unwrap_or_default().join(" ");
        assert_eq!(prefixes("10.0.0.1"), "10.0.0.1");
        assert_eq!(prefixes("10.1.2.3/8"), "10.0.0.0/8");
        assert_eq!(prefixes("10.1.2.3/255.255.0.0"), "10.1.0.0/16");
        assert_eq!(prefixes("10.0.0.1-10.0.0.6"), "10.0.0.1 10.0.0.2/31 10.0.0.4/31 10.0.0.6");
        assert_eq!(prefixes("0.0.0.0-255.255.255.255"), "0.0.0.0/0");
        assert_eq!(prefixes("2001:db8::-2001:db8::ffff"), "2001:db8::/112");
        assert_eq!(prefixes("::/0"), "::/0");
        assert_eq!(
            prefixes("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
            "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"
        );
        for wrong in
            ["10.0.0.2-10.0.0.1", "10.0.0.0/33", "10.0.0.0/255.0.255.0", "1.2.3", "::1/129", "1.2.3.4-::1"]
        {
            assert_eq!(prefixes(wrong), "", "{wrong}");
        }
    }
}
