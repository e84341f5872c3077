//! Readers of what a run prints, who may not read: none of them is waited for without end, since others wait for the run.

use crate::exit::Failure;
use crate::signals::Caught;
use apps::{Outlet, Stream};
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, Ordering};
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

/// Whether the last message was not read: nobody is waited for again until one is. Standard error is the process's, and so is this.
static IS_UNREAD: AtomicBool = AtomicBool::new(false);

/// Says something to people or programs, if they listen. Nowhere is left to report that they do not.
pub(crate) fn say(line: &str) {
    let patience = if IS_UNREAD.load(Ordering::Relaxed) { Duration::ZERO } else { BESIDE_PACKETS };
    let said = write(Stream::Stderr, format!("{line}\n").as_bytes(), &|| patience);
    IS_UNREAD.store(said.is_err_and(|error| error.kind() == ErrorKind::TimedOut), Ordering::Relaxed);
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
            let what = format!("its reader has not read for {}", humantime::format_duration(patience));
            return Err(io::Error::new(ErrorKind::TimedOut, what));
        }
    }
    Ok(())
}
