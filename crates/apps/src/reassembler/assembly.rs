//! A packet in the making: one buffer, and what is in it.
//!
//! ```text
//! headers of the first fragment │ payload: ▓▓▓▓▓▓▓▓░░░░▓▓▓▓░░░░
//!                               0        ranges        end, once the last fragment has come
//! ```
//!
//! The fragment that comes first is the buffer, and the others are copied into it. Fragments that come in order cost one copy
//! of their bytes each, into the place where they stay.

use super::piece::{Congestion, Piece};
use engine::{Held, MAX_PAYLOAD, Packet, Pool};

/// A packet in the making.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    /// Headers, once the first fragment has come, and payload. `None` before any has come, and when the packet was given up.
    packet: Option<Held>,
    /// Why it was given up.
    given_up: Option<Refusal>,
    /// Length of the headers; 0 until the first fragment comes.
    headers_len: usize,
    has_first: bool,
    /// Length of the payload, once the last fragment has come.
    end: Option<usize>,
    /// Parts of the payload that are there: sorted, and with gaps between them.
    ranges: Vec<Range>,
    fragments: u32,
    congestion: Congestion,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    start: usize,
    end: usize,
}

/// Ranges that an assembly keeps memory for: fragments that come in order need one.
const RANGES_KEPT: usize = 16;

/// The fate of a fragment.
#[derive(Debug)]
pub(super) enum Outcome {
    /// It is the buffer now.
    Kept,
    /// Its bytes are in the buffer.
    Joined(Packet),
    /// Its bytes were the last that lacked.
    Whole { joined: Packet, whole: Packet, congestion: Congestion },
    /// It was not taken; if for more than being a duplicate, the whole packet is given up.
    Refused { packet: Packet, given_up: Option<Packet>, refusal: Refusal },
}

/// Why a fragment was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It says otherwise about bytes, or about the length, than another.
    Overlap,
    /// There were too many before it.
    TooMany,
    /// The packet would become too long.
    TooLong,
    /// The packet would become so long that it takes a large one, and there is none.
    NoPacket,
    /// It says what is known.
    Duplicate,
}

impl Assembly {
    /// Makes ready for another packet. The list of ranges keeps its memory, unless it is that of an unusual packet.
    pub(super) fn reset(&mut self) {
        let mut ranges = std::mem::take(&mut self.ranges);
        ranges.clear();
        ranges.shrink_to(RANGES_KEPT);
        *self = Assembly { ranges, ..Assembly::default() };
    }

    /// Takes the buffer out.
    pub(super) fn take_packet(&mut self) -> Option<Packet> {
        self.packet.take().map(Held::release)
    }

    /// Whether the buffer is of the same pool and size as this packet; `None` where there is none.
    pub(super) fn is_beside(&self, packet: &Packet) -> Option<bool> {
        self.packet.as_ref().map(|buffer| buffer.is_beside(packet))
    }

    /// Whether the buffer is a large packet.
    #[inline]
    pub(super) fn is_large(&self) -> bool {
        self.packet.as_ref().is_some_and(|buffer| is_large(buffer))
    }

    /// Whether the buffer would become a large packet with this fragment, which is not going to be refused.
    #[inline]
    pub(super) fn takes_large(
        &self,
        piece: &Piece,
        packet: &Packet,
        max_fragments: u32,
        max_len: usize,
    ) -> bool {
        let needs_large = || (MAX_PAYLOAD + 1..=max_len).contains(&self.len_with(piece));
        let takes_large = match &self.packet {
            Some(buffer) => !is_large(buffer) && needs_large(),
            None => self.given_up.is_none() && (is_large(packet) || needs_large()),
        };
        takes_large && self.check(piece, packet, max_fragments, max_len).is_ok()
    }

    /// Length of the buffer with a fragment.
    #[inline]
    fn len_with(&self, piece: &Piece) -> usize {
        // The first fragment may bring headers that were not counted yet.
        let headers_len = self.headers_len.max(piece.headers_len);
        headers_len + self.known_end().max(piece.off + piece.len)
    }

    /// Where the last part ends that is there.
    #[inline]
    fn known_end(&self) -> usize {
        self.ranges.last().map_or(0, |last| last.end)
    }

    /// Adds a fragment.
    pub(super) fn add(
        &mut self,
        piece: &Piece,
        mut packet: Packet,
        max_fragments: u32,
        pool: &mut Pool,
    ) -> Outcome {
        if let Some(refusal) = self.given_up {
            return Outcome::Refused { packet, given_up: None, refusal };
        }
        let len = self.len_with(piece);
        let gap = match self.check(piece, &packet, max_fragments, pool.max_len()) {
            Ok(gap) => gap,
            Err(refusal) => return self.refuse(packet, refusal),
        };
        if len > MAX_PAYLOAD {
            let has_room = match &mut self.packet {
                Some(buffer) => buffer.make_room(pool, len),
                None => pool.make_room(&mut packet, len),
            };
            if !has_room {
                return self.refuse(packet, Refusal::NoPacket);
            }
        }
        self.fragments += 1;
        self.congestion = self.congestion.and(piece.congestion);
        if !piece.has_more {
            self.end = Some(piece.off + piece.len);
        }
        self.fill(gap, piece.off, piece.off + piece.len);
        match self.packet.take() {
            None => self.keep(piece, packet),
            Some(buffer) => self.join(piece, buffer, packet),
        }
    }

