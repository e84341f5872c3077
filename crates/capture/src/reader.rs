//! One input, read from its first byte to its last.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use wire::LinkType;

use crate::batch::{Batch, PacketRef};
use crate::block_type;
use crate::compression::Compression;
use crate::error::{Error, ErrorKind};
use crate::found::{Found, Stop};
use crate::growth::BeforeGrowing;
use crate::order::ByteOrder;
use crate::pcap::{self, PcapHeader};
use crate::pcapng;
use crate::section::{Format, Section};
use crate::source::{self, ByteStream};
use crate::window::Window;

/// Reads one capture: pcap or pcapng, plain or compressed, from a file or any stream. Captures that `cat` joined are read one after the
/// other, of whichever formats they are.
///
/// After an error, which comes once everything before it has been handed out, the reader is at its end.
///
/// ```
/// # fn main() -> Result<(), capture::Error> {
/// # let bytes = capture::doc_example();
/// let mut reader = capture::Reader::new(std::io::Cursor::new(bytes), "example")?;
/// let mut total = 0;
/// while let Some(packet) = reader.next_packet()? {
///     total += packet.data.len();
/// }
/// assert_eq!(total, 64);
/// # Ok(())
/// # }
/// ```
pub struct Reader {
    window: Window,
    section: Section,
    found: Found,
    /// How many packets of `found` were taken by [`Reader::next_packet`].
    taken: usize,
    state: State,
    /// Whether `found` holds a batch that nobody has seen: [`Reader::first_linktype`] looked ahead.
    is_ahead: bool,
    input: Arc<str>,
    compression: Option<Compression>,
    consumed: Arc<AtomicU64>,
    input_len: Option<u64>,
}

enum State {
    /// Nothing has been handed out: even a capture without packets yields one batch.
    Fresh,
    Reading,
    /// An error that [`Reader::first_linktype`] has met, and that waits for who asks for packets.
    Failing(Error),
    Done,
}

impl Reader {
    /// Opens a file.
    ///
    /// ```no_run
    /// # fn show() -> Result<(), capture::Error> {
    /// let mut reader = capture::Reader::open("web.pcapng.zst")?;
    /// while let Some(packet) = reader.next_packet()? {
    ///     println!("{} bytes", packet.wire_len);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If it cannot be opened or is not a capture.
    pub fn open(path: impl AsRef<Path>) -> Result<Reader, Error> {
        Reader::open_file(path.as_ref(), None)
    }

