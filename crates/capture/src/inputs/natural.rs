//! The order of names in which numbers count as numbers: `out.pcap2` stands before `out.pcap10`.

use std::cmp::Ordering;
use std::path::Path;

/// Compares paths, part by part.
pub(super) fn order(a: &Path, b: &Path) -> Ordering {
    let mut parts = a.components().map(|part| part.as_os_str().as_encoded_bytes());
    let others = b.components().map(|part| part.as_os_str().as_encoded_bytes());
    for other in others {
        let Some(part) = parts.next() else { return Ordering::Less };
        let order = order_of_names(part, other);
        if order != Ordering::Equal {
            return order;
        }
    }
    if parts.next().is_some() { Ordering::Greater } else { Ordering::Equal }
}

/// Names that differ only in zeroes before numbers are ordered byte by byte.
fn order_of_names(a: &[u8], b: &[u8]) -> Ordering {
    let (mut rest, mut other) = (a, b);
    loop {
        match (number(rest), number(other)) {
            (Some((number, behind)), Some((other_number, behind_other))) => {
                // One with more digits is larger, without zeroes before them.
                let order = number.len().cmp(&other_number.len()).then(number.cmp(other_number));
                if order != Ordering::Equal {
                    return order;
                }
                (rest, other) = (behind, behind_other);
            }
            _ => match (rest.split_first(), other.split_first()) {
                (Some((byte, behind)), Some((other_byte, behind_other))) if byte == other_byte => {
                    (rest, other) = (behind, behind_other);
                }
                (None, None) => return a.cmp(b),
                (next, other_next) => {
                    return next.map(|(byte, _)| byte).cmp(&other_next.map(|(byte, _)| byte));
                }
            },
        }
    }
}

/// The digits that a text begins with, without zeroes before them, and what follows.
fn number(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let len = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, behind) = text.split_at_checked(len).filter(|_| len > 0)?;
    let zeroes = digits.iter().take_while(|digit| **digit == b'0').count();
    Some((&digits[zeroes..], behind))
}

#[cfg(test)]
mod tests {
    use super::order;
    use std::path::Path;

    #[test]
    fn numbers_count_as_numbers() {
        let sorted = [
            "a",
            "a/b",
            "a1",
            "a01",
            "a2",
            "a2/9",
            "a2/10",
            "a10",
            "a10b",
            "a010c",
            "aa",
            "out.pcap",
            "out.pcap1",
            "out.pcap2",
            "out.pcap10",
            "out.pcap99999999999999999999999",
            "out.pcap100000000000000000000000",
        ];
        let mut names: Vec<&str> = sorted.into();
        names.reverse();
        names.sort_by(|a, b| order(Path::new(a), Path::new(b)));
        // Zeroes before a number decide last.
        let mut expected: Vec<&str> = sorted.into();
        expected.swap(2, 3);
        assert_eq!(names, expected);
    }
}
