//! Oracles and rigs for tests; never a normal dependency. The generators of filters and packets are those of `quickcheck`.
//!
//! - [`oracle`]: libpcap itself, asked what it thinks of an expression and of a packet;
//! - [`c`]: functions in C, compiled and called by the C compiler of this machine;
//! - [`programs`]: random programs of classic BPF;
//! - [`corpus`]: real packets, where there are captures;
//! - [`table`]: cases of table tests, read from TOML;
//! - [`engines`]: every way in which `pflang` runs a filter;
//! - [`differential`]: all of this against each other;
//! - [`fuzz`]: what the fuzz targets do with their bytes;
//! - [`rig`]: one app between feeders and collectors, with a clock that the test sets;
//! - [`names`]: protocols and services of this machine, which libpcap asks too;
//! - [`files`]: folders for the files of tests;
//! - `native`: back ends on packets at the edge of memory;
//! - [`expr`], [`packet`], [`traffic`], [`mutate`], [`walk`], [`scratch`], [`linktype`], [`rng`]: the generators;
//! - [`netns`]: network namespaces, for tests against the kernel's own stack.
//!
//! What is deliberately absent: no clock is looked at, except by [`netns`] and for as long as [`differential`] is asked to go on; no file is
//! read, except captures ([`corpus`]), this machine's lists of names in /etc ([`names`]) and namespaces in /proc ([`netns`]).

#![deny(unsafe_code)]

pub mod c;
pub mod corpus;
pub mod differential;
pub mod engines;
pub mod files;
pub mod fuzz;
pub mod lua;
pub mod matches;
pub mod names;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod native;
pub mod netns;
#[allow(unsafe_code)]
pub mod oracle;
pub mod programs;
pub mod rig;
pub mod table;

pub use quickcheck::{expr, linktype, mutate, packet, rng, scratch, traffic, walk};

/// Says something aloud: on standard error past the capture of the test runner, which hides what passing tests print.
/// For seeds, and for what is skipped.
pub fn say(text: impl std::fmt::Display) {
    use std::io::Write;
    // A closed standard error is nobody's business here.
    let _ = writeln!(std::io::stderr(), "{text}");
}
