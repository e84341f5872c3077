use super::*;
use crate::decode::decode;
use crate::key::Direction;
use crate::tcp::TcpState;
use proptest::prelude::*;
use std::collections::HashMap;
use testkit::packet::Packet as Line;

fn bytes(line: &str) -> Vec<u8> {
    Line::parse(line).unwrap_or_else(|error| panic!("`{line}`: {error}")).bytes
}

fn tracker(settings: Settings) -> Tracker<u32> {
    Tracker::new(&Settings { secret: Secret::from_seed(1), ..settings }).unwrap()
}

fn small() -> Settings {
    Settings { capacity: 1000, ..Settings::default() }
}

/// What became of a packet.
#[derive(Clone, Copy)]
struct Sight {
    slot: Result<Slot, NoFlow>,
    is_new: bool,
    reopens: Option<Slot>,
    decoded: Decoded,
}

impl Sight {
    fn slot(&self) -> Result<Slot, NoFlow> {
        self.slot
    }

    fn is_new(&self) -> bool {
        self.is_new
    }

    fn decoded(&self) -> Option<&Decoded> {
        self.slot.is_ok().then_some(&self.decoded)
    }
}

fn burst<V: Default>(
    tracker: &mut Tracker<V>,
    packets: &[Packet<'_>],
    ended: impl FnMut(Ended<V>),
) -> Vec<Sight> {
    let mut sights = Vec::new();
    let see = |at: usize, seen: Result<Seen<'_, V>, NoFlow>| {
        assert_eq!(at, sights.len());
        sights.push(match seen {
            Ok(Seen { slot, is_new, reopens, decoded, .. }) => {
                Sight { slot: Ok(slot), is_new, reopens, decoded: *decoded }
            }
            Err(why) => Sight { slot: Err(why), is_new: false, reopens: None, decoded: Decoded::NONE },
        });
    };
    tracker.burst(packets, see, ended);
    sights
}

/// What became of each packet, and the flows that ended. Packets are lines with times in milliseconds.
fn run(tracker: &mut Tracker<u32>, lines: &[(u64, &str)]) -> (Vec<Sight>, Vec<Ended<u32>>) {
    let frames: Vec<(u64, Vec<u8>)> = lines.iter().map(|&(ms, line)| (ms, bytes(line))).collect();
    let packets: Vec<Packet<'_>> = frames
        .iter()
        .map(|(ms, frame)| Packet {
            frame,
            linktype: LinkType::EN10MB,
            time_ns: ms * 1_000_000,
            wire_len: frame.len() as u32,
        })
        .collect();
    let mut ended = Vec::new();
    let seen = burst(tracker, &packets, |flow| ended.push(flow));
    (seen, ended)
}

fn is_sum_right(counters: &Counters) -> bool {
    counters.packets == counters.in_flows + counters.no_flow.iter().sum::<u64>()
}

const SYN: &str = "eth / ip4(10.0.0.2,10.0.0.1) / tcp(4000,80,seq=1,flags=S)";
const SYN_ACK: &str = "eth / ip4(10.0.0.1,10.0.0.2) / tcp(80,4000,seq=100,ack=2,flags=SA)";
const ACK: &str = "eth / ip4(10.0.0.2,10.0.0.1) / tcp(4000,80,seq=2,ack=101,flags=A)";
const RST: &str = "eth / ip4(10.0.0.1,10.0.0.2) / tcp(80,4000,seq=101,ack=2,flags=RA)";
const UDP: &str = "eth / ip4(10.0.0.2,10.0.0.1) / udp(4000,53) / 'query'";
const ANSWER: &str = "eth / ip4(10.0.0.1,10.0.0.2) / udp(53,4000) / 'the answer'";

