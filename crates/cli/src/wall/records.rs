//! Records of a running wall: EVE JSON to a file that is put aside when it is long, and lines to the system log.

use crate::exit::Failure;
use crate::message::Message;
use crate::terminal::Terminal;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use wall::Syslog;
use wall::control::Control;
use wall::policy::Policy;
use wall::report;

/// Where records go.
pub(super) struct Records {
    eve: Option<EveFile>,
    syslog: Option<Syslog>,
    /// Lines that could not be written.
    lost: u64,
    has_told: bool,
}

impl Records {
    /// Opens what the policy names. It stays what it is when the policy changes.
    pub(super) fn open(policy: &Policy) -> Result<Records, Failure> {
        let records = &policy.settings().records;
        let open = |path: &PathBuf| {
            EveFile::open(path, records.eve_bytes_max, records.eve_files)
                .map_err(|error| Failure::writing(&path.display().to_string(), &error))
        };
        let eve = records.eve.as_ref().map(open).transpose()?;
        Ok(Records { eve, syslog: records.syslog.then(Syslog::new), lost: 0, has_told: false })
    }

    /// Writes what has happened since.
    pub(super) fn write(&mut self, control: &Control, terminal: &Terminal) {
        let (events, ended) = (control.take_events(), control.ledger().take_ended());
        if let Some(syslog) = &mut self.syslog {
            self.lost += events.iter().filter(|event| !syslog.tell(&event.line())).count() as u64;
        }
        let Some(eve) = &mut self.eve else { return };
        let events = events.iter().map(wall::control::Event::eve);
        let mut failed = None;
        for object in events.chain(ended.iter().map(report::eve)) {
            if let Err(error) = eve.write(&format!("{object}\n")) {
                self.lost += 1;
                failed = Some(error);
            }
        }
        let flushed = eve.flush();
        if let Some(error) = failed.or(flushed.err())
            && !std::mem::replace(&mut self.has_told, true)
        {
            let path = eve.path.display();
            terminal.tell(&Message::warning(format_args!(
                "records cannot be written to {path}: {error}; the wall goes on"
            )));
        }
    }

    /// Tells what was lost.
    pub(super) fn close(self, terminal: &Terminal) {
        if self.lost > 0 {
            terminal.tell(&Message::warning(format_args!("{} records were lost", self.lost)));
        }
    }
}

/// A file that is put aside as `FILE.1` when it has become long, and those before it one further.
struct EveFile {
    path: PathBuf,
    file: File,
    /// What is not written yet.
    pending: Vec<u8>,
    bytes: u64,
    bytes_max: u64,
    files: u32,
}

impl EveFile {
    fn open(path: &Path, bytes_max: u64, files: u32) -> io::Result<EveFile> {
        let file = appended(path)?;
        let bytes = file.metadata()?.len();
        Ok(EveFile { path: path.to_owned(), file, pending: Vec::new(), bytes, bytes_max, files })
    }

    fn write(&mut self, line: &str) -> io::Result<()> {
        if self.bytes > 0 && self.bytes + line.len() as u64 > self.bytes_max {
            self.flush()?;
            self.put_aside()?;
        }
        self.pending.extend_from_slice(line.as_bytes());
        self.bytes += line.len() as u64;
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let written = self.file.write_all(&self.pending);
        self.pending.clear();
        written
    }

    fn put_aside(&mut self) -> io::Result<()> {
        let aside = |number: u32| {
            let mut name = self.path.clone().into_os_string();
            name.push(format!(".{number}"));
            PathBuf::from(name)
        };
        match self.files {
            0 => self.file.set_len(0)?,
            files => {
                for number in (1..files).rev() {
                    match fs::rename(aside(number), aside(number + 1)) {
                        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                        _ => {}
                    }
                }
                fs::rename(&self.path, aside(1))?;
                self.file = appended(&self.path)?;
            }
        }
        self.bytes = 0;
        Ok(())
    }
}

fn appended(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_file_is_put_aside_and_old_ones_go() {
        let folder = std::env::temp_dir().join(format!("sluss-eve-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("eve.json");
        let mut eve = EveFile::open(&path, 10, 2).unwrap();
        for line in ["aaaaaa\n", "bbbbbb\n", "cccccc\n", "dddddd\n"] {
            eve.write(line).unwrap();
        }
        eve.flush().unwrap();
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
        assert_eq!(
            ["eve.json", "eve.json.1", "eve.json.2", "eve.json.3"].map(read),
            ["dddddd\n", "cccccc\n", "bbbbbb\n", ""]
        );
        // A file that is there is gone on with.
        let mut again = EveFile::open(&path, 100, 2).unwrap();
        again.write("e\n").unwrap();
        again.flush().unwrap();
        assert_eq!(read("eve.json"), "dddddd\ne\n");
        fs::remove_dir_all(&folder).unwrap();
    }
}
