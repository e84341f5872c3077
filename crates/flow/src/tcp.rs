//! Where a TCP connection stands, by the segments that pass, in twelve bytes.
//!
//! ```text
//!          SYN          SYN, ACK             ACK              FIN of one       FIN of the other
//!  none ───────► SynSent ───────► SynReceived ───────► Established ───────► Closing ───────► Closed
//!    │                                                     ▲    RST within the window, from any: Reset
//!    └── anything else: picked up midstream ───────────────┘
//! ```
//!
//! A segment counts if its first byte lies within a window of what its sender has sent, on either side. What was sent is known by the segments
//! themselves, and by acknowledgements of the other end, so that lost packets of a capture do no lasting harm. Before SYN is answered, what the other end sends must
//! acknowledge it, but for a SYN of its own; data in SYN it may leave unacknowledged (RFC 7413, 4.2.2). Others, such as a forged RST or FIN, change nothing. Windows are rounded up to powers of
//! two, and are at least 64 KiB. Of a connection without SYN the scale is not known, and the largest is taken.
//!
//! A connection may end without a segment that was seen, such as by a reboot, and its addresses and ports be used again. So a SYN with another number that is not answered yet is replaced by a later one. A
//! SYN on a connection that is open or closing may be such a one, or be forged, so it passes and ends nothing (RFC 5961, 4): the number that acknowledges it is stored in the place of its sender's next number,
//! which counts as unknown then. What comes next decides:
//!
//! | segment | outcome |
//! |---|---|
//! | of the other end: SYN-ACK or RST-ACK that acknowledges the SYN | the connection of that SYN takes the place of this one, and is answered or refused |
//! | of the other end: any other within its window, such as the ACK by which it challenges the SYN | this connection goes on; the number acknowledged is the next one of the sender again |
//! | of the sender: one that acknowledges what lies within the window of the other end | this connection goes on, with the number of this segment |

use crate::decode::{Segment, is_syn};
use crate::key::Direction;
use wire::transport::TcpFlags;

/// Where a connection stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TcpState {
    /// It is no TCP, or nothing was seen.
    #[default]
    None,
    /// SYN was seen.
    SynSent,
    /// SYN was answered.
    SynReceived,
    /// Data may flow.
    Established,
    /// The lower end has sent FIN.
    ClosingUp,
    /// The higher end has sent FIN.
    ClosingDown,
    /// Both have.
    Closed,
    /// One has sent RST.
    Reset,
}

impl TcpState {
    /// The state of these three bits.
    #[inline]
    fn of(bits: u8) -> TcpState {
        match bits {
            0 => TcpState::None,
            1 => TcpState::SynSent,
            2 => TcpState::SynReceived,
            3 => TcpState::Established,
            4 => TcpState::ClosingUp,
            5 => TcpState::ClosingDown,
            6 => TcpState::Closed,
            _ => TcpState::Reset,
        }
    }

    /// Whether the handshake is not over.
    #[inline]
    #[must_use]
    pub fn is_half_open(self) -> bool {
        matches!(self, TcpState::SynSent | TcpState::SynReceived)
    }

    /// Whether nothing more is expected.
    #[inline]
    #[must_use]
    pub fn is_closed(self) -> bool {
        matches!(self, TcpState::Closed | TcpState::Reset)
    }
}

/// What a segment is to its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observed {
    /// It is one of the connection.
    Counts,
    /// It changes nothing yet, but the ends may need it to agree on whether there is a connection: a SYN on an open one, or what is sent of an older one behind a SYN.
    Passes,
    /// It lies outside of the window, or acknowledges what was not sent: it changes nothing.
    Invalid,
}

/// A connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tcp {
    /// Number of the next byte of each end. While a SYN on an open connection awaits its answer: the number that acknowledges it, of its sender.
    next: [u32; 2],
    /// How many bytes each may send ahead, as the other says, by their logarithm. While a SYN on an open connection awaits its answer: its scale, of its sender.
    window_log: [u8; 2],
    /// By how many bits the window of each is scaled: four bits each.
    scales: u8,
    /// State, and the bits below.
    bits: u8,
}

const STATE: u8 = 7;
/// `next` is known, of the lower end; of the higher, one bit on. Once both ends have sent, or acknowledged, it is not known only while a SYN awaits its answer.
const KNOWN: u8 = 8;
/// The connection was not seen from its first segment on.
const MIDSTREAM: u8 = 32;
/// The higher end has begun it.
const BY_HIGHER: u8 = 64;
/// The last SYN had data behind it.
const DATA_IN_SYN: u8 = 128;

