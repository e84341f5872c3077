//! Which end of a link is which.

use super::*;

#[test]
fn ends_are_known_by_their_rings_wherever_an_app_puts_them() {
    for breaths in 1..4 {
        let mut engine = engine(2, 4000);
        let mut graph = Graph::new();
        graph.app("numbers", Numbers::up_to(u64::MAX)).expect("a name").worker = Some(0);
        graph.app("juggler", Juggler).expect("a name").worker = Some(0);
        graph.app("near", End { pause_ms: 0 }).expect("a name").worker = Some(0);
        graph.app("far", End { pause_ms: 0 }).expect("a name").worker = Some(1);
        for link in ["numbers.output -> juggler.input", "juggler.a -> near.input", "juggler.b -> far.input"] {
            graph.link(link).expect("ports");
        }
        engine.configure(&graph).expect("a graph");
        (0..breaths).for_each(|_| _ = engine.breathe());
        let sent: Vec<u64> = balanced(&mut engine).links.iter().map(|link| link.txpackets).collect();
        assert_eq!(sent, [[64, 0, 64], [64, 64, 128], [128, 64, 192]][breaths - 1]);
        engine.gather();
        balanced(&mut engine);
    }
}

#[test]
fn links_are_checked_against_classes_that_were_put_in_place_of_others() {
    let mut graph = line(Keeper::of(0));
    graph.get_mut("keeper").expect("an app").config = Config::new(Numbers::up_to(1));
    let error = engine(1, 10).configure(&graph).expect_err("no such input").to_string();
    assert_eq!(error, "app `keeper` (numbers): it has no input `input`, which is linked; its inputs: none");
}
