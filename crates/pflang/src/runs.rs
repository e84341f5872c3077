//! A verified graph and the way it runs: what [`Filter`](crate::Filter) and [`Program`](crate::Program) share. `W` is what
//! the burst entry of its machine code writes.

use crate::compiler::Backend;
use crate::emit::{self, Code};
use crate::exec::{NativeFilter, NoExec, Packet};
use crate::ir::Graph;
use crate::ir::interp::{self, Interp};
use crate::ir::verify::{Checked, Verified};

/// A graph, ready to run.
#[derive(Debug)]
pub(crate) struct Runs<W> {
    graph: Checked,
    way: Way<W>,
}

#[derive(Debug)]
enum Way<W> {
    /// As machine code.
    Native(NativeFilter<W>),
    /// In the interpreter, as asked.
    Interpreter,
    /// In the interpreter, for want of machine code.
    Fallback(NoExec),
}

impl<W> Runs<W> {
    /// As machine code if at all possible.
    ///
    /// # Errors
    /// Only where the code would exceed its limit.
    pub(crate) fn new(
        graph: Checked,
        backend: Backend,
        compile: impl FnOnce(Verified<'_>) -> Result<Code<W>, emit::NoCode>,
    ) -> Result<Self, emit::NoCode> {
        let way = match backend {
            Backend::Interpreter => Way::Interpreter,
            Backend::Auto => match compile(graph.verified()) {
                Ok(code) => NativeFilter::new(&code).map_or_else(Way::Fallback, Way::Native),
                Err(error @ emit::NoCode::TooLarge { .. }) => return Err(error),
                Err(error) => Way::Fallback(NoExec::Code(error)),
            },
        };
        Ok(Runs { graph, way })
    }

    /// The number of the leaf that a packet reaches.
    #[inline]
    pub(crate) fn leaf(&self, captured: &[u8], wire_len: u32) -> u32 {
        match &self.way {
            Way::Native(native) => native.run(captured, wire_len),
            _ => Interp::new(self.graph()).run(interp::Packet { data: captured, wire_len }),
        }
    }

    /// The numbers of the leaves that packets reach, in their order, from the interpreter.
    pub(crate) fn interpreted<'a>(&'a self, packets: &'a [Packet<'_>]) -> impl Iterator<Item = u32> + 'a {
        let mut interp = Interp::new(self.graph());
        packets.iter().map(move |packet| {
            interp.run(interp::Packet { data: packet.data(), wire_len: packet.wire_len() })
        })
    }

    pub(crate) fn graph(&self) -> &Graph {
        self.graph.graph()
    }

    pub(crate) fn verified(&self) -> Verified<'_> {
        self.graph.verified()
    }

    #[inline]
    pub(crate) fn native(&self) -> Option<&NativeFilter<W>> {
        match &self.way {
            Way::Native(native) => Some(native),
            _ => None,
        }
    }

    pub(crate) fn fallback_reason(&self) -> Option<&NoExec> {
        match &self.way {
            Way::Fallback(reason) => Some(reason),
            _ => None,
        }
    }
}
