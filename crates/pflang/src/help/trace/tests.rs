//! Questions as they were written, and what became of each primitive.

use super::{Answer, Trace, TracedPrimitive};
use crate::Compiler;
use crate::names::FileNames;
use std::sync::Arc;
use wire::LinkType;

/// TCP from port 1024 to 80, SYN, over IPv4.
const SYN: &str = "ffffffffffff020000000001 0800 4500002800004000400600000a0000010a000002 \
                   0400 0050 00000000 00000000 5002 ffff 00000000";

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<char> = hex.chars().filter(|c| !c.is_whitespace()).collect();
    digits.chunks(2).map(|two| u8::from_str_radix(&two.iter().collect::<String>(), 16).unwrap()).collect()
}

fn traced(linktype: LinkType, filter: &str, data: &[u8], wire_len: u32) -> Trace {
    Compiler::new(linktype).trace(filter, data, wire_len).unwrap_or_else(|error| panic!("{error}"))
}

/// Each primitive with its verdict, and its last question with the answer.
fn outline(trace: &Trace, filter: &str) -> String {
    let mut lines = String::new();
    for primitive in &trace.primitives {
        let step = primitive.steps.last();
        let last = step.map_or_else(String::new, |step| format!("{} {:?}", step.question, step.answer));
        lines.push_str(&format!("{}: {:?}: {last}\n", primitive.span.text(filter), primitive.holds));
    }
    lines
}

#[test]
fn questions_are_asked_as_they_were_written() {
    for (filter, expected) in [
        ("tcp[tcpflags] & tcp-syn != 0", "Some(true): u8[47] & 0x2 != 0 Yes"),
        ("tcp[tcpflags] & tcp-syn = 0", "Some(false): u8[47] & 0x2 == 0 No"),
        ("len > 50", "Some(true): len > 50 Yes"),
        ("len >= 55", "Some(false): len >= 55 No"),
        ("len <= 54", "Some(true): len <= 54 Yes"),
        ("len < 54", "Some(false): len < 54 No"),
        ("len < 1500", "Some(true): len < 1500 Yes"),
        ("len != 54", "Some(false): len != 54 No"),
        ("less 54", "Some(true): len <= 54 Yes"),
        ("greater 55", "Some(false): len >= 55 No"),
        ("ip[6:2] & 0x1fff != 1", "Some(true): be16[20] & 0x1fff != 1 Yes"),
        ("ip and tcp[100] = 1", ""),
    ] {
        let trace = traced(LinkType::EN10MB, filter, &bytes(SYN), 54);
        let outline = outline(&trace, filter);
        assert!(outline.contains(expected), "{filter}: {outline}");
    }
    let mut sll = bytes("0000 0001 0006 020000000001 0000 0800");
    sll.resize(60, 0);
    for (filter, expected) in [("inbound", "be16[0] != 4 Yes"), ("outbound", "be16[0] == 4 No")] {
        let outline = outline(&traced(LinkType::LINUX_SLL, filter, &sll, 60), filter);
        assert!(outline.contains(expected), "{filter}: {outline}");
    }
}

#[test]
fn each_primitive_has_a_verdict() {
    let filter = "not udp and host in {10.0.0.1, 10.0.0.9} and (port 22 or ip) and tcp[100] = 1 and arp";
    let trace = traced(LinkType::EN10MB, filter, &bytes(SYN), 54);
    let verdicts: Vec<_> =
        trace.primitives.iter().map(|primitive| (primitive.span.text(filter), primitive.holds)).collect();
    let expected = [
        ("udp", Some(false)),
        ("host in {10.0.0.1, 10.0.0.9}", Some(true)),
        ("10.0.0.1", Some(true)),
        ("10.0.0.9", None),
        ("port 22", Some(false)),
        ("ip", Some(true)),
        ("tcp[100] = 1", None),
        ("arp", None),
    ];
    assert_eq!(verdicts, expected);
    let members = trace.primitives.iter().filter(|primitive| primitive.is_member);
    assert_eq!(members.map(|member| member.is_asked).collect::<Vec<_>>(), [true, false]);
    let last = trace.primitives[6].steps.last().unwrap();
    assert_eq!(last.answer, Answer::NotCaptured { needed: 135 });
    assert_eq!((last.sides.left, last.sides.right), (54, 135));
    assert!(!trace.matches);
}

