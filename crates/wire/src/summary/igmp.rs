//! IGMP (RFC 3376): who wants the packets of which group.

use std::fmt;
use std::net::Ipv4Addr;

use crate::bytes::{array_at, u8_at, u16_at};

const REPORT_V3: u8 = 0x22;

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Igmp {
    kind: u8,
    /// How many groups a report of version 3 lists.
    groups: Option<u16>,
    /// The group it is about, or the first one.
    group: Option<Ipv4Addr>,
    /// Whether the first group was there, if there is one.
    pub(super) is_whole: bool,
}

impl Igmp {
    /// Reads a message whose fixed part is there.
    pub(super) fn read(message: &[u8]) -> Option<Igmp> {
        let kind = u8_at(message, 0)?;
        let fixed: [u8; 4] = array_at(message, 4)?;
        let (groups, group) = match kind {
            // Each record: type, two lengths, the group.
            REPORT_V3 => {
                let groups = u16_at(message, 6);
                (groups, array_at::<4>(message, 12).filter(|_| groups != Some(0)))
            }
            _ => (None, Some(fixed)),
        };
        let is_whole = group.is_some() || groups == Some(0);
        // A general query is about no group.
        let group = group.map(Ipv4Addr::from).filter(|group| !group.is_unspecified());
        Some(Igmp { kind, groups, group, is_whole })
    }
}

impl fmt::Display for Igmp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match name(self.kind) {
            Some(name) => f.write_str(name)?,
            None => write!(f, "type {}", self.kind)?,
        }
        if let Some(groups) = self.groups {
            write!(f, " groups {groups}")?;
        }
        self.group.map_or(Ok(()), |group| write!(f, " {group}"))
    }
}

fn name(kind: u8) -> Option<&'static str> {
    Some(match kind {
        0x11 => "query",
        0x12 => "report",
        0x16 => "report v2",
        0x17 => "leave",
        REPORT_V3 => "report v3",
        _ => return None,
    })
}
