//! Generated expressions, and what libpcap says of them.

use std::collections::BTreeSet;
use testkit::expr::{Alternative, Generator, Productions, shrink};
use testkit::linktype::{self, ETHERNET};
use testkit::oracle::{self, Options};

#[test]
fn shrinks_to_the_culprit() {
    let expression = "tcp and (host 10.0.0.1 or (udp port 53 and not ip[0] & 1 = 1)) or arp";
    assert_eq!(shrink(expression, |text| text.contains("port 53")), "port 53");
}

/// Most of what is generated is valid: for each link type, and more so for Ethernet.
#[test]
fn libpcap_accepts_most() {
    let Some(pcap) = oracle::libpcap("expr") else { return };
    let options = Options { netmask: Some(0xffff_ff00), ..Options::default() };
    for linktype in linktype::all() {
        let mut generator = Generator::new(linktype, 11);
        let total = if linktype == ETHERNET { 400 } else { 60 };
        let mut accepted = 0;
        for _ in 0..total {
            let expression = generator.expression();
            match pcap.compile(linktype, &expression, options) {
                Ok(_) => accepted += 1,
                Err(why) if std::env::var_os("SLUSS_VERBOSE").is_some() => {
                    eprintln!("{linktype}: {expression}: {why}")
                }
                Err(_) => {}
            }
        }
        assert!(accepted * 100 >= total * 60, "{linktype}: libpcap accepted {accepted} of {total}");
    }
}

/// The rules that only some link type accepts texts of, and that link type; the whole grammar on Ethernet.
const HOMES: &[(&str, &str)] = &[
    ("EN10MB", "expr"),
    ("EN10MB", "net"),
    ("EN10MB", "protocol"),
    ("EN10MB", "relation"),
    ("IEEE802_11", "wlan"),
    ("IEEE802_11", "mac"),
    ("ARCNET", "arcnet"),
    ("SUNATM", "atm"),
    ("MTP2", "ss7"),
    ("PFLOG", "pf"),
    ("LINUX_SLL2", "meta"),
];

/// No production of the grammar and no spelling of a token goes undrawn, and each occurs in a text that is valid.
#[test]
fn every_production_is_drawn() {
    let Some(pcap) = oracle::libpcap("the productions") else { return };
    let options = Options { netmask: Some(0xffff_ff00), ..Options::default() };
    let mut missing: BTreeSet<Alternative> = Productions::all().collect();
    let mut productions = Productions::new(3);
    for (linktype, rule) in HOMES {
        let linktype = linktype::by_name(linktype).expect("it is known");
        for round in 0..4000 {
            let text = productions.text(if round % 4 == 0 { "primitive" } else { rule });
            if pcap.compile(linktype, &text, options).is_ok() {
                missing = &missing - productions.used();
            }
        }
    }
    if !std::path::Path::new("/etc/services").exists() {
        missing.retain(|(rule, _)| !matches!(*rule, "service" | "portrange"));
    }
    assert!(missing.is_empty(), "libpcap accepts no text with {missing:?}");
}