#[test]
fn a_set_of_one_member_is_told_as_any_other() {
    for (filter, expected) in [
        ("port in {80}", &[("port in {80}", true, false), ("80", true, true)][..]),
        ("not (src port in {53})", &[("src port in {53}", false, false), ("53", false, true)]),
        (
            "tcp and host in {10.0.0.1}",
            &[("tcp", true, false), ("host in {10.0.0.1}", true, false), ("10.0.0.1", true, true)],
        ),
        ("udp port in {1-2}", &[("udp port in {1-2}", false, false), ("1-2", false, true)]),
        ("port in {53, 54}", &[("port in {53, 54}", false, false), ("53", false, true), ("54", false, true)]),
        ("udp and port in {80}", &[("udp", false, false), ("port in {80}", false, false)]),
    ] {
        let trace = traced(LinkType::EN10MB, filter, &bytes(SYN), 54);
        let told = |primitive: &TracedPrimitive| {
            (primitive.span.text(filter), primitive.holds == Some(true), primitive.is_member)
        };
        assert_eq!(trace.primitives.iter().map(told).collect::<Vec<_>>(), expected, "{filter}");
    }
}

/// What those before it decided, what stands behind a rejection, and members of a set behind the one that holds.
#[test]
fn what_was_not_asked_is_told() {
    for (filter, expected) in [
        ("udp and (arp or not ip) and tcp", &["arp", "ip", "tcp"][..]),
        ("tcp or not (udp and port in {53, 54}) or port 22", &["udp", "port in {53, 54}", "port 22"]),
        ("not tcp and vlan 3 and port 80", &["vlan 3", "port 80"]),
        ("host 10.0.0.1 or 10.0.0.2 or net 10.0.0.0/8", &["10.0.0.2", "net 10.0.0.0/8"]),
        ("port in {1-9, 80, 443, 500-510} or arp", &["443", "500-510", "arp"]),
        ("tcp[100] = 1 or arp and ip6 protochain 6", &["arp", "ip6 protochain 6"]),
        ("6 / (len - 54) = 1 or (arp and not portrange 1-6)", &["arp", "portrange 1-6"]),
        ("udp or tcp", &[]),
    ] {
        let trace = traced(LinkType::EN10MB, filter, &bytes(SYN), 54);
        let not_asked = trace.primitives.iter().filter(|primitive| !primitive.is_asked);
        assert!(not_asked.clone().all(|primitive| primitive.holds.is_none() && primitive.steps.is_empty()));
        let told: Vec<_> = not_asked.map(|primitive| primitive.span.text(filter)).collect();
        assert_eq!(told, expected, "{filter}");
        assert!(trace.primitives.is_sorted_by_key(|primitive| primitive.span.start), "{filter}");
    }
}

