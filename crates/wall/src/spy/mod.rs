//! From packets to flows, and to what they speak.
//!
//! ```text
//!  packets ─► Tracker ─► settled? ─yes─► Tag
//!                           │no
//!                           ▼
//!                        tier 1 ──► waits, or not ours ──► tier 2, in its worker
//!                           │ decided                        │ answers, later
//!                           └────────► Tag ◄─────────────────┘
//! ```
//!
//! A flow has no state of identification before it says something, and none any more when it is settled. Tier 1 looks first. What it cannot decide at
//! once goes to tier 2 as well, so that tier 2 has seen all that was said when tier 1 hands the flow on; if tier 1 decides after all, the question is withdrawn.
//!
//! On captures [`Spy::burst`] waits for tier 2, and tells each packet by what was known when it came: the same in every run. Live it never waits.

mod asker;
mod look;
mod store;

use crate::ledger::{Ledger, Outcomes, SNAPSHOT_MAX, Wanted};
use crate::record::{End, Record};
use asker::Asker;
use dpi::tier1::{self, StateId, Step, Tier1};
use dpi::worker::{Answer, Reason, WorkerError};
use dpi::{By, Confidence, Details, Message, Protocol, Verdict};
use flow::table::{Slot, TableError};
use flow::{Decoded, Direction, EndReason, Ended, Key, NoFlow, Packet, Part, Seen, Stats, Tracker};
use look::{Look, Phase, State};
use std::net::SocketAddr;
use std::sync::LazyLock;
use store::{Store, Words};
use wire::ip::protocol as ip;
use wire::transport::TcpFlags;

/// How a [`Spy`] works.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The flows.
    pub flows: flow::Settings,
    /// Memory of tier 1.
    pub tier1: tier1::Limits,
    /// Tier 2, if it is to be asked.
    pub ndpi: Option<dpi::worker::Options>,
    /// Whether packets wait for tier 2: for captures.
    pub waits: bool,
    /// Where flows are told of.
    pub ledger: Option<Ledger>,
    /// What flows turned out to be when these packets were looked at before.
    pub outcomes: Option<Outcomes>,
}

/// Why there is no [`Spy`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpyError {
    /// No memory for the flows.
    #[error(transparent)]
    Table(#[from] TableError),
    /// Tier 2 cannot be asked.
    #[error(transparent)]
    Worker(#[from] WorkerError),
}

/// What is known of a packet's flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tag {
    /// What it speaks.
    pub protocol: u16,
    /// What carries that.
    pub master: u16,
    /// Packets that it has had; 0 without a flow.
    pub packets: u32,
}

/// How many flows were identified by whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identified {
    /// By tier 1.
    pub tier1: u64,
    /// By nDPI.
    pub ndpi: u64,
    /// By nobody, and they are over.
    pub nobody: u64,
}

/// Looks at packets, and says what their flows speak.
pub struct Spy {
    tracker: Tracker<Look>,
    /// Packets of a burst whose flows are not settled.
    unsettled: Vec<Sight>,
    /// Of a burst, where outcomes are told: the slots of flows.
    slots: Vec<Option<Slot>>,
    tier1: Tier1,
    asker: Option<Asker>,
    books: Books,
    waits: bool,
    outcomes: Option<Outcomes>,
    /// The number of the last flow.
    numbers: u32,
    /// Packets of the burst that are told of when tier 2 has answered.
    deferred: Vec<Deferred>,
}

/// What is noted of flows, and told of them.
#[derive(Debug)]
struct Books {
    store: Store,
    words: Words,
    ledger: Option<Ledger>,
    wanted: Wanted,
    identified: Vec<Record>,
    ended: Vec<Record>,
    counts: Identified,
    /// Flows over whose question could not be asked.
    unasked: u64,
}

/// A packet of a flow that is not settled.
struct Sight {
    /// Its number in the burst.
    at: usize,
    slot: Slot,
    decoded: Decoded,
}

/// A packet that is told of when tier 2 has answered.
#[derive(Clone, Copy, Debug)]
struct Deferred {
    /// Its number in the burst.
    at: usize,
    /// The question about its flow. If that has another generation by then, tier 1 has decided in the same burst, and the packet is told of.
    question: u32,
    generation: u32,
    /// How many packets of the flow had been submitted with it.
    submitted: u32,
}

