//! Which types of apps there are.

use engine::Registry;

/// The classes that a graph can name.
pub(crate) fn registry() -> Registry {
    apps::registry().and(io::registry()).and(wall::registry()).and(lua::registry())
}
