//! Filters that are too large for libpcap: against plain sets, and against the graph as built in the interpreter.

use pflang::internals::ir::{Cond, Node, NodeId};
use pflang::{Backend, Code, Compiler, Limits};
use std::collections::HashSet;
use std::net::{Ipv4Addr, Ipv6Addr};
use testkit::engines::Engines;
use testkit::linktype::ETHERNET;
use testkit::packet::Packet;
use testkit::rng::Rng;
use wire::LinkType;

fn engines(filter: &str) -> Engines {
    Engines::strict(ETHERNET, filter, None).unwrap_or_else(|error| panic!("{error}"))
}

fn packet(src: u32, dst: u32, sport: u16, dport: u16) -> Packet {
    let (src, dst) = (Ipv4Addr::from(src), Ipv4Addr::from(dst));
    let line = format!("eth / ip4(src={src},dst={dst}) / tcp({sport},{dport})");
    Packet::parse(&line).expect("it builds")
}

/// Numbers of which some are neighbours, as they are in real lists.
fn members(count: usize, rng: &mut Rng) -> Vec<u32> {
    let mut members = Vec::with_capacity(count);
    while members.len() < count {
        let first = rng.next_u32();
        members.extend((0..1 + rng.below(3) as u32).map(|i| first.wrapping_add(i)));
    }
    members.truncate(count);
    members
}

/// A member, a neighbour of one, or neither.
fn probe(members: &[u32], rng: &mut Rng) -> u32 {
    match rng.below(3) {
        0 => *rng.pick(members),
        1 => rng.pick(members).wrapping_add(1),
        _ => rng.next_u32(),
    }
}

fn joined<T>(items: &[T], word: impl Fn(&T) -> String) -> String {
    items.iter().map(word).collect::<Vec<_>>().join(" or ")
}

#[test]
fn ten_thousand_hosts() {
    let mut rng = Rng::new(1);
    let members = members(10_000, &mut rng);
    let set: HashSet<u32> = members.iter().copied().collect();
    let engines = engines(&joined(&members, |&m| format!("host {}", Ipv4Addr::from(m))));
    for _ in 0..150 {
        let (src, dst) = (probe(&members, &mut rng), probe(&members, &mut rng));
        let expected = set.contains(&src) || set.contains(&dst);
        let packet = packet(src, dst, 1, 2);
        assert_eq!(engines.disagreement(&packet, expected), None, "{}", packet.to_line());
    }
}

#[test]
fn ten_thousand_hosts_that_share_their_qualifiers() {
    let mut rng = Rng::new(2);
    let members = members(10_000, &mut rng);
    let set: HashSet<u32> = members.iter().copied().collect();
    let engines = engines(&format!("ip src host ({})", joined(&members, |&m| Ipv4Addr::from(m).to_string())));
    for _ in 0..150 {
        let src = probe(&members, &mut rng);
        let packet = packet(src, probe(&members, &mut rng), 1, 2);
        assert_eq!(engines.disagreement(&packet, set.contains(&src)), None, "{}", packet.to_line());
    }
}

/// IPv6 addresses differ in several words, and ways back from each of them must not lead through all members.
#[test]
fn two_thousand_ipv6_hosts() {
    let mut rng = Rng::new(7);
    let address = |rng: &mut Rng| {
        // Some share the first words, some the last.
        let words = [0x2001_0db8, rng.below(400) as u32, rng.next_u32() % 3, rng.below(400) as u32];
        words.iter().fold(0, |address, word| address << 32 | u128::from(*word))
    };
    let mut list: Vec<u128> = (0..2000).map(|_| address(&mut rng)).collect();
    let nets: Vec<u128> = (0..100).map(|_| u128::from(rng.next_u32()) << 96).collect();
    let set: HashSet<u128> = list.iter().copied().collect();
    let member = |address: &u128| Ipv6Addr::from(*address).to_string();
    let members = list.iter().map(member).chain(nets.iter().map(|net| member(net) + "/32"));
    let filter = format!("host in {{{}}}", members.collect::<Vec<_>>().join(", "));
    let engines = Engines::compile(&Compiler::new(LinkType::EN10MB), &filter).unwrap();
    list.extend(&nets);
    let probe = |rng: &mut Rng| match rng.below(3) {
        0 => *rng.pick(&list),
        1 => rng.pick(&list) ^ 1 << rng.below(128),
        _ => address(rng),
    };
    let is_in = |address: u128| set.contains(&address) || nets.iter().any(|net| net >> 96 == address >> 96);
    for _ in 0..500 {
        let (src, dst) = (probe(&mut rng), probe(&mut rng));
        let (src_text, dst_text) = (Ipv6Addr::from(src), Ipv6Addr::from(dst));
        let packet = Packet::parse(&format!("eth / ip6(src={src_text},dst={dst_text})")).expect("it builds");
        let expected = is_in(src) || is_in(dst);
        assert_eq!(engines.disagreement(&packet, expected), None, "{}", packet.to_line());
    }
    assert!(longest_way(&filter) < 40, "{} questions one after the other", longest_way(&filter));
}

