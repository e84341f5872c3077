//! What the name of an output says is in it, and what is.
//!
//! The output keeps the format of the input. A name that ends in `.pcapng`, with or without `.gz` or `.zst` after it, asks for pcapng,
//! into which any capture fits. No name makes a pcap of a pcapng input, which would lose interfaces, comments and names, and none
//! compresses; the user is warned of such names instead.

use capture::{Format, NameHint, NamedFormat, Target};
use std::path::Path;

/// The format of an output of this name, where the first packets are in `format`.
pub(super) fn target(path: &Path, format: Format) -> Target {
    match NameHint::of(path).format {
        Some(NamedFormat::Pcapng) => Target::Pcapng,
        _ => Target::like(format),
    }
}

/// The same of an output that has so many bytes of each packet at most.
pub(super) fn cut_target(path: &Path, format: Format, cut: Option<u32>) -> Target {
    match (target(path, format), cut) {
        (Target::Pcap { order, precision, snaplen, linktype, link_bits }, Some(cut)) => {
            // 0 is no limit.
            let snaplen = if snaplen == 0 { cut } else { snaplen.min(cut) };
            Target::Pcap { order, precision, snaplen, linktype, link_bits }
        }
        (target, _) => target,
    }
}

/// What is written under a name that says something else: the text of a warning.
pub(super) fn misnamed(path: &Path, target: Target) -> Option<String> {
    let format = if target == Target::Pcapng { NamedFormat::Pcapng } else { NamedFormat::Pcap };
    NameHint::misnamed(path, format, Some("the format of the input"))
}
