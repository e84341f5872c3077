//! What every packet that a part of a filter accepts must be like.
//!
//! An over-approximation: `or` unites, `and` intersects, `not` forgets.

use super::guards::for_each_load;
use crate::syntax::ast::{Arith, ArithId, Ast, Dir, Expr, Id, Kind, Proto, Quals, RelOp};
use crate::syntax::words::{self, Word};

/// Network layers, as bits.
const IP4: u8 = 1;
const IP6: u8 = 2;
const ARP: u8 = 4;
const RARP: u8 = 8;
const OTHER: u8 = 16;

/// IP protocols that are told apart, as bits; the last stands for all others.
const PROTOCOLS: [u32; 11] = [1, 2, 6, 9, 17, 50, 51, 58, 103, 112, 132];

/// What the packets that a part accepts can be like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Possible {
    /// Which network layers.
    networks: u8,
    /// Which IP protocols; means nothing for other network layers.
    protocols: u16,
    /// Smallest and largest wire length.
    length: (u32, u32),
    /// The source and destination port, where it must be one.
    ports: [Option<u32>; 2],
}

impl Possible {
    pub(super) const ANY: Possible =
        Possible { networks: 0x1f, protocols: u16::MAX, length: (0, u32::MAX), ports: [None, None] };

    pub(super) fn or(self, other: Possible) -> Possible {
        let same = |i: usize| self.ports[i].filter(|_| self.ports[i] == other.ports[i]);
        Possible {
            networks: self.networks | other.networks,
            protocols: self.protocols | other.protocols,
            length: (self.length.0.min(other.length.0), self.length.1.max(other.length.1)),
            ports: [same(0), same(1)],
        }
    }

    /// `None` if no packet is both.
    pub(super) fn and(self, other: Possible) -> Option<Possible> {
        let mut ports = [None, None];
        for (i, port) in ports.iter_mut().enumerate() {
            if let (Some(a), Some(b)) = (self.ports[i], other.ports[i])
                && a != b
            {
                return None;
            }
            *port = self.ports[i].or(other.ports[i]);
        }
        let both = Possible {
            networks: self.networks & other.networks,
            protocols: self.protocols & other.protocols,
            length: (self.length.0.max(other.length.0), self.length.1.min(other.length.1)),
            ports,
        };
        let only_ip = both.networks & (ARP | RARP | OTHER) == 0;
        let empty = both.networks == 0 || (only_ip && both.protocols == 0) || both.length.0 > both.length.1;
        (!empty).then_some(both)
    }

    /// Whether all that this allows is of these networks and protocols.
    pub(super) fn is_within(self, other: Possible) -> bool {
        let of_ip = self.networks & (IP4 | IP6) != 0;
        self.networks & !other.networks == 0 && (!of_ip || self.protocols & !other.protocols == 0)
    }

    /// What is left where packets do not say what they carry: `ip` and `ip6` look at the same bytes there.
    pub(super) fn length_only(self) -> Possible {
        Possible { length: self.length, ..Possible::ANY }
    }

    pub(super) fn of(ast: &Ast, expr: &Expr) -> Possible {
        match expr {
            Expr::Proto(proto) => Possible::proto(*proto),
            Expr::Id(quals, id) => Possible::id(*quals, Some(id)),
            Expr::In(quals, _) => Possible::id(*quals, None),
            Expr::Less(most) => Possible { length: (0, *most), ..Possible::ANY },
            Expr::Greater(least) => Possible { length: (*least, u32::MAX), ..Possible::ANY },
            Expr::Relation(op, a, b) => match (ast.arith(*a), ast.arith(*b)) {
                (Arith::Len, Arith::Number(n)) => Possible::length(*op, n),
                (Arith::Load { proto, index, size: 1 }, Arith::Number(n)) if *op == RelOp::Eq => {
                    match (proto, ast.arith(index)) {
                        (Proto::Ip, Arith::Number(9)) => Possible::ip(IP4, n),
                        _ => Possible::guards(ast, [*a, *b]),
                    }
                }
                _ => Possible::guards(ast, [*a, *b]),
            },
            Expr::Broadcast(Some(Proto::Ip)) | Expr::Multicast(Some(Proto::Ip)) => Possible::networks(IP4),
            Expr::Multicast(Some(Proto::Ip6)) => Possible::networks(IP6),
            _ => Possible::ANY,
        }
    }

    fn networks(networks: u8) -> Possible {
        Possible { networks, ..Possible::ANY }
    }

    fn ip(networks: u8, number: u32) -> Possible {
        Possible { networks, protocols: bit(number), ..Possible::ANY }
    }

    /// What the guards of a relation ask.
    pub(super) fn guards(ast: &Ast, sides: [ArithId; 2]) -> Possible {
        let mut guards = Possible::ANY;
        for_each_load(ast, sides, |load| {
            if let (true, Some(guard)) = (load.guarded, Possible::guard(load.proto)) {
                // Of guards that exclude each other, as of `tcp[0] = udp[0]`, one is as good as the other.
                guards = guards.and(guard).unwrap_or(guards);
            }
        });
        guards
    }

