//! The loop over a burst around a body.
//!
//! ```text
//! burst(descriptors: rdi, count: rsi, out: rdx, rows: rcx)            count is not 0
//!     for each run of packets:                             a run ends with a bitmap word, and where
//!         for each packet of the run:                      prefetching must stop
//!             prefetch what the descriptor `distance` further on points to, and later descriptors
//!             body: word = word << 1 | accepted            or: store the leaf
//!         at the end of a word, and of all: store the word, its bits reversed
//! ```
//! Cutting the burst into runs keeps the work per packet small: one addition ends the loop, and whether there is
//! a descriptor `distance` further on is settled once a run, not tested for each packet.
//!
//! PERF: nothing of it depends on the filter but where its frame is and whether it reads the wire length, and it was a third
//! of what a small filter is emitted of. So the last one made is kept, and what comes next mostly takes it as it is.

use super::assembler::Assembler;
use super::body::Loop;
use super::convention::{
    AHEAD, ANSWERS, CAPTURED, CAPTURED_AT, DESCRIPTOR_SIZE, Frame, INDEX, INPUTS, OUT, PACKET, RUN_END,
    SAVED, SCRATCH, WIRE_AT, WORD,
};
use super::inst::{Alu, Inst as X, Shift};
use super::label::AsmLabel;
use super::reg::{Cc, Mem, Reg, Width};
use crate::burst::Writes;
use crate::target::x64::{Listing, Options};
use Reg::{R8, R9, R10, Rax, Rcx, Rdi, Rdx, Rsi, Rsp};
use Width::{D, Q};
use std::sync::{Arc, Mutex, PoisonError};

/// Offset of the line that a burst prefetches of each packet: the line with the network header, wherever the packet begins.
const PREFETCH_AT: i32 = 12;

/// How far beyond the descriptors whose packets are prefetched these are prefetched themselves, in bytes. What lies behind
/// the burst is prefetched too, if there is anything: prefetching never faults.
///
/// PERF: the processor prefetches what is read in order, but not from one page into the next as soon as is needed here:
/// random DRAM took 12.3 ns a packet, with this 10.9.
const DESCRIPTORS_AHEAD: i32 = 512;

const DESCRIPTOR_SHIFT: u8 = DESCRIPTOR_SIZE.trailing_zeros() as u8;

/// Bytes of a leaf in the output of a burst.
const LEAF_SIZE: i32 = 4;

/// The places that jumps lead to from one part to another: the first labels of whatever the loop is a part of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Points {
    /// The entry.
    pub(super) burst: AsmLabel,
    /// The top of the loop.
    pub(super) next: AsmLabel,
    /// After the last packet of a run.
    pub(super) end: AsmLabel,
    /// Shifts in a one and goes on; follows the body.
    pub(super) accept: AsmLabel,
    /// Shifts in a zero and goes on.
    pub(super) reject: AsmLabel,
    /// Stores the word, and goes on; or the leaf in `eax`, which follows the body.
    pub(super) store: AsmLabel,
    plan: AsmLabel,
    done: AsmLabel,
}

impl Points {
    /// The labels, of an assembler that has none yet.
    pub(super) fn new(asm: &mut Assembler) -> Points {
        let [burst, next, end, accept, reject, store, plan, done] = std::array::from_fn(|_| asm.label());
        debug_assert_eq!(burst, AsmLabel(0), "the first labels");
        Points { burst, next, end, accept, reject, store, plan, done }
    }

    /// Those that the body jumps to.
    pub(super) fn around_body(&self) -> Loop {
        Loop { accept: self.accept, reject: self.reject, next: self.next, end: self.end }
    }
}

/// The loop, in two parts.
#[derive(Debug)]
pub(super) struct Around {
    kind: Kind,
    /// From the entry to the body.
    pub(super) before: Assembler,
    /// The code after the body.
    pub(super) after: Assembler,
}

