//! `l7_wall`: a firewall between two sides, by a policy.
//!
//! | inputs | `south`, `north` |
//! |---|---|
//! | outputs | `north`: what came from `south` and is accepted; `south`: what came from `north`; both: resets and ICMP errors for the ends of rejected flows; `drop`: what is dropped or rejected, which ends in the wall where that is not linked |
//! | `policy` | the file of the policy; sets and captures in it are named from its folder |
//! | `south_name`, `north_name` | what `in` and `out` of rules call the two sides; `south` and `north` unless set |
//! | `accepted` | counts what goes on |
//! | `rejected`, `dropped` | drops: what the policy says, where `drop` is not linked |
//! | `monitored` | counts packets that go on in monitor mode, and would not |
//! | `undecided` | counts packets that were judged before it was known what their flows speak |
//! | `held` | counts packets that waited until it was known, or until they had waited long enough, which `held_too_long` counts |
//! | `holding` | packets that wait |
//! | `held_at_end` | drops: packets that waited when the wall ended |
//! | `faults` | drops that `[fail]` says, where `drop` is not linked |
//! | `not_ip` | counts packets that carry no IP |
//! | `replies` | counts packets that tell the ends of a rejected flow |
//! | `replies_limited`, `replies_no_packet` | count those that the limit, or an exhausted pool, kept back |
//! | `unanswered` | counts rejected packets of which nobody may be told |
//! | `events_lost` | counts events that nobody took in time, or that were too many |
//! | `generation` | the policy, by its number: 1 for the first |
//! | `flows_now`, `flows_created`, `flows_evicted` | flows that are there; that began; that made room for others |
//! | `announced`, `announcements_refused` | connections that FTP or SIP have announced and that have not come; counts announcements that do not count |
//! | `identified_own`, `identified_ndpi` | count flows by who has identified them |
//! | `names_lost` | counts flows with names that there was no room for: rules know them until the policy is another, records do not |
//! | `ndpi_restarts` | counts how often nDPI was started again after it had crashed or hung |
//! | `ndpi_unstarted` | counts how often that was tried in vain: the process that starts it was gone, and a wall that is confined starts none |
//!
//! Both directions go through one table of flows. What the policy may say, and what it means: [`policy`](crate::policy), [`judge`](crate::judge).
//!
//! ```toml
//! links = ["lan.output -> wall.south", "wall.north -> wan.input", "wan.output -> wall.north", "wall.south -> lan.input"]
//!
//! [app.wall]
//! type = "l7_wall"
//! policy = "policy.toml"
//! south_name = "lan"
//! north_name = "wan"
//! ```

mod hold;

use crate::control::{Control, Event};
use crate::judge::{Basis, Judge, Verdict, Way};
use crate::policy::{Identify, Mode, Policy, Undecided};
use crate::reject::Replies;
use crate::rules::Action;
use crate::spy::{Settings, SpyError};
use dpi::worker::Options;
use engine::shm::Counter;
use engine::{
    App, Bucket, Class, Input, Io, Metadata, Notifier, OptionError, Output, Packet, Passage, Pool, Ports,
    Reconfigured, Reporting, Roles, Setup,
};
use flow::EndReason;
use flow::table::Slot;
use hold::{Held, Holding};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wire::LinkType;

/// Options of `l7_wall`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct L7Wall {
    /// The file of the policy.
    pub policy: PathBuf,
    /// What rules call the side of the south.
    #[serde(default)]
    pub south_name: Option<String>,
    /// What rules call the side of the north.
    #[serde(default)]
    pub north_name: Option<String>,
    /// A policy that was read, in place of the file, and where it is told what happens.
    #[serde(skip)]
    pub control: Option<Control>,
}

/// Packets that are judged together.
const BURST: usize = 64;
/// How often nDPI is listened to while no packets come, and flows are ended that have timed out, in nanoseconds.
const LISTEN_EVERY_NS: u64 = 10_000_000;
/// How often counts and events are handed over, in nanoseconds, unless somebody asks: those of thousands of rules are copied.
const TELL_EVERY_NS: u64 = 50_000_000;
/// How often packets that wait are judged again, in nanoseconds; of few flows, at each tick.
const JUDGE_AGAIN_EVERY_NS: u64 = 5_000_000;
const FEW_FLOWS: usize = 256;
/// Flows that are looked at in a tick where somebody asks about some, which takes some 30 us; where no packets come, more are.
const FLOWS_A_TICK: usize = 128;
/// Packets of a flow that wait at most, whatever the policy says.
const HOLD_MAX: usize = 64;

