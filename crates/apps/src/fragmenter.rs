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
use engine::{App, Class, Io, MAX_LARGE_PAYLOAD, OptionError, Output, Packet, Pool, Reconfigured, Setup};
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
    fn push(&mut self, io: &mut Io<'_>) {
        let output = &mut io.outputs[0];
        let fits = self.mtu + Ethernet::LEN;
        while let Some(mut burst) = io.inputs[0].burst() {
            while !burst.is_empty() {
                let short = burst.iter().take_while(|packet| packet.len() <= fits).count();
                output.send(burst.split_front(short));
                if let Some(packet) = burst.next() {
                    self.cut(packet, output, io.pool);
                }
            }
        }
    }
}

impl Running {
    /// Cuts a packet and sends its fragments.
    fn cut(&mut self, packet: Packet, output: &mut Output, pool: &mut Pool) {
        match Plan::new(packet.data(), self.mtu, self.next_id) {
            Ok(None) | Err(Obstacle::NotIp) => output.put(packet),
            Ok(Some(plan)) => self.carry_out(&plan, packet, output, pool),
            Err(obstacle) => pool.free(packet, self.counter(obstacle)),
        }
    }

    /// The first fragment is the packet itself, cut; the others are new packets.
    fn carry_out(&mut self, plan: &Plan, mut packet: Packet, output: &mut Output, pool: &mut Pool) {
        for index in 1..plan.count() {
            let Some(mut fragment) = pool.allocate_for(plan.len(index)) else {
                self.made.drain(..).for_each(|made| pool.free(made, &self.counters.no_packet));
                return pool.free(packet, &self.counters.no_packet);
            };
            plan.write(index, packet.data(), &mut fragment);
            if pool.uses_metadata() {
                pool.describe(&mut fragment, *packet.metadata());
            }
            note_whole(&mut fragment, pool);
            self.made.push(fragment);
        }
        plan.keep_first(&mut packet);
        note_whole(&mut packet, pool);
        self.next_id = self.next_id.wrapping_add(1);
        self.counters.fragmented.add(1);
        self.counters.fragments.add(plan.count() as u64);
        output.put(packet);
        self.made.drain(..).for_each(|made| output.put(made));
    }

    fn counter(&self, obstacle: Obstacle) -> &Counter {
        match obstacle {
            Obstacle::DontFragment => &self.counters.dont_fragment,
            Obstacle::Headers => &self.counters.headers,
            Obstacle::Malformed | Obstacle::NotIp => &self.counters.malformed,
        }
    }
}
