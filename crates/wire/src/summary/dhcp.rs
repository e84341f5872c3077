//! DHCP (RFC 2131, RFC 2132), BOOTP (RFC 951) and DHCP for IPv6 (RFC 8415).

use std::fmt;
use std::net::Ipv4Addr;

use crate::bytes::{array_at, u8_at, u32_at};
use crate::mac::Mac;

/// The ports of server and client.
pub(super) const PORTS: [u16; 2] = [67, 68];
/// The ports of client and server, for IPv6.
pub(super) const PORTS_V6: [u16; 2] = [546, 547];

/// Bytes that show that a message is one: of IPv4, to the address that is given; of IPv6, type and number.
pub(super) const LEAST: usize = 20;
pub(super) const LEAST_V6: usize = 4;

/// In front of the options (RFC 2131, 3).
const MAGIC: u32 = 0x6382_5363;
const OPTIONS_AT: usize = 240;

const OPTION_PAD: u8 = 0;
const OPTION_REQUESTED: u8 = 50;
/// More options stand where a file or a server is named; they are not read (RFC 2132, 9.3).
const OPTION_OVERLOAD: u8 = 52;
const OPTION_KIND: u8 = 53;
const OPTION_END: u8 = 255;

/// A message of DHCP or BOOTP.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dhcp {
    is_reply: bool,
    id: u32,
    client: Option<Mac>,
    /// Type of message; BOOTP has none.
    kind: Option<u8>,
    /// Whether it has none: its options were all there, and none stands elsewhere.
    is_bootp: bool,
    /// The address that a server gives.
    given: Option<Ipv4Addr>,
    /// The address that a client asks for.
    wanted: Option<Ipv4Addr>,
    /// Whether the end of the options was there.
    pub(super) is_whole: bool,
}

impl Dhcp {
    /// Reads a message whose fixed part is there.
    pub(super) fn read(message: &[u8]) -> Option<Dhcp> {
        let is_reply = match u8_at(message, 0)? {
            1 => false,
            2 => true,
            _ => return None,
        };
        let has_mac = message.get(1..3)? == [1, 6];
        let given = Ipv4Addr::from(array_at::<4>(message, 16)?);
        let mut dhcp = Dhcp {
            is_reply,
            id: u32_at(message, 4)?,
            client: array_at(message, 28).map(Mac).filter(|_| has_mac),
            kind: None,
            is_bootp: false,
            given: Some(given).filter(|given| is_reply && !given.is_unspecified()),
            wanted: None,
            is_whole: false,
        };
        match u32_at(message, OPTIONS_AT - 4) {
            Some(MAGIC) => dhcp.read_options(&message[OPTIONS_AT..]),
            // What a vendor has there is none of these options (RFC 951, 3).
            other => (dhcp.is_bootp, dhcp.is_whole) = (other.is_some(), other.is_some()),
        }
        dhcp.is_bootp &= dhcp.kind.is_none();
        Some(dhcp)
    }

    /// Each option takes a byte or more, so this ends.
    fn read_options(&mut self, mut options: &[u8]) {
        let mut is_overloaded = false;
        while let Some((&code, rest)) = options.split_first() {
            options = match code {
                OPTION_PAD => rest,
                OPTION_END => {
                    (self.is_whole, self.is_bootp) = (true, !is_overloaded);
                    return;
                }
                _ => {
                    let Some((value, rest)) =
                        rest.split_first().and_then(|(&len, rest)| rest.split_at_checked(len.into()))
                    else {
                        return;
                    };
                    match code {
                        OPTION_OVERLOAD => is_overloaded = true,
                        OPTION_KIND => self.kind = value.first().copied(),
                        OPTION_REQUESTED => self.wanted = value.try_into().ok().map(<[u8; 4]>::into),
                        _ => {}
                    }
                    rest
                }
            };
        }
    }
}

impl fmt::Display for Dhcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.kind, self.is_reply) {
            (None, is_reply) => {
                let name = if self.is_bootp { "bootp" } else { "dhcp" };
                write!(f, "{name} {}", if is_reply { "reply" } else { "request" })?;
            }
            (Some(kind), _) => match kind_name(kind) {
                Some(name) => write!(f, "dhcp {name}")?,
                None => write!(f, "dhcp type {kind}")?,
            },
        }
        write!(f, " id {:#010x}", self.id)?;
        if let Some(client) = self.client {
            write!(f, " {client}")?;
        }
        if let Some(given) = self.given {
            write!(f, " gets {given}")?;
        }
        if let Some(wanted) = self.wanted {
            write!(f, " wants {wanted}")?;
        }
        Ok(())
    }
}

/// A message of DHCP for IPv6: its type, and, where it is not between relays, its number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dhcp6 {
    kind: u8,
    id: u32,
}

const RELAY_FORWARD: u8 = 12;
const RELAY_REPLY: u8 = 13;

impl Dhcp6 {
    pub(super) fn read(message: &[u8]) -> Option<Dhcp6> {
        let first = u32_at(message, 0)?;
        Some(Dhcp6 { kind: (first >> 24) as u8, id: first & 0x00ff_ffff })
    }
}

impl fmt::Display for Dhcp6 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match kind_name_v6(self.kind) {
            Some(name) => write!(f, "dhcp6 {name}")?,
            None => write!(f, "dhcp6 type {}", self.kind)?,
        }
        match self.kind {
            RELAY_FORWARD | RELAY_REPLY => Ok(()),
            _ => write!(f, " id {:#08x}", self.id),
        }
    }
}

/// RFC 2132, 9.6; RFC 3203; RFC 4388.
fn kind_name(kind: u8) -> Option<&'static str> {
    const NAMES: [&str; 13] = [
        "discover",
        "offer",
        "request",
        "decline",
        "ack",
        "nak",
        "release",
        "inform",
        "force renew",
        "lease query",
        "lease unassigned",
        "lease unknown",
        "lease active",
    ];
    NAMES.get(usize::from(kind).checked_sub(1)?).copied()
}

/// RFC 8415, 7.3.
fn kind_name_v6(kind: u8) -> Option<&'static str> {
    const NAMES: [&str; 13] = [
        "solicit",
        "advertise",
        "request",
        "confirm",
        "renew",
        "rebind",
        "reply",
        "release",
        "decline",
        "reconfigure",
        "information request",
        "relay forward",
        "relay reply",
    ];
    NAMES.get(usize::from(kind).checked_sub(1)?).copied()
}
