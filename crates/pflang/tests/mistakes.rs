//! What users of other tools write, and what they are told: `testdata/golden/mistakes.txt`.
//!
//! Each filter in that file stands behind `--- `, and under it the error as it is shown. `BLESS=1` writes the errors anew; filters are
//! added by hand, and dropped if they are none.

use pflang::{Colours, Compiler, Error};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use testkit::packet::Packet;
use testkit::rng::Rng;
use testkit::{corpus, mutate};
use wire::LinkType;

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden/mistakes.txt")
}

fn golden() -> String {
    std::fs::read_to_string(path()).unwrap_or_else(|error| panic!("{}: {error}", path().display()))
}

fn compiler() -> Compiler {
    Compiler::new(LinkType::EN10MB)
}

/// What is said of a text that is no filter.
fn helped(compiler: &Compiler, text: &str) -> Option<Error> {
    Some(compiler.help(&compiler.compile(text).err()?))
}

/// The errors of the file's filters.
fn errors(golden: &str) -> Vec<(&str, Error)> {
    let filters = golden.lines().filter_map(|line| line.strip_prefix("--- "));
    filters.filter_map(|filter| Some((filter, helped(&compiler(), filter)?))).collect()
}

#[test]
fn what_is_said() {
    let golden = golden();
    let said = |(filter, error): &(&str, Error)| format!("--- {filter}\n{}\n\n", error.render(Colours::None));
    let text: String = errors(&golden).iter().map(said).collect();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path(), &text).expect("the file can be written");
        return;
    }
    for (expected, found) in golden.split("\n\n").zip(text.split("\n\n")) {
        assert_eq!(found, expected, "run with BLESS=1 if this is what should be said");
    }
    assert_eq!(golden.len(), text.len(), "run with BLESS=1 if filters were added");
}

/// What is said of lists of tags is true: the tag stands where the filter looks for it.
#[test]
fn tags_are_compared_as_advised() {
    let error = helped(&compiler(), "vlan 10-20").expect("a tag is one number");
    let help = error.diagnostic.help.clone().unwrap_or_default();
    let filter = help.split_once("as in `").and_then(|(_, rest)| rest.strip_suffix('`')).expect("a filter");
    let filter = compiler().compile(filter).expect("it compiles");
    for (tag, matches) in [(9, false), (10, true), (15, true), (20, true), (21, false)] {
        let mut frame = [0; 60];
        frame[12..16].copy_from_slice(&[0x81, 0x00, 0xe0, tag]);
        assert_eq!(filter.matches(&frame), matches, "{tag}");
    }
    assert!(!filter.matches(&[15; 60]), "without a tag");
}

/// Each error says what to do, under the carets or below, and has a place within the text.
#[test]
fn what_to_do() {
    let golden = golden();
    let errors = errors(&golden);
    assert!(errors.len() >= 60, "only {} mistakes", errors.len());
    for (filter, error) in &errors {
        let found = &error.diagnostic;
        // A division by zero says all there is to say.
        let is_plain = error.code() == pflang::Code::Arithmetic;
        assert!(found.help.is_some() || found.label.is_some() || is_plain, "{filter}: {error}");
        assert!(error.span().end as usize <= filter.len(), "{filter}: {error}");
    }
}

/// A filter that is suggested compiles, unless it has names, which this compiler does not know.
#[test]
fn what_is_suggested_compiles() {
    let golden = golden();
    for (filter, error) in errors(&golden) {
        let help = error.diagnostic.help.as_deref().unwrap_or_default();
        let meant = suggested(help);
        let to_write = help.strip_prefix("write ").unwrap_or_default().split('`').skip(1).step_by(2);
        let filters = meant.into_iter().chain(to_write.filter(|text| !text.contains('…')));
        for meant in filters.filter(|meant| meant.contains(' ')) {
            if let Err(refused) = compiler().compile(meant) {
                // Words that stand in place of others are offered without what follows them.
                if refused.span().start as usize == meant.len() {
                    continue;
                }
                assert_eq!(refused.code(), pflang::Code::UnknownName, "{filter}: {refused}");
            }
        }
    }
}

/// The filter that an error suggests.
fn suggested(help: &str) -> Option<&str> {
    let rest = help.strip_prefix("did you mean `").or_else(|| help.strip_prefix("as a capture filter: `"))?;
    rest.split_once('`').map(|(filter, _)| filter)
}