#[test]
fn a_connection_is_one_flow_in_both_directions() {
    let mut tracker = tracker(small());
    let (seen, ended) =
        run(&mut tracker, &[(0, SYN), (1, SYN_ACK), (2, ACK), (3, UDP), (4, "eth / arp"), (5, RST)]);
    assert!(ended.is_empty());
    let slot = seen[0].slot().unwrap();
    let news: Vec<_> =
        seen.iter().map(|seen| seen.slot().map(|found| (found == slot, seen.is_new()))).collect();
    assert_eq!(
        news,
        [
            Ok((true, true)),
            Ok((true, false)),
            Ok((true, false)),
            Ok((false, true)),
            Err(NoFlow::Arp),
            Ok((true, false))
        ]
    );
    let stats = tracker.flow(slot).unwrap().stats();
    assert_eq!((stats.initiator, stats.tcp, stats.is_midstream), (Direction::Down, TcpState::Reset, false));
    assert_eq!(
        (stats.packets, stats.bytes, stats.first_ns, stats.last_ns),
        ([2, 2], [108, 108], 0, 5_000_000)
    );
    assert_eq!((tracker.counters().without_flow(NoFlow::Arp), tracker.counters().created), (1, 2));
    assert!(is_sum_right(tracker.counters()));
    assert_eq!(tracker.find(&seen[0].decoded().unwrap().key), Some(slot));
    let mut reasons = Vec::new();
    tracker.finish(|ended| reasons.push((ended.key.protocol(), ended.why)));
    reasons.sort_by_key(|&(protocol, _)| protocol);
    assert_eq!(reasons, [(6, EndReason::Removed), (17, EndReason::Removed)]);
    assert!(tracker.table().is_empty() && tracker.flow(slot).is_none());
}

#[test]
fn flows_time_out_by_their_state() {
    let cases: [(&[&str], u64, EndReason); 5] = [
        (&[SYN], 10_000, EndReason::Idle),
        (&[SYN, SYN_ACK], 10_000, EndReason::Idle),
        (&[SYN, SYN_ACK, ACK], 300_000, EndReason::Idle),
        (&[SYN, SYN_ACK, ACK, RST], 5_000, EndReason::Closed),
        (&[UDP, ANSWER], 60_000, EndReason::Idle),
    ];
    for (lines, ms, why) in cases {
        let lines: Vec<(u64, &str)> = lines.iter().map(|&line| (0, line)).collect();
        let begin = || {
            let mut tracker = tracker(small());
            run(&mut tracker, &lines);
            tracker
        };
        // A packet of the flow, on time and too late, whether a sweep has come by or not.
        let last = lines.last().unwrap().1;
        let (seen, ended) = run(&mut begin(), &[(ms, last)]);
        assert!(ended.is_empty() && !seen[0].is_new() || why == EndReason::Closed);
        let mut late = begin();
        let (seen, ended) = run(&mut late, &[(ms + 1, last)]);
        assert_eq!((ended.len(), ended[0].why, seen[0].is_new()), (1, why, true), "{lines:?}");
        assert_eq!((late.counters().ended(why), late.table().len()), (1, 1));
        // A sweep; ages in the table are good to 67 ms.
        let mut tracker = begin();
        let mut swept = Vec::new();
        tracker.expire(ms * 1_000_000, usize::MAX, |flow| swept.push(flow.why));
        assert!(swept.is_empty());
        tracker.expire((ms + 70) * 1_000_000, usize::MAX, |flow| swept.push(flow.why));
        assert_eq!(swept, [why]);
    }
}

#[test]
fn flows_end_without_packets() {
    let mut tracker = tracker(small());
    let mut ended = Vec::new();
    tracker.rest(90 * SECOND, |flow| ended.push(flow.why));
    run(&mut tracker, &[(1_700_000_000_000, UDP)]);
    for quiet in [1, 59, 90] {
        tracker.rest(quiet * SECOND, |flow| ended.push(flow.why));
    }
    assert_eq!((ended, tracker.table().len()), (vec![EndReason::Idle], 0));
}

#[test]
fn what_a_few_packets_leave_of_a_sweep_stays_due() {
    let mut tracker = tracker(Settings { capacity: 100_000, ..Settings::default() });
    let mut lines = vec![(0, UDP)];
    // A packet each five milliseconds sweeps two buckets of 32768 by itself.
    lines.extend((1..=14_000).map(|number| (5 * number, SYN)));
    let mut ended = Vec::new();
    for lines in lines.chunks(4) {
        ended.extend(run(&mut tracker, lines).1);
        tracker.rest(0, |flow| ended.push(flow));
    }
    assert_eq!(
        ended.iter().map(|flow| (flow.key.protocol(), flow.why)).collect::<Vec<_>>(),
        [(17, EndReason::Idle)]
    );
}

