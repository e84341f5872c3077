//! `printer`: prints a line for each packet, as `sluss filter` does.
//!
//! | inputs | `input` |
//! |---|---|
//! | outputs | `output`: everything; where nothing is linked to it, packets end here |
//! | `to` | `"stdout"` or `"stderr"`; `"stderr"` unless set |
//! | `lines_per_s` | lines a second at most, as many at once; 0 for no limit; 1000 unless set |
//! | `printed`, `not_printed` | count lines, and packets for which there was none |
//! | `not_written` | counts packets whose lines could not be written |
//! | `delivered` | counts packets that ended here |
//!
//! ```text
//! 2026-01-31T12:00:00.123456Z 192.0.2.1:40000 > 192.0.2.2:80 tcp SYN seq 1000 win 64240 len 0
//! ```
//!
//! The graph keeps metadata for this app: times are those at which packets were captured or came in, lengths those on the wire.
//! Lines are written at the end of a burst; while the reader of a pipe does not read, the worker waits.
//!
//! **Ends.** When the reader of a pipe has gone, the run ends, as every part of a pipeline does: that is no failure.
//!
//! **Failure.** What else went wrong first is told in the report, and is a failure of the run. Where it may pass, as when a disk is full, the next
//! burst is tried again; where it cannot, nothing is rendered or written any more. Packets pass all the same.

use crate::bucket::Bucket;
use capture::{Line, Precision};
use engine::shm::Counter;
use engine::{App, Class, Io, OptionError, Packet, Passage, Reconfigured, Setup};
use serde::Deserialize;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use wire::LinkType;

/// Options of `printer`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Printer {
    /// Where lines go.
    pub to: Stream,
    /// Lines a second at most.
    pub lines_per_s: u64,
}

/// Where a `printer` prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    #[default]
    Stderr,
}

impl Default for Printer {
    fn default() -> Self {
        Printer { to: Stream::Stderr, lines_per_s: 1000 }
    }
}

/// A running `printer`.
#[derive(Debug)]
pub struct Running {
    to: Stream,
    /// The stream, without a buffer: what a write has taken is known.
    file: File,
    limit: Option<Bucket>,
    /// Lines on their way.
    text: Vec<u8>,
    /// What went wrong first.
    error: Option<String>,
    /// Whether nothing can be written to the stream any more.
    is_closed: bool,
    /// Whether that is because nobody reads it.
    is_unread: bool,
    counters: Counters,
}

#[derive(Debug)]
struct Counters {
    printed: Counter,
    not_printed: Counter,
    not_written: Counter,
    delivered: Counter,
}

impl Stream {
    fn open(self) -> Result<File, OptionError> {
        let stream = match self {
            Stream::Stdout => io::stdout().as_fd().try_clone_to_owned(),
            Stream::Stderr => io::stderr().as_fd().try_clone_to_owned(),
        };
        let refused = |error: io::Error| {
            OptionError::refused("to", format_args!("cannot open {}: {error}", self.name()))
        };
        stream.map(File::from).map_err(refused)
    }

    fn name(self) -> &'static str {
        match self {
            Stream::Stdout => "standard output",
            Stream::Stderr => "standard error",
        }
    }
}

impl Printer {
    fn begin(&self, file: File, now_ns: u64, counters: Counters) -> Running {
        let limit = self.limit(now_ns);
        Running {
            to: self.to,
            file,
            limit,
            text: Vec::new(),
            error: None,
            is_closed: false,
            is_unread: false,
            counters,
        }
    }

    fn limit(&self, now_ns: u64) -> Option<Bucket> {
        (self.lines_per_s > 0).then(|| Bucket::new(self.lines_per_s, self.lines_per_s, now_ns))
    }
}

impl Class for Printer {
    const TYPE: &'static str = "printer";
    const PASSAGE: Passage = Passage::MayEnd;
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        OptionError::check_range("lines_per_s", self.lines_per_s, 0..=1_000_000_000)
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        let counters = Counters {
            printed: setup.counter("printed"),
            not_printed: setup.counter("not_printed"),
            not_written: setup.counter("not_written"),
            delivered: setup.delivered(),
        };
        Ok(self.begin(self.to.open()?, setup.now_ns, counters))
    }

    fn reconfigure(
        &self,
        app: &mut Running,
        old: &Self,
        setup: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        if self.to != old.to {
            (app.to, app.file) = (self.to, self.to.open()?);
            (app.is_closed, app.is_unread) = (false, false);
        }
        if self.lines_per_s != old.lines_per_s {
            app.limit = self.limit(setup.now_ns);
        }
        Ok(Reconfigured::Kept)
    }
}

