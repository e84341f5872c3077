//! Questions to tier 2: which flows it looks at, what it has said of them, and what waits for its answers.

use super::Tag;
use crate::record::Record;
use dpi::worker::{Answer, Counters, FlowId, Names, Options, Packet, Refused, Until, Worker, WorkerError};
use dpi::{By, Confidence, Protocol, Verdict};
use flow::table::Slot;

/// Flows that tier 2 looks at, at a time.
const QUESTIONS_MAX: u32 = 1 << 16;

/// A verdict of nDPI on a flow, and the first packet that it holds for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    /// The number of the packet among those submitted.
    pub(super) from: u32,
    /// A tag that has what was said, and nothing of a packet.
    pub(super) tag: Tag,
}

/// A flow that tier 2 looks at.
#[derive(Debug, Default)]
pub(super) struct Question {
    /// How often its place has had a question.
    pub(super) generation: u32,
    is_open: bool,
    /// Where the flow is in its table, as long as it is there.
    pub(super) slot: Option<Slot>,
    /// Its state in tier 1, as bits, while that has not made up its mind.
    pub(super) tier1: Option<u32>,
    /// Packets that were submitted.
    pub(super) submitted: u32,
    /// How many had been when tier 1 handed the flow on, or had identified it.
    pub(super) handed_at: u32,
    /// What was said last, while tier 1 has not made up its mind.
    pub(super) held: Option<Answer>,
    /// The flow, when it is over and the last is not yet said.
    pub(super) record: Option<Box<Record>>,
    /// What it was said to be within the burst.
    pub(super) changes: Vec<Change>,
}

impl Question {
    /// What the flow was said to be when so many of its packets had been submitted.
    pub(super) fn change_at(&self, submitted: u32) -> Option<Change> {
        self.changes.iter().rev().find(|change| change.from <= submitted).copied()
    }
}

/// Tier 2, and the flows that it looks at.
pub(super) struct Asker {
    worker: Worker,
    protocols: Vec<Protocol>,
    questions: Vec<Question>,
    free: Vec<u32>,
    /// What was said and is not yet taken note of.
    pub(super) answers: Vec<Answer>,
    /// Flows that were not asked about as too many were.
    pub(super) full: u64,
}

impl std::fmt::Debug for Asker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Asker").field("questions", &self.questions.len()).finish_non_exhaustive()
    }
}

impl Asker {
    pub(super) fn start(options: Options) -> Result<Asker, WorkerError> {
        let worker = Worker::start(Options { flows: QUESTIONS_MAX, ..options })?;
        let protocols = worker.names().protocols().iter().map(|known| named(&known.name)).collect();
        Ok(Asker { worker, protocols, questions: Vec::new(), free: Vec::new(), answers: Vec::new(), full: 0 })
    }

    pub(super) fn names(&self) -> &Names {
        self.worker.names()
    }

    pub(super) fn counters(&self) -> Counters {
        self.worker.counters()
    }

    pub(super) fn unstarted(&self) -> Option<&str> {
        self.worker.unstarted()
    }

    pub(super) fn cpu_seconds(&self) -> f64 {
        self.worker.cpu_seconds()
    }

    /// The process that runs nDPI, while there is one.
    pub(super) fn process_id(&self) -> Option<u32> {
        self.worker.process_id()
    }

    /// Opens a question about a flow; `None` if there are too many.
    pub(super) fn open(&mut self, slot: Slot) -> Option<u32> {
        let at = match self.free.pop() {
            Some(at) => at,
            None if (self.questions.len() as u32) < QUESTIONS_MAX => {
                self.questions.push(Question::default());
                self.questions.len() as u32 - 1
            }
            None => return None,
        };
        let question = &mut self.questions[at as usize];
        let generation = question.generation.wrapping_add(1);
        let mut changes = std::mem::take(&mut question.changes);
        changes.clear();
        *question = Question { generation, is_open: true, slot: Some(slot), changes, ..Question::default() };
        Some(at)
    }

    pub(super) fn question(&mut self, at: u32) -> &mut Question {
        &mut self.questions[at as usize]
    }

    /// The question that an answer is about, if it is open.
    pub(super) fn answered(&self, answer: &Answer) -> Option<u32> {
        let at = answer.flow.slot;
        let question = self.questions.get(at as usize)?;
        (question.is_open && question.generation == answer.flow.generation).then_some(at)
    }

