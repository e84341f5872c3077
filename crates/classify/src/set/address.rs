//! Sets and maps of addresses of both IP versions.

use super::{Limit, TooLarge};
use std::net::IpAddr;
use table::interval::{Pieces, prefix, union};
use table::ranks::{RankMap, RankSet, Ranks32, Ranks128};

/// Inclusive intervals of addresses, as they are collected.
///
/// ```
/// use classify::set::AddressSpans;
/// let mut spans = AddressSpans::default();
/// spans.push_prefix([10, 0, 0, 0].into(), 8);
/// assert_eq!(spans.v4, [(0x0a00_0000, 0x0aff_ffff)]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressSpans {
    /// Of IPv4.
    pub v4: Vec<(u32, u32)>,
    /// Of IPv6.
    pub v6: Vec<(u128, u128)>,
}

impl AddressSpans {
    /// Adds the addresses with the same `len` upper bits; all of them if there are fewer.
    pub fn push_prefix(&mut self, address: IpAddr, len: u8) {
        match address {
            IpAddr::V4(address) => self.v4.push(prefix(address.to_bits(), len)),
            IpAddr::V6(address) => self.v6.push(prefix(address.to_bits(), len)),
        }
    }

    /// Adds the addresses from one to another; `false` if these are of different versions, or the wrong way round.
    pub fn push_range(&mut self, low: IpAddr, high: IpAddr) -> bool {
        match (low, high) {
            (IpAddr::V4(low), IpAddr::V4(high)) => self.v4.push((low.to_bits(), high.to_bits())),
            (IpAddr::V6(low), IpAddr::V6(high)) => self.v6.push((low.to_bits(), high.to_bits())),
            _ => return false,
        }
        low <= high
    }

    /// Joins what overlaps or touches, and sorts.
    #[must_use]
    pub fn joined(self) -> Self {
        AddressSpans { v4: union(self.v4), v6: union(self.v6) }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.v4.len() + self.v6.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A set of addresses.
///
/// ```
/// use classify::set::{AddressSet, AddressSpans, Limit};
/// let mut spans = AddressSpans::default();
/// spans.push_prefix([10, 0, 0, 0].into(), 8);
/// let set = AddressSet::new(spans, Limit::default())?;
/// assert!(set.contains([10, 1, 2, 3].into()) && !set.contains([11, 1, 2, 3].into()));
/// # Ok::<(), classify::set::TooLarge>(())
/// ```
#[derive(Clone, Debug)]
pub struct AddressSet {
    /// Of IPv4.
    pub v4: RankSet<Ranks32>,
    /// Of IPv6.
    pub v6: RankSet<Ranks128>,
}

impl AddressSet {
    /// The set of all addresses in these intervals.
    ///
    /// # Errors
    /// [`TooLarge`] if the table of either version is.
    pub fn new(spans: AddressSpans, limit: Limit) -> Result<Self, TooLarge> {
        Ok(AddressSet { v4: RankSet::new(spans.v4, limit)?, v6: RankSet::new(spans.v6, limit)? })
    }

    /// Whether an address is a member.
    #[inline]
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(address) => self.v4.contains(address.to_bits()),
            IpAddr::V6(address) => self.v6.contains(address.to_bits()),
        }
    }

    /// Bytes of memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.v4.bytes() + self.v6.bytes()
    }
}

/// A value for each address.
///
/// ```
/// use classify::set::{AddressMap, Limit};
/// let routes = [("10.0.0.0".parse().unwrap(), 8, 1), ("2001:db8::".parse().unwrap(), 32, 2)];
/// let map = AddressMap::longest_prefix(routes, Limit::default())?;
/// assert_eq!(map.find("2001:db8::1".parse().unwrap()), Some(2));
/// # Ok::<(), classify::set::TooLarge>(())
/// ```
#[derive(Clone, Debug)]
pub struct AddressMap {
    /// Of IPv4.
    pub v4: RankMap<Ranks32>,
    /// Of IPv6.
    pub v6: RankMap<Ranks128>,
}

impl AddressMap {
    /// The longest prefix decides: entries are an address within, a length in bits, and a value below [`u32::MAX`]. Of two that are equal, the
    /// later counts.
    ///
    /// # Errors
    /// [`TooLarge`].
    pub fn longest_prefix(
        entries: impl IntoIterator<Item = (IpAddr, u8, u32)>,
        limit: Limit,
    ) -> Result<Self, TooLarge> {
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        for (address, len, value) in entries {
            match address {
                IpAddr::V4(address) => v4.push((address.to_bits(), len, value)),
                IpAddr::V6(address) => v6.push((address.to_bits(), len, value)),
            }
        }
        Self::of_pieces(&Pieces::longest_prefix(v4), &Pieces::longest_prefix(v6), limit)
    }

    /// The first entry that holds an address decides. Values are below [`u32::MAX`].
    ///
    /// # Errors
    /// [`TooLarge`].
    pub fn first_match(
        v4: &[(u32, u32, u32)],
        v6: &[(u128, u128, u32)],
        limit: Limit,
    ) -> Result<Self, TooLarge> {
        Self::of_pieces(&Pieces::first_match(v4), &Pieces::first_match(v6), limit)
    }

    fn of_pieces(v4: &Pieces<u32>, v6: &Pieces<u128>, limit: Limit) -> Result<Self, TooLarge> {
        Ok(AddressMap { v4: RankMap::new(v4, limit)?, v6: RankMap::new(v6, limit)? })
    }

    /// The value of an address.
    #[inline]
    #[must_use]
    pub fn find(&self, address: IpAddr) -> Option<u32> {
        match address {
            IpAddr::V4(address) => self.v4.find(address.to_bits()),
            IpAddr::V6(address) => self.v6.find(address.to_bits()),
        }
    }

    /// Bytes of memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.v4.bytes() + self.v6.bytes()
    }
}
