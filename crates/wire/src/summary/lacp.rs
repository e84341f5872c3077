//! LACP (IEEE 802.1AX): whether a link takes part in an aggregate.

use std::fmt;

use crate::bytes::{array_at, u8_at, u16_at};
use crate::mac::Mac;

/// Its number among the slow protocols.
const SUBTYPE: u8 = 1;
/// Where the elements of both sides are.
const ACTOR_AT: usize = 2;
const PARTNER_AT: usize = 22;

/// Both sides, as the sender sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lacp {
    actor: Side,
    partner: Option<Side>,
    /// Whether the other side was there, if there is one.
    pub(super) is_whole: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Side {
    system: Mac,
    key: u16,
    port: u16,
    state: u8,
}

impl Lacp {
    /// Reads a slow protocol's message, if it is one of these.
    pub(super) fn read(bytes: &[u8]) -> Option<Lacp> {
        u8_at(bytes, 0).filter(|&subtype| subtype == SUBTYPE)?;
        let is_whole = bytes.len() >= PARTNER_AT + Side::LEN;
        Some(Lacp {
            actor: Side::read(bytes, ACTOR_AT, 1)?,
            partner: Side::read(bytes, PARTNER_AT, 2),
            is_whole,
        })
    }

    /// Whether a slow protocol's message ends before it is known to be one of these, or not.
    pub(super) fn is_short(bytes: &[u8]) -> bool {
        bytes.len() < ACTOR_AT + Side::LEN && u8_at(bytes, 0).is_none_or(|subtype| subtype == SUBTYPE)
    }
}

impl Side {
    /// Of an element, without what is reserved at its end.
    const LEN: usize = 17;

    /// Reads the element that must be here: its type, its length of 20, a priority of two bytes, then what is shown.
    fn read(bytes: &[u8], at: usize, kind: u8) -> Option<Side> {
        array_at(bytes, at).filter(|&head| head == [kind, 20])?;
        Some(Side {
            system: Mac(array_at(bytes, at + 4)?),
            key: u16_at(bytes, at + 10)?,
            port: u16_at(bytes, at + 14)?,
            state: u8_at(bytes, at + 16)?,
        })
    }
}

impl fmt::Display for Lacp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lacp actor {}", self.actor)?;
        self.partner.map_or(Ok(()), |partner| write!(f, " partner {partner}"))
    }
}

/// Of the state, what tells whether the link works.
impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const STATES: [(u8, &str); 5] = [
            (0x08, "sync"),
            (0x10, "collecting"),
            (0x20, "distributing"),
            (0x40, "defaulted"),
            (0x80, "expired"),
        ];
        write!(f, "{} key {} port {}", self.system, self.key, self.port)?;
        let names = STATES.iter().filter(|(bit, _)| self.state & bit != 0);
        for (i, (_, name)) in names.enumerate() {
            write!(f, "{}{name}", if i == 0 { " " } else { "," })?;
        }
        Ok(())
    }
}
