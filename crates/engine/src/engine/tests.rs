//! Graphs that change while they run, apps that fail, memory that runs out: nothing is lost, and what is dropped is counted.

mod claims;
mod counters;
mod large;
mod places;
mod prepared;

use super::*;
use crate::app::{App, Class, Io, Ports, Reconfigured, Roles, Setup};
use crate::config::{Config, OptionError};
use crate::pool::Packet;
use crate::report::AppState;
use crate::shm::Counter;
use proptest::prelude::*;
use serde::Deserialize;

/// Brings in packets of 8 bytes that count up, and leaves when they are all sent.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Numbers {
    count: u64,
    /// How long it takes to get the first.
    pause_ms: u64,
    /// Each packet of so many has 20,000 bytes; 0 for none.
    long_every: u64,
}

impl Numbers {
    fn up_to(count: u64) -> Self {
        Numbers { count, pause_ms: 0, long_every: 0 }
    }
}

struct Counting {
    next: u64,
    options: Numbers,
}

impl Class for Numbers {
    const TYPE: &'static str = "numbers";
    const INPUTS: Ports = Ports::NONE;
    const OUTPUTS: Ports = Ports::Any;
    type App = Counting;

    fn start(&self, _: &mut Setup<'_>) -> Result<Counting, OptionError> {
        Ok(Counting { next: 0, options: self.clone() })
    }

    fn reconfigure(
        &self,
        app: &mut Counting,
        _: &Self,
        _: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        app.options.count = self.count;
        Ok(Reconfigured::Kept)
    }
}

impl App for Counting {
    fn roles(&self) -> Roles {
        Roles::PULL
    }

    fn pull(&mut self, io: &mut Io<'_>) {
        std::thread::sleep(Duration::from_millis(std::mem::take(&mut self.options.pause_ms)));
        let mut bytes = [0; 20_000];
        for output in io.outputs.iter_mut() {
            for _ in 0..io.burst.min((self.options.count - self.next) as usize) {
                bytes[..8].copy_from_slice(&self.next.to_be_bytes());
                let is_long = self.next.checked_rem(self.options.long_every) == Some(0);
                let Some(packet) = io.pool.packet(&bytes[..if is_long { 20_000 } else { 8 }]) else { return };
                self.next += 1;
                output.put(packet);
            }
        }
    }

    fn is_finished(&self) -> bool {
        self.next >= self.options.count
    }
}

/// Passes packets on, but keeps the last few; fails at a packet that it is told.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Keeper {
    keep: usize,
    panic_at: Option<u64>,
    /// A mistake in the options.
    refuse: bool,
}

impl Keeper {
    fn of(keep: usize) -> Self {
        Keeper { keep, panic_at: None, refuse: false }
    }
}

struct Keeping {
    options: Keeper,
    kept: std::collections::VecDeque<Packet>,
}

impl Class for Keeper {
    const TYPE: &'static str = "keeper";
    const INPUTS: Ports = Ports::Any;
    const OUTPUTS: Ports = Ports::Any;
    type App = Keeping;

    fn start(&self, _: &mut Setup<'_>) -> Result<Keeping, OptionError> {
        if self.refuse {
            return Err(OptionError::new("refuse", "as told"));
        }
        Ok(Keeping { options: self.clone(), kept: Default::default() })
    }
}

impl App for Keeping {
    fn push(&mut self, io: &mut Io<'_>) {
        for input in io.inputs.iter_mut() {
            while let Some(burst) = input.burst() {
                for packet in burst {
                    let number = u64::from_be_bytes(*packet.data().first_chunk().expect("8 bytes"));
                    assert!(self.options.panic_at != Some(number), "told to fail at {number}");
                    self.kept.push_back(packet);
                    // Without an output the packet goes out of scope, which must be counted.
                    let Some(packet) =
                        (self.kept.len() > self.options.keep).then(|| self.kept.pop_front()).flatten()
                    else {
                        continue;
                    };
                    if let Some(output) = io.outputs.first_mut() {
                        output.put(packet);
                    }
                }
            }
        }
    }

