//! The ICMP errors of a router, taken apart without the code that has written them.

use crate::router::Router;
use crate::testing::{frame, read};
use engine::{Class, PortNames};
use std::fmt::Write;
use testkit::rig::Rig;
use testkit::rng::Rng;

/// What is beyond each port, and who the router is there. Input `c` has no output, and output `d` no route.
const OPTIONS: &str = "
    port.a = { ip = ['198.18.0.1', '2001:db8:a::1'], mtu = 1400 }
    port.b = { ip = ['198.19.0.1', '2001:db8:b::1'] }
    port.d = {}
    route = [
        { prefix = '192.0.2.0/24', port = 'b', next_hop = '02:00:00:00:00:0b' },
        { prefix = '2001:db8::/64', port = 'b', next_hop = '02:00:00:00:00:0b' },
        { prefix = '10.0.0.0/8', port = 'a', next_hop = '02:00:00:00:00:0a' },
        { prefix = '2001:db8:1::/48', port = 'a', next_hop = '02:00:00:00:00:0a' },
    ]";

const PORTS: [&str; 3] = ["a", "b", "d"];

fn rig(options: &str) -> Rig {
    Rig::new(read::<Router>(options).unwrap(), &["a", "b", "c", "d"], &PORTS)
}

/// The only frame that comes out, and by which port, when this frame comes in.
fn answer(rig: &mut Rig, input: &str, sent: &[u8]) -> Option<(&'static str, Vec<u8>)> {
    rig.send(input, sent);
    rig.breathe();
    let mut out: Vec<_> = PORTS.map(|port| (port, rig.take(port))).into_iter().collect();
    out.retain(|(_, frames)| !frames.is_empty());
    match &mut out[..] {
        [] => None,
        [(port, frames)] if frames.len() == 1 => Some((port, frames.remove(0))),
        more => panic!("{more:x?}"),
    }
}

/// The sum of 16-bit words of RFC 1071, the slow way: 0xffff over what holds its own checksum.
fn sum(parts: &[&[u8]]) -> u32 {
    let bytes = parts.concat();
    let words = bytes.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0)));
    words.fold(0, |sum, word| {
        let sum = sum + word;
        if sum > 0xffff { sum - 0xffff } else { sum }
    })
}

/// An error as it should be, but for its checksums, which are looked at: from, to, type, code, and the last four bytes.
#[track_caller]
fn check(error: &[u8], about: &[u8], (from, to): (&str, &str), expected: (u8, u8, u32)) {
    let ip = &error[14..];
    let (header_len, len_max) = if ip[0] >> 4 == 4 { (20, 576) } else { (40, 1280) };
    let (header, message) = ip.split_at(header_len);
    let addresses = if header_len == 20 {
        assert_eq!(sum(&[header]), 0xffff, "the header's checksum");
        assert_eq!(sum(&[message]), 0xffff, "the message's checksum");
        assert_eq!(usize::from(u16::from_be_bytes([ip[2], ip[3]])), ip.len());
        assert_eq!((ip[0], ip[1], ip[6], ip[8], ip[9]), (0x45, 0xc0, 0x40, 64, 1));
        let address = |at: usize| std::net::Ipv4Addr::from(<[u8; 4]>::try_from(&ip[at..at + 4]).unwrap());
        (address(12).to_string(), address(16).to_string())
    } else {
        let len = (message.len() as u32).to_be_bytes();
        assert_eq!(sum(&[&ip[8..40], &len, &[0, 58], message]), 0xffff, "the message's checksum");
        assert_eq!(usize::from(u16::from_be_bytes([ip[4], ip[5]])), message.len());
        assert_eq!((ip[0], ip[1], ip[2], ip[3], ip[6], ip[7]), (0x60, 0, 0, 0, 58, 64));
        let address = |at: usize| std::net::Ipv6Addr::from(<[u8; 16]>::try_from(&ip[at..at + 16]).unwrap());
        (address(8).to_string(), address(24).to_string())
    };
    assert_eq!((&*addresses.0, &*addresses.1), (from, to));
    let rest = u32::from_be_bytes(message[4..8].try_into().unwrap());
    assert_eq!((message[0], message[1], rest), expected);
    let quote = &message[8..];
    assert_eq!(quote, &about[14..][..about.len().saturating_sub(14).min(len_max - header_len - 8)]);
}

