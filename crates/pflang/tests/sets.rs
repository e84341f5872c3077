//! Sets of addresses of both families against a plain list of networks, packets cut at every length included.

use pflang::{Compiler, Dialect};
use std::net::{Ipv4Addr, Ipv6Addr};
use testkit::engines::{self, Engines};
use testkit::packet::Packet;
use testkit::rng::Rng;
use testkit::{linktype, mutate, traffic};
use wire::LinkType;

/// A member of a set, and where it is looked for.
#[derive(Clone, Copy, Debug)]
enum Net {
    V4(u32, u32),
    V6(u128, u32),
}

impl Net {
    /// Addresses of few numbers, so that they begin alike, overlap, and occur twice.
    fn draw(rng: &mut Rng) -> Self {
        if rng.chance(1, 3) {
            let len = *rng.pick(&[0, 1, 8, 15, 24, 31, 32, 32, 32]);
            let mask = u32::MAX.checked_shl(32 - len).unwrap_or(0);
            return Net::V4(address(rng) as u32 & mask, len);
        }
        let len = *rng.pick(&[0, 1, 31, 32, 33, 48, 63, 64, 65, 96, 97, 127, 128, 128, 128, 128, 128]);
        Net::V6(address(rng) & u128::MAX.checked_shl(128 - len).unwrap_or(0), len)
    }

    /// In one of its spellings.
    fn written(self, rng: &mut Rng) -> String {
        match self {
            Net::V4(address, 32) if rng.chance(3, 4) => Ipv4Addr::from(address).to_string(),
            Net::V4(address, len) => format!("{}/{len}", Ipv4Addr::from(address)),
            Net::V6(address, 128) if rng.chance(3, 4) => Ipv6Addr::from(address).to_string(),
            Net::V6(address, len) => format!("{}/{len}", Ipv6Addr::from(address)),
        }
    }

    /// Whether the address at `at` is of this network; `None` where the packet ends before that is known.
    fn holds(self, packet: &[u8], at: usize) -> Option<bool> {
        let (address, len, count) = match self {
            Net::V4(address, len) => (u128::from(address) << 96, len, 1),
            Net::V6(address, len) => (address, len, 4),
        };
        let mask = u128::MAX.checked_shl(128 - len).unwrap_or(0);
        let word_of = |number: u128, word| (number >> (96 - 32 * word)) as u32;
        for word in 0..count {
            let bytes = packet.get(at + 4 * word..at + 4 * word + 4)?;
            let found = u32::from_be_bytes(bytes.try_into().expect("four"));
            if found & word_of(mask, word) != word_of(address, word) {
                return Some(false);
            }
        }
        Some(true)
    }
}

/// An address of words of which there are few.
fn address(rng: &mut Rng) -> u128 {
    (0..4).fold(0, |address, _| address << 32 | u128::from(*rng.pick(&[0, 1, 0x8000_0000, u32::MAX])))
}

/// Where a packet's two addresses of the family start.
fn ends(packet: &[u8], net: Net) -> Option<&'static [usize; 2]> {
    match (u16::from_be_bytes([packet[12], packet[13]]), net) {
        (0x0800, Net::V4(..)) => Some(&[26, 30]),
        (0x0806 | 0x8035, Net::V4(..)) => Some(&[28, 38]),
        (0x86dd, Net::V6(..)) => Some(&[22, 38]),
        _ => None,
    }
}

/// What a set says of an Ethernet frame, IPv4 member by member, IPv6 end by end; `None` rejects it.
fn model(nets: &[Net], dir: &str, packet: &[u8]) -> Option<bool> {
    packet.get(12..14)?;
    let which: &[usize] = match dir {
        "src" => &[0],
        "dst" => &[1],
        _ => &[0, 1],
    };
    let holds = |net: Net, end: usize| match ends(packet, net) {
        Some(starts) => net.holds(packet, starts[end]),
        None => Some(false),
    };
    for &net in nets.iter().filter(|net| matches!(net, Net::V4(..)) || dir == "src and dst") {
        let mut all = true;
        for &end in which {
            match (holds(net, end)?, dir == "src and dst") {
                (true, false) => return Some(true),
                (false, true) => {
                    all = false;
                    break;
                }
                _ => {}
            }
        }
        if all && dir == "src and dst" {
            return Some(true);
        }
    }
    if dir == "src and dst" {
        return Some(false);
    }
    for &end in which {
        for &net in nets.iter().filter(|net| matches!(net, Net::V6(..))) {
            if holds(net, end)? {
                return Some(true);
            }
        }
    }
    Some(false)
}

