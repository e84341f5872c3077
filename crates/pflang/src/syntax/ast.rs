//! The syntax tree: an arena, so that depth costs no stack.
//!
//! INVARIANT: a child has a smaller id than its parent, and ids ascend in the order in which an LALR parser
//! of pcap-filter(7) would reduce (left to right, operands first). Lowering relies on it: encapsulation
//! words (`vlan`, `mpls`, …) shift the offsets of everything *later in that order*.

use crate::Span;
pub use crate::ir::BinOp as ArithOp;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Index of an [`Expr`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExprId(pub u32);

/// Index of an [`Arith`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ArithId(pub u32);

/// A whole filter. An empty text has no root and accepts every packet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ast {
    /// Boolean expressions, operands before operators.
    pub exprs: Vec<Expr>,
    /// The source of each expression.
    pub expr_spans: Vec<Span>,
    /// Arithmetic expressions, operands before operators.
    pub ariths: Vec<Arith>,
    /// The source of each arithmetic expression.
    pub arith_spans: Vec<Span>,
    /// The whole filter; `None` for an empty one.
    pub root: Option<ExprId>,
    /// The names of the numbers that the caller gives with each packet, in the order of their row.
    pub inputs: Vec<String>,
    /// Primitives, identifiers and members of sets, with those that stand before the filter in a list.
    pub terms: usize,
}

/// A boolean expression.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Expr {
    /// Both hold.
    And(ExprId, ExprId),
    /// At least one holds.
    Or(ExprId, ExprId),
    /// It does not hold.
    Not(ExprId),
    /// A parenthesised expression: kept because the `scoped` dialect ends an encapsulation here.
    Group(ExprId),
    /// `[quals] id`: a host, net, port, protocol … by name or number, with its qualifiers filled in from
    /// the left where the text repeats none (`host a or b`).
    Id(Quals, Id),
    /// Extension: `[quals] in { … }`. An empty set is an error of the parser.
    In(Quals, Vec<SetItem>),
    /// Extension: `(src, dport) in {@file}`.
    Pairs(PairSet),
    /// A protocol name alone: `tcp`.
    Proto(Proto),
    /// `a op b`.
    Relation(RelOp, ArithId, ArithId),
    /// `[proto] broadcast`.
    Broadcast(Option<Proto>),
    /// `[proto] multicast`.
    Multicast(Option<Proto>),
    /// `less n`: wire length <= n.
    Less(u32),
    /// `greater n`: wire length >= n.
    Greater(u32),
    /// `byte index op value`; the index counts from the start of the link-layer header.
    Byte {
        index: u32,
        op: ByteOp,
        value: u32,
    },
    Inbound,
    Outbound,
    /// `ifindex n`.
    Ifindex(u32),
    /// `vlan [id]`.
    Vlan(Option<u32>),
    /// Extension: `vlan in { … }`: inclusive ranges of ids.
    VlanIn(Vec<(u32, u32)>),
    /// `mpls [label]`.
    Mpls(Option<u32>),
    Pppoed,
    /// `pppoes [session]`.
    Pppoes(Option<u32>),
    /// `geneve [vni]`.
    Geneve(Option<u32>),
    /// Extension: `vxlan [vni]`.
    Vxlan(Option<u32>),
    /// The pf(4) primitives.
    Pf(Pf),
    /// The 802.11 frame-control primitives.
    Wlan(Wlan),
    /// `llc [type]`.
    Llc(Llc),
    /// ATM signalling and OAM words: `lane`, `oam`, …
    Atm(AtmType),
    /// `vpi`/`vci` compared with a number.
    AtmField(AtmField, RelOp, u32),
    /// SS7 signal unit words: `fisu`, `hmsu`, …
    Mtp2(Mtp2Type),
    /// `sio`, `opc`, `dpc`, `sls` and the `h…` forms compared with a number.
    Mtp3Field(Mtp3Field, RelOp, u32),
}

/// An address and a port that stand together in lists.
#[derive(Clone, Debug, PartialEq)]
pub struct PairSet {
    /// Whose address: `Src` or `Dst`.
    pub address: Dir,
    /// Whose port.
    pub port: Dir,
    /// The lists, each with where it is named.
    pub files: Vec<(String, Span)>,
}

/// The three kinds of qualifier before an identifier. `None` is the grammar's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Quals {
    /// `tcp`, `ip6`, `ether`, …
    pub proto: Option<Proto>,
    /// `src`, `dst`, …
    pub dir: Option<Dir>,
    /// `host`, `port`, …
    pub kind: Option<Kind>,
}

