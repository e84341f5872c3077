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
//! Lines are written at the end of a burst. While a reader is slow, packets stay in the link, and no app waits but those that lead here. After a
//! second in which it has read nothing, packets pass without a line, as `not_written`, until it reads. A run does not end by itself before all lines were read; one
//! that is stopped waits for a second at most.
//!
//! **Ends.** When the reader of a pipe has gone, the run ends, as every part of a pipeline does: that is no failure.
//!
//! **Failure.** The report tells the first other error, which is a failure of the run. Where it may pass, as when a disk is full, the next
//! burst is tried again; where it cannot, nothing is rendered or written any more. Packets pass all the same.

use crate::shared::outlet::{Outlet, Stream};
use capture::{Line, Precision};
use engine::Bucket;
use engine::shm::Counter;
use engine::{App, Class, Io, OptionError, Packet, Passage, Reconfigured, Reporting, Retry, Roles, Setup};
use serde::Deserialize;
use std::io::{self, ErrorKind, Write};
use std::time::{Duration, Instant};
use wire::LinkType;
use wire::plural::passive;

/// Bytes of lines that wait for their reader before packets do.
const TEXT_MAX: usize = 64 << 10;
/// How long packets wait for a reader that reads nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// Options of `printer`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Printer {
    /// Where lines go.
    pub to: Stream,
    /// Lines a second at most.
    pub lines_per_s: u64,
}

impl Default for Printer {
    fn default() -> Self {
        Printer { to: Stream::Stderr, lines_per_s: 1000 }
    }
}

/// A running `printer`.
#[derive(Debug)]
pub struct Running {
    outlet: Outlet,
    limit: Option<Bucket>,
    /// Lines on their way.
    text: Vec<u8>,
    /// Since when there has been no room for all lines, and none was read.
    blocked_since: Option<Instant>,
    /// When the stream is asked again.
    retry: Retry,
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

impl Printer {
    fn begin(&self, outlet: Outlet, now_ns: u64, counters: Counters) -> Running {
        let limit = self.limit(now_ns);
        Running {
            outlet,
            limit,
            text: Vec::new(),
            blocked_since: None,
            retry: Retry::new(),
            error: None,
            is_closed: false,
            is_unread: false,
            counters,
        }
    }

    fn open(&self) -> Result<Outlet, OptionError> {
        let name = self.to.name();
        self.to
            .open()
            .map_err(|error| OptionError::refused("to", format_args!("cannot open {name}: {error}")))
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
        Ok(self.begin(self.open()?, setup.now_ns, counters))
    }

    fn reconfigure(
        &self,
        app: &mut Running,
        old: &Self,
        setup: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        if self.to != old.to {
            let outlet = self.open()?;
            app.finish();
            app.outlet = outlet;
            (app.is_closed, app.is_unread, app.blocked_since) = (false, false, None);
        }
        if self.lines_per_s != old.lines_per_s {
            app.limit = self.limit(setup.now_ns);
        }
        Ok(Reconfigured::Kept)
    }
}

impl App for Running {
    /// Lines may wait for their reader after the last packet has come.
    fn roles(&self) -> Roles {
        if self.outlet.may_wait() { Roles::PUSH.and(Roles::PULL) } else { Roles::PUSH }.and(Roles::METADATA)
    }

    fn pull(&mut self, io: &mut Io<'_>) {
        if !self.text.is_empty() && self.retry.is_due(io.now_ns) {
            self.flush(Duration::ZERO);
        }
    }

    fn push(&mut self, io: &mut Io<'_>) {
        if let Some(limit) = &mut self.limit {
            limit.fill(io.now_ns);
        }
        while !(self.is_full() && self.is_patient())
            && let Some(burst) = io.inputs[0].burst()
        {
            self.print(&burst);
            io.outputs[0].send_or_free(burst, io.pool, &self.counters.delivered);
        }
    }

    /// Whether all lines were written.
    fn is_finished(&self) -> bool {
        self.text.is_empty()
    }

    fn stop(&mut self, _: &mut Io<'_>) {
        self.finish();
    }

