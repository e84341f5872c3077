//! Loads whose protocol nobody asks for.
//!
//! Each load brings a guard: `tcp[13]` is of IPv4 packets that carry TCP, and of their first fragments. The guards of an index
//! hold for the load, and those of both sides of a comparison for the comparison. But an operator keeps those of its left operand
//! only: libpcap's `gen_arth` returns the left operand with all that belongs to it. So `ip[2:2] - ((tcp[12] & 0xf0) >> 2)` reads a
//! byte of any IPv4 packet, unless something else in the filter asks for TCP.
//!
//! Something else is what the comparison is joined with: by `and`, where that holds, and by `or`, where it does not. With what the relation
//! asks by itself it is compiled together with the contrary of the guard: if no packet satisfies that, the guard follows.

use super::decide::Decider;
use crate::Span;
use crate::clock::Clock;
use crate::diag::{Code, Diagnostic};
use crate::ir::tree::{Tree, TreeId, TreeNode};
use crate::lower::{self, Parts, Unasked, for_each_load, tells_protocols};
use crate::options::{HostAddrs, Names, Service};
use crate::syntax::ast::{ArithId, Ast, Expr, ExprId, Proto};
use std::net::Ipv4Addr;
use wire::LinkType;

/// A load that is read whatever the packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unguarded {
    pub(crate) relation: ExprId,
    pub(crate) load: ArithId,
    pub(crate) proto: Proto,
    pub(crate) lost: Lost,
}

/// What of a load's guard is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// The protocol.
    Protocol,
    /// The version of IP: the protocol is asked for, of IPv6 as well.
    Version,
    /// That it is a first fragment.
    FirstFragment,
}

/// `len - ip[0] > 5`, which reads a byte of any packet; said once of each relation.
pub(super) fn lints(ast: &Ast, mut unguarded: Vec<Unguarded>) -> Vec<Diagnostic> {
    // That a load reads later fragments as well is true of most, and said by `explain`.
    unguarded.retain(|unguarded| unguarded.lost != Lost::FirstFragment);
    unguarded.dedup_by_key(|unguarded| unguarded.relation);
    let lint = |&Unguarded { load, proto, lost, .. }: &Unguarded| {
        let name = proto.name();
        let message = match lost {
            Lost::Version => format!("`{name}[…]` is read here from IPv6 packets, too, as if they were IPv4"),
            _ => format!("`{name}[…]` is read here whatever the packet carries"),
        };
        let asked = match proto {
            // The words are of both versions of IP, the bytes are read from IPv4.
            Proto::Tcp | Proto::Udp | Proto::Sctp | Proto::Pim => format!("ip and {name}"),
            _ => name.to_owned(),
        };
        Diagnostic::new(Code::LostGuard, ast.arith_spans[load.0 as usize], message)
            .label(format!("an operator asks for the protocol of its left operand only, not for `{name}`"))
            .help(format!("put `{asked} and` in front of the comparison"))
    };
    unguarded.iter().map(lint).collect()
}

/// The loads of a filter whose guard is lost, in the order of the text. A name that nobody knows is taken for one that somebody knows.
pub(crate) fn unguarded(ast: &Ast, options: &lower::Options<'_>) -> Vec<Unguarded> {
    if !ast.root.is_some_and(|root| super::has(ast, root, |expr| loses_guards(ast, expr))) {
        return Vec::new();
    }
    let clock = Clock::new(options.limits);
    let mut decider = Decider::new(options.limits, &clock);
    let options = lower::Options { names: &AllKnown(options.names), ..*options };
    let parts = lower::lower_parts(Tree::default(), ast, &options, None, decider.clock);
    parts.map_or_else(
        |_| Vec::new(),
        |mut parts| unguarded_in(ast, options.linktype, &mut parts, &mut decider),
    )
}

