//! Packets of more than 10,240 bytes: that they cross workers, outlive what fails, and are counted when their memory runs out.

use super::*;

/// Two thousand numbers, every fifth of which is long, over a keeper to an end.
fn graph(keeper: Keeper) -> Graph {
    let mut graph = line(keeper);
    graph.get_mut("numbers").expect("an app").config =
        Config::new(Numbers { long_every: 5, ..Numbers::up_to(2000) });
    graph
}

#[test]
fn they_cross_workers_and_come_home() {
    for workers in [[0, 0, 0], [0, 1, 0], [0, 1, 1], [0, 1, 2]] {
        let settings = Settings::new().expect("memory");
        let (packets, large_packets) = (1000, 20);
        let mut engine =
            Engine::new(Settings { workers: 3, packets, large_packets, ..settings }).expect("memory");
        let mut graph = graph(Keeper::of(0));
        for (name, worker) in ["numbers", "keeper", "end"].into_iter().zip(workers) {
            graph.get_mut(name).expect("an app").worker = Some(worker);
        }
        engine.configure(&graph).expect("a graph");
        engine.run_for(Duration::from_secs(20)).expect("threads");
        let report = balanced(&mut engine);
        assert_eq!((report.delivered, report.drops.len()), (2000, 0), "{workers:?} {report:#?}");
        assert_eq!(report.pool.total, 3 * 1000 + 20, "only one worker asked for large ones");
        engine.stop();
        let report = balanced(&mut engine);
        assert_eq!((report.pool.free, report.pool.allocated), (report.pool.total, 2000));
    }
}

#[test]
fn those_of_an_app_that_panics_are_counted() {
    for workers in [1, 2] {
        let mut engine = engine(workers, 1000);
        let mut graph = graph(Keeper { panic_at: Some(100), ..Keeper::of(12) });
        graph.get_mut("keeper").expect("an app").worker = Some(workers - 1);
        engine.configure(&graph).expect("a graph");
        (0..3).for_each(|_| _ = engine.breathe());
        let report = balanced(&mut engine);
        assert_eq!(report.drops["panic"], 12 + 28, "held, and not yet taken");
        let free_or_queued = report.pool.free + report.pool.queued;
        assert_eq!(free_or_queued, report.pool.total);
    }
}

#[test]
fn those_that_go_out_of_scope_are_counted() {
    let mut engine = engine(2, 1000);
    let mut graph = Graph::new();
    graph.app("numbers", Numbers { long_every: 5, ..Numbers::up_to(2000) }).expect("a name");
    graph.app("keeper", Keeper::of(0)).expect("a name").worker = Some(1);
    graph.link("numbers.output -> keeper.input").expect("ports");
    engine.configure(&graph).expect("a graph");
    engine.run_for(Duration::from_secs(20)).expect("threads");
    let report = balanced(&mut engine);
    // Where the other thread gets no time, its link is full.
    let full = report.drops.get("link_full").copied().unwrap_or_default();
    assert_eq!(
        (report.drops["discarded"] + full, report.pool.free),
        (2000, report.pool.total),
        "{report:#?}"
    );
}

#[test]
fn they_run_out_alone() {
    let settings = Settings::new().expect("memory");
    let mut engine = Engine::new(Settings { packets: 1000, large_packets: 4, ..settings }).expect("memory");
    // The keeper has all that there are, so that no more numbers come.
    engine.configure(&graph(Keeper::of(100))).expect("a graph");
    (0..50).for_each(|_| _ = engine.breathe());
    let report = balanced(&mut engine);
    assert_eq!((report.pool.held, report.pool.free), (20, 1004 - 20));
    assert!(report.pool.exhausted >= 40, "{:?}", report.pool);
    engine.stop();
    let report = balanced(&mut engine);
    assert_eq!(report.pool.free, report.pool.total);
}

#[test]
fn more_than_a_region_holds_are_refused() {
    let large_packets = Pool::MAX_LARGE_PACKETS + 1;
    let error =
        Engine::new(Settings { large_packets, ..Settings::new().expect("memory") }).expect_err("too many");
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
}
