//! The passes against the unoptimised graph in the interpreter, over random trees and packets that walk them.

mod meaning;
mod random;

use super::fold::fold;
use super::rebuild::Room;
use super::{Passes, optimise, optimise_within};
use crate::budget::Budget;
use crate::ir::build::{build, build_within};
use crate::ir::interp::Interp;
use crate::ir::print::listing;
use crate::ir::tree::{Tree, TreeId, TreeNode};
use crate::ir::verify::verify;
use crate::ir::{BinOp, CmpOp, Cond, Graph, Node, Size, Value, ValueId};
use crate::span::Span;
use random::{Rng, directed_packets, random_arms, random_clauses};

/// Trees by hand, as lowering writes them.
#[derive(Default)]
struct Maker {
    tree: Tree,
}

impl Maker {
    fn load(&mut self, offset: u32, bytes: u32) -> ValueId {
        let base = self.tree.pool.constant(0);
        self.tree.pool.load(base, offset, Size::from_bytes(bytes).expect("1, 2 or 4"))
    }

    fn op(&mut self, op: BinOp, a: ValueId, k: u32) -> ValueId {
        let k = self.tree.pool.constant(k);
        self.tree.pool.op(op, a, k)
    }

    fn push(&mut self, node: TreeNode) -> TreeId {
        let at = self.tree.len() as u32;
        self.tree.push(node, Span::new(at, at + 1))
    }

    fn is(&mut self, a: ValueId, k: u32) -> TreeId {
        let k = self.tree.pool.constant(k);
        let cond = self.tree.pool.cond(Cond::Cmp(CmpOp::Eq, a, k));
        self.push(TreeNode::Test(cond))
    }

    fn byte_or_more(&mut self, offset: u32, bytes: u32, k: u32) -> TreeId {
        let load = self.load(offset, bytes);
        self.is(load, k)
    }

    fn and(&mut self, a: TreeId, b: TreeId) -> TreeId {
        self.push(TreeNode::And(a, b))
    }

    fn or(&mut self, a: TreeId, b: TreeId) -> TreeId {
        self.push(TreeNode::Or(a, b))
    }

    fn not(&mut self, a: TreeId) -> TreeId {
        self.push(TreeNode::Not(a))
    }

    fn any(&mut self, of: impl IntoIterator<Item = TreeId>) -> TreeId {
        let all: Vec<TreeId> = of.into_iter().collect();
        all.into_iter().reduce(|a, b| self.or(a, b)).expect("at least one")
    }

    /// Ports as libpcap finds them: no fragments, behind the IPv4 options or the fixed IPv6 header.
    fn port(&mut self, protocols: &[u32], port: u32) -> TreeId {
        let ip6 = self.byte_or_more(12, 2, 0x86dd);
        let next: Vec<TreeId> = protocols.iter().map(|&p| self.byte_or_more(20, 1, p)).collect();
        let (src, dst) = (self.byte_or_more(54, 2, port), self.byte_or_more(56, 2, port));
        let (next, ports) = (self.any(next), self.or(src, dst));
        let over_ip6 = self.and(next, ports);
        let over_ip6 = self.and(ip6, over_ip6);

        let ip = self.byte_or_more(12, 2, 0x800);
        let protocol: Vec<TreeId> = protocols.iter().map(|&p| self.byte_or_more(23, 1, p)).collect();
        let protocol = self.any(protocol);
        let fragment = self.load(20, 2);
        let mask = self.tree.pool.constant(0x1fff);
        let fragment = self.tree.pool.cond(Cond::Test(fragment, mask));
        let fragment = self.push(TreeNode::Test(fragment));
        let first = self.not(fragment);
        let version = self.load(14, 1);
        let words = self.op(BinOp::And, version, 0xf);
        let header = self.op(BinOp::Shl, words, 2);
        let (src, dst) =
            (self.tree.pool.load(header, 14, Size::B2), self.tree.pool.load(header, 16, Size::B2));
        let (src, dst) = (self.is(src, port), self.is(dst, port));
        let ports = self.or(src, dst);
        let over_ip = self.and(first, ports);
        let over_ip = self.and(protocol, over_ip);
        let over_ip = self.and(ip, over_ip);
        self.or(over_ip6, over_ip)
    }

