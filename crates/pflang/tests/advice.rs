//! What is advised about texts that are no filters.

use pflang::internals::syntax::words;
use pflang::{Code, Compiler, Diagnostic, Dialect, Error, Filter, LinkType};

/// What is said of a text that is no filter.
fn helped(compiler: &Compiler, source: &str) -> Option<Diagnostic> {
    Some(*compiler.help(&compiler.compile(source).err()?).diagnostic)
}

fn error(source: &str) -> Diagnostic {
    helped(&Compiler::new(LinkType::EN10MB), source).unwrap_or_else(|| panic!("accepted {source}"))
}

#[test]
fn says_what_was_meant() {
    for (source, help) in [
        ("tcp prot 80 and host 10.0.0.1", "did you mean `tcp port 80`?"),
        ("TCP port 80", "did you mean `tcp port 80`?"),
        ("10.0.0.1", "did you mean `host 10.0.0.1`?"),
        ("tcp and 10.0.0.0/8", "did you mean `tcp and net 10.0.0.0/8`?"),
        ("80", "did you mean `port 80`?"),
        ("tcp[13] & 2", "did you mean `tcp[13] & 2 != 0`?"),
        ("not ip[6] & 0x20 and arp", "did you mean `not ip[6] & 0x20 != 0 and arp`?"),
        ("(ether[0] & 1)", "did you mean `(ether[0] & 1) != 0`?"),
        ("80 foo", "did you mean `port 80`?"),
        ("tcp-syn foo", "did you mean `tcp[tcpflags] & tcp-syn != 0`?"),
        ("tcp 80", "did you mean `tcp port 80`?"),
        ("ip 10.0.0.1", "did you mean `ip host 10.0.0.1`?"),
        ("hsot a", "did you mean `host a`?"),
        ("portrnage 1-2", "did you mean `portrange 1-2`?"),
        ("scr host a", "did you mean `src`?"),
        ("PROT 80", "did you mean `port 80`?"),
        ("example.com", "if this is a host, write `host example.com`; pcap-filter(7) explains all words"),
        ("port 80, (443)", "write `or` between alternatives, or a set: `port in {80, 443}`"),
        ("proto tcp", "did you mean `proto \\tcp`?"),
        ("tcp an port 80", "did you mean `and`?"),
        ("http", "did you mean `tcp port 80`?"),
        ("(host a) and HTTPS", "did you mean `tcp port 443`?"),
        ("dns and host a", "did you mean `port 53 and host a`?"),
        ("not dhcp", "did you mean `not (udp port 67 or udp port 68)`?"),
        ("udp dns", "did you mean `udp port 53`?"),
        ("tcp[tcpflags] == syn", "did you mean `tcp-syn`?"),
        ("icmp[icmptype] = echo", "did you mean `icmp-echo`?"),
        ("tcp.port in {80 443, 8000..8080}", "as a capture filter: `tcp port in {80, 443, 8000-8080}`"),
        (
            "ip.src in {10.0.0.0/8} and http",
            "as a capture filter: `ip src host in {10.0.0.0/8} and tcp port 80`",
        ),
        ("tcp.port == 80", "as a capture filter: `tcp port 80`"),
        (
            "ip.addr==10.0.0.1 && !(tcp.dstport eq 443) || dns",
            "as a capture filter: `ip host 10.0.0.1 and not (tcp dst port 443) or port 53`",
        ),
        (
            "tcp.flags.syn == 1 and ip.ttl < 5",
            "as a capture filter: `tcp[tcpflags] & tcp-syn != 0 and ip[8] < 5`",
        ),
        ("ip.src == 10.0.0.1", "as a capture filter: `ip src host 10.0.0.1`"),
        ("ip.src != 10.0.0.0/8", "as a capture filter: `ip and not src net 10.0.0.0/8`"),
        (
            "arp or tcp.dstport != 80 or (ip.proto != 17)",
            "as a capture filter: `arp or (tcp and not dst port 80) or (ip and not ip proto 17)`",
        ),
        ("eth.src != 1:2:3:4:5:6", "as a capture filter: `not ether src 1:2:3:4:5:6`"),
        (
            "udp or tcp.len > 0",
            "as a capture filter: `udp or (tcp and ip[2:2] - ((ip[0] & 0xf) << 2) - ((tcp[12] & 0xf0) >> 2) > 0)`",
        ),
        ("tcp and vlan.id == 9", "as a capture filter: `vlan 9 and tcp`"),
    ] {
        let error = error(source);
        assert_eq!(error.help.as_deref(), Some(help), "{source}: {error:?}");
    }
}

