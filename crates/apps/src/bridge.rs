//! `bridge`: a switch that learns which host is behind which port.
//!
//! | inputs, outputs | any; an input and an output of one name are one port |
//! |---|---|
//! | `max_hosts` | about how many hosts are remembered, 16 to 1048576; 16384 unless set. There is room for 2 to 4 times as many, but where more than four hosts share a place in the table, the one seen longest ago is forgotten |
//! | `timeout_s` | how long a silent host is remembered, 1 to 1000000; 300 s unless set (IEEE 802.1D, 7.9.2) |
//! | `flood_limit` | frames a second that may be flooded, a tenth of them at once; without limit unless set |
//! | `split_horizon` | lists of ports, such as `[["a", "b"]]`, between which nothing passes; none unless set |
//! | `static` | a table of hosts whose port is known, such as `"02:00:00:00:00:01" = "a"`; none unless set |
//! | `learned`, `moved`, `evicted` | count hosts that were new, were seen at another port, or made room for others |
//! | `unicast`, `flooded` | count frames for a known host, and those sent to all ports |
//! | `no_packet` | counts copies that were not made because the pool was exhausted |
//! | drops `same_port` | counts frames for a host at the port they came from, or in its split-horizon group |
//! | drops `flood_limit` | counts frames beyond that limit |
//! | drops `link_local` | counts frames that bridges keep (01:80:c2:00:00:0x; IEEE 802.1D, 7.12.6) |
//! | drops `wrong_port` | counts frames from a static host at another port than its own |
//! | drops `bad_source` | counts frames from a group: nobody sends from there (IEEE 802.3, 3.2.3) |
//! | drops `too_short` | counts packets without an Ethernet header |
//! | drops `unlinked` | counts frames that no other port could take |
//!
//! A frame for a known host goes to its port; others, and those for groups, go to all other ports. No frame ever goes back where
//! it came from. A host whose port has lost its output is looked for at all others until it is seen again, since it may have moved; one at a port that
//! never had an output cannot be reached, and frames for it are dropped. A static host is never forgotten, and stays at its port, whoever sends in its name. VLANs are not distinguished: put a [`vlan_mux`](crate::VlanMux) before. Loops are not found: there is no spanning tree.

#[cfg(test)]
mod tests;

use crate::shared::host::check_mac;
use crate::shared::text;
use engine::Bucket;
use engine::shm::Counter;
use engine::{
    App, Class, Input, Io, OptionError, Output, Packet, Pool, PortNames, Ports, Reconfigured, Reporting,
    Setup,
};
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use table::recent::{Learned, RecentCache};
use wire::ether::{Ethernet, Mac};
use wire::plural::counted;

/// Options of `bridge`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bridge {
    /// Hosts remembered at most.
    pub max_hosts: usize,
    /// How long a silent host is remembered.
    pub timeout_s: u64,
    /// Frames a second that may be flooded.
    pub flood_limit: Option<u64>,
    /// Groups of ports between which nothing passes.
    pub split_horizon: Vec<Vec<String>>,
    /// Hosts whose port is known.
    #[serde(rename = "static", deserialize_with = "text::keys")]
    pub fixed: BTreeMap<Mac, String>,
}

impl Default for Bridge {
    fn default() -> Self {
        Bridge {
            max_hosts: 16384,
            timeout_s: 300,
            flood_limit: None,
            split_horizon: Vec::new(),
            fixed: BTreeMap::new(),
        }
    }
}

/// A running `bridge`.
#[derive(Debug)]
pub struct Running {
    /// The port behind which a host was last seen, by index in `ports`.
    hosts: RecentCache,
    /// One token is one flooded frame.
    limit: Option<Bucket>,
    split_horizon: Vec<Vec<String>>,
    /// Static hosts, as the options say.
    fixed: BTreeMap<Mac, String>,
    /// The port of each. Those in use are among the others as well, where they are found faster.
    fixed_ports: HashMap<Mac, u16>,
    /// Every port that has ever been linked. Hosts are remembered by index in this list, so that it may only grow.
    ports: Vec<Port>,
    /// The port of each input.
    inputs: Vec<u16>,
    counters: Counters,
}

