//! What differs from a set: disjoint pieces, each in or out, whatever the set says of their numbers.

use std::collections::BTreeMap;
use table::interval::Key;

/// Pieces by their first number: the last, and whether they are in.
#[derive(Clone, Debug)]
pub(crate) struct Overlay<K>(BTreeMap<K, (K, bool)>);

impl<K> Default for Overlay<K> {
    fn default() -> Self {
        Overlay(BTreeMap::new())
    }
}

impl<K: Key> Overlay<K> {
    /// How many pieces there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// These numbers are in, or out, whatever was known of them.
    pub(crate) fn put(&mut self, low: K, high: K, is_in: bool) {
        // One that begins before and reaches in is cut in two at `low`.
        if let Some((&start, &(end, was_in))) = self.0.range(..low).next_back()
            && end >= low
        {
            self.0.insert(start, (before(low), was_in));
            self.0.insert(low, (end, was_in));
        }
        // Those that begin within go, but for what lies behind `high`.
        while let Some((&start, &(end, was_in))) = self.0.range(low..=high).next() {
            self.0.remove(&start);
            if let Some(next) = high.above().filter(|&next| next <= end) {
                self.0.insert(next, (end, was_in));
            }
        }
        self.0.insert(low, (high, is_in));
    }

    pub(crate) fn pieces(&self) -> Vec<(K, K, bool)> {
        self.0.iter().map(|(&low, &(high, is_in))| (low, high, is_in)).collect()
    }
}

/// The number before one that is not the least.
fn before<K: Key>(key: K) -> K {
    key.below().expect("a number below it is known")
}