/// There `and` binds closer than `or`, and a tag shifts nothing.
#[test]
fn display_filters_of_another_meaning_are_not_translated() {
    for source in [
        "vlan.id == 999 or tcp",
        "tcp and not vlan.id == 9",
        "(mpls.label == 9) and ip",
        "ip.addr == 10.0.0.1 tcp",
        "(udp.port == 5 and) tcp",
        "udp.port == 5)",
    ] {
        let help = error(source).help.unwrap_or_default();
        assert!(!help.contains("as a capture filter"), "{source}: {help}");
    }
}

/// For Wireshark `and` binds closer than `or`, and what is inside of a tag stands anywhere.
#[test]
fn display_filters_keep_their_meaning() {
    for (source, filter) in [
        (
            "tcp.port == 80 || udp.port == 53 && ip.addr == 203.0.113.99",
            "tcp port 80 or (udp port 53 and ip host 203.0.113.99)",
        ),
        ("tcp.port == 80 && ip || arp", "tcp port 80 and ip or arp"),
        ("(udp or tcp.port == 80 && ip) or arp", "(udp or (tcp port 80 and ip)) or arp"),
        ("!(udp or tcp.port == 80) and arp", "not (udp or tcp port 80) and arp"),
        ("tcp.port == 80 && vlan.id == 9", "vlan 9 and tcp port 80"),
        ("tcp || dhcp && ip.ttl == 1", "tcp or ((udp port 67 or udp port 68) and ip[8] = 1)"),
        ("arp || ip.addr != 10.0.0.1", "arp or (ip and not host 10.0.0.1)"),
    ] {
        let help = error(source).help.unwrap_or_default();
        assert_eq!(help, format!("as a capture filter: `{filter}`"), "{source}");
    }
}
/// Each phrase, and the filter that it is taken for, which compiles.
#[rustfmt::skip]
const HABITS: &[(&str, &str)] = &[
    ("tcp dport 80", "tcp dst port 80"), ("udp and tcp sport 80", "tcp src port 80"), ("tcp dport {80,443}", "tcp dst port in {80, 443}"),
    ("dport 80", "dst port 80"), ("th sport 1024-65535", "src portrange 1024-65535"), ("tcp dport != 22", "tcp and not dst port 22"),
    ("udp dport", "udp dst port"), ("tcp dport http", "tcp dst port http"),
    ("arp or tcp dport != 80-90", "(tcp and not dst portrange 80-90)"), ("(tcp dport != {80, 443})", "tcp and not dst port in {80, 443}"), ("dport != 53", "not dst port 53"),
    ("tcp dport >= 1024", "tcp dst portrange 1024-65535"), ("udp sport < 1024", "udp src portrange 0-1023"), ("arp or th dport > 1023", "dst portrange 1024-65535"),
    ("tcp dport <= 80 and ip", "tcp dst portrange 0-80"), ("not ip daddr != 10.0.0.1", "(ip and not dst host 10.0.0.1)"),
    ("tcp port {80, 443}", "tcp port in {80, 443}"), ("port in (80, 443)", "port in {80, 443}"), ("tcp dst port (80, 443)", "tcp dst port in {80, 443}"),
    ("port in {80 443}", "port in {80, 443}"), ("src or dst port {1, 2}", "src or dst port in {1, 2}"), ("host {10.0.0.1}", "host in {10.0.0.1}"),
    ("ip saddr 192.0.2.10", "ip src host 192.0.2.10"), ("ip daddr 10.0.0.0/8", "ip dst net 10.0.0.0/8"), ("ip saddr {10.0.0.1, 10.1.0.0/16}", "ip src host in {10.0.0.1, 10.1.0.0/16}"),
    ("ip6 saddr 2001:db8::1", "ip6 src host 2001:db8::1"), ("ip daddr != 10.0.0.1", "ip and not dst host 10.0.0.1"), ("ether saddr 1:2:3:4:5:6", "ether src host 1:2:3:4:5:6"),
    ("meta l4proto tcp", "tcp"), ("meta l4proto {tcp, udp}", "(tcp or udp)"), ("meta l4proto ipv6-icmp", "icmp6"), ("meta l4proto != 47", "not proto 47"),
    ("icmp type echo-request", "icmp[icmptype] = icmp-echo"), ("icmpv6 type 135", "icmp6[icmp6type] = 135"), ("icmp code 0", "icmp[icmpcode] = 0"),
    ("port 80 443", "port 80 or port 443"), ("dst port 80 443 8080", "dst port 80 or dst port 443 or dst port 8080"), ("net 10.0.0.0/8 172.16.0.0/12", "net 10.0.0.0/8 or net 172.16.0.0/12"),
    ("tcp src and dst port 80 443", "tcp src and dst port 80 or tcp src and dst port 443"), ("not port 80 443", "(port 80 or port 443)"),
    ("ip and (port 80 443)", "port 80 or port 443"), ("ip and port 80 443", "(port 80 or port 443)"),
    ("tcp port 80 - 90", "tcp portrange 80-90"), ("not tcp dport != 80", "(tcp and not dst port 80)"),
];

