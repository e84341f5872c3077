//! librte_acl of DPDK as a peer, called through `c/acl.c`, where the build found it.

use classify::rules::{Key, Rule};
use std::sync::OnceLock;

/// A rule as `c/acl.c` has it.
#[repr(C)]
struct PeerRule {
    src: u32,
    dst: u32,
    src_len: u8,
    dst_len: u8,
    proto: u8,
    proto_mask: u8,
    sport: [u16; 2],
    dport: [u16; 2],
}

/// A header as `c/acl.c` has it.
#[repr(C)]
struct PeerHeader {
    src: u32,
    dst: u32,
    sport: u16,
    dport: u16,
    proto: u8,
    pad: [u8; 3],
}

/// What `c/acl.c` keeps of a list.
#[repr(C)]
struct Peer {
    opaque: [u8; 0],
}

unsafe extern "C" {
    fn acl_begin() -> i32;
    fn acl_build(rules: *const PeerRule, count: u32) -> *mut Peer;
    fn acl_free(peer: *mut Peer);
    fn acl_build_seconds(peer: *const Peer) -> f64;
    fn acl_bytes(peer: *const Peer) -> u64;
    fn acl_choose(peer: *mut Peer, algorithm: i32) -> i32;
    fn acl_load(peer: *mut Peer, headers: *const PeerHeader, count: u32);
    fn acl_find(peer: *mut Peer, first: u32, count: u32, burst: u32, answers: *mut u32);
}

/// The algorithms of librte_acl, as `c/acl.c` numbers them.
pub(crate) const ALGORITHMS: [&str; 6] = ["scalar", "sse", "avx2", "avx512x16", "avx512x32", "neon"];

/// A list that librte_acl has built, with headers to look up.
pub(crate) struct Acl {
    peer: *mut Peer,
    headers: usize,
}

impl Acl {
    /// Builds a list. Nothing where DPDK does not start, or does not take the list.
    pub(crate) fn build(rules: &[Rule<u32>]) -> Option<Acl> {
        static BEGUN: OnceLock<i32> = OnceLock::new();
        // SAFETY: called once in the process.
        if *BEGUN.get_or_init(|| unsafe { acl_begin() }) != 0 {
            return None;
        }
        let rules: Vec<PeerRule> = rules.iter().map(peer_rule).collect();
        // SAFETY: so many rules there are, in the layout of `c/acl.c`.
        let peer = unsafe { acl_build(rules.as_ptr(), rules.len() as u32) };
        (!peer.is_null()).then_some(Acl { peer, headers: 0 })
    }

    pub(crate) fn build_s(&self) -> f64 {
        // SAFETY: the peer lives as long as `self`.
        unsafe { acl_build_seconds(self.peer) }
    }

    pub(crate) fn bytes(&self) -> u64 {
        // SAFETY: the peer lives as long as `self`.
        unsafe { acl_bytes(self.peer) }
    }

    /// Looks up with an algorithm; false where this processor does not have what it needs.
    pub(crate) fn choose(&mut self, algorithm: usize) -> bool {
        assert!(algorithm < ALGORITHMS.len());
        // SAFETY: the peer lives as long as `self`, and there is such an algorithm.
        unsafe { acl_choose(self.peer, algorithm as i32) == 0 }
    }

    /// Takes headers, in the place of others.
    pub(crate) fn load(&mut self, keys: &[Key<u32>]) {
        let header = |key: &Key<u32>| PeerHeader {
            src: key.src,
            dst: key.dst,
            sport: key.sport,
            dport: key.dport,
            proto: key.proto,
            pad: [0; 3],
        };
        let headers: Vec<PeerHeader> = keys.iter().map(header).collect();
        // SAFETY: so many headers there are, in the layout of `c/acl.c`, which copies them.
        unsafe { acl_load(self.peer, headers.as_ptr(), headers.len() as u32) };
        self.headers = keys.len();
    }

    /// Looks up headers from `first` on, `burst` in a call. An answer is the number of the rule and one, or 0.
    pub(crate) fn find(&mut self, first: usize, burst: usize, answers: &mut [u32]) {
        assert!(first + answers.len() <= self.headers && burst > 0);
        let (count, burst) = (answers.len() as u32, burst as u32);
        // SAFETY: these headers were loaded, and there is a place for each answer.
        unsafe { acl_find(self.peer, first as u32, count, burst, answers.as_mut_ptr()) };
    }
}

impl Drop for Acl {
    fn drop(&mut self) {
        // SAFETY: nothing uses the peer after this.
        unsafe { acl_free(self.peer) };
    }
}

/// A rule of prefixes; librte_acl has no other ranges of addresses.
fn peer_rule(rule: &Rule<u32>) -> PeerRule {
    let len = |range: &std::ops::RangeInclusive<u32>| (range.start() ^ range.end()).leading_zeros() as u8;
    let ports = |range: &std::ops::RangeInclusive<u16>| [*range.start(), *range.end()];
    PeerRule {
        src: *rule.src.start(),
        dst: *rule.dst.start(),
        src_len: len(&rule.src),
        dst_len: len(&rule.dst),
        proto: rule.proto.0,
        proto_mask: rule.proto.1,
        sport: ports(&rule.sport),
        dport: ports(&rule.dport),
    }
}
