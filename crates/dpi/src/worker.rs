//! nDPI in a process of its own, the worker.
//!
//! ```text
//!  data plane                                        worker (sandbox)
//!  submit() ──► ring of jobs, shared memory ──►      nDPI
//!  poll()   ◄── ring of answers             ◄──
//!      │ socket: start, kill                            ▲ fork
//!      └──────────────────────────► warm process ───────┘   (nDPI loaded, sees no packet)
//! ```
//!
//! nDPI is a large parser in C: packets can make it crash, hang or worse. So it runs where a packet can reach nothing: in a process that may
//! compute and allocate, and answers in shared memory that the data plane checks. If it dies or hangs, the data plane does not wait: the warm
//! process forks another within milliseconds, the packet that was in work is skipped, and its flow is not looked at again.
//!
//! The warm process is this program, run once more with a hidden argument: [`enter`] must be the first call of its `main`.
//!
//! INVARIANT: nothing that the worker writes is trusted. Counters that make no sense, and answers for flows or protocols that do not exist, end it.

mod counters;
mod flows;
#[doc(hidden)]
pub mod inline;
mod job;
mod memory;
mod messages;
mod names;
mod options;
mod process;
mod recover;
mod sandbox;
mod serve;
mod settings;
mod watch;
mod zygote;

use crate::{Confidence, Details};
pub use counters::Counters;
pub use job::FlowId;
use job::{Job, Order, Told};
use memory::{Shared, Word};
pub use names::{Names, ProtocolName};
pub use options::{Faults, Options, WorkerError};
use process::WarmProcess;
use recover::Barren;
use settings::Settings;
use std::collections::HashSet;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use watch::Watch;

/// The hidden argument by which this program becomes the warm process.
const ARGUMENT: &str = "--dpi-worker";

/// If this process was started as a worker, serves as one and never returns; otherwise returns at once.
///
/// A program that uses [`Worker`] calls it before anything else, while it has one thread.
pub fn enter() {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_none_or(|argument| argument != ARGUMENT) {
        return;
    }
    let ended = Settings::read(arguments).map(|settings| zygote::run(&settings));
    if ended.is_none() {
        eprintln!("{ARGUMENT} is how this program starts its worker for nDPI. It is of no use otherwise.");
    }
    std::process::exit(if matches!(ended, Some(Ok(()))) { 0 } else { 2 });
}

/// One packet for nDPI.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// The flow that it belongs to.
    pub flow: FlowId,
    /// Whether it is the first of its flow that is submitted.
    pub first: bool,
    /// Protocol over IP: 6 for TCP, 17 for UDP.
    pub transport: u8,
    /// When it was captured, in milliseconds.
    pub ms: u64,
    /// It from its IP header on.
    pub datagram: &'a [u8],
}

/// Why something was not submitted. Each is counted in [`Counters`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The worker has not caught up.
    #[error("the ring of jobs is full")]
    Full,
    /// The packet is longer than [`Options::packet_bytes`].
    #[error("the packet is too long")]
    TooLong,
    /// A packet of the flow was in work when the worker died or hung.
    #[error("the flow is quarantined")]
    Quarantined,
    /// The slot is not below [`Options::flows`], or the flow's first packet was not submitted.
    #[error("the flow is unknown")]
    UnknownFlow,
}

/// Why something is said of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// nDPI has said what it is, or that it does not know.
    Found,
    /// Another flow needed its state; what is said is the best guess so far.
    Evicted,
    /// What was known of it is lost with a worker that has ended.
    Lost,
    /// One of its packets was in work when the worker died or hung.
    Quarantined,
}

/// What the worker says of a flow. Ids are those of [`Worker::names`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The flow.
    pub flow: FlowId,
    /// Why it is said.
    pub reason: Reason,
    /// Whether it is the last that is said of the flow. Before, it may be said what the flow is while nDPI looks for more details.
    pub done: bool,
    /// The application, or the protocol; 0 if it is unknown.
    pub app: u16,
    /// The protocol that carries the application; 0 if there is none.
    pub master: u16,
    /// The category.
    pub category: u16,
    /// How sure nDPI is.
    pub confidence: Confidence,
    /// Packets of the flow that nDPI has seen.
    pub packets: u32,
    /// What is risky about the flow, see [`crate::risk`].
    pub risks: u64,
    /// What the flow says of itself.
    pub details: Details,
    /// Fingerprint of the client, JA3; nDPI before 5 has it.
    pub ja3: Option<Box<str>>,
}

