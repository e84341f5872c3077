//! Names, times, addresses: what is one datagram. And these over TCP.

use crate::case::{Case, hex};
use dpi::Protocol;

/// A name of DNS.
fn name(name: &str) -> Vec<u8> {
    let labels = name.split('.').filter(|label| !label.is_empty());
    let mut bytes: Vec<u8> =
        labels.flat_map(|label| [&[label.len() as u8], label.as_bytes()].concat()).collect();
    bytes.push(0);
    bytes
}

/// A message with one question.
fn query(id: u16, flags: u16, asked: &str, kind: u16, class: u16) -> Vec<u8> {
    let header = [id, flags, 1, 0, 0, 0].map(u16::to_be_bytes).concat();
    [header, name(asked), kind.to_be_bytes().to_vec(), class.to_be_bytes().to_vec()].concat()
}

/// The same with answers, each an address, or other data.
fn response(id: u16, flags: u16, asked: Option<&str>, answers: &[(&[u8], u16, u16, &[u8])]) -> Vec<u8> {
    let counts = [id, flags, u16::from(asked.is_some()), answers.len() as u16, 0, 0];
    let mut bytes = counts.map(u16::to_be_bytes).concat();
    if let Some(asked) = asked {
        bytes.extend([name(asked), vec![0, 1, 0, 1]].concat());
    }
    for (owner, kind, class, data) in answers {
        bytes.extend_from_slice(owner);
        bytes.extend([kind.to_be_bytes(), class.to_be_bytes(), [0, 0], [0, 120]].concat());
        bytes.extend((data.len() as u16).to_be_bytes());
        bytes.extend_from_slice(data);
    }
    bytes
}

/// A question with the record of EDNS.
fn edns(id: u16, asked: &str) -> Vec<u8> {
    let mut bytes = query(id, 0x0120, asked, 28, 1);
    bytes[11] = 1;
    bytes.extend(hex("00 0029 04d0 00000000 0000"));
    bytes
}

pub(crate) fn cases() -> Vec<Case> {
    [names(), times(), addresses(), stun()].into_iter().flatten().collect()
}

fn names() -> Vec<Case> {
    let dns = |name| Case::udp(name, Protocol::DNS, 53);
    let mdns = |name| Case { ports: (5353, 5353), ..Case::udp(name, Protocol::MDNS, 5353) };
    let address: &[u8] = &[192, 0, 2, 1];
    let over_tcp = |message: Vec<u8>| [&(message.len() as u16).to_be_bytes()[..], &message].concat();
    vec![
        dns("dns").client(query(0x1234, 0x0100, "www.example.org", 1, 1)),
        dns("dns-edns").client(edns(0x8071, "ipv6.example")),
        dns("dns-first-byte-of-quic").client(query(0xc3ff, 0x0100, "example.org", 65, 1)),
        dns("dns-root").client(query(0x4100, 0x0100, "", 2, 1)),
        dns("dns-version").client(query(7, 0x0100, "version.bind", 16, 3)),
        dns("dns-response").server(response(
            0x5353,
            0x8180,
            Some("www.example.org"),
            &[(b"\xc0\x0c", 5, 1, b"\x03www\xc0\x10"), (b"\xc0\x2d", 1, 1, address)],
        )),
        dns("dns-no-such-name").server(query(0xff00, 0x8183, "no.example", 1, 1)),
        dns("dns-iterative").client(query(0x2222, 0, "ns.example.org", 1, 1)).named_by_port(),
        dns("dns-answer-with-authority").server(query(0x2222, 0x8400, "ns.example.org", 1, 1)),
        Case::tcp("dns-tcp", Protocol::DNS, 53).client(over_tcp(edns(0x0102, "a.example"))),
        mdns("mdns").client(query(0, 0, "_ipp._tcp.local", 12, 0x8001)),
        mdns("mdns-response")
            .client(response(0, 0x8400, None, &[(&name("printer.local"), 1, 0x8001, address)]))
            .named_by_port(),
        mdns("mdns-reverse").client(query(0, 0, "1.2.0.192.in-addr.arpa", 12, 1)).named_by_port(),
        mdns("mdns-with-number").client(query(0x1111, 0, "_http._tcp.local", 12, 1)),
        Case::udp("llmnr-reverse", Protocol::LLMNR, 5355)
            .client(query(0x3333, 0, "1.2.0.192.in-addr.arpa", 12, 1))
            .named_by_port(),
        Case::udp("llmnr", Protocol::LLMNR, 5355).client(query(0x3333, 0, "printer", 1, 1)).named_by_port(),
    ]
}

