//! Classic BPF, the bytecode of `tcpdump -d` and `SO_ATTACH_FILTER`: read, checked, written, interpreted, and compiled to machine code.
//!
//! ```
//! // What `tcpdump -ddd arp` prints.
//! let program = bpf::read(b"4\n40 0 0 12\n21 0 1 2054\n6 0 0 262144\n6 0 0 0\n")?;
//! let filter = bpf::Filter::new(&program, &bpf::Options::default())?;
//! let mut frame = [0; 60];
//! frame[12..14].copy_from_slice(&[0x08, 0x06]);
//! assert!(filter.matches(&frame));
//! # Ok::<(), bpf::Error>(())
//! ```
//!
//! | for | see |
//! |---|---|
//! | text or bytes of a program, in any of five formats | [`read()`], [`Format`], [`Program::write`] |
//! | what libpcap or the kernel would refuse | [`Program::check`] |
//! | running it as machine code, on one packet or many | [`Filter`] |
//! | data that the kernel keeps beside a packet | [`Ancillary`], [`Filter::matches_with`] |
//! | what each instruction does to one packet | [`machine::run`] |
//! | text of a filter to bytecode, by the machine's libpcap | [`libpcap`] |
//!
//! A program means what libpcap's `bpf_filter` makes of it: a load outside the captured bytes rejects, as does a division by zero; shifts by
//! 32 or more give 0; addresses do not wrap around; registers and scratch memory begin as 0. The kernel differs in some of this, see COMPAT.md.
//!
//! It knows nothing of filter languages, captures, devices or the file system.

#![deny(unsafe_code)]

mod ancillary;
mod check;
mod decode;
mod error;
mod filter;
mod graph;
#[allow(unsafe_code)]
pub mod libpcap;
mod liveness;
pub mod machine;
mod program;
mod read;
mod write;

pub use ancillary::Ancillary;
pub use check::Validate;
pub use decide::internals::cbpf::op;
pub use decide::{Insn, Options, Packet};
pub use error::{Error, ErrorKind};
pub use filter::Filter;
pub use program::{Format, Program};
pub use read::read;

/// The stages. No promise of stability: for this workspace's command, tests and benchmarks.
#[doc(hidden)]
pub mod internals {
    pub use crate::filter::Stages;
    /// Instructions as what they do.
    pub mod decode {
        pub use crate::decode::{Op, Operand, Register, Returned, Source, Test, decode, successors};
    }
}
