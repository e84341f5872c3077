//! `sluss top --once`: one interval, as tables or JSON.

use super::rules;
use super::tables;
use super::watch::{Moment, Seen, Watch};
use crate::exit::{Failure, Outcome};
use crate::instances;
use crate::message::Message;
use crate::plural::counted;
use crate::table::folded;
use crate::terminal::{Terminal, columns, print};
use crate::units::{one_line, rate, share, uptime};
use observe::{AppRates, CounterRate, DropRate, LinkRates, Quantiles, Rates, State, WorkerRates};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Rules of a wall that are printed in words: the busiest.
const RULES_MAX: usize = 40;

/// Looks twice, and prints what happened in between.
pub(super) fn run(
    mut watch: Watch,
    interval: Duration,
    json: bool,
    terminal: &Terminal,
) -> Result<Outcome, Failure> {
    let mut moment = watch.first()?;
    if moment.instances.iter().any(|seen| seen.state != State::Crashed) {
        std::thread::sleep(interval);
        moment = watch.look()?;
    }
    moment.unreadable.iter().for_each(|problem| terminal.tell(&Message::warning(problem)));
    if moment.instances.is_empty() {
        terminal.tell(&instances::nothing_in(&moment.folders));
        return Ok(Outcome::NothingMatched);
    }
    print(&if json { objects(&moment) } else { in_words(&moment, columns(std::io::stdout())) })?;
    Ok(Outcome::Done)
}

/// All instances, as tables, on a terminal so many columns wide, if on one.
pub(super) fn in_words(moment: &Moment, width: Option<usize>) -> String {
    let texts: Vec<String> = moment.instances.iter().map(|seen| instance_in_words(seen, width)).collect();
    texts.join("\n")
}

fn instance_in_words(seen: &Seen, width: Option<usize>) -> String {
    let rates = &seen.rates;
    let head = head(seen);
    let tables = [
        Some(tables::apps(seen.state, &seen.lasting, rates.apps.iter())),
        Some(tables::links(seen.state, rates.links.iter())),
        tables::counters(rates.apps.iter()),
        (!seen.rules.is_empty()).then(|| tables::rules(&busiest(seen))),
    ];
    let tables: String = tables.iter().flatten().map(|table| table.text_on(width)).collect();
    let left_out = seen.rules.len().saturating_sub(RULES_MAX);
    let more = if left_out > 0 {
        format!("and {}, less busy\n", counted(left_out as u64, "rule"))
    } else {
        String::new()
    };
    width.map_or_else(|| head.clone(), |width| folded(&head, width)) + &tables + &more
}

fn busiest(seen: &Seen) -> Vec<rules::RuleRates> {
    let mut rows = seen.rules.clone();
    rules::busiest(&mut rows);
    rows.truncate(RULES_MAX);
    rows
}

/// What is told in sentences.
fn head(seen: &Seen) -> String {
    let rates = &seen.rates;
    let up = seen.uptime.map_or(String::new(), |time| format!(", up {}", uptime(time)));
    let did = if seen.state == State::Crashed { did_in_all(rates) } else { does(rates) };
    let (name, state) = (one_line(&seen.name), seen.state.as_str());
    let mut text = format!("{name} (pid {}): {state}{up}; {did}\n", seen.pid);
    rates.workers.iter().for_each(|worker| text += &format!("{}\n", tables::worker(worker, &seen.lasting)));
    text + &format!("drops: {}\n", tables::drops(rates).unwrap_or_else(|| "none".to_owned()))
}

/// What an instance that runs does.
fn does(rates: &Rates) -> String {
    let (packets, drops) = (rate(rates.packets_per_s), rate(rates.drops_per_s));
    let (busiest, cpu) = (share(rates.cpu_max()), share(rates.cpu));
    format!("{packets} packets/s, {drops} drops/s, busiest worker {busiest}, CPU {cpu}")
}

