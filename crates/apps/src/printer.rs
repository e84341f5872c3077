//! `printer`: prints a line for each packet, as `sluss filter` does.
//!
//! | inputs | `input` |
//! |---|---|
//! | outputs | `output`: everything; where nothing is linked to it, packets end here |
//! | `to` | `"stdout"` or `"stderr"`; `"stderr"` unless set |
//! | `lines_per_s` | lines a second at most, as many at once; 0 for no limit; 1000 unless set |
//! | `printed`, `not_printed` | count lines, and packets for which there was none |
//! | `not_written` | counts lines that could not be written |
//! | `delivered` | counts packets that ended here |
//!
//! ```text
//! 2026-01-31T12:00:00.123456Z 192.0.2.1:40000 > 192.0.2.2:80 tcp SYN seq 1000 win 64240 len 0
//! ```
//!
//! The graph keeps metadata for this app: times are those at which packets were captured or came in, lengths those on the wire.
//! Lines are written at the end of a burst; while the reader of a pipe does not read, the worker waits.

use crate::bucket::Bucket;
use capture::Line;
use engine::shm::Counter;
use engine::{App, Class, Io, OptionError, Packet, Setup};
use serde::Deserialize;
use std::io::Write;
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
    limit: Option<Bucket>,
    /// Lines on their way.
    text: Vec<u8>,
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
    fn limit(&self, now_ns: u64) -> Option<Bucket> {
        (self.lines_per_s > 0).then(|| Bucket::new(self.lines_per_s, self.lines_per_s, now_ns))
    }
}

impl Class for Printer {
    const TYPE: &'static str = "printer";
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
        Ok(Running { to: self.to, limit: self.limit(setup.now_ns), text: Vec::new(), counters })
    }

    fn reconfigure(&self, app: &mut Running, old: &Self, setup: &mut Setup<'_>) -> Result<bool, OptionError> {
        app.to = self.to;
        if self.lines_per_s != old.lines_per_s {
            app.limit = self.limit(setup.now_ns);
        }
        Ok(true)
    }
}

impl App for Running {
    fn push(&mut self, io: &mut Io<'_>) {
        if let Some(limit) = &mut self.limit {
            limit.fill(io.now_ns);
        }
        while let Some(burst) = io.inputs[0].burst() {
            let printed = self.render(&burst);
            self.counters.not_printed.add((burst.len() - printed) as u64);
            self.write(printed as u64);
            io.outputs[0].send_or_free(burst, io.pool, &self.counters.delivered);
        }
    }

    fn uses_metadata(&self) -> bool {
        true
    }

    fn report(&self) -> Option<String> {
        let missing = self.counters.not_printed.get();
        (missing > 0).then(|| format!("{missing} packets were not printed: more than `lines_per_s`"))
    }
}

impl Running {
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
        let written = match self.to {
            Stream::Stdout => {
                std::io::stdout().lock().write_all(&self.text).and_then(|()| std::io::stdout().flush())
            }
            Stream::Stderr => std::io::stderr().lock().write_all(&self.text),
        };
        let counter = if written.is_ok() { &self.counters.printed } else { &self.counters.not_written };
        counter.add(lines);
        self.text.clear();
    }
}

/// Appends the line of a packet. Writing to a vector does not fail.
fn render(packet: &Packet, text: &mut Vec<u8>) -> bool {
    let metadata = packet.metadata();
    let line = Line {
        timestamp_ns: i64::try_from(metadata.timestamp_ns).unwrap_or(i64::MAX),
        linktype: LinkType::new(metadata.link_type.into()),
        data: packet.data(),
        wire_len: packet.wire_len(),
    };
    writeln!(text, "{line}").is_ok()
}

#[cfg(test)]
mod tests {
    use super::{Class, Counter, Counters, Printer, Running, Stream};
    use engine::{Metadata, Pool};
    use testkit::rig::Rig;

    fn running(printer: &Printer) -> Running {
        let [printed, not_printed, not_written, delivered] = std::array::from_fn(|_| Counter::hidden());
        let counters = Counters { printed, not_printed, not_written, delivered };
        Running { to: printer.to, limit: printer.limit(0), text: Vec::new(), counters }
    }

    #[test]
    fn lines_are_those_of_the_command() {
        let mut pool = Pool::new(8).unwrap();
        let syn = testkit::packet::Packet::parse("eth / ip4 / udp(sport=1000,dport=53) / 'x'").unwrap().bytes;
        let mut packet = pool.packet(&syn).unwrap();
        let timestamp_ns = 1_700_000_000_123_456_789;
        *packet.metadata_mut() = Metadata { timestamp_ns, link_type: 1, ..Metadata::default() };
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
        let packets: Vec<_> = (0..5).map(|_| pool.packet(b"").unwrap()).collect();
        let mut app = running(&printer);
        assert_eq!((app.render(&packets), app.render(&packets)), (3, 0));
        assert_eq!(running(&Printer { lines_per_s: 0, ..printer }).render(&packets), 5);
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
