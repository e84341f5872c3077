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
    thread: Option<JoinHandle<()>>,
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

    /// What has become of the blocks since this was asked last; `None` if nothing has. To wait for it, some of them must not be in the file yet.
    pub(super) fn progress(&self, waits: bool) -> Option<io::Result<Progress>> {
        let told = if waits {
            self.progress.recv().map_err(|_| TryRecvError::Disconnected)
        } else {
            self.progress.try_recv()
        };
        match told {
            Ok(told) => Some(told),
            Err(TryRecvError::Empty) => None,
            // It says how it ends, unless it panics.
            Err(TryRecvError::Disconnected) => {
                Some(Err(io::Error::other("the thread that writes has failed")))
            }
        }
    }

    /// Waits until the file has its end, and says how long that is.
    pub(super) fn end(mut self) -> io::Result<u64> {
        self.blocks = None;
        self.progress.iter().try_fold(0, |len, told| Ok(len + told?.len))
    }
}

impl Drop for BackgroundWriter {
    /// The thread has the file open, and locked, until it ends.
    fn drop(&mut self) {
        self.blocks = None;
        self.thread.take().map(JoinHandle::join);
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
        return Ok(());
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
    Ok(())
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
