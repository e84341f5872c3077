//! `rate_limiter`: limits the bytes or packets a second, and drops the rest.
//!
//! | inputs | `input` |
//! |---|---|
//! | outputs | `output` |
//! | `bytes_per_s` | bytes a second, 1 to 10^12 |
//! | `packets_per_s` | packets a second, 1 to 10^12; one of the two is required |
//! | `burst_bytes` | bytes that may pass at once after a pause; what passes in 10 ms, or one of the longest packets, unless set |
//! | `burst_packets` | packets that may pass at once after a pause; what passes in 10 ms, or one, unless set |
//! | `hold` | whether packets above the rate wait in the link before this app rather than be dropped; `false` unless set |
//! | `rate_limited` | counts packets dropped |
//!
//! A token bucket (RFC 2697 calls them so) for each of the two limits: a packet passes if both have enough for it. The bytes are those of
//! the packet as it is here, without preamble and checksum of Ethernet. A packet longer than `burst_bytes` never passes.
//!
//! With `hold`, order it after a `queue`: what waits in a link of 1024 packets is dropped when that is full, and a queue before it holds
//! more and decides which to drop.

use crate::shared::filtering::LANES;
use engine::Bucket;
use engine::shm::Counter;
use engine::{
    App, Class, ClockKind, Io, MAX_LARGE_PAYLOAD, NextEvent, OptionError, PortNames, Reconfigured, Roles,
    Setup, Timed,
};
use serde::Deserialize;

/// Options of `rate_limiter`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RateLimiter {
    /// Bytes a second.
    pub bytes_per_s: Option<u64>,
    /// Packets a second.
    pub packets_per_s: Option<u64>,
    /// Bytes that may pass at once.
    pub burst_bytes: Option<u64>,
    /// Packets that may pass at once.
    pub burst_packets: Option<u64>,
    /// Whether packets above the rate wait.
    pub hold: bool,
}

/// Rates and bursts that make sense.
const RANGE: std::ops::RangeInclusive<u64> = 1..=1_000_000_000_000;

/// The amount that passes in 10 ms.
fn burst_of(rate: u64) -> u64 {
    rate / 100
}

impl RateLimiter {
    /// Rate and capacity of the bucket of bytes.
    fn bytes(&self) -> Option<(u64, u64)> {
        let default = |rate| burst_of(rate).max(MAX_LARGE_PAYLOAD as u64);
        self.bytes_per_s.map(|rate| (rate, self.burst_bytes.unwrap_or_else(|| default(rate))))
    }

    /// Rate and capacity of the bucket of packets.
    fn packets(&self) -> Option<(u64, u64)> {
        self.packets_per_s.map(|rate| (rate, self.burst_packets.unwrap_or_else(|| burst_of(rate).max(1))))
    }
}

/// A running `rate_limiter`.
#[derive(Debug)]
pub struct Running {
    bytes: Option<Bucket>,
    packets: Option<Bucket>,
    hold: bool,
    /// When the packet that waits may pass. On the time of day, it may be later than that, when no bucket is more than half full: no
    /// token is lost, and the worker can sleep.
    ready_ns: Option<u64>,
    is_patient: bool,
    rate_limited: Counter,
}

impl Class for RateLimiter {
    const TYPE: &'static str = "rate_limiter";
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        let limits = [
            ("bytes_per_s", self.bytes_per_s, "burst_bytes", self.burst_bytes),
            ("packets_per_s", self.packets_per_s, "burst_packets", self.burst_packets),
        ];
        let checks = limits.into_iter().flat_map(|(rate_option, rate, burst_option, burst)| {
            let in_range = |option, value: Option<_>| {
                value.map_or(Ok(()), |value| OptionError::check_range(option, value, RANGE))
            };
            let burst = if burst.is_some() && rate.is_none() {
                Err(OptionError::new(burst_option, format_args!("needs `{rate_option}`")))
            } else {
                in_range(burst_option, burst)
            };
            [in_range(rate_option, rate), burst]
        });
        let no_rate = || OptionError::new("bytes_per_s", "set this, `packets_per_s`, or both");
        let has_rate = self.bytes_per_s.or(self.packets_per_s).is_some();
        OptionError::all(checks.chain([if has_rate { Ok(()) } else { Err(no_rate()) }]))
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        let full = |(rate, capacity)| Bucket::new(rate, capacity, setup.now_ns);
        Ok(Running {
            bytes: self.bytes().map(full),
            packets: self.packets().map(full),
            hold: self.hold,
            ready_ns: None,
            is_patient: setup.clock == ClockKind::Wall,
            rate_limited: setup.rejects("rate_limited"),
        })
    }

    fn reconfigure(
        &self,
        app: &mut Running,
        _: &Self,
        setup: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        let change = |bucket: &Option<Bucket>, limit: Option<(u64, u64)>| {
            limit.map(|(rate, capacity)| match bucket {
                Some(bucket) => bucket.changed(rate, capacity),
                None => Bucket::new(rate, capacity, setup.now_ns),
            })
        };
        app.bytes = change(&app.bytes, self.bytes());
        app.packets = change(&app.packets, self.packets());
        app.hold = self.hold;
        app.ready_ns = None;
        Ok(Reconfigured::Kept)
    }
}

