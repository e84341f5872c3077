//! Names and set files come from the caller: what the compiler makes of them.

use pflang::{Backend, Code, Compiler, Dialect, Error, HostAddrs, Limits, Names, Service};
use std::sync::Arc;
use testkit::packet::Packet;
use wire::LinkType;

struct Book;

impl Names for Book {
    fn host(&self, name: &str) -> Option<HostAddrs> {
        let v4 = |text: &str| text.parse().unwrap();
        match name {
            "two" => Some(HostAddrs { v4: vec![v4("10.0.0.1"), v4("10.0.0.2")], v6: vec![] }),
            "both" => Some(HostAddrs { v4: vec![v4("10.0.0.3")], v6: vec!["2001:db8::3".parse().unwrap()] }),
            "router" => Some(HostAddrs { v4: vec![v4("10.0.0.254")], v6: vec![] }),
            _ => None,
        }
    }

    fn net(&self, name: &str) -> Option<u32> {
        (name == "campus").then_some(10 << 8 | 1)
    }

    fn ether(&self, name: &str) -> Option<[u8; 6]> {
        matches!(name, "router").then_some([2, 0, 0, 0, 0, 2])
    }

    fn service(&self, name: &str) -> Option<Service> {
        match name {
            "web" => Some(Service { tcp: Some(80), udp: None, sctp: None }),
            "dns" => Some(Service { tcp: Some(53), udp: Some(53), sctp: None }),
            _ => None,
        }
    }

    fn protocol(&self, name: &str) -> Option<u8> {
        (name == "tcp").then_some(6)
    }

    fn set_file(&self, path: &str) -> Result<String, String> {
        match path {
            "hosts.txt" => {
                Ok("# ours\n10.0.0.1\n10.1.0.0/16  # lab\n10.2.0.5-10.2.0.9\n\n2001:db8::/32\n".into())
            }
            "ports.txt" => Ok("22\n80-90\nweb\n".into()),
            "ranges.txt" => Ok("0.0.0.1-255.255.255.254\n".repeat(100)),
            "broken.txt" => Ok("10.0.0.1\n10.0.0.300/8\n".into()),
            _ => Err(format!("`{path}` does not exist")),
        }
    }
}

fn compiler() -> Compiler {
    Compiler::new(LinkType::EN10MB).names(Arc::new(Book)).backend(Backend::Interpreter)
}

/// What a filter says to each packet.
fn check(filter: &str, matching: &[&str], others: &[&str]) {
    let filter = compiler().compile(filter).unwrap_or_else(|error| panic!("{filter}: {error:?}"));
    for (lines, expected) in [(matching, true), (others, false)] {
        for line in lines {
            let packet = Packet::parse(line).unwrap();
            assert_eq!(filter.matches(&packet.bytes), expected, "{} on {line}", filter.source());
        }
    }
}

fn error(filter: &str) -> Error {
    let compiler = compiler();
    compiler.help(&compiler.compile(filter).unwrap_err())
}

/// This shows where a packet ends between the two, and nothing before says which kind it is.
#[test]
fn ipv4_addresses_of_a_name_come_first() {
    let compiler = Compiler::new(LinkType::JUNIPER_MLPPP).names(Arc::new(Book));
    let header = [b"MGC".as_slice(), &[0; 13]].concat();
    let filter = compiler.compile("host both").unwrap();
    assert!(filter.matches(&[&header[..], &[10, 0, 0, 3]].concat()));
}

#[test]
fn a_host_is_all_its_addresses() {
    check("host two", &["eth / ip4(src=10.0.0.1)", "eth / ip4(dst=10.0.0.2)"], &["eth / ip4(src=10.0.0.3)"]);
    check("dst host both", &["eth / ip4(dst=10.0.0.3)", "eth / ip6(dst=2001:db8::3)"], &["eth / ip4"]);
    check("ip6 host both", &["eth / ip6(src=2001:db8::3)"], &["eth / ip4(dst=10.0.0.3)"]);
    assert_eq!(error("host nobody").code(), Code::UnknownName);
    assert_eq!(error("ip6 host two").code(), Code::UnknownName);
}

