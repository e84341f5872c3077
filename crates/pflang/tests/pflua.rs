//! pfmatch programs against pflua, where the language comes from: what it does otherwise is written down, and nothing else differs.
//!
//! `SLUSS_PFLUA` names a checkout of pflua; `SLUSS_SEED` and `SLUSS_PROGRAMS` change what is drawn and how much.

use pflang::{Backend, Compiler, Dialect, LinkType};
use std::path::Path;
use testkit::lua::{Call, pflua};
use testkit::matches::random::{self, Words};
use testkit::matches::{self, Test};
use testkit::rng::Rng;

/// The tables are true of pflua: it calls what they say, and something else where they say so.
#[test]
fn pflua_agrees_with_the_tables() {
    // It knows Ethernet, no inputs and no dialects, and one length.
    let is_known = |test: &&Test| test.linktype == LinkType::EN10MB && !test.is_modern && test.set.is_empty();
    let tests = matches::tests();
    let tests: Vec<&Test> = tests.iter().filter(is_known).collect();
    let programs: Vec<String> = tests.iter().map(|test| test.program.clone()).collect();
    let (mut calls, mut expected) = (Vec::new(), Vec::new());
    for (chunk, test) in tests.iter().enumerate() {
        for (i, case) in test.cases.iter().enumerate() {
            let data = &case.packet.bytes[..];
            let theirs = test.pflua.as_ref().map(|calls| &calls[i]);
            if !case.inputs.is_empty() || theirs.is_none() && case.packet.wire_len as usize != data.len() {
                continue;
            }
            calls.push(Call { chunk, data, inputs: Vec::new() });
            expected.push((theirs.unwrap_or(&case.call), test, case));
        }
    }
    let Some(answers) = pflua("the tables in pflua", &programs, &calls) else { return };
    let refused = answers.iter().filter(|answer| *answer == "refused").count();
    let wrong = expected
        .iter()
        .zip(&answers)
        .filter(|((expected, ..), answer)| *answer != *expected && *answer != "refused");
    let wrong: Vec<String> = wrong
        .map(|((expected, test, case), answer)| {
            format!(
                "{}: {}: pflua calls {answer}, not {expected}\n    {}",
                test.name, case.line, test.program
            )
        })
        .collect();
    testkit::say(format_args!(
        "{} cases compared with pflua, of which {refused} are of programs that it refuses",
        answers.len()
    ));
    assert!(wrong.is_empty(), "{} are not what pflua calls:\n{}", wrong.len(), wrong.join("\n"));
}

/// Each difference is a line of COMPAT.md, and is one.
#[test]
fn differences_are_written_down() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../COMPAT.md");
    let page = std::fs::read_to_string(&page).expect("COMPAT.md stands beside the README");
    for test in matches::tests() {
        let Some(pflua) = &test.pflua else { continue };
        assert!(page.contains(&format!("`{}`", test.name)), "COMPAT.md lacks {}", test.name);
        let ours = test.cases.iter().map(|case| &case.call);
        assert!(ours.ne(pflua), "{}: pflua calls the same", test.name);
    }
}

/// Without what COMPAT.md tells apart.
const WORDS: Words = Words {
    tests: &[
        "tcp",
        "udp",
        "ip",
        "ip6",
        "arp",
        "port 80",
        "src port 53",
        "tcp dst port 80",
        "udp portrange 50-90",
        "host 10.0.0.1",
        "src host 10.0.0.2",
        "dst net 10.0.0.0/8",
        "net 10.0.0.0/30",
        "host 2001:db8::1",
        "dst net 2001:db8::/33",
        "arp src host 10.0.0.1",
        "ip proto 17",
        "ip6 proto 6",
        "proto 6",
        "ip[8] > 64",
        "ip[0] & 15 != 5",
        "tcp[13] & 2 != 0",
        "ether[30] = 1",
        "ip[ip[8]] < 100",
        "ip[12:4] * 3 > ip[16:4]",
        "ip[12:4] - 7 < ip[2:2] << 3",
        "ip[6:2] & 0x1fff = 0",
        "ether[12:2] | 1 = 0x801",
        "ip[2:2] / ip[8] = 3",
        "len > 60",
        "greater 100",
        "not tcp",
        "not (udp or arp)",
        "ip6 and tcp",
        "ether host 02:00:00:00:00:02",
        "ether multicast",
        "not ip[40] = 0",
        "not ether[80] = 0",
        "icmp",
        "icmp6",
        "rarp",
        "isis",
        "stp",
        "iso",
        "esis",
        "clnp",
        "l1",
        "l2",
        "iih",
        "lsp",
        "snp",
        "csnp",
        "psnp",
        "netbeui",
        "decnet",
        "decnet src 10.15",
        "lat",
        "sca",
        "moprc",
        "mopdl",
        "ah",
        "esp",
        "pim",
        "sctp",
        "port 5060",
        "ip6 multicast",
        "ether broadcast",
        "ip6[6] = 6",
        "ip6[8:4] = 0x20010db8",
        "arp[6:2] = 1",
        "udp[2:2] = 80",
        "icmp[0] = 8",
        "ether proto 0x806",
        "ether proto \\arp",
        "tcp[((tcp[12:1] & 0xf0) >> 2):4] = 0x47455420",
    ],
    arguments: &[
        "1",
        "ip[8]",
        "len",
        "&tcp[0]",
        "&ip[40]",
        "&ether[60:4]",
        "tcp[0:2]",
        "ip[12:4] + 1",
        "ip[12:4] * ip[12:4]",
        "2 * udp[0:2] - len",
        "100 / ip[1]",
        "ip[80]",
        "(ip[0] & 15) << 2",
        "ip[12:4] ^ 0xffffffff",
    ],
};

