//! A capture that is read pass after pass: from its file, or from memory when it is small and read again; or once, from a stream.
//!
//! PERF: opening a capture costs some microseconds, which a capture of a few packets would pay for each pass.

use super::Passes;
use super::records::{Described, Memory, Ready, Records, check_linktype};
use super::stream::{Part, Stream, is_stream};
use crate::held::Reading;
use crate::interfaces::Section;
use capture::{Error, Format, Reader};
use std::io;
use std::path::{Path, PathBuf};
use wire::LinkType;

/// A capture that is read pass after pass.
#[derive(Debug)]
pub(super) struct Tape {
    path: PathBuf,
    /// Keeps writers from the file.
    reading: Option<Reading>,
    source: Source,
    /// The interfaces that the reader knows.
    section: Section,
    /// The next record of the reader's batch, or of the memory.
    at: usize,
    /// The packets read so far, if they are kept; of a stream those that are ready.
    memory: Memory,
    /// Whether it is.
    is_kept: bool,
    /// Whether any packet was seen since the file was opened last.
    has_packets: bool,
    /// The first link type that is not Ethernet.
    foreign: Option<LinkType>,
    /// Whether nothing but Ethernet frames was to come when it was opened first.
    is_ethernet: bool,
}

/// What records come from.
#[derive(Debug)]
enum Source {
    /// The file.
    File(Box<Reader>),
    /// What was kept of it.
    Memory,
    /// A stream, by way of the memory.
    Stream(Stream),
}

/// The packets to play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Load {
    /// A record lies ready.
    Ready,
    /// None does yet.
    Later,
    /// The pass is at its end.
    End,
}

impl Tape {
    /// Opens a capture, to be read so often.
    pub(super) fn open(path: &Path, passes: Passes) -> Result<Self, Error> {
        let reader = Reader::open(path)?;
        // Any block of pcapng may describe an interface of another link type. So may a file that `cat` has joined to a pcap file, but to
        // keep metadata for that would cost every graph that reads Ethernet frames; packets of another link type are dropped.
        let is_ethernet =
            matches!(reader.format(), Format::Pcap(header) if header.linktype == LinkType::ETHERNET);
        Ok(Tape {
            is_kept: passes != Passes::Times(1),
            source: Source::File(Box::new(reader)),
            is_ethernet,
            ..Self::empty(path)
        })
    }

    /// Refuses what it is known to hold, if it cannot be brought into a graph.
    pub(super) fn check(&self) -> Result<(), String> {
        match &self.source {
            Source::File(reader) => check_linktype(reader.format(), &self.path.to_string_lossy()),
            Source::Memory | Source::Stream(_) => Ok(()),
        }
    }

    /// Opens a stream, if the path leads to one.
    pub(super) fn open_stream(path: &Path) -> io::Result<Option<Self>> {
        let stream = is_stream(path).then(|| Stream::open(path)).transpose()?;
        Ok(stream.map(|stream| Tape { source: Source::Stream(stream), ..Self::empty(path) }))
    }

    /// Without anything on it.
    pub(super) fn empty(path: &Path) -> Self {
        Tape {
            path: path.to_owned(),
            reading: None,
            source: Source::Memory,
            section: Section::of(path),
            at: 0,
            memory: Memory::default(),
            is_kept: false,
            has_packets: false,
            foreign: None,
            is_ethernet: false,
        }
    }

