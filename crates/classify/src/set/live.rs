//! A set that changes while it is read.
//!
//! ```text
//! reader    the newest view that can be had without waiting: overlay, then base
//! writer    add, remove, expire: pieces of the overlay, published at once
//!           overlay of more than 64 pieces: a new base is built in a thread of its own, from all entries
//!           base ready: published with the changes since as its overlay
//! ```
//! A base is a table of ranks. The overlay is a sorted list of pieces that say "in" or "out", looked at before the base. A piece is the exact
//! answer for its numbers: when an entry goes, what others still hold of it stays in. Should changes come faster than bases are built,
//! the writer waits, never a reader.

use super::overlay::Overlay;
use super::{Limit, TooLarge};
use crate::swap::{Reader, Swap};
use std::collections::{BTreeMap, BTreeSet};
use std::thread::JoinHandle;
use table::interval::union;
use table::ranks::{RankSet, Ranks};

/// Pieces of the overlay from which on a new base is built.
const OVERLAY_MAX: usize = 64;
/// Pieces at which the writer waits for it.
const BACKLOG_MAX: usize = 4096;

type Span<R> = (<R as Ranks>::Key, <R as Ranks>::Key);

/// What readers see at one time.
#[derive(Debug)]
struct View<R: Ranks> {
    base: std::sync::Arc<RankSet<R>>,
    /// Disjoint, ascending pieces, and whether their numbers are in the set.
    overlay: Vec<(R::Key, R::Key, bool)>,
}

impl<R: Ranks> View<R> {
    #[inline]
    fn contains(&self, key: R::Key) -> bool {
        if !self.overlay.is_empty() {
            let at = self.overlay.partition_point(|&(_, high, _)| high < key);
            if let Some(&(low, _, is_in)) = self.overlay.get(at)
                && low <= key
            {
                return is_in;
            }
        }
        self.base.contains(key)
    }
}

/// Changes to a set, made together.
#[derive(Clone, Debug)]
pub struct Update<K> {
    /// Entries to add, each with the time at which it expires. One that is there gets a new time.
    pub add: Vec<(K, K, Option<u64>)>,
    /// Entries to remove, as they were added. One that is not there is passed over.
    pub remove: Vec<(K, K)>,
}

impl<K> Default for Update<K> {
    fn default() -> Self {
        Update { add: Vec::new(), remove: Vec::new() }
    }
}

/// A set that changes: the writer's side.
///
/// Times are numbers of the caller's choice, such as nanoseconds of its clock.
///
/// ```
/// use classify::set::{Limit, LiveSet, Update};
/// use table::ranks::Ranks32;
/// let mut set: LiveSet<Ranks32> = LiveSet::new(vec![(10, 19)], Limit::default())?;
/// let mut reader = set.reader();
/// set.update(Update { add: vec![(30, 30, Some(100))], remove: vec![(10, 19)] }, 0)?;
/// assert_eq!([15, 30].map(|key| reader.contains(key)), [false, true]);
/// set.update(Update::default(), 100)?;
/// assert!(!reader.contains(30), "it has expired");
/// # Ok::<(), classify::set::TooLarge>(())
/// ```
#[derive(Debug)]
pub struct LiveSet<R: Ranks> {
    entries: BTreeMap<Span<R>, Option<u64>>,
    deadlines: BTreeSet<(u64, Span<R>)>,
    base: std::sync::Arc<RankSet<R>>,
    /// What differs from `base`.
    overlay: Overlay<R::Key>,
    building: Option<Building<R>>,
    limit: Limit,
    swap: Swap<View<R>>,
}

/// A base in the making.
#[derive(Debug)]
struct Building<R: Ranks> {
    thread: JoinHandle<Result<RankSet<R>, TooLarge>>,
    /// What has changed since it began.
    since: Overlay<R::Key>,
}

