//! The words for comparisons: header fields by their names, flags one by one, numbers as text where they are text.

use super::protocol::name;
use super::written::Written;
use crate::help::lint::guards::Lost;
use crate::syntax::ast::{Arith, ArithId, ArithOp, Ast, Proto, RelOp};
use crate::syntax::fmt;

/// Bytes of an expression that are shown.
const TEXT_MAX: usize = 160;
/// Fields that are explained within one expression.
const FIELDS_MAX: usize = 4;

/// Names of expressions in canonical form (RFC 791, 792, 793, 768, 826, 8200, 4443, IEEE 802.3).
#[rustfmt::skip]
static FIELDS: &[(&str, &str)] = &[
    ("ip[0] >> 4", "the IP version"), ("(ip[0] & 240) >> 4", "the IP version"),
    ("ip[0] & 15", "the length of the IPv4 header in 32-bit words"),
    ("(ip[0] & 15) << 2", "the length of the IPv4 header"), ("ip[0]", "the IPv4 version and header length"),
    ("ip[1]", "the IPv4 type of service"), ("ip[1] & 252", "the IPv4 DSCP (in place)"), ("ip[1] >> 2", "the IPv4 DSCP"),
    ("ip[1] & 3", "the IPv4 ECN bits"), ("ip[2:2]", "the IPv4 total length"), ("ip[4:2]", "the IPv4 identification"),
    ("ip[6]", "the IPv4 flags and high fragment offset bits"), ("ip[6:2]", "the IPv4 flags and fragment offset"),
    ("ip[6] & 32", "the IPv4 more-fragments bit"), ("ip[6] & 64", "the IPv4 don't-fragment bit"),
    ("ip[6:2] & 8191", "the IPv4 fragment offset"), ("ip[6:2] & 16383", "the IPv4 more-fragments bit and fragment offset"),
    ("ip[8]", "the IPv4 time to live"), ("ip[9]", "the IPv4 protocol"),
    ("ip[10:2]", "the IPv4 header checksum"), ("ip[12:4]", "the IPv4 source address"),
    ("ip[16:4]", "the IPv4 destination address"), ("ip[16]", "the first byte of the IPv4 destination address"),
    ("ip6[4:2]", "the IPv6 payload length"), ("ip6[6]", "the IPv6 next header"), ("ip6[7]", "the IPv6 hop limit"),
    ("ip6[0] >> 4", "the IP version"),
    ("tcp[0:2]", "the TCP source port"), ("tcp[2:2]", "the TCP destination port"),
    ("tcp[4:4]", "the TCP sequence number"), ("tcp[8:4]", "the TCP acknowledgement number"),
    ("tcp[12] >> 4", "the length of the TCP header in 32-bit words"),
    ("(tcp[12] & 240) >> 2", "the length of the TCP header"), ("tcp[13]", "the TCP flags byte"),
    ("tcp[14:2]", "the TCP window"),
    ("(ip[2:2] - ((ip[0] & 15) << 2)) - ((tcp[12] & 240) >> 2)", "the length of the TCP payload"),
    ("tcp[(tcp[12] & 240) >> 2]", "the first byte of the TCP payload"),
    ("tcp[(tcp[12] & 240) >> 2:2]", "the first two bytes of the TCP payload"),
    ("tcp[(tcp[12] & 240) >> 2:4]", "the first four bytes of the TCP payload"),
    ("udp[0:2]", "the UDP source port"), ("udp[2:2]", "the UDP destination port"), ("udp[4:2]", "the UDP length"),
    ("udp[8]", "the first byte of the UDP payload"),
    ("udp[8:2]", "the first two bytes of the UDP payload"), ("udp[8:4]", "the first four bytes of the UDP payload"),
    ("icmp[0]", "the ICMP type"), ("icmp[1]", "the ICMP code"), ("icmp[4:2]", "the ICMP identifier"),
    ("icmp[6:2]", "the ICMP sequence number"), ("icmp6[0]", "the ICMPv6 type"), ("icmp6[1]", "the ICMPv6 code"),
    ("arp[6:2]", "the ARP operation"), ("arp[14:4]", "the ARP sender's IPv4 address"),
    ("arp[24:4]", "the ARP target's IPv4 address"),
    ("ether[0] & 1", "the group bit of the Ethernet destination"), ("ether[12:2]", "the EtherType or length"),
];

/// TCP flags, lowest bit first.
const FLAGS: [&str; 8] = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];

/// Where the TCP flags are.
const TCP_FLAGS: u32 = 13;

/// ICMP types people ask for.
#[rustfmt::skip]
static ICMP_TYPES: &[(u32, &str)] = &[
    (0, "echo reply"), (3, "destination unreachable"), (5, "redirect"), (8, "echo request"),
    (11, "time exceeded"), (12, "parameter problem"),
];

