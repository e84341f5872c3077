//! Patterns over paths: `*`, `?`, `[a-z]`, `[!a-z]`, each within one segment, and `**` as a segment of its own for folders at any
//! depth; a leading dot only matches a dot. They are matched character by character, in UTF-8; a byte that is none counts as one.

use super::{entries_of, natural, note_unread};
use crate::error::Error;
use std::path::{Component, Path, PathBuf};
use std::str::Utf8Chunk;

pub(super) fn is_pattern(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().iter().any(|b| b"*?[".contains(b))
}

/// Every path that matches, sorted, without those below a folder that matches: it stands for all in it. No place is found twice. Notes the folders
/// that it cannot look into.
pub(super) fn matches(pattern: &Path, unread: &mut Vec<Error>) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for component in pattern.components() {
        found = match component {
            Component::Normal(name) if name == "**" => with_folders_below(found, unread),
            Component::Normal(name) if is_pattern(Path::new(name)) => {
                found.iter().flat_map(|folder| entries(folder, name.as_encoded_bytes(), unread)).collect()
            }
            // Each step back leaves less, or several of them would multiply what is found.
            Component::ParentDir => places(joined(found, component, unread), |path, other| path == other),
            _ => joined(found, component, unread),
        };
    }
    let mut found = if goes_back(pattern) {
        places(uncovered(found), |path, above| path.starts_with(above))
    } else {
        uncovered(found)
    };
    found.sort_by(|a, b| natural::order(a, b));
    found.into_iter().map(|path| if path.as_os_str().is_empty() { ".".into() } else { path }).collect()
}

/// Whether `..` follows a pattern: then it leads from several folders to one.
fn goes_back(pattern: &Path) -> bool {
    let mut rest = pattern.components().skip_while(|component| !is_pattern(component.as_ref()));
    rest.any(|component| component == Component::ParentDir)
}

/// The paths with one more component, where that exists.
fn joined(paths: Vec<PathBuf>, component: Component<'_>, unread: &mut Vec<Error>) -> Vec<PathBuf> {
    let mut exists = |path: &PathBuf| {
        path.try_exists().unwrap_or_else(|why| {
            note_unread(path, why, unread);
            false
        })
    };
    paths.into_iter().map(|path| path.join(component)).filter(|path| exists(path)).collect()
}

/// The paths sorted, without those whose place another one covers: of several paths to a place, the shortest is left.
fn places(paths: Vec<PathBuf>, is_covered: fn(&Path, &Path) -> bool) -> Vec<PathBuf> {
    let mut placed: Vec<_> =
        paths.into_iter().map(|path| (place(&path), path.as_os_str().len(), path)).collect();
    placed.sort_unstable();
    placed.dedup_by(|(place, ..), (above, ..)| is_covered(place, above));
    let mut paths: Vec<PathBuf> = placed.into_iter().map(|(.., path)| path).collect();
    paths.sort_unstable();
    paths
}

/// The path without `..` and links, except that the last segment may be a link.
fn place(path: &Path) -> PathBuf {
    let place = match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => here(folder).canonicalize().map(|folder| folder.join(name)),
        _ => here(path).canonicalize(),
    };
    place.unwrap_or_else(|_| path.to_owned())
}

/// Those of the paths that are folders, and every folder below them. Each is listed once, however many `**` there are, and links are not
/// followed: they can form a ring. What is hidden holds nothing, as in a shell.
fn with_folders_below(paths: Vec<PathBuf>, unread: &mut Vec<Error>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = uncovered(paths);
    pending.retain(|path| here(path).is_dir());
    while let Some(folder) = pending.pop() {
        let below = entries_of(here(&folder), unread).into_iter().filter(|entry| {
            let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            !is_hidden && entry.file_type().is_ok_and(|kind| kind.is_dir())
        });
        pending.extend(below.map(|entry| folder.join(entry.file_name())));
        found.push(folder);
    }
    found
}

/// The paths sorted, without those that begin with another one: only `**` finds both, and then the longer one lies below the other.
fn uncovered(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    paths.sort_unstable();
    paths.dedup_by(|path, above| path.starts_with(above));
    paths
}

