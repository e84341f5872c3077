//! Runs in which libpcap's program means nothing: what it reads from scratch memory is not what belongs there.
//!
//! libpcap 1.10 keeps the offsets of headers that vary in length in scratch cells. In four ways they get lost:
//!
//! - a cell that only a successful test writes is read after that test failed (`geneve or tcp port 80`);
//! - such a cell is given the length of the outermost header at the start, because libpcap has forgotten that header's own (`geneve and tcp
//!   or arp` on 802.11);
//! - a header is moved to another cell, and tests from before the move read the old one, which nobody writes
//!   (`pppoes` behind a radiotap header);
//! - the offset is computed at the start into a cell that arithmetic has used before anything needed the
//!   offset, so the arithmetic destroys it (`len > 70 or ip` behind a radiotap header).
//!
//! Where that happens there is nothing to compare with. It is seen by watching a run: a cell is read that nobody wrote,
//! or a tunnel's that the tunnel did not write,
//! or one of those computed at the start is written again although nobody has read what was there, or the result
//! of arithmetic, which is used once, is read a second time, as if it were an offset.

use bpf::machine::{self, Observer};
use bpf::{Insn, op};
use std::ops::Range;

/// Steps after which a program counts as endless; what it did until then decides.
const MAX_STEPS: usize = 100_000;

/// Whether the run of `program` on this packet depends on scratch memory that is not what it should be.
pub fn is_undefined(program: &[Insn], packet: &[u8], wire_len: u32) -> bool {
    if !program.iter().any(|insn| insn.mode() == op::MEM && matches!(insn.class(), op::LD | op::LDX)) {
        return false;
    }
    let mut scratch = Scratch { program, unwritten: tunnel_cells(program), ..Scratch::default() };
    machine::run(program, packet, wire_len, MAX_STEPS, &mut scratch);
    scratch.is_undefined
}

/// How many instructions before its last store `geneve` stores first.
const TUNNEL_INSNS: usize = 15;

/// Where each tunnel's stores begin and end. Only `geneve` stores X, and does so last.
fn tunnels(program: &[Insn]) -> impl Iterator<Item = Range<usize>> {
    let ends = program.iter().enumerate().filter(|(_, insn)| insn.class() == op::STX);
    ends.map(|(last, _)| last.saturating_sub(TUNNEL_INSNS)..last + 1)
}

/// The cells that tunnels write.
fn tunnel_cells(program: &[Insn]) -> u16 {
    let stores = tunnels(program).flat_map(|tunnel| &program[tunnel]);
    stores.filter(|insn| matches!(insn.class(), op::ST | op::STX)).fold(0, |cells, insn| cells | cell(insn))
}

fn cell(insn: &Insn) -> u16 {
    1 << (insn.k & 15)
}

#[derive(Default)]
struct Scratch<'p> {
    program: &'p [Insn],
    /// Those of tunnels that have not been found. One bit for each cell, here and below.
    unwritten: u16,
    written: u16,
    unread: u16,
    /// Those that hold a result of arithmetic.
    arithmetic: u16,
    /// Those first written before anything was decided: by the code that libpcap puts at the start.
    early: u16,
    has_decided: bool,
    is_undefined: bool,
}

/// What the first word of a packet with an AVS header is compared with: a decision about the header itself.
const AVS_COOKIE: u32 = 0x8021_1000;

impl Scratch<'_> {
    /// Whether what is read is stored again with a sum: the code at the start adds to the header's length.
    fn adds_to(&self, pc: usize, insn: Insn) -> bool {
        self.program.get(pc + 2).is_some_and(|store| store.class() == op::ST && store.k == insn.k)
    }

    /// Whether the store at `pc` is of an arithmetic expression: a number, the length, a load, or an operation on two
    /// cells, and no copy goes to X, which is what libpcap does with offsets.
    fn stores_arithmetic(&self, pc: usize) -> bool {
        let at = |pc: Option<usize>| pc.and_then(|pc| self.program.get(pc)).copied();
        let is = |insn: Option<Insn>, class: u16, mode: u16| {
            insn.is_some_and(|i| i.class() == class && i.mode() == mode)
        };
        if at(Some(pc + 1)).is_some_and(|next| next.code == op::MISC) {
            return false;
        }
        let Some(last) = at(pc.checked_sub(1)) else { return false };
        match last.class() {
            op::LD => last.mode() != op::MEM,
            op::ALU if last.operation() == op::NEG => true,
            op::ALU => {
                last.uses_x()
                    && is(at(pc.checked_sub(2)), op::LD, op::MEM)
                    && is(at(pc.checked_sub(3)), op::LDX, op::MEM)
            }
            _ => false,
        }
    }
}

impl Observer for Scratch<'_> {
    fn step(&mut self, pc: usize, insn: Insn, _a: u32, _x: u32) {
        let cell = cell(&insn);
        match insn.class() {
            op::ST | op::STX => {
                self.is_undefined |= self.unread & self.early & cell != 0;
                if !self.has_decided && self.written & cell == 0 {
                    self.early |= cell;
                }
                if self.unwritten & cell != 0 && tunnels(self.program).any(|tunnel| tunnel.contains(&pc)) {
                    self.unwritten &= !cell;
                }
                self.written |= cell;
                self.unread |= cell;
                self.arithmetic =
                    if self.stores_arithmetic(pc) { self.arithmetic | cell } else { self.arithmetic & !cell };
            }
            op::LD | op::LDX if insn.mode() == op::MEM => {
                let is_lost = self.unwritten & !self.arithmetic & cell != 0 && !self.adds_to(pc, insn);
                self.is_undefined |=
                    is_lost || self.written & cell == 0 || self.arithmetic & !self.unread & cell != 0;
                self.unread &= !cell;
            }
            op::JMP => self.has_decided |= insn.operation() != op::JA && insn.k != AVS_COOKIE,
            _ => {}
        }
    }
}
