//! What the names that flows give come to, by number: the domain that a name lies in, and the sets that have it.

use crate::policy::Policy;
use crate::spy::Namer;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The numbers that names have come to. There are as many as domains of the policy, times what sets they lie in: not as many as names.
#[derive(Debug)]
pub(super) struct NameTable {
    policy: Arc<Policy>,
    /// Whether there are sets of domains; without, a name comes to the number of its domain.
    has_sets: bool,
    rows: Mutex<Rows>,
}

#[derive(Debug, Default)]
struct Rows {
    numbers: HashMap<(u32, Vec<u32>), u32>,
    rows: Vec<(u32, Vec<u32>)>,
}

impl NameTable {
    pub(super) fn new(policy: Arc<Policy>) -> NameTable {
        let has_sets = policy.has_domain_sets();
        NameTable { policy, has_sets, rows: Mutex::default() }
    }

    /// Gives names their numbers, 0 for those of which nothing is asked.
    pub(super) fn namer(table: &Arc<NameTable>) -> Namer {
        let table = Arc::clone(table);
        Arc::new(move |details| {
            let (domain, sets) = table.policy.name(details);
            if !table.has_sets {
                return domain;
            }
            if domain == 0 && sets.iter().all(|word| *word == 0) {
                return 0;
            }
            let Rows { numbers, rows } = &mut *table.rows();
            *numbers.entry((domain, sets)).or_insert_with_key(|row| {
                rows.push(row.clone());
                rows.len() as u32
            })
        })
    }

    /// The domain of a name.
    pub(super) fn domain(&self, number: u32) -> u32 {
        if self.has_sets { self.row(number, |(domain, _)| *domain) } else { number }
    }

    /// Bits of the sets that have a name.
    pub(super) fn sets(&self, number: u32, word: u32) -> u32 {
        self.row(number, |(_, sets)| sets.get(word as usize).copied().unwrap_or(0))
    }

    fn row(&self, number: u32, of: impl Fn(&(u32, Vec<u32>)) -> u32) -> u32 {
        let Some(at) = number.checked_sub(1) else { return 0 };
        self.rows().rows.get(at as usize).map_or(0, of)
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
