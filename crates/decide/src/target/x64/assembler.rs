//! Instructions, labels and data to bytes: jumps get the shortest form that reaches.
//!
//! Jumps start short; those that do not reach grow; that moves others further away, so again, until none
//! grows. Jumps never shrink again, so the loop ends; after a few rounds the rest grows at once, so it ends soon. One sweep
//! from the end finds nearly all of them, since most jumps lead forward.

use super::encode::{RipDisp, encode};
use super::inst::Inst;
use super::label::AsmLabel;
use super::reg::Cc;
use crate::filled::filled;
use crate::target::x64::Listing;
use std::ops::Range;

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
    rips: Vec<Rip>,
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
    /// Of a short jump: whether it may have to grow yet.
    open: bool,
}

/// Which of the jumps that are open become long.
#[derive(Clone, Copy, PartialEq)]
enum Grown {
    /// Those that do not reach where they lead.
    OutOfReach,
    All,
}

impl Gap {
    fn grow(&mut self) {
        self.size = self.kind.long();
        self.open = false;
    }
}

#[derive(Clone, Copy, Debug)]
enum GapKind {
    Jmp(AsmLabel),
    Jcc(Cc, AsmLabel),
    Align,
}

/// The bytes of a jump whose distance fits in one.
const SHORT: u8 = 2;
/// By how many bytes a jump grows at most.
const GROWTH_MAX: u32 = 4;

impl GapKind {
    /// The bytes of a jump over any distance.
    fn long(self) -> u8 {
        match self {
            GapKind::Jmp(_) => 5,
            GapKind::Jcc(..) => 6,
            GapKind::Align => 0,
        }
    }
}

/// A displacement that is filled in at the end.
#[derive(Clone, Copy, Debug)]
struct Rip {
    /// Where it is among the known bytes.
    disp: RipDisp,
    /// How many gaps there are before it.
    gaps: u32,
}

/// Instructions that have been appended without a jump or a label among them.
#[derive(Clone, Debug)]
pub struct Straight {
    bytes: Range<usize>,
    rips: Range<usize>,
    lines: Range<usize>,
}

/// A place to begin a [`Straight`] at.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    bytes: usize,
    gaps: usize,
    rips: usize,
    lines: usize,
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
    /// Its kind.
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
    places: Places,
}

impl Assembled {
    /// The offset of a label.
    pub fn offset(&self, label: AsmLabel) -> usize {
        self.places.offset(label)
    }
}

/// Where everything is once jumps are chosen. Few labels are ever asked for, so what is kept is what they follow from.
#[derive(Debug)]
struct Places {
    labels: Vec<Option<Spot>>,
    /// By how many bytes each gap, and the end, is moved by the gaps before it.
    shift: Vec<u32>,
    data_at: u32,
}

impl Places {
    fn offset(&self, label: AsmLabel) -> usize {
        match self.labels[label.0 as usize] {
            Some(Spot::Code { at, gaps }) => (at + self.shift[gaps as usize]) as usize,
            Some(Spot::Data(at)) => (self.data_at + at) as usize,
            None => 0,
        }
    }

    /// From the end of an instruction to a label.
    fn distance(&self, end: usize, to: AsmLabel) -> i32 {
        (self.offset(to) as i64 - end as i64) as i32
    }
}

/// The capacity for a filter of a few tests.
const BYTES_LIKELY: usize = 1024;
const JUMPS_LIKELY: usize = 64;

impl Assembler {
    /// With nothing in it.
    pub fn new(listing: Listing) -> Self {
        Assembler {
            bytes: Vec::with_capacity(BYTES_LIKELY),
            gaps: Vec::with_capacity(JUMPS_LIKELY),
            lines: (listing == Listing::Kept).then(Vec::new),
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

    /// The first of `count` labels with consecutive numbers.
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
            Inst::Jmp(to) => self.gap(GapKind::Jmp(to), SHORT),
            Inst::Jcc(cc, to) => self.gap(GapKind::Jcc(cc, to), SHORT),
            inst => {
                if let Some(disp) = encode(&inst, &mut self.bytes) {
                    self.rips.push(Rip { disp, gaps: self.gaps.len() as u32 });
                }
            }
        }
    }

    /// This place, for [`Assembler::since`].
    pub fn mark(&self) -> Mark {
        let lines = self.lines.as_ref().map_or(0, Vec::len);
        Mark { bytes: self.bytes.len(), gaps: self.gaps.len(), rips: self.rips.len(), lines }
    }

    /// The bytes that have been appended since; there must be no jump in them.
    pub fn since(&self, mark: Mark) -> Straight {
        let end = self.mark();
        debug_assert_eq!(mark.gaps, end.gaps, "straight code has no jumps");
        Straight { bytes: mark.bytes..end.bytes, rips: mark.rips..end.rips, lines: mark.lines..end.lines }
    }

