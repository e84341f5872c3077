//! Instructions as what they do. The codes are those that libpcap's `bpf_filter` and the kernel run; there are no others.

use crate::{Insn, op};
use decide::{BinOp, Size};

/// Cells of scratch memory.
pub(crate) const CELLS: usize = 16;

/// What an instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Op {
    Load(Register, Source),
    /// To the cell of this number, which may be none.
    Store(Register, u32),
    /// `A = A op operand`.
    Alu(BinOp, Operand),
    /// `A = -A`.
    Neg,
    Jump(Test, Operand),
    Goto,
    Return(Returned),
    /// To this register from the other.
    Move(Register),
}

/// One of the two registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Register {
    A,
    X,
}

/// Where a load takes its value from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Source {
    Constant,
    Len,
    Cell,
    /// At `k`.
    Absolute(Size),
    /// At `x + k`.
    Indirect(Size),
    /// `4 * (byte at k & 0xf)`.
    HeaderLength,
}

/// A right operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Operand {
    K,
    X,
}

/// The question of a jump about A and its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Test {
    Equal,
    Greater,
    GreaterOrEqual,
    AnyBit,
}

/// What a program returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Returned {
    K,
    A,
}

/// `None` for a code that is no instruction.
pub fn decode(insn: Insn) -> Option<Op> {
    if insn.code > 0xff {
        return None;
    }
    let operand = if insn.uses_x() { Operand::X } else { Operand::K };
    Some(match insn.class() {
        op::LD => Op::Load(Register::A, source(insn)?),
        op::LDX => match (insn.mode(), insn.code & 0x18) {
            (op::IMM | op::MEM | op::LEN, op::W) => Op::Load(Register::X, source(insn)?),
            (op::MSH, op::B) => Op::Load(Register::X, Source::HeaderLength),
            _ => return None,
        },
        op::ST if insn.code == op::ST => Op::Store(Register::A, insn.k),
        op::STX if insn.code == op::STX => Op::Store(Register::X, insn.k),
        op::ALU if insn.code == op::ALU | op::NEG => Op::Neg,
        op::ALU => Op::Alu(binary(insn.operation())?, operand),
        op::JMP if insn.code == op::JMP | op::JA => Op::Goto,
        op::JMP => Op::Jump(test(insn.operation())?, operand),
        op::RET if insn.code == op::RET => Op::Return(Returned::K),
        op::RET if insn.code == op::RET | op::A => Op::Return(Returned::A),
        op::MISC if insn.code == op::MISC | op::TAX => Op::Move(Register::X),
        op::MISC if insn.code == op::MISC | op::TXA => Op::Move(Register::A),
        _ => return None,
    })
}

/// What a load of A reads, or of X where that has it.
fn source(insn: Insn) -> Option<Source> {
    let size = Size::from_bytes(insn.size() as u32)?;
    Some(match (insn.code & !7, insn.mode()) {
        (op::IMM, _) => Source::Constant,
        (op::MEM, _) => Source::Cell,
        (op::LEN, _) => Source::Len,
        // The bits of a size, of which one value is none.
        (_, op::ABS) if insn.code & 0x18 != 0x18 => Source::Absolute(size),
        (_, op::IND) if insn.code & 0x18 != 0x18 => Source::Indirect(size),
        _ => return None,
    })
}

fn binary(operation: u16) -> Option<BinOp> {
    Some(match operation {
        op::ADD => BinOp::Add,
        op::SUB => BinOp::Sub,
        op::MUL => BinOp::Mul,
        op::DIV => BinOp::Div,
        op::MOD => BinOp::Mod,
        op::OR => BinOp::Or,
        op::AND => BinOp::And,
        op::XOR => BinOp::Xor,
        op::LSH => BinOp::Shl,
        op::RSH => BinOp::Shr,
        _ => return None,
    })
}

fn test(operation: u16) -> Option<Test> {
    Some(match operation {
        op::JEQ => Test::Equal,
        op::JGT => Test::Greater,
        op::JGE => Test::GreaterOrEqual,
        op::JSET => Test::AnyBit,
        _ => return None,
    })
}

impl Op {
    /// The cell that it reads or writes.
    pub(crate) fn cell(self, k: u32) -> Option<u32> {
        match self {
            Op::Store(_, cell) => Some(cell),
            Op::Load(_, Source::Cell) => Some(k),
            _ => None,
        }
    }
}

/// Where an instruction at `pc` may go, beyond the end perhaps; nowhere for a return. `None` in the place of a jump backwards.
pub fn successors(pc: usize, insn: Insn, op: Op) -> [Option<usize>; 2] {
    let ahead = |distance: u32| Some(pc.saturating_add(1).saturating_add(distance as usize));
    match op {
        Op::Return(_) => [None, None],
        Op::Goto if jumps_back(insn) => [None, None],
        Op::Goto => [ahead(insn.k), None],
        Op::Jump(..) => [ahead(insn.jt.into()), ahead(insn.jf.into())],
        _ => [ahead(0), None],
    }
}

/// Whether it is a jump backwards, as libpcap's `protochain` has it.
pub(crate) fn jumps_back(insn: Insn) -> bool {
    insn.code == op::JMP | op::JA && (insn.k as i32) < 0
}
