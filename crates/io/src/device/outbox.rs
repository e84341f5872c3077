//! Packets on their way out by a device: bursts are offered to it, and what it has no room for waits here, then in the link, so that a source
//! before it is slowed down.

use engine::shm::Counter;
use engine::{Input, Packet, Pool};
use std::collections::VecDeque;

/// The fate of the first packets of a burst.
pub(crate) enum Attempt<'a> {
    /// This many packets share a fate, which the counter counts.
    Taken(usize, &'a Counter),
    /// The device has no room.
    Full,
}

/// What sends packets.
pub(crate) trait Sender {
    /// The most packets that are offered at a time.
    const BURST_MAX: usize;

    /// How many of the first packets are of the link type that the device takes, as far as that is known.
    fn ours(&self, packets: &[Packet], pool: &Pool) -> usize;

    /// Counts packets of another link type.
    fn wrong_linktype(&self) -> &Counter;

    /// Offers packets, at least one, to the device.
    fn attempt(&self, packets: &[Packet]) -> Attempt<'_>;
}

/// Packets that a device had no room for.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    waiting: VecDeque<Packet>,
}

impl Outbox {
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Offers what waits.
    pub(crate) fn send_waiting(&mut self, sender: &impl Sender, pool: &mut Pool) {
        while !self.waiting.is_empty() {
            self.waiting.make_contiguous();
            let Attempt::Taken(count, counter) = sender.attempt(self.waiting.as_slices().0) else { return };
            self.waiting.drain(..count).for_each(|packet| pool.free(packet, counter));
        }
    }

    /// Offers what waits, then what is in the link, as long as there is room.
    pub(crate) fn push<S: Sender>(&mut self, sender: &S, input: &mut Input, pool: &mut Pool) {
        self.send_waiting(sender, pool);
        while self.waiting.is_empty()
            && let Some(mut burst) = input.burst_of_at_most(S::BURST_MAX)
        {
            while !burst.is_empty() {
                let ours = sender.ours(&burst, pool);
                if ours == 0 {
                    pool.free_burst(burst.split_front(1), sender.wrong_linktype());
                    continue;
                }
                let is_first = self.waiting.is_empty();
                match if is_first { sender.attempt(&burst[..ours]) } else { Attempt::Full } {
                    Attempt::Taken(count, counter) => pool.free_burst(burst.split_front(count), counter),
                    Attempt::Full => self.waiting.extend(burst.split_front(ours)),
                }
            }
        }
    }

    /// Drops what waits.
    pub(crate) fn abandon(&mut self, pool: &mut Pool, counter: &Counter) {
        self.waiting.drain(..).for_each(|packet| pool.free(packet, counter));
    }
}