/// Where packets of a burst are told of.
struct Told<'a> {
    tags: &'a mut [Tag],
    waits: bool,
}

impl Told<'_> {
    /// Tells a packet by what is known of its flow now.
    fn tell(&mut self, at: usize, look: &Look) {
        (self.tags[at].protocol, self.tags[at].master) = (look.protocol(), look.master());
    }
}

impl std::fmt::Debug for Spy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spy")
            .field("flows", &self.flows())
            .field("waits", &self.waits)
            .finish_non_exhaustive()
    }
}

impl Spy {
    /// A spy; all memory for flows is reserved here, and the worker started.
    ///
    /// # Errors
    /// There is no memory, or nDPI was asked for and cannot be used.
    pub fn new(settings: Settings) -> Result<Spy, SpyError> {
        let tracker = Tracker::new(&settings.flows)?;
        let asker = settings.ndpi.map(Asker::start).transpose()?;
        if let Some(ledger) = &settings.ledger {
            ledger.set_memory(tracker.bytes() + settings.tier1.bytes);
        }
        let wanted = settings.ledger.as_ref().map(Ledger::wanted).unwrap_or_default();
        Ok(Spy {
            tracker,
            unsettled: Vec::new(),
            slots: Vec::new(),
            tier1: Tier1::new(settings.tier1),
            asker,
            books: Books {
                store: Store::default(),
                words: Words::default(),
                ledger: settings.ledger,
                wanted,
                identified: Vec::new(),
                ended: Vec::new(),
                counts: Identified::default(),
                unasked: 0,
            },
            waits: settings.waits,
            outcomes: settings.outcomes,
            numbers: 0,
            deferred: Vec::new(),
        })
    }

    /// The flows.
    #[must_use]
    pub fn counters(&self) -> &flow::Counters {
        self.tracker.counters()
    }

    /// How many flows are there now.
    #[must_use]
    pub fn flows(&self) -> usize {
        self.tracker.table().len()
    }

