//! Long lists, whose clauses are looked up, against the same lists asked test by test: the meaning is the same, for packets cut at every length, on every engine.

use pflang::{Backend, Calls, Compiler, Dialect, FilterList, LinkType, Matcher, Packet};
use std::fmt::Write;
use testkit::corpus;
use testkit::rng::Rng;

/// Inputs of the programs here.
const INPUTS: [&str; 3] = ["app", "name", "bits"];

/// Packets with fields `A` to `P` that are filled in: addresses, ports.
const LINES: [&str; 14] = [
    "eth / ip4(src=A, dst=A) / tcp(sport=P, dport=P)",
    "eth / ip4(src=A, dst=A) / udp(sport=P, dport=P) / pad(6)",
    "eth / ip4(src=A, dst=A, options=01010101) / udp(sport=P, dport=P)",
    "eth / ip4(src=A, dst=A, frag=3) / udp(sport=P, dport=P)",
    "eth / ip4(src=A, dst=A, proto=132) / hex(0009000a) / pad(8)",
    "eth / ip4(src=A, dst=A, proto=1) / pad(8)",
    "eth / ip4(src=A, dst=A, ihl=0) / tcp(sport=P, dport=P)",
    "eth / arp(spa=A, tpa=A)",
    "eth(type=0x8035) / arp(spa=A, tpa=A)",
    "eth / ip6(src=S, dst=S) / tcp(sport=P, dport=P)",
    "eth / ip6(src=S, dst=S) / udp(sport=P, dport=P)",
    "eth / ip6(src=S, dst=S, next=0) / hex(1100000000000000) / udp(sport=P, dport=P)",
    "eth / ip6(src=S, dst=S, next=44) / hex(0600000000000007) / tcp(sport=P, dport=P)",
    "eth / vlan(5) / ip4(src=A, dst=A) / tcp(sport=P, dport=P)",
];

/// What handlers are called with that is read from packets; of each there are packets that do not have it.
const ARGUMENTS: [&str; 8] = [
    "(ip[8])",
    "(7, tcp[13], len)",
    "(udp[4:2] + len, 3, 4)",
    "(ip[2:2] / (ip[8] & 1))",
    "(ether[50])",
    "(ip6[7], 1)",
    "(&ip[16], ip[12:4])",
    "(1 + 2)",
];

fn address(rng: &mut Rng) -> String {
    format!("10.0.{}.{}", rng.below(2), rng.below(24))
}

fn address6(rng: &mut Rng) -> String {
    format!("2001:db8::{:x}:{:x}", rng.below(3), rng.below(16))
}

fn packets(rng: &mut Rng, count: usize) -> Vec<Vec<u8>> {
    let mut filled = |line: &str| {
        let mut text = String::new();
        for part in line.split_inclusive(['A', 'P', 'S']) {
            let (head, last) = part.split_at(part.len() - 1);
            text.push_str(head);
            match last {
                "A" => text.push_str(&address(rng)),
                "S" => text.push_str(&address6(rng)),
                "P" => write!(text, "{}", rng.below(40)).unwrap(),
                other => text.push_str(other),
            }
        }
        testkit::packet::Packet::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}")).bytes
    };
    (0..count).map(|at| filled(LINES[at % LINES.len()])).collect()
}

