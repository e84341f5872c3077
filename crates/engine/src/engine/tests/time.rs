//! The clocks that apps see.

use super::metadata::Reader;
use super::*;
use crate::app::{NextEvent, Timed};

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
fn apps_that_start_know_what_time_it_is() {
    const PAUSE: Duration = Duration::from_millis(1);
    let mut engine = engine(2, 100);
    let (before_ns, begin) = (engine.now_ns(), Instant::now());
    while begin.elapsed() <= PAUSE {}
    engine.configure(&line(Keeper::of(1))).expect("a graph");
    assert!(engine.now_ns() >= before_ns + PAUSE.as_nanos() as u64);
}

#[test]
fn nothing_comes_in_before_a_capture_begins() {
    let mut engine = capture_engine();
    let mut graph = Graph::new();
    // By name, it pulls before the capture does.
    graph.app("a", Numbers::up_to(100)).expect("a name");
    graph.app("capture", Late { at_ns: 1_000_000 }).expect("a name");
    graph.app("reader", Reader { since_ns: 1_000_000 - 1 }).expect("a name");
    graph.link("a.output -> reader.input").expect("ports");
    engine.configure(&graph).expect("a graph");
    assert_eq!(run_to_the_end(&mut engine).delivered, 100);
}

/// A capture without packets, of which one learns in the second breath when it begins.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Late {
    at_ns: u64,
}

struct Beginning {
    at_ns: u64,
    breaths: u64,
    now_ns: u64,
}

impl Class for Late {
    const TYPE: &'static str = "late";
    const INPUTS: Ports = Ports::NONE;
    const OUTPUTS: Ports = Ports::NONE;
    type App = Beginning;

    fn start(&self, _: &mut Setup<'_>) -> Result<Beginning, OptionError> {
        Ok(Beginning { at_ns: self.at_ns, breaths: 0, now_ns: 0 })
    }
}

impl App for Beginning {
    fn roles(&self) -> Roles {
        Roles::PULL
    }

    fn pull(&mut self, io: &mut Io<'_>) {
        self.breaths += 1;
        self.now_ns = io.now_ns;
    }

    fn is_finished(&self) -> bool {
        self.now_ns >= self.at_ns
    }

    fn timed(&self) -> Option<&dyn Timed> {
        Some(self)
    }
}

impl Timed for Beginning {
    fn next_event(&self) -> NextEvent {
        match self.breaths {
            _ if self.is_finished() => NextEvent::None,
            0 | 1 => NextEvent::CaptureStart,
            _ => NextEvent::At(self.at_ns),
        }
    }
}

#[test]
fn apps_have_taken_no_more_time_than_their_threads() {
    let mut engine = engine(2, 1000);
    let mut graph = line(Keeper::of(1));
    graph.get_mut("numbers").expect("an app").config = Config::new(Numbers::up_to(u64::MAX));
    engine.configure(&graph).expect("a graph");
    let begin = Instant::now();
    engine.run_for(Duration::from_millis(50)).expect("threads");
    let took_ns = begin.elapsed().as_nanos() as u64;
    let threads_ns: Vec<u64> =
        engine.workers.iter().map(|worker| worker.thread_ns().expect("a run")).collect();
    assert!(threads_ns.iter().all(|&ns| ns <= took_ns), "{threads_ns:?} of {took_ns}");
    let report = engine.report();
    for (index, &thread_ns) in threads_ns.iter().enumerate() {
        let apps = report.apps.values().filter(|app| app.worker == index);
        assert!(apps.map(|app| app.busy_ns).sum::<u64>() <= thread_ns);
    }
}
