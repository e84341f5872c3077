//! The two checkers that programs meet: libpcap's `bpf_validate` and the kernel's `bpf_check_classic`.

use crate::ancillary::{ANCILLARY, Ancillary};
use crate::decode::{CELLS, Op, Operand, Register, Source, decode, successors};
use crate::{Error, ErrorKind, Insn, Program, op};
use decide::BinOp;
use std::str::FromStr;

/// Whose checks a program is held to.
///
/// ```
/// assert_eq!("kernel".parse(), Ok(bpf::Validate::Kernel));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validate {
    /// What libpcap 1.10.3's `bpf_validate` accepts. It looks at classes, and leaves the rest to `bpf_filter`, which aborts.
    Libpcap,
    /// What the kernel accepts at `SO_ATTACH_FILTER`.
    Kernel,
}

impl FromStr for Validate {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "libpcap" => Ok(Validate::Libpcap),
            "kernel" => Ok(Validate::Kernel),
            _ => Err(format!("`{name}` is no checker; there are libpcap and kernel")),
        }
    }
}

/// Instructions that the kernel takes, `BPF_MAXINSNS`.
pub(crate) const KERNEL_MAX: usize = 4096;

impl Program {
    /// Whether a checker accepts the program.
    ///
    /// ```
    /// use bpf::Validate;
    ///
    /// // ld M[3]; ret a
    /// let program = bpf::read(b"2\n96 0 0 3\n22 0 0 0\n")?;
    /// assert!(program.check(Validate::Libpcap).is_ok());
    /// let error = program.check(Validate::Kernel).unwrap_err();
    /// assert_eq!(error.to_string(), "instruction 0: M[3] is read, but not every way here has written it");
    /// # Ok::<(), bpf::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] with the first instruction that it refuses, and why.
    pub fn check(&self, validate: Validate) -> Result<(), Error> {
        let insns = self.insns();
        let Some(last) = insns.last() else {
            return Err(Error::whole(ErrorKind::Refused, "the program is empty"));
        };
        let check = match validate {
            Validate::Libpcap => libpcap,
            Validate::Kernel if insns.len() > KERNEL_MAX => {
                let count = insns.len();
                let message = format!("{count} instructions, of which the kernel takes {KERNEL_MAX}");
                return Err(Error::whole(ErrorKind::Refused, message));
            }
            Validate::Kernel => kernel,
        };
        for (pc, insn) in insns.iter().enumerate() {
            check(pc, *insn, insns.len()).map_err(|why| refused(pc, why))?;
        }
        let is_return = match validate {
            Validate::Libpcap => last.class() == op::RET,
            Validate::Kernel => matches!(decode(*last), Some(Op::Return(_))),
        };
        if !is_return {
            return Err(refused(insns.len() - 1, "the last instruction does not return"));
        }
        match validate {
            Validate::Libpcap => Ok(()),
            Validate::Kernel => cells_are_written(insns),
        }
    }
}

fn refused(pc: usize, why: impl Into<String>) -> Error {
    Error::at(pc, ErrorKind::Refused, why)
}

/// `pcapint_validate_filter` of libpcap's bpf_filter.c.
fn libpcap(pc: usize, insn: Insn, len: usize) -> Result<(), String> {
    let unknown = || Err(unknown(insn));
    match insn.class() {
        op::LD | op::LDX => match insn.mode() {
            op::IMM | op::ABS | op::IND | op::MSH | op::LEN => Ok(()),
            op::MEM => cell(insn.k),
            _ => unknown(),
        },
        op::ST | op::STX => cell(insn.k),
        op::ALU => match insn.operation() {
            op::DIV | op::MOD if !insn.uses_x() && insn.k == 0 => Err(BY_ZERO.into()),
            0..=op::XOR => Ok(()),
            _ => unknown(),
        },
        op::JMP => match insn.operation() {
            // The sum wraps around: that is how libpcap's own programs jump backwards.
            op::JA => inside((pc as u32).wrapping_add(1).wrapping_add(insn.k) as usize, len),
            op::JEQ | op::JGT | op::JGE | op::JSET => branches_inside(pc, insn, len),
            _ => unknown(),
        },
        _ => Ok(()),
    }
}

/// `bpf_check_classic` of the kernel's net/core/filter.c, but for the cells.
fn kernel(pc: usize, insn: Insn, len: usize) -> Result<(), String> {
    let Some(decoded) = decode(insn) else { return Err(unknown(insn)) };
    if let Some(number) = decoded.cell(insn.k) {
        cell(number)?;
    }
    match decoded {
        Op::Alu(BinOp::Div | BinOp::Mod, Operand::K) if insn.k == 0 => Err(BY_ZERO.into()),
        Op::Alu(BinOp::Shl | BinOp::Shr, Operand::K) if insn.k >= 32 => {
            Err(format!("a shift by {}, of which the kernel takes 31", insn.k))
        }
        Op::Goto if u64::from(insn.k) >= (len - pc - 1) as u64 => {
            Err(outside(pc as u64 + 1 + u64::from(insn.k)))
        }
        Op::Jump(..) => branches_inside(pc, insn, len),
        Op::Load(Register::A, Source::Absolute(_))
            if insn.k >= ANCILLARY && Ancillary::at(insn.k).is_none() =>
        {
            Err(format!("no ancillary data stand at offset {}", insn.k as i32))
        }
        _ => Ok(()),
    }
}

const BY_ZERO: &str = "a division by zero";

fn unknown(insn: Insn) -> String {
    format!("{:#x} is no instruction", insn.code)
}

fn cell(number: u32) -> Result<(), String> {
    if number < CELLS as u32 { Ok(()) } else { Err(no_cell(number)) }
}

/// Of a cell that does not exist.
pub(crate) fn no_cell(number: u32) -> String {
    format!("there is no M[{number}]; the last of the {CELLS} cells is M[{}]", CELLS - 1)
}

fn branches_inside(pc: usize, insn: Insn, len: usize) -> Result<(), String> {
    [insn.jt, insn.jf].iter().try_for_each(|distance| inside(pc + 1 + usize::from(*distance), len))
}

fn inside(target: usize, len: usize) -> Result<(), String> {
    if target < len { Ok(()) } else { Err(outside(target as u64)) }
}

/// Of a jump to an instruction that does not exist.
pub(crate) fn outside(target: u64) -> String {
    format!("it leads to instruction {target}, which does not exist")
}

/// `check_load_and_stores`: every way to a load of a cell has written the cell.
fn cells_are_written(insns: &[Insn]) -> Result<(), Error> {
    let mut written_before = vec![u16::MAX; insns.len()];
    written_before[0] = 0;
    let mut falls_through = 0;
    for (pc, insn) in insns.iter().enumerate() {
        let mut written = written_before[pc] & falls_through;
        let Some(decoded) = decode(*insn) else { continue };
        match decoded {
            Op::Store(_, cell) => written |= 1 << cell,
            Op::Load(_, Source::Cell) if written & 1 << insn.k == 0 => {
                let why = format!("M[{}] is read, but not every way here has written it", insn.k);
                return Err(refused(pc, why));
            }
            _ => {}
        }
        falls_through = written;
        if matches!(decoded, Op::Jump(..) | Op::Goto) {
            for target in successors(pc, *insn, decoded).into_iter().flatten() {
                written_before[target] &= written;
            }
            falls_through = u16::MAX;
        }
    }
    Ok(())
}