/// A part of a test.
fn primitive(rng: &mut Rng, has_inputs: bool) -> String {
    let dir = *rng.pick(&["src ", "dst ", "", "src and dst "]);
    match rng.below(if has_inputs { 20 } else { 16 }) {
        0 | 1 => format!("{dir}host {}", address(rng)),
        2 => format!("{dir}net 10.0.{}.{}/30", rng.below(2), 4 * rng.below(6)),
        3 => format!("ip {dir}host {}", address(rng)),
        4 => format!("{dir}host {}", address6(rng)),
        5 => format!("{dir}net 2001:db8::{:x}:0/112", rng.below(3)),
        6 => format!("{dir}port {}", rng.below(40)),
        7 => format!("{}{dir}port {}", rng.pick(&["tcp ", "udp ", "sctp "]), rng.below(40)),
        8 => {
            let low = rng.below(40);
            format!("{}{dir}portrange {low}-{}", rng.pick(&["", "tcp ", "udp "]), low + rng.below(9))
        }
        9 => (*rng.pick(&["tcp", "udp", "ip", "ip6", "arp", "icmp", "sctp", "rarp"])).to_owned(),
        10 => format!("{dir}port in {{{}, {}-{}}}", rng.below(9), 10 + rng.below(9), 20 + rng.below(9)),
        11 => {
            let dir = rng.pick(&["src ", "dst ", ""]);
            format!(
                "{dir}host in {{{}, {}, 10.0.0.8-10.0.0.{}}}",
                address(rng),
                address6(rng),
                9 + rng.below(9)
            )
        }
        12 => (*rng.pick(&[
            "ip[8] > 63",
            "tcp[13] & 2 != 0",
            "len > 70",
            "ip[2:2] < 41",
            "ether[40] = 0",
            "not ip[60] = 0",
        ]))
        .to_owned(),
        13 => format!("arp {dir}host {}", address(rng)),
        14 => format!("ip6 and {dir}host {}", address6(rng)),
        15 => format!("tcp and {dir}port {}", rng.below(40)),
        16 => format!("app = {}", rng.below(40)),
        17 => {
            let low = rng.below(60);
            format!("(name >= {low} and name <= {})", low + rng.below(5))
        }
        18 => format!("bits & {} != 0", 1 << rng.below(4)),
        _ => format!("{} {} {}", rng.pick(&["app", "name"]), rng.pick(&["!=", "<", ">="]), rng.below(40)),
    }
}

fn test(rng: &mut Rng, has_inputs: bool) -> String {
    let mut part = || {
        let part = primitive(rng, has_inputs);
        if rng.below(12) == 0 { format!("not ({part})") } else { part }
    };
    let [a, b, c] = [part(), part(), part()];
    match rng.below(12) {
        0..6 => a,
        6 | 7 => format!("({a}) and ({b})"),
        8 => format!("({a}) or ({b})"),
        9 => format!("({a}) and (({b}) or ({c}))"),
        10 => format!("({a}) and not (({b}) or ({c}))"),
        _ => format!("not ({a}) and ({b}) and ({c})"),
    }
}

fn clauses(rng: &mut Rng, count: usize, depth: u32, has_inputs: bool, text: &mut String) {
    for at in 0..count {
        let test = match rng.below(200) {
            0 => "vlan and ip".to_owned(),
            1 if at > count / 2 => "otherwise".to_owned(),
            _ => test(rng, has_inputs),
        };
        if depth > 0 && rng.below(30) == 0 {
            let _ = write!(text, "{test} => {{ ");
            let inside = 2 + rng.below(40);
            clauses(rng, inside, depth - 1, has_inputs, text);
            text.push_str("} ");
            continue;
        }
        let arguments = match rng.below(10) {
            0 => "(len, 3)",
            1 | 2 => *rng.pick(&ARGUMENTS),
            3 if has_inputs => {
                *rng.pick(&["(name)", "(name, ip[8])", "(ip[name & 31])", "(app / (name & 1), 5)"])
            }
            _ => "",
        };
        let _ = write!(text, "{test} => h{}{arguments}; ", rng.below(300));
    }
}

fn program(rng: &mut Rng, has_inputs: bool) -> String {
    let mut text = "match { ".to_owned();
    clauses(rng, 330, 2, has_inputs, &mut text);
    text.push('}');
    text
}

fn call(matcher: &Matcher, packet: &[u8], wire_len: u32, row: &[u32]) -> String {
    let mut values = Vec::new();
    matcher.call_captured(packet, wire_len, row, &mut values).map_or("-".into(), |call| call.to_string())
}

