//! Machine code and mask VM against the reference interpreter.
//!
//! Generated graphs, optimised and not, run on generated packets that end where memory ends: one packet at a
//! time, in bursts, and interpreted. What disagrees, or reads too far, fails.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod decoded;
mod registers;

use decide::internals::exec::mask::Isa;
use decide::internals::opt::optimise;
use testkit::native::agree::{check, options, random_packets};
use testkit::native::graphs::{Shape, random_graph};
use testkit::native::{addresses, inputs};
use testkit::rng::Rng;

const SEED: u64 = 0x5105_5001;

fn check_shape(shape: Shape, rounds: u64) {
    for round in 0..rounds {
        let seed = SEED + round;
        let mut rng = Rng::new(seed);
        let packets = random_packets(&mut rng);
        let graph = random_graph(&mut rng, shape);
        let options = options(&mut rng);
        check(&graph, &packets, &options, &format!("seed {seed:#x}"));
        let optimised = optimise(&graph);
        check(&optimised, &packets, &options, &format!("seed {seed:#x}, optimised"));
    }
}

#[test]
fn small_graphs() {
    check_shape(Shape { values: 6, tests: 3, filters: 1, switches: 0, inputs: 0 }, 600);
}

#[test]
fn lists_of_filters() {
    check_shape(Shape { values: 12, tests: 5, filters: 4, switches: 0, inputs: 0 }, 200);
}

#[test]
fn switches() {
    check_shape(Shape { values: 6, tests: 2, filters: 2, switches: 3, inputs: 0 }, 400);
}

/// More values at once than there are registers.
#[test]
fn spills() {
    check_shape(Shape { values: 80, tests: 40, filters: 3, switches: 1, inputs: 0 }, 60);
}

fn check_addresses(shape: Shape, rounds: u64) {
    for seed in 0..rounds {
        let graph = random_graph(&mut Rng::new(seed), shape);
        addresses::check(&graph, &format!("seed {seed}"));
        addresses::check(&optimise(&graph), &format!("seed {seed}, optimised"));
    }
}

#[test]
fn addresses_of_one_filter() {
    check_addresses(Shape { values: 14, tests: 8, filters: 1, switches: 0, inputs: 0 }, 1500);
}

#[test]
fn addresses_of_lists_of_filters() {
    check_addresses(Shape { values: 12, tests: 5, filters: 4, switches: 1, inputs: 0 }, 1500);
    check_addresses(Shape { values: 60, tests: 30, filters: 3, switches: 1, inputs: 0 }, 100);
}

#[test]
fn says_which_instructions_there_are() {
    for isa in Isa::ALL.iter().filter(|isa| !isa.is_available()) {
        testkit::say(format_args!(
            "SKIPPED: the mask VM with {isa}, which this processor has not; portable instead"
        ));
    }
}

/// Numbers of the caller's, among them bases of loads and divisors, and more than there are registers.
#[test]
fn graphs_that_read_inputs() {
    for (values, tests, count) in [(6, 3, 1), (10, 5, 3), (70, 30, 9)] {
        let shape = Shape { values, tests, filters: 2, switches: 1, inputs: count };
        for seed in 0..80 {
            let mut rng = Rng::new(SEED + seed);
            let packets = random_packets(&mut rng);
            let graph = random_graph(&mut rng, shape);
            inputs::check(&mut rng, &graph, &packets, &format!("seed {seed}, {count} inputs"));
            inputs::check(
                &mut rng,
                &optimise(&graph),
                &packets,
                &format!("seed {seed}, {count} inputs, optimised"),
            );
            addresses::check(&graph, &format!("seed {seed}, {count} inputs"));
        }
    }
}