/// The limits hold while the set is made, not only when all is done.
#[test]
fn ipv6_sets_stop_at_the_limits() {
    let members: Vec<String> = (0..5000u128).map(|i| Ipv6Addr::from(i << 96 | i).to_string()).collect();
    let text = format!("src host in {{{}}}", members.join(", "));
    let mut limits = Limits::default();
    limits.nodes = 10_000;
    let error = Compiler::new(LinkType::EN10MB).limits(limits).compile(&text).expect_err("it is too large");
    assert_eq!(error.code(), Code::Limit);
    assert!(error.to_string().contains("more than 10000 nodes"), "{error}");
}

/// At one end the order of the members does not tell, not even where packets are cut off within the address.
#[test]
fn ipv6_sets_at_one_end_are_lists() {
    let mut rng = Rng::new(8);
    // Few numbers, so that addresses begin alike.
    let address = |rng: &mut Rng| (0..4).fold(0, |address: u128, _| address << 32 | rng.below(2) as u128);
    for _ in 0..40 {
        let members: Vec<String> = (0..1 + rng.below(6))
            .map(|_| match rng.below(3) {
                0 => format!("{}/64", Ipv6Addr::from(address(&mut rng) >> 64 << 64)),
                _ => Ipv6Addr::from(address(&mut rng)).to_string(),
            })
            .collect();
        for dir in ["src", "dst"] {
            let compile = |filter: &str| Compiler::new(LinkType::EN10MB).compile(filter).unwrap();
            let list = joined(&members, |member| format!("{dir} net {member}"));
            let set = compile(&format!("not {dir} host in {{{}}}", members.join(", ")));
            let list = compile(&format!("not ({list})"));
            for _ in 0..8 {
                let (src, dst) = (Ipv6Addr::from(address(&mut rng)), Ipv6Addr::from(address(&mut rng)));
                let packet = Packet::parse(&format!("eth / ip6(src={src},dst={dst})")).expect("it builds");
                for len in 0..=packet.bytes.len() {
                    let cut = &packet.bytes[..len];
                    assert_eq!(
                        set.matches(cut),
                        list.matches(cut),
                        "{dir} {members:?}: {len} of {src} {dst}"
                    );
                }
            }
        }
    }
}

/// Addresses that are compared in several steps, at one of two places, written out: each step of each leads to the next address.
#[test]
fn two_thousand_long_addresses_written_out() {
    let mut rng = Rng::new(9);
    let addresses: Vec<u64> = (0..2000).map(|_| rng.next_u64() & 0x03ff_0000_0000_00ff).collect();
    let set: HashSet<u64> = addresses.iter().copied().collect();
    let mac = |address: u64| {
        let bytes = address.rotate_left(8).to_be_bytes();
        bytes[..6].iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
    };
    let macs: HashSet<String> = set.iter().map(|&address| mac(address)).collect();
    let v6 = |address: u64| Ipv6Addr::from(u128::from(address) << 64 | 1).to_string();
    let filters = [
        ("host", joined(&addresses, |&address| format!("host {}", v6(address)))),
        ("and", joined(&addresses, |&address| format!("src and dst host {}", v6(address)))),
        ("ether", joined(&addresses, |&address| format!("ether host {}", mac(address)))),
        (
            "ether",
            format!("ether host in {{{}}}", addresses.iter().map(|&a| mac(a)).collect::<Vec<_>>().join(", ")),
        ),
    ];
    for (kind, filter) in filters {
        let engines = Engines::compile(&Compiler::new(LinkType::EN10MB), &filter).unwrap();
        let mut probe =
            || if rng.below(2) == 0 { *rng.pick(&addresses) } else { rng.next_u64() & 0x03ff_0000_0000_00ff };
        for _ in 0..200 {
            let (src, dst) = (probe(), probe());
            let dst = if src % 3 == 0 { src } else { dst };
            let (text, expected) = match kind {
                "host" => (
                    format!("eth / ip6(src={},dst={})", v6(src), v6(dst)),
                    set.contains(&src) || set.contains(&dst),
                ),
                "and" => {
                    (format!("eth / ip6(src={},dst={})", v6(src), v6(dst)), src == dst && set.contains(&src))
                }
                _ => (
                    format!("eth(src={},dst={}) / 'x'", mac(src), mac(dst)),
                    macs.contains(&mac(src)) || macs.contains(&mac(dst)),
                ),
            };
            let packet = Packet::parse(&text).expect("it builds");
            assert_eq!(engines.disagreement(&packet, expected), None, "{kind}: {}", packet.to_line());
        }
        assert!(longest_way(&filter) < 40, "{kind}: {} questions one after the other", longest_way(&filter));
    }
}

