//! The packets that are followed, and what became of each in a turn.

use super::books::{Books, End};
use super::changes::changes;
use super::{Trace, TraceChange, TraceEvent, TracePacket, TraceStep, TraceTotals};
use crate::drops;
use crate::link::{Input, Output};
use crate::pool::{MAX_PAYLOAD, Packet, Pool};
use crate::worker::Task;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// Follows packets.
#[derive(Debug)]
pub(crate) struct Follower {
    trace: Trace,
    /// The branches that are on their way, by a number that counts up.
    followed: BTreeMap<u64, Followed>,
    by_chunk: HashMap<usize, u64>,
    next_id: u64,
    /// Of packets with branches on their way: how many these are, and how many there have been.
    open: HashMap<u64, Branches>,
    /// Whether every packet that has entered the graph is followed.
    follows_all: bool,
    /// What is to be told of the turn that is judged.
    steps: Vec<TraceStep>,
    totals: TraceTotals,
    is_over: bool,
}

/// A packet, or a branch of it, that is on its way.
#[derive(Debug)]
struct Followed {
    name: Name,
    /// Where its memory is. `None` if it was moved while an app held it.
    chunk: Option<usize>,
    place: Place,
    /// Its bytes when it was seen last.
    data: Vec<u8>,
}

/// The number of a packet, and of a branch of it.
#[derive(Clone, Copy, Debug)]
struct Name {
    packet: u64,
    branch: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Branches {
    on_their_way: u64,
    so_far: u64,
}

/// Where a packet is: with an app, or in a link that leads to one.
#[derive(Clone, Copy, Debug)]
struct Place {
    app: usize,
    input: Option<usize>,
}

/// A turn that is over.
pub(super) struct Turn<'a> {
    pub(super) app: usize,
    /// The followed packets that came, and by which input.
    pub(super) arrivals: &'a [Arrival],
    /// Whether packets enter the graph in it.
    pub(super) is_source: bool,
    pub(super) before: Books,
    /// Packets that its outputs refused, of those that enter.
    pub(super) refused: Vec<TracePacket<'static>>,
}

/// A followed packet that an app is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    id: u64,
    input: usize,
    /// How many packets of that input are before it.
    pub(super) before: u32,
}

impl Arrival {
    pub(super) fn input(&self) -> usize {
        self.input
    }
}

/// A packet that has left an app and is in a link now.
struct Leaver<'a> {
    output: usize,
    to: Place,
    packet: &'a Packet,
}

impl Follower {
    pub(crate) fn new(trace: Trace) -> Self {
        Follower {
            trace,
            followed: BTreeMap::new(),
            by_chunk: HashMap::new(),
            next_id: 0,
            open: HashMap::new(),
            follows_all: true,
            steps: Vec::new(),
            totals: TraceTotals::default(),
            is_over: false,
        }
    }

    /// Whether all is known that is to be known.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether packets that enter are looked at.
    pub(super) fn is_looking(&self) -> bool {
        !self.is_over && self.totals.packets < self.trace.packets
    }

    /// Whether a followed packet is with an app, or waits for it.
    pub(super) fn concerns(&self, app: usize) -> bool {
        self.followed.values().any(|followed| followed.place.app == app)
    }

    /// Whether an app holds a followed packet.
    pub(super) fn is_held_by(&self, app: usize) -> bool {
        self.followed.values().any(|followed| followed.place.app == app && followed.place.input.is_none())
    }

    /// The followed ones of packets that wait at an input.
    pub(super) fn arrivals(&self, input: usize, packets: &[Packet]) -> Vec<Arrival> {
        let arrival = |(before, packet): (u32, &Packet)| {
            self.by_chunk.get(&packet.chunk()).map(|&id| Arrival { id, input, before })
        };
        (0..).zip(packets).filter_map(arrival).collect()
    }

    /// Whether a packet is followed.
    pub(super) fn follows(&self, packet: &Packet) -> bool {
        self.by_chunk.contains_key(&packet.chunk())
    }

    /// Whether a packet that enters is to be followed.
    pub(super) fn wants(&mut self, packet: &TracePacket<'_>) -> bool {
        let wants = self.is_looking() && (self.trace.matches)(packet);
        self.follows_all &= wants;
        wants
    }

