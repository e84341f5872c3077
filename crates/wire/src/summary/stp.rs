//! Spanning tree (IEEE 802.1D, 802.1w, 802.1s).

use std::fmt;

use crate::bytes::{array_at, u8_at, u16_at, u32_at};
use crate::mac::Mac;

const RAPID: u8 = 2;
const MULTIPLE: u8 = 3;
const CONFIGURATION: u8 = 0;
const RAPID_CONFIGURATION: u8 = 2;
const TOPOLOGY_CHANGE_NOTICE: u8 = 0x80;
const TOPOLOGY_CHANGE: u8 = 1;

/// A bridge: its priority and address.
type Bridge = (u16, Mac);

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stp {
    /// Which bridge is the root, and how far it is from who says so; with multiple trees `bridge` is the root of the region.
    Configuration { version: u8, flags: u8, root: Bridge, cost: u32, bridge: Bridge, port: u16 },
    /// A port went up or down.
    TopologyChange,
    /// Something else: the number of its protocol, and its type.
    Other(u16, u8),
}

impl Stp {
    /// Reads what follows the header of 802.2, if what is shown of it is there.
    pub(super) fn read(bytes: &[u8]) -> Option<Stp> {
        let bridge = |at| Some((u16_at(bytes, at)?, Mac(array_at(bytes, at + 2)?)));
        let (protocol, version, kind) = (u16_at(bytes, 0)?, u8_at(bytes, 2)?, u8_at(bytes, 3)?);
        Some(match (protocol, kind) {
            (0, TOPOLOGY_CHANGE_NOTICE) => Stp::TopologyChange,
            (0, CONFIGURATION | RAPID_CONFIGURATION) => Stp::Configuration {
                version,
                flags: u8_at(bytes, 4)?,
                root: bridge(5)?,
                cost: u32_at(bytes, 13)?,
                bridge: bridge(17)?,
                port: u16_at(bytes, 25)?,
            },
            _ => Stp::Other(protocol, kind),
        })
    }
}

impl fmt::Display for Stp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (version, flags, root, cost, bridge, port) = match *self {
            Stp::TopologyChange => return f.write_str("topology change notice"),
            Stp::Other(0, kind) => return write!(f, "type {kind:#04x}"),
            Stp::Other(protocol, kind) => return write!(f, "protocol {protocol:#06x} type {kind:#04x}"),
            Stp::Configuration { version, flags, root, cost, bridge, port } => {
                (version, flags, root, cost, bridge, port)
            }
        };
        match version {
            RAPID => f.write_str("rapid ")?,
            MULTIPLE => f.write_str("multiple ")?,
            _ => {}
        }
        write!(f, "root {:04x}.{} cost {cost}", root.0, root.1)?;
        if version == MULTIPLE {
            // There it is the root of the region; the bridge itself comes behind the message of 802.1w (IEEE 802.1Q, 14).
            write!(f, " region {:04x}.{}", bridge.0, bridge.1)?;
        } else if bridge != root {
            write!(f, " bridge {:04x}.{}", bridge.0, bridge.1)?;
        }
        write!(f, " port {port:#06x}")?;
        if flags & TOPOLOGY_CHANGE != 0 { f.write_str(" topology change") } else { Ok(()) }
    }
}