    /// Bytes of memory for flows.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.tracker.bytes()
    }

    /// Who has identified how many flows.
    #[must_use]
    pub fn identified(&self) -> Identified {
        self.books.counts
    }

    /// What tier 1 holds.
    #[must_use]
    pub fn tier1_usage(&self) -> tier1::Usage {
        self.tier1.usage()
    }

    /// What has happened to tier 2, and how many flows it was not asked about for want of room; `None` without it.
    #[must_use]
    pub fn tier2(&self) -> Option<(dpi::worker::Counters, u64)> {
        let asker = self.asker.as_ref()?;
        Some((asker.counters(), asker.full + self.books.unasked))
    }

    /// The version of nDPI that is asked.
    #[must_use]
    pub fn ndpi_version(&self) -> Option<&str> {
        Some(self.asker.as_ref()?.names().revision())
    }

    /// Processor time of tier 2, in seconds.
    #[must_use]
    pub fn worker_cpu_seconds(&self) -> f64 {
        self.asker.as_ref().map_or(0.0, Asker::cpu_seconds)
    }

    /// The process of tier 2, while there is one.
    #[must_use]
    pub fn worker_process(&self) -> Option<u32> {
        self.asker.as_ref()?.process_id()
    }

    /// As [`Tracker::populate`].
    pub fn populate(&mut self) {
        self.tracker.populate();
    }

    /// Waits for tier 2 if its ring of packets is more than three quarters full, until it is half empty. For replays from memory, which have no rate of their own:
    /// packets that come by themselves go on, and tier 2 is left out of those that it has no room for.
    pub fn make_room(&mut self) {
        if self.asker.as_mut().is_some_and(Asker::make_room) {
            self.listen(false);
        }
    }

    /// Waits until tier 2 has answered all that it was asked.
    pub fn wait(&mut self) {
        self.listen(true);
    }

    /// Looks at packets in order, and tells of each what is known of its flow.
    ///
    /// # Panics
    /// If there are fewer tags than packets.
    pub fn burst(&mut self, packets: &[Packet<'_>], tags: &mut [Tag]) {
        if self.asker.is_some() && !self.waits {
            self.listen(false);
        }
        let tags = &mut tags[..packets.len()];
        if self.waits {
            // One by one: flows of a capture may begin and end within a burst, and each packet is looked at while its flow is there.
            (0..packets.len()).for_each(|at| self.look(&packets[at..=at], at, tags));
        } else {
            self.look(packets, 0, tags);
        }
        if !self.deferred.is_empty() {
            self.tell_deferred(tags);
        }
        if let Some(ledger) = &self.books.ledger {
            ledger.count(packets.len() as u64, packets.iter().map(|packet| u64::from(packet.wire_len)).sum());
        }
        self.books.hand_over();
    }

    /// Looks at packets of a burst, from its number `first` on.
    fn look(&mut self, packets: &[Packet<'_>], first: usize, tags: &mut [Tag]) {
        let Spy { tracker, tier1, asker, books, waits, numbers, unsettled, slots, outcomes, .. } = self;
        let (waits, wants_slots) = (*waits, outcomes.is_some());
        slots.clear();
        // What needs more than the flow itself waits until all packets have been counted.
        let see = |at: usize, seen: Result<Seen<'_, Look>, NoFlow>| {
            if wants_slots {
                slots.push(seen.as_ref().ok().map(|seen| seen.slot));
            }
            let Seen { slot, is_new, decoded, flow } = match seen {
                Ok(seen) => seen,
                Err(why) => return tags[first + at] = without_flow(why),
            };
            let look = &mut flow.value;
            if is_new {
                *numbers = numbers.wrapping_add(1);
                *look = Look::new(*numbers, decoded.direction);
            }
            look.count = look.count.saturating_add(1);
            tags[first + at] = tag(look);
            if look.phase() != Phase::Settled && (waits || !is_silent(look, decoded)) {
                look.set_pending();
                unsettled.push(Sight { at: first + at, slot, decoded: *decoded });
            }
        };
        tracker.burst(packets, see, |ended| books.end(ended, tier1, asker.as_mut(), waits));
        let unsettled = std::mem::take(&mut self.unsettled);
        let mut told = Told { tags, waits };
        for sight in &unsettled {
            self.unsettled(&packets[sight.at - first], sight, &mut told);
        }
        self.unsettled = unsettled;
        self.unsettled.clear();
        if self.outcomes.is_some() {
            self.tell_outcomes(&mut told.tags[first..]);
        }
    }

    /// A packet of a flow that is not settled.
    fn unsettled(&mut self, packet: &Packet<'_>, seen: &Sight, told: &mut Told<'_>) {
        let Sight { at, slot, ref decoded } = *seen;
        // Its flow may have made room for another of the same burst, or be settled by a packet of it.
        let Some(look) = self.tracker.value_mut(slot) else { return };
        if look.phase() == Phase::Settled {
            return told.tell(at, look);
        }
        let transport = decoded.protocol();
        if transport != ip::TCP && transport != ip::UDP {
            if let Some(protocol) = by_ip_protocol(transport) {
                let verdict = Verdict {
                    protocol,
                    by: By::Tier1,
                    confidence: Confidence::Payload,
                    evidence: "IP protocol",
                    ..Verdict::default()
                };
                self.settle(slot, &verdict, Details::default());
            } else {
                look.set_phase(Phase::Settled);
            }
        } else if decoded.part != Part::Later {
            note_start(look, decoded);
            if !decoded.payload().is_empty() {
                self.inspect(packet, seen, told.waits);
            }
        }
        let Some(look) = self.tracker.value_mut(slot) else { return };
        told.tell(at, look);
        if told.waits
            && self.outcomes.is_none()
            && let State::Asked(question) = look.state()
            && let Some(asker) = &mut self.asker
        {
            let (protocol, master) = (look.protocol(), look.master());
            let question_of = asker.question(question);
            if question_of.changes.is_empty() {
                question_of.changes.push((0, protocol, master));
            }
            let (generation, submitted) = (question_of.generation, question_of.submitted);
            self.deferred.push(Deferred { at, question, generation, submitted });
        }
    }

    /// Looks at what a packet says.
    fn inspect(&mut self, packet: &Packet<'_>, seen: &Sight, waits: bool) {
        let Sight { slot, ref decoded, .. } = *seen;
        let Some(look) = self.tracker.value_mut(slot) else { return };
        let mut step = Step::NotOurs;
        if look.phase() != Phase::Handed {
            let message = message(packet, decoded, look);
            let mut state = self.tier1_state(slot);
            step = self.tier1.inspect(&mut state, &message);
            self.keep_tier1_state(slot, state);
        }
        match step {
            Step::Decided(verdict, details) => {
                self.withdraw(slot);
                return self.settle(slot, &verdict, details);
            }
            Step::Undecided => self.set_phase(slot, Phase::Waiting),
            Step::NotOurs => {}
        }
        // Fragments are not whole datagrams: nDPI would read what is not there.
        let datagram = packet.frame.get(decoded.ip()).filter(|_| decoded.part == Part::Whole);
        if let Some(datagram) = datagram {
            self.ask(slot, (decoded.protocol(), datagram, packet.time_ns), waits);
        }
        if step == Step::NotOurs {
            self.hand_on(slot);
        }
    }

    fn set_phase(&mut self, slot: Slot, phase: Phase) {
        if let Some(look) = self.tracker.value_mut(slot) {
            look.set_phase(phase);
        }
    }

    fn state(&self, slot: Slot) -> State {
        self.tracker.flow(slot).map_or(State::None, |flow| flow.value.state())
    }

    fn tier1_state(&mut self, slot: Slot) -> Option<StateId> {
        let bits = match self.state(slot) {
            State::None => None,
            State::Tier1(bits) => Some(bits),
            State::Asked(question) => self.asker.as_mut().and_then(|asker| asker.question(question).tier1),
        };
        bits.map(StateId::from_bits)
    }

    fn keep_tier1_state(&mut self, slot: Slot, state: Option<StateId>) {
        let bits = state.map(StateId::bits);
        match (self.state(slot), &mut self.asker) {
            (State::Asked(question), Some(asker)) => asker.question(question).tier1 = bits,
            _ => {
                if let Some(look) = self.tracker.value_mut(slot) {
                    look.set_state(bits.map_or(State::None, State::Tier1));
                }
            }
        }
    }

    /// Submits a packet of a flow to tier 2.
    fn ask(&mut self, slot: Slot, packet: (u8, &[u8], u64), waits: bool) {
        let state = self.state(slot);
        let Some(asker) = &mut self.asker else { return };
        let question = match state {
            State::Asked(question) => question,
            other => {
                let Some(question) = asker.open(slot) else {
                    let look = self.tracker.value_mut(slot);
                    asker.full += u64::from(look.is_some_and(Look::note_unasked));
                    return;
                };
                if let State::Tier1(bits) = other {
                    asker.question(question).tier1 = Some(bits);
                }
                if let Some(look) = self.tracker.value_mut(slot) {
                    look.set_state(State::Asked(question));
                }
                question
            }
        };
        // What is refused is counted by the worker.
        let _ = asker.submit(question, packet, waits);
    }

    /// Tier 1 does not know the flow: what tier 2 says holds from now on.
    fn hand_on(&mut self, slot: Slot) {
        self.set_phase(slot, Phase::Handed);
        match (self.state(slot), &mut self.asker) {
            (State::Asked(at), Some(asker)) => {
                let question = asker.question(at);
                if question.handed_at == 0 {
                    question.handed_at = question.submitted;
                }
                if let Some(held) = question.held.take() {
                    self.take_note(at, held);
                }
            }
            // Nobody is left to ask about it.
            (State::None, None) => self.set_phase(slot, Phase::Settled),
            _ => {}
        }
    }

    /// The flow is identified, and nothing more is asked.
    fn settle(&mut self, slot: Slot, verdict: &Verdict, details: Details) {
        self.note_verdict(slot, verdict, details);
        if let Some(look) = self.tracker.value_mut(slot) {
            look.set_phase(Phase::Settled);
            look.set_state(State::None);
        }
    }

    fn note_verdict(&mut self, slot: Slot, verdict: &Verdict, details: Details) {
        let Some(look) = self.tracker.value_mut(slot) else { return };
        let is_news = look.protocol() == 0;
        if is_news {
            self.books.counts.count(verdict.by);
        }
        if let Some(place) = look.details() {
            self.books.store.take(place);
        }
        look.set_details(self.books.store.put(details));
        look.set_verdict(verdict, self.books.words.number(verdict.evidence));
        if is_news && self.books.wanted.identified {
            let look = *look;
            if let (Some(key), Some(flow)) = (self.tracker.table().key(slot), self.tracker.flow(slot)) {
                let record = self.books.record(&key, &flow.stats(), &look, End::None);
                self.books.identified.push(record);
            }
        }
    }

    fn withdraw(&mut self, slot: Slot) {
        if let (State::Asked(question), Some(asker)) = (self.state(slot), &mut self.asker) {
            asker.withdraw(question);
        }
    }

    /// Takes note of what tier 2 has said.
    fn listen(&mut self, waits: bool) {
        let Some(asker) = &mut self.asker else { return };
        asker.listen(waits);
        if asker.answers.is_empty() {
            return;
        }
        let mut answers = std::mem::take(&mut asker.answers);
        for answer in answers.drain(..) {
            if let Some(question) = self.asker.as_ref().and_then(|asker| asker.answered(&answer)) {
                self.take_note(question, answer);
            }
        }
        if let Some(asker) = &mut self.asker {
            // What came meanwhile, which is nothing mostly, and the memory.
            answers.append(&mut asker.answers);
            asker.answers = answers;
        }
    }

    fn take_note(&mut self, at: u32, answer: Answer) {
        let Some(asker) = &mut self.asker else { return };
        let verdict = asker.verdict(&answer);
        let question = asker.question(at);
        if let Some(mut record) = question.record.take() {
            // Of a flow that is over, the last word counts.
            if !answer.done {
                question.record = Some(record);
                return;
            }
            if let Some(verdict) = &verdict {
                question.changes.push((answer.packets, verdict.protocol.number(), verdict.master.number()));
            }
            asker.close(at);
            self.books.apply(&mut record, verdict, answer.details);
            return self.books.over(*record);
        }
        let Some(slot) = question.slot else { return asker.close(at) };
        if self.tracker.flow(slot).is_none_or(|flow| flow.value.phase() == Phase::Waiting) {
            question.held = Some(answer);
            return;
        }
        let from = answer.packets.max(question.handed_at);
        if let Some(verdict) = &verdict {
            question.changes.push((from, verdict.protocol.number(), verdict.master.number()));
            self.note_verdict(slot, verdict, answer.details);
        }
        if answer.done
            && let Some(look) = self.tracker.value_mut(slot)
        {
            look.set_state(State::None);
            // What was lost with a worker may be asked again.
            look.set_phase(if answer.reason == Reason::Lost { Phase::Handed } else { Phase::Settled });
            if let Some(asker) = &mut self.asker
                && !self.deferred.iter().any(|deferred| deferred.question == at)
            {
                asker.close(at);
            }
        }
    }

    /// Waits for tier 2, and tells of the packets that were put off.
    #[cold]
    fn tell_deferred(&mut self, tags: &mut [Tag]) {
        self.listen(true);
        let deferred = std::mem::take(&mut self.deferred);
        let Some(asker) = &mut self.asker else { return };
        for &Deferred { at, question, generation, submitted } in &deferred {
            let question = asker.question(question);
            if question.generation == generation
                && let Some((_, protocol, master)) = question.change_at(submitted)
            {
                (tags[at].protocol, tags[at].master) = (protocol, master);
            }
        }
        for &Deferred { question: at, generation, .. } in &deferred {
            let question = asker.question(at);
            if question.generation != generation {
                continue;
            }
            question.changes.clear();
            // Answered within the burst: nothing more is to come.
            let is_asked = question.slot.is_some_and(|slot| {
                self.tracker.flow(slot).is_some_and(|flow| flow.value.state() == State::Asked(at))
            });
            if !is_asked && question.record.is_none() {
                asker.close(at);
            }
        }
        self.deferred = deferred;
        self.deferred.clear();
    }

    /// Tells packets by what their flows turned out to be.
    #[cold]
    fn tell_outcomes(&mut self, tags: &mut [Tag]) {
        let Some(outcomes) = &self.outcomes else { return };
        for (slot, tag) in self.slots.iter().zip(tags) {
            if let Some(slot) = *slot
                && let Some(flow) = self.tracker.flow(slot)
            {
                let outcome = outcomes.get(flow.value.number.into());
                *tag = Tag {
                    protocol: outcome.protocol.number(),
                    master: outcome.master.number(),
                    packets: outcome.packets,
                };
            }
        }
    }

    /// Tells of flows as they stand, if the ledger asks for them.
    pub fn tell_open(&self) {
        let Some(ledger) = self.books.ledger.as_ref().filter(|ledger| ledger.take_question()) else { return };
        let flows = self.tracker.iter().take(SNAPSHOT_MAX);
        ledger.set_open(
            flows
                .map(|(_, key, flow)| self.books.record(&key, &flow.stats(), &flow.value, End::None))
                .collect(),
        );
    }

    /// Takes note of answers, when no packets come.
    pub fn poll(&mut self) {
        self.listen(false);
        self.books.hand_over();
    }

    /// There are no more packets: all flows are over.
    pub fn finish(&mut self) {
        let Spy { tracker, tier1, asker, books, .. } = self;
        tracker.finish(|ended| books.end(ended, tier1, asker.as_mut(), true));
        self.listen(true);
        if let Some(asker) = &mut self.asker {
            asker.take_orphans().into_iter().for_each(|record| self.books.over(record));
        }
        self.books.hand_over();
    }
}

