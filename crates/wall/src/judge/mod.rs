//! What becomes of each packet, by a policy.
//!
//! ```text
//!  packets ─► stateless program ─┬► dropped or rejected: no flow is looked at
//!                                ├► accepted ──────┐
//!                                └► left open ─────┴► Spy ─► Tag ─► early or whole program ─► Verdict
//!                                                                      ▲ │
//!                                                       state of flows ┘ └► accepted? noted
//! ```
//!
//! What a packet does to its flow depends on its verdict: only packets that go on make a flow established, or its sender the initiator. So packets are judged one by one
//! in their order, and the same verdicts come out however they are cut into bursts.
//!
//! Verdicts that no later packet of a flow can change are kept with it (`kept.rs`).
//!
//! Where packets are to wait until it is known what their flow speaks, [`Judge::burst`] says [`Basis::Held`] of them, and who has them asks `Judge::again`.
//!
//! A packet that is dropped without a look at its flow is not counted in it: who is not let in takes no place in the table of flows.

mod announce;
mod counts;
mod evidence;
mod expect;
mod kept;
mod known;
mod look;
mod memo;
mod names;
mod same;
mod state;

pub use counts::{Count, Counts};
pub use evidence::{Evidence, basis_in_words, basis_object, decided_by};
pub(crate) use expect::ForAnybody;
pub use known::{FoundFlows, KnownFlow};

use crate::policy::{
    Answer, Bucket, Input, Mode, NotIp, OnFault, Policy, Programs, SipMedia, Undecided, categories,
};
use crate::rules::Action;
use crate::spy::{NamerOf, Progress, Sighting, Spy, SpyError, Tag};
use dpi::Protocol;
use expect::Expectations;
use flow::Packet;
use flow::table::Slot;
use kept::{CacheableFlows, FlowVerdicts};
use look::PacketToJudge;
use memo::{Facts, Memo};
use names::NameTable;
use same::{SameRules, keep_limits, same_rules};
use state::States;
use std::sync::Arc;
use wire::LinkType;

/// Link types for which programs are kept.
const KINDS_MAX: usize = 4;

/// What a verdict rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Basis {
    /// The rule of this number, from 0.
    Rule(u32),
    /// No rule takes the packet.
    Default,
    /// A rule asks what the flow speaks, and that is not known yet.
    Undecided,
    /// The same, and the packet waits until it is: this is no verdict yet, and not counted.
    Held,
    /// The packet carries no IP.
    NotIp,
    /// Something could not be found out.
    Fault(Fault),
}

/// What could not be found out, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// nDPI was lost before it answered.
    WorkerLost,
    /// nDPI had no room for the question.
    RingFull,
    /// The table of flows is full.
    TableFull,
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 3] = [Fault::WorkerLost, Fault::RingFull, Fault::TableFull];

    /// As policies name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Fault::WorkerLost => "worker_lost",
            Fault::RingFull => "ring_full",
            Fault::TableFull => "table_full",
        }
    }
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Verdict {
    /// What is to become of it. In monitor mode it goes on all the same.
    pub action: Action,
    /// Why.
    pub basis: Basis,
}

impl Verdict {
    /// In the place of one that is not known yet.
    pub const NONE: Verdict = Verdict { action: Action::Drop, basis: Basis::Default };

    /// The packet waits.
    const HELD: Verdict = Verdict { action: Action::Drop, basis: Basis::Held };
}

/// By which interfaces packets come and go: their numbers, from [`Judge::way`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Way {
    input: u32,
    output: u32,
}

/// A policy that is ready to judge packets: its programs are compiled.
#[derive(Debug)]
pub struct Prepared {
    policy: Arc<Policy>,
    programs: Vec<(LinkType, Option<Compiled>)>,
    names: Arc<NameTable>,
    /// Limits, which workers share.
    limits: Arc<[Bucket]>,
    /// The policy before it, if that is known, and what goes on of that.
    before: Option<(Arc<Policy>, SameRules)>,
}

