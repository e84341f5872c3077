//! Every link type × every primitive × packets that walk both programs' branches, cut at every length: the
//! graph in the interpreter, before and after optimisation, says what libpcap's unoptimised program says in
//! `bpf_filter`, and what one rejects as a filter the other rejects.
//!
//! Where libpcap's program loses the offset of a header ([`testkit::scratch`]) there is nothing to compare with.

use pflang::internals::ir::{Graph, build, interp, verify};
use pflang::internals::lower::{self, Options};
use pflang::internals::opt;
use pflang::internals::syntax::parse::parse;
use pflang::{Code, Diagnostic, Dialect, Limits, NoNames};
use testkit::expr::Generator;
use testkit::linktype::LinkType;
use testkit::oracle::{self, BpfProgram, Libpcap};
use testkit::packet::Packet;
use testkit::rng::Rng;
use testkit::{corpus, linktype, walk};

/// Primitives that look at a link-layer header, and enough of those behind it to see where it ends.
#[rustfmt::skip]
const PRIMITIVES: &[&str] = &[
    // What a link layer carries.
    "ip", "ip6", "arp", "rarp", "atalk", "aarp", "decnet", "sca", "lat", "mopdl", "moprc", "iso", "stp", "ipx", "netbeui",
    "ether proto 0", "ether proto 6", "ether proto 0x42", "ether proto 0x600", "ether proto 1500", "ether proto 1501",
    "ether proto 0x8847", "ether proto 0xfefe", "ether proto 70000",
    // What stands behind it.
    "tcp", "udp port 53", "tcp src port 80", "portrange 10-20", "icmp6", "ip proto 89", "ip6 proto 89", "ip[0] = 0x45",
    "ip6[6] = 44", "tcp[13] & 2 != 0", "udp[4:2] > 20", "arp[6:2] = 1", "icmp6[0] = 128", "decnet[0] = 1",
    "host 10.1.2.3", "src net 10.0.0.0/8", "host 2001:db8::1", "dst net fe80::/10", "decnet host 1.2",
    "ip protochain 17", "ip6 protochain 6", "protochain 51", "clnp", "esis", "isis", "isis l1", "isis proto 18", "iso proto 0x82", "ip multicast", "ip6 multicast",
    // Link-layer addresses.
    "ether host 12:34:56:78:9a:bc", "ether src 12:34:56:78:9a:bc", "ether dst 12:34:56:78:9a:bc",
    "ether src and dst 12:34:56:78:9a:bc", "broadcast", "multicast", "link broadcast", "link multicast",
    "wlan addr1 12:34:56:78:9a:bc", "wlan addr2 12:34:56:78:9a:bc", "wlan addr3 12:34:56:78:9a:bc",
    "wlan addr4 12:34:56:78:9a:bc", "wlan ra 12:34:56:78:9a:bc", "wlan ta 12:34:56:78:9a:bc",
    "host $7", "link host $7", "link src $7", "link dst $7", "link src or dst $7",
    // Raw loads and lengths, possible anywhere.
    "", "link[0] = 1", "link[3:2] & 0xf0 != 0", "ether[len - 4:4] = 0x01020304", "len > 60", "less 20", "greater 100",
    "byte 4 = 9", "byte 4 < 9", "byte 4 > 9", "1 = 1", "radio[0] = 0", "radio[4:4] & 2 != 0",
    "len > 100 or ip", "not ip", "not (ip or ip6)", "link[0] = 0 and ip",
    // Directions.
    "inbound", "outbound", "ifindex 3",
    // LLC.
    "llc", "llc i", "llc s", "llc u", "llc rr", "llc rnr", "llc rej", "llc ui", "llc ua", "llc disc", "llc sabme", "llc test",
    "llc xid", "llc frmr", "not llc s",
    // 802.11.
    "type mgt", "type ctl", "type data", "wlan type data subtype qos-data", "type ctl subtype ack", "subtype beacon",
    "dir nods", "dir tods", "wlan dir fromds", "dir dstods", "dir 5", "not type data and link[1] = 0",
    // pf logs.
    "on em0", "ifname vtnet12", "rset abcdefghijk", "ruleset a", "rnr 5", "rulenum 70000", "srnr 6", "reason match", "reason 7",
    "action drop", "action pass", "on abcdefghijklmno", "on abcdefghijklmnop",
    // ATM.
    "lane", "metac", "bcc", "oamf4ec", "oamf4sc", "sc", "ilmic", "oam", "oamf4", "connectmsg", "metaconnect",
    "vpi 7", "vpi = 7", "vpi != 7", "vpi < 7", "vpi >= 7", "vci 700", "vci > 700", "vci <= 700", "vci (1 or 2 or 70000)",
    "lane and ip", "lane and ether src 12:34:56:78:9a:bc", "lane and vpi 3", "lane and lane and ipx", "lane and llc",
    "lane and broadcast", "lane and vlan and ip", "not lane or ip", "lane and link[0] = 1",
    // SS7.
    "fisu", "lssu", "msu", "hfisu", "hlssu", "hmsu", "sio 77", "opc 4660", "dpc > 4660", "sls 9", "hsio != 77", "hopc 4660",
    "hdpc 4660", "hsls < 9", "sls 16", "opc 16384", "dpc (1 or 2)", "sio >= 3", "sio 256",
    // Encapsulation on top.
    "vlan", "vlan 10 and ip", "vlan and vlan and arp", "mpls", "mpls 1000 and ip6", "mpls and mpls and tcp port 80",
    "pppoed", "pppoes", "pppoes 7 and ip", "pppoes and tcp port 80", "pppoes and link[0] = 0", "vlan and pppoes and ip6",
    "geneve", "geneve 7 and ip", "vlan and ipx", "vlan and llc", "vlan and ether proto 6", "pppoes and iso",
];

