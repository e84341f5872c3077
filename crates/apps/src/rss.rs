//! `rss`: spreads packets over its outputs so that all of a flow, in both directions, leave by the same one.
//!
//! | inputs | any |
//! |---|---|
//! | outputs | any: flows are spread evenly over those linked, in the order of their names |
//! | `key` | a number that the hash depends on; random, but the same for all of a process, unless set |
//! | `by` | `"flow"`, unless set; or `"addresses"`: all packets between two hosts leave by the same output, with their fragments and tunnels, and with ICMP errors about them |
//! | `home` | the number of an output, from 0, in the order of their names: that of the worker which the packets come to |
//! | `handed_over` | counts packets that leave by another output than `home` |
//!
//! [`wire::flow`] defines what belongs to a flow: addresses, protocol and ports; fragments, and what has no ports, go by their
//! addresses; frames without IP, or with more than four VLAN tags, by their hardware addresses. VLAN tags do not count.
//!
//! Where the graph keeps metadata, packets carry their hash from here on. Packets of a flow keep their order, also when the branches
//! behind the outputs are brought together by a `join`, as each branch is a row of packets and a flow has one branch. When an
//! output is added or removed, most flows move to another; while they do, packets of a flow may overtake each other.
//!
//! Two apps with one key agree: where each direction of the traffic comes in by an `rss` of its own, outputs of the same number
//! get the same flows.

use crate::shared::filtering::LANES;
use engine::shm::Counter;
use engine::{App, Burst, Class, Io, OptionError, Output, Ports, Reconfigured, Setup};
use serde::Deserialize;
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use wire::{FlowHash, FlowHasher};

/// Options of `rss`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rss {
    /// A number that the hash depends on.
    pub key: Option<u64>,
    /// What stays together.
    pub by: SpreadBy,
    /// The number of the output of which packets are not counted as handed over.
    pub home: Option<usize>,
}

/// What stays together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SpreadBy {
    /// Both directions of a flow.
    #[default]
    Flow,
    /// All that two addresses send each other.
    Addresses,
}

impl Rss {
    fn hasher(&self) -> FlowHasher {
        static KEY: OnceLock<u64> = OnceLock::new();
        FlowHasher::new(self.key.unwrap_or_else(|| *KEY.get_or_init(|| RandomState::new().hash_one(()))))
    }
}

/// A running `rss`.
#[derive(Debug)]
pub struct Running {
    hasher: FlowHasher,
    by: SpreadBy,
    home: Option<usize>,
    unlinked: Counter,
    handed_over: Counter,
}

impl Class for Rss {
    const TYPE: &'static str = "rss";
    const INPUTS: Ports = Ports::Any;
    const OUTPUTS: Ports = Ports::Any;
    type App = Running;

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        Ok(Running {
            hasher: self.hasher(),
            by: self.by,
            home: self.home,
            unlinked: setup.drops("unlinked"),
            handed_over: setup.counter("handed_over"),
        })
    }

    fn reconfigure(
        &self,
        app: &mut Running,
        _: &Self,
        _: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        (app.hasher, app.by, app.home) = (self.hasher(), self.by, self.home);
        Ok(Reconfigured::Kept)
    }
}

impl App for Running {
    fn push(&mut self, io: &mut Io<'_>) {
        let metadata = io.pool.uses_metadata();
        for input in io.inputs.iter_mut() {
            while let Some(burst) = input.burst_of_at_most(LANES) {
                if io.outputs.is_empty() {
                    io.pool.free_burst(burst, &self.unlinked);
                } else {
                    self.spread(burst, io.outputs, metadata);
                }
            }
        }
    }
}