/// The same for slips.
#[rustfmt::skip]
const SLIPS: &[(&str, &str)] = &[
    ("port = 80", "port 80"), ("port != 80", "not port 80"), ("tcp port != 80", "tcp and not port 80"), ("host == 10.0.0.1", "host 10.0.0.1"),
    ("arp or udp dst port != 80", "(udp and not dst port 80)"), ("port > 1024", "portrange 1025-65535"), ("tcp dst port <= 1023", "tcp dst portrange 0-1023"),
    ("port 80,443", "port in {80, 443}"), ("src host 10.0.0.1, ace or ip", "src host in {10.0.0.1, ace}"), ("net 10.0.0.0/8, 172.16.0.0/12", "net in {10.0.0.0/8, 172.16.0.0/12}"),
    ("port 80:90", "portrange 80-90"), ("tcp src portrange 80 to 90", "tcp src portrange 80-90"), ("portrange 80 90", "portrange 80-90"),
    ("net 10.0.0.0 255.0.0.0", "net 10.0.0.0 mask 255.0.0.0"), ("src net 10.0.0.0 netmask 255.0.0.0", "src net 10.0.0.0 mask 255.0.0.0"),
    ("net 10.0.0.0/255.0.0.0", "net 10.0.0.0 mask 255.0.0.0"), ("host 10.0.0.*", "net 10.0.0.0/24"), ("ip src 10.*.*.*", "ip src net 10.0.0.0/8"),
    ("10.0.0.1:80", "host 10.0.0.1 and port 80"), ("src 10.0.0.1:80", "src host 10.0.0.1 and src port 80"), ("not host [::1]:80", "(host ::1 and port 80)"),
    ("src ip 10.0.0.1", "ip src host 10.0.0.1"), ("dst ip 10.0.0.0/8", "ip dst net 10.0.0.0/8"), ("dst tcp 80", "tcp dst port 80"), ("src udp portrange 1-9", "udp src portrange 1-9"),
    ("mac 1:2:3:4:5:6", "ether host 1:2:3:4:5:6"), ("src mac 1:2:3:4:5:6", "ether src 1:2:3:4:5:6"), ("eth dst 1:2:3:4:5:6", "ether dst 1:2:3:4:5:6"),
    ("port in 80, 443", "port in {80, 443}"), ("tcp port in [80, 443]", "tcp port in {80, 443}"), ("port in 80", "port in {80}"),
    ("tcp:80", "tcp port 80"), ("ip and udp/53", "udp port 53"), ("100 < len < 200", "len > 100 and len < 200"), ("len >= 100 <= 200", "len >= 100 and len <= 200"),
    ("ip and 9 <= length < 64", "(len >= 9 and len < 64)"),
    ("443/tcp", "tcp port 443"), ("dst port 53/udp", "udp dst port 53"), ("length greater 100", "len > 100"), ("less than 64", "len < 64"),
    ("tcp syn", "tcp[tcpflags] & tcp-syn != 0"), ("ip and ack", "tcp[tcpflags] & tcp-ack != 0"), ("icmp[type] = 8", "icmp[icmptype] = 8"),
    ("icmp[icmptype] = icmp-echo-request", "icmp-echo"), ("icmp6[0] = icmp6-packet-too-big", "icmp6-packettoobig"), ("ipv4", "ip"),
    ("arp request", "arp[6:2] = 1"), ("arp reply", "arp[6:2] = 2"), ("arp who-has 10.0.0.1", "arp[6:2] = 1 and arp dst host 10.0.0.1"),
    ("mpls label 5", "mpls 5"), ("geneve vni 5", "geneve 5"),
    ("alert tcp any any -> any 80 (msg:\"x\";)", "tcp dst port 80"), ("drop udp !10.0.0.1 any -> any 53", "udp and not src host 10.0.0.1 and dst port 53"),
    ("alert ip 10.0.0.0/8 any -> any any", "ip and src net 10.0.0.0/8"), ("alert icmp any any -> any any", "icmp"), ("alert tcp any any -> any !80", "tcp and not dst port 80"),
    ("alert tcp any 1-9 -> any any", "tcp src portrange 1-9"), ("alert ip any any -> any 80", "ip and dst port 80"),
    ("port = 80-90", "portrange 80-90"), ("port != 80-90", "not portrange 80-90"), ("ip port > 1024", "ip and portrange 1025-65535"),
    ("port != 80,443", "not port in {80, 443}"), ("tcp port != 80, 443", "tcp and not port in {80, 443}"), ("ip port = 80", "ip and port 80"),
    ("192.168.0.0/255.255.0.0", "net 192.168.0.0 mask 255.255.0.0"), ("arp or src ip portrange 1-9", "(ip and src portrange 1-9)"),
    ("src tcp host 10.0.0.1", "tcp and src host 10.0.0.1"), ("host 10.0.0.0 255.0.0.0", "net 10.0.0.0 mask 255.0.0.0"),
    ("tcp 10.0.0.1:80", "tcp and host 10.0.0.1 and port 80"), ("tcp src 10.0.0.1:80", "tcp and src host 10.0.0.1 and src port 80"),
    ("ip src 10.0.0.1:80", "ip and src host 10.0.0.1 and src port 80"), ("not tcp host 10.0.0.1:80", "(tcp and host 10.0.0.1 and port 80)"),
    ("udp:53,5353", "udp port in {53, 5353}"), ("tcp/80,443", "tcp port in {80, 443}"), ("tcp:80-90", "tcp portrange 80-90"), ("10.0.0.1-10.0.0.9", "host in {10.0.0.1-10.0.0.9}"),
];

