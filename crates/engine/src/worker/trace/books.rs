//! What an app and the ends of its links had counted before a turn, and what has been added since: packets sent, and packets that ended, by reason.

use crate::drops;
use crate::shm::EntryKind;
use crate::worker::Task;

/// The counts of an app at one time.
#[derive(Debug)]
pub(super) struct Books {
    /// Its record's numbers, in their order, to which new ones are only added.
    counts: Vec<u64>,
    /// By output: packets sent, and packets refused.
    sent: Vec<u64>,
    refused: Vec<u64>,
    /// Packets that it keeps.
    pub(super) held: usize,
}

/// A packet that has ended.
#[derive(Clone, Debug)]
pub(super) struct End {
    /// The counter.
    pub(super) reason: String,
    pub(super) is_delivered: bool,
    /// The output that had no room for it, or no link.
    pub(super) output: Option<usize>,
}

impl Books {
    pub(super) fn of(task: &Task) -> Self {
        let outputs = &task.plugs.outputs;
        Books {
            counts: task.record.entries().map(|(_, _, count)| count).collect(),
            sent: outputs.iter().map(|output| output.sent()).collect(),
            refused: outputs.iter().map(|output| output.dropped()).collect(),
            held: task.held(),
        }
    }

    /// By output: packets that were sent since.
    pub(super) fn sent_since(&self, task: &Task) -> Vec<u64> {
        task.plugs.outputs.iter().zip(&self.sent).map(|(output, before)| output.sent() - before).collect()
    }

    /// Packets that have ended since.
    pub(super) fn ends_since(&self, task: &Task) -> Vec<End> {
        let mut ends = Vec::new();
        let before = self.counts.iter().copied().chain(std::iter::repeat(0));
        for ((reason, kind, count), before) in task.record.entries().zip(before) {
            // What outputs without a link refuse is told below, with the output.
            let is_end = kind == EntryKind::Delivered || kind.is_drop() && reason != drops::UNLINKED;
            let end = || End {
                reason: reason.to_owned(),
                is_delivered: kind == EntryKind::Delivered,
                output: None,
            };
            if is_end {
                ends.extend((before..count).map(|_| end()));
            }
        }
        for (index, (output, &before)) in task.plugs.outputs.iter().zip(&self.refused).enumerate() {
            let reason = if output.is_linked() { drops::LINK_FULL } else { drops::UNLINKED };
            let end = || End { reason: reason.to_owned(), is_delivered: false, output: Some(index) };
            ends.extend((before..output.dropped()).map(|_| end()));
        }
        ends
    }
}
