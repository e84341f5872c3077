//! IP networks: an address, and which of its bits count.

/// An IPv4 network; a host is one with a mask of ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Net4 {
    pub(crate) address: u32,
    pub(crate) mask: u32,
}

impl Net4 {
    pub(crate) fn host(address: u32) -> Self {
        Net4 { address, mask: u32::MAX }
    }
}

/// An IPv6 network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Net6 {
    pub(crate) address: u128,
    pub(crate) mask: u128,
}

impl Net6 {
    pub(crate) fn host(address: u128) -> Self {
        Net6 { address, mask: u128::MAX }
    }
}