#[test]
fn a_network_keeps_only_its_written_part() {
    check("net campus", &["eth / ip4(src=10.1.7.7)"], &["eth / ip4(src=10.2.7.7)"]);
    assert_eq!(error("net nowhere").code(), Code::UnknownName);
}

#[test]
fn a_service_may_be_for_one_protocol_only() {
    check("port web", &["eth / ip4 / tcp(dport=80)"], &["eth / ip4 / udp(dport=80)"]);
    check("port dns", &["eth / ip4 / tcp(dport=53)", "eth / ip4 / udp(dport=53)"], &[]);
    check("portrange dns-web", &["eth / ip4 / udp(dport=60)"], &["eth / ip4 / udp(dport=81)"]);
    assert_eq!(error("udp port web").code(), Code::UnknownName);
    assert_eq!(error("port nothing").code(), Code::UnknownName);
}

#[test]
fn a_gateway_sends_what_is_not_its_own() {
    let far = "eth(src=02:00:00:00:00:02) / ip4(src=192.0.2.1)";
    check("gateway router", &[far], &["eth(src=02:00:00:00:00:02) / ip4(src=10.0.0.254)"]);
    let strict = compiler().dialect(Dialect::STRICT).compile("gateway router").unwrap_err();
    assert_eq!(strict.code(), Code::Strict);
    assert_eq!(error("gateway two").code(), Code::UnknownName, "no Ethernet address");
    assert_eq!(error("src gateway router").code().name().as_bytes()[0], b'P');
}

#[test]
fn sets_come_from_files() {
    check(
        "src host in {@hosts.txt, 192.0.2.77}",
        &[
            "eth / ip4(src=10.0.0.1)",
            "eth / ip4(src=10.1.2.3)",
            "eth / ip4(src=10.2.0.5)",
            "eth / ip4(src=10.2.0.9)",
            "eth / ip4(src=192.0.2.77)",
            "eth / ip6(src=2001:db8::9)",
        ],
        &["eth / ip4(src=10.0.0.2)", "eth / ip4(src=10.2.0.4)", "eth / ip4(src=10.2.0.10)", "eth / arp"],
    );
    check(
        "dst port in {@ports.txt}",
        &["eth / ip4 / tcp(dport=22)", "eth / ip4 / udp(dport=85)", "eth / ip4 / tcp(dport=80)"],
        &["eth / ip4 / tcp(dport=23)", "eth / ip4 / tcp(dport=91)"],
    );
    let missing = error("host in {@none.txt}");
    assert_eq!(missing.code(), Code::SetFile);
    let mut limits = Limits::default();
    limits.source_bytes = 40;
    assert_eq!(compiler().limits(limits).compile("host in {@hosts.txt}").unwrap_err().code(), Code::Limit);
    let broken = error("host in {@broken.txt}");
    assert!(broken.diagnostic.message.contains("line 2"), "{}", broken.diagnostic.message);
}

#[test]
fn only_ports_have_ranges_of_numbers() {
    for filter in ["host in {@ports.txt}", "net in {@ports.txt}", "proto in {@ports.txt}"] {
        let found = error(filter);
        assert_eq!(found.code(), Code::BadQualifier, "{filter}");
        assert!(found.diagnostic.message.contains("line 2"), "{}", found.diagnostic.message);
    }
}

/// A set may be as large as a filter: its limits hold within it.
#[test]
fn limits_hold_within_a_set() {
    let mut limits = Limits::default();
    limits.nodes = 1000;
    let found = compiler().limits(limits).compile("host in {@ranges.txt}").unwrap_err();
    assert_eq!(found.code(), Code::Limit);
    assert!(found.diagnostic.message.contains("line 1,"), "{}", found.diagnostic.message);
}

/// One file, whatever its name, and the names of [`Book`].
struct OneFile(String);

impl Names for OneFile {
    fn host(&self, name: &str) -> Option<HostAddrs> {
        Book.host(if name == "tcp" { "two" } else { name })
    }

    fn service(&self, name: &str) -> Option<Service> {
        Book.service(name)
    }

    fn set_file(&self, _: &str) -> Result<String, String> {
        Ok(self.0.clone())
    }
}

