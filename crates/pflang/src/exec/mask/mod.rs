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

use crate::exec::Packet;
use crate::ir::verify::Verified;
use crate::ir::{Node, NodeId};
use glance::Glance;
use machine::{LANES, Lanes, Machine, PARTS};
use portable::Portable;
use program::{MaskProgram, TESTS_PER_SWITCH};
use std::cell::Cell;
use std::fmt;
use std::sync::LazyLock;
use window::Fetches;
#[cfg(target_arch = "x86_64")]
use {avx2::Avx2, avx512::Avx512};

/// A filter for the mask VM.
#[derive(Debug)]
pub struct MaskFilter {
    program: MaskProgram,
    /// The short form of the program, if a glance at packets that are long enough decides.
    glance: Option<Glance>,
}

/// The instructions that the mask VM uses.
///
/// ```
/// use pflang::Isa;
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
    pub fn detect() -> Isa {
        static BEST: LazyLock<Isa> = LazyLock::new(|| {
            let is_slow = |isa| isa == Isa::Avx512 && gathers_are_slow();
            let is_fast = |isa: &Isa| isa.is_available() && !is_slow(*isa);
            Isa::ALL.iter().copied().rfind(is_fast).unwrap_or(Isa::Portable)
        });
        *BEST
    }

    /// Whether it has AVX-512, however packets are read.
    fn is_avx512(self) -> bool {
        matches!(self, Isa::Avx512Loads | Isa::Avx512)
    }

    /// Whether this processor has them.
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

impl MaskFilter {
    /// Translates a graph; `None` where it is too large to be worth it.
    pub fn new(graph: Verified<'_>) -> Option<MaskFilter> {
        // PERF: with AVX-512 sixteen bytes of each packet are turned into columns together, without it eight and eight.
        // A pair costs less than two loads of four bytes, and less than two gathers where all packets are there.
        let wide = Isa::detect().is_avx512();
        let fetches = Fetches { words_max: if wide { 4 } else { 2 }, pairs: wide };
        MaskFilter::with(graph, fetches)
    }

    fn with(graph: Verified<'_>, fetches: Fetches) -> Option<MaskFilter> {
        let program = translate::translate(graph, fetches)?;
        Some(MaskFilter { glance: Glance::of(&program), program })
    }

    /// Translates a filter, unless machine code is likely to take less time on mixed traffic.
    ///
    /// PERF: with AVX-512 and mixed traffic, machine code took 1 to 3 times as long on all filters tried, but for those
    /// with large switches: it settles one with a look into a table, the mask VM packet by packet in three to ten times
    /// the time. Very long programs are left to machine code as well, since every step is taken if only one packet is
    /// there. With AVX2 the gain is smaller, and uniform traffic would pay for it.
    pub(crate) fn if_fast(graph: Verified<'_>, isa: Isa) -> Option<MaskFilter> {
        let nodes = graph.graph().topological();
        let is_large = |node: &NodeId| match graph.graph().node(*node) {
            Node::Switch(switch) => switch.arms.len() > TESTS_PER_SWITCH,
            Node::Leaf(_) | Node::Branch { .. } => false,
        };
        if !isa.is_avx512() || nodes.len() > STEPS_MAX || nodes.iter().any(is_large) {
            return None;
        }
        MaskFilter::new(graph).filter(|filter| filter.program.steps.len() <= STEPS_MAX)
    }

    /// Sets bit `i % 64` of word `i / 64` where packet `i` is accepted; clears the others of the words in use. Where the
    /// processor has not these instructions, it takes the portable ones.
    ///
    /// # Panics
    /// Where the bitmap has less than a bit for each packet.
    pub fn run_burst(&self, isa: Isa, packets: &[Packet<'_>], bitmap: &mut [u64]) {
        #[cfg(target_arch = "x86_64")]
        match (isa, Avx2::new(), Avx512::<true>::new(), Avx512::<false>::new()) {
            (Isa::Avx512, _, Some(avx512), _) => return self.run(avx512, packets, bitmap),
            (Isa::Avx512Loads, _, _, Some(avx512)) => return self.run(avx512, packets, bitmap),
            (Isa::Avx2, Some(avx2), _, _) => return self.run(avx2, packets, bitmap),
            _ => {}
        }
        self.run(Portable, packets, bitmap);
    }

    fn run(&self, isa: impl Lanes, packets: &[Packet<'_>], bitmap: &mut [u64]) {
        let (whole, rest) = packets.as_chunks::<LANES>();
        let seen = self.glance.map_or(0, |glance| isa.glance(glance, whole, bitmap));
        if seen < whole.len() || !rest.is_empty() {
            self.step(isa, (&whole[seen..], rest), &mut bitmap[seen..]);
        }
    }

    /// Takes packets through the steps: whole runs, and fewer at the end.
    fn step(
        &self,
        isa: impl Lanes,
        (whole, rest): (&[[Packet<'_>; LANES]], &[Packet<'_>]),
        words: &mut [u64],
    ) {
        let mut machine = SPARE.take().unwrap_or_default();
        machine.fit(&self.program);
        let alone = if rest.is_empty() { whole.len() } else { whole.len() / PARTS * PARTS };
        let (whole, with_rest) = whole.split_at(alone);
        for (packets, words) in whole.chunks(PARTS).zip(words[..alone].chunks_mut(PARTS)) {
            isa.run(&mut machine, &self.program, packets);
            answer(words, machine.accepted());
        }
        if let Some(&first) = rest.first() {
            // PERF: it stands in for those that are missing, so that they take no longer than whole runs.
            let mut filled = [[first; LANES]; PARTS];
            filled[..with_rest.len()].copy_from_slice(with_rest);
            filled[with_rest.len()][..rest.len()].copy_from_slice(rest);
            isa.run(&mut machine, &self.program, &filled[..=with_rest.len()]);
            let words = &mut words[alone..][..=with_rest.len()];
            answer(words, machine.accepted());
            words[with_rest.len()] &= (1 << rest.len()) - 1;
        }
        SPARE.set(Some(machine));
    }
}

/// Writes the answers for as many parts as there are.
fn answer(words: &mut [u64], accepted: [u64; PARTS]) {
    for (word, accepted) in words.iter_mut().zip(accepted) {
        *word = accepted;
    }
}

/// Steps of the longest program that is preferred to machine code.
const STEPS_MAX: usize = 256;

/// The steps, one a line.
impl fmt::Display for MaskFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.program.fmt(f)
    }
}

#[cfg(test)]
mod tests;
