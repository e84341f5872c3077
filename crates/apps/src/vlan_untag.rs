//! `vlan_untag`: takes the tag of one VLAN off its frames, and drops all others.
//!
//! | inputs | `input` |
//! |---|---|
//! | outputs | `output` |
//! | `tag` | number of the VLAN, 1 to 4094 |
//! | `tpid` | 0x8100 (`"dot1q"`) unless set, or 0x88a8 (`"dot1ad"`); Snabb's name `encapsulation` will do as well |
//! | drops `other_vlan` | counts frames of other VLANs, with other tags, or without one |
//! | drops `too_short` | counts packets without an Ethernet header, and frames that end within their tag |
//!
//! Only the outer tag counts. Its priority does not (Snabb drops a frame with any), since a switch on the way may have set it.

use crate::Tpid;
use crate::vlan_tag::IDS;
use engine::shm::Counter;
use engine::{App, Burst, Class, Io, OptionError, Packet, Pool, Reconfigured, Setup};
use serde::Deserialize;
use wire::ether::Ethernet;
use wire::vlan::{self, Vlan};

/// Options of `vlan_untag`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VlanUntag {
    /// Number of the VLAN.
    pub tag: u16,
    /// Kind of tag.
    #[serde(default, alias = "encapsulation")]
    pub tpid: Tpid,
}

/// A running `vlan_untag`.
#[derive(Debug)]
pub struct Running {
    tpid: u16,
    id: u16,
    other_vlan: Counter,
    too_short: Counter,
}

impl Class for VlanUntag {
    const TYPE: &'static str = "vlan_untag";
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        OptionError::check_range("tag", self.tag, IDS)
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        let (other_vlan, too_short) = (setup.rejects("other_vlan"), setup.drops("too_short"));
        Ok(Running { tpid: self.tpid.ethertype(), id: self.tag, other_vlan, too_short })
    }

    fn reconfigure(
        &self,
        app: &mut Running,
        _: &Self,
        _: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        (app.tpid, app.id) = (self.tpid.ethertype(), self.tag);
        Ok(Reconfigured::Kept)
    }
}

impl App for Running {
    fn push(&mut self, io: &mut Io<'_>) {
        let (input, output) = (&mut io.inputs[0], &mut io.outputs[0]);
        while let Some(burst) = input.burst_of_at_most(Burst::SIFTED) {
            let mut has_short = false;
            let others = output.sift(
                burst,
                #[inline(always)]
                |packet| {
                    let id = vlan_id(packet.data(), self.tpid);
                    if id == Ok(Some(self.id)) {
                        pop_tag(packet);
                        return true;
                    }
                    has_short |= id.is_err();
                    false
                },
            );
            if has_short {
                self.refuse(others, io.pool);
            } else {
                io.pool.free_burst(others, &self.other_vlan);
            }
        }
    }
}

impl Running {
    #[cold]
    fn refuse(&self, packets: Burst<'_>, pool: &mut Pool) {
        for packet in packets {
            let is_short = vlan_id(packet.data(), self.tpid) == Err(TooShort);
            pool.free(packet, if is_short { &self.too_short } else { &self.other_vlan });
        }
    }
}

/// A packet ends within its Ethernet header, or its tag.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooShort;

/// The VLAN of a frame; `None` if it has no tag of this kind.
#[inline]
pub(crate) fn vlan_id(frame: &[u8], tpid: u16) -> Result<Option<u16>, TooShort> {
    let ether = Ethernet::new(frame).ok_or(TooShort)?;
    if ether.ethertype() != tpid {
        return Ok(None);
    }
    Ok(Some(Vlan::new(ether.payload()).ok_or(TooShort)?.id()))
}

/// Takes the outer tag off a frame, if there is one.
#[inline]
pub(crate) fn pop_tag(packet: &mut Packet) {
    if vlan::pop(packet.data_mut()).is_some() {
        packet.trim_front(Vlan::LEN);
    }
}

#[cfg(test)]
mod tests {
    use super::VlanUntag;
    use crate::Tpid;
    use crate::testing::frame;
    use engine::Class;
    use testkit::rig::Rig;

    #[test]
    fn only_one_vlan_passes() {
        let mut rig = Rig::new(VlanUntag { tag: 100, tpid: Tpid::Dot1q }, &["input"], &["output"]);
        let lines = [
            "eth / vlan(100) / ip4 / udp / 'ours'",
            "eth / vlan(101) / ip4 / udp / 'other'",
            "eth / ip4 / udp / 'none'",
            "eth / vlan(100, pcp=5, dei=1) / arp",
            "eth(type=0x88a8) / vlan(100) / ip4 / 'service'",
            "eth / vlan(100) / vlan(7) / arp",
            "eth / vlan(7) / vlan(100) / arp",
        ];
        let packets: Vec<Vec<u8>> = lines.iter().map(|line| frame(line)).collect();
        let out = rig.pass(&packets.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let expected = ["eth / ip4 / udp / 'ours'", "eth / arp", "eth / vlan(7) / arp"];
        assert_eq!(out, expected.map(frame));
        assert_eq!(rig.counter("other_vlan"), 4);
    }

    #[test]
    fn short_packets_are_none_of_ours() {
        let mut rig = Rig::new(VlanUntag { tag: 100, tpid: Tpid::Dot1ad }, &["input"], &["output"]);
        let tagged = frame("eth(type=0x88a8) / vlan(100) / arp");
        let cut: Vec<&[u8]> = (0..=18).map(|len| &tagged[..len]).collect();
        let out = rig.pass(&cut);
        assert_eq!(out, [[&tagged[..12], &tagged[16..18]].concat()]);
        assert_eq!((rig.counter("too_short"), rig.counter("other_vlan")), (18, 0));
    }

    #[test]
    fn many_frames_keep_their_order() {
        let mut rig = Rig::new(VlanUntag { tag: 9, tpid: Tpid::Dot1q }, &["input"], &["output"]);
        for i in 0..300_u32 {
            let vlan = if i % 3 == 1 { 8 } else { 9 };
            rig.send("input", frame(&format!("eth / vlan({vlan}) / ip4(id={i})")));
        }
        rig.breathe();
        let expected: Vec<_> =
            (0..300).filter(|i| i % 3 != 1).map(|i| frame(&format!("eth / ip4(id={i})"))).collect();
        assert!(rig.take("output") == expected);
        assert_eq!(rig.counter("other_vlan"), 100);
    }

    #[test]
    fn options_are_checked_and_can_change() {
        let error = VlanUntag { tag: 4095, tpid: Tpid::Dot1q }.check().unwrap_err();
        assert_eq!(error.to_string(), "`tag`: 4095 is not between 1 and 4094");

        let mut rig = Rig::new(VlanUntag { tag: 5, tpid: Tpid::Dot1q }, &["input"], &["output"]);
        rig.reconfigure(VlanUntag { tag: 6, tpid: Tpid::Dot1q });
        assert_eq!(rig.pass(&[&frame("eth / vlan(6) / arp")]), [frame("eth / arp")]);
    }
}