    /// Opens a file, and calls `before_growing` before it takes more memory than most files need: that may wait.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn open_asking(path: impl AsRef<Path>, before_growing: BeforeGrowing) -> Result<Reader, Error> {
        Reader::open_file(path.as_ref(), Some(before_growing))
    }

    fn open_file(path: &Path, before_growing: Option<BeforeGrowing>) -> Result<Reader, Error> {
        let stream = source::open(path).map_err(|e| Error::new(ErrorKind::Open(e)).of_file(path))?;
        let mut reader = Reader::start(stream, path.to_string_lossy().into(), before_growing)?;
        reader.input_len = std::fs::metadata(path).ok().filter(|m| m.is_file()).map(|m| m.len());
        Ok(reader)
    }

    /// Reads standard input.
    ///
    /// # Errors
    /// If it cannot be read or is not a capture.
    pub fn stdin() -> Result<Reader, Error> {
        let input: Arc<str> = "standard input".into();
        let stream = source::stdin().map_err(|e| Error::new(ErrorKind::Open(e)).of(&input))?;
        Reader::start(stream, input, None)
    }

    /// Reads any stream; `name` names it in errors.
    ///
    /// # Errors
    /// If it cannot be read or is not a capture.
    pub fn new(stream: impl Read + Send + 'static, name: &str) -> Result<Reader, Error> {
        Reader::start(Box::new(stream), name.into(), None)
    }

    fn start(
        stream: ByteStream,
        input: Arc<str>,
        before_growing: Option<BeforeGrowing>,
    ) -> Result<Reader, Error> {
        let consumed = Arc::new(AtomicU64::new(0));
        let counted = Box::new(Counted { stream, consumed: consumed.clone() });
        let (stream, head, compression) = source::sniff(counted, before_growing.clone())
            .map_err(|e| Error::new(ErrorKind::Read(e)).of(&input))?;
        let mut window = Window::new(stream, &head, compression);
        if let Some(ask) = before_growing {
            window.ask_before_growing(ask);
        }
        let section =
            first_section(&mut window, compression).map_err(|e| e.of(&input).behind(compression))?;
        Ok(Reader {
            window,
            section,
            found: Found::new(),
            taken: 0,
            state: State::Fresh,
            is_ahead: false,
            input,
            compression,
            consumed,
            input_len: None,
        })
    }

    /// The next packets, or `None` at the end.
    ///
    /// Blocks until at least one record is there, never until a batch is full: a pipe is read as it fills.
    ///
    /// ```
    /// # let bytes = capture::doc_example();
    /// let mut reader = capture::Reader::new(std::io::Cursor::new(bytes), "web.pcap")?;
    /// let mut packets = 0;
    /// while let Some(batch) = reader.next_batch()? {
    ///     packets += batch.len();
    /// }
    /// assert_eq!(packets, 1);
    /// # Ok::<(), capture::Error>(())
    /// ```
    ///
    /// # Errors
    /// Where the input ends early or is damaged, after the packets before that.
    pub fn next_batch(&mut self) -> Result<Option<Batch<'_>>, Error> {
        Ok(self.advance()?.then(|| self.batch()))
    }

    /// The next packet, or `None` at the end. Blocks of pcapng that carry no packet are skipped.
    ///
    /// ```
    /// # let bytes = capture::doc_example();
    /// let mut reader = capture::Reader::new(std::io::Cursor::new(bytes), "web.pcap")?;
    /// while let Some(packet) = reader.next_packet()? {
    ///     assert_eq!(packet.linktype, wire::LinkType::EN10MB);
    /// }
    /// # Ok::<(), capture::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Reader::next_batch`].
    pub fn next_packet(&mut self) -> Result<Option<PacketRef<'_>>, Error> {
        self.is_ahead = false;
        while self.taken == self.found.packets.len() {
            if !self.advance()? {
                return Ok(None);
            }
        }
        let packet = self.found.packets[self.taken];
        self.taken += 1;
        Ok(Some(self.batch().get(&packet)))
    }

    /// The link type of the first packets, if that is known before more is read than the first of them: always of pcap, and of
    /// pcapng unless much else comes before its packets. Nothing is taken from the input; what is wrong with it comes from
    /// the next call that takes something.
    ///
    /// ```
    /// # let bytes = capture::doc_example();
    /// let mut reader = capture::Reader::new(std::io::Cursor::new(bytes), "web.pcap")?;
    /// assert_eq!(reader.first_linktype(), Some(wire::LinkType::EN10MB));
    /// assert!(reader.next_packet()?.is_some(), "nothing has been taken");
    /// # Ok::<(), capture::Error>(())
    /// ```
    pub fn first_linktype(&mut self) -> Option<LinkType> {
        if matches!(self.state, State::Fresh) {
            match self.scan_batch() {
                Err(error) => self.state = State::Failing(error),
                Ok(()) => self.is_ahead = true,
            }
        }
        match self.section.format {
            Format::Pcap(header) => Some(header.linktype),
            // An interface that is described may have no packets.
            Format::Pcapng(_) => self.batch().linktype(),
        }
    }

    /// The most bytes that are kept of packets of this link type, as far as that is known before more is read than the first packets;
    /// `None` where no interface of this link type is described. Nothing is taken from the input.
    ///
    /// ```
    /// # let bytes = capture::doc_example();
    /// let mut reader = capture::Reader::new(std::io::Cursor::new(bytes), "web.pcap")?;
    /// assert_eq!(reader.first_snaplen(wire::LinkType::EN10MB), Some(65_535));
    /// assert_eq!(reader.first_snaplen(wire::LinkType::RAW), None);
    /// # Ok::<(), capture::Error>(())
    /// ```
    pub fn first_snaplen(&mut self, linktype: LinkType) -> Option<u32> {
        self.first_linktype();
        let interfaces = self.section.interfaces.iter().filter(|interface| interface.linktype == linktype);
        interfaces.map(|interface| pcap::understood_snaplen(interface.snaplen, linktype)).max()
    }

    /// Reads on to the next packets, wherever they come, and returns their link type; `None` where there are no more. For who
    /// opens an input to ask just that: what is passed over is lost, and damage ends the input.
    pub fn seek_linktype(&mut self) -> Option<LinkType> {
        while matches!(self.advance(), Ok(true)) {
            if let Some(linktype) = self.batch().linktype() {
                return Some(linktype);
            }
        }
        None
    }

    /// Lets a signal handler end the input: when a signal interrupts a read and the flag is set, the input is
    /// over there, without an error. Between batches the caller looks at the flag itself.
    pub fn stop_when(&mut self, flag: Arc<AtomicBool>) {
        self.window.stop_when(flag);
    }

    /// Whether the next packet is in memory as a whole, so that the next batch comes without a read, which may wait. Of pcapng that is not known:
    /// `false`.
    ///
    /// ```
    /// # let bytes = capture::doc_example();
    /// let mut reader = capture::Reader::new(std::io::Cursor::new(bytes), "web.pcap")?;
    /// assert!(reader.next_packet()?.is_some() && !reader.has_packet());
    /// # Ok::<(), capture::Error>(())
    /// ```
    #[must_use]
    pub fn has_packet(&self) -> bool {
        match self.section.format {
            Format::Pcap(header) => header.has_record(self.window.available()),
            Format::Pcapng(_) => false,
        }
    }

    /// The format of the input, or of its current section.
    #[must_use]
    pub fn format(&self) -> Format {
        self.section.format
    }

    /// How the input is compressed, if it is.
    #[must_use]
    pub fn compression(&self) -> Option<Compression> {
        self.compression
    }

    /// The name of the input: a path, or `standard input`.
    #[must_use]
    pub fn input(&self) -> &str {
        &self.input
    }

    /// Bytes read from the file so far, before decompression; for progress.
    #[must_use]
    pub fn consumed(&self) -> u64 {
        self.consumed.load(Ordering::Relaxed)
    }

    /// Size of the file, where it has one.
    #[must_use]
    pub fn input_len(&self) -> Option<u64> {
        self.input_len
    }

    /// The batch that [`Reader::next_batch`] has handed out last, again; empty before the first and after the last.
    #[must_use]
    pub fn batch(&self) -> Batch<'_> {
        Batch {
            window: self.window.bytes(),
            base: self.window.base(),
            section: &self.section,
            found: &self.found,
            input: &self.input,
        }
    }

    /// Leaves the next batch in `found`; `false` at the end.
    pub(crate) fn advance(&mut self) -> Result<bool, Error> {
        self.scan_batch()?;
        Ok(!self.found.is_empty())
    }

    fn scan_batch(&mut self) -> Result<(), Error> {
        if std::mem::take(&mut self.is_ahead) {
            return Ok(());
        }
        self.found.clear();
        self.taken = 0;
        match std::mem::replace(&mut self.state, State::Done) {
            State::Done => return Ok(()),
            State::Failing(error) => return Err(error),
            State::Fresh => self.found.starts_section = matches!(self.section.format, Format::Pcap(_)),
            State::Reading => {}
        }
        self.state = State::Reading;
        loop {
            let (pos, stop) = match self.section.format {
                Format::Pcap(header) => header.scan(self.window.bytes(), self.window.pos(), &mut self.found),
                Format::Pcapng(_) => {
                    pcapng::scan(&mut self.section, self.window.bytes(), self.window.pos(), &mut self.found)
                }
            };
            self.window.advance_to(pos);
            match stop {
                Stop::Full => return Ok(()),
                _ if !self.found.is_empty() => return Ok(()),
                Stop::File => self.begin_file()?,
                _ if self.another_file_begins() => self.begin_file()?,
                Stop::Bad(kind) => return Err(self.damage(kind)),
                Stop::Need { bytes, what } => {
                    if self.window.fill(bytes) < bytes {
                        return self.end(bytes, what);
                    }
                }
            }
        }
    }

    /// Whether the next bytes are no part of this file but the first of another, as where several were joined by `cat`. A pcapng file goes on
    /// with another section by itself.
    fn another_file_begins(&self) -> bool {
        let bytes = self.window.available();
        match self.section.format {
            Format::Pcap(_) => pcap::begins_file(bytes) || block_type::begins_file(bytes),
            Format::Pcapng(_) => pcap::begins_file(bytes),
        }
    }

    /// Goes on with the file that begins here. Its batches are those of a new section.
    fn begin_file(&mut self) -> Result<(), Error> {
        self.state = State::Done;
        self.section = first_section(&mut self.window, self.compression)
            .map_err(|error| error.of(&self.input).behind(self.compression))?;
        self.found.starts_section = matches!(self.section.format, Format::Pcap(_));
        self.state = State::Reading;
        Ok(())
    }

    /// The stream is over where `wanted` bytes of something should follow.
    fn end(&mut self, wanted: usize, what: &'static str) -> Result<(), Error> {
        let got = self.window.available().len() as u64;
        match self.window.take_failure() {
            Some(error) => Err(self.damage(source::read_error(error, self.compression))),
            None if got == 0 || self.window.is_stopped() => {
                self.state = State::Done;
                Ok(())
            }
            None => Err(self.damage(ErrorKind::Truncated { what, wanted: wanted as u64, got })),
        }
    }

    /// The error about damage at the read position, which ends the input.
    fn damage(&mut self, kind: ErrorKind) -> Error {
        self.state = State::Done;
        Error::new(kind).at(self.window.stream_pos()).of(&self.input).behind(self.compression)
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader")
            .field("input", &self.input)
            .field("format", &self.section.format)
            .field("position", &self.window.stream_pos())
            .finish_non_exhaustive()
    }
}

