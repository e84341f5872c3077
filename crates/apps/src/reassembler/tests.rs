//! Fragments in all orders, and hostile ones.

use super::Reassembler;
use crate::Fragmenter;
use crate::testing::{frame, read};
use engine::{
    App, Class, Engine, Graph, Io, MAX_LARGE_PAYLOAD, MAX_PAYLOAD, Metadata, OptionError, Ports, Roles,
    Settings, Setup,
};
use testkit::rig::Rig;
use testkit::rng::Rng;
use wire::ip::{Ipv4, Ipv6};

const SECOND: u64 = 1_000_000_000;

fn rig() -> Rig {
    Rig::new(Reassembler::default(), &["input"], &["output"])
}

fn hex(len: usize) -> String {
    format!("hex({})", (0..len).map(|i| format!("{:02x}", (i * 7) & 0xff)).collect::<String>())
}

/// Part of an IPv4 packet whose payload is that of [`hex`]; `id` is its identification.
fn part(id: u32, from: usize, to: usize, is_last: bool) -> Vec<u8> {
    let payload: String = (from..to).map(|i| format!("{:02x}", (i * 7) & 0xff)).collect();
    let (frag, mf) = (from / 8, u8::from(!is_last));
    frame(&format!("eth / ip4(id={id}, proto=17, frag={frag}, mf={mf}) / hex({payload})"))
}

fn whole(id: u32, len: usize) -> Vec<u8> {
    frame(&format!("eth / ip4(id={id}, proto=17) / {}", hex(len)))
}

fn shuffle(rng: &mut Rng, packets: &mut [Vec<u8>]) {
    for i in (1..packets.len()).rev() {
        packets.swap(i, rng.below(i + 1));
    }
}

#[test]
fn what_was_cut_is_joined_in_any_order() {
    let mut rng = Rng::new(1);
    let mut rig = rig();
    let mut cutters =
        [68, 96, 101, 576, 1280].map(|mtu| Rig::new(Fragmenter { mtu }, &["input"], &["output"]));
    for round in 0..300 {
        let len = [49, 60, 100, 500, 1480, 3000][round % 6];
        let headers = [
            "eth / ip4(id=7, proto=17)",
            "eth / vlan(7) / ip4(proto=6, tos=1)",
            "eth / ip4(proto=17, options=83 07 04 0a 00 00 01 00)",
            "eth / ip6(next=17, hops=3)",
            "eth / vlan(1) / vlan(2) / ip6(class=2) / hopopt / dest / udp",
            "eth / ip6 / routing / udp",
        ][rng.below(6)];
        let packet = frame(&format!("{headers} / {}", hex(len)));
        let mtu = rng.below(cutters.len());
        let mut fragments = cutters[mtu].pass(&[&packet]);
        if round % 2 == 0 {
            shuffle(&mut rng, &mut fragments);
        }
        // None where the headers would not fit into the first one.
        if fragments.len() > 64 || fragments.is_empty() {
            continue;
        }
        // What pads a short frame is no payload.
        for fragment in &mut fragments {
            fragment.resize(fragment.len().max(60), 0xee);
        }
        let out = rig.pass(&fragments.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let expected = if fragments.len() == 1 { fragments } else { vec![packet] };
        assert!(out == expected, "{round}: {headers}, {len} bytes");
    }
    assert_eq!(rig.report().pool.held, 0);
}

/// RFC 7112, 5: who filters by headers sees none in the first fragment.
#[test]
fn a_first_fragment_of_ipv6_has_all_headers() {
    // An IPv6 packet: its first fragment header announces `next`, and holds so much.
    let first = |next: u8, payload: &str| {
        frame(&format!("eth / ip6(next=44) / hex({next:02x}000001 00000009 {payload})").replace(' ', ""))
    };
    let options = "3c000104 00000000 3a000104 00000000".replace(' ', "");
    for (packet, is_dropped) in [
        (first(60, &options), true),
        (first(6, &"00".repeat(16)), true),
        (first(6, &"00".repeat(24)), false),
        (first(17, &"00".repeat(8)), false),
        (first(58, &"00".repeat(8)), false),
        (first(60, &format!("{options}{}", "00".repeat(8))), false),
    ] {
        let mut rig = rig();
        rig.send("input", &packet);
        rig.breathe();
        assert!(rig.take("output").is_empty());
        assert_eq!(rig.counter("headers"), u64::from(is_dropped), "{packet:02x?}");
        assert_eq!(rig.report().pool.held, usize::from(!is_dropped), "{packet:02x?}");
    }
}

#[test]
fn packets_in_the_making_do_not_mix() {
    let mut rig = rig();
    let fragments = [
        part(1, 0, 16, false),
        part(2, 16, 20, true),
        frame("eth / ip4(id=1, proto=6, mf=1) / pad(16)"),
        frame("eth / ip4(id=1, proto=17, src=10.0.0.1, mf=1) / pad(16)"),
        frame("eth / ip4(id=1, proto=17, dst=10.0.0.1, mf=1) / pad(16)"),
        frame("eth / vlan(1) / ip4(id=1, proto=17, mf=1) / pad(16)"),
        part(1, 16, 24, true),
        part(2, 0, 16, false),
    ];
    let out = rig.pass(&fragments.each_ref().map(Vec::as_slice));
    assert_eq!(out, [whole(1, 24), whole(2, 20)]);
    assert_eq!((rig.report().pool.held, rig.counter("joined"), rig.counter("reassembled")), (4, 2, 2));
}

#[test]
fn fragments_of_different_vlans_are_not_joined() {
    let all = [
        "eth",
        "eth / vlan(5)",
        "eth / vlan(0) / vlan(5)",
        "eth(type=0x88a8) / vlan(5)",
        "eth(type=0x9100) / vlan(5)",
        "eth / vlan(5) / vlan(5)",
        "eth(type=0x88a8) / vlan(5) / vlan(5)",
        "eth(type=0x88a8) / vlan(5, type=0x88a8) / vlan(5)",
        "eth / vlan(5) / vlan(6)",
        "eth / vlan(6) / vlan(5)",
    ];
    let network = [
        ("ip4(id=1, proto=17, mf=1)", "ip4(id=1, proto=17, frag=1)"),
        ("ip6 / frag(offset=0, more=1, id=1, next=17)", "ip6 / frag(offset=1, more=0, id=1, next=17)"),
    ];
    for (first, last) in network {
        for (a, b) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))) {
            let parts = [frame(&format!("{a} / {first} / pad(8)")), frame(&format!("{b} / {last} / pad(8)"))];
            let joined = rig().pass(&parts.each_ref().map(Vec::as_slice)).len();
            assert_eq!(joined, usize::from(a == b), "{a}, {b}");
        }
    }
}

