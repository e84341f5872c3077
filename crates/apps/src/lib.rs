//! The standard apps, one file each.
//!
//! Each file says what the app does, which ports and options it has, and what it counts. Apps that move packets between
//! files or devices and the graph are in the crate `io`.

#![forbid(unsafe_code)]

mod join;
mod sink;
mod source;
mod tee;

pub use join::Join;
pub use sink::Sink;
pub use source::Source;
pub use tee::Tee;

use engine::Registry;

/// The classes that a graph file can name.
pub fn registry() -> Registry {
    Registry::new().with::<Join>().with::<Sink>().with::<Source>().with::<Tee>()
}