#[test]
fn senders_are_told() {
    // Line, port and hardware address of the way back, addresses of the error, and what it says.
    for (line, from, to, says) in [
        ("ip4(dst=10.0.0.1, ttl=1) / udp / 'data'", "198.19.0.1", "192.0.2.1", (11, 0, 0)),
        ("ip4(dst=10.0.0.1, ttl=0) / tcp", "198.19.0.1", "192.0.2.1", (11, 0, 0)),
        ("ip4(dst=11.0.0.1) / udp", "198.19.0.1", "192.0.2.1", (3, 0, 0)),
        ("ip4(dst=11.0.0.1, ttl=1) / udp", "198.19.0.1", "192.0.2.1", (3, 0, 0)),
        ("ip4(dst=11.0.0.1) / icmp(8) / 'ping'", "198.19.0.1", "192.0.2.1", (3, 0, 0)),
        ("ip4(dst=11.0.0.1, mf=1) / udp / pad(1000)", "198.19.0.1", "192.0.2.1", (3, 0, 0)),
        ("ip4(dst=11.0.0.1, options=01 01 01 00) / udp", "198.19.0.1", "192.0.2.1", (3, 0, 0)),
        ("ip4(dst=10.0.0.1, df=1) / udp / pad(1373)", "198.19.0.1", "192.0.2.1", (3, 4, 1400)),
        ("ip6(dst=2001:db8:1::1, hops=1) / udp / 'odd'", "2001:db8:b::1", "2001:db8::1", (3, 0, 0)),
        ("ip6(dst=2001:db8:1::1, hops=0) / tcp", "2001:db8:b::1", "2001:db8::1", (3, 0, 0)),
        ("ip6(dst=2001:db8:2::1) / icmp6(128)", "2001:db8:b::1", "2001:db8::1", (1, 0, 0)),
        ("ip6(dst=2001:db8:2::1) / hopopt / udp", "2001:db8:b::1", "2001:db8::1", (1, 0, 0)),
        (
            "ip6(dst=2001:db8:2::1) / frag(offset=0, more=1, id=5) / udp",
            "2001:db8:b::1",
            "2001:db8::1",
            (1, 0, 0),
        ),
        ("ip6(dst=2001:db8:1::1) / udp / pad(1353)", "2001:db8:b::1", "2001:db8::1", (2, 0, 1400)),
    ] {
        let mut rig = rig(OPTIONS);
        let about = frame(&format!("eth(dst=02:00:00:00:00:01, src=02:00:00:00:00:09) / {line}"));
        // The frame is padded; an error does not quote that.
        let padded = [&about[..], &[0xee; 7]].concat();
        let (port, error) = answer(&mut rig, "a", &padded).unwrap_or_else(|| panic!("{line}"));
        assert_eq!(port, "b", "{line}");
        assert_eq!(error[..12], [2, 0, 0, 0, 0, 0x0b, 2, 0, 0, 0, 0, 1], "{line}");
        assert_eq!(error[12..14], about[12..14]);
        check(&error, &about, (from, to), says);
        assert_eq!(rig.counter("icmp_sent"), 1, "{line}");
        assert_eq!(rig.counter("icmp_forbidden"), 0, "{line}");
    }
}