/// Finds out what the input is from here on. Of pcapng nothing is consumed: its section header is a block like others.
fn first_section(window: &mut Window, compression: Option<Compression>) -> Result<Section, Error> {
    let start = window.stream_pos();
    let got = window.fill(4);
    let available = window.available();
    let Some(&magic) = available.first_chunk::<4>() else {
        let kind = match window.take_failure() {
            Some(error) => source::read_error(error, compression),
            // Nothing has no first byte.
            None if got == 0 => return Err(Error::new(ErrorKind::Empty)),
            None if !begins_a_capture(window.available()) => unknown_format(window),
            None => ErrorKind::Truncated { what: "file header", wanted: 4, got: got as u64 },
        };
        return Err(Error::new(kind).at(start));
    };
    if u32::from_be_bytes(magic) == block_type::SECTION_HEADER {
        return Ok(Section { format: Format::Pcapng(ByteOrder::NATIVE), interfaces: Vec::new() });
    }
    let Some((order, number)) = pcap::recognise(&magic) else {
        window.fill(8);
        return Err(Error::new(unknown_format(window)).at(start));
    };
    let got = window.fill(pcap::FILE_HEADER_LEN) as u64;
    let Some(bytes) = window.available().first_chunk() else {
        let kind = match window.take_failure() {
            Some(error) => source::read_error(error, compression),
            None => ErrorKind::Truncated { what: "file header", wanted: pcap::FILE_HEADER_LEN as u64, got },
        };
        return Err(Error::new(kind).at(start));
    };
    let header = PcapHeader::parse(bytes, order, number).map_err(|kind| Error::new(kind).at(start + 4))?;
    window.advance_to(window.pos() + pcap::FILE_HEADER_LEN);
    Ok(Section { format: Format::Pcap(header), interfaces: vec![header.interface()] })
}

/// Whether a few bytes may be the first of a capture that was cut there.
fn begins_a_capture(start: &[u8]) -> bool {
    block_type::SECTION_HEADER.to_be_bytes().starts_with(start) || pcap::may_begin_with(start)
}

fn unknown_format(window: &Window) -> ErrorKind {
    let head = window.available();
    ErrorKind::UnknownFormat { start: head[..head.len().min(4)].into(), looks_like: source::looks_like(head) }
}

/// Counts what is read from the file, so that progress can be shown for compressed ones too.
struct Counted {
    stream: ByteStream,
    consumed: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let got = self.stream.read(out)?;
        self.consumed.fetch_add(got as u64, Ordering::Relaxed);
        Ok(got)
    }
}