/// The differences between loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    writes: Writes,
    frame_size: i32,
    end: Mem,
    /// From this descriptor on, nothing is left to prefetch.
    quiet: Mem,
    /// Where the body expects the wire length, if it reads that.
    wire_len: Option<Reg>,
    /// Where the row of the next packet is kept, and bytes of a row, if the body reads one.
    rows: Option<(Mem, i32)>,
    /// How far the packet lies ahead whose bytes are prefetched, in bytes of descriptors; 0 for no prefetching.
    ahead: i32,
    listing: Listing,
}

/// The last one made.
static KEPT: Mutex<Option<Arc<Around>>> = Mutex::new(None);

impl Around {
    /// The loop around a body of such a frame.
    pub(super) fn of(
        writes: Writes,
        frame: Frame,
        wire_len: Option<Reg>,
        inputs: Option<u32>,
        options: &Options,
    ) -> Arc<Around> {
        let [end, quiet] = frame.burst_state();
        let ahead = options.prefetch_distance as i32 * DESCRIPTOR_SIZE;
        let frame_size = frame.size();
        let rows = inputs.map(|inputs| (frame.next_row(), 4 * inputs as i32));
        let kind = Kind { writes, frame_size, end, quiet, wire_len, rows, ahead, listing: options.listing };
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        match &*kept {
            Some(around) if around.kind == kind => Arc::clone(around),
            _ => Arc::clone(kept.insert(Arc::new(Around::new(kind)))),
        }
    }

    fn new(kind: Kind) -> Around {
        let [before, after] = [Maker::before, Maker::after].map(|part| {
            let mut asm = Assembler::new(kind.listing);
            let points = Points::new(&mut asm);
            let mut maker = Maker { asm, points, kind };
            part(&mut maker);
            maker.asm
        });
        Around { kind, before, after }
    }
}

struct Maker {
    asm: Assembler,
    points: Points,
    kind: Kind,
}

impl Maker {
    fn push(&mut self, inst: X) {
        self.asm.push(inst, None);
    }

    fn before(&mut self) {
        self.asm.align();
        self.asm.bind(self.points.burst);
        self.prologue();
        self.push(X::Jmp(self.points.plan));
        self.asm.align();
        self.asm.bind(self.points.next);
        self.load_descriptor();
    }

    fn after(&mut self) {
        match self.kind.writes {
            Writes::Bits => {
                self.shift_in_bit();
                self.asm.bind(self.points.end);
                self.end_run();
            }
            Writes::Leaves => {
                self.store_leaf();
                self.leave_at_end();
            }
        }
        self.asm.bind(self.points.plan);
        self.plan_run();
        self.push(X::Jmp(self.points.next));
        self.asm.bind(self.points.done);
        self.epilogue();
    }

    fn shift_in_bit(&mut self) {
        let around = self.points.around_body();
        self.asm.bind(around.accept);
        self.push(X::Lea(Q, WORD, WORD + WORD + 1));
        around.advance(&mut |inst| self.asm.push(inst, None));
        self.asm.bind(around.reject);
        self.push(X::Alu(Alu::Add, Q, WORD.into(), WORD));
        around.advance(&mut |inst| self.asm.push(inst, None));
    }

    /// Falls through at the end of the run.
    fn store_leaf(&mut self) {
        self.asm.bind(self.points.store);
        self.push(X::Mov(D, Mem::from(OUT).into(), Rax));
        self.push(X::AluImm(Alu::Add, Q, OUT.into(), LEAF_SIZE));
        self.push(X::AluImm(Alu::Add, Q, INDEX.into(), DESCRIPTOR_SIZE));
        self.push(X::Jcc(Cc::Ne, self.points.next));
    }

    fn prologue(&mut self) {
        self.push(X::Endbr64);
        SAVED.iter().for_each(|&saved| self.push(X::Push(saved)));
        if self.kind.frame_size > 0 {
            self.push(X::AluImm(Alu::Sub, Q, Rsp.into(), self.kind.frame_size));
        }
        self.push(X::Mov(Q, RUN_END.into(), Rdi));
        self.push(X::Mov(Q, OUT.into(), Rdx));
        if let Some((next_row, _)) = self.kind.rows {
            self.push(X::Mov(Q, next_row.into(), Rcx));
        }
        self.push(X::Shift(Shift::Shl, Q, Rsi, DESCRIPTOR_SHIFT));
        self.push(X::Alu(Alu::Add, Q, Rdi.into(), Rsi));
        self.push(X::Mov(Q, self.kind.end.into(), Rdi));
        if self.kind.ahead > 0 {
            self.push(X::Lea(Q, Rax, Rdi + -self.kind.ahead));
            self.push(X::Mov(Q, self.kind.quiet.into(), Rax));
        }
        if self.kind.writes == Writes::Bits {
            self.begin_word();
        }
    }

