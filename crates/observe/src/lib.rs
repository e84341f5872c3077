//! What runs, and how fast: instances of the engine, and rates from their counters.
//!
//! ```text
//! NAME.PID.counters ─► Instance (name, state, Snapshot) ─► Sample ─┐
//!                                          … a second later Sample ─┴► Rates ─► History
//! ```
//!
//! - [`find`] lists the instances of a folder, the crashed ones included, whose counters stay readable.
//! - [`Rates::between`] compares two samples: a pure function, of numbers that may say anything.
//! - [`History`] keeps the latest of anything, within a bound.
//!
//! This crate knows nothing of terminals, and disturbs no instance: it only reads files.

#![forbid(unsafe_code)]

mod history;
mod instance;
mod rates;

pub use history::History;
pub use instance::{Found, Instance, State, find};
pub use rates::{
    AppRates, CounterRate, DropRate, LinkRates, Quantiles, Rates, Sample, Turn, WIRE_OVERHEAD_BYTES,
    WorkerRates,
};
