//! `vlan_mux`: one trunk on one side, a port for each VLAN on the other.
//!
//! ```text
//!             ┌──────────┐ vlan7   untagged
//!  tagged     │          ├───────
//!  ───────────┤ vlan_mux │ vlan12
//!       trunk │          ├───────
//!             │          │ native
//!             └──────────┴───────  untagged on the trunk as well
//! ```
//!
//! | inputs, outputs | `trunk`, `native`, and `vlanN` for VLAN N, 1 to 4094 |
//! |---|---|
//! | `tpid` | kind of the trunk's tags: 0x8100 (`"dot1q"`) unless set, or 0x88a8 (`"dot1ad"`); also `encapsulation` |
//! | drops `other_vlan` | counts frames of VLANs without an output, and frames from `native` with a tag of the trunk's kind, except a single one of VLAN 0 |
//! | drops `unlinked` | counts frames for a trunk or native VLAN without a link |
//! | drops `too_short` | counts packets without an Ethernet header, and frames that end within their tag |
//! | drops `too_long` | counts packets of which the tag would make more than 65535 bytes, or more than 10240 while the pool has no large packet |
//!
//! Ports work in both directions, as in Snabb. A frame whose tag is only there for its priority (VLAN 0) is of the native
//! VLAN, and loses the tag.
//!
//! Who sends from `native` cannot choose a VLAN: a frame with a tag would be taken for one of that VLAN behind the trunk, and is
//! dropped, unless the tag is of VLAN 0 and no other follows it: who takes off the first would be left with the second. Frames whose first
//! tag is of another kind pass as if untagged, in both directions.

use crate::Tpid;
use crate::vlan_tag::{IDS, push_tag, push_tag_anyhow};
use crate::vlan_untag::{pop_tag, vlan_id};
use engine::shm::Counter;
use engine::{
    App, Burst, Class, Input, Io, OptionError, Output, Packet, Pool, PortNames, Ports, Reconfigured, Setup,
};
use serde::Deserialize;
use wire::ether::Ethernet;
use wire::vlan::{Tci, Vlan};

/// Options of `vlan_mux`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VlanMux {
    /// Kind of tag.
    #[serde(alias = "encapsulation")]
    pub tpid: Tpid,
}

/// A running `vlan_mux`.
#[derive(Debug)]
pub struct Running {
    tpid: u16,
    /// The kind of each input.
    inputs: Vec<Port>,
    /// Where the trunk is among the outputs.
    trunk: Option<usize>,
    /// Where each VLAN is among the outputs, the native one under 0.
    vlans: Box<[Option<u16>; 4096]>,
    counters: Counters,
}

#[derive(Debug)]
struct Counters {
    other_vlan: Counter,
    unlinked: Counter,
    too_short: Counter,
    too_long: Counter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Port {
    Trunk,
    Native,
    Vlan(u16),
}

impl Port {
    fn named(name: &str) -> Option<Port> {
        match name {
            "trunk" => Some(Port::Trunk),
            "native" => Some(Port::Native),
            _ => {
                let id = name.strip_prefix("vlan").filter(|id| !id.starts_with(['0', '+']))?.parse().ok()?;
                IDS.contains(&id).then_some(Port::Vlan(id))
            }
        }
    }
}

impl Class for VlanMux {
    const TYPE: &'static str = "vlan_mux";
    const INPUTS: Ports = Ports::Any;
    const OUTPUTS: Ports = Ports::Any;
    type App = Running;

    fn check_ports(&self, linked: &PortNames<'_>) -> Result<(), OptionError> {
        let mut names = linked.inputs.iter().chain(&linked.outputs);
        match names.find(|name| Port::named(name).is_none()) {
            Some(name) => {
                Err(OptionError::new(name, "no such port; use `trunk`, `native`, or `vlan1` to `vlan4094`"))
            }
            None => Ok(()),
        }
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        let counters = Counters {
            other_vlan: setup.rejects("other_vlan"),
            unlinked: setup.drops("unlinked"),
            too_short: setup.drops("too_short"),
            too_long: setup.drops("too_long"),
        };
        let tpid = self.tpid.ethertype();
        Ok(Running { tpid, inputs: Vec::new(), trunk: None, vlans: Box::new([None; 4096]), counters })
    }

    fn reconfigure(
        &self,
        app: &mut Running,
        _: &Self,
        _: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        app.tpid = self.tpid.ethertype();
        Ok(Reconfigured::Kept)
    }
}

impl App for Running {
    fn link(&mut self, ports: &PortNames<'_>) {
        self.inputs = ports.inputs.iter().filter_map(|name| Port::named(name)).collect();
        self.trunk = None;
        self.vlans.fill(None);
        for (output, name) in ports.outputs.iter().enumerate() {
            match Port::named(name) {
                Some(Port::Trunk) => self.trunk = Some(output),
                Some(Port::Native) => self.vlans[0] = Some(output as u16),
                Some(Port::Vlan(id)) => self.vlans[usize::from(id)] = Some(output as u16),
                None => {}
            }
        }
    }

