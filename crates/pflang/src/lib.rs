//! Compiles tcpdump's filter language (pcap-filter(7), libpcap 1.10) to machine code.
//!
//! ```text
//! text -> tokens -> AST -> lowered tree -> decision graph -> optimised graph -> selected -> allocated -> code
//!         syntax/          lower/          ir/               opt/               emit/                    exec/
//! ```
//!
//! This crate knows nothing of captures, devices, engines or the file system: names come in through a trait,
//! packets as byte slices.

#![deny(unsafe_code)]

mod clock;
mod compiler;
pub mod diag;
pub mod emit;
#[allow(unsafe_code)]
pub mod exec;
pub mod explain;
mod filled;
mod filter;
pub mod ir;
pub mod lint;
mod list;
pub mod lower;
pub mod names;
pub mod opt;
pub mod options;
mod program;
mod runs;
pub mod span;
mod stage;
pub mod syntax;
mod trace;

pub use compiler::{Backend, Compiler, Stages};
pub use diag::{Code, Diagnostic, Error, Finding, Severity};
pub use exec::Packet;
pub use filter::{BurstEngine, Filter};
pub use options::{Dialect, HostAddrs, Limits, Names, NoNames, Service};
pub use program::{Entry, Program};
pub use span::Span;
pub use stage::Stage;
pub use trace::{Answer, Trace, TraceStep, TracedLoad, TracedPrimitive, trace};

/// The examples of the book's page compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/book/src/how-to/embed.md")]
struct Embed;
