//! An output: a file, standard output or any `Write`, filled in large blocks.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use super::{Encoder, Target};
use crate::batch::Batch;
use crate::error::{Error, ErrorKind};

/// Bytes collected before they are written: enough that a `write` costs nothing beside its copy, few enough that
/// the buffer does not push the window and the packets out of the cache.
const BUFFER_LEN: usize = 128 << 10;

/// Writes selected packets in the format of the first batch it is given.
///
/// Call [`Writer::finish`] at the end: dropping a writer writes what it holds too, but cannot report a failure.
pub struct Writer<W: Write> {
    sink: W,
    name: Arc<str>,
    encoder: Option<Encoder>,
    /// Whole records that wait to be written.
    buffer: Vec<u8>,
}

impl Writer<File> {
    /// Creates a file, or empties the one that is there.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn create(path: impl AsRef<Path>) -> Result<Writer<File>, Error> {
        let path = path.as_ref();
        let name = path.to_string_lossy();
        let file =
            File::create(path).map_err(|e| Error::new(ErrorKind::Write(e)).of(&name[..].into(), false))?;
        Ok(Writer::new(file, &name))
    }

    /// Writes to standard output, past the line buffer that `std` puts before it.
    ///
    /// # Errors
    /// If standard output is closed.
    #[cfg(unix)]
    pub fn stdout() -> Result<Writer<File>, Error> {
        use std::os::fd::AsFd;
        let name = "standard output";
        let file = io::stdout()
            .as_fd()
            .try_clone_to_owned()
            .map_err(|e| Error::new(ErrorKind::Write(e)).of(&name.into(), false))?;
        Ok(Writer::new(File::from(file), name))
    }
}

impl<W: Write> Writer<W> {
    /// Writes to any sink; `name` names it in errors.
    pub fn new(sink: W, name: &str) -> Writer<W> {
        Writer { sink, name: name.into(), encoder: None, buffer: Vec::with_capacity(BUFFER_LEN * 2) }
    }

    /// Writes the packets of a batch with these indices, which must rise.
    ///
    /// Give it every batch, also those nothing is selected from: the first one decides the format, and batches
    /// of pcapng carry the blocks around the packets.
    ///
    /// # Errors
    /// If the system refuses, or a packet does not fit the output's format.
    ///
    /// # Panics
    /// If an index is beyond the batch.
    pub fn write(
        &mut self,
        batch: &Batch<'_>,
        selected: impl IntoIterator<Item = usize>,
    ) -> Result<(), Error> {
        if self.encoder.is_none() {
            self.begin(Target::like(batch.format()));
        }
        let Some(encoder) = &self.encoder else { return Ok(()) };
        encoder.encode(batch, selected, &mut self.buffer)?;
        if self.buffer.len() >= BUFFER_LEN { self.flush_buffer() } else { Ok(()) }
    }

    /// Fixes the format and writes the file header, where the first batch is not to decide it.
    ///
    /// Does nothing once the format is fixed.
    pub fn begin(&mut self, target: Target) {
        if self.encoder.is_none() {
            self.buffer.extend(target.file_header());
            self.encoder = Some(Encoder::new(target));
        }
    }

    /// Appends what an [`Encoder`] for the same target has made, perhaps in another thread.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn write_encoded(&mut self, records: &[u8]) -> Result<(), Error> {
        if records.len() >= BUFFER_LEN {
            self.flush_buffer()?;
            return self.sink.write_all(records).map_err(|e| self.failed(e));
        }
        self.buffer.extend_from_slice(records);
        if self.buffer.len() >= BUFFER_LEN { self.flush_buffer() } else { Ok(()) }
    }

    /// Hands everything collected to the system: for a reader that waits at the other end of a pipe.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.flush_buffer()?;
        self.sink.flush().map_err(|e| self.failed(e))
    }

    /// Writes the rest and gives the sink back.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn finish(mut self) -> Result<(), Error> {
        self.flush()
    }

    /// The name of the output.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    fn flush_buffer(&mut self) -> Result<(), Error> {
        let written = self.sink.write_all(&self.buffer);
        // Also after a failure: half of it may be out, and writing it again would tear the file.
        self.buffer.clear();
        written.map_err(|e| self.failed(e))
    }

    fn failed(&self, error: io::Error) -> Error {
        Error::new(ErrorKind::Write(error)).of(&self.name, false)
    }
}

impl<W: Write> Drop for Writer<W> {
    fn drop(&mut self) {
        let _ = self.flush();
    }
}

impl<W: Write> std::fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer")
            .field("name", &self.name)
            .field("encoder", &self.encoder)
            .finish_non_exhaustive()
    }
}
