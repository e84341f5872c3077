//! `fragmenter`: cuts IP packets that are too long for a link into fragments.
//!
//! | inputs | `input` |
//! |---|---|
//! | outputs | `output` |
//! | `mtu` | bytes of the longest IP packet to send, 68 to 65521 |
//! | `fragmented` | counts packets that were cut |
//! | `fragments` | counts what became of them |
//! | drops `dont_fragment` | counts IPv4 packets that are too long and not to be fragmented, as those of most hosts and tunnels, and of a `synth`, unless told otherwise |
//! | drops `malformed` | counts packets that are too long, with a header that makes no sense, has a wrong checksum or is longer than its packet |
//! | drops `headers` | counts packets whose headers alone leave no room for payload, and IPv6 packets whose headers, that of TCP or the like included, the first fragment would not hold (RFC 7112) |
//! | drops `no_packet` | counts packets that were not cut because the pool was exhausted, and the fragments made so far |
//!
//! IPv4 (RFC 791, 3.2) and IPv6 (RFC 8200, 4.5), behind up to two VLAN tags. Packets that are short enough, or not IP, pass as
//! they are. Fragments come in order. An IPv4 fragment may be cut again, as may an IPv6 one: its parts keep its identification. As a
//! router must not fragment IPv6 packets of others, this app belongs where packets are made, such as behind a tunnel. No ICMP
//! messages are sent. IPv6 asks links for 1280 bytes; where `mtu` is less, packets are cut all the same.

mod cut;
#[cfg(test)]
mod tests;

use crate::shared::whole::note_whole;
use cut::Plan;
use engine::shm::Counter;
use engine::{
    App, Class, Input, Io, MAX_LARGE_PAYLOAD, OptionError, Output, Packet, Pool, PortNames, Reconfigured,
    Roles, Setup,
};
use serde::Deserialize;
use std::hash::{BuildHasher, RandomState};
use wire::ether::Ethernet;

/// Options of `fragmenter`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fragmenter {
    /// Bytes of the longest IP packet to send.
    pub mtu: usize,
}

/// A running `fragmenter`.
#[derive(Debug)]
pub struct Running {
    mtu: usize,
    /// Identification of the next IPv6 packet that is cut. It starts anywhere, so that it is hard to guess (RFC 7739).
    next_id: u32,
    /// Fragments of the packet in hand; empty between turns.
    made: Vec<Packet>,
    /// How the first packet of the link is cut, and its next fragment, if others have been sent. It stays there until the last one is.
    begun: Option<(Plan, usize)>,
    /// Bytes of a packet while its last fragment is made in its place.
    whole: Vec<u8>,
    counters: Counters,
}

#[derive(Debug)]
struct Counters {
    fragmented: Counter,
    fragments: Counter,
    dont_fragment: Counter,
    malformed: Counter,
    headers: Counter,
    no_packet: Counter,
}

/// Why a packet that is too long cannot be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Obstacle {
    /// It is not IP, and may pass.
    NotIp,
    /// It may not be cut.
    DontFragment,
    /// Its header makes no sense.
    Malformed,
    /// Its headers are as long as a fragment may be, or of IPv6 longer than the first would hold.
    Headers,
}

impl Class for Fragmenter {
    const TYPE: &'static str = "fragmenter";
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        OptionError::check_range("mtu", self.mtu, 68..=MAX_LARGE_PAYLOAD - Ethernet::LEN)
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        Ok(Running {
            mtu: self.mtu,
            next_id: RandomState::new().hash_one(0) as u32,
            made: Vec::new(),
            begun: None,
            whole: Vec::new(),
            counters: Counters {
                fragmented: setup.counter("fragmented"),
                fragments: setup.counter("fragments"),
                dont_fragment: setup.drops("dont_fragment"),
                malformed: setup.drops("malformed"),
                headers: setup.drops("headers"),
                no_packet: setup.drops("no_packet"),
            },
        })
    }

    fn reconfigure(
        &self,
        app: &mut Running,
        _: &Self,
        _: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        app.mtu = self.mtu;
        Ok(Reconfigured::Kept)
    }
}

impl App for Running {
    fn roles(&self) -> Roles {
        Roles::PUSH.and(Roles::ROOM)
    }

    /// Another packet may be the first: one that has been sent in part begins anew, and a receiver has some fragments twice.
    fn link(&mut self, _: &PortNames<'_>) {
        self.begun = None;
    }