    /// Whether the last word about a flow has come, and waits to be taken note of.
    pub(super) fn has_last_word(&self, at: u32) -> bool {
        let flow = self.flow_id(at);
        self.answers.iter().any(|answer| answer.flow == flow && answer.done)
    }

    /// Closes a question; nothing is waited for any more.
    pub(super) fn close(&mut self, at: u32) {
        let question = &mut self.questions[at as usize];
        if std::mem::take(&mut question.is_open) {
            self.free.push(at);
        }
    }

    /// Closes a question that has not been answered.
    pub(super) fn withdraw(&mut self, at: u32) {
        let flow = self.flow_id(at);
        // If it cannot be told now, the state in the worker is taken when another flow needs it.
        let _ = self.worker.end(flow);
        self.close(at);
    }

    fn flow_id(&self, at: u32) -> FlowId {
        FlowId { slot: at, generation: self.questions[at as usize].generation }
    }

    /// Submits a packet of a flow. With `waits`, room is waited for.
    pub(super) fn submit(
        &mut self,
        at: u32,
        (transport, datagram, time_ns): (u8, &[u8], u64),
        waits: bool,
    ) -> Result<(), Refused> {
        let first = self.questions[at as usize].submitted == 0;
        let packet = Packet { flow: self.flow_id(at), first, transport, ms: time_ns / 1_000_000, datagram };
        self.with_room(waits, |worker| worker.submit(&packet))?;
        self.questions[at as usize].submitted += 1;
        Ok(())
    }

    /// Asks for the last word about a flow.
    pub(super) fn give_up(&mut self, at: u32, waits: bool) -> Result<(), Refused> {
        let flow = self.flow_id(at);
        self.with_room(waits, |worker| worker.give_up(flow, false))
    }

    fn with_room(
        &mut self,
        waits: bool,
        mut submit: impl FnMut(&mut Worker) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        match submit(&mut self.worker) {
            Err(Refused::Full) if waits => {
                let answers = &mut self.answers;
                self.worker.wait(Until::Room, |answer| answers.push(answer.clone()));
                submit(&mut self.worker)
            }
            done => done,
        }
    }

    /// Waits until half of the ring is free, if less than a quarter is. Says whether it has waited.
    ///
    /// PERF: the data plane sleeps for a quarter of the ring, not for each burst: to be woken costs as much as a hundred packets.
    pub(super) fn make_room(&mut self) -> bool {
        let waits = self.worker.pending() > self.worker.capacity() / 4 * 3;
        if waits {
            let answers = &mut self.answers;
            self.worker.wait(Until::Room, |answer| answers.push(answer.clone()));
        }
        waits
    }

    /// Takes what was said, waiting for all of it or for nothing.
    pub(super) fn listen(&mut self, waits: bool) {
        let answers = &mut self.answers;
        if waits {
            self.worker.wait(Until::Idle, |answer| answers.push(answer.clone()));
        } else {
            self.worker.poll(|answer| answers.push(answer.clone()));
        }
    }

    /// Questions about flows that are over, of which the last word has not come.
    pub(super) fn take_orphans(&mut self) -> Vec<Record> {
        let left: Vec<u32> =
            (0..self.questions.len() as u32).filter(|at| self.questions[*at as usize].is_open).collect();
        let records = left
            .iter()
            .filter_map(|at| self.questions[*at as usize].record.take())
            .map(|record| *record)
            .collect();
        left.into_iter().for_each(|at| self.close(at));
        records
    }

    /// What an answer says, if it says anything.
    pub(super) fn verdict(&self, answer: &Answer) -> Option<Verdict> {
        let protocol = |id: u16| self.protocols.get(usize::from(id)).copied().unwrap_or_default();
        let (app, master) = (protocol(answer.app), protocol(answer.master));
        // One of the two may be all that is known.
        let (app, master) = if app == Protocol::UNKNOWN { (master, app) } else { (app, master) };
        (app != Protocol::UNKNOWN).then(|| Verdict {
            protocol: app,
            master: if master == app { Protocol::UNKNOWN } else { master },
            by: By::Ndpi,
            confidence: answer.confidence,
            evidence: evidence(answer.confidence),
        })
    }
}

fn evidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Port => "port",
        Confidence::Address => "address",
        Confidence::Related => "another flow",
        _ => "payload, by nDPI",
    }
}

fn named(name: &str) -> Protocol {
    Protocol::intern(name).unwrap_or_default()
}
