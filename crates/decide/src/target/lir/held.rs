//! Values that stay in local variables of a target that is text: which of them each node finds set.

use super::NoCode;
use super::uses::Use;
use crate::filled::filled;
use crate::ir::{Graph, NodeId, ValueId};

/// How many values that are not pinned stay in their variables at once. More would make large graphs slow to write out.
const KEPT_MAX: usize = 64;

/// By node: the values that every path to it has left in their variables.
#[derive(Debug)]
pub(crate) struct Held {
    /// Ascending; `None` until a predecessor has been written.
    entry: Vec<Option<Vec<ValueId>>>,
    pinned_max: usize,
}

impl Held {
    /// Nothing is set. More than `pinned_max` pinned values at once are an error.
    pub(crate) fn new(graph: &Graph, pinned_max: usize) -> Held {
        Held { entry: filled(None, graph.node_count()), pinned_max }
    }

    /// The values that a node finds set, once all its predecessors have been written.
    pub(crate) fn at(&mut self, node: NodeId) -> Vec<ValueId> {
        self.entry[node.index()].take().unwrap_or_default()
    }

    /// Tells the successors of a node which values they find: those that it held or has computed, and that are used behind its position.
    /// `passes` says what of them a successor is given.
    pub(crate) fn pass_on(
        &mut self,
        graph: &Graph,
        uses: &[Use],
        (id, at): (NodeId, usize),
        mut held: Vec<ValueId>,
        passes: impl Fn(NodeId, ValueId) -> bool,
    ) -> Result<(), NoCode> {
        held.retain(|value| uses[value.index()].last_end as usize > at + 1);
        let pinned = held.iter().filter(|value| uses[value.index()].pinned).count();
        if pinned > self.pinned_max {
            return Err(NoCode::TooComplex);
        }
        if held.len() - pinned > KEPT_MAX {
            // Those that are not pinned and used last go first.
            held.sort_by_key(|value| {
                let used = &uses[value.index()];
                if used.pinned { 0 } else { used.last_end }
            });
            held.truncate(pinned + KEPT_MAX);
        }
        held.sort_unstable();
        graph.node(id).for_each_successor(|next| match &mut self.entry[next.index()] {
            Some(known) => known.retain(|value| held.binary_search(value).is_ok()),
            unknown => *unknown = Some(held.iter().copied().filter(|&value| passes(next, value)).collect()),
        });
        Ok(())
    }
}
