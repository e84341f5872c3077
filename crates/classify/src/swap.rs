//! One value in the place of another, while threads read.
//!
//! ```text
//! publish(new)     lock; current = new; generation += 1; unlock
//! reader.get()     if the generation is another than mine, and nobody holds the lock: mine = current
//! ```
//! A reader keeps the value that it saw last, and looks at one number to learn that there is another. It takes the lock only then, and only if
//! it is free: while a writer publishes, which takes some instructions, readers go on with what they have. So readers never wait, a value is
//! whole or not there, and an old one is freed when its last reader has moved on.

use crate::sync::{Arc, AtomicU64, Mutex, Ordering};

/// A value that can be replaced.
#[derive(Debug)]
pub struct Swap<T>(Arc<Shared<T>>);

#[derive(Debug)]
struct Shared<T> {
    generation: AtomicU64,
    current: Mutex<Arc<T>>,
}

impl<T> Clone for Swap<T> {
    fn clone(&self) -> Self {
        Swap(Arc::clone(&self.0))
    }
}

impl<T> Swap<T> {
    /// The first value.
    pub fn new(first: T) -> Self {
        let current = Mutex::new(Arc::new(first));
        Swap(Arc::new(Shared { generation: AtomicU64::new(0), current }))
    }

    /// Replaces the value. Returns the number of replacements so far.
    pub fn publish(&self, new: T) -> u64 {
        let new = Arc::new(new);
        let mut current = lock(&self.0.current);
        // The old one is freed behind the lock, should nobody read it any more.
        let old = std::mem::replace(&mut *current, new);
        // Within the lock, so that generations and values have one order. Released for readers that see it.
        let generation = self.0.generation.fetch_add(1, Ordering::Release) + 1;
        drop(current);
        drop(old);
        generation
    }

    /// A reader, which begins with the present value.
    #[must_use]
    pub fn reader(&self) -> Reader<T> {
        let current = lock(&self.0.current);
        let generation = self.0.generation.load(Ordering::Acquire);
        let mine = Arc::clone(&current);
        drop(current);
        Reader { shared: Arc::clone(&self.0), generation, mine }
    }
}

/// One thread's view of a [`Swap`].
#[derive(Debug)]
pub struct Reader<T> {
    shared: Arc<Shared<T>>,
    generation: u64,
    mine: Arc<T>,
}

impl<T> Clone for Reader<T> {
    fn clone(&self) -> Self {
        let (shared, mine) = (Arc::clone(&self.shared), Arc::clone(&self.mine));
        Reader { shared, generation: self.generation, mine }
    }
}

impl<T> Reader<T> {
    /// The newest value that can be had without waiting. Ask once a burst, so that a burst is judged by one value.
    #[inline]
    pub fn get(&mut self) -> &T {
        if self.shared.generation.load(Ordering::Acquire) != self.generation {
            self.renew();
        }
        &self.mine
    }

    #[cold]
    fn renew(&mut self) {
        if let Ok(current) = self.shared.current.try_lock() {
            self.generation = self.shared.generation.load(Ordering::Acquire);
            self.mine = Arc::clone(&current);
        }
    }

    /// The number of changes that it has seen.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }
}

#[cfg(not(loom))]
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // Nothing panics while it is held.
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(loom)]
fn lock<T>(mutex: &Mutex<T>) -> loom::sync::MutexGuard<'_, T> {
    mutex.lock().expect("nothing panics while it is held")
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_reader_sees_what_was_published() {
        let swap = Swap::new(1);
        let mut reader = swap.reader();
        assert_eq!((*reader.get(), reader.generation()), (1, 0));
        assert_eq!(swap.publish(2), 1);
        assert_eq!((*reader.get(), reader.generation()), (2, 1));
        assert_eq!(*swap.reader().get(), 2);
    }

    #[test]
    fn an_old_value_is_freed_with_its_last_reader() {
        let value = std::sync::Arc::new(());
        let swap = Swap::new(Some(std::sync::Arc::clone(&value)));
        let mut reader = swap.reader();
        swap.publish(None);
        assert_eq!(std::sync::Arc::strong_count(&value), 2);
        assert!(reader.get().is_none());
        assert_eq!(std::sync::Arc::strong_count(&value), 1);
    }

    #[test]
    fn readers_go_on_while_the_lock_is_held() {
        let swap = Swap::new(1);
        let mut reader = swap.reader();
        swap.publish(2);
        let held = lock(&swap.0.current);
        assert_eq!(*reader.get(), 1, "the old value, at once");
        drop(held);
        assert_eq!(*reader.get(), 2);
    }
}