/// What an identifier names, by the word for it; a host unless another is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[rustfmt::skip]
#[allow(missing_docs)]
pub enum Kind { Host, Net, Port, Portrange, Proto, Protochain, Gateway }

/// Direction of transfer, by the words for it; `src or dst` unless another is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[rustfmt::skip]
#[allow(missing_docs)]
pub enum Dir {
    Src, Dst, SrcOrDst, SrcAndDst,
    // Of 802.11; the last two are the receiver and the transmitter.
    Addr1, Addr2, Addr3, Addr4, Ra, Ta,
}

/// A protocol name that the grammar knows as a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[rustfmt::skip]
#[allow(missing_docs)]
pub enum Proto {
    /// `link`, `ether`, `fddi`, `tr`, `wlan`, `ppp`, `slip`: all the same to the grammar.
    Link,
    Ip, Ip6, Arp, Rarp, Tcp, Udp, Sctp, Icmp, Icmp6, Igmp, Igrp, Pim, Vrrp, Carp, Ah, Esp,
    Atalk, Aarp, Decnet, Lat, Sca, Moprc, Mopdl,
    Iso, Esis, Isis, Clnp, IsisL1, IsisL2, IsisIih, IsisLsp, IsisSnp, IsisPsnp, IsisCsnp,
    Stp, Ipx, Netbeui, Radio,
}

/// An identifier as written.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Id {
    /// A name, without the escaping backslash.
    Name(String),
    /// A bare number.
    Number(u32),
    /// Two to four dotted decimal parts (libpcap's HID), as written, most significant first, with 8 bits for each part in the low bits:
    /// `10.1` is `{ value: 0x0a01, bits: 16 }`. (One part alone is a number.)
    V4 { value: u32, bits: u8 },
    /// `area.node` after `decnet`: six bits of area above ten of node, masked as libpcap masks them.
    Decnet(u16),
    /// `addr/len`: as [`Id::V4`], with the length as written, which may be out of range.
    V4Prefix { value: u32, bits: u8, len: u32 },
    /// `addr mask addr`: both as [`Id::V4`].
    V4Mask { value: u32, bits: u8, mask: u32, mask_bits: u8 },
    /// An IPv6 address.
    V6(Ipv6Addr),
    /// An IPv6 prefix, the length as written.
    V6Prefix(Ipv6Addr, u32),
    /// An Ethernet address.
    Mac([u8; 6]),
    /// `$n`, an ARCnet address: the byte that is compared with.
    ///
    /// COMPAT: libpcap reads the dollar sign as a hexadecimal digit of its own and drops the second digit, so
    /// that `$1f` is 0xd1 (`arcnet-addresses-of-one-digit-are-read-with-the-dollar`).
    Arcnet(u8),
}

/// A member of a set (extension).
#[derive(Clone, Debug, PartialEq)]
pub enum SetItem {
    /// One identifier, with its own span.
    Id(Id, Span),
    /// `lo-hi`: ports.
    Range(u32, u32, Span),
    /// `lo-hi`: IPv4 addresses.
    Addresses(Ipv4Addr, Ipv4Addr, Span),
    /// `@file`: read through the injected resolver, never by the compiler itself.
    File(String, Span),
}

impl SetItem {
    /// Where it stands.
    pub fn span(&self) -> Span {
        let (SetItem::Id(_, span)
        | SetItem::Range(_, _, span)
        | SetItem::Addresses(_, _, span)
        | SetItem::File(_, span)) = self;
        *span
    }
}

/// Comparison of two numbers (unsigned).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[rustfmt::skip]
#[allow(missing_docs)]
pub enum RelOp { Eq, Ne, Lt, Le, Gt, Ge }

/// Operator of `byte`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[rustfmt::skip]
#[allow(missing_docs)]
pub enum ByteOp { Eq, Lt, Gt, And, Or }

/// An arithmetic expression over 32-bit unsigned numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Arith {
    /// A number or a named constant.
    Number(u32),
    /// `len`: the wire length.
    Len,
    /// Extension: a number that the caller gives with each packet, by its place in the row.
    Input(u32),
    /// `proto[index:size]`: so many bytes of a header from this byte on. The parser takes any number, lowering accepts 1, 2 and 4.
    Load { proto: Proto, index: ArithId, size: u32 },
    /// Extension: `&proto[index:size]`, the offset of that field from the start of the frame.
    AddressOf { proto: Proto, index: ArithId, size: u32 },
    /// `-a`.
    Neg(ArithId),
    /// `a op b`.
    Op(ArithOp, ArithId, ArithId),
}

