//! A verified graph and the way it runs: what [`Filter`](crate::Filter) and [`FilterList`](crate::FilterList) share. `W` is what
//! the burst entry of its machine code writes.

use crate::emit::{self, MachineCode};
use crate::exec::{NativeFilter, NoExec, Packet};
use crate::ir::Graph;
use crate::ir::interp::Interp;
use crate::ir::verify::{Checked, Verified};
use crate::options::Backend;

/// A graph, ready to run.
#[derive(Debug)]
pub(crate) struct Executable<W> {
    graph: Checked,
    runner: Runner<W>,
}

#[derive(Debug)]
enum Runner<W> {
    /// As machine code.
    Native(NativeFilter<W>),
    /// In the interpreter, as asked.
    Interpreter,
    /// In the interpreter, for want of machine code.
    Fallback(NoExec),
}

impl<W> Executable<W> {
    /// As machine code if at all possible.
    ///
    /// # Errors
    /// Only where the code would exceed its limit.
    pub(crate) fn new(
        graph: Checked,
        backend: Backend,
        compile: impl FnOnce(Verified<'_>) -> Result<MachineCode<W>, emit::NoCode>,
    ) -> Result<Self, emit::NoCode> {
        let runner = match backend {
            Backend::Interpreter => Runner::Interpreter,
            Backend::Auto => match compile(graph.verified()) {
                Ok(code) => NativeFilter::new(&code).map_or_else(Runner::Fallback, Runner::Native),
                Err(error @ emit::NoCode::TooLarge { .. }) => return Err(error),
                Err(error) => Runner::Fallback(NoExec::Code(error)),
            },
        };
        Ok(Executable { graph, runner })
    }

    /// The number of the leaf that a packet reaches.
    #[inline]
    pub(crate) fn leaf(&self, captured: &[u8], wire_len: u32) -> u32 {
        match &self.runner {
            Runner::Native(native) => native.run(captured, wire_len),
            _ => Interp::new(self.graph()).run(captured, wire_len),
        }
    }

    /// The numbers of the leaves that packets reach, in their order, from the interpreter.
    pub(crate) fn interpreted<'a>(&'a self, packets: &'a [Packet<'_>]) -> impl Iterator<Item = u32> + 'a {
        let mut interp = Interp::new(self.graph());
        packets.iter().map(move |packet| interp.run(packet.data(), packet.wire_len()))
    }

    pub(crate) fn graph(&self) -> &Graph {
        self.graph.graph()
    }

    pub(crate) fn verified(&self) -> Verified<'_> {
        self.graph.verified()
    }

    #[inline]
    pub(crate) fn native(&self) -> Option<&NativeFilter<W>> {
        match &self.runner {
            Runner::Native(native) => Some(native),
            _ => None,
        }
    }

    pub(crate) fn fallback_reason(&self) -> Option<&NoExec> {
        match &self.runner {
            Runner::Fallback(reason) => Some(reason),
            _ => None,
        }
    }
}
