//! The program by which the sockets of a group share frames by their addresses, as `rss` does: classic BPF, which the kernel runs on each frame.
//!
//! ```text
//!  protocol? ─┬─ IPv4, IPv6 ─► fold both addresses ─┐
//!             ├─ a tag ─► protocol behind it? ─► … ─┴─► sum ─► finish ─► times sockets, by 2^32 ─► the socket's number
//!             └─ all else ─► 0
//! ```
//!
//! It is [`FlowHasher::addresses`](wire::FlowHasher::addresses) and [`FlowHash::bucket`](wire::FlowHash::bucket) for frames with IP behind two VLAN tags at most, of which the kernel has
//! taken out the outer one. What an ICMP error quotes, routing headers, and frames without IP are left to the `rss` behind the sockets.

use libc::sock_filter;
use serde::Deserialize;
use wire::FlowHasher;
use wire::ether::ethertype;
use wire::flow::AddressHash;

/// Sockets that a group may have (`PACKET_FANOUT_MAX` of kernels before 5.10).
pub(super) const SOCKETS_MAX: u32 = 256;

/// How the sockets of a group share frames by their addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FanoutAddresses {
    /// A number that the hash depends on: that of the `rss`.
    pub key: u64,
    /// How many sockets the group has.
    pub sockets: u32,
}

/// Offsets from the network header, and the protocol of the frame (linux/filter.h: `SKF_NET_OFF`, `SKF_AD_OFF + SKF_AD_PROTOCOL`).
pub(super) const NETWORK: u32 = 0xfff0_0000;
pub(super) const PROTOCOL: u32 = 0xffff_f000;

const LOAD_WORD: u16 = 0x20;
const LOAD_HALF: u16 = 0x28;
const LOAD_MEM: u16 = 0x60;
const LOAD_X_MEM: u16 = 0x61;
const STORE: u16 = 0x02;
const ADD_X: u16 = 0x0c;
const MUL: u16 = 0x24;
const AND: u16 = 0x54;
const RSH: u16 = 0x74;
const XOR: u16 = 0xa4;
const XOR_X: u16 = 0xac;
const JUMP: u16 = 0x05;
const JUMP_IF_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;
const RETURN_A: u16 = 0x16;
const A_TO_X: u16 = 0x07;

