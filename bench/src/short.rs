//! The chart of the README: of several runs, the range of how many times as fast sluss is as each peer, and of the time from text to code.

use crate::report::{Ratio, Report};
use crate::svg::escaped;
use std::fmt::Write;
use std::ops::RangeInclusive;

const LEFT: f64 = 330.0;
const WIDTH: f64 = 330.0;
const TOP: f64 = 70.0;
const ROW: f64 = 46.0;
const COLOUR: &str = "#2b7bba";
/// The end of the axis of microseconds.
const US_MAX: f64 = 50.0;

/// What stands on one axis: a peer, or the compiler.
struct Row {
    name: &'static str,
    about: &'static str,
    suite: &'static str,
    /// What the names of its ratios begin and end with.
    what: (&'static str, &'static str),
    /// Whether its ratios are how many times as slow sluss is.
    is_inverse: bool,
}

/// How many times as fast sluss is.
const PEERS: [Row; 4] = [
    Row {
        name: "libpcap’s optimised bytecode",
        about: "one packet a call, tcp port 80, mixed traffic",
        suite: "packet",
        what: ("tcp port 80, mixed:", "libpcap / sluss"),
        is_inverse: false,
    },
    Row {
        name: "tcpdump",
        about: "whole commands, 2 million packets, CPU time",
        suite: "command",
        what: ("CPU: tcpdump / sluss", ""),
        is_inverse: false,
    },
    Row {
        name: "Snabb",
        about: "nine networks of apps, packets per CPU second",
        suite: "snabb",
        what: ("", "Snabb / sluss"),
        is_inverse: false,
    },
    Row {
        name: "hand-written C or Rust",
        about: "the best for each of four filters",
        suite: "packet",
        what: ("", "sluss / best hand-written"),
        is_inverse: true,
    },
];

/// Microseconds.
const COMPILER: Row = Row {
    name: "from text to machine code",
    about: "tcp port 80",
    suite: "terms",
    what: ("tcp port 80: text to code, µs", ""),
    is_inverse: false,
};

impl Row {
    /// The least and the largest value in these runs.
    fn range(&self, runs: &[Report]) -> Result<RangeInclusive<f64>, String> {
        let is_ours = |ratio: &&Ratio| {
            let (begin, end) = self.what;
            ratio.suite == self.suite && ratio.what.starts_with(begin) && ratio.what.ends_with(end)
        };
        let ratios = runs.iter().flat_map(|run| &run.ratios).filter(is_ours);
        let values = ratios.map(|ratio| if self.is_inverse { 1.0 / ratio.value } else { ratio.value });
        let (low, high) = values
            .filter(|value| value.is_finite())
            .fold((f64::MAX, 0.0), |(low, high), value| (value.min(low), value.max(high)));
        if low > high {
            Err(format!("none of these runs has a figure for `{}`", self.name))
        } else {
            Ok(low..=high)
        }
    }

    /// Its name and what was measured, on the left; its bar, and the range in digits.
    fn draw(&self, svg: &mut String, y: f64, bar: RangeInclusive<f64>, words: &str) {
        let (from, to) = bar.into_inner();
        let _ = writeln!(
            svg,
            "<text x=\"310\" y=\"{}\" text-anchor=\"end\" font-weight=\"600\">{}</text>\
             <text x=\"310\" y=\"{}\" text-anchor=\"end\" fill=\"#555\" font-size=\"12\">{}</text>\n\
             <rect x=\"{from:.1}\" y=\"{}\" width=\"{:.1}\" height=\"20\" fill=\"{COLOUR}\"/>\
             <text x=\"{:.1}\" y=\"{}\" fill=\"#222\">{words}</text>",
            y + 20.0,
            escaped(self.name),
            y + 37.0,
            escaped(self.about),
            y + 11.0,
            (to - from).max(1.0),
            to + 8.0,
            y + 26.0,
        );
    }
}

