//! What wakes the thread that waits for the workers.

use super::*;
use crate::app::Reporting;
use crate::notice::Notifier;

/// Longer than any test.
const LONG: Duration = Duration::from_secs(3600);

/// Tells that it runs, or ends the run, when it ticks for the first time.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Herald {
    ends_run: bool,
}

struct Heralding {
    options: Herald,
    notifier: Notifier,
    has_ticked: bool,
}

impl Class for Herald {
    const TYPE: &'static str = "herald";
    const INPUTS: Ports = Ports::NONE;
    const OUTPUTS: Ports = Ports::NONE;
    type App = Heralding;

    fn start(&self, setup: &mut Setup<'_>) -> Result<Heralding, OptionError> {
        Ok(Heralding { options: self.clone(), notifier: setup.notifier(), has_ticked: false })
    }
}

impl App for Heralding {
    /// One that pulls, and is not finished, keeps the run going.
    fn roles(&self) -> Roles {
        Roles::PULL.and(Roles::TICK)
    }

    fn tick(&mut self, _: &mut Io<'_>) {
        if !std::mem::replace(&mut self.has_ticked, true) && !self.options.ends_run {
            self.notifier.note("it runs");
        }
    }

    fn reporting(&self) -> Option<&dyn Reporting> {
        Some(self)
    }
}

impl Reporting for Heralding {
    fn ends_run(&self) -> bool {
        self.options.ends_run && self.has_ticked
    }
}

fn heralded(ends_run: bool) -> Engine {
    let mut graph = Graph::new();
    graph.app("herald", Herald { ends_run }).expect("a name");
    let mut engine = engine(1, 10);
    engine.configure(&graph).expect("a graph");
    engine
}

#[test]
fn a_notice_does() {
    let mut engine = heralded(false);
    let notices = engine.notices();
    engine.run_until(|_| notices.take().0.is_empty().then_some(LONG)).expect("threads");
}

#[test]
fn an_app_that_ends_the_run_does() {
    heralded(true).run_until(|_| Some(LONG)).expect("threads");
}

#[test]
fn workers_that_come_to_rest_do() {
    for workers in 1..=3 {
        let mut engine = engine(workers, 4000);
        let mut graph = line(Keeper::of(0));
        graph.get_mut("numbers").expect("an app").config = Config::new(Numbers::up_to(50_000));
        engine.configure(&graph).expect("a graph");
        engine.run_until(|_| Some(LONG)).expect("threads");
        assert!(engine.workers.iter().all(Worker::is_at_rest), "{workers} workers");
        balanced(&mut engine);
    }
}

#[test]
fn who_unparks_it_does() {
    let mut engine = heralded(false);
    let thread = std::thread::current();
    let mut asked = 0;
    let next = |_: &Status| {
        asked += 1;
        thread.unpark();
        (asked < 5).then_some(LONG)
    };
    engine.run_until(next).expect("threads");
    assert_eq!(asked, 5);
}
