//! One number for both directions of a flow, for spreading packets over queues, workers or paths.
//!
//! ```text
//!  IPv4: address:16 bits of port ─┐
//!  IPv6: mix(address) ^ port ─────┼─► smaller, larger ─► mix ─► mix ─► 64 bits
//!  else: hardware address ────────┘      mix(a, b) = both halves of the product (a ^ key)(b ^ key'), xored
//! ```
//!
//! The ends of a flow are put in order, not added or xored, so `10.0.0.1 > 10.0.0.3` and `10.0.0.2 > 10.0.0.2`
//! are different flows. Ports and protocol count for TCP, UDP and SCTP. A fragment counts by its addresses only, the
//! first one too: only it has ports, and all of a datagram must meet in one place. An atomic one (RFC 6946) is a whole datagram. So does everything else that
//! IP carries. VLAN tags are passed over and do not count, since the directions of a flow may differ in them; labels
//! and tunnels are not looked into.
//!
//! Quality, as the tests pin it: flows that differ only in the low bits of one address, or only in a port, or only
//! in bits that are multiples of 256, fill buckets by the low bits, the high bits and by [`FlowHash::bucket`] as
//! evenly as chance would (chi-square, below its mean plus six deviations); a change of one bit flips half of the
//! bits.
//!
//! The key keeps strangers from aiming at one bucket without seeing the outcome. It is no cryptographic function: who
//! sees many values of chosen flows may find the key.
//!
//! ```
//! use wire::ether::{Ethernet, EthernetMut};
//! use wire::flow::{FlowHasher, Layer};
//! let mut frame = *b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01\x08\x06\0\x01\x08\0\x06\x04";
//! let hasher = FlowHasher::new(0x5eed);
//! let there = hasher.frame(&frame);
//! EthernetMut::new(&mut frame).unwrap().swap_addresses();
//! assert_eq!(hasher.frame(&frame), there);
//! assert_eq!(there.layer, Layer::Link);
//! let worker = there.bucket(4);
//! # assert!(worker < 4);
//! ```

mod addresses;

pub use addresses::AddressHash;

use crate::bytes::u32_at;
use crate::ether::{Ethernet, ethertype};
use crate::ip::{IpPacket, Ipv4, Ipv6, protocol};
use crate::link::TAGS_MAX;
use crate::transport::{Icmp, icmp_may_be_error, icmpv6_may_be_error};

/// What a hash was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layer {
    /// Nothing: there is no Ethernet header. The hash is 0.
    None,
    /// Hardware addresses, since there is no IP, or none whose header is whole.
    Link,
    /// IP addresses.
    Network,
    /// IP addresses, protocol and ports.
    Transport,
}

/// A hash, and what it was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowHash {
    /// The hash: all 64 bits are good, and any of them are.
    pub value: u64,
    /// What it was made of.
    pub layer: Layer,
}

impl FlowHash {
    /// Which of `count` buckets, from 0; by a multiplication, so `count` is any number. 0 if there are none.
    #[inline]
    #[must_use]
    pub fn bucket(self, count: u32) -> u32 {
        (((self.value >> 32) * u64::from(count)) >> 32) as u32
    }
}

/// Hashes flows under a key.
///
/// PERF: 6 ns for a frame of IPv4, 8 of IPv6, 7 with a VLAN tag, 13 with extension headers, over frames with
/// random addresses (about 100 instructions, no branch on what is random).
#[derive(Clone, Copy)]
pub struct FlowHasher {
    keys: [u64; 5],
}

/// Keys are not shown.
impl std::fmt::Debug for FlowHasher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FlowHasher").finish_non_exhaustive()
    }
}

impl FlowHasher {
    /// Hashes under this key, which should be random, and the same wherever flows are to land alike.
    #[must_use]
    pub const fn new(key: u64) -> FlowHasher {
        let mut keys = [0; 5];
        let mut state = key;
        let mut at = 0;
        while at < keys.len() {
            (state, keys[at]) = split_mix(state);
            at += 1;
        }
        FlowHasher { keys }
    }

    /// The hash of an Ethernet frame.
    #[inline]
    #[must_use]
    pub fn frame(&self, frame: &[u8]) -> FlowHash {
        let Some(ether) = Ethernet::new(frame) else { return FlowHash { value: 0, layer: Layer::None } };
        let hash = match ether.behind_vlans(TAGS_MAX) {
            Some((ethertype::IPV4, off)) => self.ipv4(&frame[off..]),
            Some((ethertype::IPV6, off)) => self.ipv6(&frame[off..]),
            _ => None,
        };
        hash.unwrap_or_else(|| self.link(ether))
    }

    /// The hash of an IP packet of either version: that of any frame that carries it. `None` if its header is
    /// not whole.
    #[inline]
    #[must_use]
    pub fn packet(&self, packet: &[u8]) -> Option<FlowHash> {
        self.ipv4(packet).or_else(|| self.ipv6(packet))
    }

