//! Apps of a graph that want the same file or device outside it: two may use the same thing only if both share it.

use super::{AppSpec, Graph};
use crate::app::Use;
use crate::option::OptionError;
use crate::panic::guarded;
use std::collections::BTreeMap;

/// An app that cannot have what it uses, since another has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub(crate) app: String,
    pub(crate) other: String,
    /// The option of the other.
    pub(crate) other_option: &'static str,
    pub(crate) error: OptionError,
}

/// Users of one thing, by name.
type Users<'g> = Vec<(&'g str, Use)>;

impl Conflict {
    /// An app wants what another one uses. `when` is said of what the other does: that it does so as well, or did so until now.
    fn new((app, wanted): (&str, &Use), (other, used): (&str, &Use), when: &str) -> Self {
        let Use { option, name, remedy, .. } = wanted;
        let alias = if used.name == *name { String::new() } else { format!(", as {}", used.name) };
        let message = format!("{name}: app `{other}` {} it {when}{alias}: {remedy}", used.verb);
        Conflict {
            app: app.to_owned(),
            other: other.to_owned(),
            other_option: used.option,
            error: OptionError::new(option, message),
        }
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
pub(crate) fn conflicts(graph: &Graph) -> Vec<Conflict> {
    users(graph).values().flat_map(conflicts_among).collect()
}

/// All but the first that want it for themselves; the first as well, if nobody else does.
fn conflicts_among(users: &Users<'_>) -> Vec<Conflict> {
    let alone = || users.iter().filter(|(_, used)| !used.is_shared);
    let Some((first, used)) = alone().next() else { return Vec::new() };
    let conflict =
        |app: &str, used: &Use, other: &str, by: &Use| Conflict::new((app, used), (other, by), "as well");
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
        Some(Conflict::new((name, used), (other, by), "until this change"))
    };
    graph.apps().filter(|&(name, app)| is_other(name, app)).find_map(|(name, app)| {
        uses(app).iter().filter(|used| !used.is_shared).find_map(|used| conflict(name, used))
    })
}
