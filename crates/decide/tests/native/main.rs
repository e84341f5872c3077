//! Machine code and mask VM against the reference interpreter.
//!
//! Generated graphs, optimised and not, run on generated packets that end where memory ends: one packet at a
//! time, in bursts, and interpreted. What disagrees, or reads too far, fails.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod decoded;
mod registers;

use decide::internals::exec::mask::Isa;
use decide::internals::opt::optimise;
use testkit::native::addresses;
use testkit::native::agree::{check, options, random_packets};
use testkit::native::graphs::{Shape, random_graph};
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
    check_shape(Shape { values: 6, tests: 3, filters: 1, switches: 0 }, 600);
}

#[test]
fn lists_of_filters() {
    check_shape(Shape { values: 12, tests: 5, filters: 4, switches: 0 }, 200);
}

#[test]
fn switches() {
    check_shape(Shape { values: 6, tests: 2, filters: 2, switches: 3 }, 400);
}

/// More values at once than there are registers.
#[test]
fn spills() {
    check_shape(Shape { values: 80, tests: 40, filters: 3, switches: 1 }, 60);
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
    check_addresses(Shape { values: 14, tests: 8, filters: 1, switches: 0 }, 1500);
}

#[test]
fn addresses_of_lists_of_filters() {
    check_addresses(Shape { values: 12, tests: 5, filters: 4, switches: 1 }, 1500);
    check_addresses(Shape { values: 60, tests: 30, filters: 3, switches: 1 }, 100);
}

#[test]
fn says_which_instructions_there_are() {
    for isa in Isa::ALL.iter().filter(|isa| !isa.is_available()) {
        testkit::say(format_args!(
            "SKIPPED: the mask VM with {isa}, which this processor has not; portable instead"
        ));
    }
}
