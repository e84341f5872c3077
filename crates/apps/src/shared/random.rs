//! Random numbers for loss, jitter and sampling: the same from the same seed, on every machine.
//!
//! SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014). Not for secrets.

/// A generator.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// The generator of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number from 0, and below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }

    /// A number from 0, and below 1: a multiple of 2^-53.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True with this probability.
    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn chances_are_as_stated() {
        let mut random = Random::new(1);
        let hits = |random: &mut Random, chance| (0..10_000).filter(|_| random.chance(chance)).count();
        assert_eq!((hits(&mut random, 0.0), hits(&mut random, 1.0)), (0, 10_000));
        assert!((2_850..3_150).contains(&hits(&mut random, 0.3)));
    }

    #[test]
    fn a_seed_says_it_all() {
        let draw = |seed| (0..4).map(|_| Random::new(seed).unit()).collect::<Vec<_>>();
        assert_eq!(draw(5), draw(5));
        assert_ne!(draw(5), draw(6));
    }
}
