//! DECnet addresses. A routing header comes in a long and a short form, each behind at most one byte of padding;
//! like libpcap, we look for these four and no more.

use super::Result;
use super::direction::End;
use super::layers::Rel;
use super::lowerer::Lowerer;
use super::numbers::ethertype;
use crate::ir::Size;
use crate::ir::tree::TreeId;
use crate::syntax::ast::{Dir, RelOp};

impl Lowerer<'_> {
    /// `decnet host`.
    pub(crate) fn decnet_host(&mut self, address: u16, dir: Option<Dir>) -> Result {
        // Little-endian on the wire.
        let address = u32::from(address.swap_bytes());
        self.ends(dir, "a DECnet address", |this, end| {
            let (short, long) = if end == End::Dst { (1, 7) } else { (3, 15) };
            let link = this.linktype(ethertype::DECNET)?;
            let any = [
                this.decnet_form(Size::B1, 0x07, 0x02, 2 + short, address),
                this.decnet_form(Size::B2, 0xff07, 0x8102, 3 + short, address),
                this.decnet_form(Size::B1, 0x07, 0x06, 2 + long, address),
                this.decnet_form(Size::B2, 0xff07, 0x8106, 3 + long, address),
            ];
            let any = this.any(&any);
            Ok(this.and(link, any))
        })
    }

    /// One form: padding and flags as expected, and the address at `offset`.
    fn decnet_form(&mut self, flags: Size, mask: u32, expected: u32, offset: u32, address: u32) -> TreeId {
        let form = self.compare_masked(Rel::Net, 2, flags, mask, RelOp::Eq, expected);
        let same = self.eq(Rel::Net, offset, Size::B2, address);
        self.and(form, same)
    }
}
