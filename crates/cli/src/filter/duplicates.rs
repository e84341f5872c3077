//! Packets that came shortly before, as `editcap -D` finds them.

use capture::Batch;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};

use super::bits::set_bits;

/// The packets of one filter that came last.
///
/// A packet is a duplicate if its bytes are those of one of the `window - 1` before it, whether or not these were duplicates. As editcap keeps a
/// hash of MD5, two hashes of 64 bits with keys of their own are kept of each: nobody makes two packets that have both in common.
#[derive(Clone, Debug)]
pub(super) struct Recent {
    window: usize,
    hashers: [RandomState; 2],
    /// Hashes of the packets, the latest last.
    recent: VecDeque<[u64; 2]>,
    /// The number of the last packet with a hash, of those.
    last: HashMap<[u64; 2], u64>,
    /// How many packets came.
    seen: u64,
}

impl Recent {
    /// Nothing has come; so many packets are compared, with the one at hand.
    pub(super) fn new(window: usize) -> Recent {
        let hashers = [RandomState::new(), RandomState::new()];
        Recent { window, hashers, recent: VecDeque::new(), last: HashMap::new(), seen: 0 }
    }

    /// Clears the bits of packets that are duplicates; returns how many were. Packets behind the first `max` that are none are not looked at, and
    /// their bits cleared.
    pub(super) fn clear(&mut self, bits: &mut [u64], batch: &Batch<'_>, max: u64) -> u64 {
        let wanted: Vec<usize> = set_bits(bits).collect();
        let (mut duplicates, mut kept) = (0, 0);
        for i in wanted {
            let is_behind = kept == max;
            if is_behind || self.is_duplicate(batch.data(&batch.packets()[i])) {
                bits[i / 64] &= !(1 << (i % 64));
                duplicates += u64::from(!is_behind);
            } else {
                kept += 1;
            }
        }
        duplicates
    }

    fn is_duplicate(&mut self, data: &[u8]) -> bool {
        if self.window < 2 {
            return false;
        }
        // The length is part of what is hashed.
        let hash = [0, 1].map(|i: usize| self.hashers[i].hash_one(data));
        let number = self.seen;
        self.seen += 1;
        let before = self.last.insert(hash, number);
        self.recent.push_back(hash);
        if self.recent.len() == self.window {
            let first = number + 1 - self.window as u64;
            if let Some(gone) = self.recent.pop_front()
                && self.last.get(&gone) == Some(&first)
            {
                self.last.remove(&gone);
            }
        }
        before.is_some_and(|before| number - before < self.window as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the rule as it is told.
    #[test]
    fn a_duplicate_is_one_of_so_many_before() {
        let packets: Vec<[u8; 1]> =
            (0..3_000_u32).map(|i| [(i.wrapping_mul(2_654_435_761) >> 27) as u8]).collect();
        for window in [0, 1, 2, 3, 5, 17, 40, 5_000] {
            let mut recent = Recent::new(window);
            for (i, packet) in packets.iter().enumerate() {
                let before = &packets[i.saturating_sub(window.saturating_sub(1))..i];
                assert_eq!(recent.is_duplicate(packet), before.contains(packet), "{i} within {window}");
                assert!(recent.recent.len() < window.max(1) && recent.last.len() <= recent.recent.len());
            }
        }
    }
}
