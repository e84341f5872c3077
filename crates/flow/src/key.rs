//! The key of a flow: one value for both directions, and its hash under a secret.
//!
//! ```text
//!  lower address     higher address    lower:higher port │ VLANs │ protocol     version │ VNI
//!  128 bits          128 bits          16 : 16           │ 12+12 │ 8            1       │ 24
//! ```
//!
//! An end is an address with its port. The ends are ordered, so that a packet and its answer have one key; a [`Direction`] says from which end
//! a packet came.
//!
//! What counts in a tunnel is the inner packet, with its VLANs (those of the outer frame, if the tunnel carries none) and the network of VXLAN
//! or Geneve, since different networks may use the same addresses. Endpoints of GTP-U and keys of GRE do not count: each direction has its own.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// From which end of a flow's key a packet came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the lower end to the higher.
    Up,
    /// From the higher end to the lower.
    Down,
}

impl Direction {
    /// 0 for up, 1 for down: an index of pairs.
    #[inline]
    #[must_use]
    pub fn index(self) -> usize {
        self as usize
    }

    /// The other one.
    #[inline]
    #[must_use]
    pub fn reverse(self) -> Direction {
        match self {
            Direction::Up => Direction::Down,
            Direction::Down => Direction::Up,
        }
    }
}

/// An address of 128 bits in two numbers, and a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct End {
    pub(crate) high: u64,
    pub(crate) low: u64,
    pub(crate) port: u16,
}

/// IPv4 addresses as IPv6 has them mapped. A bit of the key tells the versions apart.
const MAPPED: u64 = 0xffff_0000_0000;
const IPV6: u32 = 1 << 31;

impl End {
    #[inline]
    pub(crate) fn v4(addr: u32, port: u16) -> End {
        End { high: 0, low: MAPPED | u64::from(addr), port }
    }

    #[inline]
    pub(crate) fn v6(high: u64, low: u64, port: u16) -> End {
        End { high, low, port }
    }

    pub(crate) fn of(addr: IpAddr, port: u16) -> End {
        match addr {
            IpAddr::V4(addr) => End::v4(addr.to_bits(), port),
            IpAddr::V6(addr) => End::v6((addr.to_bits() >> 64) as u64, addr.to_bits() as u64, port),
        }
    }
}

/// What a key holds besides its ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scope {
    pub(crate) is_v6: bool,
    pub(crate) protocol: u8,
    pub(crate) vlans: [u16; 2],
    /// Network of VXLAN or Geneve.
    pub(crate) vni: u32,
}

/// Both ends of a flow, in order, with protocol, VLANs and network.
///
/// ```
/// use flow::{Direction, Key};
/// let (client, server) = ("192.0.2.1:40000".parse().unwrap(), "192.0.2.9:443".parse().unwrap());
/// let (key, direction) = Key::new(client, server, 6, [0, 0]);
/// assert_eq!(Key::new(server, client, 6, [0, 0]), (key, direction.reverse()));
/// assert_eq!(key.src(direction), client);
/// assert_eq!(key.dst(direction), server);
/// ```
///
/// PERF: scalars, compared one by one. An array would be compared by vector loads right after it was written by scalar stores, which the
/// processor cannot forward: 20 ns.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Key {
    pub(crate) lower_high: u64,
    pub(crate) lower_low: u64,
    pub(crate) higher_high: u64,
    pub(crate) higher_low: u64,
    /// Lower port, higher port, VLANs, protocol: 16, 16, 12, 12 and 8 bits.
    pub(crate) tail: u64,
    /// One bit of version, 24 of network.
    pub(crate) scope: u32,
}

impl Key {
    /// The key of no packet.
    pub(crate) const NONE: Key =
        Key { lower_high: 0, lower_low: 0, higher_high: 0, higher_low: 0, tail: 0, scope: 0 };

    /// The key of a packet between two ends, and its direction. Of VLAN numbers, 12 bits count; 0 is none.
    ///
    /// Ends of different IP versions make a key that no packet has.
    #[must_use]
    pub fn new(src: SocketAddr, dst: SocketAddr, protocol: u8, vlans: [u16; 2]) -> (Key, Direction) {
        let scope = Scope { is_v6: src.is_ipv6(), protocol, vlans, vni: 0 };
        Key::of(End::of(src.ip(), src.port()), End::of(dst.ip(), dst.port()), scope)
    }

    pub(crate) fn of(src: End, dst: End, scope: Scope) -> (Key, Direction) {
        let mut key = Key::NONE;
        let direction = key.set(src, dst, scope);
        (key, direction)
    }

