//! A stream that has a reader, who may not read: standard output, standard error, a FIFO. It is shared with whoever else has it open, so it
//! is never made non-blocking: terminals and pipes are opened once more for that, and a socket is told with each write. Where this is refused,
//! it is asked for room before each write, and a write is so short that the room of a pipe suffices.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::net::sockopt::socket_type;
use rustix::net::{SendAncillaryBuffer, SendFlags, SocketType, sendmsg};
use rustix::pty::ptsname;
use serde::Deserialize;
use std::fs::{File, FileType, Metadata};
use std::io::{self, ErrorKind, IoSlice, IsTerminal, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::time::{Duration, Instant};

/// A standard stream to write to; where a `printer` prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    #[default]
    Stderr,
}

/// PIPE_BUF of Linux (pipe(7)): a pipe that has room at all takes this many bytes at once.
const PIPE_BUF: usize = 4096;

/// How long to wait where a stream says that it has room, and has too little.
const PAUSE: Duration = Duration::from_millis(5);

/// An open stream, without a buffer: what a write has taken is known, and a reader that does not read is waited for no longer than
/// one wants to.
#[derive(Debug)]
pub struct Outlet {
    /// The standard stream that it is, if it is one.
    stream: Option<Stream>,
    file: File,
    room: Room,
}

/// How a stream says that it has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    /// It takes whatever it gets at once, or never, as files and /dev/null do.
    Endless,
    /// A write takes what there is room for.
    Told,
    /// A write that is told not to wait takes what there is room for: that of a socket on which bytes have no bounds.
    Sent,
    /// A write waits for room: it has to be asked before.
    Asked,
}

/// How a write has ended.
enum End {
    Done,
    /// There is no room.
    Full,
    /// It said that it had room, and had none: as a terminal does where a whole character does not fit.
    Short,
}

impl Stream {
    /// Opens it once more.
    ///
    /// # Errors
    /// If it is closed, or the process has no descriptor left.
    pub fn open(self) -> io::Result<Outlet> {
        let descriptor = match self {
            Stream::Stdout => io::stdout().as_fd().try_clone_to_owned(),
            Stream::Stderr => io::stderr().as_fd().try_clone_to_owned(),
        };
        let (file, room) = without_waiting(descriptor?.into());
        Ok(Outlet { stream: Some(self), file, room })
    }

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Stream::Stdout => "standard output",
            Stream::Stderr => "standard error",
        }
    }
}

/// The same stream, opened so that a write takes what there is room for and never waits: where a terminal or a pipe may be opened by its
/// name. That of others would change for all who share it. The name of a terminal's master side gives another terminal.
fn without_waiting(file: File) -> (File, Room) {
    let room = room(&file);
    let may_open =
        room == Room::Asked && (is_fifo(&file) || file.is_terminal() && ptsname(&file, Vec::new()).is_err());
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let name = format!("/proc/self/fd/{}", file.as_raw_fd());
    let again = || File::options().write(true).custom_flags(flags).open(name).ok();
    may_open.then(again).flatten().map_or((file, room), |again| (again, Room::Told))
}

fn is_fifo(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo())
}

/// What there is room for in a file that is as it was opened.
fn room(file: &File) -> Room {
    let is_device = |kind: FileType| kind.is_block_device() || kind.is_char_device() && !file.is_terminal();
    let is_endless = |metadata: Metadata| metadata.is_file() || is_device(metadata.file_type());
    if file.metadata().is_ok_and(is_endless) {
        Room::Endless
    } else if socket_type(file) == Ok(SocketType::STREAM) {
        Room::Sent
    } else {
        Room::Asked
    }
}

impl Outlet {
    /// A file, or whatever else was opened, which needs no other descriptor.
    #[must_use]
    pub fn of(file: File) -> Self {
        let (file, room) = without_waiting(file);
        Outlet { stream: None, file, room }
    }

    #[cfg(test)]
    pub(crate) fn new(stream: Stream, file: File) -> Self {
        let room = room(&file);
        Outlet { stream: Some(stream), file, room }
    }

    /// What it writes to, without a buffer between.
    pub fn file_mut(&mut self) -> &mut File {
        &mut self.file
    }

