//! The parser accepts what libpcap's parser accepts, and understands it alike: libpcap compiles the canonical text
//! of a filter to the same program as the filter.
//!
//! Texts are strings of tokens: mostly those that make sense next, so that deep places of the grammar are
//! reached, sometimes any. libpcap resolves names and checks link types while it parses, so three answers are
//! possible: it accepts, and then the parser must; it reports a syntax error, and then the parser must not;
//! it complains of something else first, and then nothing is known. No host has a name: libpcap would ask a
//! name server.

use pflang::options::{Dialect, Limits};
use pflang::syntax::{fmt::canonical, parse::parse};
use testkit::linktype::ETHERNET;
use testkit::oracle::{self, Options};
use testkit::rng::Rng;

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
