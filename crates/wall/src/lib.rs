//! A layer-7 firewall: what each flow is, and what becomes of it.

#![forbid(unsafe_code)]

pub mod reject;
pub mod rules;
