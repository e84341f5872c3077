//! What a review of options makes is made once, and not while workers stand still.

use super::engine;
use crate::app::{App, Class, Io, Roles, Setup};
use crate::config::Config;
use crate::graph::Graph;
use crate::option::{OptionError, Review};
use crate::worker::AppState;
use serde::Deserialize;
use std::cell::Cell;
use std::time::{Duration, Instant};

thread_local! {
    /// Plans that were made.
    static MADE: Cell<u32> = const { Cell::new(0) };
}

/// How many plans some work makes.
fn made<T>(work: impl FnOnce() -> T) -> (T, u32) {
    let before = MADE.get();
    let done = work();
    (done, MADE.get() - before)
}

/// Runs by a plan that takes long to make.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Planner {
    goal: u32,
    fails: bool,
}

#[derive(Debug, PartialEq)]
struct Plan(u32);

impl Planner {
    fn plan(&self) -> Plan {
        MADE.set(MADE.get() + 1);
        Plan(self.goal)
    }
}

impl Class for Planner {
    const TYPE: &'static str = "planner";
    type App = Planned;

    fn review(&self) -> Result<Review, OptionError> {
        Ok(Review::default().with(self.plan()))
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Planned, OptionError> {
        assert_eq!(setup.take_prepared::<u32>(), None, "nothing of that type was made");
        let plan = setup.take_prepared().unwrap_or_else(|| self.plan());
        assert_eq!(plan, Plan(self.goal));
        Ok(Planned { fails: self.fails })
    }
}

struct Planned {
    fails: bool,
}

impl App for Planned {
    fn roles(&self) -> Roles {
        Roles::PULL
    }

    fn pull(&mut self, _: &mut Io<'_>) {
        assert!(!self.fails, "as told");
    }
}

/// A graph of planners by name, reviewed as a file is when it is read.
fn read(planners: &[(&str, Planner)]) -> Graph {
    let mut graph = Graph::new();
    for (name, planner) in planners {
        let app = graph.app(name, planner.clone()).expect("a name");
        app.config.review().expect("good options");
    }
    graph
}

const ONE: (&str, Planner) = ("one", Planner { goal: 1, fails: false });

fn two(goal: u32) -> (&'static str, Planner) {
    ("two", Planner { goal, fails: false })
}

#[test]
fn a_graph_from_a_file_is_prepared_when_it_is_read() {
    let mut engine = engine(1, 100);
    let (graph, count) = made(|| read(&[ONE]));
    assert_eq!(count, 1);
    let (changes, count) = made(|| engine.configure(&graph));
    assert!(changes.is_ok() && count == 0, "{count}");

    // A reload, with one that stays, one that is new, and then one with other options.
    let (graph, count) = made(|| read(&[ONE, two(2)]));
    assert_eq!(count, 2);
    let (changes, count) = made(|| engine.configure(&graph).expect("a graph"));
    assert_eq!((&changes.started[..], count), (&["two".to_owned()][..], 0));
    let graph = read(&[ONE, two(3)]);
    let (changes, count) = made(|| engine.configure(&graph).expect("a graph"));
    assert_eq!((&changes.restarted[..], count), (&["two".to_owned()][..], 0));
}

#[test]
fn a_graph_from_a_program_is_prepared_once() {
    let mut graph = Graph::new();
    graph.app("one", Planner { goal: 1, fails: false }).expect("a name");
    let (done, count) = made(|| engine(1, 100).configure(&graph));
    assert!(done.is_ok() && count == 1, "{count}");
    // Options that are checked, and no more, are as good.
    let mut engine = engine(1, 100);
    let (done, count) = made(|| engine.check(&graph).and_then(|()| engine.check(&graph)));
    assert!(done.is_ok() && count == 1, "{count}");
    let (done, count) = made(|| engine.configure(&graph));
    assert!(done.is_ok() && count == 0, "{count}");
}

#[test]
fn what_was_made_for_nobody_is_not_kept() {
    let mut engine = engine(1, 100);
    engine.configure(&read(&[ONE])).expect("a graph");
    let graph = read(&[ONE]);
    engine.configure(&graph).expect("a graph");
    assert!(graph.apps().all(|(_, app)| app.config.prepared().take::<Plan>().is_none()));
    let other = Config::new(Planner { goal: 1, fails: false });
    other.review().expect("good options");
    assert!(other.clone().prepared().take::<Plan>().is_some());
    assert!(other.prepared().take::<Plan>().is_none(), "clones share it");
}

#[test]
fn an_app_that_failed_prepares_itself_again() {
    let mut engine = engine(1, 100);
    engine.configure(&read(&[("one", Planner { goal: 1, fails: true })])).expect("a graph");
    engine.breathe();
    assert_eq!(engine.report().apps["one"].state, AppState::Down);
    let ((), count) = made(|| {
        let begin = Instant::now();
        while engine.report().apps["one"].restarts == 0 {
            std::thread::sleep(Duration::from_millis(1));
            engine.breathe();
            assert!(begin.elapsed() < Duration::from_secs(10), "it is not started again");
        }
    });
    assert_eq!(count, 1);
}
