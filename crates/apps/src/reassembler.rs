//! `reassembler`: joins the fragments of IP packets.
//!
//! | inputs | `input` |
//! |---|---|
//! | outputs | `output` |
//! | `max_reassemblies` | packets in the making at most, 1 to 1048576; 1024 unless set. Also `max_concurrent_reassemblies` |
//! | `max_fragments` | fragments of a packet at most, 2 to 8192; 64 unless set. Also `max_fragments_per_reassembly` |
//! | `timeout_s` | how long to wait for the rest of a packet, 1 to 3600; 60 unless set (RFC 8200, 4.5) |
//! | `reassembled` | counts packets that were made |
//! | consumed `joined` | counts fragments whose bytes are now in another packet |
//! | drops `overlap` | counts packets given up since fragments overlap or contradict each other, and all their later fragments |
//! | drops `too_many_fragments`, `too_long` | count packets given up for that reason, and all their later fragments |
//! | drops `no_packet` | counts packets of more than 10240 bytes given up as the pool had no large packet, and all their later fragments |
//! | drops `timeout` | counts packets that lacked a part for too long |
//! | drops `evicted` | counts packets that lacked a part when there was no room for another |
//! | drops `duplicate` | counts fragments that say again what is known |
//! | drops `congestion` | counts packets of which a fragment met congestion, and another says that its sender does not support that (RFC 3168, 5.3) |
//! | drops `headers` | counts first fragments of IPv6 packets that do not hold all headers, that of TCP or the like included (RFC 7112) |
//! | drops `malformed` | counts fragments that are cut, have no payload, end where none can, or have a wrong IPv4 header checksum, and packets with more than 16 IPv6 extension headers, behind which a fragment may hide |
//!
//! IPv4 (RFC 791, 3.2) and IPv6 (RFC 8200, 4.5), behind up to two VLAN tags; fragments in different VLANs are not joined. All
//! else passes as it is. A packet of which two fragments overlap is never delivered (RFC 5722), so that nobody can slip bytes past a
//! filter. An IPv6 fragment that is a whole packet loses its header (RFC 6946). A packet in the making holds one packet of the
//! pool, a large one where it becomes longer than 10240 bytes, and becomes 65535 bytes long at most, the header of its link included;
//! the oldest gives way when there are too many, or when those of all reassemblers would hold more than half
//! of a pool, or of its large packets, whatever `max_reassemblies` says: what comes in must find room. Whoever holds less than a sixteenth may have one more, for which others give way, as
//! long as all hold less than three quarters. As long as any packet is in the making, a run
//! does not end: after the last packet of a capture that may take `timeout_s`, unless the graph runs on capture time.

mod assemblies;
mod assembly;
mod piece;
#[cfg(test)]
mod tests;

use crate::shared::whole::note_whole;
use assemblies::Assemblies;
use assembly::{Outcome, Refusal, is_large};
use engine::shm::Counter;
use engine::{
    App, Class, Held, Io, NextEvent, OptionError, Output, Packet, Pool, Reconfigured, Reporting, Roles,
    Setup, Timed,
};
use piece::{Parsed, Piece};
use serde::Deserialize;
use table::ageing::EntryId;
use wire::plural::counted;

/// Options of `reassembler`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Reassembler {
    /// Packets in the making at most.
    #[serde(alias = "max_concurrent_reassemblies")]
    pub max_reassemblies: usize,
    /// Fragments of a packet at most.
    #[serde(alias = "max_fragments_per_reassembly")]
    pub max_fragments: u32,
    /// How long to wait for the rest of a packet.
    pub timeout_s: u64,
}

impl Default for Reassembler {
    fn default() -> Self {
        Reassembler { max_reassemblies: 1024, max_fragments: 64, timeout_s: 60 }
    }
}

/// A running `reassembler`.
#[derive(Debug)]
pub struct Running {
    table: Assemblies,
    max_fragments: u32,
    timeout_ns: u64,
    counters: Counters,
}

