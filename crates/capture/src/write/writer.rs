//! An output: a file, standard output or any `Write`, filled in large blocks.

use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::path::Path;
use std::sync::Arc;

use super::pack::{Packer, Until};
use super::torn::{self, Torn};
use super::{Encoded, Encoder, Target, close, layout};
use crate::batch::Batch;
use crate::compression::Compression;
use crate::error::{Error, ErrorKind, Written};
use crate::order::ByteOrder;
use crate::pcap::{FILE_HEADER_LEN, SNAPLEN_AT};

/// Each write but the last ends at a multiple of this many bytes of the output: the kernel then takes memory for it in
/// few large pieces, of which each costs. It is few enough that what waits does not push the window and the packets
/// out of the cache.
///
/// PERF: milliseconds of CPU to empty a file of 25 MB (ext4, Linux 6.18), fill it again with 98 blocks of whole
/// records, and close it, by the multiple at which writes end: any 9.6, 16 KiB 8.3, 64 KiB 7.7, 256 KiB 7.1.
const BLOCK: usize = 256 << 10;

/// The snap length of a pcap file that holds longer packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapLength {
    /// What the header said at first.
    pub stated: u32,
    /// The most bytes of a packet that the file holds.
    pub longest: u32,
    /// Whether the header says so now. A pipe cannot be changed any more, nor can a file that is appended to.
    pub is_raised: bool,
}

/// Writes selected packets in the format of the first batch it is given.
///
/// Call [`Writer::finish`] at the end: dropping a writer writes what it holds too, but cannot report a failure.
///
/// After a write that failed, a file of [`Writer::create`], [`Writer::stdout`] or [`Writer::with_file`] is cut back to its last whole record. What else there is, such
/// as a pipe or a file that others have written to as well, may end within one. Readers take everything before it; what was appended they could
/// not make out, so a writer that has failed writes no more, and each later call is an error as well.
pub struct Writer<W: Write> {
    sink: W,
    name: Arc<str>,
    encoder: Option<Encoder>,
    /// What compresses the output, if anything does.
    packer: Option<Packer>,
    /// What waits to be written, compressed where that is to be: less than a block.
    buffer: Vec<u8>,
    /// Bytes that the sink has taken.
    written: u64,
    /// Where in its file the first of these is, if it is a file.
    begin: Option<u64>,
    /// A place in the output where a record ends, or 0: the last that is known among the bytes written.
    whole: u64,
    /// Where the output ended after the last call: the end of a record. Of a compressed one, a place that it can be cut back to.
    ended: u64,
    /// Whether the sink has failed.
    has_failed: bool,
    /// What the packets that were taken have come to.
    encoded: Encoded,
    /// The snap length that the header in the file states.
    stated_snaplen: u32,
    /// The file that the sink writes to at once, if it is one.
    file: fn(&mut W) -> Option<&mut File>,
}

impl Writer<File> {
    /// Creates a file, or empties the one that is there.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn create(path: impl AsRef<Path>) -> Result<Writer<File>, Error> {
        let path = path.as_ref();
        let name = path.to_string_lossy();
        let file = File::create(path).map_err(|e| Error::new(ErrorKind::Write(e)).of(&name[..].into()))?;
        Ok(Writer::to_file(file, &name))
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
            .map_err(|e| Error::new(ErrorKind::Write(e)).of(&name.into()))?;
        Ok(Writer::to_file(File::from(file), name))
    }

    fn to_file(file: File, name: &str) -> Writer<File> {
        Writer::new(file, name).with_file(|file| Some(file))
    }
}

impl<W: Write> Writer<W> {
    /// Writes to any sink; `name` names it in errors.
    pub fn new(sink: W, name: &str) -> Writer<W> {
        let buffer = Vec::with_capacity(BLOCK);
        Writer {
            sink,
            name: name.into(),
            encoder: None,
            packer: None,
            buffer,
            written: 0,
            begin: None,
            whole: 0,
            ended: 0,
            has_failed: false,
            encoded: Encoded::default(),
            stated_snaplen: u32::MAX,
            file: |_| None,
        }
    }

