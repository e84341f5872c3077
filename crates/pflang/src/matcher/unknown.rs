//! Three-valued evaluation (Kleene, 1938): what a program answers while some of its inputs are not known.
//!
//! Of each test that names such an input two trees are made: `may`, which holds wherever the test could hold, and `must`, which holds where it holds
//! whatever the input is. `tcp and app = 7` may hold for all of TCP and must hold for nothing. A clause becomes two: `must => its handler`, then
//! `may => open`. So the first clause that decides for certain is reached only by packets that no clause before it left open. A block becomes `must => { its clauses }`,
//! then `may => open`.

use super::Matcher;
use super::compile::ParsedMatch;
use crate::compiler::Compiler;
use crate::diag::Error;
use crate::ir::tree::{Clause, Tree, TreeId, TreeNode};
use crate::ir::{Cond, Value, ValueId};
use crate::lower::{self, LoweredProgram};
use crate::syntax::program::Line;
use std::collections::HashSet;

impl Compiler {
    /// Compiles what a program answers while inputs of these names are not known: the handler that it calls whatever they are, or the handler `open` where
    /// that depends on them. `open` is the last handler; a program that names it itself means the same one.
    ///
    /// ```
    /// use pflang::{Compiler, LinkType};
    ///
    /// let compiler = Compiler::new(LinkType::EN10MB).inputs(["app"]);
    /// let program = "match { len > 90 => long, len > 50 and app = 7 => seven, otherwise => rest }";
    /// let matcher = compiler.compile_match_without(program, &["app"], "open")?;
    /// let mut values = Vec::new();
    /// let mut call = |len| matcher.call_captured(&[], len, &[0], &mut values).map(|call| call.handler.to_owned());
    /// assert_eq!([call(100), call(60), call(40)].map(Option::unwrap), ["long", "open", "rest"]);
    /// # Ok::<(), pflang::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Compiler::compile_match`], but what is wrong behind a line that decides about all packets that come to it may not be reported: lines that
    /// no packet comes to need not be compiled.
    pub fn compile_match_without(
        &self,
        source: &str,
        unknown: &[&str],
        open: &str,
    ) -> Result<Matcher, Error> {
        self.compile_parsed_without(&self.parse_match(source)?, unknown, open)
    }

    /// The same of a program that [`Compiler::parse_match`] of this compiler has read.
    ///
    /// # Errors
    /// As for [`Compiler::compile_match`], but what is wrong behind a line that decides about all packets that come to it may not be reported: lines that
    /// no packet comes to need not be compiled.
    pub fn compile_parsed_without(
        &self,
        parsed: &ParsedMatch,
        unknown: &[&str],
        open: &str,
    ) -> Result<Matcher, Error> {
        let inputs = &parsed.program.ast.inputs;
        let slots: HashSet<u32> = (0..)
            .zip(inputs)
            .filter(|(_, name)| unknown.contains(&name.as_str()))
            .map(|(at, _)| at)
            .collect();
        // All ways share one time.
        let parsed = parsed.again(self);
        if let Some(matcher) = self.decided_early(&parsed, &slots, open) {
            return Ok(matcher);
        }
        if let Some(matcher) = self.looked_up(&parsed, parsed.clock, Some((&slots, open))) {
            return Ok(matcher);
        }
        let mut read = self.lower_match(parsed)?;
        make_open(&mut read.lowered, &slots, open);
        self.matcher(&read)
    }

    /// The same where one of the first clauses decides about all packets that come to it, such as the first that asks an unknown input alone: those behind it are not looked
    /// at, which may be a hundred thousand. `None` for all other programs, and where something is wrong.
    fn decided_early(&self, parsed: &ParsedMatch, slots: &HashSet<u32>, open: &str) -> Option<Matcher> {
        let lines = &parsed.program.lines;
        let asks_packets = lines.iter().any(|line| match line {
            Line::Clause(clause) => clause.call.as_ref().is_some_and(|call| !call.arguments.is_empty()),
            Line::End => false,
        });
        // No block is cut.
        let mut depth = 0_usize;
        let end = 1 + lines.iter().enumerate().position(|(at, line)| {
            match line {
                Line::Clause(clause) => depth += usize::from(clause.call.is_none()),
                Line::End => depth = depth.saturating_sub(1),
            }
            at + 1 >= FIRST_LINES && depth == 0
        })?;
        if asks_packets || end == lines.len() {
            return None;
        }
        let options = self.lower_options();
        let (mut lowered, _) =
            lower::lower_lines(&parsed.program, &options, parsed.clock, |line| line < end).ok()?;
        if !make_open(&mut lowered, slots, open) {
            return None;
        }
        self.matcher(&parsed.clone().with(lowered)).ok()
    }
}

