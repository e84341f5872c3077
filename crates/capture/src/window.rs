//! A window that slides over a stream: records are parsed where they lie in it.
//!
//! ```text
//!  buf  |....consumed....|======available======|....free....|
//!       0               pos                   end          len
//!       ^ base: this byte's offset in the stream
//! ```
//! Of the first bytes some may never have been in the stream: unread bytes are put where they lie in a line of the
//! cache as they lie in the file, and each read asks for bytes up to the end of a page.
//!
//! PERF: `read`s into memory that stays in a cache beat a mapping, whose page faults cost more than the copy. The
//! less a window holds, the more often the kernel is called, and a batch ends where the window does.
//!
//! INVARIANT: bytes move only in [`Window::fill`], and it grows only as far as bytes have really arrived, so
//! that a length field alone never costs memory.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::compression::Compression;
use crate::growth::{self, BeforeGrowing};
use crate::source::ByteStream;

/// 32 pages to read, and one for a record that is there in part. Behind zstd it takes a whole block of 128 KiB.
///
/// PERF: CPU of `sluss filter 'tcp port 80'` on 2 million records of 78 bytes, by window, against 36 KiB (Zen 5, two series
/// of 61 and 41 rounds in turns): 68 KiB 0.93, 100 KiB 0.91, 132 KiB 0.90 and 0.91, 196 KiB 0.91. zstd input, against
/// 256 KiB (31 rounds each): 36 KiB 1.00, 132 KiB 0.97, 144 KiB 0.97.
const LEN: usize = 132 << 10;

/// Behind inflate, of which each call costs: it saves its 32 KiB of history every time.
///
/// PERF: milliseconds of CPU to inflate 179 MB, by window: 32 KiB 427, 128 KiB 340, 256 KiB 310, 1 MiB 300.
const INFLATED_LEN: usize = 256 << 10;

/// Bytes of a line of a cache, and of a page of the kernel's.
const LINE: usize = 64;
const PAGE: usize = 4096;

pub(crate) struct Window {
    stream: ByteStream,
    buf: Vec<u8>,
    pos: usize,
    end: usize,
    base: u64,
    at_end: bool,
    failure: Option<io::Error>,
    stop: Option<Arc<AtomicBool>>,
    before_growing: Option<BeforeGrowing>,
}

impl Window {
    /// A window over `head` followed by what `stream` gives, which the decoder of a compressed input gives.
    pub(crate) fn new(stream: ByteStream, head: &[u8], compression: Option<Compression>) -> Window {
        let mut buf = vec![0; if compression == Some(Compression::Gzip) { INFLATED_LEN } else { LEN }];
        buf[..head.len()].copy_from_slice(head);
        Window {
            stream,
            buf,
            pos: 0,
            end: head.len(),
            base: 0,
            at_end: false,
            failure: None,
            stop: None,
            before_growing: None,
        }
    }

