//! `delay`: lets packets arrive later, some of them never, as a long line would.
//!
//! | inputs | `input` |
//! |---|---|
//! | outputs | `output` |
//! | `delay_ms` | how long a packet takes, 0 to 3600000; 0 unless set |
//! | `jitter_ms` | how much longer or shorter it may take; evenly distributed; 0 unless set, `delay_ms` at most |
//! | `loss` | the share of packets that are lost, 0 to 1; 0 unless set |
//! | `reorder` | whether packets may overtake each other, where jitter lets them; `false` unless set |
//! | `limit` | packets under way at most; 1024 unless set |
//! | `seed` | where chance begins, 0 unless set |
//! | `lost`, `delay_full` | count packets that were lost, and that were dropped because of `limit` |
//! | `delayed` | the number of packets under way |
//!
//! Times are exact to a breath. A packet whose time has come waits on while the link behind has no room.

use crate::shared::random::Random;
use engine::shm::Counter;
use engine::{App, Class, Io, NextEvent, OptionError, Packet, Pool, Reconfigured, Roles, Setup, Timed};
use serde::Deserialize;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Options of `delay`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Delay {
    /// How long a packet takes.
    pub delay_ms: f64,
    /// How much longer or shorter it may take.
    pub jitter_ms: f64,
    /// The share of packets that are lost.
    pub loss: f64,
    /// Whether packets may overtake each other.
    pub reorder: bool,
    /// Packets under way at most.
    pub limit: usize,
    /// Where chance begins.
    pub seed: u64,
}

impl Default for Delay {
    fn default() -> Self {
        Delay { delay_ms: 0.0, jitter_ms: 0.0, loss: 0.0, reorder: false, limit: 1024, seed: 0 }
    }
}

/// A running `delay`.
#[derive(Debug)]
pub struct Running {
    options: Delay,
    random: Random,
    /// The packets under way; the first to arrive is on top.
    under_way: BinaryHeap<Reverse<Traveller>>,
    entered: u64,
    /// When the last packet arrives of those that have entered.
    last_ns: u64,
    /// Whether the link behind is full.
    is_blocked: bool,
    lost: Counter,
    full: Counter,
    delayed: Counter,
}

/// A packet under way.
#[derive(Debug)]
struct Traveller {
    arrives_ns: u64,
    /// Packets that arrive at once do so in the order in which they entered.
    number: u64,
    packet: Packet,
}

impl Traveller {
    fn key(&self) -> (u64, u64) {
        (self.arrives_ns, self.number)
    }
}

impl Ord for Traveller {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Traveller {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Traveller {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Traveller {}

impl Class for Delay {
    const TYPE: &'static str = "delay";
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        let jitter = if self.jitter_ms > self.delay_ms {
            let message = format!("{} is more than `delay_ms`, which is {}", self.jitter_ms, self.delay_ms);
            Err(OptionError::new("jitter_ms", message))
        } else {
            OptionError::check_range("jitter_ms", self.jitter_ms, 0.0..=3_600_000.0)
        };
        OptionError::all([
            OptionError::check_range("delay_ms", self.delay_ms, 0.0..=3_600_000.0),
            jitter,
            OptionError::check_range("loss", self.loss, 0.0..=1.0),
            OptionError::check_range("limit", self.limit, 1..=Pool::MAX_PACKETS),
        ])
    }

    fn needs_packets(&self) -> usize {
        self.limit
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        Ok(Running {
            options: self.clone(),
            random: Random::new(self.seed),
            under_way: BinaryHeap::with_capacity(self.limit),
            entered: 0,
            last_ns: 0,
            is_blocked: false,
            lost: setup.rejects("lost"),
            full: setup.drops("delay_full"),
            delayed: setup.gauge("delayed"),
        })
    }

    /// Packets under way arrive when they would have.
    fn reconfigure(
        &self,
        app: &mut Running,
        old: &Self,
        _: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        app.options = self.clone();
        app.under_way.reserve(self.limit.saturating_sub(app.under_way.len()));
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
        while let Some(burst) = io.inputs[0].burst() {
            for packet in burst {
                self.enter(packet, io.pool, io.now_ns);
            }
        }
        self.arrive(io);
    }

