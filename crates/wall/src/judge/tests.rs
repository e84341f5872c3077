mod kept;
mod reference;
mod reuse;

use super::*;
use std::path::Path;
use testkit::packet::Packet as Text;

const SECOND: u64 = 1_000_000_000;

fn frame(line: &str) -> Vec<u8> {
    Text::parse(line).unwrap_or_else(|error| panic!("{line}: {error}")).bytes
}

fn segment(from_client: bool, flags: &str, seq: u32, payload: &str) -> Vec<u8> {
    let (src, dst, sport, dport) =
        if from_client { ("10.0.0.9", "10.0.0.2", 4000, 8022) } else { ("10.0.0.2", "10.0.0.9", 8022, 4000) };
    let ack = if flags == "S" {
        0
    } else if from_client {
        501
    } else {
        101
    };
    let payload: String = payload.bytes().map(|byte| format!("{byte:02x} ")).collect();
    frame(&format!(
        "eth / ip4(src={src}, dst={dst}) / tcp(sport={sport}, dport={dport}, seq={seq}, ack={ack}, flags={flags}) / hex({payload})"
    ))
}

fn udp(src: &str, dst: &str) -> Vec<u8> {
    let ((src, sport), (dst, dport)) = (src.split_once(':').unwrap(), dst.split_once(':').unwrap());
    frame(&format!("eth / ip4(src={src}, dst={dst}) / udp(sport={sport}, dport={dport}) / hex(00 01 02)"))
}

const REQUEST: &str = "GET / HTTP/1.1\r\nHost: www.example.org\r\n\r\n";

fn connection() -> Vec<Vec<u8>> {
    vec![
        segment(true, "S", 100, ""),
        segment(false, "SA", 500, ""),
        segment(true, "A", 101, ""),
        segment(true, "PA", 101, REQUEST),
        segment(false, "PA", 501, "HTTP/1.1 200 OK\r\n\r\n"),
    ]
}

fn judge(text: &str) -> Judge {
    let policy = Policy::read(text, Path::new("")).unwrap_or_else(|problems| panic!("{problems:?}"));
    let settings = crate::spy::Settings { waits: true, ..crate::spy::Settings::default() };
    Judge::new(Arc::new(policy), settings).unwrap()
}

/// What becomes of frames, which come a second apart: a letter each, in bursts of so many.
fn letters_in(judge: &mut Judge, frames: &[Vec<u8>], way: Way, burst: usize) -> String {
    let packets: Vec<Packet<'_>> = (0..)
        .zip(frames)
        .map(|(at, frame)| Packet {
            frame,
            linktype: LinkType::EN10MB,
            time_ns: at * SECOND,
            wire_len: frame.len() as u32,
        })
        .collect();
    let mut letters = String::new();
    for packets in packets.chunks(burst) {
        let mut verdicts = vec![Verdict::NONE; packets.len()];
        judge.burst(packets, way, &mut verdicts);
        letters.extend(verdicts.iter().map(|verdict| match verdict.action {
            Action::Accept => 'a',
            Action::Drop => 'd',
            Action::Reject => 'r',
        }));
    }
    let counts = judge.counts();
    let sum: u64 = counts.actions.iter().map(|count| count.packets).sum();
    let by_basis = counts.rules.iter().chain(&counts.faults).map(|count| count.packets).sum::<u64>()
        + counts.default.packets
        + counts.undecided.packets
        + counts.not_ip.packets;
    assert_eq!((sum, by_basis), (frames.len() as u64, frames.len() as u64));
    letters
}

fn letters(text: &str, frames: &[Vec<u8>]) -> String {
    let all = letters_in(&mut judge(text), frames, Way::default(), 1000);
    for burst in [1, 3] {
        assert_eq!(
            letters_in(&mut judge(text), frames, Way::default(), burst),
            all,
            "{text} in bursts of {burst}"
        );
    }
    all
}

fn rules(rules: &str) -> String {
    format!("rules = '''\n{rules}\n'''")
}

