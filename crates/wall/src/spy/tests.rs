use super::*;
use crate::ledger::Wanted;
use crate::record::Record;
use dpi::{By, Confidence, Protocol};
use flow::EndReason;
use testkit::packet::Packet as Text;
use wire::LinkType;

const SECOND: u64 = 1_000_000_000;

fn frame(line: &str) -> Vec<u8> {
    Text::parse(line).unwrap_or_else(|error| panic!("{line}: {error}")).bytes
}

/// A spy without nDPI, and the ledger that it tells.
struct Rig {
    spy: Spy,
    ledger: Ledger,
}

impl Rig {
    fn new(capacity: usize) -> Rig {
        Rig::with(capacity, None)
    }

    fn with(capacity: usize, outcomes: Option<Outcomes>) -> Rig {
        let ledger = Ledger::new(Wanted { identified: true, ended: true });
        let flows =
            flow::Settings { capacity, secret: flow::Secret::from_seed(1), ..flow::Settings::default() };
        let settings =
            Settings { flows, waits: true, ledger: Some(ledger.clone()), outcomes, ..Settings::default() };
        Rig { spy: Spy::new(settings).unwrap(), ledger }
    }

    /// What is known of the flow of each packet; a packet a second from `from` on.
    fn look(&mut self, from: u64, frames: &[Vec<u8>]) -> Vec<Tag> {
        self.look_each(from * SECOND, SECOND, frames)
    }

    /// The same, with other times between packets.
    fn look_each(&mut self, from_ns: u64, distance_ns: u64, frames: &[Vec<u8>]) -> Vec<Tag> {
        let packets: Vec<Packet<'_>> = (0..)
            .zip(frames)
            .map(|(number, frame)| Packet {
                frame,
                linktype: LinkType::EN10MB,
                time_ns: from_ns + number * distance_ns,
                wire_len: frame.len() as u32,
            })
            .collect();
        let mut tags = vec![Tag { packets: 99, ..Tag::default() }; packets.len()];
        self.spy.burst(&packets, &mut tags);
        tags
    }

    fn finish(&mut self) -> Vec<Record> {
        self.spy.finish();
        let counters = self.spy.counters();
        assert_eq!(counters.packets, counters.in_flows + counters.no_flow.iter().sum::<u64>());
        assert_eq!(counters.created, counters.ended.iter().sum::<u64>());
        assert_eq!((self.spy.flows(), self.spy.tier1_usage().states), (0, 0), "nothing is left");
        let mut records = self.ledger.take_ended();
        records.sort_by_key(|record| record.number);
        assert_eq!(records.len() as u64, counters.created);
        assert_eq!(records.iter().map(Record::total_packets).sum::<u64>(), counters.in_flows);
        records
    }
}

fn segment(from_client: bool, flags: &str, seq: u32, payload: &str) -> Vec<u8> {
    let (src, dst, sport, dport) =
        if from_client { ("10.0.0.9", "10.0.0.2", 4000, 8022) } else { ("10.0.0.2", "10.0.0.9", 8022, 4000) };
    let ack = match (flags, from_client) {
        ("S", _) => 0,
        (_, true) => 501,
        (_, false) => 101,
    };
    let payload: String = payload.bytes().map(|byte| format!("{byte:02x} ")).collect();
    frame(&format!(
        "eth / ip4(src={src}, dst={dst}) / tcp(sport={sport}, dport={dport}, seq={seq}, ack={ack}, flags={flags}) / hex({payload})"
    ))
}

fn connection(request: &str) -> Vec<Vec<u8>> {
    vec![
        segment(true, "S", 100, ""),
        segment(false, "SA", 500, ""),
        segment(true, "A", 101, ""),
        segment(true, "PA", 101, request),
        segment(false, "PA", 501, "HTTP/1.1 200 OK\r\n\r\n"),
    ]
}

const REQUEST: &str = "GET / HTTP/1.1\r\nHost: www.example.org\r\n\r\n";

