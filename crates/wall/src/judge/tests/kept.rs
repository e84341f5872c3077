//! Verdicts that are kept with flows, and what ends that.

use super::*;
use crate::spy::OWNER_NUMBER_MAX;

/// What becomes of frames, in bursts of so many: a letter each, and how many verdicts were kept.
fn judged(judge: &mut Judge, frames: &[Vec<u8>], way: Way, burst: usize) -> (String, u64) {
    let kept = judge.counts().kept;
    let mut letters = String::new();
    for frames in frames.chunks(burst) {
        letters.extend(actions(judge, frames, way).iter().map(|action| match action {
            Action::Accept => 'a',
            Action::Drop => 'd',
            Action::Reject => 'r',
        }));
    }
    (letters, judge.counts().kept - kept)
}

fn actions(judge: &mut Judge, frames: &[Vec<u8>], way: Way) -> Vec<Action> {
    actions_on(judge, LinkType::EN10MB, frames, way)
}

fn actions_on(judge: &mut Judge, linktype: LinkType, frames: &[Vec<u8>], way: Way) -> Vec<Action> {
    let packet = |frame| Packet { frame, linktype, time_ns: SECOND, wire_len: 60 };
    let packets: Vec<Packet<'_>> = frames.iter().map(|frame| packet(&frame[..])).collect();
    let mut verdicts = vec![Verdict::NONE; packets.len()];
    judge.burst(&packets, way, &mut verdicts);
    verdicts.iter().map(|verdict| verdict.action).collect()
}

/// Further segments of a [`connection`], from both ends in turns.
fn segments(count: usize) -> Vec<Vec<u8>> {
    let there = segment(true, "A", 101 + REQUEST.len() as u32, "");
    let back = segment(false, "A", 520, "");
    (0..count).map(|at| if at % 2 == 0 { there.clone() } else { back.clone() }).collect()
}

/// A judge by this policy, which has seen a connection that speaks HTTP.
fn judge_of_http(text: &str) -> Judge {
    let mut judge = judge(text);
    judged(&mut judge, &connection(), Way::default(), 1);
    judge
}

/// A judge as on a device, which waits for nothing.
fn live_judge(text: &str) -> Judge {
    let policy = Arc::new(Policy::read(text, Path::new("")).unwrap());
    Judge::new(policy, crate::spy::Settings::default()).unwrap()
}

/// Packets of a flow that nobody knows: `>` from 10.0.0.9, `<` to it.
fn packets(directions: &str) -> Vec<Vec<u8>> {
    let [there, back] = ["10.0.0.9:4000 > 10.0.0.2:5000", "10.0.0.2:5000 > 10.0.0.9:4000"]
        .map(|ends| talk(ends, "udp", "some words of no protocol"));
    directions.chars().map(|at| if at == '>' { there.clone() } else { back.clone() }).collect()
}

#[test]
fn a_verdict_is_kept_if_the_rules_read_what_stays_the_same() {
    for (text, expected, kept_of_40) in [
        ("app HTTP => reject\notherwise => accept", "rrrrrr", 40),
        ("app HTTP => accept(log)\notherwise => accept", "aaaaaa", 40),
        ("state established => accept\nstate new => accept", "aaaaaa", 40),
        ("from responder => reject\notherwise => accept", "ararar", 40),
        ("sni example.org and confidence payload => drop\notherwise => accept", "dddddd", 40),
        ("app HTTP and src host 10.0.0.2 => drop\ntcp => accept", "adadad", 40),
        ("udp and len > 1 => drop\nstate {new, established} => accept", "aaaaaa", 40),
        // Those of the other end are rejected without a look at their flow.
        ("tcp dst port 8022 => accept\nsrc host 10.0.0.2 => reject", "ararar", 20),
        ("flow_count > 7 => drop\notherwise => accept", "aadddd", 0),
        ("len > 1000 => drop\notherwise => accept", "aaaaaa", 0),
        ("tcp[13] & 1 != 0 => drop\notherwise => accept", "aaaaaa", 0),
        ("ip[8] < 3 => drop\notherwise => accept", "aaaaaa", 0),
        ("limit 1000/s => accept", "aaaaaa", 0),
    ] {
        for burst in [1, 2, 3, 9] {
            let mut judge = judge_of_http(&rules(text));
            let (letters, kept) = judged(&mut judge, &segments(6), Way::default(), burst);
            assert_eq!((&letters[..], kept > 0), (expected, kept_of_40 > 0), "{text}");
            let (_, kept) = judged(&mut judge, &segments(40), Way::default(), burst);
            assert_eq!(kept, kept_of_40, "{text} in bursts of {burst}");
            let counts = judge.counts();
            let by_rules: u64 = counts.rules.iter().map(|count| count.packets).sum();
            let all: u64 = counts.actions.iter().map(|count| count.packets).sum();
            assert_eq!((by_rules + counts.default.packets, all), (51, 51), "{text}");
        }
    }
}

