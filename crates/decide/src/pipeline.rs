//! The way from a tree or a graph to what back ends take.
//!
//! ```text
//! tree -> gathered -> folded graph -> optimised -> verified
//!              \______ graph as built _________-> verified      should the optimised graph not verify
//! ```

use crate::budget::Budget;
use crate::error::{Error, ErrorKind};
use crate::ir::Graph;
use crate::ir::build::build_within;
use crate::ir::tree::{Clause, Tree};
use crate::ir::verify::{Checked, verify};
use crate::opt::gather::gather;
use crate::opt::{self, Folded, Passes};

/// The graph of an ordered list of trees, optimised as a target wants it, and verified.
///
/// # Errors
/// Where nodes or time run out.
pub fn checked(
    mut tree: Tree,
    clauses: &mut [Clause],
    passes: Passes,
    budget: &Budget,
) -> Result<Checked, Error> {
    let optimised = optimised(&mut tree, clauses, passes, budget)?;
    verified(optimised, || Ok(build_within(tree, clauses, budget)?), budget)
}

/// The graph of such a list, optimised, and not verified yet. The lists of the tree are gathered, if the target wants that.
///
/// # Errors
/// As [`checked`].
pub fn optimised(
    tree: &mut Tree,
    clauses: &mut [Clause],
    passes: Passes,
    budget: &Budget,
) -> Result<Graph, Error> {
    if passes.gathering {
        gather(tree, clauses);
    }
    optimise(opt::build(tree, clauses, budget)?, passes, budget)
}

/// A graph, optimised. It must verify as it is.
///
/// # Errors
/// Where time runs out, or the graph does not verify.
pub fn checked_graph(graph: Graph, passes: Passes, budget: &Budget) -> Result<Checked, Error> {
    // Folding relies on what the verifier checks.
    verify(&graph).map_err(|violation| Error::whole(ErrorKind::Graph(violation)))?;
    let optimised = optimise(opt::fold(&graph), passes, budget)?;
    verified(optimised, || Ok(graph), budget)
}

fn optimise(folded: Folded, passes: Passes, budget: &Budget) -> Result<Graph, Error> {
    let optimised = opt::optimise_within(folded, passes, &|| budget.is_over());
    optimised.filter(|_| !budget.is_over()).ok_or_else(|| budget.over().into())
}

/// The gate before every back end. Should the optimiser know more than the verifier can see, the graph as built, where each load has
/// a guard of its own, does the same work.
fn verified(
    optimised: Graph,
    as_built: impl FnOnce() -> Result<Graph, Error>,
    budget: &Budget,
) -> Result<Checked, Error> {
    let goes_on = || if budget.is_over() { Err(Error::from(budget.over())) } else { Ok(()) };
    Checked::new_while(optimised, goes_on)?.or_else(|_| {
        let checked = Checked::new_while(as_built()?, goes_on)?;
        checked.map_err(|violation| Error::whole(ErrorKind::Graph(violation)))
    })
}
