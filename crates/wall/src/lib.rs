//! A layer-7 firewall: what each flow is, and what becomes of it.

#![forbid(unsafe_code)]

mod l7_fw;
pub mod record;
pub mod reject;
pub mod report;
pub mod rules;
mod syslog;

pub use l7_fw::{L7Fw, Log};
