//! Every case of `testdata/pflang/*.toml`, on libpcap and on every engine of ours.

use std::collections::HashSet;
use std::path::Path;
use testkit::engines::{Engines, words};
use testkit::linktype;
use testkit::oracle::{self, Libpcap, Options};
use testkit::table::{Case, Dialect, Expected, Test, tests};

/// The tables themselves are true: libpcap gives the answers that they expect, and others where they say so.
#[test]
fn libpcap_agrees_with_the_tables() {
    let Some(pcap) = oracle::libpcap("the table test") else { return };
    let tests: Vec<_> = tests().into_iter().filter(|test| !needs_absent_names(test)).collect();
    let mut failures = Vec::new();
    for test in &tests {
        let differences = differences_from_libpcap(pcap, test);
        match test.same_as_libpcap {
            true => failures.extend(differences),
            false if differences.is_empty() => failures.push(format!("{test}\n    libpcap does not differ")),
            false => {}
        }
    }
    let cases: usize = tests.iter().map(Test::cases).sum();
    testkit::say(format_args!("{cases} cases compared with {}", pcap.version()));
    assert!(failures.is_empty(), "{} are not what libpcap says:\n{}", failures.len(), failures.join("\n"));
}

/// Whether libpcap would need files that this machine has not.
fn needs_absent_names(test: &Test) -> bool {
    let names = ["http", "ssh", "domain", "ntp", "\\tcp", "\\udp"];
    let needs = names.iter().any(|name| test.filter.contains(name));
    let absent = needs && !(Path::new("/etc/services").exists() && Path::new("/etc/protocols").exists());
    if absent {
        testkit::say(format_args!(
            "SKIPPED: {}: /etc/services and /etc/protocols are absent: install netbase (Debian)",
            test.name
        ));
    }
    absent
}

/// What libpcap says otherwise than the table.
fn differences_from_libpcap(pcap: Libpcap, test: &Test) -> Vec<String> {
    let options = Options { netmask: test.netmask, ..Options::default() };
    match (&test.expected, pcap.compile(test.linktype, &test.filter, options)) {
        (Expected::Error(_), Err(_)) => Vec::new(),
        (Expected::Error(code), Ok(_)) => vec![format!("{test}\n    expected {code}, libpcap compiles it")],
        (Expected::Packets(_), Err(why)) => vec![format!("{test}\n    libpcap: {why}")],
        (Expected::Packets(cases), Ok(program)) => {
            let wrong = |case: &&Case| {
                let packet = &case.packet;
                program.answer(&packet.bytes, packet.wire_len) != Some(case.accept)
            };
            cases
                .iter()
                .filter(wrong)
                .map(|case| format!("{test}\n    {} should be {}", case.line, case.accept))
                .collect()
        }
    }
}

/// Every engine gives the answers of the tables.
#[test]
fn every_engine_agrees_with_the_tables() {
    let tests = tests();
    let failures: Vec<String> = tests.iter().flat_map(check).collect();
    let cases: usize = tests.iter().map(Test::cases).sum();
    testkit::say(format_args!("{} filters, {cases} cases, on every engine", tests.len()));
    if !Engines::strict(linktype::ETHERNET, "ip", None).expect("it compiles").is_native() {
        testkit::say("SKIPPED: machine code, which this processor or system does not allow");
    }
    assert!(cases >= 600, "only {cases} cases: where are the tables?");
    assert!(failures.is_empty(), "{} wrong answers:\n{}", failures.len(), failures.join("\n"));
}