#[test]
fn a_new_connection_on_the_ports_of_a_closed_one_is_a_new_flow() {
    let lines = [(0, SYN), (0, RST), (1, SYN), (2, SYN_ACK)];
    let mut one = tracker(small());
    let (seen, ended) = run(&mut one, &lines);
    assert_eq!((ended.len(), ended[0].why, ended[0].stats.packets), (1, EndReason::Closed, [1, 1]));
    let slots: Vec<Slot> = seen.iter().map(|seen| seen.slot().unwrap()).collect();
    assert!(slots[0] == slots[1] && slots[1] != slots[2] && slots[2] == slots[3]);
    assert_eq!((one.flow(slots[0]), one.flow(slots[2]).is_some()), (None, true));
    let timeouts = Timeouts { closed: Timeouts::NEVER, ..Timeouts::default() };
    let mut same = tracker(Settings { timeouts, ..small() });
    assert!(run(&mut same, &lines).1.is_empty());
    assert_eq!(same.table().len(), 1);
}

const SYN_AGAIN: &str = "eth / ip4(10.0.0.2,10.0.0.1) / tcp(4000,80,seq=1000000000,flags=S)";
const SYN_ACK_AGAIN: &str =
    "eth / ip4(10.0.0.1,10.0.0.2) / tcp(80,4000,seq=2000000000,ack=1000000001,flags=SA)";
const ACK_AGAIN: &str = "eth / ip4(10.0.0.2,10.0.0.1) / tcp(4000,80,seq=1000000001,ack=2000000001,flags=A)";

#[test]
fn a_new_connection_on_the_ports_of_an_open_one_is_a_new_flow_when_it_is_answered() {
    let lines = [(0, SYN), (1, SYN_ACK), (2, ACK), (3, SYN_AGAIN), (4, SYN_ACK_AGAIN), (5, ACK_AGAIN)];
    for midstream in [Midstream::Established, Midstream::Ignored] {
        let mut tracker = tracker(Settings { midstream, ..small() });
        let (mut seen, ended) = run(&mut tracker, &lines);
        assert_eq!((ended.len(), ended[0].why, ended[0].stats.packets), (1, EndReason::Closed, [1, 3]));
        seen.retain(|sight| sight.is_new);
        assert_eq!(seen.iter().map(|sight| sight.reopens.is_some()).collect::<Vec<_>>(), [false, true]);
        assert_eq!(seen[1].reopens.map(Ok), Some(seen[0].slot()));
        let stats = tracker.flow(seen[1].slot().unwrap()).unwrap().stats();
        assert_eq!(
            (stats.initiator, stats.tcp, stats.packets),
            (Direction::Down, TcpState::Established, [1, 1])
        );
    }
    let timeouts = Timeouts { closed: Timeouts::NEVER, ..Timeouts::default() };
    let mut same = tracker(Settings { timeouts, ..small() });
    let (seen, ended) = run(&mut same, &lines);
    let stats = same.flow(seen[5].slot().unwrap()).unwrap().stats();
    assert_eq!((ended.len(), same.table().len(), stats.tcp), (0, 1, TcpState::Established));
}

#[test]
fn what_is_not_of_a_connection_does_not_keep_it_from_ending() {
    const OUTSIDE: &str = "eth / ip4(10.0.0.2,10.0.0.1) / tcp(4000,80,seq=1000000000,ack=101,flags=A)";
    for line in [OUTSIDE, SYN_AGAIN] {
        let mut tracker = tracker(small());
        let open = [(0, SYN), (0, SYN_ACK), (0, ACK)];
        let (seen, ended) = run(&mut tracker, &[&open[..], &[(200_000, line), (300_001, line)]].concat());
        let news: Vec<bool> = seen.iter().map(Sight::is_new).collect();
        assert_eq!(news, [true, false, false, false, true], "{line}");
        assert_eq!((ended.len(), ended[0].why, ended[0].stats.last_ns), (1, EndReason::Idle, 0));
        // A sweep finds it as well.
        run(&mut tracker, &open.map(|(_, line)| (700_000, line)));
        run(&mut tracker, &[(900_000, line)]);
        let mut swept = Vec::new();
        tracker.expire(1_000_100 * 1_000_000, usize::MAX, |flow| swept.push(flow.why));
        assert_eq!(swept, [EndReason::Idle]);
    }
}