    /// All bytes up to the last one that has arrived; the unread ones start at [`Window::pos`].
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buf[..self.end]
    }

    #[inline]
    pub(crate) fn pos(&self) -> usize {
        self.pos
    }

    /// Moves on to `pos`; what lies before stays in place until the next [`Window::fill`].
    pub(crate) fn advance_to(&mut self, pos: usize) {
        debug_assert!(self.pos <= pos && pos <= self.end);
        self.pos = pos;
    }

    pub(crate) fn available(&self) -> &[u8] {
        &self.buf[self.pos..self.end]
    }

    /// The place of the next unread byte in the stream.
    pub(crate) fn stream_pos(&self) -> u64 {
        self.base + self.pos as u64
    }

    /// The place of the first byte of [`Window::bytes`] in the stream.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// Reads until `need` unread bytes are there or the stream is over; returns how many there are.
    ///
    /// A read error ends the stream too: it is kept for [`Window::take_failure`], after the bytes before it.
    pub(crate) fn fill(&mut self, need: usize) -> usize {
        while self.end - self.pos < need && !self.at_end {
            self.make_room();
            let to = self.read_end();
            match self.stream.read(&mut self.buf[self.end..to]) {
                Ok(0) => self.at_end = true,
                Ok(got) => self.end += got,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => self.at_end = self.is_stopped(),
                Err(e) => {
                    self.failure = Some(e);
                    self.at_end = true;
                }
            }
        }
        self.end - self.pos
    }

    /// Ends the stream when a signal interrupts a read and this flag is set.
    pub(crate) fn stop_when(&mut self, flag: Arc<AtomicBool>) {
        self.stop = Some(flag);
    }

    /// Asks for leave to grow beyond what most inputs need.
    pub(crate) fn ask_before_growing(&mut self, ask: BeforeGrowing) {
        self.before_growing = Some(ask);
    }

    /// Whether the flag of [`Window::stop_when`] is set.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// Why the stream ended, if not by its own will.
    pub(crate) fn take_failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }

    /// Makes the free part non-empty: drops what is consumed, or doubles a buffer that one record has filled.
    fn make_room(&mut self) {
        let start = self.aligned_start();
        if self.pos > start {
            self.buf.copy_within(self.pos..self.end, start);
            self.base += (self.pos - start) as u64;
            self.end -= self.pos - start;
            self.pos = start;
        } else if self.end == self.buf.len() {
            let len = self.buf.len() * 2;
            if let Some(ask) = self.before_growing.as_ref().filter(|_| len > growth::WINDOW_MAX) {
                ask();
            }
            growth::reserve(&mut self.buf, len);
            self.buf.resize(len, 0);
        }
    }

    /// How many bytes of the buffer come before the unread ones, so that these lie as in the stream.
    fn aligned_start(&self) -> usize {
        let start = (self.stream_pos() as usize).wrapping_sub(self.buf.as_ptr().addr()) % LINE;
        if start as u64 > self.stream_pos() { 0 } else { start }
    }

    /// Where to read up to: a whole number of pages of the stream, if there is room for one.
    fn read_end(&self) -> usize {
        let over = (self.base as usize).wrapping_add(self.buf.len()) % PAGE;
        let to = self.buf.len() - over.min(self.buf.len());
        if to > self.end { to } else { self.buf.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// Gives one byte at a time.
    struct Drip(Vec<u8>);

    impl Read for Drip {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let Some(slot) = out.first_mut() else { return Ok(0) };
            if self.0.is_empty() {
                return Ok(0);
            }
            *slot = self.0.remove(0);
            Ok(1)
        }
    }

    #[test]
    fn slides_and_counts() {
        let mut w = Window::new(Box::new(Drip(vec![3, 4, 5])), &[1, 2], None);
        assert_eq!(w.fill(3), 3);
        assert_eq!(w.available(), [1, 2, 3]);
        w.advance_to(2);
        assert_eq!(w.stream_pos(), 2);
        assert_eq!(w.fill(9), 3);
        assert_eq!((w.available(), w.stream_pos()), (&[3, 4, 5][..], 2));
        assert_eq!(w.fill(9), 3);
    }

    /// Is interrupted again and again.
    struct Interrupted;

    impl Read for Interrupted {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::Interrupted.into())
        }
    }

    #[test]
    fn an_interruption_ends_a_stream_that_shall_stop() {
        let mut w = Window::new(Box::new(Interrupted), &[1], None);
        w.stop_when(Arc::new(AtomicBool::new(true)));
        assert_eq!(w.fill(2), 1);
        assert!(w.is_stopped() && w.take_failure().is_none());
    }

    /// Counts on, and notes what was asked for: how far a read may go, and where it is put.
    struct Asked {
        at: usize,
        reads: Arc<Mutex<Vec<(usize, usize)>>>,
    }

    impl Read for Asked {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            out.iter_mut().zip(self.at..).for_each(|(byte, at)| *byte = at as u8);
            self.at += out.len();
            self.reads.lock().unwrap().push((self.at, out.as_ptr().addr() + out.len()));
            Ok(out.len())
        }
    }

    #[test]
    fn reads_end_with_a_page_and_lie_in_lines_as_in_the_file() {
        let reads = Arc::default();
        let mut w = Window::new(Box::new(Asked { at: 6, reads: Arc::clone(&reads) }), &[0; 6], None);
        w.fill(7);
        for _ in 0..9 {
            w.advance_to(w.bytes().len() - 77);
            w.fill(78);
            let at = w.stream_pos() as u8;
            assert_eq!(w.available()[..2], [at, at.wrapping_add(1)]);
        }
        for (i, (at, address)) in reads.lock().unwrap().iter().enumerate() {
            assert_eq!(at % PAGE, 0, "read {i}");
            assert!(i == 0 || address % LINE == 0, "read {i}");
        }
    }

    #[test]
    fn grows_only_with_data() {
        let mut w = Window::new(Box::new(io::repeat(7).take(10)), &[], None);
        assert_eq!(w.fill(1 << 40), 10);
        assert_eq!(w.buf.len(), LEN);
        let mut w = Window::new(Box::new(io::repeat(7).take(3 * LEN as u64)), &[], None);
        assert_eq!(w.fill(3 * LEN), 3 * LEN);
    }
}
