//! `router`: sends IPv4 and IPv6 packets where the longest prefix of their destination says.
//!
//! | inputs | any |
//! |---|---|
//! | outputs | those that routes or ports name |
//! | `route` | list of routes: `prefix`, `port`, `next_hop` (a hardware address) |
//! | `routes_file` | a file with more of them: a prefix, a port and a hardware address a line, comments from `#` on |
//! | `mac` | the router's hardware address. Unless set, it takes frames for any, and sends from the one they came for |
//! | `port` | by name of the output: `ip`, the router's address there, or a list of them, one of each version; `mtu`, bytes of the longest IP packet that may leave there, 68 to 65521 |
//! | `icmp_limit` | ICMP errors a second, 1 to 1000000, a twentieth of them at once; 1000 unless set |
//! | `forwarded` | counts packets sent on |
//! | drops `ttl_exceeded` | counts packets with no hop left |
//! | drops `no_route` | counts packets for which there is no route |
//! | drops `too_big` | counts packets that are too long for their port, and not to be fragmented |
//! | drops `bad_checksum` | counts IPv4 headers with a wrong one (RFC 1812, 5.2.2) |
//! | drops `malformed` | counts headers that make no sense, and packets that are cut |
//! | drops `martian` | counts packets from or for an address that is never routed, groups included |
//! | drops `own_address` | counts packets for an address that a port has: they are for the router itself, and go no further (RFC 1812, 5.2.3) |
//! | drops `other_mac` | counts frames for somebody else, or for a group |
//! | drops `not_ip` | counts everything else, frames with a VLAN tag included |
//! | `icmp_sent` | counts ICMP errors sent |
//! | `icmp_forbidden`, `icmp_limited`, `icmp_unroutable`, `icmp_no_packet` | count those not sent: as none may be sent about such a packet, beyond the limit, as no way leads back, or as the pool was exhausted |
//!
//! A packet loses one hop (RFC 1812, 5.3.1; RFC 8200, 3), and its frame gets the next hop's address. The checksum of IPv4 is
//! corrected by what has changed (RFC 1624). No neighbour is asked for its address, and nothing is fragmented: there are apps for that.
//! An IPv4 packet that may be cut leaves a port whatever its length, for a `fragmenter` behind it; one of IPv6 may always have
//! 1280 bytes (RFC 8200, 5).
//!
//! **Errors.** Where a port has an address of its version, the sender of a packet that is dropped as `ttl_exceeded`, `no_route` or
//! `too_big` is told so (RFC 792, RFC 4443): through the port that a route leads to him by, else that of the name of the input where
//! the packet came in, and from its address; where that port has none, from the first port's that has one (RFC 1812, 4.3.2.4). Without
//! addresses nobody is told. Packets for these addresses are dropped: `icmp_echo`, `arp_responder` and `nd_responder` before a
//! router answer for them.

mod errors;
mod fib;
mod file;
#[cfg(test)]
mod tests;

use crate::shared::host::check_mac;
use crate::shared::text;
use engine::Bucket;
use engine::shm::Counter;
use engine::{
    App, Class, Input, Io, MAX_LARGE_PAYLOAD, OptionError, Output, Pool, PortNames, Ports, Reconfigured,
    Review, Setup,
};
use errors::{Cause, Told, Way};
use fib::{Fib, Found, Hop, ROUTES_MAX};
use file::FileRoute;
pub use file::RoutesFile;
use serde::Deserialize;
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::Cidr;
use wire::ether::{Ethernet, EthernetMut, Mac, ethertype};
use wire::ip::{Ipv4Mut, Ipv6, Ipv6Mut};
use wire::ip::{is_host_v4, is_host_v6};

/// Options of `router`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Router {
    /// The routes, in any order.
    pub route: Vec<Route>,
    /// More of them.
    pub routes_file: Option<RoutesFile>,
    /// The router's hardware address.
    #[serde(deserialize_with = "text::some")]
    pub mac: Option<Mac>,
    /// Settings of outputs, by name.
    pub port: BTreeMap<String, RouterPort>,
    /// ICMP errors a second at most.
    pub icmp_limit: u64,
}

impl Default for Router {
    fn default() -> Self {
        // As many as Linux sends unless told otherwise.
        Router { route: Vec::new(), routes_file: None, mac: None, port: BTreeMap::new(), icmp_limit: 1000 }
    }
}

