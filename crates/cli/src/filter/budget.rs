//! How much finished output may wait for its turn: bytes, over all inputs.
//!
//! A chunk is as long as its longest batch, which may be 16 MiB, so that a number of chunks bounds nothing. The input that is being
//! written may always add one when it has none waiting: whatever the others hold, the output goes on.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// What may wait. Ordinary chunks are 64 times smaller.
const BYTES_MAX: usize = 16 << 20;

/// Bytes that wait, of each input.
#[derive(Debug)]
pub(super) struct Budget {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug)]
struct Waiting {
    /// For each input.
    bytes: Vec<usize>,
    total: usize,
    /// The input that is being written; beyond the last, nobody waits any more.
    current: usize,
}

impl Budget {
    /// For a number of inputs.
    pub(super) fn new(inputs: usize) -> Budget {
        let waiting = Waiting { bytes: vec![0; inputs], total: 0, current: 0 };
        Budget { waiting: Mutex::new(waiting), changed: Condvar::new() }
    }

    /// Waits until this input may have this number of bytes more waiting.
    pub(super) fn add(&self, input: usize, bytes: usize) {
        let mut waiting = self
            .changed
            .wait_while(self.lock(), |waiting| !waiting.has_room(input, bytes))
            .unwrap_or_else(PoisonError::into_inner);
        waiting.bytes[input] += bytes;
        waiting.total += bytes;
    }

    /// This number of bytes of this input was written.
    pub(super) fn remove(&self, input: usize, bytes: usize) {
        let mut waiting = self.lock();
        waiting.bytes[input] -= bytes;
        waiting.total -= bytes;
        self.changed.notify_all();
    }

    /// Waits until it is the turn of this input, or was: before it takes much memory.
    pub(super) fn wait_for_turn(&self, input: usize) {
        let _waited = self.changed.wait_while(self.lock(), |waiting| waiting.current < input);
    }

    /// It is the turn of this input.
    pub(super) fn turn_to(&self, input: usize) {
        self.lock().current = input;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn has_room(&self, input: usize, bytes: usize) -> bool {
        let is_turn = input == self.current && self.bytes[input] == 0;
        self.total + bytes <= BYTES_MAX || is_turn || self.current >= self.bytes.len()
    }
}

/// Lets all go on when nothing is written any more, for whatever reason.
pub(super) struct Open<'a>(pub(super) &'a Budget);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.turn_to(usize::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    fn has_room(budget: &Budget, input: usize, bytes: usize) -> bool {
        budget.lock().has_room(input, bytes)
    }

    #[test]
    fn the_input_that_is_written_always_goes_on() {
        let budget = Budget::new(3);
        budget.add(1, BYTES_MAX);
        assert!(!has_room(&budget, 2, 1) && !has_room(&budget, 1, 1));
        assert!(has_room(&budget, 0, 9 * BYTES_MAX), "whatever the others hold");
        budget.add(0, 7);
        assert!(!has_room(&budget, 0, 1), "it has one waiting");
        budget.remove(0, 7);
        budget.turn_to(1);
        assert!(!has_room(&budget, 0, 1) && !has_room(&budget, 1, 1));
        budget.remove(1, BYTES_MAX);
        assert!(has_room(&budget, 2, BYTES_MAX) && !has_room(&budget, 2, BYTES_MAX + 1));
    }

    #[test]
    fn an_input_that_waits_for_its_turn_gets_it() {
        let budget = Budget::new(3);
        budget.wait_for_turn(0);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| budget.wait_for_turn(1));
            std::thread::sleep(std::time::Duration::from_millis(10));
            assert!(!waits.is_finished());
            budget.turn_to(1);
        });
        budget.wait_for_turn(1);
        drop(Open(&budget));
        budget.wait_for_turn(2);
    }

    #[test]
    fn who_waits_goes_on_when_there_is_room_and_when_all_is_over() {
        let budget = Budget::new(2);
        budget.add(1, BYTES_MAX);
        std::thread::scope(|scope| {
            let (begun, all_begun) = channel();
            for begun in [begun.clone(), begun] {
                let budget = &budget;
                scope.spawn(move || {
                    let _ = begun.send(());
                    budget.add(1, BYTES_MAX);
                });
            }
            all_begun.iter().take(2).for_each(drop);
            budget.remove(1, BYTES_MAX);
            drop(Open(&budget));
        });
        assert_eq!(budget.lock().total, 2 * BYTES_MAX);
    }
}
