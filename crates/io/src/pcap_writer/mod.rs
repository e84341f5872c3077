//! `pcap_writer`: writes packets to a capture file.
//!
//! | inputs | `input` |
//! |---|---|
//! | `path` | the file, which is created, or emptied if it is there; nobody else may be writing to it. One that ends in `.gz` or `.zst` is compressed, unless it is a pipe |
//! | `format` | `"pcap"` or `"pcapng"`; unless set, `"pcapng"` if the path ends so, or so before `.gz` or `.zst`, else `"pcap"` |
//! | `snaplen` | bytes that are kept of a packet; all unless set |
//! | `slow_reader` | while a disk, or who reads a pipe, is slow: `"wait"`, unless set, or `"drop"` |
//! | `delivered` | counts packets written |
//! | `wrong_linktype` | drops: packets of another link type than the first; pcapng takes them all |
//! | `wrong_fcs_len` | drops: packets with a frame check sequence of another length than the first, or of none; pcapng takes them all |
//! | `write_error` | drops: packets that the file system did not take, or who reads a pipe |
//! | `slow_reader` | drops: packets for which a disk or pipe and 4 MiB of memory had no room |
//! | `less_precise` | counts packets whose timestamps lost digits, since the first packet had fewer; never in pcapng |
//! | `changed_times` | counts packets of times after 2106, for which pcap has no room: they have the last that it holds, and the run ends as one that failed; never in pcapng |
//!
//! Timestamps and lengths on the wire come from the packets' metadata, so that a capture read and written again keeps
//! them exactly; packets that come from no capture have the time of their breath. The link type of a pcap file,
//! whether it counts micro- or nanoseconds, and what it says of frame check sequences, are those of the first packet. In pcapng, each interface of each capture,
//! and each device (`af_packet`, `tap`), becomes one with its name.
//!
//! Packets are written in large blocks: when enough have come together, when none has come for a tick, and every second. When
//! writing fails, because the disk is full say, the writer stops, tells why, and the file ends with a
//! whole packet.
//!
//! The file is locked (`flock`), and emptied only when the whole graph has started. A graph that is refused, such as one that
//! gives a file to two writers, or to a reader and a writer, costs no packet that was written before, and leaves no empty file. A change
//! is refused as well in which a writer gets the file that another one has until then, unless it takes the place of that one.
//! A writer that is given another `path` opens that first, and keeps the old one if it cannot. One that failed goes
//! on after the last packet of its file, where pcapng gets a new section, since interfaces may be missing.
//!
//! A FIFO without a reader is refused, since a graph that starts waits for nothing. Where a reader or a disk is slow, no app has to wait but those that
//! lead here alone: packets stay in the link, and what comes before waits as for any full link. With `slow_reader = "drop"` nobody waits: 4 MiB are kept in
//! memory, and packets beyond are dropped as `slow_reader`.
//!
//! A pipe is written to as far as it has room. A run does not end
//! by itself before everything was read; one that is stopped waits for a second at most, and not at all for a reader that has read nothing for
//! a second. The end of a record that was begun is then left to a writer that goes on; its packet stays counted as
//! `write_error` by the one that began it, and is not counted again.
//!
//! A regular file is written, and compressed, by a thread of its own. A writer that is stopped, or gets another `path`, waits until that has
//! written everything.

mod background;
mod buffer;
mod file;
mod records;
#[cfg(test)]
mod tests;

use crate::held::file_identity;
use buffer::{BLOCK, Buffer, KEPT_MAX};
use capture::{Compression, NameHint, NamedFormat};
use engine::shm::Counter;
use engine::{
    App, Burst, Class, Io, Metadata, Notifier, OptionError, OptionWarning, PortNames, Ports, Reconfigured,
    Reporting, Retry, Review, Roles, Setup, Use,
};
use file::{Patience, Target};
use records::{Encoder, Misfit, Put};
use serde::Deserialize;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Packets that are encoded before the buffer is looked at.
const ENCODED_BURST: usize = 64;
/// How long a packet waits at most before it is written, in nanoseconds.
const WAIT_NS_MAX: u64 = 1_000_000_000;
/// How long the end of a run waits for the reader, counted from when it last read: one that stopped long ago delays nothing.
const LAST_PATIENCE: Duration = Duration::from_secs(1);
/// The number of breaths without packets after which waiting packets are written to a pipe even if time does not pass, as on capture time.
const IDLE_BREATHS_MAX: u32 = 64;
/// The metadata by which a file without packets is begun.
const NO_PACKET: Metadata = Metadata {
    timestamp_ns: 0,
    flow_hash: 0,
    sequence: 0,
    cut_len: 0,
    linktype: 1,
    interface: 0,
    mark: 0,
    application: 0,
    master: 0,
    flow_packets: 0,
    precision: 9,
    packet_type: 0,
    inline_tag: 0,
    queue: 0,
    queue_id: 0,
};

