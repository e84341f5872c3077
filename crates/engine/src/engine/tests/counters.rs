//! Apps with more counters than their records have room for.

use super::*;

/// Has a counter for each of many reasons to drop packets.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Pedant {
    /// What it calls them.
    name: String,
    count: usize,
}

impl Pedant {
    fn with(name: &str, count: usize) -> Self {
        Pedant { name: name.to_owned(), count }
    }

    fn register(&self, setup: &mut Setup<'_>) {
        (0..self.count).for_each(|number| _ = setup.drops(&format!("{}_{number}", self.name)));
    }

    fn graph(self) -> Graph {
        let mut graph = Graph::new();
        graph.app("pedant", self).expect("a name");
        graph
    }
}

impl Class for Pedant {
    const TYPE: &'static str = "pedant";
    type App = Juggler;

    fn start(&self, setup: &mut Setup<'_>) -> Result<Juggler, OptionError> {
        self.register(setup);
        Ok(Juggler)
    }

    fn reconfigure(
        &self,
        _: &mut Juggler,
        _: &Self,
        setup: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        self.register(setup);
        Ok(Reconfigured::Kept)
    }
}

/// A `Pedant` that fails when it goes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Touchy(Pedant);

struct Offended;

impl App for Offended {}

impl Drop for Offended {
    fn drop(&mut self) {
        panic!("told to fail when it goes");
    }
}

impl Class for Touchy {
    const TYPE: &'static str = "touchy";
    type App = Offended;

    fn start(&self, setup: &mut Setup<'_>) -> Result<Offended, OptionError> {
        self.0.register(setup);
        Ok(Offended)
    }
}

fn has_no_room(error: &impl ToString) -> bool {
    error.to_string().contains("more counters than there is room for")
}

#[test]
fn an_app_with_more_counters_than_can_be_seen_does_not_start() {
    for (count, is_right) in [(30, true), (60, false)] {
        let done = engine(1, 10).configure(&Pedant::with("reason", count).graph());
        assert_eq!(done.err().is_some_and(|error| has_no_room(&error)), !is_right, "{count}");
    }
}

#[test]
fn an_app_keeps_its_options_where_others_need_more_counters_than_can_be_seen() {
    let mut engine = engine(1, 10);
    engine.configure(&Pedant::with("one", 20).graph()).expect("room");
    let changes = engine.configure(&Pedant::with("two", 30).graph()).expect("a graph");
    let [(app, error)] = &changes.failed[..] else { panic!("{changes:?}") };
    assert!(app == "pedant" && has_no_room(error), "{error}");
    assert_eq!(engine.report().apps["pedant"].state, AppState::Running);
    let changes = engine.configure(&Pedant::with("one", 15).graph()).expect("a graph");
    assert_eq!(changes.reconfigured, ["pedant"], "{changes:?}");
}

#[test]
fn an_app_with_too_many_counters_may_fail_when_it_goes() {
    let graph = |name, count| {
        let mut graph = Graph::new();
        graph.app("touchy", Touchy(Pedant::with(name, count))).expect("a name");
        graph
    };
    let mut engine = engine(1, 10);
    let error = engine.configure(&graph("reason", 60)).expect_err("too many");
    assert!(has_no_room(&error), "{error}");
    engine.configure(&graph("one", 20)).expect("room");
    let changes = engine.configure(&graph("two", 30)).expect("a graph");
    let [(_, error)] = &changes.failed[..] else { panic!("{changes:?}") };
    assert!(has_no_room(error), "{error}");
}

/// Apps of the largest graph that a file may hold.
const APPS: usize = 4096;

#[test]
fn there_is_room_for_the_largest_graph_and_another_in_its_place() {
    let chain = |letter: char| {
        let mut graph = Graph::new();
        for number in 0..APPS {
            graph.app(&format!("{letter}{number}"), Keeper::of(0)).expect("a name");
        }
        for number in 1..APPS {
            graph.link(&format!("{letter}{}.output -> {letter}{number}.input", number - 1)).expect("ports");
        }
        graph
    };
    let mut engine = engine(1, 10);
    for letter in ['a', 'b', 'c', 'd'] {
        engine.configure(&chain(letter)).expect("room for counters");
    }
    assert_eq!(balanced(&mut engine).links.len(), APPS - 1);
}

/// Sends what comes, but for every tenth packet, which is gone for good.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Leak;

impl Class for Leak {
    const TYPE: &'static str = "leak";
    type App = Self;

    fn start(&self, _: &mut Setup<'_>) -> Result<Self, OptionError> {
        Ok(Leak)
    }
}

impl App for Leak {
    fn push(&mut self, io: &mut Io<'_>) {
        let (input, output) = io.through();
        while let Some(burst) = input.burst() {
            for (number, packet) in burst.enumerate() {
                match number % 10 {
                    0 => std::mem::forget(packet),
                    _ => output.put(packet),
                }
            }
        }
    }
}

#[test]
fn a_leak_names_the_app() {
    let mut graph = Graph::new();
    graph.app("numbers", Numbers::up_to(60)).expect("a name");
    graph.app("good", Juggler).expect("a name");
    graph.app("leak", Leak).expect("a name");
    graph.app("end", End { pause_ms: 0 }).expect("a name");
    graph.link("numbers.output -> good.input").expect("ports");
    graph.link("good.a -> leak.input").expect("ports");
    graph.link("leak.output -> end.input").expect("ports");
    graph.link("good.b -> end.b").expect("ports");
    let mut engine = engine(1, 100);
    engine.configure(&graph).expect("a graph");
    engine.run_for(Duration::from_secs(20)).expect("threads");
    let report = engine.report();
    let lost = report.pool.total - report.pool.free;
    assert!(lost > 0, "{report:#?}");
    let expected = format!(
        "packets of the pools, and those free, queued, held and lent ({lost} lost by app `leak`): 100 and {}",
        100 - lost
    );
    assert_eq!(report.imbalances.first(), Some(&expected));
}
