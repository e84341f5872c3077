//! The canonical text of a filter: every identifier with its qualifiers, every operator of arithmetic in
//! parentheses, one spelling for each word.
//!
//! INVARIANT: parsing the text gives the same tree again, but for spans.

use super::ast::*;
use super::codes;
use super::lex::{TokenKind, lex};
use super::program::Call;
use super::range;
use super::words::{Word, spelling};
use std::fmt;

/// The canonical text; "" for the empty filter.
///
/// ```
/// use pflang::{Dialect, Limits};
/// use pflang::internals::syntax::{fmt::canonical, parse::parse};
///
/// let ast = parse("port 80||443 && ip[0]&0xf!=5", &Dialect::default(), &Limits::default()).unwrap();
/// assert_eq!(canonical(&ast), "port 80 or port 443 and ip[0] & 15 != 5");
/// ```
pub fn canonical(ast: &Ast) -> String {
    let mut out = String::new();
    if let Some(root) = ast.root {
        write_expr(&mut out, ast, root);
    }
    out
}

/// The canonical text of a handler with its arguments.
pub fn call(ast: &Ast, call: &Call) -> String {
    let arguments: Vec<String> = call.arguments.iter().map(|&argument| arith(ast, argument)).collect();
    if arguments.is_empty() {
        call.handler.clone()
    } else {
        format!("{}({})", call.handler, arguments.join(", "))
    }
}

/// The canonical text of a part.
pub fn expr(ast: &Ast, id: ExprId) -> String {
    let mut out = String::new();
    write_expr(&mut out, ast, id);
    out
}

/// The canonical text of an arithmetic expression.
pub fn arith(ast: &Ast, id: ArithId) -> String {
    let mut out = String::new();
    write_arith(&mut out, ast, id);
    out
}

/// The canonical text of a primitive that has no operands; "" for an operator.
pub(crate) fn leaf(expr: &Expr) -> String {
    Leaf(expr).to_string()
}

/// What is still to be written, the next on top.
enum Piece {
    Expr(ExprId),
    /// With parentheses if it is an operation.
    Operand(ArithId),
    Arith(ArithId),
    Text(&'static str),
    Size(u32),
}

fn write_expr(out: &mut String, ast: &Ast, id: ExprId) {
    let mut pieces = vec![Piece::Expr(id)];
    while let Some(piece) = pieces.pop() {
        let Piece::Expr(id) = piece else {
            write_arith_piece(out, ast, piece, &mut pieces);
            continue;
        };
        match *ast.expr(id) {
            Expr::And(a, b) => pieces.extend([Piece::Expr(b), Piece::Text(" and "), Piece::Expr(a)]),
            Expr::Or(a, b) => pieces.extend([Piece::Expr(b), Piece::Text(" or "), Piece::Expr(a)]),
            Expr::Not(a) => pieces.extend([Piece::Expr(a), Piece::Text("not ")]),
            Expr::Group(a) => pieces.extend([Piece::Text(")"), Piece::Expr(a), Piece::Text("(")]),
            Expr::Relation(op, a, b) => {
                pieces.extend([Piece::Arith(b), Piece::Text(relation(op)), Piece::Arith(a)]);
            }
            ref leaf => out.push_str(&Leaf(leaf).to_string()),
        }
    }
}

fn write_arith(out: &mut String, ast: &Ast, id: ArithId) {
    let mut pieces = vec![Piece::Arith(id)];
    while let Some(piece) = pieces.pop() {
        write_arith_piece(out, ast, piece, &mut pieces);
    }
}

fn write_arith_piece(out: &mut String, ast: &Ast, piece: Piece, pieces: &mut Vec<Piece>) {
    let id = match piece {
        Piece::Text(text) => return out.push_str(text),
        Piece::Size(1) => return,
        Piece::Size(size) => return out.push_str(&format!(":{size}")),
        Piece::Operand(id) if matches!(ast.arith(id), Arith::Op(..) | Arith::Neg(_)) => {
            out.push('(');
            pieces.extend([Piece::Text(")"), Piece::Arith(id)]);
            return;
        }
        Piece::Operand(id) | Piece::Arith(id) => id,
        Piece::Expr(_) => return,
    };
    match ast.arith(id) {
        Arith::Number(number) => out.push_str(&number.to_string()),
        Arith::Len => out.push_str("len"),
        Arith::Input(slot) => out.push_str(ast.inputs.get(slot as usize).map_or("input", String::as_str)),
        Arith::Neg(a) => {
            out.push('-');
            pieces.push(Piece::Operand(a));
        }
        Arith::Op(op, a, b) => {
            let [space, sign] = [" ", op.symbol()].map(Piece::Text);
            pieces.extend([Piece::Operand(b), Piece::Text(" "), sign, space, Piece::Operand(a)]);
        }
        field @ (Arith::Load { proto, index, size } | Arith::AddressOf { proto, index, size }) => {
            out.push_str(if matches!(field, Arith::AddressOf { .. }) { "&" } else { "" });
            out.push_str(proto.name());
            out.push('[');
            pieces.extend([Piece::Text("]"), Piece::Size(size), Piece::Arith(index)]);
        }
    }
}

/// A comparison with the spaces around it.
pub(super) fn relation(op: RelOp) -> &'static str {
    match op {
        RelOp::Eq => " = ",
        RelOp::Ne => " != ",
        RelOp::Lt => " < ",
        RelOp::Le => " <= ",
        RelOp::Gt => " > ",
        RelOp::Ge => " >= ",
    }
}

