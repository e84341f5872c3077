//! Packets on their way, through apps that come and go.

use super::*;

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
fn a_graph_has_packets_for_its_links_and_for_what_apps_keep() {
    let packets_for = |links: usize| {
        let mut graph = Graph::new();
        graph.app("numbers", Numbers::up_to(1)).expect("a name");
        graph.app("end", End { pause_ms: 0 }).expect("a name");
        (0..links).for_each(|i| graph.link(&format!("numbers.{i} -> end.{i}")).expect("ports"));
        Settings::packets_for(&graph)
    };
    assert_eq!([0, 1, 8].map(packets_for), [16_384; 3]);
    assert_eq!([9, 20].map(packets_for), [17 * 1024, 28 * 1024]);
    assert_eq!(packets_for(77), 85 * 1024);
    assert_eq!(packets_for(78), Pool::MAX_PACKETS);
}
