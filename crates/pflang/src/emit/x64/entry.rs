//! The two entry points around a body.
//!
//! ```text
//! one(packet: rdi, captured: rsi, wire: edx) -> leaf: eax
//!
//! burst(descriptors: rdi, count: rsi, out: rdx)            count is not 0
//!     for each run of packets:                             a run ends with a bitmap word, and where
//!         for each packet of the run:                      prefetching must stop
//!             prefetch what the descriptor `distance` further on points to, and later descriptors
//!             body: word = word << 1 | accepted            or: store the leaf
//!         at the end of a word, and of all: store the word, its bits reversed
//! ```
//! Cutting the burst into runs keeps the work per packet small: one addition ends the loop, and whether there is
//! a descriptor `distance` further on is settled once a run, not tested for each packet.

use super::assembler::{AsmLabel, Assembled, Assembler};
use super::body::{Body, Finish, Loop, Place};
use super::convention::{
    AHEAD, ANSWERS, CAPTURED, CAPTURED_AT, Convention, DESCRIPTOR_SIZE, Frame, INDEX, OUT, PACKET, RUN_END,
    SAVED, SCRATCH, WIRE_AT, WORD,
};
use super::inst::{Alu, Inst as X, Shift};
use super::reg::{Cc, Mem, Reg, Width};
use crate::emit::allocate::Allocated;
use crate::emit::program::{Program, Table};
use crate::emit::{Error, Options};
use Reg::{R8, R9, R10, Rax, Rcx, Rdi, Rdx, Rsi, Rsp};
use Width::{D, Q};

/// What a burst prefetches of each packet: the line with the network header, wherever the packet begins.
const PREFETCH_AT: i32 = 12;

/// How far beyond the descriptors whose packets are prefetched these are prefetched themselves, in bytes. What lies behind
/// the burst is prefetched too, if there is anything: prefetching never faults.
///
/// PERF: the processor prefetches what is read in order, but not from one page into the next as soon as is needed here:
/// random DRAM took 12.3 ns a packet, with this 10.9.
const DESCRIPTORS_AHEAD: i32 = 512;

const DESCRIPTOR_SHIFT: u8 = DESCRIPTOR_SIZE.trailing_zeros() as u8;

/// What a burst writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// A bit for each packet.
    Bits,
    /// The leaf of each packet.
    Leaves,
}

/// Bytes of a leaf in the output of a burst.
const LEAF_SIZE: i32 = 4;

/// Both entry points, and their data.
#[derive(Debug)]
pub struct Entries {
    /// Code and data.
    pub assembled: Assembled,
    /// Offset of the one-packet form.
    pub one: usize,
    /// Offset of the burst form.
    pub burst: usize,
}

/// Emits everything.
///
/// # Errors
/// [`Error::TooLarge`] when it would exceed the limit on code bytes.
pub fn emit(
    allocated: &Allocated<Reg>,
    convention: &Convention,
    options: &Options,
    writes: Writes,
) -> Result<Entries, Error> {
    let program = &allocated.program;
    let mut asm = Assembler::new(options.listing);
    let one = asm.label();
    let burst = asm.label();
    let tables: Vec<AsmLabel> = program.tables.iter().map(|_| asm.label()).collect();
    let mut emitter = Emitter { asm, program, convention, options, writes, tables };
    emitter.one(one, allocated.slots);
    emitter.burst(burst, allocated.slots);
    emitter.data();
    if emitter.asm.len_min() > options.code_bytes_max {
        return Err(Error::TooLarge { limit: options.code_bytes_max });
    }
    let assembled = emitter.asm.finish();
    if assembled.bytes.len() > options.code_bytes_max {
        return Err(Error::TooLarge { limit: options.code_bytes_max });
    }
    Ok(Entries { one: assembled.offset(one), burst: assembled.offset(burst), assembled })
}

struct Emitter<'a> {
    asm: Assembler,
    program: &'a Program<Place>,
    convention: &'a Convention,
    options: &'a Options,
    writes: Writes,
    tables: Vec<AsmLabel>,
}