/// Packets that are cut within an address are asked the list as it was written, once, not once for each place at which they may end.
#[test]
fn long_lists_for_cut_packets_are_not_copied() {
    let mut rng = Rng::new(12);
    let host = |_: &u32| {
        let words = [0x2001_0db8, 0, 0, 0].map(|word| word | u128::from(rng.next_u32() & 0xffff));
        format!("host {}", Ipv6Addr::from(words.iter().fold(0, |address, word| address << 32 | word)))
    };
    let terms: Vec<String> = (0..3000).collect::<Vec<u32>>().iter().map(host).collect();
    let graph = Compiler::new(LinkType::EN10MB).stages(&terms.join(" or ")).unwrap().optimised;
    let nodes = graph.topological().len();
    // 8 words in the trees, and some in the list; with a copy of that they were 24.
    assert!(nodes < terms.len() * 18, "{nodes} nodes");
}

/// How many questions a packet is asked at most that holds all the bytes asked for.
fn longest_way(filter: &str) -> usize {
    let graph = Compiler::new(LinkType::EN10MB).stages(filter).unwrap().optimised;
    let mut behind = vec![0; graph.node_count()];
    for &id in graph.topological().iter().rev() {
        let mut longest = 0;
        let mut next = |next: NodeId| longest = longest.max(1 + behind[next.index()]);
        match graph.node(id) {
            Node::Branch { cond, then, .. } if matches!(graph.pool.get_cond(*cond), Cond::Bounds { .. }) => {
                next(*then)
            }
            node => node.for_each_successor(next),
        }
        behind[id.index()] = longest;
    }
    behind[graph.root.index()]
}

#[test]
fn two_thousand_nets() {
    let mut rng = Rng::new(3);
    let nets: Vec<(u32, u32)> = (0..2000)
        .map(|_| {
            let len = 8 + rng.below(24) as u32;
            (rng.next_u32() & (u32::MAX << (32 - len)), len)
        })
        .collect();
    let engines = engines(&joined(&nets, |&(net, len)| format!("ip dst net {}/{len}", Ipv4Addr::from(net))));
    let firsts: Vec<u32> = nets.iter().map(|&(net, _)| net).collect();
    for _ in 0..300 {
        let dst = probe(&firsts, &mut rng);
        let expected = nets.iter().any(|&(net, len)| (dst ^ net) >> (32 - len) == 0);
        let packet = packet(9, dst, 1, 2);
        assert_eq!(engines.disagreement(&packet, expected), None, "{}", packet.to_line());
    }
}

#[test]
fn three_hundred_port_ranges() {
    let mut rng = Rng::new(4);
    let ranges: Vec<(u16, u16)> = (0..300)
        .map(|_| {
            let low = rng.next_u32() as u16;
            (low, low.saturating_add(rng.below(4) as u16))
        })
        .collect();
    let engines = engines(&joined(&ranges, |(low, high)| format!("tcp dst portrange {low}-{high}")));
    for _ in 0..300 {
        let dport = rng.next_u32() as u16;
        let expected = ranges.iter().any(|(low, high)| (low..=high).contains(&&dport));
        let packet = packet(1, 2, 3, dport);
        assert_eq!(engines.disagreement(&packet, expected), None, "{}", packet.to_line());
    }
}

