//! The `tagged` dialect: primitives look behind the VLAN tags, the PPPoE header and the MPLS labels of an Ethernet frame.
//!
//! ```text
//! addresses  tag tag tag tag  type  PPPoE  PPP protocol  label … label  network header
//!            └─ 0 to 4 ─────┘       └─ 0 or 1 ────────┘  └─ 0 to 8 ──┘
//! ```
//! Where the network header is becomes a value, once for all primitives: each place is the one before it and, where the field there says that a
//! tag or label stands there, 4 bytes more. A place stays where it is from the first that is none on, so that no step reads more of a packet than the step
//! before; without labels the bytes of the type stand in for those of a label.
//!
//! `vlan`, `mpls`, `pppoes` and `pppoed` are tests alone and shift nothing: `vlan 5` asks for any of the tags, `mpls 5` for any of the labels. Inside
//! `geneve` and `vxlan`, all is as in libpcap.

use super::Result;
use super::encap::{LABEL_MAX, SESSION_MAX, VLAN_MAX};
use super::layers::Offset;
use super::lowerer::Lowerer;
use super::numbers::{ethertype, ppp};
use crate::ir::tree::TreeId;
use crate::ir::{BinOp, Size, ValueId};
use crate::syntax::ast::RelOp;

/// As many are looked behind.
const TAGS_MAX: usize = 4;
const LABELS_MAX: usize = 8;

/// Bytes of a tag or label, and from a type field to the second half of the first label, where the bit is that says whether it is the last.
const TAG: u32 = 4;
const TO_BOTTOM: u32 = 4;
/// From a type field to the session of a PPPoE header behind it, and to the protocol of PPP.
const TO_SESSION: u32 = 4;
const TO_PPP: u32 = 8;

const TAG_TYPES: [u32; 3] = [ethertype::VLAN, ethertype::VLAN_AD, ethertype::VLAN_QINQ];

/// Where tags, PPPoE header and labels are. Places are values; numbers that answer a question are 1 or 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tags {
    /// The type field that may say that a tag is there, and whether it does.
    tags: [(Offset, ValueId); TAGS_MAX],
    /// The type field behind the tags.
    type_field: Offset,
    is_pppoe: ValueId,
    /// The protocol of PPP behind PPPoE; else the type field.
    ppp: Offset,
    is_mpls: ValueId,
    /// The byte of each label that says whether it is the last, and whether a label is there.
    labels: [(Offset, ValueId); LABELS_MAX],
}

