//! Where bytes come from: a file or standard input, decompressed when it turns out to be compressed.
//!
//! The first bytes of an input decide its format, never its name. Nothing is mapped into memory: a file
//! that shrinks while we read it ends early, it does not kill the process.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;

use crate::block_reader::BlockReader;
use crate::compression::Compression;
use crate::error::ErrorKind;
use crate::growth::BeforeGrowing;
use crate::gzip::Gzip;
use crate::zstd::Zstd;

/// Bytes of any origin; `Send` so that a worker can read its own file.
pub(crate) type ByteStream = Box<dyn Read + Send>;

/// Compressed bytes are read this many at a time.
const COMPRESSED_CHUNK: usize = 128 << 10;

/// Frames that need a larger history are refused, so that a hostile file cannot make us hold 2 GiB. 128 MiB is what `zstd --long` and
/// `zstd --ultra -22` use, and the most that `zstd -dc` takes unless it is told to. Of it there is no more than has been decoded.
const ZSTD_WINDOW_LOG_MAX: u32 = 27;

/// Bytes that decide what an input is: the longest signature we look for.
const SNIFF_LEN: usize = 6;
/// Bytes that are read at first, if as many are there.
///
/// PERF: a page, so that the reads of compressed bytes behind them begin with one. A Zen 4 takes three times as long to copy bytes to a place in a page that is
/// 1 to 15 bytes further on than theirs. Where the first read took 6 bytes, gzip and zstd input took 1.07 and 1.04 times the CPU there.
const HEAD_LEN: usize = 4096;

pub(crate) fn open(path: &Path) -> io::Result<ByteStream> {
    Ok(of_file(File::open(path)?))
}

/// Standard input without the small buffer that `std` puts before it.
pub(crate) fn stdin() -> io::Result<ByteStream> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        Ok(of_file(File::from(io::stdin().as_fd().try_clone_to_owned()?)))
    }
    #[cfg(not(unix))]
    Ok(Box::new(io::stdin()))
}

#[cfg(unix)]
fn of_file(file: File) -> ByteStream {
    let is_regular = file.metadata().is_ok_and(|metadata| metadata.is_file());
    if is_regular { Box::new(file) } else { Box::new(Waiting(file)) }
}

#[cfg(not(unix))]
fn of_file(file: File) -> ByteStream {
    Box::new(file)
}

/// A pipe, a socket or a terminal, where a read may wait for ever.
///
/// The kernel takes a read up again after most signal handlers, but not a poll(2): so a signal gets through to
/// [`Reader::stop_when`](crate::Reader::stop_when).
#[cfg(unix)]
struct Waiting(File);

#[cfg(unix)]
impl Read for Waiting {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        // For the signal that another thread handles, or that comes just before the poll.
        const LONGEST: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
        let mut fds = [PollFd::new(&self.0, PollFlags::IN)];
        match poll(&mut fds, Some(&LONGEST)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => Err(io::ErrorKind::Interrupted.into()),
            _ => self.0.read(out),
        }
    }
}

/// Looks at the first bytes and puts a decoder before a compressed stream.
///
/// Returns the bytes to read, those that were read already, and how they were compressed.
pub(crate) fn sniff(
    mut raw: ByteStream,
    before_growing: Option<BeforeGrowing>,
) -> io::Result<(ByteStream, Vec<u8>, Option<Compression>)> {
    let head = head(&mut raw)?;
    let Some(compression) = compression_of(&head) else { return Ok((raw, head, None)) };
    let compressed = BlockReader::new(Cursor::new(head).chain(raw), COMPRESSED_CHUNK);
    let plain: ByteStream = match compression {
        Compression::Gzip => Box::new(Gzip::new(compressed)),
        Compression::Zstd => Box::new(Zstd::new(compressed, ZSTD_WINDOW_LOG_MAX, before_growing)?),
    };
    Ok((plain, Vec::new(), Some(compression)))
}

/// The first bytes: no more than are there without waiting, unless they are too few to tell what the input is.
fn head(raw: &mut ByteStream) -> io::Result<Vec<u8>> {
    let mut head = vec![0; HEAD_LEN];
    let mut len = 0;
    while len < SNIFF_LEN {
        match raw.read(&mut head[len..]) {
            Ok(0) => break,
            Ok(got) => len += got,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    head.truncate(len);
    Ok(head)
}

fn compression_of(head: &[u8]) -> Option<Compression> {
    match head {
        [0x1f, 0x8b, ..] => Some(Compression::Gzip),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Compression::Zstd),
        // A skippable frame (RFC 8878, 3.1.2): parallel compressors put one in front.
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Compression::Zstd),
        _ => None,
    }
}

