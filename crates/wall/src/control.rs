//! What a running wall is told by others, and tells them: another policy, counts, and events.
//!
//! Nothing here waits for a file or a socket. Another policy is read, checked and compiled by who has it, while packets go on; the wall takes it between two bursts.
//!
//! A wall of several workers has a seat for each. Each worker takes another policy between two bursts of its own. All of a flow is judged by one worker, so no flow
//! is judged by the old policy again once it was by the new. The policy counts as taken when all have it; until then, what is told is about the old one.

use crate::judge::{
    Counts, Evidence, ForAnybody, FoundFlows, Judge, Prepared, Verdict, basis_in_words, basis_object,
    decided_by, limits,
};
use crate::ledger::{Ledger, Wanted};
use crate::policy::{Bucket, Policy};
use crate::record::Record;
use flow::Packet;
use pflang::Filter;
use serde_json::{Value, json};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant, UNIX_EPOCH};
use wire::LinkType;
use wire::layers::Layers;

/// Events that wait to be taken, at most.
const EVENTS_MAX: usize = 1 << 16;

/// What a wall, or a worker of one, shares with who runs it. Clones are the same.
#[derive(Clone, Debug)]
pub struct Control {
    shared: Arc<Shared>,
    /// The worker, by its number.
    seat: usize,
}

#[derive(Debug)]
struct Shared {
    /// By worker: whether another policy is there for it.
    has_prepared: Vec<AtomicBool>,
    /// By worker: whether it is to tell its counts at once.
    wants_counts: Vec<AtomicBool>,
    ledger: Ledger,
    /// What workers announce for anybody.
    announced: Arc<ForAnybody>,
    inner: Mutex<Inner>,
    /// Held by who asks for evidence: there are two control sockets, and one question at a time.
    turn: Mutex<()>,
    /// Whether evidence is asked for.
    is_asked: AtomicBool,
    question: Mutex<Question>,
    is_answered: Condvar,
}

/// Which packet is to be explained, and what its verdict rests on.
#[derive(Debug, Default)]
struct Question {
    /// Each has the next.
    number: u64,
    filters: Vec<Filter>,
    answer: Option<(Evidence, Arc<Policy>)>,
    /// By worker: flows that match, as far as they were looked for.
    found: Vec<FoundFlows>,
}

/// What a wall says of packets that match a filter.
#[derive(Debug)]
pub enum Explained {
    /// What the verdict of the next one rests on, and the policy.
    Packet(Box<Evidence>, Arc<Policy>),
    /// None has come: the flows that it could belong to.
    Silent(FoundFlows),
    /// Others have asked before, and were not done in time.
    Busy,
}

#[derive(Debug)]
struct Inner {
    /// The policy that was handed over last, its number, and its limits.
    policy: Arc<Policy>,
    generation: u32,
    limits: Arc<[Bucket]>,
    /// What each worker is to take.
    prepared: Vec<Option<Prepared>>,
    /// What each worker has told last: the policy that it is about, and its counts.
    told: Vec<(Arc<Policy>, Counts)>,
    events: Vec<Event>,
}

/// What a wall has told of itself last.
#[derive(Clone, Debug)]
pub struct Told {
    /// The policy that its counts are about.
    pub policy: Arc<Policy>,
    /// The number of that policy.
    pub generation: u32,
    /// What has become of packets.
    pub counts: Counts,
}

/// Whether it is the same.
impl PartialEq for Control {
    fn eq(&self, other: &Control) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared) && self.seat == other.seat
    }
}

/// A policy that was handed over, and what to go back to while no worker has taken it.
#[derive(Debug)]
pub struct HandedOver {
    policy: Arc<Policy>,
    before: (Arc<Policy>, Arc<[Bucket]>),
    /// Whether every worker had the policy before it.
    is_settled: bool,
}

impl Control {
    /// For a wall that begins with this policy. `has_eve`: whether records of EVE are written.
    #[must_use]
    pub fn new(policy: Arc<Policy>, has_eve: bool) -> Control {
        Control::for_workers(policy, 1, has_eve)
    }

