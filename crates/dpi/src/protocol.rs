//! Names of protocols.

/// A protocol, by its number in the table of names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Protocol(u16);

impl Protocol {
    /// None, or not known.
    pub const UNKNOWN: Protocol = Protocol(0);
}
