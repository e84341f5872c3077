//! The lowered tree as text: one operator or test a line, with the guards that its loads imply and the primitive it
//! came from.
//!
//! A chain of one operator is shown as one node with many operands, and below 32 levels the
//! indentation stops and the depth is a number: otherwise a deep text would print gigabytes of spaces.

use super::{Lowered, LoweredProgram};
use crate::ir::print::{Exprs, with_comment};
use crate::ir::tree::{Clause, Set, Tree, TreeId, TreeNode};
use crate::ir::{Pool, Value, ValueId};
use std::fmt::Write;

/// Levels that are shown by indentation.
const DEEPEST: usize = 32;

/// The column of the guards.
const GUARDS: usize = 44;

/// Lists a tree that was lowered from `source`.
///
/// ```
/// # use pflang::Compiler;
/// # use wire::LinkType;
/// let stages = Compiler::new(LinkType::EN10MB).stages("ip[8] < 5")?;
/// assert_eq!(pflang::internals::lower::print::tree(&stages.lowered, "ip[8] < 5"), "\
/// and                                                           ; ip[8] < 5
///   be16[12] == 0x800                           captured >= 14
///   u8[22] < 5                                  captured >= 23
/// ");
/// # Ok::<(), pflang::Error>(())
/// ```
pub fn tree(lowered: &Lowered, source: &str) -> String {
    let tree = &lowered.tree;
    let exprs = Exprs::with_named_places(&tree.pool, evaluated(tree, &[lowered.root]).into_iter());
    let mut out = String::new();
    write_tree(&mut out, tree, &exprs, (lowered.root, 0), source);
    write_named(&mut out, tree, &exprs);
    out
}

/// The clauses of a program, each with its tests.
pub fn program(lowered: &LoweredProgram, source: &str) -> String {
    let tree = &lowered.tree;
    let roots: Vec<TreeId> = lowered.clauses.iter().filter_map(Clause::root).collect();
    let exprs = Exprs::with_named_places(&tree.pool, evaluated(tree, &roots).into_iter());
    let (mut out, mut depth) = (String::new(), 0);
    for clause in &lowered.clauses {
        let head = match clause {
            Clause::Leaf(_, leaf) => format!("to leaf {leaf}, if"),
            Clause::Block(_) => "to the clauses within, if".to_owned(),
            Clause::End => {
                depth -= 1;
                continue;
            }
        };
        let _ = writeln!(out, "{}", indented(depth, &head));
        clause
            .root()
            .into_iter()
            .for_each(|root| write_tree(&mut out, tree, &exprs, (root, depth + 1), source));
        depth += usize::from(matches!(clause, Clause::Block(_)));
    }
    write_named(&mut out, tree, &exprs);
    out + &leaves(lowered)
}

/// The leaves of a program: what each calls.
pub(crate) fn leaves(lowered: &LoweredProgram) -> String {
    let exprs = Exprs::of_pool(&lowered.tree.pool);
    let mut out = String::new();
    for (number, (handler, values)) in (1..).zip(lowered.leaves.iter()) {
        let name = &lowered.handlers[handler as usize];
        let values: Vec<String> = values.iter().map(|&value| exprs.value(value)).collect();
        let arguments = if values.is_empty() { String::new() } else { format!("({})", values.join(", ")) };
        let _ = writeln!(out, "leaf {number}: {name}{arguments}");
    }
    out
}

fn write_tree(
    out: &mut String,
    tree: &Tree,
    exprs: &Exprs<'_>,
    (root, depth): (TreeId, usize),
    source: &str,
) {
    let mut work = vec![(root, depth, None)];
    while let Some((id, depth, parent)) = work.pop() {
        let span = Some(tree.span(id));
        let mut operands = Vec::new();
        let text = match tree.node(id) {
            TreeNode::And(..) => {
                operands = chain(tree, id);
                "and".to_owned()
            }
            TreeNode::Or(..) => {
                operands = chain(tree, id);
                "or".to_owned()
            }
            TreeNode::Not(a) => match leaf(tree, exprs, tree.node(a)) {
                Some(test) => test.line(depth, "not "),
                None => {
                    operands.push(a);
                    "not".to_owned()
                }
            },
            TreeNode::Try(a) => {
                operands.push(a);
                "where it can be evaluated".to_owned()
            }
            node => leaf(tree, exprs, node).map(|test| test.line(depth, "")).unwrap_or_default(),
        };
        work.extend(operands.into_iter().map(|operand| (operand, depth + 1, span)));
        let spans = span.filter(|_| span != parent);
        out.push_str(&with_comment(indented(depth, &text), spans.as_slice(), source));
    }
}

