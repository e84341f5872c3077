//! A filter in plain words: an outline with one line for each primitive, qualifiers filled in, and notes where
//! the meaning surprises.
//!
//! ```text
//! A packet (EN10MB) is accepted if all of these hold:
//!   - the TCP source or destination port is 80
//!   - none of these holds:
//!       - the source or destination is 10.0.0.1
//! Notes:
//!   - Ports are read from the first fragment of IPv4 packets and from IPv6 packets without extension headers.
//! ```
//!
//! The words describe the meaning of the dialect at hand; they name no offset unless the filter does. Nothing recurses: chains of
//! one operator become one list, and nesting is an indentation up to `DEEPEST` levels.

mod depth;
mod named;
mod primitive;
mod program;
mod protocol;
mod relation;
#[cfg(test)]
mod tests;
mod written;

pub(crate) use program::of_program;

use crate::diag::harmless;
use crate::help::lint::guards::{self, Lost};
use crate::lower;
use crate::options::{Dialect, Limits, Names};
use crate::syntax::ast::{Ast, Expr, ExprId, Id, Kind, Proto, Quals, SetItem};
use crate::syntax::fmt::canonical;
use std::collections::BTreeSet;
use std::fmt;
use wire::LinkType;
use written::Written;

/// Levels that are shown by indentation.
const DEEPEST: usize = 24;

/// A filter in plain words, from [`Compiler::explain`](crate::Compiler::explain).
///
/// ```
/// use pflang::Compiler;
/// use wire::LinkType;
///
/// let words = Compiler::new(LinkType::EN10MB).explain("not arp and len > 100")?;
/// assert_eq!(words.canonical, "not arp and len > 100");
/// assert_eq!(words.notes, ["Lengths are those on the wire, however much was captured."]);
/// println!("{words}");
/// # Ok::<(), pflang::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// The link type that the packets have.
    pub linktype: LinkType,
    /// The filter with every qualifier filled in.
    pub canonical: String,
    /// The outline, from top to bottom.
    pub lines: Vec<Line>,
    /// Notes about the primitives used.
    pub notes: Vec<&'static str>,
    /// Whether it is a program.
    is_program: bool,
}

/// A line of the outline.
///
/// ```
/// use pflang::Compiler;
/// use wire::LinkType;
///
/// let words = Compiler::new(LinkType::EN10MB).explain("arp or not (ip and udp)")?;
/// let depths: Vec<usize> = words.lines.iter().map(|line| line.depth).collect();
/// assert_eq!(depths, [0, 1, 1, 2, 2]);
/// # Ok::<(), pflang::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Line {
    /// How deep it is nested, from 0.
    pub depth: usize,
    /// The words.
    pub text: String,
}

/// Puts a filter in words; `source` is the text it was parsed from. Names that `names` knows are told with what they stand for.
///
/// ```
/// use pflang::internals::{explain::explain, syntax::parse::parse};
/// use pflang::{Dialect, Limits, NoNames};
/// use wire::LinkType;
///
/// let source = "not host vs and ace";
/// let ast = parse(source, &Dialect::default(), &Limits::default()).unwrap();
/// assert_eq!(explain(&ast, source, LinkType::EN10MB, Dialect::default(), &NoNames).to_string(), "\
/// A packet (EN10MB) is accepted if all of these hold:
///   - not: the source or destination is the host `vs`
///   - the source or destination is the host `ace`
/// In full: not host vs and host ace
/// Notes:
///   - IPv4 addresses are looked for in IPv4 headers and, as sender or target, in ARP and RARP.
/// ");
/// ```
pub fn explain(
    ast: &Ast,
    source: &str,
    linktype: LinkType,
    dialect: Dialect,
    names: &dyn Names,
) -> Explanation {
    let limits = Limits::default();
    let options =
        lower::Options { linktype, netmask: None, dialect, names, limits, tables: true, chain_ends: None };
    let unguarded = guards::unguarded(ast, &options);
    let ast = &Written::new(ast, source, &unguarded, dialect, names);
    let mut lines = Vec::new();
    let mut notes = BTreeSet::new();
    notes.extend(unguarded.iter().map(|unguarded| match unguarded.lost {
        Lost::Protocol => Note::LostGuard,
        Lost::Version => Note::LostVersion,
        Lost::FirstFragment => Note::LaterFragments,
    }));
    let mut work: Vec<Item> = ast.root.map(|id| Item { id, depth: 0, negated: false }).into_iter().collect();
    while let Some(item) = work.pop() {
        outline(ast, item, &mut work, &mut lines, &mut notes);
    }
    let notes = notes.into_iter().map(|note| note.text(dialect)).collect();
    Explanation { linktype, canonical: ast.text(canonical(ast)), lines, notes, is_program: false }
}