    fn push(&mut self, io: &mut Io<'_>) {
        for (input, port) in io.inputs.iter_mut().zip(&self.inputs) {
            match *port {
                Port::Trunk => self.trunk_to_vlans(input, io.outputs, io.pool),
                Port::Native => self.native_to_trunk(input, io.outputs, io.pool),
                Port::Vlan(id) => self.vlan_to_trunk(id, input, io.outputs, io.pool),
            }
        }
    }
}

impl Running {
    fn trunk_to_vlans(&self, input: &mut Input, outputs: &mut [Output], pool: &mut Pool) {
        while let Some(burst) = input.burst() {
            for mut packet in burst {
                let Ok(id) = vlan_id(packet.data(), self.tpid) else {
                    self.refuse(packet, pool);
                    continue;
                };
                match self.vlans[usize::from(id.unwrap_or(0))] {
                    Some(output) => {
                        if id.is_some() {
                            pop_tag(&mut packet);
                        }
                        outputs[usize::from(output)].put(packet);
                    }
                    None => pool.free(packet, self.why_not(id)),
                }
            }
        }
    }

    /// Why a frame from the trunk goes nowhere.
    fn why_not(&self, id: Option<u16>) -> &Counter {
        if id.unwrap_or(0) == 0 { &self.counters.unlinked } else { &self.counters.other_vlan }
    }

    fn native_to_trunk(&self, input: &mut Input, outputs: &mut [Output], pool: &mut Pool) {
        while let Some(burst) = input.burst_of_at_most(Burst::SIFTED) {
            let Some(trunk) = self.trunk else {
                pool.free_burst(burst, &self.counters.unlinked);
                continue;
            };
            outputs[trunk]
                .sift(burst, |packet| is_native(packet.data(), self.tpid))
                .for_each(|packet| self.refuse(packet, pool));
        }
    }

    fn vlan_to_trunk(&self, id: u16, input: &mut Input, outputs: &mut [Output], pool: &mut Pool) {
        let tci = Tci { id, ..Tci::default() };
        while let Some(burst) = input.burst() {
            let Some(trunk) = self.trunk else {
                pool.free_burst(burst, &self.counters.unlinked);
                continue;
            };
            for mut packet in burst {
                if push_tag(&mut packet, self.tpid, tci) || push_tag_anyhow(&mut packet, self.tpid, tci, pool)
                {
                    outputs[trunk].put(packet);
                } else {
                    self.refuse_tagging(packet, pool);
                }
            }
        }
    }

    /// Counts a frame that is too short for its headers, or from `native` with a tag.
    #[cold]
    fn refuse(&self, packet: Packet, pool: &mut Pool) {
        let is_short = vlan_id(packet.data(), self.tpid).is_err();
        pool.free(packet, if is_short { &self.counters.too_short } else { &self.counters.other_vlan });
    }

    /// Counts a frame that cannot get a tag.
    #[cold]
    fn refuse_tagging(&self, packet: Packet, pool: &mut Pool) {
        let is_short = packet.len() < Ethernet::LEN;
        pool.free(packet, if is_short { &self.counters.too_short } else { &self.counters.too_long });
    }
}

/// Whether a frame is of no VLAN, and stays so when a tag for its priority alone is taken off.
#[inline]
fn is_native(frame: &[u8], tpid: u16) -> bool {
    match vlan_id(frame, tpid) {
        Ok(None) => true,
        Ok(Some(0)) => !has_second_tag(frame),
        _ => false,
    }
}

/// Whether a frame with a tag has another behind it, of any kind.
fn has_second_tag(frame: &[u8]) -> bool {
    let tag = Ethernet::new(frame).and_then(|ether| Vlan::new(ether.payload()));
    tag.is_some_and(|tag| Vlan::follows(tag.ethertype()))
}

#[cfg(test)]
mod tests {
    use super::{Port, VlanMux};
    use crate::Tpid;
    use crate::testing::frame;
    use engine::{Class, MAX_LARGE_PAYLOAD, MAX_PAYLOAD, PortNames};
    use testkit::rig::Rig;

    const PORTS: [&str; 4] = ["trunk", "native", "vlan7", "vlan12"];

    #[test]
    fn the_trunk_is_split_by_vlan() {
        let mut rig = Rig::new(VlanMux::default(), &PORTS, &PORTS);
        for line in [
            "eth / vlan(7, pcp=3) / ip4 / 'seven'",
            "eth / vlan(12) / vlan(7) / arp",
            "eth / vlan(8) / arp",
            "eth / ip4 / 'native'",
            "eth / vlan(0, pcp=5) / ip4 / 'priority'",
            "eth(type=0x88a8) / vlan(7) / arp",
        ] {
            rig.send("trunk", frame(line));
        }
        rig.send("trunk", [1, 2, 3]);
        rig.send("trunk", &frame("eth / vlan(7) / arp")[..17]);
        rig.breathe();
        assert_eq!(rig.take("vlan7"), [frame("eth / ip4 / 'seven'")]);
        assert_eq!(rig.take("vlan12"), [frame("eth / vlan(7) / arp")]);
        let native = [
            frame("eth / ip4 / 'native'"),
            frame("eth / ip4 / 'priority'"),
            frame("eth(type=0x88a8) / vlan(7) / arp"),
        ];
        assert_eq!(rig.take("native"), native);
        let counted = ["other_vlan", "unlinked", "too_short"].map(|name| rig.counter(name));
        assert_eq!(counted, [1, 0, 2]);
    }

