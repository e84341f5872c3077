//! Reads and writes packet captures: pcap and pcapng, plain, gzip or zstd, many files as one stream.
//!
//! ```text
//!   words ──expand──► inputs ──► Stream / Reader ──► Batch ──(your filter)──► Writer
//!   a.pcap dir 'x*'             one window per input   up to 256 packets,      raw copies where
//!   -                           read in large blocks   where they lie          formats agree
//! ```
//!
//! Built for speed without giving up safety: a [`Reader`] fills a window, finds the records where they
//! lie, and hands them out in batches of descriptors, so that a filter runs over many packets at a time and
//! what it selects is copied as it is. Nothing is allocated per packet and nothing is mapped.
//!
//! ```
//! # fn main() -> Result<(), capture::Error> {
//! # let bytes = capture::doc_example();
//! use capture::{Reader, Writer};
//!
//! // In real life: Reader::open("in.pcap.zst"), Writer::create("out.pcap").
//! let mut reader = Reader::new(std::io::Cursor::new(bytes), "in.pcap")?;
//! let mut writer = Writer::new(Vec::new(), "out.pcap");
//! let mut matched = 0;
//! while let Some(batch) = reader.next_batch()? {
//!     // All packets of a batch share a link type, so one compiled filter does for all of them.
//!     assert_eq!(batch.linktype(), Some(wire::LinkType::EN10MB));
//!     let selected: Vec<usize> = (0..batch.len())
//!         .filter(|&i| batch.data(&batch.packets()[i]).len() >= 60)
//!         .collect();
//!     matched += selected.len();
//!     // Every batch, also when nothing is selected: it may carry headers and names.
//!     writer.write(&batch, selected)?;
//! }
//! writer.finish()?;
//! assert_eq!(matched, 1);
//! # Ok(())
//! # }
//! ```
//!
//! # What is guaranteed
//!
//! * **Content decides.** The first bytes of an input decide its format, never its name.
//! * **Nothing before the damage is lost.** A truncated or damaged input yields every whole record, then an
//!   [`Error`] that names the byte.
//! * **Memory stays flat.** One record is at most 16 MiB ([`ErrorKind::TooLong`] else), a decoder's history at
//!   most 128 MiB, and a claimed length costs nothing until its bytes arrive. Of many inputs at once, each can be told to ask before it
//!   takes that much ([`BeforeGrowing`]).
//! * **Output is the input's format**: byte order, precision, interfaces, options, unknown blocks, and the snap length, unless a packet is longer.
//!
//! This crate does not know filters, protocols or threads. Parallel readers are the caller's; an
//! [`Encoder`] per worker and one [`Writer`] keep their output in order.

#![forbid(unsafe_code)]

mod batch;
mod block_reader;
mod block_type;
mod compression;
mod error;
mod found;
mod growth;
mod gzip;
mod inputs;
mod line;
mod order;
mod pcap;
mod pcapng;
mod place;
mod reader;
mod section;
mod source;
mod stream;
mod time;
mod window;
mod write;
mod zstd;

pub use batch::{Batch, PacketRef};
pub use compression::Compression;
pub use error::{BlockProblem, Class, Error, ErrorKind, NoFiles, Written, reader_has_left};
pub use found::{BATCH_MAX, Block, Interface, Record};
pub use growth::BeforeGrowing;
pub use inputs::{Expansion, Input, expand};
pub use line::{Line, UtcTime};
pub use order::ByteOrder;
pub use pcap::PcapHeader;
pub use place::{FileIdentity, NoFolder, place_of};
pub use reader::Reader;
pub use section::Format;
pub use stream::Stream;
pub use time::{Precision, Resolution};
pub use write::{
    Encoded, Encoder, MergingEncoder, NameHint, NamedFormat, Packer, SnapLength, Target, Writer, close,
    layout,
};

/// A capture of one packet for the examples above.
#[doc(hidden)]
#[must_use]
pub fn doc_example() -> Vec<u8> {
    let mut file = Target::Pcap {
        order: ByteOrder::NATIVE,
        precision: Precision::Micro,
        snaplen: 65_535,
        linktype: wire::LinkType::EN10MB,
        link_bits: 0,
    }
    .file_header();
    for field in [1_700_000_000, 0, 64, 64_u32] {
        file.extend(field.to_ne_bytes());
    }
    file.extend([0; 64]);
    file
}
