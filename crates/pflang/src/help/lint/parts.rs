//! Parts that, given what stands around them, no packet satisfies, or every packet.
//!
//! Each part is compiled together with what it is joined with by `and`, on both sides and outwards: in `arp and (tcp or len > 60)`, the
//! part `tcp` together with `arp`. What `not` stands before is looked at anew, without what stands around. So what merely repeats another
//! part, as `ip` in `icmp and ip`, or `not udp` in `tcp and not udp`, is no matter: the filter means what it says.
//!
//! ```text
//! visit(part, around):
//!     never(around and part)         tell of the smallest part that is to blame
//!     a and b                        visit a with b around, and b with a, if there is an `or` or `not` in it
//!     a or b, always                 tell of it
//!     a or b                         visit both
//!     not a                          visit a, with nothing around
//!     a comparison, always           tell of it
//! ```

use super::decide::Decider;
use super::order;
use super::text::{ip4_only_load, negated_alternatives};
use super::{LINTS_MAX, Linted, ungrouped};
use crate::diag::{Code, Diagnostic};
use crate::ir::tree::{TreeId, TreeNode};
use crate::lower::Parts;
use crate::syntax::ast::{Expr, ExprId};
use crate::syntax::fmt;

/// How many parts may stand around one that is compiled with them.
const AROUND_MAX: usize = 16;

/// The parts of a filter that are always true or false.
pub(super) fn lints(linted: Linted<'_>, parts: &mut Parts, decider: &mut Decider) -> Vec<Diagnostic> {
    let Some(root) = linted.ast.root else { return Vec::new() };
    let mut search = Search { linted, parts, decider, found: Vec::new() };
    let mut pending = vec![Part { id: root, around: Vec::new(), and: None, is_possible: false }];
    while let Some(part) = pending.pop() {
        if search.decider.is_over() || search.found.len() >= LINTS_MAX {
            break;
        }
        search.visit(part, &mut pending);
    }
    search.found
}

/// A part that is still to be looked at.
struct Part {
    id: ExprId,
    /// What it is joined with by `and`.
    around: Vec<ExprId>,
    /// The largest conjunction that it is in.
    and: Option<ExprId>,
    /// Whether it is known that some packet satisfies it and what is around it.
    is_possible: bool,
}

struct Search<'a, 's> {
    linted: Linted<'a>,
    parts: &'s mut Parts,
    decider: &'s mut Decider,
    found: Vec<Diagnostic>,
}