#[derive(Debug)]
struct Counters {
    reassembled: Counter,
    joined: Counter,
    overlap: Counter,
    too_many_fragments: Counter,
    too_long: Counter,
    no_packet: Counter,
    timeout: Counter,
    evicted: Counter,
    duplicate: Counter,
    congestion: Counter,
    headers: Counter,
    malformed: Counter,
}

impl Class for Reassembler {
    const TYPE: &'static str = "reassembler";
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        OptionError::all([
            OptionError::check_range("max_reassemblies", self.max_reassemblies, 1..=Pool::MAX_PACKETS),
            OptionError::check_range("max_fragments", self.max_fragments, 2..=8192),
            OptionError::check_range("timeout_s", self.timeout_s, 1..=3600),
        ])
    }

    /// Reassemblers keep half of a pool at most.
    fn needs_packets(&self) -> usize {
        2 * self.max_reassemblies
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        Ok(Running {
            table: Assemblies::new(self.max_reassemblies),
            max_fragments: self.max_fragments,
            timeout_ns: self.timeout_s * 1_000_000_000,
            counters: Counters {
                reassembled: setup.counter("reassembled"),
                joined: setup.consumed("joined"),
                overlap: setup.drops("overlap"),
                too_many_fragments: setup.drops("too_many_fragments"),
                too_long: setup.drops("too_long"),
                no_packet: setup.drops("no_packet"),
                timeout: setup.drops("timeout"),
                evicted: setup.drops("evicted"),
                duplicate: setup.drops("duplicate"),
                congestion: setup.drops("congestion"),
                headers: setup.drops("headers"),
                malformed: setup.drops("malformed"),
            },
        })
    }

    /// Incomplete packets stay, unless the size of the table changes. A new timeout is for them, too.
    fn reconfigure(
        &self,
        app: &mut Running,
        old: &Self,
        _: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        app.max_fragments = self.max_fragments;
        app.timeout_ns = self.timeout_s * 1_000_000_000;
        Ok(if self.max_reassemblies == old.max_reassemblies {
            Reconfigured::Kept
        } else {
            Reconfigured::NeedsRestart
        })
    }
}

impl App for Running {
    fn roles(&self) -> Roles {
        Roles::PUSH.and(Roles::TICK)
    }

    fn push(&mut self, io: &mut Io<'_>) {
        let output = &mut io.outputs[0];
        while let Some(mut burst) = io.inputs[0].burst() {
            while !burst.is_empty() {
                let whole = burst.iter().take_while(|packet| !piece::is_fragment(packet.data())).count();
                output.send(burst.split_front(whole));
                if let Some(packet) = burst.next() {
                    self.take(packet, output, io.pool, io.now_ns);
                }
            }
        }
    }

    fn tick(&mut self, io: &mut Io<'_>) {
        while self.deadline_ns().is_some_and(|deadline_ns| deadline_ns <= io.now_ns) {
            if let Some(packet) = self.table.remove_oldest() {
                io.pool.free(packet, &self.counters.timeout);
            }
        }
    }

    fn held(&self) -> usize {
        self.table.held()
    }

    fn timed(&self) -> Option<&dyn Timed> {
        Some(self)
    }

    fn reporting(&self) -> Option<&dyn Reporting> {
        Some(self)
    }
}

impl Timed for Running {
    fn next_event(&self) -> NextEvent {
        NextEvent::at(self.deadline_ns())
    }
}

impl Reporting for Running {
    fn report(&self) -> Option<String> {
        Some(format!("{} in the making", counted(self.table.held() as u64, "packet")))
    }
}

impl Running {
    /// When the next packet in the making will be given up: that which began first.
    fn deadline_ns(&self) -> Option<u64> {
        Some(self.table.oldest_ns()?.saturating_add(self.timeout_ns))
    }

    /// Takes what looks like a fragment.
    fn take(&mut self, mut packet: Packet, output: &mut Output, pool: &mut Pool, now_ns: u64) {
        match Piece::parse(packet.data()) {
            Parsed::Whole => output.put(packet),
            Parsed::Atomic(piece) => {
                packet.truncate(piece.headers_len + piece.len);
                piece.finish(&mut packet, false);
                note_whole(&mut packet, pool);
                output.put(packet);
            }
            Parsed::Malformed => pool.free(packet, &self.counters.malformed),
            Parsed::Headers => pool.free(packet, &self.counters.headers),
            Parsed::Fragment(piece) => self.join(&piece, packet, output, pool, now_ns),
        }
    }