/// Options of `pcap_writer`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PcapWriter {
    /// The file.
    pub path: PathBuf,
    /// Its format; `None` leaves that to the path.
    pub format: Option<Format>,
    /// Bytes that are kept of a packet.
    pub snaplen: Option<u32>,
    /// What becomes of packets while the reader of a pipe, or a disk, is slow.
    pub slow_reader: SlowReader,
}

/// What becomes of packets while the reader of a pipe, or a disk, is slow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SlowReader {
    /// They stay in the link, and what leads here waits.
    #[default]
    Wait,
    /// Some memory holds them; those beyond are dropped.
    Drop,
}

/// The format of a capture file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// One link type, one precision.
    Pcap,
    /// Any number of interfaces.
    Pcapng,
}

/// A running `pcap_writer`.
#[derive(Debug)]
pub struct Running {
    target: Target,
    buffer: Buffer,
    /// Since when nothing was taken of the blocks that are on their way, if there are any.
    blocked_since: Option<Instant>,
    /// When a pipe is asked again.
    retry: Retry,
    slow_reader: SlowReader,
    encoder: Encoder,
    /// When the buffer is to be written at the latest.
    due_ns: Option<u64>,
    /// Whether packets have come since the last tick.
    is_busy: bool,
    /// Breaths since packets came.
    idle_breaths: u32,
    /// Why nothing is written any more.
    error: Option<String>,
    /// Why files before this one lack something.
    told: Vec<String>,
    /// Whether the file holds what makes it a capture, and no packet.
    is_blank: bool,
    /// The part that was given up in the middle.
    begun: Begun,
    left: Arc<Mutex<Option<Left>>>,
    /// Whether `error` was told when it came.
    is_error_told: bool,
    notifier: Notifier,
    counters: Counters,
}

/// The legacy of a writer for the one that takes its place when it has failed or has another name.
#[derive(Debug)]
struct Left {
    target: Target,
    encoder: Encoder,
    is_blank: bool,
    begun: Begun,
}

/// A record of which who reads a pipe has the first `sent` bytes, and needs the others to understand what follows; empty if
/// there is none. Its packet has been counted as lost: the end may never be read.
#[derive(Debug, Default)]
struct Begun {
    record: Vec<u8>,
    sent: usize,
    /// Since when nothing of it has been read.
    since: Option<Instant>,
}

#[derive(Debug)]
struct Counters {
    delivered: Counter,
    wrong_linktype: Counter,
    wrong_fcs_len: Counter,
    write_error: Counter,
    slow_reader: Counter,
    less_precise: Counter,
    changed_times: Counter,
}

impl Counters {
    /// Where a packet counts.
    fn of(&self, misfit: Option<Misfit>) -> &Counter {
        match misfit {
            None => &self.delivered,
            Some(Misfit::LinkType) => &self.wrong_linktype,
            Some(Misfit::FcsLen) => &self.wrong_fcs_len,
        }
    }
}

impl PcapWriter {
    fn format(&self) -> Format {
        self.format.unwrap_or_else(|| match NameHint::of(&self.path).format {
            Some(NamedFormat::Pcapng) => Format::Pcapng,
            _ => Format::Pcap,
        })
    }

    /// What is odd about the name of the file.
    fn misnamed(&self) -> Option<OptionWarning> {
        let format = match self.format() {
            Format::Pcap => NamedFormat::Pcap,
            Format::Pcapng => NamedFormat::Pcapng,
        };
        let told = NameHint::misnamed(&self.path, format, self.compression(), None);
        told.map(|text| OptionWarning::new("path", text))
    }

    /// How the file will be compressed; what is no regular file is not.
    fn compression(&self) -> Option<Compression> {
        let hint = NameHint::of(&self.path).compression;
        hint.filter(|_| self.path.metadata().map_or(true, |metadata| metadata.is_file()))
    }

    fn snaplen(&self) -> usize {
        self.snaplen.map_or(usize::MAX, |snaplen| snaplen as usize)
    }
}