#[test]
fn active_flows_end_and_go_on() {
    let timeouts = Timeouts { active: 30 * SECOND, ..Timeouts::default() };
    let mut tracker = tracker(Settings { timeouts, ..small() });
    let (seen, ended) = run(&mut tracker, &[(0, UDP), (20_000, UDP), (30_001, UDP), (31_000, ANSWER)]);
    assert_eq!((ended.len(), ended[0].why, ended[0].stats.packets), (1, EndReason::Active, [0, 2]));
    assert_eq!(seen.iter().filter(|seen| seen.is_new()).count(), 2);
}

#[test]
fn connections_without_syn_are_flows_or_not() {
    let lines = [(0, ACK), (0, RST), (1, SYN), (2, SYN_ACK), (3, UDP)];
    let mut picked_up = tracker(small());
    let (seen, _) = run(&mut picked_up, &lines[..2]);
    assert!(picked_up.flow(seen[0].slot().unwrap()).unwrap().stats().is_midstream);
    let mut ignored = tracker(Settings { midstream: Midstream::Ignored, ..small() });
    let (seen, _) = run(&mut ignored, &lines);
    let flows: Vec<bool> = seen.iter().map(|seen| seen.slot().is_ok()).collect();
    assert_eq!(flows, [false, false, true, true, true]);
    assert_eq!(ignored.counters().without_flow(NoFlow::Midstream), 2);
    assert!(is_sum_right(ignored.counters()));
}

#[test]
fn fragments_of_a_burst_join_their_flow() {
    let first = "eth / ip4(10.0.0.2,10.0.0.1,id=9,mf=1) / udp(4000,53) / pad(16)";
    let later = "eth / ip4(10.0.0.2,10.0.0.1,id=9,frag=3,proto=17) / pad(9)";
    let mut tracker = tracker(small());
    let (seen, _) = run(&mut tracker, &[(0, later), (0, first), (0, later), (0, ANSWER)]);
    assert_eq!(seen[0].slot(), Err(NoFlow::Fragment));
    assert_eq!(seen[0].decoded(), None);
    let slots: Vec<Slot> = seen[1..].iter().map(|seen| seen.slot().unwrap()).collect();
    assert!(slots.iter().all(|&slot| slot == slots[0]));
    assert_eq!(tracker.flow(slots[0]).unwrap().stats().packets, [1, 2]);
}

#[test]
fn time_may_go_back_and_jump() {
    let mut tracker = tracker(small());
    run(&mut tracker, &[(50_000, UDP), (1_000, ANSWER), (0, SYN), (60_000, UDP)]);
    assert_eq!((tracker.table().len(), tracker.counters().created), (2, 2));
    let stats: Vec<Stats> = tracker.iter().map(|(_, _, flow)| flow.stats()).collect();
    assert!(stats.iter().any(|stats| (stats.first_ns, stats.last_ns) == (50_000_000_000, 60_000_000_000)));
    run(&mut tracker, &[(u64::MAX / 1_000_000, SYN), (60_001, UDP)]);
    assert!(is_sum_right(tracker.counters()));
}

#[test]
fn a_flood_takes_half_open_flows_only() {
    let mut tracker = tracker(small());
    let (seen, _) = run(&mut tracker, &[(0, SYN), (0, SYN_ACK), (0, ACK), (0, UDP), (0, ANSWER)]);
    let (tcp, udp) = (seen[0].slot().unwrap(), seen[3].slot().unwrap());
    let bytes = tracker.bytes();
    for round in 0..100 {
        let lines: Vec<String> = (0..100)
            .map(|port| format!("eth / ip4(10.{round}.0.9,10.0.0.1) / tcp({port},80,flags=S)"))
            .collect();
        let lines: Vec<(u64, &str)> = lines.iter().map(|line| (100 * round, line.as_str())).collect();
        let (seen, _) = run(&mut tracker, &lines);
        assert!(seen.iter().all(|seen| seen.is_new()));
    }
    assert!(tracker.flow(tcp).is_some() && tracker.flow(udp).is_some());
    assert_eq!((tracker.bytes(), tracker.counters().created), (bytes, 10_002));
    assert!(tracker.counters().ended(EndReason::Evicted) > 8000);
    let ended: u64 = tracker.counters().ended.iter().sum();
    assert_eq!(ended + tracker.table().len() as u64, 10_002);
}

