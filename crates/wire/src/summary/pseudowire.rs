//! What stands behind MPLS labels and is no packet of IP: a pseudowire of Ethernet (RFC 4448), with or without its control word, or what is
//! said about one (RFC 5586).
//!
//! Nothing in the packet says which: both ends know it. What is shown is a guess, as in Wireshark: a control word begins with four zero bits,
//! where a packet of IP has its version; behind it, or in its place, stands what looks like an Ethernet frame.

use std::fmt;

use crate::bytes::{u8_at, u16_at};
use crate::ether::{Ethernet, ethertype, ethertype_name};
use crate::vlan::Vlan;

const CONTROL_WORD_LEN: usize = 4;
/// Bytes that show whether something is an Ethernet frame.
pub(super) const FRAME_LEAST: usize = Ethernet::LEN + 4;

/// What can be told of bytes that nothing describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guess<T> {
    Known(T),
    /// Too few were captured.
    Cut,
    Unknown,
}

/// A packet of a pseudowire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pseudowire {
    /// An Ethernet frame; with a control word, its sequence number.
    Ethernet { seq: Option<u16> },
    /// A message of a control channel of this type.
    Control(u16),
}

impl Pseudowire {
    /// What these bytes are, of which `sent` were sent.
    pub(super) fn guess(bytes: &[u8], sent: usize) -> Guess<Pseudowire> {
        if bytes.len() < sent.min(CONTROL_WORD_LEN + FRAME_LEAST) {
            return Guess::Cut;
        }
        let seq = u16_at(bytes, 2);
        match u8_at(bytes, 0).map(|first| first >> 4) {
            Some(0) if bytes.get(CONTROL_WORD_LEN..).is_some_and(is_frame) => {
                Guess::Known(Pseudowire::Ethernet { seq })
            }
            _ if is_frame(bytes) => Guess::Known(Pseudowire::Ethernet { seq: None }),
            Some(1) => seq.map_or(Guess::Unknown, |kind| Guess::Known(Pseudowire::Control(kind))),
            _ => Guess::Unknown,
        }
    }

    /// Where the frame begins.
    pub(super) fn header_len(self) -> Option<usize> {
        match self {
            Pseudowire::Ethernet { seq: Some(_) } => Some(CONTROL_WORD_LEN),
            Pseudowire::Ethernet { seq: None } => Some(0),
            Pseudowire::Control(_) => None,
        }
    }
}

/// Whether these bytes look like an Ethernet frame: one station has sent it, and its type is one that is known, and that of what follows.
pub(super) fn is_frame(bytes: &[u8]) -> bool {
    let Some(header) = Ethernet::new(bytes).filter(|_| bytes.len() >= FRAME_LEAST) else { return false };
    let src = header.src().0;
    let payload = header.payload();
    src[0] & 1 == 0
        && src != [0; 6]
        && match header.ethertype() {
            ..ethertype::LEAST => {
                matches!(payload, [0x42, 0x42, 3, ..] | [0xaa, 0xaa, 3, ..] | [0xfe, 0xfe, 3, ..])
            }
            ethertype::IPV4 => matches!(payload[0], 0x45..=0x4f),
            ethertype::IPV6 => payload[0] >> 4 == 6,
            ethertype::ARP | ethertype::RARP => payload.starts_with(&[0, 1, 8, 0]),
            tag if Vlan::follows(tag) => u16_at(payload, 2).is_some_and(|inner| {
                Vlan::follows(inner) || ethertype_name(inner).is_some() || inner < ethertype::LEAST
            }),
            other => ethertype_name(other).is_some(),
        }
}

/// With a space in front.
impl fmt::Display for Pseudowire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pseudowire::Ethernet { seq: None } => f.write_str(" ethernet (guessed)"),
            Pseudowire::Ethernet { seq: Some(seq) } => write!(f, " ethernet (guessed) seq {seq}"),
            Pseudowire::Control(kind) => write!(f, " control channel {kind:#06x} (guessed)"),
        }
    }
}
