//! What packets lose that go into a pcap file of another kind than their input: the first input has decided what the file can say.

use super::bits::set_bits;
use crate::message::Message;
use capture::{Batch, Format, Precision, Target};
use std::path::Path;

/// Something that packets of one input have lost in one output.
#[derive(Clone, Debug)]
pub(super) struct Loss {
    /// Which output, counted from 0.
    pub(super) output: usize,
    pub(super) what: What,
    input: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Digits of times beyond microseconds.
    Nanoseconds,
    /// What pcapng says beside packets.
    Blocks,
}

/// Losses, of which only the first of each kind is worth a word for each output.
#[derive(Debug, Default)]
pub(super) struct Known(Vec<(usize, What)>);

impl Known {
    /// Whether that was not known before.
    pub(super) fn is_new(&mut self, output: usize, what: What) -> bool {
        let is_new = !self.0.contains(&(output, what));
        if is_new {
            self.0.push((output, what));
        }
        is_new
    }

    /// What the packets whose bit is set lose in an output of this format, as far as it is news.
    pub(super) fn look(
        &mut self,
        output: usize,
        target: Target,
        batch: &Batch<'_>,
        bits: &[u64],
    ) -> Vec<Loss> {
        let Target::Pcap { precision, .. } = target else { return Vec::new() };
        let is_lost = |what: &What| match (what, batch.format()) {
            (What::Nanoseconds, _) if precision == Precision::Nano => false,
            (What::Nanoseconds, Format::Pcap(from)) if from.precision == Precision::Micro => false,
            (What::Nanoseconds, _) => {
                set_bits(bits).any(|i| batch.timestamp_ns(&batch.packets()[i]) % 1000 != 0)
            }
            (What::Blocks, Format::Pcap(_)) => false,
            (What::Blocks, Format::Pcapng(_)) => set_bits(bits).next().is_some(),
        };
        let is_known = |what: &What| self.0.contains(&(output, *what));
        let lost = [What::Nanoseconds, What::Blocks].into_iter();
        let lost: Vec<What> = lost.filter(|what| !is_known(what) && is_lost(what)).collect();
        lost.iter().for_each(|&what| self.0.push((output, what)));
        lost.into_iter().map(|what| Loss { output, what, input: batch.input().to_owned() }).collect()
    }
}

impl Loss {
    /// What to tell of it, of an output of this name.
    pub(super) fn message(&self, output: &Path) -> Message {
        let output = if super::places::is_stdout(output) {
            "standard output".into()
        } else {
            output.to_string_lossy()
        };
        let Loss { input, what, .. } = self;
        let text = match what {
            What::Nanoseconds => format!(
                "{input}: the nanoseconds of its times are lost in {output}, which has microseconds, as the first input has: \
                 name a file with nanoseconds first, or write to a .pcapng file"
            ),
            What::Blocks => format!(
                "{input}: its interfaces, comments and names are lost in {output}, which is pcap, as the first input is: \
                 name a pcapng file first, or write to a .pcapng file"
            ),
        };
        Message::warning(text).with_file(input)
    }
}
