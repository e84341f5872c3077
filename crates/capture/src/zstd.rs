//! zstd (RFC 8878): any number of frames, one block at a time.
//!
//! A call of the decoder that meets damage does not say how much it has decoded before. So each call gets no more than one block, or
//! the header of one, and what came from the blocks before is handed out; the damage is told with the next call.

use std::io::{self, BufRead, Read};
use std::sync::{Mutex, PoisonError};

use ::zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};

use crate::growth::{self, BeforeGrowing};

/// Enough of a frame for the decoder to say how much it needs next.
const FRAME_START_LEN: usize = 5;
const BLOCK_HEADER_LEN: usize = 3;

/// Decodes what a reader gives.
pub(crate) struct Zstd<R> {
    compressed: R,
    /// Whether the compressed bytes that were read last are not all used.
    has_more: bool,
    decoder: Decoder<'static>,
    /// Bytes that the decoder asks for: a block and the header of the next one, mostly; 0 between frames.
    wanted: usize,
    /// Whether the last call filled its output within a frame, so that more may wait in the decoder. At the end of a frame nothing does,
    /// and a call without input would begin another.
    is_full: bool,
    /// The error after the bytes that were handed out last.
    damage: Option<io::Error>,
    before_growing: Option<BeforeGrowing>,
    /// Whether the decoder may have a large history, which goes to the next input that needs one.
    is_large: bool,
}

/// The last decoder that has had a large history, of inputs that take turns to have one. Freed by one thread and allocated by the next it
/// would be there once for each, since glibc keeps what a thread has freed.
static SPARE: Mutex<Option<Decoder<'static>>> = Mutex::new(None);

impl<R: BufRead> Zstd<R> {
    /// Frames that need a history of more than 2 to the power of `window_log_max` bytes are damage.
    pub(crate) fn new(
        compressed: R,
        window_log_max: u32,
        before_growing: Option<BeforeGrowing>,
    ) -> io::Result<Zstd<R>> {
        let mut decoder = Decoder::new()?;
        decoder.set_parameter(DParameter::WindowLogMax(window_log_max))?;
        Ok(Zstd {
            compressed,
            has_more: false,
            decoder,
            wanted: 0,
            is_full: false,
            damage: None,
            before_growing,
            is_large: false,
        })
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
            0 => {
                // Where the header of a frame is not all there, nobody knows.
                let is_large = history_len(input).is_none_or(|len| len > growth::HISTORY_MAX);
                if let Some(ask) = self.before_growing.as_ref().filter(|_| is_large) {
                    ask();
                    if !std::mem::replace(&mut self.is_large, true) {
                        take_spare(&mut self.decoder);
                    }
                }
                FRAME_START_LEN
            }
            // Not with a block, which would be lost if the header behind it is damaged.
            wanted if wanted > BLOCK_HEADER_LEN => wanted - BLOCK_HEADER_LEN,
            wanted => wanted,
        };
        let mut from = InBuffer::around(&input[..input.len().min(most)]);
        let mut to = OutBuffer::around(out);
        self.wanted = self.decoder.run(&mut from, &mut to)?;
        self.is_full = self.wanted != 0 && to.pos() == to.capacity();
        let (taken, given) = (from.pos(), to.pos());
        if !input.is_empty() {
            self.has_more = taken < input.len();
        }
        self.compressed.consume(taken);
        Ok(Some(given))
    }
}

/// Goes on with the decoder of an earlier input, between two frames.
fn take_spare(decoder: &mut Decoder<'static>) {
    let spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(mut spare) = spare
        && spare.reinit().is_ok()
    {
        *decoder = spare;
    }
}

impl<R> Drop for Zstd<R> {
    fn drop(&mut self) {
        if self.is_large
            && let Ok(small) = Decoder::new()
        {
            let spare = std::mem::replace(&mut self.decoder, small);
            *SPARE.lock().unwrap_or_else(PoisonError::into_inner) = Some(spare);
        }
    }
}

/// How much history a frame needs that begins here, if all of that is there (RFC 8878, 3.1.1.1).
fn history_len(frame: &[u8]) -> Option<u64> {
    const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
    if frame.get(..4)? != MAGIC {
        // One to be skipped, or damage.
        return Some(0);
    }
    let descriptor = *frame.get(4)?;
    let is_single_segment = descriptor & 0x20 != 0;
    if !is_single_segment {
        let window = *frame.get(5)?;
        let base = 1_u64 << (10 + (window >> 3));
        return Some(base + base / 8 * u64::from(window & 7));
    }
    // The history is the whole content, whose length follows the number of a dictionary.
    let content_at = 5 + [0, 1, 2, 4][usize::from(descriptor & 3)];
    let content_len = [1, 2, 4, 8][usize::from(descriptor >> 6)];
    let mut number = [0; 8];
    number[..content_len].copy_from_slice(frame.get(content_at..content_at + content_len)?);
    // Numbers of two bytes begin at 256.
    Some(u64::from_le_bytes(number) + if content_len == 2 { 256 } else { 0 })
}

