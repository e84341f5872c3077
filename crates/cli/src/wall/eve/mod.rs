//! Where records of EVE JSON go: to a file, or to who listens on a Unix socket, as Suricata's `filetype: regular`, `unix_stream` and `unix_dgram`.

mod file;
mod socket;

use file::EveFile;
use socket::EveSocket;
use std::io;
use std::path::{Path, PathBuf};
use wall::policy::Records;

/// Where records are to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EveTo {
    File(PathBuf),
    Socket(Kind, PathBuf),
}

/// How a Unix socket takes records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// One after another, a line each.
    Stream,
    /// A datagram each.
    Datagram,
}

impl EveTo {
    /// What `FILE`, `unix:PATH` or `unix_dgram:PATH` means.
    pub(super) fn of(text: &Path) -> EveTo {
        let behind =
            |prefix: &str| text.to_str().and_then(|text| text.strip_prefix(prefix)).map(PathBuf::from);
        let stream = behind("unix:").or_else(|| behind("unix_stream:"));
        let socket = stream.map(|path| EveTo::Socket(Kind::Stream, path));
        let socket = socket.or_else(|| Some(EveTo::Socket(Kind::Datagram, behind("unix_dgram:")?)));
        socket.unwrap_or_else(|| EveTo::File(text.to_owned()))
    }

    /// The file, if it is one.
    pub(super) fn file(self) -> Option<PathBuf> {
        match self {
            EveTo::File(path) => Some(path),
            EveTo::Socket(..) => None,
        }
    }
}

/// Takes records.
pub(super) enum Eve {
    File(EveFile, u64),
    Socket(EveSocket),
}

impl Eve {
    pub(super) fn open(to: &EveTo, records: &Records) -> io::Result<Eve> {
        Ok(match to {
            EveTo::File(path) => Eve::File(EveFile::open(path, records.eve_bytes_max, records.eve_files)?, 0),
            EveTo::Socket(kind, path) => Eve::Socket(EveSocket::new(*kind, path)),
        })
    }

    pub(super) fn name(&self) -> String {
        match self {
            Eve::File(file, _) => file.path.display().to_string(),
            Eve::Socket(socket) => socket.name(),
        }
    }

    /// Writes lines, or keeps them for later. Returns why some were lost.
    pub(super) fn write(&mut self, lines: impl Iterator<Item = String>) -> Option<io::Error> {
        match self {
            Eve::File(file, lost) => {
                let mut failed = None;
                for line in lines {
                    if let Err(error) = file.write(&line) {
                        *lost += 1;
                        failed = Some(error);
                    }
                }
                failed.or(file.flush().err())
            }
            Eve::Socket(socket) => socket.write(lines),
        }
    }

    /// Returns how many records were lost.
    pub(super) fn close(&mut self) -> u64 {
        match self {
            Eve::File(_, lost) => *lost,
            Eve::Socket(socket) => socket.close(),
        }
    }
}