const fn insn(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

/// `A ^= A >> shift`.
fn xor_shifted(shift: u32) -> [sock_filter; 3] {
    [insn(A_TO_X, 0), insn(RSH, shift), insn(XOR_X, 0)]
}

impl FanoutAddresses {
    /// The program.
    pub(super) fn program(self) -> Vec<sock_filter> {
        let hash = FlowHasher::new(self.key).address_hash();
        let mut program = vec![insn(LOAD_HALF, PROTOCOL)];
        let mut to_end = Vec::new();
        by_version(hash, 0, &mut program, &mut to_end);
        // Behind the last of these jumps stands the end for all other protocols.
        for (at, tag) in [ethertype::VLAN, ethertype::QINQ, ethertype::QINQ_OLD].into_iter().enumerate() {
            program.push(sock_filter { jt: 3 - at as u8, ..insn(JUMP_IF_EQUAL, tag.into()) });
        }
        program.push(insn(RETURN, 0));
        program.push(insn(LOAD_HALF, NETWORK + 2));
        by_version(hash, 4, &mut program, &mut to_end);
        program.push(insn(RETURN, 0));
        for at in to_end {
            program[at].k = (program.len() - at - 1) as u32;
        }
        program.push(insn(XOR, hash.end));
        finish(&mut program);
        // (hash * sockets) >> 32, by halves of the hash.
        program.extend([
            insn(STORE, 0),
            insn(AND, 0xffff),
            insn(MUL, self.sockets),
            insn(RSH, 16),
            insn(A_TO_X, 0),
            insn(LOAD_MEM, 0),
            insn(RSH, 16),
            insn(MUL, self.sockets),
            insn(ADD_X, 0),
            insn(RSH, 16),
            insn(RETURN_A, 0),
        ]);
        program
    }
}

/// For either version of IP, whose number is in A and whose header begins so many bytes behind the network header: the sum of both addresses, folded, and a jump to the end.
fn by_version(hash: AddressHash, off: u32, program: &mut Vec<sock_filter>, to_end: &mut Vec<usize>) {
    for (version, src_at, words) in [(ethertype::IPV4, 12, 1), (ethertype::IPV6, 8, 4)] {
        let begin = program.len();
        program.push(insn(JUMP_IF_EQUAL, version.into()));
        let [src, dst] = [src_at, src_at + 4 * words].map(|at| NETWORK + off + at);
        fold(hash, src, words, program);
        program.push(insn(STORE, 0));
        fold(hash, dst, words, program);
        program.extend([insn(LOAD_X_MEM, 0), insn(ADD_X, 0)]);
        to_end.push(program.len());
        program.push(insn(JUMP, 0));
        program[begin].jf = (program.len() - begin - 1) as u8;
    }
}

/// Folds an address of so many words.
fn fold(hash: AddressHash, at: u32, words: u32, program: &mut Vec<sock_filter>) {
    let (factor, shift) = AddressHash::FOLD;
    for word in 0..words {
        program.push(insn(LOAD_WORD, at + 4 * word));
        program.push(if word == 0 { insn(XOR, hash.start) } else { insn(XOR_X, 0) });
        program.push(insn(MUL, factor));
        program.extend(xor_shifted(shift));
        program.push(insn(A_TO_X, 0));
    }
    finish(program);
}

/// Makes each bit of A depend on all.
fn finish(program: &mut Vec<sock_filter>) {
    for (shift, factor) in AddressHash::FINISH {
        program.extend(xor_shifted(shift));
        program.push(insn(MUL, factor));
    }
    program.extend(xor_shifted(AddressHash::LAST_SHIFT));
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::packet::Packet;

    /// What the program says of a frame, as the kernel has it: without its outer tag.
    fn socket(addresses: FanoutAddresses, frame: &[u8]) -> u32 {
        let has_tag = wire::vlan::Vlan::follows(u16::from_be_bytes([frame[12], frame[13]]));
        let seen = &frame[if has_tag { 16 } else { 12 }..];
        let insns = addresses.program().into_iter().map(|sock_filter { code, jt, jf, k }| {
            // The protocol, and what begins with the network header, stand in one.
            let k = if code & 0xe7 != 0x20 || k < NETWORK {
                k
            } else if k >= PROTOCOL {
                0
            } else {
                k - NETWORK + 2
            };
            bpf::Insn { code, jt, jf, k }
        });
        let insns: Vec<bpf::Insn> = insns.collect();
        match bpf::machine::run(&insns, seen, seen.len() as u32, 1000, &mut ()) {
            bpf::machine::Outcome::Returned(number) => number,
            // The kernel takes 0 where a frame ends too early.
            _ => 0,
        }
    }

    #[test]
    fn the_kernel_finds_the_bucket_that_rss_finds() {
        for key in [0, 7, u64::MAX] {
            for sockets in [1, 2, 3, 8, 256] {
                let addresses = FanoutAddresses { key, sockets };
                for host in 0..60 {
                    for line in [
                        format!("eth / ip4(src=10.0.0.{host}, dst=192.0.2.1) / tcp(sport=1, dport=2)"),
                        format!("eth / ip4(src=192.0.2.1, dst=10.0.0.{host}) / udp(sport=1, dport=2)"),
                        format!("eth / ip6(src=2001:db8::{host}, dst=2001:db8:1::1) / udp(sport=1, dport=2)"),
                        format!("eth / vlan(9) / ip4(src=10.0.0.{host}, dst=10.0.0.1) / udp"),
                        format!("eth / vlan(9) / vlan(8) / ip4(src=10.0.0.{host}, dst=10.0.0.1) / udp"),
                        format!("eth / vlan(9) / vlan(8) / ip6(src=2001:db8::{host}, dst=::2) / udp"),
                    ] {
                        let frame = Packet::parse(&line).unwrap().bytes;
                        let expected = FlowHasher::new(key).addresses(&frame).bucket(sockets);
                        assert_eq!(socket(addresses, &frame), expected, "{key} {sockets} {line}");
                    }
                }
                let arp = Packet::parse("eth / arp()").unwrap().bytes;
                assert_eq!(socket(addresses, &arp), 0);
                let cut = &Packet::parse("eth / ip6 / udp").unwrap().bytes[..50];
                assert_eq!(socket(addresses, cut), 0);
            }
        }
    }
}
