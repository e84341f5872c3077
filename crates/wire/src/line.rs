//! Texts that others chose, such as names of files, as part of a line of ours.

use std::borrow::Cow;

/// The text without control characters, which are escaped: a line end would begin a line of its own, and a terminal obeys others.
///
/// ```
/// assert_eq!(wire::in_one_line("a\x1b[31m\nb é.pcap"), "a\\u{1b}[31m\\nb é.pcap");
/// ```
#[must_use]
pub fn in_one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return text.into();
    }
    let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(escaped).collect()
}
