//! pfmatch programs: which handler a packet is for, and with which arguments.

mod calls;
mod compile;
mod substitute;
mod unknown;

use crate::BurstEngine;
use crate::classifier::{Classifier, CommonHeader, LookedUp, Tables, depends, longest_path};
use crate::exec::{NoExec, Packet};
use crate::ir::{Graph, REJECT};
pub use calls::{Call, Calls};
pub(crate) use compile::ReadMatch;
pub use compile::{MatchParts, ParsedMatch};
use decide::{Decision, LeafValues};
use std::fmt;
use std::sync::Arc;
use wire::LinkType;

/// A compiled pfmatch program, made by [`Compiler::compile_match`](crate::Compiler::compile_match).
///
/// All clauses share their tests and loads, and thousands of clauses on one field are one lookup.
///
/// ```
/// use pflang::{Compiler, LinkType};
///
/// let compiler = Compiler::new(LinkType::EN10MB);
/// let matcher = compiler.compile_match("match (mark) { mark > 3 => high(mark), otherwise => low }")?;
/// let mut values = Vec::new();
/// let call = matcher.call_captured(&[], 60, &[7], &mut values).unwrap();
/// assert_eq!((call.handler, call.arguments), ("high", &[7][..]));
/// # Ok::<(), pflang::Error>(())
/// ```
#[derive(Clone)]
pub struct Matcher(Arc<Inner>);

struct Inner {
    source: Arc<str>,
    linktype: LinkType,
    /// Of a program whose clauses are looked up, the others.
    decision: Decision,
    tables: Tables,
    leaves: LeafValues,
    handlers: Vec<String>,
    inputs: Vec<String>,
    reads_wire_len: bool,
    /// Whether each handler has one leaf, in the order of their numbers.
    leaves_are_handlers: bool,
}

impl Matcher {
    /// Makes a program of its parts. `values_read_len` says whether an argument depends on the length on the wire.
    fn new(
        (source, linktype): (Arc<str>, LinkType),
        decision: Decision,
        (leaves, values_read_len): (LeafValues, bool),
        (handlers, inputs): (Vec<String>, Vec<String>),
        tables: Tables,
    ) -> Matcher {
        let reads_wire_len = values_read_len
            || decision.graph().reads_wire_len()
            || tables.classifier().is_some_and(Classifier::reads_wire_len);
        let leaves_are_handlers = (1..=leaves.last()).all(|leaf| leaves.answer(leaf) == Some(leaf - 1));
        Matcher(Arc::new(Inner {
            source,
            linktype,
            decision,
            tables,
            leaves,
            handlers,
            inputs,
            reads_wire_len,
            leaves_are_handlers,
        }))
    }

    /// What is to be called for a packet of which every byte was captured; `None` where no clause takes it. `values` is room for the
    /// arguments, to be used again for the next packet.
    ///
    /// ```
    /// # use pflang::{Compiler, LinkType};
    /// let matcher = Compiler::new(LinkType::EN10MB).compile_match("match { len > 50 => long(len, 1) }")?;
    /// let mut values = Vec::new();
    /// assert_eq!(matcher.call(&[0; 60], &mut values).map(|call| call.arguments), Some(&[60, 1][..]));
    /// assert_eq!(matcher.call(&[0; 40], &mut values), None);
    /// # Ok::<(), pflang::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the program has inputs: see [`Matcher::call_captured`].
    #[inline]
    pub fn call<'m>(&'m self, packet: &[u8], values: &'m mut Vec<u32>) -> Option<Call<'m>> {
        self.call_captured(packet, u32::try_from(packet.len()).unwrap_or(u32::MAX), &[], values)
    }

