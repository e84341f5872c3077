//! The clocks that apps see.

use super::*;

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
