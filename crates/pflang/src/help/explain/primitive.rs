//! The words for each primitive.

use super::depth::Depth;
use super::named::{Named, named};
use super::protocol::name;
use super::relation;
use super::written::Written;
use crate::options::Dialect;
use crate::syntax::ast::*;
use crate::syntax::fmt;
use crate::syntax::range;
use crate::syntax::words::{Word, spelling};

/// Members of a set that are named.
const ITEMS_SHOWN: usize = 8;

fn end(dir: Dir) -> &'static str {
    if dir == Dir::Src { "source" } else { "destination" }
}

pub(super) fn words(ast: &Written<'_>, id: ExprId, primitive: &Expr) -> String {
    let number = |number| ast.number(number);
    match primitive {
        Expr::Id(quals, Id::Name(name)) => by_name(ast, *quals, name),
        Expr::Id(quals, id) => identifier(*quals, &singular(ast, *quals, id)),
        Expr::In(quals, items) => identifier(*quals, &set(ast, *quals, items)),
        Expr::Pairs(set) => {
            let (address, port) = (end(set.address), end(set.port));
            let files: Vec<String> = set.files.iter().map(|(path, _)| format!("`{path}`")).collect();
            format!("the {address} address and the {port} port stand together in {}", files.join(" or "))
        }
        Expr::Proto(proto) => protocol(*proto, ast.dialect),
        Expr::Relation(op, a, b) => relation::words(ast, *op, *a, *b),
        Expr::Broadcast(Some(Proto::Ip)) => "the destination is an IPv4 broadcast address".into(),
        Expr::Broadcast(_) => "the frame is a link-layer broadcast".into(),
        Expr::Multicast(Some(Proto::Ip)) => {
            "the IPv4 destination is 224.0.0.0 or above: multicast, reserved or broadcast".into()
        }
        Expr::Multicast(Some(Proto::Ip6)) => "the IPv6 destination is a multicast address (ff00::/8)".into(),
        Expr::Multicast(_) => "the frame's destination is a group address (multicast or broadcast)".into(),
        Expr::Less(n) => format!("the packet has at most {} bytes", number(*n)),
        Expr::Greater(n) => format!("the packet has at least {} bytes", number(*n)),
        Expr::Byte { index, op, value } => byte(*index, *op, *value, &ast.number(*value)),
        Expr::Inbound => "the packet was received by the machine that captured it".into(),
        Expr::Outbound => "the packet was sent by the machine that captured it".into(),
        Expr::Ifindex(n) => format!("the packet was captured on the interface with index {n}"),
        Expr::VlanIn(ranges) => {
            let (tag, numbers) = (counted("a", "VLAN tag", ast.depth(id)), fmt::numbers(ranges));
            format!("the frame has {tag} with a number among {numbers}")
        }
        Expr::Vlan(tag) => {
            let depth = ast.depth(id);
            let words = tagged(&counted("a", "VLAN tag", depth), "number", tag.map(number));
            let is_sure = depth.is_sure || depth.before == 0;
            if is_sure { words } else { format!("{words}, whether or not it has one in front of that") }
        }
        Expr::Mpls(label) => {
            let depth = ast.depth(id);
            let words = tagged(&counted("an", "MPLS label", depth), "value", label.map(number));
            match depth.is_sure || depth.before == 0 {
                true => words,
                false => format!(
                    "{words}: it is asked only whether a label in front of that would be the last, which packets without labels answer as well"
                ),
            }
        }
        Expr::Pppoed => "the frame is a PPPoE discovery packet".into(),
        Expr::Pppoes(session) => tagged("a PPPoE session header", "session", session.map(number)),
        Expr::Geneve(vni) => tagged("a Geneve header (UDP port 6081)", "network identifier", vni.map(number)),
        Expr::Vxlan(vni) => tagged("a VXLAN header (UDP port 4789)", "network identifier", vni.map(number)),
        Expr::Pf(kind) => pf(kind, &fmt::leaf(primitive)),
        Expr::Wlan(kind) => wlan(*kind, &fmt::leaf(primitive)),
        Expr::Llc(kind) => llc(*kind, &fmt::leaf(primitive)),
        Expr::Atm(kind) => atm(*kind),
        Expr::AtmField(field, op, n) => {
            let name = match field {
                AtmField::Vpi => "ATM virtual path identifier (VPI)",
                AtmField::Vci => "ATM virtual channel identifier (VCI)",
            };
            format!("the {name} {} {}", relation::verb(as_compiled(*op)), number(*n))
        }
        Expr::Mtp2(kind) => mtp2(*kind),
        Expr::Mtp3Field(field, op, n) => mtp3(*field, *op, &number(*n)),
        // Operators have no words of their own.
        Expr::And(..) | Expr::Or(..) | Expr::Not(_) | Expr::Group(_) => String::new(),
    }
}