#[test]
fn limits_count_each_packet() {
    let mut judge = judge_of_http(&rules(
        "app HTTP and limit 5/h burst 3 => accept\napp HTTP => drop\notherwise => accept",
    ));
    // Two of the connection are HTTP.
    assert_eq!(judged(&mut judge, &segments(4), Way::default(), 1), ("addd".to_owned(), 0));
}

#[test]
fn another_policy_judges_all_flows() {
    let read = |text: &str| Arc::new(Policy::read(&rules(text), Path::new("")).unwrap());
    let mut judge = judge_of_http(&rules("app HTTP => accept\nstate {new, established} => accept"));
    assert_eq!(judged(&mut judge, &segments(6), Way::default(), 1), ("aaaaaa".to_owned(), 6));
    judge.set_policy(read("app DNS => accept\nsni example.org => reject"));
    assert_eq!(judged(&mut judge, &segments(6), Way::default(), 1), ("rrrrrr".to_owned(), 4));
    judge.set_policy(read("flow_count > 1 => accept"));
    assert_eq!(judged(&mut judge, &segments(6), Way::default(), 1), ("aaaaaa".to_owned(), 0));
    judge.set_policy(read("app HTTP => drop"));
    assert_eq!(judged(&mut judge, &segments(6), Way::default(), 3), ("dddddd".to_owned(), 3));
}

#[test]
fn numbers_that_are_given_again_are_those_of_no_flow() {
    let read = |text: &str| Arc::new(Policy::read(&rules(text), Path::new("")).unwrap());
    let mut judge = judge_of_http(&rules("app HTTP => accept\nstate {new, established} => accept"));
    assert_eq!(judged(&mut judge, &segments(6), Way::default(), 1).1, 6);
    judge.kept.first = OWNER_NUMBER_MAX / 2 + 1;
    judge.set_policy(read("app HTTP => drop\notherwise => accept"));
    // The first verdict of this policy is that of another flow.
    assert_eq!(judged(&mut judge, &packets(">>>>"), Way::default(), 1).0, "aaaa");
    assert_eq!((judge.kept.first, judge.kept.get(1).unwrap().verdict.action), (1, Action::Accept));
    assert_eq!(judged(&mut judge, &segments(2), Way::default(), 1), ("dd".to_owned(), 0));
}

#[test]
fn a_state_that_changes_ends_it_within_a_burst() {
    let text = rules(
        "src host 10.0.0.9 and state new => accept\nsrc host 10.0.0.2 and state established => accept\notherwise => reject",
    );
    for burst in [1, 2, 3, 7, 20] {
        let mut judge = judge(&text);
        assert_eq!(judged(&mut judge, &packets(">>>>>>>>"), Way::default(), 1), ("aaaaaaaa".to_owned(), 6));
        let (letters, kept) = judged(&mut judge, &packets(">><>>><<>"), Way::default(), burst);
        assert_eq!(letters, "aaarrraar");
        assert!(kept >= 2, "{kept} in bursts of {burst}");
        // What is refused changes nothing.
        assert_eq!(judged(&mut judge, &packets("><><"), Way::default(), burst).0, "rara");
    }
}

#[test]
fn of_a_silent_flow_a_verdict_is_kept_until_it_says_something() {
    let handshake = [segment(true, "S", 100, ""), segment(false, "SA", 500, ""), segment(true, "A", 101, "")];
    let [there, back] = [segment(true, "A", 101, ""), segment(false, "A", 501, "")];
    let silent: Vec<Vec<u8>> = (0..10).map(|at| if at % 2 == 0 { &there } else { &back }.clone()).collect();
    let mut judge = live_judge(&rules("app HTTP => reject\notherwise => accept"));
    // Of the first packet nothing is kept, nor of the answer, which changes the state of the flow.
    assert_eq!(judged(&mut judge, &handshake, Way::default(), 1), ("aaa".to_owned(), 0));
    assert_eq!(judged(&mut judge, &silent, Way::default(), 1), ("aaaaaaaaaa".to_owned(), 9));
    assert_eq!(judged(&mut judge, &connection()[3..], Way::default(), 1), ("rr".to_owned(), 0));
    assert_eq!(judged(&mut judge, &segments(4), Way::default(), 1), ("rrrr".to_owned(), 4));
    let frames = [&handshake[..], &silent, &connection()[3..], &segments(4)].concat();
    for burst in 1..=frames.len() {
        let mut judge = live_judge(&rules("app HTTP => reject\notherwise => accept"));
        let (letters, _) = judged(&mut judge, &frames, Way::default(), burst);
        assert_eq!(letters, ["a".repeat(13), "r".repeat(6)].concat(), "in bursts of {burst}");
    }
    // Words of no protocol that is known, and a policy that drops what says something while that is so.
    let words = [segment(true, "PA", 101, "some words"), segment(false, "PA", 501, "others")];
    let frames = [&handshake[..], &silent[..4], &words, &silent[4..]].concat();
    let text = format!("undecided = 'drop'\n{}", rules("app HTTP => reject\notherwise => accept"));
    let (expected, _) = judged(&mut live_judge(&text), &frames, Way::default(), 1);
    for burst in 2..=frames.len() {
        let (letters, _) = judged(&mut live_judge(&text), &frames, Way::default(), burst);
        assert_eq!(letters, expected, "in bursts of {burst}");
    }
}

