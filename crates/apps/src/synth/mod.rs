//! `synth`: makes packets of flows: a load for what comes after it.
//!
//! | outputs | `output` |
//! |---|---|
//! | `sizes` | bytes of packets, without frame check sequence, in turn: 1024 sizes at most, each from the length of the headers to 65535; `[60]`, or what the headers need if that is more, unless set. More than 10240 take large packets of the pool, of which there are few |
//! | `src`, `dst` | addresses, IPv4 or IPv6, or prefixes of which all addresses are used; 198.18.0.1 and 198.19.0.1 unless set |
//! | `proto` | `"udp"`, unless set, or `"tcp"` |
//! | `sport`, `dport` | ports, `"1024"` or `"1024-2047"`; 1024 and 9 unless set |
//! | `flows` | how many flows, as many as addresses and ports allow, up to 1048576; unless set, up to 65536 |
//! | `random` | whether flows are drawn at random rather than in turn, and payload is random; `false` unless set |
//! | `src_mac`, `dst_mac` | 02:00:00:00:00:01 and 02:00:00:00:00:02 unless set |
//! | `vlan` | a VLAN that packets are tagged with, 0 to 4094 |
//! | `dont_fragment` | whether IPv4 packets must not be cut on their way; `true` unless set. Else they get identifications, by which fragments are joined |
//! | `count` | packets in all; without end unless set |
//! | `rate_pps`, `rate_mbps` | the most packets, and million bits of packets, a second; none unless set |
//!
//! The payload begins with the number of the flow (4 bytes) and that of the packet in its flow (8 bytes), most significant byte
//! first, where there is room for both: who receives it can tell what was lost, doubled or overtaken. Checksums are right.
//! A link with little room gets as many packets as fit: a source drops nothing.
//!
//! The addresses are those that RFC 2544 (C.2.2) sets apart for measurements.

mod flow;
mod frame;
#[cfg(test)]
mod tests;

use crate::shared::host::check_mac;
use crate::shared::random::Random;
use engine::{
    App, Class, Io, MAX_LARGE_PAYLOAD, MAX_PAYLOAD, NextEvent, OptionError, Packet, Pool, Ports, Rate,
    Reporting, Roles, Setup, Timed,
};
use flow::Flow;
use frame::Frame;
use serde::Deserialize;
use wire::Mac;
use wire::plural::counted;

/// Options of `synth`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Synth {
    /// Bytes of packets. `None`: 60, or what the headers need if that is more.
    pub sizes: Option<Vec<usize>>,
    /// Source address or prefix.
    pub src: String,
    /// Destination address or prefix.
    pub dst: String,
    /// The transport protocol of the packets.
    pub proto: Proto,
    /// Source ports.
    pub sport: String,
    /// Destination ports.
    pub dport: String,
    /// How many flows.
    pub flows: Option<u32>,
    /// Whether flows and payload are random.
    pub random: bool,
    /// Source of the frames.
    pub src_mac: String,
    /// Destination of the frames.
    pub dst_mac: String,
    /// The VLAN of the frames.
    pub vlan: Option<u16>,
    /// Whether IPv4 packets must not be cut on their way.
    pub dont_fragment: bool,
    /// Packets in all.
    pub count: Option<u64>,
    /// The most packets a second.
    pub rate_pps: Option<f64>,
    /// The most million bits of packets a second.
    pub rate_mbps: Option<f64>,
}

/// The transport protocol of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Proto {
    /// UDP.
    #[default]
    Udp,
    /// TCP segments of an established connection.
    Tcp,
}

impl Default for Synth {
    fn default() -> Self {
        Synth {
            sizes: None,
            src: "198.18.0.1".to_owned(),
            dst: "198.19.0.1".to_owned(),
            proto: Proto::Udp,
            sport: "1024".to_owned(),
            dport: "9".to_owned(),
            flows: None,
            random: false,
            src_mac: "02:00:00:00:00:01".to_owned(),
            dst_mac: "02:00:00:00:00:02".to_owned(),
            vlan: None,
            dont_fragment: true,
            count: None,
            rate_pps: None,
            rate_mbps: None,
        }
    }
}

/// Bytes of packets unless set: the shortest frame of an Ethernet (IEEE 802.3), without its check sequence.
const SIZE: usize = 60;

/// Sizes at most: a packet of each is kept, and the pool must have more than those.
const SIZES_MAX: usize = 1024;

