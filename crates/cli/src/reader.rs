//! Readers of what a command prints, who may not read: none of them is waited for without end once a signal has come, nor while others wait
//! for a run.

use crate::exit::Failure;
use crate::signals::{self, Caught};
use apps::{Outlet, Stream};
use capture::Writer;
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long somebody who reads a page of the report may take for it.
const FOR_A_PAGE: Duration = Duration::from_secs(60);
/// How long a run goes on that was told to end.
const TO_END: Duration = Duration::from_secs(5);
/// How long packets wait for somebody to read what is said while they come.
const BESIDE_PACKETS: Duration = Duration::from_secs(1);
/// How often a signal is looked for.
const LOOK: Duration = Duration::from_millis(100);

/// Prints the last result of a run, after which nothing waits but who started it.
pub(crate) fn print_at_end(text: &str, signals: &Caught) -> Result<(), Failure> {
    let patience = || if signals.signal().is_some() { TO_END } else { FOR_A_PAGE };
    print(text, &patience)
}

/// Prints a result while packets come.
pub(crate) fn print_beside_packets(text: &str) -> Result<(), Failure> {
    print(text, &|| BESIDE_PACKETS)
}

/// Prints the result of who waits for a slow reader until a signal comes.
pub(crate) fn print_until_signal(text: &str) -> Result<(), Failure> {
    print(text, &|| until_signal(TO_END))
}

/// Without end, or as long as this once a signal has come.
fn until_signal(then: Duration) -> Duration {
    if signals::has_come() { then } else { Duration::MAX }
}

/// A sink of its own, whose reader is waited for until a signal comes, and for some seconds then, however slowly it reads.
#[derive(Debug)]
pub(crate) struct Patient {
    outlet: Outlet,
    /// When it was first seen that a signal had come.
    signalled: Option<Instant>,
}

impl Patient {
    /// Standard output.
    pub(crate) fn stdout() -> io::Result<Patient> {
        Stream::Stdout.open().map(Patient::from)
    }

    /// A file, a FIFO or a device.
    pub(crate) fn of(file: File) -> Patient {
        Outlet::of(file).into()
    }

    /// What it writes to, without a buffer between.
    pub(crate) fn file_mut(&mut self) -> &mut File {
        self.outlet.file_mut()
    }

    /// A writer of packets, which ends a file with a whole one.
    pub(crate) fn writer(self, name: &str) -> Writer<Patient> {
        Writer::new(self, name).with_file(|patient| Some(patient.file_mut()))
    }
}

impl Patient {
    /// Whether a reader had its time after a signal.
    fn is_over(&mut self) -> bool {
        self.outlet.may_wait()
            && signals::has_come()
            && self.signalled.get_or_insert_with(Instant::now).elapsed() >= TO_END
    }
}

impl From<Outlet> for Patient {
    fn from(outlet: Outlet) -> Self {
        Patient { outlet, signalled: None }
    }
}

impl Write for Patient {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(text)])
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        while !self.is_over() {
            match self.outlet.write_some(parts, LOOK) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                done => return done,
            }
        }
        let time = humantime::format_duration(TO_END);
        let what = format!("its reader has not read everything within {time} of a signal");
        Err(io::Error::new(ErrorKind::TimedOut, what))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether the last message was not read: nobody is waited for again until one is. Standard error is the process's, and so is this.
static IS_UNREAD: AtomicBool = AtomicBool::new(false);

/// Says something to people or programs while packets come, if they listen.
pub(crate) fn say_beside_packets(line: &str) {
    say_within(line, &|| BESIDE_PACKETS);
}

/// Says something to people or programs, who are waited for until a signal comes.
pub(crate) fn say(line: &str) {
    say_within(line, &|| until_signal(BESIDE_PACKETS));
}