#[test]
fn verdicts_of_icmp_are_kept_if_the_rules_ask_for_no_state() {
    let echo = frame("eth / ip4(src=10.0.0.9, dst=10.0.0.2) / icmp(type=8, code=0) / 'abcd'");
    let echoes = vec![echo; 6];
    for (text, kept) in [
        ("app ICMP => reject\notherwise => accept", 5),
        ("state established => accept\napp ICMP => reject", 0),
    ] {
        let mut judge = judge(&rules(text));
        assert_eq!(judged(&mut judge, &echoes, Way::default(), 1), ("rrrrrr".to_owned(), kept), "{text}");
    }
}

#[test]
fn segments_that_do_not_count_are_invalid_all_the_same() {
    let mut judge = judge_of_http(&rules("state invalid => drop\notherwise => accept"));
    assert_eq!(judged(&mut judge, &segments(4), Way::default(), 1), ("aaaa".to_owned(), 4));
    let mut frames = segments(6);
    frames[2] = segment(true, "R", 101 + 1_000_000, "");
    for burst in [1, 2, 6] {
        let (letters, _) = judged(&mut judge, &frames, Way::default(), burst);
        assert_eq!(letters, "aadaaa", "in bursts of {burst}");
    }
    // By rules that ask for no state they are as others.
    let mut judge = judge_of_http(&rules("app HTTP => accept\notherwise => drop"));
    judged(&mut judge, &segments(4), Way::default(), 1);
    assert_eq!(judged(&mut judge, &frames, Way::default(), 1), ("aaaaaa".to_owned(), 6));
}

#[test]
fn packets_that_come_another_way_are_judged() {
    let mut judge =
        judge(&rules("in lan and app HTTP => accept\nin wan and app HTTP => reject\notherwise => accept"));
    let [lan, wan] = ["lan", "wan"].map(|name| judge.way(Some(name), None));
    judged(&mut judge, &connection(), lan, 1);
    assert_eq!(judged(&mut judge, &segments(4), lan, 1), ("aaaa".to_owned(), 4));
    assert_eq!(judged(&mut judge, &segments(4), wan, 1).0, "rrrr");
    assert_eq!(judged(&mut judge, &segments(4), lan, 4).0, "aaaa");
    // Rules that do not ask for it keep one for all.
    let mut judge = judge_of_http(&rules("app HTTP => accept\nstate {new, established} => accept"));
    assert_eq!(judged(&mut judge, &segments(4), lan, 1).1, 4);
    assert_eq!(judged(&mut judge, &segments(4), wan, 1).1, 4);
}

#[test]
fn packets_without_the_headers_of_the_others_are_judged() {
    let mut judge = judge(&rules(
        "udp port 5000 and state {new, established} => accept\nstate {new, established} => reject",
    ));
    assert_eq!(judged(&mut judge, &packets(">>>>"), Way::default(), 1), ("aaaa".to_owned(), 2));
    // A datagram in two fragments: the later one has no ports.
    let ip = |rest: &str| format!("eth / ip4(src=10.0.0.9, dst=10.0.0.2, id=7, {rest})");
    let first =
        frame(&format!("{} / udp(sport=4000, dport=5000) / hex(00 01 02 03 04 05 06 07)", ip("mf=1")));
    let later = frame(&format!("{} / hex(00 01 02 03 04 05 06 07)", ip("proto=17, frag=2")));
    assert_eq!(judged(&mut judge, &[first, later], Way::default(), 1), ("ar".to_owned(), 0));
    assert_eq!(judged(&mut judge, &packets(">>"), Way::default(), 1).0, "aa");
    // By rules that read no headers, fragments are packets as others.
    let mut judge = judge_of_http(&rules("app HTTP => accept\nstate {new, established} => accept"));
    let mut tagged = segments(1).remove(0);
    assert_eq!(judged(&mut judge, &[tagged.clone()], Way::default(), 1).1, 1);
    // What has a tag is of another flow.
    tagged.splice(12..12, [0x81, 0, 0, 7]);
    assert_eq!(judged(&mut judge, &[tagged], Way::default(), 1).1, 0);
}