/// Programs, and what they have answered.
#[derive(Clone, Debug)]
struct Compiled {
    programs: Programs,
    /// With all that is known, and before it is known what the flow speaks.
    memos: [Option<Box<Memo>>; 2],
    keeps: CacheableFlows,
}

impl Compiled {
    fn new(policy: &Policy, linktype: LinkType) -> Option<Compiled> {
        policy.compile(linktype).ok().map(|programs| Compiled::of(policy, programs, linktype))
    }

    fn of(policy: &Policy, programs: Programs, linktype: LinkType) -> Compiled {
        let inputs = &policy.vocabulary().inputs;
        let memo =
            |places: Vec<usize>| Memo::new(places.into_iter().map(|place| inputs[place])).map(Box::new);
        let memos = programs.places().map(|places| places.and_then(memo));
        let keeps = CacheableFlows::new(policy, &programs, linktype);
        Compiled { programs, memos, keeps }
    }
}

impl Prepared {
    /// Compiles a policy for packets of these link types; for others that is done when they come.
    #[must_use]
    pub fn new(policy: Arc<Policy>, linktypes: &[LinkType]) -> Prepared {
        let programs =
            linktypes.iter().map(|linktype| (*linktype, Compiled::new(&policy, *linktype))).collect();
        let (names, limits) = (Arc::new(NameTable::new(Arc::clone(&policy))), limits(&policy));
        Prepared { programs, names, limits, policy, before: None }
    }

    /// The same, or why its rules cannot be compiled for packets of this link type.
    ///
    /// # Errors
    /// As [`Policy::compile`].
    pub fn compiled(policy: Arc<Policy>, linktype: LinkType) -> Result<Prepared, pflang::Error> {
        let compiled = Compiled::of(&policy, policy.compile(linktype)?, linktype);
        let prepared = Prepared::new(policy, &[]);
        Ok(Prepared { programs: vec![(linktype, Some(compiled))], ..prepared })
    }

    /// The same for another worker: limits are shared, and nothing else that changes.
    pub(crate) fn for_another(&self) -> Prepared {
        let Prepared { policy, programs, limits, before, .. } = self;
        let (names, limits) = (Arc::new(NameTable::new(Arc::clone(policy))), Arc::clone(limits));
        let (programs, before) = (programs.clone(), before.clone());
        Prepared { policy: Arc::clone(policy), programs, names, limits, before }
    }

    /// Finds out what goes on of the policy before it, so that workers need not while packets wait.
    pub(crate) fn comes_after(&mut self, before: &Arc<Policy>) {
        self.before = Some((Arc::clone(before), same_rules(before, &self.policy).into()));
    }

    /// Limits, which workers share.
    pub(crate) fn limits(&self) -> Arc<[Bucket]> {
        Arc::clone(&self.limits)
    }

    /// The policy.
    #[must_use]
    pub fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }
}

/// Judges packets by a policy.
pub struct Judge {
    policy: Arc<Policy>,
    spy: Spy,
    /// Programs for packets of the link types that came, the last one first; `None` where the rules mean nothing.
    programs: Vec<(LinkType, Option<Compiled>)>,
    names: Arc<NameTable>,
    states: States,
    /// Connections that others have announced, if rules ask for states.
    expectations: Option<Expectations>,
    for_anybody: Arc<ForAnybody>,
    limits: Arc<[Bucket]>,
    /// Whether applications of the policy's own have payloads.
    has_payloads: bool,
    categories: Vec<u32>,
    kept: FlowVerdicts,
    /// Whether most packets of the last burst were dropped or rejected without a look at their flows.
    mostly_refused: bool,
    counts: Counts,
    /// Whether who asks can keep packets.
    can_hold: bool,
    holding: Holding,
    generation: u32,
    /// The first generation with the text of the policy: since then no more than sets have changed.
    text_since: u32,
    scratch: Scratch,
    /// The packet that evidence is wanted for, by its number from 1.
    wanted: Option<u64>,
    evidence: Option<Evidence>,
    packets: u64,
}

