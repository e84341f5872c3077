//! Packets as bytes: what a link type is, what a header says and how to write it, how a checksum is made.
//!
//! ```text
//! LinkType + bytes ──link::strip──► EtherType + payload ──Ipv4/Ipv6──► protocol + payload ──Tcp/Udp/Icmp
//!                        └────────────────────────── summarize ──────────────────────────┘  one line
//! ```
//!
//! A view such as [`ip::Ipv4`] borrows the bytes and reads a field when asked; nothing is parsed ahead. Its
//! constructor checks that the fixed part of the header is there, so the getters cannot fail. A struct of values writes
//! a new header ([`ip::Ipv4Header`]), and where apps change one, a view changes bytes in place ([`ip::Ipv4Mut`]). Numbers are in the byte order of the machine on this side of all of them.
//!
//! ```
//! use wire::checksum::Addresses;
//! use wire::ether::{EthernetMut, ethertype};
//! use wire::ip::{Ipv4Mut, protocol};
//! use wire::transport::{IcmpMut, icmp_kind};
//!
//! /// Turns a ping into its answer.
//! fn answer(frame: &mut [u8]) -> Option<()> {
//!     let mut ether = EthernetMut::new(frame).filter(|ether| ether.view().ethertype() == ethertype::IPV4)?;
//!     ether.swap_addresses();
//!     let mut ip = Ipv4Mut::new(ether.payload_mut()).filter(|ip| ip.view().protocol() == protocol::ICMP)?;
//!     let (src, dst) = (ip.view().src(), ip.view().dst());
//!     ip.set_src(dst);
//!     ip.set_dst(src); // the sum of the header is the same as before
//!     let mut icmp = IcmpMut::new(ip.payload_mut())?;
//!     icmp.set_kind(icmp_kind::ECHO_REPLY);
//!     icmp.fill_checksum(Addresses::V4 { src: dst, dst: src });
//!     Some(())
//! }
//! # let mut frame = *b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01\x08\0\x45\0\0\x1c\0\0\0\0\x40\x01\x66\xdf\x0a\0\0\x01\x0a\0\0\x02\x08\0\xf7\xfd\0\x01\0\x01pads";
//! # answer(&mut frame).unwrap();
//! # assert_eq!(frame[26..], *b"\x0a\0\0\x02\x0a\0\0\x01\0\0\xff\xfd\0\x01\0\x01pads");
//! # assert!(wire::ip::Ipv4::new(&frame[14..]).unwrap().is_checksum_right());
//! ```
//!
//! | to | look in |
//! |---|---|
//! | read a packet of any link type | [`link`], [`summary`] |
//! | find the headers, the tunnels, the payload and the 5-tuple of a packet | [`layers`] |
//! | read, change, write headers | [`ether`], [`vlan`], [`arp`], [`ip`], [`ndp`], [`transport`], [`tunnel`] |
//! | read a field of a packet by tshark's name | [`fields`] |
//! | make and repair checksums | [`checksum`] |
//! | spread flows over workers | [`flow`] |
//! | read addresses and prefixes from text | [`mac`], [`cidr`] |
//! | put a name into a line | [`in_one_line`] |
//!
//! This crate knows nothing about files, devices or filters, touches no operating system and holds no unsafe
//! code. Every view takes any bytes: what is not there is `None`, never a panic.

#![forbid(unsafe_code)]

pub mod arp;
pub mod bytes;
mod chars;
pub mod checksum;
pub mod cidr;
mod dns;
pub mod ether;
pub mod fields;
pub mod flow;
pub mod ip;
pub mod layers;
mod line;
pub mod link;
pub mod linktype;
pub mod mac;
pub mod ndp;
// What apps and commands tell in reports counts in the same words.
#[doc(hidden)]
pub mod plural;
pub mod summary;
pub mod transport;
pub mod tunnel;
pub mod vlan;

pub use cidr::{Cidr, Cidr4, Cidr6, ParseCidrError};
pub use flow::{FlowHash, FlowHasher};
pub use layers::Layers;
pub use line::in_one_line;
pub use linktype::{LinkType, LinkTypeInfo, ParseLinkTypeError};
pub use mac::{Mac, ParseMacError};
pub use summary::{Summary, summarize};