#[test]
fn packets_pass_up_to_the_length_of_their_port() {
    for (line, passes) in [
        ("ip4(dst=10.0.0.1, df=1) / udp / pad(1372)", true),
        ("ip4(dst=10.0.0.1, df=1) / udp / pad(1373)", false),
        ("ip4(dst=10.0.0.1, df=0) / udp / pad(1373)", true),
        ("ip6(dst=2001:db8:1::1) / udp / pad(1352)", true),
        ("ip6(dst=2001:db8:1::1) / udp / pad(1353)", false),
    ] {
        let mut rig = rig(OPTIONS);
        let (port, _) = answer(&mut rig, "b", &frame(&format!("eth / {line}"))).unwrap();
        assert_eq!((port == "a", rig.counter("too_big")), (passes, u64::from(!passes)), "{line}");
    }
    // A link for IPv6 carries 1280 bytes, whatever it takes to do so.
    let mut rig = rig(&OPTIONS.replace("1400", "600"));
    for (pad, passes) in [(1232, true), (1233, false)] {
        let line = format!("eth / ip6(dst=2001:db8:1::1) / udp / pad({pad})");
        let about = frame(&line);
        let (port, out) = answer(&mut rig, "b", &about).unwrap();
        assert_eq!(port == "a", passes, "{line}");
        if !passes {
            check(&out, &about, ("2001:db8:b::1", "2001:db8::1"), (2, 0, 1280));
        }
    }
}

#[test]
fn without_addresses_packets_are_dropped_only() {
    let silent = OPTIONS.replace("ip = ['198.18.0.1', '2001:db8:a::1'], ", "");
    let silent = silent.replace("{ ip = ['198.19.0.1', '2001:db8:b::1'] }", "{}");
    let lines =
        ["ip4(dst=11.0.0.1)", "ip4(dst=10.0.0.1, ttl=1)", "ip4(dst=10.0.0.1, df=1) / udp / pad(1373)"];
    let mut silent = rig(&silent);
    for line in lines {
        assert_eq!(answer(&mut silent, "a", &frame(&format!("eth / {line}"))), None, "{line}");
    }
    let counted = ["no_route", "ttl_exceeded", "too_big"].map(|name| silent.counter(name));
    assert_eq!(counted, [1, 1, 1]);
    // One version has an address, the other does not.
    let mut half = rig(&OPTIONS.replace(", '2001:db8:a::1'", "").replace(", '2001:db8:b::1'", ""));
    assert_eq!(answer(&mut half, "a", &frame("eth / ip6(dst=2001:db8:2::1) / udp")), None);
    assert!(answer(&mut half, "a", &frame("eth / ip4(dst=11.0.0.1) / udp")).is_some());
    for rig in [&mut silent, &mut half] {
        for name in ["icmp_forbidden", "icmp_limited", "icmp_unroutable", "icmp_no_packet"] {
            assert_eq!(rig.counter(name), 0, "{name}");
        }
    }
}

#[test]
fn errors_go_back_where_packets_came_from() {
    let mut rig = rig(OPTIONS);
    let about = frame(
        "eth(dst=02:00:00:00:00:01, src=02:00:00:00:00:09) / ip4(src=203.0.113.5, dst=10.0.0.1, ttl=1) / udp",
    );
    for (input, port, from) in [
        ("a", "a", "198.18.0.1"),
        ("b", "b", "198.19.0.1"),
        // A port without an address speaks in the name of the first that has one.
        ("d", "d", "198.18.0.1"),
    ] {
        let (out, error) = answer(&mut rig, input, &about).unwrap();
        assert_eq!(out, port);
        assert_eq!(error[..12], [2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1]);
        check(&error, &about, (from, "203.0.113.5"), (11, 0, 0));
    }
    assert_eq!(answer(&mut rig, "c", &about), None, "this input has no output");
    assert_eq!((rig.counter("icmp_sent"), rig.counter("icmp_unroutable")), (3, 1));
}

/// RFC 4443, 2.4e, forbids it only where they may be of an ICMPv6 error: path MTU discovery needs to know (3.2).
#[test]
fn senders_of_later_fragments_over_ipv6_are_told() {
    let mut rig = rig(OPTIONS);
    for line in [
        "eth / ip6(dst=2001:db8:2::1) / frag(offset=1, more=0, id=5) / udp",
        "eth / ip6(dst=2001:db8:1::1) / frag(offset=185, more=1, id=5) / udp / pad(1400)",
    ] {
        assert!(answer(&mut rig, "a", &frame(line)).is_some(), "{line}");
    }
    assert_eq!(rig.counter("icmp_sent"), 2);
}

