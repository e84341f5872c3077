//! What is said about filters.

use super::explain;
use crate::names::FileNames;
use crate::options::{Dialect, Limits, NoNames};
use crate::syntax::parse::parse;
use wire::LinkType;

fn explained(source: &str) -> super::Explanation {
    let ast =
        parse(source, &Dialect::default(), &Limits::default()).unwrap_or_else(|e| panic!("{source}: {e:?}"));
    explain(&ast, source, LinkType::EN10MB, Dialect::default(), &NoNames)
}

#[test]
fn notes_follow_the_dialect() {
    let source = "vlan and tcp port 80 and tcp[13] = 2 and tcp";
    let ast = parse(source, &Dialect::MODERN, &Limits::default()).unwrap();
    let [strict, modern] = [Dialect::STRICT, Dialect::MODERN]
        .map(|dialect| explain(&ast, source, LinkType::EN10MB, dialect, &NoNames).notes);
    assert_eq!(strict.len(), 4);
    assert!(strict.iter().zip(&modern).all(|(strict, modern)| strict != modern), "{modern:?}");

    let source = "icmp6 or icmp6[0] = 128";
    let ast = parse(source, &Dialect::MODERN, &Limits::default()).unwrap();
    let [strict, modern] = [Dialect::STRICT, Dialect::MODERN]
        .map(|dialect| explain(&ast, source, LinkType::EN10MB, dialect, &NoNames));
    assert_eq!((strict.notes.len(), modern.notes.len()), (0, 2));
    assert_eq!(strict.lines[1].text, "the packet is ICMPv6, with no extension header but a fragment's");
    assert_eq!(modern.lines[1].text, "the packet is ICMPv6");
}

#[test]
fn an_outline() {
    let text =
        explained("tcp port 80 and not (host 10.0.0.1 or net 192.168) and (vlan 5 or less 64)").to_string();
    assert_eq!(
        text,
        "\
A packet (EN10MB) is accepted if all of these hold:
  - the TCP source or destination port is 80
  - none of these holds:
      - the source or destination is 10.0.0.1
      - the source or destination is in the network 192.168.0.0/16
  - any of these holds:
      - the packet has a VLAN tag with number 5
      - the packet has at most 64 bytes
In full: tcp port 80 and not (host 10.0.0.1 or net 192.168) and (vlan 5 or less 64)
Notes:
  - What stands to the right of a tag or tunnel, even past `or`, `not` and parentheses, is looked for behind it.
  - IPv4 addresses are looked for in IPv4 headers and, as sender or target, in ARP and RARP.
  - Ports are read from the first fragment of IPv4 packets and from IPv6 packets without extension headers.
  - Lengths are those on the wire, however much was captured.
"
    );
    assert_eq!(explained("").to_string(), "Every packet (EN10MB) is accepted.\n");
}

