//! `router`: sends IPv4 and IPv6 packets where the longest prefix of their destination says.
//!
//! | inputs | any |
//! |---|---|
//! | outputs | those that routes name |
//! | `route` | list of routes: `prefix`, `port`, `next_hop` (a hardware address) |
//! | `mac` | the router's hardware address. Unless set, it takes frames for any, and sends from the one they came for |
//! | `forwarded` | counts packets sent on |
//! | drops `ttl_exceeded` | counts packets with no hop left |
//! | drops `no_route` | counts packets for which there is no route |
//! | drops `bad_checksum` | counts IPv4 headers with a wrong one (RFC 1812, 5.2.2) |
//! | drops `malformed` | counts headers that make no sense, and packets that are cut |
//! | drops `martian` | counts packets from or for an address that is never routed, groups included |
//! | drops `other_mac` | counts frames for somebody else, or for a group |
//! | drops `not_ip` | counts everything else, frames with a VLAN tag included |
//!
//! A packet loses one hop (RFC 1812, 5.3.1; RFC 8200, 3), and its frame gets the next hop's address. The checksum of IPv4 is
//! corrected by what has changed (RFC 1624). No ICMP messages are sent, no neighbour is asked for its address, and nothing is
//! fragmented: there are apps for that. A router has no addresses of its own; `icmp_echo` before it can answer for it.

mod lpm;
#[cfg(test)]
mod tests;

use crate::host::check_mac;
use crate::text;
use engine::shm::Counter;
use engine::{App, Class, Input, Io, OptionError, Output, Pool, PortNames, Ports, Setup};
use lpm::Lpm;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::Cidr;
use wire::ether::{EthernetMut, Mac, ethertype};
use wire::ip::{Ipv4Mut, Ipv6, Ipv6Mut};

/// Options of `router`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Router {
    /// The routes, in any order.
    pub route: Vec<Route>,
    /// The router's hardware address.
    #[serde(deserialize_with = "text::some")]
    pub mac: Option<Mac>,
}

/// A route.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Which destinations it is for.
    #[serde(deserialize_with = "text::one")]
    pub prefix: Cidr,
    /// The output to send to.
    pub port: String,
    /// The hardware address to send to.
    #[serde(deserialize_with = "text::one")]
    pub next_hop: Mac,
}

/// Routes at most.
const ROUTES_MAX: usize = 1_000_000;

/// A running `router`.
#[derive(Debug)]
pub struct Running {
    mac: Option<Mac>,
    /// By number of the route.
    hops: Vec<Hop>,
    v4: Lpm<u32>,
    v6: Lpm<u128>,
    /// Names of the outputs.
    outputs: Vec<String>,
    counters: Counters,
}

#[derive(Debug)]
struct Hop {
    port: String,
    /// Where the port is among the outputs.
    output: usize,
    mac: Mac,
}

#[derive(Debug)]
struct Counters {
    forwarded: Counter,
    ttl_exceeded: Counter,
    no_route: Counter,
    bad_checksum: Counter,
    malformed: Counter,
    martian: Counter,
    other_mac: Counter,
    not_ip: Counter,
}

impl Class for Router {
    const TYPE: &'static str = "router";
    const INPUTS: Ports = Ports::Any;
    const OUTPUTS: Ports = Ports::Any;
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        if self.route.len() > ROUTES_MAX {
            return Err(OptionError::new(
                "route",
                format!("{} routes; {ROUTES_MAX} at most", self.route.len()),
            ));
        }
        self.mac.map_or(Ok(()), |mac| check_mac("mac", mac))?;
        let mut prefixes = BTreeSet::new();
        for route in &self.route {
            check_mac("next_hop", route.next_hop)?;
            if !prefixes.insert(route.prefix) {
                return Err(OptionError::new("route", format!("two routes for {}", route.prefix)));
            }
        }
        Ok(())
    }

    fn check_ports(&self, linked: &PortNames<'_>) -> Result<(), OptionError> {
        let named: BTreeSet<&str> = self.route.iter().map(|route| route.port.as_str()).collect();
        let outputs: BTreeSet<&str> = linked.outputs.iter().copied().collect();
        if let Some(port) = named.difference(&outputs).next() {
            return Err(OptionError::new("route", format!("nothing is linked to port `{port}`")));
        }
        if let Some(port) = outputs.difference(&named).next() {
            return Err(OptionError::new("route", format!("no route names port `{port}`, which has a link")));
        }
        Ok(())
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        let mut running = Running {
            mac: None,
            hops: Vec::new(),
            v4: Lpm::new([]),
            v6: Lpm::new([]),
            outputs: Vec::new(),
            counters: Counters {
                forwarded: setup.counter("forwarded"),
                ttl_exceeded: setup.drops("ttl_exceeded"),
                no_route: setup.drops("no_route"),
                bad_checksum: setup.drops("bad_checksum"),
                malformed: setup.drops("malformed"),
                martian: setup.drops("martian"),
                other_mac: setup.drops("other_mac"),
                not_ip: setup.drops("not_ip"),
            },
        };
        running.learn(self);
        Ok(running)
    }

    fn reconfigure(&self, app: &mut Running, _: &Self, _: &mut Setup<'_>) -> Result<bool, OptionError> {
        app.learn(self);
        app.find_outputs();
        Ok(true)
    }
}

