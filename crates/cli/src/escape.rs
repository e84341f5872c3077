//! Texts for a terminal, which obeys control characters.

/// A name as it stands in a line: without any control character, as it has neither lines nor colours of ours.
pub(crate) use wire::in_one_line as shown;

/// The text without control characters, which may come from the name of a file and would be obeyed by a terminal.
/// Line ends and our own colours stay.
pub(crate) fn harmless(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let len = colour_len(rest).unwrap_or(next.len_utf8());
        if len > next.len_utf8() || next == '\n' || !next.is_control() {
            out.push_str(&rest[..len]);
        } else {
            out.extend(next.escape_default());
        }
        rest = &rest[len..];
    }
    out
}

/// The length of the colour change with which the text begins: escape, `[`, digits and semicolons, `m`.
fn colour_len(text: &str) -> Option<usize> {
    let body = text.strip_prefix("\x1b[")?;
    let digits = body.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b';').count();
    body[digits..].starts_with('m').then_some(digits + 3)
}

/// Bytes that are kept of the name of an interface. The kernel's names have 15 at most; a capture may have any number of names of 64 KiB.
const INTERFACE_NAME_MAX: usize = 256;

/// The name that a capture gives an interface, cut with an ellipsis where it is too long to be kept.
pub(crate) fn interface_name(name: &str) -> String {
    match name.len() {
        0..=INTERFACE_NAME_MAX => name.to_owned(),
        _ => format!("{}…", &name[..name.floor_char_boundary(INTERFACE_NAME_MAX)]),
    }
}

#[cfg(test)]
mod tests {
    use super::{INTERFACE_NAME_MAX, harmless, interface_name, shown};

    #[test]
    fn long_names_of_interfaces_are_cut() {
        let longest = "é".repeat(INTERFACE_NAME_MAX / 2);
        assert_eq!(interface_name(&longest), longest);
        assert_eq!(interface_name(&format!("a{longest}")), format!("a{}…", &longest[2..]));
        assert_eq!(interface_name(&"é".repeat(30_000)), format!("{longest}…"));
    }

    #[test]
    fn a_terminal_obeys_no_file_name() {
        assert_eq!(harmless("a\x1b]0;title\x07b\r\u{9b}2J"), "a\\u{1b}]0;title\\u{7}b\\r\\u{9b}2J");
        assert_eq!(shown("a\x1b[31m\nb \u{e9}.pcap"), "a\\u{1b}[31m\\nb \u{e9}.pcap");
        let ours = "\x1b[1;31merror\x1b[0m: line\nline \u{e9}";
        assert_eq!(harmless(ours), ours);
    }
}
