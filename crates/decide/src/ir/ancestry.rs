//! A tree that grows at its leaves, and the lowest common ancestor of two of its nodes in O(log depth).
//!
//! Beside its parent each node keeps a jump far up; the lengths of the jumps along a path are the digits of a
//! skew-binary number, so that any ancestor is a logarithmic number of jumps away and a new node costs O(1).
//! (Myers, "An applicative random-access stack", 1983.)

/// The tree. Nodes are numbered as they are added; number 0 is the root.
#[derive(Debug)]
pub(crate) struct Ancestry(Vec<Link>);

#[derive(Clone, Copy, Debug)]
struct Link {
    parent: u32,
    jump: u32,
    depth: u32,
}

impl Ancestry {
    /// The root alone, with room for this many nodes.
    pub(crate) fn with_capacity(nodes: usize) -> Self {
        let mut links = Vec::with_capacity(nodes);
        links.push(Link { parent: 0, jump: 0, depth: 0 });
        Ancestry(links)
    }

    /// Adds a node below `parent`.
    pub(crate) fn push(&mut self, parent: u32) -> u32 {
        let above = self.link(parent);
        let jump = self.link(above.jump);
        // Two jumps of equal length become one twice as long.
        let equal = above.depth - jump.depth == jump.depth - self.link(jump.jump).depth;
        let jump = if equal { jump.jump } else { parent };
        self.0.push(Link { parent, jump, depth: above.depth + 1 });
        self.0.len() as u32 - 1
    }

    pub(crate) fn parent(&self, node: u32) -> u32 {
        self.link(node).parent
    }

    /// The lowest node that is an ancestor of both, or one of them.
    pub(crate) fn common(&self, a: u32, b: u32) -> u32 {
        let depth = self.link(a).depth.min(self.link(b).depth);
        let (mut a, mut b) = (self.at_depth(a, depth), self.at_depth(b, depth));
        while a != b {
            let (x, y) = (self.link(a), self.link(b));
            // Nodes of equal depth have jumps of equal length.
            (a, b) = if x.jump == y.jump { (x.parent, y.parent) } else { (x.jump, y.jump) };
        }
        a
    }

    /// Whether `a` is `b` or above it.
    pub(crate) fn is_above(&self, a: u32, b: u32) -> bool {
        self.link(b).depth >= self.link(a).depth && self.at_depth(b, self.link(a).depth) == a
    }

    fn at_depth(&self, mut node: u32, depth: u32) -> u32 {
        while self.link(node).depth > depth {
            let link = self.link(node);
            node = if self.link(link.jump).depth >= depth { link.jump } else { link.parent };
        }
        node
    }

    fn link(&self, node: u32) -> Link {
        self.0[node as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_ancestors_are_those_found_step_by_step() {
        let mut tree = Ancestry::with_capacity(0);
        let mut state = 1u32;
        let mut random = move |n: u32| {
            state = state.wrapping_mul(747_796_405).wrapping_add(1);
            (state >> 16) % n
        };
        for n in 1..3000 {
            let parent = if random(4) == 0 { random(n) } else { n - 1 };
            tree.push(parent);
        }
        for _ in 0..3000 {
            let (a, b) = (random(3000), random(3000));
            let (mut x, mut y) = (a, b);
            while x != y {
                // A parent has a smaller number.
                (x, y) = if x > y { (tree.parent(x), y) } else { (x, tree.parent(y)) };
            }
            assert_eq!(tree.common(a, b), x);
            assert!(tree.is_above(x, a) && tree.is_above(x, b));
            assert_eq!(tree.is_above(a, b), x == a);
        }
    }
}
