//! Primitives that are read behind an encapsulation which need not have matched on the way to them.
//!
//! `vlan` and its like move the headers for all that stands to their right, whether they matched or not. The filter is lowered a second time,
//! with encapsulations that end before the other alternative of an `or`, and behind an `or` or `not`: there they need not have matched. Where a
//! primitive then reads something else, and some packet gets another answer, it is told of. (Behind a parenthesis around `vlan and tcp`, the tag
//! has matched: the `scoped` dialect ends it there, too, but nobody is surprised where it does not end.)

use super::decide::Decider;
use super::{Helps, Linted, order, parents, shifting_word, shifts, ungrouped};
use crate::diag::{Code, Diagnostic};
use crate::ir::tree::{Tree, TreeId};
use crate::lower::layers::Layers;
use crate::lower::{self, Parts, Scope, ethertype};
use crate::options::Dialect;
use crate::syntax::ast::{Ast, Expr, ExprId};
use wire::LinkType;

/// Alternatives of a suggestion that is still helpful.
const ALTERNATIVES_MAX: usize = 8;

/// The warnings about encapsulations that need not have matched, one for each.
pub(super) fn lints(linted: Linted<'_>, parts: &mut Parts, decider: &mut Decider) -> Vec<Diagnostic> {
    let Linted { compiler, ast, .. } = linted;
    if compiler.dialect.scoped || !ast.exprs.iter().any(shifts) {
        return Vec::new();
    }
    // The same filter with encapsulations that end where they need not have matched.
    let (tree, options) = (std::mem::take(&mut parts.tree), compiler.lower_options());
    let ending = lower::lower_parts(tree, ast, &options, Some(Scope::Alternative), decider.clock);
    let Ok(ending) = ending else { return Vec::new() };
    parts.tree = ending.tree;
    let misread: Vec<Misread> = misread(ast)
        .into_iter()
        .filter(|misread| {
            let nodes = [parts.record.node(misread.primitive), ending.record.node(misread.primitive)];
            !matches!(nodes, [Some(a), Some(b)] if is_same(&parts.tree, a, b))
        })
        .collect();
    if misread.is_empty() || decider.differ(&mut parts.tree, [parts.root, ending.root]) == Some(false) {
        return Vec::new();
    }
    let parents = parents(ast);
    let mut told: Vec<ExprId> = Vec::new();
    let mut lints = Vec::new();
    for misread in misread {
        if !told.contains(&misread.word) {
            told.push(misread.word);
            let before = ending.record.layers(misread.primitive);
            lints.push(lint(linted, misread, &parents, before, decider));
        }
    }
    lints
}

/// A primitive that is read behind an encapsulation which need not have matched.
#[derive(Clone, Copy)]
struct Misread {
    primitive: ExprId,
    word: ExprId,
}

/// The primitives behind an encapsulation which need not have matched, in the order of the text.
fn misread(ast: &Ast) -> Vec<Misread> {
    let [everywhere, matched] = [Scope::Filter, Scope::Alternative].map(|scope| places(ast, scope));
    let ids = (0..).map(ExprId).zip(everywhere.into_iter().zip(matched));
    ids.filter_map(|(primitive, (word, matched))| {
        let is_primitive =
            !matches!(ast.expr(primitive), Expr::And(..) | Expr::Or(..) | Expr::Not(_) | Expr::Group(_));
        Some(Misread { primitive, word: word.filter(|_| is_primitive && word != matched)? })
    })
    .collect()
}

/// By part: the encapsulation behind which it begins to look.
fn places(ast: &Ast, scope: Scope) -> Vec<Option<ExprId>> {
    let ends = scope != Scope::Filter;
    // The last encapsulation in each part that still holds to its right.
    let mut moves: Vec<Option<ExprId>> = Vec::with_capacity(ast.exprs.len());
    for (id, expr) in (0..).map(ExprId).zip(&ast.exprs) {
        let of = |part: ExprId| moves[part.0 as usize];
        moves.push(match *expr {
            Expr::Or(..) | Expr::Not(_) if ends => None,
            Expr::And(a, b) | Expr::Or(a, b) => of(b).or(of(a)),
            Expr::Not(a) | Expr::Group(a) => of(a),
            ref primitive => shifts(primitive).then_some(id),
        });
    }
    let mut places = vec![None; moves.len()];
    // Operators have greater ids than their operands.
    for (id, expr) in ast.exprs.iter().enumerate().rev() {
        let here = places[id];
        match *expr {
            Expr::And(a, b) | Expr::Or(a, b) => {
                let is_undone = ends && matches!(expr, Expr::Or(..));
                places[a.0 as usize] = here;
                places[b.0 as usize] = moves[a.0 as usize].filter(|_| !is_undone).or(here);
            }
            Expr::Not(a) | Expr::Group(a) => places[a.0 as usize] = here,
            _ => {}
        }
    }
    places
}

