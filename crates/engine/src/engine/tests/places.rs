//! Apps that move from worker to worker.

use super::*;

#[test]
fn apps_move_to_other_workers_with_all_their_packets() {
    let mut engine = engine(2, 4000);
    engine.configure(&line(Keeper::of(500))).expect("a graph");
    for round in 0..20 {
        engine.run_for(Duration::from_millis(5)).expect("threads");
        let before = balanced(&mut engine);
        engine.rebalance();
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
        engine.rebalance()
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
        assert!(!engine.rebalance());
    }
    balanced(&mut engine);
}