/// The first bytes of formats that may hold packets and are not read here, and what makes a capture of them. `editcap` of Wireshark reads all
/// those of captures.
const SIGNATURES: [(&[u8], &str); 18] = [
    (b"BZh", "bzip2 data; pipe it through `bzip2 -dc`"),
    (b"\xfd7zXZ", "xz data; pipe it through `xz -dc`"),
    (b"\x04\x22\x4d\x18", "lz4 data; pipe it through `lz4 -dc`"),
    (b"LZIP", "lzip data; pipe it through `lzip -dc`"),
    (b"\x1f\x9d", "data of compress(1); pipe it through `gzip -dc`"),
    (b"\x1f\x8b", "compressed twice; unpack it once first"),
    (b"\x28\xb5\x2f\xfd", "compressed twice; unpack it once first"),
    (b"PK\x03\x04", "a zip archive; unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive; unpack it first"),
    (b"Rar!\x1a\x07", "a rar archive; unpack it first"),
    (b"snoop", "a snoop capture; convert it with `editcap`"),
    (b"btsnoop\0", "a btsnoop capture; convert it with `editcap`"),
    (b"iptrace ", "an iptrace capture; convert it with `editcap`"),
    (b"GMBU", "a Network Monitor capture; convert it with `editcap`"),
    (b"RTSS", "a Network Monitor capture; convert it with `editcap`"),
    (b"TRSNIFF data", "a Sniffer capture; convert it with `editcap`"),
    (b"XCP\0", "a Sniffer capture; convert it with `editcap`"),
    (b"\x7fver", "an EtherPeek capture; convert it with `editcap`"),
];

/// The format of an input that is not a capture we read, and a remedy. `head` is as much of its beginning as is there.
pub(crate) fn looks_like(head: &[u8]) -> Option<&'static str> {
    let signed = SIGNATURES.iter().find(|(signature, _)| head.starts_with(signature));
    match signed {
        Some((_, remedy)) => Some(remedy),
        None if is_tar(head) => Some("a tar archive; unpack it first with `tar -xf`"),
        None if is_erf(head) => Some("an ERF capture; convert it with `editcap`"),
        None => None,
    }
}

/// The magic of POSIX and GNU archives stands behind the name, owner and size of the first file.
fn is_tar(head: &[u8]) -> bool {
    const MAGIC_AT: usize = 257;
    head.get(MAGIC_AT..).is_some_and(|magic| magic.starts_with(b"ustar"))
}

/// Whether each record that begins in these bytes, of which there are two at least unless the file has one, has a header that Endace's cards
/// write: the format has no magic.
///
/// ```text
///  0 fraction of a second, little endian     10 length of the record, big endian
///  4 seconds since 1970, little endian       12 records lost, or colour
///  8 extension headers 80, type 01-30        14 length on the wire
///  9 flags: 0, 0, …
/// ```
fn is_erf(head: &[u8]) -> bool {
    const HEADER_LEN: usize = 16;
    const TYPES: std::ops::RangeInclusive<u8> = 1..=48;
    // 1996, in which the first card was sold, to 2096.
    const SECONDS: std::ops::Range<u32> = 820_454_400..3_976_128_000;
    let (mut rest, mut last, mut records) = (head, 0, 0);
    while let Some((header, _)) = rest.split_first_chunk::<HEADER_LEN>() {
        let seconds = u32::from_le_bytes([header[4], header[5], header[6], header[7]]);
        let len = usize::from(u16::from_be_bytes([header[10], header[11]]));
        // A card counts time on; several of them are merged in their order, roughly.
        let is_time = SECONDS.contains(&seconds) && (records == 0 || seconds.abs_diff(last) < 1 << 20);
        if !is_time || !TYPES.contains(&(header[8] & 0x7f)) || header[9] & 0xc0 != 0 || len < HEADER_LEN {
            return false;
        }
        (last, records) = (seconds, records + 1);
        let Some(behind) = rest.get(len..) else { break };
        rest = behind;
    }
    records > 1 || records == 1 && rest.is_empty()
}

