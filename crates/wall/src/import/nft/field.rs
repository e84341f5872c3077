//! What the left side of a match names, and its comparison with values.

use crate::import::chains::Ruleset;
use crate::import::express::{self, Family};
use crate::import::names;
use crate::import::prefixes::Range;
use crate::import::test::Test;

/// A field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// `src` or `dst`, and the family that the rule names.
    Address(&'static str, Family),
    /// The transport, and the end.
    Port(&'static str, &'static str),
    /// The protocol over IP, of packets of a family.
    Protocol(Family),
    /// IPv4 or IPv6.
    Version,
    TcpFlags,
    /// A byte of the header: 0 the type, 1 the code; whether it is ICMPv6.
    Icmp(u8, bool),
    CtState,
    /// `iif` or `oif`.
    Interface(&'static str),
    Mark,
    /// A number in the packet, as pflang names it.
    Number(&'static str),
    /// `src` or `dst` of Ethernet.
    Ether(&'static str),
}

impl Field {
    /// The field that words name, and how many words that are.
    pub(super) fn of(words: &[&str]) -> Option<(Field, usize)> {
        use Field::*;
        let two = match words {
            ["ip", "saddr", ..] => Address("src", Family::Ip),
            ["ip", "daddr", ..] => Address("dst", Family::Ip),
            ["ip6", "saddr", ..] => Address("src", Family::Ip6),
            ["ip6", "daddr", ..] => Address("dst", Family::Ip6),
            ["tcp", "sport", ..] => Port("tcp", "src"),
            ["tcp", "dport", ..] => Port("tcp", "dst"),
            ["udp", "sport", ..] => Port("udp", "src"),
            ["udp", "dport", ..] => Port("udp", "dst"),
            ["sctp", "sport", ..] => Port("sctp", "src"),
            ["sctp", "dport", ..] => Port("sctp", "dst"),
            ["th", "sport", ..] => Port("", "src"),
            ["th", "dport", ..] => Port("", "dst"),
            ["ip", "protocol", ..] => Protocol(Family::Ip),
            ["ip6", "nexthdr", ..] => Protocol(Family::Ip6),
            ["meta", "l4proto", ..] => Protocol(Family::Inet),
            ["meta", "nfproto", ..] => Version,
            ["tcp", "flags", ..] => TcpFlags,
            ["icmp", "type", ..] => Icmp(0, false),
            ["icmp", "code", ..] => Icmp(1, false),
            ["icmpv6", "type", ..] => Icmp(0, true),
            ["icmpv6", "code", ..] => Icmp(1, true),
            ["ct", "state", ..] => CtState,
            ["meta", "mark", ..] => Mark,
            ["meta", "iif" | "iifname", ..] => Interface("iif"),
            ["meta", "oif" | "oifname", ..] => Interface("oif"),
            ["ip", "ttl", ..] => Number("ip[8]"),
            ["ip", "length", ..] => Number("ip[2:2]"),
            ["ip", "id", ..] => Number("ip[4:2]"),
            ["ip", "frag-off", ..] => Number("ip[6:2]"),
            ["ip6", "hoplimit", ..] => Number("ip6[7]"),
            ["ether", "saddr", ..] => Ether("src"),
            ["ether", "daddr", ..] => Ether("dst"),
            ["iif" | "iifname", ..] => return Some((Interface("iif"), 1)),
            ["oif" | "oifname", ..] => return Some((Interface("oif"), 1)),
            ["mark", ..] => return Some((Mark, 1)),
            _ => return None,
        };
        Some((two, 2))
    }

    /// A test that the field is one of these values.
    pub(super) fn is_one_of(
        self,
        values: &[String],
        negated: bool,
        rules: &mut Ruleset,
        family: Family,
    ) -> Result<Test, String> {
        let wrong = |value: &str| format!("`{value}` cannot be expressed here");
        let all = |tests: Vec<Test>| if negated { Test::All(tests) } else { Test::Any(tests) };
        Ok(match self {
            Field::Address(end, of) => {
                let parse = |value: &String| {
                    Range::parse(value)
                        .filter(|range| range.is_v6 == (of == Family::Ip6))
                        .ok_or_else(|| wrong(value))
                };
                let ranges: Vec<Range> = values.iter().map(parse).collect::<Result<_, _>>()?;
                express::addresses(end, &ranges, negated, of)
            }
            Field::Port(transport, end) => {
                let parse = |value: &String| {
                    let (low, high) = value.split_once('-').unwrap_or((value, value));
                    low.parse()
                        .ok()
                        .zip(high.parse().ok())
                        .ok_or_else(|| format!("`{value}`: write ports as numbers"))
                };
                let ports: Vec<(u16, u16)> = values.iter().map(parse).collect::<Result<_, _>>()?;
                express::ports(transport, end, &ports, negated, family)
            }
            Field::Protocol(of) => {
                let family = if of == Family::Inet { family } else { of };
                let number = |value: &String| names::protocol(value).ok_or_else(|| wrong(value));
                let tests = values.iter().map(|value| Ok(express::protocol(number(value)?, negated, family)));
                all(tests.collect::<Result<_, String>>()?)
            }
            Field::Version => {
                let version = |value: &String| match value.as_str() {
                    "ipv4" => Ok(Test::text("ip").not_if(negated)),
                    "ipv6" => Ok(Test::text("ip6").not_if(negated)),
                    other => Err(wrong(other)),
                };
                all(values.iter().map(version).collect::<Result<_, _>>()?)
            }
            Field::CtState => {
                let names = values.iter().map(String::as_str);
                let bits = names::ct_states(names).ok_or_else(|| wrong(&values.join(",")))?;
                express::input_bits("ct_state", bits, negated)
            }
            // Flags without a mask, in a set: exactly these.
            Field::TcpFlags => {
                let flags = |value: &String| {
                    names::tcp_flags(value.split('|').map(str::trim)).ok_or_else(|| wrong(value))
                };
                let tests =
                    values.iter().map(|value| Ok(express::tcp_flags(0xff, flags(value)?, negated, family)));
                all(tests.collect::<Result<_, String>>()?)
            }
            Field::Icmp(byte, is_v6) => {
                let number = |value: &str| match byte {
                    0 => names::icmp_type(value, is_v6),
                    _ => value.parse().ok(),
                };
                let test = |value: &String| {
                    let (low, high) = value
                        .split_once('-')
                        .and_then(|(low, high)| Some((low.parse().ok()?, high.parse().ok()?)))
                        .or_else(|| number(value).map(|one| (one, one)))
                        .ok_or_else(|| wrong(value))?;
                    Ok(express::icmp(byte, low, high, is_v6, negated))
                };
                all(values.iter().map(test).collect::<Result<_, String>>()?)
            }
            Field::Interface(input) => {
                let mut tests = Vec::new();
                for value in values {
                    let name = value.trim_start_matches('"');
                    let test = rules.interface(input, name, negated);
                    tests.push(test.ok_or("more than 32 interfaces")?);
                }
                all(tests)
            }
            Field::Mark => self.numbers("mark", values, negated)?,
            Field::Number(field) => self.numbers(field, values, negated)?,
            Field::Ether(end) => {
                let test = |value: &String| express::ether(end, value, negated).ok_or_else(|| wrong(value));
                all(values.iter().map(test).collect::<Result<_, String>>()?)
            }
        })
    }

    fn numbers(self, field: &str, values: &[String], negated: bool) -> Result<Test, String> {
        let test = |value: &String| {
            let (low, high) = value.split_once('-').unwrap_or((value, value));
            let range = names::number(low).zip(names::number(high)).filter(|(low, high)| low <= high);
            let (low, high) = range.ok_or_else(|| format!("`{value}`: no number"))?;
            Ok(express::within(field, low, high, negated))
        };
        let tests: Vec<Test> = values.iter().map(test).collect::<Result<_, String>>()?;
        Ok(if negated { Test::All(tests) } else { Test::Any(tests) })
    }
}
