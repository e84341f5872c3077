//! A file that is not there: what is there, under a name that is nearly the same.

use crate::shell::file_word;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// So many names of a folder are looked at.
const NAMES_MAX: usize = 10_000;

/// So many files are looked for: thousands may be missing, and each look compares with all names of a folder.
const LOOKS_MAX: usize = 10;

/// How many were looked for in this process.
static LOOKS: AtomicUsize = AtomicUsize::new(0);

/// What can be said of a file that is not there.
pub(crate) fn help(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.exists()) {
        return Some(format!("there is no folder {}", folder.display()));
    }
    if LOOKS.fetch_add(1, Ordering::Relaxed) >= LOOKS_MAX {
        return None;
    }
    let name = path.file_name()?.to_str()?;
    let entries = fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?.take(NAMES_MAX).flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let near = names.filter_map(|there| Some((apart(name, &there)?, there)));
    let (_, nearest) = near.min()?;
    Some(format!("did you mean `{}`?", file_word(path.with_file_name(nearest))))
}

/// How far two names are from each other, if they are near: some letters, or what is behind the first dot.
fn apart(name: &str, there: &str) -> Option<usize> {
    // One slip in four letters, two in eight.
    const LETTERS_A_SLIP: usize = 4;
    let stem = |name: &str| name.split('.').next().unwrap_or_default().to_lowercase();
    let slips = distance(&name.to_lowercase(), &there.to_lowercase());
    let may_be = (stem(name).len() / LETTERS_A_SLIP).min(2);
    if slips <= may_be {
        return Some(slips);
    }
    (!stem(name).is_empty() && stem(name) == stem(there)).then_some(may_be + 1)
}

/// How many letters must be put in, left out or changed (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, a) in a.chars().enumerate() {
        let mut before = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in b.iter().enumerate() {
            let change = before + usize::from(a != *b);
            before = row[j + 1];
            row[j + 1] = change.min(before + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_near_or_not() {
        for (name, there, told) in [
            ("trce.pcap", "trace.pcap", Some(1)),
            ("TRACE.pcap", "trace.pcap", Some(0)),
            ("trace.pcap", "trace.pcap.gz", Some(2)),
            ("trace", "trace.pcapng", Some(2)),
            ("router01.pcap", "ruoter01.pcap", Some(2)),
            ("a.pcap", "b.pcap", None),
            ("web.pcap", "dns.pcap", None),
            ("x", ".x", None),
        ] {
            assert_eq!(apart(name, there), told, "{name} {there}");
        }
        assert_eq!(["", "a", "kitten"].map(|text| distance(text, "sitting")), [7, 7, 3]);
    }
}
