//! What is known of a flow, when it is told of.

use dpi::{Details, Protocol, Verdict};
use std::net::{IpAddr, SocketAddr};

/// Why a flow is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum End {
    /// It is not: it is told of as it stands.
    #[default]
    None,
    /// Both ends have closed it, or one has reset it.
    Closed,
    /// Nothing came for as long as it may rest.
    Idle,
    /// It lasted for as long as one may.
    Active,
    /// Its place in the table was needed.
    Evicted,
    /// There are no more packets.
    Finished,
}

impl End {
    /// In a word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            End::None => "open",
            End::Closed => "closed",
            End::Idle => "idle",
            End::Active => "active",
            End::Evicted => "evicted",
            End::Finished => "finished",
        }
    }
}

/// A flow, as reports tell of it. Pairs are of who sent the first packet, and of the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Its number, in the order of first packets, from 1.
    pub number: u64,
    /// Who sent the first packet, and whom to. Ports are 0 where the protocol has none.
    pub ends: [SocketAddr; 2],
    /// Protocol over IP.
    pub transport: u8,
    /// The two outermost VLANs, 0 where there is none.
    pub vlans: [u16; 2],
    /// Packets sent.
    pub packets: [u64; 2],
    /// Bytes of frames on the wire, sent.
    pub bytes: [u64; 2],
    /// When its first packet was seen, in nanoseconds since 1970.
    pub first_ns: u64,
    /// When its last packet was seen.
    pub last_ns: u64,
    /// What it speaks.
    pub verdict: Verdict,
    /// What it says of itself.
    pub details: Option<Box<Details>>,
    /// Why it is over.
    pub end: End,
}

impl Record {
    /// Packets both ways.
    #[must_use]
    pub fn total_packets(&self) -> u64 {
        self.packets[0] + self.packets[1]
    }

    /// Bytes both ways.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.bytes[0] + self.bytes[1]
    }

    /// The protocol that carries the application, if that is another one.
    #[must_use]
    pub fn master(&self) -> Option<Protocol> {
        let Verdict { protocol, master, .. } = self.verdict;
        (master != Protocol::UNKNOWN && master != protocol).then_some(master)
    }

    /// What it is called over IP, such as `tcp`; a number where that has no name.
    #[must_use]
    pub fn transport_name(&self) -> String {
        let name = match self.transport {
            1 => "icmp",
            2 => "igmp",
            6 => "tcp",
            17 => "udp",
            33 => "dccp",
            47 => "gre",
            50 => "esp",
            51 => "ah",
            58 => "icmp6",
            89 => "ospf",
            103 => "pim",
            112 => "vrrp",
            132 => "sctp",
            136 => "udplite",
            number => return number.to_string(),
        };
        name.to_owned()
    }

    /// The ends in the order of their addresses, so that it is the same whoever spoke first.
    #[must_use]
    pub fn sorted_ends(&self) -> [SocketAddr; 2] {
        let [a, b] = self.ends;
        if (a.ip(), a.port()) <= (b.ip(), b.port()) { [a, b] } else { [b, a] }
    }

    /// A number that stands for the flow in reports: the same in every run and for both directions, never 0. It is under no key, so it is
    /// no place in a table (FNV-1a over addresses, ports, protocol and VLANs).
    ///
    /// ```
    /// # use wall::record::Record;
    /// # let record = Record::new(["192.0.2.1:40000".parse().unwrap(), "192.0.2.9:443".parse().unwrap()], 6);
    /// let other_way = Record { ends: [record.ends[1], record.ends[0]], ..record.clone() };
    /// assert_eq!(record.hash(), other_way.hash());
    /// ```
    #[must_use]
    pub fn hash(&self) -> u32 {
        let mut hash = 0x811c_9dc5_u32;
        let mut add = |bytes: &[u8]| {
            for &byte in bytes {
                hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
            }
        };
        for end in self.sorted_ends() {
            match end.ip() {
                IpAddr::V4(ip) => add(&ip.octets()),
                IpAddr::V6(ip) => add(&ip.octets()),
            }
            add(&end.port().to_be_bytes());
        }
        add(&[self.transport]);
        self.vlans.iter().for_each(|vlan| add(&vlan.to_be_bytes()));
        hash.max(1)
    }

    /// A flow between two ends of which nothing is known yet.
    #[must_use]
    pub fn new(ends: [SocketAddr; 2], transport: u8) -> Record {
        Record {
            number: 0,
            ends,
            transport,
            vlans: [0; 2],
            packets: [0; 2],
            bytes: [0; 2],
            first_ns: 0,
            last_ns: 0,
            verdict: Verdict::default(),
            details: None,
            end: End::None,
        }
    }
}
