//! Rendered findings against `testdata/golden/diagnostics.txt`; `BLESS=1` writes the file anew.

use super::{Code, Colours, Diagnostic, Error};
use crate::Span;
use crate::compiler::Compiler;
use crate::options::{Dialect, Limits};
use crate::syntax::parse::parse;
use std::fmt::Write;
use wire::LinkType;

/// Filters with a mistake, grouped as the book groups them.
#[rustfmt::skip]
const MISTAKES: &[&str] = &[
    "tcp prot 80 and host 10.0.0.1", "TCP port 80", "hsot ace", "example.com", "tcp and", "tcp port",
    "10.0.0.0/8", "80", "tcp 80", "ip 10.0.0.1", "port 80, 443", "port 80 tcp", "net 10/8", "(tcp or udp", "tcp)",
    "(host a) and b", "host ((a))", "proto tcp", "port 10.0.0.1", "src proto 6", "src and port 80",
    "host 10.0.0.256", "port 08", "len = 99999999999", "ether host 1:2:3:4", "ip[0", "ip[0]", "ip[0] & 1",
    "type 1", "type mgt subtype beacn", "llc foo", "action fly", "dir up", "host in {}", "host in {1-2}", "host \"a\"",
    "tcp.port == 80", "ip.addr == 10.0.0.1 && !(tcp.dstport == 443)", "http.host contains foo", "tcp[13] – 2 = 0", "host a\u{1b}[31mb",
    "http", "udp dns", "tcp dport {80,443}", "port in (80, 443)", "port 80 443", "ip saddr 192.0.2.10", "meta l4proto tcp",
    "tcp[tcpflags] == syn", "tcp.analysis.retransmission", "tcp.port in {80 443}",
    "host 例え and\tport 80 x", "tcp and\nudp prot 80\nand icmp", "host \u{202e}evil", "é",
];

fn mistake(source: &str) -> Diagnostic {
    match parse(source, &Dialect::default(), &Limits::default()) {
        Err(found) => {
            let error = Error::new(found, source.into());
            // Where there are frames of such a type.
            let is_wlan = source.starts_with("type ") || source.starts_with("dir ");
            let linktype = if is_wlan { LinkType::IEEE802_11 } else { LinkType::EN10MB };
            *Compiler::new(linktype).help(&error).diagnostic
        }
        Ok(_) => panic!("`{source}` has no mistake"),
    }
}

#[test]
fn golden() {
    let mut text = String::new();
    for source in MISTAKES {
        let _ = writeln!(
            text,
            "--- {}\n{}\n",
            source.escape_debug(),
            mistake(source).render(source, Colours::None)
        );
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden/diagnostics.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden")).unwrap();
        std::fs::write(path, &text).unwrap();
    }
    let golden = std::fs::read_to_string(path).unwrap_or_default();
    for (expected, found) in golden.split("\n\n").zip(text.split("\n\n")) {
        assert_eq!(found, expected, "run with BLESS=1 if this is what should be said");
    }
    assert_eq!(golden.len(), text.len(), "run with BLESS=1 if cases were added");
}

/// Mistakes, and what is advised.
#[rustfmt::skip]
const ADVICE: &[(&str, &str)] = &[
    ("ip AND udp", "did you mean `ip and udp`?"), ("TCP PORT 80", "did you mean `tcp port 80`?"),
    ("tcp prt", "did you mean `port`?"), ("tcp prt 80", "did you mean `tcp port 80`?"),
    ("tcp-syn", "did you mean `tcp[tcpflags] & tcp-syn != 0`?"), ("tcp port 80 - 90", "did you mean `tcp portrange 80-90`?"),
    ("ip protocol gre", "did you mean `ip proto 47`?"), ("ip protocol tcp", r"did you mean `ip proto \tcp`?"),
    ("arp or ip protocol != 89", "did you mean `(ip and not ip proto 89)`?"),
    ("tcp flags syn", "did you mean `tcp[tcpflags] & tcp-syn != 0`?"),
    ("tcp flags syn / syn,ack", "did you mean `tcp[tcpflags] & (tcp-syn|tcp-ack) = tcp-syn`?"),
    ("tcp flags & (syn|ack) == syn", "did you mean `tcp[tcpflags] & (tcp-syn|tcp-ack) = tcp-syn`?"),
    ("tcp flags & psh != 0", "did you mean `tcp[tcpflags] & tcp-push != 0`?"),
    ("ether type arp", "did you mean `arp`?"), ("ether type 0x88cc", "did you mean `ether proto 0x88cc`?"),
    ("vlan id 10", "did you mean `vlan 10`?"), ("ip ttl < 5", "did you mean `ip[8] < 5`?"),
    ("ip6 hoplimit 1", "did you mean `ip6[7] = 1`?"), ("ip dscp ef", "did you mean `ip[1] >> 2 = 46`?"),
    ("ip dscp != af41", "did you mean `ip[1] >> 2 != 34`?"), ("ip dscp cs6", "did you mean `ip[1] >> 2 = 48`?"),
    ("ip frag-off & 0x1fff != 0", "did you mean `ip[6:2] & 0x1fff != 0`?"),
    ("meta pkttype multicast", "did you mean `ether multicast and not ether broadcast`?"),
    ("meta pkttype broadcast", "did you mean `ether broadcast`?"),
    ("meta length > 1000", "`len` counts the link header, too: of Ethernet, `meta length > 1000` is `len > 1014`"),
    ("meta mark 1", "most of `meta` has no counterpart: a filter sees the bytes and the length of a packet"),
    ("ct state established",
        "this has no counterpart: a filter looks at one packet, and connections are not tracked"),
    ("iifname eth0",
        "this has no counterpart: a packet says nothing of the device, process or user that it belongs to"),
    ("port in {10.0.0.1-10.0.0.5}", "write `host in {10.0.0.1-10.0.0.5}`"),
    ("\u{feff}tcp", "this is a byte order mark: save the text without it"),
];

