//! Answers that were given before. Where a program reads nothing of the packet itself, its answer depends on the numbers that it is given, and flows have few
//! different ones: `app`, `state`, `from`. So the answer is looked up, in a table that is indexed by a hash of these numbers.

use crate::policy::Answer;

/// Numbers that are compared at most.
const KEY: usize = 8;
const ENTRIES: usize = 256;

/// A table of answers of one program.
#[derive(Clone, Debug)]
pub(super) struct Memo {
    /// The places of the numbers that the program reads, in its row.
    places: Vec<usize>,
    entries: Vec<([u32; KEY], Option<Answer>)>,
}

impl Memo {
    /// For a program that reads these places of its row, and nothing else; `None` if there are too many.
    pub(super) fn new(places: Vec<usize>) -> Option<Memo> {
        (places.len() <= KEY).then(|| Memo { places, entries: vec![([0; KEY], None); ENTRIES] })
    }

    /// The answer for a row: what was given before, or what `ask` gives.
    #[inline]
    pub(super) fn answer(&mut self, row: &[u32], ask: impl FnOnce() -> Answer) -> Answer {
        let mut key = [0; KEY];
        let mut hash = 0_u64;
        for (to, place) in key.iter_mut().zip(&self.places) {
            *to = row[*place];
            // As FxHash of the Rust compiler: no key is chosen by who sends packets but `flow_count`, and what collides is asked again.
            hash = (hash.rotate_left(5) ^ u64::from(*to)).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
        let entry = &mut self.entries[(hash >> 56) as usize % ENTRIES];
        match entry {
            (known, Some(answer)) if *known == key => *answer,
            entry => {
                let answer = ask();
                *entry = (key, Some(answer));
                answer
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_is_not_asked_again() {
        let mut memo = Memo::new(vec![2, 0]).unwrap();
        let mut asked = 0;
        for row in [[1, 5, 2], [1, 6, 2], [1, 5, 3], [1, 7, 3]] {
            let answer = memo.answer(&row, || {
                asked += 1;
                Answer::Rule(row[2])
            });
            assert_eq!(answer, Answer::Rule(row[2]));
        }
        assert_eq!(asked, 2);
        assert!(Memo::new(vec![0; 9]).is_none());
    }
}
