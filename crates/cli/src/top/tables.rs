//! What is told of instances, apps and links, as tables.

use super::rules::RuleRates;
use super::watch::Seen;
use crate::lasting::Lasting;
use crate::table::{Column, RULE_WIDTH_MAX, Table};
use crate::units::{nanoseconds, number, one_line, rate, share, unknown, uptime};
use engine::AppState;
use observe::{AppRates, CounterRate, DropRate, LinkRates, Quantiles, Rates, State, WorkerRates};

/// Instances, a row each.
pub(super) fn instances<'a>(rows: impl Iterator<Item = &'a Seen>) -> Table {
    let mut table = Table::new(vec![
        Column::left("INSTANCE", 10, 0),
        Column::right("PID", 7, 2),
        Column::left("STATE", 7, 0),
        Column::right("UPTIME", 6, 6),
        Column::right("APPS", 4, 5),
        Column::right("LINKS", 5, 5),
        Column::right("PPS", 6, 0),
        Column::right("WIRE BIT/S", 10, 3),
        Column::right("BUSY", 4, 8),
        Column::right("CPU", 4, 4),
        Column::right("DROPS/S", 8, 0),
    ]);
    for seen in rows {
        let rates = &seen.rates;
        table.push(vec![
            seen.name.clone(),
            seen.pid.to_string(),
            seen.state.as_str().to_owned(),
            seen.uptime.map_or_else(unknown, uptime),
            rates.apps.len().to_string(),
            rates.links.len().to_string(),
            rate(rates.packets_per_s),
            rate(rates.wire_bits_per_s_max()),
            share(rates.cpu_max()),
            share(rates.cpu),
            marked(rates.drops_per_s, &rates.drops),
        ]);
    }
    table
}

/// Apps of an instance in a state, a row each.
pub(super) fn apps<'a>(
    instance: State,
    lasting: &Lasting,
    rows: impl Iterator<Item = &'a AppRates>,
) -> Table {
    let mut table = Table::new(vec![
        Column::left("APP", 12, 0),
        Column::left("TYPE", 12, 9),
        Column::right("W", 2, 7),
        Column::left("STATE", 7, 0),
        Column::right("CPU", 4, 1),
        Column::right("PPS IN", 6, 2),
        Column::right("PPS OUT", 7, 4),
        Column::right("FILL", 5, 6),
        Column::right("P50", 6, 5),
        Column::right("P99", 6, 3),
        Column::right("DROPS/S", 8, 0),
    ]);
    for app in rows {
        table.push(vec![
            app.name.clone(),
            app.class.clone(),
            app.worker.to_string(),
            state(instance, lasting, app),
            share(app.cpu),
            rate(app.rx_per_s),
            rate(app.tx_per_s),
            share(app.fill),
            nanoseconds(app.turn.map(|turn| turn.p50_ns)),
            nanoseconds(app.turn.map(|turn| turn.p99_ns)),
            marked(app.drops_per_s, &app.drops),
        ]);
    }
    table
}

/// Links of an instance in a state, a row each: with what they carry, or have carried where it is gone.
pub(super) fn links<'a>(instance: State, rows: impl Iterator<Item = &'a LinkRates>) -> Table {
    if instance == State::Crashed { link_totals(rows) } else { link_rates(rows) }
}

fn link_totals<'a>(rows: impl Iterator<Item = &'a LinkRates>) -> Table {
    let mut table = Table::new(vec![
        Column::left("LINK", 16, 0),
        Column::right("SENT", 6, 0),
        Column::right("RECEIVED", 8, 1),
        Column::right("QUEUED", 6, 2),
        Column::right("DROPS", 6, 0),
    ]);
    for link in rows {
        let drops = link.drops.iter().map(|drop| drop.total).fold(0, u64::saturating_add);
        let numbers = [link.txpackets, link.rxpackets, link.queued(), drops].map(|count| count.to_string());
        table.push(std::iter::once(link.name.clone()).chain(numbers).collect());
    }
    table
}

fn link_rates<'a>(rows: impl Iterator<Item = &'a LinkRates>) -> Table {
    let mut table = Table::new(vec![
        Column::left("LINK", 16, 0),
        Column::right("PPS", 6, 0),
        Column::right("WIRE BIT/S", 10, 1),
        Column::right("FILL", 5, 3),
        Column::right("QUEUED", 6, 2),
        Column::right("DROPS/S", 8, 0),
    ]);
    for link in rows {
        table.push(vec![
            link.name.clone(),
            rate(link.tx_per_s),
            rate(link.wire_bits_per_s),
            share(link.fill),
            number(link.queued() as f64),
            marked(link.drops_per_s, &link.drops),
        ]);
    }
    table
}

/// Rules of a wall, a row each.
pub(super) fn rules(rows: &[RuleRates]) -> Table {
    let mut table = Table::new(vec![
        Column::left("RULE", 16, 0).at_most(RULE_WIDTH_MAX),
        Column::right("LINE", 5, 3),
        Column::left("VERDICT", 7, 1),
        Column::right("PPS", 6, 0),
        Column::right("BIT/S", 6, 4),
        Column::right("PACKETS", 8, 2),
    ]);
    for rule in rows {
        table.push(vec![
            rule.rule.clone(),
            rule.line.to_string(),
            rule.verdict.clone(),
            rate(rule.packets_per_s),
            rate(rule.bits_per_s),
            number(rule.packets as f64),
        ]);
    }
    table
}

