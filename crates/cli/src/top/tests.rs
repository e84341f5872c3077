//! Screens as text, at several sizes, and what keys do to them.

use super::rules::RuleRates;
use super::screen;
use super::view::{Action, Pane, View};
use super::watch::{Moment, Seen};
use super::{once, tables};
use crate::lasting::Lasting;
use engine::AppState;
use observe::{AppRates, CounterRate, DropRate, LinkRates, Quantiles, Rates, State, Turn, WorkerRates};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::path::PathBuf;
use std::time::Duration;

const START_UNIX_NS: u64 = 1_700_000_000_000_000_000;

fn drop_rate(reason: &str, total: u64, per_s: f64) -> DropRate {
    DropRate { reason: reason.to_owned(), total, per_s: Some(per_s), is_purpose: reason == "rejected" }
}

fn app(name: &str, class: &str, cpu: f64, (rx, tx): (Option<f64>, Option<f64>)) -> AppRates {
    AppRates {
        name: name.to_owned(),
        class: class.to_owned(),
        worker: 0,
        state: AppState::Running,
        restarts: 0,
        cpu: Some(cpu),
        rx_per_s: rx,
        tx_per_s: tx,
        fill: Some(0.98),
        turn: Some(Quantiles { p50_ns: 1280, p99_ns: 5120 }),
        counters: vec![],
        drops: vec![],
        drops_per_s: Some(0.0),
    }
}

fn counters() -> Vec<CounterRate> {
    let counter = |name: &str, total, per_s| CounterRate { name: name.to_owned(), total, per_s };
    vec![
        counter("web_packets", 1_000_000, Some(1e5)),
        counter("never", 0, Some(0.0)),
        counter("delayed", 17, None),
    ]
}

fn link(name: &str, per_s: f64, drops: Vec<DropRate>) -> LinkRates {
    LinkRates {
        name: name.to_owned(),
        txpackets: 1_000_064,
        rxpackets: 1_000_000,
        tx_per_s: Some(per_s),
        rx_per_s: Some(per_s),
        bits_per_s: Some(per_s * 480.0),
        wire_bits_per_s: Some(per_s * 672.0),
        fill: Some(0.98),
        drops_per_s: Some(drops.iter().filter_map(|drop| drop.per_s).sum()),
        drops,
    }
}

fn edge(packets_per_s: f64) -> Seen {
    let full = drop_rate("link_full", 4200, 1234.0);
    let filter = app("web_filter", "filter", 0.31, (Some(packets_per_s), Some(2e5)));
    let worker = WorkerRates {
        index: 0,
        breaths_per_s: Some(31_250.0),
        breath: Some(Quantiles { p50_ns: 20_480, p99_ns: 40_960 }),
        cpu: Some(0.87),
        thread_cpu: Some(0.93),
        pool_total: 16_384,
        pool_free: 16_000,
        exhausted_per_s: Some(0.0),
        turn: None,
    };
    let rates = Rates {
        interval: Duration::from_secs(1),
        generation: 3,
        burst: 64,
        cpu: Some(1.04),
        packets: 123_456_789,
        packets_per_s: Some(packets_per_s),
        workers: vec![worker],
        apps: vec![
            AppRates {
                name: "old_filter".to_owned(),
                state: AppState::Down,
                restarts: 2,
                cpu: Some(0.0),
                turn: None,
                ..filter.clone()
            },
            AppRates { name: "printer".to_owned(), cpu: None, turn: None, ..filter.clone() },
            app("source", "source", 0.12, (None, Some(2e6))),
            AppRates {
                counters: counters(),
                drops: vec![drop_rate("rejected", 9, 7.0)],
                drops_per_s: Some(7.0),
                ..filter
            },
        ],
        links: vec![
            link("source.output -> web_filter.input", 2e6, vec![full.clone()]),
            link("web_filter.output -> printer.input", 2e5, vec![]),
        ],
        drops: vec![full, drop_rate("rejected", 9, 7.0), drop_rate("panic", 64, 0.0)],
        drops_per_s: Some(1241.0),
    };
    let (path, name) = (PathBuf::from("edge.4711.counters"), "edge".to_owned());
    let (uptime, lasting) = (Some(Duration::from_secs(3725)), Lasting::default());
    Seen {
        path,
        name,
        pid: 4711,
        state: State::Running,
        uptime,
        rates,
        lasting,
        rules: Vec::new(),
        rules_in_all: 0,
    }
}

