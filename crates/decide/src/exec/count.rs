//! Counting the answers of a burst, with the instruction that is made for it where the processor has one.

/// How many bits are set.
///
/// PERF: without the instruction, counting takes a twentieth of the time in which a glance decides.
pub fn count_ones(words: &[u64]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("popcnt") {
        // SAFETY: the processor has what the function needs.
        return unsafe { counted(words) };
    }
    count(words)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
fn counted(words: &[u64]) -> usize {
    count(words)
}

#[inline(always)]
fn count(words: &[u64]) -> usize {
    words.iter().map(|word| word.count_ones() as usize).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_count_the_same() {
        let words = [0, 1, u64::MAX, 0x8000_0000_0000_0001, 0xaaaa_aaaa_aaaa_aaaa];
        for len in 0..=words.len() {
            assert_eq!(count_ones(&words[..len]), count(&words[..len]));
        }
        assert_eq!(count_ones(&words), 1 + 64 + 2 + 32);
    }
}
