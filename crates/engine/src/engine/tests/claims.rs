//! Apps that take over from others what only one can have.

use super::{balanced, engine};
use crate::app::{App, Class, Ports, Reporting, Setup, Use};
use crate::graph::Graph;
use crate::option::OptionError;

use crate::worker::AppState;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The only key of a room.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Room {
    number: u32,
    color: u32,
    #[serde(skip)]
    door: Arc<Door>,
}

/// Who is in the room, and how often nobody else may enter.
#[derive(Debug, Default)]
struct Door {
    inside: AtomicU32,
    is_stuck: AtomicU32,
}

struct Guest {
    door: Arc<Door>,
    stays: Arc<Mutex<u32>>,
}

impl PartialEq for Room {
    fn eq(&self, other: &Self) -> bool {
        (self.number, self.color) == (other.number, other.color)
    }
}

impl Class for Room {
    const TYPE: &'static str = "room";
    const INPUTS: Ports = Ports::NONE;
    const OUTPUTS: Ports = Ports::NONE;
    type App = Guest;

    fn claim(&self) -> Option<String> {
        assert!(self.number != 13, "nobody claims this");
        (self.number > 0).then(|| self.number.to_string())
    }

    /// Paint: from 100 on for one room only.
    fn uses(&self) -> Vec<Use> {
        assert!(self.color != 13, "nobody uses this");
        // With 1000 more, it is the same under another name.
        let used = || Use {
            option: "color",
            identity: (self.color % 1000).to_string(),
            name: format!("color {}", self.color),
            verb: "shows",
            is_shared: self.color < 100,
            remedy: "choose another",
        };
        (self.color > 0).then(used).into_iter().collect()
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Guest, OptionError> {
        let door = Arc::clone(&self.door);
        if self.number > 0 && door.inside.load(Ordering::SeqCst) > 0 {
            return Err(OptionError::refused("number", "somebody is in"));
        }
        let stuck = |count: u32| count.checked_sub(1);
        if door.is_stuck.fetch_update(Ordering::SeqCst, Ordering::SeqCst, stuck).is_ok() {
            return Err(OptionError::refused("number", "the door is stuck"));
        }
        door.inside.fetch_add(1, Ordering::SeqCst);
        let stays = setup.legacy::<Mutex<u32>>();
        *stays.lock().unwrap() += 1;
        Ok(Guest { door, stays })
    }
}

impl App for Guest {
    fn reporting(&self) -> Option<&dyn Reporting> {
        Some(self)
    }
}

impl Reporting for Guest {
    fn report(&self) -> Option<String> {
        Some(self.stays.lock().unwrap().to_string())
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.door.inside.fetch_sub(1, Ordering::SeqCst);
    }
}

fn rooms(rooms: &[(&str, &Room)]) -> Graph {
    let mut graph = Graph::new();
    for (name, room) in rooms {
        graph.app(name, (*room).clone()).unwrap();
    }
    graph
}

#[test]
fn who_has_another_name_takes_over() {
    let (mut engine, room) = (engine(2, 64), Room { number: 1, ..Room::default() });
    engine.configure(&rooms(&[("a", &room)])).unwrap();
    let other = Room { color: 5, ..room.clone() };
    for (graph, started, stopped, stays) in [
        (rooms(&[("b", &room)]), "b", "a", "2"),
        (rooms(&[("c", &other)]), "c", "b", "3"),
        (rooms(&[("a", &room)]), "a", "c", "4"),
    ] {
        let changes = engine.configure(&graph).unwrap();
        assert_eq!((changes.started, changes.stopped), (vec![started.to_owned()], vec![stopped.to_owned()]));
        assert!(changes.failed.is_empty(), "{:?}", changes.failed);
        assert_eq!(balanced(&mut engine).apps[started].text.as_deref(), Some(stays));
    }
    engine.stop();
    assert_eq!(room.door.inside.load(Ordering::SeqCst), 0);
}

#[test]
fn who_claims_something_else_takes_nothing_over() {
    let mut engine = engine(1, 64);
    let (one, two) = (Room { number: 1, ..Room::default() }, Room { number: 2, ..Room::default() });
    let none = Room::default();
    engine.configure(&rooms(&[("a", &one), ("n", &none)])).unwrap();
    // Two at a time cannot be, and then nothing changes.
    let error = engine.configure(&rooms(&[("a", &one), ("b", &one), ("n", &none)])).unwrap_err();
    assert!(error.to_string().contains("somebody is in"), "{error}");
    engine.configure(&rooms(&[("c", &two), ("m", &none)])).unwrap();
    let report = balanced(&mut engine);
    assert_eq!(["c", "m"].map(|name| report.apps[name].text.as_deref()), [Some("1"); 2]);
    // A class that fails to say what it claims claims nothing.
    let unlucky = Room { number: 13, ..Room::default() };
    engine.configure(&rooms(&[("u", &unlucky)])).unwrap();
    let error = engine.configure(&rooms(&[("v", &unlucky)])).unwrap_err();
    assert!(error.to_string().contains("somebody is in"), "{error}");
    assert!(engine.graph().get("u").is_some());
}

fn painted(color: u32) -> Room {
    Room { color, ..Room::default() }
}

#[test]
fn what_one_wants_alone_no_other_uses() {
    let mut engine = engine(1, 64);
    let refusal = |engine: &mut crate::Engine, colors: &[(&str, u32)]| {
        let painted: Vec<(&str, Room)> = colors.iter().map(|&(name, color)| (name, painted(color))).collect();
        let all: Vec<(&str, &Room)> = painted.iter().map(|(name, room)| (*name, room)).collect();
        engine.configure(&rooms(&all)).err().map(|error| error.to_string())
    };
    for (colors, error) in [
        (&[("a", 5), ("b", 5), ("c", 13), ("d", 13)][..], None),
        (
            &[("a", 5), ("b", 1005)],
            Some("app `b` (room): `color`: color 1005: app `a` shows it as well, as color 5: choose another"),
        ),
        (
            &[("a", 1005), ("b", 5)],
            Some("app `a` (room): `color`: color 1005: app `b` shows it as well, as color 5: choose another"),
        ),
        (
            &[("a", 200), ("b", 200)],
            Some("app `b` (room): `color`: color 200: app `a` shows it as well: choose another"),
        ),
        // From now on one after the other.
        (&[("a", 200), ("b", 300), ("c", 5)], None),
        (
            &[("a", 300), ("b", 200)],
            Some("app `a` (room): `color`: color 300: app `b` shows it until this change: choose another"),
        ),
        (
            &[("a", 200), ("b", 1005)],
            Some(
                "app `b` (room): `color`: color 1005: app `c` shows it until this change, as color 5: choose another",
            ),
        ),
        (
            &[("a", 200), ("d", 300)],
            Some("app `d` (room): `color`: color 300: app `b` shows it until this change: choose another"),
        ),
        (&[("a", 200), ("d", 5)], None),
        (
            &[("a", 300), ("b", 200)],
            Some("app `b` (room): `color`: color 200: app `a` shows it until this change: choose another"),
        ),
        (&[("a", 300), ("b", 5)], None),
    ] {
        assert_eq!(refusal(&mut engine, colors).as_deref(), error, "{colors:?}");
    }
    balanced(&mut engine);
}

#[test]
fn who_cannot_take_over_at_once_does_so_later() {
    let (mut engine, room) = (engine(1, 64), Room { number: 1, ..Room::default() });
    engine.configure(&rooms(&[("a", &room)])).unwrap();
    room.door.is_stuck.store(1, Ordering::SeqCst);
    let changes = engine.configure(&rooms(&[("b", &room)])).unwrap();
    assert_eq!(changes.failed[0].0, "b");
    assert_eq!(balanced(&mut engine).apps["b"].state, AppState::Down);
    let begin = Instant::now();
    while balanced(&mut engine).apps["b"].state == AppState::Down && begin.elapsed() < Duration::from_secs(20)
    {
        std::thread::sleep(Duration::from_micros(100));
        engine.breathe();
    }
    let report = balanced(&mut engine);
    assert_eq!((report.apps["b"].state, report.apps["b"].text.as_deref()), (AppState::Running, Some("2")));
}