/// The folder to list for a path that may be empty.
fn here(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

fn entries(folder: &Path, pattern: &[u8], unread: &mut Vec<Error>) -> Vec<PathBuf> {
    let is_for_hidden = pattern[0] == b'.';
    let pattern = characters(pattern);
    entries_of(here(folder), unread)
        .into_iter()
        .map(|entry| entry.file_name())
        .filter(|name| {
            let name = name.as_encoded_bytes();
            (is_for_hidden || !name.starts_with(b".")) && is_match(&pattern, &characters(name))
        })
        .map(|name| folder.join(name))
        .collect()
}

/// Matches with one point of return: on a mismatch the last `*` takes one character more. Linear in practice, and
/// at worst the product of the lengths.
fn is_match(pattern: &[Character], name: &[Character]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star = None;
    while n < name.len() {
        if pattern.get(p) == Some(&plain(b'*')) {
            star = Some((p, n));
            p += 1;
        } else if let Some(len) = one(&pattern[p..], name[n]) {
            p += len;
            n += 1;
        } else if let Some((at, taken)) = star {
            star = Some((at, taken + 1));
            (p, n) = (at + 1, taken + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&c| c == plain(b'*'))
}

/// How many characters of the pattern match this one, if they do.
fn one(pattern: &[Character], character: Character) -> Option<usize> {
    let first = *pattern.first()?;
    if first == plain(b'?') {
        return Some(1);
    }
    match class(pattern, character) {
        Some((len, is_in)) => is_in.then_some(len),
        None => (first == character).then_some(1),
    }
}

/// The length of a class, and whether the character is in it; `None` if there is none, or it never ends.
fn class(pattern: &[Character], character: Character) -> Option<(usize, bool)> {
    let pattern = pattern.strip_prefix(&[plain(b'[')])?;
    let is_negated = [b'!', b'^'].map(plain).contains(pattern.first()?);
    let first = usize::from(is_negated);
    // A bracket in first place is a member.
    let end = first + 1 + pattern.get(first + 1..)?.iter().position(|&c| c == plain(b']'))?;
    let mut rest = &pattern[first..end];
    let mut is_in = false;
    while let [low, after @ ..] = rest {
        (is_in, rest) = match after {
            [hyphen, high, after @ ..] if *hyphen == plain(b'-') => {
                (is_in || (*low..=*high).contains(&character), after)
            }
            _ => (is_in || *low == character, after),
        };
    }
    Some((end + 2, is_in != is_negated))
}

/// A character by its number, or a byte that belongs to none, above all numbers.
type Character = u32;

const fn plain(ascii: u8) -> Character {
    ascii as Character
}

fn characters(bytes: &[u8]) -> Vec<Character> {
    const STRAY: Character = char::MAX as Character + 1;
    let of_chunk = |chunk: Utf8Chunk<'_>| -> Vec<Character> {
        let stray = chunk.invalid().iter().map(|&byte| STRAY + Character::from(byte));
        chunk.valid().chars().map(Character::from).chain(stray).collect()
    };
    bytes.utf8_chunks().flat_map(of_chunk).collect()
}

#[cfg(test)]
mod tests {
    use super::{characters, is_match};

    #[test]
    fn patterns() {
        for (pattern, name, expected) in [
            ("*.pcap", "a.pcap", true),
            ("*.pcap", ".pcap", true),
            ("*.pcap", "a.pcap.gz", false),
            ("a*b*c", "aXXbYYc", true),
            ("a*b*c", "aXXbYY", false),
            ("?", "", false),
            ("?x", "yx", true),
            ("[a-c]1", "b1", true),
            ("[!a-c]1", "b1", false),
            ("[]]", "]", true),
            ("[a-", "[a-", true),
            ("[", "[", true),
            ("[b-]", "-", true),
            ("**", "abc", true),
            ("", "", true),
            ("", "a", false),
            ("*[0-9]*[0-9]", "a1b2c3", true),
            ("?.pcap", "é.pcap", true),
            ("??.pcap", "é.pcap", false),
            ("r?sum?", "résumé", true),
            ("[é]", "é", true),
            ("[é]", "è", false),
            ("[à-é]x", "èx", true),
            ("[à-é]", "ê", false),
            ("[!a-z]", "ü", true),
            ("*é", "aé", true),
            ("?", "𝄞", true),
        ] {
            let is = is_match(&characters(pattern.as_bytes()), &characters(name.as_bytes()));
            assert_eq!(is, expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_byte_that_is_no_character_counts_as_one() {
        for (pattern, name, expected) in [
            (&b"?"[..], &b"\xe9"[..], true),
            (b"?", b"\xe9\xe9", false),
            (b"a?c", b"a\xc3c", true),
            (b"\xe9*", b"\xe9.pcap", true),
            (b"\xe9", "é".as_bytes(), false),
            (b"[!x]", b"\xff", true),
        ] {
            assert_eq!(is_match(&characters(pattern), &characters(name)), expected, "{pattern:?} {name:?}");
        }
    }
}
