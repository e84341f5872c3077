//! The house as text: crates, their rooms, and the arrows between them.
//!
//! ```text
//! decide            18192 lines, 19.0 %  -> table
//!     ir             2614                -> budget filled span
//! ```
//! A room is a module at the top of a crate. Lines are those of its sources, tests left out.

use crate::cycles;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// No crate may hold more than this many percent of the lines of all crates: a larger one holds two ideas.
const SHARE_MAX_PERCENT: f64 = 22.0;

/// The crates below `crates/`.
pub(crate) struct House {
    crates: BTreeMap<String, Crate>,
}

#[derive(Default)]
struct Crate {
    lines: usize,
    uses: BTreeSet<String>,
    rooms: BTreeMap<String, Room>,
}

#[derive(Default)]
struct Room {
    lines: usize,
    uses: BTreeSet<String>,
}

impl House {
    /// Reads sources; `uses` tells which crates a crate uses.
    pub(crate) fn of(root: &Path, sources: &[PathBuf], uses: &BTreeMap<String, BTreeSet<String>>) -> House {
        let mut crates: BTreeMap<String, Crate> = BTreeMap::new();
        for path in sources {
            let Some((name, room)) = place(root, path) else { continue };
            let text = std::fs::read_to_string(path).unwrap_or_default();
            let lines = lines_without_tests(&text);
            let entry = crates.entry(name).or_default();
            entry.lines += lines;
            if let Some(name) = room {
                let room = entry.rooms.entry(name).or_default();
                room.lines += lines;
                room.uses.extend(cycles::targets(&text));
            }
        }
        for (name, entry) in &mut crates {
            entry.uses.extend(uses.get(name).into_iter().flatten().cloned());
            let names: BTreeSet<String> = entry.rooms.keys().cloned().collect();
            for (name, room) in &mut entry.rooms {
                room.uses.retain(|used| used != name && names.contains(used));
            }
        }
        House { crates }
    }

    fn lines(&self) -> usize {
        self.crates.values().map(|entry| entry.lines).sum()
    }

    /// The crates that are too large.
    pub(crate) fn problems(&self) -> Vec<String> {
        let share = |entry: &Crate| 100.0 * entry.lines as f64 / self.lines().max(1) as f64;
        let large = self.crates.iter().filter(|(_, entry)| share(entry) > SHARE_MAX_PERCENT);
        large
            .map(|(name, entry)| {
                format!(
                    "crates/{name}: {:.1} % of all lines (at most {SHARE_MAX_PERCENT} %): probably two ideas",
                    share(entry)
                )
            })
            .collect()
    }

    /// Crates, rooms and arrows, a line each.
    pub(crate) fn print(&self) -> String {
        let mut out = String::new();
        for (name, entry) in &self.crates {
            let share = 100.0 * entry.lines as f64 / self.lines().max(1) as f64;
            let row = format!("{name:<20} {:>6} lines, {share:>4.1} %{}", entry.lines, arrows(&entry.uses));
            let _ = writeln!(out, "{}", row.trim_end());
            for (name, room) in &entry.rooms {
                let row = format!("    {name:<16} {:>6}{:<14}{}", room.lines, "", arrows(&room.uses));
                let _ = writeln!(out, "{}", row.trim_end());
            }
        }
        out
    }
}

fn arrows(uses: &BTreeSet<String>) -> String {
    if uses.is_empty() {
        return String::new();
    }
    format!("  -> {}", uses.iter().map(String::as_str).collect::<Vec<_>>().join(" "))
}

/// The crate of a source, and its room; no room for the roots of crates. Nothing for tests.
fn place(root: &Path, path: &Path) -> Option<(String, Option<String>)> {
    let path = path.strip_prefix(root).ok()?;
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    let ["crates", name, "src", inside @ ..] = &parts[..] else { return None };
    if inside.iter().any(|part| ["tests", "tests.rs"].contains(part)) {
        return None;
    }
    let room = inside.first()?.trim_end_matches(".rs");
    Some(((*name).to_owned(), (!["lib", "main"].contains(&room)).then(|| room.to_owned())))
}

/// Tests within a file stand at its end.
fn lines_without_tests(text: &str) -> usize {
    text.split("\nmod tests {").next().unwrap_or_default().lines().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_do_not_count() {
        assert_eq!(lines_without_tests("a\nb\n#[cfg(test)]\nmod tests {\n    c\n}\n"), 3);
        let root = Path::new("/r");
        let place = |path: &str| place(root, &root.join(path));
        assert_eq!(place("crates/a/src/b/c.rs"), Some(("a".into(), Some("b".into()))));
        assert_eq!(place("crates/a/src/lib.rs"), Some(("a".into(), None)));
        assert_eq!(place("crates/a/src/b/tests.rs"), None);
        assert_eq!(place("bench/src/b.rs"), None);
    }

    #[test]
    fn a_crate_of_more_than_its_share_is_a_problem() {
        let entry = |lines| Crate { lines, ..Crate::default() };
        let house = |lines: &[usize]| House {
            crates: lines.iter().enumerate().map(|(i, &lines)| (i.to_string(), entry(lines))).collect(),
        };
        assert!(house(&[20; 5]).problems().is_empty());
        assert_eq!(house(&[30, 20, 20, 20, 10]).problems().len(), 1);
    }
}
