//! An ordered list of filters as one decision: the first that matches gives the answer.

mod compile;

use crate::BurstEngine;
use crate::classifier::{Classifier, LookedUp, Tables};
use crate::exec::{NativeList, NoExec, Packet};
use crate::ir::{Graph, REJECT};
use decide::{Decision, Leaves};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use wire::LinkType;

/// A compiled list of filters, each with an answer, made by [`Compiler::compile_list`](crate::Compiler::compile_list).
///
/// The first filter in the order of the list that matches a packet decides, with its answer. All share their tests: what
/// one has asked, the next does not ask again. Each means what it means alone: a packet that ends before a byte which one
/// of them has to read is not matched by that one, and the next is asked.
///
/// ```
/// # use pflang::{Compiler, FilterList, Packet};
/// # use wire::LinkType;
/// let entries = [("arp", 1), ("tcp port 80 or tcp port 443", 2), ("ip or ip6", 3)];
/// let list = Compiler::new(LinkType::EN10MB).compile_list(&entries)?;
/// let mut frame = [0; 60];
/// assert_eq!(list.decide(&frame), None);
/// frame[12..14].copy_from_slice(&[0x86, 0xdd]);
/// assert_eq!(list.decide(&frame), Some(3));
///
/// let burst = [Packet::new(&frame, 60), Packet::new(&frame[..13], 60)];
/// let mut answers = [0; 2];
/// list.decide_burst(&burst, &mut answers);
/// assert_eq!(answers, [3, FilterList::NONE]);
/// # Ok::<(), pflang::Error>(())
/// ```
#[derive(Clone)]
pub struct FilterList(Arc<Inner>);

struct Inner {
    text: String,
    entries: Vec<Stored>,
    linktype: LinkType,
    /// Of a list whose filters are looked up, the others.
    decision: Decision<Leaves>,
    tables: Tables,
}

/// An entry whose text is a part of the text of all.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) text: Range<usize>,
    pub(crate) answer: u32,
}

/// One filter of a [`FilterList`].
///
/// ```
/// use pflang::Compiler;
/// use wire::LinkType;
///
/// let entries = [("arp", 1), ("arp", 2)];
/// let list = Compiler::new(LinkType::EN10MB).compile_list(&entries)?;
/// let second = list.entries().nth(1).unwrap();
/// assert_eq!((second.source, second.answer), ("arp", 2));
/// # Ok::<(), pflang::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Entry<'p> {
    /// The text it was compiled from.
    pub source: &'p str,
    /// Its answer.
    pub answer: u32,
}

impl FilterList {
    /// The answer that a burst writes for a packet that no filter matches. A filter may have it for an answer: what it is the first
    /// to match is not asked of those behind it and gets no answer.
    ///
    /// ```
    /// use pflang::{Compiler, FilterList, LinkType, Packet};
    ///
    /// let list = Compiler::new(LinkType::EN10MB).compile_list(&[("tcp", 1)])?;
    /// let mut answers = [7];
    /// list.decide_burst(&[Packet::EMPTY], &mut answers);
    /// assert_eq!(answers, [FilterList::NONE]);
    /// # Ok::<(), pflang::Error>(())
    /// ```
    pub const NONE: u32 = REJECT;

    /// Makes a list of its parts.
    pub(crate) fn new(
        text: String,
        entries: Vec<Stored>,
        linktype: LinkType,
        decision: Decision<Leaves>,
        tables: Tables,
    ) -> Self {
        FilterList(Arc::new(Inner { text, entries, linktype, decision, tables }))
    }

    /// The answer for a packet of which every byte was captured.
    ///
    /// ```
    /// # use pflang::Compiler;
    /// # use wire::LinkType;
    /// let entries = [("arp", 1), ("greater 100", 2)];
    /// let list = Compiler::new(LinkType::EN10MB).compile_list(&entries)?;
    /// assert_eq!(list.decide(&[0; 100]), Some(2));
    /// assert_eq!(list.decide(&[0; 60]), None);
    /// # Ok::<(), pflang::Error>(())
    /// ```
    #[inline]
    pub fn decide(&self, packet: &[u8]) -> Option<u32> {
        self.decide_captured(packet, u32::try_from(packet.len()).unwrap_or(u32::MAX))
    }

