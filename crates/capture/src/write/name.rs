//! What the name of an output says of what is in it.

use std::fmt;
use std::path::{Path, PathBuf};

/// What a name says by its endings, such as `.pcapng.zst`, in either case.
///
/// ```
/// use capture::{NamedFormat, NameHint};
/// let hint = NameHint::of("out.pcapng.zst".as_ref());
/// assert_eq!((hint.format, hint.is_compressed), (Some(NamedFormat::Pcapng), true));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameHint {
    /// The format, if the name says any.
    pub format: Option<NamedFormat>,
    /// Whether it says that the file is compressed, which no output is.
    pub is_compressed: bool,
}

/// A format that names speak of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedFormat {
    /// `.pcap`
    Pcap,
    /// `.pcapng`
    Pcapng,
}

impl fmt::Display for NamedFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NamedFormat::Pcap => "pcap",
            NamedFormat::Pcapng => "pcapng",
        })
    }
}

impl NameHint {
    /// What this name says.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        let name = without_compression(path);
        let formats = [NamedFormat::Pcap, NamedFormat::Pcapng];
        let format = formats.into_iter().find(|format| has_extension(&name, &format.to_string()));
        NameHint { format, is_compressed: name != path }
    }

    /// What is told of a file of this name that is written in `format`, if the name says something else. `reason` says what `format` is, such
    /// as "the format of the input".
    ///
    /// ```
    /// use capture::{NamedFormat, NameHint};
    /// let told = NameHint::misnamed("a.pcap.gz".as_ref(), NamedFormat::Pcap, None);
    /// assert_eq!(told.as_deref(), Some("a.pcap.gz is written without compression, whatever its name says"));
    /// let told = NameHint::misnamed("a.pcap".as_ref(), NamedFormat::Pcapng, Some("the format of the input"));
    /// assert_eq!(told.as_deref(), Some("a.pcap is written as pcapng, the format of the input, whatever its name says"));
    /// assert_eq!(NameHint::misnamed("a.pcap".as_ref(), NamedFormat::Pcap, None), None);
    /// ```
    #[must_use]
    pub fn misnamed(path: &Path, format: NamedFormat, reason: Option<&str>) -> Option<String> {
        let hint = NameHint::of(path);
        let is_other = hint.format.is_some_and(|named| named != format);
        let what = match (is_other, hint.is_compressed, reason) {
            (true, true, Some(reason)) => format!("as {format}, {reason}, and without compression"),
            (true, true, None) => format!("as {format} and without compression"),
            (true, false, Some(reason)) => format!("as {format}, {reason}"),
            (true, false, None) => format!("as {format}"),
            (false, true, _) => "without compression".to_owned(),
            (false, false, _) => return None,
        };
        Some(format!("{} is written {what}, whatever its name says", path.display()))
    }
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
    use super::{NameHint, NamedFormat};
    use std::path::Path;

    #[test]
    fn names_that_say_something_else_are_told() {
        for (name, format, told) in [
            ("a", NamedFormat::Pcap, ""),
            ("-", NamedFormat::Pcapng, ""),
            ("a.pcapng", NamedFormat::Pcapng, ""),
            ("a.cap", NamedFormat::Pcapng, ""),
            ("folder.pcap/a", NamedFormat::Pcapng, ""),
            ("a.pcap", NamedFormat::Pcap, ""),
            ("a.pcap", NamedFormat::Pcapng, "as pcapng, for a reason"),
            ("a.PCAP", NamedFormat::Pcapng, "as pcapng, for a reason"),
            ("a.pcapng", NamedFormat::Pcap, "as pcap, for a reason"),
            ("a.pcapng.gz", NamedFormat::Pcapng, "without compression"),
            ("a.zst", NamedFormat::Pcap, "without compression"),
            ("a.pcap.zst", NamedFormat::Pcapng, "as pcapng, for a reason, and without compression"),
        ] {
            let expected =
                (!told.is_empty()).then(|| format!("{name} is written {told}, whatever its name says"));
            let path = Path::new(name);
            assert_eq!(NameHint::misnamed(path, format, Some("for a reason")), expected);
            let bare = expected
                .map(|told| told.replace(", for a reason, and", " and").replace(", for a reason", ""));
            assert_eq!(NameHint::misnamed(path, format, None), bare);
        }
    }
}
