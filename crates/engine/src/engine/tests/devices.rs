//! Workers that wait for devices.

use super::*;
use crate::app::Wakeable;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Brings in a packet for each byte that comes through a socket.
#[derive(Clone, Debug, Deserialize)]
struct SocketSource {
    #[serde(skip)]
    socket: Arc<Mutex<Option<UnixStream>>>,
    #[serde(skip)]
    brought: Arc<AtomicU64>,
}

impl PartialEq for SocketSource {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Class for SocketSource {
    const TYPE: &'static str = "source";
    const INPUTS: Ports = Ports::NONE;
    type App = Running;

    fn start(&self, _: &mut Setup<'_>) -> Result<Running, OptionError> {
        let socket = self.socket.lock().expect("a lock").take().expect("a socket");
        Ok(Running { socket, brought: Arc::clone(&self.brought) })
    }
}

struct Running {
    socket: UnixStream,
    brought: Arc<AtomicU64>,
}

impl App for Running {
    fn roles(&self) -> Roles {
        Roles::PULL
    }

    fn pull(&mut self, io: &mut Io<'_>) {
        if self.socket.read(&mut [0]).is_ok_and(|count| count > 0)
            && let Some(packet) = io.pool.packet(&[0; 8])
        {
            io.outputs[0].put(packet);
            self.brought.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn wakeable(&self) -> Option<&dyn Wakeable> {
        Some(self)
    }
}

impl Wakeable for Running {
    fn wakes_on(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }
}

/// An engine with a source that reads a socket, the other end of its socket, and a worker that has been idle for long.
fn idle(graph: &mut Graph) -> (Engine, UnixStream, crate::worker::Rest) {
    let (engine, ours, _) = with_socket(engine(1, 100), graph);
    let mut rest = engine.workers[0].rest();
    (0..100_000).for_each(|_| _ = rest.without_packets(|| None));
    (engine, ours, rest)
}

/// An engine with a source that reads a socket, the other end of its socket, and how many packets have come through.
fn with_socket(mut engine: Engine, graph: &mut Graph) -> (Engine, UnixStream, Arc<AtomicU64>) {
    let (ours, theirs) = UnixStream::pair().expect("sockets");
    theirs.set_nonblocking(true).expect("a socket");
    let brought = Arc::default();
    let source = SocketSource { socket: Arc::new(Mutex::new(Some(theirs))), brought: Arc::clone(&brought) };
    graph.app("source", source).expect("a name");
    graph.app("sink", End { pause_ms: 0 }).expect("a name");
    graph.link("source.output -> sink.input").expect("ports");
    engine.configure(graph).expect("a graph");
    engine.breathe();
    (engine, ours, brought)
}

#[test]
fn a_device_that_has_something_is_no_longer_waited_for() {
    let (mut engine, mut ours, mut rest) = idle(&mut Graph::new());
    let worker = &mut engine.workers[0];
    assert!(worker.waits_for_devices(&mut rest), "nothing has come");
    assert!(worker.waits_for_devices(&mut rest));
    ours.write_all(&[1]).expect("a socket");
    assert!(worker.waits_for_devices(&mut rest));
    assert!(!worker.waits_for_devices(&mut rest), "it has something, and nobody has taken it");
    assert!(worker.breathe());
    assert_eq!(balanced(&mut engine).delivered, 1);
}

#[test]
fn who_has_other_things_to_look_at_waits_for_no_device() {
    let mut graph = Graph::new();
    graph.app("numbers", Numbers::up_to(u64::MAX)).expect("a name");
    let (mut engine, _ours, mut rest) = idle(&mut graph);
    assert!(!engine.workers[0].waits_for_devices(&mut rest));
    graph.get_mut("numbers").expect("an app").config = Config::new(Numbers::up_to(0));
    engine.configure(&graph).expect("a graph");
    assert!(engine.workers[0].waits_for_devices(&mut rest), "it is finished");
}

#[test]
fn what_is_due_and_settled_by_a_tick_is_not_held_up_by_a_wait_for_devices() {
    const SECOND_NS: u64 = 1_000_000_000;
    let settings = Settings { packets: 100, tick_hz: 1, ..Settings::new().expect("a system") };
    let mut engine = Engine::new(settings).expect("a pool");
    let mut graph = Graph::new();
    graph.app("oven", Oven { bake_ns: vec![0, 5 * SECOND_NS] }).expect("a name");
    graph.app("numbers", Numbers::up_to(0)).expect("a name");
    graph.link("numbers.output -> oven.input").expect("ports");
    engine.configure(&graph).expect("a graph");
    engine.breathe();
    assert_eq!(engine.workers[0].until_called_ns(), None);
    graph.get_mut("numbers").expect("an app").config = Config::new(Numbers::up_to(2));
    engine.configure(&graph).expect("a graph");
    engine.breathe();
    let until_tick_ns = engine.workers[0].until_called_ns();
    assert!(until_tick_ns.is_some_and(|ns| ns <= SECOND_NS), "{until_tick_ns:?}");
}

#[test]
fn on_capture_time_no_device_is_waited_for() {
    let settings = Settings { packets: 100, clock: ClockKind::Capture, ..Settings::new().expect("a system") };
    let (mut engine, ..) = with_socket(Engine::new(settings).expect("a pool"), &mut Graph::new());
    let mut rest = engine.workers[0].rest();
    (0..100_000).for_each(|_| _ = rest.without_packets(|| None));
    assert!(!engine.workers[0].waits_for_devices(&mut rest));
}

#[test]
fn what_comes_to_a_worker_that_waits_is_delivered() {
    let (mut engine, mut ours, brought) = with_socket(engine(1, 100), &mut Graph::new());
    let mut is_sent = false;
    let run = engine.run(|status| {
        // Longer than it takes until devices are waited for.
        if !is_sent && status.elapsed > Duration::from_millis(1500) {
            ours.write_all(&[1, 2, 3]).expect("a socket");
            is_sent = true;
        }
        brought.load(Ordering::Relaxed) < 3 && status.elapsed < Duration::from_secs(30)
    });
    run.expect("threads");
    let breaths = engine.workers[0].breaths();
    assert_eq!(balanced(&mut engine).delivered, 3, "after {breaths} breaths");
}
