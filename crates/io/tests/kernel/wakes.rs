//! What a worker waits for that has nothing but devices.

use crate::{cable, device, end, engine};
use engine::{App, Class, Graph, Io, OptionError, Roles, Setup, Wakeable};
use io::Tap;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::net::UdpSocket;
use std::sync::{Arc, Mutex};
use std::time::Instant;
use testkit::netns::{Namespace, PATIENCE};

/// What an app names as that which wakes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wakes {
    Nothing,
    /// Something that is not readable.
    Silent,
    /// Something that is.
    Readable,
}

/// A device, and what it names before it pulls.
#[derive(Clone, Debug)]
struct Spied<C> {
    class: C,
    seen: Arc<Mutex<Option<Wakes>>>,
}

impl<C: Class> PartialEq for Spied<C> {
    fn eq(&self, other: &Self) -> bool {
        self.class == other.class
    }
}

struct Running<A> {
    app: A,
    seen: Arc<Mutex<Option<Wakes>>>,
}

impl<C: Class> Class for Spied<C> {
    const TYPE: &'static str = "spied";
    type App = Running<C::App>;

    fn start(&self, setup: &mut Setup<'_>) -> Result<Self::App, OptionError> {
        Ok(Running { app: self.class.start(setup)?, seen: Arc::clone(&self.seen) })
    }
}

impl<A: App> App for Running<A> {
    fn roles(&self) -> Roles {
        Roles::PULL
    }

    fn pull(&mut self, io: &mut Io<'_>) {
        *self.seen.lock().unwrap() = Some(wakes(&self.app));
        self.app.pull(io);
    }

    fn stop(&mut self, io: &mut Io<'_>) {
        self.app.stop(io);
    }

    fn held(&self) -> usize {
        self.app.held()
    }
}

fn wakes(app: &impl App) -> Wakes {
    let Some(device) = app.wakeable().and_then(Wakeable::wakes_on) else { return Wakes::Nothing };
    let mut asked = [PollFd::from_borrowed_fd(device, PollFlags::IN)];
    match poll(&mut asked, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
        Ok(0) => Wakes::Silent,
        _ => Wakes::Readable,
    }
}

/// A device names what becomes readable when `frame` has let one come, and nothing where nobody takes frames.
fn names_what_wakes(class: impl Class, frame: impl Fn()) {
    let spied = Spied { class, seen: Arc::default() };
    let seen = Arc::clone(&spied.seen);
    let mut graph = Graph::new();
    graph.app("device", spied).unwrap();
    let alone = graph.clone();
    graph.app("sink", apps::Sink {}).unwrap();
    graph.link("device.output -> sink.input").unwrap();
    let mut engine = engine(&graph);
    let wait_for = |engine: &mut engine::Engine, wanted| {
        let begin = Instant::now();
        loop {
            engine.breathe();
            let seen = *seen.lock().unwrap();
            if seen == Some(wanted) {
                return;
            }
            assert!(begin.elapsed() < PATIENCE, "{seen:?}, not {wanted:?}");
        }
    };
    // The kernel may send something of its own at first.
    wait_for(&mut engine, Wakes::Silent);
    frame();
    wait_for(&mut engine, Wakes::Readable);
    wait_for(&mut engine, Wakes::Silent);
    engine.configure(&alone).unwrap();
    wait_for(&mut engine, Wakes::Nothing);
    end(engine);
}

#[test]
fn devices_name_what_wakes_their_worker() {
    let Some((_turn, [here])) = Namespace::some("devices that wake a worker") else { return };
    // Somebody is looked for by ARP.
    let send = |from: &str, to: &str| {
        let socket = UdpSocket::bind((from, 0)).unwrap();
        socket.send_to(&[0], (to, 9)).unwrap();
    };
    here.enter(|| {
        let addressed =
            |name: &str, address: &str| here.run(&format!("ip address add {address}/24 dev {name}"));
        cable((&here, "a"), (&here, "b"), 1500);
        addressed("b", "192.0.2.1");
        names_what_wakes(device("a"), || send("192.0.2.1", "192.0.2.2"));
        names_what_wakes(Tap { name: "t0".to_owned(), mtu: None }, || {
            addressed("t0", "198.51.100.1");
            send("198.51.100.1", "198.51.100.2");
        });
    });
}
