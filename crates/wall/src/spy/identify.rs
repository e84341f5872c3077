//! How a flow is identified: which tier looks at its packets, and what holds of what they say.

use super::asker::Change;
use super::look::{Look, Phase, State};
use super::{Deferred, Sight, Spy, Tag, Told, tag};
use crate::record::End;
use dpi::tier1::{StateId, Step};
use dpi::worker::{Answer, Reason, Refused};
use dpi::{By, Confidence, Details, Message, Protocol, Verdict};
use flow::table::Slot;
use flow::{Decoded, Packet, Part};
use std::sync::LazyLock;
use wire::ip::protocol as ip;

impl Spy {
    /// A packet of a flow that is not settled.
    pub(super) fn unsettled(&mut self, packet: &Packet<'_>, seen: &Sight, told: &mut Told<'_>) {
        let Sight { at, slot, ref decoded } = *seen;
        // Its flow may have made room for another of the same burst, or be settled by a packet of it.
        let Some(look) = self.tracker.value_mut(slot) else { return };
        if look.phase() == Phase::Settled {
            return told.tell(at, look, &self.names);
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
        } else if decoded.part != Part::Later && !decoded.payload().is_empty() {
            self.inspect(packet, seen, told.waits);
        }
        let Some(look) = self.tracker.value_mut(slot) else { return };
        told.tell(at, look, &self.names);
        if told.waits
            && self.outcomes.is_none()
            && let State::Asked(question) = look.state()
            && let Some(asker) = &mut self.asker
        {
            let now = Tag { risks: self.risks.of(slot), ..tag(look, &self.names) };
            let question_of = asker.question(question);
            if question_of.changes.is_empty() {
                question_of.changes.push(Change { from: 0, tag: now });
            }
            let (generation, submitted) = (question_of.generation, question_of.submitted);
            self.deferred.push(Deferred { at, question, generation, submitted });
        }
    }

    /// Looks at what a packet says.
    fn inspect(&mut self, packet: &Packet<'_>, seen: &Sight, waits: bool) {
        let Sight { slot, ref decoded, .. } = *seen;
        let Some(look) = self.tracker.value_mut(slot) else { return };
        if look.phase() == Phase::Watched {
            return self.show(packet, decoded, slot, waits);
        }
        let mut step = Step::NotOurs;
        if look.phase() != Phase::Handed {
            let message = message(packet, decoded, look);
            let mut state = self.tier1_state(slot);
            step = self.tier1.inspect(&mut state, &message);
            self.keep_tier1_state(slot, state);
        }
        match step {
            Step::Decided(verdict, details) if self.risks.is_watched() && self.asker.is_some() => {
                self.show(packet, decoded, slot, waits);
                return self.watch(slot, &verdict, details);
            }
            Step::Decided(verdict, details) => {
                self.withdraw(slot);
                return self.settle(slot, &verdict, details);
            }
            Step::Undecided => self.set_phase(slot, Phase::Waiting),
            Step::NotOurs => {}
        }
        self.show(packet, decoded, slot, waits);
        if step == Step::NotOurs {
            self.hand_on(slot);
        }
    }

    /// Shows a packet to tier 2. Fragments are not whole datagrams: nDPI would read what is not there.
    fn show(&mut self, packet: &Packet<'_>, decoded: &Decoded, slot: Slot, waits: bool) {
        let datagram = packet.frame.get(decoded.ip()).filter(|_| decoded.part == Part::Whole);
        if let Some(datagram) = datagram {
            self.ask(slot, (decoded.protocol(), datagram, packet.time_ns), waits);
        }
    }