#[test]
fn nobody_is_told_of_errors_fragments_and_groups() {
    let mut about =
        [3, 4, 5, 11, 12, 1, 19, 41, 253].map(|kind| format!("ip4(dst=11.0.0.1) / icmp({kind})")).to_vec();
    about.extend([1, 2, 3, 4, 100, 127, 137].map(|kind| format!("ip6(dst=2001:db8:2::1) / icmp6({kind})")));
    let lines = [
        "ip6(dst=2001:db8:2::1) / hopopt / dest / icmp6(1)",
        "ip6(dst=2001:db8:2::1) / frag(offset=0, more=1, id=5) / icmp6(3)",
        "ip4(dst=11.0.0.1, mf=1) / icmp(3)",
        "ip4(dst=11.0.0.1) / icmp(8) / cut(34)",
        "ip4(dst=11.0.0.1, proto=1)",
        "ip4(dst=11.0.0.1, frag=1) / udp",
        "ip4(dst=10.0.0.1, ttl=1, frag=185, mf=1) / udp",
        "ip4(dst=10.0.0.1, df=1, frag=185) / udp / pad(1400)",
        "ip6(dst=2001:db8:2::1) / frag(offset=1, more=0, id=5) / icmp6(128)",
        // A header that says that it is longer than the packet.
        "ip6(dst=2001:db8:2::1) / hopopt(len=9) / udp",
        // From the router itself.
        "ip4(src=198.18.0.1, dst=11.0.0.1) / udp",
        "ip6(src=2001:db8:b::1, dst=2001:db8:2::1) / udp",
    ];
    about.extend(lines.map(str::to_owned));
    let mut rig = rig(OPTIONS);
    let mut forbidden = 0;
    for line in &about {
        // A packet that was cut is malformed, and nobody hears of that.
        forbidden += u64::from(!line.contains("cut"));
        assert_eq!(answer(&mut rig, "a", &frame(&format!("eth / {line}"))), None, "{line}");
        assert_eq!(rig.counter("icmp_forbidden"), forbidden, "{line}");
    }
    for line in [
        "eth(dst=ff:ff:ff:ff:ff:ff) / ip4(dst=11.0.0.1) / udp",
        "eth(dst=01:00:5e:00:00:01) / ip4(dst=11.0.0.1) / udp",
        "eth(src=03:00:00:00:00:01) / ip4(dst=11.0.0.1) / udp",
        "eth / ip4(src=0.0.0.0, dst=11.0.0.1) / udp",
        "eth / ip4(src=127.0.0.1, dst=11.0.0.1) / udp",
        "eth / ip4(src=224.0.0.1, dst=11.0.0.1) / udp",
        "eth / ip4(src=255.255.255.255, dst=11.0.0.1) / udp",
        "eth / ip4(dst=224.0.0.1, ttl=1) / udp",
        "eth / ip4(dst=255.255.255.255, ttl=1) / udp",
        "eth / ip6(src=::, dst=2001:db8:2::1) / udp",
        "eth / ip6(src=::1, dst=2001:db8:2::1) / udp",
        "eth / ip6(src=ff02::1, dst=2001:db8:2::1) / udp",
        "eth / ip6(dst=ff0e::1, hops=1) / udp",
        "eth / ip4(dst=11.0.0.1, sum=0x1234) / udp",
        "eth / ip4(dst=11.0.0.1, len=200) / udp",
        "eth / arp",
    ] {
        assert_eq!(answer(&mut rig, "a", &frame(line)), None, "{line}");
    }
    assert_eq!(rig.counter("icmp_sent"), 0);
}

