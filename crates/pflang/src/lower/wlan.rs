//! 802.11: addresses, `broadcast` and `multicast` by what the frame control field says, and its own words.
//!
//! Where an address is depends on the type of the frame and on the "to DS" and "from DS" bits
//! (IEEE 802.11-2020, table 9-30):
//!
//! ```text
//!              management   data, to DS 0 from DS 0   to DS 1   from DS 1   both
//! destination      4                4                   16         4         16
//! source          10               10                   10        16         24
//! ```
//! Control frames have neither.

use super::Result;
use super::layers::Rel;
use super::link::is_wlan;
use super::lowerer::Lowerer;
use crate::ir::Size;
use crate::ir::tree::TreeId;
use crate::syntax::ast::{Dir, RelOp, Wlan};
use wire::LinkType;

/// First byte of the frame control field.
const TYPE: u32 = 0x0c;
const SUBTYPE: u32 = 0xf0;
const CONTROL: u32 = 0x04;
const CTS: u32 = 0xc0;
const ACK: u32 = 0xd0;
/// The bits of the type field, one by one: data (or reserved), and control (or reserved).
const DATA_BIT: u32 = 0x08;
const CONTROL_BIT: u32 = 0x04;
/// Second byte.
const TO_DS: u32 = 0x01;
const FROM_DS: u32 = 0x02;