    /// Takes what keeps writers from the file.
    pub(super) fn hold(&mut self, reading: Option<Reading>) {
        self.reading = reading;
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is read from a stream.
    pub(super) fn is_stream(&self) -> bool {
        matches!(self.source, Source::Stream(_))
    }

    /// Whether a whole pass has brought no packet.
    pub(super) fn is_blank(&self) -> bool {
        !self.has_packets
    }

    /// The first link type that came and is not Ethernet.
    pub(super) fn foreign(&self) -> Option<LinkType> {
        self.foreign
    }

    /// Whether it was known, when it was opened, that nothing but Ethernet frames would come.
    pub(super) fn is_ethernet(&self) -> bool {
        self.is_ethernet
    }

    /// Makes sure that a record lies ready, if one is there.
    #[inline]
    pub(super) fn load(&mut self) -> Result<Load, String> {
        match &self.source {
            Source::File(reader) if self.at < reader.batch().len() => Ok(Load::Ready),
            Source::File(_) => self.next_batch(),
            _ if self.at < self.memory.len() => Ok(Load::Ready),
            Source::Memory => Ok(Load::End),
            Source::Stream(_) => self.next_part(),
        }
    }

    fn next_batch(&mut self) -> Result<Load, String> {
        let Source::File(reader) = &mut self.source else { return Ok(Load::End) };
        self.at = 0;
        while let Some(batch) = reader.next_batch().map_err(|error| error.to_string())? {
            self.section.follow(&batch);
            if batch.is_empty() {
                continue;
            }
            check_linktype(batch.format(), batch.input())?;
            self.has_packets = true;
            self.foreign = self.foreign.or_else(|| batch.linktype().filter(is_foreign));
            if self.is_kept && !self.memory.keep(&Described { batch, section: &self.section }) {
                (self.memory, self.is_kept) = (Memory::default(), false);
            }
            return Ok(Load::Ready);
        }
        Ok(Load::End)
    }

    fn next_part(&mut self) -> Result<Load, String> {
        let Source::Stream(stream) = &mut self.source else { return Ok(Load::End) };
        match stream.next() {
            Some(Part::Records(memory)) => {
                self.at = 0;
                self.has_packets = true;
                self.foreign = self.foreign.or_else(|| memory.linktype().filter(is_foreign));
                stream.reuse(std::mem::replace(&mut self.memory, memory));
                Ok(Load::Ready)
            }
            Some(Part::End) => Ok(Load::End),
            Some(Part::Damaged(why)) => Err(why),
            None => Ok(Load::Later),
        }
    }

    /// Begins again.
    pub(super) fn rewind(&mut self) -> Result<(), Error> {
        self.at = 0;
        self.source = Source::Memory;
        if !self.is_kept {
            // It may be another by now, and have none.
            self.has_packets = false;
            // Who would empty this very one has been told not to.
            self.reading = Reading::of(&self.path).unwrap_or_default();
            self.source = Source::File(Box::new(Reader::open(&self.path)?));
        }
        Ok(())
    }

    /// The records that lie ready, and the number of the next one, which is to be moved on.
    #[inline]
    pub(super) fn ready(&mut self) -> (Ready<'_>, &mut usize) {
        let ready = match &self.source {
            Source::File(reader) => Ready::Batch(Described { batch: reader.batch(), section: &self.section }),
            Source::Memory | Source::Stream(_) => Ready::Memory(&self.memory),
        };
        (ready, &mut self.at)
    }
}

/// Whether frames of this link type are no Ethernet frames.
fn is_foreign(linktype: &LinkType) -> bool {
    *linktype != LinkType::ETHERNET
}

#[cfg(test)]
mod tests {
    use super::{Load, Passes, Tape};
    use crate::scratch::{Scratch, pcap};

    #[test]
    fn a_capture_that_is_emptied_meanwhile_is_blank() {
        let scratch = Scratch::new();
        let path = scratch.file("a.pcap", &pcap(&[(1, 60, vec![1; 60])]));
        let mut tape = Tape::open(&path, Passes::Times(1)).unwrap();
        assert_eq!(tape.load(), Ok(Load::Ready));
        // Another in its place: what is open stays what it was.
        std::fs::remove_file(&path).unwrap();
        scratch.file("a.pcap", &pcap(&[]));
        tape.rewind().unwrap();
        assert!(tape.load() == Ok(Load::End) && tape.is_blank());
    }
}
