//! A program ready to run.

use crate::graph::graph;
use crate::write::listed;
use crate::{Ancillary, Error, ErrorKind, Options, Packet, Program};
use decide::internals::exec::{NativeFilter, count_ones};
use decide::internals::ir::verify::Checked;
use decide::internals::opt::Passes;
use decide::internals::{c, cbpf, checked_graph, lua};
use decide::{Bits, Budget, BurstEngine, Decision, Graph, NoExec, Span};
use std::fmt::Write;
use std::sync::Arc;

/// A program, compiled: cheap to clone, safe to share.
///
/// ```
/// use bpf::{Filter, Options, Packet};
///
/// // ld #pktlen; jge #100 jt 2 jf 3; ret #-1; ret #0
/// let program = bpf::read(b"4,128 0 0 0,53 0 1 100,6 0 0 4294967295,6 0 0 0")?;
/// let filter = Filter::new(&program, &Options::default())?;
/// assert!(!filter.matches(&[0; 60]));
/// // `#pktlen` is the length on the wire, whatever was captured of it.
/// assert!(filter.matches_captured(&[0; 60], 100));
///
/// let burst = [Packet::new(&[0; 60], 60), Packet::new(&[0; 60], 100)];
/// let mut bits = [0];
/// assert_eq!(filter.match_burst(&burst, &mut bits), 1);
/// assert_eq!(bits[0], 0b10);
/// # Ok::<(), bpf::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Filter(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    decision: Decision<Bits>,
    inputs: Vec<Ancillary>,
}

impl Filter {
    /// Compiles a program that depends on the packet alone.
    ///
    /// # Errors
    /// With the first instruction that is none, leads outside of the program or backwards, or loads what the kernel keeps beside a packet;
    /// and [`ErrorKind::TooLarge`](crate::ErrorKind::TooLarge) where the program becomes larger than the options allow.
    pub fn new(program: &Program, options: &Options) -> Result<Filter, Error> {
        Filter::with_inputs(program, &[], options)
    }

    /// Compiles a program whose caller knows these of a packet: they are the row that [`Filter::matches_with`] takes.
    ///
    /// ```
    /// use bpf::{Ancillary, Filter, Options};
    ///
    /// // What a live `tcpdump -ddd` might begin with: ldb [vlanp]; ret a
    /// let program = bpf::read(b"2,48 0 0 4294963248,22 0 0 0")?;
    /// let error = Filter::new(&program, &Options::default()).unwrap_err();
    /// assert!(error.to_string().ends_with("VLAN tag present"));
    ///
    /// let known = [Ancillary::Mark, Ancillary::VlanTagPresent];
    /// let filter = Filter::with_inputs(&program, &known, &Options::default())?;
    /// assert!(filter.matches_with(&[], 60, &[0, 1]) && !filter.matches_with(&[], 60, &[1, 0]));
    /// # Ok::<(), bpf::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Filter::new`].
    pub fn with_inputs(program: &Program, known: &[Ancillary], options: &Options) -> Result<Filter, Error> {
        let graph = graph(program, known, &[], options)?;
        let decision = Decision::of_graph(graph, options)?;
        Ok(Filter(Arc::new(Inner { decision, inputs: known.to_vec() })))
    }

    /// Whether a fully captured packet matches.
    ///
    /// ```
    /// let accept = bpf::read(b"1,6 0 0 1")?;
    /// assert!(bpf::Filter::new(&accept, &bpf::Options::default())?.matches(&[]));
    /// # Ok::<(), bpf::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the program has inputs, as for [`Filter::matches_captured`] and [`Filter::match_burst`].
    #[inline]
    pub fn matches(&self, packet: &[u8]) -> bool {
        self.matches_captured(packet, u32::try_from(packet.len()).unwrap_or(u32::MAX))
    }