    /// Gives the packet up, unless the fragment is merely a duplicate.
    #[cold]
    fn refuse(&mut self, packet: Packet, refusal: Refusal) -> Outcome {
        let is_duplicate = refusal == Refusal::Duplicate;
        let given_up = if is_duplicate { None } else { self.take_packet() };
        if !is_duplicate {
            self.given_up = Some(refusal);
        }
        Outcome::Refused { packet, given_up, refusal }
    }

    /// Whether a fragment fits. Returns before which range it belongs.
    #[inline]
    fn check(
        &self,
        piece: &Piece,
        packet: &Packet,
        max_fragments: u32,
        max_len: usize,
    ) -> Result<usize, Refusal> {
        let (start, end) = (piece.off, piece.off + piece.len);
        // A gap, or the end, is where most fragments belong.
        let gap = match self.ranges.last() {
            Some(last) if start < last.end => self.ranges.partition_point(|range| range.end <= start),
            _ => self.ranges.len(),
        };
        if let Some(next) = self.ranges.get(gap).filter(|next| next.start < end) {
            let is_inside = next.start <= start && end <= next.end;
            return Err(if is_inside && self.is_known(piece, packet) {
                Refusal::Duplicate
            } else {
                Refusal::Overlap
            });
        }
        match self.end {
            Some(total) if end > total || !piece.has_more => return Err(Refusal::Overlap),
            None if !piece.has_more && end < self.known_end() => return Err(Refusal::Overlap),
            _ => {}
        }
        if self.fragments >= max_fragments {
            Err(Refusal::TooMany)
        } else if self.len_with(piece) > max_len {
            Err(Refusal::TooLong)
        } else {
            Ok(gap)
        }
    }

    /// Whether the buffer holds the same bytes, and the fragment ends the packet where that is known to end.
    #[cold]
    fn is_known(&self, piece: &Piece, packet: &Packet) -> bool {
        let Some(buffer) = &self.packet else { return false };
        let known = &buffer.data()[self.headers_len + piece.off..][..piece.len];
        let ends_alike = piece.has_more || self.end == Some(piece.off + piece.len);
        ends_alike && *known == packet.data()[piece.headers_len..][..piece.len]
    }

    /// Notes that a part is there which lies before range `gap` and behind the one before that.
    #[inline]
    fn fill(&mut self, gap: usize, start: usize, end: usize) {
        let follows = gap > 0 && self.ranges[gap - 1].end == start;
        let precedes = self.ranges.get(gap).is_some_and(|next| next.start == end);
        match (follows, precedes) {
            (true, true) => {
                self.ranges[gap - 1].end = self.ranges[gap].end;
                self.ranges.remove(gap);
            }
            (true, false) => self.ranges[gap - 1].end = end,
            (false, true) => self.ranges[gap].start = start,
            (false, false) => self.ranges.insert(gap, Range { start, end }),
        }
    }

    /// Makes the fragment the buffer.
    fn keep(&mut self, piece: &Piece, mut packet: Packet) -> Outcome {
        packet.truncate(piece.headers_len + piece.len);
        if piece.off == 0 {
            self.headers_len = piece.headers_len;
            self.has_first = true;
        } else {
            packet.trim_front(piece.headers_len);
            // There is room: `check` has seen to it. What is opened will be written before it is read.
            let _ = packet.open_front(piece.off);
        }
        self.packet = Some(Held::new(packet));
        Outcome::Kept
    }

    /// Copies the fragment into the buffer.
    #[inline]
    fn join(&mut self, piece: &Piece, mut buffer: Held, packet: Packet) -> Outcome {
        let data = packet.data();
        if piece.off == 0 {
            let _ = buffer.prepend(&data[..piece.headers_len]);
            self.headers_len = piece.headers_len;
            self.has_first = true;
        }
        put(&mut buffer, self.headers_len + piece.off, &data[piece.headers_len..][..piece.len]);
        let is_whole = self.has_first
            && self
                .end
                .is_some_and(|end| matches!(self.ranges[..], [Range { start: 0, end: last }] if last == end));
        if is_whole {
            return Outcome::Whole { joined: packet, whole: buffer.release(), congestion: self.congestion };
        }
        self.packet = Some(buffer);
        Outcome::Joined(packet)
    }
}

pub(super) fn is_large(packet: &Packet) -> bool {
    packet.max_len() > MAX_PAYLOAD
}

/// Puts bytes at a place in the buffer, or behind its end.
#[inline]
fn put(buffer: &mut Packet, at: usize, bytes: &[u8]) {
    // All errors here would be those of a length that `check` has seen to.
    if buffer.len() < at {
        let _ = buffer.resize(at);
    }
    if buffer.len() == at {
        let _ = buffer.append(bytes);
    } else {
        buffer.data_mut()[at..][..bytes.len()].copy_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::{Assembly, RANGES_KEPT, Range};

    #[test]
    fn an_unusual_packet_leaves_little_memory_behind() {
        let mut assembly = Assembly::default();
        assembly.ranges.extend((0..4000).map(|i| Range { start: 16 * i, end: 16 * i + 8 }));
        assembly.reset();
        assert!(assembly.ranges.is_empty() && assembly.ranges.capacity() <= RANGES_KEPT);
    }
}