#[derive(Debug)]
struct Port {
    name: String,
    /// Ports of one group do not talk to each other. A port outside of all groups is its own.
    group: usize,
    /// Where it is among the outputs, if it is one.
    output: Option<u16>,
    /// Whether it was among the outputs before, and is not now.
    has_lost_output: bool,
    /// Where what comes in here is flooded to.
    flood: Vec<u16>,
}

#[derive(Debug)]
struct Counters {
    learned: Counter,
    moved: Counter,
    evicted: Counter,
    unicast: Counter,
    flooded: Counter,
    no_packet: Counter,
    same_port: Counter,
    flood_limit: Counter,
    link_local: Counter,
    wrong_port: Counter,
    bad_source: Counter,
    too_short: Counter,
    unlinked: Counter,
}

impl Class for Bridge {
    const TYPE: &'static str = "bridge";
    const INPUTS: Ports = Ports::Any;
    const OUTPUTS: Ports = Ports::Any;
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        let check_host = |host| match host {
            Mac::ZERO => Err(OptionError::new("static", format!("{host} is nobody's address"))),
            _ => check_mac("static", host),
        };
        let numbers = [
            OptionError::check_range("max_hosts", self.max_hosts, 16..=1 << 20),
            OptionError::check_range("timeout_s", self.timeout_s, 1..=1_000_000),
            OptionError::check_range("flood_limit", self.flood_limit.unwrap_or(1), 1..=1_000_000_000),
        ];
        let hosts = self.fixed.keys().map(|&host| check_host(host));
        OptionError::all(numbers.into_iter().chain(hosts).chain([self.check_split_horizon()]))
    }

    fn check_ports(&self, linked: &PortNames<'_>) -> Result<(), OptionError> {
        let is_linked =
            |name: &String| linked.inputs.contains(&name.as_str()) || linked.outputs.contains(&name.as_str());
        let unlinked = self.split_horizon.iter().flatten().filter(|name| !is_linked(name)).map(|name| {
            OptionError::new("split_horizon", format!("no link comes from or leads to port `{name}`"))
        });
        let hosts = self.fixed.iter().filter(|(_, name)| !is_linked(name)).map(|(host, name)| {
            let message = format!("no link comes from or leads to port `{name}`, where {host} is to be");
            OptionError::new("static", message)
        });
        OptionError::all(unlinked.chain(hosts).map(Err))
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        Ok(Running {
            hosts: RecentCache::new(self.max_hosts, self.timeout_ns()),
            limit: self.bucket(setup.now_ns),
            split_horizon: self.split_horizon.clone(),
            fixed: self.fixed.clone(),
            fixed_ports: HashMap::new(),
            ports: Vec::new(),
            inputs: Vec::new(),
            counters: Counters {
                learned: setup.counter("learned"),
                moved: setup.counter("moved"),
                evicted: setup.counter("evicted"),
                unicast: setup.counter("unicast"),
                flooded: setup.counter("flooded"),
                no_packet: setup.counter("no_packet"),
                same_port: setup.rejects("same_port"),
                flood_limit: setup.drops("flood_limit"),
                link_local: setup.rejects("link_local"),
                wrong_port: setup.drops("wrong_port"),
                bad_source: setup.drops("bad_source"),
                too_short: setup.drops("too_short"),
                unlinked: setup.drops("unlinked"),
            },
        })
    }

    /// Hosts are remembered, unless the size of the table has changed.
    fn reconfigure(
        &self,
        app: &mut Running,
        old: &Self,
        setup: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        if self.max_hosts != old.max_hosts {
            app.hosts = RecentCache::new(self.max_hosts, self.timeout_ns());
        }
        app.hosts.set_timeout(self.timeout_ns());
        if self.flood_limit != old.flood_limit {
            app.limit = self.bucket(setup.now_ns);
        }
        app.split_horizon.clone_from(&self.split_horizon);
        app.fixed.clone_from(&self.fixed);
        app.arrange();
        Ok(Reconfigured::Kept)
    }
}

