//! Which registers and cells an instruction and what follows it still read: what does not live cannot make two states of a program differ.
//!
//! Jumps lead forward, so one pass from the last instruction to the first finds it.

use crate::Insn;
use crate::decode::{CELLS, Op, Operand, Register, Returned, Source, Test, decode, successors};
use decide::BinOp;

/// A set of cells and registers: a bit for each cell, then one for A and X.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Live(u32);

impl Live {
    const A: u32 = 1 << CELLS;
    const X: u32 = 2 << CELLS;

    fn register(register: Register) -> u32 {
        match register {
            Register::A => Live::A,
            Register::X => Live::X,
        }
    }

    /// Whether the place at this index lives: the cells, A, X.
    pub(crate) fn has(self, place: usize) -> bool {
        self.0 >> place & 1 == 1
    }

    /// Whether nothing lives.
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// What lives in front of each instruction.
pub(crate) fn liveness(insns: &[Insn]) -> Vec<Live> {
    let mut live = vec![Live::default(); insns.len()];
    for (pc, insn) in insns.iter().enumerate().rev() {
        let Some(decoded) = decode(*insn) else { continue };
        let behind = successors(pc, *insn, decoded)
            .into_iter()
            .flatten()
            .filter_map(|next| live.get(next))
            .fold(0, |all, live| all | live.0);
        let (reads, writes) = effect(*insn, decoded);
        live[pc] = Live(behind & !writes | reads);
    }
    live
}

/// What an instruction reads and writes.
fn effect(insn: Insn, decoded: Op) -> (u32, u32) {
    let cell = |number: u32| if number < CELLS as u32 { 1 << number } else { 0 };
    let operand = |operand| match operand {
        Operand::K => 0,
        Operand::X => Live::X,
    };
    match decoded {
        Op::Load(to, source) => {
            let reads = match source {
                Source::Cell => cell(insn.k),
                Source::Indirect(_) => Live::X,
                _ => 0,
            };
            (reads, Live::register(to))
        }
        Op::Store(from, number) => (Live::register(from), cell(number)),
        // What gives 0 whatever A is.
        Op::Alu(BinOp::And | BinOp::Mul, Operand::K) if insn.k == 0 => (0, Live::A),
        Op::Alu(_, right) => (Live::A | operand(right), Live::A),
        Op::Neg => (Live::A, Live::A),
        // Both ways are one.
        Op::Jump(..) if insn.jt == insn.jf => (0, 0),
        Op::Jump(Test::GreaterOrEqual, Operand::K) if insn.k == 0 => (0, 0),
        Op::Jump(_, right) => (Live::A | operand(right), 0),
        Op::Return(Returned::A) => (Live::A, 0),
        Op::Return(Returned::K) | Op::Goto => (0, 0),
        Op::Move(Register::A) => (Live::X, Live::A),
        Op::Move(Register::X) => (Live::A, Live::X),
    }
}
