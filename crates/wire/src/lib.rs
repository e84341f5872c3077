//! Packets as bytes: what a link type is, what a header says, how a checksum is made.
//!
//! This crate knows nothing about files, devices or filters, touches no operating system and holds no unsafe
//! code. Every view takes any bytes: what is not there is `None`, never a panic.

#![forbid(unsafe_code)]

pub mod linktype;

pub use linktype::{LinkType, LinkTypeInfo, ParseLinkTypeError};
