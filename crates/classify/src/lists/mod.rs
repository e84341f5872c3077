//! Lists of addresses, ports and pairs, in the forms in which they are published: text in, entries out.
//!
//! | form | known by |
//! |---|---|
//! | plain: an entry a line, `#` or `;` before a comment (netset files of FireHOL, Spamhaus DROP, AbuseIPDB's text) | anything else |
//! | `ipset save` | lines that begin with `create` or `add` |
//! | nftables: sets and maps of a ruleset, `add element`, `define` | `table`, `set`, `map`, `add element`, `define` at the start |
//! | CSV with a header that names a column `ip`, `ipaddress`, `cidr` or `network` | that header |
//! | JSON, one document or one a line (Spamhaus DROP, AbuseIPDB) | `{` or `[` at the start |
//!
//! Databases of MaxMind's format are no text: [`read_database`].
//!
//! An entry is an address, a prefix or a range; a port or a range of ports; a MAC address; or an address, prefix or range with a port. In a plain
//! list a word behind an address is its value, which makes the list a map.
//!
//! Absent: files, names of hosts, the language of filters.

mod changes;
mod ipset;
mod item;
mod json;
mod mmdb;
mod nft;
mod plain;
mod write;

use crate::set::{AddressMap, AddressSpans, Limit, TooLarge};
use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use table::interval::NONE;

pub use changes::{Change, ChangedLists, Refused};
pub use item::Item;
pub use mmdb::{file_of, is_database, read_database, text_of};
pub use write::joined;

/// In which form a list is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// An entry a line.
    Plain,
    /// `ipset save`.
    Ipset,
    /// nftables.
    Nft,
    /// Columns.
    Csv,
    /// JSON.
    Json,
    /// A database of MaxMind's format.
    Mmdb,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Plain => "a plain list",
            Format::Ipset => "ipset's",
            Format::Nft => "nftables'",
            Format::Csv => "CSV",
            Format::Json => "JSON",
            Format::Mmdb => "a database of MaxMind's format",
        })
    }
}

/// What is wrong with a list, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1 on.
    pub line: usize,
    /// The character in it, from 1 on.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { line, column, message, .. } = self;
        write!(f, "line {line}, column {column}: {message}")
    }
}

impl std::error::Error for Problem {}