/// Compares programs on packets, cut at all places, called one by one and in bursts.
fn compare(rng: &mut Rng, matchers: &[&Matcher], expected: &Matcher, packets: &[Vec<u8>], text: &str) -> u32 {
    let mut called = 0;
    let width = expected.inputs().len();
    let mut cut: Vec<(&[u8], u32, Vec<u32>)> = Vec::new();
    for packet in packets {
        for end in [packet.len(), rng.below(packet.len() + 1), 14 + rng.below(50)] {
            let row = (0..width).map(|_| rng.below(64) as u32).collect();
            cut.push((&packet[..end.min(packet.len())], packet.len() as u32, row));
        }
    }
    let views: Vec<Packet<'_>> = cut.iter().map(|(data, wire_len, _)| Packet::new(data, *wire_len)).collect();
    let rows: Vec<u32> = cut.iter().flat_map(|(.., row)| row).copied().collect();
    let answers: Vec<String> =
        cut.iter().map(|(data, wire_len, row)| call(expected, data, *wire_len, row)).collect();
    for (number, matcher) in matchers.iter().enumerate() {
        let mut calls = Calls::default();
        matcher.call_burst(&views, &rows, &mut calls);
        let calls = matcher.calls(&calls).map(|call| call.map_or("-".into(), |call| call.to_string()));
        for (((data, wire_len, row), answer), in_burst) in cut.iter().zip(&answers).zip(calls) {
            let what = || {
                let names: Vec<&str> = text.split("; ").collect();
                format!("engine {number}, {row:?}, {data:02x?} of {wire_len}\n{}", names.join(";\n"))
            };
            assert_eq!(call(matcher, data, *wire_len, row), *answer, "{}", what());
            assert_eq!(in_burst, *answer, "in a burst: {}", what());
            called += u32::from(answer != "-");
        }
    }
    called
}

fn compiler(seed: u64) -> Compiler {
    let dialect = [Dialect::default(), Dialect::MODERN][seed as usize % 2];
    Compiler::new(LinkType::EN10MB).dialect(dialect)
}

