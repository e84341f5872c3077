//! Patterns over paths: `*`, `?`, `[a-z]`, `[!a-z]`, each within one segment, and `**` as a segment of its own for folders at any
//! depth; a leading dot only matches a dot.

use std::path::{Component, Path, PathBuf};

pub(super) fn is_pattern(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().iter().any(|b| b"*?[".contains(b))
}

/// Every path that matches, sorted, without those below a folder that matches: it stands for all in it. No place is found twice.
pub(super) fn matches(pattern: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for component in pattern.components() {
        found = match component {
            Component::Normal(name) if name == "**" => with_folders_below(found),
            Component::Normal(name) if is_pattern(Path::new(name)) => {
                found.iter().flat_map(|folder| entries(folder, name.as_encoded_bytes())).collect()
            }
            // Each step back leaves less, or several of them would multiply what is found.
            Component::ParentDir => places(joined(found, component), |path, other| path == other),
            _ => joined(found, component),
        };
    }
    let found = if goes_back(pattern) {
        places(uncovered(found), |path, above| path.starts_with(above))
    } else {
        uncovered(found)
    };
    found.into_iter().map(|path| if path.as_os_str().is_empty() { ".".into() } else { path }).collect()
}

/// Whether `..` follows a pattern: then it leads from several folders to one.
fn goes_back(pattern: &Path) -> bool {
    let mut rest = pattern.components().skip_while(|component| !is_pattern(component.as_ref()));
    rest.any(|component| component == Component::ParentDir)
}

/// The paths with one more component, where that exists.
fn joined(paths: Vec<PathBuf>, component: Component<'_>) -> Vec<PathBuf> {
    paths.into_iter().map(|path| path.join(component)).filter(|path| path.exists()).collect()
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
/// followed: they can form a ring. What is hidden or cannot be listed holds nothing, as in a shell.
fn with_folders_below(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = uncovered(paths);
    pending.retain(|path| here(path).is_dir());
    while let Some(folder) = pending.pop() {
        let below = std::fs::read_dir(here(&folder)).into_iter().flatten().flatten().filter(|entry| {
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

fn entries(folder: &Path, pattern: &[u8]) -> Vec<PathBuf> {
    // A folder that cannot be listed matches nothing, as in a shell.
    let Ok(listing) = std::fs::read_dir(here(folder)) else { return Vec::new() };
    listing
        .filter_map(|entry| Some(entry.ok()?.file_name()))
        .filter(|name| {
            let name = name.as_encoded_bytes();
            (pattern[0] == b'.' || !name.starts_with(b".")) && is_match(pattern, name)
        })
        .map(|name| folder.join(name))
        .collect()
}

/// Matches with one point of return: on a mismatch the last `*` takes one byte more. Linear in practice, and
/// at worst the product of the lengths.
fn is_match(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star = None;
    while n < name.len() {
        if pattern.get(p) == Some(&b'*') {
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
    pattern[p..].iter().all(|&b| b == b'*')
}

/// How many bytes of the pattern match this one byte, if they do.
fn one(pattern: &[u8], byte: u8) -> Option<usize> {
    match *pattern.first()? {
        b'?' => Some(1),
        b'[' => match class(&pattern[1..], byte) {
            Some((len, is_in)) => is_in.then_some(len + 1),
            None => (byte == b'[').then_some(1),
        },
        literal => (literal == byte).then_some(1),
    }
}

/// The length of a class after its `[`, and whether the byte is in it; `None` if it never ends.
fn class(pattern: &[u8], byte: u8) -> Option<(usize, bool)> {
    let is_negated = matches!(pattern.first(), Some(b'!' | b'^'));
    let first = usize::from(is_negated);
    // A bracket in first place is a member.
    let end = first + 1 + pattern.get(first + 1..)?.iter().position(|&b| b == b']')?;
    let mut rest = &pattern[first..end];
    let mut is_in = false;
    while let [low, after @ ..] = rest {
        (is_in, rest) = match after {
            [b'-', high, after @ ..] => (is_in || (*low..=*high).contains(&byte), after),
            _ => (is_in || *low == byte, after),
        };
    }
    Some((end + 1, is_in != is_negated))
}

#[cfg(test)]
mod tests {
    use super::is_match;

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
        ] {
            assert_eq!(is_match(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
    }
}
