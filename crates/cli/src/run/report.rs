//! What a run has come to: as Snabb prints it, or as JSON.

use crate::ended::Ended;
use crate::json::rounded;
use crate::plural::{choose, counted, nouns};
use crate::table::{Column, Table};
use crate::units::quantity;
use engine::{AppReport, DeviceFacts, LinkReport, Report, drops};
use observe::WIRE_OVERHEAD_BYTES;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

/// A run that is over.
pub(super) struct Ran {
    pub(super) name: String,
    pub(super) duration: Duration,
    pub(super) workers: usize,
}

/// The last report of a run.
pub(super) struct Last<'a> {
    ran: Ran,
    ended: &'a Ended,
    drops: BTreeMap<String, u64>,
    sums: Sums,
}

/// What has become of all packets.
struct Sums {
    /// Packets that came in, were made or copied.
    received: u64,
    delivered: u64,
    dropped: u64,
    /// Packets that apps kept and links held when everything was stopped.
    inside: u64,
}

/// Packets that were dropped in one place for one reason.
struct Dropped {
    /// An app or a link; or when, where neither can be told any more.
    at: String,
    reason: String,
    packets: u64,
}

impl<'a> Last<'a> {
    /// What a run has come to when its engine was stopped.
    pub(super) fn of(ended: &'a Ended, ran: Ran) -> Self {
        let mut drops = ended.report.drops.clone();
        // What apps kept and links held is dropped then, which is no news.
        for (reason, count) in &ended.after.drops {
            if !drops::WHEN_STOPPING.contains(&reason.as_str()) {
                drops.insert(reason.clone(), *count);
            }
        }
        let sums = Sums::of(ended, &drops);
        Last { ran, ended, drops, sums }
    }

    /// As one JSON object.
    pub(super) fn object(&self) -> Value {
        let Report { breaths, apps, links, pool, .. } = &self.ended.report;
        let of_a_core = self.of_a_core();
        let apps: Map<String, Value> =
            apps.iter().map(|(name, app)| (name.clone(), app_object(app, of_a_core(app)))).collect();
        let gone = self.dropped().into_iter().filter(|dropped| dropped.at == GONE);
        let gone: BTreeMap<String, u64> = gone.map(|dropped| (dropped.reason, dropped.packets)).collect();
        let links: Map<String, Value> =
            links.iter().map(|link| (link.link.to_string(), link_object(link))).collect();
        json!({
            "v": 1,
            "type": "run",
            "name": self.ran.name,
            "breaths": breaths,
            "cpu_s": rounded(self.ended.cpu_s),
            "seconds": rounded(self.ran.duration.as_secs_f64()),
            "workers": self.ran.workers,
            "apps": apps,
            "links": links,
            "received": self.sums.received,
            "delivered": self.sums.delivered,
            "drops": self.drops,
            "drops_gone": gone,
            "missed": self.ended.after.missed,
            "copies": self.copies(),
            "inside": self.sums.inside,
            "pool": {
                "total": pool.total,
                "free": pool.free,
                "queued": pool.queued,
                "held": pool.held,
                "lent": pool.lent,
                "exhausted": pool.exhausted,
            },
            "balanced": self.ended.is_balanced(),
            "imbalances": self.ended.imbalances().collect::<Vec<_>>(),
        })
    }

    /// Packets that were copied from devices, and to them.
    fn copies(&self) -> u64 {
        let devices = self.ended.report.apps.values().filter(|app| app.device.is_some());
        devices
            .flat_map(|app| app.counts())
            .filter(|(name, _)| *name == "copies")
            .map(|(_, count)| count)
            .sum()
    }

    /// In words and columns.
    pub(super) fn in_words(&self) -> String {
        let mut out = self.headline();
        for section in [self.links(), self.apps(), self.counters(), self.drops(), self.texts()] {
            if !section.is_empty() {
                put(&mut out, format_args!("\n{section}"));
            }
        }
        put(&mut out, format_args!("\n{}\n{}\n", self.account(), self.pool()));
        out
    }

