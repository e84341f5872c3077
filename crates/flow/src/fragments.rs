//! Which flow later fragments belong to: that of the first fragment of their datagram.
//!
//! Only the first fragment has ports. It is remembered by addresses, number, VLANs and, over IPv4, protocol (RFC 791, 3.2; RFC 8200, 4.5), in
//! fixed memory: the oldest gives way, and is forgotten after 30 seconds. A later fragment that comes before its first belongs to no flow, and is counted as
//! such: to keep it back until the first comes is the work of a reassembler, which may stand before.

use crate::decode::{Decoded, Part};
use crate::key::{Direction, Key};
use table::ageing::AgeingTable;

/// Datagrams remembered, unless told otherwise.
pub const DATAGRAMS: usize = 4096;
/// How long.
const TIMEOUT_NS: u64 = 30_000_000_000;

/// What is known of a datagram by its first fragment.
#[derive(Clone, Copy, Debug, Default)]
struct First {
    flow: Option<(Key, Direction)>,
}

/// Datagrams of which the first fragment was seen.
#[derive(Debug)]
pub struct Fragments {
    table: AgeingTable<6, First>,
}

impl Fragments {
    /// For so many datagrams at a time, at least one.
    #[must_use]
    pub fn new(datagrams: usize) -> Fragments {
        Fragments { table: AgeingTable::new(datagrams.max(1)) }
    }

    /// Remembers a first fragment; gives a later one the key of its first. Says whether the key is that of the flow now. Whole packets stay as they are.
    pub fn follow(&mut self, decoded: &mut Decoded, now_ns: u64) -> bool {
        if decoded.part == Part::Whole {
            return true;
        }
        while let Some(oldest) = self.table.oldest()
            && (self.table.since_ns(oldest).saturating_add(TIMEOUT_NS) < now_ns)
        {
            self.table.remove(oldest);
        }
        let id = id(decoded);
        let known = self.table.find(&id);
        match (decoded.part, known) {
            (Part::First, known) => {
                // Numbers are used again: the newest counts.
                let room = known.or_else(|| if self.table.is_full() { self.table.oldest() } else { None });
                if let Some(room) = room {
                    self.table.remove(room);
                }
                if let Some(entry) = self.table.insert(id, now_ns) {
                    self.table.get_mut(entry).flow = Some((decoded.key, decoded.direction));
                }
                true
            }
            (_, Some(entry)) => match self.table.get(entry).flow {
                Some(flow) => {
                    (decoded.key, decoded.direction) = flow;
                    true
                }
                None => false,
            },
            (_, None) => false,
        }
    }
}

/// What fragments of a datagram have in common.
fn id(decoded: &Decoded) -> [u64; 6] {
    let key = &decoded.key;
    let (lower, higher) = ([key.lower_high, key.lower_low], [key.higher_high, key.higher_low]);
    let (src, dst) = match decoded.direction {
        Direction::Up => (lower, higher),
        Direction::Down => (higher, lower),
    };
    // Where the addresses are one, ports may order the ends either way, which changes nothing.
    let vlans = key.tail >> 8 & 0xff_ffff;
    let datagram = u64::from(decoded.fragment_id) << 32 | u64::from(decoded.fragment_protocol) << 24 | vlans;
    [src[0], src[1], dst[0], dst[1], datagram, key.scope.into()]
}

#[cfg(test)]
mod tests;
