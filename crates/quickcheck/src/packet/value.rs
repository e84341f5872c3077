//! Arguments: from text to numbers and bytes.

use super::Error;
use super::spec::Kind;
use std::net::{Ipv4Addr, Ipv6Addr};

/// A field's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Num(u128),
    Bytes(Vec<u8>),
}

/// Reads `text` as a value of `kind`.
pub(super) fn parse(kind: Kind, text: &str) -> Result<Value, Error> {
    match kind {
        Kind::Bits(_) | Kind::LittleBytes(_) => number(text, kind).map(Value::Num),
        Kind::Flags(letters) => flags(text, letters).map(Value::Num),
        Kind::Mac => mac(text).map(Value::Num),
        Kind::Ip4 => {
            let address: Ipv4Addr =
                text.parse().map_err(|_| Error::new(format!("`{text}` is no IPv4 address")))?;
            Ok(Value::Num(u128::from(u32::from(address))))
        }
        Kind::Ip6 => {
            let address: Ipv6Addr =
                text.parse().map_err(|_| Error::new(format!("`{text}` is no IPv6 address")))?;
            Ok(Value::Num(u128::from(address)))
        }
        Kind::Bytes => bytes(text).map(Value::Bytes),
        Kind::Text(width) => {
            let mut bytes = bytes(text).unwrap_or_else(|_| text.as_bytes().to_vec());
            bytes.resize(width as usize, 0);
            Ok(Value::Bytes(bytes))
        }
    }
}

/// A number of `kind`, decimal or with 0x, that fits.
fn number(text: &str, kind: Kind) -> Result<u128, Error> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u128::from_str_radix(digits, 16),
        None => text.parse(),
    };
    let value = parsed.map_err(|_| Error::new(format!("`{text}` is no number (write 10 or 0x0a)")))?;
    match kind.bits() {
        Some(bits) if bits < 128 && value >> bits != 0 => {
            Err(Error::new(format!("{text} does not fit into {bits} bits")))
        }
        _ => Ok(value),
    }
}

/// Letters of `letters`, or a number.
fn flags(text: &str, letters: &'static str) -> Result<u128, Error> {
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return number(text, Kind::Flags(letters));
    }
    text.chars().try_fold(0, |set, c| match letters.find(c) {
        Some(bit) => Ok(set | 1 << bit),
        None => Err(Error::new(format!("`{c}` is no flag: the flags are `{letters}`"))),
    })
}

fn mac(text: &str) -> Result<u128, Error> {
    let wrong = || Error::new(format!("`{text}` is no MAC address (write 02:00:00:00:00:01)"));
    let octets: Vec<&str> = text.split(':').collect();
    if octets.len() != 6 {
        return Err(wrong());
    }
    octets.iter().try_fold(0u128, |mac, octet| {
        Ok(mac << 8 | u128::from(u8::from_str_radix(octet, 16).map_err(|_| wrong())?))
    })
}

/// Quoted text, or pairs of hexadecimal digits with any white space.
pub(super) fn bytes(text: &str) -> Result<Vec<u8>, Error> {
    if let Some(quoted) = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        return Ok(unescape(quoted));
    }
    let digits: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    let wrong = || Error::new(format!("`{text}` is no list of bytes (write de ad be ef)"));
    if !digits.len().is_multiple_of(2) {
        return Err(wrong());
    }
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16).map_err(|_| wrong()))
        .collect()
}

/// Text with `\r`, `\n` and `\0` for the bytes that a line cannot hold.
pub(super) fn unescape(text: &str) -> Vec<u8> {
    text.replace("\\r", "\r").replace("\\n", "\n").replace("\\0", "\0").into_bytes()
}