impl L7Wall {
    fn read(&self) -> Result<Arc<Policy>, OptionError> {
        let wrong = |what: String| OptionError::new("policy", format!("{}: {what}", self.policy.display()));
        let text = std::fs::read_to_string(&self.policy).map_err(|error| wrong(error.to_string()))?;
        let folder = self.policy.parent().unwrap_or(Path::new(""));
        Policy::read(&text, folder).map(Arc::new).map_err(|problems| {
            let told: Vec<String> = problems
                .iter()
                .map(|problem| format!("line {}: {}", problem.line(&text), problem.message))
                .collect();
            wrong(told.join("; "))
        })
    }

    fn policy(&self) -> Result<Arc<Policy>, OptionError> {
        self.control.as_ref().map_or_else(|| self.read(), |control| Ok(control.policy()))
    }

    fn names(&self) -> [String; 2] {
        let name = |name: &Option<String>, usual: &str| name.clone().unwrap_or_else(|| usual.to_owned());
        [name(&self.south_name, "south"), name(&self.north_name, "north")]
    }
}

/// A running `l7_wall`.
#[derive(Debug)]
pub struct Running {
    judge: Judge,
    control: Option<Control>,
    names: [String; 2],
    /// Ways from the south and from the north.
    ways: [Way; 2],
    replies: Replies,
    reply_limit: Bucket,
    event_limit: Bucket,
    events: Vec<Event>,
    counters: Counters,
    without_ndpi: Option<String>,
    notifier: Notifier,
    /// Whether it was told that nDPI is gone.
    is_gone_told: bool,
    now_ns: u64,
    /// When flows were looked at last that may have timed out, and when counts were told.
    rested_ns: u64,
    /// The time of the last packet whose flow was looked at, and when that was.
    looked_at: (u64, u64),
    told_ns: u64,
    /// Packets that wait, and when they were judged again last.
    holding: Holding,
    judged_again_ns: u64,
}

#[derive(Debug)]
struct Counters {
    accepted: Counter,
    rejected: Counter,
    dropped: Counter,
    faults: Counter,
    monitored: Counter,
    undecided: Counter,
    held: Counter,
    held_too_long: Counter,
    held_at_end: Counter,
    holding: Counter,
    not_ip: Counter,
    replies: Counter,
    limited: Counter,
    no_packet: Counter,
    unanswered: Counter,
    events_lost: Counter,
    generation: Counter,
    flows_now: Counter,
    flows_created: Counter,
    flows_evicted: Counter,
    announced: Counter,
    announcements_refused: Counter,
    own: Counter,
    ndpi: Counter,
    names_lost: Counter,
    ndpi_restarts: Counter,
    ndpi_unstarted: Counter,
}

impl Counters {
    fn new(setup: &mut Setup<'_>) -> Self {
        Counters {
            accepted: setup.counter("accepted"),
            rejected: setup.rejects("rejected"),
            dropped: setup.rejects("dropped"),
            faults: setup.rejects("faults"),
            monitored: setup.counter("monitored"),
            undecided: setup.counter("undecided"),
            held: setup.counter("held"),
            held_too_long: setup.counter("held_too_long"),
            held_at_end: setup.rejects("held_at_end"),
            holding: setup.gauge("holding"),
            not_ip: setup.counter("not_ip"),
            replies: setup.counter("replies"),
            limited: setup.counter("replies_limited"),
            no_packet: setup.counter("replies_no_packet"),
            unanswered: setup.counter("unanswered"),
            events_lost: setup.counter("events_lost"),
            generation: setup.gauge("generation"),
            flows_now: setup.gauge("flows_now"),
            flows_created: setup.counter("flows_created"),
            flows_evicted: setup.counter("flows_evicted"),
            announced: setup.gauge("announced"),
            announcements_refused: setup.counter("announcements_refused"),
            own: setup.counter("identified_own"),
            ndpi: setup.counter("identified_ndpi"),
            names_lost: setup.counter("names_lost"),
            ndpi_restarts: setup.counter("ndpi_restarts"),
            ndpi_unstarted: setup.counter("ndpi_unstarted"),
        }
    }
}

