//! Pictures of graphs: text for Graphviz, or a drawing of our own.

mod dot;
mod layout;
mod rank;
mod svg;

pub(super) use dot::dot;
pub(super) use svg::svg;

use engine::Graph;
use std::fmt::Write;

/// The ports of an app that have links.
fn linked_ports<'g>(graph: &'g Graph, app: &str) -> (Vec<&'g str>, Vec<&'g str>) {
    let inputs = graph.links_to(app).map(|link| link.to.port.as_str()).collect();
    let outputs = graph.links_from(app).map(|link| link.from.port.as_str()).collect();
    (inputs, outputs)
}

/// Writing to a string cannot fail.
fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}
