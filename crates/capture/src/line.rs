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
    /// When it was captured, with all digits that are shown.
    pub fn time(&self) -> UtcTime {
        UtcTime { timestamp_ns: self.timestamp_ns, precision: self.precision }
    }
}

/// A time in UTC, as RFC 3339 has it: any of those from 1677 to 2262, which are all that 64 bits of nanoseconds hold.
///
/// ```
/// let time = capture::UtcTime { timestamp_ns: -1, precision: capture::Precision::Nano };
/// assert_eq!(time.to_string(), "1969-12-31T23:59:59.999999999Z");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct UtcTime {
    /// Nanoseconds since 1970.
    pub timestamp_ns: i64,
    /// How much of that is shown.
    pub precision: Precision,
}

impl UtcTime {
    fn since_1970(&self, time: Duration) -> humantime::Rfc3339Timestamp {
        let time = SystemTime::UNIX_EPOCH + time;
        match self.precision {
            Precision::Micro => humantime::format_rfc3339_micros(time),
            Precision::Nano => humantime::format_rfc3339_nanos(time),
        }
    }
}

impl fmt::Display for UtcTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// After 400 years the calendar is the same again.
        const CYCLE_YEARS: u32 = 400;
        const CYCLE: Duration = Duration::from_secs(146_097 * 24 * 60 * 60);
        if let Ok(since_ns) = u64::try_from(self.timestamp_ns) {
            return self.since_1970(Duration::from_nanos(since_ns)).fmt(f);
        }
        let later =
            self.since_1970(CYCLE - Duration::from_nanos(self.timestamp_ns.unsigned_abs())).to_string();
        let (year, rest) = later.split_at(4);
        let year: u32 = year.parse().map_err(|_| fmt::Error)?;
        write!(f, "{:04}{rest}", year - CYCLE_YEARS)
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
        write!(f, "{} {summary}", self.time())
    }
}

#[cfg(test)]
mod tests {
    use super::UtcTime;
    use crate::Precision;

    #[test]
    fn times_before_1970_are_shown_as_they_are() {
        let year_ns = 365 * 86_400 * 1_000_000_000;
        for (timestamp_ns, text) in [
            (0, "1970-01-01T00:00:00.000000Z"),
            (-1, "1969-12-31T23:59:59.999999Z"),
            (-year_ns, "1969-01-01T00:00:00.000000Z"),
            (-2 * year_ns, "1968-01-02T00:00:00.000000Z"),
            (i64::MIN, "1677-09-21T00:12:43.145224Z"),
            (i64::MAX, "2262-04-11T23:47:16.854775Z"),
        ] {
            assert_eq!(UtcTime { timestamp_ns, precision: Precision::Micro }.to_string(), text);
        }
    }
}
