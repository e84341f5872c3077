//! A file that is not there: what is there, under a name that is nearly the same.

use crate::shell::file_word;
use capture::NoFolder;
use std::ffi::OsStr;
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
    if let Some(lacking) = folder.and_then(NoFolder::at) {
        return Some(lacking.to_string());
    }
    if LOOKS.fetch_add(1, Ordering::Relaxed) >= LOOKS_MAX {
        return None;
    }
    if path.is_symlink() {
        return Some("it is a link, and what it leads to is not there".into());
    }
    let name = path.file_name()?.to_string_lossy();
    let entries = fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?.take(NAMES_MAX).flatten();
    let names = entries.map(|entry| entry.file_name());
    let near = names.filter_map(|there| Some((apart(&name, &there.to_string_lossy())?, there)));
    let is_file = |name: &OsStr| fs::metadata(path.with_file_name(name)).is_ok_and(|there| !there.is_dir());
    let (_, nearest) = near.filter(|(_, name)| is_file(name)).min()?;
    Some(format!("did you mean `{}`?", file_word(path.with_file_name(nearest))))
}

/// How far two names are from each other, if they are near: some letters, or what is behind the first dot of captures,
/// or of anything where one has no dot.
fn apart(name: &str, there: &str) -> Option<usize> {
    // One slip in a stem of three letters, two in one of eight.
    let may_be = match stem(name).len() {
        0..3 => 0,
        3..8 => 1,
        _ => 2,
    };
    let [a, b] = [name, there].map(str::to_lowercase);
    // PERF: names of another length, which are most of a folder's, are not compared letter by letter.
    let may_be_near = a.chars().count().abs_diff(b.chars().count()) <= may_be;
    let slips = if may_be_near { strsim::osa_distance(&a, &b) } else { usize::MAX };
    if slips <= may_be {
        return Some(slips);
    }
    let is_kind_of = !name.contains('.') || [name, there].into_iter().all(is_capture);
    (is_kind_of && !stem(name).is_empty() && stem(name) == stem(there)).then_some(may_be + 1)
}

fn stem(name: &str) -> String {
    name.split('.').next().unwrap_or_default().to_lowercase()
}

/// Whether a name says that it is of a capture.
fn is_capture(name: &str) -> bool {
    let kind = name.split('.').nth(1).unwrap_or_default().to_lowercase();
    ["pcap", "pcapng", "cap", "gz", "zst"].contains(&&kind[..])
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
            ("router01.pcap", "ruoter01.pcap", Some(1)),
            ("wbe.pcap", "web.pcap", Some(1)),
            ("wrb.pcap", "web.pcap", Some(1)),
            ("web.toml", "web.pcap", None),
            ("README", "README.md", Some(2)),
            ("web.txt", "web.pcap", None),
            ("a.pcap", "b.pcap", None),
            ("web.pcap", "dns.pcap", None),
            ("x", ".x", None),
        ] {
            assert_eq!(apart(name, there), told, "{name} {there}");
        }
    }
}
