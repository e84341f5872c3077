//! Syslog over UDP (RFC 5426): who speaks, how grave it is, and the beginning of what is said, in the forms of RFC 5424 and RFC 3164 alike.

use std::fmt;

use super::text::{LINE_MAX, QuotedLine};

pub(super) const PORT: u16 = 514;
/// Bytes of the longest priority, in its brackets.
const PRIORITY_MAX: usize = 5;

/// A message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Syslog<'a> {
    /// Eight times the facility, and the severity.
    priority: u8,
    text: &'a [u8],
    /// Whether all was there that a line shows.
    pub(super) is_whole: bool,
}

impl<'a> Syslog<'a> {
    /// Reads a message in a datagram of which `sent` bytes were sent, if it begins with a priority.
    pub(super) fn read(payload: &'a [u8], sent: usize) -> Option<Syslog<'a>> {
        let end = payload.iter().take(PRIORITY_MAX).position(|&byte| byte == b'>')?;
        let digits =
            payload[..end].strip_prefix(b"<").filter(|digits| digits.iter().all(u8::is_ascii_digit))?;
        let priority = std::str::from_utf8(digits).ok()?.parse().ok().filter(|&priority| priority < 192)?;
        // One byte more shows that there is more than fits.
        let text = &payload[end + 1..];
        let seen = &text[..text.len().min(LINE_MAX + 1)];
        // Some senders end it as a text in C.
        let line_end = seen.iter().position(|byte| matches!(byte, b'\r' | b'\n' | 0));
        let is_whole = line_end.is_some() || seen.len() > LINE_MAX || payload.len() >= sent;
        Some(Syslog { priority, text: &seen[..line_end.unwrap_or(seen.len())], is_whole })
    }

    /// Bytes that show whether it is one.
    pub(super) fn least(payload: &[u8]) -> usize {
        let is_open = payload
            .iter()
            .enumerate()
            .all(|(at, byte)| if at == 0 { *byte == b'<' } else { byte.is_ascii_digit() });
        if is_open && payload.len() < PRIORITY_MAX { payload.len() + 1 } else { 1 }
    }
}

impl fmt::Display for Syslog<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// RFC 5424, 6.2.1.
        #[rustfmt::skip]
        const FACILITIES: [&str; 24] = [
            "kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp", "ntp", "security",
            "console", "clock", "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7",
        ];
        const SEVERITIES: [&str; 8] = ["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"];
        let (facility, severity) = (usize::from(self.priority / 8), usize::from(self.priority % 8));
        write!(f, "syslog {}.{} {}", FACILITIES[facility], SEVERITIES[severity], QuotedLine(self.text))
    }
}
