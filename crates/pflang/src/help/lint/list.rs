//! Entries of a list that never decide, and what may surprise in each entry.

use super::program::REACHED_MAX;
use super::{Decider, Helps, LINTS_MAX, Linted, lower_parts};
use crate::clock::Clock;
use crate::compiler::{Compiler, whole};
use crate::diag::{Code, Diagnostic, Error};
use crate::ir::{Graph, Node};
use crate::list::FilterList;
use crate::syntax::fmt::canonical;
use std::collections::{HashMap, HashSet};

/// The warnings about each filter of a list. They share the time that one filter has.
pub(crate) fn of_list<S: AsRef<str>>(
    compiler: &Compiler,
    list: &[(S, u32)],
) -> Result<Vec<Vec<Diagnostic>>, Error> {
    let clock = Clock::new(compiler.limits);
    let answers = match list.len() <= REACHED_MAX {
        true => Some(answers(compiler.graph_of_list(list)?.graph())),
        false => None,
    };
    let mut decider = Decider::new(compiler.limits, &clock);
    // By its canonical text: the first entry that says so.
    let mut said: HashMap<String, usize> = HashMap::new();
    let mut matches_all: Option<usize> = None;
    let mut lints = Vec::with_capacity(list.len());
    for (entry, (source, answer)) in list.iter().enumerate() {
        let source = source.as_ref();
        let wrong = |found| Error::new(found, source.into()).in_entry(entry);
        let ast = compiler.parse(source).map_err(wrong)?;
        let mut parts = lower_parts(compiler, &ast, clock).map_err(wrong)?;
        let linted = Linted { compiler, ast: &ast, source, helps: Helps::Made };
        let mut found = linted.lints(&mut parts, &mut decider);
        // Why it cannot decide anything, the plainest first.
        let first = *said.entry(canonical(&ast)).or_insert(entry);
        let why = match matches_all {
            Some(all) => Some(format!("entry [{all}] matches every packet")),
            None if first != entry => Some(format!("entry [{first}] is the same filter")),
            None if *answer != FilterList::NONE
                && answers.as_ref().is_some_and(|answers| !answers.contains(answer)) =>
            {
                Some("it matches no packet that those before it leave".to_owned())
            }
            None => None,
        };
        if let Some(why) = why {
            found.truncate(LINTS_MAX - 1);
            found.push(never_decides(source, &why));
        }
        if matches_all.is_none() && decider.accepts_all(&parts.tree, parts.root) {
            matches_all = Some(entry);
        }
        lints.push(found);
    }
    Ok(lints)
}

/// The answers that some packet gets.
pub(super) fn answers(graph: &Graph) -> HashSet<u32> {
    let leaves = graph.topological().into_iter().filter_map(|id| match graph.node(id) {
        Node::Leaf(answer) => Some(*answer),
        _ => None,
    });
    leaves.collect()
}

fn never_decides(source: &str, why: &str) -> Diagnostic {
    Diagnostic::new(Code::NeverDecides, whole(source), format!("this entry of the list never decides: {why}"))
        .help("remove it, or move it further to the front")
}
