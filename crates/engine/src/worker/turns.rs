//! The turns of a breath: every app that pulls, then every app that got packets.

use super::task::{AGAIN, Method, Outlook, Task};
use super::{TIMED_EVERY, Worker};
use crate::app::Breath;
use crate::clock::ClockKind;
use crate::panic::{Panic, guarded};
use crate::pool::Orphans;
use crate::shm::Counter;
use std::time::Instant;

/// How the turns of a breath are given.
///
/// PERF: [`Usual`] is for the one place that gives the turns of almost all breaths: so their loops, with what guards them against panics, become
/// part of the breath. Where another place used the same function, they were called, with all that they need stored and loaded again: 7 ns.
pub(super) trait Kind {
    /// Whether each turn is timed.
    const IS_TIMED: bool;
}

/// In a breath like most.
pub(super) struct Usual;
/// In one that is timed turn by turn.
pub(super) struct Timed;
/// In one that is otherwise not like most.
pub(super) struct Rare;

impl Kind for Usual {
    const IS_TIMED: bool = false;
}

impl Kind for Timed {
    const IS_TIMED: bool = true;
}

impl Kind for Rare {
    const IS_TIMED: bool = false;
}

impl Worker {
    /// The turns of a breath. Returns whether anything moved.
    #[inline(always)]
    pub(super) fn turns_of_breath<K: Kind>(&mut self, now_ns: u64) -> bool {
        let pulled = self.turns::<K>(Method::Pull, Task::pull, now_ns);
        self.pushes::<K>(now_ns) | (pulled > 0)
    }

    /// The pushes of a breath. Returns whether anything moved.
    #[inline(always)]
    pub(super) fn pushes<K: Kind>(&mut self, now_ns: u64) -> bool {
        let pushed = self.turns::<K>(Method::Push, Task::push, now_ns);
        if pushed & AGAIN != 0 { self.pushes_again::<K>(now_ns, pushed) } else { pushed > 0 }
    }

    /// Lets those push again that have left packets, since links were full, and those behind them. Where nobody goes on any more, links that are
    /// full do not count for those who have others.
    #[inline(never)]
    fn pushes_again<K: Kind>(&mut self, now_ns: u64, pushed: u32) -> bool {
        let mut any = pushed & !AGAIN;
        loop {
            let mut pushed = self.turns::<K>(Method::Push, Task::push_again, now_ns);
            if pushed == AGAIN {
                pushed = self.turns::<K>(Method::Push, Task::push_stuck, now_ns);
            }
            any |= pushed & !AGAIN;
            if pushed & !AGAIN == 0 {
                return any > 0;
            }
        }
    }

    /// Times the turns of one breath, or another breath as a whole, in which no clock is read between turns.
    #[cold]
    pub(super) fn timed_turns(&mut self, now_ns: u64) -> bool {
        if self.breaths.is_multiple_of(TIMED_EVERY) {
            return self.turns_of_breath::<Timed>(now_ns);
        }
        let begin = Instant::now();
        let moved = self.turns_of_breath::<Rare>(now_ns);
        self.gauges.latency.record(begin.elapsed().as_nanos() as u64);
        moved
    }

    /// Gives all apps of a schedule their turns; an app that panics is stopped, and the schedule goes on after it. Returns what their turns
    /// do: 0 if nothing moved.
    #[inline(always)]
    pub(super) fn turns<K: Kind>(
        &mut self,
        method: Method,
        turn: impl Fn(&mut Task, &mut Breath<'_>) -> Option<u32> + Copy,
        now_ns: u64,
    ) -> u32 {
        // Unless an app has an engine of its own, nobody.
        let outer = Orphans::running();
        let mut first = 0;
        let mut moved = 0;
        loop {
            let turns = || {
                let Worker { tasks, schedule, pool, pace, gauges, .. } = self;
                let schedule = schedule.of(method).get(first..).unwrap_or_default();
                each::<K>(schedule, tasks, &gauges.turn_of, Breath { pool, now_ns, burst: pace.burst }, turn)
            };
            match guarded(turns) {
                Ok(more) => {
                    Orphans::back_to(outer);
                    return moved | more;
                }
                Err(panic) => {
                    moved |= 1;
                    first = self.turn_panicked(method, panic);
                }
            }
        }
    }

    /// The app that ran has panicked. Returns who is next in the schedule.
    #[cold]
    fn turn_panicked(&mut self, method: Method, panic: Panic) -> usize {
        let Some(running) = Orphans::running() else { panic.resume() };
        let position = self.schedule.of(method).iter().position(|&task| task == running);
        self.app_panicked(running as usize, panic.message(), Outlook::GoesOn);
        position.map_or(usize::MAX, |position| position + 1)
    }

    /// Work that is done from time to time.
    #[cold]
    pub(super) fn tick(&mut self, now_ns: u64) {
        self.clock.follow_day();
        // It may tick in every breath on capture time.
        if self.clock.kind() == ClockKind::Wall {
            self.time.publish();
        }
        if self.follower.is_some() {
            self.following_ticks(now_ns);
        } else {
            self.turns::<Rare>(Method::Tick, Task::tick, now_ns);
        }
        self.look_after_apps(now_ns);
    }
}

/// Gives apps their turns, one after the other. Returns the bits of what these return.
#[inline(always)]
fn each<K: Kind>(
    schedule: &[u32],
    tasks: &mut [Task],
    turn_of: &Counter,
    mut breath: Breath<'_>,
    turn: impl Fn(&mut Task, &mut Breath<'_>) -> Option<u32>,
) -> u32 {
    let mut moved = 0;
    let mut begin = K::IS_TIMED.then(Instant::now);
    for &task in schedule {
        Orphans::enter(task);
        let task = &mut tasks[task as usize];
        turn_of.set(task.epoch());
        let Some(count) = turn(task, &mut breath) else { continue };
        moved |= count;
        if let Some(begin) = &mut begin {
            let end = Instant::now();
            task.took((end - *begin).as_nanos() as u64);
            *begin = end;
        }
    }
    moved
}
