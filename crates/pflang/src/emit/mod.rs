//! Machine code from decision graphs.
//!
//! ```text
//! graph -> layout, uses -> select -> Program<VReg> -> allocate -> Program<Place> -> x64 -> bytes
//!          order of blocks  (switch: many-way branches; chain: the last tests)
//! ```
//! Only graphs that the verifier has passed come in, and the code relies on it: it checks nothing again.
//! Two more rules make it safe to run: a value that a guard was about is never computed twice (see
//! [`select`]), and stores go to the stack frame and to where a burst writes only.
//!
//! Absent: executable memory ([`crate::exec`]); any floating point, vector or privileged instruction; calls.

#![forbid(unsafe_code)]

pub mod allocate;
mod chain;
pub(crate) mod layout;
pub mod program;
pub mod select;
mod switch;
pub(crate) mod uses;
pub mod x64;

use crate::ir::verify::Verified;
use crate::ir::{Graph, NodeId, REJECT};
use std::fmt::{self, Write};
use std::marker::PhantomData;
use x64::assembler::{Assembled, Line};
use x64::burst::Writes;
use x64::convention::Convention;
use x64::inst::Inst;
use x64::label::AsmLabel;
use x64::reg::{Base, Mem, Reg};

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
    /// Whether what [`MachineCode::print_asm`] prints is kept.
    pub listing: Listing,
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
pub(crate) const PREFETCH_DISTANCE: u32 = 32;
/// No burst is longer than this in one cache.
const PREFETCH_DISTANCE_MAX: u32 = 4096;

impl Default for Options {
    fn default() -> Self {
        Options {
            features: Features::detect(),
            prefetch_distance: PREFETCH_DISTANCE,
            code_bytes_max: 256 << 20,
            seed: 0,
            listing: Listing::Omitted,
        }
    }
}

impl Options {
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

/// Why a graph was not compiled. The interpreter can run it all the same.
///
/// ```
/// let error = pflang::NoCode::TooLarge { limit: 1000 };
/// assert_eq!(error.to_string(), "the machine code would exceed its limit of 1000 bytes");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoCode {
    /// Code and tables would exceed the limit.
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// More values must be available at once than a stack frame holds.
    TooComplex,
}

impl fmt::Display for NoCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoCode::TooLarge { limit } => {
                write!(f, "the machine code would exceed its limit of {limit} bytes")
            }
            NoCode::TooComplex => f.write_str("too many values must be kept at once for machine code"),
        }
    }
}

impl std::error::Error for NoCode {}

/// A burst writes a bit for each packet, set where its leaf does not reject: that of packet `i` is bit `i % 64` of word
/// `i / 64`. The others of the words in use are cleared.
#[derive(Debug)]
pub enum Bits {}

/// A burst writes the number of each packet's leaf, in 32 bits.
#[derive(Debug)]
pub enum Leaves {}

/// What a burst writes.
pub trait Written {
    /// A part of it.
    type Cell;
    /// The same, as the code that writes it knows it.
    const WRITES: Writes;
    /// The cells that so many packets need.
    fn cells(packets: usize) -> usize;
    /// Writes that this packet reached this leaf.
    fn write(to: &mut [Self::Cell], packet: usize, leaf: u32);
}

impl Written for Bits {
    type Cell = u64;
    const WRITES: Writes = Writes::Bits;

    #[inline]
    fn cells(packets: usize) -> usize {
        packets.div_ceil(64)
    }

    fn write(to: &mut [u64], packet: usize, leaf: u32) {
        let word = &mut to[packet / 64];
        // The first packet of a word clears the bits of all.
        *word =
            if packet.is_multiple_of(64) { 0 } else { *word } | u64::from(leaf != REJECT) << (packet % 64);
    }
}

impl Written for Leaves {
    type Cell = u32;
    const WRITES: Writes = Writes::Leaves;

    #[inline]
    fn cells(packets: usize) -> usize {
        packets
    }

    fn write(to: &mut [u32], packet: usize, leaf: u32) {
        to[packet] = leaf;
    }
}

