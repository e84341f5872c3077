//! Which register does what.
//!
//! ```text
//! rdi  the packet             rsi  its captured length       rdx or r10  its wire length, where something reads it
//! r9   the caller's row of numbers for the packet, where something reads it
//! r8   where numbers are handed out, where any are
//! r11  scratch of every instruction                          rax rcx rdx  scratch of those that need more
//! the rest of rax rcx rdx r8 r9 r10: values                  rbx rbp r12-r15: the burst loop
//! ```
//! Values never live in registers that a caller expects back: what does not fit goes to the stack.

use super::reg::Reg;
use crate::ir::{BinOp, WORDS_MAX};
use crate::target::lir::program::{Exit, Inst, Operand, Program, Test};

/// The packet.
pub const PACKET: Reg = Reg::Rdi;
/// Its captured length, in all 64 bits.
pub const CAPTURED: Reg = Reg::Rsi;
/// The caller's row of numbers for the packet, where something reads one.
pub const INPUTS: Reg = Reg::R9;
/// Where numbers are handed out to the caller, where any are.
pub const OUTPUTS: Reg = Reg::R8;
/// Free to use within one instruction of the program.
pub const SCRATCH: Reg = Reg::R11;

// The burst loop's registers, which bodies leave alone.

/// From the end of the run to the descriptor in hand, in bytes: negative, and 0 after the last.
pub const INDEX: Reg = Reg::Rbx;
/// The end of the run.
pub const RUN_END: Reg = Reg::R12;
/// The answers so far, the last in the lowest bit.
pub const WORD: Reg = Reg::R14;
/// How many answers there will be in the word when the run ends.
pub const ANSWERS: Reg = Reg::Rbp;
/// Where the next word of bits goes, or the next leaf.
pub const OUT: Reg = Reg::R13;
/// The end of the run, moved on by the prefetch distance where there are so many descriptors.
pub const AHEAD: Reg = Reg::R15;
/// All of them, which a caller expects back.
pub const SAVED: [Reg; 6] = [INDEX, ANSWERS, RUN_END, OUT, WORD, AHEAD];

/// Bytes of a descriptor: address, captured length, wire length.
pub const DESCRIPTOR_SIZE: i32 = 16;
/// Where in a descriptor the captured length is.
pub const CAPTURED_AT: i32 = 8;
/// Where in a descriptor the wire length is.
pub const WIRE_AT: i32 = 12;

/// Registers that the allocator may use.
#[derive(Debug)]
pub struct Convention {
    /// For values, the shortest encodings first.
    pub pool: Vec<Reg>,
    /// For the wire length.
    pub wire_len: Reg,
}

impl Convention {
    /// The registers that this program's own instructions leave free.
    pub fn of<R: Copy>(program: &Program<R>) -> Convention {
        let insts = program.insts.iter().flat_map(scratch_of);
        let exits = program.blocks.iter().flat_map(|block| scratch_of_exit(&block.exit));
        let set = |reg: Reg| 1u16 << reg.number();
        let mut taken = insts.chain(exits).fold(0, |taken, &reg| taken | set(reg));
        let wire_len = if taken & set(Reg::Rdx) != 0 { Reg::R10 } else { Reg::Rdx };
        if program.reads_wire_len {
            taken |= set(wire_len);
        }
        if program.inputs.is_some() {
            taken |= set(INPUTS);
        }
        if program.outputs > 0 {
            taken |= set(OUTPUTS);
        }
        const POOL: [Reg; 6] = [Reg::Rax, Reg::Rcx, Reg::Rdx, Reg::R8, Reg::R9, Reg::R10];
        let mut pool = Vec::with_capacity(POOL.len());
        pool.extend(POOL.into_iter().filter(|&reg| taken & set(reg) == 0));
        Convention { pool, wire_len }
    }
}

/// The scratch registers of an instruction, beyond [`SCRATCH`].
fn scratch_of<R>(inst: &Inst<R>) -> &'static [Reg] {
    match inst {
        Inst::Op { op: BinOp::Div | BinOp::Mod, .. } => &[Reg::Rax, Reg::Rdx][..],
        Inst::Op { op: BinOp::Shl | BinOp::Shr, b: Operand::Reg(_), .. } => &[Reg::Rcx],
        Inst::Locate { .. } => &[Reg::Rax, Reg::Rcx, Reg::Rdx],
        Inst::Set { test: Test::Member(..), .. } => &[Reg::Rax, Reg::Rcx],
        Inst::Const { .. }
        | Inst::Word { .. }
        | Inst::Ask { .. }
        | Inst::Input { .. }
        | Inst::Load { .. }
        | Inst::Op { .. }
        | Inst::Set { .. }
        | Inst::Store { .. } => &[],
    }
}

/// The same of the end of a block.
fn scratch_of_exit<R>(exit: &Exit<R>) -> &'static [Reg] {
    match exit {
        Exit::Branch { test: Test::Member(..), .. } => &[Reg::Rax, Reg::Rcx],
        _ => &[],
    }
}

/// Registers that a call may destroy, beyond [`SCRATCH`]: all that hold anything of a body.
pub const CALL_DESTROYS: [Reg; 8] =
    [Reg::Rax, Reg::Rcx, Reg::Rdx, Reg::Rsi, Reg::Rdi, Reg::R8, Reg::R9, Reg::R10];

/// Where stack slots lie: those of values, then two more, which only a burst uses, a third one where a burst has rows, and the row that a
/// large set is called with.
///
/// PERF: a few fit below the stack pointer, in the 128 bytes that the System V ABI keeps from signal handlers
/// (the red zone; where code calls a large set, it is not used), so that common filters neither move it nor touch memory.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    values: u32,
    has_rows: bool,
    calls: bool,
}

const RED_ZONE: u32 = 128;

/// Where a burst ends, and from where there is nothing left to prefetch.
const BURST_SLOTS: u32 = 2;

/// The row of a call: numbers of four bytes.
const ROW_SLOTS: u32 = (WORDS_MAX as u32).div_ceil(2);

impl Frame {
    /// A frame for so many values.
    pub fn new(values: u32, has_rows: bool, calls: bool) -> Frame {
        Frame { values, has_rows, calls }
    }

    fn bytes(self) -> u32 {
        let slots = self.values + BURST_SLOTS + u32::from(self.has_rows);
        if !self.calls {
            return slots * 8;
        }
        // Odd, so that the stack is aligned where a set is called: an entry finds it eight bytes off, and pushes are even in number.
        const { assert!(SAVED.len().is_multiple_of(2) && CALL_DESTROYS.len().is_multiple_of(2)) };
        ((slots + ROW_SLOTS) | 1) * 8
    }

    /// Where the row of a call begins.
    pub fn row(self) -> super::reg::Mem {
        self.slot(self.values + BURST_SLOTS + u32::from(self.has_rows))
    }

    /// By how much the stack pointer is lowered.
    pub fn size(self) -> i32 {
        if !self.calls && self.bytes() <= RED_ZONE { 0 } else { self.bytes() as i32 }
    }

    /// Where a slot is.
    pub fn slot(self, slot: u32) -> super::reg::Mem {
        let base = if self.size() == 0 { -(self.bytes() as i32) } else { 0 };
        Reg::Rsp + (base + 8 * slot as i32)
    }

    /// The slots of a burst.
    pub fn burst_state(self) -> [super::reg::Mem; 2] {
        [self.slot(self.values), self.slot(self.values + 1)]
    }

    /// Where a burst keeps the row of the next packet.
    pub fn next_row(self) -> super::reg::Mem {
        self.slot(self.values + 2)
    }
}
