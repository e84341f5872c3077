//! What a run found: figures for orientation, ratios that mean something, targets beside them.

use crate::race::Lap;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::fmt::Write;

/// A ratio and what it should reach.
#[derive(Clone, Debug)]
pub(crate) struct Ratio {
    /// Which measurement: the group it is shown in.
    pub(crate) suite: Cow<'static, str>,
    /// What is compared with what.
    pub(crate) what: String,
    /// The median of the ratios, where both were measured in turns.
    pub(crate) value: f64,
    /// What it should reach; `None` for a figure given for information.
    pub(crate) target: Option<Target>,
}

/// A bound on a ratio.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    AtLeast(f64),
    AtMost(f64),
}

impl Target {
    pub(crate) fn is_met(self, value: f64) -> bool {
        match self {
            Target::AtLeast(bound) => value >= bound,
            Target::AtMost(bound) => value <= bound,
        }
    }

    /// What [`Target::words`] has made.
    fn of_words(words: &str) -> Option<Target> {
        let (kind, bound) = words.split_once(' ')?;
        let bound = bound.parse().ok()?;
        Some(if kind == ">=" { Target::AtLeast(bound) } else { Target::AtMost(bound) })
    }

    fn words(self) -> String {
        match self {
            Target::AtLeast(bound) => format!(">= {bound}"),
            Target::AtMost(bound) => format!("<= {bound}"),
        }
    }
}

/// An absolute figure: for orientation on one machine only.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) suite: &'static str,
    pub(crate) what: String,
    pub(crate) engine: &'static str,
    pub(crate) min: f64,
    pub(crate) median: f64,
    pub(crate) unit: &'static str,
}

/// Everything measured in one run.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) figures: Vec<Figure>,
    pub(crate) ratios: Vec<Ratio>,
}

impl Report {
    /// Adds an absolute figure.
    pub(crate) fn figure(&mut self, figure: Figure) {
        self.figures.push(figure);
    }

    /// Adds what each engine of a race took for a packet.
    pub(crate) fn laps(&mut self, suite: &'static str, what: &str, laps: &[Lap]) {
        for lap in laps {
            self.figure(Figure {
                suite,
                what: what.to_owned(),
                engine: lap.name,
                min: lap.min_ns,
                median: lap.median_ns,
                unit: "ns/packet",
            });
        }
    }

    /// Adds a ratio with its target.
    pub(crate) fn ratio(
        &mut self,
        suite: &'static str,
        what: impl Into<String>,
        value: f64,
        target: Option<Target>,
    ) {
        self.ratios.push(Ratio { suite: suite.into(), what: what.into(), value, target });
    }

    /// The ratios of a run, of which this is the JSON.
    pub(crate) fn of_json(json: &Value) -> Report {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let ratio = |ratio: &Value| Ratio {
            suite: text(&ratio["suite"]).into(),
            what: text(&ratio["what"]),
            value: ratio["ratio"].as_f64().unwrap_or(f64::NAN),
            target: ratio["target"].as_str().and_then(Target::of_words),
        };
        let ratios = json["ratios"].as_array().into_iter().flatten().map(ratio).collect();
        Report { ratios, ..Report::default() }
    }

    /// As a table for people.
    pub(crate) fn table(&self) -> String {
        let mut text = String::new();
        let mut suite = "";
        for figure in &self.figures {
            if figure.suite != suite {
                suite = figure.suite;
                let _ = writeln!(text, "\n{suite}{:>pad$}", "min    median", pad = 78 - suite.len());
            }
            let Figure { what, engine, min, median, unit, .. } = figure;
            let _ = writeln!(text, "  {what:<30} {engine:<28} {min:>8.3} {median:>8.3} {unit}");
        }
        let _ = writeln!(text, "\nmedians of the ratios{:>55}", "target");
        for ratio in &self.ratios {
            let (target, verdict) = match ratio.target {
                Some(target) => (target.words(), if target.is_met(ratio.value) { "met" } else { "MISSED" }),
                None => (String::new(), ""),
            };
            let Ratio { suite, what, value, .. } = ratio;
            let _ = writeln!(text, "  {suite:<10} {what:<50} {value:>7.2}  {target:<8} {verdict}");
        }
        text
    }

    /// As JSON.
    pub(crate) fn json(&self, machine: Value) -> Value {
        json!({
            "v": 1,
            "type": "bench",
            "machine": machine,
            "figures": self.figures.iter().map(|f| json!({
                "suite": f.suite, "what": f.what, "engine": f.engine,
                "min": f.min, "median": f.median, "unit": f.unit,
            })).collect::<Vec<_>>(),
            "ratios": self.ratios.iter().map(|r| json!({
                "suite": r.suite, "what": r.what, "ratio": r.value,
                "target": r.target.map(Target::words), "met": r.target.map(|t| t.is_met(r.value)),
            })).collect::<Vec<_>>(),
        })
    }
}

/// Processor, kernel and load, so that a figure can be placed.
pub(crate) fn machine() -> Value {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let field = |name: &str| {
        let line = cpuinfo.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.split(':').nth(1).unwrap_or_default().trim().to_owned()
    };
    json!({
        "processor": field("model name"),
        "family_model_stepping": [field("cpu family"), field("model\t"), field("stepping")],
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "kernel": read("/proc/sys/kernel/osrelease").trim(),
        "load": read("/proc/loadavg").trim(),
        "libpcap": testkit::oracle::libpcap("the benchmark").map(testkit::oracle::Libpcap::version),
    })
}
