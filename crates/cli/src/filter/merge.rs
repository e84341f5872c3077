//! `--merge time`: several captures as one, in the order of their times.
//!
//! COMPAT: of several packets at one time mergecap takes that of the last file, and sluss of the first; else they are the same.
//!
//! ```text
//! a.pcap   1 4 5 3 9        the earliest of the packets that come next: 1 2 4 5 3 6 8 9
//! b.pcap   2 6 8            of several at one time that of the first input; disorder within a file stays
//! ```
//! All captures are open at once, each with the window of its reader. A batch of each is asked by the filters as a whole; its packets are then taken in
//! runs, up to the next packet of another capture.

use super::bits::WORDS;
use super::misfits::InterfaceNames;
use super::scan::{Bits, Chunk, Scanner};
use crate::exit::Failure;
use capture::Reader;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::Ordering;

/// What merging tells whoever asked for it.
pub(super) enum Event<'a> {
    /// A stretch is done.
    Chunk(&'a mut Chunk),
    /// Something is waited for that may not come soon.
    Waiting,
    /// A capture ends early.
    Failed(capture::Error),
}

/// A capture that is merged.
struct Source {
    reader: Reader,
    /// Which packets of its batch each filter has chosen.
    chosen: Vec<Bits>,
    /// How many packets of its batch were taken.
    taken: usize,
    /// How many packets came before its batch.
    before: u64,
    /// Bytes that were told of.
    consumed: u64,
    names: InterfaceNames,
}

impl Scanner<'_> {
    /// Reads captures to their ends, in the order of the times of their packets. Returns their readers.
    pub(super) fn merge(
        &mut self,
        readers: Vec<Reader>,
        mut tell: impl FnMut(Event<'_>) -> Result<(), Failure>,
    ) -> Result<Vec<Reader>, Failure> {
        let source = |reader| Source {
            reader,
            chosen: Vec::new(),
            taken: 0,
            before: 0,
            consumed: 0,
            names: InterfaceNames::default(),
        };
        let mut sources: Vec<Source> = readers.into_iter().map(source).collect();
        // The times of the packets that come next, and where they are.
        let mut next = BinaryHeap::new();
        for (i, source) in sources.iter_mut().enumerate() {
            next.extend(self.next_batch(i, source, &mut tell)?.map(|time| Reverse((time, i))));
        }
        while let Some(Reverse((_, i))) = next.pop() {
            if self.should_end() {
                break;
            }
            let source = &mut sources[i];
            let batch = source.reader.batch();
            let time = |at: usize| batch.timestamp_ns(&batch.packets()[at]);
            let other = next.peek().map(|Reverse(other)| *other);
            let is_next = |at: &usize| other.is_none_or(|other| (time(*at), i) < other);
            let end = (source.taken + 1..batch.len())
                .take_while(is_next)
                .last()
                .map_or(source.taken + 1, |at| at + 1);
            let run = source.taken..end;
            self.turn_to(i);
            let mut chosen: Vec<Bits> = source.chosen.iter().map(|bits| within(bits, &run)).collect();
            self.take(&batch, source.before, run.len(), &mut chosen)?;
            source.taken = end;
            let time = if end < batch.len() {
                Some(time(end))
            } else {
                source.before += batch.len() as u64;
                self.next_batch(i, source, &mut tell)?
            };
            next.extend(time.map(|time| Reverse((time, i))));
            if self.is_chunk_full() {
                self.hand_over(&mut |chunk| tell(Event::Chunk(chunk)))?;
            }
        }
        self.hand_over(&mut |chunk| tell(Event::Chunk(chunk)))?;
        Ok(sources.into_iter().map(|source| source.reader).collect())
    }

    /// Reads on to the next packets of a capture, and has the filters choose; the time of the first, if there is any.
    fn next_batch(
        &mut self,
        number: usize,
        source: &mut Source,
        tell: &mut impl FnMut(Event<'_>) -> Result<(), Failure>,
    ) -> Result<Option<i64>, Failure> {
        source.taken = 0;
        if source.reader.input_len().is_none() {
            self.hand_over(&mut |chunk| tell(Event::Chunk(chunk)))?;
            tell(Event::Waiting)?;
        }
        loop {
            if self.should_end() {
                return Ok(None);
            }
            let found = source.reader.next_batch();
            let batch = match found {
                Ok(Some(batch)) => batch,
                Ok(None) => return Ok(None),
                Err(error) => return tell(Event::Failed(error)).map(|()| None),
            };
            self.turn_to(number);
            self.look(&batch);
            if let Some(first) = batch.packets().first() {
                source.chosen = self.ask(&batch, &mut source.names)?;
                let time = batch.timestamp_ns(first);
                let consumed = source.reader.consumed();
                self.tally.bytes.fetch_add(consumed - source.consumed, Ordering::Relaxed);
                source.consumed = consumed;
                return Ok(Some(time));
            }
            source.names.look(&batch, self.fitting());
        }
    }
}

/// The bits of a run.
fn within(bits: &Bits, run: &std::ops::Range<usize>) -> Bits {
    let below = |word: usize, end: usize| match end.saturating_sub(64 * word) {
        64.. => u64::MAX,
        bits => (1 << bits) - 1,
    };
    let mut kept = [0; WORDS];
    for (word, kept) in kept.iter_mut().enumerate() {
        *kept = bits[word] & below(word, run.end) & !below(word, run.start);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_its_bits_alone() {
        for (start, end) in [(0, 1), (0, 256), (63, 64), (64, 65), (1, 200), (255, 256)] {
            let kept = within(&[u64::MAX; WORDS], &(start..end));
            assert_eq!(
                super::super::bits::set_bits(&kept).collect::<Vec<_>>(),
                (start..end).collect::<Vec<_>>()
            );
        }
    }
}