/// Primitives over a pf(4) log header.
#[derive(Clone, Debug, PartialEq)]
pub enum Pf {
    /// `on`/`ifname name`.
    Ifname(String),
    /// `rset`/`ruleset name`.
    Ruleset(String),
    /// `rnr`/`rulenum n`.
    Rulenum(u32),
    /// `srnr`/`subrulenum n`.
    Subrulenum(u32),
    /// `reason code`: the number that the name stands for.
    Reason(u32),
    /// `action code`: the number that the name stands for.
    Action(u32),
}

/// Tests of the 802.11 frame control field. Type and subtype are in their places in the first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wlan {
    /// `type t`.
    Type(u8),
    /// `type t subtype s` and `subtype s`: both, or-ed together.
    Subtype(u8),
    /// `dir d`, as written; only 0 to 3 can match.
    Dir(u32),
}

/// 802.2 LLC frame types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Llc {
    /// `llc`: any.
    Any,
    /// `llc i`.
    Information,
    /// `llc s`.
    Supervisory,
    /// `llc u`.
    Unnumbered,
    /// `llc rr|rnr|rej`: control-field bits.
    SupervisorySub(u8),
    /// `llc ui|ua|…`: control-field bits.
    UnnumberedSub(u8),
}

/// ATM words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[rustfmt::skip]
#[allow(missing_docs)]
pub enum AtmType { Lane, Metac, Bcc, Oamf4ec, Oamf4sc, Sc, Ilmic, Oam, Oamf4, Connectmsg, Metaconnect }

/// ATM numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum AtmField {
    Vpi,
    Vci,
}

/// MTP2 signal units; `H…` are the high-speed forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[rustfmt::skip]
#[allow(missing_docs)]
pub enum Mtp2Type { Fisu, Lssu, Msu, Hfisu, Hlssu, Hmsu }

/// MTP3 fields; `H…` are the high-speed forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[rustfmt::skip]
#[allow(missing_docs)]
pub enum Mtp3Field { Sio, Opc, Dpc, Sls, Hsio, Hopc, Hdpc, Hsls }

impl Ast {
    /// Adds an expression.
    pub fn push(&mut self, expr: Expr, span: Span) -> ExprId {
        self.exprs.push(expr);
        self.expr_spans.push(span);
        ExprId(self.exprs.len() as u32 - 1)
    }

    /// Adds an arithmetic expression.
    pub fn push_arith(&mut self, arith: Arith, span: Span) -> ArithId {
        self.ariths.push(arith);
        self.arith_spans.push(span);
        ArithId(self.ariths.len() as u32 - 1)
    }

    /// The expression.
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.0 as usize]
    }

    /// Where it stands.
    pub fn span(&self, id: ExprId) -> Span {
        self.expr_spans[id.0 as usize]
    }

    /// The operands of an operator or a parenthesis, in order; none of a primitive.
    pub fn operands(&self, id: ExprId) -> impl DoubleEndedIterator<Item = ExprId> + use<> {
        let operands = match *self.expr(id) {
            Expr::And(a, b) | Expr::Or(a, b) => [Some(a), Some(b)],
            Expr::Not(a) | Expr::Group(a) => [Some(a), None],
            _ => [None; 2],
        };
        operands.into_iter().flatten()
    }

    /// The operands of a chain of `and`, or of `or`, in the order of the text; anything else is a chain of itself.
    pub fn chain(&self, mut id: ExprId) -> Vec<ExprId> {
        let is_or = matches!(self.expr(id), Expr::Or(..));
        let mut operands = Vec::new();
        while let Expr::And(left, right) | Expr::Or(left, right) = *self.expr(id)
            && is_or == matches!(self.expr(id), Expr::Or(..))
        {
            operands.push(right);
            id = left;
        }
        operands.push(id);
        operands.reverse();
        operands
    }

    /// The arithmetic expression.
    pub fn arith(&self, id: ArithId) -> Arith {
        self.ariths[id.0 as usize]
    }

    /// The operands of an arithmetic expression, in order.
    pub fn arith_operands(&self, id: ArithId) -> impl DoubleEndedIterator<Item = ArithId> + use<> {
        let operands = match self.arith(id) {
            Arith::Number(_) | Arith::Len | Arith::Input(_) => [None; 2],
            Arith::Load { index: a, .. } | Arith::AddressOf { index: a, .. } | Arith::Neg(a) => {
                [Some(a), None]
            }
            Arith::Op(_, a, b) => [Some(a), Some(b)],
        };
        operands.into_iter().flatten()
    }
}
