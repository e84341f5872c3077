//! Workers that wait for devices.

use super::*;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Mutex;

/// Brings in a packet for each byte that comes through a socket.
#[derive(Clone, Debug, Deserialize)]
struct Door {
    #[serde(skip)]
    socket: std::sync::Arc<Mutex<Option<UnixStream>>>,
}

impl PartialEq for Door {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Class for Door {
    const TYPE: &'static str = "door";
    const INPUTS: Ports = Ports::NONE;
    type App = Opening;

    fn start(&self, _: &mut Setup<'_>) -> Result<Opening, OptionError> {
        let socket = self.socket.lock().expect("a lock").take().expect("a socket");
        Ok(Opening { socket, breaths: 0 })
    }
}

struct Opening {
    socket: UnixStream,
    breaths: u64,
}

impl App for Opening {
    fn roles(&self) -> Roles {
        Roles::PULL
    }

    fn pull(&mut self, io: &mut Io<'_>) {
        self.breaths += 1;
        if self.socket.read(&mut [0]).is_ok_and(|count| count > 0)
            && let Some(packet) = io.pool.packet(&self.breaths.to_be_bytes())
        {
            io.outputs[0].put(packet);
        }
    }

    fn wakes_on(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }
}

/// An engine with a door, the other end of its socket, and a worker that has been idle for long.
fn idle(graph: &mut Graph) -> (Engine, UnixStream, crate::worker::Rest) {
    let (ours, theirs) = UnixStream::pair().expect("sockets");
    theirs.set_nonblocking(true).expect("a socket");
    graph.app("door", Door { socket: std::sync::Arc::new(Mutex::new(Some(theirs))) }).expect("a name");
    graph.app("sink", End { pause_ms: 0 }).expect("a name");
    graph.link("door.output -> sink.input").expect("ports");
    let mut engine = engine(1, 100);
    engine.configure(graph).expect("a graph");
    engine.breathe();
    let mut rest = engine.workers[0].rest();
    (0..100_000).for_each(|_| _ = rest.without_packets(|| None));
    (engine, ours, rest)
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
fn what_comes_to_a_worker_that_waits_is_delivered() {
    let (mut engine, mut ours, _) = idle(&mut Graph::new());
    let (begin, mut sent) = (Instant::now(), false);
    let run = engine.run(|status| {
        // Longer than it takes until devices are waited for.
        if !sent && status.elapsed > Duration::from_millis(1500) {
            ours.write_all(&[1, 2, 3]).expect("a socket");
            sent = true;
        }
        status.elapsed < Duration::from_millis(1600)
    });
    run.expect("threads");
    assert!(begin.elapsed() >= Duration::from_millis(1600));
    let breaths = engine.workers[0].breaths();
    assert_eq!(balanced(&mut engine).delivered, 3, "after {breaths} breaths");
}