#[test]
fn seventeen_extension_headers_say_nothing() {
    let mut line = "eth / ip6(dst=2001:db8:2::1)".to_owned();
    (0..17).for_each(|_| line.push_str(" / dest"));
    line.push_str(" / icmp6(1)");
    let mut rig = rig(OPTIONS);
    assert_eq!(answer(&mut rig, "a", &frame(&line)), None);
    assert_eq!(rig.counter("icmp_forbidden"), 1);
}

#[test]
fn errors_have_a_limit() {
    let mut rig = rig(&format!("icmp_limit = 100\n{OPTIONS}"));
    let about = frame("eth / ip4(dst=11.0.0.1) / udp");
    let sent = |rig: &mut Rig, ns| {
        (0..50).for_each(|_| rig.send("a", &about));
        rig.advance(ns);
        rig.take("b").len()
    };
    assert_eq!(sent(&mut rig, 0), 5, "a twentieth at once");
    assert_eq!((rig.counter("icmp_sent"), rig.counter("icmp_limited"), rig.counter("no_route")), (5, 45, 50));
    assert_eq!(sent(&mut rig, 20_000_000), 2);
    assert_eq!(sent(&mut rig, 1_000_000_000), 5);
    let forbidden = frame("eth / ip4(dst=11.0.0.1) / icmp(3)");
    rig.advance(50_000_000);
    (0..50).for_each(|_| rig.send("a", &forbidden));
    assert_eq!(sent(&mut rig, 0), 5, "what may not be sent costs nothing");
    rig.reconfigure(read::<Router>(&format!("icmp_limit = 1000\n{OPTIONS}")).unwrap());
    assert_eq!(sent(&mut rig, 0), 0, "an empty bucket is as empty afterwards");
    assert_eq!(sent(&mut rig, 10_000_000), 10);
}

#[test]
fn an_exhausted_pool_costs_errors_only() {
    let class: Router = read(OPTIONS).unwrap();
    let mut rig = Rig::with(class, &["a"], &PORTS, 5);
    (0..5).for_each(|_| rig.send("a", frame("eth / ip4(dst=11.0.0.1) / udp")));
    rig.breathe();
    // The first packet's memory is free when the second is told of.
    assert_eq!((rig.counter("no_route"), rig.counter("icmp_no_packet"), rig.counter("icmp_sent")), (5, 1, 4));
}

#[test]
fn a_breath_has_more_errors_than_a_link() {
    let mut rig = rig(&format!("icmp_limit = 1000000\n{OPTIONS}"));
    for input in ["a", "b"] {
        (0..800).for_each(|_| rig.send(input, frame("eth / ip4(dst=11.0.0.1) / udp")));
    }
    rig.breathe();
    assert_eq!(rig.counter("no_route"), 1600);
    let came = PORTS.iter().map(|port| rig.take(port).len() as u64).sum::<u64>();
    assert_eq!((came, rig.report().drops.get("link_full")), (rig.counter("icmp_sent"), None));
}

#[test]
fn errors_quote_up_to_their_longest() {
    let mut rig = rig(OPTIONS);
    for (pad, len) in [(0, 56), (519, 575), (520, 576), (521, 576), (9000, 576)] {
        let about = frame(&format!("eth / ip4(dst=11.0.0.1) / udp / pad({pad})"));
        let (_, error) = answer(&mut rig, "a", &about).unwrap();
        assert_eq!(error.len() - 14, len, "{pad}");
        check(&error, &about, ("198.19.0.1", "192.0.2.1"), (3, 0, 0));
    }
    for (pad, len) in [(0, 96), (1183, 1279), (1184, 1280), (1185, 1280), (9000, 1280)] {
        let about = frame(&format!("eth / ip6(dst=2001:db8:2::1) / udp / pad({pad})"));
        let (_, error) = answer(&mut rig, "a", &about).unwrap();
        assert_eq!(error.len() - 14, len, "{pad}");
        check(&error, &about, ("2001:db8:b::1", "2001:db8::1"), (1, 0, 0));
    }
    // Less on a short way, but the header and eight bytes always.
    let mut short = rig_with_short_way();
    let about = frame("eth / ip4(dst=11.0.0.1) / udp / pad(500)");
    assert_eq!(answer(&mut short, "a", &about).unwrap().1.len() - 14, 68);
    let options = "01 ".repeat(40);
    let about = frame(&format!("eth / ip4(dst=11.0.0.1, options={}) / udp / pad(500)", options.trim()));
    assert_eq!(answer(&mut short, "a", &about).unwrap().1.len() - 14, 28 + 60 + 8);
}