/// The chart of these runs.
///
/// # Errors
/// If no run has a figure for one of the bars.
pub(crate) fn chart(runs: &[Report]) -> Result<String, String> {
    let ranges = PEERS.iter().map(|peer| peer.range(runs)).collect::<Result<Vec<_>, _>>()?;
    let us = COMPILER.range(runs)?;
    let least = ranges.iter().map(|range| *range.start()).fold(1.0, f64::min);
    let largest = ranges.iter().map(|range| *range.end()).fold(10.0, f64::max);
    let (low, high) = ((least * 0.9).log10(), (largest * 1.3).log10());
    let x = |value: f64| LEFT + WIDTH * (value.log10() - low) / (high - low);
    let end = TOP + ROW * PEERS.len() as f64 + 8.0;
    let (second, height) = (end + 56.0, end + 132.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"760\" height=\"{height}\" viewBox=\"0 0 760 {height}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"13\">\n\
         <title>Ranges of how many times as fast sluss is as libpcap, tcpdump, Snabb and hand-written code, and of the time from text to code</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"16\" y=\"26\" font-size=\"16\" font-weight=\"600\">How many times as fast sluss is</text>\n\
         <text x=\"16\" y=\"46\" fill=\"#555\">Each bar is the range over all full runs on five machines, on a logarithmic axis. 1 is equal speed.</text>\n"
    );
    for grid in [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0].into_iter().filter(|grid| *grid <= largest * 1.3) {
        let colour = if grid == 1.0 { "#888" } else { "#e4e4e4" };
        mark(&mut svg, x(grid), TOP..=end, colour, grid);
    }
    for (number, (peer, range)) in PEERS.iter().zip(ranges).enumerate() {
        let words = format!("{:.1} to {:.1}", range.start(), range.end());
        peer.draw(&mut svg, TOP + ROW * number as f64, x(*range.start())..=x(*range.end()), &words);
    }
    let _ = writeln!(
        svg,
        "<text x=\"16\" y=\"{}\" fill=\"#555\">In microseconds, on an axis from 0 to {US_MAX}:</text>",
        second - 10.0
    );
    let x = |us: f64| LEFT + WIDTH * (us / US_MAX).min(1.0);
    for grid in [0.0, US_MAX / 2.0, US_MAX] {
        let colour = if grid == 0.0 { "#888" } else { "#e4e4e4" };
        mark(&mut svg, x(grid), second..=second + 36.0, colour, grid);
    }
    let words = format!("{:.0} to {:.0} µs", us.start(), us.end());
    COMPILER.draw(&mut svg, second - 4.0, x(*us.start())..=x(*us.end()), &words);
    svg.push_str("</svg>\n");
    Ok(svg)
}

/// A line of the grid, and the number below it.
fn mark(svg: &mut String, x: f64, y: RangeInclusive<f64>, colour: &str, number: f64) {
    let (top, end) = y.into_inner();
    let _ = writeln!(
        svg,
        "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top}\" y2=\"{end}\" stroke=\"{colour}\"/>\
         <text x=\"{x:.1}\" y=\"{}\" fill=\"#555\" text-anchor=\"middle\">{number}</text>",
        end + 16.0
    );
}

#[cfg(test)]
mod tests {
    use super::chart;
    use std::path::Path;

    /// The picture in the README is that of the runs that are kept, and its alternative text says the same.
    #[test]
    fn the_chart_of_the_readme_shows_the_runs_that_are_kept() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut paths: Vec<_> = std::fs::read_dir(root.join("bench/results"))
            .expect("results")
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
            .collect();
        paths.sort();
        let runs: Vec<_> =
            paths.iter().map(|path| crate::read(&path.to_string_lossy()).expect("a run").0).collect();
        let drawn = chart(&runs).expect("a chart");
        let kept = std::fs::read_to_string(root.join("docs/book/src/images/speed.svg")).expect("the picture");
        assert!(drawn == kept, "draw it again, see CONTRIBUTING.md:\n{drawn}");
        let readme = std::fs::read_to_string(root.join("README.md")).expect("the README");
        let said = readme.lines().find(|line| line.starts_with("![Ranges of")).expect("the picture");
        for (_, rest) in
            drawn.match_indices("fill=\"#222\">").map(|(at, word)| drawn.split_at(at + word.len()))
        {
            let range = rest.split('<').next().unwrap_or_default().trim_end_matches(" µs");
            assert!(said.contains(range), "{range}: {said}");
        }
        assert!(chart(&runs[..1]).unwrap_err().contains("a figure for `Snabb`"));
    }
}
