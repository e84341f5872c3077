//! Any graphs, one after another.

use super::*;
use proptest::prelude::*;

/// A graph over up to five keepers, and links between any two of its apps.
#[derive(Clone, Debug)]
struct Description {
    /// How many packets each keeps, the worker it runs on, and whether it fails; perhaps it is not there.
    keepers: Vec<Option<(usize, usize, bool)>>,
    links: Vec<(usize, usize)>,
}

fn any_graph() -> impl Strategy<Value = Description> {
    let keeper = prop::option::of((0..20usize, 0..3usize, prop::bool::weighted(0.1)));
    (prop::collection::vec(keeper, 5), prop::collection::vec((0..7usize, 0..7usize), 0..8))
        .prop_map(|(keepers, links)| Description { keepers, links })
}

fn build(Description { keepers, links }: &Description) -> Graph {
    let mut graph = Graph::new();
    graph.app("app5", Numbers { long_every: 7, ..Numbers::up_to(u64::MAX) }).expect("a name");
    graph.app("app6", End { pause_ms: 0 }).expect("a name");
    for (index, keeper) in keepers.iter().enumerate() {
        if let Some((keep, worker, fails)) = *keeper {
            let panic_at = fails.then_some(200);
            let app =
                graph.app(&format!("app{index}"), Keeper { panic_at, ..Keeper::of(keep) }).expect("a name");
            app.worker = Some(worker);
        }
    }
    for (number, (from, to)) in links.iter().enumerate() {
        // Links to apps that are not there, or out of the end, are refused; that is tested elsewhere.
        let _ = graph.link(&format!("app{from}.out{} -> app{to}.in{}", number % 3, number % 2));
    }
    graph
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 2 } else { 64 }, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever follows upon whatever: packets are conserved, what is unchanged keeps its state, and in the end all are home.
    #[test]
    fn graphs_change_without_loss(graphs in prop::collection::vec(any_graph(), 1..8), workers in 1..4usize, threads in any::<bool>()) {
        let mut engine = engine(workers, 3000);
        for description in &graphs {
            let graph = build(description);
            let before = engine.report();
            let old = engine.graph().clone();
            engine.configure(&graph).expect("nothing to refuse");
            let after = engine.report();
            prop_assert!(after.balanced(), "{:#?}", after.imbalances);
            for link in &after.links {
                let was = before.links.iter().find(|other| other.link == link.link);
                let kept = was.map_or((0, 0), |was| (was.txpackets, was.rxpackets));
                // An app that is stopped may send a last time; no test app does.
                prop_assert_eq!(kept, (link.txpackets, link.rxpackets));
            }
            for (name, app) in graph.apps() {
                if old.get(name).is_some_and(|old| old.config == app.config) {
                    prop_assert_eq!(before.apps[name].held, after.apps[name].held);
                }
            }
            if threads {
                engine.run_for(Duration::from_millis(2)).expect("threads");
            } else {
                (0..5).for_each(|_| _ = engine.breathe());
            }
            let report = engine.report();
            prop_assert!(report.balanced(), "{:#?}", report.imbalances);
        }
        engine.stop();
        let report = engine.report();
        prop_assert!(report.balanced(), "{:#?}", report.imbalances);
        prop_assert_eq!(report.pool.free, report.pool.total);
    }
}
