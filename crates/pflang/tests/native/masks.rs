//! The mask VM, with each set of instructions, agrees with the interpreter, on packets at the edge of memory.

use crate::agree::{PACKET_LEN_MAX, random_packets};
use crate::guarded::{Guarded, Put, with_guarded};
use pflang::internals::exec::mask::{Isa, MaskFilter, MaskList};
use pflang::internals::ir::interp::Interp;
use pflang::internals::ir::verify::Verified;
use pflang::{BurstEngine, Compiler, Packet};
use testkit::rng::Rng;
use wire::LinkType;

/// All packets at once and in bursts of other lengths, with memory ending where each ends, and beginning where it begins.
pub(crate) fn check(graph: Verified<'_>, packets: &[(Vec<u8>, u32)], leaves: &[u32], what: &str) {
    let Some(filter) = MaskFilter::new(graph) else { return };
    let list = MaskList::new(graph).expect("it is no larger");
    let expected: Vec<bool> = leaves.iter().map(|&leaf| leaf != 0).collect();
    for put in [Guarded::put as Put, Guarded::put_first] {
        with_guarded(packets, put, |descriptors| {
            for &isa in Isa::ALL {
                for len in [0, 1, 2, 63, 64, 65, 127, 128, 200, 255, 256, 257, packets.len()] {
                    let len = len.min(packets.len());
                    let answers = run(&filter, isa, &descriptors[..len]);
                    let wrong = answers.iter().zip(&expected).position(|(is, should)| is != should);
                    assert_eq!(
                        wrong, None,
                        "{what}, {isa}, burst of {len}: the first wrong packet\n{filter}"
                    );
                    let answers = run_list(&list, isa, &descriptors[..len]);
                    assert_eq!(answers, leaves[..len], "{what}, {isa}, leaves of a burst of {len}\n{list}");
                }
            }
        });
    }
}

fn run(filter: &MaskFilter, isa: Isa, packets: &[Packet<'_>]) -> Vec<bool> {
    let mut bits = vec![u64::MAX; packets.len().div_ceil(64) + 1];
    filter.run_burst(isa, packets, &mut bits);
    assert_eq!(bits.pop(), Some(u64::MAX), "no more words than packets need");
    (0..packets.len()).map(|i| bits[i / 64] >> (i % 64) & 1 == 1).collect()
}

fn run_list(list: &MaskList, isa: Isa, packets: &[Packet<'_>]) -> Vec<u32> {
    const UNTOUCHED: u32 = 0xdead_beef;
    let mut leaves = vec![UNTOUCHED; packets.len() + 1];
    list.run_burst(isa, packets, &mut leaves);
    assert_eq!(leaves.pop(), Some(UNTOUCHED), "no more leaves than packets");
    leaves
}

#[test]
fn says_which_instructions_there_are() {
    for isa in Isa::ALL.iter().filter(|isa| !isa.is_available()) {
        testkit::say(format_args!(
            "SKIPPED: the mask VM with {isa}, which this processor has not; portable instead"
        ));
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
                check(Verified::new(graph).unwrap(), &packets, &leaves, source);
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
