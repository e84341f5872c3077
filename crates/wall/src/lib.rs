//! A layer-7 firewall: what each flow is, and what becomes of it.

#![forbid(unsafe_code)]

mod l7_fw;
pub mod record;
pub mod reject;
pub mod report;
pub mod rules;
mod syslog;

pub use l7_fw::{L7Fw, Log};

use engine::Registry;

/// The classes that a graph file can name.
#[must_use]
pub fn registry() -> Registry {
    Registry::new().with::<L7Fw>()
}
