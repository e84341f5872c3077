//! Instructions, labels and data to bytes: jumps get the shortest form that reaches.
//!
//! Jumps start short; those that do not reach grow; that moves others further away, so again, until none
//! grows. Jumps never shrink again, so the loop ends; after a few rounds the rest grows at once, so it ends soon.

use super::encode::{RipDisp, encode};
use super::inst::Inst;
use super::reg::Cc;
use std::fmt;

/// A place in the code or the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AsmLabel(pub u32);

impl fmt::Display for AsmLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "L{}", self.0)
    }
}

/// Where data and functions begin: a cache line.
pub const ALIGNMENT: usize = 64;

/// Rounds of growing before all jumps that are still short grow.
const ROUNDS_MAX: u32 = 16;

/// Fills gaps between functions.
const INT3: u8 = 0xcc;

/// Collects code, then data.
#[derive(Debug)]
pub struct Assembler {
    /// Everything but the gaps.
    bytes: Vec<u8>,
    gaps: Vec<Gap>,
    /// Only for a listing: they take most of the room.
    lines: Option<Vec<Line>>,
    labels: Vec<Option<Spot>>,
    rips: Vec<(usize, RipDisp)>,
    data: Vec<u8>,
    jump_tables: Vec<JumpTable>,
}

/// Bytes whose number is not known yet. Places fit 32 bits: longer code is refused before it is finished.
#[derive(Clone, Copy, Debug)]
struct Gap {
    /// Where among the known bytes.
    at: u32,
    kind: GapKind,
    size: u8,
}

#[derive(Clone, Copy, Debug)]
enum GapKind {
    Jmp(AsmLabel),
    Jcc(Cc, AsmLabel),
    Align,
}

#[derive(Clone, Copy, Debug)]
enum Spot {
    /// Among the known bytes, after so many gaps.
    Code { at: u32, gaps: u32 },
    /// In the data.
    Data(u32),
}

/// Four-byte offsets from the table's own start.
#[derive(Debug)]
struct JumpTable {
    at: usize,
    targets: Vec<AsmLabel>,
}

/// One line of a listing.
#[derive(Clone, Copy, Debug)]
pub struct Line<At = (usize, usize)> {
    /// Where it is; while assembling: among the known bytes, after so many gaps.
    pub at: At,
    /// What it is.
    pub inst: Inst,
    /// The node of the graph that it computes, if it is one's.
    pub origin: Option<crate::ir::NodeId>,
}

/// Finished code.
#[derive(Debug)]
pub struct Assembled {
    /// Code, then data.
    pub bytes: Vec<u8>,
    /// How many of the bytes are code.
    pub code_len: usize,
    /// The instructions and their offsets, where a listing was asked for.
    pub lines: Vec<Line<usize>>,
    labels: Vec<usize>,
}

impl Assembled {
    /// The offset of a label.
    pub fn offset(&self, label: AsmLabel) -> usize {
        self.labels[label.0 as usize]
    }
}

/// What a filter of a few tests needs.
const BYTES_LIKELY: usize = 1024;
const JUMPS_LIKELY: usize = 64;

impl Assembler {
    /// With nothing in it; `listing` says whether to keep the instructions.
    pub fn new(listing: bool) -> Self {
        Assembler {
            bytes: Vec::with_capacity(BYTES_LIKELY),
            gaps: Vec::with_capacity(JUMPS_LIKELY),
            lines: listing.then(Vec::new),
            labels: Vec::with_capacity(JUMPS_LIKELY),
            rips: Vec::new(),
            data: Vec::new(),
            jump_tables: Vec::new(),
        }
    }

    /// A label that is bound later.
    pub fn label(&mut self) -> AsmLabel {
        self.labels(1)
    }

    /// The first of so many labels with consecutive numbers.
    pub fn labels(&mut self, count: u32) -> AsmLabel {
        let first = self.labels.len() as u32;
        self.labels.resize(self.labels.len() + count as usize, None);
        AsmLabel(first)
    }

    /// Binds a label to this place.
    pub fn bind(&mut self, label: AsmLabel) {
        self.labels[label.0 as usize] =
            Some(Spot::Code { at: self.bytes.len() as u32, gaps: self.gaps.len() as u32 });
    }

    /// Appends an instruction on behalf of a node.
    pub fn push(&mut self, inst: Inst, origin: Option<crate::ir::NodeId>) {
        if self.lines.is_some() {
            self.list(inst, origin);
        }
        match inst {
            Inst::Jmp(to) => self.gap(GapKind::Jmp(to), 2),
            Inst::Jcc(cc, to) => self.gap(GapKind::Jcc(cc, to), 2),
            inst => {
                if let Some(rip) = encode(&inst, &mut self.bytes) {
                    self.rips.push((self.gaps.len(), rip));
                }
            }
        }
    }

    #[cold]
    fn list(&mut self, inst: Inst, origin: Option<crate::ir::NodeId>) {
        let at = (self.bytes.len(), self.gaps.len());
        self.lines.get_or_insert_default().push(Line { at, inst, origin });
    }

    /// Moves on to the start of a cache line.
    pub fn align(&mut self) {
        self.gap(GapKind::Align, 0);
    }

    fn gap(&mut self, kind: GapKind, size: u8) {
        self.gaps.push(Gap { at: self.bytes.len() as u32, kind, size });
    }

    /// Binds a label to data, aligned.
    pub fn data(&mut self, label: AsmLabel, words: &[u32]) {
        let at = self.align_data();
        self.labels[label.0 as usize] = Some(Spot::Data(at as u32));
        self.data.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    }