#[test]
fn programs_mean_what_their_tests_mean() {
    let mut rng = Rng::new(11);
    let (mut called, mut looked_up) = (0, 0);
    for seed in 0..24 {
        let has_inputs = seed % 3 == 0;
        let text = program(&mut rng, has_inputs);
        let compiler = match has_inputs {
            true => compiler(seed).inputs(INPUTS),
            false => compiler(seed),
        };
        let native = compiler.compile_match(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        let interpreted = compiler.clone().backend(Backend::Interpreter).compile_match(&text).unwrap();
        let plain = compiler.clone().look_up_from(usize::MAX).compile_match(&text).unwrap();
        assert!(plain.looked_up().is_none());
        assert_eq!(native.handlers().collect::<Vec<_>>(), plain.handlers().collect::<Vec<_>>());
        looked_up += native.looked_up().map_or(0, |looked_up| looked_up.clauses);
        let packets = packets(&mut rng, 84);
        called += compare(&mut rng, &[&native, &interpreted], &plain, &packets, &text);
    }
    testkit::say(format_args!("{called} calls, {looked_up} clauses looked up"));
    assert!(called > 1000 && looked_up > 1000, "{called}, {looked_up}");
}

/// A clause whose arguments a packet does not have does not match: the next one is asked, in the same table or another.
#[test]
fn clauses_with_arguments_of_packets_are_looked_up() {
    let mut rng = Rng::new(15);
    for seed in 0..4 {
        let mut text = "match { ".to_owned();
        for number in 0..400 {
            let test = match number % 4 {
                0 => format!("host {}", address(&mut rng)),
                1 => format!(
                    "src net 10.0.{}.{}/30 and dst port {}",
                    rng.below(2),
                    4 * rng.below(6),
                    rng.below(40)
                ),
                2 => format!("udp port {} or tcp src port {}", rng.below(40), rng.below(40)),
                _ => format!("dst host {}", address6(&mut rng)),
            };
            let _ = write!(text, "{test} => h{number}{}; ", rng.pick(&ARGUMENTS));
        }
        text.push('}');
        let compiler = compiler(seed);
        let native = compiler.compile_match(&text).unwrap();
        let looked_up = native.looked_up().unwrap();
        assert_eq!((looked_up.clauses, looked_up.outside), (400, 0), "{looked_up}");
        let interpreted = compiler.clone().backend(Backend::Interpreter).compile_match(&text).unwrap();
        let plain = compiler.clone().look_up_from(usize::MAX).compile_match(&text).unwrap();
        let packets = packets(&mut rng, 140);
        let called = compare(&mut rng, &[&native, &interpreted], &plain, &packets, &text);
        assert!(called > 100, "{called}");
    }
}

/// Ten thousand clauses that ask for either address, whose arguments are read from the packet, against a map of the first clause of each address.
#[test]
fn ten_thousand_clauses_with_arguments_of_packets() {
    let mut rng = Rng::new(16);
    let hosts: Vec<u32> = (0..10_000).map(|_| 0x0a00_0000 | rng.below(1 << 15) as u32).collect();
    let mut text = "match { ".to_owned();
    for (number, host) in hosts.iter().enumerate() {
        let _ = write!(text, "host {} => h({number}, ip[8], tcp[13]); ", std::net::Ipv4Addr::from(*host));
    }
    text.push_str("otherwise => rest(ip[8]) }");
    let matcher = Compiler::new(LinkType::EN10MB).compile_match(&text).unwrap();
    assert_eq!(matcher.looked_up().unwrap().clauses, 10_000);
    let (mut values, mut found) = (Vec::new(), 0);
    for at in 0..4000 {
        let [src, dst] = [(); 2].map(|()| 0x0a00_0000 | rng.below(1 << 15) as u32);
        let transport = if at % 3 == 0 { "udp" } else { "tcp" };
        let [from, to] = [src, dst].map(std::net::Ipv4Addr::from);
        let line =
            format!("eth / ip4(src={from}, dst={to}, ttl={}) / {transport}(sport=1, dport=2)", at % 200);
        let packet = testkit::packet::Packet::parse(&line).unwrap().bytes;
        let first = hosts.iter().position(|host| [src, dst].contains(host)).filter(|_| transport == "tcp");
        let expected = match first {
            Some(number) => format!("h({number},{},{})", at % 200, packet[47]),
            None => format!("rest({})", at % 200),
        };
        let call = matcher.call(&packet, &mut values).map(|call| call.to_string());
        assert_eq!(call, Some(expected), "{line}");
        found += usize::from(first.is_some());
    }
    assert!(found > 500, "{found}");
}

#[test]
fn programs_without_some_inputs_mean_the_same() {
    let mut rng = Rng::new(12);
    let mut called = 0;
    for seed in 0..10 {
        let text = program(&mut rng, true);
        let compiler = compiler(seed).inputs(INPUTS);
        let unknown: &[&str] = [&["app"][..], &["name", "bits"], &["app", "name", "bits"]][seed as usize % 3];
        // Tests that may hold for all packets end the list for all, so there are none of what is not known in the first part of it.
        let text = match seed % 2 {
            0 => text,
            _ => {
                let mut first = "match { ".to_owned();
                clauses(&mut rng, 300, 1, false, &mut first);
                first + &text["match { ".len()..]
            }
        };
        let native = compiler.compile_match_without(&text, unknown, "open").unwrap();
        let plain = compiler.clone().look_up_from(usize::MAX);
        let plain = plain.compile_match_without(&text, unknown, "open").unwrap();
        let packets = packets(&mut rng, 84);
        called += compare(&mut rng, &[&native], &plain, &packets, &text);
    }
    testkit::say(format_args!("{called} calls"));
    assert!(called > 1000, "{called}");
}

#[test]
fn lists_mean_what_their_filters_mean() {
    let mut rng = Rng::new(13);
    let mut found = 0;
    for seed in 0..12 {
        let list: Vec<(String, u32)> = (1..=330).map(|answer| (test(&mut rng, false), answer % 90)).collect();
        let compiler = compiler(seed).look_up_from(100);
        let native = compiler.compile_list(&list).unwrap();
        let interpreted = compiler.clone().backend(Backend::Interpreter).compile_list(&list).unwrap();
        let plain = compiler.clone().look_up_from(usize::MAX).compile_list(&list).unwrap();
        assert!(native.looked_up().is_some() && plain.looked_up().is_none());
        assert_eq!((native.text(), native.entries().len()), (plain.text(), plain.entries().len()));
        for packet in packets(&mut rng, 84) {
            for end in 0..=packet.len() {
                let (data, wire_len) = (&packet[..end], packet.len() as u32);
                let expected = plain.decide_captured(data, wire_len);
                let what = || format!("{data:02x?}\n{list:?}");
                assert_eq!(native.decide_captured(data, wire_len), expected, "{}", what());
                if end % 8 == 0 {
                    assert_eq!(interpreted.decide_captured(data, wire_len), expected, "{}", what());
                    let mut answers = [7; 70];
                    native.decide_burst(&[Packet::new(data, wire_len); 70], &mut answers);
                    assert_eq!(answers, [expected.unwrap_or(FilterList::NONE); 70], "{}", what());
                }
                found += u32::from(expected.is_some());
            }
        }
    }
    testkit::say(format_args!("{found} answers"));
    assert!(found > 1000, "{found}");
}

#[test]
fn captures_are_decided_alike() {
    let mut rng = Rng::new(14);
    let (mut packets, mut called) = (0, 0);
    for (at, capture) in corpus::captures().into_iter().enumerate() {
        let of_capture: Vec<&[u8]> =
            capture.packets.iter().take(300).map(|packet| packet.bytes.as_slice()).collect();
        // Clauses about what the capture has: numbers at the places of addresses and ports, in any packet.
        let mut text = "match { ".to_owned();
        for number in 0..270 {
            let packet = *rng.pick(&of_capture);
            let at = rng.below(packet.len().max(5) - 4);
            let word: Vec<u8> = packet.iter().skip(at).chain([0; 4].iter()).take(4).copied().collect();
            let address = format!("{}.{}.{}.{}", word[0], word[1], word[2], word[3]);
            let port = u16::from_be_bytes([word[0], word[1]]);
            let dir = rng.pick(&["src ", "dst ", ""]);
            let test = match rng.below(5) {
                0 => format!("{dir}host {address}"),
                1 => format!("{dir}net {}.{}.0.0/16", word[0], word[1]),
                2 => format!("udp {dir}port {port}"),
                3 => format!("{dir}port {port} and ip"),
                _ => format!("{dir}port {port} and tcp[13] & 16 != 0"),
            };
            let _ = write!(text, "{test} => h{number}; ");
        }
        text.push('}');
        let dialect = if at % 2 == 0 { Dialect::default() } else { Dialect::MODERN };
        let compiler = Compiler::new(capture.linktype).dialect(dialect).look_up_from(100);
        let plain = compiler.clone().look_up_from(usize::MAX).compile_match(&text);
        let Ok(plain) = plain else { continue };
        let native = compiler.compile_match(&text).unwrap();
        for packet in &of_capture {
            for end in [packet.len(), rng.below(packet.len() + 1)] {
                let expected = call(&plain, &packet[..end], packet.len() as u32, &[]);
                let what = || format!("{:02x?} of {}\n{text}", &packet[..end], capture.path.display());
                assert_eq!(call(&native, &packet[..end], packet.len() as u32, &[]), expected, "{}", what());
                packets += 1;
                called += u32::from(expected != "-");
            }
        }
    }
    testkit::say(format_args!("{packets} packets, {called} calls"));
    assert!(called > 500, "{called} of {packets}");
}

#[test]
fn errors_are_those_of_the_ordinary_way() {
    let compiler = Compiler::new(LinkType::EN10MB);
    let clauses: String =
        (0..300).map(|i| format!("src host 10.0.{}.{} => a{i}; ", i / 256, i % 256)).collect();
    for wrong in
        ["host nowhere.example", "src port 70000", "ip host ::1", "net 10.0.0.1/8", "tcp host 10.0.0.1"]
    {
        for text in [
            format!("match {{ {clauses} {wrong} => x }}"),
            format!("match {{ {clauses} otherwise => y; {wrong} => x }}"),
            format!("match {{ {wrong} => {{ {clauses} }} }}"),
        ] {
            let error = compiler.compile_match(&text).expect_err(wrong);
            assert_eq!(error.span().text(&text), wrong, "{error}");
        }
    }
}

/// Clauses about one field are one switch.
#[test]
fn lists_about_one_field_mean_the_same() {
    let mut rng = Rng::new(15);
    let mut found = 0;
    let shapes: [fn(&mut Rng) -> String; 9] = [
        |rng| format!("src host 10.{}.{}.{}", rng.below(2), rng.below(2), rng.below(256)),
        |rng| format!("{}dst host 10.0.{}.{}", rng.pick(&["ip ", "arp ", ""]), rng.below(2), rng.below(256)),
        |rng| {
            let len = 8 + rng.below(25);
            let address = 0x0a00_0000_u32 | rng.below(1 << 9) as u32;
            format!(
                "dst net {}/{len}",
                std::net::Ipv4Addr::from(address & !(u64::from(u32::MAX) >> len) as u32)
            )
        },
        |rng| format!("udp dst port {}", rng.below(400)),
        |rng| format!("{}src port {}", rng.pick(&["tcp ", "udp ", "ip and ", ""]), rng.below(400)),
        |rng| {
            let low = rng.below(40);
            format!("dst portrange {low}-{}", low + rng.below(30))
        },
        |rng| format!("src host 2001:db8::{:x}:{:x}", rng.below(3), rng.below(160)),
        |rng| {
            let low = rng.below(60);
            format!("(name >= {low} and name <= {})", low + rng.below(300))
        },
        |rng| format!("app = {}", rng.below(500)),
    ];
    for (number, shape) in shapes.iter().enumerate() {
        let has_inputs = number > 6;
        let tests: Vec<String> = (0..500).map(|_| shape(&mut rng)).collect();
        let compiler = compiler(number as u64);
        let compiler = if has_inputs { compiler.inputs(INPUTS) } else { compiler };
        let packets = packets(&mut rng, 112);
        let last = ["", "otherwise => rest(len)", "ip => rest", "vlan => rest"][number % 4];
        for first in ["", "arp => { dst host 10.0.0.7 => early }"] {
            let mut text = format!("match {{ {first} ");
            for (at, test) in tests.iter().enumerate() {
                let _ = write!(text, "{test} => h{}; ", at % 400);
            }
            text += &format!("{last} }}");
            let native = compiler.compile_match(&text).unwrap();
            assert!(native.looked_up().is_some(), "{text}");
            let interpreted = compiler.clone().backend(Backend::Interpreter).compile_match(&text).unwrap();
            let plain = compiler.clone().look_up_from(usize::MAX).compile_match(&text).unwrap();
            found += compare(&mut rng, &[&native, &interpreted], &plain, &packets, &text);
        }
        if has_inputs {
            continue;
        }
        let list: Vec<(String, u32)> =
            (1..).map(|answer| answer % 450).zip(tests).map(|(a, t)| (t, a)).collect();
        let native = compiler.compile_list(&list).unwrap();
        let plain = compiler.clone().look_up_from(usize::MAX).compile_list(&list).unwrap();
        assert!(native.looked_up().is_some());
        for packet in &packets {
            for end in 0..=packet.len() {
                let expected = plain.decide_captured(&packet[..end], packet.len() as u32);
                let answer = native.decide_captured(&packet[..end], packet.len() as u32);
                assert_eq!(answer, expected, "{:02x?}\n{list:?}", &packet[..end]);
            }
        }
    }
    testkit::say(format_args!("{found} calls"));
    assert!(found > 1000, "{found}");
}
