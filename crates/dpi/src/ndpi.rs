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

/// The confidence of a number, as the shim and the answers of the worker have it.
pub(crate) fn confidence(number: u8) -> Confidence {
    use Confidence::{Address, Partial, Payload, Port, Related, Unknown};
    [Unknown, Port, Address, Related, Partial, Payload].get(usize::from(number)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_has_a_version_or_a_reason() {
        assert!(built_with().is_some() != absent().is_some());
    }
}