    fn begin_word(&mut self) {
        self.push(X::Alu(Alu::Xor, D, WORD.into(), WORD));
        self.push(X::Alu(Alu::Xor, D, ANSWERS.into(), ANSWERS));
    }

    fn load_descriptor(&mut self) {
        self.push(X::MovLoad(Q, PACKET, RUN_END + INDEX));
        self.push(X::MovLoad(D, CAPTURED, RUN_END + INDEX + CAPTURED_AT));
        if let Some(wire_len) = self.kind.wire_len {
            self.push(X::MovLoad(D, wire_len, RUN_END + INDEX + WIRE_AT));
        }
        if let Some((next_row, bytes)) = self.kind.rows {
            self.push(X::MovLoad(Q, INPUTS, next_row));
            self.push(X::AluImm(Alu::Add, Q, next_row.into(), bytes));
        }
        if self.kind.ahead > 0 {
            self.push(X::MovLoad(Q, SCRATCH, AHEAD + INDEX));
            self.push(X::Prefetch(SCRATCH + PREFETCH_AT));
            self.push(X::Prefetch(RUN_END + INDEX + (self.kind.ahead + DESCRIPTORS_AHEAD)));
        }
    }

    /// Stores the word if it is full or the last.
    fn end_run(&mut self) {
        self.push(X::AluImm(Alu::Cmp, D, ANSWERS.into(), 64));
        self.push(X::Jcc(Cc::E, self.points.store));
        self.push(X::AluLoad(Alu::Cmp, Q, RUN_END, self.kind.end));
        self.push(X::Jcc(Cc::Ne, self.points.plan));
        self.asm.bind(self.points.store);
        // The first answer to the highest bit, and from there to the lowest.
        self.push(X::MovImm(Rcx, 64));
        self.push(X::Alu(Alu::Sub, D, Rcx.into(), ANSWERS));
        self.push(X::ShiftCl(Shift::Shl, Q, WORD));
        self.reverse_word();
        self.push(X::Mov(Q, Mem::from(OUT).into(), WORD));
        self.push(X::AluImm(Alu::Add, Q, OUT.into(), 8));
        self.begin_word();
        self.leave_at_end();
    }

    fn leave_at_end(&mut self) {
        self.push(X::AluLoad(Alu::Cmp, Q, RUN_END, self.kind.end));
        self.push(X::Jcc(Cc::E, self.points.done));
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
    fn plan_run(&mut self) {
        let bits = self.kind.writes == Writes::Bits;
        if bits {
            // r8 = where the word is full
            self.push(X::MovImm(R8, 64));
            self.push(X::Alu(Alu::Sub, D, R8.into(), ANSWERS));
            self.push(X::Shift(Shift::Shl, D, R8, DESCRIPTOR_SHIFT));
            self.push(X::Alu(Alu::Add, Q, R8.into(), RUN_END));
        }
        self.push(X::MovLoad(Q, Rax, self.kind.end));
        if self.kind.ahead > 0 {
            // r9 = how far ahead; rax = where that changes
            self.push(X::Alu(Alu::Xor, D, Rdx.into(), Rdx));
            self.push(X::MovImm(R9, self.kind.ahead as u32));
            self.push(X::MovLoad(Q, R10, self.kind.quiet));
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
        if self.kind.ahead > 0 {
            self.push(X::Lea(Q, AHEAD, R8 + R9));
        }
    }

    fn epilogue(&mut self) {
        if self.kind.frame_size > 0 {
            self.push(X::AluImm(Alu::Add, Q, Rsp.into(), self.kind.frame_size));
        }
        SAVED.iter().rev().for_each(|&saved| self.push(X::Pop(saved)));
        self.push(X::Ret);
    }
}
