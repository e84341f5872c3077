//! The outer headers of tunnels over IPv4 or IPv6: put before packets, and checked and taken off again.
//!
//! Everything but lengths and the checksum of IPv4 is prepared once. Only packets between the two ends pass, whole, without options,
//! extension headers or fragmentation: an app that needs fragments joined has a `reassembler` before it.
//!
//! An IPv4 packet that may be cut on its way needs an identification of its own (RFC 6864, 4.3); one that may not needs none.

use crate::shared::host::{check_ends, check_mac};
use crate::shared::whole::note_whole;
use engine::shm::Counter;
use engine::{Burst, Io, OptionError, Output, Packet, Pool, Ports, Setup};
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;
use wire::checksum::{Addresses, update};
use wire::ether::{Ethernet, EthernetHeader, EthernetMut, Mac, ethertype};
use wire::ip::{Ipv4, Ipv4Header, Ipv4Mut, Ipv6, Ipv6Header, Ipv6Mut};

/// The ports of a tunnel, inputs and outputs: what is inside, and what is on the way between the ends.
pub(crate) const PORTS: Ports = Ports::Named(&["decapsulated", "encapsulated"]);
/// The first of them.
const DECAPSULATED: usize = 0;
/// The second.
const ENCAPSULATED: usize = 1;

/// A running tunnel.
pub(crate) trait Tunnel {
    /// A function that puts all headers before a frame; it refuses one that becomes too long, and leaves it as it is.
    fn encapsulator(&mut self) -> impl FnMut(&mut Packet) -> bool;

    /// A function that takes all headers off a packet, and the bytes after it in its frame; it refuses one that does not belong to this
    /// tunnel, and leaves it as it is.
    fn decapsulator(&self) -> impl FnMut(&mut Packet) -> bool;

    /// The counter of frames that are too long.
    fn length_errors(&self) -> &Counter;

    /// The counter of a packet that does not belong to this tunnel.
    fn why_not(&self, data: &[u8]) -> &Counter;

    /// Takes what has come through the tunnel, in both directions.
    #[inline]
    fn pass(&mut self, io: &mut Io<'_>) {
        let output = &mut io.outputs[ENCAPSULATED];
        while let Some(burst) = io.inputs[DECAPSULATED].burst_of_at_most(Burst::SIFTED) {
            io.pool.expect_headers(&burst);
            let others = output.sift(burst, self.encapsulator());
            others.for_each(|packet| encapsulate_again(packet, output, io.pool, self));
        }
        let output = &mut io.outputs[DECAPSULATED];
        while let Some(burst) = io.inputs[ENCAPSULATED].burst_of_at_most(Burst::SIFTED) {
            // PERF: one loop for both would look for each packet whether there is metadata: 0.91 of the packets.
            let others = if io.pool.uses_metadata() {
                let mut decapsulate = self.decapsulator();
                output.sift(burst, |packet| {
                    let is_ours = decapsulate(packet);
                    if is_ours {
                        note_whole(packet, io.pool);
                    }
                    is_ours
                })
            } else {
                output.sift(burst, self.decapsulator())
            };
            others.for_each(|packet| refuse(packet, io.pool, self));
        }
    }
}

/// A running tunnel whose frames lie behind headers of IP and one more.
pub(crate) trait OverIp {
    /// The headers of IP.
    fn outer(&self) -> &Outer;

    /// Puts all headers before a frame; `false`, and no change, if it becomes too long.
    fn encapsulate(&mut self, packet: &mut Packet) -> bool;

    /// Where the frame is inside a packet, or what counts one that is none of this tunnel.
    fn frame(&self, data: &[u8]) -> Result<Range<usize>, &Counter>;
}

impl<T: OverIp> Tunnel for T {
    fn encapsulator(&mut self) -> impl FnMut(&mut Packet) -> bool {
        #[inline(always)]
        |packet: &mut Packet| self.encapsulate(packet)
    }

    fn decapsulator(&self) -> impl FnMut(&mut Packet) -> bool {
        |packet: &mut Packet| {
            let Ok(frame) = self.frame(packet.data()) else { return false };
            packet.narrow(frame);
            true
        }
    }

    fn length_errors(&self) -> &Counter {
        self.outer().length_errors()
    }

    fn why_not(&self, data: &[u8]) -> &Counter {
        self.frame(data).err().unwrap_or(self.outer().protocol_errors())
    }
}

/// Takes a frame that became too long where it was: it follows those that did not.
#[cold]
fn encapsulate_again(
    mut packet: Packet,
    output: &mut Output,
    pool: &mut Pool,
    tunnel: &mut (impl Tunnel + ?Sized),
) {
    /// More than the headers of any tunnel.
    const HEADERS_MAX: usize = 128;
    let len = packet.len() + HEADERS_MAX;
    if pool.make_room(&mut packet, len) && tunnel.encapsulator()(&mut packet) {
        return output.put(packet);
    }
    pool.free(packet, tunnel.length_errors());
}

