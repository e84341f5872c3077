//! Filters are compiled, and tables of routes built, when a graph is read: what they are made of may be gone by the time it is taken on, and
//! workers stand still for no longer than it takes to exchange them.

use engine::{Engine, Settings};
use graphfile::GraphFile;
use std::fmt::Write;
use std::time::Instant;
use testkit::files::Scratch;

/// A file of addresses, and a graph of the options that follow `type`, in which it is `SET`.
fn prepared_and_started(class: &str, options: &str) {
    let scratch = Scratch::new();
    let graph = |options: &str| {
        let options = options.replace("SET", &format!("host in {{@{}}}", scratch.path("set").display()));
        format!("[app.it]\ntype = '{class}'\n{options}\n")
    };
    let read = |options: &str| {
        let set = scratch.file("set", b"192.0.2.1\n");
        let file = GraphFile::parse(&graph(options), &apps::registry()).unwrap_or_else(|e| panic!("{e:?}"));
        std::fs::remove_file(&set).unwrap();
        file.graph
    };
    let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
    let changes = engine.configure(&read(options)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(changes.started, ["it"], "{class}");
    let changes = engine.configure(&read(&options.replace("SET", "arp or SET"))).unwrap();
    assert_eq!(changes.reconfigured, ["it"], "{class}: {changes:?}");
}

#[test]
fn a_set_is_read_once() {
    prepared_and_started("filter", "filter = 'SET'");
    prepared_and_started("match", "case = [{ port = 'a', filter = 'SET' }]");
    prepared_and_started("counter", "count = [{ name = 'a', filter = 'SET' }]");
}

#[test]
fn a_table_of_routes_is_built_beside_the_one_in_use() {
    const ROUTES: u32 = 100_000;
    let scratch = Scratch::new();
    let read = |hop: u8| {
        let mut routes = String::new();
        for number in 0..ROUTES {
            let [_, a, b, c] = number.to_be_bytes();
            writeln!(routes, "10.{a}.{b}.{c}/32 output 02:00:00:00:00:{hop:02x}").unwrap();
        }
        let path = scratch.file("routes", routes.as_bytes());
        let graph = format!(
            "links = ['it.output -> sink.input']\n[app.it]\ntype = 'router'\nroutes_file = '{}'\n\
             [app.sink]\ntype = 'sink'\n",
            path.display()
        );
        GraphFile::parse(&graph, &apps::registry()).unwrap_or_else(|e| panic!("{e:?}")).graph
    };
    let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
    engine.configure(&read(1)).unwrap_or_else(|error| panic!("{error}"));
    let begin = Instant::now();
    let graph = read(2);
    let reading = begin.elapsed();
    let begin = Instant::now();
    let changes = engine.configure(&graph).unwrap_or_else(|error| panic!("{error}"));
    let changing = begin.elapsed();
    assert_eq!(changes.reconfigured, ["it"]);
    // By some thousand times, if nothing comes between.
    assert!(changing < reading / 20, "{changing:?} after {reading:?}");
}
