//! One error type: what went wrong, in which input, at which byte.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::compression::Compression;
use wire::{LinkType, in_one_line};

/// Why a capture could not be read or written.
///
/// The message names the input, the byte where it went wrong (counted after decompression) and what was found
/// there. It is one line: control characters in the input's name are escaped, which [`Error::input`] gives as it is.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    input: Option<Arc<str>>,
    path: Option<Box<Path>>,
    offset: Option<u64>,
    compression: Option<Compression>,
}

/// The party that has to act on an error; the command turns it into an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The input ends early, is damaged, or is not a capture: everything before was delivered.
    Damaged,
    /// The system refused: no such file, no permission, a full disk, a closed pipe.
    System,
    /// The request cannot be met as asked, such as two link types in one pcap file.
    Request,
}

/// The kind of an error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input could not be opened.
    #[error("cannot open: {0}")]
    Open(#[source] io::Error),
    /// Reading failed in the middle.
    #[error("cannot read: {0}")]
    Read(#[source] io::Error),
    /// Nothing is written: the output could not be created, or has failed before.
    #[error("cannot write: {0}")]
    Write(#[source] io::Error),
    /// Writing failed in the middle.
    #[error("cannot write: {source}; {written}")]
    Unfinished {
        /// Why.
        source: io::Error,
        /// What the output has of it.
        written: Written,
    },
    /// The compressed data is damaged or ends early.
    #[error("cannot decompress {format} data: {source}")]
    Decompress {
        /// gzip or zstd.
        format: &'static str,
        /// The decoder's message.
        source: io::Error,
    },
    /// A zstd frame refers further back than we keep, and than `zstd -dc` does unless it is told to.
    #[error(
        "the zstd data needs more than {} MiB of history: pipe it in, `zstd -dc --long=31 FILE |`",
        limit >> 20
    )]
    ZstdWindow {
        /// The most we keep, in bytes.
        limit: u64,
    },
    /// There is not one byte in it.
    #[error("the file is empty")]
    Empty,
    /// The first bytes are of no format we know.
    #[error("not a pcap or pcapng capture (first bytes {}){}", hex(start), hint(*looks_like))]
    UnknownFormat {
        /// How it starts: four bytes, or all there are.
        start: Box<[u8]>,
        /// What it looks like, and what to do about it, where that is known.
        looks_like: Option<&'static str>,
    },
    /// A version of a known format that we cannot read.
    #[error("{format} version {major}.{minor} is not supported")]
    Version {
        /// pcap or pcapng.
        format: &'static str,
        /// Major version in the file.
        major: u16,
        /// Minor version in the file.
        minor: u16,
    },
    /// The input ends in the middle of something.
    #[error("the file ends inside {} {what}: {wanted} bytes expected, {got} found", article(what))]
    Truncated {
        /// The part in which it ends.
        what: &'static str,
        /// Bytes that should be there.
        wanted: u64,
        /// Bytes that are.
        got: u64,
    },
    /// A record or block claims a length beyond any that is sane.
    #[error(
        "{} {what} claims {claimed} bytes, more than the limit of {limit}: the file is damaged here, and nothing behind this is read; \
         pcapfix(1) may find packets there",
        article(what)
    )]
    TooLong {
        /// The part that claims it.
        what: &'static str,
        /// The length it claims.
        claimed: u64,
        /// The most we accept.
        limit: u64,
    },
    /// A pcapng block contradicts itself or its section.
    #[error("bad {}: {problem}", block_name(*block))]
    Block {
        /// The block's type.
        block: u32,
        /// The problem.
        problem: BlockProblem,
    },
    /// Packets of two link types cannot share a pcap file.
    #[error(
        "packets of link type {second} cannot follow {first} in one pcap file: \
         filter them apart, or write to a .pcapng file"
    )]
    MixedLinkTypes {
        /// Of the output file.
        first: LinkType,
        /// Of the packets that do not fit.
        second: LinkType,
    },
    /// A pcap file says once, for all its packets, how long the frame check sequence behind them is.
    #[error(
        "packets with {second} bytes of frame check sequence cannot follow such with {first} in one pcap file: \
         filter them apart, or write to a .pcapng file"
    )]
    MixedFcsLengths {
        /// In bytes, as the output file says.
        first: u8,
        /// Of the packets that do not fit.
        second: u8,
    },
    /// A pcap file has 26 bits for the link type, a description of an interface in pcapng 16.
    #[error("link type {0} does not fit pcapng, which goes up to 65535: write to a pcap file")]
    LinkTypeBeyondPcapng(LinkType),
    /// A packet is longer than readers of pcap take.
    #[error(
        "a packet of {captured} bytes does not fit a pcap file, of which readers take at most {limit} a packet: \
         write to a .pcapng file"
    )]
    TooLongForPcap {
        /// Captured bytes of the packet.
        captured: u32,
        /// The most that readers of pcap take.
        limit: u32,
    },
    /// A pattern matched no file, or a folder holds none.
    #[error("{0}")]
    NoFiles(NoFiles),
}