/// Mistakes, and what is meant by them: what is suggested has the same packets.
#[rustfmt::skip]
const MEANT: &[(&str, &[(&str, &str)])] = &[
    ("EN10MB", &[
        // Display filters.
        ("ip.version == 6", "ip6"),
        ("ip.version == 4", "ip"),
        ("ip.version != 4", "not ip"),
        ("!(ip.version == 4)", "not ip"),
        ("ip.version == 4 && tcp.port == 80", "ip and tcp port 80"),
        ("tcp.srcport == tcp.dstport", "tcp[0:2] = tcp[2:2]"),
        ("udp.srcport > udp.dstport", "udp[0:2] > udp[2:2]"),
        ("ip.src == ip.dst", "ip[12:4] = ip[16:4]"),
        ("ip.ttl != ip.proto", "ip[8] != ip[9]"),
        ("tcp.dstport >= 80 && tcp.dstport <= 90", "tcp dst portrange 80-90"),
        ("tcp.port >= 80 && tcp.port <= 90", "tcp portrange 80-90"),
        ("(tcp.port > 79) && (tcp.port < 91)", "tcp portrange 80-90"),
        ("!(tcp.port >= 80 && tcp.port <= 90)", "not tcp portrange 80-90"),
        ("udp.srcport lt 1024 && ip && udp.srcport ge 53", "udp src portrange 53-1023 and ip"),
        ("tcp.port >= 80 && !(tcp.port <= 90)", "tcp portrange 80-65535 and not tcp portrange 0-90"),
        ("tcp.srcport >= 1024 && tcp.dstport <= 90", "tcp src portrange 1024-65535 and tcp dst portrange 0-90"),
        ("tcp.port <= 80 && tcp.port >= 1024", "tcp portrange 0-80 and tcp portrange 1024-65535"),
        ("tcp.port >= 80 || tcp.port <= 22", "tcp portrange 80-65535 or tcp portrange 0-22"),
        ("vxlan.vni == 5000", "vxlan 5000"),
        ("geneve.vni == 7000", "geneve 7000"),
        ("pppoe.session_id == 5", "pppoes 5"),
        ("vlan.id == 10", "vlan 10"),
        ("icmp && vlan.id == 10", "vlan 10 and icmp"),
        ("mpls.label == 1000", "mpls 1000"),
        ("vlan.id != 10", "vlan and ether[14:2] & 0xfff != 10"),
        ("ip.addr == 192.0.2.10 && tcp.port == 80 || udp.port == 53", "(host 192.0.2.10 and tcp port 80) or udp port 53"),
        ("ip.src != 192.0.2.10", "ip and not src host 192.0.2.10"),
        ("ip.addr == 198.51.100.0/24", "net 198.51.100.0/24"),
        ("tcp.port in {80, 443, 8000..8090}", "tcp port 80 or tcp port 443 or tcp portrange 8000-8090"),
        ("udp.port != 53", "udp and not port 53"),
        ("tcp.flags.syn == 1 && tcp.flags.ack == 0", "tcp[13] & 0x12 = 2"),
        ("frame.len > 100 && ip.ttl < 64", "len > 100 and ip[8] < 64"),
        ("tcp.len > 0", "tcp and ip[2:2] - ((ip[0] & 0xf) << 2) - ((tcp[12] & 0xf0) >> 2) > 0"),
        ("eth.type == 0x86dd", "ip6"),
        ("http && ip.dst == 198.51.100.80", "tcp port 80 and dst host 198.51.100.80"),
        // Numbers that are not handed on.
        ("vlan 10 or 20", "vlan 10 or vlan 20"),
        ("mpls 1000 or 100", "mpls 1000 or mpls 100"),
        ("tcp[13] = 2 or 18", "tcp[13] = 2 or tcp[13] = 18"),
        ("tcp[13] = 2 or 18 or 16", "tcp[13] = 2 or tcp[13] = 18 or tcp[13] = 16"),
        ("tcp[13]=2 or 18 or arp", "tcp[13] = 2 or tcp[13] = 18"),
        ("tcp[13] != 2 or 18", "tcp[13] != 2 and tcp[13] != 18"),
        ("tcp[tcpflags] = tcp-syn or tcp-ack", "tcp[13] = 2 or tcp[13] = 16"),
        ("ip[8] = 64 or 63", "ip[8] = 64 or ip[8] = 63"),
        ("ip[6:2] & 0x1fff = 0 or 185", "ip[6:2] & 0x1fff = 0 or ip[6:2] & 0x1fff = 185"),
        ("less 60 or 70", "less 60 or less 70"),
        ("greater 60 and 70", "greater 60 and greater 70"),
        // Other words, and words in another order.
        ("vlan:10", "vlan 10"),
        ("vlan id 10", "vlan 10"),
        ("port range 80-90", "portrange 80-90"),
        ("tcp port range 80-90", "tcp portrange 80-90"),
        ("src port range 80 - 90", "src portrange 80-90"),
        ("port tcp 443", "tcp port 443"),
        ("src port udp 53", "udp src port 53"),
        ("ip addr 192.0.2.10", "ip host 192.0.2.10"),
        ("src addr 192.0.2.10", "src host 192.0.2.10"),
        ("ether addr ff:ff:ff:ff:ff:ff", "ether host ff:ff:ff:ff:ff:ff"),
        ("ethernet host ff:ff:ff:ff:ff:ff", "ether host ff:ff:ff:ff:ff:ff"),
        ("ethernet dst ff:ff:ff:ff:ff:ff", "ether dst ff:ff:ff:ff:ff:ff"),
        ("subnet 198.51.100.0/24", "net 198.51.100.0/24"),
        ("network 198.51.100.0/24", "net 198.51.100.0/24"),
        ("cidr 198.51.100.0/24", "net 198.51.100.0/24"),
        ("src subnet 198.51.100.0/24", "src net 198.51.100.0/24"),
        ("dst network 198.51.100.0/24", "dst net 198.51.100.0/24"),
        ("src != 192.0.2.10", "not src host 192.0.2.10"),
        ("dst != 198.51.100.0/24", "not dst net 198.51.100.0/24"),
        ("src != 192.0.2.10 dst != 198.51.100.80", "not src host 192.0.2.10 and not dst host 198.51.100.80"),
        ("src=192.0.2.10", "src host 192.0.2.10"),
        ("srcport 80", "src port 80"),
        ("src-port 80", "src port 80"),
        ("src.port 80", "src port 80"),
        ("dstport 80", "dst port 80"),
        ("dst-port 80", "dst port 80"),
        ("dst.port 80", "dst port 80"),
        ("tcp dstport >= 1024", "tcp dst portrange 1024-65535"),
        ("src_ip 192.0.2.10", "src host 192.0.2.10"),
        ("ttl < 64", "ip[8] < 64"),
        ("df", "ip[6] & 0x40 != 0"),
        ("mf", "ip[6] & 0x20 != 0"),
        ("fragments", "ip[6:2] & 0x3fff != 0"),
        ("ip ttl < 64", "ip[8] < 64"),
        ("http or dns", "tcp port 80 or port 53"),
        ("not ipv6", "not ip6"),
        ("https or dns", "tcp port 443 or port 53"),
        ("not arp and not dns", "not arp and not port 53"),
        ("dhcp or dns", "udp port 67 or udp port 68 or port 53"),
        ("198.51.100.0/24 or 192.0.2.0/24", "net 198.51.100.0/24 or net 192.0.2.0/24"),
        ("192.0.2.10 and not ssh", "host 192.0.2.10 and not tcp port 22"),
        ("ether[0:6] = 0xffffffffffff", "ether dst ff:ff:ff:ff:ff:ff"),
        ("ether[6:6] != 0xffffffffffff", "not ether src ff:ff:ff:ff:ff:ff"),
        ("ether[0:6] = ff:ff:ff:ff:ff:ff", "ether dst ff:ff:ff:ff:ff:ff"),
        ("port != 53", "not port 53"),
        ("port > 79 and < 91", "portrange 80-90"),
        ("tcp flags syn", "tcp[13] & 2 != 0"),
        ("udp dport 53", "udp dst port 53"),
        ("ip version 6", "ip6"),
        ("tcp host 192.0.2.10", "tcp and host 192.0.2.10"),
        ("host 198.51.100.80:80", "host 198.51.100.80 and port 80"),
    ]),
    ("SUNATM", &[("vci 5 or 6", "vci (5 or 6)"), ("vpi 1 or 2 or 5", "vpi (1 or 2 or 5)"), ("vci = 5 or 6", "vci (5 or 6)")]),
    ("MTP2", &[("sio 5 or 6", "sio (5 or 6)")]),
    ("IEEE802_11", &[
        ("beacon", "subtype beacon"),
        ("wlan type beacon", "subtype beacon"),
        ("type beacon", "subtype beacon"),
        ("type mgt and probe-req", "subtype probe-req"),
    ]),
];

