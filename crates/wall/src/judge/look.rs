//! From packets to their flows: which are looked at, and which verdicts are kept with them.
//!
//! Who is let in nowhere takes no place in the table of flows: where the stateless program drops or rejects a packet, its flow is not looked at. Where verdicts are kept
//! with flows, the flow is looked up first, and the program asked about packets for which none is kept; the outcome is the same.

use super::kept::{FlowVerdict, FlowVerdicts};
use super::{Basis, Count, Counts, Evidence, Judge, Scratch, Tag, Verdict, Way};
use crate::policy::{Answer, Mode, NotIp, Policy, Programs};
use crate::rules::Action;
use crate::spy::Owner;
use flow::{Decoded, NoFlow, Packet};
use wire::LinkType;
use wire::ether::ethertype;

/// A packet whose verdict is not kept with its flow.
#[derive(Clone, Copy)]
pub(super) struct PacketToJudge {
    /// The place of its tag.
    pub(super) at: usize,
    /// Its number in the burst.
    pub(super) number: usize,
    /// What the stateless program says.
    pub(super) answer: Answer,
}

/// When the stateless program is asked about the packets of a burst.
enum StatelessAnswers<'a> {
    /// It need not be: it says this of all.
    All(Answer),
    /// It was asked about all: packets whose flows are looked at, by their numbers.
    Before(&'a [(usize, Answer)]),
    /// It is asked where no verdict is kept.
    Later(Stateless<'a>),
}

/// The same, before it is asked.
#[derive(Clone, Copy)]
enum StatelessPlan {
    All(Answer),
    Before,
    Later,
}

/// The stateless program, and what it is given.
struct Stateless<'a> {
    policy: &'a Policy,
    programs: &'a Programs,
    row: &'a [u32],
    values: &'a mut Vec<u32>,
}

impl Stateless<'_> {
    /// An answer for which the flow of a packet is looked at, or a verdict.
    fn answer(&mut self, packet: &Packet<'_>) -> Result<Answer, Verdict> {
        let bytes = (packet.frame, packet.wire_len);
        let answer = self.programs.stateless(bytes, self.row, self.values);
        let verdict = match answer {
            Answer::Open => return Ok(Answer::Open),
            Answer::Rule(rule) => verdict_of_rule(self.policy, rule),
            Answer::None => default_verdict(self.policy),
        };
        let settings = self.policy.settings();
        let goes_on = verdict.action == Action::Accept || settings.mode == Mode::Monitor;
        // The rules are asked about packets with IP, unless they are to be asked about all.
        let is_for_rules = || settings.not_ip == NotIp::Rules || carries_ip(packet);
        if goes_on || !is_for_rules() { Ok(answer) } else { Err(verdict) }
    }
}

/// The packets of a burst, while their flows are looked up.
struct FlowLookup<'a, 'p> {
    packets: &'a [Packet<'p>],
    asked: StatelessAnswers<'a>,
    way: Way,
    /// `None` if evidence is wanted, which needs all that is known of a packet.
    kept: Option<&'a FlowVerdicts>,
    verdicts: &'a mut [Verdict],
    counts: &'a mut Counts,
    left: &'a mut Vec<PacketToJudge>,
    /// The verdict that was kept for the last packets for which one was, and how many these are that `counts` has not.
    ///
    /// PERF: most have the verdict of the packet before. To count each in its rule and in its action takes a nanosecond longer.
    run: (Option<&'a FlowVerdict>, Count),
    /// What the stateless program has said of a packet that was admitted.
    answered: Option<(usize, Answer)>,
    refused: (u64, u64),
}

impl<'a> FlowLookup<'a, '_> {
    /// The verdict that is kept for a packet.
    #[inline(always)]
    fn kept_for(
        &self,
        packet: &Packet<'_>,
        kept: u16,
        seen: Option<(&Decoded, bool)>,
    ) -> Option<&'a FlowVerdict> {
        let (kept, (decoded, counts)) = self.kept?.get(kept).zip(seen)?;
        kept.is_of(packet, self.way, decoded, counts).then_some(kept)
    }
}

