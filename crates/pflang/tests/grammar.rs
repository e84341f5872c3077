//! The parser accepts what libpcap's parser accepts, and understands it alike: libpcap compiles the canonical text
//! of a filter to the same program as the filter.
//!
//! Texts are strings of tokens: mostly those that make sense next, so that deep places of the grammar are
//! reached, sometimes any. libpcap resolves names and checks link types while it parses, so three answers are
//! possible: it accepts, and then the parser must; it reports a syntax error, and then the parser must not;
//! it complains of something else first, and then nothing is known. No host has a name: libpcap would ask a
//! name server.

use pflang::internals::explain::explain;
use pflang::internals::syntax::{codes, fmt::canonical, parse::parse, words};
use pflang::{Colours, Compiler, Dialect, Limits};
use testkit::linktype::ETHERNET;
use testkit::oracle::{self, Options};
use testkit::rng::Rng;
use wire::LinkType;

const TEXTS: usize = 20_000;

#[rustfmt::skip]
const STARTS: &[&str] = &[
    "tcp", "ip", "host", "port", "src", "dst", "net", "(", "not", "!", "len", "5", "ip[0]", "-", "less 5", "vlan",
    "ether", "proto", "src or dst", "tcp[", "byte 0 = 1", "broadcast", "ether multicast", "portrange", "decnet",
    "mpls", "llc", "ip6", "host 10.0.0.1", "port 80", "ether host 1:2:3:4:5:6", "ether proto", "vlan (", "type mgt",
    "portrange 1-5", "ip proto \\tcp", "ether proto \\arp", "llc rr",
];
#[rustfmt::skip]
const ANY: &[&str] = &[
    "and", "or", "not", "!", "(", ")", "[", "]", ":", "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "=", "==",
    "!=", "<", "<=", ">", ">=", "&&", "||", "5", "0x1f", "80", "1", "10.0.0.1", "10.1", "::1", "fe80::", "1:2:3:4:5:6",
     "tcp", "udp", "ip", "ip6", "arp", "ether", "host", "net", "port", "portrange", "proto",
    "protochain", "src", "dst", "mask", "len", "broadcast", "multicast", "less", "greater", "byte", "vlan", "llc",
    "gateway", "tcp-syn", "icmptype", "/", "8", "subtype", "type", "rnr", "oam", "$1",
    "vpi", "inbound", "decnet", "iso", "isis", "stp", "16", "0", "255.0.0.0", "255.255.255.255",
];
#[rustfmt::skip]
const OPERANDS: &[&str] = &["80", "443", "(80 or 443)", "(80)", "((80))", "not 80", "10.0.0.1", "(10.0.0.1 or 10.0.0.2)", "not (1 and 2)"];

/// A text that begins like a filter and often goes on like one.
fn text(rng: &mut Rng) -> String {
    let mut parts = vec![*rng.pick(STARTS)];
    for _ in 0..rng.below(9) {
        let last = parts[parts.len() - 1];
        let next = match last {
            "and" | "or" | "not" | "!" | "(" | "&&" | "||" if rng.chance(5, 6) => {
                let operands = if rng.chance(1, 2) { OPERANDS } else { STARTS };
                *rng.pick(operands)
            }
            "port" | "host" | "net" | "proto" | "src" | "dst" if rng.chance(3, 4) => *rng.pick(OPERANDS),
            "+" | "-" | "*" | "/" | "%" | "&" | "|" | "^" | "<<" | ">>" | "=" | "<" | ">="
                if rng.chance(5, 6) =>
            {
                *rng.pick(&["5", "len", "ip[0]", "(", "tcp[tcpflags]", "-"])
            }
            "5" | "len" | "ip[0]" | "tcp[tcpflags]" if rng.chance(3, 4) => {
                *rng.pick(&["+", "-", "*", "%", "&", "|", "^", "<<", "=", "<", ">=", ")", "and"])
            }
            "tcp[" | "[" if rng.chance(4, 5) => *rng.pick(&["5", "len", "ip[0]", "("]),
            _ if rng.chance(3, 5) => *rng.pick(&["and", "or", ")", "and not", "or ("]),
            _ => *rng.pick(ANY),
        };
        parts.push(next);
    }
    let mut text = parts.join(" ");
    while text.matches('(').count() > text.matches(')').count() && rng.chance(5, 6) {
        text.push_str(" )");
    }
    text
}