/// Whether two parts ask the same.
fn is_same(tree: &Tree, a: TreeId, b: TreeId) -> bool {
    let mut pending = vec![(a, b)];
    while let Some((a, b)) = pending.pop() {
        let is_alike = std::mem::discriminant(&tree.node(a)) == std::mem::discriminant(&tree.node(b));
        let mut operands = tree.operands(a).zip(tree.operands(b)).peekable();
        if !is_alike || (operands.peek().is_none() && tree.node(a) != tree.node(b)) {
            return false;
        }
        pending.extend(operands);
    }
    true
}

fn lint(
    linted: Linted<'_>,
    misread: Misread,
    parents: &[Option<ExprId>],
    before: Option<&Layers>,
    decider: &Decider,
) -> Diagnostic {
    let ast = linted.ast;
    let Misread { primitive, word } = misread;
    let above = |id: ExprId| std::iter::successors(Some(id), |id| parents[id.0 as usize]);
    // The operator that joins the two, and the one that makes that the word need not have matched.
    let around: Vec<ExprId> = above(primitive).collect();
    let way: Vec<ExprId> = above(word).take_while(|id| !around.contains(id)).collect();
    let join = above(word).find(|id| around.contains(id));
    let escaped = way.iter().rev().copied().find(|&id| matches!(ast.expr(id), Expr::Or(..) | Expr::Not(_)));
    let name = shifting_word(ast.expr(word)).unwrap_or("vlan");
    let told = |span, words| Diagnostic::new(Code::ShiftsOffsets, span, words);
    let mut lint = match (join.map(|id| (id, ast.expr(id))), escaped.map(|id| ast.expr(id))) {
        (Some((or, &Expr::Or(left, right))), _) => told(
            ast.span(right),
            "this is looked for inside the encapsulation to its left, although the two are alternatives",
        )
        .help(help_for_alternatives(ast, or, [left, right], name, before)),
        (_, Some(Expr::Not(_))) => {
            return told(
                ast.span(word),
                "this shifts everything to its right, although it stands under `not`",
            )
            .help(format!("put it last, as in `ip and not {name}`, or use the `scoped` dialect"));
        }
        (join, _) => {
            let lint = told(
                ast.span(primitive),
                "this is looked for inside the encapsulation to its left, which need not be there",
            );
            let help = join.and_then(|(and, _)| help_for_conjunction(linted, and, before, decider));
            Diagnostic { help, ..lint }
        }
    };
    lint.also = Some((ast.span(word), "this shifts everything to its right".into()));
    lint
}

/// What to write where one alternative is looked for inside of the other.
fn help_for_alternatives(
    ast: &Ast,
    or: ExprId,
    [left, right]: [ExprId; 2],
    name: &str,
    before: Option<&Layers>,
) -> String {
    // What lies between the ids of two operands is in the second.
    let inside = &ast.exprs[left.0 as usize + 1..=right.0 as usize];
    if !inside.iter().any(shifts) {
        return format!("put `{name}` last, as in `ip or ({name} and ip)`, or use the `scoped` dialect");
    }
    let scoped = "the `scoped` dialect, which looks for both in the same place";
    match before.and_then(|before| instead(ast, or, before)) {
        Some(text) => format!("write `{text}`, or use {scoped}"),
        None => format!("use {scoped}"),
    }
}