/// The words for one primitive each.
#[rustfmt::skip]
const WORDS: &[(&str, &str)] = &[
    ("tcp", "the packet is TCP over IPv4 or IPv6"), ("vpi != 1", "the ATM virtual path identifier (VPI) is 1"), ("icmp", "the packet is ICMP over IPv4"), ("arp", "the packet is ARP"),
    ("isis", "the packet is IS-IS"), ("l1", "the packet is IS-IS of level 1"),
    ("not tcp", "not: the packet is TCP over IPv4 or IPv6"), ("not not tcp", "the packet is TCP over IPv4 or IPv6"),
    ("host 10.0.0.1", "the source or destination is 10.0.0.1"), ("src net 10.0.0.0/8", "the source is in the network 10.0.0.0/8"),
    ("src net 10", "the source is in the network 10.0.0.0/8"), ("net 11272", "the source or destination is in the network 44.8.0.0/16"), ("host 1", "the source or destination is 0.0.0.1 (the number 1)"), ("net 10.1", "the source or destination is in the network 10.1.0.0/16"),
    ("arp src host 10.0.0.1", "the ARP sender is 10.0.0.1"), ("ip6 dst host ::1", "the IPv6 destination is ::1"),
    ("ether src 1:2:3:4:5:6", "the link-layer source is 01:02:03:04:05:06"), ("wlan ra 1:2:3:4:5:6", "the 802.11 receiver is 01:02:03:04:05:06"),
    ("src and dst host ace", "the source and destination are both the host `ace`"),
    ("src and dst net 10.0.0.0/8", "the source and destination are both in the network 10.0.0.0/8"),
    ("portrange 90-80", "the TCP, UDP or SCTP source or destination port is in the range 80-90"),
    ("wlan addr1 1:2:3:4:5:6", "the first 802.11 address is 01:02:03:04:05:06"),
    ("ip[12:4] = 0x0a000001", "the IPv4 source address is 10.0.0.1 (0x0a000001)"),
    ("ip[6:2] & 0x3fff != 0", "the IPv4 more-fragments bit and fragment offset is not 0"),
    ("on em0", "pf logged it on an interface whose name begins with em0"),
   
    ("port http", "the source or destination port is `http`, over the protocols that have it"), ("udp dst port 53", "the UDP destination port is 53"),
    ("portrange 1-5", "the TCP, UDP or SCTP source or destination port is in the range 1-5"),
    ("port in {80, 443, 1-5}", "the TCP, UDP or SCTP source or destination port is one of 80, 443, 1-5"),
    ("host in {a,b,c,d,e,f,g,h,i,@j}", "the source or destination is one of a, b, c, d, e, f, g, h and 2 more"),
    (r"ip proto \tcp", r"the IPv4 protocol is `tcp`"), ("ether proto 0x800", "the link-layer protocol (EtherType or LLC address) is 0x800"),
    ("ip6 protochain 6", "the chain of IPv6 headers leads to protocol 6"), ("gateway gw", "the frame goes to or comes from the gateway `gw`, and its IP addresses are others"),
    ("ip broadcast", "the destination is an IPv4 broadcast address"), ("multicast", "the frame's destination is a group address (multicast or broadcast)"),
    ("vlan", "the packet has a VLAN tag"), ("geneve 5", "the packet has a Geneve header (UDP port 6081) with network identifier 5"),
    ("type mgt subtype beacon", "the 802.11 frame type is mgt, subtype beacon"), ("dir tods", "the 802.11 frame goes to an access point (tods)"),
    ("llc xid", "the frame is an LLC XID frame"), ("reason match", "pf's reason was `match`"), ("on eth0", "pf logged it on an interface whose name begins with eth0"),
    ("vci > 5", "the ATM virtual channel identifier (VCI) is greater than 5"), ("hopc 5", "the SS7 originating point code (`hopc`) is 5"),
    ("msu", "the packet is a message signal unit"), ("oamf4sc", "the packet is on the ATM segment OAM F4 circuit"),
    ("byte 0 < 5", "byte 0 of the frame is less than 5"), ("byte 0 & 5", "`0 & 5` is not 0, which never holds: 0 is in the place of byte 0"),
    ("byte 0 | 0x5", "`0 | 0x5` is not 0, which always holds: 0 is in the place of byte 0"), ("byte 0 | 0", "`0 | 0` is not 0, which never holds: 0 is in the place of byte 0"),
    ("tcp[tcpflags] & (tcp-syn|tcp-fin) != 0", "at least one of the TCP flags FIN, SYN is set"),
    ("tcp[13] & 2 = 2", "the TCP flag SYN is set"), ("tcp[13] = 18", "the TCP flags set are exactly SYN, ACK"),
    ("tcp[13] & 18 = 2", "of the TCP flags SYN, ACK exactly these are set: SYN"), ("tcp[tcpflags] & tcp-rst = 0", "the TCP flag RST is not set"),
    ("ip[8] < 5", "the IPv4 time to live is less than 5"), ("ip[0] & 0xf != 5", "the length of the IPv4 header in 32-bit words is not 5"),
    ("icmp[icmptype] = icmp-echo", "the ICMP type is 8 (echo request)"), ("len >= 5", "the length of the packet is at least 5"),
    ("link[3:2] = 5", "the number in bytes 3 to 4 of the frame is 5"), ("udp[20] = 1", "byte 20 counted from the beginning of the UDP header is 1"),
    ("ip6[40] = 135", "byte 40 counted from the beginning of the IPv6 header is 135"), ("ip6[38:2] = 1", "the number in bytes 38 to 39 of the IPv6 header is 1"),
    ("ip6[39:2] = 1", "the number in bytes 39 to 40 counted from the beginning of the IPv6 header is 1"), ("ip[20] = 1", "byte 20 counted from the beginning of the IPv4 header is 1"),
    ("ether proto 0x88cc", "the link-layer protocol (EtherType or LLC address) is 0x88cc"), ("ip[1] & 0xf0 = 0x10", "`ip[1] & 0xf0` (where ip[1] is the IPv4 type of service) is 0x10"),
    ("ip proto 0x2f", "the IPv4 protocol is 0x2f"), ("vlan 0X64", "the packet has a VLAN tag with number 0X64"), ("port in {0x50, 443}", "the TCP, UDP or SCTP source or destination port is one of 0x50, 443"),
    ("tcp[((tcp[12:1] & 0xf0) >> 2):4] = 0x47455420", "the first four bytes of the TCP payload is \"GET \" (0x47455420)"),
    ("((ip[2:2] - ((ip[0]&0xf)<<2)) - ((tcp[12]&0xf0)>>2)) != 0", "`(ip[2:2] - ((ip[0] & 0xf) << 2)) - ((tcp[12] & 0xf0) >> 2)` (where ip[2:2] is the IPv4 total length, (ip[0] & 0xf) << 2 is the length of the IPv4 header) is not 0"),
    ("ip[8] + ip[9] * 2 = 7", "`ip[8] + (ip[9] * 2)` (where ip[8] is the IPv4 time to live, ip[9] is the IPv4 protocol) is 7"),
    ("5 = len", "5 is the length of the packet"),
];

