//! Warnings about encapsulations that shift what stands to their right, and what to write in place of them.

use super::layers::Layers;
use super::lowerer::Lowerer;
use super::numbers::ethertype;
use crate::diag::{Code, Diagnostic};
use crate::syntax::ast::{Ast, AtmType, Expr, ExprId};
use wire::LinkType;

/// Alternatives of a suggestion that is still helpful.
const ALTERNATIVES_MAX: usize = 8;

impl Lowerer<'_> {
    /// The left operand of an `or` holds an encapsulation word, and everything to its right, in another alternative, is shifted by
    /// it; `before` is where that looked otherwise.
    pub(crate) fn lint_shift(&mut self, ast: &Ast, or: ExprId, before: &Layers) {
        let (Expr::Or(left, right), Some(word)) = (ast.expr(or), self.encapsulation) else { return };
        if self.layers == *before || self.options.dialect.scoped {
            return;
        }
        // What lies between the ids of two operands is in the second.
        let inside = &ast.exprs[left.0 as usize + 1..=right.0 as usize];
        let help = match inside.iter().any(|expr| name(expr).is_some()) {
            true => {
                let scoped = "the `scoped` dialect, which looks for both in the same place";
                match instead(ast, or, before) {
                    Some(text) => format!("write `{text}`, or use {scoped}"),
                    None => format!("use {scoped}"),
                }
            }
            false => {
                let word = name(ast.expr(word)).unwrap_or("vlan");
                format!("put `{word}` last, as in `ip or ({word} and ip)`, or use the `scoped` dialect")
            }
        };
        let mut lint = Diagnostic::new(
            Code::ShiftsOffsets,
            ast.span(*right),
            "this is looked for inside the encapsulation to its left, although the two are alternatives",
        )
        .help(help);
        lint.also = Some((ast.span(word), "this shifts everything to its right".into()));
        self.lint(lint);
    }

    /// `not vlan and …`: what follows is looked for inside a tag that is not there.
    pub(crate) fn lint_negated_shift(&mut self, ast: &Ast, word: ExprId) {
        if self.options.dialect.scoped {
            return;
        }
        let name = name(ast.expr(word)).unwrap_or("vlan");
        let lint = Diagnostic::new(
            Code::ShiftsOffsets,
            ast.span(word),
            "this shifts everything to its right, although it stands under `not`",
        )
        .help(format!("put it last, as in `ip and not {name}`, or use the `scoped` dialect"));
        self.lint(lint);
    }
}

/// How an encapsulation is called that shifts what follows.
fn name(expr: &Expr) -> Option<&'static str> {
    Some(match expr {
        Expr::Vlan(_) => "vlan",
        Expr::Mpls(_) => "mpls",
        Expr::Pppoes(_) => "pppoes",
        Expr::Geneve(_) => "geneve",
        Expr::Vxlan(_) => "vxlan",
        Expr::Atm(AtmType::Lane) => "lane",
        _ => return None,
    })
}

/// The encapsulations that a chain of `or` chooses from, with one that shifts at most; `None` where there is more in it than words.
fn instead(ast: &Ast, or: ExprId, before: &Layers) -> Option<String> {
    let mut words = Vec::new();
    let mut rest = Some(or);
    while let Some(id) = rest {
        let (operand, next) = match *ast.expr(id) {
            Expr::Or(left, right) => (right, Some(left)),
            _ => (id, None),
        };
        let mut operand = operand;
        while let Expr::Group(inside) = *ast.expr(operand) {
            operand = inside;
        }
        match ast.expr(operand) {
            Expr::And(..) | Expr::Or(..) | Expr::Not(_) => return None,
            word if name(word).is_some() => words.push(word),
            _ => {}
        }
        rest = next;
    }
    words.reverse();
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
        let word = name(first)?;
        Some(match first {
            Expr::Pppoes(_) => format!("({any}) and {word}"),
            _ => format!("{word} and ({any})"),
        })
    }
}