    /// The answer for a packet of which `captured` is the beginning and which was `wire_len` bytes long.
    ///
    /// ```
    /// # use pflang::Compiler;
    /// # use wire::LinkType;
    /// let entries = [("arp", 1), ("greater 100", 2)];
    /// let list = Compiler::new(LinkType::EN10MB).compile_list(&entries)?;
    /// assert_eq!(list.decide_captured(&[0; 60], 1500), Some(2));
    /// # Ok::<(), pflang::Error>(())
    /// ```
    #[inline]
    pub fn decide_captured(&self, captured: &[u8], wire_len: u32) -> Option<u32> {
        let answer = match self.0.tables.classifier() {
            None => self.0.decision.leaf(captured, wire_len),
            Some(classifier) => classifier.leaf(&self.0.decision, captured, wire_len, &[]),
        };
        Some(answer).filter(|&answer| answer != Self::NONE)
    }

    /// The answers for a burst: `answers[i]` is that for packet `i`, or [`FilterList::NONE`].
    ///
    /// ```
    /// # use pflang::{Compiler, FilterList, Packet};
    /// # use wire::LinkType;
    /// let entries = [("arp", 1), ("greater 100", 2)];
    /// let list = Compiler::new(LinkType::EN10MB).compile_list(&entries)?;
    /// let burst = [Packet::new(&[0; 60], 1500), Packet::new(&[0; 60], 60)];
    /// let mut answers = [0; 2];
    /// list.decide_burst(&burst, &mut answers);
    /// assert_eq!(answers, [2, FilterList::NONE]);
    /// # Ok::<(), pflang::Error>(())
    /// ```
    ///
    /// # Panics
    /// If `answers` is shorter than `packets`.
    pub fn decide_burst(&self, packets: &[Packet<'_>], answers: &mut [u32]) {
        let room = answers.len();
        assert!(room >= packets.len(), "room for {room} answers is too little for {} packets", packets.len());
        match self.0.tables.classifier() {
            None => self.0.decision.run_burst(packets, answers),
            Some(classifier) => classifier.leaves(&self.0.decision, packets, (&[], 0), answers),
        }
    }

    /// What became of a list of many filters: those that are looked up in tables. `None` where all are asked by one program.
    ///
    /// ```
    /// # use pflang::{Compiler, LinkType};
    /// let list: Vec<(String, u32)> = (1..1000).map(|port| (format!("udp dst port {port}"), port)).collect();
    /// let list = Compiler::new(LinkType::EN10MB).compile_list(&list)?;
    /// assert_eq!(list.looked_up().map(|looked_up| looked_up.clauses), Some(999));
    /// # Ok::<(), pflang::Error>(())
    /// ```
    pub fn looked_up(&self) -> Option<LookedUp> {
        self.0.tables.summary(&[])
    }

    /// The engine that decides the packets of long bursts, chosen as for [`Filter::burst_engine`](crate::Filter::burst_engine).
    ///
    /// ```
    /// # use pflang::{Backend, BurstEngine, Compiler};
    /// # use wire::LinkType;
    /// let reference = Compiler::new(LinkType::EN10MB).backend(Backend::Interpreter).compile_list(&[("tcp", 1)])?;
    /// assert_eq!(reference.burst_engine(), BurstEngine::Interpreter);
    /// # Ok::<(), pflang::Error>(())
    /// ```
    pub fn burst_engine(&self) -> BurstEngine {
        self.0.decision.burst_engine()
    }

    /// The filters, in their order.
    ///
    /// ```
    /// # use pflang::Compiler;
    /// # use wire::LinkType;
    /// let entries = [("arp", 1), ("greater 100", 2)];
    /// let list = Compiler::new(LinkType::EN10MB).compile_list(&entries)?;
    /// let answers: Vec<u32> = list.entries().map(|entry| entry.answer).collect();
    /// assert_eq!(answers, [1, 2]);
    /// # Ok::<(), pflang::Error>(())
    /// ```
    pub fn entries(&self) -> impl ExactSizeIterator<Item = Entry<'_>> {
        let text = &self.0.text;
        self.0.entries.iter().map(move |Stored { text: range, answer }| Entry {
            source: text.get(range.clone()).unwrap_or_default(),
            answer: *answer,
        })
    }

