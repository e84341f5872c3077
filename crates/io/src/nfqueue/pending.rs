//! Packets of which the kernel waits to hear.

use std::collections::{HashMap, VecDeque};

/// What is known of a packet that has not been answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    /// The mark that it has.
    pub(super) mark: u32,
    /// Whether its bytes came whole.
    pub(super) is_whole: bool,
    /// The hash of its bytes, if a checksum is missing in them that only the kernel can complete.
    pub(super) unfinished: Option<u64>,
}

/// All of them. There are no more than the kernel's queue holds.
#[derive(Debug, Default)]
pub(super) struct Pending {
    waiting: HashMap<u32, Waiting>,
    /// Number and time of each that came, in that order; those that were answered meanwhile too.
    order: VecDeque<(u32, u64)>,
}

impl Pending {
    /// Notes one that came.
    pub(super) fn add(&mut self, id: u32, now_ns: u64, waiting: Waiting) {
        self.waiting.insert(id, waiting);
        self.order.push_back((id, now_ns));
    }

    /// Takes one out, which is being answered. `None` if it was answered already.
    pub(super) fn take(&mut self, id: u32) -> Option<Waiting> {
        let waiting = self.waiting.remove(&id);
        while self.order.front().is_some_and(|(first, _)| !self.waiting.contains_key(first)) {
            self.order.pop_front();
        }
        waiting
    }

    /// Takes the next one out that came before a time.
    pub(super) fn take_older(&mut self, than_ns: u64) -> Option<u32> {
        let (id, _) = *self.order.front().filter(|(_, came_ns)| *came_ns < than_ns)?;
        self.take(id);
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAITING: Waiting = Waiting { mark: 0, is_whole: true, unfinished: None };

    #[test]
    fn each_is_answered_once_and_the_oldest_first() {
        let mut pending = Pending::default();
        for id in 1..=4 {
            pending.add(id, u64::from(id) * 10, WAITING);
        }
        assert_eq!((pending.take(2), pending.take(2), pending.take(9)), (Some(WAITING), None, None));
        assert_eq!([25, 25, 35, 35].map(|ns| pending.take_older(ns)), [Some(1), None, Some(3), None]);
        assert_eq!((pending.take_older(u64::MAX), pending.take_older(u64::MAX)), (Some(4), None));
        assert!(pending.order.is_empty() && pending.waiting.is_empty());
    }
}