#[test]
fn every_primitive_on_every_linktype() {
    let Some(pcap) = oracle::libpcap("the link types") else { return };
    let mut tally = Tally::default();
    for linktype in linktype::all().chain([LinkType::BACNET_MS_TP]) {
        for text in PRIMITIVES {
            compare(pcap, linktype, text, &seeds(), &mut tally);
        }
    }
    tally.finish(1_000_000);
}

/// `LINKTYPES_SEED` and `LINKTYPES_ROUNDS` (expressions for each link type) run others, and more.
#[test]
fn generated_expressions_on_every_linktype() {
    let Some(pcap) = oracle::libpcap("generated expressions on all link types") else { return };
    let number = |name: &str, default| {
        std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
    };
    let (seed, rounds) = (number("LINKTYPES_SEED", 0x11c7), number("LINKTYPES_ROUNDS", 40));
    eprintln!("seed {seed}");
    let mut tally = Tally::default();
    for linktype in linktype::all() {
        let mut generator = Generator::new(linktype, seed);
        for _ in 0..rounds {
            compare(pcap, linktype, &generator.expression(), &seeds(), &mut tally);
        }
    }
    tally.finish(10_000 * rounds);
}

#[test]
fn real_packets() {
    let Some(pcap) = oracle::libpcap("real packets of all link types") else { return };
    let mut tally = Tally::default();
    for capture in corpus::captures() {
        let step = capture.packets.len() / 4 + 1;
        let seeds: Vec<Packet> = capture.packets.iter().step_by(step).cloned().collect();
        for text in PRIMITIVES {
            compare(pcap, capture.linktype, text, &seeds, &mut tally);
        }
    }
    tally.finish(0);
}

/// Files name link types that nobody has heard of: those are refused, or take what needs no knowledge of them.
#[test]
fn every_number_is_accepted_or_refused_alike() {
    let Some(pcap) = oracle::libpcap("unknown link types") else { return };
    let mut tally = Tally::default();
    for number in (0..=300).chain([9999]) {
        for text in [
            "",
            "link[0] = 1",
            "len > 7",
            "ip",
            "llc",
            "inbound",
            "ifindex 1",
            "vlan",
            "ether host 1:2:3:4:5:6",
        ] {
            compare(pcap, LinkType::new(number), text, &[], &mut tally);
        }
    }
    tally.finish(0);
}

