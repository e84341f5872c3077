//! What a running wall is told by others, and tells them: another policy, counts, and events.
//!
//! Nothing here waits for a file or a socket. Another policy is read, checked and compiled by who has it, while packets go on; the wall takes it between two bursts.

use crate::judge::{Counts, Evidence, Prepared, Verdict, basis_in_words, basis_object};
use crate::ledger::{Ledger, Wanted};
use crate::policy::Policy;
use crate::record::Record;
use flow::Packet;
use pflang::Filter;
use serde_json::{Value, json};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};
use wire::LinkType;
use wire::layers::Layers;

/// Events that wait to be taken, at most.
const EVENTS_MAX: usize = 1 << 16;

/// What a wall shares with who runs it. Clones are the same.
#[derive(Clone, Debug)]
pub struct Control(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    has_prepared: AtomicBool,
    ledger: Ledger,
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
    filters: Vec<Filter>,
    answer: Option<(Evidence, Arc<Policy>)>,
}

#[derive(Debug)]
struct Inner {
    policy: Arc<Policy>,
    prepared: Option<Prepared>,
    told: Told,
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
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Control {
    /// For a wall that begins with this policy. `has_eve`: whether records of EVE are written.
    #[must_use]
    pub fn new(policy: Arc<Policy>, has_eve: bool) -> Control {
        let ended = has_eve && policy.settings().records.flows;
        let told = Told { policy: Arc::clone(&policy), generation: 1, counts: Counts::default() };
        Control(Arc::new(Shared {
            has_prepared: AtomicBool::new(false),
            ledger: Ledger::new(Wanted { identified: false, ended }),
            inner: Mutex::new(Inner { policy, prepared: None, told, events: Vec::new() }),
            turn: Mutex::default(),
            is_asked: AtomicBool::new(false),
            question: Mutex::default(),
            is_answered: Condvar::new(),
        }))
    }

    /// Where flows are told of.
    #[must_use]
    pub fn ledger(&self) -> Ledger {
        self.0.ledger.clone()
    }

    /// The policy that the wall has, or is about to take.
    #[must_use]
    pub fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.inner().policy)
    }

    /// Hands over another policy, which the wall takes between two bursts.
    pub fn hand_over(&self, prepared: Prepared) {
        let mut inner = self.inner();
        inner.policy = Arc::clone(prepared.policy());
        inner.prepared = Some(prepared);
        self.0.has_prepared.store(true, Ordering::Release);
    }

    /// What the wall has told of itself last, a tick ago at most while it runs.
    #[must_use]
    pub fn told(&self) -> Told {
        self.inner().told.clone()
    }

    /// Takes the events since.
    #[must_use]
    pub fn take_events(&self) -> Vec<Event> {
        std::mem::take(&mut self.inner().events)
    }

    /// What the verdict of the next packet rests on that matches one of these filters, each for packets of its link type, and the policy. `None` if none
    /// comes within this time.
    #[must_use]
    pub fn explain_next(&self, filters: Vec<Filter>, patience: Duration) -> Option<(Evidence, Arc<Policy>)> {
        let _turn = self.0.turn.lock().unwrap_or_else(PoisonError::into_inner);
        *self.question() = Question { filters, answer: None };
        self.0.is_asked.store(true, Ordering::Release);
        let waits = |question: &mut Question| question.answer.is_none();
        let waited = self.0.is_answered.wait_timeout_while(self.question(), patience, waits);
        let (mut question, _) = waited.unwrap_or_else(PoisonError::into_inner);
        self.0.is_asked.store(false, Ordering::Relaxed);
        std::mem::take(&mut *question).answer
    }

    /// Which of these packets is to be explained, if one is.
    #[inline]
    pub(crate) fn asks_about(&self, packets: &[Packet<'_>]) -> Option<usize> {
        if self.0.is_asked.load(Ordering::Acquire) { self.find_asked(packets) } else { None }
    }

    #[cold]
    fn find_asked(&self, packets: &[Packet<'_>]) -> Option<usize> {
        let question = self.question();
        let matches = |packet: &Packet<'_>, filter: &Filter| {
            packet.linktype == filter.linktype() && filter.matches_captured(packet.frame, packet.wire_len)
        };
        packets.iter().position(|packet| question.filters.iter().any(|filter| matches(packet, filter)))
    }

    pub(crate) fn explain(&self, evidence: Evidence, policy: &Arc<Policy>) {
        self.0.is_asked.store(false, Ordering::Relaxed);
        *self.question() = Question { filters: Vec::new(), answer: Some((evidence, Arc::clone(policy))) };
        self.0.is_answered.notify_all();
    }

    fn question(&self) -> MutexGuard<'_, Question> {
        self.0.question.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    pub(crate) fn take_prepared(&self) -> Option<Prepared> {
        if !self.0.has_prepared.load(Ordering::Acquire) {
            return None;
        }
        self.0.has_prepared.store(false, Ordering::Relaxed);
        self.inner().prepared.take()
    }

    pub(crate) fn set_counts(&self, counts: &Counts, policy: &Arc<Policy>, generation: u32) {
        let mut inner = self.inner();
        inner.told.counts.clone_from(counts);
        inner.told.generation = generation;
        inner.told.policy = Arc::clone(policy);
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
        self.0.inner.lock().unwrap_or_else(PoisonError::into_inner)
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
        let mut line = format!(
            "wall: {} by {}",
            self.verdict.action.name(),
            basis_in_words(self.verdict.basis, &self.policy)
        );
        if let Some((src, dst, ports, _)) = self.tuple {
            let (sport, dport) = ports.map_or((String::new(), String::new()), |(src, dst)| {
                (format!(" port {src}"), format!(" port {dst}"))
            });
            line += &format!(": {src}{sport} > {dst}{dport}");
        }
        line
    }
}
