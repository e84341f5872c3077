//! `queue`: holds packets while the link behind has no room.
//!
//! | inputs | `input` |
//! |---|---|
//! | outputs | `output` |
//! | `limit` | packets held at most; 4096 unless set |
//! | `limit_bytes` | bytes held at most; without a limit unless set. A longer packet is not held, and pushes none out |
//! | `policy` | which packet is dropped when the queue is full: `"tail"`, the one that comes; `"head"`, the oldest; `"random_early"`, the one that comes, and some before: unless set, `"tail"` |
//! | `seed` | where chance begins, 0 unless set |
//! | `queue_full`, `random_early` | count packets dropped because the queue was full, and by chance before it was |
//! | `depth`, `depth_bytes` | what it holds now |
//!
//! A link has no room while the app behind leaves packets in it, as a `rate_limiter` does with `hold = true`; or while a device takes
//! its time. Packets leave in the order in which they came.
//!
//! With `random_early`, the chance to be dropped rises evenly from 0 when the queue is half full to 1 when it is full, as it is at the
//! moment: simpler than RED of Floyd and Jacobson (1993), which averages over time, but to the same end, that senders slow down one
//! by one rather than all at once.

use crate::shared::random::Random;
use engine::shm::Counter;
use engine::{App, Class, Io, OptionError, Output, Packet, Pool, Reconfigured, Roles, Setup};
use serde::Deserialize;
use std::collections::VecDeque;

/// Options of `queue`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Queue {
    /// Packets held at most.
    pub limit: usize,
    /// Bytes held at most.
    pub limit_bytes: Option<u64>,
    /// Which packet is dropped when the queue is full.
    pub policy: Policy,
    /// Where chance begins.
    pub seed: u64,
}

/// Which packet a `queue` drops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// The one that comes.
    #[default]
    Tail,
    /// The oldest.
    Head,
    /// The one that comes, sometimes before the queue is full.
    RandomEarly,
}

impl Default for Queue {
    fn default() -> Self {
        Queue { limit: 4096, limit_bytes: None, policy: Policy::Tail, seed: 0 }
    }
}

/// A running `queue`.
#[derive(Debug)]
pub struct Running {
    options: Queue,
    random: Random,
    packets: VecDeque<Packet>,
    bytes: u64,
    full: Counter,
    random_early: Counter,
    depth: Counter,
    depth_bytes: Counter,
}

impl Class for Queue {
    const TYPE: &'static str = "queue";
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        let check_bytes = |bytes| OptionError::check_range("limit_bytes", bytes, 1..=1 << 40);
        OptionError::all([
            OptionError::check_range("limit", self.limit, 1..=Pool::MAX_PACKETS),
            self.limit_bytes.map_or(Ok(()), check_bytes),
        ])
    }

    fn needs_packets(&self) -> usize {
        self.limit
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        Ok(Running {
            options: self.clone(),
            random: Random::new(self.seed),
            packets: VecDeque::with_capacity(self.limit),
            bytes: 0,
            full: setup.drops("queue_full"),
            random_early: setup.drops("random_early"),
            depth: setup.gauge("depth"),
            depth_bytes: setup.gauge("depth_bytes"),
        })
    }

    /// Packets that are held stay, also above a lower limit.
    fn reconfigure(
        &self,
        app: &mut Running,
        old: &Self,
        _: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        app.options = self.clone();
        app.packets.reserve(self.limit.saturating_sub(app.packets.len()));
        if self.seed != old.seed {
            app.random = Random::new(self.seed);
        }
        Ok(Reconfigured::Kept)
    }
}

impl App for Running {
    fn roles(&self) -> Roles {
        Roles::PULL.and(Roles::PUSH).and(Roles::ROOM)
    }

    fn push(&mut self, io: &mut Io<'_>) {
        self.drain(&mut io.outputs[0]);
        let (input, output) = (&mut io.inputs[0], &mut io.outputs[0]);
        while let Some(mut burst) = input.burst() {
            if self.packets.is_empty() {
                output.send(burst.split_front(output.allowance()));
            }
            burst.for_each(|packet| self.enter(packet, io.pool));
        }
        self.measure();
    }

