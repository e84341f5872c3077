//! Routes in a file of their own, one a line, as many as no graph has room for.
//!
//! ```text
//! # prefix        port     next hop
//! 10.0.0.0/8      inside   02:00:00:00:00:0a
//! ::/0            outside  02:00:00:00:00:0b
//! ```
//!
//! The file is read once for the options that name it, before anything stops for them. Two options are equal if what was read is, so that
//! a graph that is loaded again brings the routes that are in the file by then.

use super::{ROUTES_MAX, check_hop};
use engine::OptionError;
use serde::{Deserialize, Deserializer};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::Read;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use wire::ether::Mac;
use wire::plural::counted;
use wire::{Cidr, ParseCidrError, ParseMacError};

/// The option that names the file.
const OPTION: &str = "routes_file";
/// So much of a file is read: a device has no end. A million routes of usual length have half as much.
const LEN_MAX: u64 = 128 << 20;
/// What a line is to be.
const EXPECTED: &str =
    "expected a prefix, a port and a hardware address, as in `10.0.0.0/8 inside 02:00:00:00:00:0a`";

/// Wrong lines that are told.
const TOLD_MAX: usize = 20;

/// A file of routes.
#[derive(Clone)]
pub struct RoutesFile {
    path: PathBuf,
    content: Arc<OnceLock<Result<Content, OptionError>>>,
}

/// What was read.
struct Content {
    routes: Vec<FileRoute>,
    /// The ports, each with the first line that names it. There are few.
    ports: BTreeMap<Arc<str>, usize>,
    /// Tells it from other contents: to compare a million routes takes longer than a router may stand still.
    digest: [u64; 2],
}

/// A route, and the line it is on.
#[derive(Clone, Debug, Hash)]
pub(super) struct FileRoute {
    line: usize,
    pub(super) prefix: Cidr,
    pub(super) port: Arc<str>,
    pub(super) next_hop: Mac,
}

