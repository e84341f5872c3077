//! What becomes of jobs and flows when a worker has ended.

use super::job::{FlowId, Job, Order};
use super::memory::Word;
use super::process::WarmProcess;
use super::watch::has_ended;
use super::{Answer, QUARANTINED_MAX, Reason, Worker};
use crate::{Confidence, Details};
use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long no worker is started after several that have done nothing.
const PAUSE: Duration = Duration::from_secs(1);
/// How many these are.
const BARREN_MAX: u32 = 5;

/// Workers that have ended one after the other before they were ready.
#[derive(Default)]
pub(super) struct Barren {
    count: u32,
    last: Option<Instant>,
}

impl Barren {
    fn note(&mut self, ready: bool, now: Instant) {
        self.count = if ready { 0 } else { self.count.saturating_add(1) };
        self.last = Some(now);
    }

    /// Whether no worker is started for now.
    pub(super) fn must_wait(&self, now: Instant) -> bool {
        self.is_hopeless() && self.last.is_some_and(|last| now.saturating_duration_since(last) < PAUSE)
    }

    fn is_hopeless(&self) -> bool {
        self.count >= BARREN_MAX
    }
}

impl Worker {
    /// Notes what the warm process says. When the worker has ended, tells which flows are lost, and has another started.
    pub(super) fn recover(&mut self, now: Instant, each: &mut dyn FnMut(&Answer)) {
        while let Some(message) = self.process.message() {
            if let Some((killed, cpu)) = self.process.note(&message) {
                self.cpu_of_ended += cpu;
                self.counters.crashes += u64::from(!killed);
                self.clear_up(now, true, each);
            }
            self.watch.idle();
        }
        if self.process.is_late(now) {
            self.process.kill();
        }
        if self.process.is_gone() {
            self.replace_process(now, each);
        } else if self.process.is_absent() && !self.barren.must_wait(now) {
            self.counters.respawns += 1;
            self.process.ask_to_start(self.tail);
        }
    }

    /// The warm process is gone, and its worker with it: it was killed from outside, or could not load nDPI any more.
    fn replace_process(&mut self, now: Instant, each: &mut dyn FnMut(&Answer)) {
        if self.barren.must_wait(now) {
            // Nobody will do what was submitted meanwhile.
            if self.unstarted.is_some() && self.pending() > 0 {
                let last = self.barren.last;
                self.clear_up(now, false, each);
                self.barren.last = last;
            }
            return;
        }
        // The kernel kills the worker at once, but that is to be over before another writes to the rings.
        if self.process.worker().is_some_and(|pid| !has_ended(pid)) {
            return;
        }
        // Once for each that has gone.
        if self.unstarted.is_none() {
            self.counters.crashes += 1;
            self.cpu_of_ended += self.process.cpu();
        }
        self.clear_up(now, false, each);
        match WarmProcess::spawn(&self.options, &self.settings, &self.memory) {
            Ok(process) => {
                self.process = process;
                self.unstarted = None;
            }
            Err(error) => {
                self.process.reap();
                self.counters.unstarted += 1;
                self.unstarted = Some(error.to_string());
                self.barren.note(false, now);
            }
        }
    }

    /// No worker runs. Skips the job that was in work, if it is to blame, tells which flows are lost, and makes both rings fit for another worker.
    fn clear_up(&mut self, now: Instant, blame: bool, each: &mut dyn FnMut(&Answer)) {
        self.see_tail();
        self.take_answers(each);
        let ready = self.shared.word(Word::Ready).swap(0, Ordering::AcqRel) != 0;
        self.barren.note(ready, now);
        let mask = self.shared.layout().jobs - 1;
        let ring = |index: u32| (index & mask) as usize;

        // The job that was in work, and its flow.
        let poison = (blame && ready && self.pending() > 0).then(|| self.ring[ring(self.tail)].0);
        if let Some(flow) = poison {
            if self.quarantined.len() >= QUARANTINED_MAX {
                self.quarantined.clear();
            }
            self.quarantined.insert(flow);
            self.counters.skipped += 1;
            self.tail = self.tail.wrapping_add(1);
        }

        // Flows all of whose packets are yet to come are not lost. Other jobs that are yet to come are of no use.
        let mut begun = HashSet::new();
        for index in (0..self.pending()).map(|n| self.tail.wrapping_add(n)) {
            let (flow, order) = self.ring[ring(index)];
            if order == Order::First && poison != Some(flow) && !self.barren.is_hopeless() {
                begun.insert(flow);
            }
            if !begun.contains(&flow) && order != Order::Skip {
                self.shared.write_job(index, Job::default().write(), &[]);
                self.ring[ring(index)].1 = Order::Skip;
                self.counters.skipped += 1;
            }
        }
        for word in 0..self.open.len() {
            let mut bits = self.open[word];
            while bits != 0 {
                let slot = word as u32 * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                let flow = FlowId { slot, generation: self.generations[slot as usize] };
                if !begun.contains(&flow) {
                    self.close(slot);
                    self.counters.lost += 1;
                    each(&lost(flow, poison));
                }
            }
        }
        if self.barren.is_hopeless() {
            self.tail = self.head;
        }
        self.answer_tail =
            self.answer_tail.wrapping_add(self.answers_waiting().min(self.shared.layout().answers));
        self.shared.word(Word::AnswerTail).store(self.answer_tail, Ordering::Release);
        self.shared.word(Word::AnswerHead).store(self.answer_tail, Ordering::Release);
        self.shared.word(Word::JobTail).store(self.tail, Ordering::Release);
        self.shared.word(Word::WorkerSleeps).store(0, Ordering::Release);
    }
}

fn lost(flow: FlowId, poison: Option<FlowId>) -> Answer {
    Answer {
        flow,
        reason: if poison == Some(flow) { Reason::Quarantined } else { Reason::Lost },
        done: true,
        app: 0,
        master: 0,
        category: 0,
        confidence: Confidence::Unknown,
        packets: 0,
        risks: 0,
        details: Details::default(),
        ja3: None,
    }
}