    /// What `proto[…]` asks before it is read; `None` for the headers that every packet has.
    pub(super) fn guard(proto: Proto) -> Option<Possible> {
        match proto {
            Proto::Link | Proto::Radio => None,
            // COMPAT: transport headers are looked for in IPv4 only.
            Proto::Tcp | Proto::Udp | Proto::Sctp | Proto::Pim => {
                Some(Possible { networks: IP4, ..Possible::proto(proto) })
            }
            proto => Some(Possible::proto(proto)),
        }
    }

    fn proto(proto: Proto) -> Possible {
        match proto {
            Proto::Ip => Possible::networks(IP4),
            Proto::Ip6 => Possible::networks(IP6),
            Proto::Arp => Possible::networks(ARP),
            Proto::Rarp => Possible::networks(RARP),
            Proto::Tcp => Possible::ip(IP4 | IP6, 6),
            Proto::Udp => Possible::ip(IP4 | IP6, 17),
            Proto::Sctp => Possible::ip(IP4 | IP6, 132),
            Proto::Esp => Possible::ip(IP4 | IP6, 50),
            Proto::Ah => Possible::ip(IP4 | IP6, 51),
            Proto::Pim => Possible::ip(IP4 | IP6, 103),
            Proto::Icmp => Possible::ip(IP4, 1),
            Proto::Igmp => Possible::ip(IP4, 2),
            Proto::Igrp => Possible::ip(IP4, 9),
            Proto::Vrrp | Proto::Carp => Possible::ip(IP4, 112),
            Proto::Icmp6 => Possible::ip(IP6, 58),
            Proto::Link | Proto::Radio => Possible::ANY,
            _ => Possible::networks(OTHER),
        }
    }

    /// An identifier, or with `None` a set of them.
    fn id(quals: Quals, id: Option<&Id>) -> Possible {
        match quals.kind {
            Some(Kind::Port | Kind::Portrange) => Possible::port(quals, id),
            Some(Kind::Proto) => Possible::number(quals, id),
            Some(Kind::Protochain | Kind::Gateway) => Possible::ANY,
            None | Some(Kind::Host | Kind::Net) => match (quals.proto, id) {
                (Some(proto), _) => Possible::proto(proto),
                (None, Some(Id::V6(_) | Id::V6Prefix(..))) => Possible::networks(IP6),
                (None, None | Some(Id::Name(_))) => Possible::networks(IP4 | IP6 | ARP | RARP),
                (None, Some(_)) => Possible::networks(IP4 | ARP | RARP),
            },
        }
    }

    fn port(quals: Quals, id: Option<&Id>) -> Possible {
        let protocol = match quals.proto {
            Some(proto) => Possible::proto(proto),
            None => Possible { networks: IP4 | IP6, protocols: bit(6) | bit(17) | bit(132), ..Possible::ANY },
        };
        let number = match (quals.kind, id) {
            (Some(Kind::Port), Some(Id::Number(number))) => Some(*number),
            _ => None,
        };
        let ports = match quals.dir {
            Some(Dir::Src) => [number, None],
            Some(Dir::Dst) => [None, number],
            _ => [None, None],
        };
        Possible { ports, ..protocol }
    }

    /// `proto n`. An IPv6 fragment header (44) may stand in front of any other protocol, so it says nothing.
    fn number(quals: Quals, id: Option<&Id>) -> Possible {
        const FRAGMENT: u32 = 44;
        let networks = match quals.proto {
            None => IP4 | IP6,
            Some(Proto::Ip) => IP4,
            Some(Proto::Ip6) => IP6,
            Some(_) => return Possible::ANY,
        };
        match id {
            Some(Id::Number(number)) if *number != FRAGMENT => Possible::ip(networks, *number),
            // The names that protocols(5) gives to those that the language has words for.
            Some(Id::Name(name)) => match words::word(name) {
                Some(Word::Proto(proto)) => Possible { networks, ..Possible::proto(proto) },
                _ => Possible::networks(networks),
            },
            _ => Possible::networks(networks),
        }
    }

    fn length(op: RelOp, n: u32) -> Possible {
        let length = match op {
            RelOp::Eq => (n, n),
            RelOp::Ne => (0, u32::MAX),
            RelOp::Lt => (0, n.saturating_sub(1)),
            RelOp::Le => (0, n),
            RelOp::Gt => (n.saturating_add(1), u32::MAX),
            RelOp::Ge => (n, u32::MAX),
        };
        Possible { length, ..Possible::ANY }
    }
}

fn bit(protocol: u32) -> u16 {
    1 << PROTOCOLS.iter().position(|known| *known == protocol).unwrap_or(PROTOCOLS.len())
}
