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
//! Packets are written in large blocks: when enough have come together, when none has come for a tick, and every second; to a compressed file not after
//! a tick, since each block is compressed by itself. When writing fails, because the disk is full say, the writer stops, tells why, and the file ends with a
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
//! A regular file is written, and compressed, by a thread of its own. A writer that is stopped waits until the thread has written everything. One that gets
//! another `path` does not wait: the thread ends the old file, which is whole when it is not locked any more. Only if four old files are not ended yet,
//! or `path` is one of them, the change waits for them, and all apps with it.

mod background;
mod buffer;
mod file;
mod output;
mod records;
#[cfg(test)]
mod tests;

use crate::held::file_identity;
use buffer::{BLOCK, KEPT_MAX};
use capture::{Compression, NameHint, NamedFormat};
use engine::shm::Counter;
use engine::{
    App, Burst, Class, Io, Notifier, OptionError, OptionWarning, PortNames, Ports, Reconfigured, Reporting,
    Retry, Review, Roles, Setup, Use,
};
use file::{Patience, Target};
use output::{Begun, Output};
use records::{Encoder, Misfit, Put};
use serde::Deserialize;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Packets that are encoded before the buffer is looked at.
const ENCODED_BURST: usize = 64;
/// How long a packet waits at most before it is written, in nanoseconds.
const WAIT_NS_MAX: u64 = 1_000_000_000;
/// How long the end of a run waits for the reader, counted from when it last read: one that stopped long ago delays nothing.
const LAST_PATIENCE: Duration = Duration::from_secs(1);
/// The number of breaths without packets after which waiting packets are written to a pipe even if time does not pass, as on capture time.
const IDLE_BREATHS_MAX: u32 = 64;
/// How many files before the one that is written now are being ended at a time.
const ENDING_MAX: usize = 4;

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
    output: Output,
    /// Files before this one that are not ended yet.
    ending: Vec<Output>,
    /// When a pipe is asked again.
    retry: Retry,
    slow_reader: SlowReader,
    /// Whether packets have come since the last tick.
    is_busy: bool,
    /// Breaths since packets came.
    idle_breaths: u32,
    /// Why files before this one lack something.
    told: Vec<String>,
    left: Arc<Mutex<Option<Left>>>,
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
            output: Output::new(target, encoder, begun),
            ending: Vec::new(),
            retry: Retry::new(),
            slow_reader: self.slow_reader,
            is_busy: false,
            idle_breaths: 0,
            told: Vec::new(),
            left,
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
            app.make_room_for(&self.path);
            let encoder = Encoder::new(self.format(), self.snaplen());
            app.change_to(Output::new(self.open()?, encoder, Begun::default()));
        } else if self.format() != old.format() {
            return Err(OptionError::new(
                "format",
                "the file is being written in another: give it another `path`",
            ));
        }
        app.output.encoder.set_snaplen(self.snaplen());
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
        if self.output.target.is_regular() { roles } else { roles.and(Roles::PULL) }.and(Roles::METADATA)
    }

    fn pull(&mut self, io: &mut Io<'_>) {
        self.idle_breaths = self.idle_breaths.saturating_add(1);
        let is_idle = self.idle_breaths > IDLE_BREATHS_MAX && !self.output.buffer.is_empty();
        if (self.output.blocked_since.is_some() || is_idle) && self.retry.is_due(io.now_ns) {
            self.output.flush(&self.counters);
        }
    }

    fn push(&mut self, io: &mut Io<'_>) {
        self.is_busy = true;
        self.idle_breaths = 0;
        self.output.due_ns.get_or_insert(io.now_ns.saturating_add(WAIT_NS_MAX));
        // The thread of a file makes room. A full pipe is asked again before the pushes of each breath, not here.
        if self.output.target.is_regular() && self.output.blocked_since.is_some() {
            self.output.write(&mut Patience::none(), &self.counters);
        }
        while self.takes_packets()
            && let Some(burst) = io.inputs[0].burst_of_at_most(ENCODED_BURST)
        {
            if self.output.error.is_some() {
                io.pool.free_burst(burst, &self.counters.write_error);
                continue;
            }
            if self.output.buffer.holds(KEPT_MAX) {
                io.pool.free_burst(burst, &self.counters.slow_reader);
                continue;
            }
            let fits = self.encode(&burst);
            if fits {
                io.pool.free_burst(burst, &self.counters.delivered);
            } else {
                for packet in burst {
                    let misfit = self.output.encoder.misfit(packet.metadata());
                    io.pool.free(packet, self.counters.of(misfit));
                }
            }
            let Output { target, buffer, blocked_since, .. } = &self.output;
            if buffer.has_new_block() && (target.is_regular() || blocked_since.is_none()) {
                self.output.write(&mut Patience::none(), &self.counters);
            }
        }
    }

    fn tick(&mut self, io: &mut Io<'_>) {
        let is_idle = !std::mem::take(&mut self.is_busy);
        // Of slow traffic, a member of gzip for each packet would be longer than the packets.
        let flushes_idle = is_idle && !self.output.target.is_compressed();
        if self.output.due_ns.is_some_and(|due_ns| flushes_idle || io.now_ns >= due_ns) {
            self.output.flush(&self.counters);
        } else if self.output.blocked_since.is_some() {
            self.output.write(&mut Patience::none(), &self.counters);
        }
        self.output.tell(&self.notifier);
        self.end_others(&mut Patience::none());
    }

    /// Of a pipe: whether it has taken all.
    fn is_finished(&self) -> bool {
        self.output.buffer.is_empty()
    }

    /// The graph was taken on: what an earlier run has left in the file can go.
    fn link(&mut self, _: &PortNames<'_>) {
        self.output.clear();
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
            let path = self.output.target.path().display();
            format!("{path}: {changed} packets have times after 2106, which do not fit pcap, and got the last that does: write pcapng")
        });
        let lines = self.told.iter().chain(&self.output.error).chain(&changed_times);
        let lines: Vec<&str> = lines.map(String::as_str).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    fn has_failed(&self) -> bool {
        self.output.error.is_some() || !self.told.is_empty() || self.counters.changed_times.get() > 0
    }
}

