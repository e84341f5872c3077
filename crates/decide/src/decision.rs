//! A decision: a verified graph, ready to run in the way that is fastest here.

use crate::budget::Budget;
use crate::burst::{Leaves, Written};
use crate::error::Error;
use crate::exec::mask::{Isa, MaskFilter, Masked};
use crate::exec::{NativeFilter, NativeWithInputs, NoExec, Packet};
use crate::ir::Graph;
use crate::ir::interp::Interp;
use crate::ir::tree::{Clause, Tree, TreeId};
use crate::ir::verify::Checked;
use crate::opt::Passes;
use crate::pipeline;
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

/// How a decision is made ready to run.
///
/// ```
/// let mut options = decide::Options::default();
/// options.code_bytes_max = 1 << 20;
/// assert_eq!(options.backend, decide::Backend::Auto);
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Where it runs.
    pub backend: Backend,
    /// Machine code for any processor of its kind, instead of for the one that this runs on.
    pub baseline: bool,
    /// Packets ahead whose first bytes a burst fetches into the cache; 0 for none.
    pub prefetch_distance: u32,
    /// Bound on machine code and tables together, in bytes.
    pub code_bytes_max: usize,
    /// Bound on the nodes of a graph.
    pub nodes_max: usize,
    /// Bound on the time that making the decision takes, in milliseconds.
    pub time_ms_max: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            backend: Backend::Auto,
            baseline: false,
            prefetch_distance: x64::PREFETCH_DISTANCE,
            code_bytes_max: 256 << 20,
            nodes_max: 32 << 20,
            time_ms_max: 60_000,
        }
    }
}

impl Options {
    /// For machine code.
    #[doc(hidden)]
    pub fn for_x64(&self) -> x64::Options {
        let mut options = x64::Options::default();
        if self.baseline {
            options.features = x64::Features::BASELINE;
        }
        options.prefetch_distance = self.prefetch_distance;
        options.code_bytes_max = self.code_bytes_max;
        options.member_entry = crate::exec::member_entry();
        options
    }

    /// The optional passes that graphs go through.
    #[doc(hidden)]
    pub fn passes(&self) -> Passes {
        match self.backend {
            Backend::Auto => Passes::X86_64,
            Backend::Interpreter => Passes::INTERPRETER,
        }
    }

    fn budget(&self) -> Budget {
        Budget::new(self.nodes_max, self.time_ms_max)
    }
}

/// A decision program, ready to run: which leaf does a packet reach? `W` is what a burst is answered with: [`Leaves`], their numbers, or
/// [`Bits`](crate::Bits), whether they are not the one that rejects.
///
/// ```
/// use decide::{Decision, Options, Size, Tree};
///
/// // Two bytes are 0x0806, or else the first is 2.
/// let mut tree = Tree::default();
/// let (kind, first) = (tree.pool.at(12, Size::B2), tree.pool.at(0, Size::B1));
/// let arms = vec![(tree.equals(kind, 0x0806), 1), (tree.equals(first, 2), 2)];
/// let decision: Decision = Decision::of_tree(tree, arms, &Options::default())?;
/// let mut frame = [0; 60];
/// assert_eq!(decision.leaf(&frame, 60), 0);
/// frame[0] = 2;
/// assert_eq!(decision.leaf(&frame, 60), 2);
/// frame[12..14].copy_from_slice(&[8, 6]);
/// assert_eq!(decision.leaf(&frame, 60), 1);
/// # Ok::<(), decide::Error>(())
/// ```
#[derive(Debug)]
pub struct Decision<W = Leaves> {
    graph: Checked,
    runner: Runner<W>,
    /// Translated for the first burst, where it is of use.
    masks: OnceLock<Option<MaskFilter<W>>>,
}

#[derive(Debug)]
enum Runner<W> {
    /// As machine code.
    Native(NativeFilter<W>),
    /// As machine code that reads numbers of the caller's.
    WithInputs(NativeWithInputs<W>),
    /// In the interpreter, as asked.
    Interpreter,
    /// In the interpreter, for want of machine code.
    Fallback(NoExec),
}

impl<W: Written> Decision<W> {
    /// An ordered list of trees, each with the leaf that its yes leads to: the first that holds decides. A packet for which none holds
    /// reaches leaf 0, as does one that ends before something that is looked at.
    ///
    /// # Errors
    /// Where a bound of the options is exceeded.
    pub fn of_tree(tree: Tree, arms: Vec<(TreeId, u32)>, options: &Options) -> Result<Self, Error> {
        let clauses = arms.into_iter().map(|(root, leaf)| Clause::Leaf(root, leaf)).collect();
        Decision::of_clauses(tree, clauses, options)
    }

    /// An ordered list of trees, some of which lead to lists of their own: see [`Clause`].
    ///
    /// # Errors
    /// Where a bound of the options is exceeded.
    pub fn of_clauses(tree: Tree, mut clauses: Vec<Clause>, options: &Options) -> Result<Self, Error> {
        let graph = pipeline::checked(tree, &mut clauses, options.passes(), &options.budget())?;
        Ok(Decision::of_checked(graph, options)?)
    }

