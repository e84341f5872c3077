//! The table of headers, by family.
//!
//! The values that stand for "nobody said" are plain and valid: documentation addresses, time to live 64, the
//! protocol numbers of what follows. Each family is a file of its own.

mod link;
mod network;
mod old;
mod transport;
mod wireless;

use super::spec::{Default, Field, Kind, Space, Spec, Sum};

/// Every header.
pub(super) fn all() -> impl Iterator<Item = &'static Spec> {
    [link::LAYERS, wireless::LAYERS, network::LAYERS, transport::LAYERS, old::LAYERS].into_iter().flatten()
}

/// A header whose bytes fill from the most significant bit.
const fn layer(name: &'static str, positional: &'static [&'static str], fields: &'static [Field]) -> Spec {
    Spec { name, fields, positional, lsb_first: false }
}

/// A number of `width` bits.
const fn bits(name: &'static str, width: u32, default: u128) -> Field {
    Field { name, kind: Kind::Bits(width), default: Default::Num(default) }
}

/// A little-endian number of `width` bytes.
const fn little(name: &'static str, width: u32, default: u128) -> Field {
    Field { name, kind: Kind::LittleBytes(width), default: Default::Num(default) }
}

/// A field whose value follows from its surroundings.
const fn auto(name: &'static str, width: u32, default: Default) -> Field {
    Field { name, kind: Kind::Bits(width), default }
}

const fn next(name: &'static str, width: u32, space: Space, fallback: u128) -> Field {
    auto(name, width, Default::Next(space, fallback))
}

const fn mac(name: &'static str, default: &'static str) -> Field {
    Field { name, kind: Kind::Mac, default: Default::Text(default) }
}

const fn ip4(name: &'static str, default: &'static str) -> Field {
    Field { name, kind: Kind::Ip4, default: Default::Text(default) }
}

const fn ip6(name: &'static str, default: &'static str) -> Field {
    Field { name, kind: Kind::Ip6, default: Default::Text(default) }
}

/// Bytes of any number, none by default.
const fn bytes(name: &'static str) -> Field {
    Field { name, kind: Kind::Bytes, default: Default::Num(0) }
}

const fn sum(kind: Sum) -> Field {
    auto("sum", if matches!(kind, Sum::Crc32c) { 32 } else { 16 }, Default::Sum(kind))
}

const DST_MAC: &str = "02:00:00:00:00:02";
const SRC_MAC: &str = "02:00:00:00:00:01";
