//! Pictures of graphs: text for Graphviz, or a drawing of our own.

mod layout;
mod rank;
mod svg;

pub(super) use svg::svg;

use engine::Graph;
use std::fmt::Write;

/// The graph in Graphviz's language.
pub(super) fn dot(graph: &Graph) -> String {
    let mut out = String::from(
        "digraph sluss {\n  rankdir=LR;\n  node [shape=record, fontname=\"monospace\", fontsize=11];\n",
    );
    for (name, app) in graph.apps() {
        let ports = |ports: Vec<&str>, side: &str| {
            let cells: Vec<String> = ports.iter().map(|port| format!("<{side}_{port}> {port}")).collect();
            if cells.is_empty() { String::new() } else { format!("{{{}}}", cells.join("|")) }
        };
        let (inputs, outputs) = linked_ports(graph, name);
        let title = format!("{name}\\n({})", app.config.class().name);
        let cells = [ports(inputs, "in"), title, ports(outputs, "out")];
        let cells: Vec<&str> = cells.iter().map(String::as_str).filter(|cell| !cell.is_empty()).collect();
        put(&mut out, format_args!("  \"{name}\" [label=\"{}\"];\n", cells.join("|")));
    }
    for link in graph.links() {
        let (from, to) = (&link.from, &link.to);
        let line = format_args!(
            "  \"{}\":\"out_{}\":e -> \"{}\":\"in_{}\":w;\n",
            from.app, from.port, to.app, to.port
        );
        put(&mut out, line);
    }
    out.push_str("}\n");
    out
}

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
