//! The time that captures tell: it comes from the apps, and stands still while any of them has something to do.

use super::Worker;
use super::task::{Method, Task};
use super::turns::Rare;
use crate::app::{Breath, NextEvent};
use crate::clock::{ClockKind, coarse_day_ns};

/// Whether it is known when capture time begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CaptureTime {
    /// No app has said that it will know.
    Unasked,
    /// One has, and does not know yet.
    Awaited,
    /// It has begun.
    Begun,
}

impl Worker {
    /// The time of this breath.
    #[inline]
    pub(super) fn advance(&mut self) -> u64 {
        if self.clock.kind() == ClockKind::Capture {
            return self.advance_capture_time();
        }
        let before_ns = self.clock.now_ns();
        let now_ns = self.clock.advance();
        // Breaths that share a reading began at about that time.
        if now_ns != before_ns {
            self.gauges.began_unix_ns.set(self.clock.stamp_ns());
        }
        now_ns
    }

    /// PERF: a function of its own, so that breaths by the time of day keep their registers.
    #[inline(never)]
    fn advance_capture_time(&mut self) -> u64 {
        self.gauges.began_unix_ns.set(coarse_day_ns());
        let mut next_ns = None;
        let mut is_awaited = false;
        for task in &self.tasks {
            match task.next_event() {
                NextEvent::None => {}
                NextEvent::At(time_ns) => next_ns = Some(next_ns.unwrap_or(time_ns).min(time_ns)),
                NextEvent::CaptureStart => is_awaited = true,
            }
        }
        if is_awaited {
            // Where time has begun, it waits for a capture that has been opened since.
            next_ns = Some(0);
        }
        let begin_ns = self.beginning_ns(is_awaited);
        let Some(next_ns) = begin_ns.or(next_ns) else { return self.clock.now_ns() };
        if next_ns <= self.clock.now_ns() {
            // It was due in the breath before, which has not settled it: perhaps the app does that when it ticks.
            self.next_tick_ns = 0;
        }
        self.clock.jump(next_ns)
    }

    /// When capture time begins, if an app has found out since the breath before, and time was counted from 1970 until then: what others wait
    /// for by that count is past.
    fn beginning_ns(&mut self, is_awaited: bool) -> Option<u64> {
        if self.capture_time == CaptureTime::Begun {
            return None;
        }
        if is_awaited {
            self.capture_time = CaptureTime::Awaited;
            return None;
        }
        let who_know = self.tasks.iter().filter(|task| task.tells_time());
        let begin_ns = who_know.filter_map(|task| task.next_event().time_ns()).min();
        self.capture_time = if begin_ns.is_some() { CaptureTime::Begun } else { CaptureTime::Unasked };
        begin_ns.filter(|_| self.clock.now_ns() > 0)
    }

    /// The turns of a breath before capture time has begun: of the apps that pull, those alone that will know when.
    #[cold]
    pub(super) fn turns_before_time(&mut self, now_ns: u64) -> bool {
        let pull = |task: &mut Task, breath: &mut Breath<'_>| match task.next_event() {
            NextEvent::CaptureStart => task.pull(breath),
            NextEvent::None | NextEvent::At(_) => None,
        };
        let pulled = self.turns::<Rare>(Method::Pull, pull, now_ns);
        self.pushes::<Rare>(now_ns) | (pulled > 0)
    }
}
