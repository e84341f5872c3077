//! The intermediate forms, both over pure values: the tree of tests that lowering makes, and the decision graph that is built
//! from it. `anf` and `ssa` are views of the graph, never a third form.

/// A type of indices into a table of one kind of thing.
macro_rules! index_type {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// As an index into a side table.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

pub(crate) mod ancestry;
pub mod anf;
pub mod build;
pub mod dominators;
mod graph;
mod guard;
mod interner;
pub mod interp;
mod members;
mod origin;
mod pool;
pub mod print;
pub mod ssa;
pub mod tree;
pub mod verify;

pub(crate) use build::Question;
pub use graph::{ACCEPT, Arm, Graph, Node, NodeId, REJECT, Switch};
pub(crate) use graph::{FEW_NODES, Stored};
pub use members::{Members, WORDS_MAX};
pub(crate) use origin::Origin;
pub use origin::Spans;
pub use pool::{BinOp, CmpOp, Cond, CondId, MembersId, Order, Pool, Size, Value, ValueId};

#[cfg(test)]
mod tests;