impl Identified {
    fn count(&mut self, by: By) {
        match by {
            By::Tier1 => self.tier1 += 1,
            By::Ndpi => self.ndpi += 1,
            By::Nobody => {}
        }
    }
}

impl Books {
    /// A flow is over.
    fn end(&mut self, ended: Ended<Look>, tier1: &mut Tier1, asker: Option<&mut Asker>, waits: bool) {
        let mut look = ended.value;
        // PERF: where nobody wants records, none is made but those that wait for a last word: 30 ns of a SYN in a flood.
        if !self.wanted.ended && !matches!(look.state(), State::Asked(_)) {
            return self.forget(&look, tier1);
        }
        let mut record = self.record(&ended.key, &ended.stats, &look, why(ended.why));
        if let Some(place) = look.details() {
            record.details = self.store.take(place);
        }
        match (look.state(), asker) {
            (State::Tier1(bits), _) => self.conclude(&mut record, tier1, bits),
            (State::Asked(at), Some(asker)) => {
                let state = asker.question(at).tier1.take();
                if let Some(bits) = state {
                    self.conclude(&mut record, tier1, bits);
                }
                let question = asker.question(at);
                question.slot = None;
                // What tier 2 has said while tier 1 had not made up its mind counts now.
                if let Some(held) = question.held.take() {
                    let verdict = asker.verdict(&held);
                    self.apply(&mut record, verdict, held.details);
                    if held.done {
                        asker.close(at);
                        return self.over(record);
                    }
                }
                asker.question(at).record = Some(Box::new(record));
                if asker.give_up(at, waits).is_err() && !asker.has_last_word(at) {
                    self.unasked += 1;
                    if let Some(record) = asker.question(at).record.take() {
                        asker.withdraw(at);
                        self.over(*record);
                    }
                }
                return;
            }
            _ => {}
        }
        look.set_state(State::None);
        self.over(record);
    }