/// What names stand for, where they are known.
#[test]
fn names_are_told_with_what_they_stand_for() {
    let names = FileNames::new()
        .services("http 80/tcp\nhttps 443/tcp\nntp 123/udp\ndomain 53/tcp\ndomain 53/udp")
        .hosts("127.0.0.1 localhost\n::1 localhost\n10.0.0.1 ace")
        .networks("office 10.1.2.3")
        .ethers("2:0:0:0:0:1 ace")
        .protocols("tcp 6");
    let compiler = crate::Compiler::new(LinkType::EN10MB).names(std::sync::Arc::new(names));
    for (source, words) in [
        ("port http", "the TCP source or destination port is 80 (`http`)"),
        ("src port ntp", "the UDP source port is 123 (`ntp`)"),
        ("port domain", "the TCP, UDP or SCTP source or destination port is 53 (`domain`)"),
        ("udp port domain", "the UDP source or destination port is 53 (`domain`)"),
        ("port nothing", "the source or destination port is `nothing`, over the protocols that have it"),
        ("tcp port nothing", "the TCP source or destination port is `nothing`"),
        ("portrange https-http", "the TCP source or destination port is in the range 80-443 (`https-http`)"),
        (
            "portrange http-ntp",
            "the TCP, UDP or SCTP source or destination port is in the range 80-123 (`http-ntp`)",
        ),
        (
            "port in {http, ntp, 443, domain, other}",
            "the TCP, UDP or SCTP source or destination port is one of 80 (`http`, TCP only), 123 (`ntp`, UDP only), 443, 53 (`domain`), other (over the protocols that have it)",
        ),
        ("host ace", "the source or destination is 10.0.0.1 (`ace`)"),
        ("host localhost", "the source or destination is one of 127.0.0.1, ::1 (`localhost`)"),
        ("ip6 src host localhost", "the IPv6 source is ::1 (`localhost`)"),
        ("arp host ace", "the ARP sender or target is 10.0.0.1 (`ace`)"),
        ("ether src ace", "the link-layer source is 02:00:00:00:00:01 (`ace`)"),
        (
            "host in {localhost, 10.0.0.2}",
            "the source or destination is one of 127.0.0.1 or ::1 (`localhost`), 10.0.0.2",
        ),
        ("net office", "the source or destination is in the network 10.1.2.3/32 (`office`)"),
        (r"ip proto \tcp", "the IPv4 protocol is 6 (`tcp`)"),
        (r"ip6 protochain \tcp", "the chain of IPv6 headers leads to protocol 6 (`tcp`)"),
        (r"ether proto \ip", "the link-layer protocol (EtherType or LLC address) is `ip`"),
    ] {
        let explanation = compiler.explain(source).unwrap();
        assert_eq!(explanation.lines[0].text, words, "{source}");
    }
    assert_eq!(compiler.explain("src port http or ntp").unwrap().canonical, "src port http or src port ntp");
}

