//! Which of sixteen rules does a key match? All sixteen compared at once.
//!
//! ```text
//! rows       rule 0   rule 1   …  rule n-1        n <= 16
//! low 0      lo       lo                          a range: key - low <= span, unsigned
//! span 0     span     span
//! …
//! low ports  lo       lo                          two ranges of 16 bits in one word
//! span ports span     span
//! value 0    value    value                       a ternary word: (key ^ value) & mask == 0
//! mask 0     mask     mask
//! …
//! answer = the set of rules for which all rows hold, one bit each
//! ```
//!
//! A key is spread over all lanes once ([`Lanes::probe`]) and compared with any number of groups. The same code runs with AVX-512, AVX2, NEON or
//! plain Rust: a [`Task`] is generic over [`Lanes`], and [`run`] calls it with those of an [`Isa`].
//!
//! The layout is the same for all instruction sets. Rows are not padded: a load reads into the next row, and lanes at or above `n` are
//! masked off. The caller pads the end of its words ([`PADDING`]).

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
#[cfg(test)]
mod tests;

pub use portable::Portable;

/// Rules in a group.
pub const GROUP: usize = 16;

/// Words that must follow the last row of the last group.
pub const PADDING: usize = GROUP;

/// An instruction set that a [`Task`] can run with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isa {
    /// Plain Rust.
    Portable,
    /// 128-bit vectors of ARM.
    Neon,
    /// 256-bit vectors of x86-64, with BMI2.
    Avx2,
    /// 512-bit vectors of x86-64, with BMI2.
    Avx512,
}

impl Isa {
    /// All of them, the fastest first.
    pub const ALL: [Isa; 4] = [Isa::Avx512, Isa::Avx2, Isa::Neon, Isa::Portable];

    /// The fastest that this processor has.
    #[must_use]
    pub fn best() -> Isa {
        Isa::ALL.into_iter().find(|isa| isa.is_here()).unwrap_or(Isa::Portable)
    }

    /// Whether this processor has it.
    #[must_use]
    pub fn is_here(self) -> bool {
        match self {
            Isa::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2::Avx2::new().is_some(),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => avx512::Avx512::new().is_some(),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => true,
            #[allow(unreachable_patterns, reason = "which of them are left depends on the architecture")]
            _ => false,
        }
    }

    /// What flags and reports call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Isa::Portable => "portable",
            Isa::Neon => "neon",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
        }
    }
}

/// A key, spread over the lanes: what the rows of a group are compared with.
#[derive(Clone, Copy, Debug)]
pub struct Probe<V, const RANGES: usize, const TERNARY: usize> {
    ranges: [V; RANGES],
    ports: V,
    ternary: [V; TERNARY],
}

/// Rows of a group: a low and a span for each range and for the ports, a value and a mask for each ternary word.
#[must_use]
pub const fn rows(ranges: usize, ternary: usize) -> usize {
    2 * (ranges + 1 + ternary)
}

/// The operations of one instruction set. A value is the proof that the processor has it.
pub trait Lanes: Copy {
    /// A word in every lane.
    type Vector: Copy;

    /// The bits of `word` that `mask` selects, moved together at the low end.
    fn extract(self, word: u64, mask: u64) -> u64;

    /// This word in every lane.
    fn splat(self, word: u32) -> Self::Vector;

    /// The rules of a group that match, as bits; `words` begins with its first row, and has [`PADDING`] words behind the last.
    ///
    /// # Panics
    /// Where `words` is too short.
    fn matches<const RANGES: usize, const TERNARY: usize>(
        self,
        words: &[u32],
        count: usize,
        probe: &Probe<Self::Vector, RANGES, TERNARY>,
    ) -> u32;

    /// Asks for the cache line of an element, if there is one. Nothing is read.
    fn prefetch<T>(self, slice: &[T], index: usize);

    /// A key, ready to be compared.
    #[inline(always)]
    #[expect(clippy::needless_range_loop, reason = "vectors that pass through iterators go through memory")]
    fn probe<const RANGES: usize, const TERNARY: usize>(
        self,
        ranges: [u32; RANGES],
        ports: u32,
        ternary: [u32; TERNARY],
    ) -> Probe<Self::Vector, RANGES, TERNARY> {
        // As everywhere in these files: a loop over places, and macros in the place of closures.
        let zero = self.splat(0);
        let mut probe = Probe { ranges: [zero; RANGES], ports: self.splat(ports), ternary: [zero; TERNARY] };
        for i in 0..RANGES {
            probe.ranges[i] = self.splat(ranges[i]);
        }
        for i in 0..TERNARY {
            probe.ternary[i] = self.splat(ternary[i]);
        }
        probe
    }
}

/// What runs with any instruction set.
pub trait Task {
    /// What it returns.
    type Output;

    /// Runs; an `#[inline(always)]` method whose callees are such too, so that it is compiled for the instruction set as a whole.
    fn run<L: Lanes>(self, lanes: L) -> Self::Output;
}

/// Runs a task with an instruction set; in plain Rust where the processor does not have it.
#[inline]
pub fn run<T: Task>(isa: Isa, task: T) -> T::Output {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => match avx512::Avx512::new() {
            Some(lanes) => avx512::run(lanes, task),
            None => task.run(Portable),
        },
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => match avx2::Avx2::new() {
            Some(lanes) => avx2::run(lanes, task),
            None => task.run(Portable),
        },
        #[cfg(target_arch = "aarch64")]
        Isa::Neon => task.run(neon::Neon),
        _ => task.run(Portable),
    }
}

/// The words of a group with the padding behind them.
///
/// # Panics
/// Where there are fewer: vectors are loaded from these without another check.
#[inline(always)]
fn group<const RANGES: usize, const TERNARY: usize>(words: &[u32], count: usize) -> &[u32] {
    assert!(count <= GROUP, "a group has at most {GROUP} rules");
    let last = rows(RANGES, TERNARY) - 1;
    &words[..last * count + PADDING]
}

/// A mask of the lanes below `count`.
#[inline(always)]
fn below(count: usize) -> u32 {
    (1 << count) - 1
}

/// Whether `pext` is one operation here: AMD's processors before Zen 3 emulate it, bit by bit.
#[cfg(target_arch = "x86_64")]
fn has_fast_pext() -> bool {
    if !is_x86_feature_detected!("bmi2") {
        return false;
    }
    let vendor = std::arch::x86_64::__cpuid(0);
    let is_amd = (vendor.ebx, vendor.edx, vendor.ecx) == (0x6874_7541, 0x6974_6e65, 0x444d_4163);
    let signature = std::arch::x86_64::__cpuid(1).eax;
    let family = (signature >> 8 & 0xf) + (signature >> 20 & 0xff);
    !is_amd || family >= 0x19
}