/// How many lines of a long program are looked at first.
const FIRST_LINES: usize = 64;

/// Makes a program of what it answers without some inputs. Says whether one of its clauses decides about all packets that come to it.
fn make_open(lowered: &mut LoweredProgram, slots: &HashSet<u32>, open: &str) -> bool {
    let leaf = open_leaf(lowered, open);
    let clauses: Vec<(usize, Clause)> =
        std::mem::take(&mut lowered.clauses).into_iter().enumerate().collect();
    let clauses = without(lowered, &clauses, slots, leaf);
    lowered.clauses = clauses.into_iter().map(|(_, clause)| clause).collect();
    matches!(lowered.clauses.last(), Some(Clause::Leaf(root, _)) if lowered.tree.node(*root) == TreeNode::True)
}

/// The leaf where the answer depends on what is not known.
pub(super) fn open_leaf(lowered: &mut LoweredProgram, open: &str) -> u32 {
    let number = lowered.handlers.iter().position(|name| name == open).unwrap_or_else(|| {
        lowered.handlers.push(open.to_owned());
        lowered.handlers.len() - 1
    });
    lowered.leaves.add(number as u32, &[])
}

/// The clauses of a program whose inputs in `slots` are not known, each with the number of the one that it came from; `open` is the leaf where the answer
/// depends on them.
pub(super) fn without(
    lowered: &mut LoweredProgram,
    clauses: &[(usize, Clause)],
    slots: &HashSet<u32>,
    open: u32,
) -> Vec<(usize, Clause)> {
    let LoweredProgram { tree, leaves, .. } = lowered;
    let depends = values_that_depend(tree, slots);
    let leaf_depends: Vec<bool> =
        leaves.iter().map(|(_, values)| values.iter().any(|value| depends[value.0 as usize])).collect();
    let bounds = bounds(tree, &depends);
    let mut out = Vec::with_capacity(clauses.len());
    // How many blocks are open that are left out, since whether they are entered is known of no packet.
    let mut left_out = 0;
    // Of those that are not: where each came from, and what may enter it besides what must.
    let mut open_blocks: Vec<(usize, Option<TreeId>)> = Vec::new();
    for &(from, clause) in clauses {
        let is_all = |clause: &(usize, Clause)| matches!(clause.1, Clause::Leaf(root, _) if tree.node(root) == TreeNode::True);
        if left_out == 0 && open_blocks.is_empty() && out.last().is_some_and(is_all) {
            // No packet comes further.
            break;
        }
        let mut push = |clause| out.push((from, clause));
        match clause {
            Clause::Block(_) if left_out > 0 => left_out += 1,
            Clause::End if left_out > 0 => left_out -= 1,
            _ if left_out > 0 => {}
            Clause::End => {
                push(Clause::End);
                if let Some((from, Some(may))) = open_blocks.pop() {
                    out.push((from, Clause::Leaf(may, open)));
                }
            }
            Clause::Block(root) => match bounds[root.index()] {
                None => {
                    push(Clause::Block(root));
                    open_blocks.push((from, None));
                }
                Some(Bounds { may, must }) if tree.node(must) == TreeNode::False => {
                    push(Clause::Leaf(may, open));
                    left_out = 1;
                }
                Some(Bounds { may, must }) => {
                    push(Clause::Block(must));
                    open_blocks.push((from, Some(may)));
                }
            },
            Clause::Leaf(root, leaf) => {
                let depends = |leaf: u32| leaf_depends.get(leaf.checked_sub(1)? as usize).copied();
                let value_depends = depends(leaf).unwrap_or(false);
                match bounds[root.index()] {
                    None => push(Clause::Leaf(root, if value_depends { open } else { leaf })),
                    Some(Bounds { may, must }) => {
                        if !value_depends && tree.node(must) != TreeNode::False {
                            push(Clause::Leaf(must, leaf));
                        }
                        push(Clause::Leaf(may, open));
                    }
                }
            }
        }
    }
    out
}