impl Class for L7Wall {
    const TYPE: &'static str = "l7_wall";
    const INPUTS: Ports = Ports::Named(&["south", "north"]);
    const OUTPUTS: Ports = Ports::Named(&["south", "north", "drop"]);
    const PASSAGE: Passage = Passage::Across;
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        self.policy().map(drop)
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        let policy = self.policy()?;
        let settings = |asks: bool| Settings {
            ndpi: asks.then(|| Options { guess: false, ..Options::default() }),
            ledger: self.control.as_ref().map(Control::ledger),
            ..Settings::default()
        };
        let workers = self.control.as_ref().map_or(1, Control::workers);
        let new = |asks: bool| Judge::of_workers(Arc::clone(&policy), settings(asks), workers);
        let identify = policy.settings().dpi;
        let (judge, without_ndpi) = match (identify, new(identify != Identify::Own)) {
            (_, Ok(judge)) => (judge, None),
            (Identify::Auto, Err(SpyError::Worker(why))) => {
                let judge = new(false).map_err(|error| OptionError::new("policy", error))?;
                let told = format!(
                    "nDPI is not asked: {why}; what our own identification leaves open stays unknown"
                );
                (judge, Some(told))
            }
            (_, Err(error)) => return Err(OptionError::new("policy", error)),
        };
        let mut judge = judge;
        judge.can_hold();
        if let Some(control) = &self.control {
            judge.share_limits(control.limits());
            judge.share_announced(control.announced());
        }
        let mut running = Running {
            judge,
            control: self.control.clone(),
            names: self.names(),
            ways: [Way::default(); 2],
            replies: Replies::default(),
            reply_limit: Bucket::new(0, 0, 0),
            event_limit: Bucket::new(0, 0, 0),
            events: Vec::new(),
            counters: Counters::new(setup),
            without_ndpi,
            notifier: setup.notifier(),
            is_gone_told: false,
            now_ns: setup.now_ns,
            rested_ns: setup.now_ns,
            looked_at: (0, setup.now_ns),
            told_ns: setup.now_ns,
            holding: Holding::default(),
            judged_again_ns: setup.now_ns,
        };
        running.follow_policy();
        Ok(running)
    }

    fn reconfigure(
        &self,
        app: &mut Running,
        _: &L7Wall,
        _: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        let policy = self.policy()?;
        app.names = self.names();
        app.control = self.control.clone();
        app.judge.set_policy(policy);
        app.follow_policy();
        Ok(Reconfigured::Kept)
    }
}

/// Ports, in the order of the class.
const SOUTH: usize = 0;
const NORTH: usize = 1;
const DROP: usize = 2;

impl App for Running {
    fn roles(&self) -> Roles {
        Roles::PUSH.and(Roles::TICK).and(Roles::METADATA).and(Roles::ROOM)
    }

    fn push(&mut self, io: &mut Io<'_>) {
        self.now_ns = io.now_ns;
        self.take_policy();
        self.pass((SOUTH, NORTH), &mut io.inputs[SOUTH], io.outputs, io.pool);
        self.pass((NORTH, SOUTH), &mut io.inputs[NORTH], io.outputs, io.pool);
    }

    fn tick(&mut self, io: &mut Io<'_>) {
        self.take_policy();
        let is_quiet = io.now_ns.saturating_sub(self.now_ns) >= LISTEN_EVERY_NS;
        // Packets that are dropped without a look at flows say nothing of their time.
        let looked_at = self.judge.spy().now_ns();
        if looked_at != self.looked_at.0 {
            self.looked_at = (looked_at, self.now_ns);
        }
        if io.now_ns.saturating_sub(self.rested_ns) >= LISTEN_EVERY_NS {
            self.rested_ns = io.now_ns;
            self.judge.spy_mut().rest(io.now_ns.saturating_sub(self.looked_at.1));
        }
        if is_quiet {
            self.judge.spy_mut().poll();
        }
        if let Some(control) = self.control.as_ref().filter(|control| control.is_asked()) {
            control.look_for_flows(&self.judge, if is_quiet { 8 * FLOWS_A_TICK } else { FLOWS_A_TICK });
        }
        let is_due = io.now_ns.saturating_sub(self.judged_again_ns) >= JUDGE_AGAIN_EVERY_NS;
        if self.holding.packets() > 0 && (is_due || self.holding.flows() <= FEW_FLOWS) {
            self.judged_again_ns = io.now_ns;
            self.judge_again(io.now_ns, io.outputs, io.pool);
        }
        let is_wanted = self.control.as_ref().is_some_and(Control::wants_counts);
        if is_wanted || io.now_ns.saturating_sub(self.told_ns) >= TELL_EVERY_NS {
            self.told_ns = io.now_ns;
            self.tell();
        }
    }

