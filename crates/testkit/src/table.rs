//! Cases of table tests, read from TOML.
//!
//! ```toml
//! linktype = "EN10MB"                  # for all tests of the file that name no other
//!
//! [[test]]
//! name     = "vlan-shifts-what-follows"
//! filter   = "vlan 10 and tcp port 80"
//! match    = ["eth / vlan(10) / ip4 / tcp(dport=80)"]
//! no_match = ["eth / ip4 / tcp(dport=80)", "eth / vlan(11) / ip4 / tcp(dport=80)"]
//!
//! [[test]]
//! name    = "gateway-is-refused"
//! filter  = "gateway snup"
//! error   = "PF005"                    # libpcap must reject it too
//! ```
//!
//! One packet may also stand as `packet = "…"` with `accept = true`. `libpcap = "differs"` excuses a test from the
//! comparison with libpcap; without a `dialect` its name must then stand in COMPAT.md. `dialect` is `default`, `strict`, `modern` or `tagged`;
//! `netmask` an IPv4 mask. A filter with an `error` has no packets.
//!
//! Each packet is a case: tests are counted in pairs of filter and packet.

use crate::linktype::{self, LinkType};
use crate::packet::Packet;
use std::collections::HashSet;
use std::net::Ipv4Addr;
use std::path::Path;
use std::{fmt, fs};
use toml::{Table, Value};

/// One filter and what is expected of it.
#[derive(Debug, Clone)]
pub struct Test {
    /// The file that it stands in, without folders.
    pub file: String,
    /// Its name: the symptom it is about.
    pub name: String,
    /// The expression.
    pub filter: String,
    /// What packets begin with.
    pub linktype: LinkType,
    /// The netmask, in host order, where one is known.
    pub netmask: Option<u32>,
    /// The dialect it is about.
    pub dialect: Dialect,
    /// Whether libpcap gives the same answers.
    pub same_as_libpcap: bool,
    /// What is expected.
    pub expected: Expected,
}

/// What is expected of a filter.
#[derive(Debug, Clone)]
pub enum Expected {
    /// An error with this code.
    Error(String),
    /// Answers for packets.
    Packets(Vec<Case>),
}

/// A packet and the answer.
#[derive(Debug, Clone)]
pub struct Case {
    /// The packet as written.
    pub line: String,
    /// The packet.
    pub packet: Packet,
    /// Whether the filter accepts it.
    pub accept: bool,
}

/// The dialects that tests can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// libpcap's meaning, with the extensions that mean nothing there.
    Default,
    /// libpcap and nothing else.
    Strict,
    /// What most people mean.
    Modern,
    /// libpcap's meaning, behind tags.
    Tagged,
}

/// The tables of the language: `testdata/pflang`.
///
/// # Panics
///
/// With every mistake in them.
pub fn tests() -> Vec<Test> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/pflang");
    load(&folder).unwrap_or_else(|problems| panic!("{problems}"))
}

impl Test {
    /// A compiler in its dialect, which knows the names of this machine.
    pub fn compiler(&self) -> pflang::Compiler {
        crate::names::compiler(self.linktype, self.netmask).dialect(match self.dialect {
            Dialect::Default => pflang::Dialect::default(),
            Dialect::Strict => pflang::Dialect::STRICT,
            Dialect::Modern => pflang::Dialect::MODERN,
            Dialect::Tagged => {
                let mut dialect = pflang::Dialect::default();
                dialect.tagged = true;
                dialect
            }
        })
    }

    /// How many cases the test holds: one for each packet, or one for the error.
    pub fn cases(&self) -> usize {
        match &self.expected {
            Expected::Error(_) => 1,
            Expected::Packets(cases) => cases.len(),
        }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({}): `{}`", self.file, self.name, self.linktype, self.filter)
    }
}

/// Reads every `*.toml` of a folder, by name.
///
/// # Errors
///
/// Every mistake in every file, one a line, each with the name of its test.
pub fn load(folder: &Path) -> Result<Vec<Test>, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ext| ext == "toml"));
    paths.sort();
    let (mut tests, mut problems, mut names) = (Vec::new(), Vec::new(), HashSet::new());
    for path in paths {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).map_err(|e| format!("{file}: {e}"))?;
        for test in parse(&file, &text)? {
            match test {
                Ok(test) if !names.insert(test.name.clone()) => {
                    problems.push(format!("{file}: a second test is called {}", test.name));
                }
                Ok(test) => tests.push(test),
                Err(problem) => problems.push(problem),
            }
        }
    }
    if problems.is_empty() { Ok(tests) } else { Err(problems.join("\n")) }
}

