//! Flows, where ndpiReader keeps them: in 512 unbalanced binary search trees.
//!
//! The trees matter, for they can be seen from outside. Flows with equal sums of their addresses, ports and protocol are in one subtree. There,
//! a packet of the other direction may be found only when it is searched for a second time with both ends exchanged; ndpiReader then counts it
//! in the direction of the first packet. And the order in which it walks through the trees at the end is that in which nDPI gives up flows.

use super::decapsulate::{Datagram, Key};
use crate::{Confidence, Details};
use std::cmp::Ordering;

/// How many trees there are.
const TREES: usize = 512;
/// No node.
const NONE: u32 = u32::MAX;

/// What nDPI has said of a flow.
#[derive(Clone, Debug, Default)]
pub(super) struct Verdict {
    /// Whether all has been said.
    pub(super) done: bool,
    /// Whether a packet of the flow was shown to nDPI.
    pub(super) shown: bool,
    /// Whether a packet could not be shown, or what nDPI knew was lost.
    pub(super) incomplete: bool,
    pub(super) app: u16,
    pub(super) master: u16,
    pub(super) category: u16,
    pub(super) confidence: Confidence,
    pub(super) seen: u32,
    pub(super) details: Details,
    pub(super) ja3: Option<Box<str>>,
}

/// Packets and bytes of both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) packets: [u64; 2],
    pub(super) bytes: [u64; 2],
}

/// A flow, and a node of its tree.
struct Node {
    key: Key,
    counts: Counts,
    verdict: Verdict,
    /// Trees below it: lesser keys, greater keys.
    below: [u32; 2],
}

/// All flows.
pub(super) struct Table {
    roots: Vec<u32>,
    nodes: Vec<Node>,
}

impl Table {
    pub(super) fn new() -> Table {
        Table { roots: vec![NONE; TREES], nodes: Vec::new() }
    }

    /// Finds the flow of a datagram, or begins one, and counts it. Returns its number.
    pub(super) fn count(&mut self, datagram: &Datagram<'_>) -> u32 {
        let key = datagram.key;
        let (index, direction) = match self.find(&key) {
            Ok(index) => (index, usize::from(!self.nodes[index as usize].key.has_ends_of(&key))),
            Err(place) => match self.find(&key.exchanged()) {
                // Found only with its ends exchanged: its direction is taken for that of the first packet, unless it has the ends of that.
                Ok(index) => (index, usize::from(self.nodes[index as usize].key.has_ends_of(&key))),
                Err(_) => (self.insert(key, place), 0),
            },
        };
        let counts = &mut self.nodes[index as usize].counts;
        counts.packets[direction] += 1;
        counts.bytes[direction] += u64::from(datagram.frame_bytes);
        index
    }

    /// The flow with a key, or where it would be: the node above it, and whether it is the greater one there.
    fn find(&self, key: &Key) -> Result<u32, (u32, usize)> {
        let (mut above, mut side) = (NONE, 0);
        let mut node = self.roots[key.sum() as usize % TREES];
        while node != NONE {
            let at = &self.nodes[node as usize];
            (above, side) = match key.order(&at.key) {
                Ordering::Equal => return Ok(node),
                Ordering::Less => (node, 0),
                Ordering::Greater => (node, 1),
            };
            node = at.below[side];
        }
        Err((above, side))
    }

    fn insert(&mut self, key: Key, (above, side): (u32, usize)) -> u32 {
        let index = self.nodes.len() as u32;
        let node = Node { key, counts: Counts::default(), verdict: Verdict::default(), below: [NONE; 2] };
        self.nodes.push(node);
        match self.nodes.get_mut(above as usize) {
            Some(above) => above.below[side] = index,
            None => self.roots[key.sum() as usize % TREES] = index,
        }
        index
    }

    pub(super) fn verdict(&mut self, index: u32) -> &mut Verdict {
        &mut self.nodes[index as usize].verdict
    }

    /// The numbers of all flows: tree by tree, each from its root on, lesser keys before greater ones.
    pub(super) fn in_order_of_trees(&self) -> Vec<u32> {
        let mut order = Vec::with_capacity(self.nodes.len());
        let mut stack = Vec::new();
        for &root in &self.roots {
            stack.push(root);
            while let Some(node) = stack.pop() {
                if let Some(at) = self.nodes.get(node as usize) {
                    order.push(node);
                    stack.extend(at.below.iter().rev());
                }
            }
        }
        order
    }

    /// All flows, in the order of their first packets.
    pub(super) fn flows(&self) -> impl Iterator<Item = (&Key, &Counts, &Verdict)> {
        self.nodes.iter().map(|node| (&node.key, &node.counts, &node.verdict))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn datagram(a: (u8, u16), b: (u8, u16)) -> Datagram<'static> {
        let end = |(host, port)| (Ipv4Addr::new(10, 0, 0, host).into(), port);
        let key = Key { a: end(a), b: end(b), protocol: 17, vlan: 0 };
        Datagram { key, bytes: &[], frame_bytes: 60 }
    }

    #[test]
    fn both_directions_are_one_flow() {
        let mut table = Table::new();
        assert_eq!(table.count(&datagram((1, 1000), (2, 53))), 0);
        assert_eq!(table.count(&datagram((2, 53), (1, 1000))), 0);
        assert_eq!(table.count(&datagram((1, 1000), (2, 53))), 0);
        assert_eq!(table.count(&datagram((1, 1001), (2, 53))), 1);
        let counts = table.flows().next().unwrap().1;
        assert_eq!(*counts, Counts { packets: [2, 1], bytes: [120, 60] });
    }

    #[test]
    fn flows_of_equal_sums_lose_a_direction_where_the_first_search_fails() {
        let mut table = Table::new();
        // The second flow is to the right of the first, since its first end is greater; exchanged, it would be to the left.
        assert_eq!(table.count(&datagram((3, 7), (4, 7))), 0);
        assert_eq!(table.count(&datagram((5, 7), (2, 7))), 1);
        assert_eq!(table.count(&datagram((2, 7), (5, 7))), 1);
        let counts: Vec<Counts> = table.flows().map(|flow| *flow.1).collect();
        assert_eq!(counts[1].packets, [2, 0]);
    }

    #[test]
    fn trees_are_walked_from_their_roots() {
        let mut table = Table::new();
        for a in [(3, 7), (5, 7), (1, 7), (4, 7)] {
            let b = (8 - a.0, 7);
            table.count(&datagram(a, b));
        }
        // 4 and its partner are the same end; 5 is found as the exchanged 3.
        assert_eq!(table.in_order_of_trees(), [0, 1, 2]);
    }
}