    /// Makes this the key of a packet, and says its direction.
    #[inline(always)]
    pub(crate) fn set(&mut self, src: End, dst: End, scope: Scope) -> Direction {
        // Addresses and ports together: 1:a > 2:b and 1:b > 2:a are different flows.
        //
        // PERF: arithmetic, no branch: which end is lower is random.
        let word = |end: &End| u128::from(end.high) << 64 | u128::from(end.low);
        let (from, to) = (word(&src), word(&dst));
        let is_up = (from < to) | (from == to) & (src.port <= dst.port);
        let mask = u64::from(is_up).wrapping_sub(1);
        let (high, low) = ((src.high ^ dst.high) & mask, (src.low ^ dst.low) & mask);
        let port = (src.port ^ dst.port) & mask as u16;
        let lower = End { high: src.high ^ high, low: src.low ^ low, port: src.port ^ port };
        let higher = End { high: dst.high ^ high, low: dst.low ^ low, port: dst.port ^ port };
        (self.lower_high, self.lower_low) = (lower.high, lower.low);
        (self.higher_high, self.higher_low) = (higher.high, higher.low);
        self.tail = u64::from(lower.port) << 48
            | u64::from(higher.port) << 32
            | u64::from(scope.vlans[0] & 0xfff) << 20
            | u64::from(scope.vlans[1] & 0xfff) << 8
            | u64::from(scope.protocol);
        self.scope = scope.vni & 0xff_ffff | if scope.is_v6 { IPV6 } else { 0 };
        if is_up { Direction::Up } else { Direction::Down }
    }

    /// Makes this the key of a packet over IPv4 that is in no VLAN and no tunnel, and says its direction. The same as [`Key::set`], in fewer steps.
    #[inline(always)]
    pub(crate) fn set_v4(&mut self, src: (u32, u16), dst: (u32, u16), protocol: u8) -> Direction {
        let end = |(addr, port): (u32, u16)| u64::from(addr) << 16 | u64::from(port);
        let (src, dst) = (end(src), end(dst));
        let (lower, higher) = (src.min(dst), src.max(dst));
        (self.lower_high, self.lower_low) = (0, MAPPED | lower >> 16);
        (self.higher_high, self.higher_low) = (0, MAPPED | higher >> 16);
        self.tail = lower << 48 | (higher & 0xffff) << 32 | u64::from(protocol);
        self.scope = 0;
        if src <= dst { Direction::Up } else { Direction::Down }
    }

    /// The hash under a secret. All 64 bits are good.
    ///
    /// ```
    /// use flow::{Key, Secret};
    /// let (a, b) = ("10.0.0.1:1".parse().unwrap(), "10.0.0.2:2".parse().unwrap());
    /// let secret = Secret::random();
    /// assert_eq!(Key::new(a, b, 17, [0, 0]).0.hash(&secret), Key::new(b, a, 17, [0, 0]).0.hash(&secret));
    /// ```
    ///
    /// A product folded in half for each pair of words, as in wyhash. The words of the last product are xored with different secrets, so
    /// that nobody can make one word undo another without them.
    #[inline(always)]
    #[must_use]
    pub fn hash(&self, secret: &Secret) -> u64 {
        let [a, b, ..] = secret.words;
        self.hash_low(mix(self.lower_high ^ a, self.higher_high ^ b), secret)
    }

    /// The same of a key over IPv4, whose high words are 0.
    #[inline(always)]
    pub(crate) fn hash_v4(&self, secret: &Secret) -> u64 {
        self.hash_low(secret.zeros, secret)
    }

    #[inline(always)]
    fn hash_low(&self, high: u64, secret: &Secret) -> u64 {
        let [a, _, c, d, e, f] = secret.words;
        let ends = high.wrapping_add(mix(self.lower_low ^ c, self.higher_low ^ d));
        mix(mix(ends ^ e, self.tail ^ f) ^ a, u64::from(self.scope) ^ c)
    }

    /// Protocol over IP.
    #[inline]
    #[must_use]
    pub fn protocol(&self) -> u8 {
        self.tail as u8
    }

    /// The two outermost VLANs, 0 where there is none.
    #[inline]
    #[must_use]
    pub fn vlans(&self) -> [u16; 2] {
        [(self.tail >> 20) as u16 & 0xfff, (self.tail >> 8) as u16 & 0xfff]
    }

    /// Whether the addresses are those of IPv6.
    #[inline]
    #[must_use]
    pub fn is_v6(&self) -> bool {
        self.scope & IPV6 != 0
    }

    /// The network of VXLAN or Geneve that the flow is in, 0 without.
    #[inline]
    #[must_use]
    pub fn vni(&self) -> u32 {
        self.scope & 0xff_ffff
    }

