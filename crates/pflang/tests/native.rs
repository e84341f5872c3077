//! Machine code and mask VM against the reference interpreter, for filters in text whose shape once mattered.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use pflang::internals::exec::mask::Isa;
use pflang::internals::ir::interp::Interp;
use pflang::internals::ir::verify::Verified;
use pflang::internals::x64::Options;
use pflang::{BurstEngine, Compiler, LinkType};
use testkit::native::agree::{PACKET_LEN_MAX, check, random_packets};
use testkit::native::{addresses, masks};
use testkit::rng::Rng;

/// Last tests that are joined: equalities of short loads, ranges, masks, sets; either way round.
#[test]
fn either_of_two_ports() {
    let filters = [
        "ether[0] = 1 or ether[1] = 0",
        "ether[0:2] = 257 or ether[2:2] = 0",
        "ether[0:2] = 257 or ether[2:2] = 0x10000",
        "ether[0:4] = 0x01010101 or ether[4:4] = 0",
        "not (ether[0] = 1 or ether[1] = 1)",
        "ether[0] > 3 or ether[1] & 3 != 0 or ether[2] = 1 or ether[3] < 1",
        "ether[1] = 0 or ether[2] / ether[1] = 2",
        "port 80",
        "portrange 1-300",
        "host 1.1.1.1",
        "port in {1, 257, 258, 263, 80, 443, 8080}",
        "host in {1.1.1.1, 0.0.0.0, 7.7.7.7, 1.0.1.0, 3.3.3.3, 0.1.0.1}",
    ];
    let mut rng = Rng::new(0x5105_5001);
    let mut packets = random_packets(&mut rng);
    for (i, (data, _)) in packets.iter_mut().enumerate() {
        if let (true, Some(head)) = (i % 2 == 0, data.get_mut(12..24)) {
            head.copy_from_slice(&[8, 0, 0x45, 0, 0, 0, 0, 0, 0, 0, 0, [6, 17][i / 2 % 2]]);
        }
    }
    for filter in filters {
        let stages = Compiler::new(LinkType::EN10MB).stages(filter).unwrap();
        for graph in [&stages.graph, &stages.optimised] {
            check(graph, &packets, &Options::default(), filter);
        }
    }
}
/// A far load tells more about the length than the guards of the transport header behind it ask for, on one of two ways
/// to the same load.
#[test]
fn where_lengths_and_guards_meet() {
    let filters = [
        "ether[80] = 1 or tcp port 80",
        "ether[80] = 1 and udp or tcp port 80",
        "(ether[100] = 1 or ether[2] = 2) and tcp[2:2] = 80",
        "(tcp[4:4] = 7 or ether[100] = 1) and tcp[2:2] = 80",
        "(ether[100] = 1 and ether[101] = 2 or tcp[0] = 3) and (tcp[1] = 4 or udp[7] = 1)",
        "ip[ip[1] & 3] = 1 or ip[60] = 2 and ip[ip[1] & 3 + 1] = 3",
    ];
    for filter in filters {
        let stages = Compiler::new(LinkType::EN10MB).stages(filter).unwrap();
        addresses::check(&stages.graph, filter);
        addresses::check(&stages.optimised, &format!("{filter}, optimised"));
    }
}
const FILTERS: &[&str] = &[
    "",
    "ip",
    "tcp port 80",
    "tcp port 80 and (((ip[2:2] - ((ip[0]&0xf)<<2)) - ((tcp[12]&0xf0)>>2)) != 0)",
    "tcp[((tcp[12:1] & 0xf0) >> 2):4] = 0x504f5354",
    "portrange 0-6000",
    "host 10.0.0.1 or net 192.168.0.0/16",
    "port in {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,80,443}",
    "port in {53, 80, 443}",
    "ether[0] = 1 or ether[1] = 1 or ether[2:2] = 257",
    "ether[0] % 3 = 1 and ether[1] / ether[2] > 1",
    "ether[len - 4:4] & 0x01010101 != 0",
    "ether[ether[0]:2] = ether[ether[1] + 1:2]",
    "ether[ether[0] & 7:1] < ether[3] or ether[ether[0] & 7:4] & ether[4:4] != 0",
    "ether[0] << ether[1] > ether[2] >> 1",
    "ip6 protochain 6",
    "vlan 1 and tcp port 80 or mpls and ip",
    "len <= 60 and greater 20",
];

/// Headers that lead somewhere, in packets cut at every length.
#[test]
fn every_length() {
    let mut rng = Rng::new(0x3a5c);
    for source in FILTERS {
        let stages = Compiler::new(LinkType::EN10MB).stages(source).unwrap();
        for _ in 0..3 {
            let packets = every_length_of(&mut rng);
            for graph in [&stages.graph, &stages.optimised] {
                let mut interp = Interp::new(graph);
                let leaves: Vec<u32> =
                    packets.iter().map(|(data, wire_len)| interp.run(data, *wire_len)).collect();
                masks::check(Verified::new(graph).unwrap(), &packets, &leaves, source);
            }
        }
    }
}

fn every_length_of(rng: &mut Rng) -> Vec<(Vec<u8>, u32)> {
    let mut packets = random_packets(rng);
    for (i, (data, _)) in packets.iter_mut().enumerate() {
        data.resize(PACKET_LEN_MAX, 0);
        let ip4 = [8, 0, 0x45 + (i % 3) as u8, 0, 0, 64, 0, 0, 0, 0, 9, [6, 17][i / 2 % 2]];
        let ip6 = [0x86, 0xdd, 0x60, 0, 0, 0, 0, 40, [6, 0, 17][i % 3], 1, 0, 0];
        match i % 4 {
            0 | 1 => data[12..24].copy_from_slice(&ip4),
            2 => data[12..24].copy_from_slice(&ip6),
            _ => {}
        }
        if i % 5 == 0 {
            data[34 + i % 2] = 80;
        }
        data.truncate(i % (PACKET_LEN_MAX + 1));
    }
    packets
}

/// The choice is made by shape, and reported.
#[test]
fn chooses_by_shape() {
    let engine = |source: &str| Compiler::new(LinkType::EN10MB).compile(source).unwrap().burst_engine();
    let hosts: Vec<String> = (0..100).map(|i| format!("host 10.0.{i}.{}", 7 * i % 251)).collect();
    assert_eq!(engine(&hosts.join(" or ")), BurstEngine::MachineCode);
    let expected = match Isa::detect() {
        Isa::Portable => BurstEngine::MachineCode,
        isa => BurstEngine::MaskVm(isa),
    };
    assert_eq!(engine("tcp port 80"), expected);
}