#[test]
fn the_first_rule_that_takes_a_packet_decides() {
    for (text, expected) in [
        ("app HTTP => reject\notherwise => accept", "aaarr"),
        ("app DNS => reject\notherwise => accept", "aaaaa"),
        ("tcp => accept\napp HTTP => reject", "aaaaa"),
        ("sni example.org => drop\notherwise => accept", "aaadd"),
        ("sni *.www.example.org => drop\notherwise => accept", "aaaaa"),
        ("category Web and from responder => drop\notherwise => accept", "aaaad"),
        ("flow_count > 2 => drop\notherwise => accept", "aaddd"),
        ("confidence payload => drop\notherwise => accept", "aaadd"),
        ("state new => accept\notherwise => drop", "adaad"),
        ("state {new, established} => accept", "aaaaa"),
        ("from initiator => accept", "adaad"),
        ("tcp src port 8022 => reject\notherwise => accept", "araar"),
        ("app HTTP => { from initiator => accept }\notherwise => accept", "aaaad"),
        ("", "ddddd"),
    ] {
        assert_eq!(letters(&rules(text), &connection()), expected, "{text}");
    }
}

#[test]
fn what_is_not_known_yet_is_a_matter_of_policy() {
    let drop = |text: &str| format!("undecided = 'drop'\n{}", rules(text));
    // The handshake says nothing, and the request tells at once.
    assert_eq!(letters(&drop("app HTTP => accept"), &connection()), "aaaaa");
    let silent = [
        segment(true, "S", 100, ""),
        segment(true, "PA", 101, "GET / HT"),
        segment(true, "PA", 109, "TP/1.1\r\n\r\n"),
    ];
    assert_eq!(letters(&drop("app HTTP => accept"), &silent), "ada");
    assert_eq!(letters(&rules("app HTTP => accept"), &silent), "dda");
    let forward = format!("undecided = 'forward'\n{}", rules("app HTTP => accept"));
    assert_eq!(letters(&forward, &silent), "aaa");
    // What begins outside does not pass since a rule asks for more.
    let outside = "app BitTorrent => reject\nsrc host 10.0.0.2 => accept";
    assert_eq!(letters(&rules(outside), &silent), "ddd");
    // Rules that decide whatever the flow speaks are not waited with.
    assert_eq!(letters(&drop("dst port 8022 => accept\napp HTTP => drop"), &silent), "aaa");
}

#[test]
fn only_what_is_let_through_makes_a_flow_established() {
    let inside = "src host 10.0.0.9 => accept\nstate established => accept";
    let frames = [
        udp("10.0.0.2:53", "10.0.0.9:9"),
        udp("10.0.0.9:9", "10.0.0.2:53"),
        udp("10.0.0.2:53", "10.0.0.9:9"),
    ];
    assert_eq!(letters(&rules(inside), &frames), "daa");
    // Who is dropped is not the one who began.
    let from =
        "src host 10.0.0.9 and from initiator => accept\nsrc host 10.0.0.2 and flow_count > 1 => accept";
    assert_eq!(letters(&rules(from), &frames), "daa");
}

/// A datagram in the tunnels that are looked into, between these hosts.
fn in_tunnels(src: &str, dst: &str, inner: &str) -> [Vec<u8>; 5] {
    let tunnels = [
        "",
        "gre / ",
        "udp(sport=1, dport=4789) / vxlan(0) / eth / ",
        "udp(sport=1, dport=6081) / geneve(0) / eth / ",
        "udp(sport=1, dport=2152) / hex(30ff001f00000003) / ",
    ];
    tunnels.map(|tunnel| frame(&format!("eth / ip4(src={src}, dst={dst}) / {tunnel}{inner}")))
}

#[test]
fn what_comes_in_other_tunnels_is_no_packet_of_the_flow() {
    let (there, back) = (udp("10.0.0.9:9", "10.0.0.2:53"), udp("10.0.0.2:53", "10.0.0.9:9"));
    let ask = "ip4(src=10.0.0.9, dst=10.0.0.2) / udp(sport=9, dport=53) / hex(00 01 02)";
    let answer = "ip4(src=10.0.0.2, dst=10.0.0.9) / udp(sport=53, dport=9) / hex(00 01 02)";
    let policy = rules(
        "src host 10.0.0.9 => accept\nsrc host 192.0.2.1 => accept\nstate established => accept\nfrom responder => accept",
    );
    let outside = in_tunnels("198.51.100.1", "10.0.0.7", answer);
    let frames = [&[there, back.clone()][..], &outside[..], std::slice::from_ref(&back)].concat();
    assert_eq!(letters(&policy, &frames), "aaddddda");
    let (asks, answers) =
        (in_tunnels("192.0.2.1", "192.0.2.2", ask), in_tunnels("192.0.2.2", "192.0.2.1", answer));
    let forged = in_tunnels("198.51.100.1", "192.0.2.1", answer);
    for at in 0..asks.len() {
        let other = answers[(at + 1) % answers.len()].clone();
        // Who comes first and is dropped has no say in which tunnel it is.
        let frames =
            [back.clone(), asks[at].clone(), answers[at].clone(), forged[at].clone(), back.clone(), other];
        assert_eq!(letters(&policy, &frames), "daaddd", "{at}");
    }
}