    /// The address and port that packets of this direction come from. For ICMP and protocols without ports see
    /// [`decode`](crate::decode()).
    #[must_use]
    pub fn src(&self, direction: Direction) -> SocketAddr {
        let (high, low, shift) = match direction {
            Direction::Up => (self.lower_high, self.lower_low, 48),
            Direction::Down => (self.higher_high, self.higher_low, 32),
        };
        let addr: IpAddr = if self.is_v6() {
            Ipv6Addr::from_bits(u128::from(high) << 64 | u128::from(low)).into()
        } else {
            Ipv4Addr::from_bits(low as u32).into()
        };
        (addr, (self.tail >> shift) as u16).into()
    }

    /// The address and port that packets of this direction go to.
    #[must_use]
    pub fn dst(&self, direction: Direction) -> SocketAddr {
        self.src(direction.reverse())
    }
}

impl PartialEq for Key {
    #[inline(always)]
    fn eq(&self, other: &Key) -> bool {
        self.tail == other.tail
            && self.lower_low == other.lower_low
            && self.higher_low == other.higher_low
            && self.lower_high == other.lower_high
            && self.higher_high == other.higher_high
            && self.scope == other.scope
    }
}

impl Eq for Key {}

/// For `HashMap`s; the table of flows uses [`Key::hash`].
impl std::hash::Hash for Key {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        let addresses = [self.lower_high, self.lower_low, self.higher_high, self.higher_low];
        (addresses, self.tail, self.scope).hash(state);
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (src, dst) = (self.src(Direction::Up), self.dst(Direction::Up));
        write!(f, "Key({src} - {dst}, protocol {}", self.protocol())?;
        write!(f, ", VLANs {:?}, network {})", self.vlans(), self.vni())
    }
}

/// What keys are hashed under. Who does not know it cannot choose flows that share a bucket.
#[derive(Clone)]
pub struct Secret {
    words: [u64; 6],
    /// What the high words of addresses come to that are 0.
    zeros: u64,
}

/// Secrets are not shown.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").finish_non_exhaustive()
    }
}

impl Secret {
    fn of(words: [u64; 6]) -> Secret {
        Secret { words, zeros: mix(words[0], words[1]) }
    }

    /// A secret that is drawn from the random numbers of the operating system.
    #[must_use]
    pub fn random() -> Secret {
        let state = RandomState::new();
        Secret::of(std::array::from_fn(|at| state.hash_one(at)))
    }

    /// The same secret from the same seed: for hashes that must not change from run to run.
    #[must_use]
    pub fn from_seed(seed: u64) -> Secret {
        let mut state = seed;
        Secret::of(std::array::from_fn(|_| {
            // Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ mixed >> 31
        }))
    }
}