/// Of a burst, in its order: what concerns packets that wait. Numbers are those of packets in the burst.
#[derive(Debug, Default)]
pub(crate) struct Holding {
    /// Packets that are to wait.
    pub(crate) held: Vec<(usize, Tag)>,
    /// Flows of which packets wait, and which are decided by the time of this packet: these go first.
    pub(crate) decided: Vec<(usize, Slot)>,
}

/// Memory that is used from burst to burst.
#[derive(Default)]
struct Scratch {
    /// Of packets that flows are looked at for: their numbers in the burst, and what the stateless program says.
    asked: Vec<(usize, Answer)>,
    /// Packets whose verdict is not kept with their flow.
    left: Vec<PacketToJudge>,
    tags: Vec<Tag>,
    row: Vec<u32>,
    values: Vec<u32>,
}

impl std::fmt::Debug for Judge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Judge").field("generation", &self.generation).finish_non_exhaustive()
    }
}

impl Judge {
    /// A judge. `settings` say how flows are looked at; how many, and when they end, is what the policy says.
    ///
    /// # Errors
    /// As [`Spy::new`].
    pub fn new(policy: Arc<Policy>, settings: crate::spy::Settings) -> Result<Judge, SpyError> {
        Judge::of_workers(policy, settings, 1)
    }

    /// One of so many workers that judge by a policy: the flows that it allows are divided among them.
    ///
    /// # Errors
    /// As [`Spy::new`].
    pub(crate) fn of_workers(
        policy: Arc<Policy>,
        settings: crate::spy::Settings,
        workers: usize,
    ) -> Result<Judge, SpyError> {
        let flows = policy.settings().flows;
        let flows = flow::Settings {
            capacity: flows.max.div_ceil(workers.max(1)),
            timeouts: flows.timeouts,
            midstream: flows.midstream,
            checks_resets: true,
            ..settings.flows
        };
        Judge::with_flows(policy, crate::spy::Settings { flows, ..settings })
    }

    /// A judge that follows flows as `settings` say, whatever the policy says of that.
    ///
    /// # Errors
    /// As [`Spy::new`].
    pub fn with_flows(policy: Arc<Policy>, settings: crate::spy::Settings) -> Result<Judge, SpyError> {
        let names = Arc::new(NameTable::new(Arc::clone(&policy)));
        let namer = Some(NamerOf(NameTable::namer(&names)));
        let settings = crate::spy::Settings { namer, ..settings };
        let spy = Spy::new(settings)?;
        let has_payloads = policy.payloads().next().is_some();
        let mut judge = Judge {
            has_payloads,
            states: States::new(spy.capacity()),
            expectations: policy.asks_for_states().then(Expectations::default),
            for_anybody: Arc::default(),
            limits: limits(&policy),
            kept: FlowVerdicts::default(),
            mostly_refused: false,
            counts: Counts::of(&policy),
            can_hold: false,
            holding: Holding::default(),
            categories: categories(),
            programs: Vec::new(),
            generation: 1,
            text_since: 1,
            scratch: Scratch::default(),
            wanted: None,
            evidence: None,
            packets: 0,
            policy,
            spy,
            names,
        };
        judge.spy.watch_risks(judge.policy.asks_for_risks());
        judge.bring_to_front(LinkType::EN10MB);
        Ok(judge)
    }

    /// Changes the policy; flows are kept, and are judged by the new one from now on. Rules that are written the same go on counting, and their limits keep what
    /// they have left. How many flows there may be, and when they end, stays as it was.
    pub fn set_policy(&mut self, policy: Arc<Policy>) {
        let kinds: Vec<LinkType> = self.programs.iter().map(|(linktype, _)| *linktype).collect();
        self.set_prepared(Prepared::new(policy, &kinds));
    }

