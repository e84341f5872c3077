//! What every packet must be like that a part of a filter accepts, and what those that it does not.
//!
//! An over-approximation: `or` unites, `and` intersects, `not` exchanges the two.

use crate::lower::for_each_load;
use crate::syntax::ast::{Arith, ArithId, ArithOp, Ast, Dir, Expr, Id, Kind, Proto, Quals, RelOp};
use crate::syntax::words::{self, Word};
use wire::LinkType;

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
    /// Whether it has a transport header: no fragment of IPv4 but the first.
    pub(super) starts: bool,
}

/// What the packets are like that a part accepts, and those that it does not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outcomes {
    pub(super) accepted: Possible,
    pub(super) refused: Possible,
}

impl Outcomes {
    pub(super) const ANY: Outcomes = Outcomes { accepted: Possible::ANY, refused: Possible::ANY };

    /// `linktype` is where `ether[…]` looks, if the primitive looks at the outer headers.
    pub(super) fn of(ast: &Ast, expr: &Expr, linktype: Option<LinkType>) -> Outcomes {
        let accepted = Possible::of(ast, expr, linktype);
        let tells_networks = match expr {
            Expr::Proto(Proto::Ip | Proto::Ip6 | Proto::Arp | Proto::Rarp) => true,
            Expr::Id(quals, Id::Number(_)) => {
                (quals.proto, quals.kind) == (Some(Proto::Link), Some(Kind::Proto))
            }
            _ => false,
        };
        let refused = match tells_networks {
            true if accepted != Possible::ANY => {
                Possible::networks(Possible::ANY.networks & !accepted.networks)
            }
            _ => Possible::ANY,
        };
        Outcomes { accepted, refused }
    }

    pub(super) fn not(self) -> Outcomes {
        Outcomes { accepted: self.refused, refused: self.accepted }
    }
}

impl Possible {
    pub(super) const ANY: Possible = Possible {
        networks: 0x1f,
        protocols: u16::MAX,
        length: (0, u32::MAX),
        ports: [None, None],
        starts: false,
    };

    /// What the link type alone tells.
    pub(super) fn on(linktype: LinkType) -> Possible {
        match linktype {
            LinkType::IPV4 => Possible::networks(IP4),
            LinkType::IPV6 => Possible::networks(IP6),
            _ => Possible::ANY,
        }
    }

    pub(super) fn or(self, other: Possible) -> Possible {
        let same = |i: usize| self.ports[i].filter(|_| self.ports[i] == other.ports[i]);
        Possible {
            networks: self.networks | other.networks,
            protocols: self.protocols | other.protocols,
            length: (self.length.0.min(other.length.0), self.length.1.max(other.length.1)),
            ports: [same(0), same(1)],
            starts: self.starts && other.starts,
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
            starts: self.starts || other.starts,
        };
        let only_ip = both.networks & (ARP | RARP | OTHER) == 0;
        let empty = both.networks == 0 || (only_ip && both.protocols == 0) || both.length.0 > both.length.1;
        (!empty).then_some(both)
    }

    /// Whether all that this allows is of these networks.
    pub(super) fn has_networks_of(self, other: Possible) -> bool {
        self.networks & !other.networks == 0
    }

    /// Whether all that this allows is of these IP protocols.
    pub(super) fn has_protocols_of(self, other: Possible) -> bool {
        self.protocols & !other.protocols == 0
    }

    /// Whether all that this allows is IPv6.
    pub(super) fn is_ip6(self) -> bool {
        self.networks == IP6
    }

    /// Whether all that this allows is IP of either version.
    pub(super) fn is_ip(self) -> bool {
        self.networks & !(IP4 | IP6) == 0
    }

    /// What is left where packets do not say what they carry: `ip` and `ip6` look at the same bytes there.
    pub(super) fn length_only(self) -> Possible {
        Possible { length: self.length, ..Possible::ANY }
    }

