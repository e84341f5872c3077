//! Writing packets back: as they stood where the formats agree, translated where they do not.
//!
//! ```text
//!              into pcap                         into pcapng
//! from pcap    same order and precision:         one section and interface per input,
//!              records as they are,              an enhanced packet block per packet
//!              else a new record header
//! from pcapng  a new record header each          every block as it is
//! ```
//!
//! The format of the first input decides the format of the output: its byte order, precision, snap length and
//! link type. What changes on the way, and why:
//!
//! * a pcap header always says version 2.4, since records are written with the captured length first;
//! * a pcapng section header loses its section length, which filtering makes wrong ("unknown" is allowed);
//! * the snap length of a pcap file is raised where it holds a longer packet: in place, once the packet is written. That of a pipe, or of a file that is
//!   appended to, cannot be;
//! * a time before 1970 or after 2106, which pcap has no room for, becomes the nearest that it can hold, counted;
//! * a compressed output that takes no more ends where a record ends, at most a MiB of them before;
//! * custom blocks and custom options that ask not to be copied into a changed file are left out.
//!
//! A writer that is finished, flushed or dropped leaves whole records, and so does one whose file takes no more, because the disk is full say.
//! Where a pipe fails or the process is killed, the last one may be there in part, as with tcpdump; readers take everything before it.
//!
//! COMPAT: `tcpdump -r F -w O` turns every input into a native-order file of microseconds. For native files of
//! microseconds the bytes are the same as here.

mod close;
mod encoder;
pub mod layout;
mod merge;
mod name;
mod pack;
mod spans;
mod torn;
mod writer;

pub use close::close;
pub use encoder::{Encoded, Encoder, Target};
pub use merge::MergingEncoder;
pub use name::{NameHint, NamedFormat};
pub use pack::Packer;
pub use writer::{SnapLength, Writer};
