//! Classic BPF as data, and an interpreter for it that stops by itself and tells what it does.
//!
//! libpcap's own `bpf_filter` is the judge of meaning, but it has two gaps: it loops for ever on some `protochain`
//! programs, and nobody can look inside. [`run`] has a step limit and reports each step to an [`Observer`];
//! the oracle's tests hold it to `bpf_filter` instruction by instruction.
//!
//! Not here: the kernel's dialect (`SKF_AD_*`), validation (libpcap's programs are valid), stores to the packet.

/// One instruction, laid out as libpcap lays it out.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Insn {
    /// Class, size, mode or operation, and source.
    pub code: u16,
    /// Distance to the next instruction when a test holds.
    pub jt: u8,
    /// Distance to the next instruction when a test fails.
    pub jf: u8,
    /// The operand.
    pub k: u32,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The program returned; zero means reject.
    Returned(u32),
    /// A load outside the captured bytes or a division by zero: reject.
    Fault,
    /// The step limit was reached: the program loops on this packet.
    Endless,
}

impl Outcome {
    /// Whether the packet is accepted; an endless program accepts nothing.
    pub fn accepts(self) -> bool {
        matches!(self, Outcome::Returned(k) if k != 0)
    }
}

/// What [`run`] tells while it works; every method may be left out.
pub trait Observer {
    /// The instruction at `pc` is about to run with these registers.
    fn step(&mut self, _pc: usize, _insn: Insn, _a: u32, _x: u32) {}
    /// That instruction reads `size` bytes of the packet at `offset`, outside or inside of the captured bytes.
    fn load(&mut self, _offset: u64, _size: usize, _inside: bool) {}
}

/// An observer that looks away.
impl Observer for () {}

/// Instruction classes, sizes, modes and operations, as in `bpf.h`.
#[allow(missing_docs)]
pub mod op {
    pub const LD: u16 = 0x00;
    pub const LDX: u16 = 0x01;
    pub const ST: u16 = 0x02;
    pub const STX: u16 = 0x03;
    pub const ALU: u16 = 0x04;
    pub const JMP: u16 = 0x05;
    pub const RET: u16 = 0x06;
    pub const MISC: u16 = 0x07;
    pub const IMM: u16 = 0x00;
    pub const ABS: u16 = 0x20;
    pub const IND: u16 = 0x40;
    pub const MEM: u16 = 0x60;
    pub const LEN: u16 = 0x80;
    pub const MSH: u16 = 0xa0;
    pub const ADD: u16 = 0x00;
    pub const SUB: u16 = 0x10;
    pub const MUL: u16 = 0x20;
    pub const DIV: u16 = 0x30;
    pub const OR: u16 = 0x40;
    pub const AND: u16 = 0x50;
    pub const LSH: u16 = 0x60;
    pub const RSH: u16 = 0x70;
    pub const NEG: u16 = 0x80;
    pub const MOD: u16 = 0x90;
    pub const XOR: u16 = 0xa0;
    pub const JA: u16 = 0x00;
    pub const JEQ: u16 = 0x10;
    pub const JGT: u16 = 0x20;
    pub const JGE: u16 = 0x30;
    pub const JSET: u16 = 0x40;
    pub const X: u16 = 0x08;
    pub const A: u16 = 0x10;
}

impl Insn {
    /// The class: load, store, arithmetic, jump and so on.
    pub fn class(self) -> u16 {
        self.code & 0x07
    }
    /// The number of bytes that a packet load reads.
    pub fn size(self) -> usize {
        match self.code & 0x18 {
            0x00 => 4,
            0x08 => 2,
            _ => 1,
        }
    }
    /// The addressing mode of a load.
    pub fn mode(self) -> u16 {
        self.code & 0xe0
    }
    /// The operation of arithmetic or of a jump.
    pub fn operation(self) -> u16 {
        self.code & 0xf0
    }
    /// Whether the right operand is X rather than the constant.
    pub fn uses_x(self) -> bool {
        self.code & op::X != 0
    }
}

