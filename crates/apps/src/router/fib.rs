//! The forwarding table: where packets for an address go. It is built from options beside the one that is in use, and takes its place in one step.

use super::{AnyRoute, Router, RouterPort};
use engine::OptionError;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use table::interval::{Key, Pieces};
use table::ranks::{Limit, RankMap, Ranks, Ranks32, Ranks128};
use wire::Cidr;
use wire::ether::Mac;

/// Routes at most.
pub(super) const ROUTES_MAX: usize = 1_000_000;
/// In place of a hop's number: an address of the router itself. No hop has it, as there are no more of them than routes.
const OWN: u32 = ROUTES_MAX as u32;

/// A forwarding table.
#[derive(Debug)]
pub(super) struct Fib {
    /// By number: each port and hardware address that there are routes to.
    hops: Vec<Hop>,
    v4: RankMap<Ranks32>,
    v6: RankMap<Ranks128>,
}

/// Where a packet goes next.
#[derive(Debug)]
pub(super) struct Hop {
    port: String,
    /// Where the port is among the outputs.
    pub(super) output: usize,
    pub(super) mac: Mac,
    /// Bytes of the longest IP packet that may leave by it.
    pub(super) mtu: usize,
}

/// What a destination is.
pub(super) enum Found<'a> {
    Hop(&'a Hop),
    /// An address of the router itself.
    Own,
    Nothing,
}

impl Fib {
    /// The table for these options.
    ///
    /// # Errors
    /// When the file with routes cannot be read, or is wrong.
    pub(super) fn new(options: &Router) -> Result<Fib, OptionError> {
        let mtu = |port: &str| options.port.get(port).and_then(|port| port.mtu).unwrap_or(usize::MAX);
        // Many routes, few hops.
        let (mut hops, mut known) = (Vec::new(), HashMap::new());
        let (mut routes_v4, mut routes_v6) = (Vec::new(), Vec::new());
        for AnyRoute { prefix, port, next_hop } in options.routes()? {
            let number = *known.entry((port, next_hop)).or_insert_with(|| {
                let hop = Hop { port: port.to_owned(), output: usize::MAX, mac: next_hop, mtu: mtu(port) };
                hops.push(hop);
                hops.len() as u32 - 1
            });
            match prefix {
                Cidr::V4(prefix) => routes_v4.push((prefix.addr().to_bits(), prefix.len(), number)),
                Cidr::V6(prefix) => routes_v6.push((prefix.addr().to_bits(), prefix.len(), number)),
            }
        }
        // Behind the routes: of two prefixes that are the same, the later counts.
        for &ip in own(&options.port) {
            match ip {
                IpAddr::V4(ip) => routes_v4.push((ip.to_bits(), 32, OWN)),
                IpAddr::V6(ip) => routes_v6.push((ip.to_bits(), 128, OWN)),
            }
        }
        Ok(Fib { hops, v4: map(routes_v4)?, v6: map(routes_v6)? })
    }

    /// Notes where ports are among the outputs, which are sorted.
    pub(super) fn find_outputs(&mut self, outputs: &[String]) {
        for hop in &mut self.hops {
            // A port without a link cannot be, by `check_ports`; while links change, it may be for a moment.
            hop.output = outputs.binary_search(&hop.port).unwrap_or(usize::MAX);
        }
    }

    /// Where packets for an IPv4 address go.
    #[inline]
    pub(super) fn v4(&self, dst: u32) -> Found<'_> {
        self.found(self.v4.find(dst))
    }

    /// Where packets for an IPv6 address go.
    #[inline]
    pub(super) fn v6(&self, dst: u128) -> Found<'_> {
        self.found(self.v6.find(dst))
    }

    #[inline]
    fn found(&self, number: Option<u32>) -> Found<'_> {
        match number.map(|number| self.hops.get(number as usize)) {
            Some(Some(hop)) => Found::Hop(hop),
            Some(None) => Found::Own,
            None => Found::Nothing,
        }
    }
}

/// The map of these prefixes: an address, a length, a number.
fn map<R: Ranks<Key: Key>>(routes: Vec<(R::Key, u8, u32)>) -> Result<RankMap<R>, OptionError> {
    RankMap::new(&Pieces::longest_prefix(routes), Limit::default())
        .map_err(|error| OptionError::new("route", error.to_string()))
}

/// The router's own addresses.
pub(super) fn own(ports: &BTreeMap<String, RouterPort>) -> impl Iterator<Item = &IpAddr> {
    ports.values().flat_map(|port| &port.ip)
}
