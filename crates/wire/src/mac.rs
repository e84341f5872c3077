//! Hardware addresses of six bytes (IEEE 802, 8: EUI-48).

use crate::chars::Chars;
use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

/// A hardware address of six bytes.
///
/// ```
/// use wire::Mac;
/// let mac: Mac = "02:42:AC:11:00:02".parse().unwrap();
/// assert!(mac.is_local() && !mac.is_multicast());
/// assert_eq!(mac.to_string(), "02:42:ac:11:00:02");
/// assert_eq!("2-42-ac-11-0-2".parse(), Ok(mac));
/// assert_eq!(
///     "02:42:ac:11:00".parse::<Mac>().unwrap_err().to_string(),
///     "hardware address `02:42:ac:11:00` has 5 bytes, not 6: write it like 02:00:5e:10:00:01"
/// );
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// Everyone on the link.
    pub const BROADCAST: Mac = Mac([0xff; 6]);
    /// No address.
    pub const ZERO: Mac = Mac([0; 6]);

    /// Whether it names a group, broadcast included.
    #[must_use]
    pub fn is_multicast(self) -> bool {
        self.0[0] & 1 != 0
    }

    /// Whether it was made up by an administrator or a program, not assigned by a manufacturer.
    #[must_use]
    pub fn is_local(self) -> bool {
        self.0[0] & 2 != 0
    }

    /// Where frames to a group of IPv6 go: the low 32 bits of its address (RFC 2464, 7).
    #[must_use]
    pub fn of_ipv6_multicast(group: Ipv6Addr) -> Mac {
        let [.., a, b, c, d] = group.octets();
        Mac([0x33, 0x33, a, b, c, d])
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(Chars::<17>::mac(self.0).as_str())
    }
}

impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<[u8; 6]> for Mac {
    fn from(bytes: [u8; 6]) -> Mac {
        Mac(bytes)
    }
}

impl FromStr for Mac {
    type Err = ParseMacError;

    /// Reads six bytes of one or two hexadecimal digits, all separated by `:` or all by `-`.
    fn from_str(text: &str) -> Result<Mac, ParseMacError> {
        let error = |why| ParseMacError { text: text.to_owned(), why };
        let separator = if text.contains('-') { '-' } else { ':' };
        let mut bytes = [0; 6];
        let mut count = 0;
        for part in text.split(separator) {
            let byte = hex_byte(part).ok_or_else(|| error(WhyMac::Byte(part.to_owned())))?;
            if let Some(slot) = bytes.get_mut(count) {
                *slot = byte;
            }
            count += 1;
        }
        if count == bytes.len() { Ok(Mac(bytes)) } else { Err(error(WhyMac::Count(count))) }
    }
}

/// One or two digits: `from_str_radix` alone would take `+1`.
fn hex_byte(digits: &str) -> Option<u8> {
    let are_digits = digits.len() <= 2 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    are_digits.then(|| u8::from_str_radix(digits, 16).ok()).flatten()
}

/// A text that is no hardware address, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseMacError {
    text: String,
    why: WhyMac,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum WhyMac {
    Byte(String),
    Count(usize),
}

impl ParseMacError {
    /// What was given.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for ParseMacError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hardware address `{}` ", self.text)?;
        match &self.why {
            WhyMac::Byte(part) => {
                write!(f, "has `{part}` for a byte, which is not one or two hexadecimal digits")?
            }
            WhyMac::Count(count) => write!(f, "has {count} bytes, not 6")?,
        }
        f.write_str(": write it like 02:00:5e:10:00:01")
    }
}

impl std::error::Error for ParseMacError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        for bytes in [[0; 6], [0xff; 6], [0, 0x1b, 0x21, 0x3c, 0x9d, 0xf8]] {
            assert_eq!(Mac(bytes).to_string().parse(), Ok(Mac(bytes)));
        }
    }

    #[test]
    fn says_what_is_wrong() {
        for (text, what) in [
            ("", "has `` for a byte"),
            ("1:2:3:4:5:6:7", "has 7 bytes"),
            ("1:2:3:4:5", "has 5 bytes"),
            ("1:2:3:4:5:+6", "has `+6` for a byte"),
            ("1:2:3:4:5:006", "has `006` for a byte"),
            ("1:2:3-4:5:6", "has `1:2:3` for a byte"),
            ("1:2:3:4:5:é", "has `é` for a byte"),
            ("021b213c9df8", "has `021b213c9df8` for a byte"),
        ] {
            let error = text.parse::<Mac>().unwrap_err();
            assert!(error.to_string().contains(what), "{error}");
            assert_eq!(error.text(), text);
        }
    }

    #[test]
    fn kinds_of_addresses() {
        for (text, is_multicast, is_local) in [
            ("ff:ff:ff:ff:ff:ff", true, true),
            ("01:00:5e:00:00:01", true, false),
            ("33:33:00:00:00:01", true, true),
            ("02:00:00:00:00:01", false, true),
            ("00:1b:21:3c:9d:f8", false, false),
        ] {
            let mac: Mac = text.parse().unwrap();
            let kinds = (mac.is_multicast(), mac.is_local());
            assert_eq!(kinds, (is_multicast, is_local), "{mac}");
        }
    }

    #[test]
    fn groups() {
        let group: Ipv6Addr = "ff02::1:ff28:9c5a".parse().unwrap();
        assert_eq!(Mac::of_ipv6_multicast(group).to_string(), "33:33:ff:28:9c:5a");
    }
}