/// Settings of an output.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RouterPort {
    /// The router's addresses there, one of each version.
    #[serde(deserialize_with = "text::one_or_more")]
    pub ip: Vec<IpAddr>,
    /// Bytes of the longest IP packet that may leave there.
    pub mtu: Option<usize>,
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

/// A running `router`.
#[derive(Debug)]
pub struct Running {
    mac: Option<Mac>,
    fib: Fib,
    /// Settings of outputs, by name.
    ports: BTreeMap<String, RouterPort>,
    /// The ports by number of the output.
    exits: Vec<RouterPort>,
    /// Names of the outputs.
    outputs: Vec<String>,
    /// Of each input the output of the same name.
    back: Vec<Option<usize>>,
    /// One token is one ICMP error.
    limit: Bucket,
    counters: Counters,
}

#[derive(Debug)]
struct Counters {
    forwarded: Counter,
    ttl_exceeded: Counter,
    no_route: Counter,
    too_big: Counter,
    bad_checksum: Counter,
    malformed: Counter,
    martian: Counter,
    own_address: Counter,
    other_mac: Counter,
    not_ip: Counter,
    icmp_sent: Counter,
    icmp_forbidden: Counter,
    icmp_limited: Counter,
    icmp_unroutable: Counter,
    icmp_no_packet: Counter,
}

/// Why a packet is not sent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    /// The sender may get an error.
    Told(Cause),
    BadChecksum,
    Malformed,
    Martian,
    OwnAddress,
    OtherMac,
    NotIp,
}

impl Class for Router {
    const TYPE: &'static str = "router";
    const INPUTS: Ports = Ports::Any;
    const OUTPUTS: Ports = Ports::Any;
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        let routes = self.route.len() + self.in_file()?.len();
        if routes > ROUTES_MAX {
            return Err(OptionError::new("route", format!("{routes} routes; {ROUTES_MAX} at most")));
        }
        let mut prefixes = BTreeSet::new();
        let hops = self.route.iter().enumerate().map(|(i, route)| {
            check_hop(route.next_hop).map_err(|error| error.at(&format!("route[{i}].next_hop")))
        });
        let twice = self.route.iter().enumerate().filter(|(_, route)| !prefixes.insert(route.prefix));
        let twice = twice.map(|(i, route)| {
            let message = format!("two routes for {}", route.prefix);
            Err(OptionError::new(&format!("route[{i}].prefix"), message))
        });
        let routes = OptionError::all(hops.chain(twice));
        OptionError::all([
            self.mac.map_or(Ok(()), |mac| check_mac("mac", mac)),
            routes,
            self.routes_file.as_ref().map_or(Ok(()), |file| file.check_unique(&prefixes)),
            OptionError::all(self.port.iter().map(|(name, port)| port.check(name))),
            OptionError::check_range("icmp_limit", self.icmp_limit, 1..=1_000_000),
        ])
    }

    fn review(&self) -> Result<Review, OptionError> {
        self.check()?;
        Ok(Review::default().with(Fib::new(self)?))
    }

    fn check_ports(&self, linked: &PortNames<'_>) -> Result<(), OptionError> {
        let is_unlinked = |port: &str| !linked.outputs.contains(&port);
        let message = |port: &str| format!("nothing is linked to port `{port}`");
        let mut told = BTreeSet::new();
        let mut is_new = |route: &Route| is_unlinked(&route.port) && told.insert(route.port.clone());
        let routes = self.route.iter().enumerate().filter(|(_, route)| is_new(route));
        let routes =
            routes.map(|(at, route)| OptionError::new(&format!("route[{at}].port"), message(&route.port)));
        let file = self.routes_file.as_ref().and_then(|file| file.check_ports(is_unlinked).err());
        let ports = self.port.keys().filter(|port| is_unlinked(port));
        let ports = ports.map(|port| OptionError::new(&format!("port.{port}"), message(port)));
        OptionError::all(routes.chain(file).chain(ports).map(Err))
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        Ok(Running {
            mac: self.mac,
            fib: self.fib(setup)?,
            ports: self.port.clone(),
            exits: Vec::new(),
            outputs: Vec::new(),
            back: Vec::new(),
            limit: Bucket::new(self.icmp_limit, self.icmp_burst(), setup.now_ns),
            counters: Counters::new(setup),
        })
    }

    fn reconfigure(
        &self,
        app: &mut Running,
        _: &Self,
        setup: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        let fib = self.fib(setup)?;
        setup.discard(std::mem::replace(&mut app.fib, fib));
        app.mac = self.mac;
        app.ports.clone_from(&self.port);
        app.limit = app.limit.changed(self.icmp_limit, self.icmp_burst());
        app.find_outputs();
        Ok(Reconfigured::Kept)
    }
}