/// A part that is still to be explained.
struct Item {
    id: ExprId,
    depth: usize,
    negated: bool,
}

/// One line for a part; its operands go to `work`.
fn outline(
    ast: &Written<'_>,
    item: Item,
    work: &mut Vec<Item>,
    lines: &mut Vec<Line>,
    notes: &mut BTreeSet<Note>,
) {
    let Item { mut id, depth, mut negated } = item;
    loop {
        match *ast.expr(id) {
            Expr::Group(inside) => id = inside,
            Expr::Not(inside) => {
                negated = !negated;
                id = inside;
            }
            _ => break,
        }
    }
    let text = match ast.expr(id) {
        operator @ (Expr::And(..) | Expr::Or(..)) => {
            let operands = ast.chain(id).into_iter().rev();
            work.extend(operands.map(|id| Item { id, depth: depth + 1, negated: false }));
            match (operator, negated) {
                (Expr::And(..), false) => "all of these hold:".to_owned(),
                (Expr::And(..), true) => "not all of these hold:".to_owned(),
                (_, false) => "any of these holds:".to_owned(),
                (_, true) => "none of these holds:".to_owned(),
            }
        }
        primitive => {
            note(ast, primitive, negated, notes);
            let words = primitive::words(ast, id, primitive);
            if negated { format!("not: {words}") } else { words }
        }
    };
    lines.push(Line { depth, text });
}

/// Surprises of primitives, in the order in which notes are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Note {
    Encapsulation,
    Hosts,
    Ports,
    TransportLoad,
    LostGuard,
    LostVersion,
    LaterFragments,
    Transport,
    ShortPackets,
    Protochain,
    Length,
    Netmask,
}

impl Note {
    fn text(self, dialect: Dialect) -> &'static str {
        match self {
            Note::Encapsulation if dialect.tagged => {
                "All is looked for behind the tags and labels of a frame; a number is that of any of them."
            }
            Note::Encapsulation if dialect.scoped => {
                "What stands to the right of a tag or tunnel, up to an `or` or the end of its parenthesis or `not`, is looked for behind it."
            }
            Note::Ports if dialect.ipv6 => {
                "Ports are read from first fragments, in IPv6 behind the extension headers."
            }
            Note::TransportLoad if dialect.ipv6 => {
                "Bytes of a transport header are read from first fragments, in IPv6 behind the extension headers."
            }
            Note::Transport if dialect.ipv6 => {
                "The protocol of an IPv6 packet is the one that its extension headers lead to."
            }
            Note::Encapsulation => {
                "What stands to the right of a tag or tunnel, even past `or`, `not` and parentheses, is looked for behind it."
            }
            Note::Hosts => {
                "IPv4 addresses are looked for in IPv4 headers and, as sender or target, in ARP and RARP."
            }
            Note::Ports => {
                "Ports are read from the first fragment of IPv4 packets and from IPv6 packets without extension headers."
            }
            Note::TransportLoad => {
                "Bytes of a transport header are read from the first fragment of IPv4 packets only."
            }
            Note::LostGuard => {
                "An operator asks for the protocol of its left operand only: what stands to its right is read whatever the packet carries."
            }
            Note::LostVersion => {
                "An operator asks for the protocol of its left operand only: what stands to its right is read from IPv6 packets as if they were IPv4."
            }
            Note::LaterFragments => {
                "Bytes of a transport header to the right of an operator are read from later fragments as well, which have none: `ip[6:2] & 0x1fff = 0` leaves those out."
            }
            Note::Transport => {
                "The protocol of an IPv6 packet is its next header, or what a fragment header right there names."
            }
            Note::ShortPackets => {
                "A packet that ends before a byte that has to be read is rejected, even under `not`."
            }
            Note::Protochain => "A chain of headers is followed for at most 32 headers.",
            Note::Length => "Lengths are those on the wire, however much was captured.",
            Note::Netmask => "The broadcast address follows from the netmask, which has to be given.",
        }
    }
}