/// How much an output has of what was to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Written {
    /// Nothing, or no longer: where that was less than a record, it was taken back.
    #[error("nothing was written")]
    Nothing,
    /// So many bytes of whole records.
    #[error("it holds the packets before that, {0} bytes")]
    Whole(u64),
    /// So many bytes, of which the last may be those of half a record.
    #[error("{0} bytes were written, and the last packet may be torn")]
    Torn(u64),
}

/// The reason why there is no input for a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoFiles {
    /// A pattern without a match.
    #[error("no file matches the pattern")]
    Pattern,
    /// A folder without a capture in it.
    #[error("the folder holds no capture")]
    Folder,
}

/// The problem of a pcapng block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BlockProblem {
    /// Too short for its type.
    #[error("a length of {length} is below the least possible, {least}")]
    TooShort {
        /// The length it has.
        length: u32,
        /// The length that its type needs.
        least: u32,
    },
    /// Lengths are multiples of four.
    #[error("a length of {length} is not a multiple of 4")]
    Unaligned {
        /// The length it has.
        length: u32,
    },
    /// The lengths at both ends of a block differ.
    #[error("it starts with length {start} and ends with length {end}")]
    LengthsDiffer {
        /// At its start.
        start: u32,
        /// At its end.
        end: u32,
    },
    /// More packet bytes than the block has room for.
    #[error("it claims {captured} captured bytes and has room for {room}")]
    DataPastEnd {
        /// Bytes claimed.
        captured: u32,
        /// Bytes there.
        room: u32,
    },
    /// A packet of an interface that nothing has described.
    #[error("it refers to interface {id}, but the section has described {known}")]
    UnknownInterface {
        /// The interface it names.
        id: u32,
        /// How many are known.
        known: u32,
    },
    /// Neither 1a2b3c4d nor 4d3c2b1a.
    #[error("byte-order magic {magic:08x} is neither 1a2b3c4d nor 4d3c2b1a")]
    ByteOrder {
        /// The value there.
        magic: u32,
    },
    /// A timestamp resolution that no 64-bit count can express.
    #[error("timestamp resolution {tsresol:#04x} is finer than 64 bits can count")]
    Resolution {
        /// The option's byte.
        tsresol: u8,
    },
    /// An option whose length does not fit its meaning or its block.
    #[error("option {code} has an impossible length of {length}")]
    Option {
        /// The option's code.
        code: u16,
        /// The length it has.
        length: u16,
    },
    /// An option that may stand in its block once, and on which the timestamps depend.
    #[error("option {code} stands there twice, and the times of packets depend on it")]
    OptionTwice {
        /// The option's code.
        code: u16,
    },
    /// More interfaces than any real capture has.
    #[error("more than {limit} interfaces in one section")]
    TooManyInterfaces {
        /// The most we accept.
        limit: u32,
    },
}

impl Error {
    pub(crate) fn new(kind: ErrorKind) -> Error {
        Error { kind, input: None, path: None, offset: None, compression: None }
    }