    /// For a wall of so many workers, which are [`Control::of_worker`].
    #[must_use]
    pub fn for_workers(policy: Arc<Policy>, workers: usize, has_eve: bool) -> Control {
        let workers = workers.max(1);
        let ended = has_eve && policy.settings().records.flows;
        let inner = Inner {
            generation: 1,
            limits: limits(&policy),
            prepared: (0..workers).map(|_| None).collect(),
            told: vec![(Arc::clone(&policy), Counts::default()); workers],
            events: Vec::new(),
            policy,
        };
        let shared = Shared {
            has_prepared: (0..workers).map(|_| AtomicBool::new(false)).collect(),
            wants_counts: (0..workers).map(|_| AtomicBool::new(false)).collect(),
            ledger: Ledger::new(Wanted { identified: false, ended }),
            announced: Arc::default(),
            inner: Mutex::new(inner),
            turn: Mutex::default(),
            is_asked: AtomicBool::new(false),
            question: Mutex::default(),
            is_answered: Condvar::new(),
        };
        Control { shared: Arc::new(shared), seat: 0 }
    }

    /// The same, for the worker of this number; beyond the last, for that.
    #[must_use]
    pub fn of_worker(&self, worker: usize) -> Control {
        Control { shared: Arc::clone(&self.shared), seat: worker.min(self.workers() - 1) }
    }