const WINDOW_LOG_MIN: u8 = 16;
const SCALE_MAX: u8 = 14;

impl Tcp {
    /// A flow whose first packet came in this direction.
    #[must_use]
    pub fn begun_by(direction: Direction) -> Tcp {
        Tcp { bits: by(direction), ..Tcp::default() }
    }

    /// Where it stands.
    #[inline]
    #[must_use]
    pub fn state(&self) -> TcpState {
        TcpState::of(self.bits & STATE)
    }

    /// The direction of who has begun: of SYN, or else of the first packet.
    #[inline]
    #[must_use]
    pub fn initiator(&self) -> Direction {
        if self.bits & BY_HIGHER == 0 { Direction::Up } else { Direction::Down }
    }

    /// Whether it was picked up after its first segment.
    #[inline]
    #[must_use]
    pub fn is_midstream(&self) -> bool {
        self.bits & MIDSTREAM != 0
    }

    /// Takes note of a segment with so many bytes of data.
    #[inline]
    pub fn observe(&mut self, direction: Direction, segment: &Segment, len: usize) -> Observed {
        let flags = segment.flags;
        // Most segments: of an open connection, without flags that change it.
        let has_news = flags & (TcpFlags::SYN | TcpFlags::FIN | TcpFlags::RST) != 0;
        if !has_news && self.state() == TcpState::Established {
            let counts = self.advance(direction, segment, len as u32);
            return if counts { Observed::Counts } else { Observed::Invalid };
        }
        // Nothing changes any more.
        if self.state().is_closed() {
            return Observed::Invalid;
        }
        self.change(direction, segment, len as u32)
    }

    /// Whether a segment lies within a window of what its sender has sent, or nothing is known of that.
    #[inline]
    #[must_use]
    pub fn is_within(&self, direction: Direction, segment: &Segment) -> bool {
        let from = direction.index();
        let distance = (segment.seq.wrapping_sub(self.next[from]) as i32).unsigned_abs();
        self.bits & KNOWN << from == 0 || distance <= 1 << self.window_log[from]
    }

    /// Whether a segment begins another connection in the place of this one: a SYN on one that is over, or the answer to a SYN on one that is not.
    #[inline]
    #[must_use]
    pub fn is_replaced_by(&self, direction: Direction, segment: &Segment) -> bool {
        if is_syn(segment.flags) {
            return self.state().is_closed();
        }
        segment.flags & TcpFlags::SYN != 0 && self.answers_other_syn(direction, segment)
    }