    fn held(&self) -> usize {
        self.kept.len()
    }
}

/// Swallows packets, and takes its time before it does.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct End {
    pause_ms: u64,
}

struct Ending {
    delivered: Counter,
    pause: Duration,
}

impl Class for End {
    const TYPE: &'static str = "end";
    const INPUTS: Ports = Ports::Any;
    const OUTPUTS: Ports = Ports::NONE;
    type App = Ending;

    fn start(&self, setup: &mut Setup<'_>) -> Result<Ending, OptionError> {
        Ok(Ending { delivered: setup.delivered(), pause: Duration::from_millis(self.pause_ms) })
    }
}

impl App for Ending {
    fn push(&mut self, io: &mut Io<'_>) {
        std::thread::sleep(self.pause);
        for input in io.inputs.iter_mut() {
            while let Some(burst) = input.burst() {
                io.pool.free_burst(burst, &self.delivered);
            }
        }
    }
}

/// Keeps packets for a time of the clock, which is over only when it ticks.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Oven {
    /// How long, for each packet in turn; then the last again.
    bake_ns: Vec<u64>,
}

struct Baking {
    options: Oven,
    kept: std::collections::VecDeque<(u64, Packet)>,
    taken: usize,
    delivered: Counter,
}

impl Class for Oven {
    const TYPE: &'static str = "oven";
    const OUTPUTS: Ports = Ports::NONE;
    type App = Baking;

    fn start(&self, setup: &mut Setup<'_>) -> Result<Baking, OptionError> {
        Ok(Baking { options: self.clone(), kept: Default::default(), taken: 0, delivered: setup.delivered() })
    }
}

impl App for Baking {
    fn roles(&self) -> Roles {
        Roles::PUSH.and(Roles::TICK)
    }

    fn push(&mut self, io: &mut Io<'_>) {
        for packet in io.inputs[0].burst().into_iter().flatten() {
            let bake_ns = &self.options.bake_ns;
            self.kept.push_back((io.now_ns + bake_ns[self.taken.min(bake_ns.len() - 1)], packet));
            self.taken += 1;
        }
    }

    fn tick(&mut self, io: &mut Io<'_>) {
        while let Some((_, packet)) = self.kept.pop_front_if(|(due_ns, _)| *due_ns <= io.now_ns) {
            io.pool.free(packet, &self.delivered);
        }
    }

    fn held(&self) -> usize {
        self.kept.len()
    }

    fn next_event_ns(&self) -> Option<u64> {
        self.kept.front().map(|&(due_ns, _)| due_ns)
    }
}

/// Keeps packets, and fails in a method that it is told; in `start` and `link` only when it is started again, after `push`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Faulty {
    #[serde(skip)]
    fault: &'static str,
    number: u32,
}

struct Failing {
    fault: &'static str,
    starts: u64,
    kept: Vec<Packet>,
}

impl Class for Faulty {
    const TYPE: &'static str = "faulty";
    const OUTPUTS: Ports = Ports::NONE;
    type App = Failing;

    fn check(&self) -> Result<(), OptionError> {
        assert!(self.fault != "check", "told to fail in check");
        Ok(())
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Failing, OptionError> {
        let starts = setup.legacy::<AtomicU64>().fetch_add(1, Ordering::Relaxed);
        assert!(
            self.fault != "first start" && (starts == 0 || self.fault != "start"),
            "told to fail in start"
        );
        Ok(Failing { fault: self.fault, starts, kept: Vec::new() })
    }

    fn reconfigure(&self, _: &mut Failing, _: &Self, _: &mut Setup<'_>) -> Result<Reconfigured, OptionError> {
        assert!(self.fault != "reconfigure", "told to fail in reconfigure");
        Ok(if self.fault != "start" { Reconfigured::Kept } else { Reconfigured::NeedsRestart })
    }
}

impl Failing {
    fn fail_in(&self, method: &str) {
        assert!(self.fault != method, "told to fail in {method}");
    }
}

impl App for Failing {
    fn roles(&self) -> Roles {
        Roles::PULL.and(Roles::PUSH).and(Roles::TICK)
    }