/// What needs no knowledge of headers is no question of the link type: an extension, which `--strict` refuses.
#[test]
fn link_types_that_nobody_knows_have_lengths_and_bytes() {
    let lowered = |linktype, text: &str| {
        let (dialect, limits) = (Dialect::default(), Limits::default());
        let ast = parse(text, &dialect, &limits).expect("it is a filter");
        let options = Options {
            linktype,
            netmask: None,
            dialect,
            names: &NoNames,
            limits,
            tables: true,
            chain_ends: None,
        };
        lower::lower(&ast, &options).map(|lowered| build::build(lowered.tree, &[(lowered.root, 1)]))
    };
    let linktypes =
        [LinkType::EN3MB, LinkType::new(2), LinkType::new(290), LinkType::new(299), LinkType::new(70_000)];
    for linktype in linktypes {
        for (text, accepted) in [
            ("", true),
            ("len > 3", true),
            ("less 3", false),
            ("greater 4 and link[1] = 7", true),
            ("not link[0:2] = 7", false),
            ("byte 0 = 0", true),
        ] {
            let graph = lowered(linktype, text).expect(text);
            let found = interp::Interp::new(&graph).run(&[0, 7, 8, 9], 4) != pflang::internals::ir::REJECT;
            assert_eq!(found, accepted, "{linktype}: {text}");
            assert!(ours(linktype, text).is_err(), "{linktype}: {text}");
        }
        for text in ["ip", "port 80", "vlan", "ether host 1:2:3:4:5:6", "inbound", "llc", "host 10.0.0.1"] {
            let error = lowered(linktype, text).expect_err(text);
            assert!(matches!(error.code, Code::LinkType | Code::LiveOnly), "{linktype}: {text}: {error:?}");
        }
    }
}

/// What stands in a loopback header is in the byte order of the machine that captured, and so is the file. On
/// machines like this one, a file of the other order is one of type `LOOP`.
#[test]
fn loopback_files_of_the_other_byte_order() {
    let Some(pcap) = oracle::libpcap("byte-swapped files") else { return };
    if cfg!(target_endian = "big") {
        testkit::say("SKIPPED: byte-swapped loopback files are LOOP on little-endian machines only");
        return;
    }
    let swapped = oracle::Options { swapped: true, ..oracle::Options::default() };
    let mut tally = Tally::default();
    for text in ["ip", "ip6", "arp", "tcp port 80", "not ip6", "link[0] = 1"] {
        let theirs = pcap.compile(LinkType::NULL, text, swapped).expect(text);
        let graph = ours(LinkType::LOOP, text).expect(text);
        let packets = walk::packets(theirs.insns(), &seeds(), walk::Budget::default());
        judge(LinkType::LOOP, text, &theirs, &graph, &packets, &mut tally);
    }
    tally.finish(1_000);
}

/// COMPAT: libpcap swaps the address family of ENC in a file of the other byte order. Here the family is in the
/// machine's order, whatever the file's.
#[test]
fn enc_files_of_the_other_byte_order() {
    let Some(pcap) = oracle::libpcap("byte-swapped files") else { return };
    let swapped = oracle::Options { swapped: true, ..oracle::Options::default() };
    let theirs = pcap.compile(LinkType::ENC, "ip", swapped).expect("it compiles");
    let graph = ours(LinkType::ENC, "ip").expect("it compiles");
    let packet = |family: [u8; 4]| [&family[..], &[0; 8], &[0x45; 20]].concat();
    let accepts = |data: &[u8]| {
        let wire_len = data.len() as u32;
        interp::Interp::new(&graph).run(data, wire_len) != pflang::internals::ir::REJECT
    };
    let (native, other) = (packet(2_u32.to_ne_bytes()), packet(2_u32.swap_bytes().to_ne_bytes()));
    assert!(accepts(&native) && !accepts(&other));
    assert!(!theirs.accepts(&native, 32) && theirs.accepts(&other, 32));
}