/// An identifier that is a name: what it stands for, or the name alone.
fn by_name(ast: &Written<'_>, quals: Quals, name: &str) -> String {
    // A range of numbers is read as a name.
    let is_range = quals.kind == Some(Kind::Portrange) && range::numbers(name).is_some();
    let known = if is_range { None } else { named(ast, quals, name) };
    let Some(Named { values, transport }) = known else {
        let words = singular(ast, quals, &Id::Name(name.to_owned()));
        return match (quals.kind, quals.proto) {
            (Some(Kind::Port | Kind::Portrange), None) if !is_range => {
                format!("the {} {words}, over the protocols that have it", port_ends(quals))
            }
            _ => identifier(quals, &words),
        };
    };
    let quals = Quals { proto: quals.proto.or(transport), ..quals };
    let kind = match quals.kind {
        Some(Kind::Net) => "in the network ",
        Some(Kind::Portrange) => "in the range ",
        _ if values.len() > 1 => "one of ",
        _ => "",
    };
    identifier(quals, &format!("{kind}{} (`{name}`)", values.join(", ")))
}

/// `what` with the qualifiers in front of it.
fn identifier(quals: Quals, what: &str) -> String {
    match quals.kind {
        Some(Kind::Port | Kind::Portrange) => port(quals, what),
        Some(Kind::Proto) => match quals.proto {
            None => format!("the IP protocol (IPv4) or next header (IPv6) is {what}"),
            Some(Proto::Ip) => format!("the IPv4 protocol is {what}"),
            Some(Proto::Ip6) => format!("the IPv6 next header is {what}"),
            Some(Proto::Link) => format!("the link-layer protocol (EtherType or LLC address) is {what}"),
            Some(Proto::Iso) => format!("the ISO network-layer protocol is {what}"),
            Some(Proto::Isis) => format!("the IS-IS packet type is {what}"),
            Some(other) => format!("the {} protocol is {what}", name(other)),
        },
        Some(Kind::Protochain) => match quals.proto {
            Some(Proto::Ip) => format!("the chain of IPv4 headers leads to protocol {what}"),
            Some(Proto::Ip6) => format!("the chain of IPv6 headers leads to protocol {what}"),
            _ => format!("the chain of IPv4 or IPv6 headers leads to protocol {what}"),
        },
        Some(Kind::Gateway) => {
            format!("the frame goes to or comes from the gateway {what}, and its IP addresses are others")
        }
        None | Some(Kind::Host | Kind::Net) => {
            let verb = if quals.dir == Some(Dir::SrcAndDst) { "are both" } else { "is" };
            format!("the {} {verb} {what}", address(quals))
        }
    }
}