impl Class for PcapWriter {
    const TYPE: &'static str = "pcap_writer";
    const OUTPUTS: Ports = Ports::NONE;
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        let no_path = || OptionError::new("path", "is not set: which file is to be written?");
        let check_snaplen = |snaplen| OptionError::check_range("snaplen", snaplen, 1..=records::SNAPLEN);
        OptionError::all([
            if self.path.as_os_str().is_empty() { Err(no_path()) } else { Ok(()) },
            self.snaplen.map_or(Ok(()), check_snaplen),
        ])
    }

    fn review(&self) -> Result<Review, OptionError> {
        self.check()?;
        let obstacle = file::obstacle(&self.path).map(|why| OptionWarning::absent("path", why));
        Ok(Review::new(obstacle.into_iter().chain(self.misnamed())))
    }

    /// The file, to go on with in the same format.
    fn claim(&self) -> Option<String> {
        Some(format!("{:?} {}", self.format(), self.path.display()))
    }

    /// A regular file, alone; into pipes and devices several may write.
    fn uses(&self) -> Vec<Use> {
        let used = |identity| Use {
            option: "path",
            identity,
            name: self.path.display().to_string(),
            verb: "writes",
            is_shared: false,
            remedy: "it would be lost; write to another file",
        };
        file_identity(&self.path).map(used).into_iter().collect()
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        let left: Arc<Mutex<Option<Left>>> = setup.legacy();
        let (target, encoder, begun) = match self.go_on(&left) {
            Some(Left { target, encoder, begun, .. }) => (target, encoder, begun),
            None => (self.open()?, Encoder::new(self.format(), self.snaplen()), Begun::default()),
        };
        Ok(Running {
            target,
            blocked_since: begun.since,
            buffer: Buffer::inheriting(begun.record, begun.sent),
            retry: Retry::new(),
            slow_reader: self.slow_reader,
            encoder,
            due_ns: None,
            is_busy: false,
            idle_breaths: 0,
            error: None,
            told: Vec::new(),
            is_blank: false,
            begun: Begun::default(),
            left,
            is_error_told: false,
            notifier: setup.notifier(),
            counters: Counters {
                delivered: setup.delivered(),
                wrong_linktype: setup.drops("wrong_linktype"),
                wrong_fcs_len: setup.drops("wrong_fcs_len"),
                write_error: setup.drops("write_error"),
                slow_reader: setup.drops("slow_reader"),
                less_precise: setup.counter("less_precise"),
                changed_times: setup.counter("changed_times"),
            },
        })
    }

    /// Another file is opened before the old one is let go. What is in it stays until all apps have changed.
    fn reconfigure(
        &self,
        app: &mut Running,
        old: &Self,
        _: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        if self.path != old.path {
            let target = self.open()?;
            app.finish();
            app.told.extend(app.error.take());
            app.target = target;
            app.is_blank = false;
            app.begun = Begun::default();
            app.encoder = Encoder::new(self.format(), self.snaplen());
        } else if self.format() != old.format() {
            return Err(OptionError::new(
                "format",
                "the file is being written in another: give it another `path`",
            ));
        }
        app.encoder.set_snaplen(self.snaplen());
        app.slow_reader = self.slow_reader;
        Ok(Reconfigured::Kept)
    }
}

impl PcapWriter {
    fn open(&self) -> Result<Target, OptionError> {
        Target::open(&self.path).map_err(|error| {
            let message = format!("{}: cannot write: {error}", self.path.display());
            match error.kind() {
                // Ours: it is being read.
                io::ErrorKind::InvalidInput => OptionError::new("path", message),
                _ => OptionError::refused("path", message),
            }
        })
    }

    /// The legacy of a writer before this one, if it had the same file.
    fn go_on(&self, left: &Mutex<Option<Left>>) -> Option<Left> {
        let is_same =
            |left: &mut Left| left.target.path() == self.path && left.encoder.format() == self.format();
        let mut left = left.lock().unwrap_or_else(PoisonError::into_inner).take_if(is_same)?;
        // Packets that come may be of another link type than those that might have come.
        if left.is_blank && left.target.empty() {
            left.encoder = Encoder::new(self.format(), self.snaplen());
        }
        left.encoder.set_snaplen(self.snaplen());
        // If this fails, writing does as well, and says why.
        let _ = left.target.cut(0);
        Some(left)
    }
}

impl App for Running {
    /// A pipe may be written to in each breath, and be the last that a run waits for.
    fn roles(&self) -> Roles {
        let roles = Roles::PUSH.and(Roles::TICK);
        if self.target.is_regular() { roles } else { roles.and(Roles::PULL) }.and(Roles::METADATA)
    }

