//! The loop that takes the steps of a mask program, over whichever instructions the processor has.
//!
//! Four masks of 64 packets take each step together. What a step reads counts only for packets whose
//! bit is set: what other lanes hold is some number that nobody looks at. The design is in `docs/design/mask-vm.md`.

use super::glance::Glance;
use super::program::{
    ACCEPT, At, Bits, CAPTURED, Column, Mask, MaskProgram, Step, Switch, TESTS_PER_SWITCH, Test,
};
use crate::exec::Packet;
use crate::ir::{BinOp, REJECT, Size};

/// Packets to a mask.
pub(super) const LANES: usize = 64;
/// Masks, and so runs of packets, that take each step together.
///
/// PERF: what a step waits for (the mask that it depends on, the next step) is waited for once. One part at a time took
/// 1.2 to 1.6 times as long. Captures come in batches of 256 packets.
pub(super) const PARTS: usize = 4;

/// Masks that are cleared together.
///
/// PERF: a fixed number is cleared in place. Clearing as many as a program has calls `memset`, which takes a
/// twentieth of the time of a short program.
const MASKS_TOGETHER: usize = 8;

/// A number for each packet.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Numbers(pub(super) [u32; LANES]);

/// Where each packet begins.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Starts(pub(super) [*const u8; LANES]);

/// What is to be read: of the packets in `lanes`, what lies `offset` after their starts and bases; of others, any bytes.
#[derive(Clone, Copy)]
pub(crate) struct Place<'s> {
    pub(super) lanes: u64,
    pub(super) starts: &'s Starts,
    pub(super) base: Option<&'s Numbers>,
    pub(super) offset: u32,
}

impl Place<'_> {
    /// The place `bytes` further on.
    #[inline(always)]
    pub(super) fn beyond(self, bytes: u32) -> Self {
        Place { offset: self.offset + bytes, ..self }
    }
}

/// What a program works on. Kept from burst to burst: what stands in a column that was not written for these packets is
/// some number, and never looked at for a packet that is there.
#[derive(Default)]
pub(crate) struct Machine {
    columns: Vec<[Numbers; PARTS]>,
    masks: Vec<[u64; PARTS]>,
    starts: [Starts; PARTS],
    /// The least of the captured lengths.
    shortest: u32,
}