    /// Says what file the sink writes to, without a buffer of its own, so that a write that fails cuts it back to its last whole
    /// record, and a packet that is longer than the snap length in its header raises that.
    #[must_use]
    pub fn with_file(mut self, file: fn(&mut W) -> Option<&mut File>) -> Writer<W> {
        self.file = file;
        self
    }

    /// Compresses what is written. The snap length in the header of a pcap file is not raised then, and a file that takes no more ends
    /// behind one of the last MiB of records.
    ///
    /// ```
    /// # let bytes = capture::doc_example();
    /// use capture::{Compression, Reader, Writer};
    /// let path = std::env::temp_dir().join("sluss-doc.pcap.gz");
    /// let mut reader = Reader::new(std::io::Cursor::new(bytes), "in.pcap")?;
    /// let mut writer = Writer::create(&path)?.compressed(Some(Compression::Gzip));
    /// while let Some(batch) = reader.next_batch()? {
    ///     writer.write(&batch, 0..batch.len())?;
    /// }
    /// writer.finish()?;
    /// let mut again = Reader::open(&path)?;
    /// assert_eq!(again.compression(), Some(Compression::Gzip));
    /// assert!(again.next_packet()?.is_some());
    /// # std::fs::remove_file(path).unwrap();
    /// # Ok::<(), capture::Error>(())
    /// ```
    #[must_use]
    pub fn compressed(mut self, compression: Option<Compression>) -> Writer<W> {
        self.packer = compression.map(Packer::new);
        self
    }

    /// Where records are put before the next call.
    fn waiting(&mut self) -> &mut Vec<u8> {
        self.packer.as_mut().map_or(&mut self.buffer, |packer| &mut packer.waiting)
    }

