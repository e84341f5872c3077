//! Which types of apps there are.

use engine::Registry;
use std::sync::OnceLock;

/// Those of this process.
static REGISTRY: OnceLock<Registry> = OnceLock::new();

/// Those that sluss brings.
pub(crate) fn standard() -> Registry {
    apps::registry().and(io::registry()).and(wall::registry()).and(lua::registry())
}

/// From now on, these are the classes that a graph can name. The first call decides.
pub(crate) fn have(registry: Registry) {
    let _ = REGISTRY.set(registry);
}

/// The classes that a graph can name.
pub(crate) fn registry() -> Registry {
    REGISTRY.get_or_init(standard).clone()
}
