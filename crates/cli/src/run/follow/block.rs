//! A followed packet as a block of text: a line for each app, and below a line on which it was copied, indented, what became of the copy.
//!
//! ```text
//! packet 1: 2026-01-31T12:00:00.000000Z 192.0.2.1:40000 > 192.0.2.2:53 udp len 20
//!   +0.000000  reader  -> output      enters
//!   +0.000000  copies  input -> a     copied as branch 2
//!     +0.000000  web   input          dropped: rejected
//!   +0.000000  copies  input -> b     sent
//!   +0.000000  end     input          delivered
//! ```

use crate::escape::shown;
use crate::plural::{self, counted};
use capture::{Line, Precision, UtcTime};
use engine::{TraceChange, TraceEvent, TracePacket, TraceStep, TraceTotals};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Write;
use wire::LinkType;

/// Steps of a packet that wait for its end. One that has more, since it goes round in a loop, is printed in parts.
const STEPS_MAX: usize = 256;
/// Bytes of a change that are shown.
const BYTES_MAX: usize = 16;
/// A copy of a copy is indented more, up to here.
const DEPTH_MAX: usize = 8;

/// The packets that are on their way.
#[derive(Debug, Default)]
pub(super) struct Blocks(HashMap<u64, Block>);

#[derive(Debug, Default)]
struct Block {
    /// The packet as it was when it entered, until that is printed.
    head: Option<String>,
    begin_ns: u64,
    steps: Vec<TraceStep>,
    /// By branch that has not ended: how many copies it is away from the packet.
    depths: BTreeMap<u64, usize>,
}

impl Blocks {
    /// Takes a step. Returns the text of the packet if this was its last, or the steps so far are many.
    pub(super) fn step(&mut self, step: &TraceStep) -> Option<String> {
        let block = self.0.entry(step.packet).or_default();
        if let Some(packet) = &step.entered {
            block.begin_ns = step.time_ns;
            block.head = Some(head(step.time_ns, packet));
        }
        block.steps.push(step.clone());
        if step.is_last {
            self.0.remove(&step.packet).map(|mut block| block.text(step.packet))
        } else if block.steps.len() == STEPS_MAX {
            Some(block.text(step.packet))
        } else {
            None
        }
    }
}

impl Block {
    /// The steps, which are no longer kept.
    fn text(&mut self, packet: u64) -> String {
        let steps = std::mem::take(&mut self.steps);
        let head = self.head.take().unwrap_or_else(|| "goes on".to_owned());
        let mut text = format!("packet {packet}: {head}\n");
        let rows: Vec<Row<'_>> = self.in_order(&steps).into_iter().map(|step| self.row(step)).collect();
        let width = |of: fn(&Row<'_>) -> usize| rows.iter().map(of).max().unwrap_or_default();
        let (front, ports) = (width(|row| row.front.len()), width(|row| row.ports.len()));
        for row in &rows {
            let _ = writeln!(text, "{:front$}  {:ports$}  {}", row.front, row.ports, row.what);
            for change in &row.step.changed {
                let _ = writeln!(text, "{:front$}  {:ports$}    {}", "", "", changed(change));
            }
        }
        // A packet that goes round in a loop may be copied without end.
        for step in
            steps.iter().filter(|step| matches!(step.event, TraceEvent::Dropped | TraceEvent::Delivered))
        {
            self.depths.remove(&step.branch);
        }
        text
    }

    /// The steps of each branch together, and those of a copy behind the step in which it was made.
    fn in_order<'a>(&mut self, steps: &'a [TraceStep]) -> Vec<&'a TraceStep> {
        let mut of_branch: BTreeMap<u64, VecDeque<(usize, &TraceStep)>> = BTreeMap::new();
        let mut copies: HashMap<u64, VecDeque<(usize, u64)>> = HashMap::new();
        let mut roots = Vec::new();
        for (number, step) in steps.iter().enumerate() {
            let depth = step.parent.and_then(|parent| self.depths.get(&parent)).map_or(0, |depth| depth + 1);
            self.depths.entry(step.branch).or_insert(depth);
            match step.parent.filter(|parent| of_branch.contains_key(parent)) {
                Some(parent) => copies.entry(parent).or_default().push_back((number, step.branch)),
                None if !of_branch.contains_key(&step.branch) => roots.push(step.branch),
                None => {}
            }
            of_branch.entry(step.branch).or_default().push_back((number, step));
        }
        // Depth first, on a stack of branches: copies may be copied again and again.
        let mut stack: Vec<u64> = roots.into_iter().rev().collect();
        let mut ordered = Vec::new();
        while let Some(&branch) = stack.last() {
            let own = of_branch.entry(branch).or_default();
            let next = own.front().map_or(usize::MAX, |&(number, _)| number);
            let copy =
                copies.get_mut(&branch).and_then(|copies| copies.pop_front_if(|(number, _)| *number < next));
            if let Some((_, copy)) = copy {
                stack.push(copy);
            } else if let Some((_, step)) = own.pop_front() {
                ordered.push(step);
            } else {
                stack.pop();
            }
        }
        ordered
    }

    fn row<'a>(&self, step: &'a TraceStep) -> Row<'a> {
        let depth = self.depths.get(&step.branch).copied().unwrap_or_default().min(DEPTH_MAX);
        let since_ns = step.time_ns.saturating_sub(self.begin_ns);
        let since = format!("+{}.{:06}", since_ns / 1_000_000_000, since_ns / 1000 % 1_000_000);
        let front = format!("{:indent$}{since}  {}", "", step.app, indent = 2 + 2 * depth);
        let ports = match (&step.input, &step.output) {
            (input, Some(output)) => format!("{} -> {output}", input.as_deref().unwrap_or_default()),
            (input, None) => input.clone().unwrap_or_default(),
        };
        Row { front, ports: ports.trim_start().to_owned(), what: what(step), step }
    }
}

