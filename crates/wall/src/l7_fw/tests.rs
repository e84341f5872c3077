use super::*;
use testkit::packet::Packet as Text;
use testkit::rig::Rig;

const OUTPUTS: &[&str] = &["output", "reject", "onward"];

fn rig(rules: &str, outputs: &[&str]) -> Rig {
    Rig::new(L7Fw::new(rules), &["input"], outputs)
}

fn frame(line: &str) -> Vec<u8> {
    Text::parse(line).unwrap_or_else(|error| panic!("{line}: {error}")).bytes
}

fn of(protocol: Protocol, flow_packets: u32) -> Metadata {
    Metadata {
        application: protocol.number(),
        flow_packets,
        linktype: 1,
        timestamp_ns: 1,
        ..Metadata::default()
    }
}

const SEGMENT: &str = "eth(src=02:00:00:00:00:01, dst=02:00:00:00:00:02) / ip4(src=10.0.0.1, dst=10.0.0.2) / tcp(sport=4000, dport=80, flags=A, seq=5, ack=9)";

#[test]
fn packets_go_where_the_rules_say() {
    let rules =
        "{ HTTP = 'reject', DNS = 'drop', RTP = 'match { flow_count >= 3 => accept, otherwise => drop }' }";
    let mut rig = rig(rules, OUTPUTS);
    let segment = frame(SEGMENT);
    for (protocol, count) in
        [(Protocol::SSH, 1), (Protocol::HTTP, 2), (Protocol::DNS, 1), (Protocol::RTP, 2), (Protocol::RTP, 3)]
    {
        rig.send_with("input", &segment, of(protocol, count));
    }
    rig.send("input", frame("eth / arp"));
    rig.breathe();
    assert_eq!(rig.take("output").len(), 3);
    assert_eq!((rig.take("reject").len(), rig.take("onward").len()), (1, 1), "a reset for each end");
    for (name, count) in [("accepted", 3), ("rejected", 1), ("dropped", 2), ("no_flow", 1), ("replies", 2)] {
        assert_eq!(rig.counter(name), count, "{name}");
    }
}

#[test]
fn without_a_way_onward_both_resets_go_to_reject() {
    let mut rig = rig("{ default = 'reject' }", &["output", "reject"]);
    rig.send_with("input", frame(SEGMENT), of(Protocol::UNKNOWN, 1));
    rig.breathe();
    let replies = rig.take("reject");
    assert_eq!(replies.iter().map(|reply| reply[5]).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn replies_are_limited_and_packets_are_rejected_all_the_same() {
    let mut rig =
        Rig::new(L7Fw { reject_pps: 3, ..L7Fw::new("{ default = 'reject' }") }, &["input"], OUTPUTS);
    for _ in 0..4 {
        rig.send_with("input", frame(SEGMENT), of(Protocol::UNKNOWN, 1));
    }
    rig.send_with("input", frame("eth / ip4(dst=224.0.0.1) / udp"), of(Protocol::UNKNOWN, 1));
    rig.breathe();
    for (name, count) in [("rejected", 5), ("replies", 3), ("replies_limited", 5), ("unanswered", 1)] {
        assert_eq!(rig.counter(name), count, "{name}");
    }
}

#[test]
fn an_exhausted_pool_costs_replies_only() {
    let mut rig = Rig::with(L7Fw::new("{ default = 'reject' }"), &["input"], OUTPUTS, 4);
    for _ in 0..4 {
        rig.send_with("input", frame(SEGMENT), of(Protocol::UNKNOWN, 1));
    }
    rig.breathe();
    assert_eq!(rig.counter("rejected"), 4);
    assert_eq!(rig.counter("replies") + rig.counter("replies_no_packet"), 8);
}

#[test]
fn packets_of_several_link_types_fall_under_rules_of_their_own() {
    let mut rig = rig("{ default = 'match { tcp => accept, otherwise => drop }' }", OUTPUTS);
    let segment = frame(SEGMENT);
    for _ in 0..2 {
        for (linktype, data) in [(1, &segment[..]), (101, &segment[14..]), (0, b"\x02\0\0\0")] {
            rig.send_with("input", data, Metadata { linktype, ..of(Protocol::UNKNOWN, 1) });
        }
    }
    rig.breathe();
    assert_eq!((rig.counter("accepted"), rig.counter("dropped")), (4, 2));
}

#[test]
fn other_rules_hold_from_the_next_packet_on() {
    let mut rig = rig("{ default = 'drop' }", OUTPUTS);
    rig.send_with("input", frame(SEGMENT), of(Protocol::UNKNOWN, 1));
    rig.breathe();
    rig.reconfigure(L7Fw::new("{ default = 'accept' }"));
    rig.send_with("input", frame(SEGMENT), of(Protocol::UNKNOWN, 2));
    rig.breathe();
    assert_eq!((rig.counter("accepted"), rig.counter("dropped")), (1, 1));
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let wrong = |options: &str| -> String {
        let class: L7Fw = toml::from_str(options).unwrap();
        format!("{:?}", class.check().unwrap_err())
    };
    for (options, told) in [
        ("", "there are none"),
        ("rules = '{}'\nrules_file = 'x'", "leave one of them out"),
        ("rules_file = '/nowhere'", "cannot read /nowhere"),
        ("rules = '{ HTPP = 1 }'", "1:10: expected an action in quotes"),
    ] {
        assert!(wrong(options).contains(told), "{options}: {}", wrong(options));
    }
    let error = toml::from_str::<L7Fw>("rules = '{}'\nlocal_mac = '02:0'").unwrap_err();
    assert!(error.to_string().contains("write it like 02:00"), "{error}");
}
