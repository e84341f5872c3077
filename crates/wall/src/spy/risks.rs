//! Risks of flows, in bounded memory: few flows have any.

use flow::table::Slot;
use std::collections::HashMap;

/// Flows with risks at most. Of more, nothing is risky.
const FLOWS_MAX: usize = 1 << 16;
/// How many are refused until flows that are over are looked for again, unless as many were found: all are looked at.
const REFUSED: usize = 1 << 12;

/// What nDPI has found risky, by flow.
#[derive(Debug, Default)]
pub(super) struct Risks {
    is_watched: bool,
    flows: HashMap<Slot, u64>,
    /// How many more are refused before flows that are over are looked for again.
    to_refuse: usize,
}

impl Risks {
    pub(super) fn watch(&mut self, is_watched: bool) {
        self.is_watched = is_watched;
    }

    /// Whether anybody asks.
    #[inline]
    pub(super) fn is_watched(&self) -> bool {
        self.is_watched
    }

    pub(super) fn of(&self, slot: Slot) -> u64 {
        if self.flows.is_empty() { 0 } else { self.flows.get(&slot).copied().unwrap_or(0) }
    }

    /// Takes note of risks. When there are many, those of flows that are over are forgotten.
    pub(super) fn note(&mut self, slot: Slot, risks: u64, is_there: impl Fn(Slot) -> bool) {
        if risks == 0 || !self.is_watched {
            return;
        }
        if let Some(known) = self.flows.get_mut(&slot) {
            *known |= risks;
            return;
        }
        if self.flows.len() >= FLOWS_MAX {
            if self.to_refuse > 0 {
                self.to_refuse -= 1;
                return;
            }
            self.flows.retain(|slot, _| is_there(*slot));
            if self.flows.len() > FLOWS_MAX - REFUSED {
                self.to_refuse = REFUSED;
            }
        }
        if self.flows.len() < FLOWS_MAX {
            self.flows.insert(slot, risks);
        }
    }
}
