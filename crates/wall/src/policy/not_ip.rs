//! Rules that ask for packets without IP, of which they are not asked unless `not_ip = "rules"`.

use super::problem::{Code, Problem};
use pflang::{Compiler, Span};
use std::collections::HashSet;

/// Words of tests that may ask for what is not IP.
const WORDS: &[&str] = &[
    "ether", "link", "arp", "llc", "stp", "ipx", "netbeui", "iso", "clnp", "isis", "is-is", "esis", "es-is",
    "atalk", "decnet", "sca", "lat", "mop", "loopback",
];

/// What takes a packet that certainly carries no IP, put before all rules: they are asked of what carries IP, of tags and labels, behind which it may be, and of
/// frames with an LLC header that leads on to it.
const WITHOUT_IP: &str = "not (ether proto 0x0800 or ether proto 0x86dd or ether proto 0x8100 or ether proto 0x88a8 \
     or ether proto 0x9100 or ether proto 0x8847 or ether proto 0x8848 or ether proto 0x8864 or ether proto 0x880b or ether proto 0x6558 \
     or (ether[12:2] <= 1500 and ether[14] = 0xaa)) => wall_without_ip;\n";

/// The places of rules in a program that no packet reaches which may carry IP, without those that no packet reaches at all.
pub(super) fn never_asked(compiler: &Compiler, program: &str) -> Vec<Span> {
    let (Some(begin), true) = (program.find('{'), WORDS.iter().any(|word| program.contains(word))) else {
        return Vec::new();
    };
    let (head, rules) = program.split_at(begin + 1);
    let unreached = |program: &str| compiler.unreached_of_match(program).unwrap_or_default();
    let of_all: HashSet<Span> = unreached(program).iter().map(|lint| lint.span).collect();
    let lints = unreached(&format!("{head}{WITHOUT_IP}{rules}"));
    let moved = |at: u32| at.checked_sub(WITHOUT_IP.len() as u32);
    let spans =
        lints.iter().filter_map(|lint| Some(Span::new(moved(lint.span.start)?, moved(lint.span.end)?)));
    spans.filter(|span| !of_all.contains(span)).collect()
}

/// What is told of such a rule.
pub(super) fn problem(span: std::ops::Range<usize>) -> Problem {
    Problem::new(Code::NeverAsked, span, "this rule is never asked: it is about packets without IP")
        .label("`not_ip` decides about these packets, whatever the rules are")
        .help(
            "write `not_ip = \"rules\"` to ask the rules about them, or `not_ip = \"drop\"` to drop them all",
        )
}