#[test]
fn the_packet_that_decides_its_flow_is_told_of_by_what_it_decides() {
    let mut rig = Rig::new(100);
    let tags = rig.look(1, &connection(REQUEST));
    let http = Protocol::HTTP.number();
    assert_eq!(
        tags.iter().map(|tag| (tag.protocol, tag.packets)).collect::<Vec<_>>(),
        [(0, 1), (0, 2), (0, 3), (http, 4), (http, 5)]
    );
    let identified = rig.ledger.take_identified();
    assert_eq!((identified.len(), identified[0].end), (1, End::None));
    let records = rig.finish();
    let record = &records[0];
    assert_eq!((record.packets, record.end, record.transport), ([3, 2], End::Finished, 6));
    assert_eq!(record.ends.map(|end| end.to_string()), ["10.0.0.9:4000", "10.0.0.2:8022"]);
    assert_eq!((record.verdict.protocol, record.verdict.by), (Protocol::HTTP, By::Tier1));
    assert_eq!(record.details.as_ref().unwrap().sni.as_deref(), Some("www.example.org"));
    assert_eq!((record.first_ns, record.last_ns), (SECOND, 5 * SECOND));
    assert_eq!(rig.spy.identified(), Identified { tier1: 1, ..Identified::default() });
}

#[test]
fn what_was_said_in_parts_counts_as_a_whole() {
    let mut rig = Rig::new(100);
    let (begin, end) = REQUEST.split_at(5);
    let frames =
        [segment(true, "S", 100, ""), segment(true, "PA", 106, end), segment(true, "PA", 101, begin)];
    let tags = rig.look(1, &frames);
    assert_eq!(tags.iter().map(|tag| tag.protocol).collect::<Vec<_>>(), [0, 0, Protocol::HTTP.number()]);
    rig.finish();
}

#[test]
fn a_syn_on_an_open_connection_does_not_move_where_it_is_read_from() {
    let http = Protocol::HTTP.number();
    for forged in [segment(true, "S", 90_000, ""), segment(false, "S", 90_000, "")] {
        for at in 1..=3 {
            let mut rig = Rig::new(100);
            let mut frames = connection(REQUEST);
            frames.insert(at, forged.clone());
            let tags = rig.look(1, &frames);
            // Before the answer, another SYN of the same end takes the place of the first.
            let is_moved = at == 1 && forged == segment(true, "S", 90_000, "");
            assert_eq!(tags[4].protocol == http, !is_moved, "{at}");
            rig.finish();
        }
    }
}

#[test]
fn a_flow_that_says_nothing_has_no_state() {
    let mut rig = Rig::new(1 << 10);
    for round in 0..20 {
        let frames: Vec<Vec<u8>> = (0..500)
            .map(|host| {
                let (a, b) = (host / 250, host % 250);
                frame(&format!(
                    "eth / ip4(src=10.{round}.{a}.{b}, dst=10.0.0.2) / tcp(sport=5, dport=80, flags=S)"
                ))
            })
            .collect();
        let tags = rig.look_each(round, 1, &frames);
        assert!(tags.iter().all(|tag| tag.protocol == 0 && tag.packets == 1));
        assert_eq!(rig.spy.tier1_usage().states, 0);
        assert!(rig.spy.flows() <= 1 << 10, "the table is full, and stays as it is");
    }
    assert!(rig.spy.counters().ended(EndReason::Evicted) > 0);
    assert_eq!(rig.spy.identified().tier1, 0);
    assert_eq!(rig.finish().len(), 10_000);
    assert_eq!(rig.spy.identified().nobody, 10_000);
}

#[test]
fn names_that_there_is_no_room_for_come_to_what_they_come_to() {
    let mut rig = Rig::new(100);
    rig.spy.books.store = store::Store::new(0);
    let namer: Namer =
        Arc::new(|details| if details.sni.as_deref() == Some("www.example.org") { 7 } else { 0 });
    rig.spy.set_namer(Some(namer));
    let tags = rig.look(1, &connection(REQUEST));
    assert_eq!(tags.iter().map(|tag| tag.name).collect::<Vec<_>>(), [0, 0, 0, 7, 7]);
    assert_eq!(rig.spy.names_lost(), 1);
    assert_eq!(rig.finish()[0].details, None);
}