    /// Whether a packet matches of which `captured` is the beginning and which was `wire_len` bytes long.
    #[inline]
    pub fn matches_captured(&self, captured: &[u8], wire_len: u32) -> bool {
        self.0.decision.leaf(captured, wire_len) != decide::REJECT
    }

    /// The same, with what the caller knows of the packet: a number for each of [`Filter::inputs`].
    ///
    /// # Panics
    /// If there are fewer.
    pub fn matches_with(&self, captured: &[u8], wire_len: u32, row: &[u32]) -> bool {
        self.0.decision.leaf_with(captured, wire_len, row) != decide::REJECT
    }

    /// Which packets of a burst match: bit `i % 64` of word `i / 64` of `bits` is for packet `i`. Returns how many.
    ///
    /// # Panics
    /// If `bits` has less than a bit for each packet.
    pub fn match_burst(&self, packets: &[Packet<'_>], bits: &mut [u64]) -> usize {
        self.0.decision.run_burst(packets, bits);
        count_ones(&bits[..packets.len().div_ceil(64)])
    }

    /// The same, with a row of [`Filter::inputs`] for each packet, one behind the other.
    ///
    /// ```
    /// use bpf::{Ancillary, Filter, Options, Packet};
    ///
    /// let program = bpf::read(b"2,48 0 0 4294963248,22 0 0 0")?;
    /// let filter = Filter::with_inputs(&program, &[Ancillary::VlanTagPresent], &Options::default())?;
    /// let mut bits = [0];
    /// assert_eq!(filter.match_burst_with(&[Packet::EMPTY; 3], &[1, 0, 1], &mut bits), 2);
    /// assert_eq!(bits[0], 0b101);
    /// # Ok::<(), bpf::Error>(())
    /// ```
    ///
    /// # Panics
    /// If `bits` has less than a bit for each packet, or `rows` less than a row.
    pub fn match_burst_with(&self, packets: &[Packet<'_>], rows: &[u32], bits: &mut [u64]) -> usize {
        self.0.decision.run_burst_with(packets, rows, bits);
        count_ones(&bits[..packets.len().div_ceil(64)])
    }

    /// What the caller knows of each packet.
    ///
    /// ```
    /// let accept = bpf::read(b"1,6 0 0 1")?;
    /// assert!(bpf::Filter::new(&accept, &bpf::Options::default())?.inputs().is_empty());
    /// # Ok::<(), bpf::Error>(())
    /// ```
    pub fn inputs(&self) -> &[Ancillary] {
        &self.0.inputs
    }

    /// Whether it runs as machine code.
    ///
    /// ```
    /// let accept = bpf::read(b"1,6 0 0 1")?;
    /// let filter = bpf::Filter::new(&accept, &bpf::Options::default())?;
    /// assert_eq!(filter.is_native(), filter.fallback_reason().is_none());
    /// # Ok::<(), bpf::Error>(())
    /// ```
    pub fn is_native(&self) -> bool {
        self.fallback_reason().is_none()
    }

    /// The reason why there is no machine code; the interpreter runs the program then.
    pub fn fallback_reason(&self) -> Option<&NoExec> {
        self.0.decision.fallback_reason()
    }

    /// The engine that decides the packets of long bursts.
    ///
    /// ```
    /// let accept = bpf::read(b"1,6 0 0 1")?;
    /// let engine = bpf::Filter::new(&accept, &bpf::Options::default())?.burst_engine();
    /// assert!(!engine.to_string().is_empty());
    /// # Ok::<(), bpf::Error>(())
    /// ```
    pub fn burst_engine(&self) -> BurstEngine {
        self.0.decision.burst_engine()
    }

    /// The machine code.
    #[doc(hidden)]
    pub fn native(&self) -> Option<&NativeFilter> {
        self.0.decision.native()
    }

    /// The graph that runs.
    #[doc(hidden)]
    pub fn graph(&self) -> &Graph {
        self.0.decision.graph()
    }
}

/// A program as a graph of which the nodes know their instructions: what people look at.
#[doc(hidden)]
#[derive(Debug)]
pub struct Stages {
    /// The listing, of which the spans of the graphs are.
    pub listing: String,
    /// Load for load.
    pub graph: Graph,
}

impl Stages {
    /// # Errors
    /// As [`Filter::with_inputs`].
    pub fn new(program: &Program, known: &[Ancillary], options: &Options) -> Result<Stages, Error> {
        let (listing, spans) = listing(program);
        let graph = graph(program, known, &spans, options)?;
        Ok(Stages { listing, graph })
    }

    /// The graph as a target takes it which wants these passes.
    ///
    /// # Errors
    /// Where a bound of the options is exceeded.
    pub fn checked(&self, passes: Passes, options: &Options) -> Result<Checked, Error> {
        let budget = Budget::new(options.nodes_max, options.time_ms_max);
        Ok(checked_graph(self.graph.clone(), passes, &budget)?)
    }
}

impl Stages {
    /// The program again, written from its graph as filters are.
    ///
    /// # Errors
    /// Where a bound of the options is exceeded, or it has no form that the kernel takes.
    pub fn to_cbpf(&self, known: &[Ancillary], options: &Options) -> Result<Program, Error> {
        let inputs: Vec<u32> = known.iter().map(|data| data.offset()).collect();
        let insns = cbpf::program(self.checked(Passes::CBPF, options)?.verified(), &inputs);
        insns.map(Program::from).map_err(|why| Error::whole(ErrorKind::NoBytecode, why.to_string()))
    }

    /// A function in C, with the listing as its comment.
    ///
    /// # Errors
    /// Where a bound of the options is exceeded, or too many values must be kept at once.
    pub fn to_c(&self, name: &str, options: &Options) -> Result<String, Error> {
        let checked = self.checked(Passes::C, options)?;
        let function = c::function(checked.verified(), name, c::Returns::Flag, &self.listing);
        let function = function.map_err(decide::Error::from)?;
        let listing: String =
            self.listing.lines().map(|line| format!(" * {}\n", c::in_comment(line))).collect();
        Ok(format!("/*\n{listing} *\n{ABOUT} */\n{function}"))
    }
}

impl Stages {
    /// A chunk for LuaJIT, with the listing as its comment.
    ///
    /// # Errors
    /// As [`Stages::to_c`].
    pub fn to_lua(&self, options: &Options) -> Result<String, Error> {
        let checked = self.checked(Passes::LUA, options)?;
        let chunk = lua::chunk(checked.verified(), lua::Answers::Flag, &[], &self.listing);
        let chunk = chunk.map_err(decide::Error::from)?;
        let listing: String =
            self.listing.lines().map(|line| format!("-- {}\n", lua::in_comment(line))).collect();
        Ok(format!("{listing}--\n{ABOUT_LUA}{chunk}"))
    }
}

const ABOUT_LUA: &str = "-- Made by sluss of this program of classic BPF. Returns function(P, length): whether the packet matches, of which\n\
                         -- P points to all length bytes, from its link-layer header on.\n";

/// What a function in C says of itself.
const ABOUT: &str = " * Made by sluss of this program of classic BPF. Returns 1 where the packet matches, else 0. `data` is the packet\n \
                     * from its link-layer header on, of which `captured` bytes are there; `wire_len` is its length on the wire.\n";

/// The listing, and the place in it of each instruction without its number.
fn listing(program: &Program) -> (String, Vec<Span>) {
    let mut text = String::new();
    let spans = program.insns().iter().enumerate().map(|(pc, insn)| {
        let line = listed(pc, *insn);
        let start = text.len() + line.find(')').map_or(0, |at| at + 2);
        let end = text.len() + line.len();
        let _ = writeln!(text, "{line}");
        Span::new(start as u32, end as u32)
    });
    let spans = spans.collect();
    (text, spans)
}
