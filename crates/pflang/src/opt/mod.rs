//! Passes over the decision graph: the same answers with fewer and cheaper steps.
//!
//! ```text
//! fold                     values and conditions, once
//! repeat until no change   hoist: one stronger bounds check early; thread: tests that a path has answered
//! switchify                chains of tests of one value         }  then as above again,
//! widen                    one guard for two tests in a row     }  until no change
//! fuse                     either of two ports in a range, as one branch
//! likely                   IPv4 first                           }  written
//! netorder                 comparisons without swapping bytes   }  together
//! ```
//! Every pass takes a graph that verifies and leaves one that does, keeps a node's spans with it, and costs time
//! near linear in the graph.

mod domain;
mod facts;
mod fold;
mod fuse;
mod hoist;
mod likely;
mod membership;
mod netorder;
mod question;
mod range;
mod rebuild;
mod runs;
mod shape;
mod switchify;
mod thread;
mod trie;
mod value;
mod widen;

#[cfg(test)]
mod tests;

use crate::ir::Graph;
use likely::Swaps;
use range::Ranges;
use shape::Shape;
use thread::Threaded;
use widen::Widened;

/// How often passes run at most. Each does all it can find in one sweep; real filters settle after two or three.
const ROUNDS_MAX: usize = 8;

/// Asked now and then whether to give up.
type TimeIsOver<'c> = &'c dyn Fn() -> bool;

/// An equivalent graph that decides in fewer steps.
pub fn optimise(graph: &Graph) -> Graph {
    // Without an end to the time there is always a result.
    optimise_within(graph, &|| false).unwrap_or_else(|| graph.clone())
}

/// The same unless time is over before.
pub(crate) fn optimise_within(graph: &Graph, time_is_over: TimeIsOver<'_>) -> Option<Graph> {
    let (graph, shape) = simplify(graph, time_is_over)?;
    let swaps = Swaps::find(&graph, &shape);
    Some(netorder::netorder(&graph, &shape.order, swaps))
}

/// Everything but the likelier order of tests and the choice of byte order; doing it again finds nothing more.
fn simplify(graph: &Graph, time_is_over: TimeIsOver<'_>) -> Option<(Graph, Shape)> {
    let (mut graph, mut ranges) = fold::fold(graph);
    let mut shape = settle(&mut graph, &ranges, time_is_over)?;
    for _ in 0..ROUNDS_MAX {
        // Lists first: what comes after them is then cheap.
        let switched = switchify::switchify(&mut graph, &shape, &mut ranges);
        if switched {
            shape = Shape::of(&graph);
        }
        match widen::widen(&mut graph, &shape) {
            Widened::Nothing if !switched => break,
            Widened::Settled if !switched => shape = Shape::of(&graph),
            _ => shape = settle(&mut graph, &ranges, time_is_over)?,
        }
    }
    if fuse::fuse(&mut graph, &shape, &mut ranges) {
        shape = Shape::of(&graph);
    }
    Some((graph, shape))
}

/// What follows from the paths, until nothing more does. (Hoisting only notes what guards are to ask for;
/// the rebuild is that of threading.)
fn settle(graph: &mut Graph, ranges: &Ranges, time_is_over: TimeIsOver<'_>) -> Option<Shape> {
    let mut threaded = Threaded { changed: true, complete: false };
    for _ in 0..ROUNDS_MAX {
        let order = graph.topological();
        let hoisted = hoist::hoist(graph, &order);
        if threaded.complete && !hoisted {
            return Some(Shape::new(graph, order));
        }
        threaded = thread::thread(graph, &order, ranges, hoisted, time_is_over)?;
        if !hoisted && !threaded.changed {
            return Some(Shape::new(graph, order));
        }
    }
    Some(Shape::of(graph))
}
