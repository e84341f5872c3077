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
//! | a pfmatch program: handlers, with arguments taken from the packet | [`Compiler::compile_match`], [`Matcher`] |
//! | errors, with their place and a suggestion; warnings | [`Error`], [`Compiler::help`], [`Compiler::lints`], [`Diagnostic`] |
//! | names of hosts and services, files of sets | [`Names`], [`FileNames`] |
//! | filters that strangers write | [`Limits`] |
//! | what a filter means, and why a packet does not match | [`Compiler::explain`], [`Compiler::trace`] |
//! | a filter as a function in C, as bytecode for sockets | [`Compiler::to_c`], [`Filter::to_cbpf`] |
//! | the stages of the compiler as text | [`Compiler::print`], [`Compiler::print_match`], [`Stage`] |
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
//!         syntax/          lower/          ir/               opt/               target/                  exec/
//! ```

#![forbid(unsafe_code)]

mod c;
mod cbpf;
mod classifier;
mod clock;
mod compiler;
mod diag;
mod filter;
mod help;
mod list;
mod lower;
mod lua;
mod matcher;
mod names;
mod options;
mod stage;
mod syntax;

pub use c::c_name;
pub use classifier::{CommonHeader, LookedUp, TableSummary};
pub use compiler::Compiler;
use decide::internals::{exec, ir, opt, x64};
pub use decide::{Backend, BurstEngine, Insn, Isa, NoCode, NoExec, Packet, Refusal, Span};
pub use diag::{Code, Colours, Diagnostic, Error, Finding, Severity, Unknown};
pub use filter::Filter;
pub use help::explain::{Explanation, Line};
pub use help::trace::{
    Answer, MatchTrace, Sides, Trace, TraceStep, TracedClause, TracedLine, TracedLoad, TracedPlace,
    TracedPrimitive,
};
pub use list::{Entry, FilterList};
pub use matcher::{Call, Calls, MatchParts, Matcher, ParsedMatch};
pub use names::FileNames;
pub use options::{Dialect, HostAddrs, Limits, Names, NoNames, Service};
pub use stage::{Stage, UnknownStage};
#[doc(no_inline)]
pub use wire::LinkType;

/// The stages of the compiler. No promise of stability: for this workspace's tests and benchmarks.
#[doc(hidden)]
pub mod internals {
    pub use crate::compiler::Stages;
    pub use crate::help::trace::trace;
    pub use crate::stage::print_graph;
    pub use decide::internals::{exec, ir, opt, x64};

    /// Filters in plain words.
    pub mod explain {
        pub use crate::help::explain::*;
    }
    /// From syntax trees to trees of tests.
    pub mod lower {
        pub use crate::lower::*;
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
