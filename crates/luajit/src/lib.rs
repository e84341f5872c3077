//! LuaJIT 2.1, built from source, and the part of its C interface that sluss calls.
//!
//! The build script compiles the sources that the crate `luajit-src` carries, and changes what it says there. The order in which `pairs` visits a table
//! follows from the contents of its keys, so that it is the same in every run; `ffi.C` asks [`symbol_resolver`] for names that the process
//! does not export; and in states of [`lua_newstate`] a hook ends compiled loops, too. Lua 5.2 compatibility is on (`__pairs`, `__len`, `goto` as a word).

#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod api;

pub use api::*;

/// LuaJIT's own modules in Lua, by the name that `require` takes: `jit.v`, `jit.dump`, `jit.p` and what they need.
pub const MODULES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/modules.rs"));