impl Search<'_, '_> {
    fn visit(&mut self, part: Part, pending: &mut Vec<Part>) {
        let ast = self.linted.ast;
        let id = ungrouped(ast, part.id);
        if !part.is_possible && self.never(id, &part.around) {
            self.blame(&Part { id, ..part });
            return;
        }
        match *ast.expr(id) {
            Expr::And(..) => {
                let sides = ast.chain(id);
                let and = part.and.or(Some(id));
                for (at, &side) in sides.iter().enumerate().rev() {
                    let mut around = part.around.clone();
                    if around.len() + sides.len() <= AROUND_MAX {
                        around.extend(
                            sides.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, side)| side),
                        );
                    }
                    pending.push(Part { id: side, around, and, is_possible: true });
                }
            }
            Expr::Or(..) if self.always(id) => self.blame_always(id),
            Expr::Or(..) => {
                self.found.extend(self.negated_alternatives(id));
                pending.extend(ast.chain(id).into_iter().rev().map(|side| Part {
                    id: side,
                    around: part.around.clone(),
                    and: part.and,
                    is_possible: false,
                }));
            }
            Expr::Not(inside) => {
                pending.push(Part { id: inside, around: Vec::new(), and: None, is_possible: false });
            }
            _ => {
                if self.is_plain_truth(id) || self.is_always_compared(id) {
                    self.tell(Code::AlwaysTrue, id, ALWAYS);
                }
            }
        }
    }

    /// Whether no packet satisfies a part and what is around it.
    fn never(&mut self, id: ExprId, around: &[ExprId]) -> bool {
        let nodes: Option<Vec<TreeId>> = around
            .iter()
            .chain([&id])
            .map(|&id| self.parts.record.node(ungrouped(self.linted.ast, id)))
            .collect();
        nodes.and_then(|mut nodes| {
            // In the order of the text, as they are read.
            nodes.sort_unstable_by_key(|node| node.0);
            self.decider.never(&mut self.parts.tree, &nodes)
        }) == Some(true)
    }

    fn always(&mut self, id: ExprId) -> bool {
        let node = self.parts.record.node(ungrouped(self.linted.ast, id));
        node.and_then(|node| self.decider.always(&mut self.parts.tree, node)) == Some(true)
    }

    /// Whether the link type alone makes a word true.
    fn is_plain_truth(&self, id: ExprId) -> bool {
        let node = self.parts.record.node(ungrouped(self.linted.ast, id));
        node.is_some_and(|node| self.parts.tree.node(node) == TreeNode::True)
    }

    /// Whether a comparison holds for every packet that has what it compares.
    fn is_always_compared(&mut self, id: ExprId) -> bool {
        let node = match self.linted.ast.expr(id) {
            Expr::Relation(..) => self.parts.record.comparison(id),
            Expr::Less(_) | Expr::Greater(_) | Expr::Byte { .. } => self.parts.record.node(id),
            _ => None,
        };
        node.and_then(|node| self.decider.always(&mut self.parts.tree, node)) == Some(true)
    }

    /// Tells of the smallest part that is to blame for one that nothing satisfies, given what is around.
    fn blame(&mut self, part: &Part) {
        let ast = self.linted.ast;
        let mut pending = vec![part.id];
        while let Some(id) = pending.pop() {
            let id = ungrouped(ast, id);
            if self.found.len() >= LINTS_MAX {
                return;
            }
            if !part.around.is_empty() && !self.never(id, &[]) {
                self.blame_around(id, part);
                continue;
            }
            match *ast.expr(id) {
                Expr::And(..) => self.blame_and(id, &mut pending),
                Expr::Or(..) => pending.extend(ast.chain(id).into_iter().rev()),
                Expr::Not(inside) if self.is_plain_truth(inside) => {
                    self.tell(Code::AlwaysTrue, ungrouped(ast, inside), ALWAYS);
                }
                Expr::Not(_) if ast.root.is_some_and(|root| ungrouped(ast, root) == id) => {
                    self.tell(Code::AlwaysFalse, id, "no packet matches this filter");
                }
                _ => self.tell(Code::AlwaysFalse, id, "this is true of no packet"),
            }
        }
    }

    /// Of a conjunction that nothing satisfies: the first operand with which that is so.
    fn blame_and(&mut self, id: ExprId, pending: &mut Vec<ExprId>) {
        let ast = self.linted.ast;
        let mut chain = vec![];
        let mut and = id;
        while let Expr::And(left, _) = *ast.expr(and) {
            chain.push(and);
            and = left;
        }
        chain.reverse();
        let first = chain.partition_point(|&and| !self.never(and, &[]));
        let Some(&and) = chain.get(first) else { return };
        let Expr::And(left, right) = *ast.expr(and) else { return };
        for side in [left, right] {
            if self.never(ungrouped(ast, side), &[]) {
                pending.push(side);
                return;
            }
        }
        let found = self.exclusive(left, right);
        let help = match self.ip4_of_ip6([left, right]) {
            Some(help) => Some(help),
            None => order::help(self.linted, and, self.decider),
        };
        self.found.push(Diagnostic { help, ..found });
    }

    /// Of a part that some packet satisfies, but none that satisfies what is around: the one to blame.
    fn blame_around(&mut self, id: ExprId, part: &Part) {
        let ast = self.linted.ast;
        let other = part.around.iter().copied().find(|&other| self.never(id, &[other]));
        let found = match other {
            Some(other) => self.exclusive(other, id),
            None => Diagnostic::new(
                Code::AlwaysFalse,
                ast.span(id),
                "no packet is this and all that it is joined with by `and`",
            ),
        };
        let help = part.and.and_then(|and| order::help_inside(self.linted, and, id, other, self.decider));
        self.found.push(Diagnostic { help, ..found });
    }

    fn exclusive(&self, one: ExprId, other: ExprId) -> Diagnostic {
        let [one, other] = [one, other].map(|side| self.linted.ast.span(side));
        let found = Diagnostic::new(Code::AlwaysFalse, other, "these exclude each other: no packet is both");
        let mut found = found.label("this and");
        found.also = Some((one, "this".to_owned()));
        found
    }

    /// What to say where a field is read from IPv4 only, and the other side is of IPv6.
    fn ip4_of_ip6(&mut self, sides: [ExprId; 2]) -> Option<String> {
        let ast = self.linted.ast;
        let load = |side: ExprId| match *ast.expr(ungrouped(ast, side)) {
            Expr::Relation(_, a, b) => ip4_only_load(ast, [a, b]),
            _ => None,
        };
        let is_ip6 = |side: ExprId| {
            let text = format!("not ip6 and ({})", fmt::expr(ast, side));
            let lints = super::lints_of_suggestion(self.linted.compiler, &text, &self.decider.clock);
            lints.is_some_and(|lints| lints.iter().any(|lint| lint.code == Code::AlwaysFalse))
        };
        let of_ip6 = |[one, other]: [ExprId; 2]| load(one).filter(|_| is_ip6(other));
        let proto = of_ip6(sides).or_else(|| of_ip6([sides[1], sides[0]]))?;
        let name = proto.name();
        Some(format!("`{name}[…]` sees IPv4 only; the `ipv6` dialect looks into IPv6, too"))
    }

    /// Tells of a chain of `or` that every packet satisfies.
    fn blame_always(&mut self, or: ExprId) {
        let ast = self.linted.ast;
        let sides = ast.chain(or);
        for &side in &sides {
            let side = ungrouped(ast, side);
            if self.is_always_compared(side) || self.always(side) {
                self.tell(Code::AlwaysTrue, side, ALWAYS);
                return;
            }
        }
        // The smallest of the chain.
        let mut smallest = or;
        while let Expr::Or(left, _) = *ast.expr(smallest)
            && matches!(ast.expr(left), Expr::Or(..))
            && self.always(left)
        {
            smallest = left;
        }
        let found = Diagnostic::new(Code::AlwaysTrue, ast.span(smallest), ALWAYS);
        self.found.push(found.label("one or the other always holds"));
    }

    /// `not port 80 or not port 443`, where a packet may have both.
    fn negated_alternatives(&self, or: ExprId) -> Option<Diagnostic> {
        let ast = self.linted.ast;
        let negated = negated_alternatives(ast, or)?;
        let parts: Vec<String> = negated.iter().map(|&part| fmt::expr(ast, part)).collect();
        let all = if parts.len() == 2 { "both" } else { "all of them" };
        let found = Diagnostic::new(
            Code::NegatedAlternatives,
            ast.span(or),
            format!("this is false only of a packet that has {all}"),
        );
        let none = format!("not ({})", parts.join(" or "));
        let is_short = none.len() <= super::SUGGESTION_MAX;
        Some(match is_short {
            true => found.help(format!("to exclude each of them, write `{none}`")),
            false => found.help("to exclude each of them, write `and` between them"),
        })
    }

    fn tell(&mut self, code: Code, id: ExprId, words: &str) {
        self.found.push(Diagnostic::new(code, self.linted.ast.span(id), words));
    }
}

const ALWAYS: &str = "this is true of every packet that has the bytes it reads";
