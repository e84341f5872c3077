//! Nanoseconds a packet: medians of short chunks, so that what else the machine does is in few of them.

use classify::rules::{Key, Rules};
use std::hint::black_box;
use std::time::Instant;

/// Packets of a batch, and of a chunk.
pub(super) const BATCH: usize = 256;
/// Seconds that each way of looking up is measured at least.
const WINDOW_S: f64 = 0.5;

pub(super) struct Measured {
    pub(super) single_ns: f64,
    pub(super) batch_ns: f64,
}

pub(super) fn measure(rules: &Rules<u32>, headers: &[Key<u32>]) -> Measured {
    let single = |chunk: &[Key<u32>]| {
        for key in chunk {
            black_box(rules.find(key));
        }
    };
    let mut found = [0; BATCH];
    let batch = |chunk: &[Key<u32>]| {
        rules.find_batch(chunk, &mut found);
        black_box(&found);
    };
    Measured { single_ns: median(headers, single), batch_ns: median(headers, batch) }
}

/// The median time a packet of chunks; the first time through all of them warms up.
fn median(headers: &[Key<u32>], mut look_up: impl FnMut(&[Key<u32>])) -> f64 {
    headers.chunks(BATCH).for_each(&mut look_up);
    let mut times = Vec::new();
    let begin = Instant::now();
    while begin.elapsed().as_secs_f64() < WINDOW_S {
        for chunk in headers.chunks(BATCH) {
            let begin = Instant::now();
            look_up(chunk);
            times.push(begin.elapsed().as_nanos() as f64 / chunk.len() as f64);
        }
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
