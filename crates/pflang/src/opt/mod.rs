//! Passes over the decision graph.