/// Without `tcp`, bytes of other protocols are read, and the number is no length of anything.
#[test]
fn fields_have_names_where_they_are_fields() {
    let payload = "(ip[2:2] - ((ip[0] & 15) << 2)) - ((tcp[12] & 240) >> 2) != 0";
    let note = "An operator asks for the protocol of its left operand only: what stands to its right is read whatever the packet carries.";
    for (source, is_named) in [(payload.to_owned(), false), (format!("tcp and {payload}"), true)] {
        let explained = explained(&source);
        let last = &explained.lines[explained.lines.len() - 1].text;
        assert_eq!(last == "the length of the TCP payload is not 0", is_named, "{last}");
        assert_eq!(explained.notes.contains(&note), !is_named, "{:?}", explained.notes);
    }
}

#[test]
fn words_for_each_primitive() {
    for (source, words) in WORDS {
        let explanation = explained(source);
        assert_eq!(explanation.lines.len(), 1, "{source}");
        assert_eq!(explanation.lines[0].text, *words, "{source}");
    }
}

#[test]
fn deep_and_long_filters_are_explained_in_time() {
    const N: usize = 100_000;
    for source in [
        "(".repeat(N) + "tcp" + &")".repeat(N),
        "not ".repeat(N) + "tcp",
        "host 10.0.0.1".to_owned() + &" or 10.0.0.2".repeat(N),
        "tcp and (udp or (".repeat(N / 10) + "arp" + &"))".repeat(N / 10),
        "ip[".repeat(N) + "1" + &"]".repeat(N) + " = 1",
        "len".to_owned() + &" + 1".repeat(N) + " = 1",
    ] {
        let explanation = explained(&source);
        assert!(explanation.to_string().len() < 60 * source.len());
    }
}

#[test]
fn names_do_not_reach_the_terminal_as_they_are() {
    let text = explained("host \\a\r[31m").to_string();
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
}

#[test]
fn the_full_form_keeps_hexadecimal_numbers() {
    for (source, full) in [
        ("tcp[13] & 0x12 = 0x12", "tcp[13] & 0x12 = 0x12"),
        ("ether proto 0x88cc or 2048", "ether proto 0x88cc or ether proto 2048"),
        ("port 80 or host ::1", "port 80 or host ::1"),
        ("host a1 and ip[0x0] = 1", "host a1 and ip[0x0] = 1"),
        ("ip[0] & 0xf = 5 and port 15 and ip[2] = 0xf", "ip[0] & 0xf = 5 and port 15 and ip[2] = 0xf"),
    ] {
        let explanation = explained(source);
        assert_eq!(explanation.canonical, full, "{source}");
        assert!(explained(full).canonical == full, "{full}");
    }
}

/// A number is not written in hexadecimal because the same number is elsewhere.
#[test]
fn decimal_numbers_stay_decimal() {
    let explanation = explained("ip[0] & 0xf = 5 and port 15 and len > 15 and ether proto 0x88cc");
    let words: Vec<&str> = explanation.lines.iter().skip(1).map(|line| line.text.as_str()).collect();
    let expected = [
        "the length of the IPv4 header in 32-bit words is 5",
        "the TCP, UDP or SCTP source or destination port is 15",
        "the length of the packet is greater than 15",
        "the link-layer protocol (EtherType or LLC address) is 0x88cc",
    ];
    assert_eq!(words, expected);
}

#[test]
fn only_ip4_addresses_are_looked_for_in_arp() {
    let has_note = |source: &str| explained(source).notes.iter().any(|note| note.contains("ARP"));
    for source in
        ["host 192.0.2.1", "net 10.0.0.0/8", "host ace", "host in {::1, 10.0.0.1}", "src host in {@hosts}"]
    {
        assert!(has_note(source), "{source}");
    }
    for source in
        ["host 2001:db8::1", "net 2001:db8::/32", "host in {::1, ::2}", "ip host 10.0.0.1", "port 80"]
    {
        assert!(!has_note(source), "{source}");
    }
}

