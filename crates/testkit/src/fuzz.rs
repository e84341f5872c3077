//! What the fuzz targets do with their bytes, shared by `fuzz/` (coverage-guided, for hours) and by the smoke test
//! (seeded, for a second, on stable Rust).
//!
//! Each body panics when it finds something. None touches the network: libpcap, which resolves names, sees generated
//! expressions only, never text that a fuzzer made up.

use crate::engines::Engines;
use crate::linktype::{self, LinkType};
use crate::oracle::{self, BpfProgram, Options};
use crate::packet::Packet;
use bpf::machine;
use capture::layout::RecordSpans;
use capture::{ByteOrder, Compression, Encoded, Encoder, MergingEncoder, Reader, Target, Writer};
use dpi::Message;
use dpi::tier1::{self, Step, Tier1};
use pflang::{Backend, Calls, Compiler, Limits};
use std::io::Cursor;
use std::sync::LazyLock;

/// Text as a filter: the first byte chooses the link type. Compiles or is rejected with a span inside the text; what
/// compiles gives one answer on every engine.
///
/// # Panics
///
/// When the compiler does, when it blames itself, or when engines disagree.
pub fn expression(data: &[u8]) {
    let Some((&first, text)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(text);
    let linktypes: Vec<LinkType> = linktype::all().collect();
    let linktype = linktypes[usize::from(first) % linktypes.len()];
    let mut limits = Limits::default();
    (limits.source_bytes, limits.terms, limits.depth) = (1 << 20, 10_000, 10_000);
    limits.nodes = 1 << 20;
    match Engines::compile(&Compiler::new(linktype).limits(limits), &text) {
        Ok(engines) => sample_packets().iter().for_each(|packet| agree(&engines, packet, &text)),
        Err(error) => {
            assert_ne!(error.code(), pflang::Code::Internal, "`{text}`: {error}");
            let span = error.diagnostic.span;
            assert!(
                text.get(span.start as usize..span.end as usize).is_some(),
                "`{text}`: {span:?} is not in the text"
            );
            assert!(!error.to_string().is_empty());
        }
    }
}

/// Text as a pfmatch program for Ethernet. Compiles or is rejected with a span inside the text; what compiles calls the same in machine
/// code, in bursts and in the interpreter, for whole packets and cut ones.
///
/// # Panics
///
/// When the compiler does, when it blames itself, or when engines disagree.
pub fn program(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut limits = Limits::default();
    (limits.source_bytes, limits.terms, limits.depth, limits.nodes) = (1 << 20, 10_000, 10_000, 1 << 20);
    let compiler =
        Compiler::new(linktype::ETHERNET).limits(limits).inputs(["n"]).substitute("x", "tcp port 80");
    let matcher = match compiler.compile_match(&text) {
        Ok(matcher) => matcher,
        Err(error) => {
            assert_ne!(error.code(), pflang::Code::Internal, "`{text}`: {error}");
            let span = error.diagnostic.span;
            assert!(error.source.get(span.start as usize..span.end as usize).is_some(), "`{text}`: {span:?}");
            assert!(!compiler.help(&error).to_string().is_empty());
            return;
        }
    };
    let interpreted = compiler.backend(Backend::Interpreter).compile_match(&text);
    let interpreted = interpreted.unwrap_or_else(|error| panic!("`{text}` does not compile twice: {error}"));
    let row = vec![3; matcher.inputs().len()];
    let (mut values, mut reference) = (Vec::new(), Vec::new());
    for packet in sample_packets() {
        for end in [packet.bytes.len(), packet.bytes.len() / 2] {
            let (captured, wire_len) = (&packet.bytes[..end], packet.wire_len);
            let expected = interpreted.call_captured(captured, wire_len, &row, &mut reference);
            assert_eq!(
                matcher.call_captured(captured, wire_len, &row, &mut values),
                expected,
                "`{text}`, {captured:02x?}"
            );
            let mut calls = Calls::default();
            matcher.call_burst(&[pflang::Packet::new(captured, wire_len); 64], &row.repeat(64), &mut calls);
            assert!(
                matcher.calls(&calls).all(|call| call == expected),
                "`{text}` in a burst, {captured:02x?}"
            );
        }
    }
}

fn agree(engines: &Engines, packet: &Packet, text: &str) {
    let expected = engines.answers(packet)[0].1;
    if let Some(what) = engines.disagreement(packet, expected) {
        panic!("`{text}` on {}: {what}", packet.to_line());
    }
}

fn sample_packets() -> &'static [Packet] {
    static PACKETS: LazyLock<Vec<Packet>> = LazyLock::new(|| {
        let lines = [
            "cut(0)",
            "eth / ip4 / tcp / 'GET / HTTP/1.1'",
            "eth / vlan(1) / ip6 / udp / pad(20)",
            "eth / arp",
            "hex(ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff)",
            "ip4 / udp(dport=6081) / geneve / eth / ip4 / cut(60)",
            "radiotap / wlan / llc / snap / ip4 / tcp / wire(1500)",
        ];
        lines.iter().map(|line| Packet::parse(line).unwrap_or_else(|e| panic!("{line}: {e}"))).collect()
    });
    &PACKETS
}

