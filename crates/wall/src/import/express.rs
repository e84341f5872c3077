//! Fields of packets in pflang. Every test is false where the packet has not the field, and so is its opposite.

use super::names;
use super::prefixes::Range;
use super::test::Test;

/// Which packets rules are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) enum Family {
    #[default]
    Ip,
    Ip6,
    /// Both.
    Inet,
}

impl Family {
    /// A test for each family that the rules are about; `of` makes one, for IPv6 where it is told so.
    pub(super) fn each(self, of: impl Fn(bool) -> Test) -> Test {
        match self {
            Family::Ip => of(false),
            Family::Ip6 => of(true),
            Family::Inet => Test::Any(vec![of(false), of(true)]),
        }
    }
}

/// `ip` or `ip6`.
fn ip(is_v6: bool) -> &'static str {
    if is_v6 { "ip6" } else { "ip" }
}

/// Addresses of one end: `src` or `dst`.
pub(super) fn addresses(end: &str, ranges: &[Range], negated: bool, family: Family) -> Test {
    let of = |is_v6: bool| {
        let ranges: Vec<Range> = ranges.iter().filter(|range| range.is_v6 == is_v6).copied().collect();
        let all = ranges.iter().any(|range| range.is_all());
        let version = Test::text(ip(is_v6));
        let members: Vec<String> = ranges.into_iter().flat_map(Range::prefixes).collect();
        let among = match &members[..] {
            [] => Test::Any(Vec::new()),
            _ if all => return if negated { Test::Any(Vec::new()) } else { version },
            [one] if one.contains('/') => Test::text(format!("{} {end} net {one}", ip(is_v6))),
            [one] => Test::text(format!("{} {end} host {one}", ip(is_v6))),
            many => Test::text(format!("{} {end} host in {{{}}}", ip(is_v6), many.join(", "))),
        };
        if negated { version.and(among.not()) } else { among }
    };
    // Addresses of one family ask for that family.
    let asks = |is_v6: bool| ranges.iter().any(|range| range.is_v6 == is_v6);
    match family {
        Family::Inet if !asks(true) => of(false),
        Family::Inet if !asks(false) => of(true),
        family => family.each(of),
    }
}

/// A protocol over IP.
pub(super) fn protocol(number: u8, negated: bool, family: Family) -> Test {
    family.each(|is_v6| {
        let at = if is_v6 { "ip6[6]" } else { "ip[9]" };
        let test = Test::text(format!("{} proto {number}", ip(is_v6)));
        if negated { Test::text(format!("{at} != {number}")) } else { test }
    })
}

/// Ports of a transport: `tcp`, `udp` or `sctp`, or empty for all of these. `end` is `src`, `dst`, or empty for either.
pub(super) fn ports(transport: &str, end: &str, ports: &[(u16, u16)], negated: bool, family: Family) -> Test {
    let words = |rest: String| {
        let words = [transport, end, rest.as_str()];
        Test::text(words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "))
    };
    let test = match ports {
        [] => Test::Any(Vec::new()),
        [(low, high)] if low == high => words(format!("port {low}")),
        [(low, high)] => words(format!("portrange {low}-{high}")),
        many => {
            let one = |&(low, high): &(u16, u16)| {
                if low == high { low.to_string() } else { format!("{low}-{high}") }
            };
            words(format!("port in {{{}}}", many.iter().map(one).collect::<Vec<_>>().join(", ")))
        }
    };
    if !negated {
        return test;
    }
    transports(transport, family).and(test.not())
}

/// Packets that have a header of this transport, or of any that has ports.
fn transports(transport: &str, family: Family) -> Test {
    let numbers: Vec<u8> = match transport {
        "" => vec![6, 17, 132],
        one => names::protocol(one).into_iter().collect(),
    };
    family.each(|is_v6| {
        let any = Test::Any(
            numbers.iter().map(|number| Test::text(format!("{} proto {number}", ip(is_v6)))).collect(),
        );
        if is_v6 { any } else { any.and(first_fragment()) }
    })
}

/// The packet is not fragmented, or the first fragment.
fn first_fragment() -> Test {
    Test::text("ip[6:2] & 0x1fff = 0")
}

/// Later fragments.
pub(super) fn later_fragment(negated: bool) -> Test {
    Test::text(format!("ip[6:2] & 0x1fff {} 0", if negated { "=" } else { "!=" }))
}

/// Flags of TCP: of those in `mask` exactly those in `value` are set.
pub(super) fn tcp_flags(mask: u8, value: u8, negated: bool, family: Family) -> Test {
    compare_flags(mask, if negated { "!=" } else { "=" }, value, family)
}

/// Flags of TCP, compared.
pub(super) fn compare_flags(mask: u8, operator: &str, value: u8, family: Family) -> Test {
    family.each(|is_v6| {
        if is_v6 {
            Test::text("ip6 proto 6").and(Test::text(format!("ip6[53] & {mask:#x} {operator} {value:#x}")))
        } else {
            Test::text(format!("tcp[13] & {mask:#x} {operator} {value:#x}"))
        }
    })
}

/// A hardware address of one end; nothing where it is none.
pub(super) fn ether(end: &str, address: &str, negated: bool) -> Option<Test> {
    let address: wire::Mac = address.parse().ok()?;
    Some(Test::text(format!("ether {end} host {address}")).not_if(negated))
}

/// A byte of ICMP's or ICMPv6's header: 0 the type, 1 the code.
pub(super) fn icmp(byte: u8, low: u8, high: u8, is_v6: bool, negated: bool) -> Test {
    let header = if is_v6 { "icmp6" } else { "icmp" };
    within(&format!("{header}[{byte}]"), low.into(), high.into(), negated)
}

/// A field as a number, between two.
pub(super) fn within(field: &str, low: u32, high: u32, negated: bool) -> Test {
    match (low == high, negated) {
        (true, false) => Test::text(format!("{field} = {low}")),
        (true, true) => Test::text(format!("{field} != {low}")),
        (false, false) => {
            Test::text(format!("{field} >= {low}")).and(Test::text(format!("{field} <= {high}")))
        }
        (false, true) => {
            Test::Any(vec![Test::text(format!("{field} < {low}")), Test::text(format!("{field} > {high}"))])
        }
    }
}

/// A test that an input has at least one of these bits set.
pub(super) fn input_bits(input: &str, bits: u32, negated: bool) -> Test {
    Test::text(format!("{input} & {bits:#x} {} 0", if negated { "=" } else { "!=" }))
}