#[test]
fn a_tag_for_its_priority_alone_is_of_no_vlan() {
    for (a, b) in [("eth / vlan(0, pcp=3)", "eth"), ("eth / vlan(5) / vlan(0)", "eth / vlan(5, pcp=1)")] {
        let parts = [
            frame(&format!("{a} / ip4(id=1, proto=17, mf=1) / pad(8)")),
            frame(&format!("{b} / ip4(id=1, proto=17, frag=1) / pad(8)")),
        ];
        let whole = frame(&format!("{a} / ip4(id=1, proto=17) / pad(16)"));
        assert_eq!(rig().pass(&parts.each_ref().map(Vec::as_slice)), [whole]);
    }
}

#[test]
fn what_is_no_fragment_passes() {
    let mut rig = rig();
    for line in [
        "eth / ip4(df=1) / udp / 'x'",
        "eth / ip6 / udp / 'x'",
        "eth / ip6 / hopopt / udp",
        "eth / arp",
        "eth / vlan(1) / vlan(2) / vlan(3) / ip4(mf=1) / pad(8)",
        "eth / ip4(mf=1) / cut(33)",
        "eth / ip6(next=44) / cut(60)",
        "eth / ip4(sum=1) / udp",
        "eth / ip6 / hopopt / dest / dest / dest / dest / dest / dest / dest / dest / dest / dest / dest / dest / dest / dest / dest / udp",
        "eth / ip6(len=7) / frag(offset=1, more=0, next=17) / pad(8)",
        "hex()",
        "eth / cut(13)",
    ] {
        assert_eq!(rig.pass(&[&frame(line)]), [frame(line)], "{line}");
    }
}