/// The sides of the last question of the last primitive that was asked, and what they are printed as.
#[test]
fn what_is_compared_is_told() {
    for (filter, left, right, printed) in [
        ("tcp port 80", 80, 80, "80"),
        ("tcp port 81", 80, 81, "80"),
        ("tcp src port 8080", 1024, 8080, "0x400"),
        ("ip", 0x800, 0x800, "0x800"),
        ("ip src host 10.0.0.2", 0x0a00_0001, 0x0a00_0002, "0xa000001"),
        ("tcp[tcpflags] & tcp-ack = 0", 0, 0, "0"),
        ("tcp[tcpflags] & 0xf2 != 0", 2, 0, "2"),
        ("tcp[14:2] & 0xfff0 != 0", 0xfff0, 0, "0xfff0"),
        ("ip[0] & 0xf = 5", 5, 5, "5"),
        ("len > 1500", 54, 1500, "54"),
        ("1500 > len", 54, 1500, "54"),
        ("len - 60 > 5", 0xffff_fffa, 5, "4294967290"),
        ("ip[2:2] = len", 40, 54, "40, 54"),
        ("ip[12:4] < ip[16:4]", 0x0a00_0001, 0x0a00_0002, "0xa000001, 0xa000002"),
        ("tcp[100] = 1", 54, 135, "54"),
        ("5 / (len - 54) = 1", 5, 0, "5, 0"),
    ] {
        let trace = traced(LinkType::EN10MB, filter, &bytes(SYN), 54);
        let sides = trace.primitives[0].steps.last().unwrap().sides;
        assert_eq!((sides.left, sides.right, &sides.to_string()[..]), (left, right, printed), "{filter}");
    }
}

/// Once a primitive, at the question that needs it first, also where that fails.
#[test]
fn how_a_place_was_found_is_told() {
    let length = "(u8[14] & 0xf) << 2";
    let tcp_length = "(u8[46] >> 2) + ((u8[14] & 0xf) << 2)";
    for (filter, expected) in [
        (
            "tcp port 81 or port in {82, 80}",
            &[(length, 20, &[14][..]), (length, 20, &[14]), (length, 20, &[14])][..],
        ),
        ("tcp[tcp[12] >> 2] = 5", &[(tcp_length, 40, &[14, 46])]),
        ("ip[0] = 0x45 and src host 10.0.0.1 and len < 4", &[]),
    ] {
        let trace = traced(LinkType::EN10MB, filter, &bytes(SYN), 54);
        let steps = trace.primitives.iter().flat_map(|primitive| &primitive.steps);
        let places: Vec<_> = steps.flat_map(|step| &step.places).collect();
        assert_eq!(places.len(), expected.len(), "{filter}: {places:?}");
        for (place, (expression, skipped, read)) in places.into_iter().zip(expected) {
            assert_eq!((&place.expression[..], place.skipped), (*expression, *skipped), "{filter}");
            let offsets: Vec<_> = place.loads.iter().map(|load| load.offset).collect();
            assert_eq!(offsets, *read, "{filter}");
        }
    }
}

/// The IPv6 addresses of a set are asked for word by word behind its other members, those that begin alike together.
#[test]
fn each_ipv6_address_of_a_set_is_told_once() {
    let packet = "ffffffffffff020000000001 86dd 6000000000143b40 20010db8000000000000000000000002 \
                  20010db8000000000000000000000005 00000000";
    let set = ["2001:db8::1", "10.0.0.1", "2001:db8::2", "2001:db8::5", "10.0.0.2"];
    for (chosen, expected) in [
        // The first packet is from ::2 to ::5, the second from 10.0.0.1 to 10.0.0.2.
        (&[0, 1, 2, 3][..], ["no no yes -", "- yes - -"]),
        (&[0, 1], ["no no", "- yes"]),
        (&[2], ["yes", "no"]),
        (&[3, 1], ["yes no", "- yes"]),
        (&[0, 3], ["no yes", "no no"]),
        (&[0], ["no", "no"]),
        (&[4, 0, 2], ["no no yes", "yes - -"]),
    ] {
        let members: Vec<&str> = chosen.iter().map(|&index| set[index]).collect();
        let filter = format!("host in {{{}}} or arp", members.join(", "));
        for (packet, expected) in [packet, SYN].into_iter().zip(expected) {
            let trace = traced(LinkType::EN10MB, &filter, &bytes(packet), 58);
            let told: Vec<&TracedPrimitive> = trace.primitives.iter().filter(|told| told.is_member).collect();
            let texts: Vec<&str> = told.iter().map(|member| member.span.text(&filter)).collect();
            assert_eq!(texts, members, "{filter}");
            let holds = |holds: Option<bool>| holds.map_or("-", |holds| if holds { "yes" } else { "no" });
            let verdicts: Vec<&str> = told.iter().map(|member| holds(member.holds)).collect();
            assert_eq!(verdicts.join(" "), expected, "{filter}: {packet}");
            assert!(told.iter().all(|member| member.is_asked == member.holds.is_some()), "{filter}");
        }
    }
}

