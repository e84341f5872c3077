//! Rules of other firewalls as a program of pfmatch, whose handlers are the verdicts `accept`, `drop` and `reject`.
//!
//! ```text
//! iptables-save ─┐
//! nft ruleset ───┼─► chains of rules, each a test and what it leads to ─► clauses, chains followed ─► text of a program
//! ipset save ────┤        (`chains`; tests are text of pflang)
//! ClassBench ────┘
//! ```
//! What is imported decides about each packet as the rules do. What cannot be expressed is a [`Problem`] with its line; nothing is left out silently.
//!
//! What a packet does not tell is an input of the program: `ct_state`, the state of its connection as the kernel's bits (1 invalid, 2 established,
//! 4 related, 8 new, 64 untracked); `iif` and `oif`, a bit for each interface that the rules name; `mark`.
//!
//! Absent: NAT, marks that rules set, rate limits, and all else that changes packets or remembers them.

mod chains;
mod classbench;
mod express;
mod ipset;
mod iptables;
mod names;
mod nft;
mod prefixes;
mod test;

use chains::Ruleset;
use std::fmt;

/// A line that was not taken, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Which of the sources, from 0.
    pub source: usize,
    /// The line, from 1.
    pub line: usize,
    /// The line itself, without blanks around it.
    pub text: String,
    /// Why it was not taken.
    pub reason: String,
}

/// What rules are written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// iptables-save and ip6tables-save.
    Iptables,
    /// `nft list ruleset`.
    Nft,
    /// `ipset save`.
    Ipset,
    /// ClassBench's lists.
    Classbench,
}

impl Format {
    /// The format of a text, by the first line that says something.
    ///
    /// ```
    /// use wall::import::Format;
    /// assert_eq!(Format::of("# a comment\n*filter\n"), Some(Format::Iptables));
    /// assert_eq!(Format::of("hello"), None);
    /// ```
    #[must_use]
    pub fn of(text: &str) -> Option<Format> {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let first = lines.next()?;
        match first.split_ascii_whitespace().next()? {
            "table" => Some(Format::Nft),
            "create" | "add" => Some(Format::Ipset),
            "-A" | "-P" | "-N" => Some(Format::Iptables),
            word if word.starts_with('*') || word.starts_with('[') => Some(Format::Iptables),
            word if word.starts_with('@') => Some(Format::Classbench),
            _ => None,
        }
    }
}

/// Which rules of a text are wanted.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// The table; by default `filter`, or the only one with a base chain.
    pub table: Option<String>,
    /// The base chain; by default the only one with rules.
    pub chain: Option<String>,
}

/// What was imported.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    /// The program; what had problems is left out of it.
    pub program: String,
    /// Rules that the program was made of.
    pub rules: usize,
    /// What was not taken.
    pub problems: Vec<Problem>,
}

/// Why nothing was imported.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImportError {
    /// A text that is none of the formats: which of the sources.
    Unknown(usize),
    /// No chain, or several: those that there are.
    Chain(Vec<String>),
    /// A chain or a table that was named, and the chains that there are.
    NoSuch(String, Vec<String>),
    /// Chains that lead to each other, or to one that is not there.
    Loop(String),
    /// Following all chains gives more clauses than a program may have.
    TooLarge,
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImportError::Unknown(_) => f.write_str(
                "these are no rules of iptables-save, `nft list ruleset`, `ipset save` or ClassBench",
            ),
            ImportError::Chain(chains) if chains.is_empty() => f.write_str("there is no base chain in it"),
            ImportError::Chain(chains) => write!(f, "which chain? there are {}", chains.join(", ")),
            ImportError::NoSuch(what, chains) => {
                let are = wire::plural::choose(chains.len() as u64, "is", "are");
                write!(f, "there is no {what}; there {are} {}", chains.join(", "))
            }
            ImportError::Loop(chain) => write!(f, "chain {chain}: it leads back to itself, or is not there"),
            ImportError::TooLarge => {
                write!(f, "with all chains followed, there are more than {} clauses", chains::CLAUSES_MAX)
            }
        }
    }
}

impl std::error::Error for ImportError {}

/// Imports rules; sets of ipset may be in a source of their own.
///
/// # Errors
/// See [`ImportError`]. Lines that cannot be expressed are no error: see [`Imported::problems`].
///
/// ```
/// let rules = "*filter\n:INPUT DROP [0:0]\n-A INPUT -p tcp --dport 22 -j ACCEPT\nCOMMIT\n";
/// let imported = wall::import::import(&[rules], &Default::default())?;
/// assert!(imported.program.contains("tcp dst port 22 => accept"), "{}", imported.program);
/// # Ok::<(), wall::import::ImportError>(())
/// ```
pub fn import(sources: &[&str], choice: &Choice) -> Result<Imported, ImportError> {
    let mut rules = Ruleset::default();
    let mut formats = Vec::new();
    for (source, text) in sources.iter().enumerate() {
        formats.push(Format::of(text).ok_or(ImportError::Unknown(source))?);
    }
    // Sets first: rules refer to them, whatever the order of the sources is.
    let each = |wanted: fn(Format) -> bool| {
        let all = formats.iter().zip(sources).enumerate();
        all.filter(move |&(_, (&format, _))| wanted(format)).map(|(i, (&format, &text))| (i, format, text))
    };
    for (source, _, text) in each(|format| format == Format::Ipset) {
        rules.source = source;
        ipset::read(text, &mut rules);
    }
    if formats.iter().all(|&format| format == Format::Ipset) {
        rules.chain_of_sets();
    }
    for (source, format, text) in each(|format| format != Format::Ipset) {
        rules.source = source;
        match format {
            Format::Iptables => iptables::read(text, &mut rules),
            Format::Nft => nft::read(text, &mut rules),
            Format::Classbench => classbench::read(text, &mut rules),
            Format::Ipset => {}
        }
    }
    rules.into_program(choice)
}