fn crashed() -> Seen {
    let rates = Rates {
        packets: 77,
        apps: vec![AppRates {
            cpu: None,
            fill: None,
            drops_per_s: None,
            ..app("source", "source", 0.0, (None, None))
        }],
        links: vec![LinkRates {
            txpackets: 81,
            rxpackets: 77,
            tx_per_s: None,
            rx_per_s: None,
            bits_per_s: None,
            wire_bits_per_s: None,
            fill: None,
            drops: vec![DropRate {
                reason: "link_full".to_owned(),
                total: 4,
                per_s: None,
                is_purpose: false,
            }],
            drops_per_s: None,
            ..link("source.output -> sink.input", 0.0, vec![])
        }],
        drops: vec![DropRate { reason: "link_full".to_owned(), total: 4, per_s: None, is_purpose: false }],
        ..Rates::default()
    };
    let (path, name) = (PathBuf::from("lab.99.counters"), "lab\x1b[2J".to_owned());
    let (lasting, rules) = (Lasting::default(), Vec::new());
    Seen { path, name, pid: 99, state: State::Crashed, uptime: None, rates, lasting, rules, rules_in_all: 0 }
}

fn moment(second: u64, instances: Vec<Seen>) -> Moment {
    Moment {
        at_unix_ns: START_UNIX_NS + second * 1_000_000_000,
        instances,
        unreadable: vec![],
        folders: vec![],
    }
}

fn view() -> View {
    let mut view = View::new(Duration::from_secs(1), false);
    for second in 0..40 {
        let per_s = 1e6 + 5e4 * (second % 10) as f64;
        view.push(moment(second, vec![edge(per_s), crashed()]));
    }
    view
}

fn drawn(view: &View, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal of memory");
    terminal.draw(|frame| screen::draw(frame, view)).expect("it draws");
    let buffer = terminal.backend().buffer();
    let rows = (0..height).map(|y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>());
    rows.map(|row| format!("{}\n", row.trim_end())).collect()
}

/// Compares with `testdata/golden/top/NAME.txt`; `BLESS=1` writes it.
fn golden(name: &str, text: &str) {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../testdata/golden/top/{name}.txt"));
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, text).expect("a writable file");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == expected, "{} differs (BLESS=1 if that is right):\n{text}", path.display());
}

#[test]
fn screens_look_as_they_should() {
    let mut view = view();
    golden("80x24", &drawn(&view, 80, 24));
    golden("120x40", &drawn(&view, 120, 40));
    golden("40x8", &drawn(&view, 40, 8));
    golden("30x4", &drawn(&view, 30, 4));
    for key in [Action::NextPane, Action::Down, Action::Narrow, Action::Back, Action::Back] {
        view.act(key);
    }
    golden("80x24-paused", &drawn(&view, 80, 24));
    view.act(Action::Help);
    golden("80x24-help", &drawn(&view, 80, 24));
    golden("40x12-help", &drawn(&view, 40, 12));
    let mut crash = View::new(Duration::from_secs(1), false);
    crash.push(moment(0, vec![crashed()]));
    golden("80x24-crashed", &drawn(&crash, 80, 24));
    golden("80x24-empty", &drawn(&View::new(Duration::from_secs(1), false), 80, 24));
    let moment = moment(0, vec![edge(1e6), crashed()]);
    golden("once", &once::in_words(&moment, None));
    golden("once-narrow", &once::in_words(&moment, Some(40)));
}

#[test]
fn of_a_wall_the_busiest_rules_are_seen() {
    let rule = |number: usize| RuleRates {
        number,
        line: number as u64 + 2,
        verdict: "drop".to_owned(),
        rule: format!("udp port {number} => drop"),
        packets: number as u64,
        bytes: 60 * number as u64,
        packets_per_s: Some((number % 1000) as f64),
        bits_per_s: None,
    };
    let rules: Vec<RuleRates> = (0..10_000).map(rule).collect();
    let wall = Seen { rules_in_all: rules.len(), rules, ..edge(1e6) };
    let text = once::in_words(&moment(0, vec![wall.clone()]), None);
    assert!(
        text.contains("udp port 9999 => drop") && text.ends_with("and 9960 rules, less busy\n"),
        "{text}"
    );
    let mut view = View::new(Duration::from_secs(1), false);
    view.push(moment(0, vec![wall]));
    let screen = drawn(&view, 80, 40);
    assert!(screen.contains("rules of edge: 10000, the busiest 256, by rate"), "{screen}");
    let at = |port: u32| screen.find(&format!("udp port {port} =>"));
    assert!(
        at(9999).is_some() && at(9999) < at(8999) && at(9998).is_none_or(|later| at(999) < Some(later)),
        "{screen}"
    );
    (0..3).for_each(|_| _ = view.act(Action::NextPane));
    view.act(Action::Down);
    assert!(drawn(&view, 80, 40).contains(">udp port 8999"), "{}", drawn(&view, 80, 40));
    view.act(Action::NextSort);
    assert!(drawn(&view, 80, 40).contains("by name"));
    view.act(Action::NextPane);
    assert_eq!(view.focus, Pane::Instances);
    for (width, height) in
        (0..100).step_by(9).flat_map(|width| (0..34).step_by(3).map(move |height| (width, height)))
    {
        drawn(&view, width, height);
    }
}

