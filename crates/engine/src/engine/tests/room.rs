//! Links that have too little room for what comes in a breath: their senders go on when the receivers have had their turns.

use super::*;
use crate::app::Passage;

/// Sends several packets for each that it gets, and looks after the room.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Copier {
    copies: usize,
}

struct Copying {
    copies: usize,
    /// Of the first packet, those that have been sent.
    sent: usize,
    done: Counter,
    pushes: Counter,
}

impl Class for Copier {
    const TYPE: &'static str = "copier";
    type App = Copying;

    fn start(&self, setup: &mut Setup<'_>) -> Result<Copying, OptionError> {
        let (done, pushes) = (setup.consumed("copied"), setup.counter("pushes"));
        Ok(Copying { copies: self.copies, sent: 0, done, pushes })
    }
}

impl App for Copying {
    fn roles(&self) -> Roles {
        Roles::PUSH.and(Roles::ROOM)
    }

    fn push(&mut self, io: &mut Io<'_>) {
        self.pushes.add(1);
        let (input, output) = (&mut io.inputs[0], &mut io.outputs[0]);
        while let Some(first) = input.peek().first() {
            let count = (self.copies - self.sent).min(output.allowance());
            self.sent += output.send_copies(io.pool, first, count);
            if self.sent < self.copies {
                return;
            }
            self.sent = 0;
            input.burst_of_at_most(1).into_iter().for_each(|burst| io.pool.free_burst(burst, &self.done));
        }
    }
}

/// A device with packets of its own, which counts what is sent to it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Port {
    packets: usize,
}

struct PortState {
    left: usize,
    sent: Counter,
}

impl Class for Port {
    const TYPE: &'static str = "port";
    const PASSAGE: Passage = Passage::World;
    type App = PortState;

    fn start(&self, setup: &mut Setup<'_>) -> Result<PortState, OptionError> {
        Ok(PortState { left: self.packets, sent: setup.delivered() })
    }
}

impl App for PortState {
    fn roles(&self) -> Roles {
        Roles::PULL.and(Roles::PUSH).and(Roles::ROOM)
    }

    fn pull(&mut self, io: &mut Io<'_>) {
        for _ in 0..self.left.min(io.burst) {
            let Some(packet) = io.pool.packet(&[0; 8]) else { return };
            io.outputs[0].put(packet);
            self.left -= 1;
        }
    }

    fn push(&mut self, io: &mut Io<'_>) {
        while let Some(burst) = io.inputs[0].burst() {
            io.pool.free_burst(burst, &self.sent);
        }
    }

    fn is_finished(&self) -> bool {
        self.left == 0
    }
}

/// Leaves all packets where they are.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Wall;

impl App for Wall {}

impl Class for Wall {
    const TYPE: &'static str = "wall";
    const OUTPUTS: Ports = Ports::NONE;
    type App = Self;

    fn start(&self, _: &mut Setup<'_>) -> Result<Self, OptionError> {
        Ok(Wall)
    }
}

/// Sends each packet to all of its outputs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Doubler;

struct Doubling(Counter);

impl Class for Doubler {
    const TYPE: &'static str = "doubler";
    const OUTPUTS: Ports = Ports::Any;
    type App = Doubling;

    fn start(&self, setup: &mut Setup<'_>) -> Result<Doubling, OptionError> {
        Ok(Doubling(setup.consumed("doubled")))
    }
}

impl App for Doubling {
    fn push(&mut self, io: &mut Io<'_>) {
        while let Some(burst) = io.inputs[0].burst_of_at_most(1) {
            let first = burst.iter().next().expect("a packet");
            io.outputs.iter_mut().for_each(|output| _ = output.send_copies(io.pool, first, 1));
            io.pool.free_burst(burst, &self.0);
        }
    }
}

fn graph(apps: &[(&str, Config)], links: &[&str]) -> Graph {
    let mut graph = Graph::new();
    for (name, config) in apps {
        graph.add(name, config.clone()).expect("a name");
    }
    links.iter().for_each(|link| graph.link(link).expect("ports"));
    graph
}

fn delivered(report: &Report, app: &str) -> u64 {
    let counters = &report.apps[app].counters;
    counters.iter().filter(|(_, kind, _)| *kind == EntryKind::Delivered).map(|(.., count)| count).sum()
}

#[test]
fn who_sends_more_than_it_gets_goes_on_in_the_same_breath() {
    let apps = [
        ("numbers", Config::new(Numbers::up_to(64))),
        ("first", Config::new(Copier { copies: 50 })),
        ("second", Config::new(Copier { copies: 3 })),
        ("keeper", Config::new(Keeper::of(0))),
        ("end", Config::new(End { pause_ms: 0 })),
    ];
    let links = [
        "numbers.output -> first.input",
        "first.output -> second.input",
        "second.output -> keeper.input",
        "keeper.output -> end.input",
    ];
    let mut engine = engine(1, 4000);
    engine.configure(&graph(&apps, &links)).expect("a graph");
    engine.breathe();
    let report = balanced(&mut engine);
    assert_eq!((delivered(&report, "end"), report.drops.len()), (64 * 50 * 3, 0));
}