    /// A graph built from its leaves up.
    ///
    /// ```
    /// use decide::{CmpOp, Cond, Decision, Graph, Options, Pool, Size};
    ///
    /// let mut pool = Pool::default();
    /// let (first, seven) = (pool.at(0, Size::B1), pool.constant(7));
    /// let is_seven = pool.cond(Cond::Cmp(CmpOp::Eq, first, seven));
    /// let mut graph = Graph::new(pool);
    /// let (yes, no) = (graph.leaf(1), graph.leaf(0));
    /// let test = graph.branch(is_seven, yes, no);
    /// graph.root = graph.guard(&[first], test, no);
    /// let decision: Decision = Decision::of_graph(graph, &Options::default())?;
    /// assert_eq!([&[7_u8][..], &[8], &[]].map(|packet| decision.leaf(packet, 9)), [1, 0, 0]);
    ///
    /// // Without the guard it is refused.
    /// let mut pool = Pool::default();
    /// let (first, seven) = (pool.at(0, Size::B1), pool.constant(7));
    /// let is_seven = pool.cond(Cond::Cmp(CmpOp::Eq, first, seven));
    /// let mut graph = Graph::new(pool);
    /// let (yes, no) = (graph.leaf(1), graph.leaf(0));
    /// graph.root = graph.branch(is_seven, yes, no);
    /// assert!(Decision::<decide::Leaves>::of_graph(graph, &Options::default()).is_err());
    /// # Ok::<(), decide::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Graph`](crate::ErrorKind::Graph) where a load has no guard, and where a bound of the options is exceeded.
    pub fn of_graph(graph: Graph, options: &Options) -> Result<Self, Error> {
        Ok(Decision::of_checked(
            pipeline::checked_graph(graph, options.passes(), &options.budget())?,
            options,
        )?)
    }

    /// A graph that has been optimised and verified.
    ///
    /// # Errors
    /// Only where the code would exceed its limit.
    #[doc(hidden)]
    pub fn of_checked(graph: Checked, options: &Options) -> Result<Self, NoCode> {
        let runner = match options.backend {
            Backend::Interpreter => Runner::Interpreter,
            Backend::Auto => match x64::compile_to(graph.verified(), &options.for_x64()) {
                Ok(code) if code.inputs().is_some() => {
                    NativeWithInputs::new(&code).map_or_else(Runner::Fallback, Runner::WithInputs)
                }
                Ok(code) => NativeFilter::new(&code).map_or_else(Runner::Fallback, Runner::Native),
                Err(error @ NoCode::TooLarge { .. }) => return Err(error),
                Err(error) => Runner::Fallback(NoExec::Code(error)),
            },
        };
        Ok(Decision { graph, runner, masks: OnceLock::new() })
    }
}

impl<W> Decision<W> {
    /// The number of the leaf that a packet reaches, of which `captured` is the beginning and which was `wire_len` bytes long.
    ///
    /// # Panics
    /// If the program reads inputs: see [`Decision::leaf_with`].
    #[inline]
    pub fn leaf(&self, captured: &[u8], wire_len: u32) -> u32 {
        match &self.runner {
            Runner::Native(native) => native.run(captured, wire_len),
            _ => Interp::new(self.graph()).run(captured, wire_len),
        }
    }

    /// How many numbers the caller gives with each packet.
    ///
    /// ```
    /// use decide::{Decision, Options, Tree};
    ///
    /// let mut tree = Tree::default();
    /// let mark = tree.pool.input(2);
    /// let arms = vec![(tree.equals(mark, 5), 1)];
    /// let decision: Decision = Decision::of_tree(tree, arms, &Options::default())?;
    /// assert_eq!(decision.inputs(), 3);
    /// assert_eq!(decision.leaf_with(&[], 0, &[0, 0, 5]), 1);
    /// # Ok::<(), decide::Error>(())
    /// ```
    pub fn inputs(&self) -> usize {
        self.graph().pool.inputs() as usize
    }

    /// The graph that runs.
    #[doc(hidden)]
    pub fn graph(&self) -> &Graph {
        self.graph.graph()
    }

    /// The machine code, where there is some and it reads no inputs.
    #[doc(hidden)]
    #[inline]
    pub fn native(&self) -> Option<&NativeFilter<W>> {
        match &self.runner {
            Runner::Native(native) => Some(native),
            _ => None,
        }
    }

    /// Why there is no machine code, where it was wanted.
    ///
    /// ```
    /// # use decide::{Decision, Options, Tree};
    /// let mut tree = Tree::default();
    /// let always = tree.all(&[]);
    /// let decision: Decision = Decision::of_tree(tree, vec![(always, 1)], &Options::default())?;
    /// if let Some(reason) = decision.fallback_reason() {
    ///     eprintln!("interpreted: {reason}");
    /// }
    /// # Ok::<(), decide::Error>(())
    /// ```
    pub fn fallback_reason(&self) -> Option<&NoExec> {
        match &self.runner {
            Runner::Fallback(reason) => Some(reason),
            _ => None,
        }
    }
}

