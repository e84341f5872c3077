//! A graph in Graphviz's language: boxes with ports at their sides, the apps of a worker in a frame.
//!
//! Graphviz lays out what it reads. Of our own layout it gets the order of the ports and which links close loops, so that it has not to cross the
//! others.

use super::layout::{AppBox, layout};
use super::put;
use engine::Graph;
use std::collections::BTreeMap;

const HEAD: &str = "\
digraph sluss {
  rankdir=LR;
  nodesep=0.35;
  ranksep=0.7;
  fontname=\"monospace\"; fontsize=10; fontcolor=\"#52606d\";
  node [shape=plain, fontname=\"monospace\", fontsize=10, fontcolor=\"#1f2933\"];
  edge [color=\"#2563a8\", arrowsize=0.6];
";

/// The graph in Graphviz's language. Names are letters, digits and underscores: nothing in it needs to be escaped.
pub(in crate::run) fn dot(graph: &Graph) -> String {
    let layout = layout(graph);
    let mut workers: BTreeMap<Option<usize>, Vec<&AppBox<'_>>> = BTreeMap::new();
    layout.apps.iter().for_each(|app| workers.entry(app.worker).or_default().push(app));
    let mut out = HEAD.to_owned();
    for (worker, apps) in &workers {
        if let Some(worker) = worker {
            put(&mut out, format_args!("  subgraph cluster_worker_{worker} {{\n"));
            put(&mut out, format_args!("  label=\"worker {worker}\"; color=\"#cbd2d9\"; style=rounded;\n"));
        }
        apps.iter().for_each(|app| put_app(&mut out, app));
        if worker.is_some() {
            out.push_str("  }\n");
        }
    }
    for (link, line) in graph.links().zip(&layout.lines) {
        let (from, to) = (&link.from, &link.to);
        let style = if line.below.is_some() { " [style=dashed]" } else { "" };
        let ends = format!("\"{}\":\"out_{}\":e -> \"{}\":\"in_{}\":w", from.app, from.port, to.app, to.port);
        put(&mut out, format_args!("  {ends}{style};\n"));
    }
    out.push_str("}\n");
    out
}

/// An app: its name, its type, then a row for each input and output.
fn put_app(out: &mut String, app: &AppBox<'_>) {
    let AppBox { name, class, inputs, outputs, .. } = app;
    let title = format!("<b>{name}</b><br/><font point-size=\"9\" color=\"#52606d\">{class}</font>");
    let mut rows = format!("<tr><td colspan=\"2\" cellpadding=\"4\">{title}</td></tr>");
    if !inputs.is_empty() || !outputs.is_empty() {
        rows += "<hr/>";
    }
    for row in 0..inputs.len().max(outputs.len()) {
        let cell = |ports: &[&str], side: &str, align: &str| match ports.get(row) {
            Some(port) => format!("<td port=\"{side}_{port}\" align=\"{align}\">{port}</td>"),
            None => "<td></td>".to_owned(),
        };
        put(
            &mut rows,
            format_args!("<tr>{}{}</tr>", cell(inputs, "in", "left"), cell(outputs, "out", "right")),
        );
    }
    let table = "table border=\"1\" cellborder=\"0\" cellspacing=\"0\" cellpadding=\"2\" style=\"rounded\" color=\"#52606d\" bgcolor=\"#f5f7fa\"";
    put(out, format_args!("  \"{name}\" [label=<<{table}>{rows}</table>>];\n"));
}