/// The length of an 802.11 header behind radiotap depends on eleven bits in three places: all of them.
#[test]
fn every_padding_of_radiotap() {
    let Some(pcap) = oracle::libpcap("802.11 padding") else { return };
    let mut packets = Vec::new();
    for bits in 0..1u32 << 9 {
        let bit = |at: u32, yes: u8| if bits >> at & 1 == 1 { yes } else { 0 };
        for length in [8, 13, 26] {
            let mut bytes = vec![0, 0, length, 0];
            bytes.extend([bit(0, 0x02) | bit(1, 0x01), 0, 0, bit(2, 0x80)]);
            bytes.resize(length.into(), 0);
            let flags = if bit(1, 1) == 1 { 16 } else { 8 };
            let control = bit(4, 0x08) | bit(5, 0x04) | bit(6, 0x80) | bit(7, 0x40);
            bytes.push(control);
            bytes.push(bit(8, 0x01));
            bytes.resize(usize::from(length) + 40, 0);
            bytes[flags] |= bit(3, 0x20);
            // Where the type is depends on the padding: offsets 30 to 33 of the frame and behind.
            for at in 30..36 {
                bytes[usize::from(length) + at] = if at % 2 == 0 { 0x08 } else { 0x00 };
            }
            packets.push(Packet::whole(bytes));
        }
    }
    let mut tally = Tally::default();
    for text in ["ip", "ip or len > 60", "len > 60 or ip", "arp", "llc i"] {
        let (theirs, graph) = both(pcap, LinkType::IEEE802_11_RADIO, text, &mut tally).expect("it compiles");
        judge(LinkType::IEEE802_11_RADIO, text, &theirs, &graph, &packets, &mut tally);
    }
    tally.finish(100_000);
}

/// What a link type does not allow is refused with its name, and with what is possible.
#[test]
fn errors_say_what_is_possible() {
    let cases = [
        (LinkType::MTP2, "tcp", Code::LinkType, "MTP2", "`fisu`"),
        (LinkType::USB_LINUX, "port 80", Code::LinkType, "USB_LINUX", "`link[…]`"),
        (LinkType::new(208), "ip", Code::LinkType, "208", "`link[…]`"),
        (LinkType::EN3MB, "", Code::LinkType, "EN3MB", "nothing"),
        (LinkType::new(9999), "link[0] = 1", Code::LinkType, "9999", "nothing"),
        (LinkType::EN10MB, "vpi 3", Code::LinkType, "EN10MB", "SUNATM"),
        (LinkType::EN10MB, "on em0", Code::LinkType, "EN10MB", "PFLOG"),
        (LinkType::EN10MB, "type data", Code::LinkType, "EN10MB", "IEEE802_11"),
        (LinkType::PPI, "type data", Code::LinkType, "PPI", "IEEE802_11"),
        (LinkType::RAW, "llc", Code::LinkType, "RAW", "EN10MB"),
        (LinkType::EN10MB, "msu", Code::LinkType, "EN10MB", "MTP2"),
        (LinkType::EN10MB, "inbound", Code::LiveOnly, "EN10MB", "LINUX_SLL2"),
        (LinkType::LINUX_SLL, "ifindex 3", Code::LiveOnly, "LINUX_SLL", "LINUX_SLL2"),
        (LinkType::MTP2, "opc 16384", Code::OutOfRange, "16383", ""),
        (LinkType::PFLOG, "on abcdefghijklmnop", Code::OutOfRange, "15", ""),
    ];
    for (linktype, text, code, message, help) in cases {
        let error = ours(linktype, text).expect_err(text);
        assert_eq!(error.code, code, "{text}: {error:?}");
        assert!(error.message.contains(message), "{text}: {error:?}");
        assert!(error.help.unwrap_or_default().contains(help), "{text}: no word of {help}");
    }
}

/// libpcap reads `!=` in front of an ATM or SS7 number as `=`: so do we, and say so.
#[test]
fn not_equal_is_equal() {
    for (linktype, text) in [(LinkType::SUNATM, "vpi != 7"), (LinkType::MTP2, "sio != 7")] {
        let dialect = Dialect::STRICT;
        let lints = pflang::Compiler::new(linktype).dialect(dialect).lints(text).expect(text);
        assert!(lints.iter().any(|lint| lint.code == Code::NotEqualIsEqual), "{text}: {lints:?}");
    }
}

/// Numbers of one run.
#[derive(Default)]
struct Tally {
    filters: u32,
    refused: u32,
    pairs: u64,
    accepted: u64,
    undefined: u64,
    wrong: Vec<String>,
}