/// What to write where something is looked for inside of one alternative, whichever holds: each of them with that.
fn help_for_conjunction(
    linted: Linted<'_>,
    and: ExprId,
    before: Option<&Layers>,
    decider: &Decider,
) -> Option<String> {
    let Linted { compiler, ast, helps, .. } = linted;
    if helps == Helps::Left {
        return None;
    }
    let sides = ast.chain(order::largest_conjunction(ast, and));
    if let Some(text) = order::distributed(linted, &sides, decider) {
        return Some(format!("write `{text}`"));
    }
    // One word, and its numbers compared beside it.
    let one_word = |&side: &ExprId| {
        let or = ungrouped(ast, side);
        let text = matches!(ast.expr(or), Expr::Or(..)).then(|| instead(ast, or, before?)).flatten()?;
        let rest: Vec<ExprId> = sides.iter().copied().filter(|&other| other != side).collect();
        let text = format!("{text} and {}", order::joined(ast, &rest));
        linted.suits(&text, decider).then(|| format!("write `{text}`"))
    };
    sides.iter().find_map(one_word).or_else(|| {
        let scoped = compiler.clone().dialect(Dialect { scoped: true, ..compiler.dialect });
        let text = order::distributed(Linted { compiler: &scoped, ..linted }, &sides, decider)?;
        Some(format!("use the `scoped` dialect, and write `{text}`"))
    })
}

/// The encapsulations that a chain of `or` chooses from, with one that shifts at most; `None` where there is more in it than words.
fn instead(ast: &Ast, or: ExprId, before: &Layers) -> Option<String> {
    let mut words = Vec::new();
    for operand in ast.chain(or) {
        match ast.expr(ungrouped(ast, operand)) {
            Expr::And(..) | Expr::Or(..) | Expr::Not(_) => return None,
            word if shifts(word) => words.push(word),
            _ => {}
        }
    }
    if words.len() > ALTERNATIVES_MAX {
        return None;
    }
    let fields = Fields::of(before)?;
    match words[..] {
        [first, second] if std::mem::discriminant(first) != std::mem::discriminant(second) => {
            let (tested, last) = match fields.test(second) {
                Some(test) => (test, first),
                None => (fields.test(first)?, second),
            };
            Some(format!("{tested} or {}", crate::syntax::fmt::leaf(last)))
        }
        _ => fields.one_word(&words),
    }
}

/// Where Ethernet has what encapsulations are known by, as `link[…]` reads it.
struct Fields {
    ether_type: u32,
    payload: u32,
}

impl Fields {
    fn of(layers: &Layers) -> Option<Fields> {
        let is_ethernet = matches!(
            layers.linktype,
            LinkType::EN10MB | LinkType::NETANALYZER | LinkType::NETANALYZER_TRANSPARENT
        );
        let varies =
            [layers.linkhdr, layers.type_field, layers.payload].iter().any(|at| at.variable.is_some());
        let from_header = |constant: u32| constant.wrapping_sub(layers.linkhdr.constant);
        (is_ethernet && !varies && layers.mpls_depth == 0).then(|| Fields {
            ether_type: from_header(layers.type_field.constant),
            payload: from_header(layers.payload.constant.wrapping_add(layers.net)),
        })
    }

    /// A test for an encapsulation that shifts nothing; of `vlan` it would be a long one.
    fn test(&self, word: &Expr) -> Option<String> {
        let (ethertype, number) = match *word {
            Expr::Mpls(label) => (ethertype::MPLS, label),
            Expr::Pppoes(session) => (ethertype::PPPOES, session),
            _ => return None,
        };
        let test = format!("link[{}:2] = {ethertype:#06x}", self.ether_type);
        Some(match number {
            Some(number) => format!("({test} and {})", self.number(word, number)?),
            None => test,
        })
    }

    /// That the number of an encapsulation is this.
    fn number(&self, word: &Expr, number: u32) -> Option<String> {
        let at = self.payload;
        Some(match word {
            Expr::Vlan(_) => format!("link[{at}:2] & 0xfff = {number}"),
            Expr::Mpls(_) => format!("link[{at}:4] >> 12 = {number}"),
            Expr::Pppoes(_) => format!("link[{}:2] = {number}", at + 2),
            _ => return None,
        })
    }

    /// One word of which the numbers are compared beside it; `pppoes` moves `link[…]` as well, so there they stand first.
    fn one_word(&self, words: &[&Expr]) -> Option<String> {
        let first = *words.first()?;
        let numbers = words.iter().map(|&word| match *word {
            Expr::Vlan(number) | Expr::Mpls(number) | Expr::Pppoes(number)
                if std::mem::discriminant(word) == std::mem::discriminant(first) =>
            {
                self.number(word, number?)
            }
            _ => None,
        });
        let any = numbers.collect::<Option<Vec<_>>>()?.join(" or ");
        let word = shifting_word(first)?;
        Some(match first {
            Expr::Pppoes(_) => format!("({any}) and {word}"),
            _ => format!("{word} and ({any})"),
        })
    }
}
