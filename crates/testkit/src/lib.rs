//! Generators, oracles and packet builders for tests; never a normal dependency.
//!
//! - [`oracle`]: libpcap itself, asked what it thinks of an expression and of a packet;
//! - [`scratch`]: runs of it that mean nothing, because it lost a header's offset;
//! - [`c`]: functions in C, compiled and called by the C compiler of this machine;
//! - [`walk`]: packets made to take each branch of a bytecode program;
//! - [`programs`]: random programs of classic BPF;
//! - [`packet`]: packets from a line of text such as `eth / ip4(ttl=3) / tcp(dport=80) / 'GET /'`;
//! - [`mutate`]: truncations and damaged headers of a packet;
//! - [`expr`]: valid expressions of the filter language, for each link type, from a seed;
//! - [`corpus`]: real packets, where there are captures;
//! - [`table`]: cases of table tests, read from TOML;
//! - [`engines`]: every way in which `pflang` runs a filter;
//! - [`traffic`]: random packets that make sense;
//! - [`differential`]: all of this against each other;
//! - [`fuzz`]: what the fuzz targets do with their bytes;
//! - [`rig`]: one app between feeders and collectors, with a clock that the test sets;
//! - [`names`]: protocols and services of this machine, which libpcap asks too;
//! - [`files`]: folders for the files of tests;
//! - `native`: back ends on packets at the edge of memory;
//! - [`netns`]: network namespaces, for tests against the kernel's own stack;
//! - [`linktype`]: the link types that the language knows;
//! - [`rng`]: the small generator behind all of them, so that a seed means the same on every machine.
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