/// Nowhere is left to report that they do not listen.
fn say_within(line: &str, patience: &dyn Fn() -> Duration) {
    let mut is_drawn = is_drawn();
    let is_unread = IS_UNREAD.load(Ordering::Relaxed);
    let patience = || if is_unread { Duration::ZERO } else { patience() };
    let before = if *is_drawn { ERASE } else { "" };
    let said = write(Stream::Stderr, format!("{before}{line}\n").as_bytes(), &patience);
    *is_drawn = false;
    IS_UNREAD.store(said.is_err_and(|error| error.kind() == ErrorKind::TimedOut), Ordering::Relaxed);
}

/// Takes a line that was drawn off a terminal.
const ERASE: &str = "\r\x1b[K";

/// Whether there is a line on the terminal that goes when something is said. Who says something has it until that is read.
static IS_DRAWN: Mutex<bool> = Mutex::new(false);

fn is_drawn() -> MutexGuard<'static, bool> {
    IS_DRAWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prints a result on the terminal on which lines are drawn: in the place of the last one, and none comes between.
pub(crate) fn print_over_drawn(print: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let mut is_drawn = is_drawn();
    if *is_drawn {
        // Where that waits, so does what is printed.
        *is_drawn = write(Stream::Stderr, ERASE.as_bytes(), &|| until_signal(TO_END)).is_err();
    }
    print()
}

/// Draws a line in place of the last one, as far as the terminal takes it at once: one that is stopped (Ctrl-S) shows the next.
pub(crate) fn draw(line: &str) {
    if let Ok(mut is_drawn) = IS_DRAWN.try_lock() {
        *is_drawn |= say_now(&format!("\r{line}\x1b[K"));
    }
}

/// Takes away what was drawn, if the terminal does not need long for that.
pub(crate) fn erase() {
    let mut is_drawn = is_drawn();
    if *is_drawn {
        *is_drawn = write(Stream::Stderr, ERASE.as_bytes(), &|| BESIDE_PACKETS).is_err();
    }
}

/// Says what nobody misses who does not read it now. Returns whether anything was taken.
pub(crate) fn say_now(text: &str) -> bool {
    let said = Stream::Stderr.open().map(|stderr| stderr.write(text.as_bytes(), Duration::ZERO));
    said.is_ok_and(|said| said.is_ok_and(|bytes| bytes > 0))
}

/// The end of a command that went well, unless standard output is a file whose system writes, and finds no room, only when it is closed.
pub(crate) fn close_stdout<T>(outcome: T) -> Result<T, Failure> {
    let Ok(stdout) = io::stdout().as_fd().try_clone_to_owned() else { return Ok(outcome) };
    let closed = capture::close(&File::from(stdout));
    closed.map_err(|error| Failure::writing(Stream::Stdout.name(), &error)).map(|()| outcome)
}

fn print(text: &str, patience: &dyn Fn() -> Duration) -> Result<(), Failure> {
    let name = Stream::Stdout.name();
    write(Stream::Stdout, text.as_bytes(), patience).map_err(|error| Failure::writing(name, &error))
}

fn write(stream: Stream, text: &[u8], patience: &dyn Fn() -> Duration) -> io::Result<()> {
    write_to(&stream.open()?, text, patience)
}

/// Waits as long as the reader reads, and then for as long as there is patience.
fn write_to(outlet: &Outlet, mut text: &[u8], patience: &dyn Fn() -> Duration) -> io::Result<()> {
    let mut has_read = Instant::now();
    while !text.is_empty() {
        let patience = patience();
        let done = outlet.write(text, LOOK.min(patience)).map_err(|(_, error)| error)?;
        text = &text[done..];
        if done > 0 {
            has_read = Instant::now();
        } else if has_read.elapsed() >= patience {
            return Err(has_not_read_for(patience));
        }
    }
    Ok(())
}

fn has_not_read_for(time: Duration) -> io::Error {
    let what = format!("its reader has not read for {}", humantime::format_duration(time));
    io::Error::new(ErrorKind::TimedOut, what)
}