#[test]
fn fragments_that_cannot_be_are_dropped() {
    for line in [
        "eth / ip4(mf=1) / pad(9)",
        "eth / ip4(mf=1)",
        "eth / ip4(mf=1, sum=1) / pad(8)",
        "eth / ip4(frag=1, sum=1) / pad(8)",
        "eth / ip6 / hopopt / dest / dest / dest / dest / dest / dest / dest / dest / dest / dest / dest / dest / dest / dest / dest / frag(offset=0, more=1, next=17) / pad(8)",
        "eth / ip6 / hopopt / dest / dest / dest / dest / dest / dest / dest / dest / dest / dest / dest / dest / dest / dest / dest / dest / udp",
        "eth / ip4(frag=1)",
        "eth / ip4(frag=8191) / pad(8)",
        "eth / ip4(mf=1, len=36) / pad(8)",
        "eth / ip4(mf=1, len=19) / pad(8)",
        "eth / ip6 / frag(offset=0, more=1, next=17) / pad(9)",
        "eth / ip6 / frag(offset=1, more=0, next=17)",
        "eth / ip6 / frag(offset=8191, more=0, next=17) / pad(8)",
        "eth / ip6(len=40) / frag(offset=1, more=0, next=17) / pad(8)",
    ] {
        let mut rig = rig();
        assert!(rig.pass(&[&frame(line)]).is_empty(), "{line}");
        let counted = rig.counter("malformed");
        assert!(counted == 1, "{line}");
    }
}

#[test]
fn overlaps_end_a_packet_for_good() {
    for overlapping in [(8, 24, false), (0, 16, false), (8, 16, false), (8, 40, true), (24, 40, true)] {
        let mut rig = rig();
        let (from, to, is_last) = overlapping;
        let mut evil = part(1, from, to, is_last);
        if let Some(last) = evil.last_mut() {
            *last ^= 1;
        }
        let parts = [
            part(1, 0, 16, false),
            part(1, 24, 32, false),
            evil,
            part(1, 16, 24, false),
            part(1, 32, 40, true),
        ];
        assert!(rig.pass(&parts.each_ref().map(Vec::as_slice)).is_empty(), "{overlapping:?}");
        assert_eq!(rig.counter("overlap") + rig.counter("joined"), 5, "{overlapping:?}");
        assert_eq!(rig.report().pool.held, 0);
        // When it is forgotten, another of the same identification may come.
        rig.advance(61 * SECOND);
        let parts = [part(1, 0, 16, false), part(1, 16, 40, true)];
        assert_eq!(rig.pass(&parts.each_ref().map(Vec::as_slice)), [whole(1, 40)]);
    }
}

#[test]
fn lengths_that_contradict_end_a_packet() {
    for parts in [
        [part(1, 16, 24, true), part(1, 32, 40, false)],
        [part(1, 16, 24, true), part(1, 32, 40, true)],
        [part(1, 32, 40, false), part(1, 16, 24, true)],
    ] {
        let mut rig = rig();
        assert!(rig.pass(&parts.each_ref().map(Vec::as_slice)).is_empty());
        assert_eq!(rig.counter("overlap"), 2);
    }
}

#[test]
fn duplicates_do_no_harm() {
    let mut rig = rig();
    let parts = [
        part(1, 16, 24, true),
        part(1, 16, 24, true),
        part(1, 8, 16, false),
        part(1, 8, 16, false),
        part(1, 0, 8, false),
    ];
    assert_eq!(rig.pass(&parts.each_ref().map(Vec::as_slice)), [whole(1, 24)]);
    assert_eq!(rig.counter("duplicate"), 2);
}

#[test]
fn what_lacks_a_part_times_out() {
    let mut rig = Rig::new(Reassembler { timeout_s: 30, ..Reassembler::default() }, &["input"], &["output"]);
    rig.pass(&[&part(1, 0, 16, false)]);
    rig.advance(20 * SECOND);
    rig.pass(&[&part(2, 0, 16, false)]);
    rig.advance(10 * SECOND);
    assert_eq!((rig.counter("timeout"), rig.report().pool.held), (1, 1));
    assert!(rig.pass(&[&part(1, 16, 24, true)]).is_empty());
    assert_eq!(rig.pass(&[&part(2, 16, 24, true)]), [whole(2, 24)]);
}