impl Running {
    /// PERF: hashes first, all of a burst, so that the processor works on several at once.
    #[inline]
    fn spread(&self, mut burst: Burst<'_>, outputs: &mut [Output], metadata: bool) {
        let mut hashes = [FlowHash { value: 0, layer: wire::flow::Layer::None }; LANES];
        for (hash, packet) in hashes.iter_mut().zip(burst.iter()) {
            *hash = match self.by {
                SpreadBy::Flow => self.hasher.frame(packet.data()),
                SpreadBy::Addresses => self.hasher.addresses(packet.data()),
            };
        }
        if metadata {
            for (hash, packet) in hashes.iter().zip(burst.iter_mut()) {
                packet.metadata_mut().flow_hash = hash.value;
            }
        }
        let count = outputs.len() as u32;
        if let Some(home) = self.home {
            let is_elsewhere = |hash: &&FlowHash| hash.bucket(count) as usize != home;
            self.handed_over.add(hashes[..burst.len()].iter().filter(is_elsewhere).count() as u64);
        }
        for (packet, hash) in burst.zip(hashes) {
            outputs[hash.bucket(count) as usize].put(packet);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Rss, SpreadBy};
    use std::collections::HashSet;
    use testkit::packet::Packet;
    use testkit::rig::Rig;

    fn packet(line: &str) -> Vec<u8> {
        Packet::parse(line).unwrap().bytes
    }

    /// Both directions of flow number `i`.
    fn flow(i: usize) -> [Vec<u8>; 2] {
        let (client, port) = (format!("10.0.{}.{}", i / 250, i % 250 + 1), 1024 + i);
        [
            packet(&format!("eth / ip4(src={client},dst=192.0.2.1) / tcp(sport={port},dport=80)")),
            packet(&format!("eth / ip4(src=192.0.2.1,dst={client}) / tcp(sport=80,dport={port})")),
        ]
    }

    const OUTPUTS: [&str; 4] = ["a", "b", "c", "worker"];

    #[test]
    fn both_directions_meet_and_outputs_share_evenly() {
        let mut rig = Rig::new(Rss { key: Some(7), ..Rss::default() }, &["left", "right"], &OUTPUTS);
        for i in 0..400 {
            let [there, back] = flow(i);
            rig.send("left", there);
            rig.send("right", back);
        }
        rig.breathe();
        for output in OUTPUTS {
            let packets = rig.take(output);
            assert!((140..=260).contains(&packets.len()), "{output} has {} of 800", packets.len());
            let have: HashSet<Vec<u8>> = packets.iter().cloned().collect();
            for i in 0..400 {
                let [there, back] = flow(i).map(|packet| have.contains(&packet));
                assert_eq!(there, back, "flow {i} at {output}");
            }
        }
    }

    #[test]
    fn a_flow_keeps_its_order_and_its_hash() {
        let mut rig = Rig::new(Rss::default(), &["input"], &OUTPUTS);
        let [there, _] = flow(1);
        let numbered = |i: u8| [&there[..], &[i]].concat();
        (0..200).for_each(|i| rig.send("input", numbered(i)));
        rig.breathe();
        let received: Vec<_> = OUTPUTS.iter().flat_map(|output| rig.received(output)).collect();
        assert_eq!(
            received.iter().map(|packet| packet.data.clone()).collect::<Vec<_>>(),
            (0..200).map(numbered).collect::<Vec<_>>()
        );
        let hashes: HashSet<u64> = received.iter().map(|packet| packet.metadata.flow_hash).collect();
        assert_eq!(hashes.len(), 1);
        assert!(!hashes.contains(&0));
    }

    #[test]
    fn by_addresses_all_of_two_hosts_leaves_together() {
        let rss = Rss { by: SpreadBy::Addresses, key: Some(7), home: Some(2) };
        let mut rig = Rig::new(rss, &["left", "right"], &OUTPUTS);
        let quoted = &packet("eth / ip4(src=10.0.0.1,dst=192.0.2.1) / tcp(sport=1,dport=2)")[14..];
        let mut error = packet("eth / ip4(src=203.0.113.1,dst=10.0.0.1) / icmp(type=3,code=1)");
        error.truncate(42);
        error.extend_from_slice(quoted);
        error[16..18].copy_from_slice(&(28 + quoted.len() as u16).to_be_bytes());
        let packets = [
            packet("eth / ip4(src=10.0.0.1,dst=192.0.2.1) / tcp(sport=1,dport=2)"),
            packet("eth / ip4(src=192.0.2.1,dst=10.0.0.1) / udp(sport=3,dport=4)"),
            packet("eth / vlan(9) / ip4(src=10.0.0.1,dst=192.0.2.1,frag=100) / 'x'"),
            error,
        ];
        packets.iter().for_each(|packet| rig.send("left", packet.clone()));
        (2..250).for_each(|host| {
            rig.send("right", packet(&format!("eth / ip4(src=10.0.0.{host},dst=192.0.2.1) / udp")));
        });
        rig.breathe();
        let taken = OUTPUTS.map(|output| rig.take(output));
        assert!(taken.iter().all(|taken| taken.len() > 30), "{:?}", taken.map(|taken| taken.len()));
        assert_eq!(
            rig.counter("handed_over"),
            [0, 1, 3].map(|at| taken[at].len() as u64).iter().sum::<u64>()
        );
        let has_first = taken.iter().find(|taken| taken.contains(&packets[0])).unwrap();
        assert!(packets.iter().all(|packet| has_first.contains(packet)));
    }

    #[test]
    fn any_bytes_go_somewhere() {
        let mut rig = Rig::new(Rss::default(), &["input"], &["a", "b", "c"]);
        let whole = packet("eth / vlan(3) / ip6 / udp / 'x'");
        (0..whole.len()).for_each(|len| rig.send("input", &whole[..len]));
        rig.send("input", vec![0xff; 10240]);
        rig.breathe();
        let received: usize = ["a", "b", "c"].iter().map(|output| rig.take(output).len()).sum();
        assert_eq!(received, whole.len() + 1);
    }

    #[test]
    fn one_key_is_one_mapping() {
        let spread = |rss: Rss| {
            let mut rig = Rig::new(rss, &["input"], &["a", "b"]);
            (0..100).for_each(|i| rig.send("input", &flow(i)[0]));
            rig.breathe();
            rig.take("a")
        };
        assert_eq!(spread(Rss::default()), spread(Rss::default()));
        assert_eq!(
            spread(Rss { key: Some(1), ..Rss::default() }),
            spread(Rss { key: Some(1), ..Rss::default() })
        );
        assert_ne!(
            spread(Rss { key: Some(1), ..Rss::default() }),
            spread(Rss { key: Some(2), ..Rss::default() })
        );
    }

    #[test]
    fn another_key_while_it_runs() {
        let mut rig = Rig::new(Rss { key: Some(1), ..Rss::default() }, &["input"], &["a"]);
        rig.reconfigure(Rss { key: Some(2), ..Rss::default() });
        rig.send("input", b"x");
        rig.breathe();
        assert_eq!(rig.take("a"), [b"x"]);
    }

    #[test]
    fn without_outputs_packets_are_dropped_and_counted() {
        let mut rig = Rig::new(Rss::default(), &["input"], &[]);
        rig.send("input", b"x");
        rig.breathe();
        assert_eq!(rig.counter("unlinked"), 1);
    }
}