impl<W: Written> Decision<W> {
    /// The number of the leaf that a packet reaches with these numbers of the caller's.
    ///
    /// # Panics
    /// If there are fewer than [`Decision::inputs`].
    pub fn leaf_with(&self, captured: &[u8], wire_len: u32, inputs: &[u32]) -> u32 {
        assert!(inputs.len() >= self.inputs(), "{} inputs, of {}", inputs.len(), self.inputs());
        match &self.runner {
            Runner::Native(native) => native.run(captured, wire_len),
            Runner::WithInputs(native) => native.run(captured, wire_len, inputs),
            _ => Interp::new(self.graph()).run_with(captured, wire_len, inputs),
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
impl<W: Masked> Decision<W> {
    /// Writes the answers for packets.
    ///
    /// ```
    /// use decide::{Bits, Decision, Leaves, Options, Packet, Size, Tree};
    ///
    /// let mut tree = Tree::default();
    /// let first = tree.pool.at(0, Size::B1);
    /// let arms = vec![(tree.equals(first, 2), 9)];
    /// let leaves: Decision<Leaves> = Decision::of_tree(tree.clone(), arms.clone(), &Options::default())?;
    /// let bits: Decision<Bits> = Decision::of_tree(tree, arms, &Options::default())?;
    /// let packets = [Packet::from(&[1][..]), Packet::from(&[2][..])];
    /// let (mut numbers, mut words) = ([7; 2], [7]);
    /// leaves.run_burst(&packets, &mut numbers);
    /// bits.run_burst(&packets, &mut words);
    /// assert_eq!((numbers, words), ([0, 9], [0b10]));
    /// # Ok::<(), decide::Error>(())
    /// ```
    ///
    /// # Panics
    /// If there is no room for the answer for each packet, or the program reads inputs: see [`Decision::run_burst_with`].
    pub fn run_burst(&self, packets: &[Packet<'_>], to: &mut [W::Cell]) {
        match self.native() {
            Some(native) if packets.len() < Isa::detect().packets_min() => native.run_burst(packets, to),
            native => match (self.masks(), native) {
                (Some(masks), Some(native)) if packets.len() < masks.packets_min() => {
                    native.run_burst(packets, to);
                }
                (Some(masks), native) => masked(masks, native, packets, to),
                (None, Some(native)) => native.run_burst(packets, to),
                (None, None) => self.interpret(packets, &[], to),
            },
        }
    }

    /// Writes the answers for packets with each of which the caller gives a row of [`Decision::inputs`] numbers; the rows lie one behind
    /// the other.
    ///
    /// ```
    /// use decide::{Decision, Options, Packet, Tree};
    ///
    /// let mut tree = Tree::default();
    /// let (mark, interface) = (tree.pool.input(0), tree.pool.input(1));
    /// let arms = vec![(tree.equals(mark, 5), 1), (tree.equals(interface, 3), 2)];
    /// let decision: Decision = Decision::of_tree(tree, arms, &Options::default())?;
    /// let mut leaves = [0; 3];
    /// decision.run_burst_with(&[Packet::EMPTY; 3], &[5, 3, 0, 3, 0, 0], &mut leaves);
    /// assert_eq!(leaves, [1, 2, 0]);
    /// # Ok::<(), decide::Error>(())
    /// ```
    ///
    /// # Panics
    /// If there is no room for the answer for each packet, or no row for each.
    pub fn run_burst_with(&self, packets: &[Packet<'_>], rows: &[u32], to: &mut [W::Cell]) {
        if self.inputs() == 0 {
            return self.run_burst(packets, to);
        }
        assert!(rows.len() / self.inputs() >= packets.len(), "a row for each packet");
        match (self.masks(), &self.runner) {
            (Some(masks), _) if packets.len() >= masks.packets_min().max(Isa::detect().packets_min()) => {
                masks.run_burst_with(Isa::detect(), packets, rows, to);
            }
            (_, Runner::Native(native)) => native.run_burst(packets, to),
            (_, Runner::WithInputs(native)) => native.run_burst(packets, rows, to),
            _ => self.interpret(packets, rows, to),
        }
    }

    fn interpret(&self, packets: &[Packet<'_>], rows: &[u32], to: &mut [W::Cell]) {
        let mut interp = Interp::new(self.graph());
        let inputs = self.inputs();
        for (i, packet) in packets.iter().enumerate() {
            let row = &rows[i * inputs..(i + 1) * inputs];
            W::write(to, i, interp.run_with(packet.data(), packet.wire_len(), row));
        }
    }

    /// The graph for the mask VM, where that is to run bursts.
    fn masks(&self) -> Option<&MaskFilter<W>> {
        let make = || match &self.runner {
            Runner::Native(_) | Runner::WithInputs(_) => {
                MaskFilter::if_fast(self.graph.verified(), Isa::detect())
            }
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