impl App for Running {
    fn link(&mut self, ports: &PortNames<'_>) {
        self.outputs = ports.outputs.iter().map(|&name| name.to_owned()).collect();
        self.find_outputs();
    }

    fn push(&mut self, io: &mut Io<'_>) {
        for input in io.inputs.iter_mut() {
            self.route(input, io.outputs, io.pool);
        }
    }
}

impl Running {
    /// Takes on the routes of a configuration.
    fn learn(&mut self, options: &Router) {
        let hop = |route: &Route| Hop { port: route.port.clone(), output: usize::MAX, mac: route.next_hop };
        self.mac = options.mac;
        self.hops = options.route.iter().map(hop).collect();
        let numbered = || options.route.iter().zip(0..);
        self.v4 = Lpm::new(numbered().filter_map(|(route, number)| match route.prefix {
            Cidr::V4(prefix) => Some((prefix.addr().to_bits(), prefix.len(), number)),
            Cidr::V6(_) => None,
        }));
        self.v6 = Lpm::new(numbered().filter_map(|(route, number)| match route.prefix {
            Cidr::V6(prefix) => Some((prefix.addr().to_bits(), prefix.len(), number)),
            Cidr::V4(_) => None,
        }));
    }

    fn find_outputs(&mut self) {
        for hop in &mut self.hops {
            // A port without a link cannot be, by `check_ports`; while links change, it may be for a moment.
            hop.output = self.outputs.binary_search(&hop.port).unwrap_or(usize::MAX);
        }
    }

    fn route(&self, input: &mut Input, outputs: &mut [Output], pool: &mut Pool) {
        let mut forwarded = 0;
        while let Some(burst) = input.burst() {
            for mut packet in burst {
                let decided = self.forward(packet.data_mut());
                match decided.and_then(|hop| outputs.get_mut(hop.output).ok_or(&self.counters.no_route)) {
                    Ok(output) => {
                        forwarded += 1;
                        output.put(packet);
                    }
                    Err(counter) => pool.free(packet, counter),
                }
            }
        }
        self.counters.forwarded.add(forwarded);
    }

    /// Changes a frame into what is sent on, and says where to; or what counts it.
    #[inline]
    fn forward(&self, frame: &mut [u8]) -> Result<&Hop, &Counter> {
        let counters = &self.counters;
        let mut ether = EthernetMut::new(frame).ok_or(&counters.not_ip)?;
        let dst = ether.view().dst();
        if dst.is_multicast() || self.mac.is_some_and(|mac| mac != dst) {
            return Err(&counters.other_mac);
        }
        let hop = match ether.view().ethertype() {
            ethertype::IPV4 => self.forward_v4(ether.payload_mut())?,
            ethertype::IPV6 => self.forward_v6(ether.payload_mut())?,
            _ => return Err(&counters.not_ip),
        };
        ether.set_dst(hop.mac);
        ether.set_src(dst);
        Ok(hop)
    }

    #[inline]
    fn forward_v4(&self, packet: &mut [u8]) -> Result<&Hop, &Counter> {
        let counters = &self.counters;
        let captured_len = packet.len();
        let mut ip = Ipv4Mut::new(packet).ok_or(&counters.malformed)?;
        let view = ip.view();
        if !(view.header_len()..=captured_len).contains(&usize::from(view.total_len())) {
            return Err(&counters.malformed);
        }
        if !view.is_checksum_right() {
            return Err(&counters.bad_checksum);
        }
        if is_martian_v4(view.src()) || is_martian_v4(view.dst()) {
            return Err(&counters.martian);
        }
        let route = self.v4.find(view.dst().to_bits()).ok_or(&counters.no_route)?;
        ip.decrement_ttl().ok_or(&counters.ttl_exceeded)?;
        Ok(&self.hops[route as usize])
    }

    #[inline]
    fn forward_v6(&self, packet: &mut [u8]) -> Result<&Hop, &Counter> {
        let counters = &self.counters;
        let captured_len = packet.len();
        let mut ip = Ipv6Mut::new(packet).ok_or(&counters.malformed)?;
        let view = ip.view();
        if Ipv6::LEN + usize::from(view.payload_len()) > captured_len {
            return Err(&counters.malformed);
        }
        if is_martian_v6(view.src()) || is_martian_v6(view.dst()) {
            return Err(&counters.martian);
        }
        let route = self.v6.find(view.dst().to_bits()).ok_or(&counters.no_route)?;
        ip.decrement_hop_limit().ok_or(&counters.ttl_exceeded)?;
        Ok(&self.hops[route as usize])
    }
}

/// Whether no packet from or for an address is routed: this network, loopback, the link's own, groups, and what is reserved
/// (RFC 1812, 5.3.7; RFC 3927, 7).
#[inline]
fn is_martian_v4(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    matches!(first, 0 | 127 | 224..) || (first, second) == (169, 254)
}

/// As above: unspecified, loopback, the link's own, groups (RFC 4291, 2.5 and 2.7).
#[inline]
fn is_martian_v6(address: Ipv6Addr) -> bool {
    let is_link_local = address.segments()[0] & 0xffc0 == 0xfe80;
    address.to_bits() <= 1 || is_link_local || address.is_multicast()
}
