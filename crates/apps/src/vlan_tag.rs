//! `vlan_tag`: puts a VLAN tag on every frame.
//!
//! | inputs | `input` |
//! |---|---|
//! | outputs | `output` |
//! | `tag` | number of the VLAN, 1 to 4094 |
//! | `pcp` | priority, 0 to 7; 0 unless set |
//! | `tpid` | 0x8100 (`"dot1q"`) unless set, or 0x88a8 (`"dot1ad"`); Snabb's name `encapsulation` will do as well |
//! | drops `too_short` | counts packets without an Ethernet header |
//! | drops `too_long` | counts packets of which the tag would make more than 65535 bytes, or more than 10240 while the pool has no large packet |
//!
//! A frame that has a tag gets another before it.

use crate::Tpid;
use engine::shm::Counter;
use engine::{App, Burst, Class, Io, OptionError, Output, Packet, Pool, Reconfigured, Setup};
use serde::Deserialize;
use wire::ether::Ethernet;
use wire::vlan::{self, Tci, Vlan};

/// Options of `vlan_tag`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VlanTag {
    /// Number of the VLAN.
    pub tag: u16,
    /// Priority.
    #[serde(default)]
    pub pcp: u8,
    /// Kind of tag.
    #[serde(default, alias = "encapsulation")]
    pub tpid: Tpid,
}

/// A running `vlan_tag`.
#[derive(Debug)]
pub struct Running {
    tpid: u16,
    tci: Tci,
    too_short: Counter,
    too_long: Counter,
}

/// The numbers that a VLAN can have (IEEE 802.1Q, table 9-2).
pub(crate) const IDS: std::ops::RangeInclusive<u16> = 1..=4094;

impl VlanTag {
    fn tci(&self) -> Tci {
        Tci { priority: self.pcp, is_drop_eligible: false, id: self.tag }
    }
}

impl Class for VlanTag {
    const TYPE: &'static str = "vlan_tag";
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        OptionError::all([
            OptionError::check_range("tag", self.tag, IDS),
            OptionError::check_range("pcp", self.pcp, 0..=7),
        ])
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        Ok(Running {
            tpid: self.tpid.ethertype(),
            tci: self.tci(),
            too_short: setup.drops("too_short"),
            too_long: setup.drops("too_long"),
        })
    }

    fn reconfigure(
        &self,
        app: &mut Running,
        _: &Self,
        _: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        (app.tpid, app.tci) = (self.tpid.ethertype(), self.tci());
        Ok(Reconfigured::Kept)
    }
}

impl App for Running {
    fn push(&mut self, io: &mut Io<'_>) {
        let (input, output) = (&mut io.inputs[0], &mut io.outputs[0]);
        while let Some(burst) = input.burst_of_at_most(Burst::SIFTED) {
            let (tpid, tci) = (self.tpid, self.tci);
            io.pool.expect_headers(&burst);
            let others = output.sift(
                burst,
                #[inline(always)]
                move |packet| push_tag(packet, tpid, tci),
            );
            others.for_each(|packet| self.tag_again(packet, output, io.pool));
        }
    }
}

impl Running {
    /// Takes a frame that could not get a tag where it was: it follows those that could.
    #[cold]
    fn tag_again(&self, mut packet: Packet, output: &mut Output, pool: &mut Pool) {
        if push_tag_anyhow(&mut packet, self.tpid, self.tci, pool) {
            return output.put(packet);
        }
        let is_short = packet.len() < Ethernet::LEN;
        pool.free(packet, if is_short { &self.too_short } else { &self.too_long });
    }
}

/// Tags a frame; `false`, and no change, if it is none or becomes too long.
#[inline(always)]
pub(crate) fn push_tag(packet: &mut Packet, tpid: u16, tci: Tci) -> bool {
    packet.len() >= Ethernet::LEN
        && packet.open_front(Vlan::LEN).is_ok()
        && vlan::push(packet.data_mut(), tpid, tci).is_some()
}