#[test]
fn no_size_panics() {
    let (mut full, empty) = (view(), View::new(Duration::from_secs(1), true));
    full.act(Action::Help);
    for (width, height) in (0..100).step_by(3).flat_map(|width| (0..34).map(move |height| (width, height))) {
        drawn(&full, width, height);
        drawn(&empty, width, height);
    }
}

#[test]
fn without_colour_nothing_is_coloured() {
    for has_colour in [false, true] {
        let mut view = View::new(Duration::from_secs(1), has_colour);
        view.push(moment(0, vec![edge(1e6), crashed()]));
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).expect("a terminal of memory");
        terminal.draw(|frame| screen::draw(frame, &view)).expect("it draws");
        let is_plain = |cell: &ratatui::buffer::Cell| {
            cell.fg == ratatui::style::Color::Reset && cell.bg == ratatui::style::Color::Reset
        };
        assert_eq!(terminal.backend().buffer().content.iter().all(is_plain), !has_colour);
    }
}

#[test]
fn the_past_can_be_looked_at() {
    let mut view = view();
    let second = |view: &View| (view.moment().expect("one").at_unix_ns - START_UNIX_NS) / 1_000_000_000;
    assert_eq!((second(&view), view.is_paused()), (39, false));
    view.act(Action::Back);
    view.act(Action::Back);
    assert_eq!((second(&view), view.is_paused(), view.back()), (37, true, Duration::from_secs(2)));
    view.push(moment(40, vec![]));
    assert_eq!(second(&view), 37, "it stays while paused");
    (0..9).for_each(|_| _ = view.act(Action::Forward));
    assert_eq!((second(&view), view.is_paused()), (40, true));
    (0..99).for_each(|_| _ = view.act(Action::Back));
    assert_eq!(second(&view), 0);
    // What was looked at is forgotten: the oldest that is left shows.
    (41..800).for_each(|at| view.push(moment(at, vec![])));
    assert_eq!(second(&view), 200);
    view.act(Action::Pause);
    assert_eq!((second(&view), view.is_paused()), (799, false));
    assert!(!view.act(Action::Quit));
}

#[test]
fn keys_on_an_empty_screen_do_no_harm() {
    use Action::{Back, Down, Forward, Help, Narrow, NextPane, NextSort, Pause, PreviousPane, Up, Widen};
    let mut view = View::new(Duration::from_secs(1), false);
    for action in
        [Back, Down, Forward, Help, PreviousPane, Narrow, NextPane, NextSort, Pause, Up, Widen].repeat(4)
    {
        assert!(view.act(action));
        drawn(&view, 80, 24);
    }
}

#[test]
fn what_is_selected_stays_selected_when_rows_move() {
    let mut view = view();
    view.act(Action::NextPane);
    assert_eq!(view.app().map(|app| app.name.as_str()), Some("web_filter"));
    view.act(Action::Down);
    let selected = view.app().expect("an app").name.clone();
    while view.sort_of(Pane::Apps).as_str() != "name" {
        view.act(Action::NextSort);
        assert_eq!(view.app().map(|app| &app.name), Some(&selected));
    }
    view.act(Action::Narrow);
    assert!(view.is_narrowed && view.links().iter().all(|link| link.touches(&selected)));
    view.act(Action::Widen);
    assert_eq!(view.links().len(), 2);
}