    fn reporting(&self) -> Option<&dyn Reporting> {
        Some(self)
    }
}

impl Reporting for Running {
    fn report(&self) -> Option<String> {
        let missing = self.counters.not_printed.get();
        let limited = (missing > 0)
            .then(|| format!("{}: more than `lines_per_s`", passive(missing, "packet", "not printed")));
        let lost = passive(self.counters.not_written.get(), "packet", "not written");
        let failed = self.error.as_ref().map(|error| format!("{error}; {lost}"));
        let unread = || format!("{}: its reader has gone; {lost}", self.outlet.name());
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

/// One that has failed is not stopped: its lines wait still.
impl Drop for Running {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Running {
    fn print(&mut self, packets: &[Packet]) {
        if self.is_full() {
            self.error.get_or_insert_with(|| unread(&self.outlet));
        }
        if self.is_closed || self.is_full() {
            return self.counters.not_written.add(packets.len() as u64);
        }
        let lines = self.render(packets);
        self.counters.not_printed.add((packets.len() - lines) as u64);
        self.flush(Duration::ZERO);
    }

    /// Whether no more lines are made until some are read.
    fn is_full(&self) -> bool {
        self.text.len() >= TEXT_MAX
    }

    /// Whether packets wait for the reader still.
    fn is_patient(&self) -> bool {
        self.patience() > Duration::ZERO
    }

    /// How long they still do.
    fn patience(&self) -> Duration {
        self.blocked_since.map_or(PATIENCE, |since| PATIENCE.saturating_sub(since.elapsed()))
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

    /// Writes what waits, as far as there is room for it, or there is in time.
    fn flush(&mut self, patience: Duration) {
        if self.text.is_empty() {
            return;
        }
        let (done, error) = match self.outlet.write(&self.text, patience) {
            Ok(done) => (done, None),
            Err((done, error)) => (done, Some(error)),
        };
        self.counters.printed.add(lines(&self.text[..done]));
        self.text.drain(..done);
        if self.text.is_empty() {
            self.blocked_since = None;
        } else if done > 0 || self.blocked_since.is_none() {
            self.blocked_since = Some(Instant::now());
        }
        if let Some(error) = error {
            self.fail(&error);
        }
    }

    /// The same for the last time: what is not read now is lost.
    fn finish(&mut self) {
        self.flush(self.patience());
        if !self.text.is_empty() {
            self.lose_lines();
            self.error.get_or_insert_with(|| unread(&self.outlet));
        }
    }

    /// Writing has failed.
    #[cold]
    fn fail(&mut self, error: &io::Error) {
        self.lose_lines();
        self.is_closed = !may_pass(error);
        self.is_unread = capture::reader_has_left(error);
        if self.is_unread {
            return;
        }
        self.error.get_or_insert_with(|| format!("{}: cannot write: {error}", self.outlet.name()));
    }

    fn lose_lines(&mut self) {
        self.counters.not_written.add(lines(&self.text));
        self.text.clear();
    }
}

fn lines(text: &[u8]) -> u64 {
    text.iter().filter(|&&byte| byte == b'\n').count() as u64
}

fn unread(outlet: &Outlet) -> String {
    format!("{}: its reader does not read", outlet.name())
}

/// Whether there may be room later.
fn may_pass(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
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
        direction: None,
    };
    writeln!(text, "{line}").is_ok()
}

#[cfg(test)]
mod tests {
    use super::{
        App, Class, Counter, Counters, Instant, Outlet, PATIENCE, Packet, Printer, Running, Stream, TEXT_MAX,
    };
    use engine::{Metadata, Pool, Reporting};
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::OwnedFd;
    use std::time::Duration;
    use testkit::rig::Rig;

    fn running(printer: &Printer) -> Running {
        let [printed, not_printed, not_written, delivered] = std::array::from_fn(|_| Counter::hidden());
        let counters = Counters { printed, not_printed, not_written, delivered };
        printer.begin(printer.open().unwrap(), 0, counters)
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
        app.outlet = Outlet::new(Stream::Stdout, File::from(OwnedFd::from(writer)));
        app.print(&packets);
        reader.read_exact(&mut [0]).unwrap();
        assert_eq!((app.report(), app.ends_run()), (None, false));
        drop(reader);
        app.print(&packets);
        let text = |lost| {
            let gone = "standard output: its reader has gone";
            format!("{gone}; {lost} not written\n2 packets were not printed: more than `lines_per_s`")
        };
        assert_eq!(
            (app.report(), app.has_failed(), app.ends_run()),
            (Some(text("1 packet was")), false, true)
        );
        app.limit = None;
        app.print(&packets);
        assert_eq!((app.report(), app.is_closed), (Some(text("4 packets were")), true));
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
        app.outlet = Outlet::new(Stream::Stderr, full);
        app.print(&packets);
        app.print(&packets);
        let text =
            "standard error: cannot write: No space left on device (os error 28); 6 packets were not written";
        assert_eq!((app.report().as_deref(), app.has_failed()), (Some(text), true));
        let (mut reader, writer) = std::io::pipe().unwrap();
        app.outlet = Outlet::new(Stream::Stderr, File::from(OwnedFd::from(writer)));
        app.print(&packets[..1]);
        drop(app);
        let mut lines = String::new();
        reader.read_to_string(&mut lines).unwrap();
        assert_eq!(lines.lines().count(), 1);
        packets.into_iter().for_each(|packet| pool.free(packet, &Counter::hidden()));
    }

    #[test]
    fn a_reader_that_does_not_read_holds_up_packets_for_a_while_only() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let mut pool = Pool::new(256).unwrap();
        let packets = packets(&mut pool, 256);
        let mut app = running(&Printer { to: Stream::Stdout, lines_per_s: 0 });
        app.outlet = Outlet::new(Stream::Stdout, File::from(OwnedFd::from(writer)));
        let mut sent = 0;
        while !app.is_full() {
            app.print(&packets);
            sent += packets.len() as u64;
        }
        assert!((TEXT_MAX..TEXT_MAX + 64 * packets.len()).contains(&app.text.len()));
        assert_eq!((app.is_patient(), app.is_finished(), app.report()), (true, false, None));
        app.blocked_since = Instant::now().checked_sub(PATIENCE);
        app.print(&packets);
        app.finish();
        let printed = app.counters.printed.get();
        let lost = sent + packets.len() as u64 - printed;
        let report = format!("standard output: its reader does not read; {lost} packets were not written");
        assert_eq!((app.report(), app.has_failed(), app.ends_run()), (Some(report), true, false));
        assert!(printed > 0 && app.is_finished());
        drop(app);
        let mut lines = String::new();
        reader.read_to_string(&mut lines).unwrap();
        assert_eq!(lines.lines().count() as u64, printed);
        packets.into_iter().for_each(|packet| pool.free(packet, &Counter::hidden()));
    }

    /// One that has failed is dropped without having been stopped.
    #[test]
    fn lines_that_wait_are_written_when_the_app_goes_without_a_stop() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let mut pool = Pool::new(256).unwrap();
        let packets = packets(&mut pool, 256);
        let mut app = running(&Printer { to: Stream::Stdout, lines_per_s: 0 });
        app.outlet = Outlet::new(Stream::Stdout, File::from(OwnedFd::from(writer)));
        let mut sent = 0;
        while app.text.is_empty() {
            app.print(&packets);
            sent += packets.len();
        }
        let slow = std::thread::spawn(move || {
            let mut read = Vec::new();
            reader.read_to_end(&mut read).map(|_| read)
        });
        drop(app);
        assert_eq!(super::lines(&slow.join().unwrap().unwrap()), sent as u64);
        packets.into_iter().for_each(|packet| pool.free(packet, &Counter::hidden()));
    }

    #[test]
    fn a_reader_that_reads_now_and_then_gets_all_lines() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let mut pool = Pool::new(256).unwrap();
        let packets = packets(&mut pool, 256);
        let mut app = running(&Printer { to: Stream::Stdout, lines_per_s: 0 });
        app.outlet = Outlet::new(Stream::Stdout, File::from(OwnedFd::from(writer)));
        let (mut read, mut sent) = (Vec::new(), 0);
        let mut buffer = vec![0; TEXT_MAX];
        for _ in 0..5 {
            while !app.is_full() {
                app.print(&packets);
                sent += packets.len();
            }
            app.flush(Duration::ZERO);
            assert!(app.is_full() && app.is_patient());
            while app.is_full() {
                let len = reader.read(&mut buffer).unwrap();
                read.extend_from_slice(&buffer[..len]);
                app.flush(Duration::ZERO);
            }
        }
        while !app.is_finished() {
            let len = reader.read(&mut buffer).unwrap();
            read.extend_from_slice(&buffer[..len]);
            app.flush(Duration::ZERO);
        }
        assert_eq!((app.report(), app.counters.printed.get()), (None, sent as u64));
        drop(app);
        reader.read_to_end(&mut read).unwrap();
        assert_eq!(super::lines(&read), sent as u64);
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
