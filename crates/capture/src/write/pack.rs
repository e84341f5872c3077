//! Compression of an output.
//!
//! ```text
//!   gzip   a member for each MiB of records, which ends where a record ends (of `put_part`: a member for each part)
//!   zstd   one frame, in which a block ends behind each MiB of records (of `put_part`: behind each part)
//! ```
//! So a file that takes no more, because the disk is full say, can be cut back to such a place, and is sound: of zstd, with an empty last block behind
//! it, and without a checksum of the whole, which nobody knows then.
//!
//! COMPAT: of several frames of zstd, Wireshark 4.0 reads the second wrongly; of several members of gzip, all.

use std::io::{self, Write};

use crate::compression::Compression;

/// Bytes of records between two places to which a file can be cut back.
const PART_LEN: usize = 1 << 20;

/// An empty raw block, the last of a frame (RFC 8878, 3.1.1.2).
const LAST_BLOCK: [u8; 3] = [1, 0, 0];

/// Compresses records in parts, for an output that can be cut back to where any of them ends. [`Writer::compressed`](super::Writer::compressed) has one;
/// who hands bytes to the system otherwise uses it so:
///
/// ```
/// use capture::{Compression, Packer};
/// # let capture = capture::doc_example();
/// let mut packer = Packer::new(Compression::Zstd);
/// let mut file = Vec::new();
/// let (first, second) = capture.split_at(24);
/// packer.put_part(first, &mut file)?;
/// let end_of_part = file.len();
/// packer.put_part(second, &mut file)?;
/// packer.end(&mut file)?;
/// // Had there been no room for the second part:
/// file.truncate(end_of_part);
/// file.extend(Compression::Zstd.seal());
/// let mut reader = capture::Reader::new(std::io::Cursor::new(file), "a.pcap.zst")?;
/// assert!(reader.next_packet()?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Packer {
    compression: Compression,
    /// Records that are to be compressed before those that come next.
    pub(super) waiting: Vec<u8>,
    member: Option<Member>,
    /// Bytes of records since the last such place.
    taken: usize,
    /// Whether the compressor holds records back.
    holds_any: bool,
}

/// A member or frame that has begun; what is compressed waits in its vector.
enum Member {
    Gzip(flate2::write::GzEncoder<Vec<u8>>),
    Zstd(::zstd::stream::write::Encoder<'static, Vec<u8>>),
}

/// How far records are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// As far as the compressor likes; others follow.
    Full,
    /// All of them, since a reader waits; others may follow.
    Now,
    /// All of them, and the output ends.
    End,
}

impl Packer {
    /// One that has compressed nothing yet.
    #[must_use]
    pub fn new(compression: Compression) -> Packer {
        Packer { compression, waiting: Vec::new(), member: None, taken: 0, holds_any: false }
    }

    /// Whether nothing waits, and no member has begun.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.member.is_none()
    }

    /// What makes an output sound that is cut back to such a place.
    pub(super) fn seal(&self) -> &'static [u8] {
        self.compression.seal()
    }

    /// Compresses these records, and appends all of them, to a place that the output can be cut back to: of gzip, the end of a member.
    ///
    /// # Errors
    /// If the compressor has no memory.
    pub fn put_part(&mut self, records: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let until = match self.compression {
            Compression::Gzip => Until::End,
            Compression::Zstd => Until::Now,
        };
        self.put(records, until, out).map(drop)
    }

    /// Appends the end of the output.
    ///
    /// # Errors
    /// If the compressor has no memory.
    pub fn end(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        self.put(&[], Until::End, out).map(drop)
    }

    /// Compresses what waits and these records, and appends what is ready. Returns whether the output can be cut back to there.
    pub(super) fn put(&mut self, records: &[u8], until: Until, out: &mut Vec<u8>) -> io::Result<bool> {
        let has_more = !self.waiting.is_empty() || !records.is_empty();
        let mut member = match self.member.take() {
            Some(member) => member,
            None if has_more => Member::new(self.compression)?,
            None => return Ok(false),
        };
        member.write_all(&self.waiting)?;
        member.write_all(records)?;
        self.taken += self.waiting.len() + records.len();
        self.waiting.clear();
        let is_part = self.taken >= PART_LEN;
        let is_zstd = matches!(member, Member::Zstd(_));
        if is_part {
            self.taken = 0;
        }
        self.holds_any |= has_more;
        if until == Until::End || is_part && !is_zstd {
            out.append(&mut member.finish()?);
            return Ok(true);
        }
        let flushes = is_part || until == Until::Now && self.holds_any;
        if flushes {
            member.flush()?;
            self.holds_any = false;
        }
        out.append(member.ready());
        self.member = Some(member);
        Ok(flushes && is_zstd)
    }
}

impl std::fmt::Debug for Packer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Packer").field("compression", &self.compression).finish_non_exhaustive()
    }
}

impl Compression {
    /// What makes an output sound that is cut back to the end of a [part](Packer::put_part).
    #[must_use]
    pub const fn seal(self) -> &'static [u8] {
        match self {
            Compression::Gzip => &[],
            Compression::Zstd => &LAST_BLOCK,
        }
    }
}

impl Member {
    fn new(compression: Compression) -> io::Result<Member> {
        Ok(match compression {
            Compression::Gzip => {
                Member::Gzip(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default()))
            }
            Compression::Zstd => {
                let level = ::zstd::DEFAULT_COMPRESSION_LEVEL;
                Member::Zstd(::zstd::stream::write::Encoder::new(Vec::new(), level)?)
            }
        })
    }

    /// What was compressed and nobody took yet.
    fn ready(&mut self) -> &mut Vec<u8> {
        match self {
            Member::Gzip(encoder) => encoder.get_mut(),
            Member::Zstd(encoder) => encoder.get_mut(),
        }
    }

    fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            Member::Gzip(encoder) => encoder.finish(),
            Member::Zstd(encoder) => encoder.finish(),
        }
    }
}

impl Write for Member {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Member::Gzip(encoder) => encoder.write(bytes),
            Member::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Member::Gzip(encoder) => encoder.flush(),
            Member::Zstd(encoder) => encoder.flush(),
        }
    }
}