fn times() -> Vec<Case> {
    let ntp = |name| Case::udp(name, Protocol::NTP, 123);
    let rest = "00000000".repeat(9);
    vec![
        ntp("ntp-simple-client").client(hex(&("1b000000".to_owned() + &"00".repeat(44)))),
        ntp("ntp-random-time").client(hex(&("23000620".to_owned() + &rest + "9b5536e6 17759b14"))),
        ntp("ntp-symmetric-first").client(hex(
            "d9000afa 00000000 00010290 00000000 0000000000000000 0000000000000000 0000000000000000 c50204ecec42ee92",
        )),
        // Its answer: stratum 2, half a second from the root, times within a millisecond.
        ntp("ntp-server").server(hex(
            "240203e8 00001234 00000a00 c0000201 e8a1b000aaaaaaaa 9b5536e617759b14 e8a1b2c310000000 e8a1b2c310400000",
        )),
        ntp("ntp-symmetric").client(hex(
            "1a0306ee 00000b00 00000c00 c0000201 c50204ea95ec9a16 c50204e9f1a00000 c50204eb00000000 c50204ec00000000",
        )),
        ntp("ntp-with-digest").client(hex(
            &("1b0006ec".to_owned() + &rest + "c50204ecec42ee92" + "00000001" + &"5a".repeat(16)),
        )),
        ntp("ntp-broadcast").server(hex(
            "250206ec 00000100 00000200 c0000201 c50204ea95ec9a16 0000000000000000 0000000000000000 c50204ec00000000",
        )),
    ]
}

fn addresses() -> Vec<Case> {
    let discover = {
        let mut bytes = hex("01 01 06 00 3903f326 0000 8000");
        bytes.resize(28, 0);
        bytes.extend(hex("020000000001"));
        bytes.resize(236, 0);
        bytes.extend(hex("63825363 35 01 01 3d 07 01 020000000001 37 02 01 03 ff"));
        bytes
    };
    let dhcp = |name| Case { ports: (68, 67), ..Case::udp(name, Protocol::DHCP, 67) };
    let dhcpv6 = |name| Case { ports: (546, 547), ..Case::udp(name, Protocol::DHCPV6, 547) };
    let client = "0001 000a 0003 0001 020000000001";
    vec![
        dhcp("dhcp").client(discover),
        dhcpv6("dhcpv6-solicit").client(hex(&format!("01 102030 {client} 0006 0004 0017 0018 0008 0002 0000"))),
        dhcpv6("dhcpv6-relayed").client(hex(&format!(
            "0c 00 20010db8000000000000000000000001 fe800000000000000000000000000001 0009 0012 01 102030 {client}"
        ))),
    ]
}

fn stun() -> Vec<Case> {
    let stun = |name| Case::udp(name, Protocol::STUN, 3478);
    let id = "a1a2a3a4a5a6a7a8a9aaabac";
    vec![
        stun("stun").client(hex(&format!("0001 0000 2112a442 {id}"))),
        stun("stun-response").server(hex(&format!("0101 000c 2112a442 {id} 0020 0008 0001 a147 e112a643"))),
        stun("stun-turn").client(hex(&format!("0003 0008 2112a442 {id} 0019 0004 11000000"))),
        stun("stun-classic").client(hex(&format!("0001 0008 11223344 {id} 0003 0004 00000000"))),
        stun("stun-of-whatsapp").client(hex(&format!("0003 0006 2112a442 {id} 4000 0002 0102"))),
        Case::tcp("stun-tcp", Protocol::STUN, 3478)
            .client(hex(&format!("0003 0008 2112a442 {id} 0019 0004 06000000"))),
    ]
}
