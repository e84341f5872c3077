//! Passes over the decision graph: the same answers with fewer and cheaper steps.
//!
//! ```text
//! fold                     values and conditions, once
//! repeat until no change   hoist: one stronger bounds check early; thread: tests that a path has answered
//! ```
//! Every pass takes a graph that verifies and leaves one that does, keeps a node's spans with it, and costs time
//! near linear in the graph.

mod domain;
mod facts;
mod fold;
mod hoist;
mod question;
mod range;
mod rebuild;
mod thread;
mod trie;
mod value;

#[cfg(test)]
mod tests;

use crate::ir::Graph;

/// How often the path passes run at most. Each round does all it can find in one sweep; real filters settle
/// after two or three.
const ROUNDS_MAX: usize = 8;

/// An equivalent graph that decides in fewer steps.
pub fn optimise(graph: &Graph) -> Graph {
    let (mut graph, ranges) = fold::fold(graph);
    for _ in 0..ROUNDS_MAX {
        let hoisted = hoist::hoist(&mut graph);
        let threaded = thread::thread(&mut graph, &ranges);
        if !hoisted && !threaded {
            break;
        }
    }
    graph
}