fn loses_guards(ast: &Ast, expr: &Expr) -> bool {
    let Expr::Relation(_, a, b) = *expr else { return false };
    let mut loses = false;
    for_each_load(ast, [a, b], |load| loses |= !load.guarded);
    loses
}

/// The same of a filter whose parts are lowered.
pub(super) fn unguarded_in(
    ast: &Ast,
    linktype: LinkType,
    parts: &mut Parts,
    decider: &mut Decider,
) -> Vec<Unguarded> {
    let unasked = std::mem::take(&mut parts.record.unasked);
    // Where packets do not say what they carry, a guard says nothing either.
    if unasked.is_empty() || !tells_protocols(linktype) {
        return Vec::new();
    }
    let parents = super::parents(ast);
    let mut found = Vec::new();
    for unasked in unasked {
        if decider.is_over() {
            break;
        }
        let mut known = around(ast, &parents, unasked.relation, parts);
        known.extend(unasked.asked);
        known.sort_unstable_by_key(|node| node.0);
        if let Some(lost) = lost(&unasked, &known, &mut parts.tree, decider) {
            let Unasked { relation, load, proto, .. } = unasked;
            found.push(Unguarded { relation, load, proto, lost });
        }
    }
    found
}

/// What does not follow from what is known.
fn lost(unasked: &Unasked, known: &[TreeId], tree: &mut Tree, decider: &mut Decider) -> Option<Lost> {
    let mut follows = |tree: &mut Tree, node: TreeId| {
        let contrary = tree.push(TreeNode::Not(node), Span::default());
        decider.never(tree, &[known, &[contrary]].concat())
    };
    if follows(tree, unasked.guard)? {
        return None;
    }
    if !follows(tree, unasked.word)? {
        return Some(Lost::Protocol);
    }
    // The header of a fragment may stand in front of it.
    if unasked.proto == Proto::Icmp6 {
        return None;
    }
    // Of protocols that IP carries, the header is looked for in IPv4.
    Some(if follows(tree, unasked.ip)? { Lost::FirstFragment } else { Lost::Version })
}

/// What tells of the packets for which a part matters: what it is joined with.
fn around(ast: &Ast, parents: &[Option<ExprId>], part: ExprId, parts: &mut Parts) -> Vec<TreeId> {
    let mut known = Vec::new();
    let mut here = part;
    while let Some(above) = parents[here.0 as usize] {
        if let Expr::And(a, b) | Expr::Or(a, b) = *ast.expr(above) {
            let other = super::ungrouped(ast, if a == here { b } else { a });
            let Parts { tree, record, .. } = parts;
            known.extend(record.node(other).map(|node| match ast.expr(above) {
                Expr::Or(..) => tree.push(TreeNode::Not(node), Span::default()),
                _ => node,
            }));
        }
        here = above;
    }
    known
}

/// Knows every name: what is told of a filter that nobody runs does not depend on them.
struct AllKnown<'a>(&'a dyn Names);

impl Names for AllKnown<'_> {
    fn host(&self, name: &str) -> Option<HostAddrs> {
        let some = || HostAddrs { v4: vec![Ipv4Addr::new(192, 0, 2, 1)], v6: vec![] };
        Some(self.0.host(name).unwrap_or_else(some))
    }

    fn net(&self, name: &str) -> Option<u32> {
        Some(self.0.net(name).unwrap_or(0xc000_0200))
    }

    fn ether(&self, name: &str) -> Option<[u8; 6]> {
        Some(self.0.ether(name).unwrap_or([2, 0, 0, 0, 0, 1]))
    }

    fn service(&self, name: &str) -> Option<Service> {
        let some = || Service { tcp: Some(1), udp: Some(1), sctp: Some(1) };
        Some(self.0.service(name).unwrap_or_else(some))
    }

    fn protocol(&self, name: &str) -> Option<u8> {
        Some(self.0.protocol(name).unwrap_or(253))
    }

    fn set_file(&self, path: &str) -> Result<String, String> {
        self.0.set_file(path)
    }
}
