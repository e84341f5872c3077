//! Decision programs over packet bytes: built, verified, optimised, and run as machine code, in vectors, or
//! interpreted; or written as a function in C.
//!
//! This is the compiler without a language. A front end (filters, lists of filters, rules, bytecode) builds a graph of tests of
//! packet bytes that ends in numbered leaves; this crate finds the leaf that a packet reaches.
//!
//! | for | see |
//! |---|---|
//! | an ordered list of tests joined by and, or, not | [`Tree`], [`Decision::of_tree`] |
//! | the same with lists within lists | [`Clause`], [`Decision::of_clauses`] |
//! | programs whose ways join, such as bytecode | [`Graph`], [`Graph::guard`], [`Decision::of_graph`] |
//! | values of the packet that a leaf hands out | [`LeafTable`], [`LeafValues`] |
//! | numbers that the caller gives with each packet | [`Pool::input`], [`Decision::leaf_with`], [`Decision::run_burst_with`] |
//! | one packet, many packets | [`Decision::leaf`], [`Decision::run_burst`] |
//! | bounds on what programs of strangers cost | [`Options`], [`Budget`], [`Error`] |
//!
//! A graph runs only if the verifier has seen that each load lies inside of what was captured and no divisor is zero. What runs is
//! machine code on x86-64 Linux, the mask VM for bursts, and elsewhere an interpreter, with the same answers.
//!
//! It knows nothing of filter languages, protocols, captures, devices or the file system, and asks the operating system for
//! executable memory only.

#![deny(unsafe_code)]

mod budget;
mod burst;
mod decision;
mod error;
#[allow(unsafe_code)]
mod exec;
mod filled;
mod ir;
mod leaves;
mod opt;
mod pipeline;
mod span;
mod target;

pub use budget::{Bound, Budget, Exceeded};
pub use burst::{Bits, Leaves};
pub use decision::{Backend, BurstEngine, Decision, Options};
pub use error::{Error, ErrorKind};
pub use exec::mask::Isa;
pub use exec::{NoExec, Packet, Refusal};
pub use ir::tree::{Clause, Set, SetId, Tree, TreeId, TreeNode};
pub use ir::verify::Violation;
pub use ir::{
    Arm, BinOp, CmpOp, Cond, CondId, Graph, Members, MembersId, Node, NodeId, Order, Pool, REJECT, Size,
    Spans, Switch, Value, ValueId, WORDS_MAX,
};
pub use leaves::{LeafTable, LeafValues};
pub use span::Span;
pub use target::cbpf::Insn;
pub use target::lir::NoCode;

/// The stages. No promise of stability: for this workspace's front ends, tests and benchmarks.
#[doc(hidden)]
pub mod internals {
    /// The text of a function in C.
    pub mod c {
        pub use crate::target::c::*;
    }
    /// Classic BPF.
    pub mod cbpf {
        pub use crate::target::cbpf::*;
    }
    /// The text of a chunk for LuaJIT.
    pub mod lua {
        pub use crate::target::lua::*;
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
