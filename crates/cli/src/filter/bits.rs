//! Which packets of a batch a filter has chosen: a bit for each.

use capture::BATCH_MAX;

/// As many words as a batch needs at most.
pub(super) const WORDS: usize = BATCH_MAX.div_ceil(64);

/// The bits of so many packets, all set.
pub(super) fn all(packets: usize) -> [u64; WORDS] {
    let mut bits = [u64::MAX; WORDS];
    keep_first(&mut bits, packets as u64);
    bits
}

/// Clears all set bits but the first `keep`.
pub(super) fn keep_first(bits: &mut [u64; WORDS], mut keep: u64) {
    for word in bits {
        let mut kept = 0;
        while keep > 0 && *word != 0 {
            kept |= *word & word.wrapping_neg();
            *word &= *word - 1;
            keep -= 1;
        }
        *word = kept;
    }
}

/// The positions of the set bits, rising.
pub(super) fn set_bits(bits: &[u64]) -> impl Iterator<Item = usize> {
    bits.iter().enumerate().flat_map(|(i, &word)| {
        let mut word = word;
        std::iter::from_fn(move || {
            let bit = (word != 0).then(|| word.trailing_zeros() as usize)?;
            word &= word - 1;
            Some(64 * i + bit)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_visited_in_order() {
        assert_eq!(set_bits(&[1 << 3 | 1 << 63, 0, 1]).collect::<Vec<_>>(), [3, 63, 128]);
    }

    #[test]
    fn all_of_a_batch_are_set() {
        assert_eq!((all(0), all(65)), ([0; WORDS], [u64::MAX, 1, 0, 0]));
        assert_eq!(all(BATCH_MAX), [u64::MAX; WORDS]);
    }

    #[test]
    fn only_the_first_are_kept() {
        let mut bits = [0; WORDS];
        bits[0] = 0b1011;
        bits[1] = 0b1;
        keep_first(&mut bits, 2);
        assert_eq!(set_bits(&bits).collect::<Vec<_>>(), [0, 1]);
    }
}