#[test]
fn a_shorter_timeout_is_for_what_waits_already() {
    let mut rig =
        Rig::new(Reassembler { timeout_s: 3600, ..Reassembler::default() }, &["input"], &["output"]);
    rig.pass(&[&part(1, 0, 16, false)]);
    rig.advance(20 * SECOND);
    rig.pass(&[&part(2, 0, 16, false)]);
    rig.reconfigure(Reassembler { timeout_s: 30, ..Reassembler::default() });
    rig.advance(10 * SECOND);
    assert_eq!((rig.counter("timeout"), rig.report().pool.held), (1, 1));
    rig.advance(20 * SECOND);
    assert_eq!((rig.counter("timeout"), rig.report().pool.held), (2, 0));
}

#[test]
fn memory_is_bounded() {
    let options = Reassembler { max_reassemblies: 10, ..Reassembler::default() };
    let mut rig = Rig::new(options, &["input"], &["output"]);
    for id in 0..1000 {
        rig.send("input", part(id, 8, 16, false));
    }
    rig.breathe();
    assert_eq!((rig.report().pool.held, rig.counter("evicted")), (10, 990));
    assert!(rig.pass(&[&part(989, 0, 8, false), &part(989, 16, 24, true)]).is_empty());
    assert_eq!(rig.pass(&[&part(999, 0, 8, false), &part(999, 16, 24, true)]), [whole(999, 24)]);
}

#[test]
fn half_of_the_pool_is_left_to_others() {
    let mut rig = Rig::with(
        Reassembler { max_reassemblies: 1000, ..Reassembler::default() },
        &["input"],
        &["output"],
        64,
    );
    for id in 0..200 {
        rig.pass(&[&part(id, 8, 16, false)]);
    }
    assert_eq!((rig.report().pool.held, rig.counter("evicted")), (32, 168));
    assert_eq!(rig.pass(&[&part(199, 0, 8, false), &part(199, 16, 24, true)]), [whole(199, 24)]);
}

/// Sends first fragments, each of another packet, and long enough that they take a large packet of the pool if they are `long`.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
struct Beginnings {
    is_long: bool,
}

impl Class for Beginnings {
    const TYPE: &'static str = "beginnings";
    const INPUTS: Ports = Ports::NONE;
    type App = Beginning;

    fn start(&self, _: &mut Setup<'_>) -> Result<Beginning, OptionError> {
        let len = if self.is_long { MAX_PAYLOAD } else { 16 };
        Ok(Beginning { fragment: part(0, 0, len, false), id: 0 })
    }
}

struct Beginning {
    fragment: Vec<u8>,
    id: u16,
}

impl App for Beginning {
    fn roles(&self) -> Roles {
        Roles::PULL
    }

    fn pull(&mut self, io: &mut Io<'_>) {
        // Of IPv4 behind Ethernet, with a checksum that takes the change.
        self.id += 1;
        let checksum = |fragment: &mut [u8]| {
            fragment[24..26].fill(0);
            let sum: u32 = fragment[14..34]
                .chunks(2)
                .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])))
                .sum();
            fragment[24..26].copy_from_slice(&(!((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes());
        };
        self.fragment[18..20].copy_from_slice(&self.id.to_be_bytes());
        checksum(&mut self.fragment);
        if let Some(packet) = io.pool.packet(&self.fragment) {
            io.outputs[0].put(packet);
        }
    }
}

/// So many reassemblers, each of which gets packets without end that are never whole.
fn beginnings_for(reassemblers: &[&str], is_long: bool) -> Graph {
    let mut graph = Graph::new();
    for name in reassemblers {
        graph.app(&format!("source_{name}"), Beginnings { is_long }).unwrap();
        graph.app(name, Reassembler::default()).unwrap();
        graph.app(&format!("sink_{name}"), crate::Sink {}).unwrap();
        graph.link(&format!("source_{name}.output -> {name}.input")).unwrap();
        graph.link(&format!("{name}.output -> sink_{name}.input")).unwrap();
    }
    graph
}

