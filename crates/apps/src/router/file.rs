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
use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use wire::Cidr;
use wire::ether::Mac;

/// The option that names the file.
const OPTION: &str = "routes_file";
/// So much of a file is read: a device has no end. A million routes of usual length have half as much.
const LEN_MAX: u64 = 128 << 20;
/// What a line is to be.
const EXPECTED: &str =
    "expected a prefix, a port and a hardware address, as in `10.0.0.0/8 inside 02:00:00:00:00:0a`";

/// A file of routes.
#[derive(Clone)]
pub struct RoutesFile {
    path: PathBuf,
    routes: Arc<OnceLock<Result<Box<[FileRoute]>, OptionError>>>,
}

/// A route, and the line it is on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FileRoute {
    line: usize,
    pub(super) prefix: Cidr,
    pub(super) port: Arc<str>,
    pub(super) next_hop: Mac,
}

impl RoutesFile {
    /// The file of this name. It is read when its routes are asked for.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        RoutesFile { path: path.into(), routes: Arc::default() }
    }

    /// The routes in it, in its order.
    ///
    /// # Errors
    /// When it cannot be read, or which line is wrong.
    pub(super) fn routes(&self) -> Result<&[FileRoute], OptionError> {
        let routes = self.routes.get_or_init(|| self.read().map(Vec::into_boxed_slice));
        routes.as_deref().map_err(OptionError::clone)
    }

    /// An error of a route in it.
    pub(super) fn error_at(&self, route: &FileRoute, message: impl fmt::Display) -> OptionError {
        self.error(route.line, message)
    }

    fn read(&self) -> Result<Vec<FileRoute>, OptionError> {
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

    fn parse(&self, text: &str) -> Result<Vec<FileRoute>, OptionError> {
        let mut routes = Vec::new();
        // Many routes, few ports.
        let mut ports = BTreeSet::new();
        for (line, text) in (1..).zip(text.lines()) {
            let words = text.split('#').next().unwrap_or_default();
            if words.trim().is_empty() {
                continue;
            }
            if routes.len() == ROUTES_MAX {
                return Err(self.error(line, format_args!("more than {ROUTES_MAX} routes")));
            }
            routes.push(self.route(line, words, &mut ports)?);
        }
        Ok(routes)
    }

    fn route(
        &self,
        line: usize,
        text: &str,
        ports: &mut BTreeSet<Arc<str>>,
    ) -> Result<FileRoute, OptionError> {
        let mut words = text.split_whitespace();
        let (Some(prefix), Some(port), Some(next_hop), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(self.error(line, format_args!("this is no route: {EXPECTED}")));
        };
        let prefix = prefix.parse().map_err(|error| self.error(line, error))?;
        let next_hop = next_hop.parse().map_err(|error| self.error(line, error))?;
        check_hop(next_hop).map_err(|error| self.error(line, error.message))?;
        let port = ports.get(port).cloned().unwrap_or_else(|| {
            let port: Arc<str> = port.into();
            ports.insert(Arc::clone(&port));
            port
        });
        Ok(FileRoute { line, prefix, port, next_hop })
    }

    fn error(&self, line: usize, message: impl fmt::Display) -> OptionError {
        OptionError::new(OPTION, format_args!("{}, line {line}: {message}", self.path.display()))
    }
}

impl PartialEq for RoutesFile {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path && self.routes() == other.routes()
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