    /// A host as libpcap finds it: in IPv4, ARP and RARP.
    fn host(&mut self, address: u32) -> TreeId {
        let one = |maker: &mut Maker, protocol, src, dst| {
            let protocol = maker.byte_or_more(12, 2, protocol);
            let (src, dst) = (maker.byte_or_more(src, 4, address), maker.byte_or_more(dst, 4, address));
            let either = maker.or(src, dst);
            maker.and(protocol, either)
        };
        let all = [one(self, 0x800, 26, 30), one(self, 0x806, 28, 38), one(self, 0x8035, 28, 38)];
        self.any(all)
    }

    fn graph(self, root: TreeId) -> Graph {
        build(self.tree, &[(root, 1)])
    }
}

/// Checks that a graph and what becomes of it answer alike; gives the latter.
fn check(graph: &Graph, packets: &[Vec<u8>], seed: u64) -> Graph {
    check_passes(graph, Passes::ALL, packets, seed)
}

fn check_passes(graph: &Graph, passes: Passes, packets: &[Vec<u8>], seed: u64) -> Graph {
    verify(graph).unwrap_or_else(|violation| panic!("seed {seed}: the test's own graph: {violation:?}"));
    let optimised = optimise_within(fold(graph), passes, &|| false).expect("there is time");
    verify(&optimised).unwrap_or_else(|violation| {
        panic!("seed {seed}: {violation:?}\n{}\n{}", listing(graph, ""), listing(&optimised, ""))
    });
    let (mut reference, mut subject) = (Interp::new(graph), Interp::new(&optimised));
    for data in packets {
        for len in 0..=data.len() {
            let (captured, wire_len) = (&data[..len], data.len() as u32);
            let (expected, found) = (reference.run(captured, wire_len), subject.run(captured, wire_len));
            assert_eq!(
                expected,
                found,
                "seed {seed}, packet {data:02x?} cut to {len}\n{}\n{}",
                listing(graph, ""),
                listing(&optimised, "")
            );
        }
    }
    optimised
}

fn nodes(graph: &Graph) -> usize {
    graph.topological().len()
}

#[test]
fn random_clauses_mean_what_their_definition_says() {
    let mut reached = [0, 0];
    for seed in 1..=1500 {
        let mut rng = Rng::new(seed);
        let (tree, clauses) = random_clauses(&mut rng);
        let graph = build_within(tree.clone(), &clauses, &Budget::unlimited()).expect("no bound");
        let optimised = optimise(&graph);
        let (mut as_built, mut optimised) = (Interp::new(&graph), Interp::new(&optimised));
        for packet in directed_packets(&graph, &mut rng) {
            let wire_len = packet.len() as u32;
            let leaf = meaning::leaf(&tree, &clauses, &packet, wire_len);
            reached[usize::from(leaf > 0)] += 1;
            assert_eq!(as_built.run(&packet, wire_len), leaf, "seed {seed}, {packet:?}");
            assert_eq!(optimised.run(&packet, wire_len), leaf, "seed {seed}, optimised, {packet:?}");
        }
    }
    assert!(reached.iter().all(|count| *count > 1000), "{reached:?}");
}

#[test]
fn random_filters_answer_as_before() {
    for seed in 1..=1500 {
        let mut rng = Rng::new(seed);
        let (tree, arms) = random_arms(&mut rng);
        let graph = build(tree, &arms);
        let packets = directed_packets(&graph, &mut rng);
        let optimised = check(&graph, &packets, seed);
        assert!(nodes(&optimised) <= nodes(&graph) + 6, "seed {seed}: grew");
        // (Folding comes first, and leaves the guard of a division alone, even one that threading then drops.)
        if !divides(&graph) {
            assert_fixed_point(&graph, seed);
        }
    }
}

fn divides(graph: &Graph) -> bool {
    let pool = &graph.pool;
    (0..pool.value_count() as u32)
        .any(|id| matches!(pool.get(ValueId(id)), Value::Op(BinOp::Div | BinOp::Mod, ..)))
}