/// More than the optimiser's budget allows to settle term by term.
#[test]
fn two_thousand_pairs_of_hosts() {
    let mut rng = Rng::new(6);
    let (sources, destinations) = (members(300, &mut rng), members(300, &mut rng));
    let pairs: HashSet<(u32, u32)> =
        (0..2000).map(|_| (*rng.pick(&sources), *rng.pick(&destinations))).collect();
    let list: Vec<(u32, u32)> = pairs.iter().copied().collect();
    let [src, dst] = ["src", "dst"].map(|word| move |a: u32| format!("{word} host {}", Ipv4Addr::from(a)));
    let engines = engines(&joined(&list, |&(a, b)| format!("({} and {})", src(a), dst(b))));
    for i in 0..500 {
        let (src, dst) = match i % 2 {
            0 => *rng.pick(&list),
            _ => (probe(&sources, &mut rng), probe(&destinations, &mut rng)),
        };
        let packet = packet(src, dst, 1, 2);
        assert_eq!(engines.disagreement(&packet, pairs.contains(&(src, dst))), None, "{}", packet.to_line());
    }
}

/// Each term asks for either end of the packet, and for something else.
#[test]
fn a_thousand_terms_of_two_ends() {
    let mut rng = Rng::new(11);
    let (hosts, ports) = (members(400, &mut rng), members(100, &mut rng));
    let pairs: Vec<(u32, u32, u16)> =
        (0..1000).map(|_| (*rng.pick(&hosts), *rng.pick(&hosts), *rng.pick(&ports) as u16)).collect();
    let v4 = |a: u32| Ipv4Addr::from(a);
    let v6 = |a: u32| Ipv6Addr::from(0x2001_0db8 << 96 | u128::from(a) << 64 | 1);
    let filters = [
        ("port", joined(&pairs, |&(a, _, p)| format!("(host {} and port {p})", v4(a)))),
        ("port", joined(&pairs, |&(a, _, p)| format!("(tcp port {p} and host {})", v4(a)))),
        ("host", joined(&pairs, |&(a, b, _)| format!("(host {} and host {})", v4(a), v4(b)))),
        ("ip6", joined(&pairs, |&(a, _, p)| format!("(ip6 host {} and port {p})", v6(a)))),
    ];
    for (kind, filter) in filters {
        let engines = engines(&filter);
        for i in 0..300 {
            let (a, b, p) = *rng.pick(&pairs);
            let other = probe(&hosts, &mut rng);
            let (src, dst) = [(a, b), (b, a), (a, other), (other, a)][i % 4];
            let (sport, dport) = [(p, 9), (9, p), (p, p), (9, 9)][i / 4 % 4];
            let either = |end: u32| src == end || dst == end;
            let holds = |&(a, b, p): &(u32, u32, u16)| match kind {
                "host" => either(a) && either(b),
                _ => either(a) && (sport == p || dport == p),
            };
            let addresses = match kind {
                "ip6" => format!("ip6(src={},dst={})", v6(src), v6(dst)),
                _ => format!("ip4(src={},dst={})", v4(src), v4(dst)),
            };
            let packet =
                Packet::parse(&format!("eth / {addresses} / tcp({sport},{dport})")).expect("it builds");
            let expected = pairs.iter().any(holds);
            assert_eq!(engines.disagreement(&packet, expected), None, "{kind}: {}", packet.to_line());
        }
        assert!(longest_way(&filter) < 50, "{kind}: {} questions one after the other", longest_way(&filter));
    }
}

/// Lists with exceptions: a list of hosts, without some nets, on some ports.
#[test]
fn lists_with_exceptions() {
    let mut rng = Rng::new(5);
    let (hosts, ports) = (members(500, &mut rng), members(100, &mut rng));
    let filter = format!(
        "({}) and not src net 128.0.0.0/1 and tcp dst port ({})",
        joined(&hosts, |&h| format!("src host {}", Ipv4Addr::from(h))),
        joined(&ports, |&p| (p as u16).to_string()),
    );
    let (host_set, port_set): (HashSet<_>, HashSet<_>) =
        (hosts.iter().collect(), ports.iter().map(|&p| p as u16).collect());
    let engines = engines(&filter);
    for _ in 0..500 {
        let (src, dport) = (probe(&hosts, &mut rng), probe(&ports, &mut rng) as u16);
        let expected = host_set.contains(&src) && src >> 31 == 0 && port_set.contains(&dport);
        let packet = packet(src, 2, 3, dport);
        assert_eq!(engines.disagreement(&packet, expected), None, "{}", packet.to_line());
    }
}

