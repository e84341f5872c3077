//! The `tagged` dialect against an oracle that walks over tags branch by branch: a filter answers about a frame as libpcap's meaning does about the
//! frame without its tags.

use pflang::{Backend, Compiler, Dialect, Filter, Limits, LinkType, Packet};
use testkit::rng::Rng;

const TAGS_MAX: usize = 4;
const LABELS_MAX: usize = 8;

/// What stands in front of the network header.
#[derive(Debug, Default, PartialEq)]
struct Stack {
    tags: Vec<(u16, u16)>,
    session: Option<u16>,
    labels: Vec<u32>,
    /// The frame without all that; nothing where it was cut within.
    bare: Option<Vec<u8>>,
}

fn be16(frame: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]))
}

fn walk(frame: &[u8]) -> Stack {
    let mut stack = Stack::default();
    stack.bare = walk_on(frame, &mut stack);
    stack
}

fn walk_on(frame: &[u8], stack: &mut Stack) -> Option<Vec<u8>> {
    let mut at = 12;
    let mut kind = be16(frame, at)?;
    while matches!(kind, 0x8100 | 0x88a8 | 0x9100) && stack.tags.len() < TAGS_MAX {
        let id = be16(frame, at + 2)? & 0xfff;
        stack.tags.push((kind, id));
        at += 4;
        kind = be16(frame, at)?;
    }
    at += 2;
    let mut has_labels = matches!(kind, 0x8847 | 0x8848);
    if kind == 0x8864 {
        let protocol = be16(frame, at + 6)?;
        stack.session = be16(frame, at + 2);
        at += 8;
        match protocol {
            0x0021 => kind = 0x0800,
            0x0057 => kind = 0x86dd,
            0x0281 | 0x0283 => has_labels = true,
            // PPP's own: nothing that has an Ethernet type.
            _ => kind = 0x88b6,
        }
    }
    if has_labels {
        kind = 0x8847;
        let mut is_bottom = false;
        while !is_bottom && stack.labels.len() < LABELS_MAX {
            let word = u32::from_be_bytes(frame.get(at..at + 4)?.try_into().unwrap());
            stack.labels.push(word >> 12);
            is_bottom = word & 0x100 != 0;
            at += 4;
        }
        if is_bottom {
            match frame.get(at)? >> 4 {
                4 => kind = 0x0800,
                6 => kind = 0x86dd,
                _ => {}
            }
        }
    }
    Some([&frame[..12], &kind.to_be_bytes(), &frame[at..]].concat())
}

fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    *rng.pick(from)
}

/// A frame with some tags, sometimes a PPPoE header, sometimes labels, and a packet of some protocol.
fn frame(rng: &mut Rng) -> Vec<u8> {
    let mut frame: Vec<u8> = (0..12).map(|_| rng.below(3) as u8).collect();
    let tags = if rng.chance(1, 2) { rng.below(3) } else { rng.below(7) };
    for _ in 0..tags {
        frame.extend(pick(rng, &[0x8100_u16, 0x88a8, 0x9100]).to_be_bytes());
        frame.extend((rng.below(8) as u16 | pick(rng, &[0, 0x2000, 0xf000])).to_be_bytes());
    }
    let (kind, packet) = network(rng);
    let has_labels = rng.chance(1, 3);
    if rng.chance(1, 4) {
        frame.extend([0x88, 0x64, 0x11, 0]);
        frame.extend((rng.below(6) as u16).to_be_bytes());
        frame.extend([0, 99]);
        let protocol: u16 = match kind {
            _ if has_labels => pick(rng, &[0x0281, 0x0283]),
            0x0800 => 0x0021,
            0x86dd => 0x0057,
            _ => 0xc021,
        };
        frame.extend(protocol.to_be_bytes());
    } else {
        let kind = if has_labels { pick(rng, &[0x8847, 0x8848]) } else { kind };
        frame.extend(kind.to_be_bytes());
    }
    if has_labels {
        let labels = if rng.chance(1, 2) { 1 } else { 1 + rng.below(10) };
        for i in 0..labels {
            let bottom = u32::from(i + 1 == labels) << 8;
            let label = rng.below(6) as u32 * 4096;
            frame.extend((label | bottom | rng.below(256) as u32).to_be_bytes());
        }
    }
    frame.extend(packet);
    frame
}

fn network(rng: &mut Rng) -> (u16, Vec<u8>) {
    let transport = pick(rng, &[6_u8, 17, 1, 58]);
    let mut ports: Vec<u8> = Vec::new();
    ports.extend(pick(rng, &[80_u16, 443, 53]).to_be_bytes());
    ports.extend(pick(rng, &[80_u16, 443, 53]).to_be_bytes());
    ports.extend((0..24).map(|_| rng.below(32) as u8));
    let address = |rng: &mut Rng| [10, 0, rng.below(2) as u8, rng.below(3) as u8];
    match rng.below(8) {
        0..4 => {
            let mut packet =
                vec![0x45, 0, 0, 60, 0, 0, 0, rng.below(9) as u8 / 8, pick(rng, &[1, 64]), transport, 0, 0];
            packet.extend(address(rng));
            packet.extend(address(rng));
            (0x0800, [packet, ports].concat())
        }
        4..6 => {
            let mut packet = vec![0x60, 0, 0, 0, 0, 28, transport, 64];
            packet.extend((0..32).map(|_| rng.below(2) as u8));
            (0x86dd, [packet, ports].concat())
        }
        6 => {
            let mut packet = vec![0, 1, 8, 0, 6, 4, 0, 1, 2, 2, 2, 2, 2, 2];
            packet.extend(address(rng));
            packet.extend([0; 6]);
            packet.extend(address(rng));
            (0x0806, packet)
        }
        _ => (pick(rng, &[0x88b5, 0x0020, 0x8863]), (0..40).map(|_| rng.below(256) as u8).collect()),
    }
}