#[test]
fn several_together_leave_half_of_the_pool_to_others() {
    for is_long in [false, true] {
        let settings = Settings::new().unwrap();
        let packets = if is_long { 600 } else { 64 };
        let mut engine = Engine::new(Settings { packets, large_packets: 64, burst: 4, ..settings }).unwrap();
        engine.configure(&beginnings_for(&["a"], is_long)).unwrap();
        (0..200).for_each(|_| _ = engine.breathe());
        assert_eq!(engine.report().pool.held, 32, "long: {is_long}");
        // Those that come later, and find half of it held, have a sixteenth: who has more gives way.
        engine.configure(&beginnings_for(&["a", "b", "c"], is_long)).unwrap();
        (0..200).for_each(|_| _ = engine.breathe());
        let report = engine.report();
        assert!(report.balanced(), "{:#?}", report.imbalances);
        assert_eq!(report.pool.held, 32, "long: {is_long}");
        let making = ["a", "b", "c"].map(|name| report.apps[name].text.clone().unwrap_or_default());
        assert_eq!(
            making,
            ["24 packets in the making", "4 packets in the making", "4 packets in the making"]
        );
        for name in ["a", "b", "c"] {
            let evicted = report.apps[name].drops().find(|(reason, _)| *reason == "evicted");
            assert!(evicted.is_some_and(|(_, count)| count > 100), "{name}: {evicted:?}");
        }
        // What one that goes had held others may hold.
        engine.configure(&beginnings_for(&["b", "c"], is_long)).unwrap();
        (0..200).for_each(|_| _ = engine.breathe());
        assert_eq!(engine.report().pool.held, 32, "long: {is_long}");
    }
}

