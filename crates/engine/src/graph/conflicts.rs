//! Apps of a graph that want the same file or device outside it: two may use the same thing only if both share it.

use super::{AppSpec, Graph};
use crate::app::Use;
use crate::option::OptionError;
use crate::panic::guarded;
use std::collections::BTreeMap;

/// An app that cannot have what it uses, since another has it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: app `{other}` {} it {}{}: {}", .wanted.name, .used.verb, .overlap.text(), alias(.wanted, .used), .wanted.remedy)]
#[non_exhaustive]
pub struct Conflict {
    /// The app.
    pub app: String,
    /// What it wants for itself.
    pub wanted: Use,
    /// The app that has it.
    pub other: String,
    /// What that one uses: the same thing, perhaps by another name.
    pub used: Use,
    /// Until when that one uses it.
    pub(crate) overlap: Overlap,
}

/// Until when both apps of a [`Conflict`] would use the thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overlap {
    /// Both are in the graph.
    InGraph,
    /// The other is in the graph before: it has the thing until the change is done.
    InChange,
}

impl Overlap {
    fn text(self) -> &'static str {
        match self {
            Overlap::InGraph => "as well",
            Overlap::InChange => "until this change",
        }
    }
}

fn alias(wanted: &Use, used: &Use) -> String {
    if used.name == wanted.name { String::new() } else { format!(", as {}", used.name) }
}

/// Users of one thing, by name.
type Users<'g> = Vec<(&'g str, Use)>;

impl Conflict {
    fn new((app, wanted): (&str, &Use), (other, used): (&str, &Use), overlap: Overlap) -> Self {
        let (app, other) = (app.to_owned(), other.to_owned());
        Conflict { app, wanted: wanted.clone(), other, used: used.clone(), overlap }
    }

    /// The same as an error of the option that names what the app wants.
    pub fn as_option_error(&self) -> OptionError {
        OptionError::new(self.wanted.option, self)
    }
}

/// Uses of all apps of a graph, by identity.
fn users(graph: &Graph) -> BTreeMap<String, Users<'_>> {
    let mut users: BTreeMap<String, Users<'_>> = BTreeMap::new();
    for (name, app) in graph.apps() {
        for used in uses(app) {
            users.entry(used.identity.clone()).or_default().push((name, used));
        }
    }
    users
}

/// What an app uses. One that fails to say so uses nothing.
fn uses(app: &AppSpec) -> Vec<Use> {
    guarded(|| app.config.uses()).unwrap_or_default()
}

/// Apps of a graph that want for themselves what another uses as well.
pub(super) fn conflicts(graph: &Graph) -> Vec<Conflict> {
    users(graph).values().flat_map(conflicts_among).collect()
}

/// All but the first that want it for themselves; the first as well, if nobody else does.
fn conflicts_among(users: &Users<'_>) -> Vec<Conflict> {
    let alone = || users.iter().filter(|(_, used)| !used.is_shared);
    let Some((first, used)) = alone().next() else { return Vec::new() };
    let conflict = |app: &str, used: &Use, other: &str, by: &Use| {
        Conflict::new((app, used), (other, by), Overlap::InGraph)
    };
    let shared = users.iter().find(|(_, used)| used.is_shared);
    let with_shared = shared.map(|(other, by)| conflict(first, used, other, by));
    let others = alone().skip(1).map(|(app, other)| conflict(app, other, first, used));
    with_shared.into_iter().chain(others).collect()
}

/// The first app of a graph that wants for itself what another uses until now. `is_left_to` says of two apps, the first of the graph
/// and the second of the one that runs, whether the one takes over from the other.
///
/// Apps change one after the other, and each may find that it cannot: what one is to let go may not be free when another wants it.
pub(crate) fn conflict_in_change(
    running: &Graph,
    graph: &Graph,
    is_left_to: impl Fn(&str, &str) -> bool,
) -> Option<Conflict> {
    let until_now = users(running);
    let is_other = |name: &str, app: &AppSpec| running.get(name).is_none_or(|old| old.config != app.config);
    let conflict = |name: &str, used: &Use| {
        let mut users = until_now.get(&used.identity)?.iter();
        let (other, by) = users.find(|(other, _)| *other != name && !is_left_to(name, other))?;
        Some(Conflict::new((name, used), (other, by), Overlap::InChange))
    };
    graph.apps().filter(|&(name, app)| is_other(name, app)).find_map(|(name, app)| {
        uses(app).iter().filter(|used| !used.is_shared).find_map(|used| conflict(name, used))
    })
}
