//! What packets lose that go into a pcap file of another kind than their input: the first input has decided what the file can say.

use super::bits::set_bits;
use crate::blame::Blame;
use crate::message::Message;
use capture::{Batch, Format, Precision, SnapLength, Target};
use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;

/// Something that packets of one input have lost in one output.
#[derive(Clone, Debug)]
pub(super) struct Loss {
    /// Which output, counted from 0.
    pub(super) output: usize,
    pub(super) what: What,
    input: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum What {
    /// Digits of times beyond microseconds.
    Nanoseconds,
    /// What pcapng says beside packets.
    Blocks,
}

/// Losses, of which only the first of each kind is worth a word for each output.
#[derive(Debug, Default)]
pub(super) struct Known(HashSet<(usize, What)>);

impl Known {
    /// Whether that was not known before.
    pub(super) fn is_new(&mut self, output: usize, what: What) -> bool {
        self.0.insert((output, what))
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
        self.0.extend(lost.iter().map(|&what| (output, what)));
        lost.into_iter().map(|what| Loss { output, what, input: batch.input().to_owned() }).collect()
    }
}

impl Loss {
    /// What to tell of it, of an output of this name.
    pub(super) fn message(&self, output: &Path) -> Message {
        let output = name(output);
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

/// What to tell of packets whose times an output cannot hold, all of which were set to the nearest that it can.
pub(super) fn changed_times(output: &Path, packets: u64) -> Message {
    let times = match packets {
        1 => "the time of 1 packet does not fit pcap, and was set".to_owned(),
        _ => format!("the times of {packets} packets do not fit pcap, and were set"),
    };
    let name = name(output);
    let text = format_args!("{name}: {times} to the nearest that does, from 1970 to 2106");
    Message::error(Blame::Damage, text).with_help("write to a .pcapng file").with_file(&name)
}

/// What to tell of a pcap file with longer packets than its header said at first.
pub(super) fn exceeded_snaplen(
    output: &Path,
    SnapLength { stated, longest, is_raised }: SnapLength,
) -> Message {
    let name = name(output);
    let kept = format!(
        "{name}: packets of up to {longest} bytes were kept whole, which is more than the snap length of {stated}"
    );
    let message = if is_raised {
        Message::note(format_args!("{kept}; the file says {longest} now"))
    } else {
        Message::warning(format_args!(
            "{kept} in its header, at which other programs cut them: write to a file without compression, or to a .pcapng file"
        ))
    };
    message.with_file(&name)
}

/// What an output is called in messages.
pub(super) fn name(output: &Path) -> Cow<'_, str> {
    if super::places::is_stdout(output) { "standard output".into() } else { output.to_string_lossy() }
}