#[test]
fn accepts_what_libpcap_accepts() {
    let Some(pcap) = oracle::libpcap("the parser") else { return };
    let seed = std::env::var("SLUSS_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    eprintln!("seed {seed}");
    let mut rng = Rng::new(seed);
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..TEXTS {
        let text = text(&mut rng);
        let ours = parse(&text, &Dialect::STRICT, &Limits::default());
        match pcap.compile(ETHERNET, &text, Options::default()) {
            Ok(program) => {
                accepted += 1;
                let ast = ours.unwrap_or_else(|error| panic!("libpcap accepts `{text}`, we say {error:?}"));
                let canonical = canonical(&ast);
                let again = pcap.compile(ETHERNET, &canonical, Options::default());
                assert_eq!(again, Ok(program), "`{text}` reads as `{canonical}`");
            }
            Err(why) if why.contains("syntax error") => {
                refused += 1;
                assert!(ours.is_err(), "libpcap refuses `{text}`, we read {}", canonical(&ours.unwrap()));
            }
            Err(_) => {}
        }
    }
    eprintln!("{accepted} accepted, {refused} refused by libpcap");
    assert!(
        accepted > TEXTS / 20 && refused > TEXTS / 20,
        "{accepted} and {refused}: the generator is lopsided"
    );
}

/// libpcap's program for a text on a link type.
fn program(pcap: oracle::Libpcap, linktype: &str, text: &str) -> oracle::BpfProgram {
    let linktype = testkit::linktype::by_name(linktype).unwrap_or_else(|| panic!("no {linktype}"));
    pcap.compile(linktype, text, Options::default()).unwrap_or_else(|why| panic!("{text}: {why}"))
}

/// What only some link types have: the canonical text compiles to the same program.
#[test]
fn primitives_of_linktypes_read_alike() {
    let Some(pcap) = oracle::libpcap("the parser") else { return };
    #[rustfmt::skip]
    let cases = [
        ("ARCNET", "link host $1f"), ("ARCNET", "link src $5"), ("ARCNET", "ether host $a or $b"),
        ("IEEE802_11", "type 4 subtype ACK"), ("IEEE802_11", "subtype data-cf-ack-poll"), ("IEEE802_11", "dir 7"),
        ("IEEE802_11", "type 12 subtype 0x10"), ("IEEE802_11", "wlan addr3 1:2:3:4:5:6"), ("IEEE802_11", "ether ra 1:2:3:4:5:6"),
        ("SUNATM", "vpi (1 or 2)"), ("SUNATM", "vci > 5 and vpi 3"), ("SUNATM", "oamf4 or connectmsg"),
        ("MTP2", "opc (1 or 2 or 3)"), ("MTP2", "lsu and sio > 4"), ("MTP2", "hsls 5 or hmsu"),
        ("PFLOG", "reason 3 and action pass"), ("PFLOG", "on eth0 and rset foo and rnr 4"),
        ("LINUX_SLL2", "ifindex 0x10 and inbound"), ("LINUX_SLL", "decnet host 63.1023 or 64.1024"),
        ("EN10MB", "pppoes (5) and ip"), ("EN10MB", "geneve 0x10 and mpls (7)"), ("EN10MB", "llc rnr or llc U or llc Xid"),
    ];
    for (linktype, text) in cases {
        let ast = parse(text, &Dialect::STRICT, &Limits::default())
            .unwrap_or_else(|error| panic!("{text}: {error:?}"));
        let canonical = canonical(&ast);
        assert_eq!(
            program(pcap, linktype, text),
            program(pcap, linktype, &canonical),
            "`{text}` reads as `{canonical}`"
        );
    }
}

/// Every name in the tables stands for the number that libpcap has for it.
#[test]
fn names_have_libpcaps_numbers() {
    let Some(pcap) = oracle::libpcap("the parser's tables") else { return };
    let same = |linktype: &str, named: String, numbered: String| {
        assert_eq!(program(pcap, linktype, &named), program(pcap, linktype, &numbered), "{named}");
    };
    for (name, number) in words::CONSTANTS {
        same("EN10MB", format!("len = {name}"), format!("len = {number}"));
    }
    for (name, number) in codes::WLAN_TYPES {
        same("IEEE802_11", format!("type {name}"), format!("type {number}"));
    }
    for (kind, names) in codes::WLAN_SUBTYPES {
        for (name, number) in *names {
            same(
                "IEEE802_11",
                format!("type {kind} subtype {name}"),
                format!("type {kind} subtype {number}"),
            );
        }
    }
    for (name, number) in codes::WLAN_DIRECTIONS {
        same("IEEE802_11", format!("dir {name}"), format!("dir {number}"));
    }
    for (name, number) in codes::PF_REASONS {
        same("PFLOG", format!("reason {name}"), format!("reason {number}"));
    }
    for (name, number) in codes::PF_ACTIONS {
        let insns = program(pcap, "PFLOG", &format!("action {name}")).insns().to_vec();
        assert!(insns.iter().any(|insn| insn.k == *number), "{name}: {insns:?}");
    }
    for (name, number) in codes::LLC_SUPERVISORY.iter().chain(codes::LLC_UNNUMBERED) {
        let insns = program(pcap, "EN10MB", &format!("llc {name}")).insns().to_vec();
        assert!(insns.iter().any(|insn| insn.k == u32::from(*number)), "{name}: {insns:?}");
    }
}

/// What hardly belongs into a filter.
const NOISE: &[&str] =
    &["é", "\0", "\u{202e}", "{", "@", "in {", "}", "\\", "$", "::", "\n", "vxlan", ",", "\u{1b}"];

/// Whatever the text, there is an answer, and it can be shown.
#[test]
fn any_text_has_an_answer() {
    let compiler = Compiler::new(LinkType::EN10MB);
    let mut rng = Rng::new(7);
    for _ in 0..TEXTS {
        let mut text = text(&mut rng);
        for _ in 0..rng.below(3) {
            let at = text.floor_char_boundary(rng.below(text.len() + 1));
            let noise = *rng.pick(NOISE);
            text.insert_str(at, noise);
        }
        match parse(&text, &Dialect::default(), &Limits::default()) {
            Ok(ast) => {
                let shown =
                    explain(&ast, &text, testkit::linktype::ETHERNET, Dialect::default(), &pflang::NoNames)
                        .to_string();
                assert!(!shown.is_empty());
                // Compiling parts takes long: of some.
                let lints =
                    if rng.chance(1, 20) { compiler.lints(&text).unwrap_or_default() } else { vec![] };
                for found in lints {
                    assert!(found.render(&text, Colours::Ansi).contains(&found.code.name()));
                }
                let again = canonical(&ast);
                let second = parse(&again, &Dialect::default(), &Limits::default());
                assert_eq!(second.map(|ast| canonical(&ast)), Ok(again), "{text}");
            }
            Err(_) => {
                let error = compiler.compile(&text).expect_err(&text);
                assert!(compiler.help(&error).render(Colours::None).contains("error[PF"), "{text}");
            }
        }
    }
}
