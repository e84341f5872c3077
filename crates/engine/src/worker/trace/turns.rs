//! The turns of a breath in which packets are followed: one app at a time, and a followed packet alone.

use super::TraceTotals;
use super::books::Books;
use super::follower::{Arrival, Turn};
use super::{Follower, TracePacket};
use crate::app::{Breath, NextEvent};
use crate::panic::guarded;
use crate::pool::{Orphans, Packet};
use crate::worker::Worker;
use crate::worker::capture_time::CaptureTime;
use crate::worker::task::{AGAIN, Method, Outlook, Task};

impl Worker {
    /// One breath, of the kind that is due.
    pub(crate) fn breathe_once(&mut self) -> bool {
        if self.follower.is_some() { self.breathe_following() } else { self.breathe() }
    }

    /// One breath in which packets are followed.
    pub(in crate::worker) fn breathe_following(&mut self) -> bool {
        let moved = self.breath(Self::following_turns);
        self.is_over |= self.follower.as_ref().is_none_or(|follower| follower.is_over());
        moved
    }

    /// Follows nothing any more. Returns what became of what was followed.
    pub(crate) fn end_following(&mut self) -> Option<TraceTotals> {
        let follower = self.follower.take()?;
        Some(follower.end(&self.tasks, &self.pool))
    }

    fn following_turns(&mut self, now_ns: u64) -> bool {
        self.with_follower(|follower, worker| follower.judge_failed(&worker.tasks, &worker.pool));
        let mut moved = 0;
        for app in self.scheduled(Method::Pull) {
            let is_awaited = self.capture_time == CaptureTime::Awaited;
            if !is_awaited || self.tasks[app].next_event() == NextEvent::CaptureStart {
                moved |= self.source_turn(app, now_ns, Task::pull);
            }
        }
        let pushers = self.scheduled(Method::Push);
        let mut pushed = self.push_each(&pushers, now_ns, |task| Some(task.begin_apart()));
        let mut is_first = true;
        while if is_first { pushed & AGAIN != 0 } else { pushed & !AGAIN != 0 } {
            (is_first, moved) = (false, moved | pushed & !AGAIN);
            pushed = self.push_each(&pushers, now_ns, Task::begin_apart_again);
            if pushed == AGAIN {
                pushed = self.push_each(&pushers, now_ns, Task::begin_apart_stuck);
            }
        }
        moved | pushed & !AGAIN != 0
    }

    /// The ticks of all apps.
    pub(in crate::worker) fn following_ticks(&mut self, now_ns: u64) {
        for app in self.scheduled(Method::Tick) {
            self.source_turn(app, now_ns, Task::tick);
        }
    }

    fn scheduled(&self, method: Method) -> Vec<usize> {
        self.schedule.of(method).iter().map(|&app| app as usize).collect()
    }

    /// A turn in which an app may bring packets in, and send those that it has held.
    fn source_turn(
        &mut self,
        app: usize,
        now_ns: u64,
        turn: impl FnOnce(&mut Task, &mut Breath<'_>) -> Option<u32>,
    ) -> u32 {
        let is_watched =
            self.follower.as_ref().is_some_and(|follower| follower.is_looking() || follower.is_held_by(app));
        if !is_watched {
            return self.one_turn(app, now_ns, turn);
        }
        if Orphans::any() {
            self.sweep(Task::discarded);
        }
        let before = Books::of(&self.tasks[app]);
        let moved = self.one_turn(app, now_ns, turn);
        let refused = self.refused();
        self.judge(Turn { app, arrivals: &[], is_source: true, before, refused });
        moved
    }

    /// Packets that enter the graph and that outputs have refused, of those that are to be followed.
    fn refused(&mut self) -> Vec<TracePacket<'static>> {
        let mut refused = Vec::new();
        if let Some(follower) = &mut self.follower {
            Orphans::refused(|packet| {
                if !follower.follows(packet) && follower.wants(&TracePacket::of(packet)) {
                    refused.push(TracePacket::of(packet).into_owned());
                }
            });
        }
        refused
    }

    fn push_each(
        &mut self,
        apps: &[usize],
        now_ns: u64,
        begin: impl Fn(&mut Task) -> Option<Vec<u32>>,
    ) -> u32 {
        apps.iter().fold(0, |moved, &app| {
            let waiting = begin(&mut self.tasks[app]);
            let pushed = match waiting {
                Some(waiting) => self.push_apart(app, waiting, now_ns),
                None => self.tasks[app].again(),
            };
            moved | pushed
        })
    }

