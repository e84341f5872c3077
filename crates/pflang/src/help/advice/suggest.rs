//! Which known word an unknown one was meant to be.

/// Bytes of a suggestion that is still helpful.
pub(super) const SUGGESTION_MAX: usize = 100;

/// The candidate nearest to `text`, if one is near enough: equal except for case, or with one typing error
/// away (two in a long word). Of equals the first.
pub(super) fn nearest<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let text = text.to_ascii_lowercase();
    let slips = match text.len() {
        0..=1 => 0,
        2..=5 => 1,
        6..=40 => 2,
        _ => return None,
    };
    candidates
        .into_iter()
        .map(|candidate| (distance(text.as_bytes(), candidate.as_bytes()), candidate))
        .filter(|&(distance, candidate)| distance <= slips && distance < candidate.len())
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Optimal string alignment distance: insertions, deletions, replacements and swaps of neighbours.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut previous: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = previous[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(previous[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut previous, row);
    }
    previous[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let words = ["port", "portrange", "src", "dst"];
        assert_eq!(nearest("prot", words), Some("port"));
        assert_eq!(nearest("PORT", words), Some("port"));
        assert_eq!(nearest("portrnage", words), Some("portrange"));
        assert_eq!(nearest("scr", words), Some("src"));
        assert_eq!(nearest("example", words), None);
        assert_eq!(nearest("a", ["b"]), None);
    }
}
