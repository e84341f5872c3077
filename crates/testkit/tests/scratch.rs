//! Runs of libpcap's programs that mean nothing.

use testkit::linktype::LinkType;
use testkit::oracle::{self, Options};
use testkit::packet::Packet;
use testkit::scratch::is_undefined;

#[test]
fn sees_what_gets_lost() {
    let Some(pcap) = oracle::libpcap("scratch memory") else { return };
    let radiotap = [0, 0, 8, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0];
    let undefined = |text: &str| {
        let program = pcap.compile(LinkType::IEEE802_11_RADIO, text, Options::default()).unwrap();
        is_undefined(program.insns(), &radiotap, 60)
    };
    assert!(undefined("len > 70 or ip"), "arithmetic took the header's cell");
    assert!(undefined("pppoes"), "the header moved to another cell");
    assert!(!undefined("ip or len > 70"));
    assert!(
        !undefined("ip or link[1] & 3 = 0 and link[2] + link[3] = link[4]"),
        "arithmetic reads each cell once"
    );
    assert!(!undefined("link[0] = link[1] + 2 * link[3]"));
}

#[test]
fn sees_tunnels_that_were_not_found() {
    let Some(pcap) = oracle::libpcap("scratch memory of tunnels") else { return };
    let undefined = |linktype, text: &str, packet: &[u8]| {
        let program = pcap.compile(linktype, text, Options::default()).unwrap();
        is_undefined(program.insns(), packet, 60)
    };
    let wlan = [8, 0, 0, 0];
    assert!(undefined(
        LinkType::IEEE802_11,
        "rarp && geneve and pppoes and ip or pppoed",
        &[&wlan[..], &[0; 60]].concat()
    ));
    assert!(undefined(LinkType::EN10MB, "geneve or arp", &[0; 60]));
    assert!(!undefined(LinkType::EN10MB, "link[0] + link[1] = link[2] and geneve", &[0; 60]));
    let found = Packet::parse("eth / ip4 / udp(dport=6081) / geneve / eth / ip4").unwrap();
    assert!(!undefined(LinkType::EN10MB, "geneve and ip", &found.bytes));
}
