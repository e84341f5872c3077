//! A capture that comes in bit by bit, from a pipe say: a thread of its own reads it, so that no worker waits for what is not there.
//!
//! ```text
//!            parts, 8 at most ─────►
//!  reader's thread                  worker: takes what lies ready
//!            ◄───── used memory
//! ```
//!
//! What the two have in memory is bounded: when the worker takes nothing, the thread waits, then the pipe is full, and who writes into
//! it waits. When the worker lets go of the stream, nobody waits for the thread: it finds out within a tenth of a second, and ends.
//!
//! A FIFO is opened at once, whether anybody writes into it or not.

use super::records::{Described, Memory, check_linktype};
use crate::held::{STDIN, file_identity, stdin_identity};
use crate::interfaces::Section;
use capture::Reader;
use engine::Use;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;

/// A capture that is being read by its own thread.
#[derive(Debug)]
pub(super) struct Stream {
    parts: Receiver<Part>,
    used: SyncSender<Memory>,
    stop: Arc<AtomicBool>,
}

/// The next thing from a stream.
#[derive(Debug)]
pub(super) enum Part {
    /// Records.
    Records(Memory),
    /// It is at its end.
    End,
    /// It has ended in the wrong place, for this reason.
    Damaged(String),
}

/// Parts that wait for the worker at most, each of some ten kilobytes or one long packet.
const PARTS_MAX: usize = 8;
/// How long the thread waits for bytes before it looks whether anybody still wants them.
const LOOK_AROUND: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// Whether reading from a path may have to wait for who writes: it is neither a file nor a folder.
pub(super) fn is_stream(path: &Path) -> bool {
    let is_no_file = |metadata: std::fs::Metadata| !metadata.is_file() && !metadata.is_dir();
    path.as_os_str() == STDIN || path.metadata().is_ok_and(is_no_file)
}

/// The input of a reader: a file, which others can read as well, or a stream, of which each would get a part.
pub(super) fn uses(path: &Path) -> Vec<Use> {
    let used = |identity, name: &str, is_shared| Use {
        option: "path",
        identity,
        name: name.to_owned(),
        verb: "reads",
        is_shared,
        remedy: "what comes from there can be read only once",
    };
    if path.as_os_str() == STDIN {
        let name = "standard input";
        let file = stdin_identity().map(|file| used(file, name, true));
        return [used(name.to_owned(), name, false)].into_iter().chain(file).collect();
    }
    let name = path.to_string_lossy();
    let fifo = path.metadata().ok().filter(|metadata| metadata.file_type().is_fifo());
    match fifo {
        Some(fifo) => vec![used(format!("FIFO {} {}", fifo.dev(), fifo.ino()), &name, false)],
        None => file_identity(path).map(|file| used(file, &name, true)).into_iter().collect(),
    }
}

impl Stream {
    /// Begins to read.
    pub(super) fn open(path: &Path) -> io::Result<Stream> {
        let (name, file) = if path.as_os_str() == STDIN {
            ("standard input".to_owned(), File::from(io::stdin().as_fd().try_clone_to_owned()?))
        } else {
            let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
            (path.to_string_lossy().into_owned(), file)
        };
        let (parts_in, parts) = sync_channel(PARTS_MAX);
        let (used, used_out) = sync_channel(PARTS_MAX + 1);
        let stop = Arc::new(AtomicBool::new(false));
        let bytes = Bytes { file, stop: Arc::clone(&stop) };
        thread::Builder::new()
            .name("pcap_reader".to_owned())
            .spawn(move || read(bytes, &name, &parts_in, &used_out))?;
        Ok(Stream { parts, used, stop })
    }

    /// The packets that are ready; `None` if there are none yet.
    pub(super) fn next(&mut self) -> Option<Part> {
        match self.parts.try_recv() {
            Ok(part) => Some(part),
            Err(TryRecvError::Empty) => None,
            // The thread says how it ends, unless it fails.
            Err(TryRecvError::Disconnected) => Some(Part::Damaged("its reader has failed".to_owned())),
        }
    }

    /// Gives memory back that has served. Where there is enough already, it goes.
    pub(super) fn reuse(&mut self, memory: Memory) {
        let _ = self.used.try_send(memory);
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// The thread: reads until the end, or until nobody listens.
fn read(bytes: Bytes, name: &str, parts: &SyncSender<Part>, used: &Receiver<Memory>) {
    let last = match read_records(bytes, name, parts, used) {
        Ok(()) => Part::End,
        Err(why) => Part::Damaged(why),
    };
    let _ = parts.send(last);
}

fn read_records(
    bytes: Bytes,
    name: &str,
    parts: &SyncSender<Part>,
    used: &Receiver<Memory>,
) -> Result<(), String> {
    let mut reader = Reader::new(bytes, name).map_err(|error| error.to_string())?;
    let mut section = Section::of(Path::new(name));
    while let Some(batch) = reader.next_batch().map_err(|error| error.to_string())? {
        section.follow(&batch);
        if batch.is_empty() {
            continue;
        }
        check_linktype(batch.format(), name)?;
        let mut memory = used.try_recv().unwrap_or_default();
        memory.clear();
        memory.keep(&Described { batch, section: &section });
        if parts.send(Part::Records(memory)).is_err() {
            break;
        }
    }
    Ok(())
}

/// The bytes of a stream. They end when nobody wants more.
struct Bytes {
    file: File,
    stop: Arc<AtomicBool>,
}

impl Read for Bytes {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while !self.stop.load(Ordering::Relaxed) {
            match poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&LOOK_AROUND)) {
                Ok(0) | Err(Errno::INTR) => continue,
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
            // Whoever reads next is to get what has come since.
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            match self.file.read(out) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
        }
        Ok(0)
    }
}
