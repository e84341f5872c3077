//! Register assignment: one linear scan over the straight list (Poletto and Sarkar, 1999).
//!
//! Control flows forward only, so a virtual register is live from its first definition to its last use, and two
//! whose ranges do not meet may share a machine register. When there is none left, the register that lives longest
//! goes to a stack slot for its whole life. No splitting, no second chance: filters hardly ever need more than
//! the six registers that a caller does not expect back.

use super::NoCode;
use super::program::{Block, Program, Role};
use super::select::{VReg, WIRE_LEN};
use crate::filled::filled;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

/// Where a value lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<R> {
    /// In a machine register.
    Reg(R),
    /// In a stack slot of eight bytes.
    Slot(u32),
}

impl<R: fmt::Display> fmt::Display for Place<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Reg(register) => register.fmt(f),
            Place::Slot(slot) => write!(f, "slot{slot}"),
        }
    }
}

/// A program with all its registers assigned.
#[derive(Debug)]
pub struct Allocated<R> {
    /// The code.
    pub program: Program<Place<R>>,
    /// How many stack slots it needs.
    pub slots: u32,
}

impl<R: fmt::Display> fmt::Display for Allocated<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "stack slots: {}", self.slots)?;
        self.program.fmt(f)
    }
}

/// A frame stays well below the guard page that ends a stack.
const SLOTS_MAX: u32 = 448;

/// Assigns the registers of `pool`, the first ones first; the wire length is in `wire_len`, which is not of the pool.
///
/// # Errors
/// [`NoCode::TooComplex`] when the stack frame would be too large.
pub fn allocate<R: Copy>(program: Program<VReg>, pool: &[R], wire_len: R) -> Result<Allocated<R>, NoCode> {
    let mut scan = Scan::new(pool);
    let Live { ranges, registers } = live_ranges(&program);
    let mut places = filled(Place::Reg(wire_len), registers);
    for range in ranges {
        scan.place(range, &mut places);
    }
    if scan.slots > SLOTS_MAX {
        return Err(NoCode::TooComplex);
    }
    Ok(Allocated { program: rewrite(program, &places), slots: scan.slots })
}

/// Where a register is live: positions of its first definition and its last use.
#[derive(Clone, Copy, Debug)]
struct Range {
    register: VReg,
    start: u32,
    end: u32,
}

/// When registers are live.
struct Live {
    /// Of each register that is ever defined, in the order of their definitions.
    ranges: Vec<Range>,
    /// How many registers there are.
    registers: usize,
}

/// Finds the live ranges.
fn live_ranges(program: &Program<VReg>) -> Live {
    let mut ranges: Vec<Range> = Vec::with_capacity(program.insts.len());
    // By register: where its range is among the others.
    let mut numbers = filled(UNSEEN, program.insts.len() + 1);
    let mut visit = |register: VReg, at: u32| {
        let i = register.0 as usize;
        if i >= numbers.len() {
            numbers.resize(i + 1, UNSEEN);
        }
        if register == WIRE_LEN {
        } else if let Some(range) = ranges.get_mut(numbers[i] as usize) {
            range.end = at;
        } else {
            numbers[i] = ranges.len() as u32;
            ranges.push(Range { register, start: at, end: at });
        }
    };
    let mut at = 0;
    for block in &program.blocks {
        for inst in program.insts_of(block) {
            inst.map(&mut |register, _| visit(register, at));
            at += 1;
        }
        block.exit.map(&mut |register, _| visit(register, at));
        at += 1;
    }
    Live { ranges, registers: numbers.len() }
}

const UNSEEN: u32 = u32::MAX;

struct Scan<R> {
    /// Registers that are free, the one to take next last.
    free: Vec<R>,
    /// What is in the registers that are not.
    active: Vec<(Range, R)>,
    /// Slots by the position after which they are free.
    taken_slots: BinaryHeap<Reverse<(u32, u32)>>,
    slots: u32,
}

impl<R: Copy> Scan<R> {
    fn new(pool: &[R]) -> Self {
        Scan {
            free: pool.iter().rev().copied().collect(),
            active: Vec::with_capacity(pool.len()),
            taken_slots: BinaryHeap::new(),
            slots: 0,
        }
    }

    fn place(&mut self, range: Range, places: &mut [Place<R>]) {
        self.expire(range.start);
        let place = match self.free.pop() {
            Some(register) => {
                self.active.push((range, register));
                Place::Reg(register)
            }
            None => self.displace(range, places),
        };
        places[range.register.0 as usize] = place;
    }

    /// Frees the registers of what is last read where the next is first written, or before.
    fn expire(&mut self, start: u32) {
        let free = &mut self.free;
        self.active.retain(|(range, register)| {
            if range.end <= start {
                free.push(*register);
            }
            range.end > start
        });
    }

    /// Takes the register of what lives longest, if that lives longer than this.
    fn displace(&mut self, range: Range, places: &mut [Place<R>]) -> Place<R> {
        let longest = self.active.iter_mut().max_by_key(|(active, _)| active.end);
        let Some((active, register)) = longest.filter(|(active, _)| active.end > range.end) else {
            return self.slot(range, range.start);
        };
        let register = *register;
        let displaced = std::mem::replace(active, range);
        // The slot must have been free since the displaced range began, which is before now.
        places[displaced.register.0 as usize] = self.slot(displaced, displaced.start);
        Place::Reg(register)
    }

    fn slot(&mut self, range: Range, start: u32) -> Place<R> {
        let reusable = self.taken_slots.peek().is_some_and(|Reverse((end, _))| *end <= start);
        let slot = if reusable {
            self.taken_slots.pop().map_or(0, |Reverse((_, slot))| slot)
        } else {
            self.slots += 1;
            self.slots - 1
        };
        self.taken_slots.push(Reverse((range.end, slot)));
        Place::Slot(slot)
    }
}

fn rewrite<R: Copy>(program: Program<VReg>, places: &[Place<R>]) -> Program<Place<R>> {
    let mut place = |register: VReg, _: Role| places[register.0 as usize];
    let insts = program.insts.into_iter().map(|inst| inst.map(&mut place)).collect();
    let blocks = program.blocks.into_iter().map(|block| Block {
        label: block.label,
        origin: block.origin,
        insts: block.insts,
        exit: block.exit.map(&mut place),
    });
    Program {
        blocks: blocks.collect(),
        insts,
        tables: program.tables,
        labels: program.labels,
        reads_wire_len: program.reads_wire_len,
        inputs: program.inputs,
        outputs: program.outputs,
        calls: program.calls,
    }
}