    fn headline(&self) -> String {
        let Ran { name, duration, workers } = &self.ran;
        let breaths = self.ended.report.breaths;
        format!(
            "{name}: {:.2} s on {}, {} {}, {:.2} s of CPU\n",
            duration.as_secs_f64(),
            counted(*workers as u64, "worker"),
            grouped(breaths),
            nouns(breaths, "breath"),
            self.ended.cpu_s
        )
    }

    fn links(&self) -> String {
        let seconds = self.ran.duration.as_secs_f64().max(1e-9);
        let row = |link: &LinkReport| {
            vec![
                link.link.to_string(),
                grouped(link.txpackets),
                quantity(link.txpackets as f64 / seconds, ""),
                quantity(link.txbytes as f64 * 8.0 / seconds, ""),
                quantity((link.txbytes + WIRE_OVERHEAD_BYTES * link.txpackets) as f64 * 8.0 / seconds, ""),
                grouped(link.txdrop),
                grouped(link.queued as u64),
            ]
        };
        let head = ["link", "packets", "pps", "bit/s", "wire bit/s", "drops", "queued"];
        table(&head, 1, self.ended.report.links.iter().map(row))
    }

    /// How much of a core an app has taken, in percent.
    fn of_a_core(&self) -> impl Fn(&AppReport) -> f64 {
        let ran_ns = (self.ran.duration.as_nanos() as u64).max(1);
        // Turns are timed by the clock on the wall, now and then, and looking at it takes time as well: where turns seem to have
        // taken more time than there was, they share what there was.
        let total_ns = |worker: usize| {
            let apps = self.ended.report.apps.values().filter(|app| app.worker == worker);
            apps.map(|app| app.busy_ns).sum::<u64>().max(ran_ns)
        };
        let totals_ns: Vec<u64> = (0..self.ran.workers).map(total_ns).collect();
        move |app: &AppReport| {
            let total_ns = totals_ns.get(app.worker).copied().unwrap_or(ran_ns);
            app.busy_ns as f64 * 100.0 / total_ns as f64
        }
    }

    fn apps(&self) -> String {
        let share = self.of_a_core();
        let row = |(name, app): (&String, &AppReport)| {
            let (median, high) = app.turn_ns.map_or(("-".to_owned(), "-".to_owned()), |(median, high)| {
                (duration_ns(median), duration_ns(high))
            });
            vec![
                name.clone(),
                app.class.to_string(),
                app.state.as_str().to_owned(),
                app.restarts.to_string(),
                app.worker.to_string(),
                format!("{:.1} %", share(app)),
                median,
                high,
                grouped(app.held as u64),
            ]
        };
        let head = ["app", "type", "state", "restarts", "worker", "of a core", "p50", "p99", "held"];
        table(&head, 3, self.ended.report.apps.iter().map(row))
    }

    /// What apps have counted beside drops, if anything.
    fn counters(&self) -> String {
        let counts = self.ended.report.apps.iter().flat_map(|(name, app)| {
            let counts = app.counts().filter(|&(_, count)| count > 0);
            counts.map(move |(counter, count)| vec![name.clone(), counter.to_owned(), grouped(count)])
        });
        table(&["app", "counter", "value"], 2, counts)
    }

    fn drops(&self) -> String {
        let row = |Dropped { at, reason, packets }| vec![at, reason, grouped(packets)];
        table(&["dropped at", "reason", "packets"], 2, self.dropped().into_iter().map(row))
    }

    /// Where packets were dropped: apps, links, and what cannot be told of either.
    fn dropped(&self) -> Vec<Dropped> {
        let mut all = Vec::new();
        let mut untold = self.drops.clone();
        let mut add = |at: &str, reason: &str, packets: u64| {
            if let Some(untold) = untold.get_mut(reason) {
                *untold = untold.saturating_sub(packets);
            }
            if packets > 0 {
                all.push(Dropped { at: at.to_owned(), reason: reason.to_owned(), packets });
            }
        };
        for (name, app) in &self.ended.report.apps {
            app.drops().for_each(|(reason, count)| add(name, reason, count));
        }
        for link in &self.ended.report.links {
            add(&link.link.to_string(), "link_full", link.txdrop);
        }
        // By apps and links that a reload has removed, or by an app while it was stopped.
        let others = untold.into_iter().filter(|&(_, packets)| packets > 0);
        all.extend(others.map(|(reason, packets)| Dropped { at: GONE.to_owned(), reason, packets }));
        all
    }

