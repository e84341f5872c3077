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

/// Keeps packets, and sends them all when it is stopped. Two of the same `claim` take over from each other.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Parting {
    keep: usize,
    claim: u8,
    /// Odd numbers are taken on; others need another start, and some even fail in that.
    number: u8,
}

struct Departing {
    keep: usize,
    kept: Vec<Packet>,
}

impl Class for Parting {
    const TYPE: &'static str = "parting";
    const INPUTS: Ports = Ports::Any;
    const OUTPUTS: Ports = Ports::Any;
    type App = Departing;

    fn claim(&self) -> Option<String> {
        (self.claim < 2).then(|| self.claim.to_string())
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Departing, OptionError> {
        let starts = setup.legacy::<AtomicU64>().fetch_add(1, Ordering::Relaxed);
        if self.number == 6 && starts > 0 {
            return Err(OptionError::new("number", "as told"));
        }
        Ok(Departing { keep: self.keep, kept: Vec::new() })
    }

    fn reconfigure(
        &self,
        app: &mut Departing,
        _: &Self,
        _: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        app.keep = self.keep;
        Ok(if self.number % 2 == 1 { Reconfigured::Kept } else { Reconfigured::NeedsRestart })
    }
}

impl App for Departing {
    fn push(&mut self, io: &mut Io<'_>) {
        let Io { inputs, outputs, .. } = io;
        for burst in inputs.iter_mut().flat_map(|input| input.burst()) {
            for packet in burst {
                if self.kept.len() < self.keep {
                    self.kept.push(packet);
                } else if let Some(output) = outputs.last_mut() {
                    output.put(packet);
                }
            }
        }
    }

    fn stop(&mut self, io: &mut Io<'_>) {
        if let Some(output) = io.outputs.first_mut() {
            self.kept.drain(..).for_each(|packet| output.put(packet));
        }
    }

    fn held(&self) -> usize {
        self.kept.len()
    }
}

/// An app of any class, the worker it is to run on, and a number for its options.
type AnyOne = (u8, Option<usize>, u8);

#[derive(Clone, Debug)]
enum Step {
    Configure(Vec<Option<AnyOne>>, Vec<(usize, usize)>),
    /// A graph with an app that refuses its options.
    Refuse,
    Rebalance,
    Gather,
    Breathe(usize),
    Run,
}

fn any_step() -> impl Strategy<Value = Step> {
    let app = prop::option::weighted(0.8, (0..6u8, prop::option::of(0..3usize), 0..8u8));
    let links = prop::collection::vec((0..6usize, 0..6usize), 0..10);
    prop_oneof![
        4 => (prop::collection::vec(app, 6), links).prop_map(|(apps, links)| Step::Configure(apps, links)),
        1 => Just(Step::Refuse),
        2 => Just(Step::Rebalance),
        1 => Just(Step::Gather),
        4 => (1..40usize).prop_map(Step::Breathe),
        1 => Just(Step::Run),
    ]
}

fn any_app(graph: &mut Graph, name: &str, (class, worker, number): AnyOne) {
    let keep = usize::from(number) * 3;
    let app = match class {
        0 | 1 => graph.app(name, Numbers { long_every: u64::from(number), ..Numbers::up_to(u64::MAX) }),
        2 => graph.app(name, Keeper { panic_at: (number == 0).then_some(100), ..Keeper::of(keep) }),
        3 => graph.app(name, Juggler),
        4 => graph.app(name, Parting { keep, claim: number % 4, number }),
        _ => graph.app(name, End { pause_ms: 0 }),
    };
    app.expect("a name").worker = worker;
}

fn any_links(graph: &mut Graph, links: &[(usize, usize)]) {
    for (number, (from, to)) in links.iter().enumerate() {
        // Of any two ports the one or the other may be there; what is refused is tested elsewhere.
        for output in [["a", "b"], ["out0", "out1"]][number % 2] {
            for input in ["in0", "input"] {
                let _ = graph.link(&format!("app{from}.{output} -> app{to}.{input}"));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 2 } else { 64 }, failure_persistence: None, ..ProptestConfig::default() })]

    /// Apps that come under the names of others, take over from them, part with packets, change the places of their links, fail, move from worker
    /// to worker, and graphs that are refused: packets are conserved.
    #[test]
    fn nothing_is_lost_whatever_is_done(steps in prop::collection::vec(any_step(), 1..24), workers in 1..4usize) {
        let mut engine = engine(workers, 2500);
        for step in &steps {
            match step {
                Step::Configure(apps, links) => {
                    let mut graph = Graph::new();
                    for (index, app) in apps.iter().enumerate().filter_map(|(index, app)| Some((index, (*app)?))) {
                        any_app(&mut graph, &format!("app{index}"), app);
                    }
                    any_links(&mut graph, links);
                    let changes = engine.configure(&graph).expect("nothing to refuse");
                    let apps: Vec<&str> = engine.graph().apps().map(|(name, _)| name).collect();
                    prop_assert_eq!(apps, graph.apps().map(|(name, _)| name).collect::<Vec<_>>());
                    let kept = changes.failed.iter().filter(|(name, _)| engine.graph().get(name) != graph.get(name));
                    prop_assert_eq!(*engine.graph() == graph, kept.count() == 0, "{:?}", changes);
                }
                Step::Refuse => {
                    let running = engine.graph().clone();
                    let mut graph = running.clone();
                    graph.app("wrong", Keeper { refuse: true, ..Keeper::of(0) }).expect("a name");
                    let links: Vec<_> = graph.links().map(|link| link.from.app.clone()).collect();
                    links.iter().for_each(|app| _ = graph.link(&format!("{app}.out2 -> wrong.input")));
                    prop_assert!(engine.configure(&graph).is_err());
                    prop_assert_eq!(engine.graph(), &running);
                }
                Step::Rebalance => _ = engine.rebalance(0.0),
                Step::Gather => engine.gather(),
                Step::Breathe(count) => (0..*count).for_each(|_| _ = engine.breathe()),
                Step::Run => engine.run_for(Duration::from_millis(1)).expect("threads"),
            }
            let report = engine.report();
            prop_assert!(report.balanced(), "{step:?}: {:#?}", report.imbalances);
            let links: Vec<_> = report.links.iter().map(|report| &report.link).collect();
            prop_assert_eq!(links, engine.graph().links().collect::<Vec<_>>());
        }
        engine.stop();
        let report = engine.report();
        prop_assert!(report.balanced(), "{:#?}", report.imbalances);
        prop_assert_eq!(report.pool.free, report.pool.total);
    }
}