    #[inline(never)]
    fn change(&mut self, direction: Direction, segment: &Segment, len: u32) -> Observed {
        use TcpState::{Closed, ClosingDown, ClosingUp, Established, None, Reset, SynReceived, SynSent};
        let flags = segment.flags;
        let is_syn_ack = flags & TcpFlags::SYN != 0 && flags & TcpFlags::ACK != 0;
        let is_back = direction != self.initiator();
        // Another connection may begin in the place of this one.
        if is_syn(flags) && !self.is_same_syn(direction, segment) {
            match self.state() {
                SynSent if !is_back => *self = Tcp::begun_by(direction),
                SynReceived | Established | ClosingUp | ClosingDown if self.may_begin_other(direction) => {
                    self.keep_syn(direction, segment, len);
                    return Observed::Passes;
                }
                _ => {}
            }
        } else if self.answers_other_syn(direction, segment) {
            self.begin_other(direction.reverse());
        }
        let state = self.state();
        let is_back = direction != self.initiator();
        let is_answer = flags & TcpFlags::ACK != 0 && self.acknowledges_syn(self.initiator(), segment.ack);
        if state == None {
            self.begin(direction, segment, is_syn_ack);
            self.set_data_in_syn(is_syn(flags) && len > 0);
        } else if state == SynSent && !is_answer {
            if is_syn_ack || is_back && flags & TcpFlags::RST != 0 {
                // It answers another SYN, or none (RFC 9293, 3.10.7.3).
                return Observed::Invalid;
            }
            if is_back && flags & TcpFlags::SYN == 0 {
                // Of an older connection, which the other end still has: its numbers are none of this one (RFC 9293, 3.5.1).
                return Observed::Passes;
            }
            if !is_back && flags & TcpFlags::RST != 0 && !self.is_within(direction, segment) {
                // It ends that older connection at the other end, which has told its numbers.
                return Observed::Passes;
            }
        } else if state == SynReceived && is_syn_ack && is_back && is_answer {
            // The first answer was lost, and the other end has forgotten it: this one may have another number.
            self.bits &= !(KNOWN << direction.index());
        }
        let sequence_len =
            len + u32::from(flags & TcpFlags::SYN != 0) + u32::from(flags & TcpFlags::FIN != 0);
        if !self.advance(direction, segment, sequence_len) {
            return Observed::Invalid;
        }
        let state = self.state();
        let closing = if direction == Direction::Up { ClosingUp } else { ClosingDown };
        let next = match state {
            Closed | Reset => state,
            _ if flags & TcpFlags::RST != 0 => Reset,
            None if is_syn(flags) => SynSent,
            None if is_syn_ack => SynReceived,
            None => Established,
            // The answer, or a SYN of the other end at the same time.
            SynSent if flags & TcpFlags::SYN != 0 && direction != self.initiator() => SynReceived,
            SynReceived if flags & (TcpFlags::SYN | TcpFlags::FIN) == 0 => Established,
            ClosingUp | ClosingDown if flags & TcpFlags::FIN != 0 && closing != state => Closed,
            Established | SynReceived if flags & TcpFlags::FIN != 0 => closing,
            _ => state,
        };
        // A first segment with FIN ends what was never seen to begin.
        let next =
            if state == None && flags & TcpFlags::FIN != 0 && next == Established { closing } else { next };
        self.set_state(next);
        if flags & TcpFlags::SYN != 0 {
            self.set_scale(direction, segment.scale.unwrap_or(0));
        }
        Observed::Counts
    }

    /// Whether an acknowledgement is of the SYN of this end, which has sent nothing more, with or without the data in it.
    fn acknowledges_syn(&self, of: Direction, ack: u32) -> bool {
        let data_max = if self.bits & DATA_IN_SYN == 0 { 0 } else { u32::from(u16::MAX) };
        self.next[of.index()].wrapping_sub(ack) <= data_max
    }

    /// Whether a SYN is the one that the connection has begun with, sent again. Once the connection is open, that cannot be told.
    pub(crate) fn is_same_syn(&self, direction: Direction, segment: &Segment) -> bool {
        self.state().is_half_open()
            && direction == self.initiator()
            && self.bits & KNOWN << direction.index() != 0
            && self.acknowledges_syn(direction, segment.seq.wrapping_add(1))
    }

    /// Whether a SYN on an open connection may begin another one: it must be of who has begun this one, if that is known. The number of the other end stays known.
    fn may_begin_other(&self, direction: Direction) -> bool {
        (direction == self.initiator() || self.is_midstream())
            && self.bits & KNOWN << direction.reverse().index() != 0
    }

    /// Stores a SYN on an open connection until the other end has answered it.
    fn keep_syn(&mut self, direction: Direction, segment: &Segment, len: u32) {
        let from = direction.index();
        self.next[from] = segment.seq.wrapping_add(1).wrapping_add(len);
        self.window_log[from] = segment.scale.unwrap_or(0).min(SCALE_MAX);
        self.bits &= !(KNOWN << from);
        self.set_data_in_syn(len > 0);
    }

    /// Whether a segment answers a SYN on this connection, which is open: accepts or refuses another one.
    fn answers_other_syn(&self, direction: Direction, segment: &Segment) -> bool {
        use TcpState::{Closed, None, Reset, SynSent};
        let sender = direction.reverse();
        let has_kept_syn = self.bits & KNOWN << sender.index() == 0
            && !matches!(self.state(), None | SynSent | Closed | Reset);
        has_kept_syn
            && segment.flags & TcpFlags::ACK != 0
            && segment.flags & (TcpFlags::SYN | TcpFlags::RST) != 0
            && self.acknowledges_syn(sender, segment.ack)
    }

    /// Begins the connection whose SYN was stored; the initiator is who has sent that.
    fn begin_other(&mut self, initiator: Direction) {
        let from = initiator.index();
        let scale = self.window_log[from];
        self.bits = self.bits & DATA_IN_SYN | by(initiator) | KNOWN << from | TcpState::SynSent as u8;
        self.window_log = [WINDOW_LOG_MIN; 2];
        self.scales = 0;
        self.set_scale(initiator, scale);
    }

