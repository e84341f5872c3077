//! Instructions to bytes: prefixes, REX, opcode, ModRM, SIB, displacement, immediate; the shortest form that
//! serves. Jumps are the assembler's, which alone knows how far they go.
//!
//! Reference: Intel 64 Software Developer's Manual, volume 2.

use super::inst::{Alu, Inst};
use super::label::AsmLabel;
use super::reg::{Base, Mem, Reg, Rm, Width};

/// Appends the bytes of an instruction that is not a jump to a label. A displacement from the next
/// instruction is left 0; the result says where its four bytes are, and where it counts from.
///
/// PERF: the assembler alone calls it, for each instruction.
#[inline(always)]
pub fn encode(inst: &Inst, out: &mut Vec<u8>) -> Option<RipDisp> {
    let mut e = Encoding { buffer: [0; ROOM], len: 0, rip: None };
    match *inst {
        Inst::Endbr64 => e.bytes([0xf3, 0x0f, 0x1e, 0xfa]),
        Inst::Ret => e.bytes([0xc3]),
        Inst::Push(r) => e.plus_reg(0x50, r),
        Inst::Pop(r) => e.plus_reg(0x58, r),
        Inst::Mov(w, dst, src) => e.sized(w, 0x89, src.number(), dst),
        Inst::MovLoad(w, dst, src) => e.sized(w, 0x8b, dst.number(), src.into()),
        Inst::MovImm(dst, k) => {
            e.plus_reg(0xb8, dst);
            e.imm32(k as i32);
        }
        Inst::MovImm64(dst, k) => {
            e.rex(Width::Q, 0, dst.into(), Rex::IfNeeded);
            e.bytes([0xb8 | dst.number() & 7]);
            e.bytes(k.to_le_bytes());
        }
        // The width is that of the source; the destination is four bytes.
        Inst::Movzx(w, dst, src) => {
            e.op(w, [0x0f, if w == Width::B { 0xb6 } else { 0xb7 }], dst.number(), src);
        }
        Inst::Movsxd(dst, src) => e.op(Width::Q, [0x63], dst.number(), src.into()),
        Inst::Movbe(dst, src) => e.op(Width::D, [0x0f, 0x38, 0xf0], dst.number(), src.into()),
        Inst::Bswap(w, r) => {
            e.rex(w, 0, r.into(), Rex::IfNeeded);
            e.bytes([0x0f, 0xc8 | r.number() & 7]);
        }
        Inst::Lea(w, dst, src) => e.op(w, [0x8d], dst.number(), src.into()),
        Inst::Alu(op, w, dst, src) => e.sized(w, (op as u8) << 3 | 1, src.number(), dst),
        Inst::AluLoad(op, w, dst, src) => e.sized(w, (op as u8) << 3 | 3, dst.number(), src.into()),
        Inst::AluImm(op, w, dst, k) => e.alu_imm(op, w, dst, k),
        Inst::Test(w, a, b) => e.sized(w, 0x85, b.number(), a),
        Inst::TestImm(w, a, k) => {
            match (w, a) {
                (Width::B, Rm::Reg(Reg::Rax)) => e.bytes([0xa8]),
                (Width::D, Rm::Reg(Reg::Rax)) => e.bytes([0xa9]),
                _ => e.sized(w, 0xf7, 0, a),
            }
            e.imm(w, k);
        }
        Inst::Imul(dst, src) => e.op(Width::D, [0x0f, 0xaf], dst.number(), src),
        Inst::ImulImm(dst, src, k) => match i8::try_from(k) {
            Ok(k) => {
                e.op(Width::D, [0x6b], dst.number(), src);
                e.bytes([k as u8]);
            }
            Err(_) => {
                e.op(Width::D, [0x69], dst.number(), src);
                e.imm32(k);
            }
        },
        Inst::Div(by) => e.op(Width::D, [0xf7], 6, by),
        Inst::Shift(op, w, r, 1) => e.sized(w, 0xd1, op as u8, r.into()),
        Inst::Shift(op, w, r, by) => {
            e.sized(w, 0xc1, op as u8, r.into());
            e.bytes([by]);
        }
        Inst::ShiftCl(op, w, r) => e.op(w, [0xd3], op as u8, r.into()),
        Inst::Cmov(cc, w, dst, src) => e.op(w, [0x0f, 0x40 | cc.number()], dst.number(), src),
        Inst::Setcc(cc, r) => e.op(Width::B, [0x0f, 0x90 | cc.number()], 0, r.into()),
        Inst::Prefetch(at) => e.op(Width::D, [0x0f, 0x18], 1, at.into()),
        Inst::JmpReg(r) => {
            e.bytes([0x3e]);
            e.op(Width::D, [0xff], 4, r.into());
        }
        Inst::CallReg(r) => {
            e.bytes([0x3e]);
            e.op(Width::D, [0xff], 2, r.into());
        }
        Inst::Jmp(_) | Inst::Jcc(..) => unreachable!("the assembler encodes jumps"),
    }
    let start = out.len();
    // PERF: sixteen bytes are one store; so many as there are would be a call.
    out.extend_from_slice(&e.buffer[..LEN_MAX]);
    out.truncate(start + e.len);
    e.rip.map(|(at, label)| RipDisp { at: start + at, end: start + e.len, label })
}

/// No instruction is longer than 15 bytes.
const LEN_MAX: usize = 16;

/// So much that the compiler sees that eight bytes more always fit.
const ROOM: usize = LEN_MAX + 8;

