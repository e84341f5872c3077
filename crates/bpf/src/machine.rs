//! The reference interpreter of classic BPF, which stops by itself and tells what it does.
//!
//! libpcap's `bpf_filter` is the judge of meaning, but loops for ever on some `protochain` programs, and nobody can look inside. [`run`] has a
//! step limit and reports each step to an [`Observer`]; a test holds it to `bpf_filter` instruction by instruction.
//!
//! Not here: the kernel's ancillary data, and checks of a program ([`Program::check`](crate::Program::check)).

use crate::{Insn, op};

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