/// Filters that ask for a packet of IP, and those that need not.
const OF_IP: [&str; 16] = [
    "ip",
    "ip6",
    "tcp",
    "udp port 53",
    "tcp port 80 or udp port 53",
    "host 10.0.0.1 and ip",
    "src net 10.0.1.0/24 and ip",
    "ip[8] < 64",
    "tcp[13] & 2 != 0",
    "icmp",
    "icmp6",
    "ip proto 17",
    "ip6 proto 6",
    "ether proto 0x800",
    "port in {80, 443}",
    "host in {10.0.0.1, 10.0.1.2} and ip",
];
const OTHERS: [&str; 6] =
    ["arp", "host 10.0.0.1", "ether proto 0x88b5", "ether src 00:00:00:00:00:01", "ether[0] = 1", "not ip"];

fn expression(rng: &mut Rng) -> String {
    let leaf =
        |rng: &mut Rng| if rng.chance(1, 2) { pick(rng, &OF_IP) } else { pick(rng, &OTHERS) }.to_owned();
    match rng.below(4) {
        0 => leaf(rng),
        1 => format!("({}) and ({})", leaf(rng), leaf(rng)),
        2 => format!("({}) or ({})", leaf(rng), leaf(rng)),
        _ => format!("not ({}) and ({})", leaf(rng), leaf(rng)),
    }
}

fn compiler(tagged: bool) -> Compiler {
    let mut dialect = Dialect::default();
    dialect.tagged = tagged;
    Compiler::new(LinkType::EN10MB).dialect(dialect)
}

/// By machine code, alone and in a burst, and by the interpreter.
struct Engines {
    native: Filter,
    interpreter: Filter,
}

impl Engines {
    fn new(text: &str) -> Engines {
        let compile = |backend| compiler(true).backend(backend).compile(text);
        let [native, interpreter] = [Backend::Auto, Backend::Interpreter]
            .map(|backend| compile(backend).unwrap_or_else(|e| panic!("{text}: {e}")));
        Engines { native, interpreter }
    }

    fn answers(&self, frames: &[Vec<u8>]) -> Vec<bool> {
        let alone: Vec<bool> = frames.iter().map(|frame| self.native.matches(frame)).collect();
        let interpreted: Vec<bool> = frames.iter().map(|frame| self.interpreter.matches(frame)).collect();
        let packets: Vec<Packet<'_>> =
            frames.iter().map(|frame| Packet::new(frame, frame.len() as u32)).collect();
        let mut bits = vec![0; frames.len().div_ceil(64)];
        self.native.match_burst(&packets, &mut bits);
        let burst: Vec<bool> = (0..frames.len()).map(|i| bits[i / 64] >> (i % 64) & 1 != 0).collect();
        assert!(alone == interpreted && alone == burst);
        alone
    }
}

#[test]
fn tagged_frames_are_answered_as_without_their_tags() {
    let mut rng = Rng::new(20_261_127);
    let frames: Vec<Vec<u8>> = (0..250).map(|_| frame(&mut rng)).collect();
    let bare: Vec<Vec<u8>> = frames.iter().map(|frame| walk(frame).bare.expect("it is whole")).collect();
    let all: Vec<String> = OF_IP.iter().chain(&OTHERS).map(|text| (*text).to_owned()).collect();
    let drawn: Vec<String> = (0..120).map(|_| expression(&mut rng)).collect();
    let mut matches = 0;
    for text in all.iter().chain(&drawn) {
        let plain = compiler(false).compile(text).unwrap();
        let expected: Vec<bool> = bare.iter().map(|frame| plain.matches(frame)).collect();
        let answers = Engines::new(text).answers(&frames);
        for (i, frame) in frames.iter().enumerate() {
            assert_eq!(answers[i], expected[i], "`{text}` on {:?} {frame:02x?}", walk(frame));
        }
        matches += answers.iter().filter(|answer| **answer).count();
    }
    assert!(matches > 2_000, "{matches}");
}

