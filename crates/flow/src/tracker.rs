//! All together: packets in, their flows out.
//!
//! ```text
//!  burst ─► decode, fragments ─► hash, prefetch ─► find or insert ─► TCP, counts, times ─► Seen
//!                    │                                     │
//!                    └─► NoFlow, counted              Ended: idle, active, closed, evicted ─► the caller
//! ```
//!
//! Time is that of packets, so a capture gives the same flows each time, however fast it is read. It may go back. A packet that comes after its flow
//! has timed out begins a new one, whether a sweep has met the old one or not.

mod flow;

pub use flow::{EndReason, Ended, Flow, Stats, Timeouts};

use crate::decode::{Decoded, NoFlow, Part, decode_other, is_syn, plain};
use crate::fragments::{DATAGRAMS, Fragments};
use crate::key::{Key, Secret};
use crate::table::{Slot, Table, TableError};
use crate::tcp::Observed;
use flow::{Counted, Limits, is_reopened};
use wire::LinkType;

const SECOND: u64 = 1_000_000_000;
/// Packets whose memory is asked for together.
const BATCH: usize = 8;
/// Packets of three batches are under way, a power of two.
const UNDER_WAY: usize = 4 * BATCH;
/// All buckets are swept once in this time, if packets come fast enough.
const SWEEP_NS: u64 = 4 * SECOND;
/// Buckets swept for each packet at most.
const SWEEP_PER_PACKET: usize = 2;
/// Buckets swept at most when few packets come: some 10 us.
const SWEEP_AT_REST: usize = 1024;

/// A packet to look at.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// Its captured bytes.
    pub frame: &'a [u8],
    /// What they begin with.
    pub linktype: LinkType,
    /// When it was captured.
    pub time_ns: u64,
    /// Its length on the wire, which is what flows count.
    pub wire_len: u32,
}

/// What becomes of TCP connections that were not seen from their SYN on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Midstream {
    /// They are flows, and count as established.
    #[default]
    Established,
    /// They are none.
    Ignored,
}

/// What a tracker is made by.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Flows at most, 1 to [`CAPACITY_MAX`](crate::table::CAPACITY_MAX).
    pub capacity: usize,
    /// Datagrams at most of which later fragments are followed.
    pub datagrams: usize,
    /// When flows end.
    pub timeouts: Timeouts,
    /// What becomes of connections without SYN.
    pub midstream: Midstream,
    /// Whether a TCP reset counts only if its checksum is right. In captures of the sender's own machine it mostly is not yet.
    pub checks_resets: bool,
    /// What keys are hashed under.
    pub secret: Secret,
}

/// A quarter of a million flows, a random secret.
impl Default for Settings {
    fn default() -> Settings {
        Settings {
            capacity: 1 << 18,
            datagrams: DATAGRAMS,
            timeouts: Timeouts::default(),
            midstream: Midstream::default(),
            checks_resets: false,
            secret: Secret::random(),
        }
    }
}

/// A packet of a flow, as soon as it is counted.
#[derive(Debug)]
pub struct Seen<'a, V> {
    /// The slot of its flow. A later packet of the burst may take it, of which the generation tells.
    pub slot: Slot,
    /// Whether it is the first packet of its flow.
    pub is_new: bool,
    /// Whether its flow began with it, and no further one fits beside that.
    pub is_full: bool,
    /// Of a segment of TCP, whether it counts: it lies within the window, and its checksum is right, as far as that is checked; or it [passes](Observed::Passes). What does
    /// not count changes nothing of the connection, nor when it times out.
    pub counts: bool,
    /// Where its flow began with the answer to a SYN: the slot of the flow that had the SYN, an open connection between the same ports, which is gone.
    pub reopens: Option<Slot>,
    /// Packets that the flow has had, this one included, as far as the number reaches.
    pub packets: u32,
    /// What it says.
    pub decoded: &'a Decoded,
    /// Its flow.
    pub flow: &'a mut Flow<V>,
}

/// Who is handed the packets of a burst, by their numbers in it.
pub trait Watcher<V> {
    /// Whether a packet is looked at. One that is not belongs to no flow and is not counted. It is asked once for each packet, before anything is changed. `flow` is what
    /// the owner has stored of the flow that goes on with this packet; `None` where the packet begins one, and where its flow is not looked up yet: of fragments, for
    /// which that changes something, and of all else that is not TCP or UDP over IPv4 without options and Ethernet without tags.
    #[inline(always)]
    fn admits(&mut self, _number: usize, _flow: Option<(&V, &Decoded)>) -> bool {
        true
    }