/// Nothing recurses on the depth or the length of the text.
#[test]
fn a_hundred_thousand_of_everything() {
    const N: usize = 100_000;
    let tcp = packet(1, 2, 3, 4);
    let check = |filter: String, expected: bool| {
        assert_eq!(engines(&filter).disagreement(&tcp, expected), None, "{} bytes", filter.len());
    };
    check(format!("{}tcp{}", "(".repeat(N), ")".repeat(N)), true);
    check(format!("{}tcp", "not ".repeat(N)), true);
    check(format!("{}udp", "! ".repeat(N + 1)), true);
    check(format!("tcp{}", " and len > 1".repeat(N)), true);
    check(format!("udp{}", " or len = 1".repeat(N)), false);
    check(format!("ip[8]{} = 64", " + 1 - 1".repeat(N / 2)), true);
    check(format!("{}ip[0]{} = 64", "ip[".repeat(N), "]".repeat(N)), false);
}

/// Each load has a guard of its own, whose fact is of no use to the others: dragging all of them along made the
/// verifier quadratic, 25 seconds for these.
#[test]
fn ten_thousand_loads_with_guards_of_their_own() {
    let terms: Vec<u32> = (0..10_000).collect();
    let engines = engines(&joined(&terms, |i| format!("ether[ip[{i}] + {i}] = {}", i % 256)));
    // 0 at byte 14 + 0 would match: ip[0] is 0x45, and byte 69 is not there, which rejects.
    let packet = packet(1, 2, 1, 2);
    assert_eq!(engines.disagreement(&packet, false), None, "{}", packet.to_line());
}

/// One chain unrolls to thousands of nodes: the limits must hold while they are made, not when all is done.
#[test]
fn a_thousand_protocol_chains_stop_at_the_limits() {
    let numbers: Vec<u32> = (0..1000).map(|i| i % 250).collect();
    let text = joined(&numbers, |n| format!("ip6 protochain {n}"));
    let compile = |change: &dyn Fn(&mut Limits)| {
        let mut limits = Limits::default();
        change(&mut limits);
        Compiler::new(LinkType::EN10MB).limits(limits).compile(&text).expect_err("it is too large")
    };
    let nodes = compile(&|limits| limits.nodes = 100_000);
    assert_eq!(nodes.code(), Code::Limit);
    assert!(nodes.to_string().contains("more than 100000 nodes"), "{nodes}");
    assert!(nodes.span().text(&text).starts_with("ip6 protochain"), "one primitive is to blame: {nodes}");
    let time = compile(&|limits| limits.time_ms = 0);
    assert_eq!(time.code(), Code::Limit);
    assert!(time.span().text(&text).len() < 30, "stopped on the way: {time}");
}

/// Thousands of clauses, blocks and inputs, hostile ones too: nothing is done for each of them that looks at all of them.
#[test]
fn large_programs_take_time_that_grows_with_their_length() {
    let begin = std::time::Instant::now();
    let compiler = Compiler::new(ETHERNET).backend(Backend::Interpreter);
    let numbers = 0..20_000_u32;
    let clause = |i: u32| format!("ip src {} => h{i}({i}, 0x{i:x})", Ipv4Addr::from(0x0a00_0000 + i));
    let clauses = format!("match {{ {} }}", numbers.clone().map(clause).collect::<Vec<_>>().join(" "));
    assert_eq!(compiler.explain_match(&clauses).unwrap().lines.len(), 20_001);
    assert_eq!(compiler.trace_match(&clauses, &[0; 60], 60, &[]).unwrap().clauses.len(), 20_000);
    assert_eq!(compiler.parts_of_match(&clauses).unwrap().with_arguments.len(), 20_000);

    let blocks = format!("match {{ {} tcp => a {} }}", "ip => { ".repeat(20_000), "}".repeat(20_000));
    assert!(compiler.lints_of_match(&blocks).unwrap().is_empty());

    let names = numbers.map(|i| format!("i{i}")).collect::<Vec<_>>().join(", ");
    let inputs = format!("match ({names}) {{ otherwise => a({names}) }}");
    assert_eq!(compiler.parts_of_match(&inputs).unwrap().inputs.len(), 20_000);
    assert!(compiler.match_to_lua(&inputs).is_err());
    assert!(begin.elapsed() < std::time::Duration::from_secs(60), "{:?}", begin.elapsed());
}