    fn pull(&mut self, io: &mut Io<'_>) {
        self.idle_breaths = self.idle_breaths.saturating_add(1);
        let is_idle = self.idle_breaths > IDLE_BREATHS_MAX && !self.buffer.is_empty();
        if (self.blocked_since.is_some() || is_idle) && self.retry.is_due(io.now_ns) {
            self.flush();
        }
    }

    fn push(&mut self, io: &mut Io<'_>) {
        self.is_busy = true;
        self.idle_breaths = 0;
        self.due_ns.get_or_insert(io.now_ns.saturating_add(WAIT_NS_MAX));
        // The thread of a file makes room. A full pipe is asked again before the pushes of each breath, not here.
        if self.target.is_regular() && self.blocked_since.is_some() {
            self.write(&mut Patience::none());
        }
        while self.takes_packets()
            && let Some(burst) = io.inputs[0].burst_of_at_most(ENCODED_BURST)
        {
            if self.error.is_some() {
                io.pool.free_burst(burst, &self.counters.write_error);
                continue;
            }
            if self.buffer.holds(KEPT_MAX) {
                io.pool.free_burst(burst, &self.counters.slow_reader);
                continue;
            }
            let fits = self.encode(&burst);
            if fits {
                io.pool.free_burst(burst, &self.counters.delivered);
            } else {
                for packet in burst {
                    let misfit = self.encoder.misfit(packet.metadata());
                    io.pool.free(packet, self.counters.of(misfit));
                }
            }
            if self.buffer.has_new_block() && (self.target.is_regular() || self.blocked_since.is_none()) {
                self.write(&mut Patience::none());
            }
        }
    }

    fn tick(&mut self, io: &mut Io<'_>) {
        let is_idle = !std::mem::take(&mut self.is_busy);
        if self.due_ns.is_some_and(|due_ns| is_idle || io.now_ns >= due_ns) {
            self.flush();
        } else if self.blocked_since.is_some() {
            self.write(&mut Patience::none());
        }
        if !std::mem::replace(&mut self.is_error_told, self.error.is_some()) {
            self.error.iter().for_each(|error| self.notifier.warn(error));
        }
    }

    /// Of a pipe: whether it has taken all.
    fn is_finished(&self) -> bool {
        self.buffer.is_empty()
    }

    /// The graph was taken on: what an earlier run has left in the file can go.
    fn link(&mut self, _: &PortNames<'_>) {
        self.clear();
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
        let changed_times = Some(self.counters.changed_times.get()).filter(|&changed| changed > 0).map(|changed| {
            let path = self.target.path().display();
            format!("{path}: {changed} packets have times after 2106, which do not fit pcap, and got the last that does: write pcapng")
        });
        let lines: Vec<&str> =
            self.told.iter().chain(&self.error).chain(&changed_times).map(String::as_str).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    fn has_failed(&self) -> bool {
        self.error.is_some() || !self.told.is_empty() || self.counters.changed_times.get() > 0
    }
}

/// A writer that goes in the middle of a turn, since it has failed, writes what counts as delivered.
impl Drop for Running {
    fn drop(&mut self) {
        if self.buffer.cut() {
            self.encoder.go_on_without(self.target.written() > 0 || !self.buffer.is_empty());
        }
        if self.target.is_begun() {
            self.flush_at_last();
        }
        let encoder = std::mem::replace(&mut self.encoder, Encoder::new(Format::Pcap, 0));
        let begun = std::mem::take(&mut self.begun);
        let left = Left { target: self.target.again(), encoder, is_blank: self.is_blank, begun };
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) = Some(left);
    }
}

impl Running {
    /// Appends packets to the buffer; `false` if any did not fit into the file.
    fn encode(&mut self, burst: &Burst<'_>) -> bool {
        let mut misfits = 0;
        let mut less_precise = 0;
        let mut changed_times = 0;
        self.buffer.append(|records| {
            for packet in burst.iter() {
                match self.encoder.put(packet, records) {
                    Put::Done => {}
                    Put::LessPrecise => less_precise += 1,
                    Put::ChangedTime => changed_times += 1,
                    Put::Left(_) => misfits += 1,
                }
            }
        });
        if less_precise > 0 {
            self.counters.less_precise.add(less_precise);
        }
        if changed_times > 0 {
            self.counters.changed_times.add(changed_times);
        }
        misfits == 0
    }