impl<R: Ranks + Send + Sync + 'static> LiveSet<R>
where
    R::Key: Send + Sync,
{
    /// A set of these entries, which do not expire.
    ///
    /// # Errors
    /// [`TooLarge`].
    pub fn new(spans: Vec<Span<R>>, limit: Limit) -> Result<Self, TooLarge> {
        let entries = spans.iter().map(|&span| (span, None)).collect();
        let base = std::sync::Arc::new(RankSet::new(spans, limit)?);
        let swap = Swap::new(View { base: std::sync::Arc::clone(&base), overlay: Vec::new() });
        let (deadlines, overlay) = (BTreeSet::new(), Overlay::default());
        Ok(LiveSet { entries, deadlines, base, overlay, building: None, limit, swap })
    }

    /// A reader's side, for another thread.
    #[must_use]
    pub fn reader(&self) -> LiveReader<R> {
        LiveReader(self.swap.reader())
    }

    /// Entries that are in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it has no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Applies changes at a time: what has expired by then goes first, then what is to be removed, then comes what is new. Readers see all
    /// of them or none.
    ///
    /// # Errors
    /// [`TooLarge`] if a base that was built is; the changes are in effect, and the next update tries again.
    pub fn update(&mut self, update: Update<R::Key>, now: u64) -> Result<(), TooLarge> {
        let mut gone = Vec::new();
        while let Some(&(deadline, span)) = self.deadlines.first()
            && deadline <= now
        {
            self.deadlines.pop_first();
            self.entries.remove(&span);
            gone.push(span);
        }
        for span in update.remove {
            if let Some(deadline) = self.entries.remove(&span) {
                self.deadlines.remove(&(deadline.unwrap_or(0), span));
                gone.push(span);
            }
        }
        self.take_out(&gone);
        for (low, high, deadline) in update.add.into_iter().filter(|(low, high, _)| low <= high) {
            let span = (low, high);
            if let Some(Some(old)) = self.entries.insert(span, deadline) {
                self.deadlines.remove(&(old, span));
            }
            self.deadlines.extend(deadline.map(|deadline| (deadline, span)));
            self.note(low, high, true);
        }
        let built = self.build();
        let overlay = self.overlay.pieces();
        self.swap.publish(View { base: std::sync::Arc::clone(&self.base), overlay });
        built
    }

    /// Notes what the numbers of entries that have gone are now: still in where another entry holds them.
    fn take_out(&mut self, gone: &[Span<R>]) {
        if gone.is_empty() {
            return;
        }
        let gone = union(gone.to_vec());
        let mut still = Vec::new();
        for &(low, high) in self.entries.keys() {
            let at = gone.partition_point(|&(_, end)| end < low);
            let touched = gone[at..].iter().take_while(|&&(start, _)| start <= high);
            still.extend(touched.map(|&(start, end)| (start.max(low), end.min(high))));
        }
        gone.iter().for_each(|&(low, high)| self.note(low, high, false));
        union(still).into_iter().for_each(|(low, high)| self.note(low, high, true));
    }

    fn note(&mut self, low: R::Key, high: R::Key, is_in: bool) {
        self.overlay.put(low, high, is_in);
        if let Some(building) = &mut self.building {
            building.since.put(low, high, is_in);
        }
    }

    /// Takes a base that is ready, or that must be waited for; begins another one where the overlay is long.
    fn build(&mut self) -> Result<(), TooLarge> {
        let must_wait = self.overlay.len() > BACKLOG_MAX;
        if let Some(building) = self.building.take_if(|building| must_wait || building.thread.is_finished()) {
            let base = building.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            self.base = std::sync::Arc::new(base);
            self.overlay = building.since;
        }
        if self.overlay.len() > OVERLAY_MAX && self.building.is_none() {
            let spans: Vec<Span<R>> = self.entries.keys().copied().collect();
            let limit = self.limit;
            let thread = std::thread::spawn(move || RankSet::new(spans, limit));
            self.building = Some(Building { thread, since: Overlay::default() });
        }
        Ok(())
    }

    /// Waits until no base is in the making, and publishes it.
    ///
    /// # Errors
    /// [`TooLarge`] if it is.
    pub fn settle(&mut self) -> Result<(), TooLarge> {
        while let Some(building) = &self.building {
            while !building.thread.is_finished() {
                std::thread::yield_now();
            }
            self.update(Update::default(), 0)?;
        }
        Ok(())
    }
}

/// A set that changes: a reader's side.
#[derive(Debug)]
pub struct LiveReader<R: Ranks>(Reader<View<R>>);

impl<R: Ranks> LiveReader<R> {
    /// Whether a number is a member now.
    #[inline]
    pub fn contains(&mut self, key: R::Key) -> bool {
        self.0.get().contains(key)
    }

    /// The same of many, all at one time.
    ///
    /// # Panics
    /// If there is less room than there are numbers.
    pub fn contains_each(&mut self, keys: &[R::Key], members: &mut [bool]) {
        assert!(members.len() >= keys.len(), "room for the answer for each number");
        let view = self.0.get();
        if view.overlay.is_empty() {
            return view.base.contains_each(keys, members);
        }
        keys.iter().zip(members).for_each(|(&key, member)| *member = view.contains(key));
    }
}