    #[test]
    fn vlans_meet_on_the_trunk() {
        let mut rig = Rig::new(VlanMux { tpid: Tpid::Dot1ad }, &PORTS, &PORTS);
        rig.send("vlan7", frame("eth / ip4 / 'seven'"));
        rig.send("native", frame("eth / ip4 / 'native'"));
        rig.send("vlan12", frame("eth / vlan(9) / arp"));
        rig.send("vlan12", [0; 13]);
        rig.send("vlan12", vec![0; MAX_LARGE_PAYLOAD - 3]);
        rig.send("vlan7", vec![0; MAX_PAYLOAD - 3]);
        rig.breathe();
        let expected = [
            "eth / ip4 / 'native'",
            "eth(type=0x88a8) / vlan(12) / vlan(9) / arp",
            "eth(type=0x88a8) / vlan(7) / ip4 / 'seven'",
        ];
        let mut trunk = rig.take("trunk");
        assert_eq!(trunk.pop().map(|packet| packet.len()), Some(MAX_PAYLOAD + 1), "it takes a large packet");
        assert_eq!(trunk, expected.map(frame));
        assert_eq!((rig.counter("too_short"), rig.counter("too_long")), (1, 1));
    }

    #[test]
    fn who_is_native_cannot_choose_a_vlan() {
        let mut rig = Rig::new(VlanMux::default(), &PORTS, &PORTS);
        for i in 0..100 {
            rig.send("native", frame(&format!("eth / vlan({}) / ip4 / 'other'", i % 2 * 7)));
        }
        rig.send("native", frame("eth(type=0x88a8) / vlan(7) / arp"));
        rig.send("native", frame("eth / arp"));
        rig.send("native", [0; 13]);
        rig.send("native", &frame("eth / vlan(7) / arp")[..17]);
        rig.breathe();
        let mut expected = vec![frame("eth / vlan(0) / ip4 / 'other'"); 50];
        expected.extend(["eth(type=0x88a8) / vlan(7) / arp", "eth / arp"].map(frame));
        assert_eq!(rig.take("trunk"), expected);
        assert_eq!((rig.counter("other_vlan"), rig.counter("too_short")), (50, 2));
    }

    #[test]
    fn a_tag_of_no_vlan_hides_no_other() {
        for (tpid, tag) in [(Tpid::Dot1q, "0x8100"), (Tpid::Dot1ad, "0x88a8")] {
            let mut rig = Rig::new(VlanMux { tpid }, &PORTS, &PORTS);
            for tags in ["vlan(0) / vlan(5)", "vlan(0) / vlan(0) / vlan(5)", "vlan(0, type=0x88a8) / vlan(5)"]
            {
                rig.send("native", frame(&format!("eth(type={tag}) / {tags} / arp")));
            }
            let priority = frame(&format!("eth(type={tag}) / vlan(0, pcp=5) / arp"));
            rig.send("native", &priority);
            rig.breathe();
            assert_eq!(rig.take("trunk"), [priority]);
            assert_eq!(rig.counter("other_vlan"), 3);
        }
    }

    #[test]
    fn ports_without_a_link_drop() {
        let mut rig = Rig::new(VlanMux::default(), &["trunk", "native", "vlan7"], &["vlan7"]);
        rig.send("trunk", frame("eth / arp"));
        rig.send("native", frame("eth / arp"));
        rig.send("vlan7", frame("eth / arp"));
        rig.breathe();
        assert_eq!(rig.counter("unlinked"), 3);
    }

    #[test]
    fn ports_have_names_of_vlans() {
        for (name, port) in [
            ("trunk", Some(Port::Trunk)),
            ("native", Some(Port::Native)),
            ("vlan1", Some(Port::Vlan(1))),
            ("vlan4094", Some(Port::Vlan(4094))),
            ("vlan4095", None),
            ("vlan0", None),
            ("vlan07", None),
            ("vlan+7", None),
            ("vlan", None),
            ("vlan70000", None),
            ("Trunk", None),
        ] {
            assert_eq!(Port::named(name), port, "{name}");
        }
        let ports = PortNames { inputs: vec!["trunk"], outputs: vec!["vlan_5"] };
        let error = VlanMux::default().check_ports(&ports).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`vlan_5`: no such port; use `trunk`, `native`, or `vlan1` to `vlan4094`"
        );
    }
}