impl Emitter<'_> {
    fn push(&mut self, inst: X) {
        self.asm.push(inst, None);
    }

    fn one(&mut self, entry: AsmLabel, slots: u32) {
        let frame = Frame::new(slots);
        self.asm.bind(entry);
        self.push(X::Endbr64);
        if self.program.reads_wire_len {
            // The upper half of an argument of 32 bits may hold anything.
            self.push(X::Mov(D, self.convention.wire_len.into(), Rdx));
        }
        if frame.size() > 0 {
            self.push(X::AluImm(Alu::Sub, Q, Rsp.into(), frame.size()));
        }
        self.body(frame, Finish::Return);
    }

    fn body(&mut self, frame: Frame, finish: Finish) {
        let features = self.options.features;
        let mut body = Body::new(&mut self.asm, self.program, features, frame, finish, &self.tables);
        body.emit();
        for (label, targets) in body.jump_tables {
            self.asm.jump_table(label, targets);
        }
    }

    fn burst(&mut self, entry: AsmLabel, slots: u32) {
        // Two slots more: where the burst ends, and from where there is nothing left to prefetch.
        let frame = Frame::new(slots + 2);
        let state = BurstState { end: frame.slot(slots), quiet: frame.slot(slots + 1), frame };
        let [next, end, plan, done] = std::array::from_fn(|_| self.asm.label());
        self.asm.align();
        self.asm.bind(entry);
        self.burst_prologue(&state);
        self.push(X::Jmp(plan));
        self.asm.align();
        self.asm.bind(next);
        self.load_descriptor();
        match self.writes {
            Writes::Bits => self.shift_in_bit(frame, next, end),
            Writes::Leaves => self.store_leaf(frame, next),
        }
        self.asm.bind(end);
        match self.writes {
            Writes::Bits => self.end_run(&state, plan, done),
            Writes::Leaves => self.leave_at_end(&state, done),
        }
        self.asm.bind(plan);
        self.plan_run(&state);
        self.push(X::Jmp(next));
        self.asm.bind(done);
        self.burst_epilogue(&state);
    }

    fn shift_in_bit(&mut self, frame: Frame, next: AsmLabel, end: AsmLabel) {
        let [accept, reject] = std::array::from_fn(|_| self.asm.label());
        let around = Loop { accept, reject, next, end };
        self.body(frame, Finish::Loop(around));
        self.asm.bind(accept);
        self.push(X::Lea(Q, WORD, WORD + WORD + 1));
        around.advance(&mut |inst| self.asm.push(inst, None));
        self.asm.bind(reject);
        self.push(X::Alu(Alu::Add, Q, WORD.into(), WORD));
        around.advance(&mut |inst| self.asm.push(inst, None));
    }

    /// Falls through at the end of the run.
    fn store_leaf(&mut self, frame: Frame, next: AsmLabel) {
        let store = self.asm.label();
        self.body(frame, Finish::Store(store));
        self.asm.bind(store);
        self.push(X::Mov(D, Mem::from(OUT).into(), Rax));
        self.push(X::AluImm(Alu::Add, Q, OUT.into(), LEAF_SIZE));
        self.push(X::AluImm(Alu::Add, Q, INDEX.into(), DESCRIPTOR_SIZE));
        self.push(X::Jcc(Cc::Ne, next));
    }

    fn burst_prologue(&mut self, state: &BurstState) {
        self.push(X::Endbr64);
        SAVED.iter().for_each(|&saved| self.push(X::Push(saved)));
        if state.frame.size() > 0 {
            self.push(X::AluImm(Alu::Sub, Q, Rsp.into(), state.frame.size()));
        }
        self.push(X::Mov(Q, RUN_END.into(), Rdi));
        self.push(X::Mov(Q, OUT.into(), Rdx));
        self.push(X::Shift(Shift::Shl, Q, Rsi, DESCRIPTOR_SHIFT));
        self.push(X::Alu(Alu::Add, Q, Rdi.into(), Rsi));
        self.push(X::Mov(Q, state.end.into(), Rdi));
        if self.options.prefetch_distance > 0 {
            self.push(X::Lea(Q, Rax, Rdi + -self.ahead()));
            self.push(X::Mov(Q, state.quiet.into(), Rax));
        }
        if self.writes == Writes::Bits {
            self.begin_word();
        }
    }

    fn begin_word(&mut self) {
        self.push(X::Alu(Alu::Xor, D, WORD.into(), WORD));
        self.push(X::Alu(Alu::Xor, D, ANSWERS.into(), ANSWERS));
    }

    fn ahead(&self) -> i32 {
        self.options.prefetch_distance as i32 * DESCRIPTOR_SIZE
    }

    fn load_descriptor(&mut self) {
        self.push(X::MovLoad(Q, PACKET, RUN_END + INDEX));
        self.push(X::MovLoad(D, CAPTURED, RUN_END + INDEX + CAPTURED_AT));
        if self.program.reads_wire_len {
            self.push(X::MovLoad(D, self.convention.wire_len, RUN_END + INDEX + WIRE_AT));
        }
        if self.options.prefetch_distance > 0 {
            self.push(X::MovLoad(Q, SCRATCH, AHEAD + INDEX));
            self.push(X::Prefetch(SCRATCH + PREFETCH_AT));
            self.push(X::Prefetch(RUN_END + INDEX + (self.ahead() + DESCRIPTORS_AHEAD)));
        }
    }

    /// Stores the word if it is full or the last.
    fn end_run(&mut self, state: &BurstState, plan: AsmLabel, done: AsmLabel) {
        let store = self.asm.label();
        self.push(X::AluImm(Alu::Cmp, D, ANSWERS.into(), 64));
        self.push(X::Jcc(Cc::E, store));
        self.push(X::AluLoad(Alu::Cmp, Q, RUN_END, state.end));
        self.push(X::Jcc(Cc::Ne, plan));
        self.asm.bind(store);
        // The first answer to the highest bit, and from there to the lowest.
        self.push(X::MovImm(Rcx, 64));
        self.push(X::Alu(Alu::Sub, D, Rcx.into(), ANSWERS));
        self.push(X::ShiftCl(Shift::Shl, Q, WORD));
        self.reverse_word();
        self.push(X::Mov(Q, Mem::from(OUT).into(), WORD));
        self.push(X::AluImm(Alu::Add, Q, OUT.into(), 8));
        self.begin_word();
        self.leave_at_end(state, done);
    }

    fn leave_at_end(&mut self, state: &BurstState, done: AsmLabel) {
        self.push(X::AluLoad(Alu::Cmp, Q, RUN_END, state.end));
        self.push(X::Jcc(Cc::E, done));
    }

    /// Swaps bytes, then the halves of each byte, their halves, and theirs.
    fn reverse_word(&mut self) {
        self.push(X::Bswap(Q, WORD));
        for (mask, by) in [(0x0f0f_0f0f_0f0f_0f0f, 4), (0x3333_3333_3333_3333, 2), (0x5555_5555_5555_5555, 1)]
        {
            self.push(X::MovImm64(Rcx, mask));
            self.push(X::Mov(Q, Rax.into(), WORD));
            self.push(X::Shift(Shift::Shr, Q, Rax, by));
            self.push(X::Alu(Alu::And, Q, Rax.into(), Rcx));
            self.push(X::Alu(Alu::And, Q, WORD.into(), Rcx));
            self.push(X::Shift(Shift::Shl, Q, WORD, by));
            self.push(X::Alu(Alu::Or, Q, WORD.into(), Rax));
        }
    }

    /// The next run begins where the last one ended, and ends with the word, the burst, or the packets that have
    /// others `distance` further on.
    fn plan_run(&mut self, state: &BurstState) {
        let bits = self.writes == Writes::Bits;
        if bits {
            // r8 = where the word is full
            self.push(X::MovImm(R8, 64));
            self.push(X::Alu(Alu::Sub, D, R8.into(), ANSWERS));
            self.push(X::Shift(Shift::Shl, D, R8, DESCRIPTOR_SHIFT));
            self.push(X::Alu(Alu::Add, Q, R8.into(), RUN_END));
        }
        self.push(X::MovLoad(Q, Rax, state.end));
        if self.options.prefetch_distance > 0 {
            // r9 = how far ahead; rax = where that changes
            self.push(X::Alu(Alu::Xor, D, Rdx.into(), Rdx));
            self.push(X::MovImm(R9, self.ahead() as u32));
            self.push(X::MovLoad(Q, R10, state.quiet));
            self.push(X::Alu(Alu::Cmp, Q, RUN_END.into(), R10));
            self.push(X::Cmov(Cc::Ae, Q, R9, Rdx.into()));
            self.push(X::Cmov(Cc::B, Q, Rax, R10.into()));
        }
        if bits {
            self.push(X::Alu(Alu::Cmp, Q, R8.into(), Rax));
            self.push(X::Cmov(Cc::A, Q, R8, Rax.into()));
        } else {
            self.push(X::Mov(Q, R8.into(), Rax));
        }
        // The end is r8; index = begin - end; answers += packets in between.
        self.push(X::Mov(Q, INDEX.into(), RUN_END));
        self.push(X::Alu(Alu::Sub, Q, INDEX.into(), R8));
        if bits {
            self.push(X::Mov(Q, Rcx.into(), R8));
            self.push(X::Alu(Alu::Sub, Q, Rcx.into(), RUN_END));
            self.push(X::Shift(Shift::Shr, D, Rcx, DESCRIPTOR_SHIFT));
            self.push(X::Alu(Alu::Add, D, ANSWERS.into(), Rcx));
        }
        self.push(X::Mov(Q, RUN_END.into(), R8));
        if self.options.prefetch_distance > 0 {
            self.push(X::Lea(Q, AHEAD, R8 + R9));
        }
    }

    fn burst_epilogue(&mut self, state: &BurstState) {
        if state.frame.size() > 0 {
            self.push(X::AluImm(Alu::Add, Q, Rsp.into(), state.frame.size()));
        }
        SAVED.iter().rev().for_each(|&saved| self.push(X::Pop(saved)));
        self.push(X::Ret);
    }

    fn data(&mut self) {
        for (table, &label) in self.program.tables.iter().zip(&self.tables) {
            match table {
                Table::Cuckoo(table) => self.asm.data(label, table.slots()),
                Table::Rank(table) => self.asm.data(label, table.boundaries()),
                Table::Answers(answers) => self.asm.data(label, answers),
                // Each copy of the body has its own.
                Table::Targets(_) => {}
            }
        }
    }
}

/// What of a burst's state lies on the stack.
struct BurstState {
    end: Mem,
    /// From this descriptor on, nothing is left to prefetch.
    quiet: Mem,
    frame: Frame,
}