/// Random packets of few flows, with times.
fn traffic() -> impl Strategy<Value = Vec<(u32, u8, u64)>> {
    prop::collection::vec((0..40u32, 0..2u8, 0..40_000u64), 1..200)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    /// A map of flows with the same timeout gives the same flows, with the same counts, however packets are cut into bursts.
    #[test]
    fn flows_are_those_of_a_map(traffic in traffic(), burst in 1..70usize) {
        let mut tracker = tracker(small());
        let mut model: HashMap<Key, Stats> = HashMap::new();
        let (mut ended, mut expected, mut now) = (Vec::new(), Vec::new(), 0);
        let mut frames = Vec::new();
        for (flow, direction, ms) in traffic {
            now += ms * 1_000_000;
            let (src, dst) = if direction == 0 { (flow, 99) } else { (99, flow) };
            let ports = if direction == 0 { (flow, 53) } else { (53, flow) };
            frames.push((now, bytes(&format!("eth / ip4(10.0.0.{src},10.0.0.{dst}) / udp({},{}) / pad({flow})", ports.0, ports.1))));
        }
        for frames in frames.chunks(burst) {
            let packets: Vec<Packet<'_>> = frames.iter().map(|&(time_ns, ref frame)| {
                Packet { frame, linktype: LinkType::EN10MB, time_ns, wire_len: frame.len() as u32 }
            }).collect();
            let seen = self::burst(&mut tracker, &packets, |flow| ended.push((flow.key, flow.stats)));
            for (seen, packet) in seen.iter().zip(&packets) {
                let decoded = seen.decoded().unwrap();
                let (key, at) = (decoded.key, decoded.direction.index());
                let is_over = |stats: &Stats| packet.time_ns - stats.last_ns > 60 * SECOND;
                if model.get(&key).is_some_and(is_over) {
                    expected.push((key, model.remove(&key).unwrap()));
                }
                prop_assert_eq!(seen.is_new(), !model.contains_key(&key));
                let stats = model.entry(key).or_insert_with(|| Flow::new((), decoded.direction, packet.time_ns).stats());
                stats.packets[at] += 1;
                stats.bytes[at] += u64::from(packet.wire_len);
                stats.last_ns = packet.time_ns;
            }
        }
        tracker.finish(|flow| ended.push((flow.key, flow.stats)));
        expected.extend(model);
        let order = |(key, stats): &(Key, Stats)| (stats.first_ns, key.src(Direction::Up), key.dst(Direction::Up));
        ended.sort_by_key(order);
        expected.sort_by_key(order);
        prop_assert_eq!(ended, expected);
        prop_assert!(is_sum_right(tracker.counters()));
    }
}

#[test]
fn counts_of_packets_carry() {
    let decoded = decode(LinkType::EN10MB, &bytes(UDP)).unwrap();
    let packet = Packet { frame: &[], linktype: LinkType::EN10MB, time_ns: 0, wire_len: 1 };
    let mut flow = Flow::new((), Direction::Up, 0);
    flow.packets_low[decoded.direction.index()] = u32::MAX;
    assert_eq!(flow.count(&decoded, &packet, false).packets, u32::MAX);
    assert_eq!(flow.stats().packets, [0, 1 << 32]);
    // Key, generation and this are two cache lines.
    assert_eq!(size_of::<Flow<[u64; 3]>>() + 48, 128);
}