fn rig_with_short_way() -> Rig {
    rig(&OPTIONS.replace("'2001:db8:b::1'] }", "'2001:db8:b::1'], mtu = 68 }"))
}

#[test]
fn damaged_packets_break_nothing() {
    let mut rng = Rng::new(11);
    let mut rig = rig(&format!("icmp_limit = 1000000\n{OPTIONS}"));
    let lines = [
        "eth / ip4(dst=11.0.0.1) / udp / pad(30)",
        "eth / ip4(dst=10.0.0.1, ttl=1) / icmp(8)",
        "eth / ip6(dst=2001:db8:2::1) / hopopt / frag(offset=0, more=1, id=5) / udp",
        "eth / ip6(dst=2001:db8:1::1, hops=1) / icmp6(128) / pad(9)",
    ];
    for round in 0..20_000 {
        let mut packet = frame(lines[round % lines.len()]);
        for _ in 0..rng.below(4) {
            let at = rng.below(packet.len());
            packet[at] = rng.next_u32() as u8;
        }
        if packet[12..14] == [8, 0] && packet.len() >= 34 && packet[14] & 15 == 5 {
            // As a host would write it, so that it passes the first test.
            packet[24..26].copy_from_slice(&[0, 0]);
            let sum = !(sum(&[&packet[14..34]]) as u16);
            packet[24..26].copy_from_slice(&sum.to_be_bytes());
        }
        packet.truncate(packet.len() - rng.below(3) * rng.below(packet.len() / 2));
        rig.send("a", packet);
        if round % 100 == 0 {
            rig.advance(1_000_000);
            PORTS.iter().for_each(|port| drop(rig.take(port)));
        }
    }
    rig.breathe();
    assert!(rig.counter("icmp_sent") > 100);
}

#[test]
fn options_of_ports_are_checked() {
    let mut error = String::new();
    for options in [
        "port.a = { ip = '127.0.0.1' }",
        "port.a = { ip = ['10.0.0.1', '10.0.0.2'] }",
        "port.a = { ip = ['2001:db8::1', '10.0.0.1', '2001:db8::2'] }",
        "port.a = { ip = 'fe80::1' }",
        "port.a = { mtu = 67 }",
        "port.a = { mtu = 65522 }",
        "icmp_limit = 0",
    ] {
        writeln!(error, "{}", read::<Router>(options).unwrap().check().unwrap_err()).unwrap();
    }
    let expected = "\
        `port.a.ip`: 127.0.0.1 is never routed\n\
        `port.a.ip`: two addresses of one version: 10.0.0.1 and 10.0.0.2\n\
        `port.a.ip`: two addresses of one version: 2001:db8::1 and 2001:db8::2\n\
        `port.a.ip`: fe80::1 is never routed\n\
        `port.a.mtu`: 67 is not between 68 and 65521\n\
        `port.a.mtu`: 65522 is not between 68 and 65521\n\
        `icmp_limit`: 0 is not between 1 and 1000000\n";
    assert_eq!(error, expected);
    let linked = PortNames { inputs: vec!["x"], outputs: vec!["a"] };
    let error = |options| read::<Router>(options).unwrap().check_ports(&linked).unwrap_err().to_string();
    assert_eq!(error("port.a = {}\nport.x = {}"), "`port.x`: nothing is linked to port `x`");
    read::<Router>("port.a = {}").unwrap().check_ports(&linked).unwrap();
}
