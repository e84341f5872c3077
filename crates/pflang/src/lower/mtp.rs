//! SS7: signal units of MTP2 (ITU-T Q.703) and the routing label of MTP3 (Q.704), both in the high-speed forms
//! of Q.703 annex A too.
//!
//! ```text
//!              0        2       3    4                 8
//! low speed    numbers  length  SIO  DPC, OPC, SLS (4)
//! high speed   numbers (4)      length (2)  SIO  DPC, OPC, SLS (4)
//! ```
//! The length (0: fill-in, 1 or 2: link status, more: message) is the low six bits of its byte, or the upper nine of
//! its two. The label is a little-endian 32-bit number: 14 bits destination, 14 bits origin, 4 bits link.

use super::Result;
use super::atm::field_op;
use super::layers::Rel;
use super::lowerer::Lowerer;
use crate::diag::Code;
use crate::ir::Size;
use crate::ir::tree::TreeId;
use crate::syntax::ast::{Mtp2Type, Mtp3Field, RelOp};
use crate::syntax::words::{Word, spelling};
use wire::LinkType;

const LENGTH: u32 = 2;
const LENGTH_HIGH_SPEED: u32 = 4;
const SIO: u32 = 3;
const LABEL: u32 = 4;
/// The byte of the label with the link in its upper half.
const SLS: u32 = 7;
/// How much later the fields of the high-speed form are.
const HIGH_SPEED: u32 = 3;

impl Lowerer<'_> {
    /// SS7 signal units.
    pub(crate) fn mtp2(&mut self, word: Mtp2Type) -> Result {
        let high_speed = matches!(word, Mtp2Type::Hfisu | Mtp2Type::Hlssu | Mtp2Type::Hmsu);
        let start = self.mtp2_start(Word::Mtp2(word))?;
        // The length in place: 2 is the longest link status unit.
        let (offset, size, mask, two) = match high_speed {
            false => (LENGTH, Size::B1, 0x3f, 2),
            true => (LENGTH_HIGH_SPEED, Size::B2, 0xff80, 2 << 7),
        };
        let mut length = |op, k| self.compare_masked(Rel::Packet, start + offset, size, mask, op, k);
        Ok(match word {
            Mtp2Type::Fisu | Mtp2Type::Hfisu => length(RelOp::Eq, 0),
            Mtp2Type::Msu | Mtp2Type::Hmsu => length(RelOp::Gt, two),
            Mtp2Type::Lssu | Mtp2Type::Hlssu => {
                let not_empty = length(RelOp::Gt, 0);
                let short = length(RelOp::Le, two);
                self.and(not_empty, short)
            }
        })
    }

    /// SS7 routing labels.
    pub(crate) fn mtp3_field(&mut self, field: Mtp3Field, op: RelOp, k: u32) -> Result {
        let later = match field {
            Mtp3Field::Sio | Mtp3Field::Opc | Mtp3Field::Dpc | Mtp3Field::Sls => 0,
            Mtp3Field::Hsio | Mtp3Field::Hopc | Mtp3Field::Hdpc | Mtp3Field::Hsls => HIGH_SPEED,
        };
        let start = self.mtp2_start(Word::Mtp3(field))? + later;
        let op = field_op(op);
        match field {
            Mtp3Field::Sio | Mtp3Field::Hsio => {
                self.mtp3_limit(field, k, 0xff)?;
                Ok(self.compare(Rel::Packet, start + SIO, Size::B1, op, k))
            }
            // NOTE: `<` and `>` compare the point codes as they are stored, bytes reversed.
            Mtp3Field::Opc | Mtp3Field::Hopc => {
                self.mtp3_limit(field, k, 0x3fff)?;
                Ok(self.mtp3_label(start, 0x3fff << 14, k << 14, op))
            }
            Mtp3Field::Dpc | Mtp3Field::Hdpc => {
                self.mtp3_limit(field, k, 0x3fff)?;
                Ok(self.mtp3_label(start, 0x3fff, k, op))
            }
            Mtp3Field::Sls | Mtp3Field::Hsls => {
                self.mtp3_limit(field, k, 0xf)?;
                Ok(self.compare_masked(Rel::Packet, start + SLS, Size::B1, 0xf0, op, k << 4))
            }
        }
    }

    /// Bits of the routing label, given as those of the little-endian number.
    fn mtp3_label(&mut self, start: u32, mask: u32, k: u32, op: RelOp) -> TreeId {
        self.compare_masked(Rel::Packet, start + LABEL, Size::B4, mask.swap_bytes(), op, k.swap_bytes())
    }

    fn mtp3_limit(&self, field: Mtp3Field, k: u32, max: u32) -> Result<()> {
        if k <= max {
            return Ok(());
        }
        let name = spelling(Word::Mtp3(field));
        Err(self.error(Code::OutOfRange, format!("`{name}` is at most {max}, not {k}")))
    }

    /// Where the signal unit starts in the packet.
    fn mtp2_start(&self, word: Word) -> Result<u32> {
        match self.layers.linktype {
            LinkType::MTP2 => Ok(0),
            LinkType::MTP2_WITH_PHDR => Ok(4),
            LinkType::ERF => Ok(20),
            _ => Err(self.elsewhere(&format!("`{}`", spelling(word)), "MTP2, MTP2_WITH_PHDR or ERF")),
        }
    }
}