    /// Writes the packets of a batch with these indices, which must rise.
    ///
    /// Give it every batch, also those nothing is selected from: the first one decides the format, and batches
    /// of pcapng carry the blocks around the packets.
    ///
    /// # Errors
    /// If the system refuses, now or with an earlier call, or a packet does not fit the output's format.
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
        let out = self.packer.as_mut().map_or(&mut self.buffer, |packer| &mut packer.waiting);
        self.encoded += encoder.encode(batch, selected, out)?;
        self.write_blocks(&[])
    }

    /// Fixes the format and writes the file header, where the first batch is not to decide it.
    ///
    /// Does nothing once the format is fixed.
    pub fn begin(&mut self, target: Target) {
        if self.encoder.is_none() {
            self.waiting().extend(target.file_header());
            if let Target::Pcap { snaplen, .. } = target {
                self.stated_snaplen = snaplen;
            }
            self.encoder = Some(Encoder::new(target));
        }
    }

    /// Appends what an [`Encoder`] for the same target has made, perhaps in another thread.
    ///
    /// # Errors
    /// If the system refuses, now or with an earlier call.
    pub fn write_encoded(&mut self, records: &[u8], encoded: Encoded) -> Result<(), Error> {
        self.encoded += encoded;
        self.write_blocks(records)
    }

    /// [`Writer::write_encoded`] and [`Writer::flush`] in one, without a copy of the records.
    ///
    /// # Errors
    /// If the system refuses, now or with an earlier call.
    pub fn write_through(&mut self, records: &[u8], encoded: Encoded) -> Result<(), Error> {
        self.encoded += encoded;
        self.flush_with(records, Until::Now)
    }

    /// Hands everything collected to the system: for a reader that waits at the other end of a pipe.
    ///
    /// # Errors
    /// If the system refuses, now or with an earlier call.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.flush_with(&[], Until::Now)
    }

    /// Writes what waits, and these records behind it.
    fn flush_with(&mut self, records: &[u8], until: Until) -> Result<(), Error> {
        self.check()?;
        self.pack(records, until)?;
        // Those that are compressed wait with the rest.
        let records = if self.packer.is_some() { &[][..] } else { records };
        if self.packer.is_none() {
            self.ended = self.written + (self.buffer.len() + records.len()) as u64;
        }
        self.put(self.buffer.len(), records)?;
        self.raise_snaplen();
        self.sink.flush().map_err(|error| self.fail(error))
    }

    /// What the packets that were taken have come to.
    #[must_use]
    pub fn encoded(&self) -> Encoded {
        self.encoded
    }

    /// The snap length of a pcap file that a packet exceeds, as far as the packets are written; `None` where none does.
    #[must_use]
    pub fn exceeded_snaplen(&self) -> Option<SnapLength> {
        let Target::Pcap { snaplen: stated, .. } = self.encoder.as_ref()?.target() else { return None };
        let longest = self.encoded.longest;
        let is_raised = self.stated_snaplen >= longest;
        (longest > stated).then_some(SnapLength { stated, longest, is_raised })
    }

    /// Puts the length of the longest packet into the header that is in the file, where that says less.
    fn raise_snaplen(&mut self) {
        let longest = self.encoded.longest;
        let target = self.encoder.as_ref().map(Encoder::target);
        if let (Some(Target::Pcap { order, .. }), Some(begin), None) = (target, self.begin, &self.packer)
            && longest > self.stated_snaplen
            && let Some(file) = (self.file)(&mut self.sink)
            && overwrite(file, begin + SNAPLEN_AT, &order.put_u32(longest)).is_ok()
        {
            self.stated_snaplen = longest;
        }
    }

    /// Writes the rest. A pcapng file that nothing was put into is a section without packets then: an empty file is no capture. What the system
    /// says when a file is closed is told as well: a network file system may write only then.
    ///
    /// # Errors
    /// If the system refuses, now or with an earlier call.
    pub fn finish(mut self) -> Result<(), Error> {
        self.complete()
    }

    /// As [`Writer::finish`], of a writer that can still be asked what it has written; nothing may be written behind it.
    ///
    /// # Errors
    /// If the system refuses, now or with an earlier call.
    pub fn complete(&mut self) -> Result<(), Error> {
        let is_pcapng = self.encoder.as_ref().is_some_and(|encoder| encoder.target() == Target::Pcapng);
        let is_empty = self.buffer.is_empty() && self.packer.as_ref().is_none_or(Packer::is_idle);
        if is_pcapng && self.written == 0 && is_empty {
            layout::put_section(ByteOrder::NATIVE, self.waiting());
        }
        self.flush_with(&[], Until::End)?;
        let closed = (self.file)(&mut self.sink).map_or(Ok(()), |file| close(file));
        closed.map_err(|error| self.fail(error))
    }

    /// The sink, for what is to be done with it before anything is written.
    pub fn sink_mut(&mut self) -> &mut W {
        &mut self.sink
    }

    /// The name of the output.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Writes what waits and then these records, up to where the last whole block of the output ends; the rest waits.
    fn write_blocks(&mut self, records: &[u8]) -> Result<(), Error> {
        self.check()?;
        if self.packer.is_some() {
            self.pack(records, Until::Full)?;
            return if self.buffer.len() < BLOCK { Ok(()) } else { self.put(self.buffer.len(), &[]) };
        }
        let waiting = self.buffer.len();
        let ready = waiting + records.len();
        let end = self.written + ready as u64;
        let over = (end % BLOCK as u64) as usize;
        match ready.checked_sub(over).filter(|&now| now > 0) {
            None => self.buffer.extend_from_slice(records),
            Some(now) => {
                if over == 0 {
                    self.ended = end;
                }
                let (first, rest) = records.split_at(now.saturating_sub(waiting));
                self.put(now.min(waiting), first)?;
                self.buffer.extend_from_slice(rest);
            }
        }
        self.ended = end;
        Ok(())
    }

    /// Compresses what waits for that and these records, if the output is compressed.
    fn pack(&mut self, records: &[u8], until: Until) -> Result<(), Error> {
        let Some(packer) = &mut self.packer else { return Ok(()) };
        match packer.put(records, until, &mut self.buffer) {
            Ok(true) => self.ended = self.written + self.buffer.len() as u64,
            Ok(false) => {}
            Err(error) => return Err(self.fail(error)),
        }
        Ok(())
    }

    /// Gives the sink so many bytes of what waits, and these behind them.
    fn put(&mut self, waiting: usize, records: &[u8]) -> Result<(), Error> {
        let result = write_both(&mut self.sink, &self.buffer[..waiting], records, |sink, taken| {
            if self.written == 0 {
                self.begin = (self.file)(sink).and_then(|file| torn::begin(file, taken as u64));
            }
            self.written += taken as u64;
        });
        result.map_err(|error| self.fail(error))?;
        self.buffer.drain(..waiting);
        // It ended there before these bytes were written, or with them.
        self.whole = self.ended;
        Ok(())
    }

    /// Whether the sink has not failed yet.
    fn check(&mut self) -> Result<(), Error> {
        if self.has_failed {
            self.buffer.clear();
            let error = ErrorKind::Write(io::Error::other("an earlier write failed"));
            return Err(Error::new(error).of(&self.name));
        }
        Ok(())
    }

    /// The error about a write that failed. What waits is dropped: half of the bytes before it may be out, and to write more would tear the
    /// output.
    #[cold]
    fn fail(&mut self, source: io::Error) -> Error {
        self.buffer.clear();
        self.has_failed = true;
        // Of a compressed file nobody sees the records behind the last such place, and if there is none it stays as it is.
        let is_packed = self.packer.is_some();
        let target = self.encoder.as_ref().map(Encoder::target).filter(|_| !is_packed);
        let begin = self.begin.filter(|_| !is_packed || self.whole > 0);
        let torn = begin.map(|begin| Torn { target, begin, whole: self.whole, taken: self.written });
        let seal = self.packer.as_ref().map_or(&[][..], Packer::seal);
        let kept = torn.zip((self.file)(&mut self.sink)).and_then(|(torn, file)| {
            let kept = torn.cut(file).ok()?;
            // There is room where more was cut off.
            Some(kept + file.write_all(seal).map_or(0, |()| seal.len() as u64))
        });
        if kept.is_some_and(|kept| kept >= FILE_HEADER_LEN as u64) {
            self.raise_snaplen();
        }
        let written = match kept {
            Some(0) => Written::Nothing,
            Some(kept) => Written::Whole(kept),
            None if self.written == 0 => Written::Nothing,
            None => Written::Torn(self.written),
        };
        Error::new(ErrorKind::Unfinished { source, written }).of(&self.name)
    }
}

