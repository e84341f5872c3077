//! Vector instructions of the tables, and which of them the processor has.
//!
//! Two questions are asked: how many of up to 61 sorted 16-bit numbers are at most `x`, and how many of eight 64-bit numbers. Each set of
//! instructions answers them in a type of its own (`Vectors`); look-ups are written once over that type, and compiled once for each.
//! Many look-ups in a table that does not fit the second-level cache go in groups: what all of a group read first is asked for ahead, then what they read
//! second, so that the reads from memory overlap.
//! Unsafe code is in this folder only: calls of functions that need instructions which [`Isa::here`] has found, and loads.

pub mod lanes;
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

/// Numbers of 16 bits that may be read for one comparison.
pub const NARROW: usize = 64;
/// Numbers of 64 bits that are compared at once.
pub const WIDE: usize = 8;
/// Numbers of 16 bits of a cache line, of which the first [`HEAD`] are not compared.
pub(crate) const LINE: usize = 32;
/// Numbers at the beginning of a line that say something else.
pub(crate) const HEAD: usize = 4;
/// Look-ups of a group. PERF: a core waits for some 24 lines at a time; more than that keep it supplied.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 64;

/// Answers of one set of instructions.
pub(crate) trait Vectors: Copy {
    /// How many of the first `count` of these numbers are at most `x`. `count` is at most 61.
    fn at_most16(self, numbers: &[u16; NARROW], count: u32, x: u16) -> u32;
    /// How many of the first `count` numbers behind the head of this line are at most `x`. `count` is at most 28.
    fn at_most_in_line(self, line: &[u16; LINE], count: u32, x: u16) -> u32;
    /// How many of these numbers are at most `x`.
    fn at_most64(self, numbers: &[u64; WIDE], x: u64) -> u32;
    /// Asks for the cache line of an element, if there is one. Nothing is read.
    fn ask<T>(self, slice: &[T], index: usize);
}

/// A set of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Isa {
    /// Any processor's: plain code, which the compiler makes vectors of where it can.
    Portable,
    /// AVX2 and bit counting.
    Avx2,
    /// AVX-512 with byte and word instructions.
    Avx512,
}

impl Isa {
    /// All of them.
    pub const ALL: [Isa; 3] = [Isa::Portable, Isa::Avx2, Isa::Avx512];

    /// The best that this processor has.
    ///
    /// ```
    /// use table::simd::Isa;
    /// assert!(Isa::best().is_here());
    /// ```
    #[must_use]
    pub fn best() -> Isa {
        [Isa::Avx512, Isa::Avx2].into_iter().find(|isa| isa.is_here()).unwrap_or(Isa::Portable)
    }

    /// Whether this processor has it.
    #[must_use]
    pub fn is_here(self) -> bool {
        match self {
            Isa::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => x86::has_avx2(),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => x86::has_avx512(),
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }

    /// This one if the processor has it, else the portable one.
    #[must_use]
    pub fn here(self) -> Isa {
        if self.is_here() { self } else { Isa::Portable }
    }

    /// Its name on command lines.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Isa::Portable => "portable",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
        }
    }
}

/// A table that is looked up with vectors.
pub(crate) trait Ranked {
    /// Its numbers.
    type Key: Copy;
    /// The rank of a number. Inlined, since only then is it compiled for the instructions.
    fn rank_by<V: Vectors>(&self, vectors: V, key: Self::Key) -> u32;
    /// Whether many look-ups are to ask ahead for what they read.
    #[inline(always)]
    fn is_large(&self) -> bool {
        false
    }
    /// Asks for what a look-up reads first.
    #[inline(always)]
    fn ask_first<V: Vectors>(&self, _: V, _: Self::Key) {}
    /// Asks for what a look-up reads next, once that is there.
    #[inline(always)]
    fn ask_second<V: Vectors>(&self, _: V, _: Self::Key) {}
}

impl Isa {
    /// The rank of a number.
    ///
    /// INVARIANT: tables keep only what [`Isa::here`] has returned.
    #[inline]
    pub(crate) fn rank<T: Ranked>(self, table: &T, key: T::Key) -> u32 {
        match self {
            // SAFETY: by the invariant, `Isa::here` found these instructions on this processor.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => unsafe { x86::rank_avx2(table, key) },
            // SAFETY: likewise.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => unsafe { x86::rank_avx512(table, key) },
            _ => table.rank_by(portable::Portable, key),
        }
    }

    /// The rank of each number.
    pub(crate) fn ranks<T: Ranked>(self, table: &T, keys: &[T::Key], ranks: &mut [u32]) {
        match self {
            // SAFETY: as for one number.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => unsafe { x86::ranks_avx2(table, keys, ranks) },
            // SAFETY: likewise.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => unsafe { x86::ranks_avx512(table, keys, ranks) },
            _ => {
                keys.iter().zip(ranks).for_each(|(&key, rank)| *rank = table.rank_by(portable::Portable, key))
            }
        }
    }
}