    fn push(&mut self, io: &mut Io<'_>) {
        self.kept.extend(io.inputs[0].burst().into_iter().flatten().take(10));
        assert!(!["start", "link"].contains(&self.fault), "told to fail in push");
    }

    fn tick(&mut self, _: &mut Io<'_>) {
        self.fail_in("tick");
    }

    fn link(&mut self, _: &crate::PortNames<'_>) {
        self.fail_in("first link");
        if self.starts > 0 {
            self.fail_in("link");
        }
    }

    fn stop(&mut self, _: &mut Io<'_>) {
        self.fail_in("stop");
    }

    fn report(&self) -> Option<String> {
        self.fail_in("report");
        None
    }

    fn held(&self) -> usize {
        self.fail_in("held");
        self.kept.len()
    }

    fn uses_metadata(&self) -> bool {
        self.fail_in("uses_metadata");
        false
    }

    fn is_finished(&self) -> bool {
        self.fail_in("is_finished");
        true
    }

    fn ends_run(&self) -> bool {
        self.fail_in("ends_run");
        false
    }

    fn next_event_ns(&self) -> Option<u64> {
        self.fail_in("next_event_ns");
        None
    }
}

impl Drop for Failing {
    fn drop(&mut self) {
        if ["stop", "held"].contains(&self.fault) {
            panic!("told to fail when it goes");
        }
    }
}

fn faulty(fault: &'static str, number: u32) -> Graph {
    let mut graph = Graph::new();
    graph.app("numbers", Numbers::up_to(2000)).expect("a name");
    graph.app("faulty", Faulty { fault, number }).expect("a name");
    graph.link("numbers.output -> faulty.input").expect("ports");
    graph
}

fn capture_engine() -> Engine {
    let settings = Settings::new().expect("memory");
    let (clock, [restart_first, restart_max]) = (ClockKind::Capture, [1, 4].map(Duration::from_millis));
    Engine::new(Settings { clock, restart_first, restart_max, ..settings }).expect("memory")
}

fn engine(workers: usize, packets: usize) -> Engine {
    let settings = Settings::new().expect("memory");
    let restarts = (Duration::from_millis(1), Duration::from_millis(4));
    Engine::new(Settings { workers, packets, restart_first: restarts.0, restart_max: restarts.1, ..settings })
        .expect("memory")
}

fn line(keeper: Keeper) -> Graph {
    let mut graph = Graph::new();
    graph.app("numbers", Numbers::up_to(u64::MAX)).expect("a name");
    graph.app("keeper", keeper).expect("a name");
    graph.app("end", End { pause_ms: 0 }).expect("a name");
    graph.link("numbers.output -> keeper.input").expect("ports");
    graph.link("keeper.output -> end.input").expect("ports");
    graph
}

#[track_caller]
fn balanced(engine: &mut Engine) -> Report {
    let report = engine.report();
    assert!(report.balanced(), "{:#?}\n{report:#?}", report.imbalances);
    report
}

#[test]
fn packets_flow_and_are_accounted_for() {
    let mut engine = engine(1, 1000);
    engine.configure(&line(Keeper::of(10))).expect("a graph");
    (0..10).for_each(|_| assert!(engine.breathe()));
    let report = balanced(&mut engine);
    assert_eq!((report.delivered, report.pool.held), (630, 10));
    engine.stop();
    let report = balanced(&mut engine);
    assert_eq!(report.pool.free, 1000);
    assert_eq!(report.drops, BTreeMap::from([("stopped".to_owned(), 10)]));
}

#[test]
fn an_engine_ends_by_itself_when_nothing_is_left_to_do() {
    for workers in 1..=3 {
        let mut engine = engine(workers, 4000);
        let mut graph = line(Keeper::of(0));
        graph.get_mut("numbers").expect("an app").config = Config::new(Numbers::up_to(3000));
        for (number, name) in ["numbers", "keeper", "end"].iter().enumerate() {
            graph.get_mut(name).expect("an app").worker = Some(number % workers);
        }
        engine.configure(&graph).expect("a graph");
        engine.run_for(Duration::from_secs(20)).expect("threads");
        let report = balanced(&mut engine);
        let full = report.drops.get("link_full").copied().unwrap_or(0);
        assert_eq!(report.delivered + full, 3000, "{workers} workers: {report:#?}");
        assert_eq!(report.pool.free, report.pool.total);
    }
}

/// A worker that is busy for long, or gets no time, looks as if it rested while packets wait for it.
#[test]
fn an_engine_does_not_end_while_packets_wait_for_a_slow_worker() {
    let mut engine = engine(2, 4000);
    let mut graph = line(Keeper::of(0));
    graph.get_mut("numbers").expect("an app").config =
        Config::new(Numbers { pause_ms: 50, ..Numbers::up_to(900) });
    graph.get_mut("end").expect("an app").config = Config::new(End { pause_ms: 20 });
    for (name, worker) in [("numbers", 0), ("keeper", 0), ("end", 1)] {
        graph.get_mut(name).expect("an app").worker = Some(worker);
    }
    engine.configure(&graph).expect("a graph");
    engine.run_for(Duration::from_secs(20)).expect("threads");
    let report = balanced(&mut engine);
    assert_eq!((report.delivered, report.pool.queued), (900, 0), "{report:#?}");
}

#[test]
fn an_app_that_panics_is_stopped_and_started_again() {
    let mut engine = engine(1, 1000);
    engine.configure(&line(Keeper { panic_at: Some(100), ..Keeper::of(5) })).expect("a graph");
    engine.breathe();
    engine.breathe();
    let report = balanced(&mut engine);
    assert_eq!(report.apps["keeper"].state, AppState::Down);
    assert_eq!(report.apps["keeper"].last_error.as_deref(), Some("told to fail at 100"));
    // Held, and not yet taken from the burst: 59 had been passed on by the first breath.
    assert_eq!(report.drops["panic"], 5 + 28);
    engine.breathe();
    let report = balanced(&mut engine);
    assert_eq!(report.drops["app_down"], 64);
    let begin = Instant::now();
    while engine.report().apps["keeper"].state == AppState::Down {
        std::thread::sleep(Duration::from_millis(1));
        engine.breathe();
        assert!(begin.elapsed() < Duration::from_secs(10), "it is not started again");
    }
    let before = balanced(&mut engine).delivered;
    engine.breathe();
    let report = balanced(&mut engine);
    // The new one keeps five of its own.
    assert_eq!((report.apps["keeper"].restarts, report.delivered), (1, before + 59));
}

#[test]
fn a_full_link_drops_and_counts() {
    let mut engine = engine(1, 4000);
    let mut graph = Graph::new();
    graph.app("numbers", Numbers::up_to(u64::MAX)).expect("a name");
    // A loop: what the keeper sends comes back to it a breath later, beside what is new.
    graph.app("keeper", Keeper::of(0)).expect("a name");
    graph.link("numbers.output -> keeper.input").expect("ports");
    graph.link("keeper.output -> keeper.again").expect("ports");
    engine.configure(&graph).expect("a graph");
    (0..100).for_each(|_| _ = engine.breathe());
    let report = balanced(&mut engine);
    assert!(report.drops["link_full"] > 0);
    assert!(report.links.iter().all(|link| link.queued <= 1024));
}

#[test]
fn an_exhausted_pool_is_counted_and_recovers() {
    let mut engine = engine(1, 100);
    engine.configure(&line(Keeper::of(90))).expect("a graph");
    (0..10).for_each(|_| _ = engine.breathe());
    let report = balanced(&mut engine);
    assert!(report.pool.exhausted > 0);
    engine.configure(&line(Keeper::of(1))).expect("a graph");
    let before = balanced(&mut engine).delivered;
    engine.breathe();
    assert_eq!(balanced(&mut engine).delivered, before + 63);
}

#[test]
fn a_wrong_option_changes_nothing() {
    let mut engine = engine(1, 1000);
    engine.configure(&line(Keeper::of(3))).expect("a graph");
    engine.breathe();
    let mut graph = line(Keeper::of(3));
    graph.app("new", Keeper { refuse: true, ..Keeper::of(0) }).expect("a name");
    let error = engine.configure(&graph).expect_err("it refuses");
    assert_eq!(error.to_string(), "app `new` (keeper): `refuse`: as told");
    assert_eq!(*engine.graph(), line(Keeper::of(3)));
    let report = balanced(&mut engine);
    assert_eq!((report.pool.held, report.apps.len()), (3, 3));
    // An app that is there, and does not start with its new options, has its old ones again.
    let changes =
        engine.configure(&line(Keeper { refuse: true, ..Keeper::of(7) })).expect("the others go on");
    assert_eq!(changes.failed[0].0, "keeper");
    engine.breathe();
    assert_eq!(balanced(&mut engine).pool.held, 3);
}

#[test]
fn metadata_is_kept_once_an_app_asks_for_it() {
    let mut pool = Pool::new(4).expect("memory");
    let mut packet = pool.allocate().expect("a packet");
    pool.describe(&mut packet, crate::Metadata { mark: 7, ..Default::default() });
    assert_eq!(packet.metadata().mark, 0);
    pool.stamp(5);
    assert_eq!((packet.metadata().timestamp_ns, packet.metadata().linktype), (5, 1));
    pool.stamp_time(9);
    pool.describe(&mut packet, crate::Metadata { mark: 7, ..Default::default() });
    let copy = pool.copy(&packet).expect("a packet");
    assert_eq!(copy.metadata().mark, 7);
    let fresh = pool.allocate().expect("a packet");
    assert_eq!((fresh.metadata().timestamp_ns, fresh.metadata().linktype), (9, 1));
    for packet in [packet, copy, fresh] {
        pool.put_back(packet);
    }
}

#[test]
fn an_app_may_fail_in_any_of_its_methods() {
    for fault in ["check", "first start"] {
        let mut engine = engine(1, 4000);
        let error = engine.configure(&faulty(fault, 1)).expect_err("it fails");
        assert!(matches!(&error, ConfigureError::App { error, .. } if error.fault == crate::Fault::App));
        let error = error.to_string();
        assert!(error.contains("it failed when it was to") && error.contains("told to fail"), "{error}");
        assert_eq!(*engine.graph(), Graph::new());
    }
    let running = [
        "start",
        "first link",
        "link",
        "tick",
        "report",
        "held",
        "uses_metadata",
        "is_finished",
        "next_event_ns",
        "ends_run",
    ];
    for fault in running.into_iter().chain(["stop", "reconfigure"]) {
        let mut engine = capture_engine();
        engine.configure(&faulty(fault, 1)).expect("a graph");
        let begin = Instant::now();
        loop {
            engine.run_for(Duration::from_millis(10)).expect("threads");
            let report = balanced(&mut engine);
            let has_failed =
                report.apps["faulty"].last_error.as_ref().is_some_and(|error| error.contains("told to fail"));
            if has_failed == running.contains(&fault) {
                break;
            }
            assert!(begin.elapsed() < Duration::from_secs(20), "{fault}: {report:#?}");
        }
        let changes = engine.configure(&faulty(fault, 2)).expect("a graph");
        assert_eq!(
            changes.failed.len(),
            usize::from(["reconfigure", "start", "first link", "link"].contains(&fault)),
            "{fault}: {changes:?}"
        );
        engine.run_for(Duration::from_millis(5)).expect("threads");
        balanced(&mut engine);
        let changes = engine.stop();
        let reports = changes.reports.iter().filter(|(_, report)| report.text.contains("told to fail"));
        assert_eq!(reports.count(), usize::from(["stop"].contains(&fault)), "{fault}: {changes:?}");
        let report = balanced(&mut engine);
        assert_eq!(report.pool.free, report.pool.total, "{fault}");
    }
}

#[test]
fn a_panic_of_whoever_asks_for_the_end_ends_the_workers() {
    let mut engine = engine(2, 4000);
    engine.configure(&line(Keeper::of(3))).expect("a graph");
    let run = std::panic::AssertUnwindSafe(|| engine.run(|_| panic!("as told")));
    assert!(std::panic::catch_unwind(run).is_err());
    balanced(&mut engine);
}

#[test]
fn an_app_that_does_not_start_is_waited_for_longer_each_time_and_not_for_ever() {
    let mut engine = engine(1, 4000);
    let mut graph = line(Keeper { panic_at: Some(10), ..Keeper::of(0) });
    graph.get_mut("numbers").expect("an app").config = Config::new(Numbers::up_to(2000));
    engine.configure(&graph).expect("a graph");
    engine.breathe();
    assert_eq!(engine.report().apps["keeper"].state, AppState::Down);
    // The app ran for longer than the longest pause; its restarts fail at once.
    let slots = &mut engine.workers[0].slots;
    let slot = slots.iter_mut().find(|slot| slot.name() == "keeper").expect("a slot");
    slot.refuse(Config::new(Keeper { refuse: true, ..Keeper::of(0) }), Duration::from_secs(1));
    let begin = Instant::now();
    let report = run_to_the_end(&mut engine);
    // After 1, 2 and 4 ms.
    let keeper = &report.apps["keeper"];
    assert!(begin.elapsed() >= Duration::from_millis(6), "{:?}", begin.elapsed());
    assert!(keeper.state == AppState::Down && (3..1000).contains(&keeper.restarts), "{report:#?}");
}

#[test]
fn any_length_of_time_will_do_for_restarts() {
    for (first, max) in [(Duration::ZERO, Duration::ZERO), (Duration::MAX, Duration::MAX)] {
        let settings = Settings::new().expect("memory");
        let settings = Settings { restart_first: first, restart_max: max, ..settings };
        let mut engine = Engine::new(settings).expect("memory");
        engine.configure(&line(Keeper { panic_at: Some(10), ..Keeper::of(0) })).expect("a graph");
        (0..3000).for_each(|_| _ = engine.breathe());
        let restarts = balanced(&mut engine).apps["keeper"].restarts;
        assert!(if first.is_zero() { restarts <= 1000 } else { restarts == 0 }, "{restarts}");
    }
}

/// Sends what comes to both outputs in turn, and changes their places each time.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Juggler;

impl Class for Juggler {
    const TYPE: &'static str = "juggler";
    const OUTPUTS: Ports = Ports::Named(&["a", "b"]);
    type App = Self;

