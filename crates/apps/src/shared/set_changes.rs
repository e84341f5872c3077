//! Sets that filters of this process name by their files, and what has changed of them since: entries that are added and taken out while a graph
//! runs. The files stay as they are.

use classify::lists::{Change, ChangedLists, Refused};
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One for the process, as the files are.
static SETS: Mutex<Sets> = Mutex::new(Sets { changes: None, named: BTreeSet::new() });

struct Sets {
    /// `None` until the first change.
    changes: Option<ChangedLists>,
    /// What filters have named.
    named: BTreeSet<String>,
}

/// What has changed of the sets that filters name. Filters that are compiled after a change have it. Those of a graph that runs get it when the graph
/// is loaded again: a changed set counts as a changed option of [`Filter`](crate::Filter) and [`Match`](crate::Match), as a changed file does.
#[derive(Clone, Copy, Debug, Default)]
pub struct SetChanges;

impl SetChanges {
    /// Names of sets that filters have named so far, as they stand behind `@`.
    #[must_use]
    pub fn named() -> Vec<String> {
        sets().named.iter().cloned().collect()
    }

    /// Notes a change of a set. Times are nanoseconds of the caller's clock.
    ///
    /// # Errors
    /// [`Refused::TooMany`].
    pub fn put(name: &str, change: &Change) -> Result<(), Refused> {
        sets().changes.get_or_insert_default().put(name, change)
    }

    /// All that has changed, to be given back to [`SetChanges::restore`] should a change prove wrong.
    #[must_use]
    pub fn all() -> Option<ChangedLists> {
        sets().changes.clone()
    }

    /// Puts back what [`SetChanges::all`] gave.
    pub fn restore(changes: Option<ChangedLists>) {
        sets().changes = changes;
    }

    /// Ends what was for a time that is over. Whether there was such.
    #[must_use]
    pub fn expire(now_ns: u64) -> bool {
        sets().changes.as_mut().is_some_and(|changes| changes.expire(now_ns))
    }

    /// When the next entry expires.
    #[must_use]
    pub fn next_expiry() -> Option<u64> {
        sets().changes.as_ref()?.next_expiry()
    }

    /// Entries that are added to a set and taken out of it.
    #[must_use]
    pub fn entries(name: &str) -> usize {
        sets().changes.as_ref().map_or(0, |changes| changes.entries(name))
    }
}

/// How many changes there have been of a set.
pub(crate) fn version(name: &str) -> u64 {
    sets().changes.as_ref().map_or(0, |changes| changes.version(name))
}

/// What is said of a set that does not take an entry.
const REFUSED: &str = "cannot be changed";

/// Whether a set could not be read because it does not take an entry that somebody has added: the file is not at fault, nor the system.
pub(crate) fn is_entry_refused(message: &str) -> bool {
    message.contains(REFUSED)
}

/// The text of a set, as it was read, with its changes.
pub(crate) fn applied(name: &str, text: String) -> Result<String, String> {
    let changes = {
        let mut sets = sets();
        sets.named.insert(name.to_owned());
        match &sets.changes {
            Some(changes) if changes.entries(name) > 0 => changes.clone(),
            _ => return Ok(text),
        }
    };
    let applied = changes.applied(name, &text).map_err(|why| format!("`{name}` {REFUSED}: {why}"))?;
    Ok(applied.unwrap_or(text))
}

/// Nothing panics while it is held.
fn sets() -> MutexGuard<'static, Sets> {
    SETS.lock().unwrap_or_else(PoisonError::into_inner)
}