fn note(ast: &Written<'_>, primitive: &Expr, negated: bool, notes: &mut BTreeSet<Note>) {
    if let Expr::Relation(_, a, b) = primitive {
        let reads = relation::reads(ast, [*a, *b]);
        notes.extend(reads.transport.then_some(Note::TransportLoad));
        notes.extend(reads.length.then_some(Note::Length));
        notes.extend((negated && reads.bytes).then_some(Note::ShortPackets));
    }
    notes.extend(match primitive {
        Expr::Vlan(_) | Expr::VlanIn(_) | Expr::Mpls(_) => Some(Note::Encapsulation),
        Expr::Pppoes(_) | Expr::Geneve(_) | Expr::Vxlan(_) => Some(Note::Encapsulation),
        Expr::Id(quals, id) => identifier_note(*quals, !is_ip6(id)),
        Expr::In(quals, items) => {
            let is_ip6 = |item: &SetItem| matches!(item, SetItem::Id(id, _) if is_ip6(id));
            identifier_note(*quals, !items.iter().all(is_ip6))
        }
        Expr::Proto(Proto::Tcp | Proto::Udp | Proto::Sctp | Proto::Ah | Proto::Esp | Proto::Pim) => {
            Some(Note::Transport)
        }
        Expr::Proto(Proto::Icmp6) if ast.dialect.ipv6 => Some(Note::Transport),
        Expr::Broadcast(Some(Proto::Ip)) => Some(Note::Netmask),
        Expr::Less(_) | Expr::Greater(_) => Some(Note::Length),
        _ => None,
    });
}

fn is_ip6(id: &Id) -> bool {
    matches!(id, Id::V6(_) | Id::V6Prefix(..))
}

/// `has_ip4`: not all addresses are of IPv6.
fn identifier_note(quals: Quals, has_ip4: bool) -> Option<Note> {
    match (quals.kind, quals.proto) {
        (Some(Kind::Port | Kind::Portrange), _) => Some(Note::Ports),
        (Some(Kind::Protochain), _) => Some(Note::Protochain),
        (None | Some(Kind::Host | Kind::Net), None) if has_ip4 => Some(Note::Hosts),
        _ => None,
    }
}

/// Names come from the filter; a terminal must not obey them.
impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((first, rest)) = self.lines.split_first() else {
            return writeln!(f, "Every packet ({}) is accepted.", self.linktype);
        };
        let begin = if self.is_program { "Of clauses" } else { "A packet" };
        let middle = if self.is_program { "" } else { "is accepted if " };
        writeln!(f, "{begin} ({}) {middle}{}", self.linktype, harmless(&first.text))?;
        for line in rest {
            let indent = 2 + 4 * (line.depth.clamp(1, DEEPEST) - 1);
            let level = if line.depth > DEEPEST { format!("[level {}] ", line.depth) } else { String::new() };
            writeln!(f, "{:indent$}- {level}{}", "", harmless(&line.text))?;
        }
        if !self.is_program {
            writeln!(f, "In full: {}", harmless(&self.canonical))?;
        }
        if !self.notes.is_empty() {
            writeln!(f, "Notes:")?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "  - {note}"))
    }
}
