//! Decision programs over packet bytes: built, verified, optimised, and run as machine code, in vectors, or
//! interpreted; or written as a function in C.
//!
//! This is the compiler without a language. A front end (filters, lists of filters, rules, bytecode) builds a graph of tests of
//! packet bytes that ends in numbered leaves; this crate finds the leaf that a packet reaches.
//!
//! It knows nothing of filter languages, protocols, captures, devices or the file system, and asks the operating system for
//! executable memory only.

#![deny(unsafe_code)]

mod budget;
mod burst;
mod error;
#[allow(unsafe_code)]
mod exec;
mod executable;
mod filled;
mod ir;
mod opt;
mod pipeline;
mod span;
mod target;

pub use budget::{Bound, Budget, Exceeded};
pub use burst::{Bits, Leaves};
pub use error::{Error, ErrorKind};
pub use exec::mask::Isa;
pub use exec::{NoExec, Packet, Refusal};
pub use executable::{Backend, BurstEngine};
pub use span::Span;
pub use target::lir::NoCode;

/// The stages. No promise of stability: for this workspace's front ends, tests and benchmarks.
#[doc(hidden)]
pub mod internals {
    /// The text of a function in C.
    pub mod c {
        pub use crate::target::c::*;
    }
    /// What bursts are answered with.
    pub mod burst {
        pub use crate::burst::*;
    }
    /// The low-level form between graph and machine code.
    pub mod lir {
        pub use crate::target::lir::*;
    }
    /// Machine code for x86-64.
    pub mod x64 {
        pub use crate::target::x64::*;
    }
    /// Machine code and mask VM, ready to run.
    pub mod exec {
        pub use crate::exec::*;
    }
    /// Graphs, ready to run.
    pub mod executable {
        pub use crate::executable::*;
    }
    /// Trees and decision graphs.
    pub mod ir {
        pub use crate::ir::*;
    }
    pub use crate::pipeline::{checked, checked_graph, optimised};
    /// The optimiser.
    pub mod opt {
        pub use crate::opt::*;
    }
    pub use crate::filled::filled;
}
