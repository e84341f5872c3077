//! Apps that fail, are taken down, and started again.

use super::*;
use crate::app::{NextEvent, Reporting, Roles, Timed};

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
        assert!(self.fault != method, "told to fail in {method}\n  as it was asked to");
        if self.fault.strip_prefix("bomb in ") == Some(method) {
            std::panic::panic_any(Bomb);
        }
    }
}

/// What a panic leaves, and fails once more when it goes.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("told to fail when a panic is over");
    }
}

impl App for Failing {
    fn roles(&self) -> Roles {
        Roles::PULL.and(Roles::PUSH).and(Roles::TICK)
    }

    fn pull(&mut self, _: &mut Io<'_>) {
        self.fail_in("pull");
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

    fn held(&self) -> usize {
        self.fail_in("held");
        self.kept.len()
    }

    fn is_finished(&self) -> bool {
        self.fail_in("is_finished");
        true
    }

    fn timed(&self) -> Option<&dyn Timed> {
        Some(self)
    }

    fn reporting(&self) -> Option<&dyn Reporting> {
        Some(self)
    }
}

impl Timed for Failing {
    fn next_event(&self) -> NextEvent {
        self.fail_in("next_event");
        NextEvent::None
    }
}

impl Reporting for Failing {
    fn report(&self) -> Option<String> {
        self.fail_in("report");
        None
    }

    fn ends_run(&self) -> bool {
        self.fail_in("ends_run");
        false
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
    let mut told = Vec::new();
    while told.len() < 2 {
        engine.breathe();
        told.extend(texts(&engine));
        assert!(begin.elapsed() < Duration::from_secs(20), "{told:?}");
    }
    let failed = "keeper: it has failed, and is started again after a while: told to fail at 100";
    assert_eq!(told, [failed, "keeper: it runs again"]);
}

/// What apps have told.
fn texts(engine: &Engine) -> Vec<String> {
    let notices = engine.notices().take().0;
    notices.into_iter().map(|notice| format!("{}: {}", notice.app, notice.text)).collect()
}

#[test]
fn an_app_that_fails_in_its_first_turn_is_not_said_to_run_again() {
    let mut engine = engine(1, 4000);
    engine.configure(&faulty("pull", 1)).expect("a graph");
    let begin = Instant::now();
    while engine.report().apps["faulty"].restarts < 3 {
        engine.breathe();
        assert!(begin.elapsed() < Duration::from_secs(20), "it is not started again");
    }
    let told = texts(&engine);
    assert!(told.iter().all(|text| text.contains("it has failed")), "{told:?}");
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
    let running =
        ["start", "first link", "link", "tick", "report", "held", "is_finished", "next_event", "ends_run"];
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
fn what_a_panic_leaves_may_fail_when_it_goes() {
    for fault in ["bomb in tick", "bomb in report", "bomb in held", "bomb in first link", "bomb in stop"] {
        let mut engine = capture_engine();
        engine.configure(&faulty(fault, 1)).expect("a graph");
        engine.run_for(Duration::from_millis(5)).expect("threads");
        let report = balanced(&mut engine);
        let is_told = |text: &String| text.ends_with("a panic without a message");
        let error = report.apps["faulty"].last_error.as_ref();
        assert_eq!(error.is_some_and(is_told), fault != "bomb in stop", "{fault}: {error:?}");
        let changes = engine.stop();
        let is_last = changes.reports.iter().any(|(_, last)| is_told(&last.text));
        assert_eq!(is_last, fault == "bomb in stop", "{fault}: {changes:?}");
        let report = balanced(&mut engine);
        assert_eq!(report.pool.free, report.pool.total, "{fault}");
    }
}

/// Nobody knows whether it is, after a report.
#[test]
fn an_app_that_fails_in_a_report_is_not_told_to_be_started_again() {
    for (fault, words) in
        [("report", "it has failed: "), ("tick", "it has failed, and is started again after a while: ")]
    {
        let mut engine = capture_engine();
        engine.configure(&faulty(fault, 1)).expect("a graph");
        if fault == "tick" {
            engine.breathe();
        }
        engine.report();
        let (told, _) = engine.notices().take();
        let [notice] = &told[..] else { panic!("{told:?}") };
        assert_eq!(notice.text, format!("{words}told to fail in {fault}"));
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
    let tasks = &mut engine.workers[0].tasks;
    let task = tasks.iter_mut().find(|task| task.name() == "keeper").expect("a task");
    task.refuse(Config::new(Keeper { refuse: true, ..Keeper::of(0) }), Duration::from_secs(1));
    let begin = Instant::now();
    let report = run_to_the_end(&mut engine);
    // After 1, 2 and 4 ms.
    let keeper = &report.apps["keeper"];
    assert!(begin.elapsed() >= Duration::from_millis(6), "{:?}", begin.elapsed());
    assert!(keeper.state == AppState::Down && (3..1000).contains(&keeper.restarts), "{report:#?}");
    // Why it does not start is told once.
    assert_eq!(engine.notices().take().0.len(), 2);
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

#[test]
fn an_app_is_started_again_while_capture_time_stands_still() {
    let mut engine = capture_engine();
    let mut graph = line(Keeper { panic_at: Some(10), ..Keeper::of(0) });
    graph.get_mut("numbers").expect("an app").config = Config::new(Numbers::up_to(2000));
    engine.configure(&graph).expect("a graph");
    let report = run_to_the_end(&mut engine);
    assert_eq!((report.apps["keeper"].state, report.apps["keeper"].restarts), (AppState::Running, 1));
}

/// Leaves a bomb for the next, and prepares one for its start, which does not take it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Testator {
    number: u32,
}

#[derive(Default)]
struct Buried;

impl Drop for Buried {
    fn drop(&mut self) {
        panic!("told to fail when it is found");
    }
}

impl Class for Testator {
    const TYPE: &'static str = "testator";
    type App = Juggler;

    fn review(&self) -> Result<crate::Review, OptionError> {
        Ok(crate::Review::default().with(Buried))
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Juggler, OptionError> {
        setup.legacy::<Buried>();
        Ok(Juggler)
    }
}

#[test]
fn what_apps_leave_and_reviews_prepare_may_fail_when_it_goes() {
    let graph = |number| {
        let mut graph = faulty("none", 1);
        graph.app("testator", Testator { number }).expect("a name");
        graph
    };
    let mut engine = engine(1, 100);
    for number in 0..3 {
        engine.configure(&graph(number)).expect("a graph");
        engine.breathe();
    }
    let changes = engine.configure(&faulty("none", 1)).expect("a graph");
    assert_eq!(changes.stopped, ["testator"]);
    engine.breathe();
    assert_eq!(balanced(&mut engine).apps.keys().collect::<Vec<_>>(), ["faulty", "numbers"]);
}
