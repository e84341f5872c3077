//! Handing new snapshots to readers that never wait.
//!
//! The writer puts a snapshot behind a lock and raises a number. A reader compares the number with the one that it knows; only where it differs does it
//! try the lock. Where the writer holds it at that moment, the reader goes on with the snapshot that it has, and asks again next time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug)]
pub(super) struct Shared<T> {
    generation: AtomicU64,
    newest: Mutex<Arc<T>>,
}

impl<T> Shared<T> {
    pub(super) fn new(first: T) -> Arc<Self> {
        Arc::new(Shared { generation: AtomicU64::new(0), newest: Mutex::new(Arc::new(first)) })
    }

    /// Replaces the snapshot. Readers that hold the old one keep it until they ask again.
    pub(super) fn publish(&self, next: T) {
        let next = Arc::new(next);
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let old = std::mem::replace(&mut *newest, next);
        self.generation.fetch_add(1, Ordering::Release);
        drop(newest);
        // Perhaps the last to hold it: memory is freed with the lock released.
        drop(old);
    }

    pub(super) fn newest(&self) -> Arc<T> {
        Arc::clone(&self.newest.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A thread's view of what a writer publishes.
#[derive(Debug)]
pub struct Reader<T> {
    shared: Arc<Shared<T>>,
    known: Arc<T>,
    generation: u64,
}

impl<T> Reader<T> {
    pub(super) fn new(shared: &Arc<Shared<T>>) -> Self {
        // In this order: a snapshot published in between is then taken once more, and not missed.
        let generation = shared.generation.load(Ordering::Acquire);
        Reader { known: shared.newest(), shared: Arc::clone(shared), generation }
    }

    /// The newest snapshot, or the one before where a new one is being put in place right now. Ask once a batch.
    #[inline]
    pub fn get(&mut self) -> &T {
        let generation = self.shared.generation.load(Ordering::Acquire);
        if generation != self.generation {
            self.refresh(generation);
        }
        &self.known
    }

    #[cold]
    fn refresh(&mut self, generation: u64) {
        if let Ok(newest) = self.shared.newest.try_lock() {
            self.known = Arc::clone(&newest);
            self.generation = generation;
        }
    }
}

impl<T> Clone for Reader<T> {
    fn clone(&self) -> Self {
        Reader {
            shared: Arc::clone(&self.shared),
            known: Arc::clone(&self.known),
            generation: self.generation,
        }
    }
}
