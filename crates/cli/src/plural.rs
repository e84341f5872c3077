//! Counts and what is counted: `1 packet`, `2 packets`.

/// A count with its noun, of those that take an `s`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    format!("{count} {}", nouns(count, noun))
}

/// The noun in the number that fits the count.
pub(crate) fn nouns(count: u64, noun: &str) -> String {
    format!("{noun}{}", of(count, "", "s"))
}

/// The words for one, or for another number.
pub(crate) fn of<'w>(count: u64, one: &'w str, more: &'w str) -> &'w str {
    if count == 1 { one } else { more }
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_has_no_s() {
        let told = [0, 1, 2].map(|count| counted(count, "packet"));
        assert_eq!(told, ["0 packets", "1 packet", "2 packets"]);
    }
}