/// Tags a frame that [`push_tag`] has refused, if all it lacks is room.
#[cold]
pub(crate) fn push_tag_anyhow(packet: &mut Packet, tpid: u16, tci: Tci, pool: &mut Pool) -> bool {
    pool.make_room(packet, packet.len() + Vlan::LEN) && push_tag(packet, tpid, tci)
}

#[cfg(test)]
mod tests {
    use super::VlanTag;
    use crate::Tpid;
    use crate::testing::frame;
    use engine::{Class, MAX_LARGE_PAYLOAD, MAX_PAYLOAD};
    use testkit::rig::Rig;

    fn tag(tag: u16, pcp: u8, tpid: Tpid) -> VlanTag {
        VlanTag { tag, pcp, tpid }
    }

    #[test]
    fn a_tag_stands_behind_the_addresses() {
        for (options, expected) in [
            (tag(1, 0, Tpid::Dot1q), "eth / vlan(1) / ip4 / udp / 'payload'"),
            (tag(4094, 7, Tpid::Dot1q), "eth / vlan(4094, pcp=7) / ip4 / udp / 'payload'"),
            (tag(100, 3, Tpid::Dot1ad), "eth(type=0x88a8) / vlan(100, pcp=3) / ip4 / udp / 'payload'"),
        ] {
            let mut rig = Rig::new(options, &["input"], &["output"]);
            let plain = frame("eth / ip4 / udp / 'payload'");
            assert_eq!(rig.pass(&[&plain, &plain]), [frame(expected), frame(expected)], "{expected}");
        }
    }

    #[test]
    fn tags_add_up() {
        let mut rig = Rig::new(tag(5, 0, Tpid::Dot1ad), &["input"], &["output"]);
        let tagged = frame("eth / vlan(7) / arp");
        assert_eq!(rig.pass(&[&tagged]), [frame("eth(type=0x88a8) / vlan(5) / vlan(7) / arp")]);
    }

    #[test]
    fn what_cannot_be_tagged_is_dropped() {
        let mut rig = Rig::new(tag(5, 0, Tpid::Dot1q), &["input"], &["output"]);
        let (least, most) = (vec![1; 14], vec![1; MAX_LARGE_PAYLOAD - 4]);
        let too_long = vec![1; MAX_LARGE_PAYLOAD - 3];
        let out = rig.pass(&[&[], &[1; 13], &least, &too_long, &most, &vec![1; MAX_LARGE_PAYLOAD]]);
        assert_eq!(out.iter().map(Vec::len).collect::<Vec<_>>(), [18, MAX_LARGE_PAYLOAD]);
        assert_eq!((rig.counter("too_short"), rig.counter("too_long")), (2, 2));
    }

    #[test]
    fn what_becomes_long_takes_a_large_packet_if_there_is_one() {
        for (large, len) in [(1, 2), (0, 1)] {
            let mut rig = Rig::with_large(tag(5, 0, Tpid::Dot1q), &["input"], &["output"], 64, large);
            let [fits, grows, again]: [Vec<u8>; 3] =
                [4, 3, 0].map(|less| frame(&format!("eth / arp / pad({})", MAX_PAYLOAD - 42 - less)));
            let out = rig.pass(&[&grows, &fits, &again]);
            assert_eq!((out.len(), rig.counter("too_long")), (len, 3 - len as u64));
            assert_eq!(out[0].len(), MAX_PAYLOAD, "others do not wait");
            assert!(out.iter().all(|packet| packet[12..16] == [0x81, 0, 0, 5]
                && packet[18..] == grows[14..][..packet.len() - 18]));
        }
    }

    #[test]
    fn options_are_checked_and_can_change() {
        assert!(tag(0, 0, Tpid::Dot1q).check().is_err() && tag(4095, 0, Tpid::Dot1q).check().is_err());
        let error = tag(1, 8, Tpid::Dot1q).check().unwrap_err();
        assert_eq!(error.to_string(), "`pcp`: 8 is not between 0 and 7");

        let mut rig = Rig::new(tag(5, 0, Tpid::Dot1q), &["input"], &["output"]);
        rig.reconfigure(tag(6, 0, Tpid::Dot1q));
        assert_eq!(rig.pass(&[&frame("eth / arp")]), [frame("eth / vlan(6) / arp")]);
    }
}
