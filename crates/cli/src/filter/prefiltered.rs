//! Packets of a device that the kernel's filter has let through, whose verdict is final for most of them.

use capture::{Batch, ByteOrder, Precision, Reader, Target};
use io::live::{Counts, Live};
use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A capture from a device, all of whose filters are one that runs in the kernel.
#[derive(Clone)]
pub(super) struct Prefiltered {
    live: Arc<Mutex<Live>>,
    counts: Arc<Counts>,
}

impl Prefiltered {
    pub(super) fn new(live: Live) -> Self {
        let counts = live.counts();
        Prefiltered { live: Arc::new(Mutex::new(live)), counts }
    }

    /// A reader of its stream.
    pub(super) fn reader(&self, name: &str) -> Result<Reader, capture::Error> {
        Reader::new(self.clone(), name)
    }

    /// Whether the kernel has decided about all packets of a batch, so that its verdict is what the filter would answer.
    pub(super) fn has_decided(&self, batch: &Batch<'_>) -> bool {
        let first =
            batch.packets().first().map(|packet| batch.window_offset() + u64::from(packet.raw_offset));
        first.is_some_and(|first| first >= self.counts.undecided_end())
    }

    /// Takes records past the reader, which has none left: [`Live::take_decided`].
    pub(super) fn take_decided(&self, out: &mut Vec<u8>, len: usize) -> u64 {
        self.lock().take_decided(out, len)
    }

    fn lock(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Read for Prefiltered {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        self.lock().read(out)
    }
}

/// Whether a file of this format takes the records of a live capture as they are.
pub(super) fn takes_records(target: Target) -> bool {
    matches!(target, Target::Pcap { order: ByteOrder::NATIVE, precision: Precision::Micro, link_bits: 0, .. })
}