    /// The same for a packet of which `captured` is the beginning and which was `wire_len` bytes long, with the numbers that the caller
    /// gives with it, in the order of [`Matcher::inputs`].
    ///
    /// ```
    /// # use pflang::{Compiler, LinkType};
    /// let matcher = Compiler::new(LinkType::EN10MB).compile_match("match (a, b) { a = b => same(len) }")?;
    /// let mut values = Vec::new();
    /// assert!(matcher.call_captured(&[0; 14], 60, &[5, 6], &mut values).is_none());
    /// let call = matcher.call_captured(&[0; 14], 60, &[5, 5], &mut values);
    /// assert_eq!(call.map(|call| call.arguments), Some(&[60][..]));
    /// # Ok::<(), pflang::Error>(())
    /// ```
    ///
    /// # Panics
    /// If these are fewer than the program has.
    pub fn call_captured<'m>(
        &'m self,
        captured: &[u8],
        wire_len: u32,
        inputs: &[u32],
        values: &'m mut Vec<u32>,
    ) -> Option<Call<'m>> {
        let leaf = match self.0.tables.classifier() {
            None => self.0.decision.leaf_with(captured, wire_len, inputs),
            Some(classifier) => {
                let (given, wanted) = (inputs.len(), self.0.inputs.len());
                assert!(given >= wanted, "{given} inputs, of {wanted}");
                classifier.leaf(&self.0.decision, captured, wire_len, inputs)
            }
        };
        values.clear();
        if self.0.leaves.has_values() {
            self.push_values(leaf, Packet::new(captured, wire_len), inputs, values);
        }
        self.call_of(leaf, values)
    }

    /// What is to be called for packets, with each of which the caller gives a row of [`Matcher::inputs`] numbers; the rows lie one behind
    /// the other. Read it by [`Matcher::calls`].
    ///
    /// ```
    /// # use pflang::{Calls, Compiler, LinkType, Packet};
    /// let matcher = Compiler::new(LinkType::EN10MB).compile_match("match (mark) { otherwise => marked(mark) }")?;
    /// let mut calls = Calls::default();
    /// matcher.call_burst(&[Packet::EMPTY; 3], &[7, 8, 9], &mut calls);
    /// let arguments: Vec<u32> = matcher.calls(&calls).flatten().map(|call| call.arguments[0]).collect();
    /// assert_eq!(arguments, [7, 8, 9]);
    /// # Ok::<(), pflang::Error>(())
    /// ```
    ///
    /// # Panics
    /// If there is no row for each packet.
    pub fn call_burst(&self, packets: &[Packet<'_>], rows: &[u32], calls: &mut Calls) {
        self.call_burst_by(packets, rows, calls, |leaves| self.run_burst(packets, rows, leaves));
    }

    fn run_burst(&self, packets: &[Packet<'_>], rows: &[u32], leaves: &mut [u32]) {
        let width = self.0.inputs.len();
        match self.0.tables.classifier() {
            None => self.0.decision.run_burst_with(packets, rows, leaves),
            Some(classifier) => {
                assert!(rows.len() >= width * packets.len(), "a row for each packet");
                classifier.leaves(&self.0.decision, packets, (rows, width), leaves);
            }
        }
    }

    /// The same, by something else that gives the leaf of each packet.
    #[doc(hidden)]
    pub fn call_burst_by(
        &self,
        packets: &[Packet<'_>],
        rows: &[u32],
        calls: &mut Calls,
        run: impl FnOnce(&mut [u32]),
    ) {
        let Calls { leaves, values } = calls;
        leaves.resize(packets.len(), REJECT);
        values.clear();
        run(leaves);
        if !self.0.leaves.has_values() {
            return;
        }
        let width = self.0.inputs.len();
        for (i, (&leaf, packet)) in leaves.iter().zip(packets).enumerate() {
            self.push_values(leaf, *packet, &rows[i * width..(i + 1) * width], values);
        }
    }

    /// The calls of a burst that this program has decided, in the order of its packets.
    ///
    /// ```
    /// # use pflang::{Calls, Compiler, LinkType, Packet};
    /// let matcher = Compiler::new(LinkType::EN10MB).compile_match("match { len > 50 => long }")?;
    /// let mut calls = Calls::default();
    /// matcher.call_burst(&[Packet::new(&[], 60), Packet::EMPTY], &[], &mut calls);
    /// assert_eq!(matcher.calls(&calls).filter(Option::is_some).count(), 1);
    /// # Ok::<(), pflang::Error>(())
    /// ```
    pub fn calls<'m>(&'m self, calls: &'m Calls) -> impl Iterator<Item = Option<Call<'m>>> {
        let mut rest = &calls.values[..];
        calls.leaves.iter().map(move |&leaf| {
            let (arguments, behind) = rest.split_at(self.0.leaves.count(leaf).min(rest.len()));
            rest = behind;
            self.call_of(leaf, arguments)
        })
    }

    /// Which handlers packets are for, without their arguments: one more than its number, or 0 where no clause takes the packet.
    ///
    /// ```
    /// # use pflang::{Compiler, LinkType, Packet};
    /// let matcher = Compiler::new(LinkType::EN10MB).compile_match("match { len > 90 => a, len > 50 => b(1) }")?;
    /// let mut numbers = [7; 3];
    /// matcher.decide_burst(&[Packet::new(&[], 100), Packet::new(&[], 60), Packet::EMPTY], &[], &mut numbers);
    /// assert_eq!(numbers, [1, 2, 0]);
    /// # Ok::<(), pflang::Error>(())
    /// ```
    ///
    /// # Panics
    /// If there is no room for the answer for each packet, or no row of inputs.
    pub fn decide_burst(&self, packets: &[Packet<'_>], rows: &[u32], numbers: &mut [u32]) {
        let numbers = &mut numbers[..packets.len()];
        self.run_burst(packets, rows, numbers);
        if !self.0.leaves_are_handlers {
            for number in numbers {
                *number = self.0.leaves.answer(*number).map_or(0, |handler| handler + 1);
            }
        }
    }

    fn push_values(&self, leaf: u32, packet: Packet<'_>, inputs: &[u32], values: &mut Vec<u32>) {
        let begin = values.len();
        values.resize(begin + self.0.leaves.count(leaf), 0);
        // The tree has asked whether they can be computed.
        self.0.leaves.values(leaf, packet.data(), packet.wire_len(), inputs, &mut values[begin..]);
    }

    fn call_of<'m>(&'m self, leaf: u32, arguments: &'m [u32]) -> Option<Call<'m>> {
        let number = self.0.leaves.answer(leaf)?;
        Some(Call { handler: &self.0.handlers[number as usize], number, arguments })
    }

    /// The handlers, in the order in which the program first names them.
    ///
    /// ```
    /// # use pflang::{Compiler, LinkType};
    /// let matcher = Compiler::new(LinkType::EN10MB).compile_match("match { tcp => a, udp => b, arp => a }")?;
    /// assert_eq!(matcher.handlers().collect::<Vec<_>>(), ["a", "b"]);
    /// # Ok::<(), pflang::Error>(())
    /// ```
    pub fn handlers(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.handlers.iter().map(String::as_str)
    }

    /// The names of the numbers that the caller gives with each packet, in the order of their row.
    ///
    /// ```
    /// # use pflang::{Compiler, LinkType};
    /// let compiler = Compiler::new(LinkType::EN10MB).inputs(["mark"]);
    /// let matcher = compiler.compile_match("match (flow_count) { flow_count > mark => a }")?;
    /// assert_eq!(matcher.inputs().collect::<Vec<_>>(), ["mark", "flow_count"]);
    /// # Ok::<(), pflang::Error>(())
    /// ```
    pub fn inputs(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.inputs.iter().map(String::as_str)
    }

    /// Whether a handler is called with arguments somewhere.
    ///
    /// ```
    /// # use pflang::{Compiler, LinkType};
    /// let compiler = Compiler::new(LinkType::EN10MB);
    /// assert!(compiler.compile_match("match { tcp => a(1) }")?.has_arguments());
    /// assert!(!compiler.compile_match("match { tcp => a() }")?.has_arguments());
    /// # Ok::<(), pflang::Error>(())
    /// ```
    pub fn has_arguments(&self) -> bool {
        (1..=self.0.leaves.last()).any(|leaf| self.0.leaves.count(leaf) > 0)
    }

    /// The text it was compiled from.
    ///
    /// ```
    /// # use pflang::{Compiler, LinkType};
    /// let matcher = Compiler::new(LinkType::EN10MB).compile_match("match {}")?;
    /// assert_eq!(matcher.source(), "match {}");
    /// # Ok::<(), pflang::Error>(())
    /// ```
    pub fn source(&self) -> &str {
        &self.0.source
    }

    /// The link type of the packets it understands.
    ///
    /// ```
    /// # use pflang::{Compiler, LinkType};
    /// let matcher = Compiler::new(LinkType::RAW).compile_match("match {}")?;
    /// assert_eq!(matcher.linktype(), LinkType::RAW);
    /// # Ok::<(), pflang::Error>(())
    /// ```
    pub fn linktype(&self) -> LinkType {
        self.0.linktype
    }

    /// Whether an answer may depend on the length on the wire, as for [`Filter::reads_wire_len`](crate::Filter::reads_wire_len).
    ///
    /// ```
    /// # use pflang::{Compiler, LinkType};
    /// let compiler = Compiler::new(LinkType::EN10MB);
    /// assert!(compiler.compile_match("match { less 100 => a }")?.reads_wire_len());
    /// assert!(compiler.compile_match("match { tcp => a(len) }")?.reads_wire_len());
    /// assert!(!compiler.compile_match("match { tcp => a }")?.reads_wire_len());
    /// # Ok::<(), pflang::Error>(())
    /// ```
    pub fn reads_wire_len(&self) -> bool {
        self.0.reads_wire_len
    }

    /// The engine that decides the packets of long bursts, chosen as for [`Filter::burst_engine`](crate::Filter::burst_engine).
    ///
    /// ```
    /// # use pflang::{Backend, BurstEngine, Compiler, LinkType};
    /// let reference = Compiler::new(LinkType::EN10MB).backend(Backend::Interpreter).compile_match("match {}")?;
    /// assert_eq!(reference.burst_engine(), BurstEngine::Interpreter);
    /// # Ok::<(), pflang::Error>(())
    /// ```
    pub fn burst_engine(&self) -> BurstEngine {
        self.0.decision.burst_engine()
    }

    /// The reason why there is no machine code, where it was wanted; the interpreter runs the program then.
    ///
    /// ```
    /// # use pflang::{Compiler, LinkType};
    /// let matcher = Compiler::new(LinkType::EN10MB).compile_match("match { udp => a }")?;
    /// if let Some(reason) = matcher.fallback_reason() {
    ///     eprintln!("the interpreter runs it: {reason}");
    /// }
    /// # Ok::<(), pflang::Error>(())
    /// ```
    pub fn fallback_reason(&self) -> Option<&NoExec> {
        self.0.decision.fallback_reason()
    }

    /// What became of a program of many clauses: those that are looked up in tables. `None` where all are asked by one program.
    ///
    /// ```
    /// # use pflang::{Compiler, LinkType};
    /// assert!(Compiler::new(LinkType::EN10MB).compile_match("match { tcp => a }")?.looked_up().is_none());
    /// # Ok::<(), pflang::Error>(())
    /// ```
    pub fn looked_up(&self) -> Option<LookedUp> {
        self.0.tables.summary(&self.0.inputs)
    }

    /// Whether clauses are looked up in tables beside the graph.
    #[doc(hidden)]
    pub fn has_tables(&self) -> bool {
        self.0.tables.classifier().is_some()
    }

    /// The places of the row of inputs that an answer depends on, if it depends on nothing of the packet.
    ///
    /// ```
    /// # use pflang::{Compiler, LinkType};
    /// let places = |program| Ok::<_, pflang::Error>(Compiler::new(LinkType::EN10MB).compile_match(program)?.places());
    /// assert_eq!(places("match (a, b) { b = 3 => c }")?, Some(vec![1]));
    /// assert_eq!(places("match (a, b) { b = 3 and tcp => c }")?, None);
    /// # Ok::<(), pflang::Error>(())
    /// ```
    pub fn places(&self) -> Option<Vec<usize>> {
        self.places_for(&CommonHeader::default())
    }

    /// The places of the row of inputs that the answers for packets with this header depend on, if these depend on nothing else that differs from packet to packet:
    /// two packets with this header and the same numbers there are for the same handler. See [`CommonHeader`].
    pub fn places_for(&self, header: &CommonHeader) -> Option<Vec<usize>> {
        let mut places = Vec::new();
        let is_common = depends(self.0.decision.graph(), header, &mut places).is_some()
            && self.0.tables.classifier().is_none_or(|classifier| classifier.reads(header, &mut places));
        places.sort_unstable();
        places.dedup();
        is_common.then_some(places)
    }

    /// Nodes of its graphs; a table counts as one.
    #[doc(hidden)]
    pub fn nodes(&self) -> usize {
        self.graph().node_count() + self.0.tables.classifier().map_or(0, Classifier::nodes)
    }

    /// Tests on the longest way of a packet; a look-up counts as one.
    #[doc(hidden)]
    pub fn longest_path(&self) -> usize {
        longest_path(self.graph()) + self.0.tables.classifier().map_or(0, Classifier::longest_path)
    }

    /// The graph that runs; of a program whose clauses are looked up, that of the others.
    #[doc(hidden)]
    pub fn graph(&self) -> &Graph {
        self.0.decision.graph()
    }
}

impl fmt::Debug for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Matcher")
            .field("source", &self.0.source)
            .field("linktype", &self.0.linktype)
            .field("handlers", &self.0.handlers)
            .field("inputs", &self.0.inputs)
            .finish_non_exhaustive()
    }
}
