//! What is kept of each flow in its table: 24 bytes, so that it shares two cache lines with key and counts.

use super::Progress;
use dpi::{By, Confidence, Protocol, Verdict};

/// How far the identification of a flow is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Phase {
    /// Nothing was said yet.
    #[default]
    Silent,
    /// Tier 1 waits for more; tier 2 may look as well.
    Waiting,
    /// It is none of tier 1's protocols.
    Handed,
    /// It is identified by tier 1, and tier 2 looks on, for risks.
    Watched,
    /// It is known, or will never be.
    Settled,
}

/// Where the state of a flow that is not settled is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    None,
    /// A state of tier 1, as bits.
    Tier1(u32),
    /// A question to tier 2, which holds the state of tier 1 as well.
    Asked(u32),
}

/// What is kept of a flow.
///
/// PERF: the second cache line of the flow's entry begins behind `master`. Its counts are there, so that line is written with each packet. Of a settled flow the
/// first one stays as it is.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Look {
    /// Number of the flow, from 1.
    pub(super) number: u32,
    /// Until it is identified, the sequence number of the initiator's first byte, if [`STARTED`]; then the place of its details and one, or 0.
    word: u32,
    state: u32,
    protocol: u16,
    master: u16,
    kept: OwnerNumbers,
    /// By whom and how sure: 2 and 3 bits.
    sure: u8,
    evidence: u8,
    phase: Phase,
    flags: u8,
}

/// What the owner of a spy keeps with a flow that is settled or silent: a number for each direction, 15 bits, 0 for none; and the bits below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OwnerNumbers(u32);

/// Bits of a number.
const OWNER_NUMBER_BITS: usize = 15;
/// The largest number that can be kept.
pub(crate) const OWNER_NUMBER_MAX: u16 = (1 << OWNER_NUMBER_BITS) - 1;
/// The last packet came from the higher end.
const LAST_DOWN: u32 = 1 << 30;
/// A packet was looked at without its number, and the owner has not said what became of it: it may change the numbers of both directions.
const IN_QUESTION: u32 = 1 << 31;

impl OwnerNumbers {
    /// The number of a direction.
    #[inline]
    fn of(self, direction: flow::Direction) -> u16 {
        (self.0 >> (OWNER_NUMBER_BITS * direction.index())) as u16 & OWNER_NUMBER_MAX
    }
}

/// The first packet came from the higher end.
const FIRST_DOWN: u8 = 1;
/// The sequence number of the initiator's first byte is known.
const STARTED: u8 = 2;
/// `state` is that of tier 1, or a question.
const HAS_TIER1: u8 = 4;
const IS_ASKED: u8 = 8;
/// A packet of the burst that is looked at waits, or one of another was looked at.
const PENDING: u8 = 16;
/// Tier 2 was not asked, as too many flows were being asked about.
const UNASKED: u8 = 32;
/// Tier 2 was lost before it answered.
const LOST: u8 = 64;
/// Tier 2 did not get a packet, as its ring was full.
const RING_FULL: u8 = 128;

impl Look {
    pub(super) fn new(number: u32, first: flow::Direction) -> Look {
        let flags = if first == flow::Direction::Down { FIRST_DOWN } else { 0 };
        Look { number, flags, ..Look::default() }
    }

    /// The direction of the first packet.
    pub(super) fn first(&self) -> flow::Direction {
        if self.flags & FIRST_DOWN == 0 { flow::Direction::Up } else { flow::Direction::Down }
    }

    #[inline]
    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    /// The number that is kept for the next packet of a direction; 0 if there is none, or it is in question.
    #[inline]
    pub(super) fn kept(&self, direction: flow::Direction) -> u16 {
        if self.kept.0 & IN_QUESTION == 0 { self.kept.of(direction) } else { 0 }
    }

    /// The number that is kept for the direction of the last packet.
    pub(super) fn kept_for_last(&self) -> u16 {
        let is_down = self.kept.0 & LAST_DOWN != 0;
        self.kept.of(if is_down { flow::Direction::Down } else { flow::Direction::Up })
    }

    /// A packet of this direction was dealt with by its number.
    #[inline]
    pub(super) fn note_kept(&mut self, direction: flow::Direction) {
        self.kept.0 = self.kept.0 & !LAST_DOWN | (direction.index() as u32) << 30;
    }

    /// A packet was looked at without its number.
    #[inline]
    pub(super) fn question_kept(&mut self) {
        if self.kept.0 != 0 {
            self.kept.0 |= IN_QUESTION;
        }
    }

    /// Keeps a number for a direction, of which the last packet was; for the other one as well as before, unless that is to be forgotten.
    pub(super) fn keep(&mut self, direction: flow::Direction, number: u16, forgets_other: bool) {
        debug_assert!(number <= OWNER_NUMBER_MAX);
        let other = direction.reverse();
        let of_other = if forgets_other { 0 } else { self.kept.of(other) };
        let place = |number: u16, direction: flow::Direction| {
            u32::from(number & OWNER_NUMBER_MAX) << (OWNER_NUMBER_BITS * direction.index())
        };
        self.kept = OwnerNumbers(place(number, direction) | place(of_other, other));
        self.note_kept(direction);
    }

    /// Nothing but the flow itself has been looked at.
    #[inline]
    pub(super) fn is_silent(&self) -> bool {
        self.phase == Phase::Silent && self.flags & PENDING == 0
    }

    /// More than the flow itself is looked at from now on: it is not silent any more, and numbers that were kept while it was are forgotten.
    #[inline]
    pub(super) fn set_pending(&mut self) {
        self.flags |= PENDING;
        self.kept = OwnerNumbers::default();
    }

