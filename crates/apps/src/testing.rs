//! What the tests of several apps share.

use engine::Class;

/// The frame that a line describes.
pub(crate) fn frame(line: &str) -> Vec<u8> {
    testkit::packet::Packet::parse(line).unwrap_or_else(|error| panic!("{line}: {error}")).bytes
}

/// Options, as a graph file writes them.
pub(crate) fn read<C: Class>(options: &str) -> Result<C, toml::de::Error> {
    toml::from_str(options)
}
