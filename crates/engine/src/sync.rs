//! The atomics that rings and return stacks are made of: those of the standard library, or loom's when `models.rs` runs under it
//! (`RUSTFLAGS="--cfg loom"`).

#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// Keeps its content on cache lines of its own: two lines, since processors fetch lines in pairs.
#[repr(align(128))]
#[derive(Debug)]
pub(crate) struct OwnLine<T>(pub(crate) T);