    /// The texts of all filters, each on lines of its own: what the spans of the graph are about.
    ///
    /// ```
    /// # use pflang::Compiler;
    /// # use wire::LinkType;
    /// let entries = [("arp", 1), ("greater 100", 2)];
    /// let list = Compiler::new(LinkType::EN10MB).compile_list(&entries)?;
    /// assert_eq!(list.text(), "arp\ngreater 100\n");
    /// # Ok::<(), pflang::Error>(())
    /// ```
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The link type of the packets it understands.
    ///
    /// ```
    /// # use pflang::{Compiler, LinkType};
    /// let list = Compiler::new(LinkType::RAW).compile_list(&[("udp", 1)])?;
    /// assert_eq!(list.linktype(), LinkType::RAW);
    /// # Ok::<(), pflang::Error>(())
    /// ```
    pub fn linktype(&self) -> LinkType {
        self.0.linktype
    }

    /// Whether an answer may depend on the length on the wire, as for [`Filter::reads_wire_len`](crate::Filter::reads_wire_len).
    ///
    /// ```
    /// # use pflang::Compiler;
    /// # use wire::LinkType;
    /// let compiler = Compiler::new(LinkType::EN10MB);
    /// assert!(compiler.compile_list(&[("arp", 1), ("less 100", 2)])?.reads_wire_len());
    /// assert!(!compiler.compile_list(&[("arp", 1), ("tcp", 2)])?.reads_wire_len());
    /// # Ok::<(), pflang::Error>(())
    /// ```
    pub fn reads_wire_len(&self) -> bool {
        let looked_up = self.0.tables.classifier();
        self.graph().reads_wire_len() || looked_up.is_some_and(Classifier::reads_wire_len)
    }

    /// The graph that runs; of a list whose filters are looked up, that of the others.
    #[doc(hidden)]
    pub fn graph(&self) -> &Graph {
        self.0.decision.graph()
    }

    /// Whether it runs as machine code, but for tables in which filters are looked up.
    ///
    /// ```
    /// # use pflang::Compiler;
    /// # use wire::LinkType;
    /// let entries = [("arp", 1), ("greater 100", 2)];
    /// let list = Compiler::new(LinkType::EN10MB).compile_list(&entries)?;
    /// assert_eq!(list.is_native(), list.fallback_reason().is_none());
    /// # Ok::<(), pflang::Error>(())
    /// ```
    pub fn is_native(&self) -> bool {
        self.native().is_some()
    }

    /// The machine code.
    #[doc(hidden)]
    pub fn native(&self) -> Option<&NativeList> {
        self.0.decision.native()
    }

    /// The reason why there is no machine code, where it was wanted; the interpreter runs the list then.
    ///
    /// ```
    /// # use pflang::{Compiler, LinkType};
    /// let list = Compiler::new(LinkType::EN10MB).compile_list(&[("udp", 1)])?;
    /// if let Some(reason) = list.fallback_reason() {
    ///     eprintln!("the interpreter runs it: {reason}");
    /// }
    /// # Ok::<(), pflang::Error>(())
    /// ```
    pub fn fallback_reason(&self) -> Option<&NoExec> {
        self.0.decision.fallback_reason()
    }
}

impl fmt::Debug for FilterList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilterList")
            .field("entries", &self.0.entries.len())
            .field("linktype", &self.0.linktype)
            .field("native", &self.is_native())
            .finish_non_exhaustive()
    }
}