/// What to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Half of the ring of jobs is free.
    Room,
    /// All jobs are done, and all answers given.
    Idle,
}

/// nDPI in a process of its own, seen from the data plane.
pub struct Worker {
    options: Options,
    settings: Settings,
    shared: Shared,
    memory: OwnedFd,
    process: WarmProcess,
    names: Names,
    /// Our counters of the rings; those in shared memory are copies for the worker.
    head: u32,
    tail: u32,
    answer_tail: u32,
    /// What each slot of the ring of jobs holds, for when a worker has ended.
    ring: Vec<(FlowId, Order)>,
    /// Flows of which the last is not said yet: by slot, the generation, if the bit is set.
    generations: Vec<u32>,
    open: Vec<u64>,
    quarantined: HashSet<FlowId>,
    watch: Watch,
    barren: Barren,
    /// Why the warm process, which is gone, cannot be started again.
    unstarted: Option<String>,
    counters: Counters,
    cpu_of_ended: Duration,
}

/// Flows that are remembered as quarantined. When there are more, all are forgotten.
const QUARANTINED_MAX: usize = 4096;

impl Worker {
    /// Starts a worker, and waits until nDPI is loaded.
    ///
    /// # Errors
    /// nDPI was absent when this program was built, or is absent now, or is of another version; or the processes cannot be started.
    pub fn start(options: Options) -> Result<Worker, WorkerError> {
        if let Some(why) = crate::ndpi::absent() {
            return Err(WorkerError::AbsentAtBuild(why));
        }
        let settings = options.settings()?;
        let (shared, memory) = Shared::create(settings.layout).map_err(WorkerError::Start)?;
        let mut process = WarmProcess::spawn(&options, &settings, &memory).map_err(WorkerError::Start)?;
        let names = process.wait_for_names()?;
        process.start_worker(0)?;
        while shared.word(Word::Ready).load(Ordering::Acquire) == 0 {
            if process.message().is_some() || process.is_gone() {
                return Err(WorkerError::Sandbox);
            }
            std::thread::sleep(Duration::from_micros(100));
        }
        let flows = options.flows as usize;
        Ok(Worker {
            settings,
            shared,
            memory,
            process,
            names,
            head: 0,
            tail: 0,
            answer_tail: 0,
            ring: vec![Default::default(); options.jobs as usize],
            generations: vec![0; flows],
            open: vec![0; flows.div_ceil(64)],
            quarantined: HashSet::new(),
            watch: Watch::new(options.stuck),
            barren: Barren::default(),
            unstarted: None,
            counters: Counters::default(),
            cpu_of_ended: Duration::ZERO,
            options,
        })
    }

    /// Names of protocols and categories, by the ids of answers.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// What has happened so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Jobs that are not done.
    pub fn pending(&self) -> u32 {
        self.head.wrapping_sub(self.tail)
    }

    /// Jobs that the ring has room for.
    pub fn capacity(&self) -> u32 {
        self.shared.layout().jobs
    }

    /// The process id of the worker, while there is one.
    pub fn process_id(&self) -> Option<u32> {
        self.process.worker()
    }

    /// Why there is no worker and none can be started, as in a process that is confined; it is tried again each second. What is submitted meanwhile is
    /// [lost](Reason::Lost) at once.
    pub fn unstarted(&self) -> Option<&str> {
        self.unstarted.as_deref()
    }

    /// Processor time that the worker, those before it, and the warm process have used, in seconds.
    pub fn cpu_seconds(&self) -> f64 {
        let now = if self.unstarted.is_none() { self.process.cpu() } else { Duration::ZERO };
        (self.cpu_of_ended + now).as_secs_f64()
    }

