//! Names of protocols and categories, as the loaded nDPI has them.

/// A protocol of nDPI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtocolName {
    /// Its name.
    pub name: String,
    /// Name of its category.
    pub category: String,
}

/// Names of a version of nDPI. Numbers change between versions: names are what rules and people use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    pub(super) revision: String,
    pub(super) protocols: Vec<ProtocolName>,
    pub(super) categories: Vec<String>,
}

impl Names {
    /// What the library calls its version.
    pub fn revision(&self) -> &str {
        &self.revision
    }

    /// All protocols, by their ids.
    pub fn protocols(&self) -> &[ProtocolName] {
        &self.protocols
    }

    /// All categories, by their ids.
    pub fn categories(&self) -> &[String] {
        &self.categories
    }

    /// Name of a protocol, by its id; empty if there is none.
    pub fn protocol(&self, id: u16) -> &str {
        self.protocols.get(usize::from(id)).map_or("", |protocol| &protocol.name)
    }

    /// Name of a category, by its id; empty if there is none.
    pub fn category(&self, id: u16) -> &str {
        self.categories.get(usize::from(id)).map_or("", String::as_str)
    }
}