#[test]
fn habits_of_other_tools_are_translated() {
    let compiler = Compiler::new(LinkType::EN10MB);
    for (source, meant) in HABITS.iter().chain(SLIPS) {
        let error = error(source);
        assert_eq!(error.help, Some(format!("did you mean `{meant}`?")), "{source}: {error:?}");
        assert!(
            *source == "udp dport"
                || words::constant(meant).is_some()
                || names_aside(compiler.compile(meant)),
            "{source}: `{meant}` does not compile"
        );
    }
}

/// Qualifiers in any order, and twice; what compares or qualifies is not taken for a name.
#[test]
fn qualifiers_are_read_in_any_order() {
    for (source, help) in [
        ("dport tcp 80-90", "did you mean `tcp dst portrange 80-90`?"),
        ("port tcp eq 80", "did you mean `tcp port 80`?"),
        ("host host 10.0.0.1", "did you mean `host 10.0.0.1`?"),
        ("mac daddr 1:2:3:4:5:6", "did you mean `ether dst host 1:2:3:4:5:6`?"),
        ("udp network 10.0.0.0/8", "did you mean `udp and net 10.0.0.0/8`?"),
        ("src ip = 10.0.0.1", "did you mean `ip src host 10.0.0.1`?"),
        ("srcport 80 dport 443", "did you mean `src port 80 and dst port 443`?"),
        ("ip saddr lt", "two primitives are joined by `and` or `or`"),
        ("tcp saddr 80", "two primitives are joined by `and` or `or`"),
        ("arp or ip version != 6", "did you mean `not ip6`?"),
    ] {
        assert_eq!(error(source).help.as_deref(), Some(help), "{source}");
    }
}

/// Whether a filter compiles, or lacks a name only.
fn names_aside(compiled: Result<Filter, Error>) -> bool {
    compiled.map_or_else(|error| error.code() == Code::UnknownName, |_| true)
}

fn help_of(compiler: &Compiler, source: &str) -> Option<String> {
    helped(compiler, source)?.help
}