    fn start(&self, _: &mut Setup<'_>) -> Result<Self, OptionError> {
        Ok(Juggler)
    }
}

impl App for Juggler {
    fn push(&mut self, io: &mut Io<'_>) {
        io.inputs[0].burst().into_iter().for_each(|burst| io.outputs[0].send(burst));
        io.outputs.swap(0, 1);
    }
}

#[test]
fn ends_are_known_by_their_rings_wherever_an_app_puts_them() {
    for breaths in 1..4 {
        let mut engine = engine(2, 4000);
        let mut graph = Graph::new();
        graph.app("numbers", Numbers::up_to(u64::MAX)).expect("a name").worker = Some(0);
        graph.app("juggler", Juggler).expect("a name").worker = Some(0);
        graph.app("near", End { pause_ms: 0 }).expect("a name").worker = Some(0);
        graph.app("far", End { pause_ms: 0 }).expect("a name").worker = Some(1);
        for link in ["numbers.output -> juggler.input", "juggler.a -> near.input", "juggler.b -> far.input"] {
            graph.link(link).expect("ports");
        }
        engine.configure(&graph).expect("a graph");
        (0..breaths).for_each(|_| _ = engine.breathe());
        engine.gather();
        balanced(&mut engine);
    }
}

#[test]
fn links_are_checked_against_classes_that_were_put_in_place_of_others() {
    let mut graph = line(Keeper::of(0));
    graph.get_mut("keeper").expect("an app").config = Config::new(Numbers::up_to(1));
    let error = engine(1, 10).configure(&graph).expect_err("no such input").to_string();
    assert_eq!(error, "app `keeper` (numbers): it has no input `input`, which is linked; its inputs: none");
}

/// Counts how often one of its kind was stopped.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Bell;

static RUNG: AtomicU64 = AtomicU64::new(0);

impl Class for Bell {
    const TYPE: &'static str = "bell";
    type App = Self;

