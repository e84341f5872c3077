//! Protocols and talkers on a terminal, while packets come.

use crate::exit::Failure;
use crate::reader::print_beside_packets;
use crate::table::{Column, Table};
use crate::terminal::columns;
use crate::units::quantity;
use dpi::protocol::Naming;
use std::collections::HashMap;
use std::hash::Hash;
use std::io::IsTerminal;
use std::net::IpAddr;
use std::time::Duration;
use wall::ledger::Ledger;
use wall::record::Record;

/// How often the screen is drawn.
const EVERY: Duration = Duration::from_secs(1);
/// Protocols, and addresses, that are shown.
const ROWS_MAX: usize = 9;
/// Clears the screen and begins at its upper left corner (ECMA-48: CUP, ED).
const CLEAR: &str = "\x1b[H\x1b[J";

/// What was drawn last.
pub(super) struct View {
    asked: Duration,
    shown: Shown,
}

/// What had come by then.
#[derive(Clone, Copy, Default)]
struct Shown {
    packets: u64,
    bytes: u64,
    seconds: f64,
}

impl View {
    pub(super) fn new() -> Result<View, Failure> {
        if std::io::stdout().is_terminal() {
            return Ok(View { asked: Duration::ZERO, shown: Shown::default() });
        }
        Err(Failure::user("`--top` draws on a terminal, and standard output is none")
            .help("`--live --stats` prints lines, `--table` all flows at the end"))
    }

    /// Draws what has come, if it is time.
    pub(super) fn show(&mut self, ledger: &Ledger, elapsed: Duration, naming: Naming) -> Result<(), Failure> {
        if elapsed.saturating_sub(self.asked) >= EVERY {
            self.asked = elapsed;
            ledger.ask();
        }
        let Some(records) = ledger.take_open() else { return Ok(()) };
        let (packets, bytes) = ledger.looked_at();
        let now = Shown { packets, bytes, seconds: elapsed.as_secs_f64() };
        let text = drawn(&records, naming, (self.shown, now), columns(std::io::stdout()));
        self.shown = now;
        print_beside_packets(&format!("{CLEAR}{text}"))
    }
}

/// The screen.
fn drawn(records: &[Record], naming: Naming, (before, now): (Shown, Shown), width: Option<usize>) -> String {
    let seconds = (now.seconds - before.seconds).max(1e-9);
    let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
    let mut text = format!(
        "{} {}, {} {}; {} flows are open\n",
        quantity(rate(now.packets, before.packets), "pps"),
        quantity(rate(now.bytes, before.bytes) * 8.0, "bit/s"),
        now.packets,
        if now.packets == 1 { "packet" } else { "packets" },
        records.len()
    );
    let protocols =
        most(records, |record| vec![(record.verdict.protocol.name(naming), record.packets, record.bytes)]);
    text += &table("protocol", protocols, width);
    let talkers = most(records, |record| {
        let [a, b] = record.ends.map(|end| end.ip());
        let swapped = |pair: [u64; 2]| [pair[1], pair[0]];
        vec![(a, record.packets, record.bytes), (b, swapped(record.packets), swapped(record.bytes))]
    });
    let talkers: Vec<(IpAddr, Sum)> = talkers;
    text += &table("address", talkers, width);
    text
}

/// What comes to one name. Pairs are what was sent and received.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sum {
    flows: u64,
    packets: [u64; 2],
    bytes: [u64; 2],
}

/// The names to which most bytes come.
fn most<K: Hash + Eq + Ord + Copy>(
    records: &[Record],
    parts: impl Fn(&Record) -> Vec<(K, [u64; 2], [u64; 2])>,
) -> Vec<(K, Sum)> {
    let mut sums: HashMap<K, Sum> = HashMap::new();
    for (name, packets, bytes) in records.iter().flat_map(parts) {
        let sum = sums.entry(name).or_default();
        sum.flows += 1;
        for at in 0..2 {
            sum.packets[at] += packets[at];
            sum.bytes[at] += bytes[at];
        }
    }
    let mut sorted: Vec<(K, Sum)> = sums.into_iter().collect();
    sorted.sort_unstable_by_key(|(name, sum)| (std::cmp::Reverse(sum.bytes[0] + sum.bytes[1]), *name));
    sorted.truncate(ROWS_MAX);
    sorted
}

fn table<K: ToString>(title: &'static str, rows: Vec<(K, Sum)>, width: Option<usize>) -> String {
    let titles = ["flows", "packets", "sent", "received"];
    let mut columns = vec![Column::left(title, 0, 0)];
    columns.extend(titles.map(|title| Column::right(title, 0, 1)));
    let mut table = Table::new(columns).with_gap(2);
    for (name, sum) in rows {
        let packets = sum.packets[0] + sum.packets[1];
        let [sent, received] = sum.bytes.map(|bytes| quantity(bytes as f64, "B"));
        table.push(vec![name.to_string(), sum.flows.to_string(), packets.to_string(), sent, received]);
    }
    format!("\n{}", width.map_or_else(|| table.text(), |width| table.text_within(width)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_screen_has_rates_protocols_and_talkers() {
        let record = |a: &str, b: &str, bytes| Record {
            packets: [1, 2],
            bytes,
            ..Record::new([a, b].map(|end| end.parse().unwrap()), 6)
        };
        let records =
            [record("10.0.0.1:5", "10.0.0.2:80", [100, 2000]), record("10.0.0.1:6", "10.0.0.3:80", [50, 0])];
        let now = Shown { packets: 2000, bytes: 125_000, seconds: 3.0 };
        let before = Shown { packets: 1000, bytes: 0, seconds: 2.0 };
        let text = drawn(&records, Naming::Ndpi, (before, now), None);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].ends_with("2000 packets; 2 flows are open"), "{text}");
        assert!(lines[3].starts_with("Unknown") && lines[6].starts_with("10.0.0.1"), "{text}");
        assert!(lines[7].starts_with("10.0.0.2") && lines.len() == 9, "{text}");
    }

    #[test]
    fn few_of_many_are_shown() {
        let records: Vec<Record> = (1..100)
            .map(|host| Record {
                bytes: [host, 0],
                ..Record::new(
                    [format!("10.0.0.{host}:1"), "10.0.1.1:2".into()].map(|end| end.parse().unwrap()),
                    17,
                )
            })
            .collect();
        let talkers = most(&records, |record| vec![(record.ends[0].ip(), record.packets, record.bytes)]);
        assert_eq!((talkers.len(), talkers[0].0.to_string()), (ROWS_MAX, "10.0.0.99".into()));
    }
}
