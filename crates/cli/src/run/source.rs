//! The file of a graph: reading it, and noticing that it has changed.

use crate::blame::Blame;
use crate::escape::shown;
use crate::exit::Failure;
use crate::instances;
use crate::message::Message;
use graphfile::GraphFile;
use serde_json::json;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::string::FromUtf8Error;
use std::time::{Duration, Instant};

/// Where a graph comes from.
#[derive(Clone, Debug)]
pub(super) struct Source(PathBuf);

impl Source {
    /// The file of this name; `-` is standard input.
    pub(super) fn new(path: &Path) -> Self {
        Source(path.to_owned())
    }

    /// What it is called in messages.
    pub(super) fn name(&self) -> String {
        if self.is_stdin() { "standard input".to_owned() } else { self.0.display().to_string() }
    }

    /// What an instance is called that runs it, unless it is told otherwise.
    pub(super) fn instance_name(&self) -> String {
        instances::name_after(&self.0, "graph")
    }

    fn is_stdin(&self) -> bool {
        self.0.as_os_str() == "-"
    }

    /// Whether it is standard input, a FIFO or another pipe: nobody knows when another graph comes from there, if ever.
    pub(super) fn is_read_once(&self) -> bool {
        let is_pipe = |metadata: std::fs::Metadata| !metadata.is_file() && !metadata.is_dir();
        self.is_stdin() || std::fs::metadata(&self.0).is_ok_and(is_pipe)
    }

    /// The whole text.
    pub(super) fn read(&self) -> Result<String, Failure> {
        let refused = |error: io::Error| {
            let failure = Failure::world(format!("cannot read {}: {error}", self.name()));
            match error.kind() {
                io::ErrorKind::IsADirectory => failure.help("name the file of one graph"),
                _ => failure.if_missing(&self.0, &error),
            }
        };
        // One byte more than there may be: the reader of graphs says what is wrong with that.
        let limit = GraphFile::LEN_MAX as u64 + 1;
        let mut bytes = Vec::new();
        let read = if self.is_stdin() {
            io::stdin().lock().take(limit).read_to_end(&mut bytes)
        } else {
            File::open(&self.0).and_then(|file| file.take(limit).read_to_end(&mut bytes))
        };
        read.map_err(refused)?;
        match String::from_utf8(bytes) {
            Ok(text) => Ok(text),
            // A text that is cut may end within a character.
            Err(error) if error.as_bytes().len() as u64 == limit => {
                Ok(String::from_utf8_lossy(error.as_bytes()).into_owned())
            }
            Err(error) => Err(self.no_text(&error)),
        }
    }

    fn no_text(&self, error: &FromUtf8Error) -> Failure {
        let at = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(&error.as_bytes()[..at]);
        let line = before.rsplit('\n').next().unwrap_or_default();
        let message = format!("{} is not UTF-8 text: byte {at} is wrong", self.name());
        let help = "a graph is TOML; the app `pcap_reader` brings a capture into one, and `sluss filter` reads it without";
        let finding = json!({
            "code": "GR001", "severity": "error", "message": message, "span": { "start": at, "end": at },
            "label": null, "also": null, "help": help,
            "line": before.matches('\n').count() + 1, "column": line.chars().count() + 1,
            "app": null, "key": null, "detail": null,
        });
        let object = json!({ "v": 1, "type": "error", "graph": self.name(), "errors": [finding] });
        let message = Message::found(format!("error[GR001]: {}\nhelp: {help}", shown(&message)), object);
        Failure { message, blame: Blame::User }
    }

    /// Which version of the file there is; `None` if there is none that could change.
    pub(super) fn stamp(&self) -> Option<Stamp> {
        let metadata = std::fs::metadata(&self.0).ok().filter(std::fs::Metadata::is_file)?;
        let (mtime, ctime) = (metadata.mtime_nsec(), metadata.ctime_nsec());
        let times = [metadata.mtime(), mtime, metadata.ctime(), ctime];
        Some(Stamp { file: (metadata.dev(), metadata.ino()), len: metadata.len(), times })
    }
}

/// Tells one version of a file from another, also where an editor has put a new file in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    file: (u64, u64),
    len: u64,
    times: [i64; 4],
}

/// Notices that a file has changed.
#[derive(Debug)]
pub(super) struct Watch {
    source: Source,
    /// The version that was read last.
    known: Option<Stamp>,
    /// Another version, which may still be in the making.
    other: Option<Stamp>,
    next_look: Instant,
}

/// How often a file is looked at.
const EVERY: Duration = Duration::from_secs(1);
/// How long a file must stay as it is before it is read: whoever writes it may not be done.
const SETTLED: Duration = Duration::from_millis(100);

impl Watch {
    /// Watches for another version than `known`.
    pub(super) fn new(source: Source, known: Option<Stamp>) -> Self {
        // What was no file at first, such as a pipe, is read once.
        Watch { source, known, other: None, next_look: Instant::now() + SETTLED }
    }

    /// Whether there is a new version, whole as far as can be told.
    pub(super) fn has_changed(&mut self) -> bool {
        if self.known.is_none() || Instant::now() < self.next_look {
            return false;
        }
        // An editor may have taken the file away for a moment.
        let stamp = self.source.stamp().or(self.known);
        let settled = stamp == self.other;
        self.other = stamp.filter(|_| stamp != self.known);
        self.next_look = Instant::now() + if self.other.is_some() { SETTLED } else { EVERY };
        if settled && self.other.is_some() {
            self.known = self.other.take();
            return true;
        }
        false
    }

    /// How long until the file is looked at again, if it ever is.
    pub(super) fn until_next_look(&self) -> Option<Duration> {
        self.known.map(|_| self.next_look.saturating_duration_since(Instant::now()))
    }

    /// The file is about to be read, whatever it is.
    pub(super) fn is_read(&mut self) {
        self.known = self.source.stamp().or(self.known);
        self.other = None;
    }
}

#[cfg(test)]
mod tests {
    use super::Source;
    use std::path::Path;

    #[test]
    fn instances_are_called_after_their_files() {
        for (path, name) in [
            ("net.toml", "net"),
            ("/etc/sluss/a b.toml", "a-b"),
            ("-", "graph"),
            (".toml", "toml"),
            ("--x.y.toml", "x-y"),
            ("\u{e9}.toml", "graph"),
        ] {
            assert_eq!(Source::new(Path::new(path)).instance_name(), name, "{path}");
            assert!(engine::shm::runtime::is_instance_name(name));
        }
    }
}
