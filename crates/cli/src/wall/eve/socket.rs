//! Records to who listens on a Unix socket. Nobody waits for a reader: records wait in memory, up to a limit, and are lost beyond it, counted.

use super::Kind;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of records that wait for their reader.
const WAITING_MAX: usize = 4 << 20;
/// How often a reader is looked for that is not there.
const RETRY: Duration = Duration::from_secs(1);
/// How long a reader may take for the last records.
const AT_END: Duration = Duration::from_secs(1);

/// A Unix socket, and the records that wait.
#[derive(Debug)]
pub(in crate::wall) struct EveSocket {
    kind: Kind,
    path: PathBuf,
    /// `None` while nobody listens.
    socket: Option<Socket>,
    waiting: VecDeque<Vec<u8>>,
    waiting_bytes: usize,
    /// How much of the first was taken.
    taken: usize,
    next_try: Instant,
    lost: u64,
}

#[derive(Debug)]
enum Socket {
    Stream(UnixStream),
    Datagram(UnixDatagram),
}

impl EveSocket {
    pub(super) fn new(kind: Kind, path: &Path) -> Self {
        EveSocket {
            kind,
            path: path.to_owned(),
            socket: None,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            taken: 0,
            next_try: Instant::now(),
            lost: 0,
        }
    }

    pub(super) fn name(&self) -> String {
        format!("the socket {}", self.path.display())
    }

    /// Sends lines, or keeps them until somebody reads. Returns why some were lost.
    pub(super) fn write(&mut self, lines: impl Iterator<Item = String>) -> Option<io::Error> {
        let before = self.lost;
        // What waited leaves first, so that there is room.
        let mut failed = self.flush().err();
        for line in lines {
            if self.waiting_bytes + line.len() > WAITING_MAX {
                self.lost += 1;
                continue;
            }
            self.waiting_bytes += line.len();
            self.waiting.push_back(line.into_bytes());
        }
        failed = self.flush().err().or(failed);
        let slow = || io::Error::new(ErrorKind::TimedOut, "its reader is too slow");
        (self.lost > before).then(|| failed.unwrap_or_else(slow))
    }

    /// Sends what a reader takes at once.
    ///
    /// # Errors
    /// Why there is no reader.
    fn flush(&mut self) -> io::Result<()> {
        if self.socket.is_none() && !self.waiting.is_empty() {
            if Instant::now() < self.next_try {
                return Err(io::Error::new(ErrorKind::NotConnected, "nobody listens there"));
            }
            self.next_try = Instant::now() + RETRY;
            self.socket = Some(Socket::connect(self.kind, &self.path)?);
        }
        while let (Some(socket), Some(first)) = (&mut self.socket, self.waiting.front()) {
            match socket.send(&first[self.taken..]) {
                Ok(count) if self.taken + count < first.len() => self.taken += count,
                Ok(_) => self.forget_first(),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Longer than a datagram may be.
                Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) => {
                    self.lost += 1;
                    self.forget_first();
                }
                Err(error) => {
                    self.socket = None;
                    if self.taken > 0 {
                        // Another reader would get the end of a line.
                        self.lost += 1;
                        self.forget_first();
                    }
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn forget_first(&mut self) {
        self.waiting_bytes -= self.waiting.pop_front().map_or(0, |line| line.len());
        self.taken = 0;
    }

    /// Gives the reader a moment for what waits. Returns how many records were lost.
    pub(super) fn close(&mut self) -> u64 {
        let begin = Instant::now();
        while self.flush().is_ok() && !self.waiting.is_empty() && begin.elapsed() < AT_END {
            thread::sleep(Duration::from_millis(5));
        }
        self.lost + self.waiting.len() as u64
    }
}

impl Socket {
    fn connect(kind: Kind, path: &Path) -> io::Result<Socket> {
        Ok(match kind {
            Kind::Stream => {
                // Nobody waits until a listener takes it that has as many before it as it lets wait: it says EAGAIN.
                let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
                let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
                connect(&socket, &SocketAddrUnix::new(path)?)?;
                Socket::Stream(UnixStream::from(socket))
            }
            Kind::Datagram => {
                let socket = UnixDatagram::unbound()?;
                socket.set_nonblocking(true)?;
                socket.connect(path)?;
                Socket::Datagram(socket)
            }
        })
    }

    /// Sends a line, or a part of it. A datagram has no end of line.
    fn send(&mut self, line: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Stream(stream) => stream.write(line),
            Socket::Datagram(socket) => {
                socket.send(line.strip_suffix(b"\n").unwrap_or(line)).map(|_| line.len())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::net::UnixListener;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("sluss-eve-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn lines(count: usize, len: usize) -> impl Iterator<Item = String> {
        (0..count).map(move |_| format!("{}\n", "x".repeat(len - 1)))
    }

    #[test]
    fn a_reader_that_comes_later_gets_what_waited_and_a_slow_one_loses_some() {
        let path = folder("stream").join("socket");
        let mut eve = EveSocket::new(Kind::Stream, &path);
        assert!(eve.write(lines(3, 10)).is_none(), "they wait");
        let listener = UnixListener::bind(&path).unwrap();
        eve.next_try = Instant::now();
        assert!(eve.write(lines(1, 10)).is_none());
        let (mut reader, _) = listener.accept().unwrap();
        let mut bytes = [0; 40];
        reader.read_exact(&mut bytes).unwrap();
        assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count(), 4);
        let failed = eve.write(lines(WAITING_MAX / 1000 + 2000, 1000)).expect("some are lost");
        assert_eq!(failed.to_string(), "its reader is too slow");
        assert!(eve.lost > 0 && eve.waiting_bytes <= WAITING_MAX);
        // The next reader begins with a whole line.
        let lost = eve.lost;
        drop(reader);
        assert!(eve.flush().is_err());
        assert!(eve.socket.is_none() && eve.taken == 0 && eve.lost - lost <= 1);
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }

    #[test]
    fn a_datagram_holds_a_record_and_one_that_is_too_long_is_lost() {
        let path = folder("datagram").join("socket");
        let reader = UnixDatagram::bind(&path).unwrap();
        let mut eve = EveSocket::new(Kind::Datagram, &path);
        assert!(eve.write(lines(1, 10)).is_none());
        let mut bytes = [0; 100];
        assert_eq!((reader.recv(&mut bytes).unwrap(), &bytes[..9]), (9, &b"xxxxxxxxx"[..]));
        assert!(eve.write(lines(1, 2 << 20).chain(lines(1, 10))).is_some());
        assert_eq!((eve.lost, reader.recv(&mut bytes).unwrap()), (1, 9));
        drop(reader);
        assert!(eve.write(lines(1, 10)).is_none());
        assert_eq!(eve.close(), 2, "one waits for ever");
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }
}
