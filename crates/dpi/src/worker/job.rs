//! What goes through the rings.

use super::memory::{ANSWER_BYTES, JOB_HEADER_BYTES};
use crate::ndpi::Found;

/// A flow, as its owner numbers flows: a slot of its table, and how often that slot was given to a new flow.
///
/// Two flows never have the same slot and the same generation at one time, so answers for a flow that is over are told apart from those
/// for its successor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlowId {
    /// Its slot, below [`Options::flows`](super::Options::flows).
    pub slot: u32,
    /// Changes each time when the slot is given to another flow.
    pub generation: u32,
}

/// What the worker is to do, beside its packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Job {
    pub(super) flow: FlowId,
    pub(super) ms: u64,
    /// Bytes of the packet.
    pub(super) bytes: u32,
    pub(super) order: Order,
    /// Protocol over IP, whose budget is used.
    pub(super) transport: u8,
}

/// What a job is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Order {
    /// Nothing: it is passed over.
    #[default]
    Skip,
    /// The first packet of a flow.
    First,
    /// Another packet of a flow.
    Next,
    /// Answer by what is known.
    GiveUp,
    /// Answer by what is known, or what ports and addresses let guess.
    Guess,
    /// The flow is over; no answer is wanted.
    End,
}

impl Job {
    pub(super) fn write(self) -> [u64; JOB_HEADER_BYTES / 8] {
        let order = self.order as u64;
        [
            u64::from(self.flow.slot) | u64::from(self.flow.generation) << 32,
            self.ms,
            u64::from(self.bytes) | order << 32 | u64::from(self.transport) << 40,
            0,
        ]
    }

    pub(super) fn read(header: [u64; JOB_HEADER_BYTES / 8]) -> Job {
        use Order::{End, First, GiveUp, Guess, Next, Skip};
        let order = usize::from((header[2] >> 32) as u8);
        Job {
            flow: FlowId { slot: header[0] as u32, generation: (header[0] >> 32) as u32 },
            ms: header[1],
            bytes: header[2] as u32,
            order: [Skip, First, Next, GiveUp, Guess, End].get(order).copied().unwrap_or_default(),
            transport: (header[2] >> 40) as u8,
        }
    }
}

/// What the worker says of a flow, as it is written into the ring of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) flow: FlowId,
    pub(super) found: Found,
    /// Packets of the flow that nDPI has seen.
    pub(super) packets: u32,
    /// Whether nothing more will be said of the flow.
    pub(super) done: bool,
    /// Whether its state was given to another flow, since there are only so many.
    pub(super) evicted: bool,
}

/// The longest strings of an answer: name of the host, ALPN, JA4, JA3. Longer ones are cut.
const STRINGS_MAX: [usize; 4] = [255, 128, 40, 40];
/// Where the strings begin, each behind a byte with its length.
const STRINGS_AT: usize = 32;
const DONE: u8 = 1;
const EVICTED: u8 = 2;

impl Told {
    pub(super) fn write(&self, strings: [Option<&[u8]>; 4]) -> [u8; ANSWER_BYTES] {
        let mut answer = [0; ANSWER_BYTES];
        answer[0..4].copy_from_slice(&self.flow.slot.to_ne_bytes());
        answer[4..8].copy_from_slice(&self.flow.generation.to_ne_bytes());
        answer[8..10].copy_from_slice(&self.found.app.to_ne_bytes());
        answer[10..12].copy_from_slice(&self.found.master.to_ne_bytes());
        answer[12..14].copy_from_slice(&self.found.category.to_ne_bytes());
        answer[14] = self.found.confidence as u8;
        answer[15] = u8::from(self.done) * DONE + u8::from(self.evicted) * EVICTED;
        answer[16..20].copy_from_slice(&self.packets.to_ne_bytes());
        answer[24..28].copy_from_slice(&(self.found.risks as u32).to_ne_bytes());
        answer[28..32].copy_from_slice(&((self.found.risks >> 32) as u32).to_ne_bytes());
        let mut at = STRINGS_AT;
        for (string, most) in strings.into_iter().zip(STRINGS_MAX) {
            let string = string.unwrap_or_default();
            let string = &string[..string.len().min(most)];
            answer[at] = string.len() as u8;
            answer[at + 1..at + 1 + string.len()].copy_from_slice(string);
            at += 1 + string.len();
        }
        answer
    }

    /// Reads an answer that may have been forged. `None`: no worker of ours writes such.
    pub(super) fn read(answer: &[u8; ANSWER_BYTES]) -> Option<(Told, [&[u8]; 4])> {
        let half = |at: usize| u16::from_ne_bytes([answer[at], answer[at + 1]]);
        let word =
            |at: usize| u32::from_ne_bytes([answer[at], answer[at + 1], answer[at + 2], answer[at + 3]]);
        let flags = answer[15];
        if answer[14] > 5 || flags & !(DONE | EVICTED) != 0 {
            return None;
        }
        let told = Told {
            flow: FlowId { slot: word(0), generation: word(4) },
            found: Found {
                app: half(8),
                master: half(10),
                category: half(12),
                confidence: crate::ndpi::confidence(answer[14]),
                more: false,
                risks: u64::from(word(24)) | u64::from(word(28)) << 32,
            },
            packets: word(16),
            done: flags & DONE != 0,
            evicted: flags & EVICTED != 0,
        };
        let mut strings = [[].as_slice(); 4];
        let mut at = STRINGS_AT;
        for (string, most) in strings.iter_mut().zip(STRINGS_MAX) {
            let bytes = usize::from(*answer.get(at)?);
            if bytes > most {
                return None;
            }
            *string = answer.get(at + 1..at + 1 + bytes)?;
            at += 1 + bytes;
        }
        Some((told, strings))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Confidence;

    #[test]
    fn jobs_are_read_as_they_were_written() {
        for order in [Order::Skip, Order::First, Order::Next, Order::GiveUp, Order::Guess, Order::End] {
            let flow = FlowId { slot: 0x1234_5678, generation: u32::MAX };
            let job = Job { flow, ms: 1 << 50, bytes: 1500, order, transport: 17 };
            assert_eq!(Job::read(job.write()), job);
        }
        assert_eq!(Job::read([0, 0, 200 << 32, 0]).order, Order::Skip);
    }

    #[test]
    fn answers_are_read_as_they_were_written() {
        let found = Found {
            app: 91,
            master: 5,
            category: 4,
            confidence: Confidence::Payload,
            more: false,
            risks: 1 << 40 | 2,
        };
        let flow = FlowId { slot: 3, generation: 9 };
        let told = Told { flow, found, packets: 70_000, done: true, evicted: false };
        let long = [b'a'; 300];
        let answer = told.write([Some(&long), Some(b"h2,http/1.1"), None, Some(b"")]);
        let (read, strings) = Told::read(&answer).unwrap();
        assert_eq!(read, told);
        assert_eq!(strings, [&long[..255], b"h2,http/1.1", b"", b""]);
    }

    #[test]
    fn forged_answers_are_refused() {
        let mut answer = [0; ANSWER_BYTES];
        for (at, value) in [(14, 6), (15, 4), (STRINGS_AT + 1, 129), (STRINGS_AT + 2, 41)] {
            answer[at] = value;
            assert!(Told::read(&answer).is_none(), "byte {at} is {value}");
            answer[at] = 0;
        }
        assert!(Told::read(&answer).is_some());
        assert!(Told::read(&[0xff; ANSWER_BYTES]).is_none());
    }
}