#[test]
fn what_carries_no_ports_is_told_by_the_protocol_over_ip() {
    let mut rig = Rig::new(100);
    let tags = rig.look(
        1,
        &[
            frame("eth / ip4(src=10.0.0.1, dst=10.0.0.2) / icmp(type=8, code=0)"),
            frame("eth / ip4(src=10.0.0.1, dst=10.0.0.2, proto=89) / hex(00)"),
            frame("eth / ip4(src=10.0.0.1, dst=10.0.0.2, proto=253) / hex(00)"),
            frame("eth / arp"),
        ],
    );
    let name = |tag: &Tag| Protocol::from_number(tag.protocol).name(dpi::protocol::Naming::Ndpi);
    assert_eq!(tags.iter().map(name).collect::<Vec<_>>(), ["ICMP", "OSPF", "Unknown", "Unknown"]);
    assert_eq!(tags.iter().map(|tag| tag.packets).collect::<Vec<_>>(), [1, 1, 1, 0], "ARP has no flow");
    let records = rig.finish();
    assert_eq!(records[0].ends[0].port(), 0);
}

#[test]
fn a_flow_that_rests_long_is_another_one_then() {
    let mut rig = Rig::new(100);
    let datagram = frame("eth / ip4(src=10.0.0.1, dst=10.0.0.2) / udp(sport=5, dport=6) / hex(00 00)");
    rig.look(1, std::slice::from_ref(&datagram));
    let tags = rig.look(1000, &[datagram]);
    assert_eq!(tags[0].packets, 1);
    let records = rig.finish();
    assert_eq!(records.iter().map(|record| record.end).collect::<Vec<_>>(), [End::Idle, End::Finished]);
}

#[test]
fn a_second_look_tells_what_flows_turned_out_to_be() {
    let frames = [connection(REQUEST), vec![frame("eth / arp")]].concat();
    let mut first = Rig::new(100);
    first.look(1, &frames);
    let outcomes = Outcomes::of(&first.finish());
    let mut second = Rig::with(100, Some(outcomes));
    let tags = second.look(1, &frames);
    assert!(
        tags[..5].iter().all(|tag| (tag.protocol, tag.packets) == (Protocol::HTTP.number(), 5)),
        "{tags:?}"
    );
    assert_eq!(tags[5], Tag::default());
}

#[test]
fn a_flow_that_ends_before_it_is_sure_is_what_it_most_likely_was() {
    let mut rig = Rig::new(100);
    rig.look(
        1,
        &[segment(false, "SA", 500, ""), segment(false, "PA", 501, "220 mx.example ESMTP ready\r\n")],
    );
    let records = rig.finish();
    assert_eq!(
        (records[0].verdict.protocol, records[0].verdict.confidence),
        (Protocol::SMTP, Confidence::Partial)
    );
}

#[test]
fn a_flow_that_ends_within_a_burst_was_looked_at() {
    let mut rig = Rig::new(100);
    let mut frames = connection(REQUEST);
    frames.push(segment(true, "R", 142, ""));
    // The ports are used again, and nothing is said.
    frames.push(segment(true, "S", 9000, ""));
    let tags = rig.look_each(SECOND, 1, &frames);
    let last = (tags[6].protocol, tags[6].packets, tags[6].progress);
    assert_eq!((tags[3].protocol, last), (Protocol::HTTP.number(), (0, 1, Progress::Open)));
    let records = rig.finish();
    assert_eq!(
        records.iter().map(|record| record.verdict.protocol).collect::<Vec<_>>(),
        [Protocol::HTTP, Protocol::UNKNOWN]
    );
}

#[test]
fn pieces_of_what_is_not_seen_whole_do_not_pass_for_what_has_no_flow() {
    let mut rig = Rig::new(100);
    let tags = rig.look(
        1,
        &[frame("eth / ip4(src=10.0.0.1, dst=10.0.0.2, frag=1, id=5) / hex(00 00)"), frame("eth / arp")],
    );
    assert_eq!(tags.iter().map(|tag| tag.packets).collect::<Vec<_>>(), [1, 0]);
}
