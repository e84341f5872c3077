//! A verified graph and the way it runs. `W` is what the burst entry of its machine code writes.

use crate::burst::Written;
use crate::exec::mask::{Isa, MaskFilter, Masked};
use crate::exec::{NativeFilter, NoExec, Packet};
use crate::ir::Graph;
use crate::ir::interp::Interp;
use crate::ir::verify::Checked;
use crate::opt::Passes;
use crate::target::lir::NoCode;
use crate::target::x64;
use std::fmt;
use std::sync::OnceLock;

/// Where a program is to run.
///
/// ```
/// assert_eq!(decide::Backend::default(), decide::Backend::Auto);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// Machine code where processor and system allow it, else the interpreter.
    #[default]
    Auto,
    /// The reference interpreter: slow, and each call allocates memory; a burst is one call. Machine code never does, the mask VM with the
    /// first burst of a filter on a thread at most.
    Interpreter,
}

/// The optional passes that the graph of an [`Executable`] is to go through.
pub fn passes(backend: Backend) -> Passes {
    match backend {
        Backend::Auto => Passes::X86_64,
        Backend::Interpreter => Passes::INTERPRETER,
    }
}

/// A graph, ready to run.
#[derive(Debug)]
pub struct Executable<W> {
    graph: Checked,
    runner: Runner<W>,
    /// Translated for the first burst, where it is of use.
    masks: OnceLock<Option<MaskFilter<W>>>,
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
    pub fn new(graph: Checked, backend: Backend, options: &x64::Options) -> Result<Self, NoCode>
    where
        W: Written,
    {
        let runner = match backend {
            Backend::Interpreter => Runner::Interpreter,
            Backend::Auto => match x64::compile_to(graph.verified(), options) {
                Ok(code) => NativeFilter::new(&code).map_or_else(Runner::Fallback, Runner::Native),
                Err(error @ NoCode::TooLarge { .. }) => return Err(error),
                Err(error) => Runner::Fallback(NoExec::Code(error)),
            },
        };
        Ok(Executable { graph, runner, masks: OnceLock::new() })
    }

    /// The number of the leaf that a packet reaches.
    #[inline]
    pub fn leaf(&self, captured: &[u8], wire_len: u32) -> u32 {
        match &self.runner {
            Runner::Native(native) => native.run(captured, wire_len),
            _ => Interp::new(self.graph()).run(captured, wire_len),
        }
    }

    /// The graph that runs.
    pub fn graph(&self) -> &Graph {
        self.graph.graph()
    }

    /// The machine code, where there is some.
    #[inline]
    pub fn native(&self) -> Option<&NativeFilter<W>> {
        match &self.runner {
            Runner::Native(native) => Some(native),
            _ => None,
        }
    }

    /// Why there is no machine code, where it was wanted.
    pub fn fallback_reason(&self) -> Option<&NoExec> {
        match &self.runner {
            Runner::Fallback(reason) => Some(reason),
            _ => None,
        }
    }
}

/// The engine that decides the packets of a burst.
///
/// ```
/// use decide::{BurstEngine, Isa};
///
/// assert_eq!(BurstEngine::MachineCode.to_string(), "machine code");
/// assert_eq!(BurstEngine::MaskVm(Isa::Avx2).to_string(), "mask VM (AVX2)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BurstEngine {
    /// Machine code, one packet after the other.
    MachineCode,
    /// The mask VM, up to 256 packets at a time. What machine code there is takes the last packets of a burst, if they
    /// are few.
    MaskVm(Isa),
    /// The interpreter, one packet after the other.
    Interpreter,
}

impl fmt::Display for BurstEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BurstEngine::MachineCode => f.write_str("machine code"),
            BurstEngine::MaskVm(isa) => write!(f, "mask VM ({isa})"),
            BurstEngine::Interpreter => f.write_str("interpreter"),
        }
    }
}

/// The mask VM takes up to so many packets through its steps at once.
const MASKED_MAX: usize = 256;

#[expect(private_bounds, reason = "nothing but bits and leaves is written")]
impl<W: Masked> Executable<W> {
    /// Writes the answers for packets.
    ///
    /// # Panics
    /// If there is no room for the answer for each packet.
    pub fn run_burst(&self, packets: &[Packet<'_>], to: &mut [W::Cell]) {
        match self.native() {
            Some(native) if packets.len() < Isa::detect().packets_min() => native.run_burst(packets, to),
            native => match (self.masks(), native) {
                (Some(masks), Some(native)) if packets.len() < masks.packets_min() => {
                    native.run_burst(packets, to);
                }
                (Some(masks), native) => masked(masks, native, packets, to),
                (None, Some(native)) => native.run_burst(packets, to),
                (None, None) => self.interpret(packets, to),
            },
        }
    }

    fn interpret(&self, packets: &[Packet<'_>], to: &mut [W::Cell]) {
        let mut interp = Interp::new(self.graph());
        for (i, packet) in packets.iter().enumerate() {
            W::write(to, i, interp.run(packet.data(), packet.wire_len()));
        }
    }

    /// The graph for the mask VM, where that is to run bursts.
    fn masks(&self) -> Option<&MaskFilter<W>> {
        let make = || match &self.runner {
            Runner::Native(_) => MaskFilter::if_fast(self.graph.verified(), Isa::detect()),
            Runner::Fallback(_) => MaskFilter::new(self.graph.verified()),
            Runner::Interpreter => None,
        };
        self.masks.get_or_init(make).as_ref()
    }

    /// What decides the packets of long bursts.
    pub fn burst_engine(&self) -> BurstEngine {
        match (self.masks(), self.native()) {
            (Some(_), _) => BurstEngine::MaskVm(Isa::detect()),
            (None, Some(_)) => BurstEngine::MachineCode,
            (None, None) => BurstEngine::Interpreter,
        }
    }
}

/// The mask VM, but the last packets of a burst in machine code if they are few.
fn masked<W: Masked>(
    masks: &MaskFilter<W>,
    native: Option<&NativeFilter<W>>,
    packets: &[Packet<'_>],
    to: &mut [W::Cell],
) {
    let behind = packets.len() % MASKED_MAX;
    let last = match behind % 64 {
        _ if behind < masks.packets_min() => behind,
        last if last < Isa::detect().packets_min() => last,
        _ => 0,
    };
    match native.filter(|_| last > 0) {
        Some(native) => {
            let (packets, last) = packets.split_at(packets.len() - last);
            let (to, to_last) = to.split_at_mut(W::cells(packets.len()));
            masks.run_burst(Isa::detect(), packets, to);
            native.run_burst(last, to_last);
        }
        None => masks.run_burst(Isa::detect(), packets, to),
    }
}