    /// Puts a fragment where it belongs.
    fn join(&mut self, piece: &Piece, packet: Packet, output: &mut Output, pool: &mut Pool, now_ns: u64) {
        let found = self.table.find(&piece.key).or_else(|| self.begin(piece, &packet, pool, now_ns));
        let Some(id) = found else { return pool.free(packet, &self.counters.evicted) };
        if self.table.get(id).takes_large(piece, &packet, self.max_fragments, pool.max_len())
            && !self.make_large_room(&packet, pool)
        {
            return self.evict(id, packet, pool);
        }
        match self.table.add(id, piece, packet, self.max_fragments, pool) {
            Outcome::Kept => self.table.note_held(),
            Outcome::Joined(packet) => pool.free(packet, &self.counters.joined),
            Outcome::Whole { joined, mut whole, congestion } => {
                pool.free(joined, &self.counters.joined);
                self.table.note_released();
                self.table.remove(id);
                if congestion.is_contradictory() {
                    return pool.free(whole, &self.counters.congestion);
                }
                // Its own headers say where the fragment header is.
                if let Parsed::Atomic(piece) | Parsed::Fragment(piece) = Piece::parse_first(whole.data()) {
                    piece.finish(&mut whole, congestion.is_experienced());
                }
                note_whole(&mut whole, pool);
                self.counters.reassembled.add(1);
                output.put(whole);
            }
            Outcome::Refused { packet, given_up, refusal } => {
                pool.free(packet, self.counter(refusal));
                if let Some(given_up) = given_up {
                    self.table.note_released();
                    pool.free(given_up, self.counter(refusal));
                }
            }
        }
    }

    /// Makes room for one more packet in the making, of which this is a part. `None` if there is none: others hold all that may be held.
    fn begin(&mut self, piece: &Piece, packet: &Packet, pool: &mut Pool, now_ns: u64) -> Option<EntryId> {
        while self.table.is_full() {
            if let Some(packet) = self.table.remove_oldest() {
                pool.free(packet, &self.counters.evicted);
            }
        }
        // Room for a large one is made where it is known that it is taken.
        while !is_large(packet) && !Held::has_room(packet, self.table.usual()) {
            pool.free(self.table.remove_oldest_beside(packet)?, &self.counters.evicted);
        }
        self.table.insert(piece.key, now_ns)
    }

    /// Makes room for one more large packet in the making: this one, or one of the pool. Those that hold usual ones stay. Says whether there is
    /// room: others may hold all that may be held.
    #[cold]
    fn make_large_room(&mut self, packet: &Packet, pool: &mut Pool) -> bool {
        let has_room = |pool: &Pool, own| match is_large(packet) {
            true => Held::has_room(packet, own),
            false => pool.has_room_to_hold_large(own),
        };
        while !has_room(pool, self.table.large()) {
            let Some(evicted) = self.table.remove_first_large() else { return false };
            pool.free(evicted, &self.counters.evicted);
        }
        true
    }

    /// Frees a fragment for which there is no room, and the packet in the making that it is of.
    #[cold]
    fn evict(&mut self, id: EntryId, packet: Packet, pool: &mut Pool) {
        let begun = self.table.remove_with_packet(id);
        begun.into_iter().chain([packet]).for_each(|packet| pool.free(packet, &self.counters.evicted));
    }

    #[cold]
    fn counter(&self, refusal: Refusal) -> &Counter {
        match refusal {
            Refusal::Overlap => &self.counters.overlap,
            Refusal::TooMany => &self.counters.too_many_fragments,
            Refusal::TooLong => &self.counters.too_long,
            Refusal::NoPacket => &self.counters.no_packet,
            Refusal::Duplicate => &self.counters.duplicate,
        }
    }
}
