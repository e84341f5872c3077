//! nDPI, loaded at run time.
//!
//! The headers of nDPI that are found at build decide which releases of the library can be loaded: the shim between the two is compiled
//! against them. Without headers nothing can be loaded, and everything else works.
//!
//! INVARIANT: only the worker process loads the library, since nDPI parses packets in C. See [`crate::worker`].

use crate::Confidence;

#[cfg_attr(not(ndpi_headers), path = "ndpi/absent.rs")]
mod library;

pub(crate) use library::{FlowState, Found, Module};

/// The version of nDPI that this program was built for, by its headers; `None` if it was built without nDPI.
///
/// ```
/// match dpi::ndpi::built_with() {
///     Some(version) => assert!(version.starts_with(['4', '5'])),
///     None => assert!(dpi::ndpi::absent().is_some()),
/// }
/// ```
pub fn built_with() -> Option<&'static str> {
    option_env!("SLUSS_NDPI_VERSION")
}

/// Why this program was built without nDPI, or `None` if it was built for it.
pub fn absent() -> Option<&'static str> {
    option_env!("SLUSS_NDPI_ABSENT")
}

/// File names under which the library of a version may be installed, the most exact first.
pub(crate) fn library_names(version: &str) -> Vec<String> {
    let numbers: Vec<&str> = version.split('.').collect();
    let versioned = (1..=numbers.len()).rev().map(|n| format!("libndpi.so.{}", numbers[..n].join(".")));
    versioned.chain(["libndpi.so".to_string()]).collect()
}

/// Whether a library of one revision, as it names itself, serves headers of a version: both are of the same release.
pub(crate) fn serves(revision: &str, version: &str) -> bool {
    let release = |text: &str| {
        let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    };
    release(revision).is_some() && release(revision) == release(version)
}

/// The confidence of a number, as the shim and the answers of the worker have it.
pub(crate) fn confidence(number: u8) -> Confidence {
    use Confidence::{Address, Partial, Payload, Port, Related, Unknown};
    [Unknown, Port, Address, Related, Partial, Payload].get(usize::from(number)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_tried_from_the_most_exact_name_on() {
        assert_eq!(
            library_names("4.2.0"),
            ["libndpi.so.4.2.0", "libndpi.so.4.2", "libndpi.so.4", "libndpi.so"]
        );
    }

    #[test]
    fn a_library_of_another_release_does_not_serve() {
        assert!(serves("4.2.0", "4.2.0") && serves("4.2.1-5-gabc", "4.2.0"));
        assert!(
            !serves("4.4.0", "4.2.0")
                && !serves("14.2.0", "4.2.0")
                && !serves("", "4.2.0")
                && !serves("x", "y")
        );
    }

    #[test]
    fn a_build_has_a_version_or_a_reason() {
        assert!(built_with().is_some() != absent().is_some());
    }
}
