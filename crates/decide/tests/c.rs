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
    (Shape { values: 6, tests: 3, filters: 1, switches: 0, inputs: 0 }, 60),
    (Shape { values: 12, tests: 5, filters: 4, switches: 0, inputs: 0 }, 30),
    (Shape { values: 6, tests: 2, filters: 2, switches: 3, inputs: 0 }, 60),
    (Shape { values: 60, tests: 30, filters: 3, switches: 1, inputs: 0 }, 8),
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

/// The row of a packet, from its length on the wire, here and in C.
fn row(wire_len: u32) -> [u32; INPUTS] {
    std::array::from_fn(|i| wire_len.wrapping_mul(2 * i as u32 + 1) % 50)
}

const INPUTS: usize = 4;

#[test]
fn inputs_are_a_parameter() {
    let shape = Shape { values: 10, tests: 5, filters: 2, switches: 1, inputs: INPUTS as u32 };
    let graphs: Vec<Graph> = (0..40).map(|seed| random_graph(&mut Rng::new(seed), shape)).collect();
    let text = |(i, graph): (usize, &Graph)| {
        let text = function(Verified::new(graph).unwrap(), &format!("f{i}"), Returns::Leaf, "").unwrap();
        let with_row = format!(
            "uint32_t g{i}(const uint8_t *data, size_t captured, uint32_t wire_len)\n{{\n    uint32_t i, row[{INPUTS}];\n    \
             for (i = 0; i < {INPUTS}; i++) row[i] = wire_len * (2u * i + 1u) % 50u;\n    \
             return f{i}(data, captured, wire_len, row);\n}}\n"
        );
        (format!("g{i}"), text.replacen("uint32_t f", "static uint32_t f", 1) + &with_row)
    };
    let functions: Vec<(String, String)> = graphs.iter().enumerate().map(text).collect();
    let Some(compiled) = Functions::compile("graphs with inputs as C", &functions) else { return };
    let packets = random_packets(&mut Rng::new(2));
    let (mut calls, mut expected) = (Vec::new(), Vec::new());
    for (i, graph) in graphs.iter().enumerate() {
        let mut interp = Interp::new(graph);
        for (data, wire_len) in &packets {
            calls.push(Call { function: i, data, wire_len: *wire_len });
            expected.push(interp.run_with(data, *wire_len, &row(*wire_len)));
        }
    }
    for (how, answers) in compiled.run(&calls) {
        assert_eq!(answers, expected, "{how}");
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
