//! TCP (RFC 9293), UDP (RFC 768) and ICMP (RFC 792, RFC 4443) headers.

use std::fmt;

use crate::bytes::{u16_at, u32_at};

/// A TCP header.
#[derive(Clone, Copy, Debug)]
pub struct Tcp<'a> {
    bytes: &'a [u8],
}

impl<'a> Tcp<'a> {
    /// Length of a header without options.
    pub const LEN: usize = 20;

    /// A view of a segment, if the fixed part of its header is whole.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<Tcp<'a>> {
        (bytes.len() >= Tcp::LEN).then_some(Tcp { bytes })
    }

    /// Source port.
    #[must_use]
    pub fn src_port(&self) -> u16 {
        u16_at(self.bytes, 0).unwrap_or_default()
    }

    /// Destination port.
    #[must_use]
    pub fn dst_port(&self) -> u16 {
        u16_at(self.bytes, 2).unwrap_or_default()
    }

    /// Number of the first byte.
    #[must_use]
    pub fn seq(&self) -> u32 {
        u32_at(self.bytes, 4).unwrap_or_default()
    }

    /// Number of the next byte expected; means something when the flag ACK is set.
    #[must_use]
    pub fn ack(&self) -> u32 {
        u32_at(self.bytes, 8).unwrap_or_default()
    }

    /// Length of the header with its options, as it states it.
    #[must_use]
    pub fn header_len(&self) -> usize {
        usize::from(self.bytes[12] >> 4) * 4
    }

    /// The flags.
    #[must_use]
    pub fn flags(&self) -> TcpFlags {
        TcpFlags(self.bytes[13])
    }

    /// Receive window, not scaled.
    #[must_use]
    pub fn window(&self) -> u16 {
        u16_at(self.bytes, 14).unwrap_or_default()
    }

    /// What follows the header; empty if the options were not captured whole.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        self.bytes.get(self.header_len().max(Tcp::LEN)..).unwrap_or_default()
    }
}

/// The flags byte of a TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    /// The acknowledgement number counts.
    pub const ACK: u8 = 0x10;

    const NAMES: [&'static str; 8] = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];

    /// Whether the acknowledgement number counts.
    #[must_use]
    pub fn has_ack(self) -> bool {
        self.0 & TcpFlags::ACK != 0
    }
}

/// The names of the flags that are set, such as `SYN,ACK`; `none` for none.
impl fmt::Display for TcpFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (bit, name) in TcpFlags::NAMES.iter().enumerate() {
            if self.0 >> bit & 1 != 0 {
                write!(f, "{separator}{name}")?;
                separator = ",";
            }
        }
        if self.0 == 0 { f.write_str("none") } else { Ok(()) }
    }
}

/// A UDP header.
#[derive(Clone, Copy, Debug)]
pub struct Udp<'a> {
    bytes: &'a [u8],
}

impl<'a> Udp<'a> {
    /// Length of the header.
    pub const LEN: usize = 8;

    /// A view of a datagram, if its header is whole.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<Udp<'a>> {
        (bytes.len() >= Udp::LEN).then_some(Udp { bytes })
    }

    /// Source port.
    #[must_use]
    pub fn src_port(&self) -> u16 {
        u16_at(self.bytes, 0).unwrap_or_default()
    }

    /// Destination port.
    #[must_use]
    pub fn dst_port(&self) -> u16 {
        u16_at(self.bytes, 2).unwrap_or_default()
    }

    /// Length of header and payload, as stated.
    #[must_use]
    pub fn len(&self) -> u16 {
        u16_at(self.bytes, 4).unwrap_or_default()
    }

    /// Whether the stated length leaves no payload.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        usize::from(self.len()) <= Udp::LEN
    }

    /// What follows the header.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[Udp::LEN..]
    }
}

/// The common start of ICMP and ICMPv6 messages.
#[derive(Clone, Copy, Debug)]
pub struct Icmp<'a> {
    bytes: &'a [u8],
}

impl<'a> Icmp<'a> {
    /// Length of the common header.
    pub const LEN: usize = 8;

    /// A view of a message, if its header is whole.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<Icmp<'a>> {
        (bytes.len() >= Icmp::LEN).then_some(Icmp { bytes })
    }

    /// Type.
    #[must_use]
    pub fn kind(&self) -> u8 {
        self.bytes[0]
    }

    /// Code.
    #[must_use]
    pub fn code(&self) -> u8 {
        self.bytes[1]
    }

    /// Identifier of an echo.
    #[must_use]
    pub fn id(&self) -> u16 {
        u16_at(self.bytes, 4).unwrap_or_default()
    }

    /// Sequence number of an echo.
    #[must_use]
    pub fn seq(&self) -> u16 {
        u16_at(self.bytes, 6).unwrap_or_default()
    }
}

/// What an ICMP type is called, where it is common.
#[must_use]
pub fn icmp_name(kind: u8) -> Option<&'static str> {
    Some(match kind {
        0 => "echo reply",
        3 => "unreachable",
        4 => "source quench",
        5 => "redirect",
        8 => "echo request",
        9 => "router advertisement",
        10 => "router solicitation",
        11 => "time exceeded",
        12 => "parameter problem",
        13 => "timestamp request",
        14 => "timestamp reply",
        _ => return None,
    })
}

/// What an ICMPv6 type is called, where it is common.
#[must_use]
pub fn icmpv6_name(kind: u8) -> Option<&'static str> {
    Some(match kind {
        1 => "unreachable",
        2 => "packet too big",
        3 => "time exceeded",
        4 => "parameter problem",
        128 => "echo request",
        129 => "echo reply",
        130 => "listener query",
        131 => "listener report",
        132 => "listener done",
        133 => "router solicitation",
        134 => "router advertisement",
        135 => "neighbour solicitation",
        136 => "neighbour advertisement",
        137 => "redirect",
        143 => "listener report v2",
        _ => return None,
    })
}
