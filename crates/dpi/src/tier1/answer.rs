//! What a detector answers.

use crate::{By, Confidence, Details, Protocol, Verdict};

/// The answer to some bytes.
#[derive(Debug)]
pub(super) enum Answer {
    /// These bytes are not this protocol, whatever follows.
    No,
    /// Nothing speaks against it, and too little for it.
    Maybe,
    /// The protocol begins so; the rest of the message must still come.
    Likely(Verdict),
    /// It is this.
    Yes(Verdict, Details),
}

impl Answer {
    /// It is this protocol, on this evidence, with nothing else to tell.
    pub(super) fn yes(protocol: Protocol, evidence: &'static str) -> Self {
        Answer::Yes(verdict(protocol, Confidence::Payload, evidence), Details::default())
    }

    /// It begins as this protocol does.
    pub(super) fn likely(protocol: Protocol, evidence: &'static str) -> Self {
        Answer::Likely(verdict(protocol, Confidence::Partial, evidence))
    }

    /// It is carried by `master`.
    pub(super) fn over(mut self, master: Protocol) -> Self {
        if let Answer::Yes(verdict, _) | Answer::Likely(verdict) = &mut self {
            verdict.master = master;
        }
        self
    }

    /// With these details.
    pub(super) fn with(self, details: Details) -> Self {
        match self {
            Answer::Yes(verdict, _) => Answer::Yes(verdict, details),
            other => other,
        }
    }

    /// The surer of two answers.
    pub(super) fn or(self, other: impl FnOnce() -> Answer) -> Self {
        if let Answer::Yes(..) = self {
            return self;
        }
        match (self, other()) {
            (_, yes @ Answer::Yes(..)) => yes,
            (likely @ Answer::Likely(_), _) | (_, likely @ Answer::Likely(_)) => likely,
            (Answer::Maybe, _) | (_, Answer::Maybe) => Answer::Maybe,
            _ => Answer::No,
        }
    }
}

fn verdict(protocol: Protocol, confidence: Confidence, evidence: &'static str) -> Verdict {
    Verdict { protocol, master: Protocol::UNKNOWN, by: By::Tier1, confidence, evidence }
}

/// Bytes of a string that a detail may hold.
const TEXT_MAX: usize = 255;

/// A string of a packet as a detail: in lower case, 255 bytes at most, what is not UTF-8 replaced. Not escaped: who prints it must.
pub(super) fn text(bytes: &[u8]) -> Option<Box<str>> {
    if bytes.is_empty() {
        return None;
    }
    let mut text = String::from_utf8_lossy(&bytes[..bytes.len().min(TEXT_MAX)]).to_ascii_lowercase();
    text.truncate(text.floor_char_boundary(TEXT_MAX));
    Some(text.into())
}