    /// Binds a label to a table of offsets from its own start.
    pub fn jump_table(&mut self, label: AsmLabel, targets: Vec<AsmLabel>) {
        let at = self.align_data();
        self.labels[label.0 as usize] = Some(Spot::Data(at as u32));
        self.data.resize(at + 4 * targets.len(), 0);
        self.jump_tables.push(JumpTable { at, targets });
    }

    fn align_data(&mut self) -> usize {
        self.data.resize(self.data.len().next_multiple_of(ALIGNMENT), INT3);
        self.data.len()
    }

    /// How many bytes it will be, at least.
    pub fn len_min(&self) -> usize {
        self.bytes.len() + 2 * self.gaps.len() + self.data.len()
    }

    /// Chooses the jumps and puts everything in its place.
    pub fn finish(mut self) -> Assembled {
        let shift = self.relax();
        let code_len = self.bytes.len() + shift[self.gaps.len()];
        let data_at = code_len.next_multiple_of(ALIGNMENT);
        let labels = self.label_offsets(&shift, data_at);
        let mut out = self.splice(&shift, &labels);
        if !self.data.is_empty() {
            out.resize(data_at, INT3);
        }
        for table in &self.jump_tables {
            for (i, target) in table.targets.iter().enumerate() {
                let offset = labels[target.0 as usize] as i64 - (data_at + table.at) as i64;
                let at = table.at + 4 * i;
                self.data[at..at + 4].copy_from_slice(&(offset as i32).to_le_bytes());
            }
        }
        out.extend_from_slice(&self.data);
        for (gaps, rip) in &self.rips {
            let shift = shift[*gaps];
            let disp = labels[rip.label.0 as usize] as i64 - (rip.end + shift) as i64;
            out[rip.at + shift..rip.at + shift + 4].copy_from_slice(&(disp as i32).to_le_bytes());
        }
        let lines = self.lines.iter().flatten().map(|line| Line {
            at: line.at.0 + shift[line.at.1],
            inst: line.inst,
            origin: line.origin,
        });
        Assembled { bytes: out, code_len, lines: lines.collect(), labels }
    }

    /// Sizes the gaps; the result says by how many bytes each gap, and the end, is moved by those before it.
    fn relax(&mut self) -> Vec<usize> {
        let mut shift = vec![0; self.gaps.len() + 1];
        for round in 0.. {
            for i in 0..self.gaps.len() {
                if let GapKind::Align = self.gaps[i].kind {
                    let at = self.gaps[i].at as usize + shift[i];
                    self.gaps[i].size = (at.next_multiple_of(ALIGNMENT) - at) as u8;
                }
                shift[i + 1] = shift[i] + usize::from(self.gaps[i].size);
            }
            let mut grown = false;
            for i in 0..self.gaps.len() {
                let Gap { at, kind, size } = self.gaps[i];
                let (to, long) = match kind {
                    GapKind::Jmp(to) => (to, 5),
                    GapKind::Jcc(_, to) => (to, 6),
                    GapKind::Align => continue,
                };
                let distance = self.code_offset(to, &shift) as i64 - (at as usize + shift[i + 1]) as i64;
                if size != long && (round >= ROUNDS_MAX || i8::try_from(distance).is_err()) {
                    self.gaps[i].size = long;
                    grown = true;
                }
            }
            if !grown {
                break;
            }
        }
        shift
    }

    fn code_offset(&self, label: AsmLabel, shift: &[usize]) -> usize {
        match self.labels[label.0 as usize] {
            Some(Spot::Code { at, gaps }) => at as usize + shift[gaps as usize],
            _ => unreachable!("jumps lead to code"),
        }
    }

    fn label_offsets(&self, shift: &[usize], data_at: usize) -> Vec<usize> {
        let offset = |spot: &Option<Spot>| match spot {
            Some(Spot::Code { at, gaps }) => *at as usize + shift[*gaps as usize],
            Some(Spot::Data(at)) => data_at + *at as usize,
            None => 0,
        };
        self.labels.iter().map(offset).collect()
    }

    /// The code with its gaps filled.
    fn splice(&self, shift: &[usize], labels: &[usize]) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bytes.len() + shift[self.gaps.len()] + self.data.len() + 64);
        let mut from = 0;
        for (i, gap) in self.gaps.iter().enumerate() {
            let at = gap.at as usize;
            extend(&mut out, &self.bytes, from, at);
            from = at;
            let end = at + shift[i + 1];
            let disp = |to: AsmLabel| (labels[to.0 as usize] as i64 - end as i64) as i32;
            match gap.kind {
                GapKind::Jmp(to) if gap.size == 2 => out.extend([0xeb, disp(to) as u8]),
                GapKind::Jmp(to) => {
                    out.push(0xe9);
                    out.extend(disp(to).to_le_bytes());
                }
                GapKind::Jcc(cc, to) if gap.size == 2 => out.extend([0x70 | cc.number(), disp(to) as u8]),
                GapKind::Jcc(cc, to) => {
                    out.extend([0x0f, 0x80 | cc.number()]);
                    out.extend(disp(to).to_le_bytes());
                }
                GapKind::Align => out.resize(out.len() + usize::from(gap.size), INT3),
            }
        }
        out.extend_from_slice(&self.bytes[from..]);
        out
    }
}

/// Appends `bytes[from..to]`.
///
/// PERF: mostly there are a few between two jumps, and sixteen are one store; so many as there are would be a call.
fn extend(out: &mut Vec<u8>, bytes: &[u8], from: usize, to: usize) {
    const FEW: usize = 16;
    match bytes.get(from..from + FEW) {
        Some(few) if to - from <= FEW => {
            let len = out.len() + to - from;
            out.extend_from_slice(few);
            out.truncate(len);
        }
        _ => out.extend_from_slice(&bytes[from..to]),
    }
}