/// What is wrong with the answers to one test.
fn check(test: &Test) -> Vec<String> {
    let wrong = |what: String| format!("{test}\n    {what}");
    match (&test.expected, Engines::of_test(test)) {
        (Expected::Error(code), Err(error)) if error.code().name() == *code => Vec::new(),
        (Expected::Error(code), Err(error)) => vec![wrong(format!("expected {code}, not {}", words(&error)))],
        (Expected::Error(code), Ok(_)) => vec![wrong(format!("expected {code}, but it compiles"))],
        (Expected::Packets(_), Err(error)) => vec![wrong(words(&error))],
        (Expected::Packets(cases), Ok(engines)) => {
            let single = cases.iter().filter_map(|case| {
                engines
                    .disagreement(&case.packet, case.accept)
                    .map(|what| wrong(format!("{} {what}", case.line)))
            });
            let packets: Vec<_> = cases.iter().map(|case| case.packet.clone()).collect();
            let together =
                engines.bursts(&packets).into_iter().zip(cases).filter(|(is, case)| *is != case.accept);
            let together = together.map(|(_, case)| wrong(format!("{}: wrong in a burst", case.line)));
            single.chain(together).collect()
        }
    }
}

/// A test that libpcap answers differently is a line of COMPAT.md, unless it is about another dialect.
#[test]
fn differences_are_written_down() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../COMPAT.md");
    let page = std::fs::read_to_string(&page).expect("COMPAT.md stands beside the README");
    let missing: Vec<_> = tests()
        .into_iter()
        .filter(|test| !test.same_as_libpcap && test.dialect == Dialect::Default)
        .filter(|test| !page.contains(&test.name))
        .map(|test| test.name)
        .collect();
    assert!(missing.is_empty(), "COMPAT.md lacks: {}", missing.join(", "));
}

/// The keywords of the language, in the order of its grammar.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "dst", "src", "link", "ether", "ppp", "slip", "fddi", "tr", "wlan", "arp", "rarp", "ip", "sctp", "tcp", "udp", "icmp",
    "igmp", "igrp", "pim", "vrrp", "carp", "radio", "ip6", "icmp6", "ah", "esp", "atalk", "aarp", "decnet", "lat", "sca",
    "moprc", "mopdl", "iso", "esis", "es-is", "isis", "is-is", "l1", "l2", "iih", "lsp", "snp", "csnp", "psnp", "clnp", "stp",
    "ipx", "netbeui", "host", "net", "mask", "port", "portrange", "proto", "protochain", "gateway", "type", "subtype",
    "direction", "dir", "address1", "addr1", "address2", "addr2", "address3", "addr3", "address4", "addr4", "ra", "ta", "less",
    "greater", "byte", "broadcast", "multicast", "and", "or", "not", "len", "length", "inbound", "outbound", "ifindex", "vlan",
    "mpls", "pppoed", "pppoes", "geneve", "lane", "llc", "metac", "bcc", "oam", "oamf4", "oamf4ec", "oamf4sc", "sc", "ilmic",
    "vpi", "vci", "connectmsg", "metaconnect", "on", "ifname", "rset", "ruleset", "rnr", "rulenum", "srnr", "subrulenum",
    "reason", "action", "fisu", "lssu", "lsu", "msu", "hfisu", "hlssu", "hmsu", "sio", "opc", "dpc", "sls", "hsio", "hopc",
    "hdpc", "hsls", "icmptype", "icmpcode", "icmp6type", "icmp6code", "tcpflags", "tcp-fin", "tcp-syn", "tcp-rst", "tcp-push",
    "tcp-ack", "tcp-urg", "tcp-ece", "tcp-cwr", "vxlan",
];

/// Nothing of the language goes untested: each word and each link type has a case that matches something.
#[test]
fn every_word_and_linktype_has_a_case() {
    let has_match = |test: &Test| match &test.expected {
        Expected::Packets(cases) => cases.iter().any(|case| case.accept),
        Expected::Error(_) => false,
    };
    let tests: Vec<_> = tests().into_iter().filter(has_match).collect();
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let words: HashSet<_> = tests.iter().flat_map(|test| test.filter.split(|c| !is_word(c))).collect();
    let missing: Vec<_> = WORDS.iter().filter(|&&word| word != "gateway" && !words.contains(word)).collect();
    assert!(missing.is_empty(), "no case with {missing:?}");
    let linktypes: HashSet<u32> = tests.iter().map(|test| test.linktype.value()).collect();
    let missing: Vec<_> = linktype::all().filter(|linktype| !linktypes.contains(&linktype.value())).collect();
    assert!(missing.is_empty(), "no case on {missing:?}");
}
