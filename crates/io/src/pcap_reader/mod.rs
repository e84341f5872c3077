//! `pcap_reader`: brings the packets of a capture into the graph.
//!
//! | outputs | `output` |
//! |---|---|
//! | `path` | the capture: pcap or pcapng, plain, gzip or zstd, whatever its name; `-` is standard input |
//! | `loop` | how often it is read: a number, or `"forever"`; 1 unless set |
//! | `replay` | `"fast"`, unless set; `"exact"` keeps the distances in time between packets |
//! | `rate_pps`, `rate_mbps` | the most packets, and million bits of packets, a second; none unless set |
//! | `count` | packets in all; no limit unless set |
//! | `too_long` | drops: packets longer than 65535 bytes, or than 10240 where the pool has no large packets |
//! | `wrong_linktype` | drops: packets that are no Ethernet frames, where a capture has taken the place of one that had only those |
//! | `passes` | counts how often the capture was read to its end |
//! | `damaged` | counts captures that could not be read to their end |
//! | `changed_times` | counts packets of times before 1970, which get the first of 1970, and the run ends as one that failed; only where an app asks for times |
//!
//! Packets bring their metadata along, where an app asks for metadata: timestamp and its precision, length on the wire,
//! link type, interface. A link with little room gets as many packets as fit, and an exhausted pool is waited for, also by a long packet
//! when only the large ones have run out: a reader drops nothing but what is too long.
//!
//! **Time.** `exact` sends the first packet of a pass at once, and packet n when `t_n - t_0` has passed; the next pass
//! begins when this one ends. Where the graph runs on capture time, the timestamps are the time: every packet leaves
//! when its time has come, and further passes follow the first. A rate takes the place of the timestamps.
//!
//! **Damage.** Packets before it are delivered; then the reader is finished, and its report says what is wrong. A file that is no
//! capture, or damaged before its first packet, is refused when the graph is to start.
//!
//! **Link types.** Whatever a capture holds goes into the graph. Apps with filters drop what is of another link type than theirs, and some apps keep
//! or print it; the others take everything for Ethernet frames: the report names the first one that is something else. So that link types are known, the
//! graph keeps metadata for this app, unless the capture is a pcap file of Ethernet frames.
//!
//! **Pipes.** Standard input, a FIFO, and whatever else is no file, is read by a thread of its own: no worker waits for what has not come,
//! and a FIFO may be there before anybody writes into it. Such a capture can be read once, by one reader. It goes on when other options than
//! `path` change, and when the app fails or gets another name; what is wrong with it is known only when it comes. On capture time, time does not pass until it has come.
//!
//! A file that a writer of the same process is about to empty is refused, and so is a writer of one that is read.
//!
//! NOTE: a file system that is slow holds up the other apps of a worker.

mod pace;
mod records;
mod stream;
mod tape;
#[cfg(test)]
mod tests;

use crate::held::Reading;
use engine::shm::Counter;
use engine::{
    App, Class, ClockKind, Io, MAX_LARGE_PAYLOAD, MAX_PAYLOAD, NextEvent, OptionError, OptionWarning, Output,
    Packet, Pool, Ports, Rate, Reconfigured, Reporting, Review, Roles, Setup, Timed, Use,
};
use pace::Pace;
use records::{Ready, Records};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use stream::is_stream;
use tape::{Load, Tape};
use wire::plural::{choose, nouns};

/// Options of `pcap_reader`.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PcapReader {
    /// The capture.
    pub path: PathBuf,
    /// How often it is read.
    #[serde(rename = "loop")]
    pub passes: Passes,
    /// Whether packets keep their distances in time.
    pub replay: Replay,
    /// The most packets a second.
    pub rate_pps: Option<f64>,
    /// The most million bits of packets a second.
    pub rate_mbps: Option<f64>,
    /// Packets in all.
    pub count: Option<u64>,
    /// Whether those who get the packets know what to make of any link type, so that nobody needs to be told of one.
    #[serde(skip)]
    pub for_any_linktype: bool,
}

/// Whether packets keep their distances in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Replay {
    /// As fast as the graph takes them.
    #[default]
    Fast,
    /// As they were captured.
    Exact,
}

/// How often a capture is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passes {
    /// So often.
    Times(u64),
    /// Without end.
    Forever,
}

impl Default for Passes {
    fn default() -> Self {
        Passes::Times(1)
    }
}

