//! The networks that are measured.

use super::loads::{Arrived, Idle, Touch};
use crate::args::{EngineBenchArgs, Net};
use crate::exit::Failure;
use apps::{Join, Sink, Source, Tee};
use engine::{Class, Graph, GraphError, Report};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A network, and what of it is counted.
pub(super) struct Bed {
    pub(super) graph: Graph,
    pub(super) workers: usize,
    net: Net,
    arrived: Arc<Arrived>,
}

/// What the app is called from which packets are counted.
const SOURCE: &str = "source";

impl Bed {
    pub(super) fn new(args: &EngineBenchArgs) -> Result<Self, Failure> {
        let arrived = Arc::new(Arrived::default());
        let mut graph = Graph::new();
        build(args, &mut graph, &arrived).map_err(|error| Failure::user(format!("error: {error}")))?;
        for (name, app) in graph.apps() {
            app.config.check().map_err(|error| Failure::user(format!("error: {name}: {error}")))?;
        }
        let workers = if args.net == Net::Pair { 2 } else { 1 };
        Ok(Bed { graph, workers, net: args.net, arrived })
    }

    /// Packets that have left the source.
    pub(super) fn packets(&self, report: &Report) -> u64 {
        report.links.iter().filter(|link| link.link.from.app == SOURCE).map(|link| link.txpackets).sum()
    }

    /// Packets that have arrived on another thread.
    pub(super) fn arrived(&self) -> u64 {
        self.arrived.packets.load(Ordering::Relaxed)
    }

    /// Packets that were lost: those a filter rejects are not.
    pub(super) fn lost(&self, report: &Report) -> u64 {
        report.drops.iter().filter(|(reason, _)| *reason != "rejected").map(|(_, count)| count).sum()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.net == Net::Idle50
    }

    /// A core for each worker.
    pub(super) fn cores(&self) -> Vec<usize> {
        if self.workers > 1 { (0..self.workers).collect() } else { Vec::new() }
    }
}

fn build(args: &EngineBenchArgs, graph: &mut Graph, arrived: &Arc<Arrived>) -> Result<(), GraphError> {
    let source = Source { size: args.size, count: None };
    match args.net {
        Net::SourceSink => {
            graph.app(SOURCE, source)?;
            graph.app("sink", Sink {})?;
            graph.link("source.output -> sink.input")
        }
        Net::Tee => {
            graph.app(SOURCE, source)?;
            graph.app("tee", Tee {})?;
            graph.app("sink", Sink {})?;
            graph.link("source.output -> tee.input")?;
            graph.link("tee.output1 -> sink.input1")?;
            graph.link("tee.output2 -> sink.input2")
        }
        Net::Chain10 => {
            graph.app(SOURCE, source)?;
            let last = chain(graph, SOURCE, 8, |_| Join {})?;
            graph.app("sink", Sink {})?;
            graph.link(&format!("{last}.output -> sink.input"))
        }
        Net::Idle50 => {
            for number in 0..50 {
                graph.app(&format!("idle{number}"), Idle {})?;
            }
            Ok(())
        }
        Net::Pair => {
            graph.app(SOURCE, source)?.worker = Some(0);
            graph.app("touch", Touch { arrived: Arc::clone(arrived) })?.worker = Some(1);
            graph.link("source.output -> touch.input")
        }
    }
}

/// Puts apps with one input and one output behind one another; returns the name of the last.
fn chain<C: Class>(
    graph: &mut Graph,
    first: &str,
    count: usize,
    app: impl Fn(usize) -> C,
) -> Result<String, GraphError> {
    let mut last = first.to_owned();
    for number in 1..=count {
        let name = format!("{}{number}", C::TYPE);
        graph.app(&name, app(number))?;
        graph.link(&format!("{last}.output -> {name}.input"))?;
        last = name;
    }
    Ok(last)
}
