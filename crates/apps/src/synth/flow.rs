//! Which flows there are: addresses and ports.
//!
//! Flow n is the n-th combination, source ports changing fastest, so that the same options make the same flows. How many there can be is counted
//! before any is made; at most a million, each with a counter.

use super::Synth;
use engine::OptionError;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;
use wire::Cidr;
use wire::checksum::Sum;

/// The most flows, each with a counter of its own.
pub(super) const FLOWS_MAX: u32 = 1 << 20;
/// How many flows there are at most unless the user says so.
const FLOWS_UNASKED: u128 = 1 << 16;

/// A flow, and how far it has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flow {
    /// Source and destination address as they are in a packet; the first four bytes of each for IPv4.
    pub(super) src: [u8; 16],
    pub(super) dst: [u8; 16],
    /// The sum over both addresses.
    pub(super) addresses: u16,
    pub(super) sport: u16,
    pub(super) dport: u16,
    /// Packets sent.
    pub(super) sent: u64,
}

/// Addresses and ports of flows. Flow n has the n-th combination; source ports change fastest, then destination ports, source addresses,
/// destination addresses.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    src: Cidr,
    dst: Cidr,
    sport: RangeInclusive<u16>,
    dport: RangeInclusive<u16>,
}

impl Pattern {
    pub(super) fn new(options: &Synth) -> Result<Self, OptionError> {
        let prefix =
            |option, text: &str| text.parse::<Cidr>().map_err(|error| OptionError::new(option, error));
        let (src, dst) = (prefix("src", &options.src)?, prefix("dst", &options.dst)?);
        if src.addr().is_ipv4() != dst.addr().is_ipv4() {
            let message = format!("{} and the source {} are not of one IP version", options.dst, options.src);
            return Err(OptionError::new("dst", message));
        }
        let (sport, dport) = (ports("sport", &options.sport)?, ports("dport", &options.dport)?);
        Ok(Pattern { src, dst, sport, dport })
    }

    pub(super) fn is_ipv6(&self) -> bool {
        self.src.addr().is_ipv6()
    }

    /// Whether there can be `count` flows.
    pub(super) fn check(&self, count: u32) -> Result<(), OptionError> {
        let all = self.combinations();
        if u128::from(count) <= all {
            return Ok(());
        }
        let message = format!(
            "{count} flows, but addresses and ports make {all}: write a prefix such as 198.18.0.0/16 for `src` or `dst`, \
             or a range such as 1024-5119 for `sport` or `dport`"
        );
        Err(OptionError::new("flows", message))
    }

    /// The flows; `count` of them if it is given.
    pub(super) fn flows(&self, count: Option<u32>) -> Vec<Flow> {
        let count = count.map_or(self.combinations().min(FLOWS_UNASKED), u128::from);
        (0..count).map(|number| self.flow(number)).collect()
    }

    fn combinations(&self) -> u128 {
        let ports = [self.sport.len(), self.dport.len()].map(|ports| ports as u128);
        let counts = [ports[0], ports[1], addresses(self.src), addresses(self.dst)];
        counts.iter().fold(1, |all, &count| all.saturating_mul(count))
    }

    fn flow(&self, number: u128) -> Flow {
        let mut rest = number;
        let mut digit = |count: u128| {
            let digit = rest % count;
            rest /= count;
            digit
        };
        let sport = self.sport.start() + digit(self.sport.len() as u128) as u16;
        let dport = self.dport.start() + digit(self.dport.len() as u128) as u16;
        let src = address(self.src, digit(addresses(self.src)));
        let dst = address(self.dst, digit(addresses(self.dst)));
        let addresses = Sum::new().add_bytes(&src).add_bytes(&dst).partial();
        Flow { src, dst, addresses, sport, dport, sent: 0 }
    }
}

/// How many addresses a prefix has; the largest number for all of IPv6, which nobody counts to.
fn addresses(prefix: Cidr) -> u128 {
    let bits = if prefix.addr().is_ipv4() { 32 } else { 128 };
    1_u128.checked_shl(bits - u32::from(prefix.len())).unwrap_or(u128::MAX)
}

/// The address with a number in a prefix.
fn address(prefix: Cidr, number: u128) -> [u8; 16] {
    let mut bytes = [0; 16];
    match prefix.addr() {
        IpAddr::V4(first) => {
            let address = Ipv4Addr::from(u32::from(first) | number as u32);
            bytes[..4].copy_from_slice(&address.octets());
        }
        IpAddr::V6(first) => bytes = Ipv6Addr::from(u128::from(first) | number).octets(),
    }
    bytes
}

/// A port, or a range of ports.
fn ports(option: &'static str, text: &str) -> Result<RangeInclusive<u16>, OptionError> {
    let wrong =
        || OptionError::new(option, format!("`{text}` is no port and no range: write 1024 or 1024-2047"));
    let port = |text: &str| text.trim().parse::<u16>().map_err(|_| wrong());
    let range = match text.split_once('-') {
        Some((first, last)) => port(first)?..=port(last)?,
        None => port(text)?..=port(text)?,
    };
    if range.is_empty() { Err(wrong()) } else { Ok(range) }
}