    fn start(&self, _: &mut Setup<'_>) -> Result<Self, OptionError> {
        Ok(Bell)
    }
}

impl App for Bell {
    fn stop(&mut self, _: &mut Io<'_>) {
        RUNG.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn an_engine_that_goes_stops_its_apps() {
    let mut graph = Graph::new();
    graph.app("bell", Bell).expect("a name");
    for is_stopped in [false, true] {
        let before = RUNG.load(Ordering::Relaxed);
        let mut engine = engine(2, 100);
        engine.configure(&graph).expect("a graph");
        if is_stopped {
            engine.stop();
        }
        drop(engine);
        assert_eq!(RUNG.load(Ordering::Relaxed) - before, 1);
    }
}

#[test]
fn packets_inside_are_described_when_an_app_first_asks_for_metadata() {
    let mut engine = engine(1, 100);
    engine.configure(&line(Keeper::of(10))).expect("a graph");
    engine.breathe();
    assert!(!engine.workers[0].pool.uses_metadata());
    let mut graph = Graph::new();
    graph.app("numbers", Numbers::up_to(u64::MAX)).expect("a name");
    graph.app("keeper", Keeper::of(10)).expect("a name");
    graph.app("reader", Reader).expect("a name");
    graph.link("numbers.output -> keeper.input").expect("ports");
    graph.link("keeper.output -> reader.input").expect("ports");
    engine.configure(&graph).expect("a graph");
    engine.breathe();
    assert_eq!(balanced(&mut engine).delivered, 54 + 64);
}

/// Takes no packet that nothing is known of.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Reader;

struct Reading(Counter);

impl Class for Reader {
    const TYPE: &'static str = "reader";
    const OUTPUTS: Ports = Ports::NONE;
    type App = Reading;

    fn start(&self, setup: &mut Setup<'_>) -> Result<Reading, OptionError> {
        Ok(Reading(setup.delivered()))
    }
}

impl App for Reading {
    fn push(&mut self, io: &mut Io<'_>) {
        for packet in io.inputs[0].burst().into_iter().flatten() {
            let metadata = packet.metadata();
            assert!(metadata.linktype == 1 && metadata.timestamp_ns > 0, "{metadata:?}");
            io.pool.free(packet, &self.0);
        }
    }

    fn uses_metadata(&self) -> bool {
        true
    }
}

#[test]
fn time_does_not_go_back_for_an_app_that_moves() {
    let mut engine = engine(2, 100);
    engine.workers[0].not_before(u64::MAX / 2);
    engine.configure(&line(Keeper::of(1))).expect("a graph");
    for worker in &mut engine.workers {
        (0..20).for_each(|_| _ = worker.breathe());
        assert!(worker.now_ns() >= u64::MAX / 2);
    }
    let settings = Settings { clock: ClockKind::Capture, workers: 2, ..Settings::new().expect("memory") };
    assert!(Engine::new(settings).expect_err("two times").to_string().contains("one worker"));
}

/// Runs a graph that ends by itself.
#[track_caller]
fn run_to_the_end(engine: &mut Engine) -> Report {
    engine.run_for(Duration::from_secs(20)).expect("threads");
    assert!(engine.workers.iter().all(Worker::is_at_rest), "{:#?}", engine.report());
    balanced(engine)
}

#[test]
fn capture_time_does_not_stand_still_at_what_is_due_in_a_tick() {
    let mut engine = capture_engine();
    let mut graph = Graph::new();
    graph.app("numbers", Numbers::up_to(3)).expect("a name");
    // All within a millisecond, so that no regular tick comes between.
    graph.app("oven", Oven { bake_ns: vec![5_000_000, 5_000_100, 5_999_000] }).expect("a name");
    graph.link("numbers.output -> oven.input").expect("ports");
    engine.configure(&graph).expect("a graph");
    assert_eq!(run_to_the_end(&mut engine).delivered, 3);
}

#[test]
fn an_app_is_started_again_while_capture_time_stands_still() {
    let mut engine = capture_engine();
    let mut graph = line(Keeper { panic_at: Some(10), ..Keeper::of(0) });
    graph.get_mut("numbers").expect("an app").config = Config::new(Numbers::up_to(2000));
    engine.configure(&graph).expect("a graph");
    let report = run_to_the_end(&mut engine);
    assert_eq!((report.apps["keeper"].state, report.apps["keeper"].restarts), (AppState::Running, 1));
}

/// A graph over up to five keepers, and links between any two of its apps.
#[derive(Clone, Debug)]
struct Description {
    /// How many packets each keeps, the worker it runs on, and whether it fails; perhaps it is not there.
    keepers: Vec<Option<(usize, usize, bool)>>,
    links: Vec<(usize, usize)>,
}

fn any_graph() -> impl Strategy<Value = Description> {
    let keeper = prop::option::of((0..20usize, 0..3usize, prop::bool::weighted(0.1)));
    (prop::collection::vec(keeper, 5), prop::collection::vec((0..7usize, 0..7usize), 0..8))
        .prop_map(|(keepers, links)| Description { keepers, links })
}

fn build(Description { keepers, links }: &Description) -> Graph {
    let mut graph = Graph::new();
    graph.app("app5", Numbers { long_every: 7, ..Numbers::up_to(u64::MAX) }).expect("a name");
    graph.app("app6", End { pause_ms: 0 }).expect("a name");
    for (index, keeper) in keepers.iter().enumerate() {
        if let Some((keep, worker, fails)) = *keeper {
            let panic_at = fails.then_some(200);
            let app =
                graph.app(&format!("app{index}"), Keeper { panic_at, ..Keeper::of(keep) }).expect("a name");
            app.worker = Some(worker);
        }
    }
    for (number, (from, to)) in links.iter().enumerate() {
        // Links to apps that are not there, or out of the end, are refused; that is tested elsewhere.
        let _ = graph.link(&format!("app{from}.out{} -> app{to}.in{}", number % 3, number % 2));
    }
    graph
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 2 } else { 64 }, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever follows upon whatever: packets are conserved, what is unchanged keeps its state, and in the end all are home.
    #[test]
    fn graphs_change_without_loss(graphs in prop::collection::vec(any_graph(), 1..8), workers in 1..4usize, threads in any::<bool>()) {
        let mut engine = engine(workers, 3000);
        for description in &graphs {
            let graph = build(description);
            let before = engine.report();
            let old = engine.graph().clone();
            engine.configure(&graph).expect("nothing to refuse");
            let after = engine.report();
            prop_assert!(after.balanced(), "{:#?}", after.imbalances);
            for link in &after.links {
                let was = before.links.iter().find(|other| other.link == link.link);
                let kept = was.map_or((0, 0), |was| (was.txpackets, was.rxpackets));
                // An app that is stopped may send a last time; no test app does.
                prop_assert_eq!(kept, (link.txpackets, link.rxpackets));
            }
            for (name, app) in graph.apps() {
                if old.get(name).is_some_and(|old| old.config == app.config) {
                    prop_assert_eq!(before.apps[name].held, after.apps[name].held);
                }
            }
            if threads {
                engine.run_for(Duration::from_millis(2)).expect("threads");
            } else {
                (0..5).for_each(|_| _ = engine.breathe());
            }
            let report = engine.report();
            prop_assert!(report.balanced(), "{:#?}", report.imbalances);
        }
        engine.stop();
        let report = engine.report();
        prop_assert!(report.balanced(), "{:#?}", report.imbalances);
        prop_assert_eq!(report.pool.free, report.pool.total);
    }
}
