//! pf(4) log primitives: fields of OpenBSD's `struct pfloghdr`.
//!
//! ```text
//! 0       1       2       3       4                  20                  36       40          60
//! length  family  action  reason  interface (16)     ruleset (16)        rule     subrule  …  direction
//! ```

use super::Result;
use super::layers::Rel;
use super::lowerer::Lowerer;
use crate::diag::Code;
use crate::ir::Size;
use crate::ir::tree::TreeId;
use crate::syntax::ast::Pf;
use wire::LinkType;

/// Bytes of a name in the header, with the zero that ends it.
const NAME_BYTES: usize = 16;

impl Lowerer<'_> {
    /// pf(4) primitives.
    pub(crate) fn pf(&mut self, pf: &Pf) -> Result {
        if self.layers.linktype != LinkType::PFLOG {
            let is_name = matches!(pf, Pf::Ifname(_));
            let places = if is_name {
                "PFLOG: other packets do not say by which interface they came"
            } else {
                "PFLOG"
            };
            return Err(self.elsewhere(word(pf), places));
        }
        Ok(match pf {
            Pf::Action(action) => self.eq(Rel::LinkHdr, 2, Size::B1, *action),
            Pf::Reason(reason) => self.eq(Rel::LinkHdr, 3, Size::B1, *reason),
            Pf::Ifname(name) => self.pf_name(word(pf), 4, name)?,
            Pf::Ruleset(name) => self.pf_name(word(pf), 20, name)?,
            Pf::Rulenum(number) => self.eq(Rel::LinkHdr, 36, Size::B4, *number),
            Pf::Subrulenum(number) => self.eq(Rel::LinkHdr, 40, Size::B4, *number),
        })
    }

    /// NOTE: a name is compared without the zero that ends it, so `on em1` matches em10 too.
    fn pf_name(&mut self, word: &str, offset: u32, name: &str) -> Result {
        if name.len() >= NAME_BYTES {
            let message = format!("{word} takes a name of at most {} characters", NAME_BYTES - 1);
            return Err(self.error(Code::OutOfRange, message));
        }
        let same: TreeId = self.bytes(Rel::LinkHdr, offset, name.as_bytes());
        Ok(same)
    }
}

fn word(pf: &Pf) -> &'static str {
    match pf {
        Pf::Ifname(_) => "`ifname` (or `on`)",
        Pf::Ruleset(_) => "`ruleset`",
        Pf::Rulenum(_) => "`rulenum`",
        Pf::Subrulenum(_) => "`subrulenum`",
        Pf::Reason(_) => "`reason`",
        Pf::Action(_) => "`action`",
    }
}