impl Lowerer<'_> {
    /// The frame carries data: then, and only then, an LLC header follows.
    pub(super) fn wlan_data_frame(&mut self) -> TreeId {
        let not_control = self.wlan_not_control();
        let data = self.bits(Rel::LinkHdr, 0, Size::B1, DATA_BIT);
        self.and(not_control, data)
    }

    /// An 802.11 address. Called on 802.11 link types only.
    pub(crate) fn wlan_host(&mut self, address: [u8; 6], dir: Option<Dir>) -> TreeId {
        match dir {
            Some(Dir::Src) => self.wlan_source(address),
            Some(Dir::Dst) => self.wlan_destination(|l, offset| l.wlan_address(offset, address)),
            Some(Dir::SrcAndDst) => {
                let source = self.wlan_source(address);
                let destination = self.wlan_destination(|l, offset| l.wlan_address(offset, address));
                self.and(source, destination)
            }
            Some(Dir::SrcOrDst) | None => {
                let source = self.wlan_source(address);
                let destination = self.wlan_destination(|l, offset| l.wlan_address(offset, address));
                self.or(source, destination)
            }
            Some(Dir::Addr1) => self.wlan_address(4, address),
            Some(Dir::Addr2) => {
                let present = self.wlan_has_addr2();
                let addr2 = self.wlan_address(10, address);
                self.and(present, addr2)
            }
            Some(Dir::Addr3) => {
                let control = self.wlan_type_is(TYPE, CONTROL);
                let present = self.not(control);
                let addr3 = self.wlan_address(16, address);
                self.and(present, addr3)
            }
            Some(Dir::Addr4) => {
                let both = TO_DS | FROM_DS;
                let present = self.compare_masked(Rel::LinkHdr, 1, Size::B1, both, RelOp::Eq, both);
                let addr4 = self.wlan_address(24, address);
                self.and(present, addr4)
            }
            Some(Dir::Ra) => {
                let not_management = self.bits(Rel::LinkHdr, 0, Size::B1, DATA_BIT);
                let addr1 = self.wlan_address(4, address);
                self.and(not_management, addr1)
            }
            Some(Dir::Ta) => {
                let not_management = self.bits(Rel::LinkHdr, 0, Size::B1, DATA_BIT);
                let present = self.wlan_has_addr2();
                let present = self.and(not_management, present);
                let addr2 = self.wlan_address(10, address);
                self.and(present, addr2)
            }
        }
    }

    /// A multicast destination in an 802.11 frame.
    pub(crate) fn wlan_multicast(&mut self) -> TreeId {
        self.wlan_destination(Self::group_bit)
    }

    /// `type`, `subtype`, `dir` of 802.11.
    pub(crate) fn wlan(&mut self, wlan: Wlan) -> Result {
        let linktype = self.layers.linktype;
        // NOTE: libpcap has addresses in 802.11 behind PPI, but not these words.
        if !is_wlan(linktype) || linktype == LinkType::PPI {
            let word = match wlan {
                Wlan::Type(_) => "`type`",
                Wlan::Subtype(_) => "`subtype`",
                Wlan::Dir(_) => "`dir`",
            };
            return Err(
                self.elsewhere(word, "IEEE802_11, IEEE802_11_RADIO, IEEE802_11_RADIO_AVS or PRISM_HEADER")
            );
        }
        Ok(match wlan {
            Wlan::Type(bits) => self.wlan_type_is(TYPE, bits.into()),
            Wlan::Subtype(bits) => self.wlan_type_is(TYPE | SUBTYPE, bits.into()),
            Wlan::Dir(dir) => self.compare_masked(Rel::LinkHdr, 1, Size::B1, TO_DS | FROM_DS, RelOp::Eq, dir),
        })
    }

    fn wlan_source(&mut self, address: [u8; 6]) -> TreeId {
        let not_control = self.wlan_not_control();
        let at_24 = self.wlan_address(24, address);
        let at_16 = self.wlan_address(16, address);
        let from_ds = self.wlan_by_bit(1, TO_DS, at_24, at_16);
        let at_10 = self.wlan_address(10, address);
        let data = self.wlan_by_bit(1, FROM_DS, from_ds, at_10);
        let at_10 = self.wlan_address(10, address);
        let found = self.wlan_by_bit(0, DATA_BIT, data, at_10);
        self.and(not_control, found)
    }

    /// The test that `at` makes of the destination address, wherever that is.
    fn wlan_destination(&mut self, mut at: impl FnMut(&mut Self, u32) -> TreeId) -> TreeId {
        let not_control = self.wlan_not_control();
        let at_16 = at(self, 16);
        let at_4 = at(self, 4);
        let data = self.wlan_by_bit(1, TO_DS, at_16, at_4);
        let at_4 = at(self, 4);
        let found = self.wlan_by_bit(0, DATA_BIT, data, at_4);
        self.and(not_control, found)
    }

    /// `set` where that bit of the frame control field is set, else `clear`.
    fn wlan_by_bit(&mut self, byte: u32, bit: u32, set: TreeId, clear: TreeId) -> TreeId {
        let is_set = self.bits(Rel::LinkHdr, byte, Size::B1, bit);
        let is_clear = self.not(is_set);
        let clear = self.and(is_clear, clear);
        let set = self.and(is_set, set);
        self.or(clear, set)
    }

    fn wlan_address(&mut self, offset: u32, address: [u8; 6]) -> TreeId {
        self.bytes(Rel::LinkHdr, offset, &address)
    }

    fn wlan_not_control(&mut self) -> TreeId {
        let control = self.bits(Rel::LinkHdr, 0, Size::B1, CONTROL_BIT);
        self.not(control)
    }

    fn wlan_type_is(&mut self, mask: u32, value: u32) -> TreeId {
        self.compare_masked(Rel::LinkHdr, 0, Size::B1, mask, RelOp::Eq, value)
    }

    /// Every frame but CTS and ACK has a second address.
    fn wlan_has_addr2(&mut self) -> TreeId {
        let control = self.wlan_type_is(TYPE, CONTROL);
        let not_control = self.not(control);
        let cts = self.wlan_type_is(SUBTYPE, CTS);
        let not_cts = self.not(cts);
        let ack = self.wlan_type_is(SUBTYPE, ACK);
        let not_ack = self.not(ack);
        let neither = self.and(not_cts, not_ack);
        self.or(not_control, neither)
    }
}
