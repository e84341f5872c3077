//! A trace as text: the primitives, and below each the steps in columns.
//!
//! ```text
//!   tcp port 80 => yes
//!     u8[23] == 6              byte 23 = 06          value 6      yes
//!     (u8[14] & 0xf) << 2      byte 14 = 45          value 20     bytes to skip
//!     be16[34] == 80           bytes 34..36 = 00 50  value 80     yes
//!   arp => not asked
//! ```

use super::{Wanted, bytes_of, verdict};
use crate::escape::shown;
use crate::language::one_line;
use crate::plural::{self, counted};
use pflang::{Answer, Sides, Span, Trace, TraceStep, TracedLoad, TracedPlace, TracedPrimitive};
use std::borrow::Cow;
use std::io::{self, Write};

/// Writes the packet, what became of each primitive, and the verdict.
pub(super) fn write(
    out: &mut dyn Write,
    number: u64,
    source: &str,
    packet: &Wanted,
    trace: &Trace,
) -> io::Result<()> {
    write_packet(out, number, packet)?;
    write_primitives(out, source, packet, trace)?;
    writeln!(out, "  => {}", if trace.matches { "matches" } else { "does not match" })
}

/// Which packet it is.
pub(super) fn write_packet(out: &mut dyn Write, number: u64, packet: &Wanted) -> io::Result<()> {
    let summary =
        wire::summary::summarize(packet.linktype, &packet.data, packet.wire_len).going(packet.direction);
    writeln!(out, "packet {number} of {}: {summary}", shown(&packet.file.to_string_lossy()))
}

/// What became of each primitive.
pub(super) fn write_primitives(
    out: &mut dyn Write,
    source: &str,
    packet: &Wanted,
    trace: &Trace,
) -> io::Result<()> {
    let columns = Columns::of(trace, packet);
    let is_alike =
        |a: &TracedPrimitive, b: &TracedPrimitive| !a.is_asked && !b.is_asked && a.is_member == b.is_member;
    for alike in trace.primitives.chunk_by(is_alike) {
        for primitive in &alike[..named(alike.len())] {
            write_primitive(out, primitive, source, packet, &columns)?;
            write_misses(out, primitive)?;
        }
        if let more @ 1.. = alike.len() - named(alike.len()) {
            writeln!(out, "{}and {more} more, not asked", indent(&alike[0]))?;
        }
    }
    Ok(())
}

/// How many of this many primitives in a row that were not asked are named. A line that says how many more there are stands
/// for several.
fn named(count: usize) -> usize {
    const ALL: usize = 5;
    const FIRST: usize = 3;
    if count <= ALL { count } else { FIRST }
}

fn indent(primitive: &TracedPrimitive) -> &'static str {
    if primitive.is_member { "    " } else { "  " }
}

fn write_primitive(
    out: &mut dyn Write,
    primitive: &TracedPrimitive,
    source: &str,
    packet: &Wanted,
    columns: &Columns,
) -> io::Result<()> {
    let indent = indent(primitive);
    let text = match &primitive.line {
        Some(line) => {
            let (text, path) = (shortened(&line.text, LONGEST_MEMBER), shown(&line.path));
            format!("{text} (line {} of {path})", line.number)
        }
        None => primitive_text(primitive.span, source),
    };
    writeln!(out, "{indent}{text} => {}", verdict(primitive))?;
    for row in rows(primitive, packet) {
        columns.write(out, indent, &row)?;
    }
    Ok(())
}

/// How many members of a large set do not hold.
fn write_misses(out: &mut dyn Write, set: &TracedPrimitive) -> io::Result<()> {
    match set.misses {
        0 => Ok(()),
        misses => writeln!(out, "    {} => no", counted(misses as u64, "member")),
    }
}

/// The text of a primitive; one that the whole filter implies has none.
fn primitive_text(span: Span, source: &str) -> String {
    const LONGEST: usize = 80;
    match span.text(source) {
        "" => "(every packet)".to_owned(),
        text => shortened(&one_line(text), LONGEST).into_owned(),
    }
}

fn shortened(text: &str, longest: usize) -> Cow<'_, str> {
    match text.char_indices().nth(longest) {
        None => Cow::Borrowed(text),
        Some(_) => text.chars().take(longest - 1).chain(['…']).collect::<String>().into(),
    }
}

/// The cells of a line below a primitive.
struct Row<'t> {
    question: Cow<'t, str>,
    /// Several lines, where much was read.
    read: Vec<String>,
    value: String,
    outcome: &'static str,
}

/// Steps, each behind the places that it needed first.
fn rows<'t>(primitive: &'t TracedPrimitive, packet: &Wanted) -> impl Iterator<Item = Row<'t>> {
    primitive.steps.iter().flat_map(|step| {
        let places = step.places.iter().map(|place| place_row(place, packet));
        places.chain([step_row(step, packet)])
    })
}