    /// Appends the same instructions once more.
    pub fn repeat(&mut self, straight: &Straight) {
        let by = self.bytes.len() - straight.bytes.start;
        let gaps = self.gaps.len();
        extend_from_within(&mut self.bytes, straight.bytes.clone());
        for i in straight.rips.clone() {
            let RipDisp { at, end, label } = self.rips[i].disp;
            let disp = RipDisp { at: at + by, end: end + by, label };
            self.rips.push(Rip { disp, gaps: gaps as u32 });
        }
        if let Some(lines) = &mut self.lines {
            for i in straight.lines.clone() {
                let line = lines[i];
                lines.push(Line { at: (line.at.0 + by, gaps), ..line });
            }
        }
    }

    /// Appends the code of another assembler, whose labels are the first ones here; those that are bound there are
    /// bound here as well.
    pub fn append(&mut self, piece: &Assembler) {
        let (at, gaps) = (self.bytes.len() as u32, self.gaps.len() as u32);
        debug_assert!(piece.rips.is_empty() && piece.data.is_empty(), "only code that stands alone");
        debug_assert!(piece.labels.len() <= self.labels.len(), "its labels are the first ones");
        for (label, spot) in self.labels.iter_mut().zip(&piece.labels) {
            if let Some(Spot::Code { at: inner, gaps: before }) = *spot {
                debug_assert!(label.is_none(), "a label is bound once");
                *label = Some(Spot::Code { at: at + inner, gaps: gaps + before });
            }
        }
        self.bytes.extend_from_slice(&piece.bytes);
        self.gaps.extend(piece.gaps.iter().map(|gap| Gap { at: at + gap.at, ..*gap }));
        if let (Some(lines), Some(others)) = (&mut self.lines, &piece.lines) {
            let moved =
                |at: (usize, usize)| (at.0 + self.bytes.len() - piece.bytes.len(), at.1 + gaps as usize);
            lines.extend(others.iter().map(|line| Line { at: moved(line.at), ..*line }));
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
        self.gaps.push(Gap { at: self.bytes.len() as u32, kind, size, open: false });
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
        let code_len = self.bytes.len() + shift[self.gaps.len()] as usize;
        let data_at = code_len.next_multiple_of(ALIGNMENT);
        let places = Places { labels: std::mem::take(&mut self.labels), shift, data_at: data_at as u32 };
        let len = if self.data.is_empty() { code_len } else { data_at + self.data.len() };
        let mut bytes = vec![INT3; len];
        self.splice(&places, &mut bytes);
        self.put_data(&places, &mut bytes[data_at.min(len)..]);
        for Rip { disp: rip, gaps } in &self.rips {
            let shift = places.shift[*gaps as usize] as usize;
            put(&mut bytes, rip.at + shift, places.distance(rip.end + shift, rip.label).to_le_bytes());
        }
        let lines = self.lines.iter().flatten().map(|line| Line {
            at: line.at.0 + places.shift[line.at.1] as usize,
            inst: line.inst,
            origin: line.origin,
        });
        Assembled { bytes, code_len, lines: lines.collect(), places }
    }

    /// Sizes the gaps; the result says by how many bytes each gap, and the end, is moved by those before it.
    fn relax(&mut self) -> Vec<u32> {
        let mut shift = filled(0, self.gaps.len() + 1);
        self.grow_far(&mut shift);
        for round in 0.. {
            self.move_on(&mut shift);
            if !self.grow(&shift, if round < ROUNDS_MAX { Grown::OutOfReach } else { Grown::All }) {
                break;
            }
        }
        shift
    }

    /// Grows the jumps that are far however short the others stay, and finds those that reach however long others become.
    /// From the last to the first: what a jump forward leads over has its size by then. `behind` has room for the bytes
    /// of each gap and of all behind it.
    fn grow_far(&mut self, behind: &mut [u32]) {
        let mut align = usize::MAX;
        for (i, gap) in self.gaps.iter_mut().enumerate().rev() {
            if let GapKind::Jmp(to) | GapKind::Jcc(_, to) = gap.kind {
                let (at, gaps) = code_spot(&self.labels, to);
                let known = at.wrapping_sub(gap.at);
                let (distance, is_sure) = if gaps > i {
                    let distance = known + behind[i + 1] - behind[gaps];
                    let longest = distance + GROWTH_MAX * (gaps - i) as u32;
                    (distance, gaps <= align && is_near(longest))
                } else {
                    (known.wrapping_sub(u32::from(SHORT)), false)
                };
                gap.open = !is_sure;
                if !is_near(distance) {
                    gap.grow();
                }
            } else {
                align = i;
            }
            behind[i] = behind[i + 1] + u32::from(gap.size);
        }
    }

    /// Finds where things are with the gaps as they are.
    fn move_on(&mut self, shift: &mut [u32]) {
        let mut end = 0;
        shift[0] = 0;
        for (gap, shift) in self.gaps.iter_mut().zip(&mut shift[1..]) {
            if let GapKind::Align = gap.kind {
                gap.size = (gap.at + end).wrapping_neg() as u8 % ALIGNMENT as u8;
            }
            end += u32::from(gap.size);
            *shift = end;
        }
    }

    /// Grows these jumps; says whether there were any.
    fn grow(&mut self, shift: &[u32], grown: Grown) -> bool {
        let mut any = false;
        for (gap, end) in self.gaps.iter_mut().zip(&shift[1..]).filter(|(gap, _)| gap.open) {
            if let GapKind::Jmp(to) | GapKind::Jcc(_, to) = gap.kind {
                let (at, gaps) = code_spot(&self.labels, to);
                let reaches = is_near((at + shift[gaps]).wrapping_sub(gap.at + end));
                if grown == Grown::All || !reaches {
                    gap.grow();
                    any = true;
                }
            }
        }
        any
    }

    /// The code with its gaps filled.
    fn splice(&self, places: &Places, out: &mut [u8]) {
        let (mut from, mut moved) = (0, 0);
        for (gap, &shift) in self.gaps.iter().zip(&places.shift[1..]) {
            let at = gap.at as usize;
            copy(&self.bytes, from, at, out, from + moved);
            let start = at + moved;
            (from, moved) = (at, shift as usize);
            let disp = |to: AsmLabel| places.distance(at + moved, to);
            match gap.kind {
                GapKind::Jmp(to) if gap.size == SHORT => put(out, start, [0xeb, disp(to) as u8]),
                GapKind::Jmp(to) => {
                    put(out, start, [0xe9]);
                    put(out, start + 1, disp(to).to_le_bytes());
                }
                GapKind::Jcc(cc, to) if gap.size == SHORT => {
                    put(out, start, [0x70 | cc.number(), disp(to) as u8]);
                }
                GapKind::Jcc(cc, to) => {
                    put(out, start, [0x0f, 0x80 | cc.number()]);
                    put(out, start + 2, disp(to).to_le_bytes());
                }
                GapKind::Align => out[start..at + moved].fill(INT3),
            }
        }
        copy(&self.bytes, from, self.bytes.len(), out, from + moved);
    }

    /// The data, with what the jump tables hold.
    fn put_data(&self, places: &Places, out: &mut [u8]) {
        out.copy_from_slice(&self.data);
        for table in &self.jump_tables {
            let start = places.data_at as usize + table.at;
            for (at, &target) in (table.at..).step_by(4).zip(&table.targets) {
                put(out, at, places.distance(start, target).to_le_bytes());
            }
        }
    }
}

/// Where a label in the code is: among the known bytes, after so many gaps.
fn code_spot(labels: &[Option<Spot>], label: AsmLabel) -> (u32, usize) {
    match labels[label.0 as usize] {
        Some(Spot::Code { at, gaps }) => (at, gaps as usize),
        _ => unreachable!("jumps lead to code"),
    }
}

/// Whether one byte holds a distance, which wraps where it leads back.
fn is_near(distance: u32) -> bool {
    i8::try_from(distance as i32).is_ok()
}

fn put<const N: usize>(out: &mut [u8], at: usize, bytes: [u8; N]) {
    out[at..at + N].copy_from_slice(&bytes);
}

/// Copies `bytes[from..to]` to `out[at..]`. What comes right behind it is still to be written.
///
/// PERF: mostly there are a few between two jumps, and sixteen are one store; so many as there are would be a call.
#[inline(always)]
fn copy(bytes: &[u8], from: usize, to: usize, out: &mut [u8], at: usize) {
    match (bytes.get(from..from + FEW), out.get_mut(at..at + FEW)) {
        (Some(few), Some(out)) if to - from <= FEW => out.copy_from_slice(few),
        _ => copy_many(&bytes[from..to], &mut out[at..at + to - from]),
    }
}

/// PERF: never inlined, or the compiler makes one call of this and of copying sixteen.
#[inline(never)]
fn copy_many(from: &[u8], to: &mut [u8]) {
    to.copy_from_slice(from);
}

/// Appends a part of the same bytes.
///
/// PERF: as above.
fn extend_from_within(bytes: &mut Vec<u8>, part: Range<usize>) {
    let few: Option<[u8; FEW]> = bytes.get(part.start..part.start + FEW).and_then(|few| few.try_into().ok());
    match few {
        Some(few) if part.len() <= FEW => {
            let len = bytes.len() + part.len();
            bytes.extend_from_slice(&few);
            bytes.truncate(len);
        }
        _ => bytes.extend_from_within(part),
    }
}

const FEW: usize = 16;