impl<R: BufRead> Read for Zstd<R> {
    /// Decodes blocks until `out` is full or more would have to be waited for.
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if let Some(damage) = self.damage.take() {
            return Err(damage);
        }
        let mut given = 0;
        while given < out.len() && (given == 0 || self.has_more) {
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

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Write};

    use super::*;

    fn frame(content: &[u8], has_checksum: bool) -> Vec<u8> {
        let mut encoder = ::zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.include_checksum(has_checksum).unwrap();
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    /// Frames that are joined, with some to be skipped among them, whose ends fall before, at and behind those of what is read.
    #[test]
    fn the_end_of_a_frame_may_fall_anywhere() {
        const SKIPPED: &[u8] = &[0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9];
        let content: Vec<u8> = (0..90_u8).map(|i| i.wrapping_mul(i)).collect();
        for has_checksum in [false, true] {
            let frames: Vec<_> = content.chunks(30).map(|part| frame(part, has_checksum)).collect();
            let nothing = frame(&[], has_checksum);
            for (file, expected) in [
                (frame(&content, has_checksum), &content[..]),
                (frames.concat(), &content),
                (frames.join(SKIPPED), &content),
                (frames.join(&nothing[..]), &content),
                ([&frames[0], SKIPPED].concat(), &content[..30]),
                ([&frames[0], &nothing[..]].concat(), &content[..30]),
                ([SKIPPED, SKIPPED].concat(), &[]),
                (nothing.clone(), &[]),
            ] {
                for out_len in 1..=expected.len() + 1 {
                    for input_len in [1, 2, 3, 7, 30, file.len()] {
                        let compressed = BufReader::with_capacity(input_len, &file[..]);
                        let mut zstd = Zstd::new(compressed, 25, None).unwrap();
                        let (mut seen, mut out) = (vec![], vec![0; out_len]);
                        loop {
                            match zstd.read(&mut out).unwrap_or_else(|e| panic!("{out_len} {input_len}: {e}"))
                            {
                                0 => break,
                                given => seen.extend_from_slice(&out[..given]),
                            }
                        }
                        assert_eq!(seen, expected, "reads of {out_len} from {input_len}");
                        assert_eq!(zstd.read(&mut out).unwrap(), 0, "the end is no end");
                    }
                }
            }
        }
    }

    /// The decoder of one input goes to the next, in whatever state it was left.
    #[test]
    fn inputs_with_a_large_history_share_a_decoder() {
        use ::zstd::zstd_safe::CParameter;
        let content: Vec<u8> = (0..300_000_u32).map(|i| (i.wrapping_mul(i) >> 9) as u8).collect();
        let mut encoder = ::zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.set_parameter(CParameter::WindowLog(24)).unwrap();
        encoder.write_all(&content).unwrap();
        let sound = encoder.finish().unwrap();
        assert_eq!(history_len(&sound), Some(1 << 24));
        let mut damaged = sound.clone();
        let last = damaged.len() - 1;
        damaged[last] ^= 1;
        damaged[last / 2] ^= 1;
        for input in [&sound[..], &damaged, &sound, &sound[..sound.len() / 2], &sound, &sound[..8], &sound] {
            let mut seen = Vec::new();
            let ask: BeforeGrowing = std::sync::Arc::new(|| {});
            let compressed = BufReader::with_capacity(128 << 10, input);
            let result = Zstd::new(compressed, 25, Some(ask)).unwrap().read_to_end(&mut seen);
            assert_eq!(result.is_ok(), input == sound);
            assert!(seen.len() <= content.len() && (input != sound || seen == content));
            assert!(SPARE.lock().unwrap().is_some());
        }
    }

    #[test]
    fn frames_say_how_much_history_they_need() {
        let frame = |rest: &[u8]| [&[0x28, 0xb5, 0x2f, 0xfd], rest].concat();
        for (rest, expected) in [
            (&[0, 0x88][..], 1 << 27),
            (&[0, 0x01], 1024 + 128),
            (&[0x20, 200], 200),
            (&[0x60, 1, 2], 256 + 0x201),
            (&[0xa2, 9, 9, 1, 2, 3, 4], 0x0403_0201),
            (&[0xe3, 9, 9, 9, 9, 1, 2, 3, 4, 5, 6, 7, 8], 0x0807_0605_0403_0201),
        ] {
            assert_eq!(history_len(&frame(rest)), Some(expected), "{rest:?}");
            for len in 0..4 + rest.len() {
                assert_eq!(history_len(&frame(rest)[..len]), None, "{rest:?} cut to {len}");
            }
        }
        assert_eq!(history_len(&[0x50, 0x2a, 0x4d, 0x18]), Some(0));
    }
}
