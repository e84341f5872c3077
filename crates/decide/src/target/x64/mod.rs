//! x86-64: machine code from decision graphs.
//!
//! ```text
//! graph -> lir -> Program<Place<Reg>> -> body, twice -> instructions -> bytes
//!                 convention             entry: one packet; burst: the loop around many
//! ```
//! Registers and calling convention, instructions, their bytes, and the two entry points. Encodings are our own. No instruction beyond
//! the x86-64 baseline is used without having been asked for in [`Features`]. The code comes from verified graphs only and checks
//! nothing again; it stores to its stack frame and to where a burst writes only.
//!
//! The only calls are those of large sets ([`crate::ir::Members`]), through one function of [`crate::exec`].
//!
//! Absent: executable memory ([`crate::exec`]); any floating point, vector or privileged instruction.

#![forbid(unsafe_code)]

pub mod assembler;
mod body;
pub mod burst;
pub mod convention;
pub mod encode;
pub mod entry;
pub mod inst;
pub mod label;
mod listing;
pub mod reg;
#[cfg(test)]
mod tests;

use super::lir::program::{Program, Table};
use super::lir::values::select_values;
use super::lir::{NoCode, allocate, select};
use crate::burst::{Bits, Leaves, Written};
use crate::ir::verify::{CheckedLeaves, Verified};
use crate::ir::{Members, Size};
use assembler::Assembled;
use convention::Convention;
use reg::Reg;
use std::fmt::Write;
use std::marker::PhantomData;
use std::sync::Arc;

/// How to compile.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Features of the processor.
    pub features: Features,
    /// How many descriptors ahead a burst prefetches; 0 for not at all.
    pub prefetch_distance: u32,
    /// Bound on code and tables together. Above 2 GiB - 1 it has no effect.
    pub code_bytes_max: usize,
    /// Picks the hash functions of tables.
    pub seed: u64,
    /// Whether instructions compare bytes in memory. Without, every load goes to a register, as on a load/store machine: for tests of
    /// what selection makes for one.
    pub compares_memory: bool,
    /// Whether what [`MachineCode::print_asm`] prints is kept.
    pub listing: Listing,
    /// The address of the function that asks a large set: `fn(set: *const Arc<dyn Members>, row: *const u32) -> u32` in the System V convention. Without
    /// it, graphs that ask one have no code. Only `exec` sets it, since it runs what calls it.
    pub(crate) member_entry: Option<u64>,
}

/// Whether the instructions are kept beside their bytes, to be printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// Only the bytes are of interest.
    Omitted,
    /// With the source of each instruction.
    Kept,
}

/// Jumps and addresses of tables are relative, in 32 bits with a sign: what is longer cannot be addressed.
const CODE_BYTES_MAX: usize = i32::MAX as usize;

/// PERF: shorter distances gain less (24: 5 % in memory order), longer ones little, and of short bursts they leave more to
/// be waited for.
pub const PREFETCH_DISTANCE: u32 = 32;
/// No burst is longer than this in one cache.
const PREFETCH_DISTANCE_MAX: u32 = 4096;

impl Default for Options {
    fn default() -> Self {
        Options {
            features: Features::detect(),
            prefetch_distance: PREFETCH_DISTANCE,
            code_bytes_max: 256 << 20,
            seed: 0,
            compares_memory: true,
            listing: Listing::Omitted,
            member_entry: None,
        }
    }
}

impl Options {
    /// What selection must know.
    pub fn machine(&self) -> select::Machine {
        // PERF: a 16-bit immediate stalls the decoder of Intel processors, so two bytes go through a register.
        let compares_memory: &[Size] = if self.compares_memory { &[Size::B1, Size::B4] } else { &[] };
        select::Machine { compares_memory, seed: self.seed }
    }

    /// With nothing beyond what the instructions can express.
    fn bounded(&self) -> Options {
        Options {
            prefetch_distance: self.prefetch_distance.min(PREFETCH_DISTANCE_MAX),
            code_bytes_max: self.code_bytes_max.min(CODE_BYTES_MAX),
            ..*self
        }
    }
}

/// Instructions beyond the baseline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Features {
    /// Loads that reverse the bytes.
    pub movbe: bool,
}

impl Features {
    /// None of them: code for any x86-64.
    pub const BASELINE: Features = Features { movbe: false };

    /// Features of the processor on which this runs.
    #[cfg(target_arch = "x86_64")]
    pub fn detect() -> Features {
        Features { movbe: std::arch::is_x86_feature_detected!("movbe") }
    }

    /// Features of the processor on which this runs.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn detect() -> Features {
        Features::BASELINE
    }
}

/// Machine code and its tables: position-independent, to be placed at the start of a cache line. `W` is what its burst
/// entry writes: part of the type, since a caller must make room for it.
#[derive(Debug)]
pub struct MachineCode<W = Bits> {
    one: usize,
    burst: usize,
    /// Numbers in the row that it reads for each packet.
    inputs: Option<u32>,
    writes: PhantomData<W>,
    /// The source of the listing.
    assembled: Assembled,
    members: Vec<Arc<Arc<dyn Members>>>,
}

