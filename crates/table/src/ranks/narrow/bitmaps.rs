//! Dense chunks: a bitmap of boundaries with a running count beside each word, so that no list, however its numbers were chosen, makes a look-up longer.

/// 64 numbers of a dense chunk.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Word {
    /// Which of them are boundaries.
    bits: u64,
    /// The rank of what lies before the first of them.
    before: u32,
}

/// Words of a chunk of `2^low_bits` numbers.
pub(super) const fn words_of(low_bits: u32) -> usize {
    1 << (low_bits - 6)
}

/// Adds a chunk of these boundaries, before which there are `before` others; gives the place of its first word.
pub(super) fn push(words: &mut Vec<Word>, lows: &[u16], low_bits: u32, mut before: u32) -> u32 {
    let first = words.len();
    words.resize(first + words_of(low_bits), Word::default());
    for &low in lows {
        words[first + usize::from(low >> 6)].bits |= 1 << (low & 63);
    }
    for word in &mut words[first..] {
        word.before = before;
        before += word.bits.count_ones();
    }
    first as u32
}

/// Where the word of a number lies in a chunk.
#[inline(always)]
pub(super) fn place(first: usize, low: u32) -> usize {
    first + (low >> 6) as usize
}

/// The rank of a number whose chunk begins at `first`.
#[inline(always)]
pub(super) fn rank(words: &[Word], first: usize, low: u32) -> u32 {
    find(words, first, low).0
}

/// The rank of a number, and whether it is a boundary itself.
#[inline(always)]
pub(super) fn find(words: &[Word], first: usize, low: u32) -> (u32, bool) {
    let word = words[place(first, low)];
    let bits = word.bits & (u64::MAX >> (63 - (low & 63)));
    (word.before + bits.count_ones(), word.bits >> (low & 63) & 1 == 1)
}