impl Owner for FlowLookup<'_, '_> {
    #[inline(always)]
    fn admits(&mut self, at: usize, kept: u16, decoded: Option<&Decoded>) -> bool {
        if !matches!(self.asked, StatelessAnswers::Later(_)) {
            return true;
        }
        let packet = &self.packets[at];
        // Whether the packet counts does not matter to the stateless program.
        if self.kept_for(packet, kept, decoded.map(|decoded| (decoded, true))).is_some() {
            return true;
        }
        let StatelessAnswers::Later(stateless) = &mut self.asked else { return true };
        match stateless.answer(packet) {
            Ok(answer) => {
                self.answered = Some((at, answer));
                true
            }
            Err(verdict) => {
                self.verdicts[at] = verdict;
                self.counts.add(packet, &verdict);
                self.refused = (self.refused.0 + 1, self.refused.1 + u64::from(packet.wire_len));
                false
            }
        }
    }

    #[inline(always)]
    fn knows(&mut self, at: usize, kept: u16, seen: Option<(&Decoded, bool)>) -> bool {
        let (number, answer) = match self.asked {
            StatelessAnswers::All(answer) => (at, Some(answer)),
            StatelessAnswers::Before(asked) => (asked[at].0, Some(asked[at].1)),
            StatelessAnswers::Later(_) => (at, None),
        };
        let packet = &self.packets[number];
        if let Some(kept) = self.kept_for(packet, kept, seen) {
            self.verdicts[number] = kept.verdict;
            if !self.run.0.is_some_and(|last| std::ptr::eq(last, kept)) {
                self.begin_run(Some(kept));
            }
            self.run.1.add(packet);
            return true;
        }
        let answer = answer.unwrap_or_else(|| self.answer_again(at));
        self.left.push(PacketToJudge { at, number, answer });
        false
    }

    fn refused(&self) -> (u64, u64) {
        self.refused
    }
}

impl<'a> FlowLookup<'a, '_> {
    /// Counts the packets of the last verdict. The next ones have this.
    #[inline(never)]
    fn begin_run(&mut self, kept: Option<&'a FlowVerdict>) {
        if let (Some(last), count) = std::mem::replace(&mut self.run, (kept, Count::default())) {
            self.counts.add_all(count, &last.verdict);
        }
    }

    /// What the stateless program says of a packet that was admitted.
    #[inline(never)]
    fn answer_again(&mut self, at: usize) -> Answer {
        match (self.answered, &mut self.asked) {
            (Some((of, answer)), _) if of == at => answer,
            // A packet that is not plain, or the rare one that is in a flow with a verdict and does not count: the program says the same again.
            (_, StatelessAnswers::Later(stateless)) => {
                stateless.answer(&self.packets[at]).unwrap_or(Answer::Open)
            }
            (_, StatelessAnswers::All(_) | StatelessAnswers::Before(_)) => Answer::Open,
        }
    }
}

