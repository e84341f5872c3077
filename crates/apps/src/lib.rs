//! The standard apps, one file each.
//!
//! Each file says what the app does, which ports and options it has, and what it counts. Apps that move packets between
//! files or devices and the graph are in the crate `io`.

#![forbid(unsafe_code)]

mod filter;
mod filtering;
mod join;
mod names;
mod rss;
mod sink;
mod source;
mod tee;

pub use filter::Filter;
pub use join::Join;
pub use names::SystemNames;
pub use rss::Rss;
pub use sink::Sink;
pub use source::Source;
pub use tee::Tee;

use engine::Registry;

/// The classes that a graph file can name.
#[rustfmt::skip]
pub fn registry() -> Registry {
    Registry::new()
        .with::<Filter>()
        .with::<Join>()
        .with::<Rss>()
        .with::<Sink>()
        .with::<Source>()
        .with::<Tee>()
}