#[test]
fn resets_that_do_not_fit_change_nothing() {
    let policy = rules("state invalid => drop\notherwise => accept");
    let mut frames = connection();
    frames.push(segment(false, "R", 501 + 1_000_000, ""));
    let mut broken = segment(false, "R", 520, "");
    let last = broken.len() - 4;
    broken[last] ^= 0x55;
    frames.push(broken);
    frames.push(segment(true, "PA", 141, "more"));
    frames.push(segment(false, "R", 520, ""));
    assert_eq!(letters(&policy, &frames), "aaaaaddaa");
}

#[test]
fn errors_about_flows_are_related_to_them() {
    let quoted = "45 00 00 1f 00 00 00 00 40 11 00 00 0a 00 00 09 0a 00 00 02 00 09 00 35 00 0b 00 00";
    let error =
        frame(&format!("eth / ip4(src=10.0.0.7, dst=10.0.0.9) / icmp(type=3, code=3) / hex({quoted})"));
    let tunnelled = frame(&format!(
        "eth / ip4(src=198.51.100.1, dst=10.0.0.8) / ip4(src=10.0.0.7, dst=10.0.0.9) / icmp(type=3, code=3) / hex({quoted})"
    ));
    let policy = rules("state related => accept\nudp => accept");
    let flow = udp("10.0.0.9:9", "10.0.0.2:53");
    assert_eq!(letters(&policy, &[error.clone(), flow.clone(), error.clone()]), "daa");
    assert_eq!(letters(&policy, &[flow.clone(), tunnelled]), "ad", "by way of another host");
    // To the other end of the flow, or to who has no part in it.
    for host in ["10.0.0.2", "10.0.0.8"] {
        let error = format!("eth / ip4(src=10.0.0.7, dst={host}) / icmp(type=3, code=3) / hex({quoted})");
        assert_eq!(letters(&policy, &[flow.clone(), frame(&error)]), "ad", "{host}");
    }
    let flow6 = "ip6(src=2001:db8::9, dst=2001:db8::2) / udp(sport=9, dport=53) / hex(00 01 02)";
    for (host, expected) in [("2001:db8::9", "aa"), ("2001:db8::2", "ad"), ("2001:db8::8", "ad")] {
        let error = format!("eth / ip6(src=2001:db8::7, dst={host}) / icmp6(type=1, code=4) / {flow6}");
        let frames = [frame(&format!("eth / {flow6}")), frame(&error)];
        assert_eq!(letters(&policy, &frames), expected, "{host}");
    }
    let policy = rules("state related => accept\nudp and flow_count > 1 => accept");
    assert_eq!(
        letters(&policy, &[udp("10.0.0.9:9", "10.0.0.2:53"), error]),
        "dd",
        "of a flow that nobody let through"
    );
}

#[test]
fn rates_are_limited_rule_by_rule() {
    let frames: Vec<Vec<u8>> = (0..6).map(|_| udp("10.0.0.1:1", "10.0.0.2:2")).collect();
    assert_eq!(letters(&rules("limit 20/m burst 2 => accept\notherwise => reject"), &frames), "aararr");
    assert_eq!(
        letters(&rules("tcp and limit 1/h => accept\nudp and limit 1/h => accept"), &frames),
        "addddd"
    );
    assert_eq!(letters(&rules("udp => { limit 1/h => accept\n limit 1/h => reject }"), &frames), "ardddd");
}