    /// A packet belongs to a flow.
    fn seen(&mut self, number: usize, seen: Seen<'_, V>);

    /// A packet belongs to none.
    fn without_flow(&mut self, number: usize, why: NoFlow);
}

/// A closure that is handed all packets.
struct ClosureWatcher<F>(F);

impl<V, F: FnMut(usize, Result<Seen<'_, V>, NoFlow>)> Watcher<V> for ClosureWatcher<F> {
    #[inline(always)]
    fn seen(&mut self, number: usize, seen: Seen<'_, V>) {
        (self.0)(number, Ok(seen));
    }

    #[inline(always)]
    fn without_flow(&mut self, number: usize, why: NoFlow) {
        (self.0)(number, Err(why));
    }
}

/// What is known of a packet before its flow is looked up.
#[derive(Clone, Copy)]
enum DecodeOutcome {
    /// It is not looked at.
    Refused,
    Without(NoFlow),
    /// The watcher has not been asked yet.
    Plain,
    Other,
}

/// What has become of a packet whose flow was looked up.
enum LookupOutcome {
    /// It goes on in a flow that is there.
    Seen,
    /// It is not looked at.
    Refused,
    /// It begins a flow.
    Begins,
}

/// What a tracker has counted. Each packet is in a flow, or without one for one reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// All packets.
    pub packets: u64,
    /// Those that belong to flows.
    pub in_flows: u64,
    /// Those that do not, by reason, in the order of [`NoFlow::ALL`].
    pub no_flow: [u64; NoFlow::ALL.len()],
    /// Flows that began.
    pub created: u64,
    /// Flows that ended, by reason, in the order of [`EndReason`].
    pub ended: [u64; 5],
}

impl Counters {
    /// Packets without a flow, for this reason.
    #[must_use]
    pub fn without_flow(&self, why: NoFlow) -> u64 {
        self.no_flow[why as usize]
    }

    /// Flows that ended for this reason.
    #[must_use]
    pub fn ended(&self, why: EndReason) -> u64 {
        self.ended[why as usize]
    }
}

/// The flows of packets.
///
/// ```
/// use flow::{Packet, Settings, Tracker};
/// use wire::LinkType;
/// let there = *b"\x45\0\0\x1c\0\0\0\0\x40\x11\0\0\xc0\0\x02\x01\xc0\0\x02\x02\x14\xe9\0\x35\0\x08\0\0";
/// let back = *b"\x45\0\0\x1c\0\0\0\0\x40\x11\0\0\xc0\0\x02\x02\xc0\0\x02\x01\0\x35\x14\xe9\0\x08\0\0";
/// let packet = |frame| Packet { frame, linktype: LinkType::RAW, time_ns: 0, wire_len: 28 };
/// let mut tracker: Tracker<u32> = Tracker::new(&Settings { capacity: 100, ..Settings::default() })?;
/// let mut slots = Vec::new();
/// let count = |_at: usize, seen: Result<flow::Seen<'_, u32>, flow::NoFlow>| {
///     let seen = seen.unwrap();
///     seen.flow.value += 1;
///     slots.push((seen.slot, seen.is_new));
/// };
/// tracker.burst(&[packet(&there), packet(&back)], count, |_ended| {});
/// assert_eq!((slots[0].0, slots[0].1, slots[1].1), (slots[1].0, true, false));
/// tracker.finish(|ended| assert_eq!((ended.value, ended.stats.bytes), (2, [28, 28])));
/// # Ok::<(), flow::table::TableError>(())
/// ```
#[derive(Debug)]
pub struct Tracker<V> {
    table: Table<Flow<V>>,
    /// What packets under way say.
    decoded: Vec<Decoded>,
    fragments: Fragments,
    limits: Limits,
    midstream: Midstream,
    checks_resets: bool,
    now_ns: u64,
    swept_ns: u64,
    counters: Counters,
}