    /// The flow is identified; tier 2 looks on, for risks, if it has been asked and has not said its last word.
    fn watch(&mut self, slot: Slot, verdict: &Verdict, details: Details) {
        let (State::Asked(at), Some(asker)) = (self.state(slot), &mut self.asker) else {
            return self.settle(slot, verdict, details);
        };
        let question = asker.question(at);
        question.tier1 = None;
        // What is known from now on holds of no earlier packet.
        if question.handed_at == 0 {
            question.handed_at = question.submitted;
        }
        let held = question.held.take();
        if held.as_ref().is_some_and(|held| held.done) {
            asker.close(at);
            self.settle(slot, verdict, details);
        } else {
            self.note_verdict(slot, verdict, details);
            self.set_phase(slot, Phase::Watched);
        }
        if let Some(held) = held {
            self.note_risks(slot, held.risks);
        }
        // Packets of the burst that were put off are told of by changes.
        let risks = self.risks.of(slot);
        let now = self.tracker.flow(slot).map(|flow| Tag { risks, ..tag(&flow.value, &self.names) });
        if let (Some(now), Some(asker)) = (now, &mut self.asker) {
            let question = asker.question(at);
            if !question.changes.is_empty() {
                question.changes.push(Change { from: question.handed_at, tag: now });
            }
        }
    }

    fn note_risks(&mut self, slot: Slot, risks: u64) {
        let tracker = &self.tracker;
        self.risks.note(slot, risks, |slot| tracker.flow(slot).is_some());
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
        if asker.submit(question, packet, waits) == Err(Refused::Full)
            && let Some(look) = self.tracker.value_mut(slot)
        {
            look.note_ring_full();
        }
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
        let name = self.namer.as_ref().map_or(0, |namer| namer(&details));
        // Rules know the name, whether there is room for it or not.
        let place = self.books.store.put(details, name != 0);
        if let Some(place) = place.filter(|_| self.namer.is_some()) {
            let place = place as usize;
            if self.names.len() <= place {
                self.names.resize(place + 1, 0);
            }
            self.names[place] = name;
        }
        look.set_details(place);
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
    pub(super) fn listen(&mut self, waits: bool) {
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
                let name = self.namer.as_ref().map_or(0, |namer| namer(&answer.details));
                let said = Tag { name, ..Tag::of_verdict(verdict) };
                question.changes.push(Change { from: answer.packets, tag: said });
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
        self.note_risks(slot, answer.risks);
        let is_watched = self.tracker.flow(slot).is_some_and(|flow| flow.value.phase() == Phase::Watched);
        if let Some(verdict) = verdict.as_ref().filter(|_| !is_watched) {
            self.note_verdict(slot, verdict, answer.details);
        }
        if answer.done
            && let Some(look) = self.tracker.value_mut(slot)
        {
            look.set_state(State::None);
            // What was lost with a worker may be asked again.
            if answer.reason == Reason::Lost {
                look.note_lost();
            }
            let is_asked_again = answer.reason == Reason::Lost && !is_watched;
            look.set_phase(if is_asked_again { Phase::Handed } else { Phase::Settled });
        }
        if verdict.is_some() || answer.done {
            let risks = self.risks.of(slot);
            let now = self.tracker.flow(slot).map(|flow| Tag { risks, ..tag(&flow.value, &self.names) });
            if let (Some(now), Some(asker)) = (now, &mut self.asker) {
                asker.question(at).changes.push(Change { from, tag: now });
            }
        }
        if answer.done
            && let Some(asker) = &mut self.asker
            && !self.deferred.iter().any(|deferred| deferred.question == at)
        {
            asker.close(at);
        }
    }

    /// Waits for tier 2, and tells of the packets that were put off.
    #[cold]
    pub(super) fn tell_deferred(&mut self, tags: &mut [Tag]) {
        self.listen(true);
        let deferred = std::mem::take(&mut self.deferred);
        let Some(asker) = &mut self.asker else { return };
        for &Deferred { at, question, generation, submitted } in &deferred {
            let question = asker.question(question);
            if question.generation == generation
                && let Some(Change { tag, .. }) = question.change_at(submitted)
            {
                let Tag { packets, sight, related, .. } = tags[at];
                tags[at] = Tag { packets, sight, related, ..tag };
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
}

/// Whether a flow has said nothing yet, nor does with this packet: the most of a flood.
#[inline]
pub(super) fn is_silent(look: &Look, decoded: &Decoded) -> bool {
    decoded.is_tcp() && decoded.payload().is_empty() && look.is_silent()
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
