//! Domains: the possible values of a value at one place of the graph, an interval, and where there are few candidates, all of them.
//!
//! The candidates are what a join keeps of "ARP on this side, RARP on that": an interval would let everything
//! between the two in.

use super::range::Range;

/// Up to this many candidates are kept one by one.
const FEW: usize = 4;

/// The values that are possible; never none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Domain {
    pub(super) low: u32,
    pub(super) high: u32,
    /// Ascending; only the first `len` count. None where only the interval is known.
    few: [u32; FEW],
    len: u8,
}

impl Domain {
    /// Exactly this.
    pub(super) fn one(k: u32) -> Domain {
        Domain { low: k, high: k, few: [k, 0, 0, 0], len: 1 }
    }

    /// Everything from `low` to `high`.
    pub(super) fn interval(low: u32, high: u32) -> Domain {
        if low == high { Domain::one(low) } else { Domain { low, high, few: [0; FEW], len: 0 } }
    }

    /// The constant that the value must be.
    pub(super) fn constant(&self) -> Option<u32> {
        (self.low == self.high).then_some(self.low)
    }

    /// All candidates, where they are few.
    pub(super) fn candidates(&self) -> Option<&[u32]> {
        (self.len > 0).then(|| &self.few[..usize::from(self.len)])
    }

    /// Whether `k` is possible.
    pub(super) fn may_be(&self, k: u32) -> bool {
        self.low <= k && k <= self.high && self.candidates().is_none_or(|few| few.contains(&k))
    }

    /// The answer to a question about the value, where all candidates agree on it.
    pub(super) fn agreed(&self, question: impl Fn(u32) -> bool) -> Option<bool> {
        let (first, rest) = self.candidates()?.split_first()?;
        let answer = question(*first);
        rest.iter().all(|&k| question(k) == answer).then_some(answer)
    }

    /// The domain on either of two paths.
    pub(super) fn union(&self, other: &Domain) -> Domain {
        let both = self.candidates().zip(other.candidates());
        both.and_then(|(a, b)| Domain::of(a.iter().chain(b).copied()))
            .unwrap_or_else(|| Domain::interval(self.low.min(other.low), self.high.max(other.high)))
    }

    /// The part of the domain within an interval. (Nothing would mean a path that no packet takes: then unchanged.)
    pub(super) fn within(&self, Range { low, high }: Range) -> Domain {
        let (low, high) = (self.low.max(low), self.high.min(high));
        match self.candidates() {
            _ if low > high => *self,
            Some(few) => {
                Domain::of(few.iter().copied().filter(|k| (low..=high).contains(k))).unwrap_or(*self)
            }
            None => Domain::interval(low, high),
        }
    }

    /// The domain without `k`.
    pub(super) fn without(&self, k: u32) -> Domain {
        match self.candidates() {
            Some(few) => Domain::of(few.iter().copied().filter(|&x| x != k)).unwrap_or(*self),
            None if self.low == k => Domain::interval(k + 1, self.high),
            None if self.high == k => Domain::interval(self.low, k - 1),
            None => *self,
        }
    }

    /// The domain of these candidates, unless there are none or too many.
    fn of(candidates: impl Iterator<Item = u32>) -> Option<Domain> {
        let (mut few, mut len) = ([0; FEW], 0);
        for k in candidates {
            let at = few[..len].partition_point(|&x| x < k);
            if at < len && few[at] == k {
                continue;
            }
            if len == FEW {
                return None;
            }
            few.copy_within(at..len, at + 1);
            few[at] = k;
            len += 1;
        }
        (len > 0).then(|| Domain { low: few[0], high: few[len - 1], few, len: len as u8 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_candidates_survive_a_join_and_many_become_an_interval() {
        let two = Domain::one(0x806).union(&Domain::one(0x8035));
        assert!(two.may_be(0x806) && two.may_be(0x8035) && !two.may_be(0x807));
        assert_eq!(two.without(0x806), Domain::one(0x8035));
        let four = two.union(&Domain::one(9).union(&Domain::one(5)));
        assert_eq!(four.candidates(), Some(&[5, 9, 0x806, 0x8035][..]));
        assert_eq!(four.union(&Domain::one(7)), Domain::interval(5, 0x8035));
        assert_eq!(four.within(Range { low: 6, high: 0x900 }).candidates(), Some(&[9, 0x806][..]));
    }

    #[test]
    fn candidates_answer_where_they_agree() {
        let both = Domain::one(6).union(&Domain::one(2));
        assert_eq!(both.agreed(|k| k & 2 != 0), Some(true));
        assert_eq!(both.agreed(|k| k & 4 != 0), None);
    }
}