/// A route, wherever it is written.
struct AnyRoute<'a> {
    prefix: Cidr,
    port: &'a str,
    next_hop: Mac,
}

/// A hardware address that a packet can be sent to.
fn check_hop(next_hop: Mac) -> Result<(), OptionError> {
    check_mac("next_hop", next_hop)
}

impl Router {
    /// The forwarding table: the one that the review has built, unless that has been taken.
    fn fib(&self, setup: &mut Setup<'_>) -> Result<Fib, OptionError> {
        setup.take_prepared().map_or_else(|| Fib::new(self), Ok)
    }

    fn in_file(&self) -> Result<&[FileRoute], OptionError> {
        self.routes_file.as_ref().map_or(Ok(&[]), RoutesFile::routes)
    }

    /// All routes.
    fn routes(&self) -> Result<impl Iterator<Item = AnyRoute<'_>>, OptionError> {
        let here = self.route.iter().map(|&Route { prefix, ref port, next_hop }| AnyRoute {
            prefix,
            port,
            next_hop,
        });
        let in_file = self.in_file()?.iter();
        let in_file = in_file.map(|route| AnyRoute {
            prefix: route.prefix,
            port: &route.port,
            next_hop: route.next_hop,
        });
        Ok(here.chain(in_file))
    }

    /// ICMP errors that may be sent at once: those of 50 ms.
    fn icmp_burst(&self) -> u64 {
        self.icmp_limit.div_ceil(20)
    }
}

impl RouterPort {
    fn check(&self, name: &str) -> Result<(), OptionError> {
        let ip_option = format!("port.{name}.ip");
        let martians = self.ip.iter().filter(|&&ip| is_martian(ip));
        let martians = martians.map(|ip| OptionError::new(&ip_option, format!("{ip} is never routed")));
        let pairs = [IpAddr::is_ipv4, IpAddr::is_ipv6].into_iter().filter_map(|is_version| {
            let mut of_version = self.ip.iter().filter(|ip| is_version(ip));
            let (first, second) = (of_version.next()?, of_version.next()?);
            let message = format!("two addresses of one version: {first} and {second}");
            Some(OptionError::new(&ip_option, message))
        });
        let range = MTU_MIN..=MAX_LARGE_PAYLOAD - Ethernet::LEN;
        let mtu = OptionError::check_range(&format!("port.{name}.mtu"), self.mtu.unwrap_or(MTU_MIN), range);
        OptionError::all(martians.chain(pairs).chain(mtu.err()).map(Err))
    }
}

/// The bytes that every link of IPv4 carries (RFC 791, 3.2).
const MTU_MIN: usize = 68;

impl Counters {
    fn new(setup: &mut Setup<'_>) -> Self {
        Counters {
            forwarded: setup.counter("forwarded"),
            ttl_exceeded: setup.drops("ttl_exceeded"),
            no_route: setup.drops("no_route"),
            too_big: setup.drops("too_big"),
            bad_checksum: setup.drops("bad_checksum"),
            malformed: setup.drops("malformed"),
            martian: setup.drops("martian"),
            own_address: setup.drops("own_address"),
            other_mac: setup.rejects("other_mac"),
            not_ip: setup.drops("not_ip"),
            icmp_sent: setup.counter("icmp_sent"),
            icmp_forbidden: setup.counter("icmp_forbidden"),
            icmp_limited: setup.counter("icmp_limited"),
            icmp_unroutable: setup.counter("icmp_unroutable"),
            icmp_no_packet: setup.counter("icmp_no_packet"),
        }
    }

    fn of(&self, refusal: Refusal) -> &Counter {
        match refusal {
            Refusal::Told(Cause::TtlExceeded) => &self.ttl_exceeded,
            Refusal::Told(Cause::NoRoute) => &self.no_route,
            Refusal::Told(Cause::TooBig { .. }) => &self.too_big,
            Refusal::BadChecksum => &self.bad_checksum,
            Refusal::Malformed => &self.malformed,
            Refusal::Martian => &self.martian,
            Refusal::OwnAddress => &self.own_address,
            Refusal::OtherMac => &self.other_mac,
            Refusal::NotIp => &self.not_ip,
        }
    }
}