/// All members of a file have the place of its name.
#[test]
fn a_set_in_a_file_is_told_once() {
    let names = FileNames::new().with_sets(|path| Ok(path.split('+').collect::<Vec<_>>().join("\n")));
    let compiler = Compiler::new(LinkType::EN10MB).names(Arc::new(names));
    for (filter, members) in [
        ("port in {@80}", 1),
        ("port in {@53+54+80}", 3),
        ("host in {@2001:db8::1+10.0.0.9+2001:db8::2+10.0.0.1+2001:db8::3}", 5),
        ("host in {@10.0.0.9+2001:db8::1+10.0.0.8}", 3),
        ("host in {@2001:db8::1+10.0.0.1}", 2),
        ("host in {@2001:db8::1}", 1),
    ] {
        let trace = compiler.trace(filter, &bytes(SYN), 54).unwrap_or_else(|error| panic!("{error}"));
        let are_members: Vec<bool> = trace.primitives.iter().map(|primitive| primitive.is_member).collect();
        assert_eq!(are_members, [&[false][..], &vec![true; members]].concat(), "{filter}");
        assert_eq!(trace.primitives[0].span.text(filter), filter);
    }
}

/// What a link type asks before the filter is no part of its last primitive.
#[test]
fn headers_of_varying_length_come_first() {
    let filter = "ip or type data";
    let verdicts = |data: &[u8]| -> Vec<_> {
        let trace = traced(LinkType::IEEE802_11_RADIO, filter, data, 100);
        trace
            .primitives
            .iter()
            .map(|primitive| (primitive.span.text(filter).to_owned(), primitive.holds))
            .collect()
    };
    let mut radiotap = [0; 100];
    radiotap[2] = 8;
    radiotap[8] = 0x08;
    let expected = vec![("ip".to_owned(), Some(false)), ("type data".to_owned(), Some(true))];
    assert_eq!(verdicts(&radiotap), expected);
    let rejected = ["", "ip", "type data"].map(|text| (text.to_owned(), None));
    assert_eq!(verdicts(&[0, 0, 8]), rejected);
}

#[test]
fn lengths_and_divisors_are_told() {
    let trace = traced(LinkType::EN10MB, "len > 5 and 6 / len > 0", &[], 54);
    assert_eq!(trace.primitives[0].steps[0].wire_len, Some(54));
    let trace = traced(LinkType::EN10MB, "6 / len >= 0", &[], 0);
    let step = &trace.primitives[0].steps[0];
    assert_eq!((step.answer, step.wire_len, trace.matches), (Answer::DividesByZero, Some(0), false));
}

/// What is too large to be printed at each use, and all that varies, is a number for one packet.
#[test]
fn no_question_has_undefined_names() {
    let mut data = bytes(SYN);
    data[23] = 17;
    data[36..38].copy_from_slice(&6081u16.to_be_bytes());
    data.extend([0; 100]);
    let data: Vec<u8> = data;
    for filter in
        ["geneve and tcp port 80", "ip6 protochain 6 or ip protochain 17", "geneve and geneve and ip"]
    {
        let trace = traced(LinkType::EN10MB, filter, &data, 154);
        let steps = || trace.primitives.iter().flat_map(|primitive| &primitive.steps);
        assert!(steps().count() > 2, "{filter}");
        for step in steps() {
            assert!(!step.question.contains('v') && !step.question.contains("[("), "{}", step.question);
        }
    }
}