#[test]
fn no_filter_is_suggested_that_would_be_refused() {
    let ethernet = Compiler::new(LinkType::EN10MB);
    for (source, help) in [
        (
            "10.0.0.1:99999",
            Some("it is written `host 10.0.0.1 and port 99999`, but port 99999 is above 65535"),
        ),
        ("port = 99999", Some("it is written `port 99999`, but port 99999 is above 65535")),
        ("port 80, 99999", Some("it is written `port in {80, 99999}`, but port 99999 is above 65535")),
        ("vlan id 5000", Some("it is written `vlan 5000`, but VLAN id 5000 is above 4095")),
        ("ether port = 80", None),
        ("ip host = ::1", None),
        (
            "10.1.2.3/255.0.0.0",
            Some(
                "it is written `net 10.1.2.3 mask 255.0.0.0`, but bits of the address are set outside the mask: \
                 the network is `10.0.0.0 mask 255.0.0.0`",
            ),
        ),
        (
            "src ip 10.0.0.1/24",
            Some(
                "it is written `ip src net 10.0.0.1/24`, but bits of the address are set outside the mask: \
                 the network is `10.0.0.0/24`",
            ),
        ),
        // Words that are offered without what follows them, and names that nobody is asked for.
        ("udp dport", Some("did you mean `udp dst port`?")),
        ("tcp prt", Some("did you mean `port`?")),
        ("hsot nowhere.example", Some("did you mean `host nowhere.example`?")),
    ] {
        assert_eq!(help_of(&ethernet, source).as_deref(), help, "{source}");
    }
    let list = ethernet.help(&ethernet.compile_list(&[("arp", 1), ("port = 99999", 2)]).unwrap_err());
    assert_eq!(list.entry, Some(1));
    let told = Some("it is written `port 99999`, but port 99999 is above 65535");
    assert_eq!(list.diagnostic.help.as_deref(), told, "in a list");
    let explained = ethernet.help(&ethernet.explain("port = 99999").unwrap_err());
    assert_eq!(explained.diagnostic.help.as_deref(), told, "in plain words");
    let frames = "mac 1:2:3:4:5:6";
    assert_eq!(help_of(&ethernet, frames).as_deref(), Some("did you mean `ether host 1:2:3:4:5:6`?"));
    let help = help_of(&Compiler::new(LinkType::RAW), frames).expect("what to do");
    assert!(help.starts_with("it is written `ether host 1:2:3:4:5:6`, but "), "{help}");
}

#[test]
fn what_is_like_a_habit_is_left_alone() {
    for (source, help) in [
        ("host in {1-2}", Some("write addresses as `10.0.0.5-10.0.0.9` or as prefixes, `10.0.0.0/8`")),
        ("host a port 80", Some("did you mean `host a and port 80`?")),
        ("host ((10.0.0.1))", None),
        ("tcp, udp", Some("write `or` between alternatives, or a set: `port in {80, 443}`")),
        ("tcp any any", Some("two primitives are joined by `and` or `or`")),
        ("port 443/", None),
        ("net 10/8", Some("a prefix needs at least two parts in front of it: `10.0/8`")),
        ("net 10.0.0.0 172.16.0.0", Some("did you mean `net 10.0.0.0 or net 172.16.0.0`?")),
        ("any", Some("an empty filter matches every packet; `host any` is a host of this name")),
        ("len-20 > 5", Some("`len-20` is one word; a minus has blanks around it: `len - 20`")),
        (
            "tcp[0] = 0x10-tcp-syn",
            Some("`0x10-tcp-syn` is one word; a minus has blanks around it: `0x10 - tcp-syn`"),
        ),
        ("tcp & udp", Some("`&` is for numbers: filters are joined by `and` or `&&`")),
        ("port 80 | port 90", Some("`|` is for numbers: filters are joined by `or` or `||`")),
        (
            "alert tcp any any",
            Some(
                "this looks like a rule of Suricata: its head is written `tcp and src net 10.0.0.0/8 and dst port 80`",
            ),
        ),
        (
            "tcp port 80 and and ip saddr 10.0.0.1",
            Some("`and` stands between two primitives: one is missing here"),
        ),
        ("host 10.0.0.256 10.0.0.1", None),
        ("ip daddr @set", Some("two primitives are joined by `and` or `or`")),
        ("greater 100 less 200", Some("did you mean `greater 100 and less 200`?")),
        (
            "src or dst 10.0.0.1:80",
            Some("a port is a primitive of its own, as in `host 10.0.0.1 and port 80`"),
        ),
        ("10.0.0.1:80,443", Some("did you mean `host 10.0.0.1`?")),
        ("ip saddr > 10.0.0.1", Some("two primitives are joined by `and` or `or`")),
    ] {
        let error = error(source);
        assert_eq!(error.help.as_deref(), help, "{source}: {error:?}");
    }
}

