//! What an `l7_spy` tells whoever runs its graph: records of flows, handed over between threads.

use crate::record::Record;
use dpi::Protocol;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Records that wait to be taken, at most; later ones are counted and not told of.
pub const RECORDS_MAX: usize = 4 << 20;

/// Flows that are told of as they stand, at most.
pub const SNAPSHOT_MAX: usize = 1 << 16;

/// Records of flows that are over, and of those that were just identified. Clones are the same ledger.
///
/// ```
/// use wall::ledger::{Ledger, Wanted};
/// let ledger = Ledger::new(Wanted { identified: false, ended: true });
/// let class = wall::L7Spy { ledger: Some(ledger.clone()), ..wall::L7Spy::default() };
/// // … a graph with that class runs …
/// assert!(ledger.take_ended().is_empty());
/// ```
#[derive(Clone, Debug)]
pub struct Ledger(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    wanted: Wanted,
    /// Whether flows as they stand are asked for.
    is_asked: AtomicBool,
    pages: Mutex<Pages>,
}

/// Packets that one spy has looked at, and their bytes on the wire.
///
/// PERF: the spies of several workers have one ledger. If they counted in one place, its cache line would go from core to core with each burst.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct LookedAt {
    packets: AtomicU64,
    bytes: AtomicU64,
}

impl LookedAt {
    /// Counts packets. Only the spy that it belongs to does.
    pub(crate) fn add(&self, packets: u64, bytes: u64) {
        let add = |sum: &AtomicU64, more: u64| {
            sum.store(sum.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
        };
        add(&self.packets, packets);
        add(&self.bytes, bytes);
    }
}

/// What is to be told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Flows that were just identified, as they stand.
    pub identified: bool,
    /// Flows that are over.
    pub ended: bool,
}

#[derive(Debug, Default)]
struct Pages {
    identified: Vec<Record>,
    ended: Vec<Record>,
    open: Option<Vec<Record>>,
    /// Of all spies that there have been.
    looked_at: Vec<Arc<LookedAt>>,
    untold: u64,
    memory: usize,
}

/// Whether it is the same ledger.
impl PartialEq for Ledger {
    fn eq(&self, other: &Ledger) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Ledger {
    /// An empty ledger for this.
    #[must_use]
    pub fn new(wanted: Wanted) -> Ledger {
        Ledger(Arc::new(Shared { wanted, is_asked: AtomicBool::new(false), pages: Mutex::default() }))
    }

    /// What it is for.
    #[must_use]
    pub fn wanted(&self) -> Wanted {
        self.0.wanted
    }

    /// Takes the records of flows that were identified since.
    #[must_use]
    pub fn take_identified(&self) -> Vec<Record> {
        std::mem::take(&mut self.pages().identified)
    }

    /// Takes the records of flows that have ended since, in the order of their ends.
    #[must_use]
    pub fn take_ended(&self) -> Vec<Record> {
        std::mem::take(&mut self.pages().ended)
    }

    /// Asks for the flows as they stand: [`SNAPSHOT_MAX`] of them, at the next tick of the app.
    pub fn ask(&self) {
        self.0.is_asked.store(true, Ordering::Relaxed);
    }

    /// Takes the flows that were asked for; `None` while they are not there.
    #[must_use]
    pub fn take_open(&self) -> Option<Vec<Record>> {
        self.pages().open.take()
    }

    /// Whether flows are asked for; they are not any more then.
    pub(crate) fn take_question(&self) -> bool {
        self.0.is_asked.swap(false, Ordering::Relaxed)
    }

    pub(crate) fn set_open(&self, records: Vec<Record>) {
        self.pages().open = Some(records);
    }

    /// Packets, and their bytes on the wire, that were looked at.
    #[must_use]
    pub fn looked_at(&self) -> (u64, u64) {
        let pages = self.pages();
        let sum = |of: fn(&LookedAt) -> &AtomicU64| {
            pages.looked_at.iter().map(|looked_at| of(looked_at).load(Ordering::Relaxed)).sum::<u64>()
        };
        (sum(|looked_at| &looked_at.packets), sum(|looked_at| &looked_at.bytes))
    }

    /// Where a further spy counts what it looks at.
    pub(crate) fn count_for_spy(&self) -> Arc<LookedAt> {
        let looked_at = Arc::<LookedAt>::default();
        self.pages().looked_at.push(Arc::clone(&looked_at));
        looked_at
    }

    /// How many records there was no room for.
    #[must_use]
    pub fn untold(&self) -> u64 {
        self.pages().untold
    }

    /// Bytes that the table of flows has, and that tier 1 may take; 0 before the app has started.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.pages().memory
    }

    pub(crate) fn set_memory(&self, bytes: usize) {
        self.pages().memory = bytes;
    }

    /// Adds records, which are gone from the lists then.
    pub(crate) fn add(&self, identified: &mut Vec<Record>, ended: &mut Vec<Record>) {
        if identified.is_empty() && ended.is_empty() {
            return;
        }
        let pages = &mut *self.pages();
        let mut untold = append(&mut pages.identified, identified);
        untold += append(&mut pages.ended, ended);
        pages.untold += untold;
    }

    /// A panic leaves no page half written.
    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.0.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Moves as many as there is room for; says how many were left out.
fn append(page: &mut Vec<Record>, records: &mut Vec<Record>) -> u64 {
    let room = RECORDS_MAX.saturating_sub(page.len());
    let untold = records.len().saturating_sub(room);
    records.truncate(room);
    page.append(records);
    untold as u64
}

/// What each flow turned out to be, by its number: for a second look at the same packets. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Outcomes(Arc<Vec<Outcome>>);

/// What a flow turned out to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// What it speaks.
    pub protocol: Protocol,
    /// What carries that.
    pub master: Protocol,
    /// Packets that it had in all.
    pub packets: u32,
}

impl PartialEq for Outcomes {
    fn eq(&self, other: &Outcomes) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Outcomes {
    /// Of all flows of a run.
    #[must_use]
    pub fn of(records: &[Record]) -> Outcomes {
        let mut outcomes = Outcomes::default();
        outcomes.add(records);
        outcomes
    }

    /// Adds flows: 12 bytes for each.
    pub fn add(&mut self, records: &[Record]) {
        let outcomes = Arc::make_mut(&mut self.0);
        for record in records {
            let Some(at) = usize::try_from(record.number).ok().and_then(|number| number.checked_sub(1))
            else {
                continue;
            };
            if outcomes.len() <= at {
                outcomes.resize(at + 1, Outcome::default());
            }
            let packets = u32::try_from(record.total_packets()).unwrap_or(u32::MAX);
            let dpi::Verdict { protocol, master, .. } = record.verdict;
            outcomes[at] = Outcome { protocol, master, packets };
        }
    }

    /// That of the flow of this number, from 1.
    #[must_use]
    pub fn get(&self, number: u64) -> Outcome {
        let at = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        at.and_then(|at| self.0.get(at).copied()).unwrap_or_default()
    }
}
