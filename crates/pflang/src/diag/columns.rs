//! How characters look on a terminal: what is printed for each, and how many columns that takes.

use std::borrow::Cow;

/// One character as printed.
pub(super) struct Cell<'a> {
    /// The text to print.
    pub(super) text: Cow<'a, str>,
    /// Columns that it takes.
    pub(super) width: usize,
    /// Bytes of the source that it represents.
    pub(super) bytes: usize,
}

/// Columns of a tab, wherever it is.
const TAB: &str = "    ";

/// The characters of `text`.
pub(super) fn cells(text: &str) -> impl Iterator<Item = Cell<'_>> {
    text.char_indices().map(|(at, character)| {
        let bytes = character.len_utf8();
        match character {
            '\t' => Cell { text: TAB.into(), width: TAB.len(), bytes },
            _ if is_dangerous(character) => {
                let escape: String = character.escape_unicode().collect();
                Cell { width: escape.len(), text: escape.into(), bytes }
            }
            _ => Cell { text: text[at..at + bytes].into(), width: width(character), bytes },
        }
    })
}

/// Text without anything that a terminal would obey.
pub(crate) fn harmless(text: &str) -> String {
    cells(text).map(|Cell { text, .. }| text).collect()
}

/// Control characters, and those that change the direction of writing or cannot be seen.
pub(crate) fn is_dangerous(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Unicode's East Asian Width, by blocks: exact enough to put a caret under the right word.
fn width(character: char) -> usize {
    match character as u32 {
        0x0300..=0x036f | 0x1ab0..=0x1aff | 0x20d0..=0x20ff | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}
