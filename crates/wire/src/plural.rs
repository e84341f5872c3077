//! Counts and what is counted, for what is told of them: `1 packet`, `2 packets`.
//!
//! ```
//! use wire::plural::counted;
//! assert_eq!(counted(1, "packet"), "1 packet");
//! assert_eq!(counted(2, "packet"), "2 packets");
//! ```

/// A count with its noun, of those that take an `s`.
#[must_use]
pub fn counted(count: u64, noun: &str) -> String {
    format!("{count} {}", nouns(count, noun))
}

/// The noun in the number that fits the count.
#[must_use]
pub fn nouns(count: u64, noun: &str) -> String {
    format!("{noun}{}", choose(count, "", "s"))
}

/// A count with its noun, and what has become of them: `1 packet was dropped`.
#[must_use]
pub fn passive(count: u64, noun: &str, participle: &str) -> String {
    format!("{} {} {participle}", counted(count, noun), choose(count, "was", "were"))
}

/// The words for one, or for another number.
#[must_use]
pub fn choose<'w>(count: u64, one: &'w str, more: &'w str) -> &'w str {
    if count == 1 { one } else { more }
}

#[cfg(test)]
mod tests {
    use super::{counted, passive};

    #[test]
    fn one_has_no_s() {
        let told = [0, 1, 2].map(|count| counted(count, "packet"));
        assert_eq!(told, ["0 packets", "1 packet", "2 packets"]);
        let told = [0, 1, 2].map(|count| passive(count, "packet", "dropped"));
        assert_eq!(told, ["0 packets were dropped", "1 packet was dropped", "2 packets were dropped"]);
    }
}