    fn held(&self) -> usize {
        self.holding.packets()
    }

    fn stop(&mut self, io: &mut Io<'_>) {
        // Nobody takes what is sent now.
        for (slot, _) in self.holding.by_age(0, 0) {
            let packets = self.holding.take(slot).into_iter().flat_map(|queue| queue.packets);
            packets.for_each(|held| io.pool.free(held.packet, &self.counters.held_at_end));
        }
        self.counters.holding.set(0);
        self.judge.spy_mut().finish();
        self.tell();
    }

    fn reporting(&self) -> Option<&dyn Reporting> {
        Some(self)
    }
}

impl Reporting for Running {
    fn report(&self) -> Option<String> {
        self.without_ndpi.clone()
    }
}

impl Running {
    /// Takes another policy, if there is one.
    #[inline]
    fn take_policy(&mut self) {
        if let Some(prepared) = self.control.as_ref().and_then(Control::take_prepared) {
            self.judge.set_prepared(prepared);
            self.follow_policy();
            self.tell();
        }
    }

    /// Sets what follows from the policy.
    fn follow_policy(&mut self) {
        let [south, north] = &self.names;
        self.ways = [self.judge.way(Some(south), Some(north)), self.judge.way(Some(north), Some(south))];
        let (policy, generation) = self.judge.policy();
        let settings = policy.settings();
        let workers = self.control.as_ref().map_or(1, |control| control.workers() as u64);
        let [replies, events] = [settings.rejects.pps, settings.records.pps].map(|pps| pps.div_ceil(workers));
        self.reply_limit = self.reply_limit.changed(replies, replies);
        self.event_limit = self.event_limit.changed(events, events);
        self.counters.generation.set(generation.into());
    }

    /// Tells what was counted, and what has happened.
    fn tell(&mut self) {
        let spy = self.judge.spy();
        let flows = spy.counters();
        self.counters.flows_now.set(spy.flows() as u64);
        self.counters.flows_created.set(flows.created);
        self.counters.flows_evicted.set(flows.ended(EndReason::Evicted));
        let (announced, refused) = self.judge.announced();
        self.counters.announced.set(announced as u64);
        self.counters.announcements_refused.set(refused);
        self.counters.own.set(spy.identified().tier1);
        self.counters.ndpi.set(spy.identified().ndpi);
        self.counters.names_lost.set(spy.names_lost());
        if let Some((worker, _)) = spy.tier2() {
            self.counters.ndpi_restarts.set(worker.respawns);
            self.counters.ndpi_unstarted.set(worker.unstarted);
        }
        match spy.tier2_gone() {
            None => self.is_gone_told = false,
            Some(why) if !self.is_gone_told => {
                self.is_gone_told = true;
                self.notifier.warn(format!(
                    "nDPI's process is gone, and cannot be started again: {why}; of flows that it would identify becomes what `fail.worker_lost` says; to have it back, start the wall again"
                ));
            }
            Some(_) => {}
        }
        if let Some(control) = &self.control {
            control.set_counts(self.judge.counts(), self.judge.policy().0);
            let lost = control.add_events(&mut self.events);
            self.counters.events_lost.add(lost);
        }
    }

    /// Tells who has asked what the verdict of a packet rests on.
    #[cold]
    fn explain(&mut self, question: u64) {
        if let (Some(control), Some(evidence)) = (&self.control, self.judge.take_evidence()) {
            control.explain(question, evidence, self.judge.policy().0);
        }
    }

