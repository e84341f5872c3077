//! The views of one small graph, and dominators against their definition.

use super::build::build;
use super::dominators::Dominators;
use super::tree::{Tree, TreeNode};
use super::verify::{Violation, verify, verify_while};
use super::{Arm, BinOp, CmpOp, Cond, Graph, NodeId, Pool, Size, Switch, Value, ValueId};
use super::{anf, print, ssa};
use crate::span::Span;

const SOURCE: &str = "ip[ip[0]] = 7 and ip";

fn graph() -> Graph {
    let mut tree = Tree::default();
    let pool = &mut tree.pool;
    let (zero, seven, ip) = (pool.constant(0), pool.constant(7), pool.constant(0x800));
    let first = pool.load(zero, 14, Size::B1);
    let indirect = pool.load(first, 14, Size::B1);
    let kind = pool.load(zero, 12, Size::B2);
    let (is_seven, is_ip) = (Cond::Cmp(CmpOp::Eq, indirect, seven), Cond::Cmp(CmpOp::Eq, kind, ip));
    let (is_seven, is_ip) = (pool.cond(is_seven), pool.cond(is_ip));
    let a = tree.push(TreeNode::Test(is_seven), Span::new(0, 13));
    let b = tree.push(TreeNode::Test(is_ip), Span::new(18, 20));
    let root = tree.push(TreeNode::And(a, b), Span::new(0, 20));
    build(tree, &[(root, 1)])
}

#[test]
fn listing() {
    let expected = "\
L0:  captured >= 15               ? L1 : reject               ; ip[ip[0]] = 7
L1:  captured >= u8[14] + 15      ? L2 : reject               ; ip[ip[0]] = 7
L2:  u8[u8[14] + 14] == 7         ? L3 : reject               ; ip[ip[0]] = 7
L3:  captured >= 14               ? L4 : reject               ; ip
L4:  be16[12] == 0x800            ? accept : reject           ; ip
";
    assert_eq!(print::listing(&graph(), SOURCE), expected);
}

#[test]
fn anf_names_each_value_where_it_is_first_needed() {
    let expected = "\
L0:  if captured >= 15 then L1 else reject                    ; ip[ip[0]] = 7
L1:  let v0 = u8[14]
     if captured >= v0 + 15 then L2 else reject               ; ip[ip[0]] = 7
L2:  let v1 = u8[v0 + 14]
     if v1 == 7 then L3 else reject                           ; ip[ip[0]] = 7
L3:  if captured >= 14 then L4 else reject                    ; ip
L4:  let v2 = be16[12]
     if v2 == 0x800 then accept else reject                   ; ip
";
    assert_eq!(anf::view(&graph(), SOURCE), expected);
}

#[test]
fn ssa_shows_blocks_with_dominators() {
    let text = ssa::view(&graph(), SOURCE);
    let block = "\
b2: from b1, idom b1                                          ; ip[ip[0]] = 7
    v1 = load u8 [v0 + 14]
    br (eq v1, 7), b3, reject
";
    assert!(text.contains(block), "{text}");
    assert!(text.contains("reject: from b0 b1 b2 b3 b4, idom b0\n    ret 0\n"), "{text}");
}

#[test]
fn deep_expressions_print_in_linear_space() {
    let mut pool = Pool::default();
    let zero = pool.constant(0);
    let mut value = pool.load(zero, 0, Size::B1);
    for _ in 0..100_000 {
        value = pool.op(BinOp::Mul, value, value);
    }
    let cond = pool.cond(Cond::Cmp(CmpOp::Eq, value, zero));
    let mut graph = Graph::new(pool);
    let (yes, no) = (graph.leaf(1), graph.leaf(0));
    graph.root = graph.branch(cond, yes, no);
    assert!(print::listing(&graph, "").len() < 10_000_000);
    assert!(ssa::view(&graph, "").len() < 10_000_000);
}

#[test]
fn dominators_are_what_every_path_passes() {
    let graph = braided();
    let order = graph.topological();
    let dominators = Dominators::new(&graph, &order);
    for &a in &order {
        let reachable = reachable_without(&graph, a);
        for &b in &order {
            let expected = a == b || !reachable[b.index()];
            assert_eq!(dominators.dominates(a, b), expected, "{a:?} {b:?}");
        }
    }
}

/// Two ways to one load at `4 * (u8[0] & 15) + 2`, each behind a guard of its own: `(base varies, end)`.
fn two_ways(guards: [(bool, u32); 2]) -> Result<(), Violation> {
    let mut pool = Pool::default();
    let (zero, two, fifteen) = (pool.constant(0), pool.constant(2), pool.constant(15));
    let first = pool.load(zero, 0, Size::B1);
    let low = pool.op(BinOp::And, first, fifteen);
    let base = pool.op(BinOp::Shl, low, two);
    let load = pool.load(base, 2, Size::B2);
    let ways = guards.map(|(varies, end)| Cond::Bounds { base: if varies { base } else { zero }, end });
    let (ways, is_zero) = (ways.map(|way| pool.cond(way)), pool.cond(Cond::Cmp(CmpOp::Eq, load, zero)));
    let (enough, which) = (pool.cond(Cond::Bounds { base: zero, end: 1 }), pool.cond(Cond::Test(first, two)));
    let mut graph = Graph::new(pool);
    let (yes, no) = (graph.leaf(1), graph.leaf(0));
    let test = graph.branch(is_zero, yes, no);
    let ways = ways.map(|way| graph.branch(way, test, no));
    let fork = graph.branch(which, ways[0], ways[1]);
    graph.root = graph.branch(enough, fork, no);
    verify(&graph)
}

