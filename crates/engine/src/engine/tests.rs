//! Graphs that change while they run, apps that fail, memory that runs out: nothing is lost, and what is dropped is counted.
//! Here are the apps that the tests are about.

mod claims;
mod conservation;
mod counters;
mod devices;
mod ends;
mod failures;
mod flow;
mod large;
mod metadata;
mod places;
mod prepared;
mod room;
mod stands;
mod time;
mod together;
mod turns;
mod wakes;

use super::*;
use crate::app::{App, Class, Io, NextEvent, Ports, Reconfigured, Roles, Setup, Timed};
use crate::config::Config;
use crate::option::OptionError;
use crate::pool::Packet;
use crate::shm::Counter;
use crate::worker::AppState;
use serde::Deserialize;

/// Brings in packets of 8 bytes that count up, and leaves when they are all sent.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Numbers {
    count: u64,
    /// How long it takes to get the first.
    pause_ms: u64,
    /// Each packet of so many has 20,000 bytes; 0 for none.
    long_every: u64,
}

impl Numbers {
    fn up_to(count: u64) -> Self {
        Numbers { count, pause_ms: 0, long_every: 0 }
    }
}

struct Counting {
    next: u64,
    options: Numbers,
}

impl Class for Numbers {
    const TYPE: &'static str = "numbers";
    const INPUTS: Ports = Ports::NONE;
    const OUTPUTS: Ports = Ports::Any;
    type App = Counting;

    fn start(&self, _: &mut Setup<'_>) -> Result<Counting, OptionError> {
        Ok(Counting { next: 0, options: self.clone() })
    }

    fn reconfigure(
        &self,
        app: &mut Counting,
        _: &Self,
        _: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        app.options.count = self.count;
        Ok(Reconfigured::Kept)
    }
}

impl App for Counting {
    fn roles(&self) -> Roles {
        Roles::PULL
    }

    fn pull(&mut self, io: &mut Io<'_>) {
        std::thread::sleep(Duration::from_millis(std::mem::take(&mut self.options.pause_ms)));
        let mut bytes = [0; 20_000];
        for output in io.outputs.iter_mut() {
            for _ in 0..io.burst.min((self.options.count - self.next) as usize) {
                bytes[..8].copy_from_slice(&self.next.to_be_bytes());
                let is_long = self.next.checked_rem(self.options.long_every) == Some(0);
                let Some(packet) = io.pool.packet(&bytes[..if is_long { 20_000 } else { 8 }]) else { return };
                self.next += 1;
                output.put(packet);
            }
        }
    }

    fn is_finished(&self) -> bool {
        self.next >= self.options.count
    }
}

/// Passes packets on, but keeps the last few; fails at a packet that it is told.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Keeper {
    keep: usize,
    panic_at: Option<u64>,
    /// A mistake in the options.
    refuse: bool,
}

impl Keeper {
    fn of(keep: usize) -> Self {
        Keeper { keep, panic_at: None, refuse: false }
    }
}

struct Keeping {
    options: Keeper,
    kept: std::collections::VecDeque<Packet>,
}

impl Class for Keeper {
    const TYPE: &'static str = "keeper";
    const INPUTS: Ports = Ports::Any;
    const OUTPUTS: Ports = Ports::Any;
    type App = Keeping;

    fn start(&self, _: &mut Setup<'_>) -> Result<Keeping, OptionError> {
        if self.refuse {
            return Err(OptionError::new("refuse", "as told"));
        }
        Ok(Keeping { options: self.clone(), kept: Default::default() })
    }
}

impl App for Keeping {
    fn push(&mut self, io: &mut Io<'_>) {
        for input in io.inputs.iter_mut() {
            while let Some(burst) = input.burst() {
                for packet in burst {
                    let number = u64::from_be_bytes(*packet.data().first_chunk().expect("8 bytes"));
                    assert!(self.options.panic_at != Some(number), "told to fail at {number}");
                    self.kept.push_back(packet);
                    // Without an output the packet goes out of scope, which must be counted.
                    let Some(packet) =
                        (self.kept.len() > self.options.keep).then(|| self.kept.pop_front()).flatten()
                    else {
                        continue;
                    };
                    if let Some(output) = io.outputs.first_mut() {
                        output.put(packet);
                    }
                }
            }
        }
    }

    fn held(&self) -> usize {
        self.kept.len()
    }
}

/// Swallows packets, and takes its time before it does.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct End {
    pause_ms: u64,
}

struct Ending {
    delivered: Counter,
    pause: Duration,
}