    fn push(&mut self, io: &mut Io<'_>) {
        let fits = self.mtu + Ethernet::LEN;
        let (input, output) = (&mut io.inputs[0], &mut io.outputs[0]);
        while let Some(first) = input.peek().first() {
            let room = output.allowance();
            if room == 0 {
                return;
            }
            if first.len() > fits {
                self.cut_first(input, output, io.pool, room);
                continue;
            }
            let short = input.peek().iter().take(room).take_while(|packet| packet.len() <= fits).count();
            input.burst_of_at_most(short).into_iter().for_each(|burst| output.send(burst));
        }
    }
}

impl Running {
    /// Cuts the first packet of a link, and sends as many of its fragments as there is room for, one at least.
    fn cut_first(&mut self, input: &mut Input, output: &mut Output, pool: &mut Pool, room: usize) {
        let Some(first) = input.peek().first() else { return };
        let planned = match self.begun.take() {
            Some(begun) => Ok(Some(begun)),
            None => Plan::new(first.data(), self.mtu, self.next_id).map(|plan| Some((plan?, 0))),
        };
        if let Ok(Some((plan, next))) = planned {
            if next > 0 || plan.count() > room {
                return self.send_part(plan, next, input, output, pool, room);
            }
            return take_first(input, |packet| self.carry_out(&plan, packet, output, pool));
        }
        take_first(input, |packet| match planned {
            Err(Obstacle::NotIp) | Ok(_) => output.put(packet),
            Err(obstacle) => pool.free(packet, self.counter(obstacle)),
        });
    }

    /// The first fragment is the packet itself, cut; the others are new packets.
    fn carry_out(&mut self, plan: &Plan, mut packet: Packet, output: &mut Output, pool: &mut Pool) {
        for index in 1..plan.count() {
            let Some(fragment) = new_fragment(plan, index, &packet, pool) else {
                self.made.drain(..).for_each(|made| pool.free(made, &self.counters.no_packet));
                return pool.free(packet, &self.counters.no_packet);
            };
            self.made.push(fragment);
        }
        plan.keep_first(&mut packet);
        note_whole(&mut packet, pool);
        self.count(plan);
        output.put(packet);
        self.made.drain(..).for_each(|made| output.put(made));
    }

    /// Sends fragments of the first packet of a link, from the one of number `next` on, which has all bytes until the last fragment is made
    /// in its place.
    #[cold]
    fn send_part(
        &mut self,
        plan: Plan,
        next: usize,
        input: &mut Input,
        output: &mut Output,
        pool: &mut Pool,
        room: usize,
    ) {
        let last = plan.count() - 1;
        let Some(packet) = input.peek().first() else { return };
        for index in next..last.min(next + room) {
            let Some(fragment) = new_fragment(&plan, index, packet, pool) else {
                // Who has got the first fragments waits for the others in vain.
                return take_first(input, |packet| pool.free(packet, &self.counters.no_packet));
            };
            output.put(fragment);
        }
        if last >= next + room {
            self.begun = Some((plan, next + room));
            return;
        }
        take_first(input, |mut packet| {
            self.whole.clear();
            self.whole.extend_from_slice(packet.data());
            packet.truncate(0);
            plan.write(last, &self.whole, &mut packet);
            note_whole(&mut packet, pool);
            self.count(&plan);
            output.put(packet);
        });
    }

    fn count(&mut self, plan: &Plan) {
        self.next_id = self.next_id.wrapping_add(1);
        self.counters.fragmented.add(1);
        self.counters.fragments.add(plan.count() as u64);
    }

    fn counter(&self, obstacle: Obstacle) -> &Counter {
        match obstacle {
            Obstacle::DontFragment => &self.counters.dont_fragment,
            Obstacle::Headers => &self.counters.headers,
            Obstacle::Malformed | Obstacle::NotIp => &self.counters.malformed,
        }
    }
}

/// Takes the first packet out of a link.
fn take_first(input: &mut Input, then: impl FnOnce(Packet)) {
    if let Some(packet) = input.burst_of_at_most(1).and_then(|mut burst| burst.next()) {
        then(packet);
    }
}

/// The fragment of this number as a packet of its own; `None` without memory.
fn new_fragment(plan: &Plan, index: usize, packet: &Packet, pool: &mut Pool) -> Option<Packet> {
    let mut fragment = pool.allocate_for(plan.len(index))?;
    if index == 0 {
        plan.copy_first(packet.data(), &mut fragment);
    } else {
        plan.write(index, packet.data(), &mut fragment);
    }
    if pool.uses_metadata() {
        pool.describe(&mut fragment, *packet.metadata());
    }
    note_whole(&mut fragment, pool);
    Some(fragment)
}