/// A line, in columns.
struct Row<'a> {
    front: String,
    ports: String,
    what: String,
    step: &'a TraceStep,
}

fn head(time_ns: u64, packet: &TracePacket<'_>) -> String {
    let line = Line {
        timestamp_ns: time_ns as i64,
        precision: Precision::Micro,
        linktype: LinkType::new(packet.linktype.into()),
        data: &packet.data,
        wire_len: packet.wire_len,
        direction: None,
    };
    shown(&line.to_string()).into_owned()
}

fn what(step: &TraceStep) -> String {
    let reason = step.reason.as_deref().unwrap_or_default();
    let what = match step.event {
        TraceEvent::Sent if step.entered.is_some() => "enters".to_owned(),
        TraceEvent::Sent => "sent".to_owned(),
        TraceEvent::Copied => "copied".to_owned(),
        TraceEvent::Dropped => format!("dropped: {reason}"),
        TraceEvent::Held => "held".to_owned(),
        TraceEvent::Delivered if reason == "delivered" => reason.to_owned(),
        TraceEvent::Delivered => format!("delivered: {reason}"),
    };
    match step.parent {
        Some(_) => format!("{what}, branch {}", step.branch),
        None => what,
    }
}

/// `22: 40 -> 3f`, `0: + 02 00 …`, `0: - 02 00 …`
fn changed(TraceChange { offset, before, after, .. }: &TraceChange) -> String {
    match (before.is_empty(), after.is_empty()) {
        (true, _) => format!("{offset}: + {}", bytes(after)),
        (_, true) => format!("{offset}: - {}", bytes(before)),
        _ => format!("{offset}: {} -> {}", bytes(before), bytes(after)),
    }
}

fn bytes(bytes: &[u8]) -> String {
    let first: Vec<String> = bytes.iter().take(BYTES_MAX).map(|byte| format!("{byte:02x}")).collect();
    match bytes.len() {
        0..=BYTES_MAX => first.join(" "),
        all => format!("{} … ({})", first.join(" "), counted(all as u64, "byte")),
    }
}

/// The line of what became of all.
pub(super) fn totals(totals: &TraceTotals) -> String {
    let packets = counted(totals.packets, "packet");
    let copies = format!("{} {}", totals.copies, plural::choose(totals.copies, "copy", "copies"));
    let of = |counts: &BTreeMap<String, u64>| {
        let each: Vec<String> = counts.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        let sum: u64 = counts.values().sum();
        if each.is_empty() { sum.to_string() } else { format!("{sum} ({})", each.join(", ")) }
    };
    let (delivered, dropped) = (of(&totals.delivered), of(&totals.dropped));
    format!(
        "followed {packets} and {copies}: delivered {delivered}, dropped {dropped}, still there {}\n",
        totals.held
    )
}

/// The time of a step, with all digits.
pub(super) fn time(time_ns: u64) -> String {
    UtcTime { timestamp_ns: time_ns as i64, precision: Precision::Nano }.to_string()
}
