//! Lists in JSON: one document (AbuseIPDB), or one a line (Spamhaus DROP).
//!
//! Objects are not kept: the text is walked over string by string, and the value of each key that names an address is an entry.

use super::{Format, Item, List, Problem, problem, shown};

const KEYS: [&str; 5] = ["ipAddress", "cidr", "ip", "network", "prefix"];

pub(super) fn read(text: &str) -> Result<List, Problem> {
    let mut list = List::new(Format::Json);
    let mut strings = Strings { text, at: 0 };
    // The string before, if a colon followed it.
    let mut key = None;
    while let Some((string, is_key)) = strings.next()? {
        if key.is_some_and(|key| KEYS.contains(&key)) && !is_key {
            let item = Item::parse(string)
                .map_err(|why| problem(text, string, format!("{}: {why}", shown(string))))?;
            list.push(item);
        }
        key = is_key.then_some(string);
    }
    Ok(list)
}

struct Strings<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Strings<'t> {
    /// The next string as it stands there, and whether a colon follows.
    fn next(&mut self) -> Result<Option<(&'t str, bool)>, Problem> {
        let Some(open) = self.text[self.at..].find('"') else { return Ok(None) };
        let first = self.at + open + 1;
        let mut escaped = false;
        let behind = self.text.as_bytes()[first..].iter().position(|&byte| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        });
        let Some(len) = behind else {
            return Err(problem(self.text, &self.text[first - 1..], "the string does not end"));
        };
        self.at = first + len + 1;
        let is_key = self.text[self.at..].trim_start().starts_with(':');
        Ok(Some((&self.text[first..first + len], is_key)))
    }
}