/// Both halves of the product, xored: every bit of either factor reaches bits everywhere.
#[inline(always)]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn addr() -> impl Strategy<Value = IpAddr> {
        prop_oneof![
            any::<u32>().prop_map(|bits| Ipv4Addr::from_bits(bits & 0x3000_0003).into()),
            any::<u128>().prop_map(|bits| Ipv6Addr::from_bits(bits & 3).into()),
        ]
    }

    proptest! {
        #[test]
        fn both_directions_are_one_key(a in addr(), b in addr(), ports: (u16, u16), protocol: u8, vlans: (u16, u16), seed: u64) {
            prop_assume!(a.is_ipv6() == b.is_ipv6());
            let (vlans, secret) = ([vlans.0 & 0xfff, vlans.1 & 0xfff], Secret::from_seed(seed));
            let (key, there) = Key::new((a, ports.0).into(), (b, ports.1).into(), protocol, vlans);
            let (same, back) = Key::new((b, ports.1).into(), (a, ports.0).into(), protocol, vlans);
            prop_assert_eq!((key, key.hash(&secret)), (same, same.hash(&secret)));
            prop_assert!(there != back || (a, ports.0) == (b, ports.1));
            prop_assert_eq!((key.src(there), key.dst(there)), ((a, ports.0).into(), (b, ports.1).into()));
            prop_assert_eq!((key.protocol(), key.vlans(), key.vni(), key.is_v6()), (protocol, vlans, 0, a.is_ipv6()));
        }
    }

    #[test]
    fn over_ipv4_keys_and_hashes_are_the_same_in_fewer_steps() {
        let ends = [(1, 1), (1, 2), (2, 1), (u32::MAX, u16::MAX), (0, 0)];
        let secret = Secret::from_seed(1);
        for (src, dst) in ends.iter().flat_map(|src| ends.iter().map(move |dst| (*src, *dst))) {
            let scope = Scope { protocol: 17, ..Scope::default() };
            let expected = Key::of(End::v4(src.0, src.1), End::v4(dst.0, dst.1), scope);
            let mut key = Key::NONE;
            assert_eq!((key.set_v4(src, dst, 17), key), (expected.1, expected.0));
            assert_eq!(key.hash_v4(&secret), expected.0.hash(&secret));
        }
    }

    #[test]
    fn each_part_counts() {
        let key = |src: &str, dst: &str, protocol, vlans| {
            Key::new(src.parse().unwrap(), dst.parse().unwrap(), protocol, vlans).0
        };
        let keys = [
            key("10.0.0.1:1", "10.0.0.2:2", 6, [0, 0]),
            key("10.0.0.1:2", "10.0.0.2:1", 6, [0, 0]),
            key("10.0.0.1:1", "10.0.0.2:2", 17, [0, 0]),
            key("10.0.0.1:1", "10.0.0.2:2", 6, [1, 0]),
            key("10.0.0.1:1", "10.0.0.2:2", 6, [0, 1]),
            key("10.0.0.1:1", "10.0.0.3:2", 6, [0, 0]),
            key("[::ffff:10.0.0.1]:1", "[::ffff:10.0.0.2]:2", 6, [0, 0]),
            Key { scope: 7, ..key("10.0.0.1:1", "10.0.0.2:2", 6, [0, 0]) },
        ];
        for (at, a) in keys.iter().enumerate() {
            for (other, b) in keys.iter().enumerate() {
                assert_eq!(a == b, at == other, "{a:?} {b:?}");
                assert_eq!(a.hash(&Secret::from_seed(1)) == b.hash(&Secret::from_seed(1)), at == other);
            }
        }
    }

    /// Keys that differ in few bits fill buckets by low and by high bits as evenly as chance: chi-square below its mean plus six deviations.
    #[test]
    fn hashes_spread_keys_in_a_row() {
        const BUCKETS: usize = 1024;
        let count = 64 * BUCKETS as u32;
        type Row = fn(u32) -> Key;
        let rows: [(&str, Row); 5] = [
            ("port", |i| {
                Key::new(
                    (Ipv4Addr::from_bits(i >> 16), i as u16).into(),
                    (Ipv4Addr::LOCALHOST, 80).into(),
                    6,
                    [0, 0],
                )
                .0
            }),
            ("address", |i| {
                Key::new((Ipv4Addr::from_bits(i), 1024).into(), (Ipv4Addr::LOCALHOST, 80).into(), 6, [0, 0]).0
            }),
            ("high bits", |i| {
                Key::new(
                    (Ipv4Addr::from_bits(i << 12), 1024).into(),
                    (Ipv4Addr::LOCALHOST, 80).into(),
                    6,
                    [0, 0],
                )
                .0
            }),
            ("IPv6", |i| {
                Key::new(
                    (Ipv6Addr::from_bits(u128::from(i) << 64), 1024).into(),
                    (Ipv6Addr::LOCALHOST, 80).into(),
                    6,
                    [0, 0],
                )
                .0
            }),
            ("both ends", |i| {
                Key::new((Ipv4Addr::from_bits(i), 9).into(), (Ipv4Addr::from_bits(!i), 9).into(), 6, [0, 0]).0
            }),
        ];
        for seed in 0..3 {
            let secret = Secret::from_seed(seed);
            for (name, key) in rows {
                for shift in [0, 48] {
                    let mut filled = vec![0u32; BUCKETS];
                    (0..count).for_each(|i| filled[(key(i).hash(&secret) >> shift) as usize % BUCKETS] += 1);
                    let mean = f64::from(count) / BUCKETS as f64;
                    let chi: f64 = filled.iter().map(|&n| (f64::from(n) - mean).powi(2) / mean).sum();
                    let limit = BUCKETS as f64 + 6.0 * (2.0 * BUCKETS as f64).sqrt();
                    assert!(chi < limit, "{name}, seed {seed}, shift {shift}: {chi}");
                }
            }
        }
    }

    /// Words that undo each other where they meet by xor do not without the secret.
    #[test]
    fn chosen_differences_do_not_collide() {
        let secret = Secret::from_seed(3);
        let base = Key::new((Ipv4Addr::LOCALHOST, 1).into(), (Ipv4Addr::BROADCAST, 2).into(), 6, [0, 0]).0;
        let mut seen = std::collections::HashSet::new();
        for bit in 0..24 {
            for other in 0..64 {
                let key = Key { scope: base.scope ^ 1 << bit, tail: base.tail ^ 1 << other, ..base };
                assert!(seen.insert(key.hash(&secret)));
                let key = Key { lower_low: base.lower_low ^ 1 << bit, tail: base.tail ^ 1 << other, ..base };
                assert!(seen.insert(key.hash(&secret)));
                let key = Key {
                    lower_low: base.lower_low ^ 1 << bit,
                    higher_low: base.higher_low ^ 1 << other,
                    ..base
                };
                assert!(seen.insert(key.hash(&secret)));
            }
        }
    }
}