    /// Who has begun, by the first segment that is seen.
    fn begin(&mut self, direction: Direction, segment: &Segment, is_syn_ack: bool) {
        let initiator = if is_syn_ack { direction.reverse() } else { direction };
        self.bits = self.bits & !BY_HIGHER | by(initiator);
        self.window_log = [WINDOW_LOG_MIN; 2];
        self.scales = 0;
        if !is_syn(segment.flags) {
            self.bits |= MIDSTREAM;
            self.scales = SCALE_MAX << 4 | SCALE_MAX;
            self.window_log = [WINDOW_LOG_MIN + SCALE_MAX; 2];
        }
    }

    /// Takes note of what a segment says of the numbers, if it is within the window.
    #[inline]
    fn advance(&mut self, direction: Direction, segment: &Segment, sequence_len: u32) -> bool {
        let (from, to) = (direction.index(), direction.reverse().index());
        let ahead = |a: u32, b: u32| a.wrapping_sub(b) as i32;
        if self.bits & KNOWN << from != 0 {
            let distance = ahead(segment.seq, self.next[from]).unsigned_abs();
            if distance > 1 << self.window_log[from] {
                return false;
            }
        } else if !self.may_be_next(direction, segment) {
            return false;
        }
        // An RST that answers a segment without ACK has no number of its own.
        let end = segment.seq.wrapping_add(sequence_len);
        if self.bits & KNOWN << from == 0 || ahead(end, self.next[from]) > 0 {
            self.next[from] = end;
            self.bits |= KNOWN << from;
        }
        if segment.flags & TcpFlags::ACK != 0 {
            if self.bits & KNOWN << to == 0 || ahead(segment.ack, self.next[to]) > 0 {
                self.next[to] = segment.ack;
                self.bits |= KNOWN << to;
            }
            let is_scaled = segment.flags & TcpFlags::SYN == 0;
            let scale = if is_scaled { self.scales >> (4 * from) & 15 } else { 0 };
            let log = 16 - segment.window.leading_zeros() as u8 + scale;
            self.window_log[to] = log.max(WINDOW_LOG_MIN);
        }
        true
    }

    /// Whether a segment of an end whose next number is not known may be of the connection: the first one may; behind a SYN that awaits its answer, one that acknowledges
    /// what the other end has sent. Who forges the SYN would else forge all that comes behind it.
    #[cold]
    #[inline(never)]
    fn may_be_next(&mut self, direction: Direction, segment: &Segment) -> bool {
        if matches!(self.state(), TcpState::None | TcpState::SynSent) {
            return true;
        }
        let (from, to) = (direction.index(), direction.reverse().index());
        let distance = (segment.ack.wrapping_sub(self.next[to]) as i32).unsigned_abs();
        let is_next = segment.flags & TcpFlags::ACK != 0
            && self.bits & KNOWN << to != 0
            && distance <= 1 << self.window_log[to];
        if is_next {
            // The scale of the SYN stood there. The next segment of the other end says how large the window is.
            self.window_log[from] = WINDOW_LOG_MIN + if self.is_midstream() { SCALE_MAX } else { 0 };
        }
        is_next
    }

    fn set_data_in_syn(&mut self, has_data: bool) {
        self.bits = self.bits & !DATA_IN_SYN | if has_data { DATA_IN_SYN } else { 0 };
    }

    fn set_state(&mut self, state: TcpState) {
        self.bits = self.bits & !STATE | state as u8;
    }

    fn set_scale(&mut self, direction: Direction, scale: u8) {
        let shift = 4 * direction.index();
        self.scales = self.scales & !(15 << shift) | scale.min(SCALE_MAX) << shift;
    }
}

fn by(direction: Direction) -> u8 {
    if direction == Direction::Up { 0 } else { BY_HIGHER }
}

#[cfg(test)]
mod tests {
    use super::TcpState::{Closed, ClosingDown, ClosingUp, Established, Reset, SynReceived, SynSent};
    use super::*;
    use Direction::{Down, Up};
    use Observed::{Counts, Invalid, Passes};

    const SYN: u8 = TcpFlags::SYN;
    const ACK: u8 = TcpFlags::ACK;
    const FIN: u8 = TcpFlags::FIN;
    const RST: u8 = TcpFlags::RST;

