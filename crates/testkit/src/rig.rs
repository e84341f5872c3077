//! A rig for one app: packets go in at its inputs, what comes out at its outputs is collected, and time is what the test
//! says. When the rig is dropped, every packet must be accounted for.

use engine::{
    App, Class, ClockKind, Engine, Graph, Io, Metadata, NextEvent, Notice, OptionError, Ports, Report, Roles,
    Settings, Setup, Timed,
};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// An app between feeders and collectors.
#[derive(Debug)]
pub struct Rig {
    engine: Engine,
    graph: Graph,
    inputs: BTreeMap<String, Feeder>,
    outputs: BTreeMap<String, Collector>,
    now_ns: Arc<Mutex<u64>>,
}

/// A packet that came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Its bytes.
    pub data: Vec<u8>,
    /// What was known beside them.
    pub metadata: Metadata,
}

/// When a rig's time begins: in nanoseconds since 1970.
pub const START_NS: u64 = 1_700_000_000_000_000_000;
/// What the app is called in its rig.
pub const APP: &str = "app";

impl Rig {
    /// A rig around an app, with links at the ports named.
    ///
    /// # Panics
    /// If the app does not start or has no such ports.
    pub fn new(class: impl Class, inputs: &[&str], outputs: &[&str]) -> Self {
        Self::with(class, inputs, outputs, 4096)
    }

    /// A rig with a pool of so many packets.
    ///
    /// # Panics
    /// As for [`Rig::new`].
    pub fn with(class: impl Class, inputs: &[&str], outputs: &[&str], packets: usize) -> Self {
        Self::with_large(class, inputs, outputs, packets, engine::Pool::LARGE_PACKETS)
    }

    /// A rig with a pool of so many packets, and so many large ones.
    ///
    /// # Panics
    /// As for [`Rig::new`].
    pub fn with_large(
        class: impl Class,
        inputs: &[&str],
        outputs: &[&str],
        packets: usize,
        large_packets: usize,
    ) -> Self {
        let now_ns = Arc::new(Mutex::new(START_NS));
        let mut graph = Graph::new();
        graph.app(APP, class).expect("a name");
        let mut rig_inputs = BTreeMap::new();
        for port in inputs {
            let feeder = Feeder { queue: Arc::default(), now_ns: Arc::clone(&now_ns) };
            graph.app(&format!("in_{port}"), feeder.clone()).expect("a name");
            graph.link(&format!("in_{port}.output -> {APP}.{port}")).expect("an input");
            rig_inputs.insert((*port).to_owned(), feeder);
        }
        let mut rig_outputs = BTreeMap::new();
        for port in outputs {
            let collector = Collector::default();
            graph.app(&format!("out_{port}"), collector.clone()).expect("a name");
            graph.link(&format!("{APP}.{port} -> out_{port}.input")).expect("an output");
            rig_outputs.insert((*port).to_owned(), collector);
        }
        // Without inputs, somebody must still tell the time.
        let clock = Feeder { queue: Arc::default(), now_ns: Arc::clone(&now_ns) };
        graph.app("clock", clock).expect("a name");
        let settings = Settings::new().expect("memory");
        let settings = Settings { clock: ClockKind::Capture, packets, large_packets, ..settings };
        let mut engine = Engine::new(settings).expect("memory");
        engine.configure(&graph).unwrap_or_else(|error| panic!("{error}"));
        Rig { engine, graph, inputs: rig_inputs, outputs: rig_outputs, now_ns }
    }

    /// Puts a packet before an input. It goes in with the next breath.
    ///
    /// # Panics
    /// If the rig has no such input.
    pub fn send(&mut self, port: &str, data: impl AsRef<[u8]>) {
        let metadata = Metadata { timestamp_ns: self.now_ns(), linktype: 1, ..Metadata::default() };
        self.send_with(port, data, metadata);
    }

    /// Puts a packet before an input, with metadata.
    ///
    /// # Panics
    /// If the rig has no such input.
    pub fn send_with(&mut self, port: &str, data: impl AsRef<[u8]>, metadata: Metadata) {
        let packet = Received { data: data.as_ref().to_vec(), metadata };
        lock(&self.inputs[port].queue).push_back(packet);
    }

    /// One breath.
    pub fn breathe(&mut self) {
        self.engine.breathe();
    }

    /// Lets time pass, then breathes.
    pub fn advance(&mut self, ns: u64) {
        *lock(&self.now_ns) += ns;
        self.breathe();
    }

    /// The time.
    pub fn now_ns(&self) -> u64 {
        *lock(&self.now_ns)
    }

    /// Takes what has come out of an output.
    ///
    /// # Panics
    /// If the rig has no such output.
    pub fn received(&mut self, port: &str) -> Vec<Received> {
        std::mem::take(&mut *lock(&self.outputs[port].packets))
    }