    /// With what tier 2 says of a flow that is over, unless tier 1 has identified it.
    fn apply(&mut self, record: &mut Record, verdict: Option<Verdict>, details: Details) {
        let Some(verdict) = verdict.filter(|_| record.verdict.by != By::Tier1) else { return };
        if record.verdict.by == By::Nobody {
            self.counts.count(verdict.by);
        }
        record.verdict = verdict;
        record.details = (details != Details::default()).then(|| Box::new(details));
    }

    /// With what tier 1 takes a flow for, now that nothing more comes.
    fn conclude(&mut self, record: &mut Record, tier1: &mut Tier1, bits: u32) {
        if let Some(verdict) = tier1.conclude(&mut Some(StateId::from_bits(bits))) {
            if record.verdict.by == By::Nobody {
                self.counts.count(verdict.by);
            }
            record.verdict = verdict;
        }
    }

    /// A flow is over of which nobody is told.
    fn forget(&mut self, look: &Look, tier1: &mut Tier1) {
        if let Some(place) = look.details() {
            self.store.take(place);
        }
        let likely = match look.state() {
            State::Tier1(bits) => tier1.conclude(&mut Some(StateId::from_bits(bits))),
            _ => None,
        };
        if !look.is_identified() && likely.is_none() {
            self.counts.nobody += 1;
        }
    }