    fn segment(flags: u8, seq: u32, ack: u32) -> Segment {
        Segment { seq, ack, window: 1000, flags, scale: None }
    }

    /// Segments as direction, flags, number, acknowledgement, length; and the state behind each.
    fn walk(segments: &[(Direction, u8, u32, u32, usize, TcpState)]) -> Tcp {
        let mut tcp = Tcp::begun_by(segments[0].0);
        for (at, &(direction, flags, seq, ack, len, state)) in segments.iter().enumerate() {
            tcp.observe(direction, &segment(flags, seq, ack), len);
            assert_eq!(tcp.state(), state, "segment {at}");
        }
        tcp
    }

    const OPEN: [(Direction, u8, u32, u32, usize, TcpState); 3] = [
        (Down, SYN, u32::MAX, 0, 0, SynSent),
        (Up, SYN | ACK, 500, 0, 0, SynReceived),
        (Down, ACK, 0, 501, 0, Established),
    ];

    fn open_then(more: &[(Direction, u8, u32, u32, usize, TcpState)]) -> Tcp {
        walk(&[&OPEN[..], more].concat())
    }

    #[test]
    fn a_connection_from_its_first_to_its_last_segment() {
        let tcp = open_then(&[
            (Down, ACK, 0, 501, 100, Established),
            (Up, ACK | FIN, 501, 100, 0, ClosingUp),
            (Up, ACK | FIN, 501, 100, 0, ClosingUp),
            (Down, ACK, 100, 502, 20, ClosingUp),
            (Down, ACK | FIN, 120, 502, 0, Closed),
            (Up, ACK, 502, 121, 0, Closed),
            (Down, RST, 121, 0, 0, Closed),
        ]);
        assert_eq!((tcp.initiator(), tcp.is_midstream()), (Down, false));
        assert_eq!(size_of::<Tcp>(), 12);
    }

    #[test]
    fn a_reset_counts_within_the_window_only() {
        open_then(&[(Up, RST, 501, 0, 0, Reset)]);
        open_then(&[(Down, RST | ACK, 900, 501, 0, Reset)]);
        open_then(&[(Up, RST, 501 + 70_000, 0, 0, Established), (Up, RST, 0x8000_0000, 0, 0, Established)]);
        open_then(&[(Down, FIN | ACK, 1 << 20, 501, 0, Established)]);
        // Refused.
        walk(&[(Up, SYN, 7, 0, 0, SynSent), (Down, RST | ACK, 0, 8, 0, Reset)]);
        // A forged answer to SYN changes nothing.
        walk(&[
            (Up, SYN, 7, 0, 0, SynSent),
            (Down, SYN | ACK, 9, 99, 0, SynSent),
            (Down, SYN | ACK, 9, 8, 0, SynReceived),
        ]);
        // Nor do a forged reset, and numbers of an older connection.
        let tcp = walk(&[
            (Up, SYN, 7, 0, 0, SynSent),
            (Down, RST, 0, 0, 0, SynSent),
            (Down, RST, 0, 8, 0, SynSent),
            (Down, RST | ACK, 0, 9, 0, SynSent),
            (Down, ACK, 1 << 30, 99, 10, SynSent),
        ]);
        let (mut refused, mut forged, mut open) = (tcp, tcp, tcp);
        assert_eq!((forged.observe(Down, &segment(RST | ACK, 0, 9), 0), forged), (Invalid, tcp));
        assert_eq!((refused.observe(Down, &segment(RST | ACK, 0, 8), 0), refused.state()), (Counts, Reset));
        assert_eq!((open.observe(Down, &segment(SYN | ACK, 9, 8), 0), open.state()), (Counts, SynReceived));
        // Who has begun may give up.
        walk(&[(Up, SYN, 7, 0, 0, SynSent), (Up, RST, 8, 0, 0, Reset)]);
    }

    /// TCP Fast Open (RFC 7413, 4.2.2).
    #[test]
    fn data_in_syn_may_be_left_unacknowledged() {
        walk(&[
            (Up, SYN, 7, 0, 100, SynSent),
            (Down, SYN | ACK, 9, 8, 0, SynReceived),
            (Up, ACK, 8, 10, 100, Established),
        ]);
        walk(&[(Up, SYN, 7, 0, 100, SynSent), (Down, SYN | ACK, 9, 108, 0, SynReceived)]);
        walk(&[(Up, SYN, 7, 0, 100, SynSent), (Down, SYN | ACK, 9, 109, 0, SynSent)]);
    }

