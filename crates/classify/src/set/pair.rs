//! Sets of addresses with ports.
//!
//! ```text
//! 10.0.0.0/8 with 80, 10.1.0.0/16 with 443, 10.1.2.3 with 53
//! address      10.0.0.0 a │ 10.1.0.0 b │ 10.1.2.3 c │ 10.1.2.4 b │ 10.2.0.0 a │
//! class        a: 80      b: 80, 443   c: 53, 80, 443
//! ```
//! An address has the ports of all entries that hold it. Addresses are cut into pieces with the same ports, and pieces with the same ports are one
//! class. A look-up finds the class, then the port among the intervals of the class, mostly one or two.

use super::{Limit, TooLarge};
use std::collections::{BTreeSet, HashMap};
use table::interval::{Key, NONE, Pieces, union};
use table::ranks::{RankMap, Ranks};

/// A set of pairs of a number and a 16-bit number.
///
/// ```
/// use classify::set::{Limit, PairSet};
/// use table::ranks::Ranks32;
/// let set: PairSet<Ranks32> = PairSet::new(&[(0x0a00_0000, 0x0aff_ffff, 80, 80)], Limit::default())?;
/// assert!(set.contains(0x0a01_0203, 80) && !set.contains(0x0a01_0203, 81));
/// # Ok::<(), classify::set::TooLarge>(())
/// ```
#[derive(Clone, Debug)]
pub struct PairSet<R> {
    classes: RankMap<R>,
    /// Where the intervals of each class begin; one more at the end.
    firsts: Vec<u32>,
    ports: Vec<(u16, u16)>,
}

impl<R: Ranks> PairSet<R> {
    /// The set of these pairs: the first and the last number, the first and the last port.
    ///
    /// # Errors
    /// [`TooLarge`], also where entries overlap so often that the ports of all pieces would exceed the limit.
    pub fn new(entries: &[(R::Key, R::Key, u16, u16)], limit: Limit) -> Result<Self, TooLarge> {
        // Where an entry begins, and behind where it ends.
        let mut events: Vec<(R::Key, u32, bool)> = Vec::with_capacity(2 * entries.len());
        for (&(low, high, first, last), at) in entries.iter().zip(0..) {
            if low <= high && first <= last {
                events.push((low, at, true));
                events.extend(high.above().map(|next| (next, at, false)));
            }
        }
        events.sort_unstable();
        let mut set = Classes::default();
        let mut open = BTreeSet::new();
        let mut pieces = Pieces { starts: Vec::new(), values: vec![NONE] };
        let mut work = 0;
        for group in events.chunk_by(|a, b| a.0 == b.0) {
            for &(_, at, begins) in group {
                if begins {
                    open.insert(at)
                } else {
                    open.remove(&at)
                };
            }
            work += open.len();
            if work * size_of::<(u16, u16)>() > limit.bytes {
                let bytes = work * size_of::<(u16, u16)>();
                return Err(TooLarge { boundaries: events.len(), bytes, limit: limit.bytes });
            }
            let ports = open.iter().map(|&at: &u32| (entries[at as usize].2, entries[at as usize].3));
            let class = set.class(union(ports.collect()));
            pieces.starts.push(group[0].0);
            pieces.values.push(class);
        }
        set.firsts.push(set.ports.len() as u32);
        Ok(PairSet { classes: RankMap::new(&pieces, limit)?, firsts: set.firsts, ports: set.ports })
    }

    /// Whether a pair is a member.
    #[inline]
    #[must_use]
    pub fn contains(&self, key: R::Key, port: u16) -> bool {
        let Some(class) = self.classes.find(key) else { return false };
        let (first, behind) = (self.firsts[class as usize], self.firsts[class as usize + 1]);
        let ports = &self.ports[first as usize..behind as usize];
        let at = ports.partition_point(|&(_, high)| high < port);
        ports.get(at).is_some_and(|&(low, _)| low <= port)
    }

    /// Bytes of memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.classes.bytes() + size_of_val(&self.firsts[..]) + size_of_val(&self.ports[..])
    }
}

/// Sets of ports, each once.
#[derive(Default)]
struct Classes {
    known: HashMap<Vec<(u16, u16)>, u32>,
    firsts: Vec<u32>,
    ports: Vec<(u16, u16)>,
}

impl Classes {
    fn class(&mut self, ports: Vec<(u16, u16)>) -> u32 {
        if ports.is_empty() {
            return NONE;
        }
        let next = self.firsts.len() as u32;
        *self.known.entry(ports).or_insert_with_key(|ports| {
            self.firsts.push(self.ports.len() as u32);
            self.ports.extend_from_slice(ports);
            next
        })
    }
}