#[cold]
fn refuse(packet: Packet, pool: &mut Pool, tunnel: &(impl Tunnel + ?Sized)) {
    let counter = tunnel.why_not(packet.data());
    pool.free(packet, counter);
}

/// The ends of a tunnel, as its options say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    pub(crate) local_address: IpAddr,
    pub(crate) remote_address: IpAddr,
    pub(crate) local_mac: Mac,
    pub(crate) gateway_mac: Mac,
    pub(crate) hop_limit: u8,
    pub(crate) dont_fragment: bool,
}

/// The headers before what a tunnel carries.
#[derive(Debug)]
pub(crate) struct Outer {
    addresses: Addresses,
    protocol: u8,
    /// Link and network header; the total length of IPv4 that was summed is that of the header alone.
    header: Vec<u8>,
    /// Identification of the last IPv4 packet, if packets may be fragmented. It starts anywhere, so that it is hard to guess.
    ident: Option<u16>,
    counters: Counters,
}

/// Counters of packets that do not belong to a tunnel.
#[derive(Debug)]
pub(crate) struct Counters {
    /// Those that are too long or too short.
    pub(crate) length: Counter,
    /// Those that are something else.
    pub(crate) protocol: Counter,
    pub(crate) remote_address: Counter,
    pub(crate) local_address: Counter,
}

impl Counters {
    pub(crate) fn new(setup: &mut Setup<'_>) -> Self {
        Counters {
            length: setup.drops("length_errors"),
            protocol: setup.drops("protocol_errors"),
            remote_address: setup.drops("remote_address_errors"),
            local_address: setup.drops("local_address_errors"),
        }
    }
}

/// The option of a gateway's hardware address, and of one's own, where it is not set.
pub(crate) fn no_mac() -> Mac {
    Mac::ZERO
}

/// The option whether IPv4 packets must not be fragmented, where it is not set.
pub(crate) fn dont_fragment() -> bool {
    true
}

/// The option of a hop limit, where it is not set.
pub(crate) fn hop_limit() -> u8 {
    64
}

impl Ends {
    /// Whether packets can go from one to the other.
    pub(crate) fn check(&self) -> Result<(), OptionError> {
        OptionError::all([
            OptionError::check_range("hop_limit", self.hop_limit, 1..=u8::MAX),
            check_mac("local_mac", self.local_mac),
            self.addresses().map(drop),
            check_ends(self.local_address, self.remote_address),
        ])
    }

    fn addresses(&self) -> Result<Addresses, OptionError> {
        match (self.local_address, self.remote_address) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => Ok(Addresses::V4 { src, dst }),
            (IpAddr::V6(src), IpAddr::V6(dst)) => Ok(Addresses::V6 { src, dst }),
            (local, remote) => {
                let message = format!("{remote} is not of the same version as `local_address`, {local}");
                Err(OptionError::new("remote_address", message))
            }
        }
    }

    /// Link and network header, without payload.
    fn header(&self, addresses: Addresses, protocol: u8) -> Vec<u8> {
        let (ethertype, network) = match addresses {
            Addresses::V4 { src, dst } => (ethertype::IPV4, self.header_v4(protocol, src, dst).to_vec()),
            Addresses::V6 { src, dst } => (ethertype::IPV6, self.header_v6(protocol, src, dst).to_vec()),
        };
        let link = EthernetHeader { dst: self.gateway_mac, src: self.local_mac, ethertype };
        [&link.to_bytes()[..], &network].concat()
    }

    fn header_v4(&self, protocol: u8, src: Ipv4Addr, dst: Ipv4Addr) -> [u8; Ipv4::LEN] {
        Ipv4Header {
            tos: 0,
            total_len: Ipv4::LEN as u16,
            ident: 0,
            dont_fragment: self.dont_fragment,
            more_fragments: false,
            fragment_off: 0,
            ttl: self.hop_limit,
            protocol,
            src,
            dst,
        }
        .to_bytes()
    }

    fn header_v6(&self, next_header: u8, src: Ipv6Addr, dst: Ipv6Addr) -> [u8; Ipv6::LEN] {
        let hop_limit = self.hop_limit;
        Ipv6Header { traffic_class: 0, flow_label: 0, payload_len: 0, next_header, hop_limit, src, dst }
            .to_bytes()
    }
}