impl Class for End {
    const TYPE: &'static str = "end";
    const INPUTS: Ports = Ports::Any;
    const OUTPUTS: Ports = Ports::NONE;
    type App = Ending;

    fn start(&self, setup: &mut Setup<'_>) -> Result<Ending, OptionError> {
        Ok(Ending { delivered: setup.delivered(), pause: Duration::from_millis(self.pause_ms) })
    }
}

impl App for Ending {
    fn push(&mut self, io: &mut Io<'_>) {
        std::thread::sleep(self.pause);
        for input in io.inputs.iter_mut() {
            while let Some(burst) = input.burst() {
                io.pool.free_burst(burst, &self.delivered);
            }
        }
    }
}

/// Keeps packets for a time of the clock, which is over only when it ticks.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Oven {
    /// How long, for each packet in turn; then the last again.
    bake_ns: Vec<u64>,
}

struct Baking {
    options: Oven,
    kept: std::collections::VecDeque<(u64, Packet)>,
    taken: usize,
    delivered: Counter,
}

impl Class for Oven {
    const TYPE: &'static str = "oven";
    const OUTPUTS: Ports = Ports::NONE;
    type App = Baking;

    fn start(&self, setup: &mut Setup<'_>) -> Result<Baking, OptionError> {
        Ok(Baking { options: self.clone(), kept: Default::default(), taken: 0, delivered: setup.delivered() })
    }
}

impl App for Baking {
    fn roles(&self) -> Roles {
        Roles::PUSH.and(Roles::TICK)
    }

    fn push(&mut self, io: &mut Io<'_>) {
        for packet in io.inputs[0].burst().into_iter().flatten() {
            let bake_ns = &self.options.bake_ns;
            self.kept.push_back((io.now_ns + bake_ns[self.taken.min(bake_ns.len() - 1)], packet));
            self.taken += 1;
        }
    }

    fn tick(&mut self, io: &mut Io<'_>) {
        while let Some((_, packet)) = self.kept.pop_front_if(|(due_ns, _)| *due_ns <= io.now_ns) {
            io.pool.free(packet, &self.delivered);
        }
    }

    fn held(&self) -> usize {
        self.kept.len()
    }

    fn timed(&self) -> Option<&dyn Timed> {
        Some(self)
    }
}

impl Timed for Baking {
    fn next_event(&self) -> NextEvent {
        NextEvent::at(self.kept.front().map(|&(due_ns, _)| due_ns))
    }
}

/// Sends what comes to both outputs in turn, and changes their places each time.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Juggler;

impl Class for Juggler {
    const TYPE: &'static str = "juggler";
    const OUTPUTS: Ports = Ports::Named(&["a", "b"]);
    type App = Self;

    fn start(&self, _: &mut Setup<'_>) -> Result<Self, OptionError> {
        Ok(Juggler)
    }
}

impl App for Juggler {
    fn push(&mut self, io: &mut Io<'_>) {
        io.inputs[0].burst().into_iter().for_each(|burst| io.outputs[0].send(burst));
        io.outputs.swap(0, 1);
    }
}

fn capture_engine() -> Engine {
    let settings = Settings::new().expect("memory");
    let (clock, [restart_first, restart_max]) = (ClockKind::Capture, [1, 4].map(Duration::from_millis));
    Engine::new(Settings { clock, restart_first, restart_max, ..settings }).expect("memory")
}

fn engine(workers: usize, packets: usize) -> Engine {
    let settings = Settings::new().expect("memory");
    let restarts = (Duration::from_millis(1), Duration::from_millis(4));
    Engine::new(Settings { workers, packets, restart_first: restarts.0, restart_max: restarts.1, ..settings })
        .expect("memory")
}

fn line(keeper: Keeper) -> Graph {
    let mut graph = Graph::new();
    graph.app("numbers", Numbers::up_to(u64::MAX)).expect("a name");
    graph.app("keeper", keeper).expect("a name");
    graph.app("end", End { pause_ms: 0 }).expect("a name");
    graph.link("numbers.output -> keeper.input").expect("ports");
    graph.link("keeper.output -> end.input").expect("ports");
    graph
}

#[track_caller]
fn balanced(engine: &mut Engine) -> Report {
    let report = engine.report();
    assert!(report.balanced(), "{:#?}\n{report:#?}", report.imbalances);
    report
}

/// Runs a graph that ends by itself.
#[track_caller]
fn run_to_the_end(engine: &mut Engine) -> Report {
    engine.run_for(Duration::from_secs(20)).expect("threads");
    assert!(engine.workers.iter().all(Worker::is_at_rest), "{:#?}", engine.report());
    balanced(engine)
}