/// What differs between processors. A value of the type is proof that the processor has the instructions. The answer
/// to a question has a bit for each packet. How packets are read is written here for any processor; those with
/// vectors have their own ways.
pub(crate) trait Lanes: Copy {
    /// Whether a fetch of some packets waits for their mask, so that it is worth while to have one of all apart.
    const WAITS: bool = false;
    /// [`Machine::run`], compiled for these instructions.
    fn run(self, machine: &mut Machine, program: &MaskProgram, packets: &[[Packet<'_>; LANES]]);
    /// Decides runs of packets by a glance, a word of answers each, up to the first with a packet that is too short for
    /// it. Gives how many runs it has decided.
    #[inline(always)]
    fn glance(self, _: Glance, _: &[[Packet<'_>; LANES]], _: &mut [u64]) -> usize {
        0
    }
    /// Copies the numbers of the packets in the lanes.
    #[inline(always)]
    fn copy(self, lanes: u64, from: &Numbers, to: &mut Numbers) {
        set_bits(lanes).for_each(|lane| to.0[lane] = from.0[lane]);
    }
    /// Puts a number in the place of each packet in the lanes.
    #[inline(always)]
    fn spread(self, number: u32, lanes: [u64; PARTS], to: &mut [Numbers; PARTS]) {
        for (lanes, to) in lanes.into_iter().zip(to) {
            set_bits(lanes).for_each(|lane| to.0[lane] = number);
        }
    }
    /// Where packets begin, how much was captured of them, and how long they were if anybody asks. Gives the least
    /// that was captured of any.
    #[inline(always)]
    fn admit(
        self,
        packets: &[Packet<'_>; LANES],
        starts: &mut Starts,
        captured: &mut Numbers,
        wire_len: Option<&mut Numbers>,
    ) -> u32 {
        for (lane, packet) in packets.iter().enumerate() {
            starts.0[lane] = packet.data().as_ptr();
            captured.0[lane] = packet.data().len() as u32;
        }
        for (wire_len, packet) in wire_len.into_iter().flat_map(|wire_len| &mut wire_len.0).zip(packets) {
            *wire_len = packet.wire_len();
        }
        captured.0.iter().fold(u32::MAX, |least, &captured| least.min(captured))
    }
    /// Four bytes of each packet in the lanes; some number of the others.
    ///
    /// # Safety
    /// These bytes of these packets are readable.
    ///
    /// PERF: addresses first, then the loads, none of which waits for a branch.
    #[inline(always)]
    unsafe fn fetch4(self, place: Place<'_>, dst: &mut Numbers) {
        let from = addresses(place);
        for (dst, from) in dst.0.iter_mut().zip(from) {
            // SAFETY: the caller's promise for packets in `lanes`; `NOTHING` for others.
            *dst = u32::from_le_bytes(unsafe { from.cast::<[u8; 4]>().read() });
        }
    }
    /// Eight bytes, likewise: the first four, and the last four.
    ///
    /// # Safety
    /// These bytes of these packets are readable.
    #[inline(always)]
    unsafe fn fetch8(self, place: Place<'_>, [low, high]: [&mut Numbers; 2]) {
        let from = addresses(place);
        for ((low, high), from) in low.0.iter_mut().zip(&mut high.0).zip(from) {
            // SAFETY: as above.
            let both = u64::from_le_bytes(unsafe { from.cast::<[u8; 8]>().read() });
            (*low, *high) = (both as u32, (both >> 32) as u32);
        }
    }
    /// Four bytes each at two places of sixteen, likewise.
    ///
    /// # Safety
    /// These sixteen bytes of these packets are readable.
    #[inline(always)]
    unsafe fn fetch_pair(self, place: Place<'_>, from: [u8; 2], dst: [&mut Numbers; 2]) {
        for (from, dst) in from.into_iter().zip(dst) {
            // SAFETY: the caller's promise. All are in a packet, so no offset wraps around.
            unsafe { self.fetch4(place.beyond(from.into()), dst) };
        }
    }
    /// Sixteen bytes, likewise, four by four.
    ///
    /// # Safety
    /// These bytes of these packets are readable.
    #[inline(always)]
    unsafe fn fetch16(self, place: Place<'_>, [a, b, c, d]: [&mut Numbers; 4]) {
        // SAFETY: the caller's promise. All sixteen are in a packet, so no offset wraps around.
        unsafe {
            self.fetch8(place, [a, b]);
            self.fetch8(place.beyond(8), [c, d]);
        }
    }
    /// Whether `a & mask == k` of all packets, where that is told sooner than an answer for each.
    #[inline(always)]
    fn all_equal_masked(self, _: &[Numbers], _mask: u32, _k: u32) -> bool {
        false
    }
    /// Whether `base + end <= shortest` of all packets, without wrap-around, likewise.
    #[inline(always)]
    fn all_in_bounds(self, _base: &[Numbers], _end: u32, _shortest: u32) -> bool {
        false
    }
    fn equal(self, a: &Numbers, k: u32) -> u64;
    /// `a & mask == k`
    fn equal_masked(self, a: &Numbers, mask: u32, k: u32) -> u64;
    /// `a & mask != 0`
    #[inline(always)]
    fn any(self, a: &Numbers, mask: u32) -> u64 {
        !self.equal_masked(a, mask, 0)
    }
    fn below(self, a: &Numbers, k: u32) -> u64;
    fn above(self, a: &Numbers, k: u32) -> u64;
    /// `low <= a <= low + span`
    fn in_range(self, a: &Numbers, low: u32, span: u32) -> u64;
    fn equal_columns(self, a: &Numbers, b: &Numbers) -> u64;
    fn below_columns(self, a: &Numbers, b: &Numbers) -> u64;
    fn any_columns(self, a: &Numbers, b: &Numbers) -> u64;
    /// `base + end <= captured` without wrap-around
    fn bounds(self, captured: &Numbers, base: &Numbers, end: u32) -> u64;
}

/// What is read for a packet that is not there.
pub(super) static NOTHING: [u8; 16] = [0; 16];

/// Where each packet in its lanes has what is to be read; [`NOTHING`] of others.
#[inline(always)]
fn addresses(Place { lanes, starts, base, offset }: Place<'_>) -> [*const u8; LANES] {
    let mut from = starts.0;
    if let Some(base) = base {
        for (from, base) in from.iter_mut().zip(&base.0) {
            *from = from.wrapping_add(*base as usize);
        }
    }
    for (i, from) in from.iter_mut().enumerate() {
        let there = from.wrapping_add(offset as usize);
        *from = if lanes >> i & 1 == 1 { there } else { NOTHING.as_ptr() };
    }
    from
}

/// The answers of all parts. A macro: a closure is a function of its own, for any processor, and no intrinsic for a
/// particular one is inlined into it.
macro_rules! each {
    ($parts:ident, $part:ident => $answer:expr) => {{
        let mut answers = [0; PARTS];
        for ($part, answer) in answers.iter_mut().enumerate().take($parts) {
            *answer = $answer;
        }
        answers
    }};
}

/// The answers of all parts about numbers in columns: a name is a column on the left, and its numbers of a part on the right.
macro_rules! each_of {
    ($machine:ident, $parts:ident, [$($column:ident),+] => $answer:expr) => {{
        $(let $column = $machine.column($column);)+
        each!($parts, i => {
            $(let $column = &$column[i];)+
            $answer
        })
    }};
}

/// Questions about columns, each with the numbers that it compares them with, which `$splat` brings into all lanes of a register.
macro_rules! questions {
    ($splat:ident: $($name:ident($($column:ident),+ $(; $($number:ident),+)?) => $answer:expr;)+) => {$(
        #[inline(always)]
        fn $name(self, $($column: &Numbers,)+ $($($number: u32),+)?) -> u64 {
            // SAFETY: `self` is proof of the instructions.
            unsafe {
                $($(let $number = $splat($number as i32);)+)?
                $answer
            }
        }
    )+};
}
pub(super) use questions;

/// Reads packets of a part, if any are there.
///
/// PERF: where all are there, which a branch foretells, a fetch does not wait for the answers before it.
macro_rules! each_there {
    ($isa:ident, $there:expr, $lanes:ident => $fetch:expr) => {
        match $there {
            0 => {}
            u64::MAX if $isa::WAITS => {
                let $lanes = u64::MAX;
                $fetch
            }
            $lanes => $fetch,
        }
    };
}

impl Machine {
    /// Makes room for a program.
    pub(super) fn fit(&mut self, program: &MaskProgram) {
        let columns = self.columns.len().max(usize::from(program.columns));
        self.columns.resize(columns, [Numbers([0; LANES]); PARTS]);
        let masks = self.masks.len().max(usize::from(program.masks).next_multiple_of(MASKS_TOGETHER));
        self.masks.resize(masks, [0; PARTS]);
    }

    /// The packets of the last run that match.
    pub(super) fn accepted(&self) -> [u64; PARTS] {
        self.masks[index(ACCEPT)]
    }

    /// The numbers of the leaves that the packets of the last run reached.
    pub(super) fn leaves(&self, isa: impl Lanes, program: &MaskProgram) -> [Numbers; PARTS] {
        let mut numbers = [Numbers([REJECT; LANES]); PARTS];
        for &(mask, leaf) in &program.leaves {
            let lanes = self.masks[index(mask)];
            if !is_none(lanes) {
                isa.spread(leaf, lanes, &mut numbers);
            }
        }
        numbers
    }

    /// Takes over what the caller gives with each of the packets that come next: a row each.
    pub(super) fn admit_rows(&mut self, program: &MaskProgram, rows: &[u32]) {
        for &(column, slot) in &program.inputs {
            let numbers = self.columns[usize::from(column.0)].iter_mut().flat_map(|part| &mut part.0);
            for (number, row) in numbers.zip(rows.chunks_exact(program.row)) {
                *number = row[slot as usize];
            }
        }
    }

    /// Takes packets through the steps, [`PARTS`] times [`LANES`] at most.
    ///
    /// Inlined into one function for each kind of processor, where the methods of `isa` are then inlined.
    #[inline(always)]
    pub(super) fn run<L: Lanes>(&mut self, isa: L, program: &MaskProgram, packets: &[[Packet<'_>; LANES]]) {
        let parts = packets.len().min(PARTS);
        let mut lanes = [0; PARTS];
        lanes[..parts].fill(u64::MAX);
        let masks = usize::from(program.masks).div_ceil(MASKS_TOGETHER);
        for masks in &mut self.masks.as_chunks_mut().0[..masks] {
            *masks = [[0; PARTS]; MASKS_TOGETHER];
        }
        self.masks[index(program.root)] = lanes;
        self.admit(isa, program, packets);
        let mut at = 0;
        while let Some(step) = program.steps.get(at) {
            at += 1;
            match *step {
                Step::Enter { mask, skip_to } => {
                    lanes = self.masks[index(mask)];
                    if is_none(lanes) {
                        at = skip_to as usize;
                    }
                }
                Step::Fetch4 { dst, at } => {
                    let (earlier, dst) = self.columns.split_at_mut(usize::from(dst.0));
                    for (i, dst) in dst[0].iter_mut().enumerate().take(parts) {
                        let base = at.base.map(|base| &earlier[usize::from(base.0)][i]);
                        // SAFETY: what the program promises of these lanes; see `translate`. `starts` are
                        // those of `packets`.
                        each_there!(L, lanes[i], lanes => unsafe {
                            isa.fetch4(Place { lanes, starts: &self.starts[i], base, offset: at.offset }, dst);
                        });
                    }
                }
                Step::Fetch8 { low, high, at } => {
                    let (earlier, dst) = self.columns.split_at_mut(usize::from(low.0));
                    let (low, high) = dst.split_at_mut(usize::from(high.0 - low.0));
                    for (i, (low, high)) in low[0].iter_mut().zip(&mut high[0]).enumerate().take(parts) {
                        let base = at.base.map(|base| &earlier[usize::from(base.0)][i]);
                        // SAFETY: as above.
                        each_there!(L, lanes[i], lanes => unsafe {
                            isa.fetch8(Place { lanes, starts: &self.starts[i], base, offset: at.offset }, [low, high]);
                        });
                    }
                }
                Step::FetchPair { low, high, at, from } => {
                    let (earlier, dst) = self.columns.split_at_mut(usize::from(low.0));
                    let (low, high) = dst.split_at_mut(usize::from(high.0 - low.0));
                    for (i, (low, high)) in low[0].iter_mut().zip(&mut high[0]).enumerate().take(parts) {
                        let base = at.base.map(|base| &earlier[usize::from(base.0)][i]);
                        // SAFETY: as above.
                        each_there!(L, lanes[i], lanes => unsafe {
                            isa.fetch_pair(Place { lanes, starts: &self.starts[i], base, offset: at.offset }, from, [low, high]);
                        });
                    }
                }
                Step::Fetch16 { first, at } => {
                    let (earlier, dst) = self.columns.split_at_mut(usize::from(first.0));
                    let [a, b, c, d, ..] = dst else { unreachable!("such a fetch has four columns") };
                    for i in 0..parts {
                        let base = at.base.map(|base| &earlier[usize::from(base.0)][i]);
                        let dst = [&mut a[i], &mut b[i], &mut c[i], &mut d[i]];
                        // SAFETY: as above.
                        each_there!(L, lanes[i], lanes => unsafe {
                            isa.fetch16(Place { lanes, starts: &self.starts[i], base, offset: at.offset }, dst);
                        });
                    }
                }
                Step::FetchFew { dst, at, size } => {
                    for (i, packets) in packets.iter().enumerate() {
                        self.fetch_few(i, packets, lanes[i], at, size, dst);
                    }
                }
                Step::Const { dst, k } => self.columns[usize::from(dst.0)] = [Numbers([k; LANES]); PARTS],
                Step::Bits { dst, src, bits: Bits { swap, right, mask, left } } => {
                    let mask = mask << left;
                    match (swap, right.checked_sub(left)) {
                        (false, Some(by)) => self.map(parts, dst, src, |x| x >> by & mask),
                        (false, None) => self.map(parts, dst, src, |x| x << (left - right) & mask),
                        (true, Some(by)) => self.map(parts, dst, src, |x| x.swap_bytes() >> by & mask),
                        (true, None) => {
                            self.map(parts, dst, src, |x| x.swap_bytes() << (left - right) & mask);
                        }
                    }
                }
                Step::OpConst { op, dst, a, k } => self.op_const(parts, op, dst, a, k),
                Step::Op { op, dst, a, b } => self.op(parts, op, dst, a, b),
                Step::Mark { done } => self.send(done, lanes),
                Step::Keep { dst, src, done } => {
                    self.keep(isa, dst, src, without(lanes, self.masks[index(done)]));
                    self.send(done, lanes);
                }
                // The usual guard: no packet is too short for it.
                Step::Fork { test: Test::Captured { end }, negated: false, .. } if end <= self.shortest => {}
                // PERF: on uniform traffic; a tenth less than an answer for each packet.
                Step::Fork { test, negated, .. }
                    if all_there(&lanes[..parts]) && self.holds_of_all(isa, parts, test, negated) => {}
                Step::Fork { test, negated, rest, skip_to } => {
                    let other = if negated { u64::MAX } else { 0 };
                    let yes = self.ask(isa, parts, test).map(|yes| yes ^ other);
                    let others = without(lanes, yes);
                    // PERF: where all go on, what follows does not wait for the answer.
                    if !is_none(others) {
                        self.send(rest, others);
                        lanes = both(lanes, yes);
                        if is_none(lanes) {
                            at = skip_to as usize;
                        }
                    }
                }
                Step::Branch { test, then, els } => {
                    let yes = self.ask(isa, parts, test);
                    self.send(then, both(lanes, yes));
                    self.send(els, without(lanes, yes));
                }
                Step::Switch { value, switch } => {
                    self.switch(isa, parts, lanes, value, &program.switches[usize::from(switch)]);
                }
            }
        }
    }

    #[inline(always)]
    fn admit<L: Lanes>(&mut self, isa: L, program: &MaskProgram, packets: &[[Packet<'_>; LANES]]) {
        let [captured, wire_len, ..] = &mut self.columns[..] else { return };
        self.shortest = u32::MAX;
        for (i, packets) in packets.iter().enumerate().take(PARTS) {
            let wire_len = program.reads_wire_len.then_some(&mut wire_len[i]);
            let shortest = isa.admit(packets, &mut self.starts[i], &mut captured[i], wire_len);
            self.shortest = self.shortest.min(shortest);
        }
    }

    #[inline(always)]
    fn send(&mut self, to: Mask, lanes: [u64; PARTS]) {
        for (to, lanes) in self.masks[index(to)].iter_mut().zip(lanes) {
            *to |= lanes;
        }
    }

    /// Whether a test holds (or, negated, does not) of all packets, where that is told sooner than by [`Machine::ask`].
    #[inline(always)]
    fn holds_of_all<L: Lanes>(&self, isa: L, parts: usize, test: Test, negated: bool) -> bool {
        match (test, negated) {
            (Test::Equal { a, k }, false) => isa.all_equal_masked(&self.column(a)[..parts], u32::MAX, k),
            (Test::EqualMasked { a, mask, k }, false) => {
                isa.all_equal_masked(&self.column(a)[..parts], mask, k)
            }
            (Test::Any { a, mask }, true) => isa.all_equal_masked(&self.column(a)[..parts], mask, 0),
            (Test::Bounds { base, end }, false) => {
                isa.all_in_bounds(&self.column(base)[..parts], end, self.shortest)
            }
            _ => false,
        }
    }

    #[inline(always)]
    fn ask<L: Lanes>(&self, isa: L, parts: usize, test: Test) -> [u64; PARTS] {
        let captured = CAPTURED;
        match test {
            Test::Equal { a, k } => each_of!(self, parts, [a] => isa.equal(a, k)),
            Test::EqualMasked { a, mask, k } => each_of!(self, parts, [a] => isa.equal_masked(a, mask, k)),
            Test::Any { a, mask } => each_of!(self, parts, [a] => isa.any(a, mask)),
            Test::Below { a, k } => each_of!(self, parts, [a] => isa.below(a, k)),
            Test::Above { a, k } => each_of!(self, parts, [a] => isa.above(a, k)),
            Test::EqualColumns { a, b } => each_of!(self, parts, [a, b] => isa.equal_columns(a, b)),
            Test::BelowColumns { a, b } => each_of!(self, parts, [a, b] => isa.below_columns(a, b)),
            Test::AnyColumns { a, b } => each_of!(self, parts, [a, b] => isa.any_columns(a, b)),
            Test::Captured { end } => each_of!(self, parts, [captured] => !isa.below(captured, end)),
            Test::Bounds { base, end } => {
                each_of!(self, parts, [captured, base] => isa.bounds(captured, base, end))
            }
        }
    }

    #[inline(always)]
    fn switch<L: Lanes>(
        &mut self,
        isa: L,
        parts: usize,
        lanes: [u64; PARTS],
        value: Column,
        switch: &Switch,
    ) {
        let mut rest = lanes;
        if switch.arms.len() > TESTS_PER_SWITCH {
            return self.look_up(lanes, value, switch);
        }
        for arm in &switch.arms {
            let value = self.column(value);
            let yes = each!(parts, i => isa.in_range(&value[i], arm.low, arm.high - arm.low));
            self.send(arm.to, both(rest, yes));
            rest = without(rest, yes);
        }
        self.send(switch.default, rest);
    }

    /// Packet by packet.
    #[inline(never)]
    fn look_up(&mut self, lanes: [u64; PARTS], value: Column, switch: &Switch) {
        for (i, lanes) in lanes.into_iter().enumerate() {
            for lane in set_bits(lanes) {
                let x = self.column(value)[i].0[lane];
                let place = switch.arms.partition_point(|arm| arm.high < x);
                let arm = switch.arms.get(place).filter(|arm| arm.low <= x);
                self.masks[index(arm.map_or(switch.default, |arm| arm.to))][i] |= 1 << lane;
            }
        }
    }

    /// Packet by packet: only where one may be shorter than four bytes.
    #[inline(never)]
    fn fetch_few(
        &mut self,
        i: usize,
        packets: &[Packet<'_>; LANES],
        lanes: u64,
        at: At,
        size: Size,
        dst: Column,
    ) {
        for lane in set_bits(lanes) {
            let base = at.base.map_or(0, |base| self.column(base)[i].0[lane]);
            let from = base as usize + at.offset as usize;
            let bytes = &packets[lane].data()[from..from + size.bytes() as usize];
            let number = bytes.iter().rev().fold(0, |x, &byte| x << 8 | u32::from(byte));
            self.columns[usize::from(dst.0)][i].0[lane] = number;
        }
    }

    #[inline(always)]
    fn keep<L: Lanes>(&mut self, isa: L, dst: Column, src: Column, lanes: [u64; PARTS]) {
        if let Ok([dst, src]) = self.columns.get_disjoint_mut([dst, src].map(|column| usize::from(column.0)))
        {
            for (lanes, (dst, src)) in lanes.into_iter().zip(dst.iter_mut().zip(src)) {
                isa.copy(lanes, src, dst);
            }
        }
    }

    #[inline(always)]
    fn column(&self, column: Column) -> &[Numbers; PARTS] {
        &self.columns[usize::from(column.0)]
    }

    #[inline(always)]
    fn map(&mut self, parts: usize, dst: Column, src: Column, f: impl Fn(u32) -> u32) {
        let (earlier, dst) = self.columns.split_at_mut(usize::from(dst.0));
        for (dst, src) in dst[0].iter_mut().zip(&earlier[usize::from(src.0)]).take(parts) {
            for (dst, src) in dst.0.iter_mut().zip(&src.0) {
                *dst = f(*src);
            }
        }
    }

    #[inline(always)]
    fn map2(&mut self, parts: usize, dst: Column, a: Column, b: Column, f: impl Fn(u32, u32) -> u32) {
        let (earlier, dst) = self.columns.split_at_mut(usize::from(dst.0));
        let (a, b) = (&earlier[usize::from(a.0)], &earlier[usize::from(b.0)]);
        for (dst, (a, b)) in dst[0].iter_mut().zip(a.iter().zip(b)).take(parts) {
            for (dst, (a, b)) in dst.0.iter_mut().zip(a.0.iter().zip(&b.0)) {
                *dst = f(*a, *b);
            }
        }
    }

    #[inline(always)]
    fn op_const(&mut self, parts: usize, op: BinOp, dst: Column, a: Column, k: u32) {
        match op {
            BinOp::Add => self.map(parts, dst, a, |x| x.wrapping_add(k)),
            BinOp::Sub => self.map(parts, dst, a, |x| x.wrapping_sub(k)),
            BinOp::Mul => self.map(parts, dst, a, |x| x.wrapping_mul(k)),
            BinOp::And => self.map(parts, dst, a, |x| x & k),
            BinOp::Or => self.map(parts, dst, a, |x| x | k),
            BinOp::Xor => self.map(parts, dst, a, |x| x ^ k),
            BinOp::Shl if k < 32 => self.map(parts, dst, a, |x| x << k),
            BinOp::Shr if k < 32 => self.map(parts, dst, a, |x| x >> k),
            BinOp::Shl | BinOp::Shr => self.map(parts, dst, a, |_| 0),
            BinOp::Div | BinOp::Mod => self.divide_const(parts, op, dst, a, k),
        }
    }

    #[inline(always)]
    fn op(&mut self, parts: usize, op: BinOp, dst: Column, a: Column, b: Column) {
        match op {
            BinOp::Add => self.map2(parts, dst, a, b, u32::wrapping_add),
            BinOp::Sub => self.map2(parts, dst, a, b, u32::wrapping_sub),
            BinOp::Mul => self.map2(parts, dst, a, b, u32::wrapping_mul),
            BinOp::And => self.map2(parts, dst, a, b, |x, y| x & y),
            BinOp::Or => self.map2(parts, dst, a, b, |x, y| x | y),
            BinOp::Xor => self.map2(parts, dst, a, b, |x, y| x ^ y),
            BinOp::Shl => self.map2(parts, dst, a, b, |x, y| if y < 32 { x << (y & 31) } else { 0 }),
            BinOp::Shr => self.map2(parts, dst, a, b, |x, y| if y < 32 { x >> (y & 31) } else { 0 }),
            BinOp::Div | BinOp::Mod => self.divide(parts, op, dst, a, b),
        }
    }

    #[inline(never)]
    fn divide_const(&mut self, parts: usize, op: BinOp, dst: Column, a: Column, k: u32) {
        self.map(parts, dst, a, |x| op.eval(x, k).unwrap_or(0));
    }

    /// What is not here may have any divisor, 0 too.
    #[inline(never)]
    fn divide(&mut self, parts: usize, op: BinOp, dst: Column, a: Column, b: Column) {
        self.map2(parts, dst, a, b, |x, y| op.eval(x, y).unwrap_or(0));
    }
}

impl Default for Starts {
    fn default() -> Self {
        Starts([std::ptr::null(); LANES])
    }
}

#[inline(always)]
fn index(mask: Mask) -> usize {
    usize::from(mask.0)
}

#[inline(always)]
fn both(a: [u64; PARTS], b: [u64; PARTS]) -> [u64; PARTS] {
    std::array::from_fn(|i| a[i] & b[i])
}

#[inline(always)]
fn without(a: [u64; PARTS], b: [u64; PARTS]) -> [u64; PARTS] {
    std::array::from_fn(|i| a[i] & !b[i])
}

/// PERF: compared with an array of zeros, lanes would be read from memory as one vector, behind four narrow stores.
#[inline(always)]
fn is_none(lanes: [u64; PARTS]) -> bool {
    lanes.iter().fold(0, |any, lanes| any | lanes) == 0
}

#[inline(always)]
fn all_there(lanes: &[u64]) -> bool {
    lanes.iter().fold(u64::MAX, |all, lanes| all & lanes) == u64::MAX
}

/// The positions of the bits that are set, rising.
#[inline(always)]
pub(super) fn set_bits(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
        bits &= bits - 1;
        Some(bit)
    })
}