    /// The same, with a policy that was made ready before.
    pub fn set_prepared(&mut self, prepared: Prepared) {
        let Prepared { policy, programs, names, limits, before } = prepared;
        let same = before.filter(|(before, _)| Arc::ptr_eq(before, &self.policy));
        let same: SameRules = match same {
            Some((_, same)) => same,
            None => same_rules(&self.policy, &policy).into(),
        };
        keep_limits(&self.policy, &self.limits, &policy, &limits, &same);
        self.limits = limits;
        self.spy.set_namer(Some(NameTable::namer(&names)));
        self.spy.watch_risks(policy.asks_for_risks());
        match policy.asks_for_states() {
            true => drop(self.expectations.get_or_insert_default()),
            false => self.expectations = None,
        }
        if !policy.asks_for_states() || policy.settings().sip_media != SipMedia::Anywhere {
            self.for_anybody.clear();
        }
        if self.policy.payloads().next().is_some() || policy.payloads().next().is_some() {
            self.states.forget_payloads();
        }
        self.has_payloads = policy.payloads().next().is_some();
        self.counts = self.counts.go_on(&same);
        self.categories = categories();
        self.generation = self.generation.wrapping_add(1);
        if policy.text() != self.policy.text() {
            self.text_since = self.generation;
        }
        (self.policy, self.programs, self.names) = (policy, programs, names);
        if self.kept.restart() {
            self.spy.keep_none();
        }
    }

    /// Counts in these limits from now on, which other workers count in as well: those of the policy at hand.
    pub(crate) fn share_limits(&mut self, limits: Arc<[Bucket]>) {
        if limits.len() == self.limits.len() {
            self.limits = limits;
        }
    }

    /// Shares connections that anybody may begin with other workers.
    pub(crate) fn share_announced(&mut self, for_anybody: Arc<ForAnybody>) {
        self.for_anybody = for_anybody;
    }

    /// The flow of a packet, as it stands, if one is there.
    #[must_use]
    pub fn record_of(&self, linktype: LinkType, frame: &[u8]) -> Option<crate::record::Record> {
        self.spy.record_of(linktype, frame)
    }

    /// The policy, and how many there have been.
    #[must_use]
    pub fn policy(&self) -> (&Arc<Policy>, u32) {
        (&self.policy, self.generation)
    }

    /// What has become of packets; of rules, since policies have them.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Who looks at flows.
    #[must_use]
    pub fn spy(&self) -> &Spy {
        &self.spy
    }

    /// The same, to be called when no packets come.
    pub fn spy_mut(&mut self) -> &mut Spy {
        &mut self.spy
    }

    /// The numbers of the interfaces by which packets come and go.
    #[must_use]
    pub fn way(&self, input: Option<&str>, output: Option<&str>) -> Way {
        let number =
            |name: Option<&str>| name.map_or(0, |name| self.policy.vocabulary().interface_number(name));
        Way { input: number(input), output: number(output) }
    }

    /// Keeps evidence about the packet of this number, from 1.
    pub fn want_evidence(&mut self, number: u64) {
        self.wanted = Some(number);
    }

    /// Keeps evidence about a packet of the next burst, by its number there, from 0.
    pub fn want_evidence_of_next(&mut self, at: usize) {
        self.want_evidence(self.packets + at as u64 + 1);
    }

    /// What the verdict of that packet rests on.
    pub fn take_evidence(&mut self) -> Option<Evidence> {
        self.evidence.take()
    }