/// Whether a failed read is the decoder's verdict on the data rather than the system's.
pub(crate) fn read_error(error: io::Error, compression: Option<Compression>) -> ErrorKind {
    match compression {
        // The decoder's only word for it is its text.
        Some(Compression::Zstd) if error.to_string().contains("too much memory") => {
            ErrorKind::ZstdWindow { limit: 1 << ZSTD_WINDOW_LOG_MAX }
        }
        // Nor is this one about the data.
        Some(Compression::Zstd) if error.to_string().contains("not enough memory") => {
            ErrorKind::Read(io::ErrorKind::OutOfMemory.into())
        }
        Some(c) if error.raw_os_error().is_none() => {
            ErrorKind::Decompress { format: c.name(), source: error }
        }
        _ => ErrorKind::Read(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// Records of 100 bytes, a second apart.
    fn erf(records: u32) -> Vec<u8> {
        let record = |i: u32| {
            let mut record = [0; 100];
            record[4..8].copy_from_slice(&(1_700_000_000 + i).to_le_bytes());
            record[8..16].copy_from_slice(&[2, 4, 0, 100, 0, 0, 0, 82]);
            record
        };
        (0..records).flat_map(record).collect()
    }

    #[test]
    fn what_is_not_read_is_recognised() {
        let mut tar = vec![0; 1024];
        tar[..8].copy_from_slice(b"web.pcap");
        tar[257..263].copy_from_slice(b"ustar\0");
        for (head, expected) in [
            (&tar[..], Some("a tar archive")),
            (&tar[..262], Some("a tar archive")),
            (&tar[..261], None),
            (&erf(1), Some("an ERF capture")),
            (&erf(50), Some("an ERF capture")),
            (&erf(2)[..150], Some("an ERF capture")),
            (&erf(2)[..115], None),
            (b"btsnoop\0\0\0\0\x01", Some("a btsnoop capture")),
            (b"snoop\0\0\0", Some("a snoop capture")),
            (b"PK\x03\x04", Some("a zip archive")),
            (b"some text that is long enough for the headers of records", None),
            (&[0; 4096], None),
            (b"", None),
        ] {
            let told = looks_like(head).map(|told| told.split(';').next().unwrap());
            assert_eq!(told, expected, "{head:?}");
        }
        // Each field of a header counts.
        for (at, byte) in [(7, 1), (8, 0), (8, 60), (9, 0xff), (10, 0xff), (11, 15), (107, 0x10), (108, 0x7f)]
        {
            let mut odd = erf(2);
            odd[at] = byte;
            let told = looks_like(&odd);
            assert_eq!(told, None, "{at}");
        }
    }

    #[test]
    fn no_memory_for_zstd_is_no_damage() {
        let error = io::Error::other("Allocation error : not enough memory");
        let kind = read_error(error, Some(Compression::Zstd));
        assert!(matches!(&kind, ErrorKind::Read(e) if e.kind() == io::ErrorKind::OutOfMemory), "{kind:?}");
    }

    /// A file that notes where reads begin.
    struct Noting {
        bytes: Cursor<Vec<u8>>,
        begins: Arc<Mutex<Vec<u64>>>,
    }

    impl Read for Noting {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            self.begins.lock().unwrap().push(self.bytes.position());
            self.bytes.read(out)
        }
    }

    #[test]
    fn compressed_bytes_are_read_in_whole_pages() {
        // A linear congruential generator's upper bits: nothing that compresses.
        let next = |seed: &u64| Some(seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        let noise: Vec<u8> =
            std::iter::successors(Some(1_u64), next).map(|seed| (seed >> 56) as u8).take(600_000).collect();
        let bytes = Cursor::new(::zstd::encode_all(&noise[..], 1).unwrap());
        let begins = Arc::default();
        let (mut plain, ..) = sniff(Box::new(Noting { bytes, begins: Arc::clone(&begins) }), None).unwrap();
        let mut seen = Vec::new();
        plain.read_to_end(&mut seen).unwrap();
        assert_eq!(seen, noise);
        let begins = begins.lock().unwrap();
        assert!(begins.len() > 3, "{begins:?}");
        // The last one finds the end.
        assert!(begins[..begins.len() - 1].iter().all(|begin| begin % HEAD_LEN as u64 == 0), "{begins:?}");
    }

    /// Gives a byte a read.
    struct Drip(Cursor<Vec<u8>>);

    impl Read for Drip {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let few = out.len().min(1);
            self.0.read(&mut out[..few])
        }
    }

    #[test]
    fn no_more_is_waited_for_than_tells_the_format() {
        let (mut rest, head, compression) = sniff(Box::new(Drip(Cursor::new(vec![7; 20]))), None).unwrap();
        assert_eq!((head.len(), compression), (SNIFF_LEN, None));
        let mut more = Vec::new();
        rest.read_to_end(&mut more).unwrap();
        assert_eq!(more.len(), 20 - SNIFF_LEN);
    }
}
