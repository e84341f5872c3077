//! What the name of an output says of what is in it.

use std::fmt;
use std::path::Path;

use crate::compression::Compression;

/// What a name says by its endings, such as `.pcapng.zst`, in either case.
///
/// ```
/// use capture::{Compression, NamedFormat, NameHint};
/// let hint = NameHint::of("out.pcapng.zst".as_ref());
/// assert_eq!((hint.format, hint.compression), (Some(NamedFormat::Pcapng), Some(Compression::Zstd)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameHint {
    /// The format, if the name says any.
    pub format: Option<NamedFormat>,
    /// How the file is compressed, if the name says so.
    pub compression: Option<Compression>,
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
        let endings = [("gz", Compression::Gzip), ("zst", Compression::Zstd)];
        let compression = endings.into_iter().find(|(ending, _)| has_extension(path, ending));
        let compression = compression.map(|(_, compression)| compression);
        let name = if compression.is_some() { path.with_extension("") } else { path.to_owned() };
        let formats = [NamedFormat::Pcap, NamedFormat::Pcapng];
        let format = formats.into_iter().find(|format| has_extension(&name, &format.to_string()));
        NameHint { format, compression }
    }

    /// What is told of a file of this name that is written in `format` and with this compression, if the name says something else. `reason`
    /// says what `format` is, such as "the format of the input".
    ///
    /// ```
    /// use capture::{NamedFormat, NameHint};
    /// let told = NameHint::misnamed("a.pcap.gz".as_ref(), NamedFormat::Pcap, None, None);
    /// assert_eq!(told.as_deref(), Some("a.pcap.gz is written without compression, whatever its name says"));
    /// let told = NameHint::misnamed("a.pcap".as_ref(), NamedFormat::Pcapng, None, Some("the format of the input"));
    /// assert_eq!(told.as_deref(), Some("a.pcap is written as pcapng, the format of the input, whatever its name says"));
    /// assert_eq!(NameHint::misnamed("a.pcap".as_ref(), NamedFormat::Pcap, None, None), None);
    /// ```
    #[must_use]
    pub fn misnamed(
        path: &Path,
        format: NamedFormat,
        compression: Option<Compression>,
        reason: Option<&str>,
    ) -> Option<String> {
        let hint = NameHint::of(path);
        let is_bare = hint.compression.is_some() && compression.is_none();
        let is_other = hint.format.is_some_and(|named| named != format);
        let what = match (is_other, is_bare, reason) {
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
            assert_eq!(NameHint::misnamed(path, format, None, Some("for a reason")), expected);
            let bare = expected
                .map(|told| told.replace(", for a reason, and", " and").replace(", for a reason", ""));
            assert_eq!(NameHint::misnamed(path, format, None, None), bare);
        }
    }
}
