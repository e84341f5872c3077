//! The two entry points around a body.
//!
//! ```text
//! one(packet: rdi, captured: rsi, wire: edx) -> leaf: eax
//!
//! burst(descriptors: rdi, count: rsi, bitmap: rdx)         count is not 0
//!     for each run of packets:                             a run ends with a bitmap word, and where
//!         for each packet of the run:                      prefetching must stop
//!             prefetch what `distance` descriptors on point to
//!             body: accept -> word |= bit
//!             bit = bit rotated
//!         at the end of a word, and of all: store the word
//! ```
//! Cutting the burst into runs keeps the work per packet small: one comparison ends the loop, and whether there is
//! a descriptor `distance` further on is settled once a run, not tested for each packet.

use super::assembler::{AsmLabel, Assembled, Assembler};
use super::body::{Body, Finish, Place};
use super::convention::{CAPTURED, Convention, Frame, PACKET, SCRATCH};
use super::inst::{Alu, Inst as X, Shift};
use super::reg::{Cc, Mem, Reg, Width};
use crate::emit::allocate::Allocated;
use crate::emit::program::{Program, Table};
use crate::emit::{Error, Options};
use Reg::{R8, R9, R12, R13, R14, R15, Rax, Rbp, Rbx, Rcx, Rdi, Rdx, Rsi, Rsp};
use Width::{D, Q};

/// Bytes of a descriptor: address, captured length, wire length.
pub const DESCRIPTOR_SIZE: i32 = 16;
const CAPTURED_AT: i32 = 8;
const WIRE_AT: i32 = 12;

/// What a burst prefetches of each packet: the line with the network header, wherever the packet begins.
const PREFETCH_AT: i32 = 12;

// The burst loop's registers, which the body leaves alone.
const NEXT: Reg = Rbx;
const RUN_END: Reg = R12;
const BITMAP: Reg = R13;
const WORD: Reg = R14;
const BIT: Reg = Rbp;
/// From a descriptor to the one whose packet is prefetched, in bytes; 0 near the end.
const AHEAD: Reg = R15;
const SAVED: [Reg; 6] = [Rbx, Rbp, R12, R13, R14, R15];

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
) -> Result<Entries, Error> {
    let program = &allocated.program;
    let mut asm = Assembler::default();
    let one = asm.label();
    let burst = asm.label();
    let tables: Vec<AsmLabel> = program.tables.iter().map(|_| asm.label()).collect();
    let mut emitter = Emitter { asm, program, convention, options, tables };
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
        let [next, accept, reject, plan, done] = std::array::from_fn(|_| self.asm.label());
        self.asm.align();
        self.asm.bind(entry);
        self.burst_prologue(&state);
        self.push(X::Jmp(plan));
        self.asm.align();
        self.asm.bind(next);
        self.load_descriptor();
        self.body(frame, Finish::Loop { accept, reject });
        self.asm.bind(accept);
        self.push(X::Alu(Alu::Or, Q, WORD.into(), BIT));
        self.asm.bind(reject);
        self.push(X::AluImm(Alu::Add, Q, NEXT.into(), DESCRIPTOR_SIZE));
        self.push(X::Shift(Shift::Rol, Q, BIT, 1));
        self.push(X::Alu(Alu::Cmp, Q, NEXT.into(), RUN_END));
        self.push(X::Jcc(Cc::Ne, next));
        self.end_run(&state, plan, done);
        self.plan_run(&state, plan);
        self.push(X::Jmp(next));
        self.asm.bind(done);
        self.burst_epilogue(&state);
    }

    fn burst_prologue(&mut self, state: &BurstState) {
        self.push(X::Endbr64);
        SAVED.iter().for_each(|&saved| self.push(X::Push(saved)));
        if state.frame.size() > 0 {
            self.push(X::AluImm(Alu::Sub, Q, Rsp.into(), state.frame.size()));
        }
        self.push(X::Mov(Q, NEXT.into(), Rdi));
        self.push(X::Mov(Q, BITMAP.into(), Rdx));
        self.push(X::Shift(Shift::Shl, Q, Rsi, DESCRIPTOR_SIZE.trailing_zeros() as u8));
        self.push(X::Alu(Alu::Add, Q, Rdi.into(), Rsi));
        self.push(X::Mov(Q, state.end.into(), Rdi));
        if self.options.prefetch_distance > 0 {
            self.push(X::Lea(Q, Rax, Rdi + -self.ahead()));
            self.push(X::Mov(Q, state.quiet.into(), Rax));
        }
        self.push(X::Alu(Alu::Xor, D, WORD.into(), WORD));
        self.push(X::MovImm(BIT, 1));
    }

    fn ahead(&self) -> i32 {
        self.options.prefetch_distance as i32 * DESCRIPTOR_SIZE
    }

    fn load_descriptor(&mut self) {
        self.push(X::MovLoad(Q, PACKET, NEXT.into()));
        self.push(X::MovLoad(D, CAPTURED, NEXT + CAPTURED_AT));
        if self.program.reads_wire_len {
            self.push(X::MovLoad(D, self.convention.wire_len, NEXT + WIRE_AT));
        }
        if self.options.prefetch_distance > 0 {
            self.push(X::MovLoad(Q, SCRATCH, NEXT + AHEAD));
            self.push(X::Prefetch(SCRATCH + PREFETCH_AT));
        }
    }

    /// Stores the word if it is full or the last.
    fn end_run(&mut self, state: &BurstState, plan: AsmLabel, done: AsmLabel) {
        let store = self.asm.label();
        self.push(X::AluImm(Alu::Cmp, D, BIT.into(), 1));
        self.push(X::Jcc(Cc::E, store));
        self.push(X::AluLoad(Alu::Cmp, Q, NEXT, state.end));
        self.push(X::Jcc(Cc::Ne, plan));
        self.asm.bind(store);
        self.push(X::Mov(Q, Mem::from(BITMAP).into(), WORD));
        self.push(X::AluImm(Alu::Add, Q, BITMAP.into(), 8));
        self.push(X::Alu(Alu::Xor, D, WORD.into(), WORD));
        self.push(X::AluLoad(Alu::Cmp, Q, NEXT, state.end));
        self.push(X::Jcc(Cc::E, done));
    }

    /// The next run ends with the word, the burst, or the packets that have others `distance` further on.
    fn plan_run(&mut self, state: &BurstState, plan: AsmLabel) {
        self.asm.bind(plan);
        // What is left of the word: 64 - index of the bit.
        self.push(X::Bsf(Rcx, BIT));
        self.push(X::MovImm(RUN_END, 64));
        self.push(X::Alu(Alu::Sub, D, RUN_END.into(), Rcx));
        self.push(X::Shift(Shift::Shl, D, RUN_END, DESCRIPTOR_SIZE.trailing_zeros() as u8));
        self.push(X::Alu(Alu::Add, Q, RUN_END.into(), NEXT));
        self.push(X::MovLoad(Q, R8, state.end));
        if self.options.prefetch_distance > 0 {
            self.push(X::Alu(Alu::Xor, D, R9.into(), R9));
            self.push(X::MovImm(AHEAD, self.ahead() as u32));
            self.push(X::MovLoad(Q, Rax, state.quiet));
            self.push(X::Alu(Alu::Cmp, Q, NEXT.into(), Rax));
            self.push(X::Cmov(Cc::Ae, Q, AHEAD, R9.into()));
            self.push(X::Cmov(Cc::B, Q, R8, Rax.into()));
        }
        self.push(X::Alu(Alu::Cmp, Q, RUN_END.into(), R8));
        self.push(X::Cmov(Cc::A, Q, RUN_END, R8.into()));
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
