//! The binary tree of the 2007 notes, written anew: a node a bit of the address, walked until a prefix ends or a child is missing.
//!
//! The notes measured it in three forms, which differ in how the child is chosen: by `if`, by indexing an array of two, and by masking
//! the sum of both.

/// No child; the root, which is nobody's child.
const NO_NODE: u32 = 0;

/// A tree of prefixes.
pub(super) struct Tree {
    nodes: Vec<Node>,
}

#[derive(Clone, Copy, Default)]
struct Node {
    children: [u32; 2],
    is_end: bool,
}

impl Tree {
    pub(super) fn of(list: &[(u32, u8)]) -> Tree {
        let mut nodes = vec![Node::default()];
        for &(key, len) in list {
            let mut at = 0;
            for bit in 0..len {
                let side = (key >> (31 - bit) & 1) as usize;
                if nodes[at].children[side] == NO_NODE {
                    nodes[at].children[side] = nodes.len() as u32;
                    nodes.push(Node::default());
                }
                at = nodes[at].children[side] as usize;
            }
            nodes[at].is_end = true;
        }
        Tree { nodes }
    }

    #[inline(always)]
    fn walk(&self, key: u32, child: impl Fn(&Node, u32) -> u32) -> bool {
        let mut node = &self.nodes[0];
        let mut bits = key;
        loop {
            if node.is_end {
                return true;
            }
            let next = child(node, bits >> 31);
            if next == NO_NODE {
                return false;
            }
            bits <<= 1;
            node = &self.nodes[next as usize];
        }
    }

    pub(super) fn by_if(&self, key: u32) -> bool {
        self.walk(
            key,
            |node, bit| if std::hint::black_box(bit) == 1 { node.children[1] } else { node.children[0] },
        )
    }

    pub(super) fn by_index(&self, key: u32) -> bool {
        self.walk(key, |node, bit| node.children[bit as usize])
    }

    pub(super) fn by_mask(&self, key: u32) -> bool {
        self.walk(key, |node, bit| {
            let mask = bit.wrapping_neg();
            node.children[1] & mask | node.children[0] & !mask
        })
    }
}