fn assert_fixed_point(graph: &Graph, seed: u64) {
    let simplify = |graph: &Graph| {
        super::simplify(fold(graph), Passes::ALL, &mut Room::default(), &|| false).expect("never over").0
    };
    let once = simplify(graph);
    let (first, second) = (listing(&once, ""), listing(&simplify(&once), ""));
    assert_eq!(first, second, "seed {seed}: no fixed point\n{first}\n{second}");
}

#[test]
fn tcp_port() {
    let mut maker = Maker::default();
    let root = maker.port(&[6], 80);
    let graph = maker.graph(root);
    let packets = directed_packets(&graph, &mut Rng::new(7));
    let optimised = check(&graph, &packets, 0);
    assert!(nodes(&optimised) <= 18, "{}", listing(&optimised, ""));
}

#[test]
fn a_filter_that_never_matches_becomes_its_leaf() {
    let mut maker = Maker::default();
    let (a, b) = (maker.byte_or_more(12, 2, 0x800), maker.byte_or_more(12, 2, 0x806));
    let root = maker.and(a, b);
    let optimised = optimise(&maker.graph(root));
    assert_eq!(optimised.node(optimised.root), &Node::Leaf(0));
}

#[test]
fn a_guard_outlives_the_test_behind_it() {
    // Whether byte 20 is 6 or not, it must be there.
    let mut maker = Maker::default();
    let test = maker.byte_or_more(20, 1, 6);
    let opposite = maker.not(test);
    let root = maker.or(test, opposite);
    let optimised = check(&maker.graph(root), &[vec![0; 30], vec![6; 30]], 0);
    assert_eq!(nodes(&optimised), 3, "one guard, two leaves: {}", listing(&optimised, ""));
}

#[test]
fn a_load_at_the_end_of_32_bits_keeps_its_guard() {
    // The load begins below 4 GiB and its guard ends above: moving 2 from base to offset suits only one of them.
    let mut maker = Maker::default();
    let byte = maker.load(0, 1);
    let base = maker.op(BinOp::Add, byte, 2);
    let load = maker.tree.pool.load(base, u32::MAX - 4, Size::B4);
    let root = maker.is(load, 7);
    let optimised = check(&maker.graph(root), &[vec![0; 30]], 0);
    assert_eq!(optimised.node(optimised.root), &Node::Leaf(0), "no packet is that long");
}

/// A list of hosts as libpcap expands it, of any length.
fn hosts(count: u32) -> Graph {
    let mut maker = Maker::default();
    let terms: Vec<TreeId> = (0..count).map(|i| maker.host(0x0a00_0000 + i * 7)).collect();
    let root = maker.any(terms);
    maker.graph(root)
}

#[test]
fn a_list_of_hosts_becomes_one_switch_a_field() {
    let graph = hosts(40);
    let packets = directed_packets(&graph, &mut Rng::new(1));
    let optimised = check(&graph, &packets, 0);
    assert!(nodes(&optimised) <= 15, "{}", listing(&optimised, ""));
}

#[test]
fn ports_become_one_switch_a_field() {
    let mut maker = Maker::default();
    let terms: Vec<TreeId> = (0..12).map(|i| maker.port(&[6, 17, 132], 80 + 1000 * i)).collect();
    let root = maker.any(terms);
    let graph = maker.graph(root);
    let packets = directed_packets(&graph, &mut Rng::new(1));
    let optimised = check(&graph, &packets, 0);
    assert!(nodes(&optimised) <= 24, "{}", listing(&optimised, ""));
}

#[test]
fn long_lists_scale() {
    for count in [1_000, 10_000] {
        let graph = hosts(count);
        let optimised = optimise(&graph);
        assert!(nodes(&optimised) <= 15, "{count} hosts: {}", nodes(&optimised));
        verify(&optimised).expect("guards");
    }
}

