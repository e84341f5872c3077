//! Packets of a stretch of time, or with numbers of a range.

use super::bits::WORDS;
use crate::moments::{Moment, NumberRange};
use capture::Batch;

/// Which packets are looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Window {
    pub(super) since: Option<Moment>,
    pub(super) until: Option<Moment>,
    pub(super) range: Option<NumberRange>,
}

impl Window {
    /// Whether it depends on the first packet of all.
    pub(super) fn needs_first(&self) -> bool {
        [self.since, self.until].into_iter().flatten().any(|moment| !matches!(moment, Moment::At(_)))
    }

    /// Whether it leaves nothing out.
    pub(super) fn is_whole(&self) -> bool {
        self.since.is_none() && self.until.is_none() && self.range.is_none()
    }

    /// Clears the bits of packets outside, of which `before` came before in their capture; `first_ns` is the time of the first of all.
    pub(super) fn clear(
        &self,
        bits: &mut [u64; WORDS],
        batch: &Batch<'_>,
        before: u64,
        first_ns: &mut Option<i64>,
    ) {
        if self.is_whole() {
            return;
        }
        let Some(first) = batch.packets().first() else { return };
        let first_ns = *first_ns.get_or_insert_with(|| batch.timestamp_ns(first));
        let since = self.since.map(|since| since.at(first_ns));
        let until = self.until.map(|until| until.at(first_ns));
        for (i, packet) in batch.packets().iter().enumerate() {
            let (word, bit) = (i / 64, 1 << (i % 64));
            if bits[word] & bit == 0 {
                continue;
            }
            let number = before + i as u64 + 1;
            let is_number = self.range.is_none_or(|range| (range.first..=range.last).contains(&number));
            let is_time = (since.is_none() && until.is_none()) || {
                let time = batch.timestamp_ns(packet);
                since.is_none_or(|since| time >= since) && until.is_none_or(|until| time < until)
            };
            if !(is_number && is_time) {
                bits[word] &= !bit;
            }
        }
    }
}
