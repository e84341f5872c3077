//! SplitMix64: eight lines, no dependency, the same numbers on every machine for ever.
//!
//! Reference: Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (2014).

/// A pseudo-random generator that is fully described by its seed.
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// A generator for `seed`.
    pub fn new(seed: u64) -> Self {
        Rng(seed)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The next 32 bits.
    pub fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    /// A number below `bound`, which must not be zero.
    pub fn below(&mut self, bound: usize) -> usize {
        assert!(bound > 0, "there is no number below zero");
        (self.next_u64() % bound as u64) as usize
    }

    /// True `numerator` times in `denominator`.
    pub fn chance(&mut self, numerator: usize, denominator: usize) -> bool {
        self.below(denominator) < numerator
    }

    /// One of `items`, which must not be empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// A generator of its own for the part called `label`, so that adding draws in one part leaves the others alone.
    pub fn fork(&mut self, label: u64) -> Rng {
        Rng(self.next_u64() ^ label.wrapping_mul(0x2545_f491_4f6c_dd1d))
    }
}
