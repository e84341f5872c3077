//! Apps that share something, all with the same options, and change them in one reload.

use super::engine;
use crate::app::{App, Class, Ports, Setup};
use crate::graph::Graph;
use crate::option::OptionError;
use crate::worker::AppState;
use std::sync::{Arc, Mutex};

/// Of a club in which all wear one color, other than 13.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Member {
    color: u32,
    #[serde(skip)]
    club: Arc<Club>,
}

/// What they wear.
type Club = Mutex<Vec<u32>>;

struct Dressed {
    club: Arc<Club>,
}

impl PartialEq for Member {
    fn eq(&self, other: &Self) -> bool {
        self.color == other.color
    }
}

impl Class for Member {
    const TYPE: &'static str = "member";
    const INPUTS: Ports = Ports::NONE;
    const OUTPUTS: Ports = Ports::NONE;
    type App = Dressed;

    fn start(&self, _: &mut Setup<'_>) -> Result<Dressed, OptionError> {
        let mut club = self.club.lock().unwrap();
        if self.color == 13 || club.iter().any(|&color| color != self.color) {
            return Err(OptionError::refused("color", "not that one"));
        }
        club.push(self.color);
        Ok(Dressed { club: Arc::clone(&self.club) })
    }
}

impl App for Dressed {}

impl Drop for Dressed {
    fn drop(&mut self) {
        self.club.lock().unwrap().pop();
    }
}

fn members(club: &Arc<Club>, colors: [u32; 2]) -> Graph {
    let mut graph = Graph::new();
    for (name, color) in ["a", "b"].into_iter().zip(colors) {
        graph.app(name, Member { color, club: Arc::clone(club) }).unwrap();
    }
    graph
}

#[test]
fn apps_that_share_something_change_together() {
    let club = Arc::default();
    let mut engine = engine(2, 64);
    engine.configure(&members(&club, [1, 1])).unwrap();
    let changes = engine.configure(&members(&club, [2, 2])).unwrap();
    assert_eq!(changes.restarted, ["a", "b"], "{:?}", changes.failed);
    assert!(changes.failed.is_empty(), "{:?}", changes.failed);
    assert_eq!(*club.lock().unwrap(), [2, 2]);
}

#[test]
fn one_that_goes_back_takes_those_after_it_along() {
    let club = Arc::default();
    let mut engine = engine(2, 64);
    engine.configure(&members(&club, [1, 1])).unwrap();
    let changes = engine.configure(&members(&club, [13, 2])).unwrap();
    let failed: Vec<&str> = changes.failed.iter().map(|(name, _)| &**name).collect();
    assert_eq!((failed, changes.restarted.len()), (vec!["a", "b"], 0));
    assert!(changes.down.is_empty(), "{:?}", changes.down);
    assert_eq!(*club.lock().unwrap(), [1, 1]);
    assert_eq!(*engine.graph(), members(&club, [1, 1]));
    assert!(engine.report().apps.values().all(|app| app.state == AppState::Running));
}

#[test]
fn one_that_cannot_go_back_is_down() {
    let club = Arc::default();
    let mut engine = engine(2, 64);
    engine.configure(&members(&club, [1, 1])).unwrap();
    let changes = engine.configure(&members(&club, [2, 13])).unwrap();
    assert_eq!((changes.restarted.as_slice(), changes.failed.len()), (&["a".to_owned()][..], 1));
    assert_eq!(changes.down, ["b"]);
    assert_eq!(*engine.graph(), members(&club, [2, 1]));
    let report = engine.report();
    assert_eq!(["a", "b"].map(|name| report.apps[name].state), [AppState::Running, AppState::Down]);
}