#[test]
fn packets_without_ip_have_a_policy_of_their_own() {
    let arp = vec![frame("eth / arp()")];
    for (policy, expected) in [
        ("rules = 'otherwise => drop'", "a"),
        ("not_ip = 'drop'\nrules = 'otherwise => accept'", "d"),
        ("not_ip = 'rules'\nrules = 'arp => reject'", "r"),
        ("not_ip = 'rules'\nrules = 'state new => accept'", "d"),
    ] {
        assert_eq!(letters(policy, &arp), expected, "{policy}");
    }
}

#[test]
fn evidence_of_a_packet_has_nothing_of_later_ones() {
    for (number, packets, told) in [(1, [1, 0], ""), (4, [3, 1], "HTTP request line")] {
        let mut judge = judge(&rules("sni www.example.org => drop"));
        judge.want_evidence(number);
        assert_eq!(letters_in(&mut judge, &connection(), Way::default(), 9), "ddddd");
        let evidence = judge.take_evidence().unwrap();
        let flow = evidence.flow.as_ref().unwrap();
        assert_eq!((flow.packets, flow.verdict.evidence), (packets, told), "packet {number}");
        let is_named = evidence.facts(judge.policy().0).iter().any(|(name, _)| *name == "sni");
        assert_eq!(is_named, number == 4);
    }
}

#[test]
fn interfaces_are_known_by_their_names() {
    let text = rules("in lan => accept\nout wan => reject");
    let frames = vec![udp("10.0.0.1:1", "10.0.0.2:2")];
    for (input, output, expected) in [("lan", "wan", "a"), ("x", "wan", "r"), ("wan", "lan", "d")] {
        let mut judge = judge(&text);
        let way = judge.way(Some(input), Some(output));
        assert_eq!(letters_in(&mut judge, &frames, way, 9), expected);
    }
}

#[test]
fn sets_and_applications_of_ones_own() {
    let sets = "rules = '''\nsni in @bad => drop\nhost in @hosts => reject\notherwise => accept\n'''\nsets.bad = ['example.org']\nsets.hosts = ['10.0.0.9']";
    assert_eq!(letters(sets, &connection()), "rrrdd");
    let payload =
        "rules = '''\napp mine => drop\notherwise => accept\n'''\n[apps.mine]\npayload = 'GET / HT'";
    assert_eq!(letters(payload, &connection()), "aaadd");
    let port = "rules = '''\napp mine => drop\notherwise => accept\n'''\n[apps.mine]\nports = 'tcp 8022'";
    assert_eq!(letters(port, &connection()), "ddddd");
}

#[test]
fn a_packet_that_is_dropped_by_itself_takes_no_place_in_the_table() {
    let mut judge =
        judge(&rules("src host 10.0.0.9 => drop\nstate established => accept\notherwise => accept"));
    letters_in(&mut judge, &connection(), Way::default(), 100);
    assert_eq!((judge.counts().stateless, judge.spy().counters().packets), (3, 2));
}

#[test]
fn another_policy_keeps_flows() {
    let mut judge = judge(&rules("sni example.org => accept\nstate new => accept\notherwise => accept"));
    letters_in(&mut judge, &connection(), Way::default(), 100);
    let policy =
        Policy::read(&rules("sni {a.org, www.example.org} and state established => reject"), Path::new(""))
            .unwrap();
    judge.set_policy(Arc::new(policy));
    assert_eq!(judge.policy().1, 2);
    let frames = [segment(true, "A", 141, ""), segment(false, "A", 520, "")];
    let packets: Vec<Packet<'_>> = frames
        .iter()
        .map(|frame| Packet { frame, linktype: LinkType::EN10MB, time_ns: 9 * SECOND, wire_len: 60 })
        .collect();
    let mut verdicts = [Verdict::NONE; 2];
    judge.burst(&packets, Way::default(), &mut verdicts);
    assert_eq!(verdicts.map(|verdict| verdict.action), [Action::Reject; 2]);
    assert_eq!(judge.counts().rules[0].packets, 2);
}

