//! `sluss ps`: which instances there are, from their files of counters.

use crate::args::PsArgs;
use crate::escape::shown;
use crate::exit::{Failure, Outcome};
use crate::instances::{find, nothing_in, unix_ns};
use crate::lasting::Lasting;
use crate::message::Message;
use crate::table::{Column, Table};
use crate::terminal::{Terminal, columns, print};
use crate::units;
use engine::shm::{RecordKind, runtime};
use observe::{Found, Instance, Rates, Sample};
use serde_json::{Value, json};
use std::time::Duration;

/// Lists instances, or cleans up after those that have crashed.
pub(crate) fn run(args: &PsArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let found = find(&runtime::folders())?;
    for (path, error) in &found.unreadable {
        terminal.tell(&Message::warning(format_args!("{}: {error}", path.display())));
    }
    if args.clean {
        return clean(&found, args.json, terminal);
    }
    let now_unix_ns = unix_ns();
    if args.json {
        let lines = found.instances.iter().map(|instance| format!("{}\n", object(instance, now_unix_ns)));
        print(&lines.collect::<String>())?;
    } else if found.instances.is_empty() {
        terminal.tell(&nothing_in(&found.folders));
    } else {
        let lasting = found.instances.iter().flat_map(|instance| {
            let name = units::one_line(&instance.name);
            Totals::of(instance, now_unix_ns).lasting.lines(&name).map(|line| line + "\n").collect::<Vec<_>>()
        });
        let lasting: String = lasting.collect();
        print(&(table(&found.instances, now_unix_ns).text_on(columns(std::io::stdout())) + &lasting))?;
    }
    Ok(Outcome::Done)
}

fn clean(found: &Found, json: bool, terminal: &Terminal) -> Result<Outcome, Failure> {
    let mut failed = None;
    for (path, result) in found.clean() {
        match result {
            Ok(()) if json => {
                print(&format!(
                    "{}\n",
                    json!({ "v": 1, "type": "removed", "path": path.to_string_lossy() })
                ))?;
            }
            Ok(()) => print(&format!("removed {}\n", shown(&path.display().to_string())))?,
            Err(error) => {
                let failure = Failure::world(format_args!("cannot remove {}: {error}", path.display()));
                failed.replace(failure).iter().for_each(|earlier| terminal.tell(&earlier.message));
            }
        }
    }
    failed.map_or(Ok(Outcome::Done), Err)
}

/// What is told of an instance without waiting: totals, no rates.
struct Totals {
    uptime: Option<Duration>,
    workers: usize,
    apps: usize,
    links: usize,
    packets: u64,
    drops: u64,
    lasting: Lasting,
}

impl Totals {
    fn of(instance: &Instance, now_unix_ns: u64) -> Self {
        let count = |kind| instance.snapshot.of(kind).count();
        let sample = Sample { at: Duration::ZERO, cpu: instance.cpu, snapshot: instance.snapshot.clone() };
        let rates = Rates::between(None, &sample);
        Totals {
            uptime: instance.uptime(now_unix_ns),
            workers: count(RecordKind::Worker),
            apps: count(RecordKind::App),
            links: count(RecordKind::Link),
            packets: rates.packets,
            lasting: Lasting::of(&rates, instance.state, now_unix_ns),
            drops: rates.drops.iter().fold(0, |sum, drop| sum.saturating_add(drop.total)),
        }
    }
}

fn table(instances: &[Instance], now_unix_ns: u64) -> Table {
    let columns = vec![
        Column::left("NAME", 8, 0),
        Column::right("PID", 7, 0),
        Column::left("STATE", 7, 0),
        Column::right("UPTIME", 7, 2),
        Column::right("WORKERS", 7, 5),
        Column::right("APPS", 5, 3),
        Column::right("LINKS", 5, 4),
        Column::right("PACKETS", 8, 1),
        Column::right("DROPS", 8, 0),
    ];
    let mut table = Table::new(columns);
    for instance in instances {
        let totals = Totals::of(instance, now_unix_ns);
        table.push(vec![
            instance.name.clone(),
            instance.pid.to_string(),
            instance.state.as_str().to_owned(),
            totals.uptime.map_or_else(units::unknown, units::uptime),
            totals.workers.to_string(),
            totals.apps.to_string(),
            totals.links.to_string(),
            units::number(totals.packets as f64),
            units::number(totals.drops as f64),
        ]);
    }
    table
}

fn object(instance: &Instance, now_unix_ns: u64) -> Value {
    let totals = Totals::of(instance, now_unix_ns);
    json!({
        "v": 1,
        "type": "instance",
        "name": instance.name,
        "pid": instance.pid,
        "state": instance.state.as_str(),
        "started_unix_ns": instance.snapshot.started_unix_ns,
        "uptime_s": totals.uptime.map(|uptime| uptime.as_secs_f64()),
        "workers": totals.workers,
        "apps": totals.apps,
        "links": totals.links,
        "packets": totals.packets,
        "drops": totals.drops,
        "lasting_turns": totals.lasting.objects(),
        "path": instance.path.to_string_lossy(),
    })
}
