//! ATM words: the virtual channel in SunATM's pseudo-header, and the signalling messages behind it.
//!
//! ```text
//! 0                           1    2        4
//! direction, kind of traffic  VPI  VCI (2)  payload
//! ```
//! Channels with a purpose of their own are those of ITU-T I.361; the messages are Q.2931's.

use super::Result;
use super::layers::{Offset, Rel};
use super::lowerer::Lowerer;
use crate::ir::Size;
use crate::ir::tree::TreeId;
use crate::syntax::ast::{AtmField, AtmType, RelOp};
use crate::syntax::words::{Word, spelling};
use wire::LinkType;

const VPI: u32 = 1;
const VCI: u32 = 2;
const PAYLOAD: u32 = 4;
/// The message type in a signalling message.
const MESSAGE_TYPE: u32 = PAYLOAD + 5;

/// Kinds of traffic: the low nibble of the first byte.
const LANE: u32 = 1;
const LLC: u32 = 2;

/// Channels of path 0.
const METASIGNALLING: u32 = 1;
const BROADCAST_SIGNALLING: u32 = 2;
const OAM_F4_SEGMENT: u32 = 3;
const OAM_F4_END_TO_END: u32 = 4;
const SIGNALLING: u32 = 5;
const ILMI: u32 = 16;

/// Message types of Q.2931.
const SETUP: u32 = 0x05;
const CALL_PROCEEDING: u32 = 0x02;
const CONNECT: u32 = 0x07;
const CONNECT_ACK: u32 = 0x0f;
const RELEASE: u32 = 0x4d;
const RELEASE_COMPLETE: u32 = 0x5a;

impl Lowerer<'_> {
    /// ATM words.
    pub(crate) fn atm_type(&mut self, word: AtmType) -> Result {
        self.needs_atm(Word::Atm(word))?;
        Ok(match word {
            AtmType::Lane => self.lane(),
            AtmType::Metac => self.atm_channel(METASIGNALLING),
            AtmType::Bcc => self.atm_channel(BROADCAST_SIGNALLING),
            AtmType::Oamf4sc => self.atm_channel(OAM_F4_SEGMENT),
            AtmType::Oamf4ec => self.atm_channel(OAM_F4_END_TO_END),
            AtmType::Sc => self.atm_channel(SIGNALLING),
            AtmType::Ilmic => self.atm_channel(ILMI),
            AtmType::Oam | AtmType::Oamf4 => {
                let path = self.eq(Rel::LinkHdr, VPI, Size::B1, 0);
                let segment = self.eq(Rel::LinkHdr, VCI, Size::B2, OAM_F4_SEGMENT);
                let end_to_end = self.eq(Rel::LinkHdr, VCI, Size::B2, OAM_F4_END_TO_END);
                let channel = self.or(segment, end_to_end);
                self.and(path, channel)
            }
            AtmType::Connectmsg => {
                let types = [RELEASE_COMPLETE, RELEASE, CONNECT_ACK, CONNECT, SETUP, CALL_PROCEEDING];
                self.atm_messages(SIGNALLING, &types)
            }
            AtmType::Metaconnect => {
                let types = [RELEASE_COMPLETE, RELEASE, CONNECT, SETUP, CALL_PROCEEDING];
                self.atm_messages(METASIGNALLING, &types)
            }
        })
    }

    /// ATM numbers.
    pub(crate) fn atm_field(&mut self, field: AtmField, op: RelOp, k: u32) -> Result {
        let (offset, size) = match field {
            AtmField::Vpi => (VPI, Size::B1),
            AtmField::Vci => (VCI, Size::B2),
        };
        self.needs_atm(Word::AtmField(field))?;
        let op = field_op(op);
        Ok(self.compare(Rel::LinkHdr, offset, size, op, k))
    }

    /// The pseudo-header says that the payload is LLC-encapsulated.
    pub(super) fn atm_llc(&mut self) -> TreeId {
        self.atm_kind(LLC)
    }

    fn atm_kind(&mut self, kind: u32) -> TreeId {
        self.compare_masked(Rel::LinkHdr, 0, Size::B1, 0x0f, RelOp::Eq, kind)
    }

    /// `lane`, and from here on the Ethernet frame that LAN emulation carries behind a two-byte header. Behind a tunnel libpcap goes on
    /// adding the tunnel's varying offsets to its type and payload.
    fn lane(&mut self) -> TreeId {
        let is_lane = self.atm_kind(LANE);
        let start = PAYLOAD + 2;
        self.layers.push_link(LinkType::EN10MB, Offset::fixed(start));
        self.layers.type_field.constant = start + 12;
        self.layers.payload.constant = start + 14;
        self.layers.net = 0;
        self.layers.net_nosnap = 3;
        is_lane
    }

    /// A channel of path 0.
    fn atm_channel(&mut self, channel: u32) -> TreeId {
        let path = self.eq(Rel::LinkHdr, VPI, Size::B1, 0);
        let channel = self.eq(Rel::LinkHdr, VCI, Size::B2, channel);
        self.and(path, channel)
    }

    fn atm_messages(&mut self, channel: u32, types: &[u32]) -> TreeId {
        let channel = self.atm_channel(channel);
        let types: Vec<TreeId> =
            types.iter().map(|&kind| self.eq(Rel::LinkHdr, MESSAGE_TYPE, Size::B1, kind)).collect();
        let message = self.any(&types);
        self.and(channel, message)
    }

    fn needs_atm(&self, word: Word) -> Result<()> {
        match self.outermost {
            LinkType::SUNATM => Ok(()),
            _ => Err(self.elsewhere(&format!("`{}`", spelling(word)), "SUNATM")),
        }
    }
}

/// The operator in front of an ATM or SS7 number.
///
/// COMPAT: libpcap takes `!=` for `=` there.
pub(super) fn field_op(op: RelOp) -> RelOp {
    if op == RelOp::Ne { RelOp::Eq } else { op }
}