    pub(crate) fn at(self, offset: u64) -> Error {
        Error { offset: Some(offset), ..self }
    }

    pub(crate) fn of(self, input: &Arc<str>) -> Error {
        Error { input: Some(input.clone()), ..self }
    }

    /// The same of a file, which is named as it is.
    pub(crate) fn of_file(self, path: &Path) -> Error {
        Error { path: Some(path.into()), ..self.of(&path.to_string_lossy()[..].into()) }
    }

    /// The same of an input that is compressed so, if it is: places count behind the decoder.
    pub(crate) fn behind(self, compression: Option<Compression>) -> Error {
        Error { compression, ..self }
    }

    /// The kind of an error.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// The input it happened in: a path, or `standard input`.
    #[must_use]
    pub fn input(&self) -> Option<&str> {
        self.input.as_deref()
    }

    /// The file that could not be opened, whatever bytes are in its name; [`Error::input`] has the name as text.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Where the offending record, block or byte starts, counted in the decompressed data.
    ///
    /// ```
    /// use capture::{Class, Reader};
    ///
    /// let cut = capture::doc_example()[..50].to_vec();
    /// let mut reader = Reader::new(std::io::Cursor::new(cut), "cut.pcap")?;
    /// let error = reader.next_packet().expect_err("its packet is not whole");
    /// assert_eq!((error.input(), error.offset()), (Some("cut.pcap"), Some(24)));
    /// assert_eq!(error.class(), Class::Damaged);
    /// # Ok::<(), capture::Error>(())
    /// ```
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        self.offset
    }

    /// The party that has to act on it.
    #[must_use]
    pub fn class(&self) -> Class {
        match self.kind {
            ErrorKind::Open(_)
            | ErrorKind::Read(_)
            | ErrorKind::Write(_)
            | ErrorKind::Unfinished { .. }
            | ErrorKind::NoFiles(_) => Class::System,
            ErrorKind::MixedLinkTypes { .. }
            | ErrorKind::MixedFcsLengths { .. }
            | ErrorKind::LinkTypeBeyondPcapng(_)
            | ErrorKind::TooLongForPcap { .. } => Class::Request,
            _ => Class::Damaged,
        }
    }

    /// Whether an input is neither a capture nor anything that may hold one.
    pub(crate) fn is_other_content(&self) -> bool {
        matches!(self.kind, ErrorKind::Empty | ErrorKind::UnknownFormat { looks_like: None, .. })
    }

    /// Whether the reader of our output has gone away, which ends a command without a complaint.
    #[must_use]
    pub fn is_broken_pipe(&self) -> bool {
        let (ErrorKind::Write(error) | ErrorKind::Unfinished { source: error, .. }) = &self.kind else {
            return false;
        };
        reader_has_left(error)
    }
}

/// Whether writing has failed because nobody reads any more: a pipe is broken, and a socket reset as well, if its reader left something unread.
#[must_use]
pub fn reader_has_left(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(input) = &self.input {
            write!(f, "{}: ", in_one_line(input))?;
        }
        match self.offset {
            Some(offset) if self.compression.is_some() => write!(f, "byte {offset} (decompressed): ")?,
            Some(offset) => write!(f, "byte {offset}: ")?,
            None => {}
        }
        self.kind.fmt(f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.kind)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn hint(looks_like: Option<&str>) -> String {
    looks_like.map_or_else(String::new, |what| format!(": {what}"))
}

fn block_name(block: u32) -> String {
    match crate::block_type::name(block) {
        Some(name) => name.to_owned(),
        None => format!("block of type {block:#010x}"),
    }
}

/// The indefinite article of a noun.
fn article(noun: &str) -> &'static str {
    if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_makes_no_lines_and_no_colours() {
        let name = "a\x1b[31m\nb: no such file\u{9b}2J";
        let error = Error::new(ErrorKind::Empty).of(&name.into());
        assert_eq!(error.to_string(), "a\\u{1b}[31m\\nb: no such file\\u{9b}2J: the file is empty");
        assert_eq!(error.input(), Some(name));
    }
}