impl App for Running {
    /// The table: a million routes take long to drop.
    fn into_discards(self: Box<Self>) -> Option<Box<dyn Any + Send>> {
        Some(Box::new(self.fib))
    }

    fn link(&mut self, ports: &PortNames<'_>) {
        self.outputs = ports.outputs.iter().map(|&name| name.to_owned()).collect();
        self.back = ports.inputs.iter().map(|name| ports.outputs.binary_search(name).ok()).collect();
        self.find_outputs();
    }

    fn push(&mut self, io: &mut Io<'_>) {
        for (number, input) in io.inputs.iter_mut().enumerate() {
            self.route(input, number, io.outputs, io.pool, io.now_ns);
        }
    }
}

impl Running {
    fn find_outputs(&mut self) {
        self.fib.find_outputs(&self.outputs);
        let port = |name| self.ports.get(name).cloned().unwrap_or_default();
        self.exits = self.outputs.iter().map(port).collect();
    }

    fn route(
        &mut self,
        input: &mut Input,
        number: usize,
        outputs: &mut [Output],
        pool: &mut Pool,
        now_ns: u64,
    ) {
        let mut forwarded = 0;
        while let Some(burst) = input.burst() {
            for mut packet in burst {
                match self.forward(packet.data_mut()) {
                    Ok(output) => match outputs.get_mut(output) {
                        Some(output) => {
                            forwarded += 1;
                            output.put(packet);
                        }
                        None => pool.free(packet, &self.counters.no_route),
                    },
                    Err(refusal) => {
                        if let Refusal::Told(cause) = refusal {
                            self.tell(cause, packet.data(), number, outputs, pool, now_ns);
                        }
                        pool.free(packet, self.counters.of(refusal));
                    }
                }
            }
        }
        self.counters.forwarded.add(forwarded);
    }

    /// Changes a frame into what is sent on, and says by which output; or why it is not.
    #[inline]
    fn forward(&self, frame: &mut [u8]) -> Result<usize, Refusal> {
        let mut ether = EthernetMut::new(frame).ok_or(Refusal::NotIp)?;
        let dst = ether.view().dst();
        if dst.is_multicast() || self.mac.is_some_and(|mac| mac != dst) {
            return Err(Refusal::OtherMac);
        }
        let hop = match ether.view().ethertype() {
            ethertype::IPV4 => self.forward_v4(ether.payload_mut())?,
            ethertype::IPV6 => self.forward_v6(ether.payload_mut())?,
            _ => return Err(Refusal::NotIp),
        };
        ether.set_dst(hop.mac);
        ether.set_src(dst);
        Ok(hop.output)
    }

    #[inline]
    fn forward_v4(&self, packet: &mut [u8]) -> Result<&Hop, Refusal> {
        let captured_len = packet.len();
        let mut ip = Ipv4Mut::new(packet).ok_or(Refusal::Malformed)?;
        let view = ip.view();
        let total_len = usize::from(view.total_len());
        if !(view.header_len()..=captured_len).contains(&total_len) {
            return Err(Refusal::Malformed);
        }
        if !view.is_checksum_right() {
            return Err(Refusal::BadChecksum);
        }
        if is_martian_v4(view.src()) || is_martian_v4(view.dst()) {
            return Err(Refusal::Martian);
        }
        let hop = hop(self.fib.v4(view.dst().to_bits()))?;
        if total_len > hop.mtu && view.has_dont_fragment() && view.ttl() > 1 {
            return Err(too_big(hop.mtu));
        }
        ip.decrement_ttl().ok_or(Refusal::Told(Cause::TtlExceeded))?;
        Ok(hop)
    }

    #[inline]
    fn forward_v6(&self, packet: &mut [u8]) -> Result<&Hop, Refusal> {
        let captured_len = packet.len();
        let mut ip = Ipv6Mut::new(packet).ok_or(Refusal::Malformed)?;
        let view = ip.view();
        let len = Ipv6::LEN + usize::from(view.payload_len());
        if len > captured_len {
            return Err(Refusal::Malformed);
        }
        if is_martian_v6(view.src()) || is_martian_v6(view.dst()) {
            return Err(Refusal::Martian);
        }
        let hop = hop(self.fib.v6(view.dst().to_bits()))?;
        if len > hop.mtu && len > Ipv6::MTU_MIN && view.hop_limit() > 1 {
            return Err(too_big(hop.mtu.max(Ipv6::MTU_MIN)));
        }
        ip.decrement_hop_limit().ok_or(Refusal::Told(Cause::TtlExceeded))?;
        Ok(hop)
    }