    /// Whether a number may be kept with it: nothing more will become known of it, or not by packets that say nothing.
    pub(super) fn can_keep(&self) -> bool {
        self.phase == Phase::Settled || self.is_silent()
    }

    /// Takes note that tier 2 was not asked. Whether that is news.
    pub(super) fn note_unasked(&mut self) -> bool {
        let is_news = self.flags & UNASKED == 0;
        self.flags |= UNASKED;
        is_news
    }

    /// Takes note that the ring of tier 2 was full.
    pub(super) fn note_ring_full(&mut self) {
        self.flags |= RING_FULL;
    }

    /// Takes note that tier 2 was lost before it answered.
    pub(super) fn note_lost(&mut self) {
        self.flags |= LOST;
    }

    /// How far its identification is.
    #[inline]
    pub(super) fn progress(&self) -> Progress {
        if self.phase == Phase::Settled || self.protocol != 0 {
            Progress::Done
        } else if self.flags & (UNASKED | RING_FULL) != 0 {
            Progress::NoRoom
        } else if self.flags & LOST != 0 {
            Progress::Lost
        } else {
            Progress::Open
        }
    }

    /// How sure its verdict is.
    #[inline]
    pub(super) fn confidence(&self) -> Confidence {
        use Confidence::{Address, Partial, Payload, Port, Related, Unknown};
        [Unknown, Port, Address, Related, Partial, Payload, Unknown, Unknown][usize::from(self.sure >> 2 & 7)]
    }

    pub(super) fn set_phase(&mut self, phase: Phase) {
        self.phase = phase;
    }

    pub(super) fn state(&self) -> State {
        match self.flags & (HAS_TIER1 | IS_ASKED) {
            0 => State::None,
            HAS_TIER1 => State::Tier1(self.state),
            _ => State::Asked(self.state),
        }
    }

    pub(super) fn set_state(&mut self, state: State) {
        self.flags &= !(HAS_TIER1 | IS_ASKED);
        let (bits, flag) = match state {
            State::None => (0, 0),
            State::Tier1(bits) => (bits, HAS_TIER1),
            State::Asked(bits) => (bits, IS_ASKED),
        };
        self.state = bits;
        self.flags |= flag;
    }

    /// The initiator's first byte has this sequence number.
    pub(super) fn set_start(&mut self, sequence: u32) {
        if self.phase != Phase::Settled && self.protocol == 0 {
            self.word = sequence;
            self.flags |= STARTED;
        }
    }

    pub(super) fn start(&self) -> Option<u32> {
        (self.flags & STARTED != 0).then_some(self.word)
    }

    #[inline]
    pub(super) fn protocol(&self) -> u16 {
        self.protocol
    }

    #[inline]
    pub(super) fn master(&self) -> u16 {
        self.master
    }

    /// The place of its details, if there are any.
    pub(super) fn details(&self) -> Option<u32> {
        if self.flags & STARTED != 0 { None } else { self.word.checked_sub(1) }
    }

    pub(super) fn set_details(&mut self, place: Option<u32>) {
        self.flags &= !STARTED;
        self.word = place.map_or(0, |place| place + 1);
    }

    /// Takes note of a verdict, of which the evidence has this number.
    pub(super) fn set_verdict(&mut self, verdict: &Verdict, evidence: u8) {
        self.protocol = verdict.protocol.number();
        self.master = verdict.master.number();
        self.sure = verdict.by as u8 | (verdict.confidence as u8) << 2;
        self.evidence = evidence;
    }

    /// Whether there is a verdict.
    pub(super) fn is_identified(&self) -> bool {
        self.sure & 3 != By::Nobody as u8
    }

    /// The verdict, with the words of its evidence.
    pub(super) fn verdict(&self, evidence: impl Fn(u8) -> &'static str) -> Verdict {
        let by = [By::Nobody, By::Tier1, By::Ndpi][usize::from(self.sure & 3).min(2)];
        let confidence = self.confidence();
        Verdict {
            protocol: Protocol::from_number(self.protocol),
            master: Protocol::from_number(self.master),
            by,
            confidence,
            evidence: evidence(self.evidence),
        }
    }
}

const _: () = assert!(size_of::<Look>() == 24);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out() {
        let mut look = Look::new(7, flow::Direction::Down);
        assert_eq!(
            (look.first(), look.state(), look.start(), look.details()),
            (flow::Direction::Down, State::None, None, None)
        );
        look.set_start(0);
        assert_eq!((look.start(), look.details()), (Some(0), None));
        for state in [State::Tier1(0), State::Asked(u32::MAX), State::None, State::Tier1(9)] {
            look.set_state(state);
            assert_eq!(look.state(), state);
        }
        for by in [By::Nobody, By::Tier1, By::Ndpi] {
            for confidence in [
                Confidence::Unknown,
                Confidence::Port,
                Confidence::Address,
                Confidence::Related,
                Confidence::Partial,
                Confidence::Payload,
            ] {
                let verdict = Verdict {
                    protocol: Protocol::HTTP,
                    master: Protocol::TLS,
                    by,
                    confidence,
                    evidence: "x",
                };
                look.set_verdict(&verdict, 3);
                assert_eq!(look.verdict(|number| if number == 3 { "x" } else { "y" }), verdict);
            }
        }
        look.set_details(Some(0));
        assert_eq!((look.details(), look.start(), look.number), (Some(0), None, 7));
    }
}