    #[test]
    fn numbers_follow_acknowledgements_over_lost_packets() {
        open_then(&[
            (Up, ACK, 501, 1_000_000, 0, Established),
            (Down, ACK, 1_000_000, 501, 100, Established),
            (Down, FIN | ACK, 1_000_100, 501, 0, ClosingDown),
        ]);
    }

    #[test]
    fn scaled_windows_reach_further() {
        let mut tcp = Tcp::begun_by(Up);
        let syn = |flags, seq, ack| Segment { scale: Some(7), ..segment(flags, seq, ack) };
        tcp.observe(Up, &syn(SYN, 0, 0), 0);
        tcp.observe(Down, &syn(SYN | ACK, 0, 1), 0);
        tcp.observe(Up, &Segment { window: 60_000, ..segment(ACK, 1, 1) }, 0);
        let mut narrow = tcp;
        tcp.observe(Down, &segment(RST, 5_000_000, 0), 0);
        narrow.observe(Down, &segment(RST, 9_000_000, 0), 0);
        assert_eq!(
            (tcp.state(), narrow.state()),
            (Reset, Established),
            "60000 scaled by 7 is 7.7 million, rounded up 8.4"
        );
    }

    #[test]
    fn connections_are_picked_up_midstream() {
        let tcp = walk(&[(Down, ACK, 1000, 5, 10, Established), (Up, ACK, 5, 1010, 1_000_000, Established)]);
        assert_eq!((tcp.initiator(), tcp.is_midstream()), (Down, true));
        let tcp = walk(&[(Down, SYN | ACK, 1000, 5, 0, SynReceived), (Up, ACK, 5, 1001, 0, Established)]);
        assert_eq!((tcp.initiator(), tcp.is_midstream()), (Up, true));
        walk(&[(Up, RST, 1, 0, 0, Reset)]);
        walk(&[(Up, FIN | ACK, 1, 1, 0, ClosingUp), (Down, FIN | ACK, 1, 2, 0, Closed)]);
        // Both open at once.
        walk(&[
            (Up, SYN, 1, 0, 0, SynSent),
            (Down, SYN, 9, 0, 0, SynReceived),
            (Up, ACK, 2, 10, 0, Established),
        ]);
        walk(&[(Up, SYN, 1, 0, 0, SynSent), (Up, SYN, 1, 0, 0, SynSent)]);
    }

    /// Segments without data, and what each is to the connection.
    fn observed(tcp: &mut Tcp, segments: &[(Direction, u8, u32, u32, Observed)]) {
        for (at, &(direction, flags, seq, ack, expected)) in segments.iter().enumerate() {
            assert_eq!(tcp.observe(direction, &segment(flags, seq, ack), 0), expected, "segment {at}");
        }
    }

    const ISN: u32 = 0x7000_0000;

    #[test]
    fn another_connection_takes_the_place_of_an_open_one_when_the_other_end_answers() {
        let reuse = [
            (Down, SYN, ISN, 0, Passes),
            (Down, SYN, ISN, 0, Passes),
            (Up, SYN | ACK, 0x3000_0000, ISN + 1, Counts),
            (Down, ACK, ISN + 1, 0x3000_0001, Counts),
        ];
        let closing = [(Up, FIN | ACK, 501, 0, 0, ClosingUp), (Down, ACK, 0, 502, 0, ClosingUp)];
        for mut tcp in [open_then(&[]), open_then(&closing), walk(&OPEN[..2])] {
            let before = tcp.state();
            observed(&mut tcp, &reuse[..2]);
            assert_eq!(tcp.state(), before);
            let answer = segment(SYN | ACK, 0x3000_0000, ISN + 1);
            assert!(tcp.is_replaced_by(Up, &answer) && !tcp.is_replaced_by(Down, &answer));
            observed(&mut tcp, &reuse[2..]);
            assert_eq!((tcp.state(), tcp.initiator(), tcp.is_midstream()), (Established, Down, false));
            // Segments of the one before are none of it.
            observed(&mut tcp, &[(Up, RST, 501, 0, Invalid), (Down, RST | ACK, 0, 501, Invalid)]);
        }
        // Refused.
        let mut tcp = open_then(&[]);
        observed(&mut tcp, &[(Down, SYN, ISN, 0, Passes), (Up, RST | ACK, 0, ISN + 1, Counts)]);
        assert_eq!(tcp.state(), Reset);
        // Its numbers lie in the window of a connection that was picked up; the end that sent first then has not begun it.
        let mut tcp = walk(&[(Up, ACK, 1000, 5, 10, Established)]);
        observed(&mut tcp, &[(Down, SYN, 900, 0, Passes), (Up, SYN | ACK, 2000, 901, Counts)]);
        assert_eq!((tcp.state(), tcp.initiator(), tcp.is_midstream()), (SynReceived, Down, false));
    }