impl App for Running {
    fn push(&mut self, io: &mut Io<'_>) {
        if let Some(limit) = &mut self.limit {
            limit.fill(io.now_ns);
        }
        while let Some(burst) = io.inputs[0].burst() {
            self.print(&burst);
            io.outputs[0].send_or_free(burst, io.pool, &self.counters.delivered);
        }
    }

    fn uses_metadata(&self) -> bool {
        true
    }

    fn report(&self) -> Option<String> {
        let missing = self.counters.not_printed.get();
        let limited =
            (missing > 0).then(|| format!("{missing} packets were not printed: more than `lines_per_s`"));
        let lost = self.counters.not_written.get();
        let failed = self.error.as_ref().map(|error| format!("{error}; {lost} packets were not written"));
        let unread = || format!("{}: its reader has gone; {lost} packets were not written", self.to.name());
        let failed = failed.or_else(|| self.is_unread.then(unread));
        let lines: Vec<String> = failed.into_iter().chain(limited).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    fn has_failed(&self) -> bool {
        self.error.is_some()
    }

    fn ends_run(&self) -> bool {
        self.is_unread
    }
}

impl Running {
    fn print(&mut self, packets: &[Packet]) {
        if self.is_closed {
            return self.counters.not_written.add(packets.len() as u64);
        }
        let lines = self.render(packets);
        self.counters.not_printed.add((packets.len() - lines) as u64);
        self.write(lines as u64);
    }

    /// Puts lines into `text`, as many as the limit lets through. Returns how many.
    fn render(&mut self, packets: &[Packet]) -> usize {
        packets.iter().take_while(|packet| self.may_print() && render(packet, &mut self.text)).count()
    }

    fn may_print(&mut self) -> bool {
        let Some(limit) = &mut self.limit else { return true };
        let may = limit.has(1);
        limit.take(u64::from(may));
        may
    }

    fn write(&mut self, lines: u64) {
        if self.text.is_empty() {
            return;
        }
        // The locks keep bursts of several printers apart.
        let written = match self.to {
            Stream::Stdout => {
                let _lock = io::stdout().lock();
                write_all(&self.file, &self.text)
            }
            Stream::Stderr => {
                let _lock = io::stderr().lock();
                write_all(&self.file, &self.text)
            }
        };
        match written {
            Ok(()) => self.counters.printed.add(lines),
            Err((done, error)) => self.fail(lines, done, &error),
        }
        self.text.clear();
    }

    /// Writing has failed after `done` bytes.
    #[cold]
    fn fail(&mut self, lines: u64, done: usize, error: &io::Error) {
        let printed = self.text[..done].iter().filter(|&&byte| byte == b'\n').count() as u64;
        self.counters.printed.add(printed);
        self.counters.not_written.add(lines.saturating_sub(printed));
        self.is_closed = !may_pass(error);
        self.is_unread = error.kind() == ErrorKind::BrokenPipe;
        if self.is_unread {
            return;
        }
        self.error.get_or_insert_with(|| format!("{}: cannot write: {error}", self.to.name()));
    }
}

/// Writes it all, or says how many bytes it has written, and why no more.
fn write_all(mut file: &File, text: &[u8]) -> Result<(), (usize, io::Error)> {
    let mut done = 0;
    while done < text.len() {
        match file.write(&text[done..]) {
            Ok(0) => return Err((done, ErrorKind::WriteZero.into())),
            Ok(more) => done += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err((done, error)),
        }
    }
    Ok(())
}

/// Whether there may be room later.
fn may_pass(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::WouldBlock)
}

/// Appends the line of a packet. Writing to a vector does not fail.
fn render(packet: &Packet, text: &mut Vec<u8>) -> bool {
    let metadata = packet.metadata();
    let line = Line {
        timestamp_ns: i64::try_from(metadata.timestamp_ns).unwrap_or(i64::MAX),
        precision: Precision::Micro,
        linktype: LinkType::new(metadata.linktype.into()),
        data: packet.data(),
        wire_len: packet.wire_len(),
    };
    writeln!(text, "{line}").is_ok()
}

#[cfg(test)]
mod tests {
    use super::{App, Class, Counter, Counters, File, Packet, Printer, Running, Stream};
    use engine::{Metadata, Pool};
    use std::io::Read;
    use std::os::fd::OwnedFd;
    use testkit::rig::Rig;

    fn running(printer: &Printer) -> Running {
        let [printed, not_printed, not_written, delivered] = std::array::from_fn(|_| Counter::hidden());
        let counters = Counters { printed, not_printed, not_written, delivered };
        printer.begin(printer.to.open().unwrap(), 0, counters)
    }

    fn packets(pool: &mut Pool, count: usize) -> Vec<Packet> {
        (0..count).map(|_| pool.packet(b"").unwrap()).collect()
    }

