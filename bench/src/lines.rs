//! A chart of lines over two logarithmic axes.

use std::fmt::Write;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 76.0;
const TOP: f64 = 56.0;
/// Room for the names, right of their lines.
const NAMES: f64 = 190.0;
/// Least distance between two names.
const LETTERS: f64 = 15.0;

const COLOURS: [&str; 8] =
    ["#c0392b", "#2b7bba", "#27763d", "#8e44ad", "#b9770e", "#5d6d7e", "#16847a", "#a04000"];

/// A line: its name, and its points from left to right. What is not above zero is not drawn.
pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) points: Vec<(f64, f64)>,
}

/// One axis: from a number to a place.
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn at(&self, value: f64) -> f64 {
        let share = (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln());
        self.from + share * (self.to - self.from)
    }
}

/// The chart.
pub(crate) fn chart(title: &str, x_name: &str, y_name: &str, lines: &[Line]) -> String {
    let drawn = |line: &Line| -> Vec<(f64, f64)> {
        line.points.iter().copied().filter(|&(x, y)| x > 0.0 && y > 0.0).collect()
    };
    let all: Vec<(f64, f64)> = lines.iter().flat_map(drawn).collect();
    let bounds = |of: fn(&(f64, f64)) -> f64| {
        let values = all.iter().map(of);
        (values.clone().fold(f64::INFINITY, f64::min), values.fold(1.0, f64::max))
    };
    let (x_low, x_high) = bounds(|point| point.0);
    let (y_low, y_high) = bounds(|point| point.1);
    let decade = |value: f64, round: fn(f64) -> f64| 10_f64.powf(round(value.log10()));
    let x = Axis { low: x_low, high: x_high, from: LEFT, to: LEFT + WIDTH };
    let y =
        Axis { low: decade(y_low, f64::floor), high: decade(y_high, f64::ceil), from: TOP + HEIGHT, to: TOP };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"16\" y=\"24\" font-size=\"16\" font-weight=\"600\">{title}</text>\n\
         <text x=\"16\" y=\"42\" fill=\"#555\">{y_name}, on logarithmic axes</text>\n",
        w = LEFT + WIDTH + NAMES,
        h = TOP + HEIGHT + 50.0,
    );
    let mut mark = y.low;
    while mark <= y.high * 1.01 {
        let at = y.at(mark);
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#e4e4e4\"/>\
             <text x=\"{}\" y=\"{:.1}\" fill=\"#555\" text-anchor=\"end\">{}</text>",
            LEFT + WIDTH,
            LEFT - 8.0,
            at + 4.0,
            in_thousands(mark)
        );
        mark *= 10.0;
    }
    let mut marks: Vec<f64> = all.iter().map(|point| point.0).collect();
    marks.sort_by(f64::total_cmp);
    marks.dedup();
    for mark in marks.iter().step_by(2) {
        let at = x.at(*mark);
        let _ = writeln!(
            svg,
            "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{}\" stroke=\"#f0f0f0\"/>\
             <text x=\"{at:.1}\" y=\"{}\" fill=\"#555\" text-anchor=\"middle\">{}</text>",
            TOP + HEIGHT,
            TOP + HEIGHT + 18.0,
            in_thousands(*mark)
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{}\" y=\"{}\" fill=\"#555\" text-anchor=\"middle\">{x_name}</text>",
        LEFT + WIDTH / 2.0,
        TOP + HEIGHT + 38.0
    );
    let mut names: Vec<(f64, &str, &str, f64)> = Vec::new();
    for (line, colour) in lines.iter().zip(COLOURS.iter().cycle()) {
        let points = drawn(line);
        let Some(&(last_x, last_y)) = points.last() else { continue };
        let path: Vec<String> =
            points.iter().map(|&(px, py)| format!("{:.1},{:.1}", x.at(px), y.at(py))).collect();
        let wide = if line.name.starts_with("sluss") { 3.0 } else { 1.6 };
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{wide}\"/>",
            path.join(" ")
        );
        names.push((y.at(last_y), line.name, colour, x.at(last_x)));
    }
    // From above, each at least one line of letters below the one before.
    names.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut least = TOP;
    for (at, name, colour, end) in names {
        let place = at.max(least);
        least = place + LETTERS;
        let _ = writeln!(
            svg,
            "<line x1=\"{end:.1}\" y1=\"{at:.1}\" x2=\"{}\" y2=\"{place:.1}\" stroke=\"{colour}\" stroke-dasharray=\"2 3\"/>\
             <text x=\"{}\" y=\"{:.1}\" fill=\"{colour}\">{name}</text>",
            LEFT + WIDTH + 10.0,
            LEFT + WIDTH + 14.0,
            place + 4.0
        );
    }
    svg.push_str("</svg>\n");
    svg
}

fn in_thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap_or_default())
        .collect();
    groups.join(",")
}
