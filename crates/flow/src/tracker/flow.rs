//! A flow of the tracker: what was counted, and when it is over.

use super::{Packet, SECOND};
use crate::decode::{Decoded, Part, is_syn};
use crate::key::{Direction, Key};
use crate::tcp::{Observed, Tcp, TcpState};
use std::net::IpAddr;
use wire::checksum::Addresses;
use wire::transport::TcpFlags;

/// After what time without packets flows end, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Open TCP connections.
    pub idle_tcp: u64,
    /// All that is not TCP.
    pub idle_udp: u64,
    /// TCP connections whose handshake is not over.
    pub half_open: u64,
    /// TCP connections that are over. A SYN on such a connection begins a new flow at once, and so does the answer to a SYN on one that is not over, unless this is
    /// [`Timeouts::NEVER`].
    pub closed: u64,
    /// Since the first packet, whether packets come or not: the flow goes on as a new one.
    pub active: u64,
}

impl Timeouts {
    /// No timeout.
    pub const NEVER: u64 = u64::MAX;
}

/// Timeouts by what is looked up for each packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// By number of [`TcpState`].
    pub(super) idle: [u64; 8],
    active: u64,
    /// The shortest.
    pub(super) least: u64,
    /// Whether another connection between the same ports begins a new flow.
    is_reopening: bool,
}

impl Limits {
    pub(super) fn new(timeouts: &Timeouts) -> Limits {
        let Timeouts { idle_tcp, idle_udp, half_open, closed, active } = *timeouts;
        let idle = [idle_udp, half_open, half_open, idle_tcp, idle_tcp, idle_tcp, closed, closed];
        let least = idle.into_iter().fold(active, u64::min);
        Limits { idle, active, least, is_reopening: closed != Timeouts::NEVER }
    }
}

/// Connections for 5 minutes, other flows for 1, half-open ones for 10 s, closed ones for 5 s, and no limit for active ones.
impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts {
            idle_tcp: 300 * SECOND,
            idle_udp: 60 * SECOND,
            half_open: 10 * SECOND,
            closed: 5 * SECOND,
            active: Timeouts::NEVER,
        }
    }
}

/// A flow: what its owner stores, and what was counted.
///
/// PERF: with a value of 24 bytes, key, generation and this fill two cache lines, which are fetched together. Counts apart would be a third.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Flow<V> {
    /// What its owner stores.
    pub value: V,
    pub(super) bytes: [u64; 2],
    pub(super) first_ns: u64,
    pub(super) last_ns: u64,
    pub(super) packets_low: [u32; 2],
    pub(super) packets_high: [u16; 2],
    pub(super) tcp: Tcp,
}

/// What becomes of a packet of a flow.
#[derive(Clone, Copy)]
pub(super) struct Counted {
    /// Packets of the flow so far, as far as the number reaches.
    pub(super) packets: u32,
    /// Whether [`Flow::is_settled`] may be another than before.
    pub(super) has_news: bool,
    /// What a segment is to its connection; of all else, [`Observed::Counts`].
    pub(super) observed: Observed,
}

/// What was counted of a flow. Pairs are by [`Direction::index`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Packets each way.
    pub packets: [u64; 2],
    /// Bytes on the wire each way, link headers included.
    pub bytes: [u64; 2],
    /// When the first packet came.
    pub first_ns: u64,
    /// When the last one came; of TCP, the last one that counts.
    pub last_ns: u64,
    /// The direction of who has begun: by SYN, or else by the first packet.
    pub initiator: Direction,
    /// Where the connection stands, if it is TCP.
    pub tcp: TcpState,
    /// Whether it is TCP and was not seen from SYN on.
    pub is_midstream: bool,
}

impl<V> Flow<V> {
    pub(super) fn new(value: V, direction: Direction, time_ns: u64) -> Flow<V> {
        Flow {
            value,
            bytes: [0; 2],
            first_ns: time_ns,
            last_ns: time_ns,
            packets_low: [0; 2],
            packets_high: [0; 2],
            tcp: Tcp::begun_by(direction),
        }
    }

    /// Whether a packet that was just counted is the SYN that the connection has begun with, or a retransmission of it. Another SYN, on a connection that is open, is not.
    #[inline]
    #[must_use]
    pub fn begins_with(&self, decoded: &Decoded) -> bool {
        decoded.is_tcp() && is_syn(decoded.tcp.flags) && self.tcp.is_same_syn(decoded.direction, &decoded.tcp)
    }

