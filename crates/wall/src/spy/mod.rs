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
//! Where risks are asked for, tier 2 looks on at flows that tier 1 has identified. What it says of them then is their risks alone.
//!
//! On captures [`Spy::burst`] waits for tier 2, and tells each packet by what was known when it came: the same in every run. Live it never waits.

mod asker;
mod books;
mod identify;
mod look;
mod risks;
mod store;
mod watch;

use crate::ledger::{Ledger, Outcomes, SNAPSHOT_MAX};
use crate::record::{End, Record};
use asker::Asker;
use books::Books;
use dpi::tier1::{self, Tier1};
use dpi::worker::WorkerError;
use dpi::{Confidence, Details};
use flow::table::{Slot, TableError};
use flow::{Decoded, Direction, Key, NoFlow, Packet, Tracker};
use look::Look;
pub(crate) use look::OWNER_NUMBER_MAX;
use risks::Risks;
use std::ops::Range;
use std::sync::Arc;
pub(crate) use watch::Owner;
use watch::{NoOwner, Watch};

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
    /// What the names that flows give come to.
    pub namer: Option<NamerOf>,
}

/// A [`Namer`], in settings.
#[derive(Clone)]
pub struct NamerOf(pub Namer);

impl std::fmt::Debug for NamerOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Namer")
    }
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
    /// How sure that is.
    pub confidence: Confidence,
    /// What is not known yet, or was left out.
    pub progress: Progress,
    /// What the names that the flow gave come to, as [`Settings::namer`] has it; 0 without.
    pub name: u32,
    /// What nDPI has found risky about it, see [`dpi::risk`]: where that is asked for.
    pub risks: u64,
    /// The packet within its flow; `None` without one.
    pub sight: Option<Sighting>,
    /// Of an ICMP error, the flow of the packet that it quotes; of a packet with which a flow is [reopened](Sighting::is_reopened), the flow before.
    pub related: Option<Slot>,
}

impl Tag {
    /// What is known of a flow that is identified, and nothing of a packet.
    fn of_verdict(verdict: &dpi::Verdict) -> Tag {
        Tag {
            protocol: verdict.protocol.number(),
            master: verdict.master.number(),
            confidence: verdict.confidence,
            ..Tag::default()
        }
    }
}

/// How far the identification of a flow is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Progress {
    /// It is identified, or never will be; also of packets without a flow.
    #[default]
    Done,
    /// More packets may tell.
    Open,
    /// Tier 2 was to be asked, and had no room.
    NoRoom,
    /// Tier 2 was asked, and was lost before it answered.
    Lost,
}

/// A packet within its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// The slot of the flow. A later packet of the burst may have taken it.
    pub slot: Slot,
    /// The direction of the packet.
    pub direction: Direction,
    /// Whether it is the first of its flow.
    pub is_new: bool,
    /// Whether it is, and answers a SYN on an open connection between the same ports, whose flow is gone. See [`flow::Seen::reopens`].
    pub is_reopened: bool,
    /// Whether it is the first, and took the last place in the table or that of another. See [`flow::Seen::is_full`].
    pub is_full: bool,
    /// Of a segment of TCP: whether it counts. See [`flow::Seen::counts`].
    pub counts: bool,
    /// The tunnels that it came in; 0 without. See [`flow::Decoded::outer`].
    pub outer: u32,
    /// Where what the packet says begins and ends, in its bytes.
    pub payload: (u32, u32),
}