#[test]
fn bytes_that_are_constants_are_sentences() {
    for (source, words) in [
        ("byte 0 & 1", "accepted if `0 & 1` is not 0, which never holds: 0 is in the place of byte 0\n"),
        (
            "not byte 0 | 1",
            "accepted if not: `0 | 1` is not 0, which always holds: 0 is in the place of byte 0\n",
        ),
    ] {
        let text = words_of(source).to_string();
        assert!(text.contains(words), "{text}");
    }
}

fn words_of(source: &str) -> super::Explanation {
    crate::Compiler::new(LinkType::EN10MB).explain(source).unwrap()
}

/// Each load has the note that is true of it.
#[test]
fn notes_on_what_transport_loads_read() {
    const FIRST: &str = "Bytes of a transport header are read from the first fragment";
    const ANY: &str = "what stands to its right is read whatever the packet carries";
    const VERSION: &str = "what stands to its right is read from IPv6 packets as if they were IPv4";
    const LATER: &str = "are read from later fragments as well";
    let payload = "(ip[2:2] - ((ip[0] & 0xf) << 2)) - ((tcp[12] & 0xf0) >> 2) != 0";
    for (source, expected) in [
        ("tcp[13] != 0", vec![FIRST]),
        ("len - tcp[12] > 5", vec![ANY]),
        ("tcp and len - tcp[12] > 5", vec![VERSION]),
        ("udp and ip[6:2] & 0x1fff != 0 and ip[2:2] - udp[0] > 0", vec![LATER]),
        (&format!("tcp and {payload}"), vec![LATER]),
        (&format!("tcp and ip[6:2] & 0x1fff = 0 and {payload}"), vec![FIRST]),
        (&format!("tcp port 80 and {payload}"), vec![FIRST]),
        (&format!("tcp[13] & 2 != 0 and {payload}"), vec![FIRST]),
    ] {
        let words = words_of(source);
        let found: Vec<&str> = [FIRST, ANY, VERSION, LATER]
            .into_iter()
            .filter(|text| words.notes.iter().any(|note| note.contains(text)))
            .collect();
        assert_eq!(found, expected, "{source}");
    }
}

/// Which tag or label a word asks for, and whether there has to be one in front of it.
#[test]
fn tags_and_labels_are_counted() {
    const BESIDE: &str = ", whether or not it has one in front of that";
    const LAST: &str = ": it is asked only whether a label in front of that would be the last, which packets without labels answer as well";
    let lines = |source: &str| -> Vec<String> {
        explained(source)
            .lines
            .into_iter()
            .map(|line| line.text)
            .filter(|text| text.contains("has a"))
            .collect()
    };
    let has = |what: &str| format!("the packet has {what}");
    for (source, expected) in [
        (
            "vlan 10 or vlan 20",
            [has("a VLAN tag with number 10"), has("a second VLAN tag with number 20") + BESIDE],
        ),
        ("vlan 10 and vlan 20", [has("a VLAN tag with number 10"), has("a second VLAN tag with number 20")]),
        ("mpls 99 or mpls", [has("an MPLS label with value 99"), has("a second MPLS label") + LAST]),
        ("mpls and mpls 5", [has("an MPLS label"), has("a second MPLS label with value 5")]),
        ("vlan and vxlan and vlan", [has("a VLAN tag"), has("a VLAN tag")]),
    ] {
        let found: Vec<String> = lines(source).into_iter().filter(|line| !line.contains("VXLAN")).collect();
        assert_eq!(found, expected, "{source}");
    }
    let scoped =
        crate::Compiler::new(LinkType::EN10MB).dialect(Dialect { scoped: true, ..Dialect::default() });
    assert_eq!(scoped.explain("vlan 10 or vlan 20").unwrap().lines[2].text, has("a VLAN tag with number 20"));
    assert!(
        explained("vlan and vlan and vlan and vlan 7").lines[4].text.contains("a 4th VLAN tag with number 7")
    );
}
