//! Rule lists of any length, from a seed: what measurements use where no real list is at hand.
//!
//! Sites, each a network with subnets and hosts, are drawn first; rules then name prefixes of these sites, mostly long ones, and services by
//! their ports. Specific rules come before general ones, as in lists that people write.

use super::sample::Numbers;
use super::{Key, Rule};

/// Lengths of prefixes, each with how many of a hundred rules have at most this one.
const LENGTHS: [(u64, u8); 7] = [(4, 0), (8, 16), (16, 20), (30, 24), (42, 28), (50, 30), (100, 32)];
/// Ports of services.
const SERVICES: [u16; 12] = [20, 22, 25, 53, 80, 110, 123, 143, 443, 993, 3306, 8080];

/// `count` rules of a seed, no two of them the same.
#[must_use]
pub fn rules(count: usize, seed: u64) -> Vec<Rule<u32>> {
    let mut numbers = Numbers(seed);
    let sites: Vec<u32> = (0..(count / 64).clamp(16, 4096)).map(|_| numbers.next() as u32).collect();
    let mut seen = std::collections::HashSet::with_capacity(count);
    let mut drawn: Vec<(u32, Rule<u32>)> = Vec::with_capacity(count);
    while drawn.len() < count {
        let (rule, bits) = rule(&mut numbers, &sites);
        if seen.insert((
            *rule.src.start(),
            *rule.src.end(),
            *rule.dst.start(),
            *rule.dst.end(),
            rule.dport.clone(),
            rule.proto,
        )) {
            drawn.push((bits, rule));
        }
    }
    drawn.sort_by_key(|&(bits, _)| std::cmp::Reverse(bits));
    drawn.into_iter().map(|(_, rule)| rule).collect()
}

/// A rule, and how many bits of addresses it names.
fn rule(numbers: &mut Numbers, sites: &[u32]) -> (Rule<u32>, u32) {
    let mut prefix = || {
        let dice = numbers.next();
        let site = sites[(dice >> 32) as usize % sites.len()];
        // A host of the site, or another network nearby.
        let address = site ^ (dice as u32 & [0xff, 0xffff, 0x000f_ffff][(dice >> 60) as usize % 3]);
        let below = (dice >> 20) % 100;
        let len = LENGTHS.iter().find(|&&(share, _)| below < share).map_or(32, |&(_, len)| len);
        (Rule::prefix(address, len), u32::from(len))
    };
    let ((src, src_len), (dst, dst_len)) = (prefix(), prefix());
    let dice = numbers.next();
    let port = SERVICES[(dice >> 8) as usize % SERVICES.len()];
    let dport = match dice % 10 {
        0..6 => port..=port,
        6 => 1024..=u16::MAX,
        7 => port..=port + (dice >> 16) as u16 % 1000,
        _ => 0..=u16::MAX,
    };
    let proto = [(6, 0xff), (6, 0xff), (17, 0xff), (0, 0)][(dice >> 40) as usize % 4];
    // The least specific rules still name a network.
    let dst = if src_len + dst_len == 0 { Rule::prefix(sites[0], 16) } else { dst };
    (Rule { src, dst, dport, proto, ..Rule::any() }, src_len + dst_len)
}

/// Headers of which no field follows from the rules: most match nothing.
pub fn random_headers(seed: u64) -> impl Iterator<Item = Key<u32>> {
    let mut numbers = Numbers(seed);
    std::iter::repeat_with(move || {
        let (addresses, rest) = (numbers.next(), numbers.next());
        Key {
            src: (addresses >> 32) as u32,
            dst: addresses as u32,
            sport: (rest >> 48) as u16,
            dport: (rest >> 32) as u16,
            proto: if rest % 8 < 5 { 6 } else { 17 },
            features: 0,
        }
    })
}

/// Feature bits of the notes' list: of a connection that is known, and of one that begins.
const ESTABLISHED: u32 = 1;
const NEW: u32 = 2;

/// The list of the notes of 2007 that asked what a packet costs as rules grow: known connections, `n` addresses that no packet of
/// [`notes_headers`] has, then new connections to port 80.
#[must_use]
pub fn notes(n: usize) -> Vec<Rule<u32>> {
    let state = |bits| (bits, bits);
    let first = Rule { features: state(ESTABLISHED), ..Rule::any() };
    let last = Rule { proto: (6, 0xff), dport: 80..=80, features: state(NEW), ..Rule::any() };
    let addresses = random_headers(3).map(|key| key.src & 0x7fff_ffff);
    let refused = addresses.take(n).map(|address| Rule { src: address..=address, ..Rule::any() });
    std::iter::once(first).chain(refused).chain([last]).collect()
}

/// New connections to port 80, from random addresses that [`notes`] does not name.
pub fn notes_headers(seed: u64) -> impl Iterator<Item = Key<u32>> {
    random_headers(seed).map(|key| Key { src: key.src | 1 << 31, dport: 80, proto: 6, features: NEW, ..key })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_list() {
        let list = rules(3000, 1);
        assert_eq!((list.len(), &list), (3000, &rules(3000, 1)));
        assert_ne!(list, rules(3000, 2));
        assert!(list.iter().all(|rule| !rule.is_empty() && !rule.is_wild()));
    }
}