/// The base of a guard is kept only where every path has computed it: one that knows the length alone has not, and where
/// the two join the base would be read again, after the check on the other path.
#[test]
fn guards_join_with_guards_and_lengths_with_lengths() {
    let (guard, length) = ((true, 4), (false, 64));
    assert_eq!(two_ways([guard, guard]), Ok(()));
    assert_eq!(two_ways([guard, (true, 9)]), Ok(()));
    assert_eq!(two_ways([length, length]), Ok(()));
    assert_eq!(two_ways([length, (false, 80)]), Ok(()));
    let short = [[guard, (true, 3)], [length, (false, 63)]];
    for ways in [[guard, length], [length, guard]].into_iter().chain(short) {
        assert!(matches!(two_ways(ways), Err(Violation::Unguarded(..))), "{ways:?}");
    }
}

/// How often the verifier looks at the clock while it checks loads inside each other, each with a guard of its own.
fn looks_at_nested_loads(depth: u32) -> u32 {
    let mut pool = Pool::default();
    let (zero, mut address) = (pool.constant(0), pool.constant(0));
    let mut guards = Vec::new();
    for _ in 0..depth {
        guards.push(pool.cond(Cond::Bounds { base: address, end: 1 }));
        address = pool.load(address, 0, Size::B1);
    }
    let is_zero = pool.cond(Cond::Cmp(CmpOp::Eq, address, zero));
    let mut graph = Graph::new(pool);
    let (yes, no) = (graph.leaf(1), graph.leaf(0));
    let test = graph.branch(is_zero, yes, no);
    graph.root = guards.iter().rev().fold(test, |next, &guard| graph.branch(guard, next, no));
    let mut looks = 0;
    let checked = verify_while(&graph, || {
        looks += 1;
        Ok::<_, std::convert::Infallible>(())
    });
    assert_eq!(checked, Ok(Ok(())));
    assert_eq!(looks == 0, verify_while(&graph, || Err(())).is_ok(), "it stops when told to");
    looks
}

#[test]
fn loads_inside_each_other_are_checked_once_each() {
    let [few, many] = [5_000, 25_000].map(looks_at_nested_loads);
    assert!(few > 0 && many <= 5 * (few + 1), "{few} looks, and of five times as many loads {many}");
}

/// Sixty nodes that branch forward in a fixed disorder.
fn braided() -> Graph {
    let mut pool = Pool::default();
    let zero = pool.constant(0);
    let bytes: Vec<_> = (0..60).map(|i| pool.load(zero, i, Size::B1)).collect();
    let conds: Vec<_> = bytes.iter().map(|&byte| pool.cond(Cond::Cmp(CmpOp::Eq, byte, zero))).collect();
    let mut graph = Graph::new(pool);
    let mut nodes = vec![graph.leaf(0), graph.leaf(1)];
    for (i, &cond) in conds.iter().enumerate() {
        let pick = |k: usize| nodes[nodes.len() - 1 - (i * k + i / 7) % nodes.len().min(5)];
        let (a, b, c) = (pick(1), pick(3), nodes[nodes.len() - 1]);
        let arm = |k, target| Arm { low: k, high: k, target };
        let node = if i % 9 == 8 {
            graph.switch(Switch { value: bytes[i], arms: vec![arm(1, a), arm(5, b)], default: c })
        } else {
            graph.branch(cond, if a == b { c } else { a }, b)
        };
        nodes.push(node);
    }
    graph.root = nodes[nodes.len() - 1];
    graph
}

fn reachable_without(graph: &Graph, without: NodeId) -> Vec<bool> {
    let mut reached = vec![false; graph.node_count()];
    let mut pending = vec![graph.root];
    while let Some(id) = pending.pop() {
        if id != without && !std::mem::replace(&mut reached[id.index()], true) {
            graph.node(id).for_each_successor(|next| pending.push(next));
        }
    }
    reached
}

/// Ids are plain numbers, which anybody can make.
#[test]
fn a_value_made_of_itself_does_not_verify() {
    let mut pool = Pool::default();
    let itself = pool.load(ValueId(0), 0, Size::B1);
    assert_eq!(itself, ValueId(0));
    let mut graph = Graph::new(pool);
    let (yes, no) = (graph.leaf(1), graph.leaf(0));
    let within = graph.pool.cond(Cond::Bounds { base: itself, end: 1 });
    graph.root = graph.branch(within, yes, no);
    assert_eq!(verify(&graph), Err(Violation::Operand(itself)));
}

/// A row is as wide as what is read of it, however the value was made.
#[test]
fn inputs_widen_the_row() {
    let mut pool = Pool::default();
    pool.value(Value::Input(6));
    assert_eq!(pool.inputs(), 7);
}