    pub(crate) fn name(&self) -> &'static str {
        self.stream.map_or("a file", Stream::name)
    }

    /// Whether a write may have to wait for a reader.
    #[must_use]
    pub fn may_wait(&self) -> bool {
        self.room != Room::Endless
    }

    /// Writes as much as there is room for, waiting for room as long as `patience` lasts. Returns how many bytes that were, also when it
    /// fails.
    ///
    /// NOTE: one that could not be opened once more waits in the write where it has less room than a piece is long: a terminal that is
    /// nearly full, or a pipe that another process fills between question and write.
    ///
    /// # Errors
    /// Those of write(2), other than that there is no room.
    pub fn write(&self, text: &[u8], patience: Duration) -> Result<usize, (usize, io::Error)> {
        let mut done = 0;
        match self.write_until(text, Instant::now() + patience, &mut done) {
            Ok(()) => Ok(done),
            Err(error) => Err((done, error)),
        }
    }

    /// Writes some of it, in one call, for who alone writes there: as much as there is room for, as soon as there is any.
    ///
    /// # Errors
    /// Those of writev(2); `WouldBlock` if there was no room as long as `patience` lasted.
    pub fn write_some(&self, parts: &[IoSlice<'_>], patience: Duration) -> io::Result<usize> {
        match self.write_now(parts) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            done => return done,
        }
        let deadline = Instant::now() + patience;
        loop {
            if !self.has_room(deadline)? {
                return Err(ErrorKind::WouldBlock.into());
            }
            match self.write_now(parts) {
                Err(error) if error.kind() == ErrorKind::WouldBlock && pause(deadline) => {}
                done => return done,
            }
        }
    }

    fn write_now(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        match self.room {
            Room::Endless | Room::Told => (&self.file).write_vectored(parts),
            Room::Sent => self.send(parts),
            Room::Asked if !self.has_room(Instant::now())? => Err(ErrorKind::WouldBlock.into()),
            Room::Asked => {
                let first = parts.iter().find(|part| !part.is_empty());
                first.map_or(Ok(0), |part| (&self.file).write(piece(part)))
            }
        }
    }

    fn send(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        Ok(sendmsg(&self.file, parts, &mut SendAncillaryBuffer::default(), flags)?)
    }

    /// Others write while this waits: they are to wait for room themselves, and only if they want to.
    fn write_until(&self, text: &[u8], deadline: Instant, done: &mut usize) -> io::Result<()> {
        loop {
            let goes_on = match self.write_in_one(text, done)? {
                End::Done => false,
                End::Full => self.has_room(deadline)?,
                End::Short => pause(deadline),
            };
            if !goes_on {
                return Ok(());
            }
        }
    }

    /// Writes what there is room for now. The locks keep the lines of several printers apart.
    fn write_in_one(&self, text: &[u8], done: &mut usize) -> io::Result<End> {
        match self.stream {
            Some(Stream::Stdout) => {
                let _lock = io::stdout().lock();
                self.write_pieces(text, done)
            }
            Some(Stream::Stderr) => {
                let _lock = io::stderr().lock();
                self.write_pieces(text, done)
            }
            None => self.write_pieces(text, done),
        }
    }

    fn write_pieces(&self, text: &[u8], done: &mut usize) -> io::Result<End> {
        while *done < text.len() {
            let rest = &text[*done..];
            let piece = if self.may_wait() { piece(rest) } else { rest };
            if self.may_wait() && !self.has_room(Instant::now())? {
                return Ok(End::Full);
            }
            let written = match self.room {
                Room::Sent => self.send(&[IoSlice::new(piece)]),
                _ => (&self.file).write(piece),
            };
            match written {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(more) => *done += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(End::Short),
                Err(error) => return Err(error),
            }
        }
        Ok(End::Done)
    }

    /// Waits for room, or for an error that a write will tell.
    fn has_room(&self, deadline: Instant) -> io::Result<bool> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let left = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
            match poll(&mut [PollFd::new(&self.file, PollFlags::OUT)], Some(&left)) {
                // A signal is not the end of the time.
                Err(Errno::INTR) => {}
                ready => return Ok(ready? > 0),
            }
        }
    }
}

/// Waits a little. Returns whether there was time for it.
fn pause(deadline: Instant) -> bool {
    let left = deadline.saturating_duration_since(Instant::now());
    std::thread::sleep(left.min(PAUSE));
    !left.is_zero()
}

/// What is written at a time: whole lines, if one fits.
fn piece(text: &[u8]) -> &[u8] {
    let Some(piece) = text.get(..PIPE_BUF) else { return text };
    let lines = piece.iter().rposition(|&byte| byte == b'\n').map(|end| &piece[..=end]);
    lines.unwrap_or(piece)
}

#[cfg(test)]
mod tests {
    use super::{Outlet, PIPE_BUF, Room, Stream, piece};
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use std::fs::File;
    use std::io::{ErrorKind, IoSlice, Read, Write};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::{UnixDatagram, UnixStream};
    use std::time::{Duration, Instant};