    fn pull(&mut self, io: &mut Io<'_>) {
        if !self.packets.is_empty() {
            self.drain(&mut io.outputs[0]);
            self.measure();
        }
    }

    fn held(&self) -> usize {
        self.packets.len()
    }

    fn is_finished(&self) -> bool {
        self.packets.is_empty()
    }
}

impl Running {
    /// Sends as many as there is room for.
    fn drain(&mut self, output: &mut Output) {
        for _ in 0..output.allowance().min(self.packets.len()) {
            self.pop().into_iter().for_each(|packet| output.put(packet));
        }
    }

    fn enter(&mut self, packet: Packet, pool: &mut Pool) {
        if self.options.policy == Policy::Head {
            self.make_room(&packet, pool);
        }
        if !self.fits(&packet) {
            return pool.free(packet, &self.full);
        }
        if self.options.policy == Policy::RandomEarly && self.random.chance(2.0 * self.fill() - 1.0) {
            return pool.free(packet, &self.random_early);
        }
        self.bytes += packet.len() as u64;
        self.packets.push_back(packet);
    }

    /// Drops the oldest packets until another fits, unless it never will.
    fn make_room(&mut self, packet: &Packet, pool: &mut Pool) {
        let fits_alone = self.options.limit_bytes.is_none_or(|limit| packet.len() as u64 <= limit);
        while fits_alone && !self.fits(packet) {
            let Some(oldest) = self.pop() else { return };
            pool.free(oldest, &self.full);
        }
    }

    fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.bytes -= packet.len() as u64;
        Some(packet)
    }

    fn fits(&self, packet: &Packet) -> bool {
        let bytes = self.bytes + packet.len() as u64;
        self.packets.len() < self.options.limit && self.options.limit_bytes.is_none_or(|limit| bytes <= limit)
    }

    /// How full the queue is, by the limit that is nearer: 0 to 1, or more after a limit was lowered.
    fn fill(&self) -> f64 {
        let packets = self.packets.len() as f64 / self.options.limit as f64;
        self.options.limit_bytes.map_or(packets, |limit| packets.max(self.bytes as f64 / limit as f64))
    }

    fn measure(&self) {
        self.depth.set(self.packets.len() as u64);
        self.depth_bytes.set(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RateLimiter, Sink};
    use engine::{Engine, Graph, Settings};
    use testkit::rig::Rig;

    #[test]
    fn where_there_is_room_packets_pass() {
        let mut rig = Rig::new(Queue::default(), &["input"], &["output"]);
        for _ in 0..3 {
            (0..100_u8).for_each(|i| rig.send("input", [i]));
            rig.breathe();
            assert_eq!(rig.take("output").concat(), (0..100).collect::<Vec<u8>>());
            assert_eq!((rig.counter("depth"), rig.report().pool.held), (0, 0));
        }
    }

    /// A queue behind which nothing moves but one packet, and what becomes of `count` packets.
    fn blocked(queue: Queue, count: u64) -> (Engine, u64) {
        let mut graph = Graph::new();
        graph.app("source", crate::Source { size: 100, count: Some(count) }).unwrap();
        graph.app("queue", queue).unwrap();
        let limit = RateLimiter { packets_per_s: Some(1), hold: true, ..RateLimiter::default() };
        graph.app("limit", limit).unwrap();
        graph.app("sink", Sink {}).unwrap();
        for link in
            ["source.output -> queue.input", "queue.output -> limit.input", "limit.output -> sink.input"]
        {
            graph.link(link).unwrap();
        }
        let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
        engine.configure(&graph).unwrap();
        (0..count / 64 + 20).for_each(|_| {
            engine.breathe();
        });
        let report = engine.report();
        assert!(report.balanced(), "{:?}", report.imbalances);
        let held = report.apps["queue"].held as u64;
        (engine, held)
    }

    fn drops(engine: &mut Engine, reason: &str) -> u64 {
        engine.report().drops.get(reason).copied().unwrap_or(0)
    }

    #[test]
    fn what_does_not_fit_is_dropped() {
        for policy in [Policy::Tail, Policy::Head] {
            let (mut engine, held) = blocked(Queue { limit: 300, policy, ..Queue::default() }, 2000);
            assert_eq!(held, 300);
            let passed = engine.report().links[1].txpackets;
            assert_eq!(drops(&mut engine, "queue_full"), 2000 - 300 - passed);
            assert_eq!(drops(&mut engine, "link_full"), 0);
            engine.stop();
            assert!(engine.report().balanced());
        }
    }

    #[test]
    fn bytes_are_limited_too() {
        let (_, held) = blocked(Queue { limit_bytes: Some(12_345), ..Queue::default() }, 2000);
        assert_eq!(held, 123);
    }

    #[test]
    fn some_are_dropped_early() {
        let (mut engine, held) =
            blocked(Queue { limit: 400, policy: Policy::RandomEarly, ..Queue::default() }, 2000);
        let early = drops(&mut engine, "random_early");
        assert!((201..=400).contains(&held) && early > 300, "{held} held, {early} dropped early");
    }

    /// An app outside of a graph, whose link takes nothing.
    fn running(options: Queue) -> Running {
        let (random, packets, bytes) = (Random::new(options.seed), VecDeque::new(), 0);
        let [full, random_early, depth, depth_bytes] = std::array::from_fn(|_| Counter::hidden());
        Running { options, random, packets, bytes, full, random_early, depth, depth_bytes }
    }

    fn free(pool: &mut Pool, packet: Packet) -> u8 {
        let first = packet.data()[0];
        pool.free(packet, &Counter::hidden());
        first
    }

    #[test]
    fn the_head_or_the_tail_goes() {
        for (policy, kept) in [(Policy::Tail, [0, 1, 2]), (Policy::Head, [2, 3, 4])] {
            let mut pool = engine::Pool::new(8).unwrap();
            let mut app = running(Queue { limit: 3, policy, ..Queue::default() });
            (0..5_u8).for_each(|i| app.enter(pool.packet(&[i]).unwrap(), &mut pool));
            let packets: Vec<u8> =
                std::iter::from_fn(|| app.pop().map(|packet| free(&mut pool, packet))).collect();
            assert_eq!(packets, kept, "{policy:?}");
        }
    }

    #[test]
    fn what_never_fits_pushes_nothing_out() {
        let mut pool = engine::Pool::new(8).unwrap();
        let options = Queue { limit_bytes: Some(100), policy: Policy::Head, ..Queue::default() };
        let mut app = running(options);
        for len in [40, 40, 101, 60, 100] {
            app.enter(pool.packet(&vec![len; usize::from(len)]).unwrap(), &mut pool);
            let held: Vec<u8> = app.packets.iter().map(|packet| packet.data()[0]).collect();
            let expected: &[u8] = match len {
                40 => &[40, 40][..held.len()],
                101 => &[40, 40],
                60 => &[40, 60],
                _ => &[100],
            };
            assert_eq!(held, expected, "{len}");
        }
        std::iter::from_fn(|| app.pop()).for_each(|packet| pool.free(packet, &Counter::hidden()));
    }

    #[test]
    fn what_does_not_fit_is_not_dropped_early() {
        let mut pool = engine::Pool::new(8).unwrap();
        let mut app = running(Queue { limit: 2, policy: Policy::RandomEarly, ..Queue::default() });
        // Half full, the chance is 0.
        (0..2).for_each(|_| app.enter(pool.packet(b"x").unwrap(), &mut pool));
        (0..5).for_each(|_| app.enter(pool.packet(b"x").unwrap(), &mut pool));
        assert_eq!((app.full.get(), app.random_early.get()), (5, 0));
        std::iter::from_fn(|| app.pop()).for_each(|packet| pool.free(packet, &Counter::hidden()));
    }

    #[test]
    fn options_are_checked() {
        let error = Queue { limit: 0, ..Queue::default() }.check().unwrap_err().to_string();
        assert!(error.starts_with("`limit`: 0 is not between 1 and"), "{error}");
    }
}
