//! All instruction sets of this processor against one rule at a time.

use super::*;

/// Compares `probe`'s fields with a group, in any instruction set.
struct Compare<'a, const R: usize, const T: usize> {
    words: &'a [u32],
    count: usize,
    key: ([u32; R], u32, [u32; T]),
}

impl<const R: usize, const T: usize> Task for Compare<'_, R, T> {
    type Output = u32;

    fn run<L: Lanes>(self, lanes: L) -> u32 {
        let (ranges, ports, ternary) = self.key;
        lanes.matches(self.words, self.count, &lanes.probe(ranges, ports, ternary))
    }
}

struct Extract(u64, u64);

impl Task for Extract {
    type Output = u64;

    fn run<L: Lanes>(self, lanes: L) -> u64 {
        lanes.extract(self.0, self.1)
    }
}

/// Numbers from a seed (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Mostly numbers that meet each other.
    fn word(&mut self) -> u32 {
        let n = self.next();
        match n % 8 {
            0 => 0,
            1 => u32::MAX,
            2 => n as u32,
            _ => (n >> 32) as u32 & 0x0003_0003,
        }
    }
}

/// One rule, by the definition.
fn holds<const R: usize, const T: usize>(
    words: &[u32],
    count: usize,
    rule: usize,
    key: &([u32; R], u32, [u32; T]),
) -> bool {
    let row = |index: usize| words[index * count + rule];
    let range = |i: usize| key.0[i].wrapping_sub(row(2 * i)) <= row(2 * i + 1);
    let port = |shift: u32| {
        let field = |word: u32| (word >> shift) as u16;
        field(key.1).wrapping_sub(field(row(2 * R))) <= field(row(2 * R + 1))
    };
    let ternary = |i: usize| (key.2[i] ^ row(2 * (R + 1 + i))) & row(2 * (R + 1 + i) + 1) == 0;
    (0..R).all(range) && port(0) && port(16) && (0..T).all(ternary)
}

fn check<const R: usize, const T: usize>(seed: u64) {
    let mut numbers = Numbers(seed);
    let mut matched = 0;
    for round in 0..if cfg!(miri) { 40 } else { 20_000 } {
        let count = round % (GROUP + 1);
        let words: Vec<u32> = (0..(rows(R, T) - 1) * count + PADDING).map(|_| numbers.word()).collect();
        let key = ([(); R].map(|()| numbers.word()), numbers.word(), [(); T].map(|()| numbers.word()));
        let expected = (0..count).fold(0, |bits, i| bits | u32::from(holds(&words, count, i, &key)) << i);
        matched += expected.count_ones();
        for isa in Isa::ALL.into_iter().filter(|isa| isa.is_here()) {
            assert_eq!(
                run(isa, Compare { words: &words, count, key }),
                expected,
                "{isa:?} {count} {words:x?}"
            );
        }
    }
    assert!(matched > 10, "some rules match: {matched}");
}

#[test]
fn instruction_sets_agree_with_the_definition() {
    for isa in Isa::ALL.into_iter().filter(|isa| !isa.is_here()) {
        println!("skipped: this processor has no {}", isa.name());
    }
    check::<2, 1>(1);
    check::<0, 2>(2);
    check::<1, 1>(3);
    check::<0, 1>(4);
}

#[test]
#[should_panic = "range end index"]
fn words_that_are_too_short_are_refused() {
    let words = [0; 16];
    run(Isa::best(), Compare { words: &words, count: 16, key: ([0; 2], 0, [0; 1]) });
}

#[test]
fn extracting_bits_is_bit_by_bit() {
    let mut numbers = Numbers(5);
    let masks = [0, 1, u64::MAX, 1 << 63, 0xffff_0000_0000_ffff, 0x5555_5555_5555_5555];
    for mask in masks.into_iter().chain((0..100).map(|_| numbers.next() & numbers.next()).collect::<Vec<_>>())
    {
        let word = numbers.next();
        let chosen = (0..64).filter(|bit| mask >> bit & 1 == 1);
        let expected = chosen.enumerate().fold(0, |bits, (at, bit)| bits | (word >> bit & 1) << at);
        for isa in Isa::ALL.into_iter().filter(|isa| isa.is_here()) {
            assert_eq!(run(isa, Extract(word, mask)), expected, "{isa:?} {mask:x}");
        }
    }
}
