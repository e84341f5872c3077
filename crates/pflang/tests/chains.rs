//! Warnings in the dialect that looks behind IPv6's extension headers: the common ones are given, and none is false.

use pflang::{Code, Compiler, Diagnostic, Dialect, LinkType, Matcher};
use std::collections::HashSet;
use testkit::rng::Rng;

fn compiler() -> Compiler {
    Compiler::new(LinkType::EN10MB).dialect(Dialect::MODERN)
}

fn lints(program: &str) -> Vec<(Code, String)> {
    let lints = compiler().lints_of_match(program).unwrap_or_else(|error| panic!("{program}: {error}"));
    lints.iter().map(|lint| (lint.code, lint.span.text(program).to_owned())).collect()
}

#[test]
fn clauses_behind_others_of_their_protocol_are_told() {
    for (program, unreached) in [
        ("match { tcp => a, tcp dst port 23 => b }", "tcp dst port 23 => b"),
        ("match { tcp dst port 443 => a, tcp dst port 443 => b }", "tcp dst port 443 => b"),
        ("match { tcp => a, udp => c, tcp => b }", "tcp => b"),
        ("match { port 53 => a, udp dst port 53 => b }", "udp dst port 53 => b"),
        ("match { tcp => a, tcp[13] & 2 != 0 => b }", "tcp[13] & 2 != 0 => b"),
        ("match { tcp => { udp => a } }", "udp => a"),
        ("match { tcp => { udp => { sctp => a } } }", "udp"),
        ("match { vlan and tcp => a, vlan and tcp port 80 => b }", "vlan and tcp port 80 => b"),
        (
            "match (state) { state = 3 => a, tcp => b, tcp port 80 and state = 3 => c }",
            "tcp port 80 and state = 3 => c",
        ),
    ] {
        let told: Vec<_> =
            lints(program).into_iter().filter(|(code, _)| *code == Code::NeverDecides).collect();
        assert!(matches!(&told[..], [(_, text)] if text.starts_with(unreached)), "{program}: {told:?}");
    }
    for program in [
        "match { tcp dst port 23 => a, tcp => b }",
        "match { tcp port 80 => a, udp port 80 => b }",
        "match { tcp => a, vlan and tcp => b }",
        "match { ip6 proto 44 => a, udp => b }",
        "match { tcp => { not tcp src port 1 => a } }",
        // Later fragments have no ports.
        "match { tcp portrange 0-65535 => a, tcp => b }",
        // A chain is cut off.
        "match { ip6 => { tcp => a, not tcp => b } }",
    ] {
        let told = lints(program);
        assert!(told.iter().all(|(code, _)| *code != Code::NeverDecides), "{program}: {told:?}");
    }
}

#[test]
fn protocols_that_exclude_each_other_are_told() {
    for (program, part) in [
        ("match { tcp and udp => a }", "udp"),
        ("match { tcp port 80 and udp => a }", "udp"),
        ("match { port 53 and icmp6 => a }", "icmp6"),
        ("match { tcp and (udp or sctp) => a }", "(udp or sctp)"),
    ] {
        let told = lints(program);
        assert!(
            told.iter().any(|(code, text)| (*code, text.as_str()) == (Code::AlwaysFalse, part)),
            "{told:?}"
        );
    }
    let lints = compiler().lints("tcp port 80 and udp").unwrap();
    assert_eq!(lints.iter().map(|lint| lint.code).collect::<Vec<_>>(), [Code::AlwaysFalse]);
    assert_eq!(compiler().lints("tcp and not udp and ip6 proto 44 and ip6 proto 0").unwrap(), []);
}

/// What tests may ask for.
const WORDS: &[&str] = &[
    "tcp",
    "udp",
    "sctp",
    "icmp6",
    "ip6",
    "ip",
    "ip6 proto 44",
    "ip6 proto 0",
    "ip6 proto 51",
    "ip6 proto 6",
    "proto 17",
    "tcp port 80",
    "tcp dst port 80",
    "udp src port 53",
    "port 53",
    "dst portrange 0-65535",
    "tcp[13] & 2 != 0",
    "tcp[0:2] > 60",
    "udp[4:2] > 20",
    "udp[4:2] <= 20",
    "icmp6[0] = 128",
    "tcp[0] = udp[0]",
    "ip6[6] = 44",
    "ip6[6] = 6",
    "ip6 protochain 6",
    "less 70",
    "vlan and tcp",
    "vxlan and tcp",
    "ip proto 6",
    "tcp port in {22, 80}",
];

fn part(rng: &mut Rng) -> String {
    let word = *rng.pick(WORDS);
    if rng.below(5) == 0 { format!("not ({word})") } else { format!("({word})") }
}

fn test(rng: &mut Rng) -> String {
    let [a, b, c] = [(); 3].map(|()| part(rng));
    match rng.below(6) {
        0 | 1 => a,
        2 => format!("{a} and {b}"),
        3 => format!("{a} or {b}"),
        4 => format!("{a} and ({b} or {c})"),
        _ => format!("not ({a} and {b})"),
    }
}

/// A program in which each clause has a handler of its own. What enters a block is taken by one of its clauses.
fn program(rng: &mut Rng) -> String {
    let mut text = "match { ".to_owned();
    for number in 0..3 + rng.below(3) {
        text += &match rng.below(5) {
            0 => format!("{} => {{ {} => h{number}a; otherwise => h{number}b; }} ", test(rng), test(rng)),
            _ => format!("{} => h{number}; ", test(rng)),
        };
    }
    text + "}"
}

