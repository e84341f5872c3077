//! How many of these words have bit 0, how many bit 1, …? Counted for all 64 bits together.
//!
//! Eight words are first added as columns: a carry-save adder makes of three words a sum and a carry, each 64 adders wide, so that of eight words
//! one word of "eights" is left (Harley and Seal's method). Only these are spread into counters, a byte for each bit.

/// Counts of a stream of words.
#[derive(Default)]
pub(super) struct BitCounts {
    ones: u64,
    twos: u64,
    fours: u64,
    /// Eights of bit `8 * byte + i` in byte `byte` of word `i`.
    eights: [u64; 8],
    spread: u32,
    totals: Box<Totals>,
}

struct Totals([u32; 64]);

impl Default for Totals {
    fn default() -> Self {
        Totals([0; 64])
    }
}

/// Sum and carry of three bits, in each of 64 columns.
#[inline(always)]
fn add(a: u64, b: u64, c: u64) -> (u64, u64) {
    let half = a ^ b;
    (half ^ c, a & b | half & c)
}

impl BitCounts {
    /// For each bit, how many of these items have it.
    pub(super) fn count<T: Copy>(&mut self, items: &[T], of: impl Fn(T) -> u64, counts: &mut [u32; 64]) {
        let (blocks, rest) = items.as_chunks::<8>();
        for block in blocks {
            self.add_eight(block.map(&of));
        }
        if !rest.is_empty() {
            let mut last = [0; 8];
            last.iter_mut().zip(rest).for_each(|(last, &item)| *last = of(item));
            self.add_eight(last);
        }
        self.take(counts);
    }

    /// Adds eight words.
    #[inline(always)]
    fn add_eight(&mut self, words: [u64; 8]) {
        let [a, b, c, d, e, f, g, h] = words;
        let (ones, twos_0) = add(self.ones, a, b);
        let (ones, twos_1) = add(ones, c, d);
        let (ones, twos_2) = add(ones, e, f);
        let (ones, twos_3) = add(ones, g, h);
        let (twos, fours_0) = add(self.twos, twos_0, twos_1);
        let (twos, fours_1) = add(twos, twos_2, twos_3);
        let (fours, eights) = add(self.fours, fours_0, fours_1);
        (self.ones, self.twos, self.fours) = (ones, twos, fours);
        for (i, bytes) in self.eights.iter_mut().enumerate() {
            *bytes += eights >> i & 0x0101_0101_0101_0101;
        }
        self.spread += 1;
        if self.spread == 255 {
            self.flush();
        }
    }

    /// Moves the bytes into the totals, before one overflows.
    fn flush(&mut self) {
        for (i, bytes) in self.eights.iter_mut().enumerate() {
            for (byte, count) in bytes.to_le_bytes().into_iter().enumerate() {
                self.totals.0[8 * byte + i] += 8 * u32::from(count);
            }
            *bytes = 0;
        }
        self.spread = 0;
    }

    /// Takes the counts, and begins anew.
    fn take(&mut self, counts: &mut [u32; 64]) {
        self.flush();
        for (bit, count) in counts.iter_mut().enumerate() {
            let low = (self.ones >> bit & 1) + 2 * (self.twos >> bit & 1) + 4 * (self.fours >> bit & 1);
            *count = self.totals.0[bit] + low as u32;
        }
        self.totals.0 = [0; 64];
        (self.ones, self.twos, self.fours) = (0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agree_with_counting_bit_by_bit() {
        let mut counts = BitCounts::default();
        for blocks in [0_u64, 1, 2, 254, 255, 256, 600] {
            let words: Vec<u64> =
                (0..8 * blocks).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1).collect();
            words.as_chunks::<8>().0.iter().for_each(|&eight| counts.add_eight(eight));
            let mut found = [7; 64];
            counts.take(&mut found);
            for (bit, &found) in found.iter().enumerate() {
                let expected = words.iter().filter(|&word| word >> bit & 1 == 1).count();
                assert_eq!(found as usize, expected, "{blocks} {bit}");
            }
        }
    }
}