#[test]
fn rules_that_are_written_the_same_go_on() {
    let text = |limit: &str, rest: &str| {
        rules(&format!("{rest}src host 10.0.0.1 and limit {limit} => accept\nudp => reject\nudp => reject"))
    };
    let frames: Vec<Vec<u8>> = [1, 1, 9].map(|host| udp(&format!("10.0.0.{host}:1"), "10.0.0.2:2")).into();
    let counted = |judge: &Judge| judge.counts().rules.iter().map(|count| count.packets).collect::<Vec<_>>();
    let mut judge = judge(&text("1/h", ""));
    assert_eq!(letters_in(&mut judge, &frames, Way::default(), 9), "arr");
    assert_eq!(counted(&judge), [1, 2, 0]);
    let mut is_accepted = |text: &str| {
        judge.set_policy(Arc::new(Policy::read(text, Path::new("")).unwrap()));
        let before = counted(&judge);
        let packet =
            Packet { frame: &frames[0], linktype: LinkType::EN10MB, time_ns: 9 * SECOND, wire_len: 60 };
        let mut verdicts = [Verdict::NONE];
        judge.burst(&[packet], Way::default(), &mut verdicts);
        (before, verdicts[0].action == Action::Accept)
    };
    // Another rule with a limit before it; the same text; another rate.
    let other = text("1/h", "udp and src host 10.0.0.7 and limit 1/h => accept\n");
    assert_eq!(is_accepted(&other), (vec![0, 1, 2, 0], false));
    assert_eq!(is_accepted(&other), (vec![0, 1, 3, 0], false));
    assert_eq!(is_accepted(&text("9/h", "")), (vec![0, 4, 0], true));
}

#[test]
fn rules_go_on_from_those_that_say_the_same() {
    let policy = |text: &str| Policy::read(&rules(text), Path::new("")).unwrap();
    let before = policy(
        "sni xn--a.example => accept\nsni xn--b.example => drop\n\
         src host 10.0.0.1 => { udp => accept }\nsrc host 10.0.0.2 => { udp => accept; tcp => drop }",
    );
    let after = policy(
        "sni xn--b.example => drop -- a comment\nsrc host 10.0.0.2 => { udp  => accept; tcp => drop(log) }",
    );
    assert_eq!(super::same::same_rules(&before, &after), [Some(1), Some(3), None]);
}

#[test]
fn flows_that_find_the_table_full_are_refused_if_that_is_the_policy() {
    let text = |full: &str| {
        format!("rules = 'state {{new, established}} => accept'\nflows.max = 2\nfail.table_full = '{full}'")
    };
    let frames: Vec<Vec<u8>> =
        [1, 2, 1, 2].iter().map(|host| udp(&format!("10.0.0.{host}:9"), "10.0.0.9:53")).collect();
    assert_eq!(letters(&text("closed"), &frames), "adad");
    assert_eq!(letters(&text("open"), &frames), "aaaa");
}

#[test]
fn what_is_carried_by_nothing_is_not_unknown_for_that() {
    let policy = format!("undecided = 'forward'\n{}", rules("app Unknown => drop\notherwise => accept"));
    assert_eq!(letters(&policy, &connection()), "aaaaa");
}

#[test]
fn in_monitor_mode_all_go_on() {
    let text =
        format!("mode = 'monitor'\n{}", rules("src host 10.0.0.2 => accept\nstate established => accept"));
    let frames = [
        udp("10.0.0.9:9", "10.0.0.2:53"),
        udp("10.0.0.2:53", "10.0.0.9:9"),
        udp("10.0.0.9:9", "10.0.0.2:53"),
    ];
    assert_eq!(letters(&text, &frames), "daa");
}

/// A packet of a transport with a payload: `10.0.0.9:4000 > 10.0.0.2:21`.
fn talk(ends: &str, transport: &str, payload: &str) -> Vec<u8> {
    let (src, dst) = ends.split_once(" > ").unwrap();
    let ((src, sport), (dst, dport)) = (src.split_once(':').unwrap(), dst.split_once(':').unwrap());
    let payload: String = payload.bytes().map(|byte| format!("{byte:02x} ")).collect();
    let rest = transport.split_once(' ').map_or(String::new(), |(_, rest)| format!(", {rest}"));
    let transport = transport.split(' ').next().unwrap();
    frame(&format!(
        "eth / ip4(src={src}, dst={dst}) / {transport}(sport={sport}, dport={dport}{rest}) / hex({payload})"
    ))
}

const RELATED: &str =
    "state {established, related} => accept\nsrc host 10.0.0.9 and not src port 20000 => accept";