/// Runs `program` over the captured bytes of a packet whose length on the wire was `wire_len`, for at most
/// `max_steps` instructions.
pub fn run(
    program: &[Insn],
    packet: &[u8],
    wire_len: u32,
    max_steps: usize,
    observer: &mut impl Observer,
) -> Outcome {
    let (mut a, mut x, mut mem) = (0u32, 0u32, [0u32; 16]);
    let mut pc = 0usize;
    for _ in 0..max_steps {
        let Some(&insn) = program.get(pc) else { return Outcome::Fault };
        observer.step(pc, insn, a, x);
        let operand = if insn.uses_x() { x } else { insn.k };
        match insn.class() {
            op::LD | op::LDX => {
                let Some(value) = load(insn, packet, wire_len, x, &mem, observer) else {
                    return Outcome::Fault;
                };
                *(if insn.class() == op::LD { &mut a } else { &mut x }) = value;
            }
            op::ST => mem[insn.k as usize & 15] = a,
            op::STX => mem[insn.k as usize & 15] = x,
            op::ALU => match arithmetic(insn.operation(), a, operand) {
                Some(value) => a = value,
                None => return Outcome::Fault,
            },
            op::JMP if insn.operation() == op::JA => pc = pc.wrapping_add_signed(insn.k as i32 as isize),
            op::JMP => {
                let taken = holds(insn.operation(), a, operand);
                pc += usize::from(if taken { insn.jt } else { insn.jf });
            }
            op::RET => return Outcome::Returned(if insn.code & 0x18 == op::A { a } else { insn.k }),
            _ if insn.code & 0xf8 == 0x80 => a = x,
            _ => x = a,
        }
        pc = pc.wrapping_add(1);
    }
    Outcome::Endless
}

fn load(
    insn: Insn,
    packet: &[u8],
    wire_len: u32,
    x: u32,
    mem: &[u32; 16],
    observer: &mut impl Observer,
) -> Option<u32> {
    match insn.mode() {
        op::IMM => Some(insn.k),
        op::MEM => Some(mem[insn.k as usize & 15]),
        op::LEN => Some(wire_len),
        op::MSH => read(packet, insn.k.into(), 1, observer).map(|byte| (byte & 15) << 2),
        op::ABS => read(packet, insn.k.into(), insn.size(), observer),
        // The sum never wraps into the packet: bpf_filter compares the operands with the length one by one.
        _ => read(packet, u64::from(insn.k) + u64::from(x), insn.size(), observer),
    }
}

fn read(packet: &[u8], offset: u64, size: usize, observer: &mut impl Observer) -> Option<u32> {
    let inside = offset + size as u64 <= packet.len() as u64;
    observer.load(offset, size, inside);
    let start = offset as usize;
    inside.then(|| packet[start..start + size].iter().fold(0, |value, &byte| value << 8 | u32::from(byte)))
}

/// The value of `a operation b`, or `None` for a division by zero.
pub fn arithmetic(operation: u16, a: u32, b: u32) -> Option<u32> {
    Some(match operation {
        op::ADD => a.wrapping_add(b),
        op::SUB => a.wrapping_sub(b),
        op::MUL => a.wrapping_mul(b),
        op::DIV => return a.checked_div(b),
        op::MOD => return a.checked_rem(b),
        op::OR => a | b,
        op::AND => a & b,
        op::XOR => a ^ b,
        op::LSH => a.checked_shl(b).unwrap_or(0),
        op::RSH => a.checked_shr(b).unwrap_or(0),
        _ => a.wrapping_neg(),
    })
}

/// Whether the test of a conditional jump holds.
pub fn holds(operation: u16, a: u32, b: u32) -> bool {
    match operation {
        op::JEQ => a == b,
        op::JGT => a > b,
        op::JGE => a >= b,
        _ => a & b != 0,
    }
}