/// A primitive without operands of its own.
struct Leaf<'a>(&'a Expr);

impl fmt::Display for Leaf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Expr::Id(quals, id) => write!(f, "{quals}{id}"),
            Expr::In(quals, items) => set(f, *quals, items),
            Expr::Pairs(set) => {
                let port = if set.port == Dir::Src { "sport" } else { "dport" };
                let files: Vec<String> = set.files.iter().map(|(path, _)| format!("@{path}")).collect();
                write!(f, "({}, {port}) in {{{}}}", set.address.name(), files.join(", "))
            }
            Expr::Proto(proto) => f.write_str(proto.name()),
            Expr::Broadcast(proto) => write!(f, "{}broadcast", Before(*proto)),
            Expr::Multicast(proto) => write!(f, "{}multicast", Before(*proto)),
            Expr::Less(n) => write!(f, "less {n}"),
            Expr::Greater(n) => write!(f, "greater {n}"),
            Expr::Byte { index, op, value } => write!(f, "byte {index} {} {value}", byte_operator(*op)),
            Expr::Inbound => f.write_str("inbound"),
            Expr::Outbound => f.write_str("outbound"),
            Expr::Ifindex(n) => write!(f, "ifindex {n}"),
            Expr::Vlan(id) => numbered(f, "vlan", *id),
            Expr::VlanIn(ranges) => write!(f, "vlan in {{{}}}", numbers(ranges)),
            Expr::Mpls(label) => numbered(f, "mpls", *label),
            Expr::Pppoed => f.write_str("pppoed"),
            Expr::Pppoes(session) => numbered(f, "pppoes", *session),
            Expr::Geneve(vni) => numbered(f, "geneve", *vni),
            Expr::Vxlan(vni) => numbered(f, "vxlan", *vni),
            Expr::Pf(pf) => pf_text(f, pf),
            Expr::Wlan(wlan) => wlan_text(f, *wlan),
            Expr::Llc(llc) => llc_text(f, *llc),
            Expr::Atm(kind) => f.write_str(spelling(Word::Atm(*kind))),
            Expr::AtmField(field, op, n) => {
                write!(f, "{}{}{n}", spelling(Word::AtmField(*field)), relation(*op))
            }
            Expr::Mtp2(kind) => f.write_str(spelling(Word::Mtp2(*kind))),
            Expr::Mtp3Field(field, op, n) => {
                write!(f, "{}{}{n}", spelling(Word::Mtp3(*field)), relation(*op))
            }
            // The operators are written by `write_expr`.
            Expr::And(..) | Expr::Or(..) | Expr::Not(_) | Expr::Group(_) | Expr::Relation(..) => Ok(()),
        }
    }
}

/// The protocol and a space, or nothing.
struct Before(Option<Proto>);

impl fmt::Display for Before {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(proto) => write!(f, "{} ", proto.name()),
            None => Ok(()),
        }
    }
}

/// The qualifiers, each with a space after it.
impl fmt::Display for Quals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = [self.proto.map(Proto::name), self.dir.map(Dir::name), self.kind.map(Kind::name)];
        words.into_iter().flatten().try_for_each(|word| write!(f, "{word} "))
    }
}

/// As it would have to be written after its qualifiers.
impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Id::Name(name) => name_text(f, name),
            Id::Number(number) => write!(f, "{number}"),
            Id::V4 { value, bits } => dotted(f, *value, *bits),
            Id::Decnet(address) => write!(f, "{}.{}", address >> 10, address & 0x3ff),
            Id::V4Prefix { value, bits, len } => {
                dotted(f, *value, *bits)?;
                write!(f, "/{len}")
            }
            Id::V4Mask { value, bits, mask, mask_bits } => {
                dotted(f, *value, *bits)?;
                f.write_str(" mask ")?;
                dotted(f, *mask, *mask_bits)
            }
            Id::V6(address) => write!(f, "{address}"),
            Id::V6Prefix(address, len) => write!(f, "{address}/{len}"),
            Id::Mac([a, b, c, d, e, g]) => write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}"),
            Id::Arcnet(address) => write!(f, "${:x}", address & 0x0f),
        }
    }
}