/// A running `pcap_reader`.
#[derive(Debug)]
pub struct Running {
    tape: Tape,
    for_any_linktype: bool,
    pace: Pace,
    passes_left: u64,
    /// Packets so far, and packets to come at most.
    taken: u64,
    left: u64,
    is_finished: bool,
    /// Whether that is because the capture is at its end, not because there were enough packets.
    has_ended: bool,
    /// The longest packet that there is memory for.
    max_len: usize,
    /// Whether there was no room, or no memory, for a packet.
    is_blocked: bool,
    /// Why it has ended early.
    error: Option<String>,
    legacy: Arc<Legacy>,
    counters: Counters,
}

/// The legacy of a reader of a stream for the one that takes its place when it has failed or has another name.
type Legacy = Mutex<Option<Left>>;

#[derive(Debug)]
struct Left {
    tape: Tape,
    taken: u64,
    has_ended: bool,
    error: Option<String>,
}

#[derive(Debug)]
struct Counters {
    too_long: Counter,
    wrong_linktype: Counter,
    passes: Counter,
    damaged: Counter,
    changed_times: Counter,
}

impl Class for PcapReader {
    const TYPE: &'static str = "pcap_reader";
    const INPUTS: Ports = Ports::NONE;
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        let has_rate = self.rate_pps.is_some() || self.rate_mbps.is_some();
        let wrong = [
            (self.path.as_os_str().is_empty(), "path", "is not set: which capture is to be read?"),
            (self.passes == Passes::Times(0), "loop", "a capture is read at least once: use 1 or more"),
            (self.replay == Replay::Exact && has_rate, "replay", "\"exact\" and a rate exclude each other"),
        ];
        let wrong = wrong.into_iter().filter(|(is_wrong, ..)| *is_wrong);
        let wrong = wrong.map(|(_, option, message)| OptionError::new(option, message));
        OptionError::all(wrong.chain(Rate::check(self.rate_pps, self.rate_mbps).err()).map(Err))
    }

    fn review(&self) -> Result<Review, OptionError> {
        self.check()?;
        let metadata = if self.path.as_os_str() == "-" { Ok(()) } else { self.path.metadata().map(drop) };
        let is_absent = metadata.is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        let warning = || OptionWarning::absent("path", format!("there is no {}", self.path.display()));
        Ok(Review::new(is_absent.then(warning)))
    }

    /// A stream, to go on with.
    fn claim(&self) -> Option<String> {
        let goes_on = self.passes == Passes::Times(1) && is_stream(&self.path);
        goes_on.then(|| self.path.display().to_string())
    }

    fn uses(&self) -> Vec<Use> {
        stream::uses(&self.path)
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        if is_stream(&self.path) {
            self.check_stream()?;
        }
        let legacy: Arc<Legacy> = setup.legacy();
        if let Some(left) = take(&legacy, |left| left.tape.path() == self.path) {
            return Ok(self.begin(left, legacy, setup));
        }
        let reading = Reading::of(&self.path).map_err(|why| OptionError::new("path", why))?;
        let stream = Tape::open_stream(&self.path).map_err(|error| {
            OptionError::refused("path", format_args!("cannot open {}: {error}", self.path.display()))
        })?;
        let mut tape = match stream {
            Some(stream) => stream,
            None => Tape::open(&self.path, self.passes).map_err(refused)?,
        };
        tape.check().map_err(|why| OptionError::new("path", why))?;
        tape.hold(reading);
        let fresh = Left { tape, taken: 0, has_ended: false, error: None };
        Ok(self.begin(fresh, legacy, setup))
    }

    /// A stream cannot be begun again: it goes on, also when another is wanted that cannot be had.
    fn reconfigure(
        &self,
        app: &mut Running,
        old: &Self,
        setup: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        if !app.tape.is_stream() {
            return Ok(Reconfigured::NeedsRestart);
        }
        if self.path != old.path {
            *app = self.start(setup)?;
            // Nobody goes on with the old one.
            take(&app.legacy, |_| true);
            return Ok(Reconfigured::Kept);
        }
        self.check_stream()?;
        app.pace = self.pace(setup);
        // What has come counts for the new number as well.
        app.left = self.left_after(app.taken);
        app.is_finished = app.has_ended || app.left == 0;
        Ok(Reconfigured::Kept)
    }
}

impl PcapReader {
    fn begin(&self, left: Left, legacy: Arc<Legacy>, setup: &mut Setup<'_>) -> Running {
        let Left { tape, taken, has_ended, error } = left;
        let left = self.left_after(taken);
        Running {
            tape,
            for_any_linktype: self.for_any_linktype,
            pace: self.pace(setup),
            passes_left: match self.passes {
                Passes::Times(passes) => passes,
                Passes::Forever => u64::MAX,
            },
            taken,
            left,
            is_finished: has_ended || left == 0,
            has_ended,
            max_len: MAX_LARGE_PAYLOAD,
            is_blocked: false,
            error,
            legacy,
            counters: Counters {
                too_long: setup.drops("too_long"),
                wrong_linktype: setup.drops("wrong_linktype"),
                passes: setup.counter("passes"),
                damaged: setup.counter("damaged"),
                changed_times: setup.counter("changed_times"),
            },
        }
    }