#[test]
fn objects_are_one_line_each() {
    let text = once::objects(&moment(0, vec![edge(1e6), crashed()]));
    let objects: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(objects.len(), 2);
    assert_eq!((&objects[0]["v"], &objects[0]["type"]), (&1.into(), &"top".into()));
    assert_eq!(objects[0]["links"]["source.output -> web_filter.input"]["wire_bits_per_s"], 1.344e9);
    assert_eq!(objects[0]["drops"]["link_full"]["per_s"], 1234.0);
    assert_eq!(objects[0]["apps"]["source"]["turn_ns"]["p99"], 5120);
    let counters = serde_json::json!({
        "web_packets": { "total": 1_000_000, "per_s": 1e5 },
        "never": { "total": 0, "per_s": 0.0 },
        "delayed": { "total": 17, "per_s": null },
    });
    assert_eq!(objects[0]["apps"]["web_filter"]["counters"], counters);
    assert_eq!(
        (&objects[1]["state"], &objects[1]["packets_per_s"]),
        (&"crashed".into(), &serde_json::Value::Null)
    );
}

#[test]
fn a_turn_that_lasts_is_told() {
    let mut seen = edge(0.0);
    let turn = Turn { app: "web_filter".to_owned(), since_unix_ns: START_UNIX_NS };
    seen.rates.workers[0].turn = Some(turn);
    let lasting =
        |state, after_ms: u64| Lasting::of(&seen.rates, state, START_UNIX_NS + after_ms * 1_000_000);
    assert!(!lasting(State::Running, 99).any() && !lasting(State::Stopped, 9999).any());
    let lasting = lasting(State::Running, 12_500);
    let lines: Vec<String> = lasting.lines("edge").collect();
    assert_eq!(lines, ["! edge: the turn of app `web_filter` lasts, 12s so far: it holds up worker 0"]);
    seen.lasting = lasting;
    let mut view = View::new(Duration::from_secs(1), false);
    view.push(moment(12, vec![seen.clone()]));
    let screen = drawn(&view, 120, 40);
    assert!(screen.contains("worker 0: ! turn of web_filter lasts 12s, 87% busy"), "{screen}");
    assert!(screen.lines().any(|line| line.contains("web_filter") && line.contains("! 12s")), "{screen}");
    let object: serde_json::Value =
        serde_json::from_str(&once::objects(&moment(12, vec![seen]))).expect("JSON");
    let told = serde_json::json!({
        "worker": 0, "app": "web_filter", "since_unix_ns": START_UNIX_NS, "for_s": 12.5
    });
    assert_eq!(object["workers"][0]["lasting_turn"], told);
}

/// Packets that a filter rejects, it is there to reject.
#[test]
fn drops_that_are_the_purpose_of_an_app_are_no_alarm() {
    let rejects = vec![drop_rate("rejected", 9, 7.0)];
    assert_eq!(tables::marked(Some(7.0), &rejects), "7");
    let both = [&rejects[..], &[drop_rate("link_full", 1, 1.0)]].concat();
    assert_eq!(tables::marked(Some(8.0), &both), "! 8");
    let mut seen = edge(1.0);
    seen.rates.links.clear();
    seen.rates.drops = rejects;
    let mut view = View::new(Duration::from_secs(1), true);
    view.push(moment(1, vec![seen]));
    let screen = drawn(&view, 120, 40);
    let filter = screen.lines().find(|line| line.contains(">web_filter")).expect("its row");
    assert!(filter.contains(" 7│") && !filter.contains('!'), "{screen}");
}

#[test]
fn panes_use_the_height_of_the_terminal() {
    let mut seen = edge(1.0);
    seen.rates.links = (0..30).map(|n| link(&format!("a.o{n} -> b.i{n}"), 1.0, vec![])).collect();
    let mut view = View::new(Duration::from_secs(1), true);
    view.push(moment(1, vec![seen; 12]));
    // 12 instances, 4 apps and 30 links, with frames, and 7 lines more.
    let screen = drawn(&view, 120, 63);
    assert_eq!(screen.matches("4711").count(), 12, "{screen}");
    assert!((0..30).all(|n| screen.contains(&format!("b.i{n} "))), "{screen}");
    // With less, apps take what they need and links have the rest.
    let screen = drawn(&view, 120, 40);
    assert!(screen.contains("web_filter") && screen.contains("b.i12 "), "{screen}");
}

#[test]
fn drops_that_go_on_come_first_and_are_marked() {
    let text = tables::drops(&edge(1.0).rates).expect("drops");
    assert_eq!(text, "! link_full 1.23k/s (4.20k in all), rejected 7/s (9 in all), panic 0/s (64 in all)");
    assert_eq!(tables::drops(&Rates::default()), None);
}