/// An IPv6 packet with a chain of headers, in a frame.
fn frame(rng: &mut Rng, chain: &[u8], protocol: u8) -> Vec<u8> {
    let mut frame = vec![0; 12];
    if rng.below(8) == 0 {
        frame.extend([0x81, 0, 0, 7]);
    }
    if rng.below(4) == 0 {
        frame.extend([8, 0, 0x45, 0, 0, 60, 0, 0]);
        frame.extend(*rng.pick(&[[0, 0], [0, 0], [0, 9]]));
        frame.extend([64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    } else {
        let first = chain.first().copied().unwrap_or(protocol);
        frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 60, first, 64]);
        frame.extend([1; 32]);
        for (at, kind) in chain.iter().enumerate() {
            let next = chain.get(at + 1).copied().unwrap_or(protocol);
            match *kind {
                44 => frame.extend([next, 0, 0, *rng.pick(&[0, 0, 1, 8]), 0, 0, 0, 9]),
                51 => frame.extend([next, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2]),
                _ => frame.extend([next, 0, 1, 4, 0, 0, 0, 0]),
            }
        }
    }
    let ports = [*rng.pick(&[53_u16, 80, 4789]), *rng.pick(&[53_u16, 80, 4789])];
    frame.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
    frame.extend([*rng.pick(&[0, 8]), *rng.pick(&[0, 40]), 0, 0, 0, 0, 7, 0, 0x50, *rng.pick(&[0, 2, 18])]);
    frame.extend([0; 12]);
    frame
}

fn packets(rng: &mut Rng) -> Vec<(Vec<u8>, u32)> {
    let mut packets = vec![(Vec::new(), 0)];
    for _ in 0..400 {
        let count = *rng.pick(&[0, 0, 1, 1, 2, 3, 6, 7, 8]);
        let chain: Vec<u8> = (0..count).map(|_| *rng.pick(&[0, 43, 44, 44, 51, 60])).collect();
        let protocol = *rng.pick(&[6, 6, 17, 17, 132, 58, 59, 0, 44]);
        let packet = frame(rng, &chain, protocol);
        let wire_len = packet.len() as u32;
        let cut = rng.below(packet.len() + 1);
        packets.push((packet[..cut].to_vec(), wire_len));
        // At each byte of the chain, at times.
        for _ in 0..4 {
            let cut = 54.min(packet.len()) + rng.below(packet.len().saturating_sub(54) + 1);
            packets.push((packet[..cut].to_vec(), wire_len));
        }
        packets.push((packet, wire_len));
    }
    packets
}

fn handler(matcher: &Matcher, (packet, wire_len): &(Vec<u8>, u32)) -> Option<String> {
    let mut values = Vec::new();
    matcher.call_captured(packet, *wire_len, &[], &mut values).map(|call| call.handler.to_owned())
}

/// Whether a warning says that both sides of a conjunction exclude each other, or parts of them that must hold.
fn excludes_sides(lint: &Diagnostic, filter: &str) -> bool {
    let Some((also, _)) = &lint.also else { return false };
    let (start, end) = (lint.span.start as usize, lint.span.end as usize);
    let is_joined = filter[..start].trim_end_matches('(').ends_with(") and ");
    lint.code == Code::AlwaysFalse && also.start <= 1 && is_joined && end + 2 >= filter.len()
}

/// No packet reaches what is told to be never reached, nor matches a filter of which that is told.
#[test]
fn no_warning_is_false() {
    let mut rng = Rng::new(7);
    let packets = packets(&mut rng);
    let (mut told, mut excluded) = (0, 0);
    for _ in 0..160 {
        let text = program(&mut rng);
        let matcher = compiler().compile_match(&text).unwrap();
        let unreached = compiler().unreached_of_match(&text).unwrap();
        told += unreached.len();
        let called: HashSet<String> = packets.iter().filter_map(|packet| handler(&matcher, packet)).collect();
        for lint in unreached {
            // Of a block, all that is in it.
            let end = match lint.span.text(&text).contains(" => h") {
                true => lint.span.end as usize,
                false => lint.span.start as usize + text[lint.span.start as usize..].find('}').unwrap(),
            };
            let clause = &text[lint.span.start as usize..end];
            let handlers = clause.split(" => ").skip(1).map(|then| then.split(';').next().unwrap().trim());
            for name in handlers.filter(|name| name.starts_with('h')) {
                assert!(!called.contains(name), "{name} is called in {text}");
            }
        }
        let [one, other] = [(); 2].map(|()| test(&mut rng));
        let filter = format!("({one}) and ({other})");
        let compiled = compiler().compile(&filter).unwrap();
        if compiler().lints(&filter).unwrap().iter().any(|lint| excludes_sides(lint, &filter)) {
            let matching = packets.iter().find(|(packet, len)| compiled.matches_captured(packet, *len));
            assert!(matching.is_none(), "{filter} matches {matching:02x?}");
            excluded += 1;
        }
    }
    testkit::say(format_args!("{told} clauses are told, and {excluded} filters"));
    assert!(told > 100 && excluded > 10, "{told}, {excluded}");
}

#[test]
fn programs_of_many_clauses_are_looked_at_in_time() {
    for count in [100, 500, 1500] {
        let mut text = "match { ".to_owned();
        for number in 0..count {
            text += &format!(
                "src net 10.{}.{}.0/24 and tcp dst port {} => h{number}; ",
                number % 200,
                number % 7,
                number % 90
            );
        }
        text += "tcp => all; tcp port 80 => never }";
        let begin = std::time::Instant::now();
        let told = compiler().unreached_of_match(&text).unwrap();
        testkit::say(format_args!("{count}: {:?}", begin.elapsed()));
        assert_eq!(told.len(), usize::from(count < 510), "{count}");
    }
}
