//! The name that may have been meant in place of one that there is not.

use engine::NAME_MAX;

/// The name among `names` that differs least from `name`, if it differs little. A name much longer than any is like none.
pub(crate) fn similar<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let names = names.filter(|other| name.len() <= 2 * NAME_MAX && other.len() <= 2 * NAME_MAX);
    names
        .map(|other| (strsim::levenshtein(name, other), other))
        .filter(|&(slips, other)| slips <= 1 + name.len() / 3 && slips < name.len().max(other.len()))
        .min()
        .map(|(_, other)| other)
}