impl RoutesFile {
    /// The file of this name. It is read when its routes are asked for.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        RoutesFile { path: path.into(), content: Arc::default() }
    }

    /// The routes in it, in its order.
    ///
    /// # Errors
    /// When it cannot be read, or which line is wrong.
    pub(super) fn routes(&self) -> Result<&[FileRoute], OptionError> {
        Ok(&self.content()?.routes)
    }

    fn content(&self) -> Result<&Content, OptionError> {
        self.content.get_or_init(|| self.read()).as_ref().map_err(OptionError::clone)
    }

    /// Checks that no two routes are for the same prefix, nor one for a prefix among these.
    ///
    /// # Errors
    /// Which lines have another route for a prefix.
    pub(super) fn check_unique(&self, others: &BTreeSet<Cidr>) -> Result<(), OptionError> {
        let mut by_prefix: Vec<(Cidr, usize)> =
            self.routes()?.iter().map(|route| (route.prefix, route.line)).collect();
        by_prefix.sort_unstable();
        let is_known = |at: usize| {
            let (prefix, _) = by_prefix[at];
            at > 0 && by_prefix[at - 1].0 == prefix || others.contains(&prefix)
        };
        let known = (0..by_prefix.len()).filter(|&at| is_known(at));
        let mut wrong: Vec<(usize, String)> =
            known.map(|at| (by_prefix[at].1, format!("another route for {}", by_prefix[at].0))).collect();
        wrong.sort_unstable();
        self.error_of(wrong).map_or(Ok(()), Err)
    }

    /// Checks that there is a link for every port.
    ///
    /// # Errors
    /// Which ports have none, and where they are named first.
    pub(super) fn check_ports(&self, is_unlinked: impl Fn(&str) -> bool) -> Result<(), OptionError> {
        let unlinked = self.content()?.ports.iter().filter(|(port, _)| is_unlinked(port));
        let mut wrong: Vec<(usize, String)> =
            unlinked.map(|(port, &line)| (line, format!("nothing is linked to port `{port}`"))).collect();
        wrong.sort_unstable();
        self.error_of(wrong).map_or(Ok(()), Err)
    }

    fn read(&self) -> Result<Content, OptionError> {
        let path = self.path.display();
        let mut bytes = Vec::new();
        File::open(&self.path)
            .and_then(|file| file.take(LEN_MAX + 1).read_to_end(&mut bytes))
            .map_err(|error| OptionError::refused(OPTION, format_args!("cannot read {path}: {error}")))?;
        if bytes.len() as u64 > LEN_MAX {
            return Err(OptionError::new(OPTION, format_args!("{path} has more than {LEN_MAX} bytes")));
        }
        // What is not UTF-8 is no route, and told as any other line that is none.
        self.parse(&String::from_utf8_lossy(&bytes))
    }

    fn parse(&self, text: &str) -> Result<Content, OptionError> {
        let mut routes = Vec::new();
        let mut ports = BTreeMap::new();
        let mut wrong = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            let words = text.split('#').next().unwrap_or_default();
            if words.trim().is_empty() {
                continue;
            }
            if routes.len() == ROUTES_MAX {
                wrong.push((line, format!("more than {ROUTES_MAX} routes")));
                break;
            }
            match route(line, words, &mut ports) {
                Ok(route) => routes.push(route),
                Err(message) => wrong.push((line, message)),
            }
        }
        match self.error_of(wrong) {
            Some(error) => Err(error),
            None => Ok(Content { digest: digest(&routes), routes, ports }),
        }
    }

    /// The error that some lines are wrong, if any are: the first by its message, others below it.
    fn error_of(&self, wrong: Vec<(usize, String)>) -> Option<OptionError> {
        let (count, path) = (wrong.len(), self.path.display());
        let mut told =
            wrong.into_iter().take(TOLD_MAX).map(|(line, what)| format!("{path}, line {line}: {what}"));
        let error = OptionError::new(OPTION, told.next()?);
        let mut more: Vec<String> = told.collect();
        if count > TOLD_MAX {
            more.push(format!("{} wrong, of which {TOLD_MAX} are told", counted(count as u64, "line")));
        }
        Some(if more.is_empty() { error } else { error.with_detail(more.join("\n")) })
    }
}

/// Reads a line. The texts of ports are shared.
fn route(line: usize, text: &str, ports: &mut BTreeMap<Arc<str>, usize>) -> Result<FileRoute, String> {
    let mut words = text.split_whitespace();
    let (Some(prefix), Some(port), Some(next_hop), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(format!("this is no route: {EXPECTED}"));
    };
    let prefix = prefix.parse().map_err(|error: ParseCidrError| error.to_string())?;
    let next_hop = next_hop.parse().map_err(|error: ParseMacError| error.to_string())?;
    check_hop(next_hop).map_err(|error| error.message)?;
    let port = match ports.get_key_value(port) {
        Some((known, _)) => Arc::clone(known),
        None => {
            let port: Arc<str> = port.into();
            ports.insert(Arc::clone(&port), line);
            port
        }
    };
    Ok(FileRoute { line, prefix, port, next_hop })
}

/// Two hashes under keys that are the process's own: 128 bits, so that no two files have the same.
fn digest(routes: &[FileRoute]) -> [u64; 2] {
    static KEYS: OnceLock<[RandomState; 2]> = OnceLock::new();
    KEYS.get_or_init(|| [RandomState::new(), RandomState::new()]).each_ref().map(|key| key.hash_one(routes))
}

impl PartialEq for RoutesFile {
    fn eq(&self, other: &Self) -> bool {
        let same_content = || match (self.content(), other.content()) {
            (Ok(one), Ok(two)) => one.digest == two.digest,
            (Err(one), Err(two)) => one == two,
            _ => false,
        };
        self.path == other.path && (Arc::ptr_eq(&self.content, &other.content) || same_content())
    }
}

/// Without the routes, which are many.
impl fmt::Debug for RoutesFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.path, f)
    }
}

impl<'de> Deserialize<'de> for RoutesFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        PathBuf::deserialize(deserializer).map(RoutesFile::new)
    }
}
