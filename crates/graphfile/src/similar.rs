//! The name that may have been meant in place of one that there is not.

use engine::NAME_MAX;

/// The name among `names` that differs least from `name`, if it differs little. A name much longer than any is like none.
pub(crate) fn similar<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let names = names.filter(|other| name.len() <= 2 * NAME_MAX && other.len() <= 2 * NAME_MAX);
    names
        .map(|other| (distance(name, other), other))
        .filter(|&(distance, other)| distance <= 1 + name.len() / 3 && distance < name.len().max(other.len()))
        .min()
        .map(|(_, other)| other)
}

/// How many letters must be added, left out or replaced (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
