//! Exclusive use of files and devices outside the graph, checked across its apps: two apps use the same thing only if both share it.

use crate::config::OptionError;
use crate::graph::{AppSpec, Graph};
use crate::panic::guarded;
use std::collections::BTreeMap;

/// Something outside the graph that an app uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// The option that names it.
    pub option: &'static str,
    /// A text that identifies the thing, by whatever name the app knows it.
    pub identity: String,
    /// Its name, for messages.
    pub name: String,
    /// The verb for the use: "reads".
    pub verb: &'static str,
    /// Whether others may do the same at the same time.
    pub is_shared: bool,
    /// The consequence and the remedy, for a message where the use is refused.
    pub remedy: &'static str,
}

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

impl Use {
    /// `when` is said of what the other does: that it does so as well, or did so until now.
    fn conflict(&self, app: &str, (other, used): (&str, &Use), when: &str) -> Conflict {
        let Use { option, name, remedy, .. } = self;
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
    let conflict = |app: &str, used: &Use, other: &str, by: &Use| used.conflict(app, (other, by), "as well");
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
        Some(used.conflict(name, (other, by), "until this change"))
    };
    graph.apps().filter(|&(name, app)| is_other(name, app)).find_map(|(name, app)| {
        uses(app).iter().filter(|used| !used.is_shared).find_map(|used| conflict(name, used))
    })
}
