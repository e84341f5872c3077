//! `src`, `dst` and their combinations, for everything that has two ends.

use super::Result;
use super::lowerer::Lowerer;
use crate::diag::Code;
use crate::ir::tree::TreeId;
use crate::syntax::ast::Dir;

/// One end of a packet's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Src,
    Dst,
}

impl Lowerer<'_> {
    /// `test` of the ends that `dir` asks for, the source first. `what` names the thing for the message that
    /// refuses 802.11's directions.
    pub(crate) fn ends(
        &mut self,
        dir: Option<Dir>,
        what: &str,
        mut test: impl FnMut(&mut Self, End) -> Result,
    ) -> Result {
        match dir {
            Some(Dir::Src) => test(self, End::Src),
            Some(Dir::Dst) => test(self, End::Dst),
            Some(Dir::SrcAndDst) => self.both_ends(test, Self::and),
            None | Some(Dir::SrcOrDst) => self.both_ends(test, Self::or),
            Some(other) => Err(self.wlan_direction(other, what)),
        }
    }

    fn both_ends(
        &mut self,
        mut test: impl FnMut(&mut Self, End) -> Result,
        join: impl Fn(&mut Self, TreeId, TreeId) -> TreeId,
    ) -> Result {
        let src = test(self, End::Src)?;
        let dst = test(self, End::Dst)?;
        Ok(join(self, src, dst))
    }

    fn wlan_direction(&self, dir: Dir, what: &str) -> Box<crate::diag::Diagnostic> {
        let message =
            format!("`{}` does not go with {what}: it names an address field of 802.11", dir.name());
        let mut error = self.error(Code::BadQualifier, message);
        error.help = Some("use `src` or `dst`".into());
        error
    }
}
