//! A file of records, which is put aside when it is long.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file that is put aside as `FILE.1` when it has become long, and those before it one further.
pub(in crate::wall) struct EveFile {
    pub(super) path: PathBuf,
    file: File,
    /// What is not written yet.
    pending: Vec<u8>,
    bytes: u64,
    bytes_max: u64,
    files: u32,
}

impl EveFile {
    pub(super) fn open(path: &Path, bytes_max: u64, files: u32) -> io::Result<EveFile> {
        let file = appended(path)?;
        let bytes = file.metadata()?.len();
        Ok(EveFile { path: path.to_owned(), file, pending: Vec::new(), bytes, bytes_max, files })
    }

    pub(super) fn write(&mut self, line: &str) -> io::Result<()> {
        if self.bytes > 0 && self.bytes + line.len() as u64 > self.bytes_max {
            self.flush()?;
            self.put_aside()?;
        }
        self.pending.extend_from_slice(line.as_bytes());
        self.bytes += line.len() as u64;
        Ok(())
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
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