/// What becomes of connections behind an announcement of FTP, from the client or the server: a letter each.
fn after_ftp(is_client: bool, line: &str, later: &[Vec<u8>]) -> String {
    let (there, back) = ("10.0.0.9:4000 > 10.0.0.2:2121", "10.0.0.2:2121 > 10.0.0.9:4000");
    let greeting = "220 FTP server\r\n";
    let (client, server) = (101 + 8, 501 + greeting.len());
    let mut frames = vec![
        talk(there, "tcp seq=100, ack=0, flags=S", ""),
        talk(back, "tcp seq=500, ack=101, flags=SA", ""),
        talk(there, "tcp seq=101, ack=501, flags=A", ""),
        talk(back, "tcp seq=501, ack=101, flags=PA", greeting),
        talk(there, &format!("tcp seq=101, ack={server}, flags=PA"), "USER a\r\n"),
        match is_client {
            true => talk(there, &format!("tcp seq={client}, ack={server}, flags=PA"), line),
            false => talk(back, &format!("tcp seq={server}, ack={client}, flags=PA"), line),
        },
    ];
    frames.extend_from_slice(later);
    let all = letters(&rules(RELATED), &frames);
    assert!(all.starts_with("aaaaaa"), "{line}: {all}");
    all[6..].to_owned()
}

#[test]
fn connections_that_ftp_announces_are_related() {
    let syn = |ends: &str| talk(ends, "tcp seq=1, ack=0, flags=S", "");
    let active = "10.0.0.2:20 > 10.0.0.9:40000";
    // It is related until the other end has answered, and comes once.
    let later = [
        syn("10.0.0.2:20 > 10.0.0.9:40001"),
        syn(active),
        talk("10.0.0.9:40000 > 10.0.0.2:20", "tcp seq=9, ack=2, flags=SA", ""),
        talk(active, "tcp seq=2, ack=10, flags=PA", "data"),
        syn("10.0.0.2:21 > 10.0.0.9:40000"),
        syn("10.0.0.3:20 > 10.0.0.9:40000"),
    ];
    assert_eq!(after_ftp(true, "PORT 10,0,0,9,156,64\r\n", &later), "daaadd");
    assert_eq!(after_ftp(true, "EPRT |1|10.0.0.9|40000|\r\n", &later), "daaadd");
    let inner = "ip4(src=10.0.0.2, dst=10.0.0.9) / tcp(sport=20, dport=40000, seq=1, ack=0, flags=S)";
    let tunnelled = frame(&format!("eth / ip4(src=198.51.100.1, dst=10.0.0.7) / {inner}"));
    assert_eq!(after_ftp(true, "PORT 10,0,0,9,156,64\r\n", &[tunnelled]), "d");
    // Of somebody else, a port of the system, or what the other end says: nothing.
    for line in ["PORT 10,0,0,8,156,64\r\n", "PORT 10,0,0,9,0,22\r\n", "227 X (10,0,0,9,156,64)\r\n"] {
        let later = [syn(active), syn("10.0.0.2:20 > 10.0.0.8:40000"), syn("10.0.0.2:20 > 10.0.0.9:22")];
        assert_eq!(after_ftp(true, line, &later), "ddd", "{line}");
    }
    for line in ["227 Entering Passive Mode (10,0,0,2,156,64)\r\n", "229 Extended (|||40000|)\r\n"] {
        let later = [syn("10.0.0.9:20000 > 10.0.0.2:40001"), syn("10.0.0.9:20000 > 10.0.0.2:40000")];
        assert_eq!(after_ftp(false, line, &later), "da", "{line}");
    }
    assert_eq!(
        after_ftp(false, "227 X (10,0,0,7,156,64)\r\n", &[syn("10.0.0.9:20000 > 10.0.0.7:40000")]),
        "d"
    );
}