impl App for Running {
    fn roles(&self) -> Roles {
        Roles::PUSH.and(Roles::ROOM.when(self.hold))
    }

    /// Packets that waited may be gone with their link.
    fn link(&mut self, _: &PortNames<'_>) {
        self.ready_ns = None;
    }

    fn push(&mut self, io: &mut Io<'_>) {
        for bucket in self.bytes.iter_mut().chain(&mut self.packets) {
            bucket.fill(io.now_ns);
        }
        if self.hold {
            self.shape(io);
        } else {
            self.police(io);
        }
    }

    fn timed(&self) -> Option<&dyn Timed> {
        Some(self)
    }
}

impl Timed for Running {
    fn next_event(&self) -> NextEvent {
        NextEvent::at(self.ready_ns)
    }
}

impl Running {
    /// Sends what may pass, drops the rest.
    fn police(&mut self, io: &mut Io<'_>) {
        while let Some(burst) = io.inputs[0].burst_of_at_most(LANES) {
            let passes = burst
                .iter()
                .enumerate()
                .fold(0, |bits, (i, packet)| bits | u64::from(self.take(packet.len())) << i);
            let (passing, others) = burst.partition(passes);
            io.outputs[0].send(passing);
            io.pool.free_burst(others, &self.rate_limited);
        }
    }

    /// Sends what may pass, and leaves the rest in the link.
    fn shape(&mut self, io: &mut Io<'_>) {
        self.ready_ns = None;
        let (input, output) = (&mut io.inputs[0], &mut io.outputs[0]);
        while let Some(first_len) = input.peek().first().map(|packet| packet.len()) {
            let room = output.allowance();
            if room == 0 {
                return;
            }
            let passing = input.peek().iter().take(room).take_while(|packet| self.take(packet.len())).count();
            if passing > 0 {
                input.burst_of_at_most(passing).into_iter().for_each(|burst| output.send(burst));
            } else if self.bytes.as_ref().is_some_and(|bytes| !bytes.holds(first_len as u64)) {
                input
                    .burst_of_at_most(1)
                    .into_iter()
                    .for_each(|burst| io.pool.free_burst(burst, &self.rate_limited));
            } else {
                self.ready_ns = self.ready_ns(first_len);
                return;
            }
        }
    }

    /// Whether a packet may pass; if so, it is paid for.
    #[inline]
    fn take(&mut self, len: usize) -> bool {
        let costs = [(&mut self.bytes, len as u64), (&mut self.packets, 1)];
        let passes =
            costs.iter().all(|(bucket, cost)| bucket.as_ref().is_none_or(|bucket| bucket.has(*cost)));
        if passes {
            costs
                .into_iter()
                .for_each(|(bucket, cost)| bucket.iter_mut().for_each(|bucket| bucket.take(cost)));
        }
        passes
    }

    /// When a packet may pass.
    fn ready_ns(&self, len: usize) -> Option<u64> {
        let bytes = self.bytes.as_ref().map(|bucket| bucket.ready_ns(len as u64));
        let packets = self.packets.as_ref().map(|bucket| bucket.ready_ns(1));
        let buckets = self.bytes.iter().chain(&self.packets).filter(|_| self.is_patient);
        bytes.max(packets).max(buckets.map(Bucket::half_full_ns).min())
    }
}

#[cfg(test)]
mod tests {
    use super::RateLimiter;
    use crate::{Sink, Source};
    use engine::{Class, Engine, Graph, Settings};
    use std::time::Duration;
    use testkit::rig::Rig;

    const MS: u64 = 1_000_000;

    fn send(rig: &mut Rig, count: usize, len: usize) {
        (0..count).for_each(|_| rig.send("input", vec![0; len]));
    }

    #[test]
    fn bytes() {
        let limit =
            RateLimiter { bytes_per_s: Some(100_000), burst_bytes: Some(1000), ..RateLimiter::default() };
        let mut rig = Rig::new(limit, &["input"], &["output"]);
        send(&mut rig, 100, 100);
        rig.breathe();
        assert_eq!((rig.take("output").len(), rig.counter("rate_limited")), (10, 90), "the burst");
        let mut passed = 0;
        for _ in 0..1000 {
            send(&mut rig, 3, 100);
            rig.advance(MS);
            passed += rig.take("output").len();
        }
        assert_eq!(passed, 1000, "100,000 bytes in a second");
    }

    #[test]
    fn short_packets_pass_where_long_ones_do_not() {
        let limit = RateLimiter { bytes_per_s: Some(1), burst_bytes: Some(100), ..RateLimiter::default() };
        let mut rig = Rig::new(limit, &["input"], &["output"]);
        assert_eq!(rig.pass(&[&[1; 60], &[2; 60], &[3; 40], &[], &[4; 1]]), [&[1; 60][..], &[3; 40], &[]]);
    }

