//! The mask VM: a filter over up to 256 packets at a time, without generated code.
//!
//! ```text
//! graph -> translate -> MaskProgram: fetch, compare, go on -> Machine: 64 packets to a mask, four masks to a step
//!                                                         Avx512, gathering or loading | Avx2 | Portable
//! ```
//! Machine code decides one packet after the other, and on mixed traffic spends most of its time on branches that
//! were predicted wrong. Here all packets take each step together: a test splits a mask of those that are there
//! in two, and nothing depends on how. `docs/design/mask-vm.md` has the whole story.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod glance;
#[cfg(target_arch = "x86_64")]
mod loads;
mod machine;
mod portable;
mod program;
mod translate;
mod window;

use crate::burst::{Bits, Leaves, Written};
use crate::exec::Packet;
use crate::ir::verify::Verified;
use crate::ir::{Node, NodeId};
use glance::Glance;
use machine::{LANES, Lanes, Machine, PARTS};
use portable::Portable;
use program::{Ends, MaskProgram, TESTS_PER_SWITCH};
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::LazyLock;
use window::Fetches;
#[cfg(target_arch = "x86_64")]
use {avx2::Avx2, avx512::Avx512};

/// A graph for the mask VM. `W` is what a burst writes.
#[derive(Debug)]
pub struct MaskFilter<W = Bits> {
    program: MaskProgram,
    /// The short form of the program, if a glance at packets that are long enough decides.
    glance: Option<Glance>,
    writes: PhantomData<W>,
}

/// A graph of which a burst writes the number of each packet's leaf.
pub type MaskList = MaskFilter<Leaves>;

/// The instructions that the mask VM uses.
///
/// ```
/// use decide::Isa;
///
/// assert!(Isa::detect().is_available());
/// assert!(Isa::ALL.contains(&Isa::detect()));
/// assert_eq!(Isa::Avx2.to_string(), "AVX2");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Isa {
    /// Those of any processor.
    Portable,
    /// AVX2.
    Avx2,
    /// AVX-512: F, BW, DQ and VL; packets are read by plain loads.
    Avx512Loads,
    /// AVX-512: F, BW, DQ and VL; packets are read by gathers.
    Avx512,
}

impl Isa {
    /// All of them, the best last, except on processors whose gathers are slow.
    pub const ALL: &[Isa] = &[Isa::Portable, Isa::Avx2, Isa::Avx512Loads, Isa::Avx512];

    /// The best that this processor has.
    ///
    /// ```
    /// # use decide::Isa;
    /// assert!(Isa::detect().is_available());
    /// ```
    pub fn detect() -> Isa {
        static BEST: LazyLock<Isa> = LazyLock::new(|| {
            let is_slow = |isa| isa == Isa::Avx512 && gathers_are_slow();
            let is_fast = |isa: &Isa| isa.is_available() && !is_slow(*isa);
            Isa::ALL.iter().copied().rfind(is_fast).unwrap_or(Isa::Portable)
        });
        *BEST
    }

    /// Steps of the longest program that is preferred to machine code.
    ///
    /// PERF: every step is taken if only one packet is there. With AVX2 (Zen 3) six filters joined by `or`, 57 steps, took 0.9 of
    /// the time of machine code on either traffic; nine, 65 steps, 1.2 on uniform, and a list of 16 with 199 steps 1.3 to 1.4.
    fn steps_max(self) -> usize {
        match self {
            Isa::Avx512Loads | Isa::Avx512 => 256,
            Isa::Avx2 | Isa::Portable => 60,
        }
    }

    /// Fewer packets than this are left to machine code.
    ///
    /// PERF: up to 64 packets take the same time. With AVX2 (Zen 3) that is 154 ns for `tcp port 80` on uniform traffic and 350
    /// on mixed, 106 and 213 behind others; machine code takes 2 and 6 ns a packet. With AVX-512 an estimate: 200 ns, and 8 for a
    /// packet in mixed traffic.
    pub(crate) fn packets_min(self) -> usize {
        match self {
            Isa::Avx512Loads | Isa::Avx512 => 24,
            Isa::Avx2 | Isa::Portable => 48,
        }
    }

    /// Whether this processor has them.
    ///
    /// ```
    /// # use decide::Isa;
    /// assert!(Isa::Portable.is_available());
    /// ```
    pub fn is_available(self) -> bool {
        match self {
            Isa::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => Avx2::new().is_some(),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512Loads | Isa::Avx512 => Avx512::<true>::new().is_some(),
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Isa::Portable => "portable",
            Isa::Avx2 => "AVX2",
            Isa::Avx512Loads => "AVX-512, plain loads",
            Isa::Avx512 => "AVX-512",
        })
    }
}