impl Lowerer<'_> {
    /// Looks behind the tags of the outermost link layer, an Ethernet's, if the dialect does.
    pub(crate) fn look_behind_tags(&mut self) {
        let start = self.layers.type_field;
        let mut at = start;
        let tags = [(); TAGS_MAX].map(|()| {
            let field = self.load_at(at, 0, Size::B2);
            let is_tag = self.is_one_of(field, &TAG_TYPES);
            let here = at;
            at = self.further(at, is_tag, TAG);
            (here, is_tag)
        });
        let type_field = at;
        let field = self.load_at(type_field, 0, Size::B2);
        let is_pppoe = self.is_equal(field, ethertype::PPPOES);
        let ppp = self.further(type_field, is_pppoe, TO_PPP);
        let protocol = self.load_at(ppp, 0, Size::B2);
        let is_ppp_mpls = self.is_one_of(protocol, &[ppp::MPLS, ppp::MPLS_MULTICAST]);
        let in_ppp = self.op(BinOp::And, is_pppoe, is_ppp_mpls);
        let in_ethernet = self.is_one_of(field, &[ethertype::MPLS, ethertype::MPLS_MULTICAST]);
        let is_mpls = self.op(BinOp::Or, in_ppp, in_ethernet);
        let (mut at, mut is_there) = (self.further(ppp, is_mpls, TO_BOTTOM), is_mpls);
        let mut last = at;
        let labels = [(); LABELS_MAX].map(|()| {
            last = at;
            let label = (at, is_there);
            let byte = self.load_at(at, 0, Size::B1);
            let is_last = self.op_k(BinOp::And, byte, 1);
            let goes_on = self.op_k(BinOp::Xor, is_last, 1);
            is_there = self.op(BinOp::And, is_there, goes_on);
            at = self.further(at, is_there, TAG);
            label
        });
        // Behind the last label, or the type or protocol.
        self.layers.payload = last.plus(2);
        self.layers.type_field = type_field;
        self.layers.is_tagged = true;
        self.tags = Some(Tags { tags, type_field, is_pppoe, ppp, is_mpls, labels });
    }

    /// Where tags are looked behind: where they are.
    pub(super) fn tags(&self) -> Option<Tags> {
        self.tags.filter(|_| self.layers.is_tagged)
    }

    /// The frame carries this Ethernet type, or what is the same in PPP or behind MPLS labels; of tags, in any of its type fields.
    pub(super) fn tagged_linktype(&mut self, proto: u32, tags: &Tags) -> Result {
        let mut tests = Vec::new();
        if TAG_TYPES.contains(&proto) {
            for (place, _) in tags.tags {
                let field = self.load_at(place, 0, Size::B2);
                tests.push(self.relation_k(RelOp::Eq, field, proto));
            }
            return Ok(self.any(&tests));
        }
        tests.push(self.ethernet_linktype(proto));
        if let Some(number) = super::link::ppp_equivalent(proto) {
            let is_pppoe = self.holds(tags.is_pppoe);
            let protocol = self.load_at(tags.ppp, 0, Size::B2);
            let same = self.relation_k(RelOp::Eq, protocol, number);
            tests.push(self.and(is_pppoe, same));
        }
        if matches!(proto, ethertype::IP | ethertype::IPV6) {
            let is_mpls = self.holds(tags.is_mpls);
            let same = self.mpls_linktype(proto)?;
            tests.push(self.and(is_mpls, same));
        }
        Ok(self.any(&tests))
    }

    /// 1 where the frame carries IPv4, else 0.
    pub(super) fn tagged_is_ip4(&mut self, tags: &Tags) -> ValueId {
        let field = self.load_at(tags.type_field, 0, Size::B2);
        let in_ethernet = self.is_equal(field, ethertype::IP);
        let protocol = self.load_at(tags.ppp, 0, Size::B2);
        let is_ip = self.is_equal(protocol, ppp::IP);
        let in_ppp = self.op(BinOp::And, tags.is_pppoe, is_ip);
        // Where there are no labels, their bytes are those of the type.
        let (last, _) = tags.labels[LABELS_MAX - 1];
        let byte = self.load_at(last, 0, Size::B1);
        let is_bottom = self.op_k(BinOp::And, byte, 1);
        let version_at = self.further(last, tags.is_mpls, 2);
        let byte = self.load_at(version_at, 0, Size::B1);
        let version = self.op_k(BinOp::Shr, byte, 4);
        let is_four = self.is_equal(version, 4);
        let is_labelled = self.op(BinOp::And, tags.is_mpls, is_bottom);
        let in_mpls = self.op(BinOp::And, is_labelled, is_four);
        let either = self.op(BinOp::Or, in_ethernet, in_ppp);
        self.op(BinOp::Or, either, in_mpls)
    }

    /// `vlan`: a tag; with numbers, any of the tags has one of these.
    pub(super) fn tagged_vlan(&mut self, ids: &[(u32, u32)], tags: &Tags) -> Result {
        for &(_, high) in ids {
            self.check_number("VLAN id", Some(high), VLAN_MAX)?;
        }
        if ids.is_empty() {
            return Ok(self.holds(tags.tags[0].1));
        }
        let mut tests = Vec::new();
        for (place, is_tag) in tags.tags {
            let is_tag = self.holds(is_tag);
            let field = self.load_at(place, 2, Size::B2);
            let id = self.op_k(BinOp::And, field, VLAN_MAX);
            let among: Vec<TreeId> = ids.iter().map(|&(low, high)| self.within(id, low, high)).collect();
            let among = self.any(&among);
            tests.push(self.and(is_tag, among));
        }
        Ok(self.any(&tests))
    }

    /// `mpls`: a label; with a number, any of the labels.
    pub(super) fn tagged_mpls(&mut self, label: Option<u32>, tags: &Tags) -> Result {
        self.check_number("MPLS label", label, LABEL_MAX)?;
        let Some(label) = label else { return Ok(self.holds(tags.is_mpls)) };
        let mut tests = Vec::new();
        for (place, is_there) in tags.labels {
            let is_there = self.holds(is_there);
            let word = self.load_at(place.plus(2u32.wrapping_neg()), 0, Size::B4);
            let masked = self.op_k(BinOp::And, word, 0xffff_f000);
            let same = self.relation_k(RelOp::Eq, masked, label << 12);
            tests.push(self.and(is_there, same));
        }
        Ok(self.any(&tests))
    }

    /// `pppoes`.
    pub(super) fn tagged_pppoes(&mut self, session: Option<u32>, tags: &Tags) -> Result {
        self.check_number("PPPoE session", session, SESSION_MAX)?;
        let is_pppoe = self.holds(tags.is_pppoe);
        let Some(session) = session else { return Ok(is_pppoe) };
        let field = self.load_at(tags.type_field, TO_SESSION, Size::B2);
        let same = self.relation_k(RelOp::Eq, field, session);
        Ok(self.and(is_pppoe, same))
    }

    /// The value is 1.
    fn holds(&mut self, value: ValueId) -> TreeId {
        self.relation_k(RelOp::Eq, value, 1)
    }

    /// 1 where the value is one of these numbers, else 0.
    fn is_one_of(&mut self, value: ValueId, numbers: &[u32]) -> ValueId {
        let mut any = self.constant(0);
        for &number in numbers {
            let same = self.is_equal(value, number);
            any = self.op(BinOp::Or, any, same);
        }
        any
    }

    /// So many bytes further on where `choice` is 1.
    fn further(&mut self, place: Offset, choice: ValueId, bytes: u32) -> Offset {
        let more = self.op_k(BinOp::Mul, choice, bytes);
        let variable = match place.variable {
            Some(variable) => self.op(BinOp::Add, variable, more),
            None => more,
        };
        Offset::varying(place.constant, variable)
    }
}
