//! A filter as a program of classic BPF, for sockets and for libpcap.

use crate::compiler::{Compiler, whole};
use crate::diag::{Code, Diagnostic, Error};
use crate::opt::Passes;
use decide::Insn;
use decide::internals::cbpf;

impl Compiler {
    /// A filter as a program of classic BPF, at most 4096 instructions: what `SO_ATTACH_FILTER`, libpcap and xt_bpf take. It returns 262144 for a
    /// packet that matches, else 0, in the kernel as in `bpf_filter`.
    ///
    /// ```
    /// use pflang::{Compiler, LinkType};
    ///
    /// let program = Compiler::new(LinkType::EN10MB).to_cbpf("arp")?;
    /// // ldh [12]; jeq #0x806 jt 2 jf 3; ret #262144; ret #0
    /// let codes: Vec<_> = program.iter().map(|insn| (insn.code, insn.k)).collect();
    /// assert_eq!(codes, [(40, 12), (21, 0x806), (6, 262_144), (6, 0)]);
    /// # Ok::<(), pflang::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Compiler::compile`], and [`Code::Limit`] where the program would be too long for the kernel, or need more than its 16 scratch
    /// cells.
    pub fn to_cbpf(&self, source: &str) -> Result<Vec<Insn>, Error> {
        let written = || {
            let graph = self.without_tables().graph(source, Passes::CBPF)?;
            let refused = |why: cbpf::NoProgram| Diagnostic::new(Code::Limit, whole(source), why.to_string());
            cbpf::program(graph.verified(), &[]).map_err(|why| Box::new(refused(why)))
        };
        written().map_err(|diagnostic| Error::new(diagnostic, source.into()))
    }
}