    /// Whether all packets are accounted for, in numbers.
    fn account(&self) -> String {
        let Sums { received, delivered, dropped, inside } = self.sums;
        let packets = nouns(received, "packet");
        let [received, delivered, dropped, inside] = [received, delivered, dropped, inside].map(grouped);
        let sum =
            format!("{received} {packets}: {delivered} delivered, {dropped} dropped, {inside} still inside");
        let differences: Vec<&str> = self.ended.imbalances().map(String::as_str).collect();
        match &*differences {
            [] => format!("{sum}; {}", self.missed_in_words()),
            some => format!("{sum}; PACKETS ARE UNACCOUNTED FOR: {}", some.join("; ")),
        }
    }

    /// The kernel counts what it has dropped before it came in, and by which app that was to be, unless that is gone.
    fn missed_in_words(&self) -> String {
        let missed = self.ended.after.missed;
        if missed == 0 {
            return "every packet accounted for".to_owned();
        }
        let apps = self.ended.report.apps.iter().filter(|(_, app)| app.missed() > 0);
        let names: Vec<String> = apps.map(|(name, _)| format!("`{name}`")).collect();
        let at = if names.is_empty() { GONE.to_owned() } else { names.join(", ") };
        format!(
            "every packet that came in is accounted for, but {} MORE {} DROPPED BY THE KERNEL before {at} took them",
            grouped(missed),
            choose(missed, "WAS", "WERE"),
        )
    }

    /// What the apps say, and why those failed that did.
    fn texts(&self) -> String {
        let mut out = String::new();
        for (name, app) in &self.ended.report.apps {
            if let Some(device) = &app.device {
                put(&mut out, format_args!("{name}: {}\n", device.mode));
            }
            for line in app.text.iter().flat_map(|text| text.lines()) {
                put(&mut out, format_args!("{name}: {line}\n"));
            }
            if let Some(error) = &app.last_error {
                put(&mut out, format_args!("{name}: failed last with: {error}\n"));
            }
        }
        out
    }

    fn pool(&self) -> String {
        let pool = &self.ended.report.pool;
        let packets = nouns(pool.total as u64, "packet");
        let exhausted = match pool.exhausted {
            0 => String::new(),
            count => format!("; {} {} none was free", grouped(count), nouns(count, "time")),
        };
        let [total, free, queued, held] =
            [pool.total, pool.free, pool.queued, pool.held].map(|count| grouped(count as u64));
        let lent = match pool.lent {
            0 => String::new(),
            count => format!(", {} lent to devices", grouped(count as u64)),
        };
        format!(
            "memory for {total} {packets}: {free} free, {queued} in links, {held} kept by apps{lent}{exhausted}"
        )
    }
}

impl Sums {
    /// As it stood before everything was stopped, but for what stopping has lost: what was written, as it had seemed, or was kept.
    fn of(ended: &Ended, dropped: &BTreeMap<String, u64>) -> Self {
        let (report, dropped) = (&ended.report, dropped.values().sum());
        let received = report.pool.allocated.saturating_sub(report.pool.lent as u64);
        let delivered = report.delivered.min(ended.after.delivered);
        Sums {
            received,
            delivered,
            dropped,
            inside: received.saturating_sub(delivered).saturating_sub(dropped),
        }
    }
}

/// Where packets were dropped that no app and no link tells of at the end.
const GONE: &str = "(gone)";

