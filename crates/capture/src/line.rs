//! A packet as a line of text.

use crate::{PacketRef, Precision};
use std::fmt;
use std::time::{Duration, SystemTime};
use wire::LinkType;
use wire::link::Direction;

/// A packet in one line: its time in UTC, with six or nine digits of the second, then its summary. `Display` gives the line, without
/// its end.
///
/// ```
/// let line = capture::Line {
///     timestamp_ns: 1_769_860_800_123_456_789,
///     precision: capture::Precision::Micro,
///     linktype: wire::LinkType::EN10MB,
///     data: b"\xff\xff\xff\xff\xff\xff\x02\0\0\0\0\x01\x88\xb5",
///     wire_len: 14,
///     direction: None,
/// };
/// let text = "2026-01-31T12:00:00.123456Z 02:00:00:00:00:01 > ff:ff:ff:ff:ff:ff ethertype 0x88b5 len 14";
/// assert_eq!(line.to_string(), text);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// When it was captured, in nanoseconds since 1970.
    pub timestamp_ns: i64,
    /// How much of that is shown.
    pub precision: Precision,
    /// What its bytes begin with.
    pub linktype: LinkType,
    /// Its captured bytes.
    pub data: &'a [u8],
    /// How long it was on the wire.
    pub wire_len: u32,
    /// Which way it went, where its capture says so, whatever it is.
    pub direction: Option<Direction>,
}

impl Line<'_> {
    /// When it was captured, within what RFC 3339 can say: damaged timestamps are shown as the nearest it can.
    pub fn time(&self) -> SystemTime {
        const YEAR_9999_S: u64 = 253_402_300_799;
        let since_1970 = Duration::from_nanos(u64::try_from(self.timestamp_ns).unwrap_or(0));
        SystemTime::UNIX_EPOCH + since_1970.min(Duration::from_secs(YEAR_9999_S))
    }
}

impl<'a> From<&PacketRef<'a>> for Line<'a> {
    fn from(packet: &PacketRef<'a>) -> Self {
        let PacketRef { timestamp_ns, precision, linktype, data, wire_len, direction, .. } = *packet;
        Line { timestamp_ns, precision, linktype, data, wire_len, direction }
    }
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let summary = wire::summarize(self.linktype, self.data, self.wire_len).going(self.direction);
        let time = match self.precision {
            Precision::Micro => humantime::format_rfc3339_micros(self.time()),
            Precision::Nano => humantime::format_rfc3339_nanos(self.time()),
        };
        write!(f, "{time} {summary}")
    }
}
