//! A run: breaths until the end, and sleep between those in which nothing moves.

use super::Worker;
use super::control::WorkerControl;
use super::rest::{Awake, NAP, Rest, Way};
use super::task::{Method, Task};
use crate::app::NextEvent;
use crate::clock::ClockKind;
use crate::link::Ring;
use rustix::event::{Timespec, poll};
use rustix::io::Errno;
use std::time::{Duration, Instant};

impl Worker {
    /// Breathes until told to stop, or an app wants the run to end.
    ///
    /// PERF: whether packets are followed is asked once, here, and not in each breath.
    pub(crate) fn run(&mut self, control: &mut WorkerControl, busywait: bool) {
        if self.follower.is_some() {
            self.run_by(Self::breathe_following, control, busywait);
        } else {
            self.run_by(Self::breathe, control, busywait);
        }
    }

    fn run_by(&mut self, breathe: impl Fn(&mut Self) -> bool, control: &mut WorkerControl, busywait: bool) {
        let (mut rest, mut awake) = (self.rest(), Awake::new(self.exchanged()));
        self.load.pause();
        self.stood();
        self.time.begin();
        self.is_over = false;
        control.begins(self.stopped.take().map_or(Duration::ZERO, |stopped| stopped.elapsed()));
        while !control.is_stopping() && !self.is_over {
            if breathe(self) {
                rest.moved();
                control.moved();
                continue;
            }
            // Packets freed here may be what another worker waits for.
            self.return_foreign();
            control.rests(self.is_at_rest());
            if busywait {
                continue;
            }
            let now_ns = self.clock.now_ns();
            awake.look(now_ns, || self.pressed());
            if awake.is_on(now_ns) {
                self.give_way(&mut awake);
            } else if control.is_ready() {
                std::thread::sleep(NAP);
                self.clock.slept();
            } else if let Some(time) = self.may_sleep(&mut rest) {
                if !self.waits_for_devices(&mut rest) {
                    std::thread::sleep(time);
                }
                self.clock.slept();
                // What has come meanwhile will soon be gone.
                awake.look(now_ns, || self.pressed());
            }
        }
        self.stopped = Some(Instant::now());
        // The thread ends, and its list with it, some time after the engine goes on.
        self.sweep(Task::discarded);
        self.return_foreign();
        self.publish_pool();
        self.time.end();
    }

    /// Waits until a device has something, if nothing else can come. Returns whether it has waited.
    ///
    /// PERF: of an idle worker with an `af_packet`, this leaves 0.4 % of a core of 4.1 %, and 100 of 2,080 wakings a second; a packet that
    /// comes then is there and back in 0.17 and 0.18 ms (medians of two series) in place of 0.23 and 0.49.
    pub(crate) fn waits_for_devices(&mut self, rest: &mut Rest) -> bool {
        // Capture time comes when somebody asks for it.
        if self.clock.kind() != ClockKind::Wall {
            return false;
        }
        let Some(time) = rest.until_device(|| self.until_called_ns()) else { return false };
        let mut devices = Vec::new();
        if self.any_down || !self.tasks.iter().all(|task| task.waits_for(&mut devices)) || devices.is_empty()
        {
            return false;
        }
        let timeout = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) };
        match poll(&mut devices, Some(&timeout)) {
            // After a signal, too, the next breath looks anyway.
            Ok(0) | Err(Errno::INTR) => {}
            // Where the system has no memory, or forbids it, it would return at once again and again.
            Ok(_) | Err(_) => rest.bar_devices(),
        }
        // So few breaths come that to count them takes long.
        self.is_over |= self.tasks.iter().any(Task::ends_run);
        true
    }

    /// How long it is until an app wants to be called, or is to tick since it has not settled in its turn what was due.
    pub(crate) fn until_called_ns(&self) -> Option<u64> {
        let now_ns = self.clock.now_ns();
        let call_ns = |task: &Task| match task.next_event() {
            NextEvent::None => None,
            NextEvent::At(next_ns) if next_ns > now_ns => Some(next_ns),
            NextEvent::At(_) | NextEvent::CaptureStart => task.has(Method::Tick).then_some(self.next_tick_ns),
        };
        let next_ns = self.tasks.iter().filter_map(call_ns).min()?;
        Some(next_ns.saturating_sub(now_ns))
    }

    /// Lets others have the core for a moment.
    fn give_way(&mut self, awake: &mut Awake) {
        let now_ns = self.clock.now_ns();
        let has_paused = match awake.way(now_ns) {
            Way::Nap => {
                std::thread::sleep(NAP);
                true
            }
            Way::Yield => {
                let begin = Instant::now();
                std::thread::yield_now();
                awake.yielded(now_ns, begin.elapsed().as_nanos() as u64)
            }
        };
        if has_paused {
            self.clock.slept();
        }
    }

    /// Sends packets of other workers back to them, if there are any.
    pub(super) fn return_foreign(&mut self) {
        if self.pool.foreign() > 0 {
            self.pool.return_foreign();
        }
    }

    /// [`Worker::exchanged`], where a link to or from another worker is half full.
    fn pressed(&self) -> Option<u32> {
        self.tasks.iter().flat_map(Task::rings).any(Ring::is_pressed).then(|| self.exchanged())
    }

    /// How it sleeps in a run.
    pub(crate) fn rest(&self) -> Rest {
        Rest::new(self.is_sent_to())
    }

    /// Whether another worker sends to this one. Apps move between runs only.
    fn is_sent_to(&self) -> bool {
        self.tasks.iter().flat_map(|task| &task.plugs.inputs).any(|input| !input.ring().is_local())
    }

    /// How many packets have been sent over all links to or from other workers, modulo 2^32.
    fn exchanged(&self) -> u32 {
        let away = self.tasks.iter().flat_map(Task::rings).filter(|ring| !ring.is_local());
        away.fold(0, |sum: u32, ring| sum.wrapping_add(ring.sent()))
    }

    /// How long to sleep after a breath in which nothing moved.
    fn may_sleep(&self, rest: &mut Rest) -> Option<Duration> {
        let now_ns = self.clock.now_ns();
        // What was due has had its turn, and did nothing.
        let times = || self.tasks.iter().filter_map(|task| task.next_event().time_ns());
        let events = || times().filter(|&ns| ns > now_ns);
        let until_event_ns = || events().min().map(|next_ns| next_ns - now_ns);
        match self.tasks.iter().map(Task::waiting).sum() {
            0 => Some(rest.without_packets(until_event_ns)),
            waiting => match until_event_ns() {
                // The next breath has that time.
                Some(_) if self.clock.kind() == ClockKind::Capture => None,
                until_event_ns => rest.with_packets(waiting, until_event_ns),
            },
        }
    }

    /// Whether nothing will move unless something comes from outside, and nothing will.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.tasks.iter().all(Task::is_at_rest)
    }
}
