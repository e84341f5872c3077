//! `sluss bench engine`: what a packet costs in a network of apps, in CPU time, on this machine; `sluss bench io`, in [`io`]; `sluss bench wall`, in
//! [`wall`]; and `sluss bench rules`, in [`rules`].

mod io;
mod loads;
mod nets;
mod rules;
mod traffic;
mod wall;

use crate::args::{BenchArgs, EngineBenchArgs};
use crate::clock::cpu_time;
use crate::ended::unbalanced;
use crate::exit::{Failure, Outcome};
use crate::message::Message;
use crate::plural::counted;
use crate::terminal::{Terminal, print};
use engine::{ConfigureError, Engine, Report, Settings};
use nets::Bed;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// CPU time before anything is measured.
const WARM_UP: Duration = Duration::from_millis(500);
/// CPU time of one run.
const WINDOW: Duration = Duration::from_millis(500);
/// Breaths between two looks at the clock.
const BREATHS: u32 = 256;

/// What was measured.
#[derive(Default)]
struct Measured {
    packets: u64,
    /// Packets that were lost in the runs.
    drops: u64,
    cpu_s: f64,
    /// Of each run: packets, breaths, seconds of CPU time.
    runs: Vec<(u64, u64, f64)>,
    /// Packets a second in windows of a millisecond, in millions, sorted; only where two threads run.
    windows: Vec<f64>,
}

/// An option of an app, told as the flag that it came from.
fn refused(error: &ConfigureError) -> Failure {
    match error {
        ConfigureError::App { error, .. } if error.option.as_deref() == Some("size") => {
            Failure::of(error.fault.into(), format_args!("--size: {}", error.message))
        }
        _ => Failure::configuring(error),
    }
}

/// Runs a suite.
pub(crate) fn run(args: &BenchArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    match args {
        BenchArgs::Engine(args) => engine_suite(args, terminal),
        BenchArgs::Io(args) => io::run(args, terminal),
        BenchArgs::Rules(args) => rules::run(args, terminal),
        BenchArgs::Wall(args) => wall::run(args, terminal),
    }
}

fn engine_suite(args: &EngineBenchArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let mut bed = Bed::new(args)?;
    bed.idle_flags.iter().for_each(|flag| terminal.tell(&Message::warning(flag)));
    let settings = Settings::new().map_err(Failure::no_engine)?;
    let settings = Settings {
        burst: usize::from(args.burst),
        workers: bed.workers,
        busywait: true,
        cores: bed.cores(),
        ..settings
    };
    let mut engine = Engine::new(settings).map_err(Failure::no_engine)?;
    engine.configure(&bed.graph).map_err(|error| refused(&error))?;
    let measured = if bed.workers == 1 {
        measure(&mut engine, &mut bed, args.runs)?
    } else {
        measure_threads(&mut engine, &bed, args.runs)?
    };
    let report = engine.report();
    let result = result(args, &measured, &bed, &report);
    print(&if args.json { format!("{result}\n") } else { in_words(args, &measured, &report) })?;
    if report.balanced() { Ok(Outcome::Done) } else { Err(unbalanced(report.imbalances.iter())) }
}

/// A network that is measured on one worker.
trait Measurable {
    /// Prepares a run.
    fn prepare(&mut self, engine: &mut Engine, run: usize) -> Result<(), Failure>;

    /// Packets that have gone through it.
    fn packets(&self, report: &Report) -> u64;

    /// Packets that were lost.
    fn lost(&self, report: &Report) -> u64;
}

/// One worker, on this thread: nothing but breaths is in the figure.
fn measure(engine: &mut Engine, bed: &mut impl Measurable, runs: u16) -> Result<Measured, Failure> {
    let breathe_for = |engine: &mut Engine, duration: Duration| {
        let begin = cpu_time().as_secs_f64();
        let mut breaths = 0;
        loop {
            for _ in 0..BREATHS {
                engine.breathe();
            }
            breaths += u64::from(BREATHS);
            let took = cpu_time().as_secs_f64() - begin;
            if took >= duration.as_secs_f64() {
                return (breaths, took);
            }
        }
    };
    breathe_for(engine, WARM_UP);
    let mut measured = Measured::default();
    for run in 0..runs {
        bed.prepare(engine, usize::from(run))?;
        let before = engine.report();
        let (breaths, took) = breathe_for(engine, WINDOW);
        measured.add(bed, &before, &engine.report(), breaths, took);
    }
    Ok(measured)
}

/// Several workers, each on its thread; packets are counted where they arrive, in windows of a millisecond.
fn measure_threads(engine: &mut Engine, bed: &Bed, runs: u16) -> Result<Measured, Failure> {
    engine.run_for(WARM_UP).map_err(Failure::no_engine)?;
    let mut measured = Measured::default();
    for _ in 0..runs {
        let before = engine.report();
        let begin = cpu_time().as_secs_f64();
        let (mut last, mut seen) = (Instant::now(), bed.arrived());
        let windows = &mut measured.windows;
        let sample = |status: &engine::Status| {
            let (now, arrived) = (Instant::now(), bed.arrived());
            windows.push((arrived - seen) as f64 / (now - last).as_secs_f64() / 1e6);
            (last, seen) = (now, arrived);
            status.elapsed < 2 * WINDOW
        };
        engine.run(sample).map_err(Failure::no_engine)?;
        let took = cpu_time().as_secs_f64() - begin;
        let after = engine.report();
        measured.add(bed, &before, &after, after.breaths - before.breaths, took);
    }
    measured.windows.sort_by(f64::total_cmp);
    Ok(measured)
}

