//! The two entry points: the same body twice, once for one packet, once within the loop over a burst.
//!
//! ```text
//! one(packet: rdi, captured: rsi, wire: edx, row: rcx) -> leaf: eax
//!
//! burst(descriptors: rdi, count: rsi, out: rdx, rows: rcx)            count is not 0; see `burst`
//! ```

use super::assembler::{Assembled, Assembler};
use super::body::{Body, Finish, Part, Place, leaves};
use super::burst::{Around, Points};
use super::convention::{Convention, Frame, INPUTS};
use super::inst::{Alu, Inst as X};
use super::label::AsmLabel;
use super::reg::{Reg, Width};
use crate::burst::Writes;
use crate::target::lir::allocate::Allocated;
use crate::target::lir::program::{Program, Table};
use crate::target::x64::{NoCode, Options};
use Reg::{Rcx, Rdx, Rsp};
use Width::{D, Q};

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
/// [`NoCode::TooLarge`] when it would exceed the limit on code bytes.
pub fn emit(
    allocated: &Allocated<Reg>,
    convention: &Convention,
    options: &Options,
    writes: Writes,
) -> Result<Entries, NoCode> {
    let mut asm = Assembler::new(options.listing);
    let points = Points::new(&mut asm);
    let mut emitter = Emitter::new(asm, allocated, convention, options, writes);
    let one = emitter.one();
    emitter.burst(&points);
    emitter.data();
    let assembled = emitter.finish()?;
    Ok(Entries { one: assembled.offset(one), burst: assembled.offset(points.burst), assembled })
}

/// Emits the entry for one packet alone, at offset 0.
///
/// # Errors
/// As [`emit`].
pub fn emit_one(
    allocated: &Allocated<Reg>,
    convention: &Convention,
    options: &Options,
) -> Result<Assembled, NoCode> {
    let asm = Assembler::new(options.listing);
    let mut emitter = Emitter::new(asm, allocated, convention, options, Writes::Leaves);
    emitter.one();
    emitter.data();
    emitter.finish()
}

struct Emitter<'a> {
    asm: Assembler,
    program: &'a Program<Place>,
    convention: &'a Convention,
    options: &'a Options,
    writes: Writes,
    /// The same for both, so that values lie in the same places.
    frame: Frame,
    tables: Vec<AsmLabel>,
    leaves: Vec<Option<u32>>,
    /// State that the second body takes from the first.
    parts: Vec<Part>,
}

impl<'a> Emitter<'a> {
    fn new(
        mut asm: Assembler,
        allocated: &'a Allocated<Reg>,
        convention: &'a Convention,
        options: &'a Options,
        writes: Writes,
    ) -> Self {
        let program = &allocated.program;
        let tables: Vec<AsmLabel> = program.tables.iter().map(|_| asm.label()).collect();
        let frame = Frame::new(allocated.slots, program.inputs.is_some(), program.calls);
        let (leaves, parts) = (leaves(program), Vec::with_capacity(program.blocks.len()));
        Emitter { asm, program, convention, options, writes, frame, tables, leaves, parts }
    }

    fn finish(self) -> Result<Assembled, NoCode> {
        let limit = self.options.code_bytes_max;
        if self.asm.len_min() > limit {
            return Err(NoCode::TooLarge { limit });
        }
        let assembled = self.asm.finish();
        if assembled.bytes.len() > limit { Err(NoCode::TooLarge { limit }) } else { Ok(assembled) }
    }

    fn push(&mut self, inst: X) {
        self.asm.push(inst, None);
    }

    fn one(&mut self) -> AsmLabel {
        let entry = self.asm.label();
        self.asm.bind(entry);
        self.push(X::Endbr64);
        if self.program.reads_wire_len {
            // The upper half of an argument of 32 bits may hold anything.
            self.push(X::Mov(D, self.convention.wire_len.into(), Rdx));
        }
        if self.program.inputs.is_some() {
            self.push(X::Mov(Q, INPUTS.into(), Rcx));
        }
        if self.frame.size() > 0 {
            self.push(X::AluImm(Alu::Sub, Q, Rsp.into(), self.frame.size()));
        }
        self.body(Finish::Return);
        entry
    }

    fn burst(&mut self, points: &Points) {
        let wire_len = self.program.reads_wire_len.then_some(self.convention.wire_len);
        let around = Around::of(self.writes, self.frame, wire_len, self.program.inputs, self.options);
        self.asm.append(&around.before);
        self.body(match self.writes {
            Writes::Bits => Finish::Loop(points.around_body()),
            Writes::Leaves => Finish::Store(points.store),
        });
        self.asm.append(&around.after);
    }

    fn body(&mut self, finish: Finish) {
        let first_label = self.asm.labels(self.program.labels);
        let mut body = Body {
            asm: &mut self.asm,
            program: self.program,
            features: self.options.features,
            frame: self.frame,
            member_entry: self.options.member_entry.unwrap_or_default(),
            finish,
            tables: &self.tables,
            jump_tables: Vec::new(),
            first_label,
            leaves: &self.leaves,
            origin: None,
        };
        body.emit(&mut self.parts);
        for (label, targets) in body.jump_tables {
            self.asm.jump_table(label, targets);
        }
    }

    fn data(&mut self) {
        for (table, &label) in self.program.tables.iter().zip(&self.tables) {
            match table {
                Table::Cuckoo(table) => self.asm.data(label, table.slots()),
                Table::Rank(table) => self.asm.data(label, table.boundaries()),
                Table::Answers(answers) => self.asm.data(label, answers),
                // Each copy of the body has its own.
                Table::Targets(_) => {}
                // Lives elsewhere.
                Table::Members(_) => {}
            }
        }
    }
}