/// A name, escaped where it would otherwise read as something else.
fn name_text(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    let plain = matches!(lex(name).list[..], [token, _] if token.kind == TokenKind::Name && token.span.end as usize == name.len());
    let escape = if plain && !name.starts_with('\\') { "" } else { "\\" };
    write!(f, "{escape}{name}")
}

/// The address whose parts fill the low `bits`.
fn dotted(f: &mut fmt::Formatter<'_>, value: u32, bits: u8) -> fmt::Result {
    for shift in (0..bits).step_by(8).rev() {
        let dot = if shift + 8 < bits { "." } else { "" };
        write!(f, "{dot}{}", value >> shift & 0xff)?;
    }
    Ok(())
}

fn set(f: &mut fmt::Formatter<'_>, quals: Quals, items: &[SetItem]) -> fmt::Result {
    write!(f, "{quals}in {{")?;
    for (i, item) in items.iter().enumerate() {
        f.write_str(if i > 0 { ", " } else { "" })?;
        match item {
            SetItem::Id(Id::Name(name), span) if range::ends(name, *span).is_some() => write!(f, "\\{name}")?,
            SetItem::Id(id, _) => write!(f, "{id}")?,
            SetItem::Range(low, high, _) => write!(f, "{low}-{high}")?,
            SetItem::Addresses(low, high, _) => write!(f, "{low}-{high}")?,
            SetItem::File(path, _) => write!(f, "@{path}")?,
        }
    }
    f.write_str("}")
}

/// Numbers and ranges, as they stand within braces.
pub(crate) fn numbers(ranges: &[(u32, u32)]) -> String {
    let one = |&(low, high): &(u32, u32)| if low == high { low.to_string() } else { format!("{low}-{high}") };
    ranges.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn numbered(f: &mut fmt::Formatter<'_>, word: &str, number: Option<u32>) -> fmt::Result {
    match number {
        Some(number) => write!(f, "{word} {number}"),
        None => f.write_str(word),
    }
}

fn byte_operator(op: ByteOp) -> char {
    match op {
        ByteOp::Eq => '=',
        ByteOp::Lt => '<',
        ByteOp::Gt => '>',
        ByteOp::And => '&',
        ByteOp::Or => '|',
    }
}

/// The name of a value, or the value.
fn named(f: &mut fmt::Formatter<'_>, name: Option<&str>, value: u32) -> fmt::Result {
    match name {
        Some(name) => f.write_str(name),
        None => write!(f, "{value}"),
    }
}

fn pf_text(f: &mut fmt::Formatter<'_>, pf: &Pf) -> fmt::Result {
    let (word, name) = match pf {
        Pf::Ifname(name) => ("ifname", name),
        Pf::Ruleset(name) => ("ruleset", name),
        Pf::Rulenum(n) => return write!(f, "rulenum {n}"),
        Pf::Subrulenum(n) => return write!(f, "subrulenum {n}"),
        Pf::Reason(n) => {
            f.write_str("reason ")?;
            return named(f, codes::name_of(codes::PF_REASONS, *n), *n);
        }
        Pf::Action(n) => {
            f.write_str("action ")?;
            return named(f, codes::name_of(codes::PF_ACTIONS, *n), *n);
        }
    };
    write!(f, "{word} ")?;
    name_text(f, name)
}

fn wlan_text(f: &mut fmt::Formatter<'_>, wlan: Wlan) -> fmt::Result {
    let (kind, subtype) = match wlan {
        Wlan::Dir(n) => {
            f.write_str("dir ")?;
            return named(f, codes::name_of(codes::WLAN_DIRECTIONS, n), n);
        }
        Wlan::Type(kind) => (kind, None),
        Wlan::Subtype(both) => (both & 0x0c, Some(both & 0xf0)),
    };
    f.write_str("type ")?;
    named(f, codes::name_of(codes::WLAN_TYPES, kind), kind.into())?;
    let Some(subtype) = subtype else { return Ok(()) };
    f.write_str(" subtype ")?;
    let names = codes::WLAN_SUBTYPES.iter().find(|(of, _)| *of == kind).map_or(&[][..], |(_, names)| names);
    named(f, codes::name_of(names, subtype), subtype.into())
}

fn llc_text(f: &mut fmt::Formatter<'_>, llc: Llc) -> fmt::Result {
    let name = match llc {
        Llc::Any => return f.write_str("llc"),
        Llc::Information => Some("i"),
        Llc::Supervisory => Some("s"),
        Llc::Unnumbered => Some("u"),
        Llc::SupervisorySub(control) => codes::name_of(codes::LLC_SUPERVISORY, control),
        Llc::UnnumberedSub(control) => codes::name_of(codes::LLC_UNNUMBERED, control),
    };
    write!(f, "llc {}", name.unwrap_or("?"))
}