/// ICMPv6 types people ask for.
#[rustfmt::skip]
static ICMP6_TYPES: &[(u32, &str)] = &[
    (1, "destination unreachable"), (2, "packet too big"), (3, "time exceeded"), (128, "echo request"),
    (129, "echo reply"), (133, "router solicitation"), (134, "router advertisement"),
    (135, "neighbour solicitation"), (136, "neighbour advertisement"),
];

/// `a op b` in words.
pub(super) fn words(ast: &Written<'_>, op: RelOp, a: ArithId, b: ArithId) -> String {
    if let Arith::Number(number) = ast.arith(b)
        && let Some(words) = flags(ast, op, a, number)
    {
        return words;
    }
    let right = match ast.arith(b) {
        Arith::Number(number) => constant(ast, a, number),
        _ => value(ast, b),
    };
    format!("{} {} {right}", value(ast, a), verb(op))
}

/// A comparison as a verb.
pub(super) fn verb(op: RelOp) -> &'static str {
    match op {
        RelOp::Eq => "is",
        RelOp::Ne => "is not",
        RelOp::Lt => "is less than",
        RelOp::Le => "is at most",
        RelOp::Gt => "is greater than",
        RelOp::Ge => "is at least",
    }
}

/// `tcp[13] op n` and `tcp[13] & mask op n`, for the forms that mean something.
fn flags(ast: &Ast, op: RelOp, a: ArithId, number: u32) -> Option<String> {
    let is_flags = |id: ArithId| match ast.arith(id) {
        Arith::Load { proto: Proto::Tcp, index, size: 1 } => ast.arith(index) == Arith::Number(TCP_FLAGS),
        _ => false,
    };
    let mask = match ast.arith(a) {
        Arith::Op(ArithOp::And, left, right) if is_flags(left) => Some(constant_bits(ast, right)?),
        _ if is_flags(a) => None,
        _ => return None,
    };
    let exactly = |number: u32| match number {
        0 => "none".to_owned(),
        some => names(some),
    };
    Some(match (mask, op, number) {
        (None, RelOp::Eq, number @ 0..=255) => format!("the TCP flags set are exactly {}", exactly(number)),
        (None, RelOp::Ne, 0) => "at least one TCP flag is set".to_owned(),
        (Some(mask), RelOp::Ne, 0) if mask.count_ones() == 1 => {
            format!("the TCP flag {} is set", names(mask))
        }
        (Some(mask), RelOp::Eq, 0) if mask.count_ones() == 1 => {
            format!("the TCP flag {} is not set", names(mask))
        }
        (Some(mask), RelOp::Ne, 0) => format!("at least one of the TCP flags {} is set", names(mask)),
        (Some(mask), RelOp::Eq, number) if number == mask && mask.count_ones() == 1 => {
            format!("the TCP flag {} is set", names(mask))
        }
        (Some(mask), RelOp::Eq, number) if number & !mask == 0 => {
            format!("of the TCP flags {} exactly these are set: {}", names(mask), exactly(number))
        }
        _ => return None,
    })
}

/// The names of flags.
fn names(bits: u32) -> String {
    let names: Vec<&str> = (0..8).filter(|bit| bits >> bit & 1 == 1).map(|bit| FLAGS[bit as usize]).collect();
    names.join(", ")
}

/// A mask of flags: a number, or numbers joined by `|`, as in `tcp-syn|tcp-fin`.
fn constant_bits(ast: &Ast, id: ArithId) -> Option<u32> {
    let mut bits = 0;
    let mut work = vec![id];
    while let Some(id) = work.pop() {
        match ast.arith(id) {
            Arith::Number(number @ 1..=255) => bits |= number,
            Arith::Op(ArithOp::Or, a, b) => work.extend([a, b]),
            _ => return None,
        }
    }
    Some(bits)
}

/// A number that `with` is compared to: with its name or text, where it has one.
fn constant(ast: &Written<'_>, with: ArithId, number: u32) -> String {
    let Arith::Load { proto, index, size } = ast.arith(with) else { return ast.number(number) };
    let at = ast.arith(index);
    let types = match (proto, at) {
        (Proto::Icmp, Arith::Number(0)) => ICMP_TYPES,
        (Proto::Icmp6, Arith::Number(0)) => ICMP6_TYPES,
        _ => &[],
    };
    if let Some((_, name)) = types.iter().find(|(value, _)| *value == number) {
        return format!("{} ({name})", ast.number(number));
    }
    let is_address = matches!(
        (proto, at),
        (Proto::Ip, Arith::Number(12 | 16)) | (Proto::Arp | Proto::Rarp, Arith::Number(14 | 24))
    );
    if is_address && size == 4 {
        return format!("{} ({})", std::net::Ipv4Addr::from(number), ast.number(number));
    }
    let bytes = number.to_be_bytes();
    let used = &bytes[bytes.len().saturating_sub(size as usize)..];
    let is_payload = !matches!(at, Arith::Number(_)) || (proto == Proto::Udp && at == Arith::Number(8));
    if is_payload && used.len() > 1 && used.iter().all(|b| (b' '..=b'~').contains(b)) {
        return format!("\"{}\" ({number:#x})", used.iter().map(|b| char::from(*b)).collect::<String>());
    }
    ast.number(number)
}

