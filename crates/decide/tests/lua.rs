//! Random decision graphs as Lua: with the answers of the interpreter.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use decide::internals::ir::interp::Interp;
use decide::internals::ir::verify::Verified;
use decide::internals::lua::{Answers, chunk};
use decide::internals::opt::{Passes, fold, optimise_within};
use testkit::lua::{Call, run};
use testkit::native::agree::random_packets;
use testkit::native::graphs::{Shape, random_graph};
use testkit::rng::Rng;

const SHAPES: [(Shape, u64); 5] = [
    (Shape { values: 6, tests: 3, filters: 1, switches: 0, inputs: 0 }, 60),
    (Shape { values: 12, tests: 5, filters: 4, switches: 0, inputs: 0 }, 30),
    (Shape { values: 6, tests: 2, filters: 2, switches: 3, inputs: 0 }, 60),
    (Shape { values: 60, tests: 30, filters: 3, switches: 1, inputs: 0 }, 8),
    (Shape { values: 10, tests: 5, filters: 2, switches: 1, inputs: 4 }, 40),
];

#[test]
fn random_graphs_answer_as_the_interpreter() {
    let (mut graphs, mut chunks) = (Vec::new(), Vec::new());
    for (i, (shape, rounds)) in SHAPES.into_iter().enumerate() {
        for seed in 0..rounds {
            let graph = random_graph(&mut Rng::new(1000 * i as u64 + seed), shape);
            let optimised = optimise_within(fold(&graph), Passes::LUA, &|| false).expect("there is time");
            graphs.extend([(graph, shape.inputs), (optimised, shape.inputs)]);
        }
    }
    for (graph, _) in &graphs {
        let text = chunk(Verified::new(graph).unwrap(), Answers::Leaf, &[], "");
        chunks.push(text.unwrap_or_else(|error| panic!("{error}")));
    }
    let packets = random_packets(&mut Rng::new(1));
    let (mut calls, mut expected) = (Vec::new(), Vec::new());
    for (i, (graph, _)) in graphs.iter().enumerate() {
        let mut interp = Interp::new(graph);
        for (at, (data, wire_len)) in packets.iter().enumerate().skip(i % 4).step_by(4) {
            let row: Vec<u32> = (0..graph.pool.inputs())
                .map(|slot| if at % 3 == 0 { wire_len.wrapping_mul(slot + 1) } else { slot })
                .collect();
            expected.push(interp.run_with(data, data.len() as u32, &row).to_string());
            calls.push(Call { chunk: i, data, inputs: row });
        }
    }
    let Some(answers) = run("random graphs as Lua", &chunks, false, &calls) else { return };
    assert_eq!(answers.len(), expected.len());
    for ((call, answer), expected) in calls.iter().zip(&answers).zip(&expected) {
        assert_eq!(answer, expected, "{:02x?} {:?}\n{}", call.data, call.inputs, chunks[call.chunk]);
    }
    testkit::say(format_args!("{} graphs as Lua, {} calls", chunks.len(), calls.len()));
}
