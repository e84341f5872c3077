//! The worker itself: takes jobs from one ring, and puts answers into the other.

use super::flows::Flows;
use super::job::{Job, Told};
use super::memory::{ANSWER_BYTES, Shared, Word};
use super::sandbox;
use super::settings::Settings;
use crate::ndpi::Module;
use std::sync::atomic::Ordering;

/// How often an idle worker looks for jobs before it sleeps: the first times at once, then after it has let others run.
const LOOKS_AT_ONCE: u32 = 200;
const LOOKS: u32 = 220;

/// Serves jobs from this one on, for ever. It returns only if the sandbox cannot be entered.
pub(super) fn serve(shared: &Shared, module: Module, settings: &Settings, start: u32) -> std::io::Error {
    let mut flows = Flows::new(module, settings);
    if let Err(error) = sandbox::enter(settings.heap, settings.nice) {
        return error;
    }
    // From here on it is in the sandbox.
    shared.word(Word::Ready).store(1, Ordering::Release);
    let mut tail = start;
    let mut answers = Answers { shared, head: shared.word(Word::AnswerHead).load(Ordering::Acquire) };
    let mut looks = 0;
    loop {
        if shared.word(Word::JobHead).load(Ordering::Acquire) == tail {
            looks += 1;
            pause(shared, tail, looks);
            continue;
        }
        looks = 0;
        let job = Job::read(shared.job_header(tail));
        let packet = shared.job_packet(tail, job.bytes as usize);
        if settings.faults {
            faults(packet, shared);
        }
        flows.take(job, packet, &mut |told, strings| answers.put(told, strings));
        tail = tail.wrapping_add(1);
        shared.word(Word::JobTail).store(tail, Ordering::Release);
        if shared.word(Word::WakeAt).load(Ordering::Relaxed).wrapping_sub(tail) as i32 <= 0 {
            shared.wake(Word::DataPlaneSleeps);
        }
    }
}

/// There is no job: look again soon, or sleep.
fn pause(shared: &Shared, tail: u32, looks: u32) {
    if looks <= LOOKS_AT_ONCE {
        std::hint::spin_loop();
    } else if looks <= LOOKS {
        std::thread::yield_now();
    } else {
        shared.word(Word::WorkerSleeps).store(1, Ordering::SeqCst);
        std::sync::atomic::fence(Ordering::SeqCst);
        if shared.word(Word::JobHead).load(Ordering::Acquire) == tail {
            shared.sleep(Word::WorkerSleeps, None);
        }
        shared.word(Word::WorkerSleeps).store(0, Ordering::SeqCst);
    }
}

struct Answers<'a> {
    shared: &'a Shared,
    head: u32,
}

impl Answers<'_> {
    /// Puts an answer, when there is room for it.
    fn put(&mut self, told: &Told, strings: [Option<&[u8]>; 4]) {
        let slots = self.shared.layout().answers;
        while self.head.wrapping_sub(self.shared.word(Word::AnswerTail).load(Ordering::Acquire)) >= slots {
            self.shared.wake(Word::DataPlaneSleeps);
            std::thread::yield_now();
        }
        self.shared.write_answer(self.head, &told.write(strings));
        self.head = self.head.wrapping_add(1);
        self.shared.word(Word::AnswerHead).store(self.head, Ordering::Release);
    }
}

/// What packets that end with magic bytes do to a worker whose settings say so, for tests of what happens then.
fn faults(packet: &[u8], shared: &Shared) {
    if packet.ends_with(b"sluss: crash") {
        std::process::abort();
    }
    while packet.ends_with(b"sluss: hang") {
        std::hint::spin_loop();
    }
    // What a worker may do that an attacker has taken over.
    let forge_answers = packet.ends_with(b"sluss: forge answers");
    let forge_counters = packet.ends_with(b"sluss: forge counters");
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for index in 0..if forge_answers || forge_counters { u32::MAX } else { 0 } {
        let mut answer = [0; ANSWER_BYTES];
        for byte in &mut answer {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *byte = (random >> 56) as u8;
        }
        shared.write_answer(index, &answer);
        shared
            .word(Word::AnswerHead)
            .store(if forge_counters { random as u32 } else { index }, Ordering::Release);
        if forge_counters {
            shared.word(Word::JobTail).store((random >> 32) as u32, Ordering::Release);
        }
    }
}