/// A writer that goes in the middle of a turn, since it has failed, writes what counts as delivered.
impl Drop for Running {
    fn drop(&mut self) {
        self.end_others(&mut Patience::endless());
        let output = &mut self.output;
        if output.buffer.cut() {
            output.encoder.go_on_without(output.target.written() > 0 || !output.buffer.is_empty());
        }
        if output.target.is_begun() {
            output.end_at_last(&self.counters);
        }
        let encoder = std::mem::replace(&mut output.encoder, Encoder::new(Format::Pcap, 0));
        let begun = std::mem::take(&mut output.begun);
        let left = Left { target: output.target.again(), encoder, is_blank: output.is_blank, begun };
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) = Some(left);
    }
}

impl Running {
    /// Appends packets to the buffer; `false` if any did not fit into the file.
    fn encode(&mut self, burst: &Burst<'_>) -> bool {
        let mut misfits = 0;
        let mut less_precise = 0;
        let mut changed_times = 0;
        let Output { buffer, encoder, .. } = &mut self.output;
        buffer.append(|records| {
            for packet in burst.iter() {
                match encoder.put(packet, records) {
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

    /// Goes on with another file. A regular one that was written until now is ended meanwhile: a slow disk is not waited for.
    fn change_to(&mut self, next: Output) {
        let mut last = std::mem::replace(&mut self.output, next);
        last.complete();
        if !last.target.is_regular() {
            last.end_at_last(&self.counters);
        }
        self.ending.push(last);
        self.end_others(&mut Patience::none());
    }

    /// Waits for the files that are being ended if they are as many as there may be, or if this is one of them, by whatever name.
    fn make_room_for(&mut self, path: &Path) {
        let identity = file_identity(path);
        let is_it = |output: &Output| {
            let known = output.target.path();
            known == path || identity.is_some() && file_identity(known) == identity
        };
        if self.ending.len() >= ENDING_MAX || self.ending.iter().any(is_it) {
            self.end_others(&mut Patience::endless());
        }
    }

    /// Goes on to end the files before this one, as far as that is possible in this time.
    fn end_others(&mut self, patience: &mut Patience) {
        let Running { ending, told, notifier, counters, .. } = self;
        ending.retain_mut(|output| {
            let has_ended = output.end(patience, counters);
            if has_ended {
                output.tell(notifier);
                told.extend(output.error.take());
            }
            !has_ended
        });
    }

    /// Writes all there is to the files; also what makes a capture of the last, where no packet has come.
    fn finish(&mut self) {
        self.end_others(&mut Patience::endless());
        self.output.complete();
        self.output.end_at_last(&self.counters);
    }

    /// Whether there is room for more packets, or they are dropped.
    fn takes_packets(&self) -> bool {
        let Output { target, buffer, error, .. } = &self.output;
        let kept_max = if target.is_regular() { KEPT_MAX } else { BLOCK };
        self.slow_reader == SlowReader::Drop || error.is_some() || !buffer.holds(kept_max)
    }
}