fn with_file(text: &str) -> Compiler {
    compiler().names(Arc::new(OneFile(text.to_owned())))
}

/// What a set is, in braces or from a file: its graph, or what is wrong with it.
fn read(compiler: &Compiler, filter: &str) -> Result<String, (Code, String)> {
    let graph = compiler.as_written(filter).map(|graph| pflang::internals::ir::print::listing(&graph, ""));
    graph.map_err(|error| {
        let message = &error.diagnostic.message;
        let of_member = message.strip_prefix('`').filter(|rest| rest.starts_with("@f` line"));
        let said =
            of_member.and_then(|rest| rest.split_once("`: ")).map_or(message.as_str(), |(_, said)| said);
        (error.code(), said.replace("line ends", "filter ends"))
    })
}

#[test]
fn files_and_braces_are_read_alike() {
    let hosts = "10.0.0.1 10.0.0.5-10.0.0.9 10.1.0.0/16 10.1/16 2001:db8::1 2001:db8::/32 two 167772161 010 \
        0xa000001 \\tcp tcp 10.0.0.300 10.0.0.0/33 80-90 10.0.0.1-7 10-10.0.0.1 10.1-10.2 nobody 1:2:3 é \\";
    let ports =
        "80 0x50 0120 08 80-90 0x50-0x5a 0120-0132 web nothing 99999 10.0.0.1 10.0.0.1-10.0.0.2 web-dns";
    let links = "02:00:00:00:00:02 0200.0000.0002 020000000002 2-0-0-0-0-2 10.0.0.1";
    for (kind, members) in [("host", hosts), ("net", hosts), ("tcp port", ports), ("ether host", links)] {
        for member in members.split(' ') {
            let compiler = with_file(member);
            let inline = read(&compiler, &format!("{kind} in {{{member} }}"));
            assert_eq!(read(&compiler, &format!("{kind} in {{@f}}")), inline, "{kind} {member}");
        }
    }
    let spaced = with_file("\t10.0.0.5 - 10.0.0.9  # ours\r\n10.1.0.0 mask 255.255.0.0");
    let inline = "host in {10.0.0.5-10.0.0.9, 10.1.0.0/16}";
    assert_eq!(read(&spaced, "host in {@f}"), read(&spaced, inline));
    // A file is a list: prefixes of those may have bits behind their length, and a range that begins with its end is a slip.
    for (member, inline) in [
        ("10.0.0.1/8", "10.0.0.0/8"),
        ("10.1.2/12", "10.0.0.0/12"),
        ("10.1.2.3 mask 255.255.0.0", "10.1.0.0/16"),
        ("2001:db8::1/32", "2001:db8::/32"),
        ("10.0.0.1/0", "0.0.0.0/0"),
        ("::1/0", "::/0"),
    ] {
        for kind in ["host", "net"] {
            let inline = read(&compiler(), &format!("{kind} in {{{inline} }}"));
            assert!(inline.is_ok());
            assert_eq!(read(&with_file(member), &format!("{kind} in {{@f}}")), inline, "{kind} {member}");
        }
    }
    for (filter, member, meant) in [
        ("host in {@f}", "10.0.0.9-10.0.0.5", "10.0.0.5-10.0.0.9"),
        ("net in {@f}", " 10.0.0.9 - 10.0.0.5 # ours", "10.0.0.5-10.0.0.9"),
        ("port in {@f}", "90-80", "80-90"),
        ("tcp port in {@f}", "0x60 - 80", "80-0x60"),
    ] {
        let found = with_file(member).compile(filter).unwrap_err();
        let said = format!("the range ends before it begins: write `{meant}`");
        assert!(found.diagnostic.message.ends_with(&said), "{}", found.diagnostic.message);
    }
    for wrong in ["10.0.0.1, 10.0.0.2", "10.0.0.1 10.0.0.2", "10.0.0.1}", "@g", "10.0.0.0/"] {
        assert!(read(&with_file(wrong), "host in {@f}").is_err(), "{wrong}");
    }
}

#[test]
fn a_byte_order_mark_begins_a_file() {
    let marked = with_file("\u{feff}10.0.0.1\n10.0.0.2");
    assert_eq!(read(&marked, "host in {@f}"), read(&marked, "host in {10.0.0.1, 10.0.0.2}"));
    assert!(with_file("10.0.0.1\n\u{feff}10.0.0.2").compile("host in {@f}").is_err());
}