    /// Packets that are still to come at most when so many have.
    fn left_after(&self, taken: u64) -> u64 {
        self.count.map_or(u64::MAX, |count| count.saturating_sub(taken))
    }

    fn pace(&self, setup: &Setup<'_>) -> Pace {
        match Rate::new(self.rate_pps, self.rate_mbps) {
            Some(rate) => Pace::Rate(rate),
            None if setup.clock == ClockKind::Capture => Pace::capture_time(),
            None if self.replay == Replay::Exact => Pace::exact(),
            None => Pace::Free,
        }
    }

    /// Refuses options that a stream cannot follow.
    fn check_stream(&self) -> Result<(), OptionError> {
        if self.passes == Passes::Times(1) {
            return Ok(());
        }
        let message = format!("{} is no file: what comes from it can be read only once", self.path.display());
        Err(OptionError::new("loop", message))
    }
}

/// The error for a capture that cannot be opened.
fn refused(error: capture::Error) -> OptionError {
    match error.class() {
        capture::Class::System => OptionError::refused("path", error),
        capture::Class::Damaged => OptionError::damaged("path", error),
        capture::Class::Request => OptionError::new("path", error),
    }
}

impl App for Running {
    fn roles(&self) -> Roles {
        Roles::PULL.and(Roles::METADATA.when(!self.tape.is_ethernet()))
    }

    fn pull(&mut self, io: &mut Io<'_>) {
        let output = &mut io.outputs[0];
        // Without a link, packets are dropped as such, rather than wait for ever.
        let mut room = if output.is_linked() { io.burst.min(output.room()) } else { io.burst };
        self.is_blocked = room == 0;
        while room > 0 && !self.is_finished {
            match self.tape.load() {
                Ok(Load::Ready) => {}
                Ok(Load::Later) => return,
                Ok(Load::End) => {
                    self.end_pass();
                    continue;
                }
                Err(error) => {
                    self.fail(error);
                    continue;
                }
            }
            let limit = room.min(usize::try_from(self.left).unwrap_or(usize::MAX));
            let (taken, end) = self.play(output, io.pool, io.now_ns, limit);
            room -= taken;
            self.left -= taken as u64;
            self.taken += taken as u64;
            self.is_finished = self.left == 0;
            self.is_blocked = end == End::NoMemory;
            if end != End::Limit {
                return;
            }
        }
    }

    fn is_finished(&self) -> bool {
        self.is_finished
    }

    fn timed(&self) -> Option<&dyn Timed> {
        Some(self)
    }

    fn reporting(&self) -> Option<&dyn Reporting> {
        Some(self)
    }
}

impl Timed for Running {
    /// None while the link is full: then time has to pass for somebody else.
    fn next_event(&self) -> NextEvent {
        if self.is_finished || self.is_blocked { NextEvent::None } else { self.pace.next_event() }
    }
}

impl Reporting for Running {
    fn report(&self) -> Option<String> {
        let path = self.tape.path().display();
        let too_long = self.counters.too_long.get();
        let dropped = (too_long > 0).then(|| {
            let (packets, were) = (nouns(too_long, "packet"), choose(too_long, "was", "were"));
            format!("{path}: {too_long} {packets} longer than {} bytes {were} dropped", self.max_len)
        });
        let foreign = self.tape.foreign().filter(|_| !self.for_any_linktype).map(|linktype| {
            format!(
                "{path}: packets of link type {linktype}, which apps that expect Ethernet (EN10MB) misread"
            )
        });
        let changed = self.counters.changed_times.get();
        let changed = (changed > 0).then(|| {
            let (packets, have) = (nouns(changed, "packet"), choose(changed, "has a time", "have times"));
            format!("{path}: {changed} {packets} {have} before 1970, and got the first of 1970: `sluss filter` keeps such times")
        });
        let lines: Vec<String> =
            [self.error.clone(), dropped, foreign, changed].into_iter().flatten().collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    fn has_failed(&self) -> bool {
        self.error.is_some() || self.counters.changed_times.get() > 0
    }
}

/// A stream goes on with whoever takes this app's place.
impl Drop for Running {
    fn drop(&mut self) {
        if self.tape.is_stream() {
            let Running { tape, taken, has_ended, error, .. } = self;
            let left = Left {
                tape: std::mem::replace(tape, Tape::empty(Path::new(""))),
                taken: *taken,
                has_ended: *has_ended,
                error: error.take(),
            };
            *self.legacy.lock().unwrap_or_else(PoisonError::into_inner) = Some(left);
        }
    }
}

/// Takes what was left, if it is what is wanted.
fn take(legacy: &Legacy, is_wanted: impl FnOnce(&mut Left) -> bool) -> Option<Left> {
    legacy.lock().unwrap_or_else(PoisonError::into_inner).take_if(is_wanted)
}

impl Running {
    /// Sends packets that lie ready, up to a number. Returns how many were taken, and why no more.
    fn play(&mut self, output: &mut Output, pool: &mut Pool, now_ns: u64, limit: usize) -> (usize, End) {
        self.max_len = pool.max_len();
        let Running { tape, pace, counters, max_len, .. } = self;
        // The capture was exchanged between two passes: nobody would know what these are.
        let is_unknown = !pool.uses_metadata() && tape.foreign().is_some();
        let turn = Turn { output, pool, pace, counters, max_len: *max_len, is_unknown, now_ns };
        match tape.ready() {
            (Ready::Batch(batch), at) => turn.play(&batch, at, limit),
            (Ready::Memory(memory), at) => turn.play(memory, at, limit),
        }
    }