/// What a test may be at most, and must be at least.
#[derive(Clone, Copy)]
struct Bounds {
    may: TreeId,
    must: TreeId,
}

/// By value of the pool: whether it depends on an input that is not known.
fn values_that_depend(tree: &Tree, slots: &HashSet<u32>) -> Vec<bool> {
    let mut depends = Vec::with_capacity(tree.pool.value_count());
    for id in 0..tree.pool.value_count() as u32 {
        let id = ValueId(id);
        let is_unknown = matches!(tree.pool.get(id), Value::Input(slot) if slots.contains(&slot));
        let depends_on = |operand: ValueId| depends.get(operand.0 as usize).copied().unwrap_or(false);
        depends.push(is_unknown || tree.pool.operands(id).any(depends_on));
    }
    depends
}

/// By node of the tree: its bounds, of one that depends on what is not known.
fn bounds(tree: &mut Tree, depends: &[bool]) -> Vec<Option<Bounds>> {
    let depends_cond = |tree: &Tree, cond| match tree.pool.get_cond(cond) {
        Cond::Bounds { base, .. } => depends[base.0 as usize],
        _ => tree.pool.cond_operands(cond).any(|value| depends[value.0 as usize]),
    };
    let count = tree.len();
    let mut all: Vec<Option<Bounds>> = Vec::with_capacity(count);
    for at in 0..count as u32 {
        let id = TreeId(at);
        let span = tree.span(id);
        let of = |all: &[Option<Bounds>], id: TreeId| all[id.index()].unwrap_or(Bounds { may: id, must: id });
        let both = |tree: &mut Tree, a: Bounds, b: Bounds, join: fn(TreeId, TreeId) -> TreeNode| {
            let may = joined(tree, join(a.may, b.may), span);
            Bounds { may, must: joined(tree, join(a.must, b.must), span) }
        };
        let node = tree.node(id);
        let is_open = match node {
            TreeNode::True | TreeNode::False => false,
            TreeNode::Test(cond) => depends_cond(tree, cond),
            TreeNode::In(set) => depends[tree.set(set).value.0 as usize],
            TreeNode::Eval(value) => depends[value.0 as usize],
            _ => tree.operands(id).any(|operand| all[operand.index()].is_some()),
        };
        all.push(is_open.then(|| match node {
            TreeNode::And(a, b) => both(tree, of(&all, a), of(&all, b), TreeNode::And),
            TreeNode::Or(a, b) => both(tree, of(&all, a), of(&all, b), TreeNode::Or),
            TreeNode::Not(a) => {
                let Bounds { may, must } = of(&all, a);
                let turned = |tree: &mut Tree, a| joined(tree, TreeNode::Not(a), span);
                Bounds { may: turned(tree, must), must: turned(tree, may) }
            }
            TreeNode::Try(a) => {
                let Bounds { may, must } = of(&all, a);
                Bounds {
                    may: joined(tree, TreeNode::Try(may), span),
                    must: joined(tree, TreeNode::Try(must), span),
                }
            }
            _ => {
                let may = tree.push(TreeNode::True, span);
                Bounds { may, must: tree.push(TreeNode::False, span) }
            }
        }));
    }
    all
}