    fn pull(&mut self, io: &mut Io<'_>) {
        if !self.under_way.is_empty() {
            self.arrive(io);
        }
    }

    fn held(&self) -> usize {
        self.under_way.len()
    }

    fn is_finished(&self) -> bool {
        self.under_way.is_empty()
    }

    fn timed(&self) -> Option<&dyn Timed> {
        Some(self)
    }
}

impl Timed for Running {
    /// None while the link is full: then time has to pass for somebody else.
    fn next_event(&self) -> NextEvent {
        NextEvent::at(self.arrives_ns().filter(|_| !self.is_blocked))
    }
}

impl Running {
    fn enter(&mut self, packet: Packet, pool: &mut Pool, now_ns: u64) {
        if self.random.chance(self.options.loss) {
            return pool.free(packet, &self.lost);
        }
        if self.under_way.len() >= self.options.limit {
            return pool.free(packet, &self.full);
        }
        let mut arrives_ns = now_ns.saturating_add(self.travel_ns());
        if !self.options.reorder {
            arrives_ns = arrives_ns.max(self.last_ns);
        }
        self.last_ns = self.last_ns.max(arrives_ns);
        self.entered += 1;
        self.under_way.push(Reverse(Traveller { arrives_ns, number: self.entered, packet }));
    }

    fn travel_ns(&mut self) -> u64 {
        let Delay { delay_ms, jitter_ms, .. } = self.options;
        let jitter_ms = if jitter_ms > 0.0 { jitter_ms * (2.0 * self.random.unit() - 1.0) } else { 0.0 };
        ((delay_ms + jitter_ms) * 1e6) as u64
    }

    /// When the next packet arrives.
    fn arrives_ns(&self) -> Option<u64> {
        self.under_way.peek().map(|Reverse(first)| first.arrives_ns)
    }