/// A packet whose addresses are near those of the set, most often.
fn frame(rng: &mut Rng, nets: &[Net]) -> Packet {
    let near = |rng: &mut Rng| match *rng.pick(nets) {
        _ if rng.chance(1, 4) => address(rng),
        Net::V4(address, _) => u128::from(address ^ u32::from(rng.chance(1, 3)) << rng.below(32)),
        Net::V6(address, _) => address ^ u128::from(rng.chance(1, 3)) << rng.below(128),
    };
    let (src, dst) = (near(rng), near(rng));
    let (src4, dst4) = (Ipv4Addr::from(src as u32), Ipv4Addr::from(dst as u32));
    let (src6, dst6) = (Ipv6Addr::from(src), Ipv6Addr::from(dst));
    let line = match rng.below(6) {
        0 => format!("eth / ip4(src={src4},dst={dst4}) / tcp"),
        1 => format!("eth / arp(spa={src4},tpa={dst4})"),
        _ => format!("eth / ip6(src={src6},dst={dst6}) / tcp"),
    };
    Packet::parse(&line).unwrap_or_else(|error| panic!("{line}: {error:?}"))
}

#[test]
fn a_set_is_a_list_of_networks() {
    let mut rng = Rng::new(21);
    for _ in 0..120 {
        let nets: Vec<Net> = (0..1 + rng.below(12)).map(|_| Net::draw(&mut rng)).collect();
        let dir = *rng.pick(&["src", "dst", "src or dst", "src and dst"]);
        let written: Vec<String> = nets.iter().map(|net| net.written(&mut rng)).collect();
        let set = format!("{dir} {} in {{{}}}", rng.pick(&["host", "net"]), written.join(", "));
        let dialect = dialect(&mut rng);
        // What the filter makes of the set's answer.
        type Then = fn(bool) -> bool;
        let (filter, then): (String, Then) = match rng.below(4) {
            0 => (set, |is| is),
            1 => (format!("not {set}"), |is| !is),
            2 => (format!("{set} and not ({set})"), |_| false),
            _ => (format!("not (not {set} and len > 0)"), |is| is),
        };
        let compiler = Compiler::new(LinkType::EN10MB).dialect(dialect);
        let engines =
            Engines::compile(&compiler, &filter).unwrap_or_else(|error| panic!("{filter}: {error}"));
        for _ in 0..4 {
            let packet = frame(&mut rng, &nets);
            for cut in mutate::truncations(&packet, packet.bytes.len()).chain([packet.clone()]) {
                let expected = model(&nets, dir, &cut.bytes).is_some_and(then);
                let wrong = engines.disagreement(&cut, expected);
                assert_eq!(wrong, None, "{filter}: {} of {}", cut.bytes.len(), packet.to_line());
            }
        }
    }
}

/// On every link type a set at one end is refused where its members are, and says what they say, IPv4 first: some link types do not tell which
/// of both a packet carries.
#[test]
fn a_set_is_its_members_on_every_link_type() {
    let mut rng = Rng::new(22);
    let members =
        ["2001:db8::1", "fe80::1", "ff02::1", "::1", "2001:db8::/33", "::/0", "192.0.2.1", "10.0.0.0/8"];
    for linktype in linktype::all() {
        for _ in 0..4 {
            let mut drawn: Vec<&str> = (0..1 + rng.below(4)).map(|_| *rng.pick(&members)).collect();
            let as_drawn = drawn.join(", ");
            drawn.sort_by_key(|member| member.contains(':'));
            let dir = *rng.pick(&["src", "dst"]);
            let before = *rng.pick(&["", "", "not ", "vlan and ", "mpls and ", "pppoes and not "]);
            let list: Vec<String> = drawn.iter().map(|member| format!("{dir} net {member}")).collect();
            let dialect = dialect(&mut rng);
            let compiler = Compiler::new(linktype).dialect(dialect);
            let set = format!("{before}{dir} host in {{{as_drawn}}}");
            let list = format!("{before}({})", list.join(" or "));
            let (set, list) = match (Engines::compile(&compiler, &set), compiler.compile(&list)) {
                (Ok(set_engines), Ok(list)) => ((set, set_engines), list),
                (Err(a), Err(b)) => {
                    assert_eq!(a.code(), b.code(), "{linktype}: {set}: {}", engines::words(&a));
                    continue;
                }
                (a, b) => panic!("{linktype}: {set}: {:?}, but its members: {:?}", a.err(), b.err()),
            };
            for _ in 0..6 {
                let packet = traffic::packet(linktype, &mut rng);
                for cut in mutate::truncations(&packet, 90).chain([packet.clone()]) {
                    let expected = list.matches_captured(&cut.bytes, cut.wire_len);
                    assert_eq!(
                        set.1.disagreement(&cut, expected),
                        None,
                        "{linktype}: {}: {}",
                        set.0,
                        cut.to_line()
                    );
                }
            }
        }
    }
}

/// Whichever may matter to a set.
fn dialect(rng: &mut Rng) -> Dialect {
    let mut dialect = Dialect::default();
    (dialect.ipv6, dialect.scoped) = (rng.chance(1, 3), rng.chance(1, 3));
    dialect
}
