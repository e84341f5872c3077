//! Connections that were announced, until they come: what `state related` knows besides ICMP errors.
//!
//! An announcement counts where it names the host that sends it, and no port below 1024: nobody opens a way to somebody else, or to a service of the system (Netfilter's helpers refuse
//! other hosts as well, unless `loose`). It is for the other end of the connection that it was made in alone, for one connection, and for a time. Where the policy says so, media of SIP may be
//! announced for any host, and come from any (Netfilter: `sip_direct_media=0`). There are so many of a connection at
//! most, of which the oldest is forgotten, and so many of all, beyond which no more count.

use super::{Judge, announce};
use crate::policy::SipMedia;
use crate::spy::Sighting;
use dpi::Protocol;
use flow::{Key, Packet, Slot};
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use wire::ip::{is_host, protocol as ip};

/// Announcements at most.
const ALL_MAX: usize = 4096;
/// Announcements of a flow at most.
const OF_FLOW_MAX: usize = 8;
/// The lowest port that may be announced.
const PORT_MIN: u16 = 1024;
/// How long they count, in nanoseconds: as long as Netfilter's of FTP.
const TIME_NS: u64 = 300_000_000_000;
/// How often old ones are looked for when there are many, in nanoseconds.
const FORGET_EVERY_NS: u64 = 1_000_000_000;

/// A connection that may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Expected {
    /// Protocol over IP, and what else must be that of the flow that announced it.
    pub(super) protocol: u8,
    pub(super) vlans: [u16; 2],
    pub(super) outer: u32,
    /// Who begins it, from any port; `None` for anybody.
    pub(super) from: Option<IpAddr>,
    pub(super) to: SocketAddr,
}

/// Connections that may come.
#[derive(Debug, Default)]
pub(super) struct Expectations {
    /// With the flow that announced each last, and the time until which it counts.
    expected: HashMap<Expected, (Slot, u64)>,
    /// The same by that flow, the oldest first; of flows that have some.
    by_flow: HashMap<Slot, VecDeque<Expected>>,
    /// When old ones were looked for last.
    forgot_ns: Option<u64>,
    /// Announcements that did not count.
    pub(super) refused: u64,
}

impl Expectations {
    pub(super) fn is_empty(&self) -> bool {
        self.expected.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.expected.len()
    }

    /// Adds what the host `sender` has announced in a flow: for itself, or, where anybody may come, for any host.
    pub(super) fn add(&mut self, slot: Slot, expected: Expected, sender: IpAddr, now_ns: u64) {
        let to = expected.to.ip();
        let may_be = if expected.from.is_some() { to == sender } else { is_host(to) };
        if !may_be || expected.to.port() < PORT_MIN {
            self.refused += 1;
            return;
        }
        let is_new = !self.expected.contains_key(&expected);
        if is_new && self.expected.len() >= ALL_MAX {
            self.forget_old(now_ns);
        }
        if is_new && self.expected.len() >= ALL_MAX {
            self.refused += 1;
            return;
        }
        if let Some((before, _)) = self.expected.insert(expected, (slot, now_ns.saturating_add(TIME_NS))) {
            self.forget_of(before, &expected);
        }
        let own = self.by_flow.entry(slot).or_default();
        own.push_back(expected);
        if own.len() > OF_FLOW_MAX
            && let Some(oldest) = own.pop_front()
        {
            self.expected.remove(&oldest);
        }
    }

    /// Whether a connection was announced that begins now. It is not expected again.
    pub(super) fn take(&mut self, expected: &Expected, now_ns: u64) -> bool {
        let Some((slot, until_ns)) = self.expected.remove(expected) else { return false };
        self.forget_of(slot, expected);
        now_ns <= until_ns
    }

    /// It is not of this flow any more.
    fn forget_of(&mut self, slot: Slot, expected: &Expected) {
        let Some(own) = self.by_flow.get_mut(&slot) else { return };
        own.retain(|known| known != expected);
        if own.is_empty() {
            self.by_flow.remove(&slot);
        }
    }

    #[cold]
    fn forget_old(&mut self, now_ns: u64) {
        if self.forgot_ns.is_some_and(|last| now_ns.abs_diff(last) < FORGET_EVERY_NS) {
            return;
        }
        self.forgot_ns = Some(now_ns);
        self.expected.retain(|_, (_, until_ns)| now_ns <= *until_ns);
        let expected = &self.expected;
        self.by_flow.retain(|_, own| {
            own.retain(|known| expected.contains_key(known));
            !own.is_empty()
        });
    }
}

/// Connections that anybody may begin. Workers of a wall share them: which of them sees one come depends on who begins it. Flows of two workers that have the same
/// slot share what a flow may announce.
#[derive(Debug, Default)]
pub(crate) struct ForAnybody {
    /// How many there are, so that flows which begin need not ask where there are none.
    count: AtomicUsize,
    all: Mutex<Expectations>,
}

impl ForAnybody {
    pub(super) fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// As [`Expectations::add`]; says whether it counts.
    #[must_use]
    pub(super) fn add(&self, slot: Slot, expected: Expected, sender: IpAddr, now_ns: u64) -> bool {
        self.with(|all| {
            let refused = all.refused;
            all.add(slot, expected, sender, now_ns);
            all.refused == refused
        })
    }