/// Reads the text of one file; every test is either read or told what is wrong with it.
fn parse(file: &str, text: &str) -> Result<Vec<Result<Test, String>>, String> {
    let table: Table = text.parse().map_err(|e| format!("{file}: {e}"))?;
    let default = match table.get("linktype") {
        None => linktype::ETHERNET,
        Some(value) => linktype(value).map_err(|e| format!("{file}: {e}"))?,
    };
    let tests = table.get("test").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    Ok(tests
        .iter()
        .map(|value| {
            let entry = value.as_table().ok_or_else(|| format!("{file}: a test is no table"))?;
            let name = entry.get("name").and_then(Value::as_str).unwrap_or("(no name)");
            test(file, default, entry).map_err(|e| format!("{file}: {name}: {e}"))
        })
        .collect())
}

const KEYS: &[&str] = &[
    "name", "filter", "linktype", "packet", "accept", "match", "no_match", "error", "libpcap", "dialect",
    "netmask",
];

fn test(file: &str, default: LinkType, entry: &Table) -> Result<Test, String> {
    if let Some(key) = entry.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(format!("unknown key `{key}` (there are {})", KEYS.join(", ")));
    }
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    let required =
        |key: &str| text(key).map(str::to_string).ok_or_else(|| format!("`{key}` is missing or no text"));
    Ok(Test {
        file: file.to_string(),
        name: required("name")?,
        filter: required("filter")?,
        linktype: entry.get("linktype").map_or(Ok(default), linktype)?,
        netmask: text("netmask").map(netmask).transpose()?,
        dialect: match text("dialect") {
            None | Some("default") => Dialect::Default,
            Some("strict") => Dialect::Strict,
            Some("modern") => Dialect::Modern,
            Some("tagged") => Dialect::Tagged,
            Some(other) => {
                return Err(format!("unknown dialect `{other}` (default, strict, modern, tagged)"));
            }
        },
        same_as_libpcap: match text("libpcap") {
            None | Some("same") => true,
            Some("differs") => false,
            Some(other) => return Err(format!("`libpcap` is `same` or `differs`, not `{other}`")),
        },
        expected: expected(entry)?,
    })
}

fn linktype(value: &Value) -> Result<LinkType, String> {
    let name = value.as_str().ok_or("`linktype` is no text")?;
    linktype::by_name(name).ok_or_else(|| format!("unknown link type `{name}`"))
}

fn netmask(text: &str) -> Result<u32, String> {
    text.parse::<Ipv4Addr>().map(u32::from).map_err(|_| format!("`{text}` is no netmask"))
}

fn expected(entry: &Table) -> Result<Expected, String> {
    let mut cases = Vec::new();
    for (key, accept) in [("match", true), ("no_match", false)] {
        for value in entry.get(key).and_then(Value::as_array).into_iter().flatten() {
            cases.push(case(value, accept)?);
        }
    }
    if let Some(value) = entry.get("packet") {
        let accept = entry.get("accept").and_then(Value::as_bool).ok_or("`packet` needs `accept`")?;
        cases.push(case(value, accept)?);
    }
    match entry.get("error").and_then(Value::as_str) {
        Some(code) if cases.is_empty() => Ok(Expected::Error(code.to_string())),
        Some(_) => Err("a filter with an error has no packets".into()),
        None if cases.is_empty() => Err("no packet and no error".into()),
        None => Ok(Expected::Packets(cases)),
    }
}

fn case(value: &Value, accept: bool) -> Result<Case, String> {
    let line = value.as_str().ok_or("a packet is no text")?.to_string();
    let packet = Packet::parse(&line).map_err(|e| format!("packet `{line}`: {e}"))?;
    Ok(Case { line, packet, accept })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str) -> Result<Test, String> {
        parse("t.toml", text)?.remove(0)
    }

    #[test]
    fn reads_both_forms() {
        let test =
            only("[[test]]\nname='n'\nfilter='ip'\nmatch=['eth / ip4']\nno_match=['eth', 'eth / arp']")
                .unwrap();
        assert_eq!((test.cases(), test.linktype), (3, linktype::ETHERNET));
        let test =
            only("linktype='RAW'\n[[test]]\nname='n'\nfilter='ip'\npacket='ip4'\naccept=true").unwrap();
        assert_eq!((test.cases(), test.linktype), (1, LinkType::RAW));
    }

    #[test]
    fn says_what_is_wrong() {
        let error = only("[[test]]\nname='n'\nfilter='ip'\nmach=['eth']").unwrap_err();
        assert!(error.starts_with("t.toml: n: unknown key `mach`"), "{error}");
        let error = only("[[test]]\nname='n'\nfilter='ip'\nmatch=['ethh']").unwrap_err();
        assert_eq!(error, "t.toml: n: packet `ethh`: unknown layer `ethh`: did you mean `eth`?");
    }
}