/// What one that is gone has done.
fn did_in_all(rates: &Rates) -> String {
    let drops = rates.drops.iter().map(|drop| drop.total).fold(0, u64::saturating_add);
    format!("{} and {} in all", counted(rates.packets, "packet"), counted(drops, "drop"))
}

/// All instances, a line of JSON each.
pub(super) fn objects(moment: &Moment) -> String {
    moment.instances.iter().map(|seen| format!("{}\n", object(seen))).collect()
}

fn object(seen: &Seen) -> Value {
    let rates = &seen.rates;
    let apps: Map<String, Value> =
        rates.apps.iter().map(|app| (app.name.clone(), app_object(seen.state, app))).collect();
    let links: Map<String, Value> =
        rates.links.iter().map(|link| (link.name.clone(), link_object(link))).collect();
    json!({
        "v": 1,
        "type": "top",
        "name": seen.name,
        "pid": seen.pid,
        "state": seen.state.as_str(),
        "uptime_s": seen.uptime.map(|uptime| uptime.as_secs_f64()),
        "interval_s": rates.interval.as_secs_f64(),
        "generation": rates.generation,
        "burst": rates.burst,
        "cpu": rates.cpu,
        "packets": rates.packets,
        "packets_per_s": rates.packets_per_s,
        "drops_per_s": rates.drops_per_s,
        "workers": rates.workers.iter().map(|worker| worker_object(worker, seen)).collect::<Vec<_>>(),
        "apps": apps,
        "links": links,
        "drops": drops_object(&rates.drops),
        "rules": seen.rules.iter().map(rules::object).collect::<Vec<_>>(),
    })
}

fn worker_object(worker: &WorkerRates, seen: &Seen) -> Value {
    json!({
        "worker": worker.index,
        "cpu": worker.cpu,
        "breaths_per_s": worker.breaths_per_s,
        "breath_ns": quantiles_object(worker.breath),
        "pool": { "total": worker.pool_total, "free": worker.pool_free },
        "pool_exhausted_per_s": worker.exhausted_per_s,
        "lasting_turn": seen.lasting.object_of(worker.index),
    })
}

fn app_object(instance: State, app: &AppRates) -> Value {
    json!({
        "type": app.class,
        "worker": app.worker,
        "state": tables::app_state(instance, app),
        "restarts": app.restarts,
        "cpu": app.cpu,
        "rx_per_s": app.rx_per_s,
        "tx_per_s": app.tx_per_s,
        "fill": app.fill,
        "turn_ns": quantiles_object(app.turn),
        "counters": counters_object(&app.counters),
        "drops_per_s": app.drops_per_s,
        "drops": drops_object(&app.drops),
    })
}

fn counters_object(counters: &[CounterRate]) -> Map<String, Value> {
    let entry = |counter: &CounterRate| {
        (counter.name.clone(), json!({ "total": counter.total, "per_s": counter.per_s }))
    };
    counters.iter().map(entry).collect()
}

fn link_object(link: &LinkRates) -> Value {
    json!({
        "txpackets": link.txpackets,
        "rxpackets": link.rxpackets,
        "queued": link.queued(),
        "tx_per_s": link.tx_per_s,
        "rx_per_s": link.rx_per_s,
        "bits_per_s": link.bits_per_s,
        "wire_bits_per_s": link.wire_bits_per_s,
        "fill": link.fill,
        "drops_per_s": link.drops_per_s,
        "drops": drops_object(&link.drops),
    })
}

fn drops_object(drops: &[DropRate]) -> Map<String, Value> {
    let entry = |drop: &DropRate| (drop.reason.clone(), json!({ "total": drop.total, "per_s": drop.per_s }));
    drops.iter().map(entry).collect()
}

fn quantiles_object(quantiles: Option<Quantiles>) -> Value {
    quantiles.map_or(Value::Null, |found| json!({ "p50": found.p50_ns, "p99": found.p99_ns }))
}