/// What names that a flow gave of itself come to: a number that [`Tag::name`] has.
pub type Namer = Arc<dyn Fn(&Details) -> u32 + Send + Sync>;

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
    namer: Option<Namer>,
    /// Risks of flows, where they are asked for.
    risks: Risks,
    /// By place of details: what the namer has said of them.
    names: Vec<u32>,
    /// Of a burst: ICMP errors, and the flows of what they quote.
    quotes: Vec<(usize, Key)>,
    /// The number of the last flow.
    numbers: u32,
    /// Packets of the burst that are told of when tier 2 has answered.
    deferred: Vec<Deferred>,
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
    fn tell(&mut self, at: usize, look: &Look, names: &[u32]) {
        let Tag { packets, sight, related, .. } = self.tags[at];
        self.tags[at] = Tag { packets, sight, related, ..tag(look, names) };
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
        Ok(Spy {
            tracker,
            unsettled: Vec::new(),
            slots: Vec::new(),
            tier1: Tier1::new(settings.tier1),
            asker,
            books: Books::new(settings.ledger),
            waits: settings.waits,
            outcomes: settings.outcomes,
            namer: settings.namer.map(|NamerOf(namer)| namer),
            risks: Risks::default(),
            names: Vec::new(),
            quotes: Vec::new(),
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

    /// How many flows gave names that there was no room for: their records lack them, and another [`Spy::set_namer`] does not know them.
    #[must_use]
    pub fn names_lost(&self) -> u64 {
        self.books.store.full
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

    /// Why tier 2 is gone and cannot be started again.
    #[must_use]
    pub fn tier2_gone(&self) -> Option<&str> {
        self.asker.as_ref()?.unstarted()
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

    /// Flows at most.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.tracker.table().capacity()
    }

    /// What is kept of a flow that is there, for people: as it stands.
    #[must_use]
    pub fn record(&self, slot: Slot) -> Option<Record> {
        let (key, flow) = (self.tracker.table().key(slot)?, self.tracker.flow(slot)?);
        Some(self.books.record(&key, &flow.stats(), &flow.value, End::None))
    }

    /// How many parts [`Spy::flows_in`] can look at.
    pub(crate) fn flow_parts(&self) -> usize {
        self.tracker.table().buckets()
    }

    /// The flows in these parts of the table: the slot and the key of each.
    pub(crate) fn flows_in(&self, parts: Range<usize>) -> impl Iterator<Item = (Slot, Key)> {
        self.tracker.table().iter_in(parts).map(|(slot, key, _)| (slot, key))
    }

    /// The key of a flow that is there.
    #[must_use]
    pub fn key(&self, slot: Slot) -> Option<Key> {
        self.tracker.table().key(slot)
    }

    /// What is known of a flow that is there, and nothing of a packet.
    #[must_use]
    pub fn tag_of(&self, slot: Slot) -> Option<Tag> {
        let (risks, flow) = (self.risks.of(slot), self.tracker.flow(slot)?);
        let packets = u32::try_from(flow.stats().packets.iter().sum::<u64>()).unwrap_or(u32::MAX);
        Some(Tag { packets, risks, ..tag(&flow.value, &self.names) })
    }

    /// Keeps a number from 1 to [`OWNER_NUMBER_MAX`] with the flow of a packet that has this tag, for later packets of the same direction, if nothing more will become known of
    /// the flow than the tag says, or only by a packet that says something, while none has; else none. With `forgets_other`, that of the other direction is forgotten.
    pub(crate) fn keep(&mut self, of: &Tag, number: Option<u16>, forgets_other: bool) {
        let Some(sight) = of.sight else { return };
        let risks = if self.risks.is_watched() { self.risks.of(sight.slot) } else { 0 };
        let Some(look) = self.tracker.value_mut(sight.slot) else { return };
        let now = Tag { packets: of.packets, sight: of.sight, risks, ..tag(look, &self.names) };
        let number = number.filter(|_| look.can_keep() && now == *of);
        look.keep(sight.direction, number.unwrap_or(0), forgets_other);
    }

    /// The number that is kept with a flow for the direction of its last packet; 0 for none.
    pub(crate) fn kept(&self, slot: Slot) -> u16 {
        self.tracker.flow(slot).map_or(0, |flow| flow.value.kept_for_last())
    }

    /// No number is kept with any flow.
    pub(crate) fn keep_none(&mut self) {
        let slots: Vec<Slot> = self.tracker.iter().map(|(slot, ..)| slot).collect();
        for slot in slots {
            if let Some(look) = self.tracker.value_mut(slot) {
                look.keep(Direction::Up, 0, true);
            }
        }
    }

    /// What is kept of the flow of a packet, if it is there.
    #[must_use]
    pub fn record_of(&self, linktype: wire::LinkType, frame: &[u8]) -> Option<Record> {
        let decoded = flow::decode(linktype, frame).ok()?;
        self.record(self.tracker.find(&decoded.key)?)
    }

    /// Changes what the names that flows give come to, also those that were given before.
    pub fn set_namer(&mut self, namer: Option<Namer>) {
        self.names = self.books.store.each(|details| namer.as_ref().map_or(0, |namer| namer(details)));
        self.namer = namer;
    }

    /// Has tier 2 look for risks of all flows from now on, or not any more.
    pub fn watch_risks(&mut self, is_wanted: bool) {
        self.risks.watch(is_wanted);
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
        self.burst_for(packets, tags, &mut NoOwner);
    }

    /// The same for an owner who keeps numbers with flows, see [`Spy::keep`]. Packets that it refuses or knows get no tag.
    pub(crate) fn burst_for(&mut self, packets: &[Packet<'_>], tags: &mut [Tag], owner: &mut impl Owner) {
        if self.asker.is_some() && !self.waits {
            self.listen(false);
        }
        let tags = &mut tags[..packets.len()];
        if self.waits {
            // One by one: flows of a capture may begin and end within a burst, and each packet is looked at while its flow is there.
            (0..packets.len()).for_each(|at| self.look(&packets[at..=at], at, tags, owner));
        } else {
            self.look(packets, 0, tags, owner);
        }
        if self.risks.is_watched() {
            for tag in tags.iter_mut() {
                tag.risks = tag.sight.map_or(0, |sight| self.risks.of(sight.slot));
            }
        }
        if !self.deferred.is_empty() {
            self.tell_deferred(tags);
        }
        if let Some(looked_at) = &self.books.looked_at {
            let (refused, bytes) = owner.refused();
            let all: u64 = packets.iter().map(|packet| u64::from(packet.wire_len)).sum();
            looked_at.add(packets.len() as u64 - refused, all - bytes);
        }
        self.books.hand_over();
    }

    /// Looks at packets of a burst, from its number `first` on.
    fn look(&mut self, packets: &[Packet<'_>], first: usize, tags: &mut [Tag], owner: &mut impl Owner) {
        let Spy { tracker, tier1, asker, books, waits, numbers, unsettled, slots, outcomes, .. } = self;
        let (waits, wants_slots) = (*waits, outcomes.is_some());
        slots.clear();
        let slots = wants_slots.then_some(slots);
        let (names, quotes) = (&self.names[..], &mut self.quotes);
        let mut watch = Watch {
            owner,
            packets,
            first,
            tags: &mut *tags,
            names,
            waits,
            numbers,
            unsettled,
            quotes,
            slots,
        };
        tracker.burst_for(packets, &mut watch, |ended| books.end(ended, tier1, asker.as_mut(), waits));
        let unsettled = std::mem::take(&mut self.unsettled);
        let mut told = Told { tags, waits };
        for sight in &unsettled {
            self.unsettled(&packets[sight.at - first], sight, &mut told);
        }
        self.unsettled = unsettled;
        self.unsettled.clear();
        for (at, key) in self.quotes.drain(..) {
            told.tags[at].related = self.tracker.find(&key);
        }
        if self.outcomes.is_some() {
            self.tell_outcomes(&mut told.tags[first..]);
        }
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
                tag.protocol = outcome.protocol.number();
                tag.master = outcome.master.number();
                tag.packets = outcome.packets;
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

    /// The time of the last packet whose flow was looked at.
    pub(crate) fn now_ns(&self) -> u64 {
        self.tracker.now_ns()
    }

    /// Ends flows that have timed out, so long after the last packet. As [`Tracker::rest`]; of captures, whose packets alone tell the time, nothing ends.
    pub fn rest(&mut self, quiet_ns: u64) {
        if self.waits {
            return;
        }
        let Spy { tracker, tier1, asker, books, .. } = self;
        tracker.rest(quiet_ns, |ended| books.end(ended, tier1, asker.as_mut(), false));
        self.books.hand_over();
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

/// What is known of a packet that belongs to no flow. One of IP is like the first of a flow of which nothing is known: a firewall must not let
/// pieces of what it does not see whole pass by its rules (RFC 1858).
fn without_flow(why: NoFlow) -> Tag {
    let is_ip = !matches!(why, NoFlow::Arp | NoFlow::NotIp | NoFlow::Link);
    Tag { packets: is_ip.into(), ..Tag::default() }
}

/// What is known of a flow, and nothing of a packet.
#[inline(always)]
fn tag(look: &Look, names: &[u32]) -> Tag {
    Tag {
        protocol: look.protocol(),
        master: look.master(),
        packets: 0,
        confidence: look.confidence(),
        progress: look.progress(),
        name: look.details().and_then(|place| names.get(place as usize)).copied().unwrap_or(0),
        risks: 0,
        sight: None,
        related: None,
    }
}

#[cfg(test)]
mod tests;