/// Whether a gather takes longer than plain loads and shuffles: AMD's are made of many small operations. On Zen 5,
/// where this was measured, bursts took up to three times as long with them.
fn gathers_are_slow() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        let vendor = std::arch::x86_64::__cpuid(0);
        let vendor = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes);
        [b"AuthenticAMD", b"HygonGenuine"].contains(&vendor.as_flattened().try_into().unwrap_or(&[0; 12]))
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

thread_local! {
    /// A machine that is not in use: filling one with zeros costs as much as running a filter over 64 packets.
    static SPARE: Cell<Option<Box<Machine>>> = const { Cell::new(None) };
}

#[expect(private_bounds, reason = "nothing but bits and leaves is written")]
impl<W: Masked> MaskFilter<W> {
    /// Translates a graph; `None` where it is too large to be worth it.
    pub fn new(graph: Verified<'_>) -> Option<Self> {
        // PERF: with vectors sixteen bytes of each packet are turned into columns together, without them eight and eight.
        // A pair costs less than two loads of four bytes, and less than two gathers where all packets are there.
        let wide = Isa::detect() != Isa::Portable;
        let fetches = Fetches { words_max: if wide { 4 } else { 2 }, pairs: wide };
        Self::with(graph, fetches)
    }

    fn with(graph: Verified<'_>, fetches: Fetches) -> Option<Self> {
        let program = translate::translate(graph, fetches, W::ENDS)?;
        Some(MaskFilter { glance: Glance::of(&program), program, writes: PhantomData })
    }

    /// Translates a graph, unless machine code is likely to take less time on mixed traffic.
    ///
    /// PERF: with AVX-512 and mixed traffic, machine code took 1 to 3 times as long on all filters tried, with AVX2 1 to 3.5
    /// times, but for those with large switches: it settles one with a look into a table, the mask VM packet by packet in three
    /// to ten times the time. Long programs are left to machine code as well.
    pub(crate) fn if_fast(graph: Verified<'_>, isa: Isa) -> Option<Self> {
        let nodes = graph.graph().topological();
        let is_large = |node: &NodeId| match graph.graph().node(*node) {
            Node::Switch(switch) => switch.arms.len() > TESTS_PER_SWITCH,
            Node::Leaf(_) | Node::Branch { .. } => false,
        };
        if isa == Isa::Portable || nodes.len() > isa.steps_max() || nodes.iter().any(is_large) {
            return None;
        }
        Self::new(graph).filter(|filter| filter.program.steps.len() <= isa.steps_max())
    }

    /// For fewer packets than this, machine code takes less time.
    ///
    /// PERF: a step takes as long for one packet as for 64. The 199 steps of a list of 16 filters took 17.5 ns a packet on
    /// mixed traffic in bursts of 64, 12 to 15 in bursts of 128 and 9 to 12 in bursts of 256; machine code took 14 to 15.
    pub(crate) fn packets_min(&self) -> usize {
        self.program.steps.len() * 3 / 4
    }