    /// Sends packets whose time has come, as many as the link has room for.
    fn arrive(&mut self, io: &mut Io<'_>) {
        let output = &mut io.outputs[0];
        let allowance = output.allowance();
        let is_due = |app: &Self| app.arrives_ns().is_some_and(|arrives_ns| arrives_ns <= io.now_ns);
        let mut sent = 0;
        while sent < allowance && is_due(self) {
            self.under_way.pop().into_iter().for_each(|Reverse(first)| output.put(first.packet));
            sent += 1;
        }
        self.is_blocked = is_due(self);
        self.delayed.set(self.under_way.len() as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::Delay;
    use engine::{Class, ClockKind, Engine, Graph, Settings};
    use testkit::rig::Rig;

    const MS: u64 = 1_000_000;

    fn rig(delay: Delay) -> Rig {
        Rig::new(delay, &["input"], &["output"])
    }

    fn send(rig: &mut Rig, numbers: std::ops::Range<u16>) {
        numbers.for_each(|number| rig.send("input", number.to_be_bytes()));
    }

    fn numbers(rig: &mut Rig) -> Vec<u16> {
        rig.take("output").iter().map(|packet| u16::from_be_bytes([packet[0], packet[1]])).collect()
    }

    #[test]
    fn packets_arrive_when_they_should() {
        let mut rig = rig(Delay { delay_ms: 2.5, ..Delay::default() });
        send(&mut rig, 0..1);
        rig.breathe();
        send(&mut rig, 1..2);
        rig.advance(MS);
        rig.advance(3 * MS / 2 - 1);
        assert_eq!(numbers(&mut rig), []);
        rig.advance(1);
        assert_eq!(numbers(&mut rig), [0]);
        assert_eq!((rig.counter("delayed"), rig.report().pool.held), (1, 1));
        rig.advance(MS);
        assert_eq!(numbers(&mut rig), [1]);
    }

    #[test]
    fn without_options_nothing_happens() {
        let mut rig = rig(Delay::default());
        send(&mut rig, 0..100);
        rig.breathe();
        assert_eq!(numbers(&mut rig), (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn order_is_kept_or_not() {
        for (reorder, spread) in [(false, false), (true, true)] {
            let mut rig = rig(Delay { delay_ms: 10.0, jitter_ms: 10.0, reorder, ..Delay::default() });
            send(&mut rig, 0..500);
            rig.breathe();
            // On capture time, each arrival has a breath of its own.
            let mut arrived = Vec::new();
            for _ in 0..501 {
                rig.advance(MS);
                arrived.extend(numbers(&mut rig));
            }
            assert_eq!(arrived.len(), 500);
            assert_eq!(!arrived.is_sorted(), spread);
        }
    }

    #[test]
    fn nobody_overtakes_once_that_is_forbidden() {
        let jitter = Delay { delay_ms: 10.0, jitter_ms: 10.0, reorder: true, ..Delay::default() };
        let mut rig = rig(jitter.clone());
        send(&mut rig, 0..100);
        rig.breathe();
        rig.reconfigure(Delay { reorder: false, ..jitter });
        send(&mut rig, 100..200);
        let mut arrived = Vec::new();
        for _ in 0..300 {
            rig.advance(MS);
            arrived.extend(numbers(&mut rig));
        }
        assert_eq!(arrived.len(), 200);
        assert!(arrived[..100].iter().all(|&number| number < 100));
        assert!(arrived[100..].is_sorted());
    }

    #[test]
    fn some_are_lost() {
        let mut rig = rig(Delay { loss: 0.2, ..Delay::default() });
        send(&mut rig, 0..1000);
        rig.breathe();
        let (arrived, lost) = (numbers(&mut rig).len() as u64, rig.counter("lost"));
        assert_eq!(arrived + lost, 1000);
        assert!((150..250).contains(&lost), "{lost}");
        rig.reconfigure(Delay { loss: 1.0, ..Delay::default() });
        send(&mut rig, 0..10);
        rig.breathe();
        assert_eq!(numbers(&mut rig), []);
    }

    #[test]
    fn no_more_are_under_way_than_the_limit() {
        let mut rig = rig(Delay { delay_ms: 1.0, limit: 10, ..Delay::default() });
        send(&mut rig, 0..15);
        rig.breathe();
        rig.reconfigure(Delay { delay_ms: 1.0, limit: 2, ..Delay::default() });
        assert_eq!(rig.counter("delay_full"), 5);
        rig.advance(MS);
        assert_eq!(numbers(&mut rig), (0..10).collect::<Vec<_>>(), "what is under way stays");
    }

    #[test]
    fn time_goes_on_while_the_link_is_full() {
        let mut graph = Graph::new();
        graph.app("source", crate::Source { size: 60, count: Some(1100) }).unwrap();
        graph.app("delay", Delay { delay_ms: 1.0, limit: 2000, ..Delay::default() }).unwrap();
        let hold =
            crate::RateLimiter { packets_per_s: Some(1000), hold: true, ..crate::RateLimiter::default() };
        graph.app("hold", hold).unwrap();
        graph.app("sink", crate::Sink {}).unwrap();
        for link in
            ["source.output -> delay.input", "delay.output -> hold.input", "hold.output -> sink.input"]
        {
            graph.link(link).unwrap();
        }
        let settings = Settings { clock: ClockKind::Capture, ..Settings::new().unwrap() };
        let mut engine = Engine::new(settings).unwrap();
        engine.configure(&graph).unwrap();
        for _ in 0..1300 {
            engine.breathe();
        }
        assert_eq!(engine.report().delivered, 1100);
    }

    #[test]
    fn what_is_under_way_at_the_end_is_counted() {
        let mut rig = rig(Delay { delay_ms: 1000.0, ..Delay::default() });
        send(&mut rig, 0..15);
        rig.breathe();
        assert_eq!(rig.report().pool.held, 15);
    }

    #[test]
    fn options_are_checked() {
        let error = |delay: Delay| delay.check().unwrap_err().to_string();
        assert_eq!(error(Delay { loss: 1.5, ..Delay::default() }), "`loss`: 1.5 is not between 0 and 1");
        assert_eq!(
            error(Delay { delay_ms: f64::NAN, ..Delay::default() }),
            "`delay_ms`: NaN is not between 0 and 3600000"
        );
        assert_eq!(
            error(Delay { delay_ms: 1.0, jitter_ms: 2.0, ..Delay::default() }),
            "`jitter_ms`: 2 is more than `delay_ms`, which is 1"
        );
    }
}