/// Packets of the captures, some with changes, some with two fields equal, and some that no capture has.
fn packets(linktype: LinkType) -> Vec<Packet> {
    let mut rng = Rng::new(0x5eed);
    let captures = corpus::captures().into_iter().filter(|capture| capture.linktype == linktype);
    let mut packets: Vec<Packet> = captures.flat_map(|capture| capture.packets).collect();
    for at in 0..packets.len() {
        packets.push(mutate::headers(&packets[at], &mut rng));
        // Of IPv4 in Ethernet, addresses and ports.
        for (from, to) in [(26..30, 30), (34..36, 36)] {
            let mut equal = packets[at].clone();
            if equal.bytes.len() >= to + from.len() {
                equal.bytes.copy_within(from, to);
                packets.push(equal);
            }
        }
    }
    for session in 4..7 {
        let mut bytes = vec![0; 60];
        bytes[12..20].copy_from_slice(&[0x88, 0x64, 0x11, 0, 0, session, 0, 2]);
        packets.push(Packet::whole(bytes));
    }
    for _ in 0..2000 {
        let bytes = (0..40).map(|_| *rng.pick(&[0, 1, 2, 5, 6, 0x40, 0x80])).collect();
        packets.push(Packet::whole(bytes));
    }
    packets
}

#[test]
fn what_is_suggested_is_what_is_meant() {
    let mut packets_of = HashMap::new();
    for (linktype, mistakes) in MEANT {
        let linktype = testkit::linktype::by_name(linktype).expect("a link type");
        let packets: &Vec<Packet> = packets_of.entry(linktype).or_insert_with(|| packets(linktype));
        let compiler = Compiler::new(linktype);
        for (mistake, meant) in *mistakes {
            let error = helped(&compiler, mistake).expect(mistake);
            let help = error.diagnostic.help.as_deref().unwrap_or_default();
            let suggested = suggested(help).unwrap_or_else(|| panic!("{mistake}: {error} {help}"));
            let [suggested_filter, right] = [suggested, meant].map(|text| {
                compiler.compile(text).unwrap_or_else(|error| panic!("{mistake}: {text}: {error}"))
            });
            let mut counts = [0, 0];
            for packet in packets {
                let answer = right.matches(&packet.bytes);
                assert_eq!(
                    suggested_filter.matches(&packet.bytes),
                    answer,
                    "{mistake}: {suggested}, not {meant}"
                );
                counts[usize::from(answer)] += 1;
            }
            assert!(counts.iter().all(|count| *count > 0), "{mistake}: {counts:?} packets tell nothing");
        }
    }
}

