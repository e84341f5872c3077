//! Compiles tcpdump's filter language, that of pcap-filter(7), to machine code.
//!
//! ```
//! use pflang::{Compiler, LinkType};
//!
//! let filter = Compiler::new(LinkType::EN10MB).compile("arp or udp port 67")?;
//! let mut frame = [0; 60];
//! frame[12..14].copy_from_slice(&[0x08, 0x06]);
//! assert!(filter.matches(&frame));
//! # Ok::<(), pflang::Error>(())
//! ```
//!
//! A filter means what it means to libpcap 1.10.3 without its optimiser, for every link type that libpcap knows. Beyond that
//! there are sets (`port in {80, 443}`), `vxlan`, and [dialects](Dialect).
//!
//! | for | see |
//! |---|---|
//! | one filter, one packet or many | [`Compiler::compile`], [`Filter::matches`], [`Filter::match_burst`] |
//! | an ordered list of filters as one decision | [`Compiler::compile_list`], [`FilterList`] |
//! | errors, with their place and a suggestion; warnings | [`Error`], [`Filter::lints`], [`Diagnostic`] |
//! | names of hosts and services, files of sets | [`Names`], [`FileNames`] |
//! | filters that strangers write | [`Limits`] |
//! | what a filter means, and why a packet does not match | [`Compiler::explain`], [`Compiler::trace`] |
//! | the stages of the compiler as text | [`Compiler::print`], [`Stage`] |
//!
//! Filters run as machine code on x86-64 Linux. Elsewhere, and where the system allows no executable memory, an interpreter
//! runs them, with the same answers: [`Filter::fallback_reason`] says why. Machine code allocates no memory, nor do bursts after a filter's
//! first on a thread. A text never makes the compiler panic, whatever it is.
//!
//! This crate knows nothing of captures, devices, engines or the file system: names come in through a trait, packets as byte
//! slices. Inside, a filter goes through these forms:
//!
//! ```text
//! text -> tokens -> AST -> lowered tree -> decision graph -> optimised graph -> selected -> allocated -> code
//!         syntax/          lower/          ir/               opt/               emit/                    exec/
//! ```

#![deny(unsafe_code)]

mod clock;
mod compiler;
mod diag;
mod emit;
#[allow(unsafe_code)]
mod exec;
mod executable;
mod explain;
mod filled;
mod filter;
mod ir;
mod lint;
mod list;
mod lower;
mod names;
mod opt;
mod options;
mod span;
mod stage;
mod syntax;
mod trace;

pub use compiler::Compiler;
pub use diag::{Code, Colours, Diagnostic, Error, Finding, Severity};
pub use emit::NoCode;
pub use exec::mask::Isa;
pub use exec::{NoExec, Packet, Refusal};
pub use executable::BurstEngine;
pub use explain::{Explanation, Line};
pub use filter::Filter;
pub use list::{Entry, FilterList};
pub use names::FileNames;
pub use options::{Backend, Dialect, HostAddrs, Limits, Names, NoNames, Service};
pub use span::Span;
pub use stage::{Stage, UnknownStage};
pub use trace::{Answer, Sides, Trace, TraceStep, TracedLoad, TracedPlace, TracedPrimitive};
#[doc(no_inline)]
pub use wire::LinkType;

/// The stages of the compiler. No promise of stability: for this workspace's tests and benchmarks.
#[doc(hidden)]
pub mod internals {
    pub use crate::compiler::Stages;
    pub use crate::trace::trace;

    /// From selected graphs to machine code.
    pub mod emit {
        pub use crate::emit::*;
    }
    /// Machine code and mask VM, ready to run.
    pub mod exec {
        pub use crate::exec::*;
    }
    /// Filters in plain words.
    pub mod explain {
        pub use crate::explain::*;
    }
    /// Decision graphs.
    pub mod ir {
        pub use crate::ir::*;
    }
    /// Places where a meaning may surprise.
    pub mod lint {
        pub use crate::lint::*;
    }
    /// From syntax trees to trees of tests.
    pub mod lower {
        pub use crate::lower::*;
    }
    /// The optimiser.
    pub mod opt {
        pub use crate::opt::*;
    }
    /// Tokens and syntax trees.
    pub mod syntax {
        pub use crate::syntax::*;
    }
}

/// The examples of the book's page compile and run.
#[cfg(doctest)]
#[doc = include_str!("../embed.md")]
struct Embed;