    #[test]
    fn lines_are_those_of_the_command() {
        let mut pool = Pool::new(8).unwrap();
        let syn = testkit::packet::Packet::parse("eth / ip4 / udp(sport=1000,dport=53) / 'x'").unwrap().bytes;
        let mut packet = pool.packet(&syn).unwrap();
        let timestamp_ns = 1_700_000_000_123_456_789;
        *packet.metadata_mut() = Metadata { timestamp_ns, linktype: 1, ..Metadata::default() };
        let mut app = running(&Printer::default());
        assert_eq!(app.render(std::slice::from_ref(&packet)), 1);
        let summary = wire::summarize(wire::LinkType::EN10MB, &syn, syn.len() as u32);
        let expected = format!("2023-11-14T22:13:20.123456Z {summary}\n");
        assert_eq!(String::from_utf8_lossy(&app.text), expected);
        pool.free(packet, &Counter::hidden());
    }

    #[test]
    fn lines_are_limited() {
        let printer = Printer { lines_per_s: 3, to: Stream::Stderr };
        let mut pool = Pool::new(8).unwrap();
        let packets = packets(&mut pool, 5);
        let mut app = running(&printer);
        assert_eq!((app.render(&packets), app.render(&packets)), (3, 0));
        assert_eq!(running(&Printer { lines_per_s: 0, ..printer }).render(&packets), 5);
        packets.into_iter().for_each(|packet| pool.free(packet, &Counter::hidden()));
    }

    #[test]
    fn a_reader_that_has_gone_ends_the_run_and_is_not_tried_again() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let mut pool = Pool::new(8).unwrap();
        let packets = packets(&mut pool, 3);
        let mut app = running(&Printer { to: Stream::Stdout, lines_per_s: 4 });
        app.file = File::from(OwnedFd::from(writer));
        app.print(&packets);
        reader.read_exact(&mut [0]).unwrap();
        assert_eq!((app.report(), app.ends_run()), (None, false));
        drop(reader);
        app.print(&packets);
        let text = |lost| {
            let gone = "standard output: its reader has gone";
            format!(
                "{gone}; {lost} packets were not written\n2 packets were not printed: more than `lines_per_s`"
            )
        };
        assert_eq!((app.report(), app.has_failed(), app.ends_run()), (Some(text(1)), false, true));
        app.limit = None;
        app.print(&packets);
        assert_eq!((app.report(), app.is_closed), (Some(text(4)), true));
        assert_eq!(app.counters.printed.get(), 3);
        packets.into_iter().for_each(|packet| pool.free(packet, &Counter::hidden()));
    }

    #[test]
    fn a_full_disk_is_told_and_tried_again() {
        let Ok(full) = File::options().write(true).open("/dev/full") else {
            return testkit::say("SKIPPED: there is no /dev/full");
        };
        let mut pool = Pool::new(8).unwrap();
        let packets = packets(&mut pool, 3);
        let mut app = running(&Printer::default());
        app.file = full;
        app.print(&packets);
        app.print(&packets);
        let text =
            "standard error: cannot write: No space left on device (os error 28); 6 packets were not written";
        assert_eq!((app.report().as_deref(), app.has_failed()), (Some(text), true));
        let (mut reader, writer) = std::io::pipe().unwrap();
        app.file = File::from(OwnedFd::from(writer));
        app.print(&packets[..1]);
        drop(app);
        let mut lines = String::new();
        reader.read_to_string(&mut lines).unwrap();
        assert_eq!(lines.lines().count(), 1);
        packets.into_iter().for_each(|packet| pool.free(packet, &Counter::hidden()));
    }

    #[test]
    fn packets_pass_or_end() {
        let printer = Printer { lines_per_s: 1, ..Printer::default() };
        let mut rig = Rig::new(printer.clone(), &["input"], &["output"]);
        assert_eq!(rig.pass(&[b"", &[0xff; 100], b"x"]), [&b""[..], &[0xff; 100], b"x"]);
        assert_eq!((rig.counter("printed"), rig.counter("not_printed")), (1, 2));
        let text = rig.report().apps["app"].text.clone();
        assert_eq!(text.as_deref(), Some("2 packets were not printed: more than `lines_per_s`"));
        let mut rig = Rig::new(printer, &["input"], &[]);
        rig.send("input", b"");
        rig.breathe();
        assert_eq!(rig.counter("delivered"), 1);
    }

    #[test]
    fn options_are_checked() {
        let error = Printer { lines_per_s: u64::MAX, ..Printer::default() }.check().unwrap_err().to_string();
        assert!(error.starts_with("`lines_per_s`: 18446744073709551615 is not between"), "{error}");
    }
}