#[test]
fn advice() {
    for (source, help) in ADVICE {
        assert_eq!(mistake(source).help.as_deref(), Some(*help), "{source}");
    }
    let flag = "this looks like a flag of a command, which is no part of a filter";
    assert_eq!(mistake("tcp port 80 -c 5").help.as_deref(), Some(flag));
    let found = mistake("port in {10.0.0.1-10.0.0.5}");
    assert_eq!(found.message, "a set of `port` cannot have a range of addresses");
}

/// A single word may be advised for one that is wrong; anything longer is a filter.
#[test]
fn what_is_meant_is_a_filter() {
    for source in MISTAKES.iter().chain(ADVICE.iter().map(|(source, _)| source)) {
        let help = mistake(source).help.unwrap_or_default();
        let Some(meant) = help.strip_prefix("did you mean `").and_then(|rest| rest.strip_suffix("`?")) else {
            continue;
        };
        let parsed = parse(meant, &Dialect::default(), &Limits::default());
        assert!(parsed.is_ok() || !meant.contains(' '), "{source}: {help}");
    }
}

#[test]
fn two_places_on_one_line() {
    let mut found =
        Diagnostic::new(Code::ShiftsOffsets, Span::new(8, 10), "this is looked for inside the tag")
            .help("put `vlan` last");
    found.also = Some((Span::new(0, 4), "this shifts it".into()));
    assert_eq!(
        found.render("vlan or ip", Colours::None),
        "\
warning[PF101]: this is looked for inside the tag
  | vlan or ip
  |         ^^
  | ---- this shifts it
help: put `vlan` last"
    );
}

#[test]
fn two_places_on_two_lines() {
    let mut found = Diagnostic::new(Code::ShiftsOffsets, Span::new(8, 10), "shifted").label("this");
    found.also = Some((Span::new(0, 4), "by this".into()));
    assert_eq!(
        found.render("vlan\nor ip", Colours::None),
        "\
warning[PF101]: shifted
2 | or ip
  |    ^^ this
1 | vlan
  | ---- by this"
    );
}

#[test]
fn a_long_line_is_cut_to_a_window() {
    let source = "host a or ".repeat(1000) + "prot 80" + &" or host b".repeat(1000);
    let text = mistake(&source).render(&source, Colours::None);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.iter().all(|line| line.chars().count() < 120), "{text}");
    assert!(lines[1].starts_with("  | …") && lines[1].ends_with('…'), "{text}");
    let caret = lines[2].find('^').unwrap();
    assert_eq!(lines[1].chars().skip(caret).take(4).collect::<String>(), "80 o", "{text}");
}

#[test]
fn hostile_text_never_reaches_the_terminal() {
    for source in ["\u{1b}]0;x\u{7}", "\\\u{9b}31m", "host a\u{202e} b c", "prot\u{0} 80", "x \u{85}"] {
        let found = mistake(source);
        let text = found.render(source, Colours::None);
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
        assert!(!text.contains('\u{202e}'), "{text:?}");
        assert!(found.to_json().bytes().all(|b| b >= b' '), "{text:?}");
    }
}

#[test]
fn any_span_can_be_rendered() {
    let source = "é\t例\r\n\n(\u{1b}";
    for start in 0..20 {
        for end in 0..20 {
            let mut found = Diagnostic::new(Code::Internal, Span::new(start, end), "x").label("l");
            found.also = Some((Span::new(end, start), "a".into()));
            assert!(found.render(source, Colours::Ansi).contains("PF015"));
        }
    }
}

