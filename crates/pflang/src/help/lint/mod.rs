//! Warnings about filters that compile, and may not mean what their author thinks.
//!
//! ```text
//! text      what the syntax tree alone tells: operators that bind otherwise than they look, addresses that are nets, …
//! shift     primitives that are looked for behind an encapsulation which need not be there
//! parts     parts that no packet satisfies, or every packet
//! guards    loads whose protocol nobody asks for
//! decide    whether a packet satisfies a part, by compiling it
//! order     what to write in place of a conjunction that nothing satisfies
//! list      entries of a list that never decide
//! program   clauses of a program that are never reached
//! ```
//! All but `text` compile parts of the filter, so many as there is time for.

mod decide;
pub(crate) mod guards;
mod list;
mod order;
mod parts;
mod program;
mod shift;
mod text;

use crate::clock::Clock;
use crate::compiler::Compiler;
use crate::diag::{Code, Diagnostic};
use crate::ir::tree::Tree;
use crate::lower::{self, ChainEnds, Parts};
use crate::syntax::ast::{Ast, AtmType, Expr, ExprId};
use crate::syntax::parser::attempt;
pub(crate) use decide::Decider;
pub(crate) use list::of_list;
pub(crate) use program::{of_program, unreached_of_program};

/// More than this nobody reads.
const LINTS_MAX: usize = 20;
/// Bytes of a suggestion that is still helpful.
const SUGGESTION_MAX: usize = 200;
/// Bytes of a text whose chains of IPv6 headers are looked at as numbers: there is room for fewer of them than inputs that a program may have.
const CHAIN_TEXT_MAX: usize = 1 << 17;

/// The warnings about a filter, in the order of the text.
pub(crate) fn lints(
    compiler: &Compiler,
    source: &str,
    clock: Clock,
) -> Result<Vec<Diagnostic>, Box<Diagnostic>> {
    let ast = compiler.parse(source)?;
    let mut parts = lower_parts(compiler, &ast, clock)?;
    let mut decider = Decider::new(compiler.limits, &clock);
    Ok(Linted { compiler, ast: &ast, source, helps: Helps::Made }.lints(&mut parts, &mut decider))
}

fn lower_parts(compiler: &Compiler, ast: &Ast, clock: Clock) -> Result<Parts, Box<Diagnostic>> {
    lower::lower_parts(Tree::default(), ast, &compiler.lower_options(), None, clock)
}

/// The same with numbers in place of chains of IPv6 headers; `None` where no part asks for a chain, or the text is too long.
fn lower_parts_at_ends(compiler: &Compiler, ast: &Ast, source: &str, clock: Clock) -> Option<Parts> {
    if !compiler.dialect.ipv6 || source.len() > CHAIN_TEXT_MAX {
        return None;
    }
    let ends = ChainEnds::default();
    let options = lower::Options { chain_ends: Some(&ends), ..compiler.lower_options() };
    let parts = lower::lower_parts(Tree::default(), ast, &options, None, clock).ok()?;
    (!ends.is_empty()).then_some(parts)
}

/// The code of what a suggestion would be warned of, if it is a filter; `None` if it is no filter. That the fields of transport headers
/// are read from IPv4 only is no reason not to suggest it.
pub(crate) fn lints_of_suggestion(compiler: &Compiler, text: &str, clock: &Clock) -> Option<Vec<Diagnostic>> {
    let ast = attempt(text, &compiler.dialect, &compiler.limits)?;
    let mut decider = Decider::new(compiler.limits, clock);
    let mut parts = lower_parts(compiler, &ast, decider.clock).ok()?;
    let linted = Linted { compiler, ast: &ast, source: text, helps: Helps::Left };
    let mut lints = linted.lints(&mut parts, &mut decider);
    lints.retain(|lint| lint.code != Code::NoIpv6);
    Some(lints)
}

/// Whether warnings say what to write instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Helps {
    Made,
    /// Where it is only asked whether there are any.
    Left,
}

/// A filter that is looked at.
#[derive(Clone, Copy)]
struct Linted<'a> {
    compiler: &'a Compiler,
    ast: &'a Ast,
    source: &'a str,
    helps: Helps,
}

impl Linted<'_> {
    fn lints(self, parts: &mut Parts, decider: &mut Decider) -> Vec<Diagnostic> {
        let mut lints = text::lints(self);
        lints.extend(shift::lints(self, parts, decider));
        lints.extend(self.always_or_never(parts, decider));
        lints.extend(self.lost_guards(parts, decider));
        lints.sort_by_key(|lint| (lint.span.start, lint.code));
        lints.dedup_by(|a, b| (a.code, a.span) == (b.code, b.span));
        lints.truncate(LINTS_MAX);
        lints
    }

    /// The parts that no packet satisfies, or every packet.
    fn always_or_never(self, parts: &mut Parts, decider: &mut Decider) -> Vec<Diagnostic> {
        let mut found = parts::lints(self, parts, decider);
        if found.iter().all(|lint| lint.code == Code::NegatedAlternatives) {
            let at_ends = lower_parts_at_ends(self.compiler, self.ast, self.source, decider.clock);
            found
                .extend(at_ends.map(|mut parts| parts::lints(self, &mut parts, decider)).unwrap_or_default());
        }
        found
    }

    fn lost_guards(self, parts: &mut Parts, decider: &mut Decider) -> Vec<Diagnostic> {
        guards::lints(self.ast, guards::unguarded_in(self.ast, self.compiler.linktype(), parts, decider))
    }

    /// Whether a text is a filter that some packet can match, and that nothing is said about.
    fn suits(self, text: &str, decider: &Decider) -> bool {
        self.helps == Helps::Made
            && text.len() <= SUGGESTION_MAX
            && lints_of_suggestion(self.compiler, text, &decider.clock).is_some_and(|lints| lints.is_empty())
    }
}

/// Without the parentheses around it.
fn ungrouped(ast: &Ast, mut id: ExprId) -> ExprId {
    while let Expr::Group(inside) = *ast.expr(id) {
        id = inside;
    }
    id
}

/// By part: the operator whose operand it is.
fn parents(ast: &Ast) -> Vec<Option<ExprId>> {
    let mut parents = vec![None; ast.exprs.len()];
    for id in (0..ast.exprs.len() as u32).map(ExprId) {
        ast.operands(id).for_each(|operand| parents[operand.0 as usize] = Some(id));
    }
    parents
}

/// Whether there is such a primitive in a part.
fn has(ast: &Ast, root: ExprId, is_it: impl Fn(&Expr) -> bool) -> bool {
    let mut pending = vec![root];
    while let Some(id) = pending.pop() {
        if is_it(ast.expr(id)) {
            return true;
        }
        pending.extend(ast.operands(id));
    }
    false
}

fn is_encapsulation(expr: &Expr) -> bool {
    shifts(expr) || *expr == Expr::Pppoed
}

/// Whether there are headers inside, which are looked at by what stands to the right.
fn shifts(expr: &Expr) -> bool {
    shifting_word(expr).is_some()
}

/// The word for headers that have others inside, which are looked at by what stands to the right.
fn shifting_word(expr: &Expr) -> Option<&'static str> {
    Some(match expr {
        Expr::Vlan(_) | Expr::VlanIn(_) => "vlan",
        Expr::Mpls(_) => "mpls",
        Expr::Pppoes(_) => "pppoes",
        Expr::Geneve(_) => "geneve",
        Expr::Vxlan(_) => "vxlan",
        Expr::Atm(AtmType::Lane) => "lane",
        _ => return None,
    })
}