    /// Writes the answers for packets. Where the processor has not these instructions, it takes the portable ones.
    ///
    /// # Panics
    /// Where there is no room for the answer for each packet, or the graph reads inputs: see [`MaskFilter::run_burst_with`].
    pub fn run_burst(&self, isa: Isa, packets: &[Packet<'_>], to: &mut [W::Cell]) {
        self.run_burst_with(isa, packets, &[], to);
    }

    /// The same of packets with each of which the caller gives a row of numbers, one row behind the other.
    ///
    /// # Panics
    /// Where there is no room for the answer for each packet, or no row for each.
    pub fn run_burst_with(&self, isa: Isa, packets: &[Packet<'_>], rows: &[u32], to: &mut [W::Cell]) {
        assert!(
            rows.len() / self.program.row.max(1) >= packets.len() || self.program.row == 0,
            "a row for each packet"
        );
        #[cfg(target_arch = "x86_64")]
        match (isa, Avx2::new(), Avx512::<true>::new(), Avx512::<false>::new()) {
            (Isa::Avx512, _, Some(avx512), _) => return self.run(avx512, packets, rows, to),
            (Isa::Avx512Loads, _, _, Some(avx512)) => return self.run(avx512, packets, rows, to),
            (Isa::Avx2, Some(avx2), _, _) => return self.run(avx2, packets, rows, to),
            _ => {}
        }
        self.run(Portable, packets, rows, to);
    }

    fn run(&self, isa: impl Lanes, packets: &[Packet<'_>], rows: &[u32], to: &mut [W::Cell]) {
        let (whole, rest) = packets.as_chunks::<LANES>();
        let seen = self.glance.map_or(0, |glance| W::glance(isa, glance, whole, to));
        if seen < whole.len() || !rest.is_empty() {
            let rows = &rows[seen * LANES * self.program.row..];
            self.step(isa, (&whole[seen..], rest), rows, &mut to[W::cells(seen * LANES)..]);
        }
    }

    /// Takes packets through the steps: whole runs, and fewer at the end.
    fn step(
        &self,
        isa: impl Lanes,
        (whole, rest): (&[[Packet<'_>; LANES]], &[Packet<'_>]),
        rows: &[u32],
        to: &mut [W::Cell],
    ) {
        let row = self.program.row;
        let mut machine = SPARE.take().unwrap_or_default();
        machine.fit(&self.program);
        let alone = if rest.is_empty() { whole.len() } else { whole.len() / PARTS * PARTS };
        let (whole, with_rest) = whole.split_at(alone);
        let (to, to_rest) = to.split_at_mut(W::cells(alone * LANES));
        for (i, (packets, to)) in whole.chunks(PARTS).zip(to.chunks_mut(W::cells(PARTS * LANES))).enumerate()
        {
            machine.admit_rows(&self.program, &rows[i * PARTS * LANES * row..]);
            isa.run(&mut machine, &self.program, packets);
            W::gather(isa, &machine, &self.program, packets.len() * LANES, to);
        }
        if !rest.is_empty() {
            machine.admit_rows(&self.program, &rows[alone * LANES * row..]);
            let run = &mut |packets: &[[Packet<'_>; LANES]]| isa.run(&mut machine, &self.program, packets);
            match with_rest.len() {
                0 => run(&filled::<1>(with_rest, rest)),
                1 => run(&filled::<2>(with_rest, rest)),
                2 => run(&filled::<3>(with_rest, rest)),
                _ => run(&filled::<PARTS>(with_rest, rest)),
            }
            W::gather(isa, &machine, &self.program, with_rest.len() * LANES + rest.len(), to_rest);
        }
        SPARE.set(Some(machine));
    }
}

/// Whole runs, and one of fewer packets: its first one stands in for those that are missing, so that it takes no longer than
/// the others.
///
/// PERF: copied are as many as there are. Always making [`PARTS`] of them took 30 ns more, a fifth of a run of 64.
fn filled<'p, const RUNS: usize>(
    whole: &[[Packet<'p>; LANES]],
    rest: &[Packet<'p>],
) -> [[Packet<'p>; LANES]; RUNS] {
    let mut filled = [[rest.first().copied().unwrap_or(Packet::EMPTY); LANES]; RUNS];
    filled[..whole.len()].copy_from_slice(whole);
    filled[whole.len()][..rest.len()].copy_from_slice(rest);
    filled
}

/// How masks become what a burst writes.
pub(crate) trait Masked: Written {
    /// Where leaves send their packets.
    const ENDS: Ends;
    /// Writes the answers for packets that a machine has taken through a program, up to [`PARTS`] times [`LANES`].
    fn gather(
        isa: impl Lanes,
        machine: &Machine,
        program: &MaskProgram,
        packets: usize,
        to: &mut [Self::Cell],
    );
    /// Decides runs of packets by a glance, as [`Lanes::glance`] does. Gives how many it has decided.
    #[inline]
    fn glance(_: impl Lanes, _: Glance, _: &[[Packet<'_>; LANES]], _: &mut [Self::Cell]) -> usize {
        0
    }
}

impl Masked for Bits {
    const ENDS: Ends = Ends::Accept;

    #[inline]
    fn gather(_: impl Lanes, machine: &Machine, _: &MaskProgram, packets: usize, to: &mut [u64]) {
        let words = &mut to[..Bits::cells(packets)];
        for (word, accepted) in words.iter_mut().zip(machine.accepted()) {
            *word = accepted;
        }
        if let (Some(last), rest @ 1..) = (words.last_mut(), packets % LANES) {
            *last &= (1 << rest) - 1;
        }
    }

    #[inline]
    fn glance(isa: impl Lanes, glance: Glance, packets: &[[Packet<'_>; LANES]], to: &mut [u64]) -> usize {
        isa.glance(glance, packets, to)
    }
}

impl Masked for Leaves {
    const ENDS: Ends = Ends::Each;

    #[inline]
    fn gather(isa: impl Lanes, machine: &Machine, program: &MaskProgram, packets: usize, to: &mut [u32]) {
        let leaves = machine.leaves(isa, program);
        for (to, leaves) in to[..packets].chunks_mut(LANES).zip(&leaves) {
            to.copy_from_slice(&leaves.0[..to.len()]);
        }
    }
}

/// The steps, one a line.
impl<W> fmt::Display for MaskFilter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.program.fmt(f)
    }
}

#[cfg(test)]
mod tests;