#[test]
fn long_phrases_are_not_repeated() {
    let set = "80, ".repeat(100_000);
    let error = error(&format!("tcp dport {{{set}81}}"));
    assert_eq!(error.help.as_deref(), Some("did you mean `dst port`?"));
}

#[test]
fn no_set_is_suggested_where_it_would_be_refused() {
    for source in ["tcp dport {80, 443}", "port in (80, 443)", "host in {a b}", "port 80, 443"] {
        let error = helped(&Compiler::new(LinkType::EN10MB).dialect(Dialect::STRICT), source).unwrap();
        assert!(!error.help.as_ref().is_some_and(|help| help.contains('{')), "{source}: {error:?}");
    }
}

#[test]
fn fields_that_a_packet_has_are_a_display_filter() {
    for source in ["http.request", "tcp.analysis.retransmission", "tcp and not dns.qry.name", "ip.flags.df"] {
        assert_eq!(error(source).code, Code::DisplaySyntax, "{source}");
    }
    for source in ["http.example.com", "host http.request x", "tcp and tls.example"] {
        assert_eq!(error(source).code, Code::UnknownWord, "{source}");
    }
}

/// A suggestion is compiled before it is made: what no packet matches is not suggested, and what gets a warning says so.
#[test]
fn no_filter_is_suggested_that_nothing_matches() {
    let ethernet = Compiler::new(LinkType::EN10MB);
    for (source, help) in [
        ("tcp udp", "no packet is both: did you mean `tcp or udp`?"),
        ("arp icmp", "no packet is both: did you mean `arp or icmp`?"),
        ("tcp port 80 udp port 53", "no packet is both: did you mean `tcp port 80 or udp port 53`?"),
        ("host a port 80", "did you mean `host a and port 80`?"),
        (
            "icmp port 80",
            "only `tcp`, `udp` and `sctp` have ports, so that no packet is both; `icmp or port …` accepts either",
        ),
        ("ether proto vlan", "did you mean `ether proto 0x8100`?"),
        ("ip proto icmp6", "did you mean `icmp6`?"),
        ("port src 80", "did you mean `src port 80`?"),
        ("tcp port dst 80", "did you mean `tcp dst port 80`?"),
        ("host src 10.0.0.1", "did you mean `src host 10.0.0.1`?"),
        ("net 10.1.0.0 mask 0xffff0000", "did you mean `net 10.1.0.0 mask 255.255.0.0`?"),
        (
            "vlan 5 or 6",
            "did you mean `vlan 5 or vlan 6`? It gets PF101: `vlan 6`: this is looked for inside the encapsulation to its left, although the two are alternatives",
        ),
    ] {
        assert_eq!(help_of(&ethernet, source).as_deref(), Some(help), "{source}");
        let Some((_, rest)) = help.split_once("did you mean `").filter(|_| !source.contains("host a")) else {
            continue;
        };
        let lints = ethernet.lints(rest.split('`').next().unwrap()).unwrap();
        assert_eq!(lints.is_empty(), !help.contains("It gets"), "{source}: {lints:?}");
    }
}

/// Text stands behind the options of TCP, if it has some.
#[test]
fn text_is_looked_for_behind_options() {
    let help = error("tcp contains \"GET\"").help.unwrap();
    let filter = help.split('`').nth(1).unwrap();
    let filter = Compiler::new(LinkType::EN10MB).compile(filter).unwrap();
    for options in [0, 3, 10] {
        let mut frame = vec![0; 34];
        frame[12..14].copy_from_slice(&[0x08, 0x00]);
        (frame[14], frame[23]) = (0x45, 6);
        let mut tcp = vec![0; 20 + 4 * options];
        tcp[12] = (5 + options as u8) << 4 | 1;
        frame.extend(tcp);
        assert!(!filter.matches(&[frame.clone(), b"HEAD / ".to_vec()].concat()));
        frame.extend(b"GET / HTTP/1.1");
        assert!(filter.matches(&frame), "{options} words of options");
    }
}
