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
pub use explain::{Explanation, Line};
pub use filter::{BurstEngine, Filter};
pub use list::{Entry, FilterList};
pub use names::FileNames;
pub use options::{Backend, Dialect, HostAddrs, Limits, Names, NoNames, Service};
pub use span::Span;
pub use stage::{Stage, UnknownStage};
pub use trace::{Answer, Trace, TraceStep, TracedLoad, TracedPrimitive};

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
#[doc = include_str!("../../../docs/book/src/how-to/embed.md")]
struct Embed;