#[test]
fn any_frames_are_counted_once() {
    let mut rng = testkit::rng::Rng::new(3);
    let mut tracker = tracker(Settings { capacity: 64, datagrams: 4, ..Settings::default() });
    for linktype in testkit::linktype::all() {
        let lines: Vec<Line> = (0..200)
            .map(|_| {
                let packet = testkit::traffic::packet(linktype, &mut rng);
                if rng.chance(1, 2) { testkit::mutate::headers(&packet, &mut rng) } else { packet }
            })
            .collect();
        let packets: Vec<Packet<'_>> = lines
            .iter()
            .map(|line| Packet {
                frame: &line.bytes,
                linktype,
                time_ns: rng.next_u64() >> 24,
                wire_len: line.wire_len,
            })
            .collect();
        let seen = burst(&mut tracker, &packets, |_| {});
        assert_eq!(seen.len(), packets.len());
    }
    assert!(is_sum_right(tracker.counters()));
    let counters = *tracker.counters();
    let ended: u64 = counters.ended.iter().sum();
    assert_eq!(counters.created, ended + tracker.table().len() as u64);
}

/// Refuses a third of all packets.
struct Choosy<'a> {
    packets: &'a [Packet<'a>],
    /// What is stored of flows, by packet that was asked about.
    known: Vec<(usize, u32)>,
    seen: Vec<(usize, bool)>,
}

fn is_refused(packet: &Packet<'_>) -> bool {
    packet.frame.iter().map(|byte| u32::from(*byte)).sum::<u32>() % 3 == 0
}

impl Watcher<u32> for Choosy<'_> {
    fn admits(&mut self, number: usize, flow: Option<(&u32, &Decoded)>) -> bool {
        self.known.extend(flow.map(|(value, _)| (number, *value)));
        !is_refused(&self.packets[number])
    }

    fn seen(&mut self, number: usize, seen: Seen<'_, u32>) {
        if let Some(&(asked, value)) = self.known.last().filter(|(asked, _)| *asked == number) {
            assert_eq!((asked, seen.flow.value, seen.is_new), (number, value, false));
        }
        self.seen.push((number, seen.is_new));
        seen.flow.value += 1;
    }

    fn without_flow(&mut self, number: usize, _: NoFlow) {
        self.seen.push((number, false));
    }
}

#[test]
fn what_is_refused_changes_nothing() {
    let mut rng = testkit::rng::Rng::new(5);
    let settings = || Settings { capacity: 64, datagrams: 4, ..Settings::default() };
    let (mut choosy, mut other) = (tracker(settings()), tracker(settings()));
    let (mut asked, mut time_ns) = (0, 0);
    for _ in 0..200 {
        let lines: Vec<Line> =
            (0..1 + rng.below(100)).map(|_| testkit::traffic::packet(LinkType::EN10MB, &mut rng)).collect();
        // Some come again, so that their flows are there.
        let packets: Vec<Packet<'_>> = (0..2 * lines.len())
            .map(|at| {
                let line = &lines[at % lines.len()];
                time_ns += rng.next_u64() % 100_000_000;
                Packet { frame: &line.bytes, linktype: LinkType::EN10MB, time_ns, wire_len: line.wire_len }
            })
            .collect();
        let (mut ended, mut ended_of_other) = (Vec::new(), Vec::new());
        let mut watcher = Choosy { packets: &packets, known: Vec::new(), seen: Vec::new() };
        choosy.burst_for(&packets, &mut watcher, |flow| ended.push(flow));
        asked += watcher.known.len();
        let (numbers, admitted): (Vec<usize>, Vec<Packet<'_>>) =
            packets.iter().copied().enumerate().filter(|(_, packet)| !is_refused(packet)).unzip();
        let mut seen = Vec::new();
        let see = |at: usize, packet: Result<Seen<'_, u32>, NoFlow>| {
            seen.push((numbers[at], packet.as_ref().is_ok_and(|packet| packet.is_new)));
            if let Ok(packet) = packet {
                packet.flow.value += 1;
            }
        };
        other.burst(&admitted, see, |flow| ended_of_other.push(flow));
        assert_eq!((watcher.seen, ended), (seen, ended_of_other));
        assert_eq!(choosy.counters(), other.counters());
    }
    assert!(asked > 200, "{asked}");
}
