//! Which host is behind which port: a table of bounded size that forgets by itself.
//!
//! ```text
//! bucket = (halves of address * secret, xored) * odd  one cache line: four hosts
//! ┌──────────────────┬──────────────────┬──────────────────┬──────────────────┐
//! │ address:48 port:16 │ seen:64 │ …
//! └──────────────────┴──────────────────┴──────────────────┴──────────────────┘
//! ```
//!
//! A host can only be in its bucket. Where a bucket is full, the host that has been silent for longest makes room. With two
//! slots for each host that the table is to hold, few do. The secret is drawn at random, so that nobody can choose addresses which
//! share a bucket. Nothing is swept: a host that was not seen for the timeout counts as absent wherever it is met.

use std::hash::{BuildHasher, RandomState};
use wire::ether::Mac;

/// Hosts by address.
#[derive(Debug)]
pub(super) struct Hosts {
    buckets: Vec<Bucket>,
    secret: u64,
    timeout_ns: u64,
    now_ns: u64,
    /// Hosts not seen since then are forgotten.
    horizon_ns: u64,
}

/// News about a host that was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Learned {
    /// It was not known.
    New,
    /// It was not known, and another has made room.
    Evicting,
    /// It was known at another port.
    Moved,
}

const WAYS: usize = 4;
/// Two to the power of 64 over the golden ratio: it spreads what differs in few bits.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Bucket([Host; WAYS]);

#[derive(Clone, Copy, Debug, Default)]
struct Host {
    /// Address and, in the low 16 bits, port.
    key: u64,
    /// When it was last seen, in nanoseconds since 1970; 0 for never.
    seen_ns: u64,
}

impl Hosts {
    /// A table for `max_hosts` hosts.
    pub(super) fn new(max_hosts: usize, timeout_s: u64) -> Self {
        Self::with_secret(max_hosts, timeout_s, RandomState::new().hash_one(0))
    }

    fn with_secret(max_hosts: usize, timeout_s: u64, secret: u64) -> Self {
        let count = (2 * max_hosts).div_ceil(WAYS).next_power_of_two();
        let mut hosts = Hosts {
            buckets: vec![Bucket::default(); count],
            secret: secret | 1,
            timeout_ns: 0,
            now_ns: 0,
            horizon_ns: 0,
        };
        hosts.set_timeout(timeout_s);
        hosts
    }

    /// How long a silent host is remembered.
    pub(super) fn set_timeout(&mut self, timeout_s: u64) {
        self.timeout_ns = timeout_s.saturating_mul(1_000_000_000);
        self.set_time(self.now_ns);
    }

    /// Sets the time for all that follows.
    #[inline]
    pub(super) fn set_time(&mut self, now_ns: u64) {
        self.now_ns = now_ns.max(1);
        self.horizon_ns = now_ns.saturating_sub(self.timeout_ns).max(1);
    }

    /// The port behind which a host was last seen.
    #[inline]
    pub(super) fn find(&self, address: Mac) -> Option<u16> {
        let key = key(address);
        let host = self.buckets[self.bucket(key)].0.iter().find(|host| host.key >> 16 == key >> 16)?;
        (host.seen_ns >= self.horizon_ns).then_some(host.key as u16)
    }

    /// Notes that a host was seen, if it is known at this port. Returns whether it is.
    #[inline]
    pub(super) fn refresh(&mut self, address: Mac, port: u16) -> bool {
        let key = key(address) | u64::from(port);
        let bucket = self.bucket(key);
        for host in &mut self.buckets[bucket].0 {
            if host.key == key && host.seen_ns >= self.horizon_ns {
                host.seen_ns = self.now_ns;
                return true;
            }
        }
        false
    }

    /// Notes where a host is.
    pub(super) fn learn(&mut self, address: Mac, port: u16) -> Learned {
        let key = key(address);
        let bucket = self.bucket(key);
        let (now_ns, horizon_ns) = (self.now_ns, self.horizon_ns);
        let slots = &mut self.buckets[bucket].0;
        let known = slots.iter().position(|host| host.key >> 16 == key >> 16 && host.seen_ns != 0);
        let slot = known.unwrap_or_else(|| (0..WAYS).min_by_key(|&slot| slots[slot].seen_ns).unwrap_or(0));
        let was_alive = slots[slot].seen_ns >= horizon_ns;
        slots[slot] = Host { key: key | u64::from(port), seen_ns: now_ns };
        match (known, was_alive) {
            (_, false) => Learned::New,
            (Some(_), true) => Learned::Moved,
            (None, true) => Learned::Evicting,
        }
    }

    /// How many hosts are remembered.
    pub(super) fn count(&self) -> usize {
        self.buckets
            .iter()
            .flat_map(|bucket| &bucket.0)
            .filter(|host| host.seen_ns >= self.horizon_ns)
            .count()
    }