    /// Lets an app push what waits, a followed packet at a time.
    fn push_apart(&mut self, app: usize, mut waiting: Vec<u32>, now_ns: u64) -> u32 {
        let is_concerned = self.follower.as_ref().is_some_and(|follower| follower.concerns(app));
        if waiting.iter().all(|&count| count == 0) {
            return 0;
        }
        if !is_concerned || self.tasks[app].wants_all_together() {
            return self.push_part(app, &waiting, now_ns);
        }
        let mut moved = 0;
        for input in 0..waiting.len() {
            while waiting[input] > 0 {
                let mut part = vec![0; waiting.len()];
                part[input] = waiting[input];
                self.tasks[app].show(&part);
                part[input] = self.next_part(self.tasks[app].shown(input));
                let pushed = self.push_part(app, &part, now_ns);
                let left = self.tasks[app].plugs.inputs[input].waiting() as u32;
                waiting[input] -= part[input].saturating_sub(left);
                moved |= pushed;
                if left > 0 || pushed & AGAIN != 0 {
                    break;
                }
            }
        }
        // Further turns of the breath see what is left.
        self.tasks[app].show(&waiting);
        moved
    }

    /// How many packets go together: a followed one, or those up to one.
    fn next_part(&self, packets: &[Packet]) -> u32 {
        let follows =
            |packet: &Packet| self.follower.as_ref().is_some_and(|follower| follower.follows(packet));
        let others = packets.iter().take_while(|packet| !follows(packet)).count();
        others.max(1) as u32
    }

    /// Lets an app push so many packets of each input.
    fn push_part(&mut self, app: usize, part: &[u32], now_ns: u64) -> u32 {
        let shown = self.tasks[app].show(part);
        if shown == 0 {
            return 0;
        }
        let push = |task: &mut Task, breath: &mut Breath<'_>| Some(task.push_shown(breath, shown));
        let arrivals: Vec<Arrival> = match &self.follower {
            Some(follower) if follower.concerns(app) => {
                let arrivals = |input| follower.arrivals(input, self.tasks[app].shown(input));
                (0..part.len()).flat_map(arrivals).collect()
            }
            _ => return self.one_turn(app, now_ns, push),
        };
        let before = Books::of(&self.tasks[app]);
        let pushed = self.one_turn(app, now_ns, push);
        // Those that the app has left in the link are not its own yet.
        let left: Vec<u32> =
            self.tasks[app].plugs.inputs.iter().map(|input| input.waiting() as u32).collect();
        let taken =
            |arrival: &Arrival| arrival.before < part[arrival.input()].saturating_sub(left[arrival.input()]);
        let arrivals: Vec<Arrival> = arrivals.into_iter().filter(taken).collect();
        self.judge(Turn { app, arrivals: &arrivals, is_source: false, before, refused: Vec::new() });
        pushed
    }

    /// The turn of one app. One that panics is stopped.
    fn one_turn(
        &mut self,
        app: usize,
        now_ns: u64,
        turn: impl FnOnce(&mut Task, &mut Breath<'_>) -> Option<u32>,
    ) -> u32 {
        let outer = Orphans::running();
        Orphans::enter(app as u32);
        let Worker { tasks, pool, pace, gauges, .. } = self;
        let task = &mut tasks[app];
        gauges.turn_of.set(task.epoch());
        let done = guarded(|| turn(task, &mut Breath { pool, now_ns, burst: pace.burst }));
        let moved = match done {
            Ok(moved) => moved.unwrap_or(0),
            Err(panic) => {
                self.app_panicked(app, panic.message(), Outlook::GoesOn);
                1
            }
        };
        Orphans::back_to(outer);
        moved
    }

    fn judge(&mut self, turn: Turn<'_>) {
        if Orphans::any() {
            self.sweep(Task::discarded);
        }
        self.with_follower(|follower, worker| follower.judge(turn, &worker.tasks, &worker.pool));
    }

    fn with_follower(&mut self, act: impl FnOnce(&mut Follower, &Worker)) {
        if let Some(mut follower) = self.follower.take() {
            act(&mut follower, self);
            self.follower = Some(follower);
        }
    }
}
