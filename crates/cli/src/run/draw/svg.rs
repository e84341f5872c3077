//! A laid-out graph as SVG: no script, no font but the system's, no colour that carries a meaning.

use super::layout::{AppBox, Line, ROW, TITLE, layout};
use super::put;
use engine::Graph;

const HEAD: &str = "\
<style>
  text { font-family: ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: #1f2933; }
  .name { font-size: 13px; font-weight: bold; text-anchor: middle; }
  .type { font-size: 10px; fill: #52606d; text-anchor: middle; }
  .port { font-size: 10px; fill: #3e4c59; }
  .out { text-anchor: end; }
  .app { fill: #f5f7fa; stroke: #52606d; stroke-width: 1.2; }
  .rule { stroke: #cbd2d9; }
  .link { fill: none; stroke: #2563a8; stroke-width: 1.5; marker-end: url(#arrow); }
  .loop { stroke-dasharray: 5 3; }
</style>
<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">\
<path d=\"M0 0 L8 4 L0 8 z\" fill=\"#2563a8\"/></marker></defs>
<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>
";

/// A drawing of the graph. Names are letters, digits and underscores: nothing in it needs to be escaped.
pub(in crate::run) fn svg(graph: &Graph) -> String {
    let layout = layout(graph);
    let (width, height) = (layout.width.ceil(), layout.height.ceil());
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n{HEAD}"
    );
    layout.lines.iter().for_each(|line| draw_line(&mut out, line));
    layout.apps.iter().for_each(|app| draw_app(&mut out, app));
    out.push_str("</svg>\n");
    out
}

fn draw_app(out: &mut String, app: &AppBox<'_>) {
    let AppBox { name, class, worker, inputs, outputs, x, y, width, height } = app;
    let (middle, right) = (x + width / 2.0, x + width);
    put(
        out,
        format_args!(
            "<rect class=\"app\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"6\"/>\n"
        ),
    );
    put(out, format_args!("<text class=\"name\" x=\"{middle:.1}\" y=\"{:.1}\">{name}</text>\n", y + 17.0));
    let worker = worker.map_or(String::new(), |worker| format!(", worker {worker}"));
    put(
        out,
        format_args!("<text class=\"type\" x=\"{middle:.1}\" y=\"{:.1}\">{class}{worker}</text>\n", y + 31.0),
    );
    if !inputs.is_empty() || !outputs.is_empty() {
        let rule = y + TITLE - 4.0;
        put(
            out,
            format_args!(
                "<line class=\"rule\" x1=\"{x:.1}\" y1=\"{rule:.1}\" x2=\"{right:.1}\" y2=\"{rule:.1}\"/>\n"
            ),
        );
    }
    let row = |index: usize| y + TITLE + ROW * (index as f64 + 0.5) + 3.5;
    for (index, port) in inputs.iter().enumerate() {
        put(
            out,
            format_args!("<text class=\"port\" x=\"{:.1}\" y=\"{:.1}\">{port}</text>\n", x + 7.0, row(index)),
        );
    }
    for (index, port) in outputs.iter().enumerate() {
        put(
            out,
            format_args!(
                "<text class=\"port out\" x=\"{:.1}\" y=\"{:.1}\">{port}</text>\n",
                right - 7.0,
                row(index)
            ),
        );
    }
}

/// A link, bent softly: level where it leaves and reaches apps.
fn draw_line(out: &mut String, line: &Line) {
    let (Some(&(x, y)), Some(&(to_x, to_y))) = (line.points.first(), line.points.last()) else { return };
    let mut path = format!("M{x:.1} {y:.1}");
    let class = match line.below {
        Some(below) => {
            let (out_x, in_x) = (x + 30.0, to_x - 30.0);
            put(&mut path, format_args!(" C{out_x:.1} {y:.1} {out_x:.1} {below:.1} {x:.1} {below:.1}"));
            put(&mut path, format_args!(" L{to_x:.1} {below:.1}"));
            put(&mut path, format_args!(" C{in_x:.1} {below:.1} {in_x:.1} {to_y:.1} {to_x:.1} {to_y:.1}"));
            "link loop"
        }
        None => {
            for pair in line.points.windows(2) {
                let ((x, y), (to_x, to_y)) = (pair[0], pair[1]);
                let bend = (to_x - x) / 2.0;
                let (near, far) = (x + bend, to_x - bend);
                put(&mut path, format_args!(" C{near:.1} {y:.1} {far:.1} {to_y:.1} {to_x:.1} {to_y:.1}"));
            }
            "link"
        }
    };
    put(out, format_args!("<path class=\"{class}\" d=\"{path}\"/>\n"));
}
