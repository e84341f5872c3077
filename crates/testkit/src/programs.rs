//! Random programs of classic BPF.

use crate::rng::Rng;
use bpf::{Insn, op};

/// A program that libpcap and the kernel accept: jumps lead forward, cells are written before they are read, and no constant
/// divides by zero or shifts too far.
pub fn random_program(rng: &mut Rng) -> Vec<Insn> {
    let body = 3 + rng.below(40);
    let mut insns = Vec::new();
    // So many cells hold something wherever one is read.
    let cells = 1 + rng.below(4) as u32;
    for cell in 0..cells {
        insns.push(load(rng));
        insns.push(plain(*rng.pick(&[op::ST, op::STX]), cell));
    }
    for at in 0..body {
        let left = (body - at) as u8;
        insns.push(match rng.below(12) {
            0..=2 => load(rng),
            3 => plain(
                *rng.pick(&[op::ST, op::STX, op::LD | op::MEM, op::LDX | op::MEM]),
                rng.below(cells as usize) as u32,
            ),
            4..=6 => arithmetic(rng),
            7 => plain(op::MISC | *rng.pick(&[op::TAX, op::TXA]), 0),
            8 if rng.chance(1, 4) => plain(op::JMP | op::JA, rng.below(left.into()) as u32),
            9 if rng.chance(1, 5) => ret(rng),
            _ => {
                let test = *rng.pick(&[op::JEQ, op::JGT, op::JGE, op::JSET]);
                let source = if rng.chance(1, 4) { op::X } else { 0 };
                let distance = |rng: &mut Rng| rng.below(left.min(9).into()) as u8;
                let (jt, jf) = (distance(rng), distance(rng));
                Insn {
                    code: op::JMP | test | source,
                    jt,
                    jf,
                    k: if source == op::X { 0 } else { constant(rng) },
                }
            }
        });
    }
    insns.push(ret(rng));
    insns
}

/// Any bits at all, mostly near to instructions.
pub fn random_insn(rng: &mut Rng) -> Insn {
    let mut insn = match rng.below(4) {
        0 => load(rng),
        1 => arithmetic(rng),
        2 => ret(rng),
        _ => Insn {
            code: op::JMP | *rng.pick(&[op::JA, op::JEQ, op::JGT, op::JGE, op::JSET]),
            jt: rng.below(4) as u8,
            jf: rng.below(4) as u8,
            k: rng.below(4) as u32,
        },
    };
    match rng.below(8) {
        0 => insn.code = rng.next_u32() as u16 & 0xff,
        1 => insn.code = rng.next_u32() as u16,
        2 => insn.k = constant(rng),
        3 => insn.k = 0xffff_f000 + rng.below(70) as u32,
        _ => {}
    }
    insn
}

fn plain(code: u16, k: u32) -> Insn {
    Insn { code, jt: 0, jf: 0, k }
}

fn ret(rng: &mut Rng) -> Insn {
    match rng.below(4) {
        0 => plain(op::RET | op::A, 0),
        1 => plain(op::RET, 0),
        _ => plain(op::RET, 262_144),
    }
}

fn load(rng: &mut Rng) -> Insn {
    let size = *rng.pick(&[op::W, op::H, op::B]);
    let at = rng.below(30) as u32;
    match rng.below(10) {
        0 => plain(op::LDX | op::MSH | op::B, at),
        1 => plain(*rng.pick(&[op::LD, op::LDX]) | op::IMM, constant(rng)),
        2 => plain(*rng.pick(&[op::LD, op::LDX]) | op::LEN, 0),
        3 | 4 => plain(op::LD | op::IND | size, if rng.chance(1, 8) { constant(rng) } else { at }),
        _ => plain(op::LD | op::ABS | size, at),
    }
}

fn arithmetic(rng: &mut Rng) -> Insn {
    let operations =
        [op::ADD, op::SUB, op::MUL, op::DIV, op::MOD, op::AND, op::OR, op::XOR, op::LSH, op::RSH, op::NEG];
    match *rng.pick(&operations) {
        op::NEG => plain(op::ALU | op::NEG, 0),
        operation if rng.chance(1, 3) => plain(op::ALU | operation | op::X, 0),
        operation @ (op::LSH | op::RSH) => plain(op::ALU | operation, rng.below(32) as u32),
        operation @ (op::DIV | op::MOD) => plain(op::ALU | operation, constant(rng).max(1)),
        operation => plain(op::ALU | operation, constant(rng)),
    }
}

fn constant(rng: &mut Rng) -> u32 {
    match rng.below(6) {
        0 | 1 => rng.below(8) as u32,
        2 => rng.below(64) as u32,
        3 => 1 << rng.below(32),
        4 => u32::MAX - rng.below(3) as u32,
        // No offset of these is one that only the kernel knows.
        _ => rng.next_u32() >> 12,
    }
}