#[test]
fn colours_are_the_callers_choice() {
    let found = mistake("tcp prot 80");
    assert!(!found.render("tcp prot 80", Colours::None).contains('\x1b'));
    let coloured = found.render("tcp prot 80", Colours::Ansi);
    assert!(coloured.starts_with("\x1b[1;31merror[PF003]\x1b[0m"), "{coloured:?}");
}

/// Numbers that do not fit their field.
#[test]
fn what_can_never_match_is_warned_about() {
    let lints = |source: &str| {
        let lints = Compiler::new(LinkType::EN10MB).lints(source).unwrap();
        lints.iter().any(|lint| lint.code == Code::AlwaysFalse)
    };
    for never in
        ["ip proto 300", "proto 256", "ip6 proto 300 or arp", "ether proto 65536", "not ip proto 300"]
    {
        assert!(lints(never), "{never}");
    }
    for possible in ["ip proto 255", "proto 0", "ether proto 65535", "port 65535", "host 10.0.0.1 or proto 6"]
    {
        assert!(!lints(possible), "{possible}");
    }
}

/// What only lowering finds out.
#[test]
fn mistakes_in_meaning_say_what_was_meant() {
    let compiler = Compiler::new(LinkType::EN10MB);
    for (source, code, help) in [
        ("icmp type 8", Code::LinkType, "did you mean `icmp[icmptype] = 8`?"),
        ("tcp and icmp6 type 4", Code::LinkType, "did you mean `icmp6[icmp6type] = 4`?"),
        ("type data", Code::LinkType, "it is for link type IEEE802_11"),
        ("port 80-90", Code::UnknownName, "did you mean `portrange 80-90`?"),
        ("tcp dst port 1024-65535", Code::UnknownName, "did you mean `tcp dst portrange 1024-65535`?"),
    ] {
        let error = compiler.help(&compiler.compile(source).unwrap_err());
        assert_eq!(error.code(), code, "{source}");
        assert!(
            error.diagnostic.help.as_ref().is_some_and(|told| told.starts_with(help)),
            "{source}: {error}"
        );
    }
}

/// What a link type lacks is told with what it has.
#[test]
fn what_a_link_type_lacks_is_told_with_what_to_ask() {
    for (linktype, source, help) in [
        (LinkType::RAW, "ether host 00:11:22:33:44:55", "its packets have none: ask for addresses of IP"),
        (LinkType::RAW, "gateway nobody", "its packets have none: ask for addresses of IP"),
        (
            LinkType::LINUX_SLL,
            "ether src 00:11:22:33:44:55",
            "its header has the sender's: `link[6:4] = 0x00112233 and link[10:2] = 0x4455`",
        ),
        (
            LinkType::LINUX_SLL2,
            "ether src 00:11:22:33:44:55",
            "its header has the sender's: `link[12:4] = 0x00112233 and link[16:2] = 0x4455`",
        ),
        (LinkType::RAW, "vlan 5", "it is for link type EN10MB or IEEE802_11"),
        (LinkType::LINUX_SLL, "vlan 5", "its header has the type: `link[14:2] = 0x8100`"),
        (LinkType::LINUX_SLL2, "mpls", "its header has the type: `link[0:2] = 0x8847`"),
        (LinkType::IPV4, "mpls", "it is for link type EN10MB, C_HDLC or PPP"),
        (LinkType::RAW, "broadcast", "IP's is `dst host 255.255.255.255`"),
        (LinkType::LINUX_SLL, "ether broadcast", "its header says so: `link[0:2] = 1`"),
        (LinkType::NULL, "multicast", "IP's is `ip multicast or ip6 multicast`"),
        (LinkType::LINUX_SLL2, "multicast", "its header says so: `link[10] = 2`"),
        (LinkType::EN10MB, "link host $7", "it is for link type ARCNET or ARCNET_LINUX"),
        (LinkType::IEEE802_11, "ip6 protochain 6", "the first header alone can be asked for: `ip6 proto 6`"),
        (LinkType::PFLOG, "protochain 6", "the first header alone can be asked for: `proto 6`"),
        (LinkType::MTP2, "vlan 5", "what works on it: `fisu`"),
    ] {
        let compiler = Compiler::new(linktype);
        let error = compiler.help(&compiler.compile(source).unwrap_err());
        assert_eq!(error.code(), Code::LinkType, "{source}: {error}");
        let told = error.diagnostic.help.unwrap_or_default();
        assert!(told.starts_with(help), "{source}: {told}");
        // What stands in backticks and is no list of words is a filter there.
        if let [_, filter, _] = told.split('`').collect::<Vec<_>>()[..] {
            assert!(compiler.compile(filter).is_ok(), "{source}: {filter}");
        }
    }
}