    /// Finds out what became of the followed packets that an app had in a turn, and of those that it has sent.
    pub(super) fn judge(&mut self, turn: Turn<'_>, tasks: &[Task], pool: &Pool) {
        let task = &tasks[turn.app];
        let mut ends = turn.before.ends_since(task);
        let leavers = leavers(turn.app, &turn.before.sent_since(task), tasks);
        let arrived: HashMap<u64, usize> = turn.arrivals.iter().map(|one| (one.id, one.input)).collect();
        let first = turn.arrivals.first().map(|one| {
            let Followed { name, data, .. } = &self.followed[&one.id];
            (*name, data.clone(), Some(task.input_names[one.input].clone()))
        });
        let is_here = |(id, followed): (&u64, &Followed)| {
            let is_held = followed.place.app == turn.app && followed.place.input.is_none();
            (is_held || arrived.contains_key(id)).then_some(*id)
        };
        // Those that came in the turn last: the others have been here for longer.
        let (came, mut here): (Vec<u64>, Vec<u64>) =
            self.followed.iter().filter_map(is_here).partition(|id| arrived.contains_key(id));
        here.extend(&came);
        let sent: HashSet<u64> =
            leavers.iter().filter_map(|leaver| self.by_chunk.get(&leaver.packet.chunk()).copied()).collect();
        here.retain(|id| !sent.contains(id));
        let chunks = here.iter().filter_map(|id| self.followed[id].chunk).collect();
        let free = pool.free_among(&chunks);
        let is_free = |chunk: Option<usize>| chunk.is_some_and(|chunk| free.contains(&chunk));
        let (mut gone, kept): (Vec<u64>, Vec<u64>) =
            here.iter().partition(|id| is_free(self.followed[id].chunk));

        // Packets whose memory is free and of which no counter tells have been moved to large memory.
        let is_alone =
            self.follows_all && self.is_looking() || turn.before.held == here.len() + sent.len() - came.len();
        let without_end = gone.len().saturating_sub(ends.len());
        let mut moved: Vec<u64> = gone.drain(..without_end).collect();
        moved.splice(0..0, kept.iter().copied().filter(|id| self.followed[id].chunk.is_none()));
        moved.iter().for_each(|id| self.moved(*id));

        for leaver in &leavers {
            let input = |id| arrived.get(&id).map(|&input| task.input_names[input].clone());
            let output = Some(task.output_names[leaver.output].clone());
            if let Some(&id) = self.by_chunk.get(&leaver.packet.chunk()) {
                let changed = self.sent_on(id, leaver);
                let name = self.followed[&id].name;
                self.step(task, name, TraceEvent::Sent, (input(id), output), changed, pool);
            } else if leaver.packet.max_len() > MAX_PAYLOAD && !moved.is_empty() {
                let id = moved.remove(0);
                let changed = self.sent_on(id, leaver);
                let name = self.followed[&id].name;
                self.step(task, name, TraceEvent::Sent, (input(id), output), changed, pool);
            } else if let Some((parent, before, input)) = &first {
                let name = self.branch_of(*parent);
                self.follow(name, leaver);
                let changed = changes(before, leaver.packet.data());
                self.step(task, name, TraceEvent::Copied, (input.clone(), output), changed, pool);
                self.last_step(|step| step.parent = Some(parent.branch));
            } else if turn.is_source {
                let packet = TracePacket::of(leaver.packet);
                if self.wants(&packet) {
                    let name = self.enter();
                    self.follow(name, leaver);
                    self.step(task, name, TraceEvent::Sent, (None, output), Vec::new(), pool);
                    self.last_step(|step| step.entered = Some(packet.into_owned()));
                }
            } else {
                self.follows_all = false;
            }
        }

        // The packet of the turn first: what else has ended has been there for longer, and waits.
        for id in gone.into_iter().rev() {
            let input = arrived.get(&id).map(|&input| task.input_names[input].clone());
            let end = ends.remove(0);
            self.ended(task, id, input, &end, pool);
        }
        // Of one that was moved only a counter tells that it has ended, if no other packet can have.
        let knows_all = self.follows_all && self.is_looking();
        let is_of_held = turn.is_source || knows_all || task.held() < turn.before.held;
        if turn.arrivals.is_empty() && is_of_held {
            let is_known = |end: &End| turn.refused.is_empty() || end.output.is_none();
            while let (Some(&id), Some(at)) = (moved.first(), ends.iter().position(is_known)) {
                moved.remove(0);
                let end = ends.remove(at);
                self.ended(task, id, None, &end, pool);
            }
        }
        for id in kept.into_iter().chain(moved).filter(|id| arrived.contains_key(id)) {
            let input = Some(task.input_names[arrived[&id]].clone());
            // It has ended, and its memory is in use for another packet that the app keeps.
            let is_reused = !ends.is_empty() && task.held() <= turn.before.held;
            if is_reused {
                let end = ends.remove(0);
                self.ended(task, id, input, &end, pool);
            } else {
                let name = self.held(id, turn.app);
                self.step(task, name, TraceEvent::Held, (input, None), Vec::new(), pool);
            }
        }
        if let Some((parent, _, input)) = first.filter(|_| is_alone) {
            for end in ends {
                let name = self.branch_of(parent);
                self.died(task, name, input.clone(), &end, pool);
                self.last_step(|step| step.parent = Some(parent.branch));
            }
        } else if turn.is_source {
            let refused = |end: &End| end.output.is_some();
            for (packet, end) in turn.refused.into_iter().zip(ends.iter().filter(|end| refused(end))) {
                if !self.is_looking() {
                    break;
                }
                let name = self.enter();
                self.died(task, name, None, end, pool);
                self.last_step(|step| step.entered = Some(packet));
            }
        }
        self.tell();
    }

