//! Whose turn it is, as others see it.

use super::*;
use crate::shm::Snapshot;
use std::time::{SystemTime, UNIX_EPOCH};

fn unix_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970").as_nanos() as u64
}

/// The app whose turn it is on the only worker, and when the breath began.
fn turn(path: &std::path::Path) -> (Option<String>, u64) {
    let snapshot = Snapshot::read(path).expect("counters");
    let worker = snapshot.of(RecordKind::Worker).next().expect("a worker");
    let epoch = worker.value("turn_of");
    let app = snapshot.of(RecordKind::App).find(|app| app.epoch == epoch);
    (app.map(|app| app.name.clone()), worker.value("breath_unix_ns"))
}

#[test]
fn others_see_whose_turn_lasts_and_since_when() {
    for clock in [ClockKind::Wall, ClockKind::Capture] {
        let path = std::env::temp_dir().join(format!("sluss-turns-{}-{clock:?}", std::process::id()));
        let counters = Segment::create(&path, "turns").expect("a file");
        let mut engine =
            Engine::new(Settings { clock, ..Settings::with_counters(counters) }).expect("memory");
        let mut graph = line(Keeper::of(0));
        graph.get_mut("numbers").expect("an app").config = Config::new(Numbers::up_to(64));
        graph.get_mut("end").expect("an app").config = Config::new(End { pause_ms: 400 });
        engine.configure(&graph).expect("a graph");
        assert_eq!(turn(&path).0, None);
        let mut longest_ns = 0;
        engine
            .run(|_| {
                if let (Some(app), since_ns) = turn(&path)
                    && app == "end"
                {
                    longest_ns = longest_ns.max(unix_ns().saturating_sub(since_ns));
                }
                true
            })
            .expect("threads");
        // Times of captures are exact to some milliseconds.
        assert!((200_000_000..30_000_000_000).contains(&longest_ns), "{clock:?}: {longest_ns}");
        assert_eq!(turn(&path).0, None, "{clock:?}: nobody has one any more");
    }
}