    /// Hands over a packet. The worker, if it sleeps, is woken by the next [`Worker::poll`].
    ///
    /// # Errors
    /// See [`Refused`]; nothing was submitted.
    pub fn submit(&mut self, packet: &Packet<'_>) -> Result<(), Refused> {
        if packet.datagram.len() > self.options.packet_bytes() {
            self.counters.too_long += 1;
            return Err(Refused::TooLong);
        }
        let order = if packet.first { Order::First } else { Order::Next };
        let bytes = packet.datagram.len() as u32;
        let job = Job { flow: packet.flow, ms: packet.ms, bytes, order, transport: packet.transport };
        self.push(job, packet.datagram)?;
        self.counters.submitted += 1;
        Ok(())
    }

    /// Asks what a flow is by what was submitted of it, whether or not nDPI would like to see more. With `guess`, ports and addresses decide
    /// where nothing else does.
    ///
    /// # Errors
    /// See [`Refused`]; there will be no answer.
    pub fn give_up(&mut self, flow: FlowId, guess: bool) -> Result<(), Refused> {
        let order = if guess { Order::Guess } else { Order::GiveUp };
        self.push(Job { flow, order, ..Job::default() }, &[])
    }

    /// Tells that a flow is over: nothing more will be said of it.
    ///
    /// # Errors
    /// See [`Refused`]; the state of the flow in the worker then remains until its slot has another flow, or its state is needed.
    pub fn end(&mut self, flow: FlowId) -> Result<(), Refused> {
        if !self.is_open(flow) {
            return Err(Refused::UnknownFlow);
        }
        self.close(flow.slot);
        self.put(Job { flow, order: Order::End, ..Job::default() }, &[])
    }

    fn push(&mut self, job: Job, packet: &[u8]) -> Result<(), Refused> {
        if !self.quarantined.is_empty() && self.quarantined.contains(&job.flow) {
            self.counters.quarantined += 1;
            return Err(Refused::Quarantined);
        }
        if job.order == Order::First {
            if job.flow.slot >= self.options.flows {
                return Err(Refused::UnknownFlow);
            }
        } else if !self.is_open(job.flow) {
            return Err(Refused::UnknownFlow);
        }
        self.put(job, packet)?;
        if job.order == Order::First {
            self.generations[job.flow.slot as usize] = job.flow.generation;
            self.open[job.flow.slot as usize / 64] |= 1 << (job.flow.slot % 64);
        }
        Ok(())
    }

    fn put(&mut self, job: Job, packet: &[u8]) -> Result<(), Refused> {
        let jobs = self.shared.layout().jobs;
        if self.pending() >= jobs {
            self.see_tail();
            if self.pending() >= jobs {
                self.counters.ring_full += 1;
                return Err(Refused::Full);
            }
        }
        self.shared.write_job(self.head, job.write(), packet);
        self.ring[(self.head & (jobs - 1)) as usize] = (job.flow, job.order);
        self.head = self.head.wrapping_add(1);
        self.shared.word(Word::JobHead).store(self.head, Ordering::Release);
        Ok(())
    }

    fn is_open(&self, flow: FlowId) -> bool {
        let slot = flow.slot as usize;
        let bit = self.open.get(slot / 64).is_some_and(|bits| bits >> (slot % 64) & 1 != 0);
        bit && self.generations[slot] == flow.generation
    }

    fn close(&mut self, slot: u32) {
        self.open[slot as usize / 64] &= !(1 << (slot % 64));
    }

    /// Looks how far the worker is. `false`: its counter makes no sense.
    fn see_tail(&mut self) -> bool {
        let tail = self.shared.word(Word::JobTail).load(Ordering::Acquire);
        let done = tail.wrapping_sub(self.tail);
        let plausible = done <= self.pending();
        if plausible {
            self.tail = tail;
        }
        plausible
    }

    /// Hands on what the worker has said, wakes it if there is work, and looks after it. It never waits.
    ///
    /// Call it often, after each burst of packets, also when nothing was submitted.
    pub fn poll(&mut self, mut each: impl FnMut(&Answer)) {
        self.poll_with(&mut each);
    }

    fn poll_with(&mut self, each: &mut dyn FnMut(&Answer)) {
        let sane = self.see_tail() && self.take_answers(each);
        if self.pending() > 0 {
            self.shared.wake(Word::WorkerSleeps);
        }
        self.look_after(sane, each);
    }

