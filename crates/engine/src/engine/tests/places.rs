//! Apps that move from worker to worker.

use super::*;
use crate::engine::configure;
use crate::engine::placement::Placing;
use std::sync::atomic::AtomicU8;

#[test]
fn apps_move_to_other_workers_with_all_their_packets() {
    let mut engine = engine(2, 4000);
    engine.configure(&line(Keeper::of(500))).expect("a graph");
    for round in 0..20 {
        engine.run_for(Duration::from_millis(5)).expect("threads");
        let before = balanced(&mut engine);
        engine.rebalance(0.02);
        let after = balanced(&mut engine);
        let inside =
            |report: &Report| (report.delivered, report.pool.held, report.pool.queued, report.drops.clone());
        assert_eq!(inside(&before), inside(&after), "round {round}");
    }
    let places = |engine: &mut Engine| -> Vec<usize> {
        balanced(engine).apps.values().map(|app| app.worker).collect()
    };
    let spread = places(&mut engine);
    assert!(spread.contains(&0) && spread.contains(&1), "{spread:?}");
    engine.gather();
    assert!(places(&mut engine).iter().all(|&worker| worker == 0));
    // Where the machine takes a thread away in one of few turns, its app seems to be all the work, and nothing to be gained.
    let is_spread = |engine: &mut Engine| {
        engine.run_for(Duration::from_millis(5)).expect("threads");
        engine.rebalance(0.02)
    };
    let spread = (0..200).any(|_| is_spread(&mut engine));
    assert!(spread, "one worker has everything to do, and another nothing");
    engine.stop();
    let report = balanced(&mut engine);
    assert_eq!(report.pool.free, report.pool.total);
}

#[test]
fn apps_that_cannot_be_placed_better_stay_where_they_are() {
    let mut engine = engine(2, 4000);
    let mut graph = line(Keeper::of(0));
    for (name, worker) in [("numbers", 0), ("keeper", 1), ("end", 1)] {
        graph.get_mut(name).expect("an app").worker = Some(worker);
    }
    engine.configure(&graph).expect("a graph");
    for _ in 0..3 {
        engine.run_for(Duration::from_millis(5)).expect("threads");
        assert!(!engine.rebalance(0.02));
    }
    balanced(&mut engine);
}

#[test]
fn workers_sleep_no_longer_than_ever_where_another_sends_to_them() {
    let mut engine = engine(2, 4000);
    let mut graph = line(Keeper::of(0));
    for (name, worker) in [("numbers", 0), ("keeper", 0), ("end", 1)] {
        graph.get_mut(name).expect("an app").worker = Some(worker);
    }
    engine.configure(&graph).expect("a graph");
    let longest = |worker: &Worker| {
        let mut rest = worker.rest();
        (0..30_000).map(|_| rest.without_packets(|| None)).max().expect("sleeps")
    };
    let are_short = |engine: &Engine| {
        let longest = engine.workers.iter().map(longest);
        longest.map(|time| time <= Duration::from_micros(100)).collect::<Vec<_>>()
    };
    assert_eq!(are_short(&engine), [false, true]);
    graph.get_mut("end").expect("an app").worker = Some(0);
    engine.configure(&graph).expect("a graph");
    assert_eq!(are_short(&engine), [false, false]);
    engine.stop();
    balanced(&mut engine);
}

/// Brings in packets as [`FLOW`] says.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Valve;

/// Nothing, one packet a millisecond, or all it can.
static FLOW: AtomicU8 = AtomicU8::new(SHUT);
const SHUT: u8 = 0;
const TRICKLE: u8 = 1;
const OPEN: u8 = 2;

struct Flowing {
    next_ns: u64,
}

impl Class for Valve {
    const TYPE: &'static str = "valve";
    const INPUTS: Ports = Ports::NONE;
    const OUTPUTS: Ports = Ports::Any;
    type App = Flowing;

    fn start(&self, _: &mut Setup<'_>) -> Result<Flowing, OptionError> {
        Ok(Flowing { next_ns: 0 })
    }
}

impl App for Flowing {
    fn roles(&self) -> Roles {
        Roles::PULL
    }