    /// Tells of a flow that is over, and of which all is known.
    fn over(&mut self, record: Record) {
        if record.verdict.by == By::Nobody {
            self.counts.nobody += 1;
        }
        if self.wanted.ended {
            self.ended.push(record);
        }
    }

    fn record(&self, key: &Key, stats: &Stats, look: &Look, end: End) -> Record {
        let first = look.first();
        // Queries of ICMP have their number in the place of ports.
        let has_ports = matches!(key.protocol(), ip::TCP | ip::UDP | ip::SCTP | ip::DCCP | ip::UDPLITE);
        let shown = |end: SocketAddr| SocketAddr::new(end.ip(), if has_ports { end.port() } else { 0 });
        let (a, b) = (shown(key.src(first)), shown(key.dst(first)));
        let pair = |of: [u64; 2]| if first == Direction::Up { of } else { [of[1], of[0]] };
        Record {
            number: look.number.into(),
            ends: [a, b],
            transport: key.protocol(),
            vlans: key.vlans(),
            packets: pair(stats.packets),
            bytes: pair(stats.bytes),
            first_ns: stats.first_ns,
            last_ns: stats.last_ns,
            verdict: look.verdict(|number| self.words.word(number)),
            details: look
                .details()
                .and_then(|place| self.store.get(place))
                .map(|details| Box::new(details.clone())),
            end,
        }
    }

