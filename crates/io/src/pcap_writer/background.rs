//! The thread that writes a regular file: a slow disk, or one at the other end of a network, holds up this thread and no app.
//!
//! ```text
//!            blocks of records ──────────►
//!     app                                   thread: compresses, write(2)
//!            ◄────────── how much of them is in the file, or an error
//! ```
//!
//! What the two have in memory is bounded by the app, which keeps each block until it is told that the block is in the file. After an error the thread
//! writes no more, so that the app knows what is there.

use capture::{Compression, Packer};
use std::io::{self, ErrorKind, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{self, JoinHandle};

/// A file that is being written by a thread of its own. When this goes, all that the thread was given has been written, and the file is closed.
#[derive(Debug)]
pub(super) struct BackgroundWriter {
    /// `None` when no more will come.
    blocks: Option<Sender<Arc<Vec<u8>>>>,
    progress: Receiver<io::Result<Progress>>,
    /// `None` once it has ended.
    thread: Option<JoinHandle<()>>,
}

/// What the thread has told.
#[derive(Clone, Copy, Debug)]
pub(super) enum Told {
    Nothing,
    /// Some of what it was given is in the file.
    Progress(Progress),
    /// The file has its end, and was closed.
    End,
}

/// What has come into a file since that was asked last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// Bytes of blocks.
    pub(super) taken: usize,
    /// Bytes of the file; others where it is compressed.
    pub(super) len: u64,
}

impl BackgroundWriter {
    /// Begins to write.
    pub(super) fn start(
        sink: impl Write + Send + 'static,
        compression: Option<Compression>,
    ) -> io::Result<Self> {
        let (blocks, given) = channel();
        let (tell, progress) = channel();
        let serve = move || {
            use_all_cores();
            let told = |progress| drop(tell.send(Ok(progress)));
            if let Err(error) = serve(sink, compression, &given, told) {
                let _ = tell.send(Err(error));
            }
        };
        let thread = thread::Builder::new().name("pcap_writer".to_owned()).spawn(serve)?;
        Ok(BackgroundWriter { blocks: Some(blocks), progress, thread: Some(thread) })
    }

    /// Has a block written. If the thread has failed, [`BackgroundWriter::progress`] says so.
    pub(super) fn write(&self, block: &Arc<Vec<u8>>) {
        if let Some(blocks) = &self.blocks {
            let _ = blocks.send(Arc::clone(block));
        }
    }

    /// Has the file ended behind the blocks so far: no more will come.
    pub(super) fn end(&mut self) {
        self.blocks = None;
    }

    /// What the thread has told since it was asked last. To wait for it, some of the blocks must not be in the file yet, or no more may come.
    pub(super) fn progress(&mut self, waits: bool) -> io::Result<Told> {
        let told = if waits {
            self.progress.recv().map_err(|_| TryRecvError::Disconnected)
        } else {
            self.progress.try_recv()
        };
        match told {
            Ok(progress) => progress.map(Told::Progress),
            Err(TryRecvError::Empty) => Ok(Told::Nothing),
            // It has ended: because no more will come, or by an error, which it has told, or a panic.
            Err(TryRecvError::Disconnected) => {
                let is_sound = self.thread.take().is_none_or(|thread| thread.join().is_ok());
                if is_sound && self.blocks.is_none() {
                    Ok(Told::End)
                } else {
                    Err(io::Error::other("the thread that writes has failed"))
                }
            }
        }
    }
}

impl Drop for BackgroundWriter {
    /// The thread has the file open, and locked, until it ends.
    fn drop(&mut self) {
        self.blocks = None;
        self.thread.take().map(JoinHandle::join);
    }
}

/// Lets this thread run on all cores that the process has: from a worker that starts it, it inherits that one's core. Where this is not allowed, it
/// stays there.
fn use_all_cores() {
    let first_thread = rustix::process::getpid();
    if let Ok(all) = rustix::thread::sched_getaffinity(Some(first_thread)) {
        let _ = rustix::thread::sched_setaffinity(None, &all);
    }
}

/// The thread: writes until no more comes.
fn serve(
    mut sink: impl Write,
    compression: Option<Compression>,
    blocks: &Receiver<Arc<Vec<u8>>>,
    told: impl Fn(Progress),
) -> io::Result<()> {
    let Some(compression) = compression else {
        while let Ok(block) = blocks.recv() {
            write_plain(&mut sink, block, &told)?;
        }
        return sink.flush();
    };
    let mut packer = Packer::new(compression);
    let mut packed = Vec::new();
    while let Ok(block) = blocks.recv() {
        let taken = block.len();
        packer.put_part(&block, &mut packed)?;
        drop(block);
        sink.write_all(&packed)?;
        told(Progress { taken, len: packed.len() as u64 });
        packed.clear();
    }
    packer.end(&mut packed)?;
    sink.write_all(&packed)?;
    told(Progress { taken: 0, len: packed.len() as u64 });
    sink.flush()
}

/// Writes a block, and tells after each call how much of it the file has: when the disk is full, its records count up to there.
fn write_plain(sink: &mut impl Write, block: Arc<Vec<u8>>, told: impl Fn(Progress)) -> io::Result<()> {
    let mut at = 0;
    loop {
        let taken = match sink.write(&block[at..]) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(taken) => taken,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let progress = Progress { taken, len: taken as u64 };
        at += taken;
        if at == block.len() {
            // Before the app hears of it, so that it can use the memory again.
            drop(block);
            told(progress);
            return Ok(());
        }
        told(progress);
    }
}
