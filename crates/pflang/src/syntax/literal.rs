//! How far numbers and addresses reach.
//!
//! Each function answers how many bytes at the beginning of a text form one kind of literal, at most, and 0 for
//! none. The lexer takes the longest; where two kinds tie, its order decides.

/// `10`, `0x1f`, `017`: any decimal digits, or hexadecimal ones after `0x`.
pub(super) fn number(text: &[u8]) -> usize {
    if text.len() > 2 && text[0] == b'0' && matches!(text[1], b'x' | b'X') && text[2].is_ascii_hexdigit() {
        return 2 + run(&text[2..], u8::is_ascii_hexdigit);
    }
    run(text, u8::is_ascii_digit)
}

/// Two to four numbers with dots between.
pub(super) fn dotted(text: &[u8]) -> usize {
    let mut end = number(text);
    let mut parts = usize::from(end > 0);
    while parts > 0 && parts < 4 && text.get(end) == Some(&b'.') {
        match number(&text[end + 1..]) {
            0 => break,
            len => end += 1 + len,
        }
        parts += 1;
    }
    if parts > 1 { end } else { 0 }
}

/// A letter or digit, then letters, digits, dots, dashes and underscores, not ending in the latter two.
pub(super) fn identifier(text: &[u8]) -> usize {
    if !text.first().is_some_and(u8::is_ascii_alphanumeric) {
        return 0;
    }
    let mut end = run(text, |b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
    while matches!(text[end - 1], b'-' | b'_') {
        end -= 1;
    }
    end
}

/// An Ethernet address: six bytes of one or two digits, three groups of four, or twelve digits.
pub(super) fn mac(text: &[u8]) -> usize {
    [b':', b'-', b'.']
        .into_iter()
        .map(|separator| groups(text, 6, 1..=2, Some(separator)))
        .chain([groups(text, 3, 4..=4, Some(b'.')), groups(text, 3, 4..=4, None)])
        .max()
        .unwrap_or(0)
}

/// A text that looks like the beginning of an Ethernet address, but is not one: bytes, each followed by colons, at least
/// two of them.
pub(super) fn bogus_mac(text: &[u8]) -> usize {
    let (mut end, mut count) = (0, 0);
    loop {
        let digits = hex_run(&text[end..], 2);
        let colons = if digits > 0 { run(&text[end + digits..], |b| *b == b':') } else { 0 };
        if colons == 0 {
            return if count >= 2 { end } else { 0 };
        }
        end += digits + colons;
        count += 1;
    }
}

/// An IPv6 address in any of the forms of RFC 4291, the embedded IPv4 address included.
///
/// A group that a colon follows has at most four digits, so reading greedily never reads too far.
pub(super) fn ipv6(text: &[u8]) -> usize {
    if text.starts_with(b"::") {
        return ipv6_tail(text, 2, 0);
    }
    let (mut at, mut best) = (0, 0);
    for group in 1..=8 {
        if group == 7 {
            best = best.max(ipv6_dotted_end(text, at));
        }
        let digits = hex_run(&text[at..], 4);
        if digits == 0 {
            return best;
        }
        at += digits;
        if group == 8 {
            return best.max(at);
        }
        if text[at..].starts_with(b"::") {
            return best.max(ipv6_tail(text, at + 2, group));
        }
        if text.get(at) != Some(&b':') {
            return best;
        }
        at += 1;
    }
    best
}

/// The end of an address whose `::` ends at `at`, with `before` groups in front of it.
fn ipv6_tail(text: &[u8], mut at: usize, before: usize) -> usize {
    let mut best = at;
    for groups in before..8 {
        if groups <= 5 {
            best = best.max(ipv6_dotted_end(text, at));
        }
        let digits = hex_run(&text[at..], 4);
        if digits == 0 || groups == 7 {
            return best;
        }
        at += digits;
        best = best.max(at);
        if text.get(at) != Some(&b':') {
            return best;
        }
        at += 1;
    }
    best
}

/// The end of four dotted numbers that begin at `at`, or 0.
fn ipv6_dotted_end(text: &[u8], at: usize) -> usize {
    let len = dotted(&text[at..]);
    if text[at..at + len].iter().filter(|b| **b == b'.').count() == 3 { at + len } else { 0 }
}

/// `count` groups of hexadecimal digits.
fn groups(
    text: &[u8],
    count: usize,
    digits: std::ops::RangeInclusive<usize>,
    separator: Option<u8>,
) -> usize {
    let mut end = 0;
    for group in 0..count {
        if let (Some(separator), true) = (separator, group > 0) {
            if text.get(end) != Some(&separator) {
                return 0;
            }
            end += 1;
        }
        let len = hex_run(&text[end..], *digits.end());
        if len < *digits.start() {
            return 0;
        }
        end += len;
    }
    end
}

fn hex_run(text: &[u8], at_most: usize) -> usize {
    run(&text[..text.len().min(at_most)], u8::is_ascii_hexdigit)
}

fn run(text: &[u8], belongs: impl Fn(&u8) -> bool) -> usize {
    text.iter().take_while(|b| belongs(b)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_reach_as_far_as_they_can() {
        for (text, len) in [("80 ", 2), ("0x1fg", 4), ("0x", 1), ("x", 0)] {
            assert_eq!(number(text.as_bytes()), len, "{text}");
        }
        for (text, len) in [("1.2", 3), ("1.2.3.4.5", 7), ("1.", 0), ("1.2.", 3), ("1", 0), ("0xa.1", 5)] {
            assert_eq!(dotted(text.as_bytes()), len, "{text}");
        }
        for (text, len) in [("a-b.c-", 5), ("_a", 0), ("a.", 2), ("len-ip[", 6)] {
            assert_eq!(identifier(text.as_bytes()), len, "{text}");
        }
        for (text, len) in [
            ("1:2:3:4:5:6", 11),
            ("1-2-3-4-5-6-7", 11),
            ("aa.bb.cc.dd.ee.f", 16),
            ("0123.4567.89ab", 14),
            ("0123456789abc", 12),
            ("1:2:3:4:5", 0),
            ("1:2-3:4:5:6", 0),
        ] {
            assert_eq!(mac(text.as_bytes()), len, "{text}");
        }
        for (text, len) in [("1:2:3", 4), ("1:2", 0), ("1::2:", 5), ("1:::", 0)] {
            assert_eq!(bogus_mac(text.as_bytes()), len, "{text}");
        }
    }

    #[test]
    fn ipv6_forms() {
        for (text, len) in [
            ("::", 2),
            ("::1", 3),
            ("1::", 3),
            ("fe80::1/64", 7),
            ("1:2:3:4:5:6:7:8:9", 15),
            ("1:2:3:4:5:6:7::", 15),
            ("::1:2:3:4:5:6:7", 15),
            ("::1:2:3:4:5:6:7:8", 15),
            ("1:2:3:4:5:6:7", 0),
            ("::ffff:1.2.3.4", 14),
            ("::1.2.3", 3),
            ("1:2:3:4:5:6:1.2.3.4", 19),
            ("1:2:3:4:5::1.2.3.4", 18),
            ("1:2:3:4:5:6::1.2.3.4", 14),
            ("1::2::3", 4),
            ("12345::", 0),
            ("::12345", 6),
            ("1:2", 0),
        ] {
            assert_eq!(ipv6(text.as_bytes()), len, "{text}");
        }
    }
}
