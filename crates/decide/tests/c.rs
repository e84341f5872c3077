//! Random decision graphs as C: compiled without a warning, and with the answers of the interpreter.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use decide::internals::c::{Returns, function};
use decide::internals::ir::Graph;
use decide::internals::ir::interp::Interp;
use decide::internals::ir::verify::Verified;
use decide::internals::opt::{Passes, fold, optimise_within};
use testkit::c::{Call, Functions};
use testkit::native::agree::random_packets;
use testkit::native::graphs::{Shape, random_graph};
use testkit::rng::Rng;

const SHAPES: [(Shape, u64); 4] = [
    (Shape { values: 6, tests: 3, filters: 1, switches: 0 }, 60),
    (Shape { values: 12, tests: 5, filters: 4, switches: 0 }, 30),
    (Shape { values: 6, tests: 2, filters: 2, switches: 3 }, 60),
    (Shape { values: 60, tests: 30, filters: 3, switches: 1 }, 8),
];

/// Graphs as built, and as C wants them.
fn graphs() -> Vec<(String, Graph)> {
    let mut graphs = Vec::new();
    for (i, (shape, rounds)) in SHAPES.into_iter().enumerate() {
        for seed in 0..rounds {
            let graph = random_graph(&mut Rng::new(1000 * i as u64 + seed), shape);
            let optimised = optimise_within(fold(&graph), Passes::C, &|| false).expect("there is time");
            graphs.push((format!("shape{i}_seed{seed}"), graph));
            graphs.push((format!("shape{i}_seed{seed}_optimised"), optimised));
        }
    }
    graphs
}

#[test]
fn random_graphs_answer_as_the_interpreter() {
    let graphs = graphs();
    let text = |(name, graph): &(String, Graph)| {
        let verified = Verified::new(graph).unwrap_or_else(|violation| panic!("{name}: {violation:?}"));
        let text = function(verified, name, Returns::Leaf, "");
        (name.clone(), text.unwrap_or_else(|error| panic!("{name}: {error}")))
    };
    let functions: Vec<(String, String)> = graphs.iter().map(text).collect();
    let Some(compiled) = Functions::compile("random graphs as C", &functions) else { return };

    let packets = random_packets(&mut Rng::new(1));
    let mut calls = Vec::new();
    let mut expected = Vec::new();
    for (i, (_, graph)) in graphs.iter().enumerate() {
        let mut interp = Interp::new(graph);
        for (data, wire_len) in &packets {
            calls.push(Call { function: i, data, wire_len: *wire_len });
            expected.push(interp.run(data, *wire_len));
        }
    }
    for (how, answers) in compiled.run(&calls) {
        assert_eq!(answers.len(), expected.len(), "{how}");
        for ((call, answer), expected) in calls.iter().zip(answers).zip(&expected) {
            let text = &functions[call.function].1;
            assert_eq!(answer, *expected, "{how}, packet {:02x?} of {}\n{text}", call.data, call.wire_len);
        }
    }
}

/// A graph with nothing to ask is a function as well.
#[test]
fn a_graph_of_one_leaf_returns_it() {
    let mut graph = Graph::new(Default::default());
    graph.root = graph.leaf(7);
    let text = function(Verified::new(&graph).unwrap(), "seven", Returns::Leaf, "").unwrap();
    assert!(text.ends_with(
        "uint32_t seven(const uint8_t *data, size_t captured, uint32_t wire_len)\n{\n    (void)data;\n    \
         (void)captured;\n    (void)wire_len;\n    return 7;\n}\n"
    ));
}