impl<V: Default> Tracker<V> {
    /// A tracker. All its memory is reserved here.
    ///
    /// # Errors
    ///
    /// As those of [`Table::new`].
    pub fn new(settings: &Settings) -> Result<Tracker<V>, TableError> {
        Ok(Tracker {
            table: Table::new(settings.capacity, settings.secret.clone())?,
            decoded: vec![Decoded::NONE; UNDER_WAY],
            fragments: Fragments::new(settings.datagrams),
            limits: Limits::new(&settings.timeouts),
            midstream: settings.midstream,
            checks_resets: settings.checks_resets,
            now_ns: 0,
            // The first packet says when the first sweep begins.
            swept_ns: u64::MAX,
            counters: Counters::default(),
        })
    }

    /// The table of flows.
    #[must_use]
    pub fn table(&self) -> &Table<Flow<V>> {
        &self.table
    }

    /// Bytes of memory for flows, which stay the same.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.table.bytes()
    }

    /// As [`Table::populate`].
    pub fn populate(&mut self) {
        self.table.populate();
    }

    /// What was counted.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// A flow, if it is still there.
    #[inline]
    #[must_use]
    pub fn flow(&self, slot: Slot) -> Option<&Flow<V>> {
        self.table.get(slot)
    }

    /// What its owner has stored of a flow, if it is still there.
    #[inline]
    #[must_use]
    pub fn value_mut(&mut self, slot: Slot) -> Option<&mut V> {
        self.table.get_mut(slot).map(|flow| &mut flow.value)
    }

    /// The flow of a key, such as that which an error of ICMP quotes.
    #[must_use]
    pub fn find(&self, key: &Key) -> Option<Slot> {
        self.table.find(key, self.table.hash(key))
    }

    /// All flows that are there, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (Slot, Key, &Flow<V>)> {
        self.table.iter()
    }

    /// Looks at packets, in order. What became of each is handed to `seen`, with its number in the burst: the flow that it belongs to, or why it has none. Flows
    /// that end are handed to `ended`.
    ///
    /// PERF: what is to be done with a flow for each packet is done while the flow is at hand. To look its slot up once more cost 8 ns.
    #[inline]
    pub fn burst(
        &mut self,
        packets: &[Packet<'_>],
        seen: impl FnMut(usize, Result<Seen<'_, V>, NoFlow>),
        ended: impl FnMut(Ended<V>),
    ) {
        self.burst_for(packets, &mut ClosureWatcher(seen), ended);
    }

    /// The same, with a [`Watcher`] in the place of the closure.
    #[inline]
    pub fn burst_for(
        &mut self,
        packets: &[Packet<'_>],
        watcher: &mut impl Watcher<V>,
        mut ended: impl FnMut(Ended<V>),
    ) {
        let mut all_under_way = std::mem::take(&mut self.decoded);
        // PERF: of a length that is known, a place in it is not checked.
        let Some(under_way) = all_under_way.first_chunk_mut::<UNDER_WAY>() else { return };
        let mut hashes = [0; UNDER_WAY];
        let mut begun = [DecodeOutcome::Refused; UNDER_WAY];
        let (mut without, mut refused) = (0, 0);
        let mut last_ns = self.now_ns;
        // PERF: software pipelining over three batches: buckets of one are asked for while entries of the one before are, and those of the one before that have come.
        let batches = packets.len().div_ceil(BATCH);
        let batch =
            |number: usize| (number * BATCH).min(packets.len())..((number + 1) * BATCH).min(packets.len());
        for step in 0..batches + 2 {
            for at in batch(step) {
                let place = at % UNDER_WAY;
                let (hash, decoded) = (&mut hashes[place], &mut under_way[place]);
                begun[place] = self.begin((at, &packets[at]), hash, decoded, watcher);
            }
            for at in step.checked_sub(1).map_or(0..0, batch) {
                self.table.prefetch_entry(hashes[at % UNDER_WAY]);
            }
            for number in step.checked_sub(2).map_or(0..0, batch) {
                let (packet, place) = (&packets[number], number % UNDER_WAY);
                let (hash, decoded) = (hashes[place], &under_way[place]);
                let found = match begun[place] {
                    DecodeOutcome::Plain => self.go_on::<true>((number, packet), hash, decoded, watcher),
                    DecodeOutcome::Other => self.go_on::<false>((number, packet), hash, decoded, watcher),
                    DecodeOutcome::Refused => LookupOutcome::Refused,
                    DecodeOutcome::Without(why) => {
                        self.count_without(number, why, watcher);
                        without += 1;
                        LookupOutcome::Seen
                    }
                };
                match found {
                    LookupOutcome::Seen => {}
                    LookupOutcome::Begins => {
                        without +=
                            u64::from(!self.begin_flow((number, packet), hash, decoded, watcher, &mut ended));
                    }
                    LookupOutcome::Refused => {
                        refused += 1;
                        continue;
                    }
                }
                last_ns = packet.time_ns;
            }
        }
        self.decoded = all_under_way;
        self.now_ns = last_ns;
        let looked_at = packets.len() - refused;
        self.counters.packets += looked_at as u64;
        self.counters.in_flows += looked_at as u64 - without;
        self.sweep(self.now_ns, SWEEP_PER_PACKET * looked_at, &mut ended);
    }

    /// The time of the last packet that was looked at.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Ends flows that have timed out, so long after the last packet that was looked at. [`Tracker::burst`] does this work by itself, a little for each packet; this is
    /// for times in which few come, or none, and is to be called a hundred times a second.
    pub fn rest(&mut self, quiet_ns: u64, mut ended: impl FnMut(Ended<V>)) {
        if !self.table.is_empty() {
            self.sweep(self.now_ns.saturating_add(quiet_ns), SWEEP_AT_REST, &mut ended);
        }
    }

    /// Ends flows that have timed out by this time, of so many buckets of the table, where the last call has stopped.
    pub fn expire(&mut self, now_ns: u64, buckets: usize, mut ended: impl FnMut(Ended<V>)) {
        let (limits, counters) = (&self.limits, &mut self.counters);
        self.table.sweep(
            now_ns,
            limits.least,
            buckets,
            |flow| flow.is_over(limits, now_ns),
            |key, flow, why| {
                counters.ended[why as usize] += 1;
                ended(Ended::new(key, flow, why));
            },
        );
    }

    /// Ends a flow, if it is still there.
    pub fn remove(&mut self, slot: Slot) -> Option<Ended<V>> {
        let (key, flow) = self.table.remove(slot)?;
        self.counters.ended[EndReason::Removed as usize] += 1;
        Some(Ended::new(key, flow, EndReason::Removed))
    }

    /// Ends all flows, in no order: those that have timed out for that reason, the others as removed.
    pub fn finish(&mut self, mut ended: impl FnMut(Ended<V>)) {
        let (limits, counters, now_ns) = (&self.limits, &mut self.counters, self.now_ns);
        self.table.sweep(
            now_ns,
            0,
            self.table.buckets(),
            |flow| Some(flow.is_over(limits, now_ns).unwrap_or(EndReason::Removed)),
            |key, flow, why| {
                counters.ended[why as usize] += 1;
                ended(Ended::new(key, flow, why));
            },
        );
    }

    /// What can be said of a packet by itself and its fragments.
    #[inline(always)]
    fn begin(
        &mut self,
        (number, packet): (usize, &Packet<'_>),
        hash: &mut u64,
        decoded: &mut Decoded,
        watcher: &mut impl Watcher<V>,
    ) -> DecodeOutcome {
        let begun = if plain(packet.linktype, packet.frame, decoded).is_some() {
            *hash = self.table.hash_v4(&decoded.key);
            DecodeOutcome::Plain
        } else if !watcher.admits(number, None) {
            return DecodeOutcome::Refused;
        } else {
            match self.begin_other(packet, decoded) {
                Ok(of_other) => *hash = of_other,
                Err(why) => return DecodeOutcome::Without(why),
            }
            DecodeOutcome::Other
        };
        self.table.prefetch(*hash);
        begun
    }

    /// The same of packets that are not plain; their hash.
    #[inline(never)]
    fn begin_other(&mut self, packet: &Packet<'_>, decoded: &mut Decoded) -> Result<u64, NoFlow> {
        decode_other(packet.linktype, packet.frame, decoded)?;
        if decoded.part != Part::Whole && !self.fragments.follow(decoded, packet.time_ns) {
            return Err(NoFlow::Fragment);
        }
        Ok(self.table.hash(&decoded.key))
    }

    /// Counts a packet of a flow that is there and goes on, and hands it over. The watcher is asked before, if it was not yet.
    #[inline(always)]
    fn go_on<const IS_PLAIN: bool>(
        &mut self,
        (number, packet): (usize, &Packet<'_>),
        hash: u64,
        decoded: &Decoded,
        watcher: &mut impl Watcher<V>,
    ) -> LookupOutcome {
        let mut admits =
            |value: Option<&V>| !IS_PLAIN || watcher.admits(number, value.map(|value| (value, decoded)));
        let begins =
            |is_admitted: bool| if is_admitted { LookupOutcome::Begins } else { LookupOutcome::Refused };
        let place = self.table.place(&decoded.key, hash);
        let Some((slot, age, flow)) = place.and_then(|place| self.table.entry_at(place)) else {
            return begins(admits(None));
        };
        if flow.is_over(&self.limits, packet.time_ns).is_some() || is_reopened(flow, &self.limits, decoded) {
            return begins(admits(None));
        }
        if !admits(Some(&flow.value)) {
            return LookupOutcome::Refused;
        }
        let Counted { packets, has_news, observed } = flow.count(decoded, packet, self.checks_resets);
        if observed == Observed::Counts {
            age.renew(packet.time_ns);
        }
        let is_settled = flow.is_settled();
        let counts = observed != Observed::Invalid;
        // PERF: here the flow is at hand, and it is known that it is not new.
        let seen =
            Seen { slot, is_new: false, is_full: false, counts, reopens: None, packets, decoded, flow };
        watcher.seen(number, seen);
        if has_news {
            self.table.protect(slot, is_settled);
        }
        LookupOutcome::Seen
    }

    /// Begins a flow with a packet, and hands it over; one of the same key is over. Says whether it is in a flow.
    #[inline(never)]
    fn begin_flow(
        &mut self,
        (number, packet): (usize, &Packet<'_>),
        hash: u64,
        decoded: &Decoded,
        watcher: &mut impl Watcher<V>,
        ended: &mut impl FnMut(Ended<V>),
    ) -> bool {
        let mut flow = Flow::new(V::default(), decoded.direction, packet.time_ns);
        let mut reopens = None;
        if let Some(slot) = self.table.find(&decoded.key, hash)
            && let Some((key, before)) = self.table.remove(slot)
        {
            let why = before.is_over(&self.limits, packet.time_ns);
            if why.is_none() && !is_syn(decoded.tcp.flags) {
                // It knows the SYN that this packet answers.
                flow.tcp = before.tcp;
                reopens = Some(slot);
            }
            let why = why.unwrap_or(EndReason::Closed);
            self.counters.ended[why as usize] += 1;
            ended(Ended::new(key, before, why));
        }
        let is_midstream = decoded.is_tcp() && !is_syn(decoded.tcp.flags) && reopens.is_none();
        if self.midstream == Midstream::Ignored && is_midstream {
            self.count_without(number, NoFlow::Midstream, watcher);
            return false;
        }
        let Counted { packets, observed, .. } = flow.count(decoded, packet, self.checks_resets);
        let counts = observed != Observed::Invalid;
        let (slot, evicted) = self.table.insert_new(&decoded.key, hash, packet.time_ns, flow);
        self.counters.created += 1;
        if let Some((key, flow)) = evicted {
            self.counters.ended[EndReason::Evicted as usize] += 1;
            ended(Ended::new(key, flow, EndReason::Evicted));
        }
        let is_full = self.table.len() >= self.table.capacity();
        if let Some(flow) = self.table.get_mut(slot) {
            let seen = Seen { slot, is_new: true, is_full, counts, reopens, packets, decoded, flow };
            watcher.seen(number, seen);
        }
        true
    }

    /// Counts a packet without a flow, and hands it over.
    #[inline(never)]
    fn count_without(&mut self, number: usize, why: NoFlow, watcher: &mut impl Watcher<V>) {
        self.counters.no_flow[why as usize] += 1;
        watcher.without_flow(number, why);
    }

    /// Sweeps as much of the table as is due, so many buckets at most. The others stay due.
    #[inline]
    fn sweep(&mut self, now_ns: u64, buckets_max: usize, ended: &mut impl FnMut(Ended<V>)) {
        let elapsed_ns = now_ns.saturating_sub(self.swept_ns).min(SWEEP_NS);
        let due = (elapsed_ns as usize).wrapping_mul(self.table.buckets()) / SWEEP_NS as usize;
        if due == 0 {
            // Time that has gone back begins anew.
            self.swept_ns = self.swept_ns.min(now_ns);
            return;
        }
        let buckets = due.min(buckets_max);
        let left_ns = (due - buckets) as u64 * SWEEP_NS / self.table.buckets() as u64;
        self.swept_ns = now_ns - left_ns;
        self.expire(now_ns, buckets, ended);
    }
}

#[cfg(test)]
mod tests;
