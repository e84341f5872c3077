//! A layer-7 firewall: what each flow is, and what becomes of it.

#![forbid(unsafe_code)]

pub mod control;
pub mod import;
pub mod judge;
mod l7_fw;
mod l7_spy;
mod l7_wall;
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
pub use l7_wall::L7Wall;
pub use syslog::Syslog;

use engine::Registry;

/// The classes that a graph file can name.
#[must_use]
pub fn registry() -> Registry {
    Registry::new().with::<L7Fw>().with::<L7Spy>().with::<L7Wall>()
}