impl Measured {
    /// Adds a run between two reports.
    fn add(&mut self, bed: &impl Measurable, before: &Report, after: &Report, breaths: u64, cpu_s: f64) {
        let packets = bed.packets(after) - bed.packets(before);
        self.packets += packets;
        self.drops += bed.lost(after) - bed.lost(before);
        self.cpu_s += cpu_s;
        self.runs.push((packets, breaths, cpu_s));
    }

    /// Millions of packets per second of CPU time, of each run, sorted.
    fn rates(&self) -> Vec<f64> {
        let mut rates: Vec<f64> =
            self.runs.iter().map(|&(packets, _, cpu_s)| packets as f64 / cpu_s / 1e6).collect();
        rates.sort_by(f64::total_cmp);
        rates
    }

    /// Nanoseconds of CPU time per breath, the median run.
    fn ns_per_breath(&self) -> f64 {
        let mut each: Vec<f64> =
            self.runs.iter().map(|&(_, breaths, cpu_s)| cpu_s * 1e9 / breaths as f64).collect();
        each.sort_by(f64::total_cmp);
        quantile(&each, 0.5)
    }
}

/// The value that a share `q` of the sorted ones does not exceed; 0 if there are none.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let index = (sorted.len() as f64 * q).ceil() as usize;
    sorted.get(index.saturating_sub(1)).copied().unwrap_or(0.0)
}

fn result(args: &EngineBenchArgs, measured: &Measured, bed: &Bed, report: &Report) -> Value {
    let rates = measured.rates();
    let mut result = json!({
        "v": 1,
        "type": "bench",
        "suite": "engine",
        "net": args.net.to_string(),
        "size": bed.size,
        "burst": args.burst,
        "runs": args.runs,
        "packets": measured.packets,
        "cpu_s": round(measured.cpu_s),
        "mpps_per_cpu_s": round(quantile(&rates, 0.5)),
        "min": round(quantile(&rates, 0.0)),
        "max": round(quantile(&rates, 1.0)),
        "drops": measured.drops,
        "balanced": report.balanced(),
    });
    if bed.is_idle() {
        result["ns_per_breath"] = json!(round(measured.ns_per_breath()));
    }
    if bed.workers > 1 {
        result["mpps_p98"] = json!(round(quantile(&measured.windows, 0.98)));
    }
    result
}

fn in_words(args: &EngineBenchArgs, measured: &Measured, report: &Report) -> String {
    let rates = measured.rates();
    let median = quantile(&rates, 0.5);
    let mut text = format!("{}: ", args.net);
    if median > 0.0 {
        text += &format!(
            "{median:.1} million packets per second of CPU time ({:.1} to {:.1} in {}), {:.1} ns a packet, ",
            quantile(&rates, 0.0),
            quantile(&rates, 1.0),
            counted(u64::from(args.runs), "run"),
            1e3 / median
        );
    }
    text += &format!("{:.0} ns a breath", measured.ns_per_breath());
    if !measured.windows.is_empty() {
        text += &format!(
            ", {:.1} million packets a second at best (98 % of windows of 1 ms)",
            quantile(&measured.windows, 0.98)
        );
    }
    text += &format!(
        "; {}\n",
        match (report.balanced(), report.missed) {
            (true, 0) => "every packet accounted for".to_owned(),
            (true, missed) => format!("PACKETS ARE MISSING: the kernel dropped {missed}"),
            (false, _) => "PACKETS ARE MISSING".to_owned(),
        }
    );
    text
}

fn round(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use apps::{Match, Source};
    use clap::Parser;
    use engine::Graph;

    #[test]
    fn what_the_warm_up_loses_is_not_in_the_drops() {
        let line = ["sluss", "bench", "engine", "--net", "tee", "--runs", "1"];
        let Command::Bench(BenchArgs::Engine(args)) = Cli::parse_from(line).command else { panic!("bench") };
        let mut bed = Bed::new(&args).expect("a network");
        bed.graph = Graph::new();
        bed.graph.app("source", Source { size: 60, count: None }).unwrap();
        bed.graph.app("match", Match::new([("none", "")])).unwrap();
        bed.graph.link("source.output -> match.input").unwrap();
        let settings = Settings::new().expect("settings");
        let mut engine = Engine::new(Settings { busywait: true, ..settings }).unwrap();
        engine.configure(&bed.graph).unwrap();
        let measured = measure(&mut engine, &mut bed, args.runs).unwrap();
        // Each packet of the run is lost in it, those in the link at either end aside.
        assert!(measured.drops > 0 && measured.drops.abs_diff(measured.packets) < 4096, "{}", measured.drops);
        assert!(bed.lost(&engine.report()) > measured.drops, "the warm-up has losses of its own");
    }
}
