//! What protocol a flow speaks.
//!
//! Tier 1 is our own identification, in safe Rust, in the thread that forwards packets. Tier 2 is nDPI, in a process of its own.

#![deny(unsafe_code)]

pub mod exact;
mod message;
#[allow(unsafe_code)]
pub mod ndpi;
pub mod protocol;
pub mod risk;
pub mod tier1;
mod verdict;
#[allow(unsafe_code)]
pub mod worker;

pub use message::Message;
pub use protocol::Protocol;
pub use verdict::{By, Confidence, Details, Verdict};
