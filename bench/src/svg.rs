//! One chart of all ratios: bars on a logarithmic scale, the target as a tick, missed targets red.

use crate::report::{Ratio, Report, Target};
use std::fmt::Write;

const ROW: f64 = 22.0;
/// About what a letter takes, on average.
const LETTER: f64 = 6.5;
const WIDTH: f64 = 460.0;
const TOP: f64 = 58.0;

/// The chart.
pub(crate) fn chart(report: &Report, title: &str) -> String {
    let rows: Vec<&Ratio> = report.ratios.iter().filter(|ratio| ratio.value.is_finite()).collect();
    let letters = rows.iter().map(|ratio| label(ratio).chars().count()).max().unwrap_or(0);
    let left = 30.0 + LETTER * letters as f64;
    let largest = rows.iter().map(|ratio| ratio.value).fold(10.0, f64::max);
    let (low, high) = (0.5_f64.log10(), (largest * 1.3).log10());
    let x = |value: f64| left + WIDTH * ((value.max(0.5).log10() - low) / (high - low)).clamp(0.0, 1.0);
    let height = TOP + ROW * rows.len() as f64 + 40.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{height}\" viewBox=\"0 0 {w} {height}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"16\" y=\"24\" font-size=\"16\" font-weight=\"600\">{}</text>\n\
         <text x=\"16\" y=\"42\" fill=\"#555\">medians of ratios in one run, logarithmic; a black tick is the target</text>\n",
        escaped(title),
        w = left + WIDTH + 80.0,
    );
    for grid in [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0, 10_000.0, 100_000.0] {
        if grid <= largest * 1.3 {
            let (x, y) = (x(grid), height - 34.0);
            let _ = writeln!(
                svg,
                "<line x1=\"{x}\" x2=\"{x}\" y1=\"{TOP}\" y2=\"{y}\" stroke=\"{}\"/>\
                 <text x=\"{x}\" y=\"{}\" fill=\"#555\" text-anchor=\"middle\">{grid}</text>",
                if grid == 1.0 { "#888" } else { "#e4e4e4" },
                y + 16.0
            );
        }
    }
    for (i, ratio) in rows.iter().enumerate() {
        row(&mut svg, ratio, TOP + ROW * i as f64, left, &x);
    }
    svg.push_str("</svg>\n");
    svg
}

fn label(ratio: &Ratio) -> String {
    format!("{}: {}", ratio.suite, ratio.what)
}

fn row(svg: &mut String, ratio: &Ratio, y: f64, left: f64, x: &dyn Fn(f64) -> f64) {
    let (from, to) = (x(1.0).min(x(ratio.value)), x(1.0).max(x(ratio.value)));
    let tick = match ratio.target {
        Some(Target::AtLeast(bound) | Target::AtMost(bound)) => x(bound),
        None => from,
    };
    let colour = match ratio.target {
        Some(target) if !target.is_met(ratio.value) => "#c0392b",
        Some(_) => "#2b7bba",
        None => "#9aa5ad",
    };
    let _ = writeln!(
        svg,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\
         <rect x=\"{from}\" y=\"{}\" width=\"{}\" height=\"14\" fill=\"{colour}\"/>\
         <text x=\"{}\" y=\"{}\" fill=\"#222\">{:.2}</text>",
        left - 14.0,
        y + 15.0,
        escaped(&label(ratio)),
        y + 4.0,
        (to - from).max(1.0),
        to.max(tick) + 6.0,
        y + 15.0,
        ratio.value
    );
    if ratio.target.is_some() {
        let _ = writeln!(
            svg,
            "<line x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" y2=\"{2}\" stroke=\"#000\" stroke-width=\"2\"/>",
            tick,
            y + 2.0,
            y + 20.0
        );
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
