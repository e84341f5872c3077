//! Many inputs as one, opened one after the other.
//!
//! An error ends its input, not the stream. Batches never span inputs. Reading several at a time is the caller's business: `sluss filter` runs
//! a reader per thread.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::vec;

use crate::batch::Batch;
use crate::error::Error;
use crate::inputs::Input;
use crate::reader::Reader;

/// Reads inputs one after the other, opening each when its turn comes.
///
/// An error ends the input it happened in, not the stream: the next call goes on with the next input, so that
/// one damaged file among a thousand costs what is damaged and nothing else.
///
/// ```no_run
/// use capture::{Stream, expand};
///
/// # fn show() -> Result<(), capture::Error> {
/// let mut stream = Stream::new(expand(["captures", "*.pcap.gz"])?.inputs);
/// let mut packets = 0;
/// loop {
///     match stream.next_batch() {
///         Ok(Some(batch)) => packets += batch.len(),
///         Ok(None) => break,
///         Err(error) => eprintln!("{error}"),
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Stream {
    waiting: vec::IntoIter<Input>,
    current: Option<Reader>,
    stop: Option<Arc<AtomicBool>>,
}

impl Stream {
    /// A stream of these inputs.
    #[must_use]
    pub fn new(inputs: Vec<Input>) -> Stream {
        Stream { waiting: inputs.into_iter(), current: None, stop: None }
    }

    /// As [`Reader::stop_when`], for the inputs that are still to be opened.
    pub fn stop_when(&mut self, flag: Arc<AtomicBool>) {
        self.stop = Some(flag);
    }

    /// The next packets of whichever input is being read, or `None` after the last.
    ///
    /// # Errors
    /// If an input cannot be opened or is damaged.
    pub fn next_batch(&mut self) -> Result<Option<Batch<'_>>, Error> {
        if !self.advance()? {
            return Ok(None);
        }
        Ok(self.current.as_ref().map(Reader::batch))
    }

    /// The reader of the input that is being read.
    #[must_use]
    pub fn reader(&self) -> Option<&Reader> {
        self.current.as_ref()
    }

    /// Moves to the next batch, over the ends of inputs; `false` after the last.
    fn advance(&mut self) -> Result<bool, Error> {
        loop {
            if let Some(reader) = &mut self.current {
                if reader.advance()? {
                    return Ok(true);
                }
                self.current = None;
            }
            match self.waiting.next() {
                Some(input) => {
                    let mut reader = input.open()?;
                    if let Some(flag) = &self.stop {
                        reader.stop_when(flag.clone());
                    }
                    self.current = Some(reader);
                }
                None => return Ok(false),
            }
        }
    }
}
