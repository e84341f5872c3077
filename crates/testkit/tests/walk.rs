//! Packets that take each branch of a program of libpcap.

use testkit::linktype::ETHERNET;
use testkit::oracle::{self, Options};
use testkit::packet::Packet;
use testkit::walk::{Budget, packets};

/// From one empty packet, some walked packet matches each of these.
#[test]
fn finds_matches() {
    let Some(pcap) = oracle::libpcap("walk") else { return };
    let filters = [
        "tcp port 80",
        "ip6 host 2001:db8::1 and udp",
        "vlan 7 and mpls 9 and tcp dst port 22",
        "tcp port 80 and (((ip[2:2] - ((ip[0]&0xf)<<2)) - ((tcp[12]&0xf0)>>2)) != 0)",
        "ether[0] * 3 + 1 = 100 and len > 1000",
        "icmp[icmptype] = icmp-echo and ip[8] - 3 = 7",
        "geneve 5 and arp",
        "pppoes 3 and ip host 10.1.2.3",
    ];
    for filter in filters {
        let program = pcap.compile(ETHERNET, filter, Options::default()).unwrap();
        let walked = packets(program.insns(), &[Packet::whole(Vec::new())], Budget::default());
        let matching = walked.iter().filter(|p| program.accepts(&p.bytes, p.wire_len)).count();
        assert!(matching > 0, "{filter}: none of {} packets matches", walked.len());
    }
}
