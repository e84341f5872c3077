//! Places that are named before it is known where they are.

use std::fmt;

/// A place in the code or the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AsmLabel(pub u32);

impl fmt::Display for AsmLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "L{}", self.0)
    }
}
