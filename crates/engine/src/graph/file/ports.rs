//! Ports without links, as far as they are odd: packets that come in and can go nowhere, and apps that nothing can reach.
//!
//! Most ports can be left without a link, and often are: of several outputs each has its own packets, and who does not want them links
//! nothing there. So only an app none of whose outputs could take a packet is warned of.

use super::problem::{GraphCode, GraphFileError, Problems};
use crate::app::{Passage, PortNames, Ports};
use crate::config::{Kind, Registry};
use crate::graph::Graph;
use std::ops::Range;

/// Warns of apps whose packets can go nowhere, of those to which none can come, and of a graph into which none can. `header` says where an
/// app begins in the text; `links` is the place of the list of links.
pub(super) fn review(
    graph: &Graph,
    registry: &Registry,
    header: impl Fn(&str) -> Range<usize>,
    links: Range<usize>,
    problems: &mut Problems<'_>,
) {
    let apps = || graph.apps().map(|(name, app)| (name, app.config.kind(), graph.linked_ports(name)));
    for (name, kind, linked) in apps() {
        if let Some(input) = dead_end(kind, &linked) {
            problems.warn(|| leads_nowhere(name, kind, input, header(name)));
        }
    }
    if graph.links().len() == 0 {
        return;
    }
    if !apps().any(|(_, kind, linked)| brings_packets(kind, &linked)) {
        // Then nothing comes to any app, which need not be said of each.
        return problems.warn(|| no_source(registry, links.start..links.start + 1));
    }
    for (name, kind, linked) in apps() {
        if !brings_packets(kind, &linked) && linked.inputs.is_empty() && !linked.outputs.is_empty() {
            problems.warn(|| nothing_comes(name, kind, header(name)));
        }
    }
}

/// A linked input from which no packet can go on.
fn dead_end<'a>(kind: Kind, linked: &PortNames<'a>) -> Option<&'a str> {
    let goes_on = |input: &str| match kind.passage {
        Passage::MayEnd | Passage::World => true,
        Passage::Through => kind.outputs == Ports::NONE || !linked.outputs.is_empty(),
        Passage::Across => linked.outputs.iter().any(|output| *output != input),
    };
    linked.inputs.iter().copied().find(|input| !goes_on(input))
}

/// Whether packets come from an app that none came to.
fn brings_packets(kind: Kind, linked: &PortNames<'_>) -> bool {
    let makes_them = kind.inputs == Ports::NONE || kind.passage == Passage::World;
    makes_them && !linked.outputs.is_empty()
}

fn leads_nowhere(app: &str, kind: Kind, input: &str, header: Range<usize>) -> GraphFileError {
    let message = match kind.passage {
        Passage::Across => {
            let others: Vec<&str> =
                kind.outputs.names().iter().copied().filter(|output| *output != input).collect();
            format!(
                "output `{}` of app `{app}` leads nowhere: what comes to its input `{input}` is dropped",
                others.join("`, `")
            )
        }
        _ => match kind.outputs.names() {
            [output] => format!("output `{output}` of app `{app}` leads nowhere: what it sends is dropped"),
            _ => format!("no output of app `{app}` leads anywhere: what it sends is dropped"),
        },
    };
    let problem = GraphFileError::new(GraphCode::LeadsNowhere, header, message).of(app, None);
    match kind.outputs.names() {
        [_, _, ..] => problem.label(format!("its outputs: {}", kind.outputs)),
        _ => problem,
    }
}

fn nothing_comes(app: &str, kind: Kind, header: Range<usize>) -> GraphFileError {
    let message = match kind.inputs.names() {
        [input] => format!("nothing comes to app `{app}`: no link leads to its input `{input}`"),
        _ => format!("nothing comes to app `{app}`: no link leads to it"),
    };
    GraphFileError::new(GraphCode::NothingComes, header, message).of(app, None)
}

fn no_source(registry: &Registry, place: Range<usize>) -> GraphFileError {
    let makes_them = |kind: &Kind| kind.inputs == Ports::NONE || kind.passage == Passage::World;
    let types: Vec<&str> = registry.kinds().filter(makes_them).map(|kind| kind.name).collect();
    let problem = GraphFileError::new(GraphCode::NoSource, place, "no app brings packets in");
    problem.help(format!("these types do, where their output is linked: `{}`", types.join("`, `")))
}