    /// Judges what comes from one side.
    fn pass(
        &mut self,
        (from, to): (usize, usize),
        input: &mut Input,
        outputs: &mut [Output],
        pool: &mut Pool,
    ) {
        loop {
            // A packet goes on, or leaves a reply on each side.
            let room = [from, to, DROP].map(|port| outputs[port].allowance()).into_iter().min().unwrap_or(0);
            // And so does each that it lets go: all of them at most, and those of one flow for each packet of the burst.
            let room = match self.holding.packets() {
                0 => room,
                waiting => room.saturating_sub(waiting).max(room / (1 + HOLD_MAX)),
            };
            let room = room.min(BURST);
            let Some(burst) = input.burst_of_at_most(room) else { return };
            let mut verdicts = [Verdict::NONE; BURST];
            let mut views = [NOTHING; BURST];
            for (view, packet) in views.iter_mut().zip(burst.iter()) {
                *view = view_of(packet);
            }
            let count = burst.len();
            let asked = self.control.as_ref().and_then(|control| control.asks_about(&views[..count]));
            asked.into_iter().for_each(|(at, _)| self.judge.want_evidence_of_next(at));
            self.judge.burst(&views[..count], self.ways[from], &mut verdicts[..count]);
            if let Some((_, question)) = asked {
                self.explain(question);
            }
            let holding = self.judge.take_holding();
            let mut held = holding.held.into_iter().peekable();
            let mut decided = holding.decided.into_iter().peekable();
            for (number, (packet, verdict)) in burst.into_iter().zip(verdicts).enumerate() {
                if let Some((_, slot)) = decided.next_if(|(at, _)| *at == number) {
                    self.release(slot, false, outputs, pool);
                }
                match held.next_if(|(at, _)| *at == number) {
                    Some((_, tag)) => self.hold(Held { packet, tag, ports: (from, to) }, outputs, pool),
                    None => self.carry_out(packet, verdict, (from, to), outputs, pool),
                }
            }
        }
    }

    /// Has a packet wait. If its flow has as many already, none of them waits on.
    #[cold]
    fn hold(&mut self, held: Held, outputs: &mut [Output], pool: &mut Pool) {
        let Some(sight) = held.tag.sight else {
            return self.judge_last(held, outputs, pool);
        };
        self.counters.held.add(1);
        // Its flow may have given up within the burst, behind which nothing waits.
        if self.judge.has_given_up(sight.slot) && !self.holding.holds(sight.slot) {
            return self.judge_last(held, outputs, pool);
        }
        let packets_max = match self.judge.policy().0.settings().undecided {
            Undecided::Hold(hold) => hold.packets,
            _ => 0,
        };
        if self.holding.has_room(sight.slot, packets_max) {
            self.holding.push(sight.slot, held, self.now_ns);
        } else {
            self.release(sight.slot, true, outputs, pool);
            self.judge_last(held, outputs, pool);
            self.judge.holds_none(sight.slot);
        }
        self.counters.holding.set(self.holding.packets() as u64);
    }

    /// Judges packets that wait again.
    #[cold]
    fn judge_again(&mut self, now_ns: u64, outputs: &mut [Output], pool: &mut Pool) {
        self.judge.spy_mut().poll();
        let longest_ns = match self.judge.policy().0.settings().undecided {
            Undecided::Hold(hold) => hold.time_ns,
            _ => 0,
        };
        for (slot, is_over) in self.holding.by_age(now_ns, longest_ns) {
            // Packets of the next burst have to find room as well.
            if outputs.iter().any(|output| output.allowance() <= BURST) {
                return;
            }
            self.release(slot, is_over, outputs, pool);
        }
    }

    /// Judges the packets of a flow that wait, in their order, as far as it is known what becomes of them; with `is_last`, all.
    #[cold]
    fn release(&mut self, slot: Slot, is_last: bool, outputs: &mut [Output], pool: &mut Pool) {
        let Some(mut queue) = self.holding.take(slot) else { return };
        while let Some(held) = queue.packets.pop_front() {
            let Held { packet, tag, ports } = held;
            match self.judge.again(&view_of(&packet), self.ways[ports.0], &tag, is_last) {
                Some(verdict) => {
                    self.counters.held_too_long.add(u64::from(verdict.basis == Basis::Undecided));
                    self.carry_out(packet, verdict, ports, outputs, pool);
                }
                None => {
                    queue.packets.push_front(Held { packet, tag, ports });
                    break;
                }
            }
        }
        if queue.packets.is_empty() {
            self.judge.holds_none(slot);
        } else {
            self.holding.put_back(slot, queue);
        }
        self.counters.holding.set(self.holding.packets() as u64);
    }

    /// Judges a packet that cannot wait on.
    fn judge_last(&mut self, held: Held, outputs: &mut [Output], pool: &mut Pool) {
        let Held { packet, tag, ports } = held;
        if let Some(verdict) = self.judge.again(&view_of(&packet), self.ways[ports.0], &tag, true) {
            self.counters.held_too_long.add(u64::from(verdict.basis == Basis::Undecided));
            return self.carry_out(packet, verdict, ports, outputs, pool);
        }
        pool.free(packet, &self.counters.dropped);
    }

