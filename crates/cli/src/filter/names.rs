//! What the name of an output says is in it, and what is.
//!
//! The output keeps the format of the input. A name that ends in `.pcapng`, with or without `.gz` or `.zst` after it, asks for pcapng,
//! into which any capture fits. No name makes a pcap of a pcapng input, which would lose interfaces, comments and names, and none
//! compresses; the user is warned of such names instead.

use capture::{Format, Target};
use std::path::{Path, PathBuf};

/// The format of an output of this name, where the first packets are in `format`.
pub(super) fn target(path: &Path, format: Format) -> Target {
    if has_extension(&without_compression(path), "pcapng") { Target::Pcapng } else { Target::like(format) }
}

/// What is written under a name that says something else: the text of a warning.
pub(super) fn misnamed(path: &Path, target: Target) -> Option<String> {
    let name = without_compression(path);
    let is_pcapng = target == Target::Pcapng && has_extension(&name, "pcap");
    let is_plain = name != path;
    let what = match (is_pcapng, is_plain) {
        (true, true) => "as pcapng, the format of the input, and without compression",
        (true, false) => "as pcapng, the format of the input",
        (false, true) => "without compression",
        (false, false) => return None,
    };
    Some(format!("{} is written {what}, whatever its name says", path.display()))
}

/// The name without the ending of a compressed file.
fn without_compression(path: &Path) -> PathBuf {
    let is_compressed = ["gz", "zst"].iter().any(|end| has_extension(path, end));
    if is_compressed { path.with_extension("") } else { path.to_owned() }
}

fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use capture::ByteOrder;

    #[test]
    fn names_that_say_something_else_are_told() {
        let format = Format::Pcapng(ByteOrder::NATIVE);
        for (name, told) in [
            ("a", ""),
            ("-", ""),
            ("a.pcapng", ""),
            ("a.cap", ""),
            ("folder.pcap/a", ""),
            ("a.pcap", "as pcapng, the format of the input,"),
            ("a.PCAP", "as pcapng, the format of the input,"),
            ("a.pcapng.gz", "without compression,"),
            ("a.zst", "without compression,"),
            ("a.pcap.zst", "as pcapng, the format of the input, and without compression,"),
        ] {
            let path = Path::new(name);
            let text = misnamed(path, target(path, format)).unwrap_or_default();
            let expected = if told.is_empty() {
                String::new()
            } else {
                format!("{name} is written {told} whatever its name says")
            };
            assert_eq!(text, expected);
        }
    }
}