    /// The hash of the outermost IP addresses of a frame alone: fragments, packets in tunnels, and all connections of two hosts meet. An error of
    /// ICMP counts by the addresses of the packet that it quotes; without IP, hardware addresses count.
    #[inline]
    #[must_use]
    pub fn addresses(&self, frame: &[u8]) -> FlowHash {
        let Some(ether) = Ethernet::new(frame) else { return FlowHash { value: 0, layer: Layer::None } };
        let ip = match ether.behind_vlans(TAGS_MAX) {
            Some((ethertype::IPV4 | ethertype::IPV6, off)) => IpPacket::new(&frame[off..]),
            _ => None,
        };
        let Some(ip) = ip else { return self.link(ether) };
        let quoted = quoted(&ip);
        let IpPacket { src, dst, .. } = quoted.unwrap_or(ip);
        let addresses = self.address_hash();
        let hash = addresses.of(src, dst);
        let low = AddressHash::finish(hash ^ addresses.start);
        FlowHash { value: u64::from(hash) << 32 | u64::from(low), layer: Layer::Network }
    }

    /// The hash of which [`FlowHasher::addresses`] has its upper half, and so its bucket, for frames with IP.
    #[inline]
    #[must_use]
    pub fn address_hash(&self) -> AddressHash {
        AddressHash { start: self.keys[0] as u32, end: (self.keys[0] >> 32) as u32 }
    }

    #[inline]
    fn ipv4(&self, packet: &[u8]) -> Option<FlowHash> {
        let ip = Ipv4::new(packet)?;
        let (src, dst) = (u64::from(ip.src().to_bits()) << 16, u64::from(ip.dst().to_bits()) << 16);
        Some(self.ends(src, dst, Ports::of(ip.protocol(), ip.payload(), ip.is_fragment())))
    }

    #[inline]
    fn ipv6(&self, packet: &[u8]) -> Option<FlowHash> {
        let ip = Ipv6::new(packet)?;
        let (src, dst) = (self.fold_ipv6(ip.src().to_bits()), self.fold_ipv6(ip.dst().to_bits()));
        let packet = IpPacket::from(ip);
        Some(self.ends(src, dst, Ports::of(packet.protocol, packet.payload, packet.is_fragment())))
    }

    #[cold]
    fn link(&self, ether: Ethernet<'_>) -> FlowHash {
        let number = |[a, b, c, d, e, f]: [u8; 6]| u64::from_be_bytes([0, 0, a, b, c, d, e, f]);
        let value = self.pair(number(ether.src().0), number(ether.dst().0), u8::MAX);
        FlowHash { value, layer: Layer::Link }
    }

    /// Two addresses, and their ports if there are any. Protocol 0 is none that has ports.
    #[inline]
    fn ends(&self, src: u64, dst: u64, ports: Option<Ports>) -> FlowHash {
        let layer = if ports.is_some() { Layer::Transport } else { Layer::Network };
        let Ports { protocol, src: src_port, dst: dst_port } = ports.unwrap_or_default();
        let value = self.pair(src ^ u64::from(src_port), dst ^ u64::from(dst_port), protocol);
        FlowHash { value, layer }
    }

    /// The first product mixes; behind it the high and low bits are good, and the second makes all of them so.
    ///
    /// PERF: the smaller and the larger are conditional moves. A branch on them would be missed every second time.
    #[inline]
    fn pair(&self, a: u64, b: u64, what: u8) -> u64 {
        let [_, _, small, large, last] = self.keys;
        let mixed = mix(a.min(b) ^ small, a.max(b) ^ u64::from(what) << 56 ^ large);
        mix(mixed ^ last, PHI)
    }

    #[inline]
    fn fold_ipv6(&self, addr: u128) -> u64 {
        mix((addr >> 64) as u64 ^ self.keys[0], addr as u64 ^ self.keys[1])
    }
}

/// The golden ratio's fraction: an odd number with bits everywhere.
const PHI: u64 = 0x9e37_79b9_7f4a_7c15;

/// Both halves of the product, xored: every bit of either factor reaches bits everywhere.
#[inline]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014: makes many keys of one.
const fn split_mix(state: u64) -> (u64, u64) {
    let state = state.wrapping_add(PHI);
    let mut mixed = state;
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (state, mixed ^ mixed >> 31)
}

/// The packet that an error of ICMP quotes.
fn quoted<'p>(ip: &IpPacket<'p>) -> Option<IpPacket<'p>> {
    let is_error = match ip.protocol {
        protocol::ICMP => icmp_may_be_error,
        protocol::ICMPV6 => icmpv6_may_be_error,
        _ => return None,
    };
    let kind = ip.payload.first().filter(|_| !ip.is_later_fragment())?;
    if is_error(*kind) { IpPacket::new(ip.payload.get(Icmp::LEN..)?) } else { None }
}

#[derive(Clone, Copy, Default)]
struct Ports {
    protocol: u8,
    src: u16,
    dst: u16,
}

impl Ports {
    /// PERF: not [`ports`](crate::ip::ports), which asks for two more protocols; that costs 0.5 ns.
    #[inline]
    fn of(protocol: u8, payload: &[u8], is_fragment: bool) -> Option<Ports> {
        if is_fragment {
            return None;
        }
        let counts = matches!(protocol, protocol::TCP | protocol::UDP | protocol::SCTP);
        let both = u32_at(payload, 0).filter(|_| counts)?;
        Some(Ports { protocol, src: (both >> 16) as u16, dst: both as u16 })
    }
}

#[cfg(test)]
mod tests;
