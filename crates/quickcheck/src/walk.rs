//! Packets that walk the branches of a bytecode program.
//!
//! Random bytes hardly ever match a filter, so a test that feeds them tests little more than "reject". Here the program
//! itself says what it wants to see:
//!
//! ```text
//! queue := seeds
//! while the queue has a packet and the budget lasts:
//!     run it, noting for each value which packet bytes and operations it came from
//!     for each conditional jump whose other side nobody has seen:
//!         choose a value that would go there, undo the operations, patch the bytes, queue the new packet
//!     a load past the end: queue a longer packet
//!     the packet saw a new side: keep it
//! ```
//!
//! This is concolic execution with the cheapest solver there is: one operand moves, the others stay. What it cannot
//! undo (a product that does not divide, a hash-like mix) is left to chance.

use crate::packet::Packet;
use bpf::machine::{self, Observer};
use bpf::{Insn, op};
use std::collections::{HashMap, HashSet, VecDeque};

/// Bounds on the work.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// Packets to run at most.
    pub runs: usize,
    /// Instructions to run at most for one packet.
    pub steps: usize,
    /// The longest packet to make.
    pub bytes: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { runs: 300, steps: 5000, bytes: 2048 }
    }
}

/// How often one side of a jump is aimed at before it counts as out of reach.
const TRIES: u32 = 3;

/// Packets, starting from `seeds`, of which each takes a side of some jump that none before it took.
pub fn packets(program: &[Insn], seeds: &[Packet], budget: Budget) -> Vec<Packet> {
    let mut queue: VecDeque<Packet> = seeds.iter().cloned().collect();
    let (mut seen, mut tries, mut known) = (HashSet::new(), HashMap::new(), HashSet::new());
    let mut kept = Vec::new();
    for _ in 0..budget.runs {
        let Some(packet) = queue.pop_front() else { break };
        if !known.insert(packet.clone()) {
            continue;
        }
        let trace = Trace::of(program, &packet, budget.steps);
        let fresh = trace.branches.iter().filter(|branch| seen.insert((branch.pc, branch.taken))).count();
        for branch in &trace.branches {
            let target = (branch.pc, !branch.taken);
            let tried: &mut u32 = tries.entry(target).or_default();
            if !seen.contains(&target) && *tried < TRIES {
                *tried += 1;
                queue.extend(branch.flips().filter_map(|flip| trace.patched(&packet, flip)));
            }
        }
        if let Some(end) = trace.missing.filter(|&end| end <= budget.bytes as u64) {
            queue.push_back(extended(&packet, end as usize));
        }
        if fresh > 0 {
            kept.push(packet);
        }
    }
    kept
}

fn extended(packet: &Packet, end: usize) -> Packet {
    let mut longer = packet.clone();
    longer.bytes.resize(end, 0);
    longer.wire_len = longer.wire_len.max(end as u32);
    longer
}

/// Where a value came from.
#[derive(Debug, Clone, Copy)]
enum Origin {
    /// Bytes of the packet.
    Load { offset: usize, size: usize },
    /// Four times the low half of a byte.
    HeaderLen { offset: usize },
    /// The length on the wire.
    WireLen,
    /// An operation on two values, at least one of which has an origin.
    Op { operation: u16, a: Operand, b: Operand },
}

/// A value as it was, and its origin in [`Trace::origins`] if it has one.
#[derive(Debug, Clone, Copy, Default)]
struct Operand {
    value: u32,
    origin: Option<usize>,
}

/// A conditional jump as it went.
#[derive(Debug)]
struct Branch {
    pc: usize,
    taken: bool,
    operation: u16,
    a: Operand,
    b: Operand,
}

impl Branch {
    /// Operands and the values which would make the jump go the other way.
    fn flips(&self) -> impl Iterator<Item = (usize, u32)> + use<> {
        let (a, b) = (self.a.value, self.b.value);
        let left = match (self.operation, self.taken) {
            (op::JEQ, true) => [Some(b.wrapping_add(1)), b.checked_sub(1)],
            (op::JEQ, false) => [Some(b), None],
            (op::JGT, true) => [Some(b), Some(0)],
            (op::JGT, false) => [b.checked_add(1), None],
            (op::JGE, true) => [b.checked_sub(1), None],
            (op::JGE, false) => [Some(b), b.checked_add(1)],
            (_, true) => [Some(a & !b), None],
            (_, false) => [Some(a | b & b.wrapping_neg()), Some(a | b)],
        };
        let right = match (self.operation, self.taken) {
            (op::JEQ, false) | (op::JGT, true) => Some(a),
            (op::JEQ, true) | (op::JGE, true) => a.checked_add(1),
            (op::JGT, false) => a.checked_sub(1),
            (op::JGE, false) => Some(a),
            _ => None,
        };
        let left = left.into_iter().flatten().filter_map({
            let origin = self.a.origin;
            move |value| origin.map(|origin| (origin, value))
        });
        let right = right.and_then(|value| self.b.origin.map(|origin| (origin, value)));
        left.chain(right)
    }
}

/// What a run did.
#[derive(Default)]
struct Trace {
    origins: Vec<Origin>,
    branches: Vec<Branch>,
    /// The end of the load that left the packet, if one did.
    missing: Option<u64>,
    a: Option<usize>,
    x: Option<usize>,
    mem: [Option<usize>; 16],
}