/// Filters of every kind of code: loads, guards, switches, shifted offsets, variable headers.
const FILTERS: &[(LinkType, &str)] = &[
    (LinkType::EN10MB, "tcp port 80 and (((ip[2:2] - ((ip[0]&0xf)<<2)) - ((tcp[12]&0xf0)>>2)) != 0)"),
    (LinkType::EN10MB, "tcp[((tcp[12:1] & 0xf0) >> 2):4] = 0x47455420"),
    (
        LinkType::EN10MB,
        "host 10.0.0.1 or host 10.0.0.2 or host 10.0.0.3 or host 10.0.0.4 or host 10.0.0.5 or ip6 host ::1",
    ),
    (LinkType::EN10MB, "not (portrange 20-25 or src net 10.0.0.0/8) and not ip6 proto 17"),
    (LinkType::EN10MB, "vlan 10 and vlan and mpls 5 and udp"),
    (LinkType::EN10MB, "pppoes 1 and ip6 and tcp"),
    (LinkType::EN10MB, "geneve 5 and ip and tcp dst port 80"),
    (LinkType::EN10MB, "ipx or stp or isis or llc s or aarp or decnet host 1.5"),
    (
        LinkType::EN10MB,
        "ether[ip[0] & 0xf + 3] ^ 0x55 * len % (ip[8] + 1) << ip[1] > ether[len - 20:4] / arp[2]",
    ),
    (LinkType::EN10MB, "ip6 protochain 6 or ip protochain 17"),
    (LinkType::EN10MB, "icmp6[icmp6type] = 135 or icmp[icmptype] = 8 or igmp[0] > 0x16 or sctp[4:4] < 7"),
    (LinkType::IEEE802_11_RADIO, "type mgt subtype beacon or ip host 10.0.0.1 or wlan src 02:00:00:00:00:0b"),
    (LinkType::LINUX_SLL, "inbound and (tcp or stp or atalk)"),
    (LinkType::PFLOG, "ip and udp port 53 and on em0"),
    (LinkType::MTP2, "msu and opc (1 or 2 or 300) or hsio > 7"),
    (LinkType::RAW, "ip6 multicast or tcp[13] & 7 != 0 or greater 1000"),
];

