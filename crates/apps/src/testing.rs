//! What the tests of several apps share.

use engine::Class;
use testkit::rig::Rig;

/// The frame that a line describes.
pub(crate) fn frame(line: &str) -> Vec<u8> {
    testkit::packet::Packet::parse(line).unwrap_or_else(|error| panic!("{line}: {error}")).bytes
}

/// Options, as a graph file writes them.
pub(crate) fn read<C: Class + serde::de::DeserializeOwned>(options: &str) -> Result<C, toml::de::Error> {
    toml::from_str(options)
}

/// What a responder makes of a frame from the south: what comes out in the south and in the north.
pub(crate) fn ask(rig: &mut Rig, frame: &[u8]) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    rig.send("south", frame);
    rig.breathe();
    (rig.take("south"), rig.take("north"))
}