/// `(u8[14] & 0xf) << 2      byte 14 = 45          value 20     bytes to skip`
fn place_row<'t>(place: &'t TracedPlace, packet: &Wanted) -> Row<'t> {
    Row {
        question: shortened(&place.expression, LONGEST_PLACE),
        read: lines(place.loads.iter().map(|load| load_in_words(*load, &packet.data))),
        value: format!("value {}", place.skipped),
        outcome: "bytes to skip",
    }
}

/// `be16[12] == 0x800        bytes 12..14 = 08 00  value 0x800  yes`
fn step_row<'t>(step: &'t TraceStep, packet: &Wanted) -> Row<'t> {
    let outcome = match step.answer {
        Answer::Yes => "yes",
        Answer::No => "no",
        Answer::NotCaptured { needed } => return not_captured(needed, packet),
        Answer::DividesByZero => "divides by zero: rejected whatever else holds",
    };
    let len = step.wire_len.map(|len| format!("len = {len}"));
    let loads = step.loads.iter().filter(|load| !load.is_for_place);
    Row {
        question: Cow::Borrowed(&step.question),
        read: lines(len.into_iter().chain(loads.map(|load| load_in_words(*load, &packet.data)))),
        value: value_in_words(step.sides),
        outcome,
    }
}

fn not_captured(needed: u64, packet: &Wanted) -> Row<'static> {
    let captured = packet.data.len();
    let needed = counted(needed, "captured byte");
    let are = plural::choose(captured as u64, "is", "are");
    Row {
        question: format!("needs {needed}, there {are} {captured}: rejected whatever else holds").into(),
        read: Vec::new(),
        value: String::new(),
        outcome: "",
    }
}

fn value_in_words(sides: Sides) -> String {
    let are = if sides.is_right_shown { "value" } else { "values" };
    format!("{are} {sides}")
}

/// As many to a line as there is room for.
fn lines(reads: impl Iterator<Item = String>) -> Vec<String> {
    const ROOM: usize = 28;
    let mut lines: Vec<String> = Vec::new();
    for read in reads {
        match lines.last_mut() {
            None => lines.push(read),
            Some(line) if line.len() + ", ".len() + read.len() <= ROOM => *line += &format!(", {read}"),
            Some(line) => {
                line.push(',');
                lines.push(read);
            }
        }
    }
    lines
}

fn load_in_words(load: TracedLoad, data: &[u8]) -> String {
    let end = load.offset + u64::from(load.size);
    let bytes: Vec<String> = bytes_of(load, data).iter().map(|byte| format!("{byte:02x}")).collect();
    match load.size {
        1 => format!("byte {} = {}", load.offset, bytes.join(" ")),
        _ => format!("bytes {}..{end} = {}", load.offset, bytes.join(" ")),
    }
}

/// Of a member in a file, no more is shown.
const LONGEST_MEMBER: usize = 60;
/// The longest question that makes its column wider. Those of arithmetic may be much longer, and leave it.
const LONGEST_QUESTION: usize = 44;
/// Of an expression for a place, no more is shown.
const LONGEST_PLACE: usize = 34;

/// Where the columns behind the questions begin.
struct Columns([usize; 3]);

impl Columns {
    /// As wide as what stands in them.
    fn of(trace: &Trace, packet: &Wanted) -> Columns {
        let mut widths = [0; 3];
        let mut widen = |column: usize, length: usize| widths[column] = length.max(widths[column]);
        for primitive in &trace.primitives {
            let indent = indent(primitive).len() + 2;
            for row in rows(primitive, packet) {
                let question = row.question.chars().count();
                if question <= LONGEST_QUESTION {
                    widen(0, indent + question);
                }
                row.read.iter().for_each(|read| widen(1, read.len()));
                widen(2, row.value.len());
            }
        }
        let mut at = 0;
        Columns(widths.map(|width| {
            at += width + 2;
            at
        }))
    }

    fn write(&self, out: &mut dyn Write, indent: &str, row: &Row<'_>) -> io::Result<()> {
        let mut reads = row.read.iter().map(String::as_str);
        let first = [reads.next().unwrap_or_default(), &row.value, row.outcome];
        writeln!(out, "{}", self.line(format!("{indent}  {}", row.question), first))?;
        reads.try_for_each(|read| writeln!(out, "{}", self.line(String::new(), [read, "", ""])))
    }

    /// Each cell at its place, or a little behind one that is too long for its own.
    fn line(&self, mut line: String, cells: [&str; 3]) -> String {
        for (at, cell) in self.0.iter().zip(cells) {
            let gap = at.saturating_sub(line.chars().count()).max(2);
            line.push_str(&" ".repeat(gap));
            line.push_str(cell);
        }
        line.truncate(line.trim_end().len());
        line
    }
}