#[test]
fn many_senders_to_one_app_lose_nothing() {
    let names: Vec<String> = (0..17).map(|number| format!("numbers{number}")).collect();
    let mut apps: Vec<(&str, Config)> =
        names.iter().map(|name| (name.as_str(), Config::new(Numbers::up_to(10_000)))).collect();
    apps.push(("keeper", Config::new(Keeper::of(0))));
    apps.push(("end", Config::new(End { pause_ms: 0 })));
    let links: Vec<String> = names.iter().map(|name| format!("{name}.output -> keeper.{name}")).collect();
    let links: Vec<&str> = links.iter().map(String::as_str).chain(["keeper.output -> end.input"]).collect();
    let mut engine = engine(1, 4000);
    engine.configure(&graph(&apps, &links)).expect("a graph");
    let report = run_to_the_end(&mut engine);
    assert_eq!((report.delivered, report.drops.len()), (170_000, 0));
    // Each as many as the others, in every breath.
    assert_eq!(report.breaths / 157, 1, "{}", report.breaths);
}

#[test]
fn what_comes_in_at_a_device_leaves_at_another_in_the_same_breath() {
    let apps = [
        ("a", Config::new(Port { packets: 10 })),
        ("b", Config::new(Port { packets: 20 })),
        ("there", Config::new(Keeper::of(0))),
        ("back", Config::new(Copier { copies: 200 })),
    ];
    let links = [
        "a.output -> there.input",
        "there.output -> b.input",
        "b.output -> back.input",
        "back.output -> a.input",
    ];
    let mut engine = engine(1, 4000);
    engine.configure(&graph(&apps, &links)).expect("a graph");
    engine.breathe();
    let report = balanced(&mut engine);
    assert_eq!((delivered(&report, "a"), delivered(&report, "b")), (4000, 10));
    assert_eq!((report.drops.len(), report.pool.queued), (0, 0));
}

/// Around a loop, packets become more with every turn: a breath ends nevertheless, and the link that closes the loop drops.
#[test]
fn a_loop_ends_each_breath() {
    let apps = [
        ("numbers", Config::new(Numbers::up_to(10))),
        ("keeper", Config::new(Keeper::of(0))),
        ("copier", Config::new(Copier { copies: 400 })),
    ];
    let links =
        ["numbers.output -> keeper.input", "keeper.output -> copier.input", "copier.output -> keeper.again"];
    let mut engine = engine(1, 8000);
    engine.configure(&graph(&apps, &links)).expect("a graph");
    (0..20).for_each(|_| _ = engine.breathe());
    balanced(&mut engine);
    assert_eq!(engine.report().breaths, 20);
}

/// Nothing goes on behind an app that keeps its packets in the link: nobody is called over and over for that.
#[test]
fn who_waits_is_not_called_in_vain() {
    let apps = [
        ("numbers", Config::new(Numbers::up_to(64))),
        ("copier", Config::new(Copier { copies: 50 })),
        ("keeper", Config::new(Keeper::of(0))),
        ("wall", Config::new(Wall)),
    ];
    let links =
        ["numbers.output -> copier.input", "copier.output -> keeper.input", "keeper.output -> wall.input"];
    let mut engine = engine(1, 4000);
    engine.configure(&graph(&apps, &links)).expect("a graph");
    (0..10).for_each(|_| _ = engine.breathe());
    let report = balanced(&mut engine);
    let pushes = |report: &Report| {
        report.apps["copier"].counters.iter().find(|(name, ..)| name == "pushes").map(|&(.., count)| count)
    };
    let before = pushes(&report);
    assert_eq!((report.pool.queued, report.drops.len()), (1024 + 1024 + 64 - 40, 0));
    (0..10).for_each(|_| _ = engine.breathe());
    let report = balanced(&mut engine);
    assert_eq!(pushes(&report), before.map(|before| before + 10), "once a breath");
}

#[test]
fn an_app_that_fails_when_it_goes_on_is_down() {
    let apps = [
        ("numbers", Config::new(Numbers::up_to(64))),
        ("copier", Config::new(Copier { copies: 50 })),
        ("keeper", Config::new(Keeper { panic_at: Some(30), ..Keeper::of(0) })),
        ("end", Config::new(End { pause_ms: 0 })),
    ];
    let links =
        ["numbers.output -> copier.input", "copier.output -> keeper.input", "keeper.output -> end.input"];
    let mut engine = engine(1, 4000);
    engine.configure(&graph(&apps, &links)).expect("a graph");
    engine.breathe();
    let report = balanced(&mut engine);
    assert_eq!(report.apps["keeper"].state, AppState::Down);
    assert_eq!(report.delivered - delivered(&report, "copier") + report.drops.values().sum::<u64>(), 64 * 50);
    assert_eq!(report.pool.queued, 0);
}

/// A sender of several outputs goes on without those that are full while it has others. Where all are full, there is nothing to go on with.
#[test]
fn who_has_only_full_outputs_waits() {
    for (other, passed, dropped) in
        [(Config::new(Wall), 1024, 0), (Config::new(End { pause_ms: 0 }), 64 * 30, 64 * 30 - 1024)]
    {
        let apps = [
            ("numbers", Config::new(Numbers::up_to(64 * 30))),
            ("doubler", Config::new(Doubler)),
            ("wall", Config::new(Wall)),
            ("other", other),
        ];
        let links =
            ["numbers.output -> doubler.input", "doubler.a -> wall.input", "doubler.b -> other.input"];
        let mut engine = engine(1, 8000);
        engine.configure(&graph(&apps, &links)).expect("a graph");
        (0..100).for_each(|_| _ = engine.breathe());
        let report = balanced(&mut engine);
        assert_eq!(report.drops.values().sum::<u64>(), dropped);
        let doubled = report.apps["doubler"].counters.iter().find(|(name, ..)| name == "doubled");
        assert_eq!(doubled.map(|&(.., count)| count), Some(passed));
    }
}