/// A list as it was read.
///
/// ```
/// let list = classify::lists::read("# bad\n10.0.0.0/8\n192.0.2.1 - 192.0.2.9\n2001:db8::/32\n", None)?;
/// assert_eq!((list.addresses.v4.len(), list.addresses.v6.len()), (2, 1));
///
/// let problem = classify::lists::read("10.0.0.1\n10.0.0.256\n", None).unwrap_err();
/// assert_eq!((problem.line, problem.column), (2, 1));
/// # Ok::<(), classify::lists::Problem>(())
/// ```
#[derive(Clone, Debug)]
pub struct List {
    /// The form that it has.
    pub format: Format,
    /// The name that it gives the set, where it gives one.
    pub name: Option<String>,
    /// Entries read, of all kinds.
    pub entries: usize,
    /// Addresses, prefixes and ranges, as they came.
    pub addresses: AddressSpans,
    /// Ports and ranges of ports.
    pub ports: Vec<(u16, u16)>,
    /// MAC addresses, in the lower 48 bits.
    pub macs: Vec<u64>,
    /// IPv4 addresses, first and last, with ports, first and last.
    pub pairs4: Vec<(u32, u32, u16, u16)>,
    /// The same of IPv6.
    pub pairs6: Vec<(u128, u128, u16, u16)>,
    /// Addresses with values: first and last, and which value.
    pub values4: Vec<(u32, u32, u32)>,
    /// The same of IPv6.
    pub values6: Vec<(u128, u128, u32)>,
    /// The values, each once, by their number in the entries.
    pub names: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl List {
    fn new(format: Format) -> Self {
        List {
            format,
            name: None,
            entries: 0,
            addresses: AddressSpans::default(),
            ports: Vec::new(),
            macs: Vec::new(),
            pairs4: Vec::new(),
            pairs6: Vec::new(),
            values4: Vec::new(),
            values6: Vec::new(),
            names: Vec::new(),
            numbers: HashMap::new(),
        }
    }

    /// Whether entries have values.
    #[must_use]
    pub fn is_map(&self) -> bool {
        !self.values4.is_empty() || !self.values6.is_empty()
    }

    fn push(&mut self, item: Item) {
        self.entries += 1;
        match item {
            Item::V4(low, high) => self.addresses.v4.push((low, high)),
            Item::V6(low, high) => self.addresses.v6.push((low, high)),
            Item::Port(low, high) => self.ports.push((low, high)),
            Item::Mac(mac) => self.macs.push(mac),
            Item::Pair4(low, high, first, last) => self.pairs4.push((low, high, first, last)),
            Item::Pair6(low, high, first, last) => self.pairs6.push((low, high, first, last)),
        }
    }

    /// An entry with a value; of anything but addresses, the value is not kept.
    fn push_value(&mut self, item: Item, value: &str) {
        let next = self.names.len() as u32;
        match item {
            Item::V4(low, high) => {
                let number = self.number(value, next);
                self.values4.push((low, high, number));
            }
            Item::V6(low, high) => {
                let number = self.number(value, next);
                self.values6.push((low, high, number));
            }
            _ => {}
        }
        self.push(item);
    }

    fn number(&mut self, value: &str, next: u32) -> u32 {
        debug_assert!(next < NONE, "fewer values than bytes of text");
        if let Some(&number) = self.numbers.get(value) {
            return number;
        }
        self.numbers.insert(value.to_owned(), next);
        self.names.push(value.to_owned());
        next
    }

    /// The map of its entries with values: of two that hold an address the narrower decides, of two that are equally wide the later.
    ///
    /// # Errors
    /// [`TooLarge`].
    pub fn map(&self, limit: Limit) -> Result<AddressMap, TooLarge> {
        let mut v4 = self.values4.clone();
        v4.reverse();
        v4.sort_by_key(|&(low, high, _)| high - low);
        let mut v6 = self.values6.clone();
        v6.reverse();
        v6.sort_by_key(|&(low, high, _)| high - low);
        AddressMap::first_match(&v4, &v6, limit)
    }

    /// The addresses without those that exceptions take out. As in ipset, the narrower of two entries decides, so what is held by an
    /// entry within an exception stays.
    fn take_out(&mut self, except: &AddressSpans) {
        fn cut<K: table::interval::Key>(
            spans: &mut Vec<(K, K)>,
            except: &[(K, K)],
            width: impl Fn(&(K, K)) -> u128,
        ) {
            if except.is_empty() {
                return;
            }
            let mut entries: Vec<(K, K, u32)> = except.iter().map(|&(low, high)| (low, high, 0)).collect();
            entries.extend(spans.iter().map(|&(low, high)| (low, high, 1)));
            entries.sort_by_key(|&(low, high, is_in)| (width(&(low, high)), is_in));
            let pieces = table::interval::Pieces::first_match(&entries);
            spans.clear();
            let starts = std::iter::once(K::least()).chain(pieces.starts.iter().copied());
            let ends = pieces.starts.iter().map(|start| start.below()).chain([Some(K::largest())]);
            for ((start, end), value) in starts.zip(ends).zip(&pieces.values) {
                if let (Some(end), 1) = (end, value) {
                    spans.push((start, end));
                }
            }
        }
        cut(&mut self.addresses.v4, &except.v4, |&(low, high)| u128::from(high - low));
        cut(&mut self.addresses.v6, &except.v6, |&(low, high)| high - low);
    }
}

/// Reads a list in whichever form it has. Where it holds several sets, `name` says which.
///
/// # Errors
/// The first thing that is wrong.
pub fn read(text: &str, name: Option<&str>) -> Result<List, Problem> {
    // Editors of some systems begin a text with a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match format_of(text) {
        Format::Ipset => ipset::read(text, name),
        Format::Nft => nft::read(text, name),
        Format::Json => json::read(text),
        Format::Csv => plain::read_csv(text),
        // A database is no text.
        Format::Plain | Format::Mmdb => plain::read(text),
    }
}

/// The form that a text has, by its first line that is no comment.
#[must_use]
pub fn format_of(text: &str) -> Format {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';']));
    let Some(first) = lines.into_iter().next() else { return Format::Plain };
    let word = first.split([' ', '\t', '{']).next().unwrap_or("");
    match word {
        "add" | "create" if first.split_ascii_whitespace().nth(1) == Some("element") => Format::Nft,
        "add" | "create" | "-N" | "-A" => Format::Ipset,
        "table" | "set" | "map" | "define" | "elements" | "flush" | "destroy" | "delete" => Format::Nft,
        _ if first.starts_with(['{', '[']) && !first.starts_with("[:") => Format::Json,
        _ if plain::csv_column(first).is_some() => Format::Csv,
        _ => Format::Plain,
    }
}

/// An address, if that is all that the text is.
#[must_use]
pub fn address(text: &str) -> Option<IpAddr> {
    item::v4(text)
        .map(|address| std::net::Ipv4Addr::from_bits(address).into())
        .or_else(|| text.parse::<std::net::Ipv6Addr>().ok().map(IpAddr::V6))
}

/// A problem at a part of the text.
fn problem(text: &str, part: &str, message: impl Into<String>) -> Problem {
    // A part that stands elsewhere, such as a name that is not there, is told at the beginning.
    let at = (part.as_ptr() as usize).checked_sub(text.as_ptr() as usize);
    let before = at.and_then(|at| text.get(..at)).unwrap_or("");
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    Problem {
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        message: message.into(),
        help: None,
    }
}

impl Problem {
    fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// A part of a text that may be long, for a message.
fn shown(part: &str) -> String {
    let cut: String = part.chars().take(40).collect();
    let mark = if cut.len() < part.len() { "…" } else { "" };
    format!("`{}{mark}`", cut.escape_debug())
}

#[cfg(test)]
mod tests;