/// A node, where constants have made it simpler.
fn joined(tree: &mut Tree, node: TreeNode, span: crate::Span) -> TreeId {
    use TreeNode::{And, False, Not, Or, True, Try};
    let constant = |id: TreeId| match tree.node(id) {
        True => Some(true),
        False => Some(false),
        _ => None,
    };
    let node = match node {
        And(a, b) => match (constant(a), constant(b)) {
            (Some(true), _) => return b,
            (_, Some(true)) => return a,
            (Some(false), _) | (_, Some(false)) => False,
            _ => node,
        },
        Or(a, b) => match (constant(a), constant(b)) {
            (Some(false), _) => return b,
            (_, Some(false)) => return a,
            (Some(true), _) => True,
            (_, Some(true)) => True,
            _ => node,
        },
        Not(a) => match constant(a) {
            Some(true) => False,
            Some(false) => True,
            None => node,
        },
        Try(a) if constant(a).is_some() => return a,
        _ => node,
    };
    tree.push(node, span)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LinkType;

    fn answers(program: &str, unknown: &[&str], len: u32, row: &[u32]) -> String {
        let compiler = Compiler::new(LinkType::EN10MB).inputs(["a", "b"]);
        let matcher = compiler.compile_match_without(program, unknown, "open").unwrap();
        let mut values = Vec::new();
        let call = matcher.call_captured(&[], len, row, &mut values);
        call.map_or("none".to_owned(), |call| call.to_string())
    }

    #[test]
    fn what_does_not_depend_on_them_is_decided() {
        for (program, len, expected) in [
            ("match { a = 1 => x, otherwise => y }", 0, "open"),
            ("match { len > 50 => z, a = 1 => x }", 60, "z"),
            ("match { len > 50 and a = 1 => x, otherwise => y }", 40, "y"),
            ("match { len > 50 or a = 1 => x, otherwise => y }", 60, "x"),
            ("match { len > 50 or a = 1 => x, otherwise => y }", 40, "open"),
            ("match { not (len > 50 and a = 1) => x, otherwise => y }", 40, "x"),
            ("match { not (len > 50 or a = 1) => x, otherwise => y }", 60, "y"),
            ("match { a = 1 => { len > 50 => x }, otherwise => y }", 60, "open"),
            ("match { len > 90 => { a = 1 => x }, otherwise => y }", 95, "open"),
            ("match { len > 90 => { len > 99 => z }, otherwise => y }", 95, "none"),
            ("match { len > 50 => x(a), otherwise => y }", 60, "open"),
            ("match { len > 50 or a = 1 => { len > 60 => x }, otherwise => y }", 70, "x"),
            ("match { len > 50 or a = 1 => { len > 60 => x }, otherwise => y }", 55, "none"),
            ("match { len > 50 or a = 1 => { len > 60 => x }, otherwise => y }", 40, "open"),
            (
                "match { len > 50 or a = 1 => { b = 2 or a = 3 => { len > 60 => x } }, otherwise => y }",
                70,
                "x",
            ),
            ("match { len > 50 or a = 1 => { a = 3 => x, len > 60 => z }, otherwise => y }", 70, "open"),
            ("match { b = 2 => x, otherwise => y }", 0, "x"),
            ("match { a = 1 => { b = 2 => { len > 1 => x } }, otherwise => y }", 0, "open"),
        ] {
            assert_eq!(answers(program, &["a"], len, &[1, 2]), expected, "{program} of {len}");
        }
        assert_eq!(answers("match { a = 1 => x, otherwise => y }", &[], 0, &[1, 2]), "x");
    }

    /// Where it answers, the whole program gives the same answer for every value of the inputs.
    #[test]
    fn an_answer_holds_whatever_the_inputs_are() {
        let compiler = Compiler::new(LinkType::EN10MB).inputs(["a", "b"]);
        for program in [
            "match { a = 1 and len > 50 => x, b = 1 or len > 80 => y, not (a = 0 or len < 20) => z, otherwise => w }",
            "match { len > 90 => { a = 1 => x, b = 0 => y }, (a = 1 or b = 1) and not (len > 30) => z }",
            "match { len > 60 or a = 1 => { len > 80 or b = 1 => { len > 90 => x, a = 0 => y } len < 70 => z }, b = 1 => w }",
        ] {
            let (whole, part) = (
                compiler.compile_match(program).unwrap(),
                compiler.compile_match_without(program, &["a", "b"], "open").unwrap(),
            );
            let mut values = Vec::new();
            for len in 0..100 {
                let certain = part.call_captured(&[], len, &[0, 0], &mut values).map(|call| call.to_string());
                let possible: HashSet<_> = [[0, 0], [0, 1], [1, 0], [1, 1]]
                    .iter()
                    .map(|row| whole.call_captured(&[], len, row, &mut values).map(|call| call.to_string()))
                    .collect();
                if certain.as_deref() != Some("open") {
                    assert_eq!(possible, HashSet::from([certain]), "{program} of {len}");
                } else {
                    assert!(possible.len() > 1, "{program} of {len}: {possible:?}");
                }
            }
        }
    }
}
