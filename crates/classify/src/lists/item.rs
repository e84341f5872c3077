//! One entry: `10.0.0.1`, `10.0.0.0/8`, `10.0.0.5-10.0.0.9`, `2001:db8::/32`, `80`, `8000-8080`, `02:00:00:00:00:01`, `10.0.0.1,80`.

use std::net::Ipv6Addr;
use table::interval::prefix;

/// An entry of a list: intervals have their first and their last number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Item {
    /// IPv4 addresses.
    V4(u32, u32),
    /// IPv6 addresses.
    V6(u128, u128),
    /// Ports.
    Port(u16, u16),
    /// A MAC address, in the lower 48 bits.
    Mac(u64),
    /// IPv4 addresses with ports.
    Pair4(u32, u32, u16, u16),
    /// IPv6 addresses with ports.
    Pair6(u128, u128, u16, u16),
}

impl Item {
    /// The entry that a text is.
    ///
    /// # Errors
    /// Why it is none.
    pub fn parse(text: &str) -> Result<Item, String> {
        // PERF: nearly all entries of long lists are IPv4 addresses and prefixes.
        if let Some(item) = quick(text) {
            return Ok(item);
        }
        if let Some((addresses, ports)) = text.split_once(',') {
            return pair(addresses, ports);
        }
        if let Some((low, high)) = range_ends(text) {
            return range(low, high);
        }
        if let Some((address, len)) = text.split_once('/') {
            return of_prefix(address, len);
        }
        if let Ok(address) = text.parse::<Ipv6Addr>() {
            return Ok(Item::V6(address.to_bits(), address.to_bits()));
        }
        if let Some(mac) = mac(text) {
            return Ok(Item::Mac(mac));
        }
        if text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() {
            let port = port(text)?;
            return Ok(Item::Port(port, port));
        }
        let looks_dotted = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        Err(if looks_dotted {
            "an IPv4 address is four numbers from 0 to 255".into()
        } else {
            "expected an address, a prefix, a range, a port or a MAC address".into()
        })
    }
}

/// An IPv4 address or prefix without any of the rarer forms.
fn quick(text: &str) -> Option<Item> {
    let slash =
        text.len().checked_sub(3).and_then(|from| text.as_bytes()[from..].iter().position(|&b| b == b'/'));
    let Some(slash) = slash else {
        let address = v4(text)?;
        return Some(Item::V4(address, address));
    };
    let at = text.len() - 3 + slash;
    let (address, len) = (v4(&text[..at])?, text[at + 1..].parse::<u8>().ok()?);
    let (low, high) = prefix(address, len);
    (len <= 32 && !text[at + 1..].starts_with('+')).then_some(Item::V4(low, high))
}

/// An IPv4 address: four decimal numbers. Zeros in front, which some take for octal, are refused.
pub(super) fn v4(text: &str) -> Option<u32> {
    let bytes = text.as_bytes();
    if bytes.len() > 15 {
        return None;
    }
    let (mut address, mut number, mut digits, mut dots) = (0_u32, 0_u32, 0, 0);
    for &byte in bytes {
        match byte {
            b'0'..=b'9' => {
                if digits == 1 && number == 0 {
                    return None;
                }
                number = number * 10 + u32::from(byte - b'0');
                digits += 1;
                if number > 255 {
                    return None;
                }
            }
            b'.' if digits > 0 && dots < 3 => {
                address = address << 8 | number;
                (number, digits, dots) = (0, 0, dots + 1);
            }
            _ => return None,
        }
    }
    (dots == 3 && digits > 0).then_some(address << 8 | number)
}

/// The ends of a range: a dash with an address or a number on both sides, perhaps with blanks.
fn range_ends(text: &str) -> Option<(&str, &str)> {
    let (low, high) = text.split_once('-')?;
    let (low, high) = (low.trim_end(), high.trim_start());
    // Dashes part the bytes of some MAC addresses.
    let is_mac = high.contains('-');
    (!is_mac).then_some((low, high))
}