    /// Takes the bytes of what has come out of an output.
    ///
    /// # Panics
    /// If the rig has no such output.
    pub fn take(&mut self, port: &str) -> Vec<Vec<u8>> {
        self.received(port).into_iter().map(|packet| packet.data).collect()
    }

    /// Sends packets in at `input` and returns what comes out of `output` in the same breath.
    pub fn pass(&mut self, packets: &[&[u8]]) -> Vec<Vec<u8>> {
        packets.iter().for_each(|packet| self.send("input", packet));
        self.breathe();
        self.take("output")
    }

    /// Gives the app other options.
    ///
    /// # Panics
    /// If it does not take them.
    pub fn reconfigure(&mut self, class: impl Class) {
        self.graph.get_mut(APP).expect("the app").config = engine::Config::new(class);
        let changes = self.engine.configure(&self.graph).unwrap_or_else(|error| panic!("{error}"));
        assert!(changes.failed.is_empty(), "{changes:?}");
    }

    /// What the app has counted under a name, 0 if nothing.
    pub fn counter(&mut self, name: &str) -> u64 {
        let report = self.report();
        let counters = &report.apps[APP].counters;
        counters.iter().find(|(counter, ..)| counter == name).map_or(0, |&(.., value)| value)
    }

    /// Takes what the app has told as it happened.
    pub fn notices(&self) -> Vec<Notice> {
        self.engine.notices().take().0
    }

    /// What has happened so far.
    pub fn report(&mut self) -> Report {
        self.engine.report()
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let report = self.engine.report();
        assert!(report.balanced(), "{:#?}", report.imbalances);
        self.engine.stop();
        let report = self.engine.report();
        assert!(report.balanced(), "after the end: {:#?}", report.imbalances);
        assert_eq!(report.pool.free, report.pool.total, "after the end, packets are missing: {report:#?}");
    }
}

/// Sends what the test has queued, and tells the time.
#[derive(Clone, Debug, serde::Deserialize)]
struct Feeder {
    #[serde(skip)]
    queue: Arc<Mutex<VecDeque<Received>>>,
    #[serde(skip)]
    now_ns: Arc<Mutex<u64>>,
}

impl PartialEq for Feeder {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.queue, &other.queue)
    }
}

impl Class for Feeder {
    const TYPE: &'static str = "feeder";
    const INPUTS: Ports = Ports::NONE;
    const OUTPUTS: Ports = Ports::Any;
    type App = Self;

    fn start(&self, _: &mut Setup<'_>) -> Result<Self, OptionError> {
        Ok(self.clone())
    }
}

impl App for Feeder {
    fn roles(&self) -> Roles {
        Roles::PULL.and(Roles::METADATA)
    }

    fn pull(&mut self, io: &mut Io<'_>) {
        let mut queue = lock(&self.queue);
        let Some(output) = io.outputs.first_mut() else { return };
        while output.room() > 0 {
            let Some(next) = queue.pop_front() else { break };
            let Some(mut packet) = io.pool.packet(&next.data) else { break };
            io.pool.describe(&mut packet, next.metadata);
            output.put(packet);
        }
    }

    fn timed(&self) -> Option<&dyn Timed> {
        Some(self)
    }
}

impl Timed for Feeder {
    fn next_event(&self) -> NextEvent {
        NextEvent::At(*lock(&self.now_ns))
    }
}

/// Keeps what it gets for the test.
#[derive(Clone, Debug, Default, serde::Deserialize)]
struct Collector {
    #[serde(skip)]
    packets: Arc<Mutex<Vec<Received>>>,
}

impl PartialEq for Collector {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.packets, &other.packets)
    }
}

/// A running collector.
#[derive(Debug)]
struct Collecting {
    packets: Arc<Mutex<Vec<Received>>>,
    delivered: engine::shm::Counter,
}

impl Class for Collector {
    const TYPE: &'static str = "collector";
    const OUTPUTS: Ports = Ports::NONE;
    type App = Collecting;

    fn start(&self, setup: &mut Setup<'_>) -> Result<Collecting, OptionError> {
        Ok(Collecting { packets: Arc::clone(&self.packets), delivered: setup.delivered() })
    }
}

impl App for Collecting {
    fn roles(&self) -> Roles {
        Roles::PUSH.and(Roles::METADATA)
    }

    fn push(&mut self, io: &mut Io<'_>) {
        while let Some(burst) = io.inputs[0].burst() {
            let received = |packet: &engine::Packet| Received {
                data: packet.data().to_vec(),
                metadata: *packet.metadata(),
            };
            lock(&self.packets).extend(burst.iter().map(received));
            io.pool.free_burst(burst, &self.delivered);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