    #[inline]
    fn carry_out(
        &mut self,
        mut packet: Packet,
        verdict: Verdict,
        (from, to): (usize, usize),
        outputs: &mut [Output],
        pool: &mut Pool,
    ) {
        let (policy, _) = self.judge.policy();
        let is_monitor = policy.settings().mode == Mode::Monitor;
        let rule = match verdict.basis {
            Basis::Rule(rule) => policy.rules().get(rule as usize),
            Basis::Undecided => {
                self.counters.undecided.add(1);
                None
            }
            Basis::NotIp => {
                self.counters.not_ip.add(1);
                None
            }
            _ => None,
        };
        let mark = rule.and_then(|rule| rule.mark);
        if verdict.action != Action::Accept || rule.is_some_and(|rule| rule.log) {
            self.note(&packet, verdict);
        }
        if verdict.action == Action::Accept || is_monitor {
            if let Some(mark) = mark {
                packet.metadata_mut().mark = mark;
            }
            if verdict.action != Action::Accept {
                self.counters.monitored.add(1);
            }
            self.counters.accepted.add(1);
            return outputs[to].put(packet);
        }
        if !matches!(verdict.basis, Basis::Fault(_)) && verdict.action == Action::Reject {
            self.answer(&packet, (from, to), outputs, pool);
        }
        let counter = match (verdict.basis, verdict.action) {
            (Basis::Fault(_), _) => &self.counters.faults,
            (_, Action::Drop) => &self.counters.dropped,
            _ => &self.counters.rejected,
        };
        if outputs[DROP].is_linked() { outputs[DROP].put(packet) } else { pool.free(packet, counter) }
    }

    /// Notes what became of a packet, for records.
    #[cold]
    fn note(&mut self, packet: &Packet, verdict: Verdict) {
        if self.control.is_none() {
            return;
        }
        let metadata = packet.metadata();
        self.event_limit.fill(metadata.timestamp_ns);
        if !self.event_limit.has(1) {
            return self.counters.events_lost.add(1);
        }
        self.event_limit.take(1);
        let linktype = LinkType::new(metadata.linktype.into());
        let (policy, generation) = self.judge.policy();
        let flow = self.judge.record_of(linktype, packet.data());
        self.events.push(Event::new(
            (metadata.timestamp_ns, linktype, packet.data()),
            verdict,
            (policy, generation),
            flow,
        ));
    }

    /// Tells the ends of a flow that its packet was rejected.
    #[cold]
    fn answer(
        &mut self,
        packet: &Packet,
        (from, to): (usize, usize),
        outputs: &mut [Output],
        pool: &mut Pool,
    ) {
        let metadata = *packet.metadata();
        let source = self.judge.policy().0.settings().rejects.source;
        if !self.replies.answer(LinkType::new(metadata.linktype.into()), packet.data(), &source) {
            return self.counters.unanswered.add(1);
        }
        self.reply_limit.fill(metadata.timestamp_ns);
        let told = [(self.replies.to_sender(), from), (self.replies.to_receiver(), to)];
        for (reply, port) in told.into_iter().filter_map(|(reply, port)| Some((reply?, port))) {
            if !self.reply_limit.has(1) {
                self.counters.limited.add(1);
                continue;
            }
            let Some(mut reply) = pool.packet(reply) else {
                self.counters.no_packet.add(1);
                continue;
            };
            let of_its_own = Metadata {
                timestamp_ns: metadata.timestamp_ns,
                linktype: metadata.linktype,
                precision: metadata.precision,
                ..Metadata::default()
            };
            pool.describe(&mut reply, of_its_own);
            self.reply_limit.take(1);
            self.counters.replies.add(1);
            outputs[port].put(reply);
        }
    }
}

/// A packet, to be judged.
#[inline]
fn view_of(packet: &Packet) -> flow::Packet<'_> {
    let metadata = packet.metadata();
    flow::Packet {
        frame: packet.data(),
        linktype: LinkType::new(metadata.linktype.into()),
        time_ns: metadata.timestamp_ns,
        wire_len: packet.wire_len(),
    }
}

/// In the place of a packet to look at.
const NOTHING: flow::Packet<'static> =
    flow::Packet { frame: &[], linktype: LinkType::EN10MB, time_ns: 0, wire_len: 0 };

#[cfg(test)]
mod tests;
