//! A layer-7 firewall: what each flow is, and what becomes of it.

#![forbid(unsafe_code)]

pub mod judge;
mod l7_fw;
mod l7_spy;
pub mod ledger;
pub mod policy;
pub mod record;
pub mod reject;
pub mod report;
pub mod rules;
pub mod spy;
mod syslog;

pub use l7_fw::{L7Fw, Log};
pub use l7_spy::{Dpi, L7Spy, Midstream, NdpiOptions};

use engine::Registry;

/// The classes that a graph file can name.
#[must_use]
pub fn registry() -> Registry {
    Registry::new().with::<L7Fw>().with::<L7Spy>()
}
