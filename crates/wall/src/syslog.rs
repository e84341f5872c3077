//! Lines about packets for the system log: datagrams to `/dev/log`, as syslog(3) sends them (RFC 3164, 4.1, without the host).

use crate::rules::Action;
use engine::Bucket;
use std::os::unix::net::UnixDatagram;
use wire::layers::Layers;
use wire::{LinkType, Mac};

/// Facility "user", severity "informational".
const PRIORITY: u8 = 1 << 3 | 6;
/// Lines a second at most.
const LINES_PER_SECOND: u64 = 100;
const PATH: &str = "/dev/log";

/// The system log.
#[derive(Debug)]
pub struct Syslog {
    /// `None` while there is none.
    socket: Option<UnixDatagram>,
    limit: Bucket,
}

impl Default for Syslog {
    fn default() -> Syslog {
        Syslog::new()
    }
}

impl Syslog {
    /// The system log, if there is one; if not, it is looked for again with each line.
    #[must_use]
    pub fn new() -> Self {
        Syslog { socket: connect(PATH), limit: Bucket::new(LINES_PER_SECOND, LINES_PER_SECOND, 0) }
    }

    /// Tells what became of a packet. Whether the log took it; nobody waits for it.
    pub(crate) fn packet(
        &mut self,
        action: Action,
        protocol: &str,
        linktype: LinkType,
        packet: &[u8],
        now_ns: u64,
    ) -> bool {
        self.limit.fill(now_ns);
        if !self.limit.has(1) {
            return false;
        }
        self.limit.take(1);
        self.send(&line(action, protocol, linktype, packet))
    }

    /// Tells a line. Whether the log took it; nobody waits for it.
    pub fn tell(&mut self, text: &str) -> bool {
        self.send(&format!("<{PRIORITY}>sluss: {text}"))
    }

    fn send(&mut self, line: &str) -> bool {
        let send = |socket: &UnixDatagram| socket.send(line.as_bytes()).is_ok();
        // A log that was started again has another socket.
        self.socket.as_ref().is_some_and(send) || {
            self.socket = connect(PATH);
            self.socket.as_ref().is_some_and(send)
        }
    }
}

fn connect(path: &str) -> Option<UnixDatagram> {
    let socket = UnixDatagram::unbound().ok()?;
    socket.set_nonblocking(true).ok()?;
    socket.connect(path).ok()?;
    Some(socket)
}

/// As SnabbWall writes it, with ports.
fn line(action: Action, protocol: &str, linktype: LinkType, packet: &[u8]) -> String {
    let action = action.name().to_uppercase();
    let mut line = format!("<{PRIORITY}>sluss: [wall {action}] PROTOCOL={protocol}");
    if linktype == LinkType::EN10MB
        && let Some(src) = packet.get(6..12).and_then(|bytes| bytes.try_into().ok())
    {
        line += &format!(" MAC={}", Mac(src));
    }
    if let Some(tuple) = Layers::of(linktype, packet).inner() {
        line += &format!(" SRC={} DST={}", tuple.src, tuple.dst);
        if let Some((src, dst)) = tuple.ports {
            line += &format!(" SPT={src} DPT={dst}");
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_became_of_which_packet() {
        let packet = b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01\x08\0\x45\0\0\x1c\0\0\0\0\x40\x11\0\0\x0a\0\0\x01\x0a\0\0\x02\x14\xe9\0\x35\0\x08\0\0";
        assert_eq!(
            line(Action::Drop, "DNS", LinkType::EN10MB, packet),
            "<14>sluss: [wall DROP] PROTOCOL=DNS MAC=02:00:00:00:00:01 SRC=10.0.0.1 DST=10.0.0.2 SPT=5353 DPT=53"
        );
        assert_eq!(line(Action::Reject, "X", LinkType::RAW, b""), "<14>sluss: [wall REJECT] PROTOCOL=X");
    }

    #[test]
    fn lines_are_limited_and_a_log_that_is_not_there_takes_none() {
        let (ours, theirs) = UnixDatagram::pair().unwrap();
        let mut log = Syslog { socket: Some(ours), limit: Bucket::new(2, 2, 0) };
        let mut tell = |now_ns| log.packet(Action::Drop, "DNS", LinkType::RAW, b"", now_ns);
        assert_eq!([tell(0), tell(0), tell(0), tell(1_000_000_000)], [true, true, false, true]);
        let mut line = [0; 100];
        let len = theirs.recv(&mut line).unwrap();
        assert_eq!(&line[..len], b"<14>sluss: [wall DROP] PROTOCOL=DNS");
        assert!(connect("/nowhere/log").is_none());
    }
}
