//! Programs as text or bytes.

use crate::ancillary::KernelPlace;
use crate::decode::{Op, Operand, Register, Returned, Source, Test, decode};
use crate::{Format, Insn, Program, op};
use decide::{BinOp, Size};
use std::fmt::Write;

impl Program {
    /// The program in a format, which [`read()`](crate::read()) reads back.
    ///
    /// ```
    /// let program = bpf::read(b"4,40 0 0 12,21 0 1 2054,6 0 0 262144,6 0 0 0,")?;
    /// let text = String::from_utf8(program.write(bpf::Format::Listing)).unwrap();
    /// assert!(text.starts_with("(000) ldh      [12]\n(001) jeq      #0x806           jt 2\tjf 3\n"));
    /// assert_eq!(bpf::read(text.as_bytes())?, program);
    /// # Ok::<(), bpf::Error>(())
    /// ```
    pub fn write(&self, format: Format) -> Vec<u8> {
        let insns = self.insns();
        let mut out = String::new();
        // Nothing is written to but memory.
        let _ = match format {
            Format::Raw => return insns.iter().flat_map(|insn| raw(*insn)).collect(),
            Format::Decimal => writeln!(out, "{}", insns.len()),
            Format::XtBpf => write!(out, "{},", insns.len()),
            Format::CArray | Format::Listing => Ok(()),
        };
        for (pc, insn) in insns.iter().enumerate() {
            let Insn { code, jt, jf, k } = insn;
            let _ = match format {
                Format::CArray => writeln!(out, "{{ {code:#x}, {jt}, {jf}, {k:#010x} }},"),
                Format::Listing => writeln!(out, "{}", listed(pc, *insn)),
                Format::XtBpf => write!(out, "{code} {jt} {jf} {k},"),
                Format::Decimal | Format::Raw => writeln!(out, "{code} {jt} {jf} {k}"),
            };
        }
        if format == Format::XtBpf {
            out.push('\n');
        }
        out.into_bytes()
    }
}

fn raw(insn: Insn) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..2].copy_from_slice(&insn.code.to_ne_bytes());
    bytes[2..4].copy_from_slice(&[insn.jt, insn.jf]);
    bytes[4..].copy_from_slice(&insn.k.to_ne_bytes());
    bytes
}

/// A line of a listing, as libpcap's `bpf_image` writes it.
pub(crate) fn listed(pc: usize, insn: Insn) -> String {
    let (mnemonic, operand) = image(pc, insn);
    match decode(insn) {
        Some(Op::Jump(..)) => {
            let (yes, no) = (pc + 1 + usize::from(insn.jt), pc + 1 + usize::from(insn.jf));
            format!("({pc:03}) {mnemonic:<8} {operand:<16} jt {yes}\tjf {no}")
        }
        _ => format!("({pc:03}) {mnemonic:<8} {operand}"),
    }
}

/// Mnemonic and operand.
fn image(pc: usize, insn: Insn) -> (&'static str, String) {
    let k = insn.k;
    let Some(decoded) = decode(insn) else { return ("unimp", format!("{:#x}", insn.code)) };
    match decoded {
        Op::Return(Returned::K) => ("ret", format!("#{}", k as i32)),
        Op::Return(Returned::A) => ("ret", String::new()),
        Op::Load(Register::A, source) => match source {
            Source::Constant => ("ld", format!("#{k:#x}")),
            Source::Len => ("ld", "#pktlen".into()),
            Source::Cell => ("ld", format!("M[{}]", k as i32)),
            Source::Absolute(size) => (load(size), absolute(k)),
            Source::Indirect(size) => (load(size), format!("[x + {}]", k as i32)),
            Source::HeaderLength => ("ldb", format!("4*([{}]&0xf)", k as i32)),
        },
        Op::Load(Register::X, source) => match source {
            Source::Constant => ("ldx", format!("#{k:#x}")),
            Source::Len => ("ldx", "#pktlen".into()),
            Source::Cell => ("ldx", format!("M[{}]", k as i32)),
            Source::HeaderLength => ("ldxb", format!("4*([{}]&0xf)", k as i32)),
            Source::Absolute(_) | Source::Indirect(_) => ("ldx", absolute(k)),
        },
        Op::Store(Register::A, cell) => ("st", format!("M[{}]", cell as i32)),
        Op::Store(Register::X, cell) => ("stx", format!("M[{}]", cell as i32)),
        Op::Alu(_, Operand::X) | Op::Jump(_, Operand::X) => (mnemonic(insn, decoded), "x".into()),
        // As libpcap has it: in numbers that people count with, or in those that they see bits in.
        Op::Alu(BinOp::And | BinOp::Or | BinOp::Xor, Operand::K) => {
            (mnemonic(insn, decoded), format!("#{k:#x}"))
        }
        Op::Alu(_, Operand::K) => (mnemonic(insn, decoded), format!("#{}", k as i32)),
        Op::Jump(_, Operand::K) => (mnemonic(insn, decoded), format!("#{k:#x}")),
        Op::Neg => ("neg", String::new()),
        Op::Goto => ("ja", format!("{}", (pc as i64 + 1 + i64::from(k as i32)) as i32)),
        Op::Move(Register::X) => ("tax", String::new()),
        Op::Move(Register::A) => ("txa", String::new()),
    }
}

fn absolute(k: u32) -> String {
    match KernelPlace::of(k) {
        Some(KernelPlace::Data(data)) => format!("[{}]", data.listed()),
        _ => format!("[{}]", k as i32),
    }
}

fn load(size: Size) -> &'static str {
    match size {
        Size::B4 => "ld",
        Size::B2 => "ldh",
        Size::B1 => "ldb",
    }
}

/// Of arithmetic with two operands, and of tests.
fn mnemonic(insn: Insn, decoded: Op) -> &'static str {
    match (decoded, insn.operation()) {
        (Op::Jump(Test::Equal, _), _) => "jeq",
        (Op::Jump(Test::Greater, _), _) => "jgt",
        (Op::Jump(Test::GreaterOrEqual, _), _) => "jge",
        (Op::Jump(Test::AnyBit, _), _) => "jset",
        (_, op::ADD) => "add",
        (_, op::SUB) => "sub",
        (_, op::MUL) => "mul",
        (_, op::DIV) => "div",
        (_, op::MOD) => "mod",
        (_, op::OR) => "or",
        (_, op::AND) => "and",
        (_, op::XOR) => "xor",
        (_, op::LSH) => "lsh",
        _ => "rsh",
    }
}