impl Outer {
    /// The headers of a tunnel that carries `protocol`.
    ///
    /// # Errors
    /// If the ends are of different versions.
    pub(crate) fn new(ends: &Ends, protocol: u8, setup: &mut Setup<'_>) -> Result<Outer, OptionError> {
        let addresses = ends.addresses()?;
        let counters = Counters::new(setup);
        let ident = (!ends.dont_fragment).then(|| RandomState::new().hash_one(0) as u16);
        Ok(Outer { addresses, protocol, header: ends.header(addresses, protocol), ident, counters })
    }

    /// The addresses of what is sent.
    pub(crate) fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// Length of the headers.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.header.len()
    }

    /// The counter of packets that are too long or too short.
    pub(crate) fn length_errors(&self) -> &Counter {
        &self.counters.length
    }

    /// The counter of packets that are something else.
    pub(crate) fn protocol_errors(&self) -> &Counter {
        &self.counters.protocol
    }

    /// Puts the headers before a packet; `false`, and no change, if it becomes too long.
    #[inline]
    pub(crate) fn wrap(&mut self, packet: &mut Packet) -> bool {
        let payload_len = packet.len() as u16;
        if packet.prepend(&self.header).is_err() {
            return false;
        }
        let Some(mut ether) = EthernetMut::new(packet.data_mut()) else { return false };
        match self.addresses {
            Addresses::V4 { .. } => {
                set_len_v4(ether.payload_mut(), payload_len);
                if let Some(ident) = &mut self.ident {
                    *ident = ident.wrapping_add(1);
                    set_ident(ether.payload_mut(), *ident);
                }
            }
            Addresses::V6 { .. } => set_len_v6(ether.payload_mut(), payload_len),
        }
        true
    }

    /// Where in a frame the payload is; or what counts a frame that is none from the other end to this one.
    #[inline]
    pub(crate) fn unwrap(&self, frame: &[u8]) -> Result<Range<usize>, &Counter> {
        let counters = &self.counters;
        let ether = Ethernet::new(frame).ok_or(&counters.length)?;
        let payload_len = match (self.addresses, ether.ethertype()) {
            (Addresses::V4 { src, dst }, ethertype::IPV4) => self.payload_v4(ether.payload(), src, dst)?,
            (Addresses::V6 { src, dst }, ethertype::IPV6) => self.payload_v6(ether.payload(), src, dst)?,
            _ => return Err(&counters.protocol),
        };
        Ok(self.len()..self.len() + payload_len)
    }

    fn payload_v4(&self, packet: &[u8], local: Ipv4Addr, remote: Ipv4Addr) -> Result<usize, &Counter> {
        let counters = &self.counters;
        let ip = Ipv4::new(packet).ok_or(&counters.protocol)?;
        let is_plain = ip.header_len() == Ipv4::LEN && !ip.is_fragment();
        if ip.protocol() != self.protocol || !is_plain || !ip.is_checksum_right() {
            Err(&counters.protocol)
        } else if ip.payload_len() != Some(ip.payload().len()) {
            Err(&counters.length)
        } else {
            self.check_addresses((ip.src(), remote), (ip.dst(), local))?;
            Ok(ip.payload().len())
        }
    }

    fn payload_v6(&self, packet: &[u8], local: Ipv6Addr, remote: Ipv6Addr) -> Result<usize, &Counter> {
        let counters = &self.counters;
        let ip = Ipv6::new(packet).ok_or(&counters.protocol)?;
        if ip.next_header() != self.protocol {
            Err(&counters.protocol)
        } else if ip.payload().len() != usize::from(ip.payload_len()) {
            Err(&counters.length)
        } else {
            self.check_addresses((ip.src(), remote), (ip.dst(), local))?;
            Ok(ip.payload().len())
        }
    }

    /// Whether each address is the one that it has to be.
    fn check_addresses<A: PartialEq>(
        &self,
        (src, remote): (A, A),
        (dst, local): (A, A),
    ) -> Result<(), &Counter> {
        if src != remote {
            Err(&self.counters.remote_address)
        } else if dst != local {
            Err(&self.counters.local_address)
        } else {
            Ok(())
        }
    }
}

#[inline]
fn set_len_v4(packet: &mut [u8], payload_len: u16) {
    let Some(mut ip) = Ipv4Mut::new(packet) else { return };
    let total_len = Ipv4::LEN as u16 + payload_len;
    ip.set_checksum(update(ip.view().checksum(), ip.view().total_len(), total_len));
    ip.set_total_len(total_len);
}

#[inline]
fn set_ident(packet: &mut [u8], ident: u16) {
    let Some(mut ip) = Ipv4Mut::new(packet) else { return };
    ip.set_checksum(update(ip.view().checksum(), ip.view().ident(), ident));
    ip.set_ident(ident);
}

#[inline]
fn set_len_v6(packet: &mut [u8], payload_len: u16) {
    if let Some(mut ip) = Ipv6Mut::new(packet) {
        ip.set_payload_len(payload_len);
    }
}
