//! 802.11 and the headers before it, whose length is known only at run time.
//!
//! ```text
//! [ radio header ]  802.11 header: 24 bytes, 26 in QoS data frames  [ padding ]  LLC …
//! 0                 linkhdr                                                      payload
//! ```
//! Both places are values that a filter which needs them computes before anything else. libpcap computes them with
//! jumps; here they are *expressions* without branches, so that they are values like any other:
//! a condition is a number, 0 or 1, and a load that is made only under a condition is one whose address is
//! multiplied by it. At address 0 such a load reads bytes that were read before, so it cannot fail where
//! libpcap's is not made.
//!
//! Formats: IEEE 802.11-2020, 9.2 and 9.3; <https://www.radiotap.org>; the Prism and AVS headers of the
//! linux-wlan-ng drivers; PPI of CACE Technologies.

use super::Radio;
use crate::ir::{BinOp, Size, ValueId};
use crate::lower::layers::{Offset, Rel};
use crate::lower::lowerer::{Lowerer, Padding};
use wire::LinkType;

/// Frame control, first byte: two bits of type, with `DATA` for data frames …
const TYPE: u32 = 0x0c;
const DATA: u32 = 0x08;
/// … and a subtype, of which this bit tells QoS data.
const QOS: u32 = 0x80;

/// The cookie of an AVS header, whose last three digits are a version.
const AVS_COOKIE: u32 = 0x8021_1000;
/// The length of a Prism header: in theory variable, in practice this.
const PRISM_BYTES: u32 = 144;

/// Bits of radiotap's first presence word as a big-endian load sees them: the flags field is there, more
/// presence words follow, a time stamp is before the flags.
const HAS_FLAGS: u32 = 0x0000_0002_u32.swap_bytes();
const HAS_MORE: u32 = 0x8000_0000_u32.swap_bytes();
const HAS_TIME_BIT: u32 = 0x0000_0001_u32.swap_bytes().trailing_zeros();
/// The bit number of "padded between header and payload" in radiotap's flags.
const PADDED_BIT: u32 = 5;

impl Lowerer<'_> {
    /// Puts the layers of an 802.11 packet where they are.
    pub(super) fn wlan_layers(&mut self, radio: Radio) {
        if let Some(length) = self.radio_length(radio) {
            self.layers.linkhdr = Offset::varying(0, length);
            self.layers.prev_linkhdr = self.layers.linkhdr;
            self.early.push((length, false));
        }
        let payload = self.wlan_payload(radio);
        self.early.iter_mut().for_each(|(_, is_used)| *is_used = false);
        self.layers.payload = Offset::varying(0, payload);
        self.early.push((payload, false));
    }

    /// libpcap looks for padding behind radiotap only where the filter ends on that link type: not if it looks into a tunnel or a session
    /// (`pppoes`, `geneve`) anywhere.
    pub(crate) fn forgets_padding(&self) -> bool {
        let ends_elsewhere = self.layers.linktype != self.outermost;
        self.outermost == LinkType::IEEE802_11_RADIO && ends_elsewhere && !self.options.dialect.scoped
    }

    /// Length of the header before the 802.11 header.
    fn radio_length(&mut self, radio: Radio) -> Option<ValueId> {
        match radio {
            Radio::None => None,
            Radio::Prism => Some(self.prism_or_avs_length()),
            Radio::Avs => Some(self.load(Rel::Packet, 4, Size::B4)),
            Radio::Radiotap | Radio::Ppi => {
                let high = self.load(Rel::Packet, 3, Size::B1);
                let high = self.op_k(BinOp::Shl, high, 8);
                let low = self.load(Rel::Packet, 2, Size::B1);
                Some(self.op(BinOp::Or, high, low))
            }
        }
    }

    /// `cookie is AVS's ? u32 at 4 : 144`
    fn prism_or_avs_length(&mut self) -> ValueId {
        let cookie = self.load(Rel::Packet, 0, Size::B4);
        let cookie = self.op_k(BinOp::And, cookie, !0xfff);
        let is_avs = self.is_equal(cookie, AVS_COOKIE);
        let address = self.op_k(BinOp::Mul, is_avs, 4);
        let length = self.load_at(Offset::varying(0, address), 0, Size::B4);
        let beyond_prism = self.op_k(BinOp::Sub, length, PRISM_BYTES);
        let beyond_prism = self.op(BinOp::Mul, is_avs, beyond_prism);
        self.op_k(BinOp::Add, beyond_prism, PRISM_BYTES)
    }

    /// `linkhdr + 24 + (QoS data ? 2 : 0)`, padded where radiotap says so.
    fn wlan_payload(&mut self, radio: Radio) -> ValueId {
        let control = self.load(Rel::LinkHdr, 0, Size::B1);
        let qos = self.op_k(BinOp::And, control, TYPE | QOS);
        let is_qos = self.is_equal(qos, DATA | QOS);
        let start = match self.layers.linkhdr.variable {
            Some(length) => length,
            None => self.constant(0),
        };
        let end = self.op_k(BinOp::Add, start, 24);
        let qos_bytes = self.op_k(BinOp::Mul, is_qos, 2);
        let end = self.op(BinOp::Add, end, qos_bytes);
        if radio != Radio::Radiotap || self.padding == Padding::Forgotten {
            return end;
        }
        let is_padded = self.is_padded(control);
        let mask = self.op_k(BinOp::Mul, is_padded, 3);
        let zero = self.constant(0);
        let to_multiple = self.op(BinOp::Sub, zero, end);
        let padding = self.op(BinOp::And, to_multiple, mask);
        self.op(BinOp::Add, end, padding)
    }

    /// Atheros hardware pads the header of data frames to a multiple of four bytes, and radiotap's flags tell.
    ///
    /// ```text
    /// data frame and presence word (at 4) has flags and is the last
    ///     and flags (at 16 where a time stamp is before them, else at 8) has "padded"
    /// ```
    fn is_padded(&mut self, control: ValueId) -> ValueId {
        let frame_type = self.op_k(BinOp::And, control, TYPE);
        let is_data = self.is_equal(frame_type, DATA);
        let presence_at = self.op_k(BinOp::Mul, is_data, 4);
        let presence = self.load_at(Offset::varying(0, presence_at), 0, Size::B4);
        let flags_bits = self.op_k(BinOp::And, presence, HAS_FLAGS | HAS_MORE);
        let has_flags = self.is_equal(flags_bits, HAS_FLAGS);
        let has_flags = self.op(BinOp::And, has_flags, is_data);
        let has_time = self.op_k(BinOp::Shr, presence, HAS_TIME_BIT);
        let has_time = self.op_k(BinOp::And, has_time, 1);
        let flags_at = self.op_k(BinOp::Mul, has_flags, 8);
        let flags_at = self.op(BinOp::Shl, flags_at, has_time);
        let flags = self.load_at(Offset::varying(0, flags_at), 0, Size::B1);
        let padded = self.op_k(BinOp::Shr, flags, PADDED_BIT);
        self.op(BinOp::And, padded, has_flags)
    }
}
