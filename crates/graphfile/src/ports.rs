//! Ports without links, as far as they are odd: packets that come in and can go nowhere, and apps that nothing can reach.
//!
//! Most ports can be left without a link, and often are: of several outputs each has its own packets, and who does not want them links
//! nothing there. So only an app none of whose outputs could take a packet is warned of.

use super::problem::{GraphCode, GraphFileError, Problems};
use engine::{ClassInfo, Graph, Passage, PortNames, Ports, Registry};
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
    let apps = || graph.apps().map(|(name, app)| (name, app.config.class(), graph.linked_ports(name)));
    for (name, class, linked) in apps() {
        if let Some(input) = dead_end(&class, &linked) {
            problems.warn(|| leads_nowhere(name, &class, input, header(name)));
        }
    }
    if graph.links().len() == 0 {
        return;
    }
    if !apps().any(|(_, class, linked)| brings_packets(&class, &linked)) {
        // Then nothing comes to any app, which need not be said of each.
        return problems.warn(|| no_source(registry, links.start..links.start + 1));
    }
    for (name, class, linked) in apps() {
        if !brings_packets(&class, &linked) && linked.inputs.is_empty() && !linked.outputs.is_empty() {
            problems.warn(|| nothing_comes(name, &class, header(name)));
        }
    }
}

/// A linked input from which no packet can go on.
fn dead_end<'a>(class: &ClassInfo, linked: &PortNames<'a>) -> Option<&'a str> {
    let goes_on = |input: &str| match class.passage {
        Passage::MayEnd | Passage::World => true,
        Passage::Through => class.outputs == Ports::NONE || !linked.outputs.is_empty(),
        Passage::Across => linked.outputs.iter().any(|output| *output != input),
    };
    linked.inputs.iter().copied().find(|input| !goes_on(input))
}

/// Whether packets come from an app that none came to.
fn brings_packets(class: &ClassInfo, linked: &PortNames<'_>) -> bool {
    let makes_them = class.inputs == Ports::NONE || class.passage == Passage::World;
    makes_them && !linked.outputs.is_empty()
}

fn leads_nowhere(app: &str, class: &ClassInfo, input: &str, header: Range<usize>) -> GraphFileError {
    let message = match class.passage {
        Passage::Across => {
            let outputs = class.outputs.names();
            let others: Vec<&str> = outputs.into_iter().filter(|output| *output != input).collect();
            format!(
                "output `{}` of app `{app}` leads nowhere: what comes to its input `{input}` is dropped",
                others.join("`, `")
            )
        }
        _ => match &*class.outputs.names() {
            [output] => format!("output `{output}` of app `{app}` leads nowhere: what it sends is dropped"),
            _ => format!("no output of app `{app}` leads anywhere: what it sends is dropped"),
        },
    };
    let problem = GraphFileError::new(GraphCode::LeadsNowhere, header, message).of(app, None);
    match &*class.outputs.names() {
        [_, _, ..] => problem.label(format!("its outputs: {}", class.outputs)),
        _ => problem,
    }
}

fn nothing_comes(app: &str, class: &ClassInfo, header: Range<usize>) -> GraphFileError {
    let message = match &*class.inputs.names() {
        [input] => format!("nothing comes to app `{app}`: no link leads to its input `{input}`"),
        _ => format!("nothing comes to app `{app}`: no link leads to it"),
    };
    GraphFileError::new(GraphCode::NothingComes, header, message).of(app, None)
}

fn no_source(registry: &Registry, place: Range<usize>) -> GraphFileError {
    let makes_them = |class: &&ClassInfo| class.inputs == Ports::NONE || class.passage == Passage::World;
    let types: Vec<&str> = registry.classes().filter(makes_them).map(|class| &*class.name).collect();
    let problem = GraphFileError::new(GraphCode::NoSource, place, "no app brings packets in");
    problem.help(format!("these types do, where their output is linked: `{}`", types.join("`, `")))
}