#[test]
fn announcements_count_though_their_flow_is_over_by_the_end_of_the_burst() {
    let body = "v=0\r\nc=IN IP4 10.0.0.9\r\nm=audio 40000 RTP/AVP 0\r\n";
    let invite = format!("INVITE sip:a@b SIP/2.0\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let frames = [
        talk("10.0.0.9:5060 > 10.0.0.2:5060", "udp", &invite),
        talk("10.0.0.2:6000 > 10.0.0.9:40000", "udp", "media"),
        talk("10.0.0.2:6001 > 10.0.0.9:40001", "udp", "report"),
        talk("10.0.0.2:6001 > 10.0.0.9:40002", "udp", "report"),
    ];
    // Each flow takes the place of the one before.
    assert_eq!(letters(&format!("flows.max = 1\n{}", rules(RELATED)), &frames), "aaad");
}

#[test]
fn media_anywhere_end_with_the_policy_that_allows_them() {
    let body = "v=0\r\nc=IN IP4 10.0.0.8\r\nm=audio 40000 RTP/AVP 0\r\n";
    let invite = format!("INVITE sip:a@b SIP/2.0\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let invite = [talk("10.0.0.9:5060 > 10.0.0.2:5060", "udp", &invite)];
    let anywhere = format!("sip_media = 'anywhere'\n{}", rules(RELATED));
    let mut judge = judge(&anywhere);
    assert_eq!(letters_in(&mut judge, &invite, Way::default(), 1), "a");
    assert_eq!(judge.announced(), (2, 0));
    // A later policy that allows them again allows those that are announced from then on.
    for (port, text) in [(6000, rules(RELATED)), (6001, anywhere)] {
        judge.set_policy(Arc::new(Policy::read(&text, Path::new("")).unwrap()));
        assert_eq!(judge.announced(), (0, 0));
        let frame = talk(&format!("10.0.0.3:{port} > 10.0.0.8:40000"), "udp", "media");
        let packet = Packet { frame: &frame, linktype: LinkType::EN10MB, time_ns: SECOND, wire_len: 60 };
        let mut verdicts = [Verdict::NONE];
        judge.burst(&[packet], Way::default(), &mut verdicts);
        assert_eq!(verdicts[0].action, Action::Drop);
    }
}

#[test]
fn media_that_sip_announces_are_related() {
    let invite = |address: &str| {
        let body = format!("v=0\r\nc=IN IP4 {address}\r\nm=audio 40000 RTP/AVP 0\r\n");
        format!("INVITE sip:a@b SIP/2.0\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    };
    let media = |address: &str| {
        [
            talk("10.0.0.9:5060 > 10.0.0.2:5060", "udp", &invite(address)),
            talk("10.0.0.2:6000 > 10.0.0.9:40000", "udp", "media"),
            talk("10.0.0.2:6001 > 10.0.0.9:40001", "udp", "report"),
            talk("10.0.0.2:6000 > 10.0.0.9:40002", "udp", "media"),
            talk("10.0.0.3:6000 > 10.0.0.9:40000", "udp", "media"),
        ]
    };
    for (address, expected) in [("10.0.0.9", "aaadd"), ("10.0.0.8", "adddd")] {
        assert_eq!(letters(&rules(RELATED), &media(address)), expected, "{address}");
    }
    // Where the policy says so, also for other hosts than those that signal, and from such.
    let anywhere = format!("sip_media = 'anywhere'\n{}", rules(RELATED));
    assert_eq!(letters(&anywhere, &media("10.0.0.9")), "aaadd", "once, whoever comes first");
    let thirds = |announced: &str, to: &str| {
        [
            talk("10.0.0.9:5060 > 10.0.0.2:5060", "udp", &invite(announced)),
            talk(&format!("10.0.0.3:6000 > {to}"), "udp", "media"),
            talk(&format!("{to} > 10.0.0.3:6000"), "udp", "media"),
        ]
    };
    for (announced, to, signalling, expected) in [
        ("10.0.0.8", "10.0.0.8:40000", "add", "aaa"),
        ("10.0.0.8", "10.0.0.7:40000", "add", "add"),
        ("10.0.0.8", "10.0.0.8:40002", "add", "add"),
        // A call that is put on hold, and a group, are no hosts (RFC 3264, 8.4).
        ("0.0.0.0", "0.0.0.0:40000", "add", "add"),
        ("224.0.0.9", "224.0.0.9:40000", "add", "add"),
    ] {
        assert_eq!(letters(&rules(RELATED), &thirds(announced, to)), signalling, "{announced} {to}");
        assert_eq!(letters(&anywhere, &thirds(announced, to)), expected, "{announced} {to}");
    }
}