#[test]
fn any_number_together_leave_room_for_what_comes_in() {
    for (reassemblers, is_long) in [(12, false), (40, false), (12, true), (40, true)] {
        let names: Vec<String> = (0..reassemblers).map(|number| format!("r{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let settings = Settings::new().unwrap();
        let packets = if is_long { 600 } else { 64 };
        let mut engine = Engine::new(Settings { packets, large_packets: 64, burst: 4, ..settings }).unwrap();
        engine.configure(&beginnings_for(&names, is_long)).unwrap();
        (0..200).for_each(|_| _ = engine.breathe());
        let report = engine.report();
        assert!(report.balanced(), "{:#?}", report.imbalances);
        let held = report.pool.held;
        assert!((32..=48).contains(&held), "{reassemblers}, long: {is_long}: {held}");
    }
}

#[test]
fn packets_of_many_fragments_are_given_up() {
    let mut rig =
        Rig::new(Reassembler { max_fragments: 4, ..Reassembler::default() }, &["input"], &["output"]);
    let parts: Vec<_> = (0..6).map(|i| part(1, i * 8, i * 8 + 8, i == 5)).collect();
    assert!(rig.pass(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>()).is_empty());
    assert_eq!((rig.counter("joined"), rig.counter("too_many_fragments")), (3, 3));
    let parts: Vec<_> = (0..4).map(|i| part(2, i * 8, i * 8 + 8, i == 3)).collect();
    assert_eq!(rig.pass(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>()), [whole(2, 32)]);
}

#[test]
fn the_longest_packet_is_as_long_as_any() {
    let most = (MAX_LARGE_PAYLOAD - 34) / 8 * 8;
    for first_first in [true, false] {
        let mut rig = rig();
        let mut parts = [part(1, 0, 5000 / 8 * 8, false), part(1, 5000 / 8 * 8, most, true)];
        if !first_first {
            parts.reverse();
        }
        assert!(rig.pass(&parts.each_ref().map(Vec::as_slice)) == [whole(1, most)]);
        let mut parts = [part(2, 0, 8, false), part(2, most, most + 8, true)];
        if !first_first {
            parts.reverse();
        }
        assert!(rig.pass(&parts.each_ref().map(Vec::as_slice)).is_empty());
        // If the last comes first, it is too long by itself.
        assert_eq!(rig.counter("too_long"), 2);
        assert_eq!(rig.report().pool.held, 0);
    }
}

#[test]
fn long_packets_are_joined_in_any_order() {
    let mut rng = Rng::new(3);
    let many = Reassembler { max_fragments: 200, ..Reassembler::default() };
    let mut rig = Rig::with_large(many, &["input"], &["output"], 600, 4);
    for (round, len) in
        [MAX_PAYLOAD - 34, MAX_PAYLOAD - 33, 20_000, 60_000, 65_500].into_iter().cycle().take(25).enumerate()
    {
        let step = [1480, 8000, 20_000, 600][round % 4];
        let mut parts: Vec<Vec<u8>> = (0..len)
            .step_by(step)
            .map(|from| part(round as u32, from, (from + step).min(len), from + step >= len))
            .collect();
        if round % 2 == 0 {
            shuffle(&mut rng, &mut parts);
        }
        let out = rig.pass(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>());
        assert!(out == [whole(round as u32, len)], "{round} {len} {step}");
    }
    assert_eq!((rig.counter("reassembled"), rig.report().pool.held), (21, 0), "four came in one piece");
}

#[test]
fn half_of_the_large_packets_is_left_to_others() {
    let mut rig = Rig::with_large(Reassembler::default(), &["input"], &["output"], 600, 8);
    // Short ones, then twelve that become long, one of them with its last part first.
    (0..5).for_each(|id| assert!(rig.pass(&[&part(id, 8, 16, false)]).is_empty()));
    for id in 10..22 {
        assert!(rig.pass(&[&part(id, 0, 800, false)]).is_empty());
        assert!(rig.pass(&[&part(id, 20_000, 20_800, id % 2 == 0)]).is_empty());
        assert!(rig.report().pool.held <= 5 + 5);
    }
    // The oldest long ones have given way: four are left, and all that are short.
    assert_eq!((rig.report().pool.held, rig.counter("evicted")), (5 + 4, 8));
    assert_eq!(
        rig.pass(&[&part(21, 20_800, 21_000, true), &part(21, 800, 20_000, false)]),
        [whole(21, 21_000)]
    );
    // Whatever is held, a lone packet that goes on becoming long has room.
    assert_eq!(rig.pass(&[&part(18, 800, 20_000, false)]), [whole(18, 20_800)]);
    assert_eq!(rig.report().pool.held, 5 + 2);
}

#[test]
fn a_packet_that_gets_no_large_one_is_given_up() {
    let mut rig = Rig::with_large(Reassembler::default(), &["input"], &["output"], 600, 1);
    // The only one is on its way.
    rig.send("input", vec![1; 50_000]);
    rig.send("input", part(1, 0, 800, false));
    rig.send("input", part(1, 20_000, 20_800, true));
    rig.send("input", part(1, 800, 1600, false));
    rig.breathe();
    assert_eq!(rig.take("output").len(), 1);
    assert_eq!((rig.counter("no_packet"), rig.report().pool.held), (3, 0));

    let mut rig = Rig::with_large(Reassembler::default(), &["input"], &["output"], 600, 0);
    assert!(rig.pass(&[&part(1, 0, 800, false), &part(1, 20_000, 20_800, true)]).is_empty());
    assert_eq!(rig.counter("too_long"), 2);
}

#[test]
fn fragments_in_large_packets_count_as_such() {
    let mut rig = Rig::with_large(Reassembler::default(), &["input"], &["output"], 600, 4);
    for id in 0..6 {
        assert!(rig.pass(&[&part(id, 0, 16_000, false)]).is_empty());
    }
    assert_eq!((rig.report().pool.held, rig.counter("evicted")), (2, 4));
    assert_eq!(rig.pass(&[&part(5, 16_000, 16_100, true)]), [whole(5, 16_100)]);
    rig.advance(61 * SECOND);
    assert_eq!((rig.counter("timeout"), rig.report().pool.held), (1, 0));
}

#[test]
fn a_fragment_that_is_all_loses_its_header() {
    let mut rig = rig();
    let mut atomic = frame("eth / ip6 / hopopt / frag(offset=0, more=0, id=5) / udp / 'whole'");
    atomic.extend([0; 5]);
    let plain = frame("eth / ip6 / hopopt / udp / 'whole'");
    assert_eq!(rig.pass(&[&atomic]), [plain]);
}

#[test]
fn a_joined_packet_lacks_nothing_that_stood_behind_its_fragments() {
    let atomic = frame("eth / ip6 / frag(offset=0, more=0, id=5) / udp / 'whole'");
    for parts in [vec![part(1, 0, 16, false), part(1, 16, 24, true)], vec![atomic]] {
        let mut rig = rig();
        for part in parts {
            rig.send_with("input", part, Metadata { cut_len: 4, ..Metadata::default() });
        }
        rig.breathe();
        assert_eq!(rig.received("output")[0].metadata.cut_len, 0);
    }
}

#[test]
fn congestion_is_remembered() {
    let mut rig = rig();
    let fragments = [
        frame("eth / ip4(id=1, proto=17, tos=2, mf=1) / pad(8)"),
        frame("eth / ip4(id=1, proto=17, tos=3, frag=1) / pad(8)"),
    ];
    let out = rig.pass(&fragments.each_ref().map(Vec::as_slice));
    let ip = Ipv4::new(&out[0][14..]).unwrap();
    assert!(ip.tos() == 3 && ip.is_checksum_right());

    let fragments = [
        frame("eth / ip6(class=2) / frag(offset=1, more=0, id=1, next=17) / pad(8)"),
        frame("eth / ip6(class=3) / frag(offset=0, more=1, id=1, next=17) / pad(8)"),
    ];
    let out = rig.pass(&fragments.each_ref().map(Vec::as_slice));
    assert_eq!(Ipv6::new(&out[0][14..]).unwrap().traffic_class(), 3);
}

#[test]
fn congestion_that_cannot_be_told_ends_a_packet() {
    for (first, last, is_dropped) in
        [(0, 3, true), (3, 0, true), (0, 2, false), (1, 2, false), (1, 3, false), (3, 3, false)]
    {
        let mut rig = rig();
        let fragments = [
            frame(&format!("eth / ip4(id=1, proto=17, tos={first}, mf=1) / pad(8)")),
            frame(&format!("eth / ip4(id=1, proto=17, tos={last}, frag=1) / pad(8)")),
        ];
        let out = rig.pass(&fragments.each_ref().map(Vec::as_slice));
        let counted =
            (out.len(), rig.counter("joined"), rig.counter("congestion"), rig.counter("reassembled"));
        let expected = if is_dropped { (0, 1, 1, 0) } else { (1, 1, 0, 1) };
        assert_eq!(counted, expected, "{first} {last}");
    }
}

#[test]
fn fragments_behind_other_headers_are_joined() {
    // Authentication (RFC 4302) and mobility (RFC 6275): next header, length, and fields that nobody looks at here.
    let ah = "2c 04 00 00 00 00 00 07 00 00 00 01 00 00 00 00 00 00 00 00 00 00 00 00";
    let mobility = "2c 00 05 00 00 00 00 00";
    for (number, header) in [(51, ah), (135, mobility)] {
        let mut rig = rig();
        let fragment = |off_and_more: &str, payload: &str| {
            frame(&format!(
                "eth / ip6(next={number}) / hex({header} 11 00 {off_and_more} 00 00 00 09 {payload})"
            ))
        };
        let first = fragment("00 01", "01 02 03 04 05 06 07 08");
        let last = fragment("00 08", "09 0a");
        let joined = header.replacen("2c", "11", 1);
        let whole = format!("eth / ip6(next={number}) / hex({joined} 01 02 03 04 05 06 07 08 09 0a)");
        assert_eq!(rig.pass(&[&first, &last]), [frame(&whole)], "{number}");
    }
}

#[test]
fn random_fragments_do_no_harm() {
    let mut rng = Rng::new(3);
    let options = Reassembler { max_reassemblies: 20, max_fragments: 6, timeout_s: 1 };
    let mut rig = Rig::new(options, &["input"], &["output"]);
    for round in 0..5000 {
        let (id, from, len) = (rng.below(30) as u32, rng.below(8) * 8, 8 * (1 + rng.below(3)));
        let mut packet = part(id, from, from + len, rng.chance(1, 4));
        if rng.chance(1, 10) {
            let at = 12 + rng.below(packet.len() - 12);
            packet[at] ^= 1 << rng.below(8);
        }
        packet.truncate(packet.len() - if rng.chance(1, 20) { rng.below(packet.len()) } else { 0 });
        rig.send("input", packet);
        if round % 16 == 0 {
            rig.advance(SECOND / 50);
        }
    }
    rig.breathe();
    assert!(rig.counter("reassembled") > 10);
    assert!(rig.report().pool.held <= 20);
}

#[test]
fn options_are_checked() {
    let options: Reassembler =
        read("max_concurrent_reassemblies = 20000\nmax_fragments_per_reassembly = 40").unwrap();
    assert_eq!(options, Reassembler { max_reassemblies: 20000, max_fragments: 40, timeout_s: 60 });
    let error = read::<Reassembler>("max_fragments = 1").unwrap().check().unwrap_err();
    assert_eq!(error.to_string(), "`max_fragments`: 1 is not between 2 and 8192");
}