    #[cold]
    fn end_pass(&mut self) {
        self.counters.passes.add(1);
        self.passes_left -= 1;
        self.pace.begin_pass();
        // A capture without packets stays one, however often it is read.
        self.has_ended = self.passes_left == 0 || self.tape.is_blank();
        self.is_finished = self.has_ended;
        if !self.is_finished
            && let Err(error) = self.tape.rewind()
        {
            self.fail(error.to_string());
        }
    }

    #[cold]
    fn fail(&mut self, error: String) {
        self.counters.damaged.add(1);
        self.error = Some(error);
        (self.has_ended, self.is_finished) = (true, true);
    }
}

/// Why no more packets were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// There were enough, or no more lie ready.
    Limit,
    /// The next one's time has not come.
    NotDue,
    /// The pool is exhausted.
    NoMemory,
}

/// The things that a turn works with.
struct Turn<'a> {
    output: &'a mut Output,
    pool: &'a mut Pool,
    pace: &'a mut Pace,
    counters: &'a Counters,
    max_len: usize,
    /// Whether packets that are not Ethernet frames would look like others.
    is_unknown: bool,
    now_ns: u64,
}

impl Turn<'_> {
    #[inline]
    fn play(mut self, records: &impl Records, at: &mut usize, limit: usize) -> (usize, End) {
        let end = records.len().min(at.saturating_add(limit));
        let begin = *at;
        while *at < end {
            let data = records.data(*at);
            if !self.pace.is_due(self.now_ns, || records.timestamp_ns(*at)) {
                return (*at - begin, End::NotDue);
            }
            // One that is too long takes an empty packet's place, so that the books show it.
            let fits = data.len() <= MAX_PAYLOAD;
            let allocated = if fits { self.pool.allocate() } else { self.allocate_long(data.len()) };
            let Some(mut packet) = allocated else { return (*at - begin, End::NoMemory) };
            self.pace.sent(self.now_ns, data.len());
            if packet.append(data).is_err() {
                self.pool.free(packet, &self.counters.too_long);
            } else if self.is_unknown && !records.is_ethernet(*at) {
                self.pool.free(packet, &self.counters.wrong_linktype);
            } else {
                if self.pool.uses_metadata() {
                    let metadata = records.metadata(*at);
                    if metadata.timestamp_ns == 0 && records.is_before_1970(*at) {
                        self.counters.changed_times.add(1);
                    }
                    *packet.metadata_mut() = metadata;
                }
                self.output.put(packet);
            }
            *at += 1;
        }
        (*at - begin, End::Limit)
    }

    #[cold]
    fn allocate_long(&mut self, len: usize) -> Option<Packet> {
        self.pool.allocate_for(if len <= self.max_len { len } else { 0 })
    }
}

impl<'de> Deserialize<'de> for Passes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PassesVisitor;
        impl Visitor<'_> for PassesVisitor {
            type Value = Passes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of passes, or \"forever\"")
            }

            fn visit_u64<E: de::Error>(self, times: u64) -> Result<Passes, E> {
                Ok(Passes::Times(times))
            }

            fn visit_i64<E: de::Error>(self, times: i64) -> Result<Passes, E> {
                let wrong = || E::invalid_value(de::Unexpected::Signed(times), &self);
                u64::try_from(times).map(Passes::Times).map_err(|_| wrong())
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<Passes, E> {
                match word {
                    "forever" => Ok(Passes::Forever),
                    _ => Err(E::invalid_value(de::Unexpected::Str(word), &self)),
                }
            }
        }
        deserializer.deserialize_any(PassesVisitor)
    }
}