/// What the values are that have names.
fn write_named(out: &mut String, tree: &Tree, exprs: &Exprs<'_>) {
    for value in exprs.named() {
        let definition = Leaf {
            text: format!("{} = {}", exprs.value(value), exprs.definition(value)),
            guards: guards(&tree.pool, exprs, &[value]),
        };
        out.push_str(&definition.line(0, ""));
        out.push('\n');
    }
}

/// A node without operands, as text.
struct Leaf {
    text: String,
    guards: String,
}

impl Leaf {
    /// The guards in a column of their own.
    fn line(&self, depth: usize, before: &str) -> String {
        let width = GUARDS.saturating_sub(2 * depth.min(DEEPEST));
        let text = format!("{before}{}", self.text);
        format!("{text:<width$}  {}", self.guards).trim_end().to_owned()
    }
}

fn leaf(tree: &Tree, exprs: &Exprs<'_>, node: TreeNode) -> Option<Leaf> {
    let pool = &tree.pool;
    let (text, values) = match node {
        TreeNode::True => ("true".to_owned(), Vec::new()),
        TreeNode::False => ("false".to_owned(), Vec::new()),
        TreeNode::Test(cond) => (exprs.cond(cond), pool.cond_operands(cond).collect()),
        TreeNode::In(set) => {
            let Set { value, ranges, .. } = tree.set(set);
            (format!("{} in {} ranges", exprs.value(*value), ranges.len()), vec![*value])
        }
        TreeNode::Eval(value) => (format!("evaluate {}", exprs.value(value)), vec![value]),
        TreeNode::And(..) | TreeNode::Or(..) | TreeNode::Not(_) | TreeNode::Try(_) => return None,
    };
    let guards = guards(pool, exprs, &values);
    Some(Leaf { text, guards })
}

/// The operands of a chain of one operator, the last first.
fn chain(tree: &Tree, root: TreeId) -> Vec<TreeId> {
    let is_and = matches!(tree.node(root), TreeNode::And(..));
    let (mut found, mut pending) = (Vec::new(), vec![root]);
    while let Some(id) = pending.pop() {
        match tree.node(id) {
            TreeNode::And(a, b) if is_and => pending.extend([a, b]),
            TreeNode::Or(a, b) if !is_and => pending.extend([a, b]),
            _ => found.push(id),
        }
    }
    found
}

fn indented(depth: usize, text: &str) -> String {
    let level = if depth > DEEPEST { format!("[{depth}] ") } else { String::new() };
    format!("{:indent$}{level}{text}", "", indent = 2 * depth.min(DEEPEST))
}

/// What must have been captured for `values` to be evaluated. What a named value needs stands where its name is
/// explained.
fn guards(pool: &Pool, exprs: &Exprs<'_>, values: &[ValueId]) -> String {
    let mut fixed = 0;
    let mut guards: Vec<String> = Vec::new();
    let mut pending = values.to_vec();
    while let Some(value) = pending.pop() {
        if let Value::Load { base, offset, size, .. } = pool.get(value) {
            let end = u64::from(offset) + u64::from(size.bytes());
            match pool.as_const(base) {
                Some(k) => fixed = fixed.max(u64::from(k) + end),
                None => guards.push(format!("captured >= {} + {end}", exprs.value(base))),
            }
        }
        pending.extend(pool.operands(value).filter(|&operand| exprs.name(operand).is_none()));
    }
    if fixed > 0 {
        guards.push(format!("captured >= {fixed}"));
    }
    guards.reverse();
    guards.dedup();
    guards.join(", ")
}

/// The values that the tests under these look at.
fn evaluated(tree: &Tree, roots: &[TreeId]) -> Vec<ValueId> {
    let mut values = Vec::new();
    let mut pending = roots.to_vec();
    while let Some(id) = pending.pop() {
        match tree.node(id) {
            TreeNode::Test(cond) => values.extend(tree.pool.cond_operands(cond)),
            TreeNode::In(set) => values.push(tree.set(set).value),
            TreeNode::Eval(value) => values.push(value),
            _ => pending.extend(tree.operands(id)),
        }
    }
    values
}