/// A displacement that the assembler fills in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RipDisp {
    /// Where its four bytes are.
    pub at: usize,
    /// The end of the instruction, from which it counts.
    pub end: usize,
    /// Where it leads.
    pub label: AsmLabel,
}

/// When a REX prefix is written that says nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rex {
    IfNeeded,
    /// Its presence alone chooses other registers.
    Always,
}

/// One instruction in the making: here, so that growing the code is asked for once.
struct Encoding {
    buffer: [u8; ROOM],
    len: usize,
    rip: Option<(usize, AsmLabel)>,
}

impl Encoding {
    #[inline]
    fn bytes<const N: usize>(&mut self, bytes: [u8; N]) {
        let at = self.len % LEN_MAX;
        self.buffer[at..at + N].copy_from_slice(&bytes);
        self.len += N;
    }

    fn imm32(&mut self, k: i32) {
        self.bytes(k.to_le_bytes());
    }

    fn imm(&mut self, width: Width, k: i32) {
        match width {
            Width::B => self.bytes([k as u8]),
            Width::W => self.bytes((k as u16).to_le_bytes()),
            Width::D | Width::Q => self.imm32(k),
        }
    }

    /// Opcodes that carry the register in their low bits.
    fn plus_reg(&mut self, opcode: u8, r: Reg) {
        self.rex(Width::D, 0, r.into(), Rex::IfNeeded);
        self.bytes([opcode | r.number() & 7]);
    }

    /// Instructions whose opcode is one less for single bytes, and that take the prefix for two.
    fn sized(&mut self, width: Width, opcode: u8, reg: u8, rm: Rm) {
        match width {
            Width::B => self.op(width, [opcode & !1], reg, rm),
            Width::W => {
                self.bytes([0x66]);
                self.op(width, [opcode], reg, rm);
            }
            Width::D | Width::Q => self.op(width, [opcode], reg, rm),
        }
    }

    fn alu_imm(&mut self, op: Alu, width: Width, dst: Rm, k: i32) {
        let digit = op as u8;
        match (width, i8::try_from(k), dst) {
            (Width::B, _, Rm::Reg(Reg::Rax)) => self.bytes([digit << 3 | 4, k as u8]),
            (Width::B, ..) => {
                self.op(width, [0x80], digit, dst);
                self.bytes([k as u8]);
            }
            (_, Ok(k), _) => {
                self.sized(width, 0x83, digit, dst);
                self.bytes([k as u8]);
            }
            (Width::D, Err(_), Rm::Reg(Reg::Rax)) => {
                self.bytes([digit << 3 | 5]);
                self.imm32(k);
            }
            (_, Err(_), _) => {
                self.sized(width, 0x81, digit, dst);
                self.imm(width, k);
            }
        }
    }

    fn op<const N: usize>(&mut self, width: Width, opcode: [u8; N], reg: u8, rm: Rm) {
        // Byte registers 4-7 are spl, bpl, sil, dil only with a REX prefix; without one they are ah, ch, dh, bh.
        // No instruction here has a byte register in the reg field.
        let rex = match rm {
            Rm::Reg(rm) if width == Width::B && (4..8).contains(&rm.number()) => Rex::Always,
            _ => Rex::IfNeeded,
        };
        self.rex(width, reg, rm, rex);
        self.bytes(opcode);
        match rm {
            Rm::Reg(rm) => self.bytes([0xc0 | (reg & 7) << 3 | rm.number() & 7]),
            Rm::Mem(mem) => self.mem(reg & 7, mem),
        }
    }

    fn rex(&mut self, width: Width, reg: u8, rm: Rm, when: Rex) {
        let (x, b) = match rm {
            Rm::Reg(rm) => (0, rm.number() >> 3),
            Rm::Mem(mem) => {
                let base = if let Base::Reg(base) = mem.base { base.number() >> 3 } else { 0 };
                (mem.index.map_or(0, |(index, _)| index.number() >> 3), base)
            }
        };
        let rex = 0x40 | u8::from(width == Width::Q) << 3 | (reg >> 3) << 2 | x << 1 | b;
        // Written in any case, and written over where it is not needed: cheaper than a branch.
        self.bytes([rex]);
        self.len -= usize::from(rex == 0x40 && when == Rex::IfNeeded);
    }

    /// ModRM, SIB and displacement of a memory operand.
    fn mem(&mut self, reg: u8, mem: Mem) {
        let base = match mem.base {
            Base::Reg(base) => base.number() & 7,
            Base::Label(label) => {
                self.bytes([reg << 3 | 5]);
                self.rip = Some((self.len, label));
                return self.imm32(0);
            }
        };
        // Base 101 (rbp, r13) has no form without displacement; base 100 (rsp, r12) always takes a SIB byte.
        let mode = match mem.disp {
            0 if base != 5 => 0,
            disp if i8::try_from(disp).is_ok() => 1,
            _ => 2,
        };
        match mem.index {
            Some((index, scale)) => {
                let scale = scale.trailing_zeros() as u8;
                self.bytes([mode << 6 | reg << 3 | 4, scale << 6 | (index.number() & 7) << 3 | base]);
            }
            None if base == 4 => self.bytes([mode << 6 | reg << 3 | 4, 0x24]),
            None => self.bytes([mode << 6 | reg << 3 | base]),
        }
        match mode {
            1 => self.bytes([mem.disp as u8]),
            2 => self.imm32(mem.disp),
            _ => {}
        }
    }
}