impl Bridge {
    fn check_split_horizon(&self) -> Result<(), OptionError> {
        let mut names: Vec<&String> = self.split_horizon.iter().flatten().collect();
        names.sort_unstable();
        OptionError::all(names.chunk_by(|a, b| a == b).filter(|same| same.len() > 1).map(|same| {
            let message = format!("port `{}` is named twice; it can be in one group only", same[0]);
            Err(OptionError::new("split_horizon", message))
        }))
    }

    fn timeout_ns(&self) -> u64 {
        self.timeout_s.saturating_mul(1_000_000_000)
    }

    /// What is not used may be made up for within a tenth of a second.
    fn bucket(&self, now_ns: u64) -> Option<Bucket> {
        self.flood_limit.map(|rate| Bucket::new(rate, rate.div_ceil(10), now_ns))
    }
}

impl App for Running {
    fn link(&mut self, linked: &PortNames<'_>) {
        for port in &mut self.ports {
            port.has_lost_output |= port.output.take().is_some();
        }
        for (output, name) in linked.outputs.iter().enumerate() {
            let port = self.port_named(name);
            self.ports[port].output = Some(output as u16);
            self.ports[port].has_lost_output = false;
        }
        self.inputs = linked.inputs.iter().map(|name| self.port_named(name) as u16).collect();
        self.arrange();
    }

    fn push(&mut self, io: &mut Io<'_>) {
        self.hosts.set_time(io.now_ns);
        for (index, input) in io.inputs.iter_mut().enumerate() {
            if input.waiting() > 0 {
                self.switch(self.inputs[index], input, io.outputs, io.pool, io.now_ns);
            }
        }
    }

    fn reporting(&self) -> Option<&dyn Reporting> {
        Some(self)
    }
}

impl Reporting for Running {
    fn report(&self) -> Option<String> {
        Some(counted(self.hosts.count() as u64, "host"))
    }
}

/// The fate of a frame.
enum Verdict {
    /// To one output.
    Send(u16),
    Flood,
    Drop(Reason),
}

enum Reason {
    SamePort,
    Unlinked,
    LinkLocal,
    WrongPort,
    BadSource,
    TooShort,
}

impl Running {
    /// The index of a port; one that is new is added.
    fn port_named(&mut self, name: &str) -> usize {
        self.ports.iter().position(|port| port.name == name).unwrap_or_else(|| {
            let name = name.to_owned();
            self.ports.push(Port { name, group: 0, output: None, has_lost_output: false, flood: Vec::new() });
            self.ports.len() - 1
        })
    }

    /// Works out where static hosts are, and who may talk to whom.
    fn arrange(&mut self) {
        self.settle();
        let groups = self.split_horizon.len();
        for (index, port) in self.ports.iter_mut().enumerate() {
            let group = self.split_horizon.iter().position(|group| group.contains(&port.name));
            port.group = group.unwrap_or(groups + index);
        }
        let outputs: Vec<(usize, u16)> =
            self.ports.iter().filter_map(|port| Some((port.group, port.output?))).collect();
        for port in &mut self.ports {
            let reached = outputs.iter().filter(|&&(group, _)| group != port.group);
            port.flood = reached.map(|&(_, output)| output).collect();
        }
    }

    /// Notes where static hosts are, instead of where they may have been seen before they were static.
    fn settle(&mut self) {
        let fixed = std::mem::take(&mut self.fixed);
        self.fixed_ports = fixed.iter().map(|(&host, name)| (host, self.port_named(name) as u16)).collect();
        self.fixed = fixed;
        for (&host, &port) in &self.fixed_ports {
            self.hosts.learn(number(host), port);
        }
    }

    /// Switches what waits at one port.
    fn switch(&mut self, port: u16, input: &mut Input, outputs: &mut [Output], pool: &mut Pool, now_ns: u64) {
        let mut unicast = 0;
        while let Some(burst) = input.burst() {
            for packet in burst {
                match self.decide(port, packet.data()) {
                    Verdict::Send(output) => {
                        unicast += 1;
                        outputs[usize::from(output)].put(packet);
                    }
                    Verdict::Flood => self.flood(port, packet, outputs, pool, now_ns),
                    Verdict::Drop(reason) => pool.free(packet, self.counter(&reason)),
                }
            }
        }
        self.counters.unicast.add(unicast);
    }