impl Judge {
    /// Looks at the flows of packets. Those whose verdict is kept with their flow have it then, as have those of which no flow is looked at; the others are in
    /// `scratch.left`, and have tags.
    pub(super) fn look_at_flows(
        &mut self,
        (packets, verdicts): (&[Packet<'_>], &mut [Verdict]),
        way: Way,
        tags: &mut Vec<Tag>,
        scratch: &mut Scratch,
    ) {
        scratch.left.clear();
        let is_wanted = self.wanted_of(packets.len()).is_some();
        let plan = self.plan(packets, is_wanted);
        let mut refused = 0;
        match plan {
            StatelessPlan::All(_) => {}
            StatelessPlan::Before => refused = self.ask_before((packets, &mut *verdicts), way, scratch),
            StatelessPlan::Later => self.fill_way(way, &mut scratch.row),
        }
        let looked_at = packets.len() - refused;
        // PERF: those of the burst before are written over, which each packet's is; to clear them first takes as long as to write them.
        tags.resize(tags.len().max(looked_at), Tag::default());
        let tags = &mut tags[..looked_at];
        let way = self.kept_way(way);
        let Judge { spy, kept, counts, policy, programs, .. } = self;
        let Scratch { asked, left, row, values, .. } = scratch;
        let kept = (!is_wanted).then_some(&*kept);
        let asked_of = match (plan, programs.first()) {
            (StatelessPlan::All(answer), _) => StatelessAnswers::All(answer),
            (StatelessPlan::Later, Some((_, Some(compiled)))) => {
                StatelessAnswers::Later(Stateless { policy, programs: &compiled.programs, row, values })
            }
            (StatelessPlan::Before | StatelessPlan::Later, _) => StatelessAnswers::Before(asked),
        };
        let mut lookup = FlowLookup {
            packets,
            asked: asked_of,
            way,
            kept,
            verdicts,
            counts,
            left,
            run: (None, Count::default()),
            answered: None,
            refused: (0, 0),
        };
        if looked_at == packets.len() {
            spy.burst_for(packets, tags, &mut lookup);
        } else {
            let asked: Vec<Packet<'_>> = asked.iter().map(|(number, _)| packets[*number]).collect();
            spy.burst_for(&asked, tags, &mut lookup);
        }
        lookup.begin_run(None);
        let refused = refused + lookup.refused.0 as usize;
        counts.kept += (packets.len() - refused - left.len()) as u64;
        counts.stateless += refused as u64;
        self.mostly_refused = 2 * refused > packets.len();
    }

    /// When the stateless program is asked about these packets.
    #[inline]
    fn plan(&mut self, packets: &[Packet<'_>], is_wanted: bool) -> StatelessPlan {
        let Some(linktype) = packets.first().map(|packet| packet.linktype) else {
            return StatelessPlan::Before;
        };
        if packets.iter().any(|packet| packet.linktype != linktype) {
            return StatelessPlan::Before;
        }
        // PERF: a packet that is dropped at once costs less than a look at its flow. In a flood of such the program is asked first.
        let is_flood = self.mostly_refused;
        match self.compiled(linktype) {
            None => StatelessPlan::All(Answer::None),
            Some(compiled) if !compiled.programs.stateless_decides() => StatelessPlan::All(Answer::Open),
            Some(compiled) if compiled.keeps.any() && !is_flood && !is_wanted => StatelessPlan::Later,
            Some(_) => StatelessPlan::Before,
        }
    }

    /// Asks the stateless program about all packets; says how many it drops or rejects.
    fn ask_before(
        &mut self,
        (packets, verdicts): (&[Packet<'_>], &mut [Verdict]),
        way: Way,
        scratch: &mut Scratch,
    ) -> usize {
        scratch.asked.clear();
        for (number, packet) in packets.iter().enumerate() {
            match self.without_flow(packet, way, scratch) {
                Ok(answer) => scratch.asked.push((number, answer)),
                Err(verdict) => {
                    verdicts[number] = verdict;
                    self.counts.add(packet, &verdict);
                    if self.is_wanted(number) {
                        self.fill_way(way, &mut scratch.row);
                        let answers = (Answer::None, verdict);
                        let evidence = Evidence::new(packet, Tag::default(), answers, &scratch.row, None);
                        self.evidence = Some(evidence);
                    }
                }
            }
        }
        packets.len() - scratch.asked.len()
    }

    /// What the stateless program says of a packet: an answer for which its flow is looked at, or a verdict.
    pub(super) fn without_flow(
        &mut self,
        packet: &Packet<'_>,
        way: Way,
        scratch: &mut Scratch,
    ) -> Result<Answer, Verdict> {
        match self.programs(packet.linktype) {
            None => return Ok(Answer::None),
            Some(programs) if !programs.stateless_decides() => return Ok(Answer::Open),
            Some(_) => self.fill_way(way, &mut scratch.row),
        }
        let Judge { policy, programs, .. } = &*self;
        let Some((_, Some(compiled))) = programs.first() else { return Ok(Answer::None) };
        let (row, values) = (&scratch.row, &mut scratch.values);
        Stateless { policy, programs: &compiled.programs, row, values }.answer(packet)
    }
}

pub(super) fn verdict_of_rule(policy: &Policy, rule: u32) -> Verdict {
    let action = policy.rules().get(rule as usize).map_or(Action::Drop, |rule| rule.action);
    Verdict { action, basis: Basis::Rule(rule) }
}

pub(super) fn default_verdict(policy: &Policy) -> Verdict {
    Verdict { action: policy.settings().default, basis: Basis::Default }
}

/// Whether a packet carries IP, whole or not.
fn carries_ip(packet: &Packet<'_>) -> bool {
    let kind = packet.frame.get(12..14).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]));
    if packet.linktype == LinkType::EN10MB && matches!(kind, Some(ethertype::IPV4 | ethertype::IPV6)) {
        return true;
    }
    !matches!(flow::decode(packet.linktype, packet.frame), Err(NoFlow::Arp | NoFlow::NotIp | NoFlow::Link))
}