/// A worker in a few words.
pub(super) fn worker(worker: &WorkerRates, lasting: &Lasting) -> String {
    let quantiles = |breath: Quantiles| {
        let [p50, p99] = [breath.p50_ns, breath.p99_ns].map(|ns| nanoseconds(Some(ns)));
        format!(", p50 {p50} p99 {p99}")
    };
    let exhausted = worker.exhausted_per_s.filter(|&per_s| per_s > 0.0);
    format!(
        "worker {}: {}{} busy, {} breaths/s{}, pool {}/{} free{}",
        worker.index,
        lasting.of_worker(worker.index).map_or(String::new(), |turn| format!("{turn}, ")),
        share(worker.cpu),
        rate(worker.breaths_per_s),
        worker.breath.map_or(String::new(), quantiles),
        number(worker.pool_free as f64),
        number(worker.pool_total as f64),
        exhausted.map_or(String::new(), |per_s| format!(", ! exhausted {}/s", number(per_s))),
    )
}

/// Drops by reason, the most frequent now first; those that go on are marked, unless they are what an app is for. `None` if there never was one.
pub(super) fn drops(rates: &Rates) -> Option<String> {
    drop_words(&rates.drops)
}

fn drop_words(drops: &[DropRate]) -> Option<String> {
    let mut drops: Vec<&DropRate> = drops.iter().collect();
    drops.sort_by(|a, b| {
        let now = |drop: &DropRate| drop.per_s.unwrap_or(0.0);
        now(b).total_cmp(&now(a)).then(b.total.cmp(&a.total)).then(a.reason.cmp(&b.reason))
    });
    let word = |drop: &&DropRate| {
        let mark = if drop.is_alarming() { "! " } else { "" };
        let reason = one_line(&drop.reason);
        format!("{mark}{reason} {}/s ({} in all)", rate(drop.per_s), number(drop.total as f64))
    };
    (!drops.is_empty()).then(|| drops.iter().map(word).collect::<Vec<_>>().join(", "))
}

/// Whether packets are being dropped, and not because that is what an app is for.
pub(super) fn is_alarming(drops: &[DropRate]) -> bool {
    drops.iter().any(DropRate::is_alarming)
}

/// A rate of drops; if any are alarming, marked by more than colour.
pub(super) fn marked(drops_per_s: Option<f64>, drops: &[DropRate]) -> String {
    let text = rate(drops_per_s);
    if is_alarming(drops) { format!("! {text}") } else { text }
}

/// What each app counts that is not zero, a row each; `None` if there is nothing. Drops are told beside the app, by reason.
pub(super) fn counters<'a>(apps: impl Iterator<Item = &'a AppRates>) -> Option<Table> {
    let mut table = Table::new(vec![
        Column::left("APP", 12, 0),
        Column::left("COUNTER", 12, 0),
        Column::right("TOTAL", 6, 0),
        Column::right("PER S", 6, 0),
    ]);
    let mut is_empty = true;
    for (app, counter) in apps.flat_map(|app| counted(app).map(move |counter| (app, counter))) {
        let (total, per_s) = (counter.total.to_string(), rate(counter.per_s));
        table.push(vec![app.name.clone(), counter.name.clone(), total, per_s]);
        is_empty = false;
    }
    (!is_empty).then_some(table)
}

/// What an app counts that is not zero, on one line: its counters, with what they grow by, then its drops. `None` if it counts nothing.
pub(super) fn counted_by(app: &AppRates) -> Option<String> {
    let word = |counter: &CounterRate| {
        let per_s = counter.per_s.map_or(String::new(), |per_s| format!(" ({}/s)", number(per_s)));
        format!("{} {}{per_s}", one_line(&counter.name), number(counter.total as f64))
    };
    let drops = drop_words(&app.drops).map(|drops| format!("drops: {drops}"));
    let words: Vec<String> = counted(app).map(word).chain(drops).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

fn counted(app: &AppRates) -> impl Iterator<Item = &CounterRate> {
    app.counters.iter().filter(|counter| counter.total > 0)
}

/// In which state an app is, in one word. Of an instance that has crashed, none runs, whatever the last thing was that it wrote.
pub(super) fn app_state(instance: State, app: &AppRates) -> &'static str {
    if instance == State::Crashed { instance.as_str() } else { app.state.as_str() }
}

fn state(instance: State, lasting: &Lasting, app: &AppRates) -> String {
    if let Some(lasts) = lasting.of_app(&app.name) {
        return format!("! {}", uptime(lasts));
    }
    if instance == State::Crashed {
        return app_state(instance, app).to_owned();
    }
    match app.state {
        AppState::Running if app.restarts > 0 => format!("ok ({})", app.restarts),
        AppState::Running => "ok".to_owned(),
        AppState::Down => "! down".to_owned(),
        AppState::Stopped => "stopped".to_owned(),
    }
}
