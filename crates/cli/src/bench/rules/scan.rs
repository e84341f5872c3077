//! The reference: rules one after the other, until one matches. It shares no code with the structure that is measured but the definition of a match.
//!
//! The addresses of 64 rules are compared first, as columns, since most rules fail there; what is left is asked of each rule. Headers go through a
//! block of rules together, so that a million rules come from memory once.

use classify::rules::{Key, NO_RULE, Rule};
use std::thread;

/// Headers that are compared at least, if there are so many.
const LEAST: usize = 10_000;
/// Rules times headers that are compared beyond that.
const WORK: usize = 400_000_000;
/// Rules of a block.
const BLOCK: usize = 64;

/// How many headers are compared: the first so many of an even sample.
pub(super) fn sample_len(rules: usize, headers: usize) -> usize {
    (WORK / rules.max(1)).max(LEAST).min(headers)
}

/// The addresses of 64 rules, as lows and spans.
struct Block<'a> {
    columns: [[u32; BLOCK]; 4],
    rules: &'a [Rule<u32>],
    /// The number of the first.
    first: usize,
}

impl<'a> Block<'a> {
    fn new(rules: &'a [Rule<u32>], first: usize) -> Self {
        let mut columns = [[0; BLOCK]; 4];
        for (i, rule) in rules.iter().enumerate() {
            let span = |range: &std::ops::RangeInclusive<u32>| range.end().wrapping_sub(*range.start());
            let row = [*rule.src.start(), span(&rule.src), *rule.dst.start(), span(&rule.dst)];
            columns.iter_mut().zip(row).for_each(|(column, word)| column[i] = word);
        }
        Block { columns, rules, first }
    }

    /// The first rule of the block that matches.
    fn find(&self, key: &Key<u32>) -> Option<usize> {
        let [src, src_span, dst, dst_span] = &self.columns;
        let mut near = [false; BLOCK];
        for i in 0..BLOCK {
            near[i] =
                (key.src.wrapping_sub(src[i]) <= src_span[i]) & (key.dst.wrapping_sub(dst[i]) <= dst_span[i]);
        }
        let mut rules = self.rules.iter().zip(near).enumerate();
        rules.find(|(_, (rule, is_near))| *is_near && rule.contains(key)).map(|(i, _)| self.first + i)
    }
}

/// How many answers differ from a linear scan, of an even sample of the headers.
pub(super) fn mismatches(rules: &[Rule<u32>], headers: &[Key<u32>], answers: &[u32]) -> u64 {
    let count = sample_len(rules.len(), headers.len());
    let at = |i: usize| i * headers.len() / count;
    let sample: Vec<(&Key<u32>, u32)> = (0..count).map(|i| (&headers[at(i)], answers[at(i)])).collect();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let parts = sample.chunks(count.div_ceil(threads).max(1));
        let parts: Vec<_> = parts.map(|part| scope.spawn(move || differing(rules, part))).collect();
        parts.into_iter().map(|part| part.join().expect("a scan does not panic")).sum()
    })
}

fn differing(rules: &[Rule<u32>], sample: &[(&Key<u32>, u32)]) -> u64 {
    let mut found = vec![None; sample.len()];
    for (i, block) in rules.chunks(BLOCK).enumerate() {
        let block = Block::new(block, i * BLOCK);
        for ((key, _), found) in sample.iter().zip(&mut found).filter(|(_, found)| found.is_none()) {
            *found = block.find(key);
        }
    }
    let is_same = |answer: u32, found: Option<usize>| found.map_or(NO_RULE, |rule| rule as u32) == answer;
    sample.iter().zip(found).filter(|((_, answer), found)| !is_same(*answer, *found)).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use classify::rules::{generate, linear, points};

    #[test]
    fn the_scan_is_that_of_the_library() {
        let rules = generate::rules(300, 1);
        let headers: Vec<Key<u32>> =
            points(&rules, 1).take(500).chain(generate::random_headers(1).take(500)).collect();
        let of = |key| linear(&rules, key, |_| false).map_or(NO_RULE, |rule| rule as u32);
        let mut answers: Vec<u32> = headers.iter().map(of).collect();
        assert_eq!(mismatches(&rules, &headers, &answers), 0);
        answers[17] = answers[17].wrapping_add(1);
        answers[900] = 0;
        assert_eq!(mismatches(&rules, &headers, &answers), 2);
    }
}
