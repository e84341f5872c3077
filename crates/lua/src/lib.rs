//! Apps and programs in Lua: Snabb's API on LuaJIT, over the packets of `sluss-engine`.
//!
//! ```text
//!  program.lua ── core.app, core.link, …  (modules/core: Lua)     what runs, and when it changes
//!        │                 │
//!        │           native functions     (ffi: Rust)             breaths, time, counters, memory
//!        ▼                 ▼
//!   struct link { struct packet *packets[1024]; … }               the same memory for both
//! ```
//!
//! A [`Vm`] is one Lua state with an engine of its own. Apps in Lua read and write packets and links as C structs, which LuaJIT compiles
//! into its traces; a breath is driven from here, since a loop in Lua over all apps would be compiled as one trace that fits no graph.
//!
//! The crate knows no command line. Unsafe code is in `ffi` only.

#![deny(unsafe_code)]

mod app;
mod error;
#[allow(unsafe_code)]
mod ffi;
mod modules;
mod options;
mod vm;

pub use app::{LuaApp, registry};
pub use error::{Error, Failure};
pub use options::{Coach, Options, Restarts, Sandbox};
pub use vm::{Action, Vm};

/// The types of the modules for lua-language-server: paths of files, and their texts.
pub const ANNOTATIONS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/annotations.rs"));
