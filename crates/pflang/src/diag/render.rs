//! A finding as text, with the place pointed at:
//!
//! ```text
//! error[PF003]: unknown word `prot`
//!   | tcp prot 80 and host 10.0.0.1
//!   |     ^^^^ expected `port`, `portrange`, `src` or `dst`
//! help: did you mean `tcp port 80`?
//! ```
//!
//! A filter may come from anywhere, so nothing of it reaches the terminal as it is: control characters and those
//! that turn the direction of writing are shown as escapes. A long line is cut to a window around the place.

use super::columns::{cells, harmless};
use super::{Colours, Finding, Severity};
use crate::Span;
use std::fmt::Write;

/// Columns of source that are shown at most.
const WINDOW: usize = 96;
/// Columns of context that a window keeps in front of the place.
const CONTEXT: usize = 32;

/// Escape sequences, or nothing.
struct Palette {
    severity: &'static str,
    also: &'static str,
    help: &'static str,
    bold: &'static str,
    dim: &'static str,
    reset: &'static str,
}

impl Palette {
    fn new(colours: Colours, severity: Severity) -> Self {
        match colours {
            Colours::None => Palette { severity: "", also: "", help: "", bold: "", dim: "", reset: "" },
            Colours::Ansi => Palette {
                severity: match severity {
                    Severity::Warning => "\x1b[1;33m",
                    Severity::Error => "\x1b[1;31m",
                },
                also: "\x1b[1;34m",
                help: "\x1b[1;36m",
                bold: "\x1b[1m",
                dim: "\x1b[34m",
                reset: "\x1b[0m",
            },
        }
    }
}

/// Renders a finding about `source`, without a newline at the end.
pub(super) fn render(found: &Finding<'_>, source: &str, colours: Colours) -> String {
    let palette = Palette::new(colours, found.severity);
    let Palette { severity, help, bold, reset, .. } = palette;
    let mut out = String::new();
    let word = found.severity.name();
    let message = harmless(found.message);
    put(&mut out, format_args!("{severity}{word}[{}]{reset}{bold}: {message}{reset}", found.code));
    let place = Snippet::new(source, found.span);
    match found.also.map(|(span, label)| (Snippet::new(source, span), label)) {
        // Both in sight at once: one line of source, two of marks.
        Some((also, label)) if place.shows(&also) => {
            place.source(&mut out, &palette);
            place.mark(&mut out, &palette, &place, ('^', severity), found.label);
            place.mark(&mut out, &palette, &also, ('-', palette.also), Some(label));
        }
        also => {
            place.source(&mut out, &palette);
            place.mark(&mut out, &palette, &place, ('^', severity), found.label);
            if let Some((also, label)) = also {
                also.source(&mut out, &palette);
                also.mark(&mut out, &palette, &also, ('-', palette.also), Some(label));
            }
        }
    }
    if let Some(text) = found.help {
        put(&mut out, format_args!("\n{help}help{reset}: {}", harmless(text)));
    }
    out
}

/// A line of source, and a place in it.
struct Snippet<'a> {
    line: &'a str,
    /// The line's number, where there are several.
    number: Option<usize>,
    /// Bytes of the line where the place begins and ends.
    start: usize,
    end: usize,
    /// Bytes of the line that are shown.
    shown: (usize, usize),
}

impl<'a> Snippet<'a> {
    fn new(source: &'a str, span: Span) -> Self {
        let at = source.floor_char_boundary((span.start as usize).min(source.len()));
        let line_start = source[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = source[at..].find('\n').map_or(source.len(), |newline| at + newline);
        let line = source[line_start..line_end].trim_end_matches('\r');
        let (start, end) = ((at - line_start).min(line.len()), (span.end as usize).max(at) - line_start);
        let end = line.ceil_char_boundary(end.min(line.len()));
        let number = source
            .trim_end()
            .contains('\n')
            .then(|| 1 + source[..line_start].bytes().filter(|b| *b == b'\n').count());
        Snippet { line, number, start, end, shown: window(line, start) }
    }

    /// Whether another place lies in what this one shows.
    fn shows(&self, other: &Snippet<'_>) -> bool {
        std::ptr::eq(self.line, other.line) && other.start >= self.shown.0 && other.start <= self.shown.1
    }

    /// What stands in front of the line: its number, where there are several.
    fn number(&self) -> String {
        self.number.map_or_else(|| " ".to_owned(), |number| number.to_string())
    }

    fn source(&self, out: &mut String, palette: &Palette) {
        let (from, to) = self.shown;
        let text: String = cells(&self.line[from..to]).map(|cell| cell.text).collect();
        let (before, after) = (self.ellipsis_before(), if to < self.line.len() { "…" } else { "" });
        put(out, format_args!("{}{before}{text}{after}", gutter(palette, &self.number())));
        trim_end(out);
    }

    fn ellipsis_before(&self) -> &'static str {
        if self.shown.0 > 0 { "…" } else { "" }
    }

    /// The marks under `place`, and what they say.
    fn mark(
        &self,
        out: &mut String,
        palette: &Palette,
        place: &Snippet<'_>,
        (mark, colour): (char, &str),
        label: Option<&str>,
    ) {
        let (from, to) = self.shown;
        let clamp = |at: usize| self.line.floor_char_boundary(at.clamp(from, to));
        let (start, end) = (clamp(place.start), clamp(place.end));
        let indent = width(&self.line[from..start]) + usize::from(from > 0);
        let marks = mark.to_string().repeat(width(&self.line[start..end.max(start)]).max(1));
        let label = label.map(|label| format!(" {}", harmless(label))).unwrap_or_default();
        let gutter = gutter(palette, &" ".repeat(self.number().len()));
        put(out, format_args!("{gutter}{:indent$}{colour}{marks}{label}{}", "", palette.reset));
    }
}

/// The beginning of a line of the snippet.
fn gutter(palette: &Palette, number: &str) -> String {
    format!("\n{}{number} |{} ", palette.dim, palette.reset)
}

/// The bytes of a line to show so that `start` is in sight.
fn window(line: &str, start: usize) -> (usize, usize) {
    if width(line) <= WINDOW {
        return (0, line.len());
    }
    let mut from = start;
    let mut columns = 0;
    while from > 0 {
        let before = line.floor_char_boundary(from - 1);
        columns += width(&line[before..from]);
        if columns > CONTEXT {
            break;
        }
        from = before;
    }
    let mut to = from;
    columns = 0;
    for cell in cells(&line[from..]) {
        columns += cell.width;
        if columns > WINDOW {
            break;
        }
        to += cell.bytes;
    }
    (from, to)
}

fn width(text: &str) -> usize {
    cells(text).map(|cell| cell.width).sum()
}

/// Writing to a string cannot fail.
fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

fn trim_end(out: &mut String) {
    out.truncate(out.trim_end_matches(' ').len());
}