    /// Packets that an app held when it failed outside of a turn, as it was asked something.
    pub(super) fn judge_failed(&mut self, tasks: &[Task], pool: &Pool) {
        let is_lost =
            |followed: &Followed| followed.place.input.is_none() && tasks[followed.place.app].is_down();
        let lost = self.followed.iter().filter(|(_, followed)| is_lost(followed));
        let lost: Vec<(u64, usize)> = lost.map(|(&id, followed)| (id, followed.place.app)).collect();
        let end = End { reason: drops::PANIC.to_owned(), is_delivered: false, output: None };
        lost.iter().for_each(|&(id, app)| self.ended(&tasks[app], id, None, &end, pool));
        self.tell();
    }

    /// Tells of packets that are still on their way where they are. Returns what became of all.
    pub(super) fn end(mut self, tasks: &[Task], pool: &Pool) -> TraceTotals {
        self.totals.held = self.followed.len() as u64;
        for followed in std::mem::take(&mut self.followed).into_values() {
            let task = &tasks[followed.place.app];
            let input = followed.place.input.map(|input| task.input_names[input].clone());
            self.step(task, followed.name, TraceEvent::Held, (input, None), Vec::new(), pool);
            self.close(followed.name);
        }
        self.tell();
        self.totals
    }

    /// A packet enters the graph.
    fn enter(&mut self) -> Name {
        self.totals.packets += 1;
        let packet = self.totals.packets;
        self.open.insert(packet, Branches { on_their_way: 1, so_far: 1 });
        Name { packet, branch: 1 }
    }

    /// Says more of the last step.
    fn last_step(&mut self, say: impl FnOnce(&mut TraceStep)) {
        if let Some(step) = self.steps.last_mut() {
            say(step);
        }
    }

    /// Another packet was made of one that came in this turn.
    fn branch_of(&mut self, Name { packet, .. }: Name) -> Name {
        let branches = self.open.entry(packet).or_default();
        branches.on_their_way += 1;
        branches.so_far += 1;
        self.totals.copies += 1;
        Name { packet, branch: branches.so_far }
    }

    fn follow(&mut self, name: Name, leaver: &Leaver<'_>) {
        let (id, chunk) = (self.next_id, leaver.packet.chunk());
        self.next_id += 1;
        let data = leaver.packet.data().to_vec();
        self.followed.insert(id, Followed { name, chunk: Some(chunk), place: leaver.to, data });
        self.by_chunk.insert(chunk, id);
    }

    /// A followed packet is in a link now. Returns what has changed in it.
    fn sent_on(&mut self, id: u64, leaver: &Leaver<'_>) -> Vec<TraceChange> {
        let Some(followed) = self.followed.get_mut(&id) else { return Vec::new() };
        let chunk = leaver.packet.chunk();
        (followed.place, followed.chunk) = (leaver.to, Some(chunk));
        self.by_chunk.insert(chunk, id);
        let before = std::mem::replace(&mut followed.data, leaver.packet.data().to_vec());
        changes(&before, &followed.data)
    }