#[test]
fn what_a_line_of_a_file_may_be() {
    let found = with_file("10.0.0.1\n=").compile("host in {@f}").unwrap_err().diagnostic;
    assert_eq!(found.label.as_deref(), Some("expected an identifier or a range"));
    let found = error("host in {10.0.0.1, =}").diagnostic;
    assert_eq!(found.label.as_deref(), Some("expected an identifier, a range or `@file`"));
}

#[test]
fn advice_for_members_and_networks() {
    for (filter, help) in [
        (r"port in {\80-90}", "write the range without a backslash: `80-90`"),
        (r"tcp port \80-90", "did you mean `tcp portrange 80-90`?"),
        ("net 10.1.2.3/8", "the network is `10.0.0.0/8`"),
        ("net 10.1.2.3 mask 255.0.0.0", "the network is `10.0.0.0 mask 255.0.0.0`"),
        ("net 2001:db8::1/32", "the network is `2001:db8::/32`"),
        ("src 10.0.0.0/24", "did you mean `src net 10.0.0.0/24`?"),
        ("ip host 10.0.0.0 mask 255.0.0.0", "did you mean `ip net 10.0.0.0 mask 255.0.0.0`?"),
        ("arp or host fe80::/10", "did you mean `net fe80::/10`?"),
        ("src host 10.0.0.1-10.0.0.9", "did you mean `src host in {10.0.0.1-10.0.0.9}`?"),
        ("dst 0:1:2:a:b:c", "did you mean `ether dst host 00:01:02:0a:0b:0c`?"),
    ] {
        assert_eq!(error(filter).diagnostic.help.as_deref(), Some(help), "{filter}");
        let meant = help.strip_prefix("did you mean `").and_then(|rest| rest.strip_suffix("`?"));
        assert!(meant.is_none_or(|meant| compiler().compile(meant).is_ok()), "{help}");
    }
    let strict = compiler().dialect(Dialect::STRICT).compile("host 10.0.0.1-10.0.0.9").unwrap_err();
    assert!(!strict.diagnostic.help.unwrap_or_default().contains("{"), "strict has no sets");
}

#[test]
fn errors_in_files_say_where_in_few_words() {
    let found = with_file("10.0.0.1\n  10.0.0.2 10.0.0.3").compile("host in {@f}").unwrap_err();
    let message = &found.diagnostic.message;
    assert!(message.starts_with("`@f` line 2, column 12, `10.0.0.2 10.0.0.3`: unexpected"), "{message}");
    for long in [&"9".repeat(6 << 20), &"a".repeat(6 << 20), &"10.0.0.1 ".repeat(600_000)] {
        let found = with_file(long).compile("host in {@f}").unwrap_err();
        assert!(found.to_string().len() < 3000, "{} bytes", found.to_string().len());
    }
    let long = format!("host {}", "a".repeat(6 << 20));
    assert!(error(&long).to_string().len() < 3000);
}

/// One for the file and one for each of its members, as in braces.
#[test]
fn members_in_files_are_terms() {
    let compiles = |terms: usize, list: &[&str]| {
        let mut limits = Limits::default();
        limits.terms = terms;
        let compiler = compiler().limits(limits);
        let list: Vec<_> = list.iter().map(|&filter| (filter, 1)).collect();
        match compiler.compile_list(&list) {
            Ok(_) => true,
            Err(error) => {
                assert_eq!(error.code(), Code::Limit);
                false
            }
        }
    };
    for (list, terms) in [
        (&["port in {@ports.txt}"][..], 4),
        (&["port in {22, 80-90, 7}"], 3),
        (&["port in {@ports.txt} or port in {@ports.txt}"], 8),
        (&["port in {@ports.txt}", "arp", "host in {@hosts.txt}"], 10),
    ] {
        assert!(compiles(terms, list) && !compiles(terms - 1, list), "{list:?}");
    }
    assert!(with_file(&"80-90\n".repeat(1000)).compile("port in {@f}").is_ok());
}