    /// How many workers there are.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.shared.has_prepared.len()
    }

    /// Where flows are told of.
    #[must_use]
    pub fn ledger(&self) -> Ledger {
        self.shared.ledger.clone()
    }

    /// The policy that the wall has, or is about to take.
    #[must_use]
    pub fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.inner().policy)
    }

    /// The limits of that policy, which all workers count in.
    pub(crate) fn limits(&self) -> Arc<[Bucket]> {
        Arc::clone(&self.inner().limits)
    }

    /// Connections that anybody may begin, which all workers know.
    pub(crate) fn announced(&self) -> Arc<ForAnybody> {
        Arc::clone(&self.shared.announced)
    }

    /// Hands over another policy, which each worker takes between two bursts.
    pub fn hand_over(&self, mut prepared: Prepared) -> HandedOver {
        prepared.comes_after(&self.policy());
        let mut inner = self.inner();
        let is_settled = inner.prepared.iter().all(Option::is_none);
        let policy = Arc::clone(prepared.policy());
        let before = std::mem::replace(&mut inner.policy, Arc::clone(&policy));
        inner.generation = inner.generation.wrapping_add(1);
        let limits = std::mem::replace(&mut inner.limits, prepared.limits());
        inner.prepared[1..].iter_mut().for_each(|other| *other = Some(prepared.for_another()));
        inner.prepared[0] = Some(prepared);
        self.shared.has_prepared.iter().for_each(|has| has.store(true, Ordering::Release));
        HandedOver { policy, before: (before, limits), is_settled }
    }

    /// Takes a policy back that no worker has taken yet: the one before it goes on. `false` where one has, or not all had the one before.
    pub fn withdraw(&self, handed: HandedOver) -> bool {
        let HandedOver { policy, before, is_settled } = handed;
        let mut inner = self.inner();
        let is_untaken = |prepared: &Option<Prepared>| {
            prepared.as_ref().is_some_and(|prepared| Arc::ptr_eq(prepared.policy(), &policy))
        };
        if !is_settled || !inner.prepared.iter().all(is_untaken) {
            return false;
        }
        self.shared.has_prepared.iter().for_each(|has| has.store(false, Ordering::Relaxed));
        inner.prepared.fill_with(|| None);
        (inner.policy, inner.limits) = before;
        inner.generation = inner.generation.wrapping_sub(1);
        true
    }

    /// As [`Control::told`], with all that was counted before this call. Of a worker that does not tell it within this time, it is what it has told last.
    #[must_use]
    pub fn told_now(&self, patience: Duration) -> Told {
        let wanted = &self.shared.wants_counts;
        wanted.iter().for_each(|wants| wants.store(true, Ordering::Relaxed));
        let until = Instant::now() + patience;
        while wanted.iter().any(|wants| wants.load(Ordering::Relaxed)) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.told()
    }

    /// What the wall has told of itself last, 50 ms ago at most while it runs: the counts of all workers. While some have not taken the last policy yet, counts of
    /// rules are those of the workers that have the one before.
    #[must_use]
    pub fn told(&self) -> Told {
        let inner = self.inner();
        let old = inner.told.iter().find(|(policy, _)| !Arc::ptr_eq(policy, &inner.policy));
        let policy = old.map_or(&inner.policy, |(policy, _)| policy);
        let generation = inner.generation.wrapping_sub(u32::from(old.is_some()));
        let mut told = Told { policy: Arc::clone(policy), generation, counts: Counts::default() };
        for (about, counts) in &inner.told {
            if Arc::ptr_eq(about, policy) {
                told.counts.merge(counts);
            } else {
                told.counts.merge(&Counts { actions: counts.actions, ..Counts::default() });
            }
        }
        told
    }

    /// Takes the events since.
    #[must_use]
    pub fn take_events(&self) -> Vec<Event> {
        std::mem::take(&mut self.inner().events)
    }

    /// What the verdict of the next packet rests on that matches one of these filters, each for packets of its link type; if none comes within this time, the
    /// flows that match.
    #[must_use]
    pub fn explain_next(&self, filters: Vec<Filter>, patience: Duration) -> Explained {
        let until = Instant::now() + patience;
        let Some(_turn) = self.turn(until) else { return Explained::Busy };
        let patience = until.saturating_duration_since(Instant::now());
        let mut question = self.question();
        let found = vec![FoundFlows::default(); self.workers()];
        *question = Question { number: question.number + 1, filters, answer: None, found };
        self.shared.is_asked.store(true, Ordering::Release);
        let waits = |question: &mut Question| question.answer.is_none();
        let waited = self.shared.is_answered.wait_timeout_while(question, patience, waits);
        let (mut question, _) = waited.unwrap_or_else(PoisonError::into_inner);
        self.shared.is_asked.store(false, Ordering::Relaxed);
        question.filters.clear();
        let found = std::mem::take(&mut question.found).into_iter();
        match question.answer.take() {
            Some((evidence, policy)) => Explained::Packet(Box::new(evidence), policy),
            None => Explained::Silent(found.reduce(FoundFlows::and).unwrap_or_default()),
        }
    }

    /// The right to ask, which one has at a time: what others take to wait is waited as well.
    fn turn(&self, until: Instant) -> Option<MutexGuard<'_, ()>> {
        loop {
            match self.shared.turn.try_lock() {
                Ok(turn) => return Some(turn),
                Err(TryLockError::Poisoned(turn)) => return Some(turn.into_inner()),
                Err(TryLockError::WouldBlock) if Instant::now() >= until => return None,
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    /// Whether evidence is asked for.
    #[inline]
    pub(crate) fn is_asked(&self) -> bool {
        self.shared.is_asked.load(Ordering::Relaxed)
    }

    /// Looks on for flows that match what is asked, among so many further ones.
    #[cold]
    pub(crate) fn look_for_flows(&self, judge: &Judge, flows: usize) {
        let Question { filters, found, .. } = &mut *self.question();
        // The answer may have come meanwhile.
        if let Some(found) = found.get_mut(self.seat) {
            found.go_on(judge, filters, flows);
        }
    }

    /// Which of these packets is to be explained, if one is, and the number of the question.
    #[inline]
    pub(crate) fn asks_about(&self, packets: &[Packet<'_>]) -> Option<(usize, u64)> {
        if self.shared.is_asked.load(Ordering::Acquire) { self.find_asked(packets) } else { None }
    }

    #[cold]
    fn find_asked(&self, packets: &[Packet<'_>]) -> Option<(usize, u64)> {
        let question = self.question();
        let matches = |packet: &Packet<'_>, filter: &Filter| {
            packet.linktype == filter.linktype() && filter.matches_captured(packet.frame, packet.wire_len)
        };
        let is_asked = |packet: &Packet<'_>| question.filters.iter().any(|filter| matches(packet, filter));
        Some((packets.iter().position(is_asked)?, question.number))
    }

    /// Answers the question of this number, unless there is another by now.
    pub(crate) fn explain(&self, number: u64, evidence: Evidence, policy: &Arc<Policy>) {
        let mut question = self.question();
        if question.number != number {
            return;
        }
        self.shared.is_asked.store(false, Ordering::Relaxed);
        question.filters.clear();
        question.answer = Some((evidence, Arc::clone(policy)));
        self.shared.is_answered.notify_all();
    }

    fn question(&self) -> MutexGuard<'_, Question> {
        self.shared.question.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    pub(crate) fn take_prepared(&self) -> Option<Prepared> {
        let has_prepared = &self.shared.has_prepared[self.seat];
        if !has_prepared.load(Ordering::Acquire) {
            return None;
        }
        has_prepared.store(false, Ordering::Relaxed);
        self.inner().prepared[self.seat].take()
    }

    /// Whether this worker is to tell its counts at once.
    #[inline]
    pub(crate) fn wants_counts(&self) -> bool {
        self.shared.wants_counts[self.seat].load(Ordering::Relaxed)
    }

    pub(crate) fn set_counts(&self, counts: &Counts, policy: &Arc<Policy>) {
        let mut inner = self.inner();
        // Who finds that nothing is wanted any more reads the counts behind this lock.
        self.shared.wants_counts[self.seat].store(false, Ordering::Relaxed);
        let told = &mut inner.told[self.seat];
        told.0 = Arc::clone(policy);
        told.1.clone_from(counts);
    }

    /// Adds events; says how many there was no room for.
    pub(crate) fn add_events(&self, events: &mut Vec<Event>) -> u64 {
        if events.is_empty() {
            return 0;
        }
        let mut inner = self.inner();
        let room = EVENTS_MAX.saturating_sub(inner.events.len());
        let lost = events.len().saturating_sub(room);
        events.truncate(room);
        inner.events.append(events);
        lost as u64
    }

    /// A panic leaves nothing half written.
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.shared.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Source and destination, their ports, and the protocol over IP.
type Tuple = (IpAddr, IpAddr, Option<(u16, u16)>, u8);

/// What became of a packet, as records tell of it.
#[derive(Clone, Debug)]
pub struct Event {
    time_ns: u64,
    verdict: Verdict,
    generation: u32,
    policy: Arc<Policy>,
    flow: Option<Record>,
    /// Addresses, ports and protocol of the packet.
    tuple: Option<Tuple>,
}

impl Event {
    pub(crate) fn new(
        (time_ns, linktype, frame): (u64, LinkType, &[u8]),
        verdict: Verdict,
        (policy, generation): (&Arc<Policy>, u32),
        flow: Option<Record>,
    ) -> Event {
        let layers = Layers::of(linktype, frame);
        let tuple = layers.inner().map(|tuple| (tuple.src, tuple.dst, tuple.ports, tuple.protocol));
        Event { time_ns, verdict, generation, policy: Arc::clone(policy), flow, tuple }
    }

    /// As an object of EVE: `drop` for what does not go on, `alert` for what is accepted and logged.
    #[must_use]
    pub fn eve(&self) -> Value {
        let action = self.verdict.action.name();
        let is_accepted = action == "accept";
        let time = humantime::format_rfc3339_micros(UNIX_EPOCH + Duration::from_nanos(self.time_ns));
        let mut object = json!({
            "timestamp": time.to_string().replace('Z', "+0000"),
            "event_type": if is_accepted { "alert" } else { "drop" },
        });
        if let Some((src, dst, ports, protocol)) = self.tuple {
            object["src_ip"] = src.to_string().into();
            object["dest_ip"] = dst.to_string().into();
            if let Some((src, dst)) = ports {
                object["src_port"] = src.into();
                object["dest_port"] = dst.into();
            }
            let name = Record::new([(src, 0).into(), (dst, 0).into()], protocol).transport_name();
            object["proto"] = name.to_ascii_uppercase().into();
        }
        if let Some(flow) = &self.flow {
            let of_flow = crate::report::eve(flow);
            for key in ["flow_id", "app_proto", "tls", "http", "quic"] {
                if let Some(value) = of_flow.get(key) {
                    object[key] = value.clone();
                }
            }
            object["sluss"] = of_flow["sluss"].clone();
        }
        if is_accepted {
            object["alert"] = json!({ "action": "allowed" });
        } else {
            object["drop"] = json!({ "reason": basis_in_words(self.verdict.basis, &self.policy) });
        }
        object["sluss"]["verdict"] = action.into();
        object["sluss"]["basis"] = basis_object(self.verdict.basis, &self.policy);
        object["sluss"]["generation"] = self.generation.into();
        object
    }

    /// On one line, for the system log.
    #[must_use]
    pub fn line(&self) -> String {
        let mut line =
            format!("wall: {} {}", self.verdict.action.name(), decided_by(self.verdict.basis, &self.policy));
        if let Some((src, dst, ports, _)) = self.tuple {
            let (sport, dport) = ports.map_or((String::new(), String::new()), |(src, dst)| {
                (format!(" port {src}"), format!(" port {dst}"))
            });
            line += &format!(": {src}{sport} > {dst}{dport}");
        }
        line
    }
}
