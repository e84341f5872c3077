//! Several workers that run one program: a thread and a Lua state each, with queues of packets between them.
//!
//! A queue has one sender and one receiver, as a link does. Packets that a worker frees are its own from then on; one that has many more than it
//! has asked for puts them into the stock of the team, from which others take.

use super::core::{Core, STEP};
use super::layout::{Link, RawPacket};
use std::cell::UnsafeCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Packets that a queue holds.
const CAPACITY: usize = 4096;

/// What the workers of a program share.
#[derive(Default)]
pub(crate) struct Team {
    queues: Mutex<HashMap<String, Arc<Queue>>>,
    /// Free packets, as addresses, `STEP` at a time.
    stock: Mutex<Vec<Vec<Free>>>,
    stop: AtomicBool,
    /// Whether native apps of any worker read metadata.
    stamps: AtomicBool,
}

/// A free packet, which belongs to whoever has it here.
struct Free(*mut RawPacket);

// SAFETY: whoever has it is the only one that does.
unsafe impl Send for Free {}

/// A ring with a sender and a receiver on two threads. Positions count up for ever.
pub(super) struct Queue {
    sent: Position,
    received: Position,
    slots: Box<[UnsafeCell<*mut RawPacket>]>,
}

/// A position that one side writes, on a cache line of its own.
#[repr(align(128))]
#[derive(Default)]
struct Position(AtomicUsize);

// SAFETY: slots between `received` and `sent` are the receiver's, all others the sender's; each side publishes with release and reads with acquire.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

impl Team {
    /// Makes the programs of all workers end their `main`.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The queue of a link, which the side that comes first makes.
    pub(super) fn queue(&self, link: &str) -> Arc<Queue> {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.entry(link.to_owned()).or_default().clone()
    }
}

impl Default for Queue {
    fn default() -> Self {
        let slots = (0..CAPACITY).map(|_| UnsafeCell::new(std::ptr::null_mut())).collect();
        Queue { sent: Position::default(), received: Position::default(), slots }
    }
}

impl Queue {
    /// Moves the packets of a link into the queue; what has no room stays in the link.
    ///
    /// # Safety
    /// The link is one of this thread's engine. One thread sends.
    pub(super) unsafe fn send(&self, link: *mut Link) {
        // SAFETY: as the caller says.
        let link = unsafe { &mut *link };
        let sent = self.sent.0.load(Ordering::Relaxed);
        let room = CAPACITY - sent.wrapping_sub(self.received.0.load(Ordering::Acquire));
        let count = room.min(link.waiting());
        for index in 0..count {
            // SAFETY: the slot is ours until it is published.
            unsafe { *self.slots[sent.wrapping_add(index) % CAPACITY].get() = link.take() };
        }
        self.sent.0.store(sent.wrapping_add(count), Ordering::Release);
    }

    /// Moves packets of the queue into a link, as many as have room, and at most `max`.
    ///
    /// # Safety
    /// The link is one of this thread's engine. One thread receives.
    pub(super) unsafe fn receive(&self, link: *mut Link, max: usize) -> usize {
        // SAFETY: as the caller says.
        let link = unsafe { &mut *link };
        let received = self.received.0.load(Ordering::Relaxed);
        let waiting = self.sent.0.load(Ordering::Acquire).wrapping_sub(received);
        let count = waiting.min(link.room()).min(max);
        let mut bytes = 0;
        for index in 0..count {
            // SAFETY: the slot was published, and is ours until we publish.
            let packet = unsafe { *self.slots[received.wrapping_add(index) % CAPACITY].get() };
            // SAFETY: a packet in a queue is one.
            bytes += u64::from(unsafe { (*packet).length });
            link.put(packet);
        }
        self.received.0.store(received.wrapping_add(count), Ordering::Release);
        link.count_sent(count, bytes);
        count
    }
}

/// A worker's place in its team.
pub(super) struct Member {
    pub(super) team: Arc<Team>,
    pub(super) worker: usize,
    pub(super) workers: usize,
    /// The queues that Lua knows the addresses of.
    queues: Vec<Arc<Queue>>,
}

impl Core {
    /// Makes the engine that of a worker, the first of which is 1.
    pub(crate) fn join(&mut self, team: &Arc<Team>, worker: usize, workers: usize) {
        self.member = Some(Member { team: Arc::clone(team), worker, workers, queues: Vec::new() });
    }

    /// The queue of a link, which lives as long as the engine; null without a team.
    pub(super) fn queue(&mut self, link: &str) -> *const Queue {
        let Some(member) = &mut self.member else { return std::ptr::null() };
        let queue = member.team.queue(link);
        let address = Arc::as_ptr(&queue);
        member.queues.push(queue);
        address
    }

    /// Takes packets out of the team's stock. Returns how many.
    pub(super) fn take_stock(&mut self) -> usize {
        let Some(member) = &self.member else { return 0 };
        let taken = member.team.stock.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let Some(taken) = taken else { return 0 };
        // SAFETY: the list is mapped while the engine lives, and has room for all packets there are.
        let freelist = unsafe { &mut *self.shared.free };
        self.packets += taken.len();
        for Free(packet) in &taken {
            freelist.list[freelist.free as usize] = *packet;
            freelist.free += 1;
        }
        taken.len()
    }

    /// New packets must not have the metadata of others: a native app reads it.
    pub(super) fn read_metadata(&mut self) {
        self.shared.stamps = 1;
        if let Some(member) = &self.member {
            member.team.stamps.store(true, Ordering::Relaxed);
        }
    }

    /// Puts packets into the team's stock, if there are many more free ones here than this engine has asked for.
    pub(super) fn give_stock(&mut self) {
        let Some(member) = &self.member else { return };
        // Packets go to the native apps of other workers as well.
        self.shared.stamps |= i32::from(member.team.stamps.load(Ordering::Relaxed));
        // SAFETY: as above.
        let freelist = unsafe { &mut *self.shared.free };
        while freelist.free as usize >= self.packets.max(STEP) + STEP {
            let from = freelist.free as usize - STEP;
            let given = freelist.list[from..from + STEP].iter().map(|&packet| Free(packet)).collect();
            freelist.free -= STEP as i32;
            self.packets = self.packets.saturating_sub(STEP);
            member.team.stock.lock().unwrap_or_else(PoisonError::into_inner).push(given);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_keeps_the_order_between_two_threads() {
        const COUNT: usize = 200_000;
        let queue = &Queue::default();
        std::thread::scope(|scope| {
            // The queue itself is shared, not what is in it.
            scope.spawn(move || {
                for value in 0..COUNT {
                    let sent = queue.sent.0.load(Ordering::Relaxed);
                    while sent.wrapping_sub(queue.received.0.load(Ordering::Acquire)) == CAPACITY {
                        std::thread::yield_now();
                    }
                    // SAFETY: the slot is the sender's.
                    unsafe {
                        *queue.slots[sent % CAPACITY].get() = std::ptr::without_provenance_mut(value * 2 + 2)
                    };
                    queue.sent.0.store(sent + 1, Ordering::Release);
                }
            });
            for value in 0..COUNT {
                let received = queue.received.0.load(Ordering::Relaxed);
                while queue.sent.0.load(Ordering::Acquire) == received {
                    std::thread::yield_now();
                }
                // SAFETY: the slot was published.
                assert_eq!(unsafe { *queue.slots[received % CAPACITY].get() }.addr(), value * 2 + 2);
                queue.received.0.store(received + 1, Ordering::Release);
            }
        });
    }
}
