//! The lookup tables that compiled filters and classifiers share.
//!
//! - [`cuckoo`]: is this one of those keys, and which? Two probes, whatever the number of keys;
//! - [`rank`]: in which of those ranges does this lie? A search without branches.
//!
//! Each table is plain data plus a reference lookup in safe code. Generated code embeds the data and repeats the
//! lookup, so what a builder promises here is what a compiled filter relies on. Building is bounded for every
//! input: a set that will not fit a table is an error for the caller to work around, never a long wait.
//!
//! Absent: anything that knows of packets, filters or rules.

#![forbid(unsafe_code)]

pub mod cuckoo;
pub mod rank;