    fn of(ast: &Ast, expr: &Expr, linktype: Option<LinkType>) -> Possible {
        match expr {
            Expr::Proto(proto) => Possible::proto(*proto),
            Expr::Id(quals, id) => Possible::id(*quals, Some(id)),
            Expr::In(quals, _) => Possible::id(*quals, None),
            Expr::Less(most) => Possible { length: (0, *most), ..Possible::ANY },
            Expr::Greater(least) => Possible { length: (*least, u32::MAX), ..Possible::ANY },
            Expr::Relation(op, a, b) => {
                let guards = Possible::guards(ast, [*a, *b]);
                let told = match (ast.arith(*a), ast.arith(*b)) {
                    (Arith::Number(n), _) => Possible::relation(ast, op.mirrored(), *b, n, linktype),
                    (_, Arith::Number(n)) => Possible::relation(ast, *op, *a, n, linktype),
                    _ => Possible::ANY,
                };
                guards.and(told).unwrap_or(guards)
            }
            Expr::Broadcast(Some(Proto::Ip)) | Expr::Multicast(Some(Proto::Ip)) => Possible::networks(IP4),
            Expr::Multicast(Some(Proto::Ip6)) => Possible::networks(IP6),
            _ => Possible::ANY,
        }
    }

    /// `field op n`, for the fields that tell something.
    fn relation(ast: &Ast, op: RelOp, field: ArithId, n: u32, linktype: Option<LinkType>) -> Possible {
        const FRAGMENT_OFFSET: u32 = 0x1fff;
        // `ip[6:2]` as (Proto::Ip, 6, 2).
        let load = |id| match ast.arith(id) {
            Arith::Load { proto, index, size } => match ast.arith(index) {
                Arith::Number(at) => Some((proto, at, size)),
                _ => None,
            },
            _ => None,
        };
        match (ast.arith(field), op) {
            (Arith::Len, _) => Possible::length(op, n),
            (Arith::Load { .. }, RelOp::Eq) => match load(field) {
                Some((Proto::Ip, 9, 1)) => Possible::ip(IP4, n),
                Some((Proto::Link, 12, 2)) if linktype == Some(LinkType::EN10MB) => Possible::ethertype(n),
                _ => Possible::ANY,
            },
            (Arith::Op(ArithOp::And, word, mask), RelOp::Eq)
                if (load(word), ast.arith(mask), n)
                    == (Some((Proto::Ip, 6, 2)), Arith::Number(FRAGMENT_OFFSET), 0) =>
            {
                Possible { starts: true, ..Possible::ANY }
            }
            _ => Possible::ANY,
        }
    }

    /// Of the types that are told apart.
    fn ethertype(ethertype: u32) -> Possible {
        match ethertype {
            0x0800 => Possible::networks(IP4),
            0x86dd => Possible::networks(IP6),
            0x0806 => Possible::networks(ARP),
            0x8035 => Possible::networks(RARP),
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
                Some(Possible { networks: IP4, starts: true, ..Possible::proto(proto) })
            }
            Proto::Icmp | Proto::Igmp | Proto::Igrp | Proto::Vrrp | Proto::Carp => {
                Some(Possible { starts: true, ..Possible::proto(proto) })
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
            // The chain may lead to it past other headers.
            Some(Kind::Protochain) => match quals.proto {
                Some(proto @ (Proto::Ip | Proto::Ip6)) => Possible::proto(proto),
                _ => Possible::ANY,
            },
            Some(Kind::Gateway) => Possible::ANY,
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
        Possible { ports, starts: true, ..protocol }
    }

    /// `proto n`. An IPv6 fragment header (44) may stand in front of any other protocol, so it says nothing.
    fn number(quals: Quals, id: Option<&Id>) -> Possible {
        const FRAGMENT: u32 = 44;
        let networks = match quals.proto {
            Some(Proto::Link) => return Possible::ethertype_of(id),
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

    /// `ether proto n`, `ether proto \ip`.
    fn ethertype_of(id: Option<&Id>) -> Possible {
        match id {
            Some(Id::Number(number)) => Possible::ethertype(*number),
            Some(Id::Name(name)) => match words::word(name) {
                Some(Word::Proto(proto @ (Proto::Ip | Proto::Ip6 | Proto::Arp | Proto::Rarp))) => {
                    Possible::proto(proto)
                }
                _ => Possible::ANY,
            },
            _ => Possible::ANY,
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