impl Trace {
    fn of(program: &[Insn], packet: &Packet, steps: usize) -> Self {
        let mut trace = Trace::default();
        machine::run(program, &packet.bytes, packet.wire_len, steps, &mut trace);
        trace
    }

    fn note(&mut self, origin: Origin) -> Option<usize> {
        self.origins.push(origin);
        Some(self.origins.len() - 1)
    }

    /// A copy of `packet` in which the value of `origin` is `value`, if that can be had.
    fn patched(&self, packet: &Packet, (origin, value): (usize, u32)) -> Option<Packet> {
        let (mut at, mut want, mut patched) = (origin, value, packet.clone());
        loop {
            match self.origins[at] {
                Origin::Op { operation, a, b } => (at, want) = undo(operation, a, b, want)?,
                Origin::Load { offset, size } => {
                    let bytes = want.to_be_bytes();
                    if bytes[..4 - size].iter().any(|&byte| byte != 0) {
                        return None;
                    }
                    patched.bytes.get_mut(offset..offset + size)?.copy_from_slice(&bytes[4 - size..]);
                    return Some(patched);
                }
                Origin::HeaderLen { offset } => {
                    if want % 4 != 0 || want > 60 {
                        return None;
                    }
                    let byte = patched.bytes.get_mut(offset)?;
                    *byte = *byte & 0xf0 | (want / 4) as u8;
                    return Some(patched);
                }
                Origin::WireLen => {
                    patched.wire_len = want;
                    patched.bytes.truncate(want as usize);
                    return Some(patched);
                }
            }
        }
    }
}

/// For `a operation b = want`: an operand with an origin, and the value that it must have.
fn undo(operation: u16, a: Operand, b: Operand, want: u32) -> Option<(usize, u32)> {
    let Some(left) = a.origin else {
        let value = match operation {
            op::SUB => a.value.wrapping_sub(want),
            op::DIV => a.value.checked_div(want)?,
            op::LSH | op::RSH | op::MOD => return None,
            _ => return undo(operation, b, a, want),
        };
        return Some((b.origin?, value));
    };
    let (old, b) = (a.value, b.value);
    let shift_mask = |shift: u32| 1u32.checked_shl(shift).map(|bit| bit - 1);
    let value = match operation {
        op::ADD => want.wrapping_sub(b),
        op::SUB => want.wrapping_add(b),
        op::MUL => want.checked_div(b).filter(|quotient| quotient.wrapping_mul(b) == want)?,
        op::DIV => want.checked_mul(b)?,
        op::MOD => Some(want).filter(|&rest| rest < b)?,
        op::AND => Some(old & !b | want & b).filter(|_| want & !b == 0)?,
        op::OR => Some(old & b | want & !b).filter(|_| want & b == b)?,
        op::XOR => want ^ b,
        op::LSH => want.checked_shr(b).filter(|&value| value << b == want)?,
        op::RSH => want.checked_shl(b).filter(|&value| value >> b == want)? | old & shift_mask(b)?,
        _ => want.wrapping_neg(),
    };
    Some((left, value))
}

impl Observer for Trace {
    fn step(&mut self, pc: usize, insn: Insn, a: u32, x: u32) {
        match insn.class() {
            op::LD | op::LDX => {
                let origin = match insn.mode() {
                    op::IMM => None,
                    op::MEM => self.mem[insn.k as usize & 15],
                    op::LEN => self.note(Origin::WireLen),
                    op::MSH => self.note(Origin::HeaderLen { offset: insn.k as usize }),
                    op::ABS => self.note(Origin::Load { offset: insn.k as usize, size: insn.size() }),
                    _ => self.note(Origin::Load { offset: insn.k as usize + x as usize, size: insn.size() }),
                };
                *(if insn.class() == op::LD { &mut self.a } else { &mut self.x }) = origin;
            }
            op::ST => self.mem[insn.k as usize & 15] = self.a,
            op::STX => self.mem[insn.k as usize & 15] = self.x,
            op::ALU => {
                let (left, right) = (Operand { value: a, origin: self.a }, self.operand(insn, x));
                self.a = match (left.origin, right.origin) {
                    (None, None) => None,
                    _ => self.note(Origin::Op { operation: insn.operation(), a: left, b: right }),
                };
            }
            op::JMP if insn.operation() != op::JA => {
                let (left, right) = (Operand { value: a, origin: self.a }, self.operand(insn, x));
                let taken = machine::holds(insn.operation(), a, right.value);
                let operation = insn.operation();
                self.branches.push(Branch { pc, taken, operation, a: left, b: right });
            }
            op::MISC if insn.code & 0xf8 == 0x80 => self.a = self.x,
            op::MISC => self.x = self.a,
            _ => {}
        }
    }

    fn load(&mut self, offset: u64, size: usize, inside: bool) {
        if !inside {
            self.missing = Some(offset + size as u64);
        }
    }
}

impl Trace {
    fn operand(&self, insn: Insn, x: u32) -> Operand {
        if insn.uses_x() {
            Operand { value: x, origin: self.x }
        } else {
            Operand { value: insn.k, origin: None }
        }
    }
}
