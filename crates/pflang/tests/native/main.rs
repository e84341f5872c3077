//! Machine code against the reference interpreter.
//!
//! Generated graphs, optimised and not, run on generated packets that end where memory ends: one packet at a
//! time, in bursts, and interpreted. What disagrees, or reads too far, fails.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod addresses;
mod agree;
mod decoded;
mod graphs;
mod guarded;
mod masks;
mod registers;