    /// A packet's memory is free, but it has not ended.
    fn moved(&mut self, id: u64) {
        if let Some(chunk) = self.followed.get_mut(&id).and_then(|followed| followed.chunk.take()) {
            self.by_chunk.remove(&chunk);
        }
    }

    fn held(&mut self, id: u64, app: usize) -> Name {
        let followed = self.followed.get_mut(&id).expect("it was found among them");
        followed.place = Place { app, input: None };
        followed.name
    }

    fn ended(&mut self, task: &Task, id: u64, input: Option<String>, end: &End, pool: &Pool) {
        let Some(followed) = self.followed.remove(&id) else { return };
        if let Some(chunk) = followed.chunk {
            self.by_chunk.remove(&chunk);
        }
        self.died(task, followed.name, input, end, pool);
    }

    /// A packet has ended.
    fn died(&mut self, task: &Task, name: Name, input: Option<String>, end: &End, pool: &Pool) {
        let output = end.output.map(|output| task.output_names[output].clone());
        let event = if end.is_delivered { TraceEvent::Delivered } else { TraceEvent::Dropped };
        self.step(task, name, event, (input, output), Vec::new(), pool);
        self.last_step(|step| step.reason = Some(end.reason.clone()));
        let TraceTotals { delivered, dropped, .. } = &mut self.totals;
        let totals = if end.is_delivered { delivered } else { dropped };
        *totals.entry(end.reason.clone()).or_default() += 1;
        self.close(name);
    }

    fn close(&mut self, name: Name) {
        if let Some(branches) = self.open.get_mut(&name.packet) {
            branches.on_their_way -= 1;
        }
    }

    fn step(
        &mut self,
        task: &Task,
        name: Name,
        event: TraceEvent,
        (input, output): (Option<String>, Option<String>),
        changed: Vec<TraceChange>,
        pool: &Pool,
    ) {
        self.steps.push(TraceStep {
            packet: name.packet,
            branch: name.branch,
            app: task.name().to_owned(),
            input,
            output,
            event,
            reason: None,
            changed,
            time_ns: pool.timestamp_ns(),
            entered: None,
            is_last: false,
            parent: None,
        });
    }

    /// Tells the steps of a turn.
    fn tell(&mut self) {
        let mut steps = std::mem::take(&mut self.steps);
        let mut is_closed = HashSet::new();
        for step in steps.iter_mut().rev() {
            let branches = self.open.get(&step.packet).copied().unwrap_or_default();
            step.is_last = branches.on_their_way == 0 && is_closed.insert(step.packet);
        }
        for packet in is_closed {
            self.open.remove(&packet);
        }
        for step in &steps {
            self.is_over = self.is_over || !(self.trace.tell)(step);
        }
        self.is_over |= self.totals.packets >= self.trace.packets && self.open.is_empty();
    }
}

impl<'a> TracePacket<'a> {
    pub(super) fn of(packet: &'a Packet) -> Self {
        let linktype = packet.metadata().linktype;
        TracePacket { data: Cow::Borrowed(packet.data()), wire_len: packet.wire_len(), linktype }
    }

    pub(super) fn into_owned(self) -> TracePacket<'static> {
        TracePacket { data: Cow::Owned(self.data.into_owned()), ..self }
    }
}

/// The packets that an app has sent in its turn, by how many these are at each output.
fn leavers<'a>(app: usize, sent: &[u64], tasks: &'a [Task]) -> Vec<Leaver<'a>> {
    let outputs = tasks[app].plugs.outputs.iter().zip(sent).enumerate();
    let with_any = outputs.filter(|(_, (_, count))| **count > 0);
    let leavers = |(output, (end, &count)): (usize, (&Output, &u64))| {
        let (to, input) = receiver(end, tasks)?;
        Some(input.newest(count).map(move |packet| Leaver { output, to, packet }))
    };
    with_any.filter_map(leavers).flatten().collect()
}

/// Where the packets of an output come.
fn receiver<'a>(output: &Output, tasks: &'a [Task]) -> Option<(Place, &'a Input)> {
    let inputs = tasks.iter().enumerate().flat_map(|(app, task)| {
        let place = move |input| Place { app, input: Some(input) };
        task.plugs.inputs.iter().enumerate().map(move |(index, input)| (place(index), input))
    });
    inputs.into_iter().find(|(_, input)| Arc::ptr_eq(input.ring(), output.ring()))
}
