//! Hoisting: where every path that does not end at a guard's failing exit needs more bytes, the guard asks for
//! them at once, and the later guards become superfluous (for [`super::thread`] to drop).
//!
//! ```text
//! A need of n:  "if fewer than `end` bytes from `base` are captured, n certainly leads to `exit`"
//!
//! guard(base, end) ? t : e       t needs (base, m, e) or leads to e anyway:  n needs (base, max(end, m), e)
//!                                 ... and if m > end, the guard may ask for m
//! test ? t : e                    both need (base, …, x):  n needs (base, min, x)
//!                                 t needs (base, m, e):    n needs (base, m, e)     and the other way round
//! ```
//! The exit is part of the need, because in an ordered list of filters a guard that fails leads on to the next
//! filter, not to rejection. Bases are the constant 0 and the variable ones: `tcp[2:2]` may ask for what `tcp[13]`
//! will need. A node keeps a few needs only, so the pass is linear.

use crate::filled::filled;
use crate::ir::{Cond, Graph, Node, NodeId, ValueId};

/// How many bases a node keeps needs for.
const NEEDS_MAX: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Need {
    base: ValueId,
    end: u32,
    exit: NodeId,
}

/// The needs of one node; a base occurs once.
#[derive(Clone, Copy, Debug)]
struct Needs {
    /// Only the first `len` count.
    needs: [Need; NEEDS_MAX],
    len: u32,
}

impl Needs {
    const NONE: Needs =
        Needs { needs: [Need { base: ValueId(0), end: 0, exit: NodeId(0) }; NEEDS_MAX], len: 0 };

    fn all(&self) -> &[Need] {
        &self.needs[..self.len as usize]
    }

    fn of(&self, base: ValueId) -> Option<Need> {
        self.all().iter().copied().find(|need| need.base == base)
    }

    fn add(&mut self, need: Need) {
        if (self.len as usize) < NEEDS_MAX && self.of(need.base).is_none() {
            self.needs[self.len as usize] = need;
            self.len += 1;
        }
    }
}

/// Strengthens guards of a graph given with its topological order; says whether there were any. A rebuild must
/// follow.
pub(super) fn hoist(graph: &mut Graph, order: &[NodeId]) -> bool {
    let mut needs = filled(Needs::NONE, graph.node_count());
    let mut hoisted = false;
    for &id in order.iter().rev() {
        let found = match graph.node(id) {
            Node::Leaf(_) => continue,
            Node::Branch { cond, then, els } => {
                let (then, els) = (*then, *els);
                match graph.pool.get_cond(*cond) {
                    Cond::Bounds { base, end } => {
                        let behind = needs[then.index()].of(base).filter(|need| need.exit == els);
                        let most = behind.map_or(end, |need| need.end.max(end));
                        if most > end {
                            let stronger = graph.pool.cond(Cond::Bounds { base, end: most });
                            graph.set_cond(id, stronger);
                            hoisted = true;
                        }
                        guard_needs(Need { base, end: most, exit: els }, &needs[then.index()], els)
                    }
                    Cond::Cmp(..) | Cond::Test(..) | Cond::Member(_) => {
                        either((then, &needs[then.index()]), (els, &needs[els.index()]))
                    }
                }
            }
            Node::Switch(switch) => {
                let mut last = switch.default;
                let mut all = (last, needs[last.index()]);
                for target in switch.arms.iter().map(|arm| arm.target) {
                    // Arms of long lists mostly lead where the last one did.
                    if target != std::mem::replace(&mut last, target) {
                        let both = either((all.0, &all.1), (target, &needs[target.index()]));
                        // Once two targets differ there is no node to stand for both.
                        all = (if all.0 == target { target } else { id }, both);
                    }
                }
                all.1
            }
        };
        needs[id.index()] = found;
    }
    hoisted
}

/// The needs of a guard, given those of the node after it: where those lead to the same exit they remain.
fn guard_needs(own: Need, behind: &Needs, exit: NodeId) -> Needs {
    let mut needs = Needs::NONE;
    needs.add(own);
    behind.all().iter().filter(|need| need.exit == exit).for_each(|&need| needs.add(need));
    needs
}

/// The needs of a test between two nodes.
fn either(a: (NodeId, &Needs), b: (NodeId, &Needs)) -> Needs {
    if a.0 == b.0 {
        return *a.1;
    }
    let mut needs = Needs::NONE;
    for &need in a.1.all() {
        if need.exit == b.0 {
            needs.add(need);
        } else if let Some(other) = b.1.of(need.base).filter(|other| other.exit == need.exit) {
            needs.add(Need { end: need.end.min(other.end), ..need });
        }
    }
    b.1.all().iter().filter(|need| need.exit == a.0).for_each(|&need| needs.add(need));
    needs
}