    /// Waits, and hands on what the worker says meanwhile. A worker that dies or hangs is replaced, so it always comes to an end.
    pub fn wait(&mut self, until: Until, mut each: impl FnMut(&Answer)) {
        let most = if until == Until::Idle { 0 } else { self.shared.layout().jobs / 2 };
        loop {
            self.poll_with(&mut each);
            if self.pending() <= most && (until == Until::Room || self.is_calm()) {
                break;
            }
            self.shared.word(Word::WakeAt).store(self.head.wrapping_sub(most), Ordering::Relaxed);
            self.shared.word(Word::DataPlaneSleeps).store(1, Ordering::SeqCst);
            std::sync::atomic::fence(Ordering::SeqCst);
            if self.see_tail()
                && self.pending() > most
                && self.answers_waiting() < self.shared.layout().answers / 2
            {
                self.shared.sleep(Word::DataPlaneSleeps, Some(10));
            }
            self.shared.word(Word::DataPlaneSleeps).store(0, Ordering::Relaxed);
        }
    }

    /// Whether a worker runs, or there will be none for a while.
    fn is_calm(&self) -> bool {
        self.process.is_running() || self.barren.must_wait(Instant::now())
    }

    fn answers_waiting(&self) -> u32 {
        self.shared.word(Word::AnswerHead).load(Ordering::Acquire).wrapping_sub(self.answer_tail)
    }

    /// Hands on the answers that wait. `false`: one was forged.
    fn take_answers(&mut self, each: &mut dyn FnMut(&Answer)) -> bool {
        let waiting = self.answers_waiting();
        if waiting > self.shared.layout().answers {
            return false;
        }
        for _ in 0..waiting {
            let answer = self.shared.read_answer(self.answer_tail);
            self.answer_tail = self.answer_tail.wrapping_add(1);
            self.shared.word(Word::AnswerTail).store(self.answer_tail, Ordering::Release);
            let Some((told, strings)) = Told::read(&answer) else { return false };
            let known = usize::from(told.found.app.max(told.found.master)) < self.names.protocols().len()
                && usize::from(told.found.category) < self.names.categories().len()
                && told.flow.slot < self.options.flows;
            if !known {
                return false;
            }
            // Nothing is wanted of flows that are over.
            if self.is_open(told.flow) {
                if told.done {
                    self.close(told.flow.slot);
                    self.counters.answered += 1;
                }
                self.counters.evicted += u64::from(told.evicted);
                each(&answer_of(&told, strings));
            }
        }
        true
    }

    /// Whether the worker has entered its sandbox.
    fn is_ready(&self) -> bool {
        self.shared.word(Word::Ready).load(Ordering::Acquire) != 0
    }

    /// Looks after the worker, and replaces it if it has ended, hangs, or writes nonsense.
    fn look_after(&mut self, sane: bool, each: &mut dyn FnMut(&Answer)) {
        let now = if sane && self.pending() == 0 && self.process.is_running() {
            self.watch.idle();
            return;
        } else {
            Instant::now()
        };
        if self.process.is_running() {
            let stuck = self.watch.see(now, self.tail, self.process.worker(), self.is_ready());
            if !sane || stuck {
                if sane {
                    self.counters.hangs += 1;
                } else {
                    self.counters.forged += 1;
                }
                self.process.kill_worker();
            }
        }
        if self.watch.is_due(now) || !self.process.is_running() {
            self.recover(now, each);
        }
    }
}

fn answer_of(told: &Told, strings: [&[u8]; 4]) -> Answer {
    let string = |bytes: &[u8]| (!bytes.is_empty()).then(|| String::from_utf8_lossy(bytes).into());
    let [host, alpn, ja4, ja3] = strings;
    Answer {
        flow: told.flow,
        reason: if told.evicted { Reason::Evicted } else { Reason::Found },
        done: told.done,
        app: told.found.app,
        master: told.found.master,
        category: told.found.category,
        confidence: told.found.confidence,
        packets: told.packets,
        risks: told.found.risks,
        details: Details { sni: string(&host.to_ascii_lowercase()), alpn: string(alpn), ja4: string(ja4) },
        ja3: string(ja3),
    }
}
