//! Filters are compiled when a graph is read: what they are made of may be gone by the time it is taken on.

use engine::{Engine, Settings};
use graphfile::GraphFile;
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