fn range(low: &str, high: &str) -> Result<Item, String> {
    if let (Some(a), Some(b)) = (v4(low), v4(high)) {
        return in_order(a, b, text_of_ends(low, high)).map(|()| Item::V4(a, b));
    }
    if let (Ok(a), Ok(b)) = (low.parse::<Ipv6Addr>(), high.parse::<Ipv6Addr>()) {
        let (a, b) = (a.to_bits(), b.to_bits());
        return in_order(a, b, text_of_ends(low, high)).map(|()| Item::V6(a, b));
    }
    // As ipset writes them: `10.0.0.0/24-10.0.3.0/24` is not among these.
    if let (Ok(a), Ok(b)) = (port(low), port(high)) {
        return in_order(a, b, text_of_ends(low, high)).map(|()| Item::Port(a, b));
    }
    Err("the ends of a range are two addresses of one version, or two ports".into())
}

fn text_of_ends(low: &str, high: &str) -> String {
    format!("the range ends before it begins: write `{high}-{low}`")
}

fn in_order<K: Ord>(low: K, high: K, message: String) -> Result<(), String> {
    if low <= high { Ok(()) } else { Err(message) }
}

fn of_prefix(address: &str, len: &str) -> Result<Item, String> {
    if let Some(address) = v4(address) {
        // A mask instead of a length, as some lists have it.
        let len = match v4(len) {
            Some(mask) if mask.leading_ones() + mask.trailing_zeros() == 32 => mask.leading_ones(),
            Some(_) => return Err("the ones of a mask stand in front of its zeros".into()),
            None => length(len, 32)?.into(),
        };
        let (low, high) = prefix(address, len as u8);
        return Ok(Item::V4(low, high));
    }
    match address.parse::<Ipv6Addr>() {
        Ok(address) => {
            let (low, high) = prefix(address.to_bits(), length(len, 128)?);
            Ok(Item::V6(low, high))
        }
        Err(_) => Err("expected an address before the slash".into()),
    }
}

fn length(text: &str, max: u8) -> Result<u8, String> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let len = text.parse::<u8>().ok().filter(|&len| is_number && len <= max);
    len.ok_or_else(|| format!("the length of a prefix is a number from 0 to {max}"))
}

fn port(text: &str) -> Result<u16, String> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let port = text.parse::<u16>().ok().filter(|_| is_number);
    port.ok_or_else(|| "a port is a number from 0 to 65535".into())
}

/// An address with a port, as ipset writes it: `10.0.0.1,80`, `10.0.0.0/24,tcp:80-90`.
fn pair(addresses: &str, ports: &str) -> Result<Item, String> {
    let ports = ports.trim();
    // COMPAT: ipset keeps the protocol; what a set here is asked with has ports alone.
    let ports = ["tcp:", "udp:", "sctp:"].iter().find_map(|proto| ports.strip_prefix(proto)).unwrap_or(ports);
    let (first, last) = match ports.split_once('-') {
        Some((first, last)) => (port(first.trim())?, port(last.trim())?),
        None => (port(ports)?, port(ports)?),
    };
    in_order(first, last, format!("the range ends before it begins: write `{last}-{first}`"))?;
    match Item::parse(addresses.trim())? {
        Item::V4(low, high) => Ok(Item::Pair4(low, high, first, last)),
        Item::V6(low, high) => Ok(Item::Pair6(low, high, first, last)),
        _ => Err("expected an address before the comma, and a port behind it".into()),
    }
}

/// Six bytes with colons or dashes between.
fn mac(text: &str) -> Option<u64> {
    let sign = if text.contains('-') { '-' } else { ':' };
    let mut parts = text.split(sign);
    let mut mac = 0;
    for _ in 0..6 {
        let part = parts.next().filter(|part| (1..=2).contains(&part.len()))?;
        let is_hex = part.bytes().all(|byte| byte.is_ascii_hexdigit());
        mac = mac << 8 | u64::from(u8::from_str_radix(part, 16).ok().filter(|_| is_hex)?);
    }
    parts.next().is_none().then_some(mac)
}