/// A running `synth`.
#[derive(Debug)]
pub struct Running {
    frames: Vec<Frame>,
    /// A packet of each frame, to copy; made when the pool is first at hand. Long frames have none: large packets are too few to keep.
    templates: Vec<Option<Packet>>,
    /// How many packets those are.
    held: usize,
    flows: Vec<Flow>,
    next_flow: usize,
    next_size: usize,
    /// Sizes that are left out after each round of flows.
    skipped_sizes: usize,
    /// Draws flows, if they are random.
    random: Option<Random>,
    rate: Option<Rate>,
    left: u64,
    /// Whether there was no room, or no memory, for a packet.
    is_blocked: bool,
    /// Why there can be no packets: the pool has too few for those that are kept, or no large ones.
    impossible: Option<String>,
}

impl Class for Synth {
    const TYPE: &'static str = "synth";
    const INPUTS: Ports = Ports::NONE;
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        let range = 1..=flow::FLOWS_MAX;
        let flows = self.flows.map_or(Ok(()), |flows| OptionError::check_range("flows", flows, range));
        let pattern = flow::Pattern::new(self);
        let of_pattern = match (&pattern, &flows, self.flows) {
            (Ok(pattern), Ok(()), Some(flows)) => pattern.check(flows),
            (pattern, ..) => pattern.as_ref().map(drop).map_err(OptionError::clone),
        };
        OptionError::all([
            Rate::check(self.rate_pps, self.rate_mbps),
            self.vlan.map_or(Ok(()), |vlan| OptionError::check_range("vlan", vlan, 0..=4094)),
            flows,
            of_pattern,
            pattern.map_or(Ok(()), |pattern| self.check_sizes(pattern.is_ipv6())),
            self.macs().map(drop),
        ])
    }

    fn start(&self, _: &mut Setup<'_>) -> Result<Running, OptionError> {
        let pattern = flow::Pattern::new(self)?;
        let macs = self.macs()?;
        let mut random = Random::new(1);
        let frame = |&size: &usize| {
            let payload = self.random.then_some(&mut random);
            Frame::new(size, self, pattern.is_ipv6(), macs, payload)
        };
        let flows = pattern.flows(self.flows);
        let sizes = self.sizes(pattern.is_ipv6());
        Ok(Running {
            skipped_sizes: skipped_sizes(flows.len(), sizes.len()),
            frames: sizes.iter().map(frame).collect(),
            templates: Vec::new(),
            held: 0,
            flows,
            next_flow: 0,
            next_size: 0,
            random: self.random.then_some(random),
            rate: Rate::new(self.rate_pps, self.rate_mbps),
            left: self.count.unwrap_or(u64::MAX),
            is_blocked: false,
            impossible: None,
        })
    }
}

impl Synth {
    /// The sizes that were set, or the one that packets have else.
    fn sizes(&self, is_ipv6: bool) -> Vec<usize> {
        self.sizes.clone().unwrap_or_else(|| vec![self.headers_len(is_ipv6).max(SIZE)])
    }

    fn check_sizes(&self, is_ipv6: bool) -> Result<(), OptionError> {
        let sizes = self.sizes(is_ipv6);
        if sizes.is_empty() {
            return Err(OptionError::new("sizes", "is empty: which sizes?"));
        }
        if sizes.len() > SIZES_MAX {
            return Err(OptionError::new("sizes", format!("{} sizes; {SIZES_MAX} at most", sizes.len())));
        }
        let range = self.headers_len(is_ipv6)..=MAX_LARGE_PAYLOAD;
        let check = |(i, &size)| OptionError::check_range(&format!("sizes[{i}]"), size, range.clone());
        OptionError::all(sizes.iter().enumerate().map(check))
    }

    fn headers_len(&self, is_ipv6: bool) -> usize {
        frame::headers_len(is_ipv6, self.proto, self.vlan.is_some())
    }

    /// Source and destination of the frames.
    fn macs(&self) -> Result<(Mac, Mac), OptionError> {
        let mac = |option, text: &str| text.parse().map_err(|error| OptionError::new(option, error));
        let (src, dst) = (mac("src_mac", &self.src_mac)?, mac("dst_mac", &self.dst_mac)?);
        check_mac("src_mac", src)?;
        Ok((src, dst))
    }
}

impl App for Running {
    fn roles(&self) -> Roles {
        Roles::PULL
    }