/// Machine code and its tables: position-independent, to be placed at the start of a cache line. `W` is what its burst
/// entry writes: part of the type, since a caller must make room for it.
#[derive(Debug)]
pub struct MachineCode<W = Bits> {
    one: usize,
    burst: usize,
    writes: PhantomData<W>,
    /// The source of the listing.
    assembled: Assembled,
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

fn compile_to<W: Written>(graph: Verified<'_>, options: &Options) -> Result<MachineCode<W>, NoCode> {
    let program = select::select(graph, options)?;
    let convention = Convention::of(&program);
    let allocated = allocate::allocate(program, &convention.pool, convention.wire_len)?;
    let options = options.bounded();
    let entries = x64::entry::emit(&allocated, &convention, &options, W::WRITES)?;
    Ok(MachineCode {
        one: entries.one,
        burst: entries.burst,
        writes: PhantomData,
        assembled: entries.assembled,
    })
}

/// The `selected` stage: straight code over virtual registers.
///
/// # Errors
/// See [`NoCode`].
pub fn print_selected(graph: Verified<'_>, options: &Options) -> Result<String, NoCode> {
    Ok(select::select(graph, options)?.to_string())
}

/// The `allocated` stage: the same over machine registers.
///
/// # Errors
/// See [`NoCode`].
pub fn print_allocated(graph: Verified<'_>, options: &Options) -> Result<String, NoCode> {
    let program = select::select(graph, options)?;
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

    /// Offset of the entry point for bursts.
    pub fn burst(&self) -> usize {
        self.burst
    }

    /// The `asm` stage: address, bytes, mnemonic, and the source fragment where it changes. Empty unless
    /// [`Options::listing`] was [`Listing::Kept`].
    pub fn print_asm(&self, graph: &Graph, source: &str) -> String {
        let mut out = String::new();
        let mut origin = None;
        let ends = self.assembled.lines.iter().skip(1).map(|line| line.at).chain([self.assembled.code_len]);
        for (line, end) in self.assembled.lines.iter().zip(ends) {
            if line.at == self.one {
                out.push_str("one packet:\n");
            } else if line.at == self.burst {
                out.push_str("burst:\n");
            }
            let changed = std::mem::replace(&mut origin, line.origin) != line.origin;
            let fragment =
                line.origin.filter(|_| changed).map_or(String::new(), |node| fragment(graph, source, node));
            self.print_line(&mut out, line, end, &fragment);
        }
        out
    }

    fn print_line(&self, out: &mut String, line: &Line<usize>, end: usize, fragment: &str) {
        // What lies between functions is no part of the instruction before.
        let padding =
            self.assembled.bytes[line.at..end].iter().rev().take_while(|&&byte| byte == 0xcc).count();
        let bytes = &self.assembled.bytes[line.at..end - padding];
        let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let text = self.mnemonic(line);
        let comment = if fragment.is_empty() { String::new() } else { format!("; {fragment}") };
        let row = format!("{:6x}  {:<24} {text:<36} {comment}", line.at, hex.join(" "));
        let _ = writeln!(out, "{}", row.trim_end());
    }

    /// The instruction, labels as addresses.
    fn mnemonic(&self, line: &Line<usize>) -> String {
        let address = |label: AsmLabel| self.assembled.offset(label);
        match line.inst {
            Inst::Jmp(to) => format!("jmp {:#x}", address(to)),
            Inst::Jcc(cc, to) => format!("j{cc} {:#x}", address(to)),
            Inst::Lea(_, to, Mem { base: Base::Label(label), .. }) => {
                format!("lea {to}, [rip -> {:#x}]", address(label))
            }
            inst => inst.to_string(),
        }
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

/// The part of the source that a node came from.
fn fragment(graph: &Graph, source: &str, node: NodeId) -> String {
    let spans = graph.spans(node).as_slice();
    let mut texts: Vec<&str> =
        spans.iter().map(|span| span.text(source)).filter(|text| !text.is_empty()).collect();
    texts.dedup();
    texts.join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displacements_fit_whatever_the_limit() {
        let limit =
            |code_bytes_max| Options { code_bytes_max, ..Options::default() }.bounded().code_bytes_max;
        assert_eq!([limit(0), limit(1 << 20)], [0, 1 << 20]);
        for beyond in [1 << 31, usize::MAX] {
            assert_eq!(limit(beyond), 0x7fff_ffff);
        }
    }
}