    /// Tells the sender of a packet why it goes no further, unless nobody has asked for that.
    #[cold]
    fn tell(
        &mut self,
        cause: Cause,
        frame: &[u8],
        input: usize,
        outputs: &mut [Output],
        pool: &mut Pool,
        now_ns: u64,
    ) {
        let is_v4 = Ethernet::new(frame).is_some_and(|ether| ether.ethertype() == ethertype::IPV4);
        let Some(router_ip) = address_of(is_v4, self.ports.values()) else { return };
        let Some(subject) = Told::new(frame).filter(|subject| !self.is_ours(subject.src())) else {
            return self.counters.icmp_forbidden.add(1);
        };
        let Some((output, mac)) = self.way_back(&subject, input) else {
            return self.counters.icmp_unroutable.add(1);
        };
        self.limit.fill(now_ns);
        if !self.limit.has(1) {
            return self.counters.icmp_limited.add(1);
        }
        let Some(mut packet) = pool.allocate() else { return self.counters.icmp_no_packet.add(1) };
        let exit = &self.exits[output];
        let from = address_of(is_v4, [exit]).unwrap_or(router_ip);
        let way = Way { from, mac, mtu: exit.mtu.unwrap_or(usize::MAX) };
        if subject.write(cause, way, &mut packet).is_none() {
            return pool.take_back(packet);
        }
        self.limit.take(1);
        self.counters.icmp_sent.add(1);
        outputs[output].put(packet);
    }

    /// Whether an address is the router's own: who sends from there is not who he says.
    fn is_ours(&self, ip: IpAddr) -> bool {
        fib::own(&self.ports).any(|&own| own == ip)
    }

    /// The output and the hardware address by which the sender of a packet is reached: those of a route to him, else where the
    /// packet came from.
    fn way_back(&self, subject: &Told<'_>, input: usize) -> Option<(usize, Mac)> {
        let found = match subject.src() {
            IpAddr::V4(ip) => self.fib.v4(ip.to_bits()),
            IpAddr::V6(ip) => self.fib.v6(ip.to_bits()),
        };
        match found {
            Found::Hop(hop) if hop.output < self.exits.len() => Some((hop.output, hop.mac)),
            _ => Some((self.back.get(input).copied()??, subject.src_mac())),
        }
    }
}

/// Where what was found leads to.
#[inline]
fn hop(found: Found<'_>) -> Result<&Hop, Refusal> {
    match found {
        Found::Hop(hop) => Ok(hop),
        Found::Own => Err(Refusal::OwnAddress),
        Found::Nothing => Err(Refusal::Told(Cause::NoRoute)),
    }
}

/// The first address of a version that ports have.
fn address_of<'a>(is_v4: bool, ports: impl IntoIterator<Item = &'a RouterPort>) -> Option<IpAddr> {
    ports.into_iter().flat_map(|port| &port.ip).copied().find(|ip| ip.is_ipv4() == is_v4)
}

#[cold]
fn too_big(mtu: usize) -> Refusal {
    // `check` has seen to it that it fits into 16 bits.
    Refusal::Told(Cause::TooBig { mtu: u16::try_from(mtu).unwrap_or(u16::MAX) })
}

/// Whether no packet from or for an address is routed.
fn is_martian(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_martian_v4(address),
        IpAddr::V6(address) => is_martian_v6(address),
    }
}

/// Whether no IPv4 packet from or for an address is routed: one that is not a host's, or link-local (RFC 1812, 5.3.7; RFC 3927, 7).
#[inline]
fn is_martian_v4(address: Ipv4Addr) -> bool {
    !is_host_v4(address) || address.is_link_local()
}

/// Whether no IPv6 packet from or for an address is routed (RFC 4291, 2.5.6).
#[inline]
fn is_martian_v6(address: Ipv6Addr) -> bool {
    !is_host_v6(address) || address.is_unicast_link_local()
}
