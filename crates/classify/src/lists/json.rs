//! Lists in JSON: one document (AbuseIPDB, the ranges of clouds), or one a line (Spamhaus DROP).
//!
//! Objects are not kept: the text is walked over string by string and bracket by bracket. Entries are the values of keys that name an address, also
//! several in an array, and the strings of an array that is the document.

use super::{Format, Item, List, Problem, problem, shown};

const KEYS: [&str; 9] =
    ["ipAddress", "cidr", "ip", "network", "prefix", "ip_prefix", "ipv6_prefix", "ipv4Prefix", "ipv6Prefix"];

/// What a bracket has opened.
enum Open {
    Object,
    /// Whether the strings in it are entries.
    Array(bool),
}

pub(super) fn read(text: &str) -> Result<List, Problem> {
    let mut list = List::new(Format::Json);
    let mut open = Vec::new();
    // Whether the key before names an address, and whether any has.
    let (mut is_known, mut knows_any) = (false, false);
    let mut at = 0;
    while let Some(next) = text[at..].find(['"', '{', '}', '[', ']', ',']) {
        at += next;
        let holds_entries = match open.last() {
            Some(Open::Array(holds_entries)) => *holds_entries,
            Some(Open::Object) => is_known,
            None => false,
        };
        let sign = text.as_bytes()[at];
        at += 1;
        match sign {
            b'"' => {
                let string = string(text, at)?;
                at += string.len() + 1;
                if text[at..].trim_start().starts_with(':') {
                    is_known = KEYS.contains(&string);
                    knows_any |= is_known;
                } else if holds_entries {
                    let item = Item::parse(string)
                        .map_err(|why| problem(text, string, format!("{}: {why}", shown(string))))?;
                    list.push(item);
                }
                continue;
            }
            b'{' => open.push(Open::Object),
            b'[' => open.push(Open::Array(holds_entries || open.is_empty())),
            b'}' | b']' => {
                open.pop();
            }
            _ => {}
        }
        is_known = false;
    }
    let is_empty = || text.chars().all(|sign| sign.is_whitespace() || "{}[],".contains(sign));
    if list.entries == 0 && !knows_any && !is_empty() {
        let message = "no key in it names an address, and it is no array of texts";
        return Err(problem(text, text, message).help(format!("keys that do are {}", KEYS.join(", "))));
    }
    Ok(list)
}

/// The string that begins here, as it stands there.
fn string(text: &str, first: usize) -> Result<&str, Problem> {
    let mut escaped = false;
    let len = text.as_bytes()[first..].iter().position(|&byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    match len {
        Some(len) => Ok(&text[first..first + len]),
        None => Err(problem(text, &text[first - 1..], "the string does not end")),
    }
}