    /// As [`Expectations::take`], whoever begins it.
    pub(super) fn take(&self, expected: &Expected, now_ns: u64) -> bool {
        self.len() > 0 && self.with(|all| all.take(&Expected { from: None, ..*expected }, now_ns))
    }

    /// None of them is expected any more.
    pub(super) fn clear(&self) {
        self.with(|all| *all = Expectations::default());
    }

    fn with<T>(&self, change: impl FnOnce(&mut Expectations) -> T) -> T {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = change(&mut all);
        self.count.store(all.len(), Ordering::Relaxed);
        changed
    }
}

impl Judge {
    /// The key of the flow of a packet. The flow may be over: a later packet of the burst may have taken its slot.
    fn key_of(&self, packet: &Packet<'_>, slot: Slot) -> Option<Key> {
        let decoded = || flow::decode(packet.linktype, packet.frame).ok().map(|decoded| decoded.key);
        self.spy.key(slot).or_else(decoded)
    }

    /// A flow begins: perhaps another has announced it.
    #[inline]
    pub(super) fn meet_expectation(&mut self, packet: &Packet<'_>, sight: Sighting) {
        let anybody_counts = self.policy.settings().sip_media == SipMedia::Anywhere;
        if self.expectations.as_ref().is_none_or(|all| all.is_empty() && !anybody_counts) {
            return;
        }
        let Some(key) = self.key_of(packet, sight.slot) else { return };
        let Some(expectations) = &mut self.expectations else { return };
        let now_ns = packet.time_ns;
        let expected = Expected {
            protocol: key.protocol(),
            vlans: key.vlans(),
            outer: sight.outer,
            from: Some(key.src(sight.direction).ip()),
            to: key.dst(sight.direction),
        };
        if expectations.take(&expected, now_ns) || anybody_counts && self.for_anybody.take(&expected, now_ns)
        {
            self.states.announce(sight.slot, sight.outer);
        }
    }

    /// Takes note of connections that a packet which goes on announces.
    #[cold]
    pub(super) fn note_announced(&mut self, packet: &Packet<'_>, sight: Sighting, speaks: u16) {
        let (start, end) = (sight.payload.0 as usize, sight.payload.1 as usize);
        let payload = packet.frame.get(start..end).unwrap_or_default();
        if payload.is_empty() {
            return;
        }
        let key = self.key_of(packet, sight.slot);
        let (Some(all), Some(key)) = (&mut self.expectations, key) else { return };
        let (sender, peer) = (key.src(sight.direction).ip(), key.dst(sight.direction).ip());
        let mut add = |protocol, from, to| {
            let expected = Expected { protocol, vlans: key.vlans(), outer: sight.outer, from, to };
            if from.is_some() {
                all.add(sight.slot, expected, sender, packet.time_ns);
            } else if !self.for_anybody.add(sight.slot, expected, sender, packet.time_ns) {
                all.refused += 1;
            }
        };
        if speaks == Protocol::FTP_CONTROL.number() {
            let is_client = self.states.of(sight.slot).from(sight.direction) == 1;
            let announced = announce::of_ftp(payload, is_client, sender);
            return announced.into_iter().for_each(|to| add(ip::TCP, Some(peer), to));
        }
        let is_direct = self.policy.settings().sip_media == SipMedia::Signalling;
        let from = is_direct.then_some(peer);
        for mut to in announce::of_sip(payload) {
            add(ip::UDP, from, to);
            // Reports of RTCP go to the next port (RFC 3550, 11).
            to.set_port(to.port().saturating_add(1));
            add(ip::UDP, from, to);
        }
    }

    /// Connections that were announced and have not come, with those of other workers that anybody may begin; and announcements that did not count.
    #[must_use]
    pub fn announced(&self) -> (usize, u64) {
        let announced = |all: &Expectations| (all.len() + self.for_anybody.len(), all.refused);
        self.expectations.as_ref().map_or((0, 0), announced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announcements_are_bounded_and_end() {
        let sender: IpAddr = "192.0.2.1".parse().unwrap();
        let expected = |port: u16| Expected {
            protocol: 6,
            vlans: [0; 2],
            outer: 0,
            from: Some("192.0.2.2".parse().unwrap()),
            to: (sender, port).into(),
        };
        let slot = |index| Slot { index, generation: 1 };
        let mut all = Expectations::default();
        (0..9).for_each(|at| all.add(slot(0), expected(2000 + at), sender, 0));
        assert!(!all.take(&expected(2000), 1), "the oldest of nine is forgotten");
        assert!(all.take(&expected(2001), 1) && !all.take(&expected(2001), 1), "each counts once");
        assert!(!all.take(&expected(2002), TIME_NS + 1), "for a time");
        all.add(slot(0), expected(1023), sender, 0);
        all.add(slot(0), expected(3000), "192.0.2.9".parse().unwrap(), 0);
        assert_eq!((all.refused, all.take(&expected(3000), 1)), (2, false));
        (0..2 * ALL_MAX as u32).for_each(|at| all.add(slot(at / 8), expected(5000 + at as u16), sender, 0));
        assert_eq!(all.len(), ALL_MAX);
        all.add(slot(9), expected(4000), sender, TIME_NS + 1);
        assert_eq!(all.len(), 1, "what is old makes room");
        assert!(all.take(&expected(4000), TIME_NS + 1) && all.by_flow.is_empty(), "nothing is left of it");
    }
}