/// What is cut within the tags does not match; behind them, as without them.
#[test]
fn cut_frames_are_answered_as_without_their_tags() {
    let mut rng = Rng::new(7);
    let frames: Vec<Vec<u8>> = (0..250)
        .map(|_| {
            let mut frame = frame(&mut rng);
            frame.truncate(rng.below(frame.len() + 1));
            frame
        })
        .collect();
    for text in OF_IP {
        let plain = compiler(false).compile(text).unwrap();
        let answers = Engines::new(text).answers(&frames);
        for (answer, frame) in answers.iter().zip(&frames) {
            let expected = walk(frame).bare.is_some_and(|bare| plain.matches(&bare));
            assert_eq!(*answer, expected, "`{text}` on {:?} {frame:02x?}", walk(frame));
        }
    }
}

#[test]
fn words_ask_for_any_tag_or_label_and_shift_nothing() {
    let mut rng = Rng::new(3);
    let frames: Vec<Vec<u8>> = (0..250).map(|_| frame(&mut rng)).collect();
    type Oracle = fn(&Stack) -> bool;
    let words: [(&str, Oracle); 12] = [
        ("vlan", |stack| !stack.tags.is_empty()),
        ("vlan 3", |stack| stack.tags.iter().any(|tag| tag.1 == 3)),
        ("vlan in {1, 5-6}", |stack| stack.tags.iter().any(|tag| matches!(tag.1, 1 | 5 | 6))),
        ("vlan 3 and vlan 4", |stack| [3, 4].iter().all(|id| stack.tags.iter().any(|tag| tag.1 == *id))),
        ("mpls", |stack| !stack.labels.is_empty()),
        ("mpls 2", |stack| stack.labels.contains(&2)),
        ("pppoes", |stack| stack.session.is_some()),
        ("pppoes 5", |stack| stack.session == Some(5)),
        ("vlan 1 or mpls 1", |stack| stack.tags.iter().any(|tag| tag.1 == 1) || stack.labels.contains(&1)),
        ("not vlan", |stack| stack.tags.is_empty()),
        ("ether proto 0x88a8", |stack| stack.tags.iter().any(|tag| tag.0 == 0x88a8)),
        ("pppoes and mpls and vlan", |stack| {
            stack.session.is_some() && !stack.labels.is_empty() && !stack.tags.is_empty()
        }),
    ];
    for (text, oracle) in words {
        let answers = Engines::new(text).answers(&frames);
        for (answer, frame) in answers.iter().zip(&frames) {
            assert_eq!(*answer, oracle(&walk(frame)), "`{text}` on {:?} {frame:02x?}", walk(frame));
        }
        // In any order, and with what is asked behind the tags.
        let plain = compiler(false).compile("tcp").unwrap();
        for text in [format!("({text}) and tcp"), format!("tcp and ({text})")] {
            let both = Engines::new(&text).answers(&frames);
            for ((answer, both), frame) in answers.iter().zip(both).zip(&frames) {
                let is_tcp = walk(frame).bare.is_some_and(|bare| plain.matches(&bare));
                assert_eq!(both, *answer && is_tcp, "`{text}` on {frame:02x?}");
            }
        }
    }
    for text in ["vlan 4096", "mpls 1048576", "pppoes 65536"] {
        assert!(compiler(true).compile(text).is_err());
    }
}

/// Tunnels are found behind tags as well; inside, words shift as without the dialect.
#[test]
fn tunnels_are_found_behind_tags() {
    let inner = [&[0_u8; 12][..], &[0x81, 0, 0, 7, 8, 0, 0x45], &[0; 8], &[6], &[0; 26]].concat();
    let vxlan = [&[8, 0, 0, 0, 0, 0, 9, 0][..], &inner].concat();
    let udp = [&[0x10, 0, 0x12, 0xb5, 0, 0, 0, 0][..], &vxlan].concat();
    let ip = [&[0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17][..], &[0; 10], &udp].concat();
    let outer =
        [&[1_u8; 12][..], &[0x88, 0xa8, 0, 3, 0x81, 0, 0, 4, 0x88, 0x47, 0, 1, 1, 9][..], &ip].concat();
    for (text, expected) in [
        ("vxlan", true),
        ("vxlan 9 and vlan 7 and tcp", true),
        ("vxlan 9 and tcp", false),
        ("vlan 4 and vxlan 9 and vlan 7", true),
        ("vlan 3 and udp port 4789", true),
        ("vxlan 8", false),
        ("geneve", false),
    ] {
        assert_eq!(Engines::new(text).answers(std::slice::from_ref(&outer)), [expected], "{text}");
    }
}

/// The places are computed once for all primitives.
#[test]
fn long_filters_stay_small() {
    let hosts: Vec<String> = (0..300).map(|i| format!("host 10.0.{}.{}", i / 200, i % 200)).collect();
    let mut limits = Limits::default();
    (limits.nodes, limits.time_ms) = (1 << 20, 30_000);
    let text = format!("({}) and tcp port 80 and vlan 5", hosts.join(" or "));
    compiler(true).limits(limits).compile(&text).unwrap();
    // Nothing changes where there are no tags to be looked behind.
    for linktype in [LinkType::RAW, LinkType::LINUX_SLL] {
        let mut dialect = Dialect::default();
        dialect.tagged = true;
        assert!(Compiler::new(linktype).dialect(dialect).compile("tcp port 80").is_ok());
        assert!(Compiler::new(linktype).dialect(dialect).compile("vlan 5").is_err());
    }
}
