//! What machine code costs per packet, beside hand-written Rust and libpcap's optimised bytecode.
//!
//! ```text
//! taskset -c 1 cargo bench -p pflang --bench native [-- FILTER…]
//! ```
//! Every engine takes its turn on the same traffic, round after round, in thread CPU time; the table shows the
//! least and the median, in nanoseconds per packet. Counts are compared before anything is timed.

#[path = "native/engines.rs"]
mod engines;
#[path = "native/hand.rs"]
mod hand;
#[path = "native/traffic.rs"]
mod traffic;

use engines::{Engine, engines};
use std::hint::black_box;
use traffic::Traffic;

const ROUNDS: usize = 60;

const FILTERS: &[&str] = &[
    "",
    "ip",
    "tcp port 80",
    "tcp port 80 and (((ip[2:2] - ((ip[0]&0xf)<<2)) - ((tcp[12]&0xf0)>>2)) != 0)",
    "tcp[((tcp[12:1] & 0xf0) >> 2):4] = 0x504f5354",
    "portrange 0-5",
    "portrange 0-6000",
];

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let mut filters: Vec<String> = if asked.is_empty() {
        let hosts = [10, 100, 1000, 10_000].map(hosts);
        FILTERS.iter().map(|&filter| filter.to_owned()).chain(hosts).collect()
    } else {
        asked
    };
    filters.dedup();
    let traffics = [
        Traffic::hot("hot uniform", false),
        Traffic::hot("hot mixed", true),
        Traffic::in_sequence("sequence, DRAM", true),
        Traffic::in_disorder("random, DRAM", true),
    ];
    for filter in &filters {
        compare(filter, &traffics);
    }
}

/// `host a or host b or …`
fn hosts(count: u32) -> String {
    let host = |i: u32| {
        let [.., c, d] = i.wrapping_mul(40_503).to_be_bytes();
        format!("host 10.0.{c}.{d}")
    };
    (0..count).map(host).collect::<Vec<_>>().join(" or ")
}

fn compare(filter: &str, traffics: &[Traffic]) {
    let mut engines = engines(filter);
    let title: String = filter.chars().take(60).collect();
    println!("\n`{title}` ({} bytes)", filter.len());
    print!("{:24}", "ns/packet");
    traffics.iter().for_each(|traffic| print!("{:>20}", traffic.name));
    println!();
    let columns: Vec<Vec<(f64, f64)>> = traffics.iter().map(|traffic| race(&mut engines, traffic)).collect();
    for (i, engine) in engines.iter().enumerate() {
        print!("{:24}", engine.name);
        for column in &columns {
            let (least, median) = column[i];
            print!("{:>20}", format!("{least:.2} / {median:.2}"));
        }
        println!();
    }
}

/// Least and median time of each engine on this traffic.
fn race(engines: &mut [Engine<'_>], traffic: &Traffic) -> Vec<(f64, f64)> {
    let all = &traffic.packets[..traffic.chunk];
    let expected = (engines[0].run)(all);
    for engine in engines.iter_mut() {
        assert_eq!((engine.run)(all), expected, "{} disagrees on {}", engine.name, traffic.name);
    }
    let mut times = vec![Vec::new(); engines.len()];
    let mut chunks = traffic.packets.chunks_exact(traffic.chunk).cycle();
    for _ in 0..ROUNDS {
        for (engine, times) in engines.iter_mut().zip(&mut times) {
            let chunk = chunks.next().expect("at least one chunk");
            let start = cpu_ns();
            black_box((engine.run)(black_box(chunk)));
            times.push((cpu_ns() - start) as f64 / chunk.len() as f64);
        }
    }
    let summary = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        (times[0], times[times.len() / 2])
    };
    times.into_iter().map(summary).collect()
}

/// CPU time of this thread.
fn cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is there to be written.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