/// `IPv4 source`, `sender in ARP`, …
fn address(quals: Quals) -> String {
    let arp = matches!(quals.proto, Some(Proto::Arp | Proto::Rarp));
    let dir = match quals.dir {
        Some(Dir::Src) if arp => "sender",
        Some(Dir::Dst) if arp => "target",
        Some(Dir::SrcAndDst) if arp => "sender and target",
        _ if arp => "sender or target",
        Some(Dir::Src) => "source",
        Some(Dir::Dst) => "destination",
        Some(Dir::SrcAndDst) => "source and destination",
        None | Some(Dir::SrcOrDst) => "source or destination",
        Some(Dir::Addr1) => "first 802.11 address",
        Some(Dir::Addr2) => "second 802.11 address",
        Some(Dir::Addr3) => "third 802.11 address",
        Some(Dir::Addr4) => "fourth 802.11 address",
        Some(Dir::Ra) => "802.11 receiver",
        Some(Dir::Ta) => "802.11 transmitter",
    };
    match quals.proto {
        None => dir.to_owned(),
        // Which layer they are of, they say themselves.
        Some(Proto::Link)
            if !matches!(quals.dir, None | Some(Dir::Src | Dir::Dst | Dir::SrcOrDst | Dir::SrcAndDst)) =>
        {
            dir.to_owned()
        }
        Some(Proto::Link) => format!("link-layer {dir}"),
        Some(proto) => format!("{} {dir}", name(proto)),
    }
}

fn port(quals: Quals, what: &str) -> String {
    let ends = port_ends(quals);
    match quals.proto {
        Some(proto) => format!("the {} {ends} {what}", name(proto)),
        None => format!("the TCP, UDP or SCTP {ends} {what}"),
    }
}

fn port_ends(quals: Quals) -> &'static str {
    match quals.dir {
        Some(Dir::Src) => "source port is",
        Some(Dir::Dst) => "destination port is",
        Some(Dir::SrcAndDst) => "source and destination port are both",
        _ => "source or destination port is",
    }
}

/// An identifier as its kind calls it.
fn singular(ast: &Written<'_>, quals: Quals, id: &Id) -> String {
    let short_net = |bits: u8| bits < 32 && !matches!(quals.kind, Some(Kind::Port | Kind::Portrange));
    match (id, quals.kind) {
        (Id::Name(name), Some(Kind::Net)) => format!("in the network `{name}`"),
        (Id::Name(name), None | Some(Kind::Host)) => format!("the host `{name}`"),
        // It may be written the wrong way round.
        (Id::Name(name), Some(Kind::Portrange)) => match range::numbers(name) {
            Some((low, high)) if high < low => format!("in the range {high}-{low}"),
            _ => format!("in the range {name}"),
        },
        (Id::Name(name), _) => format!("`{name}`"),
        (Id::V4 { value, bits }, _) if short_net(*bits) => {
            let [a, b, c, d] = (value << (32 - bits)).to_be_bytes();
            format!("in the network {a}.{b}.{c}.{d}/{bits}")
        }
        (Id::Number(n), None | Some(Kind::Host)) if quals.proto != Some(Proto::Decnet) => {
            format!("{} (the number {})", std::net::Ipv4Addr::from(*n), ast.number(*n))
        }
        (Id::Number(n), Some(Kind::Net)) if quals.proto != Some(Proto::Decnet) => {
            // As in libpcap, the bytes that are there are the first of the network.
            let missing = if *n == 0 { 0 } else { n.leading_zeros() / 8 * 8 };
            format!("in the network {}/{}", std::net::Ipv4Addr::from(n << missing), 32 - missing)
        }
        (Id::V4Prefix { .. } | Id::V4Mask { .. } | Id::V6Prefix(..), _) => format!("in the network {id}"),
        _ => ast.id(id),
    }
}

fn set(ast: &Written<'_>, quals: Quals, items: &[SetItem]) -> String {
    let word = |item: &SetItem| match item {
        SetItem::Id(Id::Name(name), _) => member(ast, quals, name),
        SetItem::Id(id, _) => ast.id(id),
        SetItem::Range(low, high, _) => format!("{low}-{high}"),
        SetItem::Addresses(low, high, _) => format!("{low}-{high}"),
        SetItem::File(path, _) => format!("those in the file {path}"),
    };
    let shown: Vec<String> = items.iter().take(ITEMS_SHOWN).map(word).collect();
    match items.len().checked_sub(ITEMS_SHOWN) {
        Some(more @ 1..) => format!("one of {} and {more} more", shown.join(", ")),
        _ => format!("one of {}", shown.join(", ")),
    }
}