/// One side of a comparison.
fn value(ast: &Written<'_>, id: ArithId) -> String {
    match ast.arith(id) {
        Arith::Number(number) => return ast.number(number),
        Arith::Len => return "the length of the packet".to_owned(),
        Arith::Input(_) => return format!("the input `{}`", fmt::arith(ast, id)),
        _ => {}
    }
    let text = fmt::arith(ast, id);
    if let Some(field) = field(ast, id, &text) {
        return field.to_owned();
    }
    if let Arith::Load { proto, index, size } = ast.arith(id)
        && let Arith::Number(offset) = ast.arith(index)
    {
        return plain_load(proto, offset, size);
    }
    format!("`{}`{}", cut(&ast.text(text)), where_clause(ast, id))
}

/// The name of an expression, unless it reads what may be something else.
fn field(ast: &Written<'_>, id: ArithId, text: &str) -> Option<&'static str> {
    let words = FIELDS.iter().find(|(form, _)| *form == text).map(|(_, words)| *words)?;
    let mut work = vec![id];
    while let Some(id) = work.pop() {
        if matches!(ast.lost(id), Some(Lost::Protocol | Lost::Version)) {
            return None;
        }
        work.extend(ast.arith_operands(id).rev());
    }
    Some(words)
}

/// A load at a place that has no name.
fn plain_load(proto: Proto, offset: u32, size: u32) -> String {
    let last = offset.saturating_add(size.saturating_sub(1));
    let header = match proto {
        Proto::Link => "of the frame".to_owned(),
        Proto::Radio => "of the radio header".to_owned(),
        proto if last < header_bytes(proto) => format!("of the {} header", name(proto)),
        proto => format!("counted from the beginning of the {} header", name(proto)),
    };
    match size {
        1 => format!("byte {offset} {header}"),
        _ => format!("the number in bytes {offset} to {last} {header}"),
    }
}

/// How long a header is at least, where something else follows it.
fn header_bytes(proto: Proto) -> u32 {
    match proto {
        Proto::Ip | Proto::Tcp => 20,
        Proto::Ip6 => 40,
        Proto::Udp => 8,
        Proto::Sctp => 12,
        _ => u32::MAX,
    }
}

/// ` (where ip[8] is the IPv4 time to live)`, for the fields that have names.
fn where_clause(ast: &Written<'_>, id: ArithId) -> String {
    let mut found: Vec<String> = Vec::new();
    let mut work = vec![id];
    while let Some(id) = work.pop() {
        if found.len() == FIELDS_MAX {
            break;
        }
        if matches!(ast.arith(id), Arith::Load { .. } | Arith::Op(..)) && is_small(ast, id) {
            let text = fmt::arith(ast, id);
            if let Some(words) = field(ast, id, &text) {
                let clause = format!("{} is {words}", ast.text(text));
                if !found.contains(&clause) {
                    found.push(clause);
                }
                continue;
            }
        }
        work.extend(ast.arith_operands(id).rev());
    }
    if found.is_empty() { String::new() } else { format!(" (where {})", found.join(", ")) }
}

/// Whether an expression has few enough parts to be a field. Without this, deep expressions would be printed
/// again at each level.
fn is_small(ast: &Ast, id: ArithId) -> bool {
    const PARTS_MAX: usize = 24;
    let mut work = vec![id];
    let mut parts = 0;
    while let Some(id) = work.pop() {
        parts += 1;
        if parts > PARTS_MAX {
            return false;
        }
        work.extend(ast.arith_operands(id).rev());
    }
    true
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(TEXT_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// The field that a comparison reads.
#[derive(Default)]
pub(super) struct Reads {
    /// Any byte.
    pub(super) bytes: bool,
    /// Bytes of a transport header.
    pub(super) transport: bool,
    /// The wire length.
    pub(super) length: bool,
}

pub(super) fn reads(ast: &Written<'_>, sides: [ArithId; 2]) -> Reads {
    let mut reads = Reads::default();
    let mut work = sides.to_vec();
    while let Some(id) = work.pop() {
        match ast.arith(id) {
            Arith::Len => reads.length = true,
            Arith::Load { proto, .. } => {
                reads.bytes = true;
                reads.transport |= proto == Proto::Icmp6 && ast.dialect.ipv6;
                use Proto::{Carp, Icmp, Igmp, Igrp, Pim, Sctp, Tcp, Udp, Vrrp};
                let is_transport = matches!(proto, Tcp | Udp | Sctp | Icmp | Igmp | Igrp | Pim | Vrrp | Carp);
                // What else these read, other notes say.
                reads.transport |= is_transport && ast.lost(id).is_none();
            }
            _ => {}
        }
        work.extend(ast.arith_operands(id).rev());
    }
    reads
}