/// Where no filter says it, or the one that does has another meaning than it seems to.
#[test]
fn what_is_not_suggested() {
    let strict = Compiler::new(LinkType::EN10MB).dialect(pflang::Dialect::STRICT);
    let mtp2 = Compiler::new(testkit::linktype::by_name("MTP2").expect("a link type"));
    for (compiler, mistake, expected) in [
        (
            &compiler(),
            "vlan 5 or 6",
            Some(
                "did you mean `vlan 5 or vlan 6`? It gets PF101: `vlan 6`: this is looked for inside the encapsulation to its left, although the two are alternatives",
            ),
        ),
        (
            &compiler(),
            "mtu > 1500",
            Some(
                "`len` counts the link header, too: of Ethernet, packets larger than 1500 bytes are `len > 1514`",
            ),
        ),
        (&compiler(), "tcp[13] = 2 and 18", None),
        (&compiler(), "tcp.srcport == udp.srcport", Some(OTHER)),
        (&compiler(), "eth.src == eth.dst", Some(OTHER)),
        (&compiler(), "ip.src == ipv6.src", Some(OTHER)),
        (&compiler(), "tcp.port == tcp.flags.syn", Some(OTHER)),
        (&compiler(), "ip.version > 4", Some(OTHER)),
        (&compiler(), "mpls.label != 5", Some(OTHER)),
        (
            &strict,
            "vxlan.vni == 5",
            Some(
                "it is written `vxlan 5`, but `vxlan` is an extension: compile it without the `strict` dialect",
            ),
        ),
        (
            &mtp2,
            "tcp or 6",
            Some(
                "what works on it: `fisu`, `sio` and the other SS7 words, `link[…]`, `len`, `less`, `greater`",
            ),
        ),
    ] {
        let error = helped(compiler, mistake).expect(mistake);
        assert_eq!(error.diagnostic.help.as_deref(), expected, "{mistake}");
    }
}

const OTHER: &str = "capture filters have another language: `tcp port 80`, `host 10.0.0.1`, `ip[8] < 5`";