/// Writes over bytes of a file. One that is opened to be appended to has no such place: there Linux appends them.
#[cfg(unix)]
fn overwrite(file: &File, at: u64, bytes: &[u8]) -> io::Result<()> {
    use rustix::fs::{OFlags, fcntl_getfl};
    use std::os::unix::fs::FileExt;
    if fcntl_getfl(file)?.contains(OFlags::APPEND) {
        return Err(io::ErrorKind::Unsupported.into());
    }
    file.write_all_at(bytes, at)
}

#[cfg(not(unix))]
fn overwrite(_: &File, _: u64, _: &[u8]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Writes one after the other, with as few calls as the sink needs. After each of them `took` is told how many bytes it took.
fn write_both<W: Write>(
    sink: &mut W,
    first: &[u8],
    second: &[u8],
    mut took: impl FnMut(&mut W, usize),
) -> io::Result<()> {
    let mut both = [IoSlice::new(first), IoSlice::new(second)];
    let mut left = &mut both[..];
    IoSlice::advance_slices(&mut left, 0);
    while !left.is_empty() {
        match sink.write_vectored(left) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(taken) => {
                took(sink, taken);
                IoSlice::advance_slices(&mut left, taken);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl<W: Write> Drop for Writer<W> {
    fn drop(&mut self) {
        let _ = self.flush_with(&[], Until::End);
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
