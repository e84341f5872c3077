//! Look-up tables, shared by compiled filters, classifiers and apps.
//!
//! | question | table |
//! |---|---|
//! | is this one of those keys, and which? | [`cuckoo`]: two probes, whatever the number of keys |
//! | in which of those ranges does this lie? | [`rank`]: a search without branches |
//! | in which of millions of ranges, prefixes or hosts? | [`ranks`]: two or three cache lines, built from [`interval`]s |
//! | what was last known of this key? | [`recent`]: one cache line; forgets by itself |
//! | what belongs to this key, and what is oldest? | [`ageing`]: exact, in the order in which entries came |
//! | which of sixteen rules does this match? | [`simd::lanes`]: all compared at once |
//!
//! The first four are built in bulk from what a user wrote. Cuckoo and rank are plain data plus a reference lookup in safe code: generated code
//! embeds the data and repeats the lookup, so what a builder promises here is what a compiled filter relies on. Building is bounded for every
//! input: a set that will not fit a table is an error for the caller to work around, never a long wait. The last two learn from traffic, in fixed
//! memory, under a secret drawn at random.
//!
//! Absent: anything that knows of packets, filters or rules.

#![deny(unsafe_code)]

pub mod ageing;
pub mod cuckoo;
pub mod interval;
#[allow(unsafe_code, reason = "an island: see ARCHITECTURE.md")]
pub mod pages;
pub mod rank;
pub mod ranks;
pub mod recent;
#[allow(unsafe_code, reason = "an island: see ARCHITECTURE.md")]
pub mod simd;