/// Compiles a graph.
///
/// # Errors
/// See [`NoCode`].
pub fn compile(graph: Verified<'_>, options: &Options) -> Result<MachineCode, NoCode> {
    compile_to(graph, options)
}

/// Compiles a graph of which more is wanted than whether a packet is rejected.
///
/// # Errors
/// See [`NoCode`].
pub fn compile_leaves(graph: Verified<'_>, options: &Options) -> Result<MachineCode<Leaves>, NoCode> {
    compile_to(graph, options)
}

/// Compiles a graph for what a burst is to write.
///
/// # Errors
/// See [`NoCode`].
pub fn compile_to<W: Written>(graph: Verified<'_>, options: &Options) -> Result<MachineCode<W>, NoCode> {
    let program = select::select(graph, options.machine())?;
    if program.calls && options.member_entry.is_none() {
        return Err(NoCode::Members);
    }
    let convention = Convention::of(&program);
    let allocated = allocate::allocate(program, &convention.pool, convention.wire_len)?;
    let options = options.bounded();
    let entries = crate::target::x64::entry::emit(&allocated, &convention, &options, W::WRITES)?;
    Ok(MachineCode {
        one: entries.one,
        burst: entries.burst,
        inputs: allocated.program.inputs,
        writes: PhantomData,
        assembled: entries.assembled,
        members: called(&allocated.program),
    })
}

/// The sets that a program calls.
fn called<R>(program: &Program<R>) -> Vec<Arc<Arc<dyn Members>>> {
    let set = |table: &Table| match table {
        Table::Members(set) => Some(Arc::clone(set)),
        _ => None,
    };
    program.tables.iter().filter_map(set).collect()
}

/// Machine code that hands out the values of a leaf, or rejects; its entry, for one packet, is its first byte.
#[derive(Debug)]
pub struct ValuesCode {
    assembled: Assembled,
    inputs: Option<u32>,
    outputs: u32,
}

impl ValuesCode {
    /// Code, then tables.
    pub fn bytes(&self) -> &[u8] {
        &self.assembled.bytes
    }

    /// How many of the bytes are code.
    pub fn code_len(&self) -> usize {
        self.assembled.code_len
    }

    /// How many numbers the caller's row has, if the code reads any.
    pub fn inputs(&self) -> Option<u32> {
        self.inputs
    }

    /// How many numbers it hands out.
    pub fn outputs(&self) -> u32 {
        self.outputs
    }
}

/// Compiles the values of a leaf.
///
/// # Errors
/// See [`NoCode`].
pub(crate) fn compile_values(values: &CheckedLeaves, options: &Options) -> Result<ValuesCode, NoCode> {
    let program = select_values(values, options.machine())?;
    let convention = Convention::of(&program);
    let allocated = allocate::allocate(program, &convention.pool, convention.wire_len)?;
    let assembled = entry::emit_one(&allocated, &convention, &options.bounded())?;
    let Program { inputs, outputs, .. } = allocated.program;
    Ok(ValuesCode { assembled, inputs, outputs })
}

/// The `selected` stage: straight code over virtual registers.
///
/// # Errors
/// See [`NoCode`].
pub fn print_selected(graph: Verified<'_>, options: &Options) -> Result<String, NoCode> {
    Ok(select::select(graph, options.machine())?.to_string())
}

/// The `allocated` stage: the same over machine registers.
///
/// # Errors
/// See [`NoCode`].
pub fn print_allocated(graph: Verified<'_>, options: &Options) -> Result<String, NoCode> {
    let program = select::select(graph, options.machine())?;
    let convention = Convention::of(&program);
    Ok(allocate::allocate::<Reg>(program, &convention.pool, convention.wire_len)?.to_string())
}

impl<W> MachineCode<W> {
    /// Code, then tables.
    pub fn bytes(&self) -> &[u8] {
        &self.assembled.bytes
    }

    /// How many of the bytes are code.
    pub fn code_len(&self) -> usize {
        self.assembled.code_len
    }

    /// Offset of the entry point for one packet.
    pub fn one(&self) -> usize {
        self.one
    }

    /// How many numbers the caller's row for each packet has, if the code reads any.
    pub fn inputs(&self) -> Option<u32> {
        self.inputs
    }

    /// The sets that the code calls, by address: whoever runs it keeps them.
    pub(crate) fn members(&self) -> Vec<Arc<Arc<dyn Members>>> {
        self.members.clone()
    }

    /// Offset of the entry point for bursts.
    pub fn burst(&self) -> usize {
        self.burst
    }

    /// The `bytes` stage: the whole in hexadecimal, 16 bytes a line, tables included.
    pub fn print_bytes(&self) -> String {
        let mut out = String::new();
        for (i, row) in self.assembled.bytes.chunks(16).enumerate() {
            let hex: Vec<String> = row.iter().map(|byte| format!("{byte:02x}")).collect();
            let _ = writeln!(out, "{:6x}  {}", i * 16, hex.join(" "));
        }
        out
    }
}
