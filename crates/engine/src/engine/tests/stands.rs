//! How long workers stand still while a graph changes, and what is dropped only afterwards.

use super::*;
use std::any::Any;
use std::cell::Cell;
use std::sync::mpsc::{Sender, channel};
use std::thread::ThreadId;

/// Takes its time to change, and discards something then.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Slow {
    takes_ms: u64,
}

struct Changing;

/// Tells on which thread it is dropped.
struct Discarded(Sender<ThreadId>);

impl Drop for Discarded {
    fn drop(&mut self) {
        self.0.send(std::thread::current().id()).expect("a test that waits");
    }
}

thread_local! {
    /// What the next change discards: changes are made on the thread of the test.
    static NEXT: Cell<Option<Discarded>> = const { Cell::new(None) };
}

impl Class for Slow {
    const TYPE: &'static str = "slow";
    const INPUTS: Ports = Ports::NONE;
    const OUTPUTS: Ports = Ports::NONE;
    type App = Changing;

    fn start(&self, _: &mut Setup<'_>) -> Result<Changing, OptionError> {
        Ok(Changing)
    }

    fn reconfigure(
        &self,
        _: &mut Changing,
        _: &Self,
        setup: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        std::thread::sleep(Duration::from_millis(self.takes_ms));
        NEXT.take().into_iter().for_each(|next| setup.discard(next));
        Ok(Reconfigured::Kept)
    }
}

/// One that pulls, and is not finished, keeps the run going.
impl App for Changing {
    fn roles(&self) -> Roles {
        Roles::PULL
    }

    fn into_discards(self: Box<Self>) -> Option<Box<dyn Any + Send>> {
        NEXT.take().map(|next| Box::new(next) as Box<dyn Any + Send>)
    }
}

fn slow(takes_ms: u64) -> Graph {
    let mut graph = Graph::new();
    graph.app("slow", Slow { takes_ms }).expect("a name");
    graph
}

/// Runs until it is known how long workers have stood still.
fn stood_still(engine: &mut Engine) -> Duration {
    let mut stood_still = None;
    let next = |status: &Status| {
        stood_still = status.stood_still;
        stood_still.is_none().then_some(POLL)
    };
    engine.run_until(next).expect("threads");
    stood_still.expect("it was told")
}

#[test]
fn the_engine_tells_how_long_workers_have_stood_still() {
    const CHANGE: Duration = Duration::from_millis(40);
    for workers in 1..=3 {
        let mut engine = engine(workers, 100);
        engine.configure(&slow(0)).expect("a graph");
        assert_eq!(stood_still(&mut engine), Duration::ZERO, "they had not run before");
        let begin = Instant::now();
        engine.configure(&slow(CHANGE.as_millis() as u64)).expect("a graph");
        let told = stood_still(&mut engine);
        assert!((CHANGE..=begin.elapsed() + CHANGE).contains(&told), "{told:?}");
    }
}

#[test]
fn what_is_discarded_is_dropped_while_workers_run() {
    let (sender, dropped) = channel();
    let mut engine = engine(1, 100);
    engine.configure(&slow(0)).expect("a graph");
    NEXT.set(Some(Discarded(sender)));
    engine.configure(&slow(1)).expect("a graph");
    assert!(dropped.try_recv().is_err(), "dropped while all stand still");
    stood_still(&mut engine);
    let thread = dropped.recv_timeout(Duration::from_secs(10)).expect("it is dropped");
    assert_ne!(thread, std::thread::current().id(), "which may have other things to do");
}

#[test]
fn what_a_stopped_app_leaves_is_dropped_while_the_others_run() {
    let (sender, dropped) = channel();
    let mut engine = engine(1, 100);
    let mut graph = slow(0);
    graph.app("other", Slow { takes_ms: 0 }).expect("a name");
    engine.configure(&graph).expect("a graph");
    NEXT.set(Some(Discarded(sender)));
    engine.configure(&slow(0)).expect("a graph");
    assert!(dropped.try_recv().is_err(), "dropped while all stand still");
    stood_still(&mut engine);
    let thread = dropped.recv_timeout(Duration::from_secs(10)).expect("it is dropped");
    assert_ne!(thread, std::thread::current().id(), "which may have other things to do");
}

#[test]
fn an_engine_that_goes_drops_what_was_discarded() {
    let (sender, dropped) = channel();
    let mut engine = engine(1, 100);
    engine.discards.add(Discarded(sender));
    assert!(dropped.try_recv().is_err());
    drop(engine);
    assert_eq!(dropped.recv(), Ok(std::thread::current().id()));
}