    /// Judges packets, in their order.
    ///
    /// # Panics
    /// If there are fewer verdicts than packets.
    pub fn burst(&mut self, packets: &[Packet<'_>], way: Way, verdicts: &mut [Verdict]) {
        match self.wanted_of(packets.len()) {
            Some(at) if at + 1 < packets.len() => self.burst_in_two(packets, at + 1, way, verdicts),
            _ => self.whole_burst(packets, way, verdicts),
        }
    }

    /// The same with two bursts: evidence of the last packet of the first one has nothing of what later packets say of its flow.
    #[cold]
    fn burst_in_two(&mut self, packets: &[Packet<'_>], first: usize, way: Way, verdicts: &mut [Verdict]) {
        let ((packets, later_packets), (verdicts, later)) =
            (packets.split_at(first), verdicts.split_at_mut(first));
        self.whole_burst(packets, way, verdicts);
        let Holding { held, decided } = std::mem::take(&mut self.holding);
        self.whole_burst(later_packets, way, later);
        let later = std::mem::replace(&mut self.holding, Holding { held, decided });
        self.holding.held.extend(later.held.into_iter().map(|(number, tag)| (first + number, tag)));
        self.holding.decided.extend(later.decided.into_iter().map(|(number, slot)| (first + number, slot)));
    }

    fn whole_burst(&mut self, packets: &[Packet<'_>], way: Way, verdicts: &mut [Verdict]) {
        let verdicts = &mut verdicts[..packets.len()];
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut tags = std::mem::take(&mut scratch.tags);
        self.look_at_flows((packets, &mut *verdicts), way, &mut tags, &mut scratch);
        let left = std::mem::take(&mut scratch.left);
        for &PacketToJudge { at, number, answer } in &left {
            let (packet, tag) = (&packets[number], &tags[at]);
            let verdict = self.with_flow((number, packet), way, (answer, tag), &mut scratch);
            verdicts[number] = verdict;
            self.counts.add(packet, &verdict);
            if self.is_wanted(number) {
                let record = tag.sight.and_then(|sight| self.spy.record(sight.slot));
                let answers = (answer, verdict);
                self.evidence = Some(Evidence::new(packet, *tag, answers, &scratch.row, record));
            }
        }
        self.packets += packets.len() as u64;
        (scratch.left, scratch.tags) = (left, tags);
        self.scratch = scratch;
    }

    /// The packet of the next burst, of so many, that evidence is wanted for.
    #[inline]
    fn wanted_of(&self, count: usize) -> Option<usize> {
        let at = self.wanted?.checked_sub(self.packets + 1)?;
        usize::try_from(at).ok().filter(|at| *at < count)
    }

    /// Whether evidence is wanted for the packet of this number in the burst.
    #[inline]
    fn is_wanted(&self, number: usize) -> bool {
        self.wanted == Some(self.packets + number as u64 + 1)
    }

    fn rule(&self, rule: u32) -> Verdict {
        look::verdict_of_rule(&self.policy, rule)
    }

    fn default(&self) -> Verdict {
        look::default_verdict(&self.policy)
    }

    /// Judges a packet of which the flow was looked at, and notes in that what became of it.
    #[inline]
    fn with_flow(
        &mut self,
        packet: (usize, &Packet<'_>),
        way: Way,
        (answer, tag): (Answer, &Tag),
        scratch: &mut Scratch,
    ) -> Verdict {
        let (number, packet) = packet;
        if let Some(sight) = tag.sight.filter(|sight| sight.is_reopened)
            && let Some(before) = tag.related
        {
            self.states.reopen(sight.slot, before, sight.direction.reverse(), sight.outer);
        }
        let before = tag.sight.map(|sight| self.states.of(sight.slot).facts()).unwrap_or_default();
        if tag.packets == 0 {
            let by_setting = |action| Verdict { action, basis: Basis::NotIp };
            match self.policy.settings().not_ip {
                NotIp::Accept => return by_setting(Action::Accept),
                NotIp::Drop => return by_setting(Action::Drop),
                NotIp::Rules => {}
            }
        }
        if let Some(sight) = tag.sight.filter(|_| self.has_payloads) {
            let state = self.states.of(sight.slot);
            let (start, end) = (sight.payload.0 as usize, sight.payload.1 as usize);
            if start < end && state.looks_at_payload() {
                let payload = packet.frame.get(start..end).unwrap_or_default();
                state.note_payload(payload, self.policy.payloads());
            }
        }
        if let Some(sight) = tag.sight.filter(|sight| sight.is_new && !sight.is_reopened) {
            self.meet_expectation(packet, sight);
        }
        if self.is_wanted(number) {
            // Evidence has what is known of the flow, even where the verdict comes without.
            let facts = self.facts(way, tag);
            self.fill(&facts, packet.time_ns, &mut scratch.row);
        }
        let verdict = match tag.sight.filter(|_| self.can_hold) {
            Some(sight) if self.states.of(sight.slot).is_holding() => {
                if tag.progress != Progress::Open {
                    self.holding.decided.push((number, sight.slot));
                    self.decide(packet, way, (answer, tag), scratch)
                } else if self.states.of(sight.slot).holds(sight.direction) {
                    Verdict::HELD
                } else {
                    self.decide(packet, way, (answer, tag), scratch)
                }
            }
            _ => self.decide(packet, way, (answer, tag), scratch),
        };
        if verdict.basis == Basis::Held {
            self.holding.held.push((number, *tag));
        }
        self.keep(packet, way, (tag, verdict), before);
        verdict
    }

    /// Judges a packet that has waited once more, by what is known of its flow now. `None`: it is to wait on. With `is_last`, it does not.
    pub(crate) fn again(
        &mut self,
        packet: &Packet<'_>,
        way: Way,
        tag: &Tag,
        is_last: bool,
    ) -> Option<Verdict> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let slot = tag.sight.map(|sight| sight.slot);
        let now = slot.and_then(|slot| self.spy.tag_of(slot));
        if let Some(state) = slot.and_then(|slot| self.states.known(slot)).filter(|_| is_last) {
            state.give_up();
        }
        let verdict = match (self.without_flow(packet, way, &mut scratch), now) {
            (Err(verdict), _) => verdict,
            (Ok(answer), Some(now)) => {
                let Tag { packets, sight, related, .. } = *tag;
                // It had its place in the table before it waited: that the table is full now is no fault of its flow.
                let sight = sight.map(|sight| Sighting { is_full: false, ..sight });
                let now = Tag { packets, sight, related, ..now };
                let verdict = self.decide(packet, way, (answer, &now), &mut scratch);
                self.keep_none(&now);
                verdict
            }
            // Its flow is gone: nothing more will be known.
            (Ok(_), None) => {
                let forwards =
                    matches!(self.policy.settings().undecided, Undecided::Hold(hold) if hold.forwards);
                let forwards = forwards || self.policy.settings().undecided == Undecided::Forward;
                let action = if forwards { Action::Accept } else { Action::Drop };
                Verdict { action, basis: Basis::Undecided }
            }
        };
        self.scratch = scratch;
        self.counts.add(packet, &verdict);
        (verdict.basis != Basis::Held).then_some(verdict)
    }

    /// Packets may wait from now on: who asks keeps them.
    pub(crate) fn can_hold(&mut self) {
        self.can_hold = true;
    }

    /// What the last burst came to for packets that wait.
    pub(crate) fn take_holding(&mut self) -> Holding {
        std::mem::take(&mut self.holding)
    }

    /// Whether no packet of a flow is to wait any more.
    pub(crate) fn has_given_up(&mut self, slot: Slot) -> bool {
        self.states.known(slot).is_some_and(|state| state.has_given_up())
    }

    /// No packet of a flow waits any more.
    pub(crate) fn holds_none(&mut self, slot: Slot) {
        if let Some(state) = self.states.known(slot) {
            state.hold_none();
        }
    }

    /// What becomes of a packet whose flow was looked at.
    #[inline]
    fn decide(
        &mut self,
        packet: &Packet<'_>,
        way: Way,
        (answer, tag): (Answer, &Tag),
        scratch: &mut Scratch,
    ) -> Verdict {
        let verdict = match answer {
            Answer::Rule(rule) => self.rule(rule),
            Answer::None => self.default(),
            Answer::Open => self.left_open(packet, way, tag, scratch),
        };
        let goes_on = verdict.action == Action::Accept || self.policy.settings().mode == Mode::Monitor;
        let Some(sight) = tag.sight else { return verdict };
        let generation = self.generation;
        let state = self.states.of(sight.slot);
        state.note(verdict, generation);
        if goes_on && self.states.accept(sight.slot, sight.direction, sight.outer) {
            let speaks = tag.protocol;
            if speaks == Protocol::FTP_CONTROL.number() || speaks == Protocol::SIP.number() {
                self.note_announced(packet, sight, speaks);
            }
        }
        verdict
    }

    /// Judges a packet about whose flow rules ask.
    fn left_open(&mut self, packet: &Packet<'_>, way: Way, tag: &Tag, scratch: &mut Scratch) -> Verdict {
        let settings = self.policy.settings();
        let faults = settings.faults;
        let on_undecided = settings.undecided;
        if faults.table_full == OnFault::Closed
            && let Some(sight) = tag.sight
        {
            let state = self.states.of(sight.slot);
            if sight.is_full {
                state.refuse();
            }
            if state.is_refused() {
                return Verdict { action: Action::Drop, basis: Basis::Fault(Fault::TableFull) };
            }
        }
        let fault = match tag.progress {
            Progress::NoRoom => Some((Fault::RingFull, faults.ring_full)),
            Progress::Lost => Some((Fault::WorkerLost, faults.worker_lost)),
            Progress::Done | Progress::Open => None,
        };
        let is_known = match (tag.progress, fault) {
            (Progress::Done, _) | (_, Some((_, OnFault::Open))) => true,
            (_, Some((_, OnFault::Closed | OnFault::Undecided)) | None) => false,
        };
        let facts = self.facts(way, tag);
        match self.asked(packet, &facts, is_known, scratch) {
            Answer::Rule(rule) => self.rule(rule),
            Answer::None => self.default(),
            Answer::Open => {
                if let Some((fault, OnFault::Closed)) = fault {
                    return Verdict { action: Action::Drop, basis: Basis::Fault(fault) };
                }
                if on_undecided == Undecided::Rules {
                    return match self.asked(packet, &facts, true, scratch) {
                        Answer::Rule(rule) => self.rule(rule),
                        Answer::None | Answer::Open => self.default(),
                    };
                }
                // Without the handshake nothing would ever be said.
                let says_something = tag.sight.is_none_or(|sight| sight.payload.0 < sight.payload.1);
                let action = match on_undecided {
                    Undecided::Drop if says_something => Action::Drop,
                    Undecided::Hold(hold) if says_something => {
                        if self.holds(tag) {
                            return Verdict::HELD;
                        }
                        if hold.forwards { Action::Accept } else { Action::Drop }
                    }
                    Undecided::Drop | Undecided::Forward | Undecided::Rules | Undecided::Hold(_) => {
                        Action::Accept
                    }
                };
                Verdict { action, basis: Basis::Undecided }
            }
        }
    }

    /// Whether a packet that says something is to wait, of which note is taken.
    fn holds(&mut self, tag: &Tag) -> bool {
        let is_monitor = self.policy.settings().mode == Mode::Monitor;
        let Some(sight) = tag.sight.filter(|_| self.can_hold && !is_monitor) else { return false };
        let state = self.states.of(sight.slot);
        if state.has_given_up() {
            return false;
        }
        state.hold(sight.direction);
        true
    }

    /// What the rules say, with all that is known of a flow. What a rule with limits takes is counted in them.
    #[inline]
    fn asked(&mut self, packet: &Packet<'_>, facts: &Facts, is_known: bool, scratch: &mut Scratch) -> Answer {
        // Taken away while it is asked, since what it does not know needs all of the judge.
        let memo = self.compiled(packet.linktype).and_then(|all| all.memos[usize::from(!is_known)].take());
        let Some(mut memo) = memo else { return self.answer(packet, facts, is_known, scratch) };
        let answer = memo.answer(facts, || self.answer(packet, facts, is_known, scratch));
        if let Some(compiled) = self.compiled(packet.linktype) {
            compiled.memos[usize::from(!is_known)] = Some(memo);
        }
        answer
    }

    /// The same, of the program.
    #[inline(never)]
    fn answer(
        &mut self,
        packet: &Packet<'_>,
        facts: &Facts,
        is_known: bool,
        scratch: &mut Scratch,
    ) -> Answer {
        self.fill(facts, packet.time_ns, &mut scratch.row);
        let Scratch { row, values, .. } = scratch;
        let bytes = (packet.frame, packet.wire_len);
        let Some(programs) = self.programs(packet.linktype) else { return Answer::None };
        let answer =
            if is_known { programs.whole(bytes, row, values) } else { programs.early(bytes, row, values) };
        if let Answer::Rule(rule) = answer
            && let Some(rule) = self.policy.rules().get(rule as usize)
        {
            rule.limits.iter().for_each(|limit| self.limits[*limit].take(packet.time_ns));
        }
        answer
    }

    /// The numbers that the stateless program is given.
    fn fill_way(&self, way: Way, row: &mut Vec<u32>) {
        row.clear();
        row.extend(self.policy.vocabulary().inputs.iter().map(|input| match input {
            Input::In => way.input,
            Input::Out => way.output,
            _ => 0,
        }));
    }

    /// What is known of a packet.
    #[inline]
    fn facts(&mut self, way: Way, tag: &Tag) -> Facts {
        let Tag { protocol, master, packets, name, risks, .. } = *tag;
        let (state, from, own) = match tag.sight {
            None => (state::INVALID, 0, 0),
            // In other tunnels, neither end sends packets of the flow.
            Some(sight) if self.states.is_elsewhere(sight.slot, sight.outer) => {
                (state::INVALID, 0, self.states.of(sight.slot).own())
            }
            Some(sight) => {
                let related = tag.related.filter(|_| !sight.is_reopened);
                let is_related = related.is_some_and(|slot| {
                    self.states.get(slot).is_some_and(|state| state.has_accepted())
                        && !self.states.is_elsewhere(slot, sight.outer)
                });
                let flow = self.states.of(sight.slot);
                let state = if !sight.counts {
                    state::INVALID
                } else if is_related {
                    state::RELATED
                } else {
                    flow.state(sight.direction)
                };
                (state, flow.from(sight.direction), flow.own())
            }
        };
        let confidence = tag.confidence as u32;
        Facts { protocol, master, confidence, state, from, own, name, packets, risks, way }
    }

    /// The numbers that programs are given.
    fn fill(&mut self, facts: &Facts, now_ns: u64, row: &mut Vec<u32>) {
        row.clear();
        row.extend(self.policy.vocabulary().inputs.iter().map(|input| match input {
            Input::FlowCount => facts.packets,
            Input::App => facts.protocol.into(),
            Input::Master => facts.master.into(),
            Input::Category => self.categories.get(usize::from(facts.protocol)).copied().unwrap_or(0),
            Input::Confidence => facts.confidence,
            Input::State => facts.state,
            Input::From => facts.from,
            Input::In => facts.way.input,
            Input::Out => facts.way.output,
            Input::Name => self.names.domain(facts.name),
            Input::Risks(word) => (facts.risks >> (32 * word)) as u32,
            Input::Sets(word) => self.names.sets(facts.name, *word),
            Input::Own(word) => [facts.own].get(*word as usize).copied().unwrap_or(0),
            Input::Limits(word) => {
                let limits = self.limits.iter().skip(32 * *word as usize).take(32);
                limits.enumerate().fold(0, |bits, (at, limit)| bits | u32::from(limit.has(now_ns)) << at)
            }
        }));
    }

    /// The programs for packets of a link type.
    #[inline]
    fn programs(&mut self, linktype: LinkType) -> Option<&Programs> {
        self.compiled(linktype).map(|compiled| &compiled.programs)
    }

    #[inline]
    fn compiled(&mut self, linktype: LinkType) -> Option<&mut Compiled> {
        if self.programs.first().is_none_or(|(known, _)| *known != linktype) {
            self.bring_to_front(linktype);
        }
        self.programs[0].1.as_mut()
    }

    #[cold]
    fn bring_to_front(&mut self, linktype: LinkType) {
        match self.programs.iter().position(|(known, _)| *known == linktype) {
            Some(at) => self.programs[..=at].rotate_right(1),
            None => {
                self.programs.truncate(KINDS_MAX - 1);
                self.programs.insert(0, (linktype, Compiled::new(&self.policy, linktype)));
            }
        }
    }
}

pub(crate) fn limits(policy: &Policy) -> Arc<[Bucket]> {
    policy.vocabulary().limits.iter().map(|rate| Bucket::new(*rate)).collect()
}

#[cfg(test)]
mod tests;