    #[test]
    fn a_forged_syn_does_not_end_an_open_connection() {
        let forged = [
            (Down, SYN, ISN, 0, Passes),
            (Down, RST, ISN + 1, 0, Invalid),
            (Down, RST, 0, 0, Invalid),
            (Down, ACK | FIN, ISN + 1, 0x5000_0000, Invalid),
            (Up, SYN | ACK, 1 << 20, 100, Invalid),
            (Up, RST | ACK, 1 << 20, 100, Invalid),
            // Of who has not begun it.
            (Up, SYN, 1 << 20, 0, Invalid),
        ];
        let challenged = [(Up, ACK, 501, 0, Counts), (Down, ACK, 0, 501, Counts), (Up, ACK, 501, 10, Counts)];
        let unanswered =
            [(Down, ACK, 0, 501, Counts), (Up, ACK, 501, 0, Counts), (Down, ACK, 20, 501, Counts)];
        for real in [challenged, unanswered] {
            let mut tcp = open_then(&[]);
            observed(&mut tcp, &forged);
            observed(&mut tcp, &real);
            // The number of the forged SYN is forgotten.
            observed(
                &mut tcp,
                &[(Up, SYN | ACK, 1 << 20, ISN + 1, Invalid), (Down, ACK, ISN + 1, 501, Invalid)],
            );
            assert_eq!((tcp.state(), tcp.initiator()), (Established, Down));
            observed(&mut tcp, &[(Down, FIN | ACK, 20, 501, Counts), (Up, FIN | ACK, 501, 21, Counts)]);
            assert_eq!(tcp.state(), Closed);
        }
        // The other end still has the connection, and its initiator has not: the challenge is answered by a reset (RFC 9293, 3.5.1).
        let mut tcp = open_then(&[]);
        observed(&mut tcp, &[forged[0], (Up, ACK, 501, 0, Counts), (Down, RST, 0, 0, Counts)]);
        assert_eq!(tcp.state(), Reset);
    }

    #[test]
    fn a_syn_that_is_not_answered_is_replaced_by_a_later_one() {
        let mut tcp = walk(&[(Down, SYN, 7, 0, 0, SynSent)]);
        for isn in [ISN, 3, 1 << 31] {
            observed(&mut tcp, &[(Down, SYN, isn, 0, Counts), (Up, SYN | ACK, 99, 8, Invalid)]);
        }
        observed(&mut tcp, &[(Up, SYN | ACK, 99, (1 << 31) + 1, Counts)]);
        assert_eq!(tcp.state(), SynReceived);
        // The answer was lost, and comes again with another number.
        observed(&mut tcp, &[(Up, SYN | ACK, ISN, 8, Invalid), (Up, SYN | ACK, ISN, (1 << 31) + 1, Counts)]);
        observed(&mut tcp, &[(Down, ACK, (1 << 31) + 1, ISN + 1, Counts), (Up, ACK, 100, 0, Invalid)]);
        assert_eq!(tcp.state(), Established);
    }

    #[test]
    fn the_scale_and_the_data_of_a_syn_on_an_open_connection_hold_when_it_is_answered() {
        let mut tcp = open_then(&[]);
        let syn = |flags, seq, ack| Segment { scale: Some(7), ..segment(flags, seq, ack) };
        assert_eq!(tcp.observe(Down, &syn(SYN, ISN, 0), 100), Passes);
        assert_eq!(tcp.observe(Up, &syn(SYN | ACK, 0, ISN + 1), 0), Counts, "without the data");
        let wide = Segment { window: 60_000, ..segment(ACK, ISN + 1, 1) };
        assert_eq!(tcp.observe(Down, &wide, 0), Counts);
        observed(&mut tcp, &[(Up, ACK, 9_000_000, ISN + 1, Invalid), (Up, ACK, 5_000_000, ISN + 1, Counts)]);
    }
}
