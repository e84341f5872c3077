//! What is noted of flows, and told of them when they are identified or over.

use super::Identified;
use super::asker::Asker;
use super::look::{Look, State};
use super::store::{Store, Words};
use crate::ledger::{Ledger, LookedAt, Wanted};
use crate::record::{End, Record};
use dpi::tier1::{StateId, Tier1};
use dpi::{By, Details, Verdict};
use flow::{Direction, EndReason, Ended, Key, Stats};
use std::net::SocketAddr;
use std::sync::Arc;
use wire::ip::protocol as ip;

/// What is noted of flows, and told of them.
#[derive(Debug)]
pub(super) struct Books {
    pub(super) store: Store,
    pub(super) words: Words,
    pub(super) ledger: Option<Ledger>,
    /// Where the ledger has it counted what was looked at.
    pub(super) looked_at: Option<Arc<LookedAt>>,
    pub(super) wanted: Wanted,
    pub(super) identified: Vec<Record>,
    pub(super) ended: Vec<Record>,
    pub(super) counts: Identified,
    /// Flows over whose question could not be asked.
    pub(super) unasked: u64,
}

impl Identified {
    pub(super) fn count(&mut self, by: By) {
        match by {
            By::Tier1 => self.tier1 += 1,
            By::Ndpi => self.ndpi += 1,
            By::Nobody => {}
        }
    }
}

impl Books {
    /// Empty books, which are handed over to this ledger.
    pub(super) fn new(ledger: Option<Ledger>) -> Books {
        Books {
            wanted: ledger.as_ref().map(Ledger::wanted).unwrap_or_default(),
            looked_at: ledger.as_ref().map(Ledger::count_for_spy),
            ledger,
            store: Store::default(),
            words: Words::default(),
            identified: Vec::new(),
            ended: Vec::new(),
            counts: Identified::default(),
            unasked: 0,
        }
    }

    /// A flow is over.
    pub(super) fn end(
        &mut self,
        ended: Ended<Look>,
        tier1: &mut Tier1,
        asker: Option<&mut Asker>,
        waits: bool,
    ) {
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
    pub(super) fn apply(&mut self, record: &mut Record, verdict: Option<Verdict>, details: Details) {
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
    pub(super) fn over(&mut self, record: Record) {
        if record.verdict.by == By::Nobody {
            self.counts.nobody += 1;
        }
        if self.wanted.ended {
            self.ended.push(record);
        }
    }

    pub(super) fn record(&self, key: &Key, stats: &Stats, look: &Look, end: End) -> Record {
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

    pub(super) fn hand_over(&mut self) {
        if let Some(ledger) = &self.ledger {
            ledger.add(&mut self.identified, &mut self.ended);
        }
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