const PACKETS: [&str; 24] = [
    "eth / ip4(ttl=T, src=10.0.0.1) / tcp(dport=80, flags=S)",
    "eth / ip4(ttl=T, dst=10.1.2.3) / udp(sport=53) / pad(40)",
    "eth / ip4(ttl=T, src=10.0.0.2, dst=10.0.0.1) / udp(sport=60, dport=80) / pad(70)",
    "eth / arp(spa=10.0.0.1) / pad(20)",
    "eth / rarp / pad(20)",
    "eth / ip6 / tcp(sport=80)",
    "eth / ip6(src=fe80::1, dst=2001:db8:8000::1) / icmp6",
    "eth / ip4(ttl=T, options=01010101, tos=3) / tcp(dport=80)",
    "eth(dst=02:00:00:00:00:02) / pad(50)",
    "eth(dst=ff:ff:ff:ff:ff:ff) / llc / stp / pad(40)",
    "eth / llc / isis(20) / pad(40)",
    "eth / llc / isis(15) / pad(40)",
    "eth / llc / isis(27) / pad(40)",
    "eth / llc / clnp / pad(40)",
    "eth / llc / esis / pad(40)",
    "eth / llc / netbeui / pad(40)",
    "eth(type=0x6003) / hex(1400810a0000000000000f28) / pad(50)",
    "eth(type=0x6004) / pad(60)",
    "eth / ip4(ttl=T) / sctp(dport=5060) / pad(30)",
    "eth / ip6(dst=ff02::1) / pim / pad(40)",
    "eth / ip4(ttl=T, src=10.0.0.1) / tcp(dport=80) / 'GET / HTTP/1.1'",
    "eth / ip4(frag=3, tos=9) / pad(50)",
    "eth / ip4(ttl=T, proto=1) / pad(30)",
    "eth / ip4(ttl=T, proto=6, frag=9) / pad(90)",
];

/// Random programs, on packets that are captured whole.
#[test]
fn pflua_agrees_on_random_programs() {
    let number = |name: &str, default| {
        std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
    };
    let (seed, count) = (number("SLUSS_SEED", 1), number("SLUSS_PROGRAMS", 200));
    let mut rng = Rng::new(seed);
    let compiler = Compiler::new(LinkType::EN10MB).backend(Backend::Interpreter).dialect(Dialect::default());
    let programs: Vec<String> =
        (0..count).map(|_| random::text(&random::program(&mut rng, WORDS, 2))).collect();
    let packets = random::packets(&mut rng, &PACKETS);
    let (mut calls, mut expected) = (Vec::new(), Vec::new());
    for (chunk, program) in programs.iter().enumerate() {
        let matcher = compiler.compile_match(program).unwrap_or_else(|error| panic!("{program}\n{error}"));
        for data in &packets {
            let mut values = Vec::new();
            let call = matcher.call(data, &mut values).map_or("-".to_owned(), |call| call.to_string());
            expected.push(call);
            calls.push(Call { chunk, data, inputs: Vec::new() });
        }
    }
    let Some(answers) = pflua("random programs in pflua", &programs, &calls) else { return };
    for ((call, expected), answer) in calls.iter().zip(&expected).zip(&answers) {
        let program = &programs[call.chunk];
        assert_eq!(answer, expected, "SLUSS_SEED={seed}, {:02x?}\n{program}", call.data);
    }
    let called = expected.iter().filter(|call| *call != "-").count();
    testkit::say(format_args!(
        "SLUSS_SEED={seed} SLUSS_PROGRAMS={count}: {} calls compared with pflua, {called} of a handler",
        answers.len()
    ));
    assert_eq!(answers.len(), expected.len());
}