    fn pull(&mut self, io: &mut Io<'_>) {
        self.is_blocked = true;
        if self.templates.is_empty() && self.left > 0 && !self.make_templates(io.pool) {
            return;
        }
        let output = &mut io.outputs[0];
        let mut room = output.allowance().min(io.burst).min(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.is_blocked = room == 0;
        while room > 0 {
            let size = self.next_size;
            if self.rate.as_ref().is_some_and(|rate| !rate.is_due(io.now_ns)) {
                return;
            }
            let copy = match &self.templates[size] {
                Some(template) => io.pool.copy(template),
                None => io.pool.packet(self.frames[size].bytes()),
            };
            let Some(mut packet) = copy else {
                self.is_blocked = true;
                return;
            };
            let flow = self.choose();
            // Each of 65536 packets in a row has another identification.
            let ident = self.left as u16;
            self.frames[size].address(packet.data_mut(), ident, flow as u32, &mut self.flows[flow]);
            // A copy has its template's time.
            io.pool.describe_as_new(&mut packet);
            output.put(packet);
            if let Some(rate) = &mut self.rate {
                rate.sent(io.now_ns, self.frames[size].bytes().len());
            }
            room -= 1;
            self.left -= 1;
        }
        if self.left == 0 {
            self.put_templates_back(io.pool);
        }
    }

    fn stop(&mut self, io: &mut Io<'_>) {
        self.put_templates_back(io.pool);
    }

    fn held(&self) -> usize {
        self.held
    }

    fn is_finished(&self) -> bool {
        self.impossible.is_some() || self.left == 0
    }

    fn timed(&self) -> Option<&dyn Timed> {
        Some(self)
    }

    fn reporting(&self) -> Option<&dyn Reporting> {
        Some(self)
    }
}

impl Timed for Running {
    /// None while the link is full: then time has to pass for somebody else.
    fn next_event(&self) -> NextEvent {
        let rate = self.rate.as_ref().filter(|_| self.left > 0 && !self.is_blocked);
        NextEvent::at(rate.and_then(Rate::next_ns))
    }
}

impl Reporting for Running {
    fn report(&self) -> Option<String> {
        self.impossible.clone()
    }

    fn has_failed(&self) -> bool {
        self.impossible.is_some()
    }
}

impl Running {
    /// Returns whether there are all.
    #[cold]
    fn make_templates(&mut self, pool: &mut Pool) -> bool {
        self.impossible = self.why_impossible(pool);
        if self.impossible.is_some() {
            return false;
        }
        for frame in &self.frames {
            let template = if is_long(frame) { None } else { pool.packet(frame.bytes()) };
            if template.is_none() && !is_long(frame) {
                self.put_templates_back(pool);
                return false;
            }
            self.held += usize::from(template.is_some());
            self.templates.push(template);
        }
        true
    }

    /// Why a pool has no room for the packets.
    #[cold]
    fn why_impossible(&self, pool: &Pool) -> Option<String> {
        let longest = self.frames.iter().map(|frame| frame.bytes().len()).max().unwrap_or(0);
        if longest > MAX_PAYLOAD && pool.large_total() == 0 {
            return Some(format!(
                "packets of {longest} bytes take large packets: give the pool some (`--large-packets`)"
            ));
        }
        let kept = self.frames.iter().filter(|frame| !is_long(frame)).count();
        let why = || {
            let sizes = counted(kept as u64, "size");
            format!("a packet of each of {sizes} is kept: give the pool more than those (`--packets`)")
        };
        (kept > 0 && pool.usual_total() <= kept).then(why)
    }

    fn put_templates_back(&mut self, pool: &mut Pool) {
        self.templates.drain(..).flatten().for_each(|packet| pool.take_back(packet));
        self.held = 0;
    }

    /// Chooses the flow of the next packet, and the size of the one after.
    #[inline]
    fn choose(&mut self) -> usize {
        let flow = match &mut self.random {
            Some(random) => random.below(self.flows.len()),
            None => self.next_flow,
        };
        self.next_size += 1;
        self.next_flow += 1;
        if self.next_flow == self.flows.len() {
            self.next_flow = 0;
            self.next_size += self.skipped_sizes;
        }
        self.next_size %= self.frames.len();
        flow
    }
}

fn is_long(frame: &Frame) -> bool {
    frame.bytes().len() > MAX_PAYLOAD
}

/// How many sizes to leave out after each round, so that every flow has packets of all sizes in turn: the steps of a flow
/// through the sizes must have no divisor in common with their number.
fn skipped_sizes(flows: usize, sizes: usize) -> usize {
    let gcd = |mut a: usize, mut b: usize| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    (0..sizes).find(|skipped| gcd(flows + skipped, sizes) == 1).unwrap_or(0)
}