/// A member of a set that is a name.
fn member(ast: &Written<'_>, quals: Quals, name: &str) -> String {
    let is_port = quals.kind == Some(Kind::Port) && quals.proto.is_none();
    match named(ast, quals, name) {
        Some(Named { values, transport: Some(proto) }) if is_port => {
            format!("{} (`{name}`, {} only)", values.join(" or "), super::protocol::name(proto))
        }
        Some(Named { values, .. }) => format!("{} (`{name}`)", values.join(" or ")),
        None if is_port => format!("{name} (over the protocols that have it)"),
        None => name.to_owned(),
    }
}

/// A protocol by itself, with what it is carried in.
fn protocol(proto: Proto, dialect: Dialect) -> String {
    let words = match proto {
        Proto::Tcp | Proto::Udp | Proto::Sctp | Proto::Ah | Proto::Esp | Proto::Pim => {
            return format!("the packet is {} over IPv4 or IPv6", name(proto));
        }
        Proto::Icmp | Proto::Igmp | Proto::Igrp | Proto::Vrrp | Proto::Carp => {
            return format!("the packet is {} over IPv4", name(proto));
        }
        Proto::Icmp6 if !dialect.ipv6 => "the packet is ICMPv6, with no extension header but a fragment's",
        Proto::IsisL1 => "the packet is IS-IS of level 1",
        Proto::IsisL2 => "the packet is IS-IS of level 2",
        Proto::IsisIih => "the packet is an IS-IS hello",
        Proto::IsisLsp => "the packet is an IS-IS link state packet",
        Proto::IsisSnp => "the packet is an IS-IS sequence number packet, partial or complete",
        Proto::IsisPsnp => "the packet is a partial IS-IS sequence number packet",
        Proto::IsisCsnp => "the packet is a complete IS-IS sequence number packet",
        _ => return format!("the packet is {}", name(proto)),
    };
    words.to_owned()
}

/// COMPAT: libpcap loads no byte for `&` and `|` (`byte-and-loads-nothing`).
fn byte(index: u32, op: ByteOp, value: u32, written: &str) -> String {
    let constant = |sign: char, when: &str| {
        format!("`0 {sign} {written}` is not 0, which {when} holds: 0 is in the place of byte {index}")
    };
    let verb = match op {
        ByteOp::Eq => "is",
        ByteOp::Lt => "is less than",
        ByteOp::Gt => "is greater than",
        ByteOp::And => return constant('&', "never"),
        ByteOp::Or => return constant('|', if value == 0 { "never" } else { "always" }),
    };
    format!("byte {index} of the frame {verb} {written}")
}

/// `an MPLS label`, or `a second MPLS label` behind another.
fn counted(article: &str, what: &str, depth: Depth) -> String {
    match depth.before {
        0 => format!("{article} {what}"),
        1 => format!("a second {what}"),
        2 => format!("a third {what}"),
        more => format!("a {}th {what}", more + 1),
    }
}

fn tagged(what: &str, field: &str, number: Option<String>) -> String {
    match number {
        Some(number) => format!("the packet has {what} with {field} {number}"),
        None => format!("the packet has {what}"),
    }
}

/// The second word of a canonical text such as `reason match`.
fn argument(text: &str) -> &str {
    text.split_once(' ').map_or("", |(_, argument)| argument)
}

fn pf(kind: &Pf, text: &str) -> String {
    let argument = argument(text);
    match kind {
        // COMPAT: without the zero at their end.
        Pf::Ifname(_) => format!("pf logged it on an interface whose name begins with {argument}"),
        Pf::Ruleset(_) => format!("a rule of a ruleset of pf's whose name begins with {argument} matched"),
        Pf::Rulenum(_) => format!("pf's rule {argument} matched"),
        Pf::Subrulenum(_) => format!("rule {argument} of a ruleset of pf's matched"),
        Pf::Reason(_) => format!("pf's reason was `{argument}`"),
        Pf::Action(_) => format!("pf's action was `{argument}`"),
    }
}

