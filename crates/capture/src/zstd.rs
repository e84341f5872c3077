//! zstd (RFC 8878): any number of frames, one block at a time.
//!
//! A call of the decoder that meets damage does not say how much it has decoded before. So each call gets no more than one block, or
//! the header of one, and what came from the blocks before is handed out; the damage is told with the next call.

use std::io::{self, BufRead, BufReader, Read};

use ::zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};

/// Enough of a frame for the decoder to say how much it needs next.
const FRAME_START_LEN: usize = 5;
const BLOCK_HEADER_LEN: usize = 3;

/// Decodes what a reader gives.
pub(crate) struct Zstd<R> {
    compressed: BufReader<R>,
    decoder: Decoder<'static>,
    /// Bytes that the decoder asks for: a block and the header of the next one, mostly; 0 between frames.
    wanted: usize,
    /// Whether the last call filled its output, so that more may wait in the decoder.
    is_full: bool,
    /// The error after the bytes that were handed out last.
    damage: Option<io::Error>,
}

impl<R: Read> Zstd<R> {
    /// Frames that need a history of more than 2 to the power of `window_log_max` bytes are damage.
    pub(crate) fn new(compressed: BufReader<R>, window_log_max: u32) -> io::Result<Zstd<R>> {
        let mut decoder = Decoder::new()?;
        decoder.set_parameter(DParameter::WindowLogMax(window_log_max))?;
        Ok(Zstd { compressed, decoder, wanted: 0, is_full: false, damage: None })
    }

    /// Decodes a block at most; returns how many bytes came, which may be none, or `None` at the end of the stream.
    fn step(&mut self, out: &mut [u8]) -> io::Result<Option<usize>> {
        let input = if self.is_full { &[] } else { self.compressed.fill_buf()? };
        if input.is_empty() && !self.is_full {
            return match self.wanted {
                0 => Ok(None),
                _ => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it ends early")),
            };
        }
        let most = match self.wanted {
            0 => FRAME_START_LEN,
            // Not with a block, which would be lost if the header behind it is damaged.
            wanted if wanted > BLOCK_HEADER_LEN => wanted - BLOCK_HEADER_LEN,
            wanted => wanted,
        };
        let mut from = InBuffer::around(&input[..input.len().min(most)]);
        let mut to = OutBuffer::around(out);
        self.wanted = self.decoder.run(&mut from, &mut to)?;
        self.is_full = to.pos() == to.capacity();
        let (taken, given) = (from.pos(), to.pos());
        self.compressed.consume(taken);
        Ok(Some(given))
    }
}

impl<R: Read> Read for Zstd<R> {
    /// Decodes blocks until `out` is full or more would have to be waited for.
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if let Some(damage) = self.damage.take() {
            return Err(damage);
        }
        let mut given = 0;
        while given < out.len() && (given == 0 || !self.compressed.buffer().is_empty()) {
            match self.step(&mut out[given..]) {
                Ok(Some(more)) => given += more,
                Ok(None) => break,
                Err(error) if given == 0 => return Err(error),
                Err(error) => {
                    self.damage = Some(error);
                    break;
                }
            }
        }
        Ok(given)
    }
}