impl Tally {
    fn finish(&self, at_least: u64) {
        let Tally { filters, refused, pairs, accepted, undefined, wrong } = self;
        eprintln!(
            "{filters} filters, {refused} refused; {pairs} pairs, {accepted} accepted, {undefined} undefined"
        );
        assert!(
            wrong.is_empty(),
            "{} differences:\n{}",
            wrong.len(),
            wrong[..wrong.len().min(60)].join("\n")
        );
        assert!(*pairs >= at_least, "only {pairs} pairs: the test has lost its power");
    }
}

/// Where walks start: from nothing, from all bits set, from no pattern at all.
fn seeds() -> [Packet; 3] {
    let mut rng = Rng::new(0x5eed);
    let noise = (0..90).map(|_| rng.next_u32() as u8).collect();
    [Packet::whole(Vec::new()), Packet::whole(vec![0xff; 90]), Packet::whole(noise)]
}

/// Packets walked from `seeds`, on both sides.
fn compare(pcap: Libpcap, linktype: LinkType, text: &str, seeds: &[Packet], tally: &mut Tally) {
    let Some((theirs, graph)) = both(pcap, linktype, text, tally) else { return };
    let budget = walk::Budget { runs: 150, steps: 2000, bytes: 300 };
    let mut packets = walk::packets(theirs.insns(), seeds, budget);
    packets.extend(seeds.iter().cloned());
    judge(linktype, text, &theirs, &graph, &packets, tally);
}

/// The two programs, if both compilers accept the text.
fn both(pcap: Libpcap, linktype: LinkType, text: &str, tally: &mut Tally) -> Option<(BpfProgram, Graph)> {
    tally.filters += 1;
    match (pcap.compile(linktype, text, oracle::Options::default()), ours(linktype, text)) {
        (Ok(theirs), Ok(graph)) => Some((theirs, graph)),
        (Err(_), Err(_)) => {
            tally.refused += 1;
            None
        }
        (Err(error), Ok(_)) => {
            tally.wrong.push(format!("{linktype}: `{text}`: only libpcap refuses it: {error}"));
            None
        }
        // Names are not what this is about.
        (Ok(_), Err(error)) if error.code == Code::UnknownName => None,
        (Ok(_), Err(error)) => {
            tally.wrong.push(format!("{linktype}: `{text}`: libpcap takes it, we say: {}", error.message));
            None
        }
    }
}

fn ours(linktype: LinkType, text: &str) -> Result<Graph, Box<Diagnostic>> {
    let (dialect, limits) = (Dialect::STRICT, Limits::default());
    let ast = parse(text, &dialect, &limits)?;
    let options =
        Options { linktype, netmask: None, dialect, names: &NoNames, limits, tables: true, chain_ends: None };
    let lowered = lower::lower(&ast, &options)?;
    Ok(build::build(lowered.tree, &[(lowered.root, 1)]))
}

/// Every packet, cut at every length.
fn judge(
    linktype: LinkType,
    text: &str,
    theirs: &BpfProgram,
    graph: &Graph,
    packets: &[Packet],
    tally: &mut Tally,
) {
    verify::verify(graph).expect("every load is guarded");
    let optimised = opt::optimise(graph);
    let (mut interp, mut fast) = (interp::Interp::new(graph), interp::Interp::new(&optimised));
    for packet in packets {
        let lengths = (0..packet.bytes.len().min(120)).chain([packet.bytes.len()]);
        for data in lengths.map(|length| &packet.bytes[..length]) {
            let Some(expected) = theirs.answer(data, packet.wire_len) else {
                tally.undefined += 1;
                continue;
            };
            let got = interp.run(data, packet.wire_len) != 0;
            let got_fast = fast.run(data, packet.wire_len) != 0;
            tally.pairs += 1;
            tally.accepted += u64::from(expected);
            if expected != got || expected != got_fast {
                let report = format!(
                    "{linktype}: `{text}`: libpcap {expected}, we {got}, optimised {got_fast}: {data:02x?}"
                );
                tally.wrong.push(report);
                return;
            }
        }
    }
}