#[test]
fn a_verdict_is_that_of_one_link_type() {
    let text =
        format!("default = 'reject'\n{}", rules("ether proto 0x800 and state {new, established} => accept"));
    let mut judge = judge(&text);
    assert_eq!(judged(&mut judge, &packets(">>>>"), Way::default(), 1), ("aaaa".to_owned(), 2));
    let raw: Vec<Vec<u8>> = packets(">").iter().map(|frame| frame[14..].to_vec()).collect();
    let expected = match judge.policy().0.compile(LinkType::RAW) {
        // Then it means the same there.
        Ok(_) => Action::Accept,
        Err(_) => Action::Reject,
    };
    let kept = judge.counts().kept;
    assert_eq!(actions_on(&mut judge, LinkType::RAW, &raw, Way::default()), [expected]);
    assert_eq!(judge.counts().kept, kept);
    assert_eq!(judged(&mut judge, &packets(">"), Way::default(), 1).0, "a");
}

#[test]
fn payloads_are_compared_before() {
    let text = format!(
        "{}[apps.own]\npayload = 'GET'\n",
        "rules = '''\napp own => reject\notherwise => accept\n'''\n"
    );
    let mut judge = judge(&text);
    let payloads = |count: usize, payload: &str| -> Vec<Vec<u8>> {
        (0..count).map(|_| talk("10.0.0.9:4000 > 10.0.0.2:5000", "udp", payload)).collect()
    };
    assert_eq!(judged(&mut judge, &payloads(3, "xyz"), Way::default(), 1), ("aaa".to_owned(), 0));
    assert_eq!(judged(&mut judge, &payloads(1, "GET"), Way::default(), 1), ("r".to_owned(), 0));
    let (letters, kept) = judged(&mut judge, &payloads(4, "xyz"), Way::default(), 1);
    assert_eq!((&letters[..], kept >= 2), ("rrrr", true));
}

#[test]
fn connections_that_announce_others_are_looked_at() {
    let syn = |port: u16| talk(&format!("10.0.0.2:20 > 10.0.0.9:{port}"), "tcp seq=1, ack=0, flags=S", "");
    let there = |seq: usize, line: &str| {
        talk("10.0.0.9:4000 > 10.0.0.2:2121", &format!("tcp seq={seq}, ack=517, flags=PA"), line)
    };
    let mut frames = vec![
        talk("10.0.0.9:4000 > 10.0.0.2:2121", "tcp seq=100, ack=0, flags=S", ""),
        talk("10.0.0.2:2121 > 10.0.0.9:4000", "tcp seq=500, ack=101, flags=SA", ""),
        talk("10.0.0.2:2121 > 10.0.0.9:4000", "tcp seq=501, ack=101, flags=PA", "220 FTP server\r\n"),
    ];
    frames.extend((0..6).map(|at| there(101 + 8 * at, "USER a\r\n")));
    frames.push(there(149, "PORT 10,0,0,9,156,64\r\n"));
    let mut judge = judge(&rules(RELATED));
    assert_eq!(judged(&mut judge, &frames, Way::default(), 1).0, "aaaaaaaaaa");
    assert_eq!(judged(&mut judge, &[syn(40000), syn(40001)], Way::default(), 1).0, "ad");
}

#[test]
fn what_became_of_the_last_packet_is_told() {
    let mut judge = judge_of_http(&rules("app HTTP and from responder => reject\notherwise => accept"));
    let filter = pflang::Compiler::new(LinkType::EN10MB).compile("port 8022").unwrap();
    assert_eq!(judged(&mut judge, &segments(2), Way::default(), 1).0, "ar");
    for (count, rule) in [(1, 1), (2, 0), (3, 1), (4, 0)] {
        assert_eq!(judged(&mut judge, &segments(count), Way::default(), 1).1, count as u64);
        let mut found = FoundFlows::default();
        while !found.is_whole {
            found.go_on(&judge, std::slice::from_ref(&filter), 1000);
        }
        let (last, policy) = found.flows[0].last.clone().unwrap();
        assert_eq!((last.basis, policy.is_some()), (Basis::Rule(rule), true));
    }
}

#[test]
fn evidence_is_had_of_packets_with_a_kept_verdict() {
    let mut judge = judge_of_http(&rules("app HTTP => accept\nstate {new, established} => accept"));
    assert_eq!(judged(&mut judge, &segments(4), Way::default(), 1).1, 4);
    judge.want_evidence_of_next(1);
    // The burst ends behind that packet.
    assert_eq!(judged(&mut judge, &segments(3), Way::default(), 3), ("aaa".to_owned(), 1));
    let evidence = judge.take_evidence().unwrap();
    assert_eq!((evidence.verdict.basis, evidence.flow.is_some()), (Basis::Rule(0), true));
    assert_eq!(judged(&mut judge, &segments(4), Way::default(), 1).1, 4);
}
