//! The standard apps, one file each.
//!
//! Each file says what the app does, which ports and options it has, and what it counts. Apps that move packets between
//! files or devices and the graph are in the crate `io`.

#![forbid(unsafe_code)]

mod bucket;
mod counter;
mod delay;
mod filter;
mod filtering;
mod join;
mod r#match;
mod merge;
mod names;
mod printer;
mod queue;
mod random;
mod rate_limiter;
mod repeater;
mod rss;
mod sampler;
mod sink;
mod source;
mod split;
mod tee;
mod truncate;

pub use counter::{Count, Counter};
pub use delay::Delay;
pub use filter::Filter;
pub use join::Join;
pub use r#match::{Case, Match};
pub use merge::Merge;
pub use names::SystemNames;
pub use printer::{Printer, Stream};
pub use queue::{Policy, Queue};
pub use rate_limiter::RateLimiter;
pub use repeater::Repeater;
pub use rss::Rss;
pub use sampler::Sampler;
pub use sink::Sink;
pub use source::Source;
pub use split::Split;
pub use tee::Tee;
pub use truncate::Truncate;

use engine::Registry;

/// The classes that a graph file can name.
#[rustfmt::skip]
pub fn registry() -> Registry {
    Registry::new()
        .with::<Counter>()
        .with::<Delay>()
        .with::<Filter>()
        .with::<Join>()
        .with::<Match>()
        .with::<Merge>()
        .with::<Printer>()
        .with::<Queue>()
        .with::<RateLimiter>()
        .with::<Repeater>()
        .with::<Rss>()
        .with::<Sampler>()
        .with::<Sink>()
        .with::<Source>()
        .with::<Split>()
        .with::<Tee>()
        .with::<Truncate>()
}
