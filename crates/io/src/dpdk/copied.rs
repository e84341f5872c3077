//! Frames in buffers of DPDK's, copied to packets and from them.

use super::shim::{BURST_MAX, Queue};
use super::{Arrivals, Counters, is_ethernet};
use crate::device::{self, Attempt, Outbox, Sender};
use engine::shm::Counter;
use engine::{Input, Packet, Pool};

/// The packets of an app whose device copies.
#[derive(Debug)]
pub(super) struct Copied {
    spare: Vec<Packet>,
    outbox: Outbox,
}

impl Copied {
    pub(super) fn new() -> Self {
        Copied { spare: Vec::with_capacity(BURST_MAX), outbox: Outbox::default() }
    }

    pub(super) fn held(&self) -> usize {
        self.spare.len() + self.outbox.len()
    }

    pub(super) fn waiting(&self) -> usize {
        self.outbox.len()
    }

    /// Receives up to `asked` frames; returns how many there were.
    pub(super) fn receive(&mut self, asked: usize, queue: &Queue, arrivals: &mut Arrivals<'_>) -> usize {
        while self.spare.len() < asked {
            let Some(packet) = device::roomy(arrivals.pool) else { break };
            self.spare.push(packet);
        }
        let mut lens = [0; BURST_MAX];
        let got = queue.receive_copies(&mut self.spare, &mut lens);
        self.spare.drain(got..).for_each(|packet| arrivals.pool.take_back(packet));
        for (mut packet, len) in self.spare.drain(..).zip(lens) {
            let len = len as usize;
            if len > packet.len() {
                arrivals.pool.free(packet, &arrivals.counters.too_long);
                continue;
            }
            packet.truncate(len);
            arrivals.put(packet);
        }
        arrivals.counters.copies.add(got as u64);
        got
    }

    pub(super) fn send_waiting(&mut self, queue: &Queue, pool: &mut Pool, counters: &Counters) {
        self.outbox.send_waiting(&Copies { queue, counters }, pool);
    }

    pub(super) fn push(&mut self, input: &mut Input, queue: &Queue, pool: &mut Pool, counters: &Counters) {
        self.outbox.push(&Copies { queue, counters }, input, pool);
    }

    pub(super) fn abandon(&mut self, pool: &mut Pool, counter: &Counter) {
        self.outbox.abandon(pool, counter);
    }
}

/// Sends copies.
struct Copies<'a> {
    queue: &'a Queue,
    counters: &'a Counters,
}

impl Sender for Copies<'_> {
    const BURST_MAX: usize = BURST_MAX;

    #[inline]
    fn ours(&self, packets: &[Packet], pool: &Pool) -> usize {
        if !pool.uses_metadata() {
            return packets.len();
        }
        packets.iter().take_while(|packet| is_ethernet(packet)).count()
    }

    fn wrong_linktype(&self) -> &Counter {
        &self.counters.wrong_linktype
    }

    fn attempt(&self, packets: &[Packet]) -> Attempt<'_> {
        let frame_max = self.queue.port.frame_max();
        let fitting = packets.iter().take_while(|packet| packet.len() <= frame_max).count();
        if fitting == 0 {
            return Attempt::Taken(1, &self.counters.too_long);
        }
        match self.queue.send_copies(&packets[..fitting]) {
            0 => Attempt::Full,
            sent => {
                self.counters.copies.add(sent as u64);
                Attempt::Taken(sent, &self.counters.delivered)
            }
        }
    }
}
