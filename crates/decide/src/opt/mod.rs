//! Passes over the decision graph: the same answers with fewer and cheaper steps.
//!
//! ```text
//! fold                     values and conditions, once: while the graph is built, or of one that is given
//! repeat until no change   hoist: one stronger bounds check early; thread: tests that a path has answered
//! switchify                chains of tests of one value         }  then as above again,
//! widen                    one guard for two tests in a row     }  until no change, the latter if the target wants it
//! part                     whole and cut packets keep apart     }        if the target wants path splitting
//! fuse                     either of two ports in a range, as one branch  if it wants arithmetic joins
//! likely                   IPv4 first                           }  written
//! netorder                 comparisons without swapping bytes   }  together, the latter if it wants memory order
//! ```
//! Four of them suit some targets only: a target says which by its [`Passes`].
//!
//! Every pass takes a graph that verifies and leaves one that does, keeps a node's spans with it, and costs time
//! near linear in the graph.

mod domain;
mod equality_runs;
mod facts;
mod fold;
mod fuse;
pub mod gather;
mod hoist;
mod likely;
mod membership;
mod netorder;
mod part;
mod question;
mod range;
mod rebuild;
mod shape;
mod switchify;
mod thread;
mod trie;
mod turns;
mod value;
mod widen;

#[cfg(test)]
mod tests;

use crate::ir::{Graph, NodeId};
pub use fold::{Folded, build, fold};
use likely::Swaps;
use part::Spare;
pub(crate) use range::Ranges;
use rebuild::Room;
use shape::Shape;
use thread::{Changes, Threaded};
use widen::Widened;

/// How often passes run at most. Each does all it can find in one sweep; real filters settle after two or three.
const ROUNDS_MAX: usize = 8;

/// Asked now and then whether to give up.
type TimeIsOver<'c> = &'c dyn Fn() -> bool;

/// The passes that a target may want or not. All others are for every target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passes {
    /// Path splitting on bounds checks. After a check for 18 bytes passes, later checks for fewer bytes on that path are removed, by
    /// keeping that path apart from the one that failed it. It copies nodes, and makes checks whose "no" does not reject.
    pub path_splitting: bool,
    /// Lists of a tree become sets, and what is asked of a source and of a destination is asked of each once: checks of pairs of
    /// fields, whose "no" does not reject.
    pub gathering: bool,
    /// One guard for two tests in a row, where the packets that fail it are asked the first test alone: a check whose "no" does not reject.
    pub widening: bool,
    /// Two range tests in a row with one outcome become one test of their arithmetic, without a branch between them.
    pub arithmetic_joins: bool,
    /// Loads that are compared with constants only are taken in the order of memory, for a little-endian machine.
    pub memory_order: bool,
}

impl Passes {
    /// Every pass there is.
    pub const ALL: Passes = Passes {
        path_splitting: true,
        gathering: true,
        widening: true,
        arithmetic_joins: true,
        memory_order: true,
    };
}

/// An equivalent graph that decides in fewer steps, by every pass.
pub fn optimise(graph: &Graph) -> Graph {
    // Without an end to the time there is always a result.
    optimise_within(fold::fold(graph), Passes::ALL, &|| false).unwrap_or_else(|| graph.clone())
}

/// Optimises a graph that was folded while it was built; `None` if time is over before.
pub fn optimise_within(folded: Folded, passes: Passes, time_is_over: TimeIsOver<'_>) -> Option<Graph> {
    let mut room = Room::default();
    let (mut graph, shape) = simplify(folded, passes, &mut room, time_is_over)?;
    let swaps = Swaps::find(&graph, &shape);
    netorder::netorder(&mut graph, &shape, swaps, passes.memory_order, &mut room);
    Some(graph)
}

/// Everything but the likelier order of tests and the choice of byte order; doing it again finds nothing more.
fn simplify(
    folded: Folded,
    passes: Passes,
    room: &mut Room,
    time_is_over: TimeIsOver<'_>,
) -> Option<(Graph, Shape)> {
    let Folded { mut graph, mut ranges } = folded;
    let mut shape = Shape::of(&graph);
    settle(&mut graph, &mut shape, &ranges, room, time_is_over)?;
    let mut spare = Spare::of(&graph, &shape);
    for _ in 0..ROUNDS_MAX {
        rearrange(&mut graph, &mut shape, &mut ranges, passes.widening, room, time_is_over)?;
        if !passes.path_splitting || !part::part(&mut graph, &mut shape, &mut spare) {
            break;
        }
        settle(&mut graph, &mut shape, &ranges, room, time_is_over)?;
    }
    if passes.arithmetic_joins && fuse::fuse(&mut graph, &shape, &mut ranges, room) {
        shape.update(&graph);
    }
    Some((graph, shape))
}

/// Makes switches, and guards wider, until there are none to make.
fn rearrange(
    graph: &mut Graph,
    shape: &mut Shape,
    ranges: &mut Ranges,
    widening: bool,
    room: &mut Room,
    time_is_over: TimeIsOver<'_>,
) -> Option<()> {
    // Where chains of tests may begin that were not there before; at first anywhere.
    let mut heads: Option<Vec<NodeId>> = None;
    for _ in 0..ROUNDS_MAX {
        // Lists first: what comes after them is then cheap.
        let heads_in = heads.as_ref().unwrap_or(&shape.order);
        let switched = switchify::switchify(graph, shape, heads_in, ranges, room);
        if switched {
            shape.update(graph);
        } else if heads.is_some() {
            break;
        }
        let widened = if widening { widen::widen(graph, shape, room) } else { Widened::Nothing };
        match &widened {
            Widened::Nothing if !switched => break,
            Widened::Nothing => {}
            Widened::Settled(_) | Widened::Unsettled => shape.update(graph),
        }
        heads = match widened {
            Widened::Settled(tests) if !switched => Some(tests),
            _ => {
                settle(graph, shape, ranges, room, time_is_over)?;
                None
            }
        };
    }
    Some(())
}

/// Simplifies by what follows from the paths, until nothing more does, in a graph given with its shape. (Hoisting only notes what
/// guards are to ask for; the rebuild is that of threading.)
fn settle(
    graph: &mut Graph,
    shape: &mut Shape,
    ranges: &Ranges,
    room: &mut Room,
    time_is_over: TimeIsOver<'_>,
) -> Option<()> {
    let mut threaded = Threaded { changed: true, complete: false };
    for _ in 0..ROUNDS_MAX {
        let hoisted = hoist::hoist(graph, &shape.order);
        if threaded.complete && !hoisted {
            break;
        }
        let changes = if hoisted { Changes::NotedBefore } else { Changes::ByThreading };
        threaded = thread::thread(graph, &shape.order, ranges, changes, room, time_is_over)?;
        if !hoisted && !threaded.changed {
            break;
        }
        shape.update(graph);
    }
    Some(())
}
