//! Sets and maps of any size over one field, or a pair of fields.
//!
//! | question | structure |
//! |---|---|
//! | is this address in the set? | [`AddressSet`] |
//! | which value has the longest prefix of this address, or the first entry that holds it? | [`AddressMap`] |
//! | is this port, this MAC address in the set? | [`PortSet`], [`MacSet`] |
//! | is this address with this port in the set? | [`PairSet`] |
//! | in which of several sets is this number? | [`SharedSets`]: one look-up for all |
//! | the same while entries come, go and expire | [`LiveSet`] |
//!
//! All but the last are built in bulk and never change; [`crate::swap`] puts a new one in the place of an old one. How they are looked up:
//! [`table::ranks`].

mod address;
mod live;
pub(crate) mod overlay;
mod pair;
mod port;
mod shared;

pub use address::{AddressMap, AddressSet, AddressSpans};
pub use live::{LiveReader, LiveSet, Update};
pub use pair::PairSet;
pub use port::PortSet;
pub use shared::SharedSets;
pub use table::interval::{Pieces, prefix, union};
pub use table::ranks::{Limit, RankMap, RankSet, Ranks32, Ranks64, Ranks128, TooLarge};
pub use table::simd::Isa;

/// A set of MAC addresses, in the lower 48 bits of a number.
///
/// ```
/// use classify::set::{Limit, MacSet};
/// let set = MacSet::new(vec![(0x0200_0000_0000, 0x0200_0000_00ff)], Limit::default())?;
/// assert!(set.contains(0x0200_0000_0001));
/// # Ok::<(), classify::set::TooLarge>(())
/// ```
pub type MacSet = table::ranks::RankSet<table::ranks::Ranks64>;

#[cfg(test)]
mod tests;