    #[test]
    fn pieces_are_whole_lines_that_a_pipe_takes() {
        let line = [&[b'x'; 999][..], b"\n"].concat();
        let text = line.repeat(9);
        assert_eq!(piece(&text).len(), 4000);
        assert_eq!((piece(&text[..1000]), piece(b"")), (&line[..], &b""[..]));
        assert_eq!(piece(&[b'x'; 2 * PIPE_BUF]).len(), PIPE_BUF);
    }

    #[test]
    fn who_waits_for_room_holds_up_nobody_who_does_not() {
        let (mut reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(&[b'.'; 64 << 10]).unwrap();
        let outlet = Outlet::new(Stream::Stdout, File::from(OwnedFd::from(writer)));
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| outlet.write(b"line\n", Duration::from_secs(60)).unwrap());
            std::thread::sleep(Duration::from_millis(100));
            let begin = Instant::now();
            assert_eq!(outlet.write(b"another\n", Duration::ZERO).unwrap(), 0);
            assert!(begin.elapsed() < Duration::from_secs(30) && !waits.is_finished());
            reader.read_exact(&mut [0; 64 << 10]).unwrap();
            assert_eq!(waits.join().unwrap(), 5);
        });
    }

    #[test]
    fn what_is_written_to_the_master_side_of_a_terminal_gets_there() {
        let Ok(master) = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY) else { return };
        grantpt(&master).and_then(|()| unlockpt(&master)).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let mut slave = File::open(name).unwrap();
        let outlet = Outlet::of(File::from(master));
        let deadline = Duration::from_secs(10);
        assert_eq!(outlet.write(b"report\n", deadline).unwrap(), 7);
        let (done, is_done) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut line = [0; 7];
            slave.read_exact(&mut line).map(|()| done.send(line))
        });
        assert_eq!(&is_done.recv_timeout(deadline).unwrap(), b"report\n");
    }

    /// Also where it cannot be opened once more, and a write would wait.
    #[test]
    fn a_write_of_some_takes_what_there_is_room_for() {
        for room in [Room::Told, Room::Asked] {
            let (mut reader, writer) = std::io::pipe().unwrap();
            let outlet = Outlet::of(File::from(OwnedFd::from(writer)));
            assert_eq!(outlet.room, Room::Told);
            let outlet = Outlet { room, ..outlet };
            let text = [b'.'; 100 << 10];
            let (mut written, patience) = (0, Duration::from_millis(10));
            let error = loop {
                match outlet.write_some(&[IoSlice::new(&[]), IoSlice::new(&text)], patience) {
                    Ok(done) => written += done,
                    Err(error) => break error,
                }
            };
            assert_eq!((written, error.kind()), (64 << 10, ErrorKind::WouldBlock), "{room:?}");
            reader.read_exact(&mut [0; 64 << 10]).unwrap();
            assert!(outlet.write_some(&[IoSlice::new(b"on")], Duration::ZERO).is_ok_and(|done| done == 2));
        }
    }

    #[test]
    fn a_socket_takes_what_it_has_room_for_in_one_write() {
        let (mut reader, writer) = UnixStream::pair().unwrap();
        let outlet = Outlet::of(File::from(OwnedFd::from(writer)));
        let text = vec![b'.'; 64 << 20];
        let parts = [IoSlice::new(b"head"), IoSlice::new(&text)];
        let mut written = outlet.write_some(&parts, Duration::ZERO).unwrap();
        assert!(written > 16 * PIPE_BUF, "{written}");
        let error = loop {
            match outlet.write_some(&parts[1..], Duration::from_millis(10)) {
                Ok(done) => written += done,
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        assert_eq!(outlet.write(b"line\n", Duration::ZERO).unwrap(), 0);
        reader.read_exact(&mut vec![0; written]).unwrap();
        assert_eq!(outlet.write(b"line\n", Duration::ZERO).unwrap(), 5);
        drop(reader);
        let error = outlet.write_some(&parts, Duration::ZERO).unwrap_err();
        assert!([ErrorKind::BrokenPipe, ErrorKind::ConnectionReset].contains(&error.kind()), "{error}");
    }

    #[test]
    fn messages_are_as_long_as_before() {
        let (_reader, writer) = UnixDatagram::pair().unwrap();
        let outlet = Outlet::of(File::from(OwnedFd::from(writer)));
        assert_eq!(outlet.room, Room::Asked);
        let written = outlet.write_some(&[IoSlice::new(&[b'.'; 2 * PIPE_BUF])], Duration::ZERO);
        assert_eq!(written.unwrap(), PIPE_BUF);
    }
}