    /// Empties the file, unless that is done.
    fn clear(&mut self) {
        if self.error.is_none()
            && let Err(error) = self.target.begin()
        {
            self.error = Some(format!("{}: cannot be written: {error}", self.target.path().display()));
        }
    }

    /// Writes all there is to the file; also what makes it a capture, where no packet has come.
    fn finish(&mut self) {
        if self.error.is_none() && self.target.written() == 0 && self.buffer.is_empty() {
            self.buffer.append(|records| self.encoder.begin(&NO_PACKET, records));
            self.is_blank = true;
        }
        self.flush_at_last();
    }

    /// Whether there is room for more packets, or they are dropped.
    fn takes_packets(&self) -> bool {
        let kept_max = if self.target.is_regular() { KEPT_MAX } else { BLOCK };
        self.slow_reader == SlowReader::Drop || self.error.is_some() || !self.buffer.holds(kept_max)
    }

    /// Writes what waits, as far as there is room for it now.
    fn flush(&mut self) {
        self.flush_in(&mut Patience::none());
    }

    /// Writes what waits, as far as there is room for it in this time.
    fn flush_in(&mut self, patience: &mut Patience) {
        while self.buffer.seal() && self.write(patience) {}
    }

    /// Writes the blocks that are on their way, as far as there is room for them in this time. Returns whether all of them were taken.
    fn write(&mut self, patience: &mut Patience) -> bool {
        if self.error.is_some() {
            self.forget();
            return false;
        }
        let before = self.buffer.unsent();
        if let Err(error) = self.target.write(&mut self.buffer, patience) {
            self.fail(&error);
            return false;
        }
        let unsent = self.buffer.unsent();
        if unsent == 0 {
            self.blocked_since = None;
        } else if unsent < before || self.blocked_since.is_none() {
            self.blocked_since = Some(Instant::now());
        }
        if self.buffer.is_sealed() {
            self.due_ns = None;
        }
        unsent == 0
    }

    /// Writes for the last time. Bytes that are not read now count as lost, except the end of a record that was begun: another writer may still write that.
    fn flush_at_last(&mut self) {
        // Others may have been waited for before, while he was reading: that is not held against him.
        self.flush();
        if let Some(since) = self.blocked_since {
            let rest = LAST_PATIENCE.saturating_sub(since.elapsed());
            let is_regular = self.target.is_regular();
            self.flush_in(&mut if is_regular { Patience::endless() } else { Patience::of(rest) });
        }
        if self.blocked_since.is_some() {
            let first = self.buffer.blocks().next().unwrap_or_default();
            let begun = self.encoder.begun(first, self.target.written() == 0, self.buffer.sent());
            let (record, sent) = self.buffer.begun(begun);
            let since = self.blocked_since.filter(|_| !record.is_empty());
            self.begun = Begun { record, sent, since };
            self.fail(&io::Error::new(io::ErrorKind::TimedOut, "nobody reads it any more"));
        }
        if let Err(error) = self.target.end(&Patience::endless()) {
            self.fail(&error);
        }
    }

    /// Forgets what waits.
    fn forget(&mut self) {
        self.buffer.clear();
        self.blocked_since = None;
        self.due_ns = None;
    }

    /// Writing has failed: the file is cut behind its last whole record, and packets that are not in it count as dropped.
    #[cold]
    fn fail(&mut self, error: &io::Error) {
        let is_begin = self.target.written() == 0;
        let mut done = self.buffer.sent();
        let has_taken = done > 0;
        let (mut bytes, mut lost) = (0, 0);
        for (number, block) in self.buffer.blocks().enumerate() {
            let is_first = number == 0;
            let counted = if is_first { self.buffer.inherited() } else { 0 };
            let (whole, missing) = self.encoder.whole(block, is_begin && is_first, done, counted);
            done = done.saturating_sub(block.len());
            bytes += whole;
            lost += missing;
        }
        let mut message = format!("{}: cannot write: {error}; ", self.target.path().display());
        message.push_str(&match self.target.cut(bytes) {
            Ok(()) => format!("it holds the packets before that, {} bytes", self.target.len()),
            Err(error) => format!("its last packet may be torn: {error}"),
        });
        self.error = Some(message);
        // What a pipe has taken cannot be taken back.
        let has_begun = self.target.written() > 0 || (has_taken && !self.target.is_regular());
        self.encoder.go_on_without(has_begun);
        self.counters.delivered.set(self.counters.delivered.get().saturating_sub(lost));
        self.counters.write_error.add(lost);
        self.forget();
    }
}