/// Each source leads to its own test of the destination, however long the list: from there no other term matches.
#[test]
fn long_lists_of_pairs_become_one_switch() {
    for count in [300, 3_000] {
        let mut maker = Maker::default();
        let terms: Vec<TreeId> = (0..count)
            .map(|i| {
                let ip = maker.byte_or_more(12, 2, 0x800);
                let src = maker.byte_or_more(26, 4, 0x0a00_0000 + 7 * i);
                let dst = maker.byte_or_more(30, 4, 0x0b00_0000 + i * i);
                let hosts = maker.and(src, dst);
                maker.and(ip, hosts)
            })
            .collect();
        let root = maker.any(terms);
        let optimised = optimise(&maker.graph(root));
        assert!(nodes(&optimised) <= count as usize + 12, "{count} pairs: {}", nodes(&optimised));
        verify(&optimised).expect("guards");
    }
}

/// Each target chooses: every choice gives the same answers, and what was not chosen is not there.
#[test]
fn every_choice_of_passes_answers_as_before() {
    for seed in 0..400u64 {
        let [path_splitting, arithmetic_joins, memory_order, widening] =
            [1, 2, 4, 8].map(|bit| seed & bit != 0);
        let passes = Passes { path_splitting, gathering: true, widening, arithmetic_joins, memory_order };
        let mut rng = Rng::new(seed);
        let (tree, arms) = random_arms(&mut rng);
        let graph = build(tree, &arms);
        let packets = directed_packets(&graph, &mut rng);
        let optimised = check_passes(&graph, passes, &packets, seed);
        let has_little =
            listing(&optimised, "").contains("le16[") || listing(&optimised, "").contains("le32[");
        assert!(memory_order || !has_little, "{}", listing(&optimised, ""));
    }
    let range = |arithmetic_joins| {
        let passes = Passes { arithmetic_joins, ..Passes::ALL };
        nodes(&check_passes(&port_range(80, 90), passes, &[], 0))
    };
    assert_eq!(range(false), range(true) + 1, "a branch for each port");
}

#[test]
fn a_sweep_ends_when_time_is_over() {
    let looks = std::cell::Cell::new(0);
    let optimised = optimise_within(fold(&hosts(1_000)), Passes::ALL, &|| {
        looks.set(looks.get() + 1);
        true
    });
    assert!(optimised.is_none());
    assert_eq!(looks.get(), 1);
}

/// `portrange low-high` as libpcap expands it, for TCP over IPv4 without options.
fn port_range(low: u32, high: u32) -> Graph {
    let mut maker = Maker::default();
    let within = |maker: &mut Maker, offset| {
        let port = maker.load(offset, 2);
        let (low, high) = (maker.tree.pool.constant(low), maker.tree.pool.constant(high));
        let below = maker.tree.pool.cond(Cond::Cmp(CmpOp::Lt, port, low));
        let above = maker.tree.pool.cond(Cond::Cmp(CmpOp::Lt, high, port));
        let (below, above) = (maker.push(TreeNode::Test(below)), maker.push(TreeNode::Test(above)));
        let (from, to) = (maker.not(below), maker.not(above));
        maker.and(from, to)
    };
    let (src, dst) = (within(&mut maker, 34), within(&mut maker, 36));
    let root = maker.or(src, dst);
    maker.graph(root)
}

#[test]
fn a_range_of_ports_is_one_branch() {
    for (low, high) in
        [(0, 5), (0, 6000), (1, 1), (80, 90), (6000, 65535), (65534, 65535), (0, 65534), (32768, 40000)]
    {
        let graph = port_range(low, high);
        let ends = [0, 1, low.wrapping_sub(1), low, high, high + 1, 0x8000, 0xffff]
            .map(|k| (k as u16).to_be_bytes());
        let packet = |src: [u8; 2], dst: [u8; 2]| [&[0; 34][..], &src, &dst].concat();
        let packets: Vec<Vec<u8>> =
            ends.iter().flat_map(|&src| ends.iter().map(move |&dst| packet(src, dst))).collect();
        let optimised = check(&graph, &packets, u64::from(low));
        assert!(nodes(&optimised) <= 7, "{}", listing(&optimised, ""));
    }
}
