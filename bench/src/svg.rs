//! One chart of a run: ratios as bars on one logarithmic axis; below, what has a unit, each as a share of what its target allows.

use crate::report::{Ratio, Report, Target};
use std::fmt::Write;

const ROW: f64 = 22.0;
/// About what a letter takes, on average.
const LETTER: f64 = 6.5;
const WIDTH: f64 = 460.0;
const TOP: f64 = 82.0;
/// What stands between the two parts: the marks of the axis, and the second heading.
const BETWEEN: f64 = 70.0;

const MET: &str = "#2b7bba";
const MISSED: &str = "#c0392b";
const WITHOUT_TARGET: &str = "#9aa5ad";

/// Units that the name of a figure may end with.
const UNITS: [&str; 3] = ["MB", "ms", "µs"];

/// The chart.
pub(crate) fn chart(report: &Report, title: &str) -> String {
    let finite = || report.ratios.iter().filter(|ratio| ratio.value.is_finite());
    let (amounts, ratios): (Vec<&Ratio>, Vec<&Ratio>) = finite().partition(|ratio| unit(ratio).is_some());
    let letters = finite().map(|ratio| label(ratio).chars().count()).max().unwrap_or(0);
    let left = 30.0 + LETTER * letters as f64;
    let largest = ratios.iter().map(|ratio| ratio.value).fold(10.0, f64::max);
    let (low, high) = (0.5_f64.log10(), (largest * 1.3).log10());
    let x = |value: f64| left + WIDTH * ((value.max(0.5).log10() - low) / (high - low)).clamp(0.0, 1.0);
    let end = TOP + ROW * ratios.len() as f64;
    let height = end + BETWEEN + ROW * amounts.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{height}\" viewBox=\"0 0 {w} {height}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"16\" y=\"24\" font-size=\"16\" font-weight=\"600\">{}</text>\n\
         <text x=\"16\" y=\"42\" fill=\"#555\">Medians of ratios in one run, on a logarithmic axis. “A / B”: the time of A, in times of B; of workers their speed.</text>\n",
        escaped(title),
        w = left + WIDTH + 80.0,
    );
    legend(&mut svg);
    for grid in [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0, 10_000.0, 100_000.0] {
        if grid <= largest * 1.3 {
            let x = x(grid);
            let _ = writeln!(
                svg,
                "<line x1=\"{x}\" x2=\"{x}\" y1=\"{TOP}\" y2=\"{end}\" stroke=\"{}\"/>\
                 <text x=\"{x}\" y=\"{}\" fill=\"#555\" text-anchor=\"middle\">{grid}</text>",
                if grid == 1.0 { "#888" } else { "#e4e4e4" },
                end + 16.0
            );
        }
    }
    for (i, ratio) in ratios.iter().enumerate() {
        let tick = bound(ratio).map(&x);
        let (from, to) = (x(1.0).min(x(ratio.value)), x(1.0).max(x(ratio.value)));
        row(&mut svg, ratio, TOP + ROW * i as f64, left, (from, to, tick), &format!("{:.2}", ratio.value));
    }
    if !amounts.is_empty() {
        let _ = writeln!(
            svg,
            "<text x=\"16\" y=\"{}\" fill=\"#555\">Times and memory, each as a share of what its target allows.</text>",
            end + BETWEEN - 14.0
        );
    }
    // The targets are in one line, with room behind it for what exceeds them.
    let allowed = WIDTH * 0.6;
    for (i, amount) in amounts.iter().enumerate() {
        let share = bound(amount).map_or(0.0, |bound| amount.value / bound);
        let place = (left, left + (allowed * share).min(WIDTH), bound(amount).map(|_| left + allowed));
        let target = bound(amount).map_or_else(String::new, |bound| format!(" of {bound}"));
        let value = format!("{:.1}{target} {}", amount.value, unit(amount).unwrap_or_default());
        row(&mut svg, amount, end + BETWEEN + ROW * i as f64, left, place, &value);
    }
    svg.push_str("</svg>\n");
    svg
}

/// What the colours mean, and the tick.
fn legend(svg: &mut String) {
    let mut x = 16.0;
    for (colour, words) in [(MET, "target met"), (MISSED, "target missed"), (WITHOUT_TARGET, "no target")] {
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"54\" width=\"14\" height=\"14\" fill=\"{colour}\"/><text x=\"{}\" y=\"65\" fill=\"#222\">{words}</text>",
            x + 20.0
        );
        x += 44.0 + LETTER * words.len() as f64;
    }
    let _ = writeln!(
        svg,
        "<line x1=\"{x}\" x2=\"{x}\" y1=\"52\" y2=\"70\" stroke=\"#000\" stroke-width=\"2\"/><text x=\"{}\" y=\"65\" fill=\"#222\">target</text>",
        x + 8.0
    );
}

fn label(ratio: &Ratio) -> String {
    format!("{}: {}", ratio.suite, ratio.what)
}

/// The unit of a figure that is no ratio: its name ends with it, or with it and what it is of.
fn unit(ratio: &Ratio) -> Option<&'static str> {
    let (_, last) = ratio.what.rsplit_once(", ")?;
    let word = last.split(' ').next()?;
    UNITS.into_iter().find(|unit| *unit == word)
}

fn bound(ratio: &Ratio) -> Option<f64> {
    ratio.target.map(|(Target::AtLeast(bound) | Target::AtMost(bound))| bound)
}

/// A bar from one place to another, its label on its left and its value behind it, and a tick at its target.
fn row(
    svg: &mut String,
    ratio: &Ratio,
    y: f64,
    left: f64,
    (from, to, tick): (f64, f64, Option<f64>),
    value: &str,
) {
    let colour = match ratio.target {
        Some(target) if !target.is_met(ratio.value) => MISSED,
        Some(_) => MET,
        None => WITHOUT_TARGET,
    };
    let _ = writeln!(
        svg,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\
         <rect x=\"{from}\" y=\"{}\" width=\"{}\" height=\"14\" fill=\"{colour}\"/>\
         <text x=\"{}\" y=\"{}\" fill=\"#222\">{value}</text>",
        left - 14.0,
        y + 15.0,
        escaped(&label(ratio)),
        y + 4.0,
        (to - from).max(1.0),
        to.max(tick.unwrap_or(to)) + 6.0,
        y + 15.0,
    );
    if let Some(tick) = tick {
        let _ = writeln!(
            svg,
            "<line x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" y2=\"{2}\" stroke=\"#000\" stroke-width=\"2\"/>",
            tick,
            y + 2.0,
            y + 20.0
        );
    }
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_unit_is_no_ratio() {
        let ratio = |what: &str| Ratio {
            suite: "s".into(),
            what: what.to_owned(),
            value: 3.0,
            target: Some(Target::AtMost(2.0)),
        };
        for (what, expected) in [
            ("peak memory, MB", Some("MB")),
            ("--count ip on a tiny file, ms from start to end", Some("ms")),
            ("tcp port 80: text to code, µs", Some("µs")),
            ("ip, mixed: libpcap / sluss", None),
            ("CPU: tcpdump / sluss", None),
        ] {
            assert_eq!(unit(&ratio(what)), expected, "{what}");
        }
        let ratios = vec![ratio("a / b"), ratio("memory, MB")];
        let chart = chart(&Report { ratios, ..Report::default() }, "t");
        assert!(
            chart.contains("3.0 of 2 MB") && chart.contains(">3.00<") && chart.contains("target missed"),
            "{chart}"
        );
    }
}
