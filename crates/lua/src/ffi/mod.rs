//! Everything that touches LuaJIT, and the structs that it shares with Rust.
//!
//! | file | what |
//! |---|---|
//! | `layout.rs` | the structs that Lua sees: packet, link, counter, list of free packets |
//! | `core.rs` | an engine's memory: packets, links, counters |
//! | `breath.rs` | the order of a breath, and the breaths themselves |
//! | `guest.rs` | a Lua app in a graph of the engine |
//! | `ledger.rs` | which packets such an app has |
//! | `fence.rs` | the limits of a sandboxed state: memory, and the time of a turn |
//! | `turn_watch.rs` | names an app whose turn does not end |
//! | `team.rs` | several workers that run one program |
//! | `state.rs` | a Lua state: text in, errors out |
//! | `call.rs` | how Lua calls Rust, and the arguments of such a call |
//! | `native.rs` | the functions that `core.*` calls |
//! | `natives.rs` | native apps in a graph of Lua |
//! | `symbols` | the functions that `ffi.C` finds |
//! | `library.rs` | those of them that modules of `lib`, `apps` and `pf` call: `hot.rs`, `burst.rs`, `mac_table.rs`, `interlink.rs`, `filter.rs`, `scanner.rs`, `capture.rs` |
//!
//! A Lua error must never pass through a Rust frame that has something to drop: functions that Lua calls return their errors, and Lua raises them.

mod breath;
mod burst;
mod call;
mod capture;
mod core;
mod fence;
mod filter;
mod guest;
mod hot;
mod interlink;
mod layout;
mod ledger;
mod library;
mod mac_table;
mod native;
mod natives;
mod scanner;
mod state;
mod symbols;
mod team;
mod turn_watch;

pub(crate) use breath::Turn;
pub(crate) use core::Core;
pub(crate) use guest::Guest;
pub(crate) use state::{Argument, State};
pub(crate) use team::Team;