/// A compiled filter, and libpcap's program where there is a libpcap.
type Pair = (&'static str, Engines, Option<BpfProgram>);

/// Bytes as a packet, the first two saying how much longer it was on the wire: every engine and libpcap agree.
///
/// # Panics
///
/// When they do not.
pub fn packet(data: &[u8]) {
    static PAIRS: LazyLock<Vec<Pair>> = LazyLock::new(|| {
        let pcap = oracle::libpcap("the packet fuzzer");
        let compile = |&(linktype, text): &(LinkType, &'static str)| {
            let engines = Engines::strict(linktype, text, None).unwrap_or_else(|e| panic!("`{text}`: {e}"));
            let program = pcap.map(|pcap| pcap.compile(linktype, text, Options::default()));
            (text, engines, program.map(|p| p.unwrap_or_else(|e| panic!("`{text}`: {e}"))))
        };
        FILTERS.iter().map(compile).collect()
    });
    let Some((&[high, low], bytes)) = data.split_first_chunk() else { return };
    let wire_len = bytes.len() as u32 + u32::from(u16::from_be_bytes([high, low]));
    let packet = Packet { bytes: bytes.to_vec(), wire_len };
    crate::linktype::all().for_each(|linktype| layers(linktype, bytes));
    for (text, engines, program) in PAIRS.iter() {
        agree(engines, &packet, text);
        let Some(program) = program else { continue };
        let Some(expected) = program.answer(bytes, wire_len) else { continue };
        if let Some(what) = engines.disagreement(&packet, expected) {
            panic!("`{text}` on {}: {what}, unlike libpcap", packet.to_line());
        }
    }
}

/// Bytes as a program of BPF, in any format: read or refused, written and read back, and compiled or refused; what compiles has the
/// answers of the interpreter, as has what is written for it again, which the kernel would take.
///
/// # Panics
///
/// When anything does, or when they do not agree.
pub fn bytecode(data: &[u8]) {
    let Ok(program) = bpf::read(data) else { return };
    for format in [bpf::Format::Decimal, bpf::Format::CArray, bpf::Format::Raw, bpf::Format::XtBpf] {
        assert_eq!(bpf::read(&program.write(format)).as_ref(), Ok(&program), "{format}");
    }
    assert_eq!(
        program.write(bpf::Format::Listing).split(|byte| *byte == b'\n').count(),
        program.insns().len() + 1
    );
    let [libpcap, kernel] =
        [bpf::Validate::Libpcap, bpf::Validate::Kernel].map(|validate| program.check(validate).is_ok());
    assert!(libpcap || !kernel, "the kernel takes less than libpcap");
    let mut options = bpf::Options::default();
    (options.nodes_max, options.code_bytes_max) = (1 << 18, 1 << 22);
    let Ok(filter) = bpf::Filter::new(&program, &options) else { return };
    let stages = bpf::internals::Stages::new(&program, &[], &options).expect("as before");
    let again = stages.to_cbpf(&[], &options).ok();
    if let Some(again) = &again {
        assert_eq!(again.check(bpf::Validate::Kernel), Ok(()), "{again:?}");
    }
    for packet in sample_packets() {
        let run = |program: &bpf::Program| {
            machine::run(program.insns(), &packet.bytes, packet.wire_len, usize::MAX, &mut ()).accepts()
        };
        let expected = run(&program);
        assert_eq!(filter.matches_captured(&packet.bytes, packet.wire_len), expected, "{}", packet.to_line());
        assert!(
            again.as_ref().is_none_or(|again| run(again) == expected),
            "{again:?} on {}",
            packet.to_line()
        );
    }
}

/// The layers of a packet are within it, in order, and its payload is behind them.
fn layers(linktype: LinkType, bytes: &[u8]) {
    let layers = wire::Layers::of(linktype, bytes);
    let payload = layers.payload();
    assert!(layers.as_slice().is_sorted_by_key(|layer| layer.off), "{layers:?}");
    let last = layers.iter().last().map_or(0, |layer| usize::from(layer.off));
    assert!(
        last <= payload.start && payload.start <= payload.end && payload.end <= bytes.len(),
        "{layers:?}"
    );
    assert!(layers.tunnels() == 0 || layers.outer().is_some(), "{layers:?}");
}

/// Bytes as a capture file: read as far as it is whole, summarised, copied; the copy holds the same packets.
///
/// # Panics
///
/// When anything does, or when the copy differs.
pub fn capture(data: &[u8]) {
    let (packets, copy) = read_and_copy(data);
    let (again, _) = read_and_copy(&copy);
    assert_eq!(packets, again, "a copy holds other packets than its original");
}

/// Bytes as two capture files, of which some packets are put into one section of pcapng, in turns, perhaps cut and compressed. The first byte chooses all that, the next two are the length of the
/// first file. What is read back is what was chosen; the rest was passed over.
///
/// # Panics
///
/// When anything does, or when packets are lost, changed or made up.
pub fn merge(data: &[u8]) {
    let Some((&[first, low, high], data)) = data.split_first_chunk() else { return };
    let order = if first & 1 == 0 { ByteOrder::Little } else { ByteOrder::Big };
    let cut = (first & 2 != 0).then_some(u32::from(first >> 3));
    let compression = match first & 12 {
        0 => Some(Compression::Gzip),
        4 => Some(Compression::Zstd),
        _ => None,
    };
    let middle = usize::from(u16::from_le_bytes([low, high])) % (data.len() + 1);
    let files = [&data[..middle], &data[middle..]];
    let mut readers: Vec<Reader> =
        files.iter().filter_map(|file| Reader::new(Cursor::new(file.to_vec()), "fuzz").ok()).collect();
    let encoder = Encoder::new(Target::Pcapng);
    let mut encoder = MergingEncoder::new(cut.map_or(encoder.clone(), |cut| encoder.cutting(cut)), order);
    let mut writer = Writer::new(Vec::new(), "merged").compressed(compression);
    writer.begin(Target::Pcapng);
    let (mut packets, mut kept, mut passed_over) = (0, Vec::new(), 0);
    let mut spans = 0;
    // A batch of each in turn, until no file has any.
    let mut is_over = vec![false; readers.len()];
    while is_over.contains(&false) {
        for (i, reader) in readers.iter_mut().enumerate() {
            if is_over[i] || !matches!(reader.next_batch(), Ok(Some(_))) {
                is_over[i] = true;
                continue;
            }
            let batch = reader.batch();
            let mut records = Vec::new();
            encoder.look(i, &batch, &mut records);
            packets += batch.len();
            for (at, packet) in batch.iter().enumerate() {
                let is_chosen = packet.data.len() % 5 != usize::from(first % 5);
                // What does not fit is told, and nothing of it is written.
                if !is_chosen || encoder.encode(i, &batch, [at], &mut records).is_err() {
                    passed_over += 1;
                    continue;
                }
                let len = cut.map_or(packet.data.len(), |cut| packet.data.len().min(cut as usize));
                kept.push((packet.data[..len].to_vec(), packet.wire_len, packet.timestamp_ns));
            }
            spans += RecordSpans::of_blocks(order, &records).filter(|span| span.is_packet).count();
            writer.write_encoded(&records, Encoded::default()).expect("memory takes all");
        }
    }
    writer.complete().expect("memory takes all");
    assert_eq!((packets, spans), (kept.len() + passed_over, kept.len()), "packets are lost");
    let merged = std::mem::take(writer.sink_mut());
    let mut reader = Reader::new(Cursor::new(merged), "merged").expect("what was written is a capture");
    for (number, (data, wire_len, timestamp_ns)) in kept.iter().enumerate() {
        let packet = reader.next_packet().expect("it is whole").expect("a packet is missing");
        let same = (packet.data, packet.wire_len, packet.timestamp_ns) == (data, *wire_len, *timestamp_ns);
        assert!(same, "packet {number} differs: {packet:?}, {data:02x?} {wire_len} {timestamp_ns}");
    }
    assert!(reader.next_packet().expect("it is whole").is_none(), "there are more packets than were chosen");
}

/// Bytes as what a flow says, to all detectors of tier 1. The first byte chooses transport, ports and what is known of the connection; then each message has a byte
/// for its direction and place, and one for its length. Says the same again when asked again, and holds nothing when the flow is over.
///
/// # Panics
///
/// When tier 1 does, when it answers twice in different ways, or when it keeps what it should not.
pub fn tier1(data: &[u8]) {
    let Some((&[first, order], rest)) = data.split_first_chunk() else { return };
    let limits =
        tier1::Limits { states: 1 + usize::from(first >> 6), bytes: 1 << (10 + (first >> 4 & 3) * 3) };
    let answer = |mut rest: &[u8]| {
        let mut tier1 = Tier1::new(limits);
        let (mut state, mut steps, mut offsets) = (None, Vec::new(), [0u32; 2]);
        while let Some((&[head, len], behind)) = rest.split_first_chunk() {
            // Most lengths are of whole messages; the longest take all that is left.
            let len = if len == u8::MAX { behind.len() } else { behind.len().min(usize::from(len)) };
            let (payload, behind) = behind.split_at(len);
            rest = behind;
            let forward = head & 1 == 0;
            let offset = &mut offsets[usize::from(forward)];
            let sequence = offset.wrapping_add(u32::from(head >> 4)).wrapping_sub(u32::from(head >> 1 & 7));
            *offset = offset.wrapping_add(payload.len() as u32);
            let port = [53, 5353, 5355, 50_000][usize::from(order & 3)];
            let message = Message {
                transport: if first & 1 == 0 { 6 } else { 17 },
                ipv6: first & 2 != 0,
                forward,
                source_port: if forward { 50_001 } else { port },
                destination_port: if forward { port } else { 50_001 },
                sequence,
                start: (first & 4 != 0).then_some(0),
                payload,
                cut: first & 8 != 0,
            };
            let step = tier1.inspect(&mut state, &message);
            assert!(step == Step::Undecided || state.is_none(), "{step:?} keeps a state");
            let usage = tier1.usage();
            assert!(usage.states <= limits.states && usage.bytes <= limits.bytes, "{usage:?} of {limits:?}");
            let is_over = step != Step::Undecided;
            steps.push(step);
            if is_over {
                break;
            }
        }
        let likely = tier1.conclude(&mut state);
        assert_eq!((tier1.usage().states, tier1.usage().bytes), (0, 0), "a state outlives its flow");
        (steps, likely)
    };
    assert_eq!(answer(rest), answer(rest));
}

/// Every packet of a file up to the first damage, and a copy of them.
fn read_and_copy(data: &[u8]) -> (Vec<(u32, Packet)>, Vec<u8>) {
    let (mut packets, mut copy) = (Vec::new(), Vec::new());
    let Ok(mut reader) = Reader::new(Cursor::new(data.to_vec()), "fuzz") else { return (packets, copy) };
    let mut writer = Writer::new(&mut copy, "copy");
    while let Ok(Some(batch)) = reader.next_batch() {
        for packet in batch.iter() {
            let (linktype, bytes, wire_len) = (packet.linktype, packet.data, packet.wire_len);
            let line = wire::summarize(linktype, bytes, wire_len).to_string();
            assert!(!line.is_empty() && line.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{line:?}");
            layers(linktype, bytes);
            packets.push((linktype.value(), Packet { bytes: bytes.to_vec(), wire_len }));
        }
        if writer.write(&batch, 0..batch.len()).is_err() {
            break;
        }
    }
    writer.finish().expect("a vector takes everything");
    (packets, copy)
}

/// Bytes as packets of one link type, which the first byte chooses, of any times: each is read, and counted once; flows that begin are there, or have ended.
///
/// # Panics
///
/// When the tracker does, or its counts do not add up.
pub fn flows(data: &[u8]) {
    let Some((&first, mut rest)) = data.split_first() else { return };
    let linktypes: Vec<LinkType> = linktype::all().collect();
    // Mostly Ethernet, which has a path of its own.
    let linktype = linktypes.get(usize::from(first)).copied().unwrap_or(linktype::ETHERNET);
    let settings = flow::Settings { capacity: 16, datagrams: 2, ..flow::Settings::default() };
    let Ok(mut tracker) = flow::Tracker::<u32>::new(&settings) else { return };
    let (mut packets, mut time_ns) = (Vec::new(), 0u64);
    // Each packet is its length, the time since the last, and its bytes.
    while let [len, time, bytes @ ..] = rest {
        let (frame, behind) = bytes.split_at(usize::from(*len).min(bytes.len()));
        time_ns = time_ns.wrapping_add(u64::from(*time).pow(4) << 10);
        packets.push(flow::Packet { frame, linktype, time_ns, wire_len: frame.len() as u32 });
        rest = behind;
    }
    let mut ended = 0;
    let see = |at: usize, seen: Result<flow::Seen<'_, u32>, flow::NoFlow>| {
        if let Ok(flow::Seen { decoded, .. }) = seen {
            let frame = packets[at].frame;
            assert!(frame.get(decoded.payload()).is_some() && frame.get(decoded.ip()).is_some());
            let _ = decoded.quoted(frame);
        }
    };
    tracker.burst(&packets, see, |_| ended += 1);
    let counters = *tracker.counters();
    assert_eq!(counters.packets, counters.in_flows + counters.no_flow.iter().sum::<u64>());
    assert_eq!(counters.created, ended + tracker.table().len() as u64);
    tracker.finish(|_| ended += 1);
    assert_eq!(counters.created, ended);
}

/// How lists begin whose form is not known by every line.
const LIST_BEGINNINGS: [&str; 6] =
    ["", "create a hash:net\n", "set a { elements = { ", "{\"ip\": \"", "ip,x\n", "define a = { 192.0.2.1, "];

/// Text as a list of addresses: the first byte chooses how it begins. It is refused with a place inside the text, or its tables hold the ends of all
/// entries.
///
/// # Panics
///
/// When reading does, or a table does not hold an entry.
pub fn list(data: &[u8]) {
    let Some((&first, text)) = data.split_first() else { return };
    if classify::lists::is_database(text) {
        let _ = classify::lists::read_database(text, None);
    }
    let begin = LIST_BEGINNINGS[usize::from(first) % LIST_BEGINNINGS.len()];
    let text = format!("{begin}{}", String::from_utf8_lossy(text));
    let list = match classify::lists::read(&text, None) {
        Ok(list) => list,
        Err(problem) => {
            let lines = text.strip_prefix('\u{feff}').unwrap_or(&text).matches('\n').count() + 1;
            assert!((1..=lines).contains(&problem.line) && problem.column >= 1, "{problem} of {lines} lines");
            assert!(problem.message.chars().all(|sign| !sign.is_control()), "{problem}");
            return;
        }
    };
    let limit = classify::set::Limit::default();
    let set = classify::set::AddressSet::new(list.addresses.clone(), limit).expect("a small table");
    assert!(list.addresses.v4.iter().all(|&(low, high)| set.v4.contains(low) && set.v4.contains(high)));
    assert!(list.addresses.v6.iter().all(|&(low, high)| set.v6.contains(low) && set.v6.contains(high)));
    let map = list.map(limit).expect("a small table");
    assert!(
        list.values4.iter().all(|&(low, high, _)| map.v4.find(low).is_some() && map.v4.find(high).is_some())
    );
    let pairs: classify::set::PairSet<classify::set::Ranks32> =
        classify::set::PairSet::new(&list.pairs4, limit).expect("a small table");
    assert!(
        list.pairs4
            .iter()
            .all(|&(low, high, first, last)| pairs.contains(low, last) && pairs.contains(high, first))
    );
}

/// Bytes as what the kernel sends of a queue of netfilter: reading them ends, and reads no packet that is not there.
///
/// # Panics
///
/// When reading does, or finds more than there is.
pub fn queue(data: &[u8]) {
    let mut found = 0;
    for event in io::nfqueue::events(data) {
        found += 1;
        if let io::nfqueue::Event::Packet(packet) = event {
            assert!(
                packet.payload.len() <= data.len() && packet.len as usize >= packet.payload.len(),
                "{packet:?}"
            );
        }
    }
    // The shortest message is a header.
    assert!(found <= data.len().div_ceil(16), "{found} in {} bytes", data.len());
}
