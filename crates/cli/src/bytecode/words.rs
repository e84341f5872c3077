//! Instructions of BPF in words, as far as what they load is known: fields of Ethernet, IP, ARP and ports.
//!
//! ```text
//! (000) ldh      [12]                             the Ethernet type
//! (001) jeq      #0x800           jt 2  jf 5      is it 0x800 (IPv4)? yes: 2, no: 5
//! (002) ldb      [23]                             the protocol of IPv4
//! ```
//! From the first instruction to the last, what each way brings along is remembered: what A and X hold, and which network protocol
//! has been found. Where ways join that differ in it, it is not known any more.

use bpf::Insn;
use bpf::internals::decode::{Op, Operand, Register, Returned, Source, Test, decode, successors};
use std::net::Ipv4Addr;
use wire::LinkType;

/// What is known in front of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
struct Known {
    a: Option<Field>,
    x: Option<Field>,
    network: Option<Network>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Network {
    Ip4,
    Ip6,
    Arp,
}

/// What a register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    EtherType,
    Protocol,
    Address(&'static str),
    Port(&'static str),
    /// The length of the IPv4 header.
    HeaderLength,
    Named(&'static str),
}

impl Field {
    fn words(self) -> &'static str {
        match self {
            Field::EtherType => "the Ethernet type",
            Field::Protocol => "the protocol",
            Field::HeaderLength => "the length of the IPv4 header",
            Field::Address(words) | Field::Port(words) | Field::Named(words) => words,
        }
    }

    /// A number that it may be, in words.
    fn value(self, k: u32) -> String {
        let name = match (self, k) {
            (Field::EtherType, 0x800) => "IPv4",
            (Field::EtherType, 0x86dd) => "IPv6",
            (Field::EtherType, 0x806) => "ARP",
            (Field::EtherType, 0x8035) => "RARP",
            (Field::EtherType, 0x8100) => "VLAN",
            (Field::EtherType, 0x8847) => "MPLS",
            (Field::EtherType, 0x8863) => "PPPoE discovery",
            (Field::EtherType, 0x8864) => "PPPoE",
            (Field::EtherType, 0x88a8) => "provider VLAN",
            (Field::Protocol, 1) => "ICMP",
            (Field::Protocol, 2) => "IGMP",
            (Field::Protocol, 6) => "TCP",
            (Field::Protocol, 17) => "UDP",
            (Field::Protocol, 44) => "a fragment",
            (Field::Protocol, 47) => "GRE",
            (Field::Protocol, 58) => "ICMPv6",
            (Field::Protocol, 132) => "SCTP",
            (Field::Address(_), _) => return Ipv4Addr::from(k).to_string(),
            (Field::Port(_) | Field::Protocol, _) => return k.to_string(),
            _ => return format!("{k:#x}"),
        };
        match self {
            Field::Protocol => format!("{k} ({name})"),
            _ => format!("{k:#x} ({name})"),
        }
    }
}

/// Where headers are on a link type.
#[derive(Clone, Copy)]
struct Headers {
    network: u32,
    ether_type: Option<u32>,
    is_ethernet: bool,
}

impl Headers {
    fn of(linktype: LinkType) -> Option<Headers> {
        let (network, ether_type) = match linktype {
            LinkType::EN10MB => (14, Some(12)),
            LinkType::LINUX_SLL => (16, Some(14)),
            LinkType::LINUX_SLL2 => (20, Some(0)),
            LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 => (0, None),
            _ => return None,
        };
        Some(Headers { network, ether_type, is_ethernet: linktype == LinkType::EN10MB })
    }

    /// The field at a fixed offset.
    fn at(self, offset: u32, size: u32, network: Option<Network>) -> Option<Field> {
        if self.ether_type == Some(offset) && size == 2 {
            return Some(Field::EtherType);
        }
        let Some(inside) = offset.checked_sub(self.network) else {
            return match offset {
                0..6 if self.is_ethernet => Some(Field::Named("the Ethernet destination")),
                6..12 if self.is_ethernet => Some(Field::Named("the Ethernet source")),
                _ => None,
            };
        };
        Some(match (network?, inside, size) {
            (Network::Ip4, 0, 1) => Field::Named("version and header length of IPv4"),
            (Network::Ip4, 1, 1) => Field::Named("the type of service of IPv4"),
            (Network::Ip4, 2, 2) => Field::Named("the total length of IPv4"),
            (Network::Ip4, 6, 2) => Field::Named("flags and fragment offset of IPv4"),
            (Network::Ip4, 8, 1) => Field::Named("the time to live"),
            (Network::Ip4, 9, 1) => Field::Protocol,
            (Network::Ip4, 12, 4) => Field::Address("the IPv4 source"),
            (Network::Ip4, 16, 4) => Field::Address("the IPv4 destination"),
            (Network::Ip6, 4, 2) => Field::Named("the payload length of IPv6"),
            (Network::Ip6, 6, 1) => Field::Protocol,
            (Network::Ip6, 7, 1) => Field::Named("the hop limit"),
            (Network::Ip6, 8..24, _) => Field::Named("a part of the IPv6 source"),
            (Network::Ip6, 24..40, _) => Field::Named("a part of the IPv6 destination"),
            (Network::Ip6, 40, 2) => Field::Port("the source port"),
            (Network::Ip6, 42, 2) => Field::Port("the destination port"),
            (Network::Arp, 6, 2) => Field::Named("the operation of ARP"),
            (Network::Arp, 14, 4) => Field::Address("the sender of ARP"),
            (Network::Arp, 24, 4) => Field::Address("the target of ARP"),
            _ => return None,
        })
    }

    /// The field so far behind the header of IPv4.
    fn behind_ip4(self, offset: u32, size: u32) -> Option<Field> {
        Some(match (offset.checked_sub(self.network)?, size) {
            (0, 2) => Field::Port("the source port"),
            (2, 2) => Field::Port("the destination port"),
            (12, 1) => Field::Named("the byte with the length of the TCP header"),
            (13, 1) => Field::Named("the TCP flags"),
            _ => return None,
        })
    }
}

/// Words for each instruction; none where there is nothing to add to the instruction itself.
pub(crate) fn words(insns: &[Insn], linktype: LinkType) -> Vec<String> {
    let headers = Headers::of(linktype);
    let mut known: Vec<Option<Known>> = vec![None; insns.len()];
    if let Some(first) = known.first_mut() {
        *first = Some(Known::default());
    }
    let mut words = Vec::with_capacity(insns.len());
    for (pc, insn) in insns.iter().enumerate() {
        let Some((here, decoded)) = known[pc].zip(decode(*insn)) else {
            words.push("nothing leads here".to_owned());
            continue;
        };
        let (behind, told) = instruction(*insn, decoded, pc, here, headers);
        words.push(told);
        for (way, next) in successors(pc, *insn, decoded).into_iter().enumerate() {
            let Some(there) = next.and_then(|next| known.get_mut(next)) else { continue };
            let brings = if way == 0 { found(*insn, decoded, behind) } else { behind };
            *there = Some(there.map_or(brings, |there| common(there, brings)));
        }
    }
    words
}

/// What is known after both of two ways.
fn common(one: Known, other: Known) -> Known {
    Known {
        a: one.a.filter(|a| other.a == Some(*a)),
        x: one.x.filter(|x| other.x == Some(*x)),
        network: one.network.filter(|network| other.network == Some(*network)),
    }
}

/// What is known besides where a test holds.
fn found(insn: Insn, decoded: Op, known: Known) -> Known {
    let network = match (decoded, known.a, insn.k) {
        (Op::Jump(Test::Equal, Operand::K), Some(Field::EtherType), 0x800) => Some(Network::Ip4),
        (Op::Jump(Test::Equal, Operand::K), Some(Field::EtherType), 0x86dd) => Some(Network::Ip6),
        (Op::Jump(Test::Equal, Operand::K), Some(Field::EtherType), 0x806) => Some(Network::Arp),
        _ => known.network,
    };
    Known { network, ..known }
}

/// What is known behind an instruction, and words for it.
fn instruction(
    insn: Insn,
    decoded: Op,
    pc: usize,
    known: Known,
    headers: Option<Headers>,
) -> (Known, String) {
    let k = insn.k;
    let field = match decoded {
        Op::Load(_, Source::Absolute(size)) => {
            headers.and_then(|headers| headers.at(k, size.bytes(), known.network))
        }
        Op::Load(_, Source::Indirect(size)) if known.x == Some(Field::HeaderLength) => {
            headers.and_then(|headers| headers.behind_ip4(k, size.bytes()))
        }
        Op::Load(_, Source::HeaderLength) if headers.is_some_and(|headers| headers.network == k) => {
            Some(Field::HeaderLength)
        }
        Op::Load(_, Source::Len) => Some(Field::Named("the length on the wire")),
        _ => None,
    };
    let loaded = |register| match register {
        Register::A => Known { a: field, ..known },
        Register::X => Known { x: field, ..known },
    };
    let it = known.a.map_or("A", Field::words);
    match decoded {
        Op::Load(register, _) => {
            (loaded(register), field.map_or_else(String::new, |field| field.words().to_owned()))
        }
        Op::Move(Register::A) => (Known { a: known.x, ..known }, String::new()),
        Op::Move(Register::X) => (Known { x: known.a, ..known }, String::new()),
        Op::Alu(..) | Op::Neg => (Known { a: None, ..known }, String::new()),
        Op::Store(..) => (known, String::new()),
        Op::Goto => (known, format!("on to {}", pc as u64 + 1 + u64::from(k))),
        Op::Return(Returned::A) => (known, "matches, unless A is 0".to_owned()),
        Op::Return(Returned::K) if k == 0 => (known, "does not match".to_owned()),
        Op::Return(Returned::K) => (known, "matches".to_owned()),
        Op::Jump(test, operand) => {
            let value = match operand {
                Operand::X => known.x.map_or("X", Field::words).to_owned(),
                Operand::K => known.a.map_or_else(|| format!("{k:#x}"), |field| field.value(k)),
            };
            let question = match test {
                Test::Equal => format!("is {it} {value}?"),
                Test::Greater => format!("is {it} greater than {value}?"),
                Test::GreaterOrEqual => format!("is {it} at least {value}?"),
                Test::AnyBit => format!("has {it} any bit of {value}?"),
            };
            let [yes, no] = [insn.jt, insn.jf].map(|distance| pc + 1 + usize::from(distance));
            (known, format!("{question} yes: {yes}, no: {no}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_told_by_the_protocols_before_them() {
        let text = "(000) ldh [12]\n(001) jeq #0x86dd jt 2 jf 6\n(002) ldb [20]\n(003) jeq #0x6 jt 4 jf 13\n(004) ldh [56]\n\
                    (005) jeq #0x50 jt 12 jf 13\n(006) jeq #0x800 jt 7 jf 13\n(007) ldh [20]\n(008) jset #0x1fff jt 13 jf 9\n\
                    (009) ldxb 4*([14]&0xf)\n(010) ldh [x + 16]\n(011) jeq #0x50 jt 12 jf 13\n(012) ret #262144\n(013) ret #0\n";
        let program = bpf::read(text.as_bytes()).expect("a program");
        let words = words(program.insns(), LinkType::EN10MB);
        assert_eq!(
            words,
            [
                "the Ethernet type",
                "is the Ethernet type 0x86dd (IPv6)? yes: 2, no: 6",
                "the protocol",
                "is the protocol 6 (TCP)? yes: 4, no: 13",
                "the destination port",
                "is the destination port 80? yes: 12, no: 13",
                "is the Ethernet type 0x800 (IPv4)? yes: 7, no: 13",
                "flags and fragment offset of IPv4",
                "has flags and fragment offset of IPv4 any bit of 0x1fff? yes: 13, no: 9",
                "the length of the IPv4 header",
                "the destination port",
                "is the destination port 80? yes: 12, no: 13",
                "matches",
                "does not match",
            ]
        );
        // Of packets that are laid out otherwise nothing is said.
        assert_eq!(super::words(program.insns(), LinkType::USB_LINUX)[0], "");
    }
}
