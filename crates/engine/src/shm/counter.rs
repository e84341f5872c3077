//! Numbers with one writer.

use super::shared::Shared;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number in the file of counters. One thread writes it, anybody may read it; a write is a plain store.
#[derive(Clone, Debug)]
pub struct Counter {
    cell: NonNull<AtomicU64>,
    /// Keeps the memory mapped.
    _memory: Memory,
}

#[derive(Clone, Debug)]
enum Memory {
    Shared { _segment: Arc<Shared> },
    Own { _cells: Arc<[AtomicU64]> },
}

// SAFETY: the cell is an atomic that lives as long as the counter.
unsafe impl Send for Counter {}
// SAFETY: as above.
unsafe impl Sync for Counter {}

impl Counter {
    pub(super) fn new(segment: Arc<Shared>, cell: *const AtomicU64) -> Self {
        let cell = NonNull::new(cell.cast_mut()).expect("the address of a cell");
        Counter { cell, _memory: Memory::Shared { _segment: segment } }
    }

    /// A counter that is in no file.
    pub fn hidden() -> Self {
        let cells: Arc<[AtomicU64]> = Arc::new([AtomicU64::new(0)]);
        Counter { cell: NonNull::from(&cells[..]).cast(), _memory: Memory::Own { _cells: cells } }
    }

    #[inline]
    fn cell(&self) -> &AtomicU64 {
        // SAFETY: `_memory` keeps the cell alive.
        unsafe { self.cell.as_ref() }
    }

    /// Adds to it.
    #[inline]
    pub fn add(&self, count: u64) {
        self.set(self.get().wrapping_add(count));
    }

    /// Sets it.
    #[inline]
    pub fn set(&self, value: u64) {
        self.cell().store(value, Ordering::Relaxed);
    }

    /// Its value.
    #[inline]
    pub fn get(&self) -> u64 {
        self.cell().load(Ordering::Relaxed)
    }
}

/// The counters of a link.
#[derive(Clone, Debug)]
pub(crate) struct LinkCounters {
    pub(super) txpackets: Counter,
    pub(super) txbytes: Counter,
    pub(super) txdrop: Counter,
    pub(super) rxpackets: Counter,
}

impl LinkCounters {
    #[inline]
    pub(crate) fn sent(&self, packets: u64, bytes: u64) {
        self.txpackets.set(packets);
        self.txbytes.set(bytes);
    }

    #[inline]
    pub(crate) fn dropped(&self) {
        self.txdrop.add(1);
    }

    /// Counters of a port without a link: what is sent there is dropped for that reason.
    pub(crate) fn unlinked(txdrop: Counter) -> Self {
        LinkCounters { txdrop, ..Self::hidden() }
    }

    /// Counters that are in no file.
    pub(crate) fn hidden() -> Self {
        let hidden = Counter::hidden;
        LinkCounters { txpackets: hidden(), txbytes: hidden(), txdrop: hidden(), rxpackets: hidden() }
    }

    #[inline]
    pub(crate) fn received(&self, packets: u64) {
        self.rxpackets.set(packets);
    }
}

/// How often durations of each size occurred. Four buckets for each power of two, so that a quantile is exact to 25 %.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// The first of the buckets, which follow one another.
    first: Counter,
}

impl Histogram {
    /// Buckets: durations up to 2^40 ns (18 minutes); longer ones are in the last.
    pub const BUCKETS: usize = 4 * 40;

    /// # Safety
    /// `BUCKETS` cells follow one another from that of `first`, and live as long.
    pub(super) unsafe fn new(first: Counter) -> Self {
        Histogram { first }
    }

    /// A histogram that is in no file.
    pub fn hidden() -> Self {
        let cells: Arc<[AtomicU64]> = (0..Self::BUCKETS).map(|_| AtomicU64::new(0)).collect();
        let first =
            Counter { cell: NonNull::from(&cells[..]).cast(), _memory: Memory::Own { _cells: cells } };
        Histogram { first }
    }

    #[inline]
    fn cells(&self) -> &[AtomicU64] {
        // SAFETY: by the contract of `new`, or because `hidden` made as many.
        unsafe { std::slice::from_raw_parts(self.first.cell.as_ptr(), Self::BUCKETS) }
    }

    /// Notes a duration in nanoseconds.
    #[inline]
    pub fn record(&self, ns: u64) {
        let cell = &self.cells()[Self::bucket(ns)];
        cell.store(cell.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// The bucket of a duration in nanoseconds.
    #[inline]
    pub fn bucket(ns: u64) -> usize {
        let ns = ns.max(4);
        let power = ns.ilog2() as usize;
        let quarter = (ns >> (power - 2)) as usize & 3;
        (4 * power + quarter).min(Self::BUCKETS - 1)
    }

    /// The least duration of a bucket, in nanoseconds.
    pub fn bucket_ns(bucket: usize) -> u64 {
        let (power, quarter) = (bucket / 4, bucket as u64 % 4);
        if power < 2 { 0 } else { (4 + quarter) << (power - 2) }
    }

    /// The duration that a share `q` (0 to 1) of those in `buckets` does not exceed, in nanoseconds: the end of the bucket it
    /// falls in. `None` if there are none.
    pub fn quantile(buckets: &[u64], q: f64) -> Option<u64> {
        // The counts may come from a file that says anything: no sum of them overflows, and no bucket is one too many.
        let buckets = &buckets[..buckets.len().min(Self::BUCKETS)];
        let total: u128 = buckets.iter().map(|&count| u128::from(count)).sum();
        let rank = ((total as f64 * q).ceil() as u128).clamp(1, total.max(1));
        let mut sum = 0;
        let bucket = buckets.iter().position(|&count| {
            sum += u128::from(count);
            sum >= rank
        })?;
        Some(Self::bucket_ns(bucket + 1))
    }

    /// The sum of the durations in `buckets`, if the longest hundredth were like the others, and at least one of ten: a thread that was taken off
    /// its processor for a millisecond is a hundred turns. In nanoseconds, right to a quarter.
    pub fn usual_total_ns(buckets: &[u64]) -> f64 {
        let buckets = &buckets[..buckets.len().min(Self::BUCKETS)];
        let count: u128 = buckets.iter().map(|&count| u128::from(count)).sum();
        let longest = if count < 10 { 0 } else { count.div_ceil(100) };
        let kept = count - longest;
        let (mut left, mut sum_ns) = (kept, 0.0);
        for (bucket, &here) in buckets.iter().enumerate() {
            let here = u128::from(here).min(left);
            let middle_ns = (Self::bucket_ns(bucket) + Self::bucket_ns(bucket + 1)) as f64 / 2.0;
            sum_ns += here as f64 * middle_ns;
            left -= here;
        }
        sum_ns * (count as f64 / kept.max(1) as f64)
    }

    /// The counts, bucket by bucket.
    pub fn counts(&self) -> Vec<u64> {
        self.cells().iter().map(|cell| cell.load(Ordering::Relaxed)).collect()
    }
}
