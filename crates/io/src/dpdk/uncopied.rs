//! Frames in packets, which drivers use as their buffers: nothing is copied. What becomes of the memory is in [`shim`](super::shim).

use super::shim::{BURST_MAX, INTO_MAX, Queue};
use super::{Arrivals, Counters, is_ethernet};
use engine::shm::Counter;
use engine::{Burst, Input, Packet, Pool};

/// The packets of an app whose device does not copy.
#[derive(Debug, Default)]
pub(super) struct Uncopied {
    /// To receive into.
    spare: Vec<Packet>,
    /// Received just now.
    arrived: Vec<Packet>,
    /// The device had no room for them.
    waiting: Vec<Packet>,
    /// Memory that the device has just given back.
    back: Vec<Packet>,
}

impl Uncopied {
    pub(super) fn held(&self) -> usize {
        self.spare.len() + self.waiting.len()
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Receives up to `asked` frames; returns how many there were.
    pub(super) fn receive(&mut self, asked: usize, queue: &Queue, arrivals: &mut Arrivals<'_>) -> usize {
        let Arrivals { pool, counters, .. } = arrivals;
        if queue.port.takes_packets() {
            let usual = pool.available().saturating_sub(pool.large_total());
            // Where packets are few, those that the driver has already may be all.
            let wanted = match self.spare.len() {
                _ if usual >= INTO_MAX => INTO_MAX,
                0 => usual.clamp(1, BURST_MAX),
                some => some,
            };
            pool.fill(&mut self.spare, wanted);
        }
        let received = queue.receive_into(asked, &mut self.spare, &mut self.arrived);
        pool.count_taken(received.taken);
        if self.spare.len() > INTO_MAX {
            self.back.extend(self.spare.drain(INTO_MAX..));
            pool.take_back_all(&mut self.back);
        }
        counters.copies.add(received.copied);
        counters.missed.add(received.lost);
        // None of these became a packet: an empty one goes in its place, so that drops are of what was allocated.
        for _ in 0..received.too_long {
            match self.spare.pop() {
                Some(packet) => pool.free(packet, &counters.too_long),
                None => counters.missed.add(1),
            }
        }
        let got = self.arrived.len();
        arrivals.put_all(&mut self.arrived);
        got
    }

    /// Offers what waits to the device.
    pub(super) fn send_waiting(&mut self, queue: &Queue, pool: &mut Pool, counters: &Counters) {
        while !self.waiting.is_empty() {
            let sent = queue.give_waiting(&mut self.waiting, &mut self.back);
            pool.lend_sent(sent, &counters.delivered);
            pool.regain(&mut self.back);
            if sent == 0 {
                return;
            }
        }
    }

    /// Offers what waits, then what is in the link, as long as there is room.
    pub(super) fn push(&mut self, input: &mut Input, queue: &Queue, pool: &mut Pool, counters: &Counters) {
        self.send_waiting(queue, pool, counters);
        let frame_max = queue.port.frame_max();
        // PERF: where any packet fits and is a frame, none is looked at.
        let looks = pool.uses_metadata() || frame_max < usize::from(u16::MAX);
        while self.waiting.is_empty()
            && let Some(mut burst) = input.burst_of_at_most(BURST_MAX)
        {
            if looks {
                burst.append_to(&mut self.waiting);
                self.drop_others(frame_max, pool, counters);
                self.send_waiting(queue, pool, counters);
                continue;
            }
            let sent = queue.give(&mut burst, &mut self.back);
            pool.lend_sent(sent, &counters.delivered);
            burst.append_to(&mut self.waiting);
            pool.regain(&mut self.back);
        }
    }

    /// Drops those of what waits that are no frames, or too long.
    fn drop_others(&mut self, frame_max: usize, pool: &mut Pool, counters: &Counters) {
        if pool.uses_metadata() {
            let others = self.waiting.extract_if(.., |packet| !is_ethernet(packet));
            others.for_each(|packet| pool.free(packet, &counters.wrong_linktype));
        }
        let long = self.waiting.extract_if(.., |packet| packet.len() > frame_max);
        long.for_each(|packet| pool.free(packet, &counters.too_long));
    }

    pub(super) fn abandon(&mut self, queue: &Queue, pool: &mut Pool, counter: &Counter) {
        queue.take_all_back(&mut self.back);
        pool.regain(&mut self.back);
        pool.take_back_all(&mut self.spare);
        pool.free_burst(Burst::from(&mut self.waiting), counter);
    }
}
