//! A device that is taken away from below: apart from the other tests of devices, which reach DPDK by the app alone.

use super::{Dpdk, shim, version};
use apps::{Sink, Source};
use engine::{Engine, Graph, Report, Settings};
use std::time::{Duration, Instant};

fn count(report: &Report, app: &str, name: &str) -> u64 {
    let counters = &report.apps[app].counters;
    counters.iter().find(|(known, ..)| known == name).map_or(0, |&(.., value)| value)
}

/// Packets that have come over the link to an app.
fn received(report: &Report, app: &str) -> u64 {
    report.links.iter().find(|link| link.link.to.app == app).expect("its link").rxpackets
}

/// Breathes until the report says so; returns how often.
fn breathe_until(engine: &mut Engine, is_so: impl Fn(&Report) -> bool) -> u64 {
    let begin = Instant::now();
    let mut breaths = 0;
    loop {
        let report = engine.report();
        if is_so(&report) {
            return breaths;
        }
        assert!(begin.elapsed() < Duration::from_secs(20), "it does not come to that: {report:#?}");
        for _ in 0..16 {
            engine.breathe();
            breaths += 1;
        }
    }
}

#[test]
fn a_device_that_dpdk_removes_is_made_again() {
    if let Err(why) = version() {
        let what = "install libdpdk-dev (Debian), `make packages-dpdk`";
        return testkit::say(format_args!("SKIPPED: a device that DPDK removes: {why}: {what}"));
    }
    let device = |device: &str| Dpdk {
        device: device.to_owned(),
        eal: vec!["--no-huge".to_owned()],
        ..Dpdk::default()
    };
    let mut graph = Graph::new();
    graph.app("in", device("net_null0,size=64")).unwrap();
    graph.app("out", device("net_null1,size=64")).unwrap();
    graph.app("source", Source { size: 60, ..Source::default() }).unwrap();
    graph.app("sink", Sink::default()).unwrap();
    graph.link("in.output -> out.input").unwrap();
    graph.link("source.output -> sink.input").unwrap();
    let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
    engine.configure(&graph).unwrap_or_else(|error| panic!("{error}"));
    breathe_until(&mut engine, |report| count(report, "out", "delivered") > 1000);
    for round in 1..=2 {
        // No breath is under way: this thread is the only one that uses the ports.
        for name in ["net_null0", "net_null1"] {
            shim::remove_virtual(name).unwrap_or_else(|error| panic!("{name}: {}", error.text));
        }
        let before = engine.report();
        // Those that were made again send as well.
        let is_back = |report: &Report, app: &str| {
            count(report, app, "absences") == round && report.apps[app].text.is_none()
        };
        let mut breaths =
            breathe_until(&mut engine, |report| ["in", "out"].into_iter().all(|app| is_back(report, app)));
        let sent = count(&engine.report(), "out", "delivered");
        breaths += breathe_until(&mut engine, |report| count(report, "out", "delivered") > sent + 1000);
        let after = engine.report();
        assert!(after.balanced(), "{:?}", after.imbalances);
        assert_eq!(received(&after, "sink") - received(&before, "sink"), 64 * breaths, "the others go on");
        for app in ["in", "out"] {
            assert!(is_back(&after, app), "{:?}", after.apps[app]);
        }
        let told: Vec<String> = engine.notices().take().0.into_iter().map(|notice| notice.text).collect();
        for what in
            ["device net_null0 is gone", "net_null0 is back", "device net_null1 is gone", "net_null1 is back"]
        {
            assert!(told.iter().any(|text| text.contains(what)), "{what}: {told:?}");
        }
    }
    engine.stop();
    let last = engine.report();
    assert!(last.balanced(), "after the end: {:?}", last.imbalances);
    assert!(last.pool.free == last.pool.total && last.pool.lent == 0, "all is at home: {:?}", last.pool);
}