    fn hand_over(&mut self) {
        if let Some(ledger) = &self.ledger {
            ledger.add(&mut self.identified, &mut self.ended);
        }
    }
}

/// What is known of a packet that belongs to no flow. One of IP is like the first of a flow of which nothing is known: a firewall must not let
/// pieces of what it does not see whole pass by its rules (RFC 1858).
fn without_flow(why: NoFlow) -> Tag {
    let is_ip = !matches!(why, NoFlow::Arp | NoFlow::NotIp | NoFlow::Link);
    Tag { packets: is_ip.into(), ..Tag::default() }
}

fn tag(look: &Look) -> Tag {
    Tag { protocol: look.protocol(), master: look.master(), packets: look.count }
}

/// Takes note of where the initiator's stream begins.
#[inline]
fn note_start(look: &mut Look, decoded: &Decoded) {
    if decoded.is_tcp() && decoded.tcp.flags & (TcpFlags::SYN | TcpFlags::ACK) == TcpFlags::SYN {
        look.set_start(decoded.tcp.seq.wrapping_add(1));
    }
}

/// Whether a flow has said nothing yet, nor does with this packet, of which note is taken: the most of a flood.
#[inline]
fn is_silent(look: &mut Look, decoded: &Decoded) -> bool {
    let is_silent = decoded.is_tcp() && decoded.payload().is_empty() && look.is_silent();
    if is_silent {
        note_start(look, decoded);
    }
    is_silent
}

fn message<'a>(packet: &Packet<'a>, decoded: &Decoded, look: &Look) -> Message<'a> {
    let (source, destination) = (decoded.key.src(decoded.direction), decoded.key.dst(decoded.direction));
    let forward = decoded.direction == look.first();
    Message {
        transport: decoded.protocol(),
        ipv6: decoded.key.is_v6(),
        forward,
        source_port: source.port(),
        destination_port: destination.port(),
        sequence: decoded.tcp.seq,
        start: look.start().filter(|_| forward),
        payload: packet.frame.get(decoded.payload()).unwrap_or_default(),
        cut: decoded.is_cut || decoded.part == Part::First,
    }
}

fn why(reason: EndReason) -> End {
    match reason {
        EndReason::Idle => End::Idle,
        EndReason::Active => End::Active,
        EndReason::Closed => End::Closed,
        EndReason::Evicted => End::Evicted,
        EndReason::Removed => End::Finished,
    }
}

/// What is told by the protocol over IP alone.
fn by_ip_protocol(number: u8) -> Option<Protocol> {
    const NAMES: [(u8, &str); 13] = [
        (1, "ICMP"),
        (2, "IGMP"),
        (4, "IP_in_IP"),
        (8, "EGP"),
        (47, "GRE"),
        (50, "IPSec"),
        (51, "IPSec"),
        (58, "ICMPV6"),
        (89, "OSPF"),
        (103, "IP_PIM"),
        (112, "VRRP"),
        (113, "IP_PGM"),
        (132, "SCTP"),
    ];
    static TABLE: LazyLock<[Option<Protocol>; 256]> = LazyLock::new(|| {
        let mut table = [None; 256];
        for (number, name) in NAMES {
            table[usize::from(number)] = Protocol::named(name);
        }
        table
    });
    TABLE[usize::from(number)]
}

#[cfg(test)]
mod tests;
