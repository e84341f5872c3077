//! Risks of flows, in bounded memory: few flows have any.

use flow::table::Slot;
use std::collections::HashMap;

/// Flows with risks at most. Of more, nothing is risky.
const FLOWS_MAX: usize = 1 << 16;

/// What nDPI has found risky, by flow.
#[derive(Debug, Default)]
pub(super) struct Risks {
    is_watched: bool,
    flows: HashMap<Slot, u64>,
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
        if self.flows.len() >= FLOWS_MAX {
            self.flows.retain(|slot, _| is_there(*slot));
        }
        if self.flows.len() < FLOWS_MAX || self.flows.contains_key(&slot) {
            *self.flows.entry(slot).or_default() |= risks;
        }
    }
}
