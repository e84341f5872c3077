//! Cases of pfmatch programs, read from TOML.
//!
//! ```toml
//! [[test]]
//! name    = "an-argument"
//! program = "match (mark) { tcp => a(ip[8], mark), otherwise => b }"
//! set     = { web = "tcp port 80" }        # what `$web` stands for
//! dialect = "modern"                       # else the default
//! cases   = [
//!     ["eth / ip4(ttl=3) / tcp", "a(3,7)", 7],      # packet, what is called, or `-`, the inputs in order
//!     ["eth / arp", "b", 7],
//! ]
//! pflua   = ["a(3,7)", "-"]                # what pflua calls otherwise, case by case
//! ```

pub mod random;

use crate::linktype::{self, LinkType};
use crate::packet::Packet;
use pflang::{Compiler, Dialect};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use toml::{Table, Value};

/// A program and what is expected of it.
#[derive(Debug, Clone)]
pub struct Test {
    /// The symptom it is about.
    pub name: String,
    /// The program.
    pub program: String,
    /// What packets begin with.
    pub linktype: LinkType,
    /// What names in it stand for.
    pub set: BTreeMap<String, String>,
    /// Whether it is about the modern dialect.
    pub is_modern: bool,
    /// What pflua calls, case by case, where that differs.
    pub pflua: Option<Vec<String>>,
    /// What is expected.
    pub cases: Vec<Case>,
}

/// A packet, and what is to be called for it.
#[derive(Debug, Clone)]
pub struct Case {
    /// The packet as written.
    pub line: String,
    /// The packet.
    pub packet: Packet,
    /// `handler(1,2)`, `handler`, or `-`.
    pub call: String,
    /// What the caller gives with it.
    pub inputs: Vec<u32>,
}

/// The tables of programs: `testdata/match`.
///
/// # Panics
///
/// With the first mistake in them.
pub fn tests() -> Vec<Test> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/match");
    load(&folder).unwrap_or_else(|problem| panic!("{problem}"))
}

impl Test {
    /// A compiler in its dialect, which knows what names stand for.
    pub fn compiler(&self) -> Compiler {
        let dialect = if self.is_modern { Dialect::MODERN } else { Dialect::default() };
        let compiler = Compiler::new(self.linktype).dialect(dialect);
        self.set.iter().fold(compiler, |compiler, (name, text)| compiler.substitute(name, text))
    }
}

/// Reads every `*.toml` of a folder, by name.
///
/// # Errors
///
/// The first mistake, with the name of its test.
pub fn load(folder: &Path) -> Result<Vec<Test>, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ext| ext == "toml"));
    paths.sort();
    let mut tests = Vec::new();
    for path in paths {
        let told = |problem: String| format!("{}: {problem}", path.display());
        let text = fs::read_to_string(&path).map_err(|e| told(e.to_string()))?;
        let table: Table = text.parse().map_err(|e| told(format!("{e}")))?;
        for value in table.get("test").and_then(Value::as_array).into_iter().flatten() {
            let entry = value.as_table().ok_or_else(|| told("a test is no table".into()))?;
            let name = entry.get("name").and_then(Value::as_str).unwrap_or("(no name)");
            tests.push(test(entry).map_err(|problem| told(format!("{name}: {problem}")))?);
        }
    }
    Ok(tests)
}

fn test(entry: &Table) -> Result<Test, String> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
    let set = entry.get("set").and_then(Value::as_table).into_iter().flatten();
    let set = set.map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()));
    let name = text("linktype").unwrap_or_else(|| "EN10MB".into());
    let cases = entry.get("cases").and_then(Value::as_array).ok_or("no cases")?;
    let calls = |values: &Vec<Value>| {
        let calls = values.iter().map(|value| value.as_str().map(str::to_owned));
        calls.collect::<Option<Vec<_>>>().filter(|calls| calls.len() == cases.len())
    };
    let pflua = entry
        .get("pflua")
        .map(|value| value.as_array().and_then(calls).ok_or("not a call of pflua for each case"));
    Ok(Test {
        pflua: pflua.transpose()?,
        name: text("name").ok_or("no name")?,
        program: text("program").ok_or("no program")?,
        linktype: linktype::by_name(&name).ok_or("no such link type")?,
        set: set.collect(),
        is_modern: text("dialect").as_deref() == Some("modern"),
        cases: cases.iter().map(case).collect::<Result<_, _>>()?,
    })
}

fn case(value: &Value) -> Result<Case, String> {
    let Some([Value::String(line), Value::String(call), inputs @ ..]) = value.as_array().map(Vec::as_slice)
    else {
        return Err(format!("{value:?} is no packet and call"));
    };
    let number = |value: &Value| value.as_integer().and_then(|number| u32::try_from(number).ok());
    let inputs = inputs.iter().map(|value| number(value).ok_or(format!("{value:?} is no number")));
    let packet = Packet::parse(line).map_err(|e| format!("packet `{line}`: {e}"))?;
    Ok(Case { line: line.clone(), packet, call: call.clone(), inputs: inputs.collect::<Result<_, _>>()? })
}