    /// What was counted.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let packets = |at: usize| u64::from(self.packets_high[at]) << 32 | u64::from(self.packets_low[at]);
        Stats {
            packets: [packets(0), packets(1)],
            bytes: self.bytes,
            first_ns: self.first_ns,
            last_ns: self.last_ns,
            initiator: self.tcp.initiator(),
            tcp: self.tcp.state(),
            is_midstream: self.tcp.is_midstream(),
        }
    }

    /// Counts a packet. With `checks_resets` a reset counts only if its checksum is right.
    #[inline(always)]
    pub(super) fn count(&mut self, decoded: &Decoded, packet: &Packet<'_>, checks_resets: bool) -> Counted {
        let at = decoded.direction.index();
        let is_first = self.packets_low[at] == 0;
        let (low, carry) = self.packets_low[at].overflowing_add(1);
        self.packets_low[at] = low;
        if carry {
            self.packets_high[at] = self.packets_high[at].wrapping_add(1);
        }
        // PERF: a sum of what is in a register and of what no packet of this direction writes. Both counts read back together would wait for the store.
        let packets = match self.packets_high {
            [0, 0] => low.saturating_add(self.packets_low[at ^ 1]),
            _ => u32::MAX,
        };
        self.bytes[at] += u64::from(packet.wire_len);
        let state = self.tcp.state();
        let mut observed = Observed::Counts;
        if decoded.is_tcp() {
            let is_reset = decoded.tcp.flags & TcpFlags::RST != 0;
            observed = if is_reset && checks_resets && !has_right_checksum(decoded, packet.frame) {
                Observed::Invalid
            } else {
                self.observe(decoded)
            };
        }
        // Who sends what is not of the connection does not keep it from ending.
        if observed == Observed::Counts {
            self.last_ns = self.last_ns.max(packet.time_ns);
        }
        Counted { packets, has_news: is_first || self.tcp.state() != state, observed }
    }

    /// Takes note of a segment. On a connection that is over, it counts if it lies where one of the connection would.
    #[inline(always)]
    fn observe(&mut self, decoded: &Decoded) -> Observed {
        match self.tcp.observe(decoded.direction, &decoded.tcp, decoded.payload().len()) {
            Observed::Invalid
                if self.tcp.state().is_closed() && self.tcp.is_within(decoded.direction, &decoded.tcp) =>
            {
                Observed::Counts
            }
            observed => observed,
        }
    }

    /// Whether both ends have spoken, and the flow is not over: such make room for others last.
    #[inline(always)]
    pub(super) fn is_settled(&self) -> bool {
        let state = self.tcp.state();
        self.packets_low[0] != 0 && self.packets_low[1] != 0 && !state.is_half_open() && !state.is_closed()
    }

    /// Why the flow is over, if it is.
    #[inline(always)]
    pub(super) fn is_over(&self, limits: &Limits, now_ns: u64) -> Option<EndReason> {
        let state = self.tcp.state();
        if now_ns.saturating_sub(self.last_ns) > limits.idle[state as usize] {
            Some(if state.is_closed() { EndReason::Closed } else { EndReason::Idle })
        } else if now_ns.saturating_sub(self.first_ns) > limits.active {
            Some(EndReason::Active)
        } else {
            None
        }
    }
}

/// Whether a segment has the checksum that its bytes give; also where these are not all there.
#[cold]
fn has_right_checksum(decoded: &Decoded, frame: &[u8]) -> bool {
    let segment = frame.get(decoded.transport()..decoded.payload().end);
    let Some(segment) = segment.filter(|_| decoded.part == Part::Whole && !decoded.is_cut) else {
        return true;
    };
    let (src, dst) = (decoded.key.src(decoded.direction).ip(), decoded.key.dst(decoded.direction).ip());
    let addresses = match (src, dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => Addresses::V4 { src, dst },
        (IpAddr::V6(src), IpAddr::V6(dst)) => Addresses::V6 { src, dst },
        _ => return true,
    };
    addresses.sum(decoded.protocol(), segment).finish() == 0
}

/// Whether a packet begins another connection in the place of that of its flow.
#[inline(always)]
pub(super) fn is_reopened<V>(flow: &Flow<V>, limits: &Limits, decoded: &Decoded) -> bool {
    decoded.tcp.flags & TcpFlags::SYN != 0
        && limits.is_reopening
        && decoded.is_tcp()
        && flow.tcp.is_replaced_by(decoded.direction, &decoded.tcp)
}

/// Why a flow ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EndReason {
    /// No packet came for long.
    Idle,
    /// It has gone on for long; its packets are a new flow from here on.
    Active,
    /// Its TCP connection was closed or reset, and then no packet came, or that of a new connection.
    Closed,
    /// It made room for another.
    Evicted,
    /// It was removed, or there are no more packets.
    Removed,
}

/// A flow that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended<V> {
    /// Its key.
    pub key: Key,
    /// What was counted.
    pub stats: Stats,
    /// What its owner has stored.
    pub value: V,
    /// Why it ended.
    pub why: EndReason,
}

impl<V> Ended<V> {
    pub(super) fn new(key: Key, flow: Flow<V>, why: EndReason) -> Ended<V> {
        Ended { key, stats: flow.stats(), value: flow.value, why }
    }
}