    #[test]
    fn both_limits_hold() {
        let limit =
            RateLimiter { bytes_per_s: Some(1_000_000), packets_per_s: Some(1000), ..RateLimiter::default() };
        let mut rig = Rig::new(limit, &["input"], &["output"]);
        send(&mut rig, 20, 60);
        rig.breathe();
        assert_eq!(rig.take("output").len(), 10, "packets in 10 ms");
        send(&mut rig, 20, 1000);
        rig.advance(100 * MS);
        assert_eq!(rig.take("output").len(), 10, "10,240 bytes are the burst");
    }

    #[test]
    fn what_is_held_passes_later() {
        let limit = RateLimiter {
            packets_per_s: Some(1000),
            burst_packets: Some(2),
            hold: true,
            ..RateLimiter::default()
        };
        let mut rig = Rig::new(limit, &["input"], &["output"]);
        send(&mut rig, 10, 60);
        rig.breathe();
        assert_eq!(rig.take("output").len(), 2);
        for _ in 0..8 {
            rig.advance(MS);
            assert_eq!(rig.take("output").len(), 1);
        }
        assert_eq!(rig.counter("rate_limited"), 0);
    }

    #[test]
    fn the_longest_packet_passes_at_any_rate() {
        for hold in [false, true] {
            let limiter = RateLimiter { bytes_per_s: Some(1), hold, ..RateLimiter::default() };
            let mut rig = Rig::new(limiter, &["input"], &["output"]);
            rig.send("input", vec![1; 65_535]);
            rig.breathe();
            assert_eq!(rig.take("output").len(), 1);
        }
    }

    #[test]
    fn what_can_never_pass_is_not_held() {
        let limit = RateLimiter {
            bytes_per_s: Some(1000),
            burst_bytes: Some(100),
            hold: true,
            ..RateLimiter::default()
        };
        let mut rig = Rig::new(limit, &["input"], &["output"]);
        assert_eq!(rig.pass(&[&[0; 101], &[0; 60]]), [[0; 60]]);
        assert_eq!(rig.counter("rate_limited"), 1);
    }

    #[test]
    fn other_rates_while_it_runs() {
        let limit = |rate| RateLimiter {
            packets_per_s: Some(rate),
            burst_packets: Some(5),
            ..RateLimiter::default()
        };
        let mut rig = Rig::new(limit(1), &["input"], &["output"]);
        send(&mut rig, 5, 60);
        rig.breathe();
        rig.reconfigure(limit(1000));
        send(&mut rig, 5, 60);
        rig.breathe();
        assert_eq!(rig.take("output").len(), 5, "an empty bucket is as empty afterwards");
        send(&mut rig, 5, 60);
        rig.advance(3 * MS);
        assert_eq!(rig.take("output").len(), 3);
    }

    #[test]
    fn workers_sleep_while_packets_are_held() {
        sleeps_while_packets_are_held(1);
        sleeps_while_packets_are_held(2);
    }

    #[track_caller]
    fn sleeps_while_packets_are_held(workers: usize) {
        let mut graph = Graph::new();
        let slow = RateLimiter { packets_per_s: Some(50), hold: true, ..RateLimiter::default() };
        graph.app("source", Source { count: Some(1000), ..Source::default() }).unwrap();
        graph.app("limit", slow).unwrap().worker = Some(1);
        graph.app("sink", Sink {}).unwrap();
        graph.link("source.output -> limit.input").unwrap();
        graph.link("limit.output -> sink.input").unwrap();
        let mut engine = Engine::new(Settings { workers, ..Settings::new().unwrap() }).unwrap();
        engine.configure(&graph).unwrap();
        // The link fills up first.
        engine.run_for(Duration::from_millis(50)).unwrap();
        let before = engine.report().breaths;
        engine.run_for(Duration::from_millis(100)).unwrap();
        let report = engine.report();
        assert!(report.balanced(), "{:?}", report.imbalances);
        // Awake all the time, it would take a hundred thousand breaths.
        let breaths = report.breaths - before;
        assert!(report.delivered > 0 && breaths < 10_000, "{breaths} breaths of {workers} workers");
    }

    #[test]
    fn options_are_checked() {
        let error = |limit: RateLimiter| limit.check().unwrap_err().to_string();
        let none = RateLimiter::default();
        assert_eq!(error(none.clone()), "`bytes_per_s`: set this, `packets_per_s`, or both");
        assert_eq!(
            error(RateLimiter { packets_per_s: Some(0), ..none.clone() }),
            "`packets_per_s`: 0 is not between 1 and 1000000000000"
        );
        assert_eq!(
            error(RateLimiter { packets_per_s: Some(1), burst_bytes: Some(1), ..none }),
            "`burst_bytes`: needs `bytes_per_s`"
        );
    }
}
