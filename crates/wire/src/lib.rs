//! Packets as bytes: what a link type is, what a header says, how a checksum is made.
//!
//! ```text
//! LinkType + bytes ──link::strip──► EtherType + payload ──Ipv4/Ipv6──► protocol + payload ──Tcp/Udp/Icmp
//!                        └────────────────────────── summarize ──────────────────────────┘  one line
//! ```
//!
//! A view such as [`ip::Ipv4`] borrows the bytes and reads a field when asked; nothing is parsed ahead. Its
//! constructor checks that the fixed part of the header is there, so the getters cannot fail.
//!
//! This crate knows nothing about files, devices or filters, touches no operating system and holds no unsafe
//! code. Every view takes any bytes: what is not there is `None`, never a panic.

#![forbid(unsafe_code)]

pub mod arp;
pub mod bytes;
pub mod checksum;
pub mod cidr;
pub mod ether;
pub mod flow;
pub mod ip;
pub mod link;
pub mod linktype;
pub mod mac;
pub mod ndp;
pub mod summary;
pub mod transport;
pub mod tunnel;
pub mod vlan;

pub use cidr::{Cidr, Cidr4, Cidr6, ParseCidrError};
pub use flow::{FlowHash, FlowHasher};
pub use linktype::{LinkType, LinkTypeInfo, ParseLinkTypeError};
pub use mac::{Mac, ParseMacError};
pub use summary::{Summary, summarize};