    fn pull(&mut self, io: &mut Io<'_>) {
        let count = match FLOW.load(Ordering::Relaxed) {
            OPEN => io.burst,
            TRICKLE if io.now_ns >= self.next_ns => 1,
            _ => 0,
        };
        self.next_ns = if count > 0 { io.now_ns + 1_000_000 } else { self.next_ns };
        for _ in 0..count {
            let Some(packet) = io.pool.packet(&[0; 8]) else { return };
            io.outputs[0].put(packet);
        }
    }
}

#[test]
fn apps_stay_together_until_they_have_much_to_do() {
    let mut engine = engine(2, 4000);
    let mut graph = line(Keeper::of(0));
    graph.get_mut("numbers").expect("an app").config = Config::new(Valve);
    engine.configure(&graph).expect("a graph");
    engine.gather();
    assert!(!engine.rebalance(0.1), "nothing is known");
    let mut moves_after = |flow, duration_ms| {
        FLOW.store(flow, Ordering::Relaxed);
        engine.run_for(Duration::from_millis(duration_ms)).expect("threads");
        let have_moved = engine.rebalance(0.1);
        assert!(engine.workers.iter().all(|worker| worker.measured_ns() == 0), "what is over does not count");
        have_moved
    };
    assert!(!(0..3).any(|_| moves_after(SHUT, 5)), "there is nothing to do");
    assert!(!(0..3).any(|_| moves_after(TRICKLE, 100)), "there is little to do");
    assert!((0..200).any(|_| moves_after(OPEN, 5)), "one worker has everything to do");
    // What is left in links comes to its end.
    moves_after(SHUT, 20);
    engine.run_for(Duration::from_millis(150)).expect("threads");
    assert!(!engine.lasting_costs().is_empty(), "a change in a quiet moment goes by what was known");
    engine.stop();
    balanced(&mut engine);
}

/// A worker whose breaths all move something sends the packets of another one back though they are too few for a bundle.
#[test]
fn few_packets_come_home_from_a_busy_worker() {
    let mut engine = engine(2, 100);
    let mut graph = Graph::new();
    for (worker, numbers, end) in [(0, "scarce", "far"), (1, "plenty", "near")] {
        graph.app(numbers, Numbers::up_to(u64::MAX)).expect("a name");
        graph.app(end, End { pause_ms: 0 }).expect("a name");
        graph.link(&format!("{numbers}.output -> {end}.input")).expect("ports");
        graph.get_mut(numbers).expect("an app").worker = Some(worker);
        graph.get_mut(end).expect("an app").worker = Some(1);
    }
    engine.configure(&graph).expect("a graph");
    assert!((0..1000).all(|_| engine.breathe()));
    let report = balanced(&mut engine);
    let over_the_link = report.links.iter().find(|link| link.link.from.app == "scarce").expect("a link");
    assert!(over_the_link.rxpackets >= 1000, "{report:#?}");
    engine.stop();
    balanced(&mut engine);
}

/// What is made on a core is touched there first, and whoever asks for it runs where it ran.
#[test]
fn pools_are_made_on_the_cores_of_their_workers() {
    let allowed = rustix::thread::sched_getaffinity(None).expect("the cores of this thread");
    for core in (0..64).filter(|&core| allowed.is_set(core)) {
        let made_on = super::super::on_core(core, || Ok(rustix::thread::sched_getcpu())).expect("a thread");
        assert_eq!(made_on, core);
    }
    assert_eq!(rustix::thread::sched_getaffinity(None).expect("the cores of this thread"), allowed);
}

/// Devices pull as well as push: one that only gets packets ends the chain of its sender, and does not stand apart.
#[test]
fn chains_between_devices_stay_whole() {
    let mut graph = Graph::new();
    for name in ["in0", "in1", "out0", "out1"] {
        graph.app(name, Keeper::of(0)).expect("a name");
    }
    for link in ["in0.output -> out0.input", "in1.output -> out1.input"] {
        graph.link(link).expect("ports");
    }
    let order = configure::breathing_names(&graph, |_| true);
    assert_eq!(order, ["in0", "out0", "in1", "out1"]);
    let places = Placing::ByCost(BTreeMap::new()).places(&graph, &order, 2);
    assert_eq!(places.into_values().collect::<Vec<_>>(), [0, 1, 0, 1]);
}