#[test]
fn long_and_deep_filters_are_traced_in_time() {
    const N: usize = 20_000;
    for filter in [
        "not ".repeat(N) + "tcp",
        "tcp and (udp or (".repeat(N / 10) + "arp" + &"))".repeat(N / 10),
        "len".to_owned() + &" + 1".repeat(N) + " = 1",
        "host 10.1.0.1".to_owned() + &" or 10.1.0.1".repeat(N) + " or 10.1.0.2",
        "tcp or host 10.1.0.1".to_owned() + &" or 10.1.0.1".repeat(N),
        "tcp or not (udp and (".to_owned()
            + &"arp or (ip and (".repeat(N / 20)
            + "arp"
            + &"))".repeat(N / 20 + 1),
    ] {
        traced(LinkType::EN10MB, &filter, &bytes(SYN), 54);
    }
}

/// A file of this text, whatever its name.
struct OneFile(String);

impl crate::Names for OneFile {
    fn set_file(&self, _: &str) -> Result<String, String> {
        Ok(self.0.clone())
    }
}

/// Each primitive: its text or line, whether it holds, and how many members are left out.
fn told(filter: &str, file: &str) -> Vec<(String, Option<bool>, usize)> {
    let compiler = Compiler::new(LinkType::EN10MB).names(Arc::new(OneFile(file.to_owned())));
    let trace = compiler.trace(filter, &bytes(SYN), 54).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(compiler.compile(filter).unwrap().matches(&bytes(SYN)), trace.matches, "{filter}");
    let told = trace.primitives.iter().map(|primitive| {
        let text = match &primitive.line {
            Some(line) => format!("{} in line {} of {}", line.text, line.number, line.path),
            None => primitive.span.text(filter).to_owned(),
        };
        (text, primitive.holds, primitive.misses)
    });
    told.collect()
}

/// Of a large set the member that holds is named, with its line, and the others are counted.
#[test]
fn the_member_that_holds_is_named_and_the_others_are_counted() {
    let set = "src host in {@f}".to_owned();
    let member = |text: &str, holds| (text.to_owned(), holds, 0);
    let mut lines: Vec<String> = (0..5000).map(|i| format!("10.1.{}.{}", i / 250, i % 250)).collect();
    let file = lines.join("\n");
    assert_eq!(told(&set, &file), [(set.clone(), Some(false), 5000)]);
    lines.insert(3000, "10.0.0.1 # ours".to_owned());
    lines.insert(0, String::new());
    let file = lines.join("\n");
    let found = member("10.0.0.1 in line 3002 of f", Some(true));
    let told_of = told(&set, &file);
    assert_eq!(told_of[..2], [(set.clone(), Some(true), 3000), found]);
    assert_eq!(told_of[2], member("10.1.12.0 in line 3003 of f", None));
    assert_eq!(told_of.len(), 2002, "those that were not asked");
    // Of few members, all are told.
    let filter = "port in {1, 2, 3, 4, 5, 6, 7, 8, 9, 80, 11}";
    assert_eq!(
        told(filter, ""),
        [(filter.to_owned(), Some(true), 9), member("80", Some(true)), member("11", None),]
    );
    let few = told(&set, "10.0.0.9\n10.0.0.1");
    let each =
        [member("10.0.0.9 in line 1 of f", Some(false)), member("10.0.0.1 in line 2 of f", Some(true))];
    assert_eq!(few[1..], each);
    assert_eq!(told(&set, "10.0.0.1")[1..], [member("10.0.0.1 in line 1 of f", Some(true))]);
    // IPv6 addresses, which are asked for behind the others.
    let mixed = told("host in {@f} or tcp", "2001:db8::1\n10.0.0.1\n2001:db8::2");
    assert_eq!(mixed[1].0, "2001:db8::1 in line 1 of f");
    assert_eq!(mixed[2], member("10.0.0.1 in line 2 of f", Some(true)));
}