fn app_object(app: &AppReport, of_a_core: f64) -> Value {
    let (median_ns, high_ns) = app.turn_ns.unzip();
    json!({
        "state": app.state.as_str(),
        "restarts": app.restarts,
        "type": app.class,
        "worker": app.worker,
        "core_percent": rounded(of_a_core),
        "turn_ns": { "p50": median_ns, "p99": high_ns },
        "held": app.held,
        "error": app.last_error,
        "report": app.text,
        "failed": app.has_failed,
        "mode": app.device.as_ref().map(|device| &device.mode),
        "device": app.device.as_ref().map(device_object),
        "counters": app.counts().collect::<BTreeMap<_, _>>(),
        "drops": app.drops().collect::<BTreeMap<_, _>>(),
    })
}

fn device_object(device: &DeviceFacts) -> Value {
    json!({
        "memory": device.memory,
        "queues": device.queues,
        "zero_copy": device.is_zero_copy,
        "timestamps": device.has_timestamps,
        "up": device.is_up,
        "offloads": device.offloads,
    })
}

fn link_object(link: &LinkReport) -> Value {
    json!({
        "txpackets": link.txpackets,
        "txbytes": link.txbytes,
        "rxpackets": link.rxpackets,
        "txdrop": link.txdrop,
        "queued": link.queued,
    })
}

/// Rows under their heads, in columns; the first `left` to the left, the others, numbers, to the right. Nothing if there are no rows.
fn table(head: &[&'static str], left: usize, rows: impl Iterator<Item = Vec<String>>) -> String {
    let column = |(index, &title)| {
        if index < left { Column::left(title, 0, 0) } else { Column::right(title, 0, 0) }
    };
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return String::new();
    }
    let mut table = Table::new(head.iter().enumerate().map(column).collect()).with_gap(2);
    rows.for_each(|row| table.push(row));
    table.text()
}

/// A number with a comma before each three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join(",")
}

fn duration_ns(ns: u64) -> String {
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{:.1} µs", ns as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", ns as f64 / 1e6),
        _ => format!("{:.1} s", ns as f64 / 1e9),
    }
}

/// Writing to a string cannot fail.
fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Engine, Settings};

    #[test]
    fn numbers() {
        let grouped = [0, 999, 1000, 1_234_567].map(grouped);
        assert_eq!(grouped, ["0", "999", "1,000", "1,234,567"]);
        let durations = [0, 999, 1000, 65_536, 2_000_000, 3_000_000_000].map(duration_ns);
        assert_eq!(durations, ["0 ns", "999 ns", "1.0 µs", "65.5 µs", "2.0 ms", "3.0 s"]);
    }

    /// What a run has come to whose kernel has dropped so many.
    fn missing(missed: u64) -> Ended {
        let mut engine = Engine::new(Settings { packets: 10, ..Settings::new().unwrap() }).unwrap();
        let mut ended = Ended::stop(&mut engine);
        (ended.report.missed, ended.after.missed) = (missed, missed);
        ended
    }

    #[test]
    fn what_the_kernel_dropped_is_in_the_account() {
        let ran = || Ran { name: "x".to_owned(), duration: Duration::from_secs(1), workers: 1 };
        for (missed, account) in [
            (0, "0 packets: 0 delivered, 0 dropped, 0 still inside; every packet accounted for"),
            (
                191_613,
                "0 packets: 0 delivered, 0 dropped, 0 still inside; every packet that came in is accounted for, \
                 but 191,613 MORE WERE DROPPED BY THE KERNEL before (gone) took them",
            ),
        ] {
            let ended = missing(missed);
            let last = Last::of(&ended, ran());
            assert_eq!(last.account(), account);
            assert_eq!(
                (last.object()["missed"].as_u64(), &last.object()["balanced"]),
                (Some(missed), &true.into())
            );
        }
    }

    #[test]
    fn columns_line_up() {
        let rows = [vec!["a.b -> c.d".to_owned(), "1".to_owned()], vec!["e".to_owned(), "1,000".to_owned()]];
        let text = table(&["link", "packets"], 1, rows.into_iter());
        assert_eq!(text, "link        packets\na.b -> c.d        1\ne             1,000\n");
        assert_eq!(table(&["x"], 1, std::iter::empty()), "");
    }
}