    /// The bucket of the address in a key, whatever the port.
    #[inline]
    fn bucket(&self, key: u64) -> usize {
        // Addresses in a row, multiplied once and only xored, crowd with 4 secrets in 100, up to half of them in too few buckets.
        let product = u128::from(key >> 16 | 1 << 48) * u128::from(self.secret);
        let folded = (product >> 64) as u64 ^ product as u64;
        (folded.wrapping_mul(ODD) >> 32) as usize & (self.buckets.len() - 1)
    }
}

/// An address in the place it has in a [`Host`].
#[inline]
fn key(address: Mac) -> u64 {
    let [a, b, c, d, e, f] = address.0;
    u64::from_be_bytes([a, b, c, d, e, f, 0, 0])
}

#[cfg(test)]
mod tests {
    use super::{Hosts, Learned};
    use testkit::rng::Rng;
    use wire::ether::Mac;

    const SECOND: u64 = 1_000_000_000;

    fn mac(number: u32) -> Mac {
        let [a, b, c, d] = number.to_be_bytes();
        Mac([2, 0, a, b, c, d])
    }

    #[test]
    fn hosts_are_found_until_they_are_silent_for_long() {
        let mut hosts = Hosts::new(16, 10);
        hosts.set_time(100 * SECOND);
        assert_eq!((hosts.find(mac(1)), hosts.refresh(mac(1), 3)), (None, false));
        assert_eq!(hosts.learn(mac(1), 3), Learned::New);
        hosts.set_time(110 * SECOND);
        assert_eq!((hosts.find(mac(1)), hosts.count()), (Some(3), 1));
        assert!(hosts.refresh(mac(1), 3) && !hosts.refresh(mac(1), 4));
        hosts.set_time(120 * SECOND);
        assert_eq!(hosts.find(mac(1)), Some(3), "seen at 110");
        hosts.set_time(120 * SECOND + 1);
        assert_eq!((hosts.find(mac(1)), hosts.refresh(mac(1), 3), hosts.count()), (None, false, 0));
        assert_eq!(hosts.learn(mac(1), 5), Learned::New, "forgotten, so it did not move");
    }

    #[test]
    fn a_host_is_known_at_whatever_port_it_is() {
        let mut hosts = Hosts::new(1024, 10);
        hosts.set_time(SECOND);
        for port in 0..300 {
            assert_ne!(hosts.learn(mac(port.into()), port), Learned::Moved);
            assert!(hosts.refresh(mac(port.into()), port), "{port}");
            assert_eq!(hosts.find(mac(port.into())), Some(port));
        }
    }

    #[test]
    fn hosts_move() {
        let mut hosts = Hosts::new(16, 10);
        hosts.set_time(SECOND);
        hosts.learn(mac(1), 0);
        assert_eq!(hosts.learn(mac(1), 7), Learned::Moved);
        assert_eq!((hosts.find(mac(1)), hosts.count()), (Some(7), 1));
    }

    #[test]
    fn the_address_of_zeroes_is_a_host_like_others() {
        let mut hosts = Hosts::new(16, 10);
        hosts.set_time(0);
        assert_eq!(hosts.find(Mac::ZERO), None);
        assert!(!hosts.refresh(Mac::ZERO, 0));
        assert_eq!(hosts.learn(Mac::ZERO, 0), Learned::New);
        assert_eq!(hosts.find(Mac::ZERO), Some(0));
    }

    #[test]
    fn most_hosts_fit_whatever_their_addresses_and_the_secret_are() {
        let mut rng = Rng::new(7);
        // In a row, by blocks, by maker, and by threes.
        let addresses: [fn(u32) -> u64; 4] = [
            |number| 0x0200_0000_0000 | u64::from(number),
            |number| 0x0200_0000_0000 | u64::from(number) << 8,
            |number| 0x0200_0000_0001 | u64::from(number) << 24,
            |number| 0x5254_0000_0000 + u64::from(number) * 3,
        ];
        for round in 0..1000 {
            let secret = rng.next_u64();
            let mut hosts = Hosts::with_secret(1024, 300, secret);
            hosts.set_time(SECOND);
            let mut evicted = 0;
            for number in 0..1024 {
                let [_, _, address @ ..] = addresses[round % addresses.len()](number).to_be_bytes();
                evicted += usize::from(hosts.learn(Mac(address), 1) == Learned::Evicting);
            }
            assert_eq!(hosts.count(), 1024 - evicted);
            // By chance alone, 38.
            assert!(evicted < 1024 / 8, "{evicted}, secret {secret:x}");
        }
    }

    #[test]
    fn the_silent_make_room() {
        let mut hosts = Hosts::new(1024, 300);
        for number in 0..100_000 {
            hosts.set_time(SECOND + u64::from(number));
            hosts.learn(mac(number), 1);
            assert_eq!(hosts.find(mac(number)), Some(1));
        }
        assert!(hosts.count() <= 2048);
    }
}
