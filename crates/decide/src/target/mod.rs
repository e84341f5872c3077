//! Back ends: from a verified graph to something that runs.
//!
//! ```text
//! target/x64    machine code for x86-64, by way of the low-level form
//! target/c      the text of a function in C
//! target/cbpf   classic BPF
//! target/lua     the text of a chunk for LuaJIT
//! target/lir    that form: for every machine with registers, whichever its instructions
//! ```
//! A back end is a function from a [`Verified`](crate::ir::verify::Verified) graph to its code. What is peculiar to a target stands in two
//! places: its folder, which alone knows its instructions, and here the optional passes that it wants, so that the graph comes as
//! it can use it. The interpreter and the mask VM have no code: the one is [`crate::ir::interp`], the other
//! [`crate::exec::mask`], which takes the graph for x86-64, since both run the packets of one filter.

pub(crate) mod c;
pub(crate) mod cbpf;
pub(crate) mod lir;
pub(crate) mod lua;
pub(crate) mod x64;

use crate::opt::Passes;

impl Passes {
    /// The interpreter evaluates a value once a packet anyway, and a branch costs it as little as an operation. It is the
    /// reference: the fewer passes it needs, the more it says about them.
    pub const INTERPRETER: Passes = Passes { gathering: true, widening: true, ..Passes::CBPF };

    /// x86-64, and the mask VM on it: compares bytes in memory with little-endian constants, and pays for mispredicted branches.
    pub const X86_64: Passes = Passes::ALL;

    /// A C compiler knows its own machine, and people read the text: no test twice, and numbers as the source has them.
    pub const C: Passes = Passes { gathering: true, widening: true, ..Passes::CBPF };

    /// LuaJIT compiles what runs often, path by path, on little-endian machines: a branch less is a path less.
    pub const LUA: Passes = Passes { memory_order: true, arithmetic_joins: true, ..Passes::C };

    /// A load of classic BPF that fails ends the program: a check whose "no" goes on cannot be written.
    pub const CBPF: Passes = Passes {
        path_splitting: false,
        gathering: false,
        widening: false,
        arithmetic_joins: false,
        memory_order: false,
    };
}