    /// Learns from a frame, and says what becomes of it.
    #[inline]
    fn decide(&mut self, port: u16, frame: &[u8]) -> Verdict {
        let Some(ether) = Ethernet::new(frame) else { return Verdict::Drop(Reason::TooShort) };
        let src = ether.src();
        if src.is_multicast() {
            return Verdict::Drop(Reason::BadSource);
        }
        if !self.hosts.refresh(number(src), port) && !self.learn(src, port) {
            return Verdict::Drop(Reason::WrongPort);
        }
        let dst = ether.dst();
        if dst.is_multicast() {
            return if is_link_local(dst) { Verdict::Drop(Reason::LinkLocal) } else { Verdict::Flood };
        }
        let to = self.hosts.find(number(dst)).or_else(|| self.fixed_ports.get(&dst).copied());
        let Some(to) = to else { return Verdict::Flood };
        let (from, is_here) = (&self.ports[usize::from(port)], to == port);
        let to = &self.ports[usize::from(to)];
        match to.output {
            None if to.has_lost_output && !is_here && !self.fixed_ports.contains_key(&dst) => Verdict::Flood,
            _ if to.group == from.group => Verdict::Drop(Reason::SamePort),
            Some(output) => Verdict::Send(output),
            None => Verdict::Drop(Reason::Unlinked),
        }
    }

    /// Learns where a host is; `false` if it is known to be elsewhere. Zero is nobody's address: what came from there is sent on, and
    /// teaches nothing.
    #[cold]
    fn learn(&mut self, host: Mac, port: u16) -> bool {
        if self.fixed_ports.get(&host).is_some_and(|&fixed| fixed != port) {
            return false;
        }
        if host == Mac::ZERO {
            return true;
        }
        match self.hosts.learn(number(host), port) {
            Learned::New => self.counters.learned.add(1),
            Learned::Known(before) if before != port => self.counters.moved.add(1),
            Learned::Known(_) => {}
            Learned::Evicting => {
                self.counters.learned.add(1);
                self.counters.evicted.add(1);
            }
        }
        true
    }

    /// Sends a frame to all other ports: the frame itself to the last, copies to the others.
    fn flood(&mut self, port: u16, packet: Packet, outputs: &mut [Output], pool: &mut Pool, now_ns: u64) {
        let Some((&last, others)) = self.ports[usize::from(port)].flood.split_last() else {
            return pool.free(packet, &self.counters.unlinked);
        };
        if let Some(bucket) = &mut self.limit {
            bucket.fill(now_ns);
            if !bucket.has(1) {
                return pool.free(packet, &self.counters.flood_limit);
            }
            bucket.take(1);
        }
        self.counters.flooded.add(1);
        for &output in others {
            if outputs[usize::from(output)].send_copies(pool, &packet, 1) == 0 {
                self.counters.no_packet.add(1);
            }
        }
        outputs[usize::from(last)].put(packet);
    }

    fn counter(&self, reason: &Reason) -> &Counter {
        match reason {
            Reason::SamePort => &self.counters.same_port,
            Reason::Unlinked => &self.counters.unlinked,
            Reason::LinkLocal => &self.counters.link_local,
            Reason::WrongPort => &self.counters.wrong_port,
            Reason::BadSource => &self.counters.bad_source,
            Reason::TooShort => &self.counters.too_short,
        }
    }
}

/// An address as a number of 48 bits.
#[inline]
fn number(address: Mac) -> u64 {
    let [a, b, c, d, e, f] = address.0;
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}

/// Whether bridges keep what is sent there, such as spanning tree and pause frames.
#[inline]
fn is_link_local(group: Mac) -> bool {
    let [0x01, 0x80, 0xc2, 0, 0, last] = group.0 else { return false };
    last < 0x10
}