fn wlan(kind: Wlan, text: &str) -> String {
    let argument = argument(text);
    match kind {
        Wlan::Type(_) => format!("the 802.11 frame type is {argument}"),
        Wlan::Subtype(_) => {
            format!("the 802.11 frame type is {}", argument.replace(" subtype ", ", subtype "))
        }
        Wlan::Dir(0) => "the 802.11 frame goes between stations (nods)".into(),
        Wlan::Dir(1) => "the 802.11 frame goes to an access point (tods)".into(),
        Wlan::Dir(2) => "the 802.11 frame comes from an access point (fromds)".into(),
        Wlan::Dir(3) => "the 802.11 frame goes between access points (dstods)".into(),
        Wlan::Dir(n) => format!("the 802.11 direction is {n}, which no frame has"),
    }
}

fn llc(kind: Llc, text: &str) -> String {
    match kind {
        Llc::Any => "the frame has an 802.2 LLC header".into(),
        Llc::Information => "the frame is an LLC information frame".into(),
        Llc::Supervisory => "the frame is an LLC supervisory frame (RR, RNR or REJ)".into(),
        Llc::Unnumbered => "the frame is an LLC unnumbered frame".into(),
        Llc::SupervisorySub(_) | Llc::UnnumberedSub(_) => {
            format!("the frame is an LLC {} frame", argument(text).to_ascii_uppercase())
        }
    }
}

fn atm(kind: AtmType) -> String {
    let words = match kind {
        AtmType::Lane => "an ATM LAN emulation packet",
        AtmType::Metac => "on the ATM meta-signalling circuit",
        AtmType::Bcc => "on the ATM broadcast signalling circuit",
        AtmType::Oamf4ec => "on the ATM end-to-end OAM F4 circuit",
        AtmType::Oamf4sc => "on the ATM segment OAM F4 circuit",
        AtmType::Sc => "on the ATM signalling circuit",
        AtmType::Ilmic => "on the ATM ILMI circuit",
        AtmType::Oam | AtmType::Oamf4 => "on an ATM OAM F4 circuit",
        AtmType::Connectmsg => "an ATM connection message on the signalling circuit",
        AtmType::Metaconnect => "an ATM connection message on the meta-signalling circuit",
    };
    format!("the packet is {words}")
}

fn mtp2(kind: Mtp2Type) -> String {
    let words = match kind {
        Mtp2Type::Fisu => "a fill-in signal unit",
        Mtp2Type::Lssu => "a link status signal unit",
        Mtp2Type::Msu => "a message signal unit",
        Mtp2Type::Hfisu => "a high-speed fill-in signal unit",
        Mtp2Type::Hlssu => "a high-speed link status signal unit",
        Mtp2Type::Hmsu => "a high-speed message signal unit",
    };
    format!("the packet is {words}")
}

fn mtp3(field: Mtp3Field, op: RelOp, n: &str) -> String {
    let name = match field {
        Mtp3Field::Sio | Mtp3Field::Hsio => "service information octet",
        Mtp3Field::Opc | Mtp3Field::Hopc => "originating point code",
        Mtp3Field::Dpc | Mtp3Field::Hdpc => "destination point code",
        Mtp3Field::Sls | Mtp3Field::Hsls => "signalling link selection",
    };
    format!("the SS7 {name} (`{}`) {} {n}", spelling(Word::Mtp3(field)), relation::verb(as_compiled(op)))
}

/// The meaning of a comparison of ATM and SS7 fields: libpcap takes `!=` for `=`, of which [`Code::NotEqualIsEqual`](crate::Code::NotEqualIsEqual) warns.
fn as_compiled(op: RelOp) -> RelOp {
    if op == RelOp::Ne { RelOp::Eq } else { op }
}
