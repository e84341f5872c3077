//! A compiled filter: cheap to clone, safe to share, the same answer from every back end.

use crate::BurstEngine;
use crate::diag::Error;
use crate::exec::{NativeFilter, NoExec, Packet, count_ones};
use crate::ir::{Graph, REJECT};
use decide::{Bits, Decision, Insn};
use std::fmt;
use std::sync::Arc;
use wire::LinkType;

/// A compiled filter.
///
/// ```
/// # use pflang::{Compiler, Packet};
/// # use wire::LinkType;
/// let filter = Compiler::new(LinkType::RAW).compile("greater 1000")?;
/// assert!(!filter.matches(&[0x45; 40]));
/// // `len` is the length on the wire, whatever was captured of it.
/// assert!(filter.matches_captured(&[0x45; 40], 1500));
///
/// let burst = [Packet::new(&[0x45; 40], 40), Packet::new(&[0x45; 40], 1500)];
/// let mut bits = [0];
/// assert_eq!(filter.match_burst(&burst, &mut bits), 1);
/// assert_eq!(bits[0], 0b10);
/// # Ok::<(), pflang::Error>(())
/// ```
#[derive(Clone)]
pub struct Filter(Arc<Inner>);

struct Inner {
    source: Arc<str>,
    linktype: LinkType,
    decision: Decision<Bits>,
    written: Written,
}

/// Writes the text as bytecode, by the compiler that the filter came from.
pub(crate) type Written = Box<dyn Fn(&str) -> Result<Vec<Insn>, Error> + Send + Sync>;

impl Filter {
    /// Makes a filter of its parts.
    pub(crate) fn new(
        source: Arc<str>,
        linktype: LinkType,
        decision: Decision<Bits>,
        written: Written,
    ) -> Self {
        Filter(Arc::new(Inner { source, linktype, decision, written }))
    }

    /// Whether a fully captured packet matches.
    ///
    /// ```
    /// # use pflang::Compiler;
    /// # use wire::LinkType;
    /// let filter = Compiler::new(LinkType::EN10MB).compile("arp")?;
    /// let mut frame = [0; 60];
    /// assert!(!filter.matches(&frame));
    /// frame[12..14].copy_from_slice(&[0x08, 0x06]);
    /// assert!(filter.matches(&frame));
    /// // The type is not there to be read.
    /// assert!(!filter.matches(&frame[..13]));
    /// # Ok::<(), pflang::Error>(())
    /// ```
    #[inline]
    pub fn matches(&self, packet: &[u8]) -> bool {
        self.matches_captured(packet, u32::try_from(packet.len()).unwrap_or(u32::MAX))
    }

    /// Whether a packet matches of which `captured` is the beginning and which was `wire_len` bytes long.
    ///
    /// ```
    /// # use pflang::Compiler;
    /// # use wire::LinkType;
    /// let filter = Compiler::new(LinkType::EN10MB).compile("len = 1500 and ether[0] = 2")?;
    /// assert!(filter.matches_captured(&[2; 96], 1500));
    /// assert!(!filter.matches(&[2; 96]));
    /// # Ok::<(), pflang::Error>(())
    /// ```
    #[inline]
    pub fn matches_captured(&self, captured: &[u8], wire_len: u32) -> bool {
        self.0.decision.leaf(captured, wire_len) != REJECT
    }

    /// Which packets of a burst match: bit `i % 64` of word `i / 64` of `bits` is for packet `i`. Returns how many.
    ///
    /// ```
    /// # use pflang::{Compiler, Packet};
    /// # use wire::LinkType;
    /// let filter = Compiler::new(LinkType::EN10MB).compile("greater 100")?;
    /// let burst = [Packet::new(&[0; 60], 60), Packet::new(&[0; 60], 100)];
    /// let mut bits = vec![0; burst.len().div_ceil(64)];
    /// assert_eq!(filter.match_burst(&burst, &mut bits), 1);
    /// assert_eq!(bits, [0b10]);
    /// # Ok::<(), pflang::Error>(())
    /// ```
    ///
    /// # Panics
    /// If `bits` has less than a bit for each packet.
    pub fn match_burst(&self, packets: &[Packet<'_>], bits: &mut [u64]) -> usize {
        let words = packets.len().div_ceil(64);
        assert!(
            bits.len() >= words,
            "{} words of bits are too few for {} packets",
            bits.len(),
            packets.len()
        );
        self.0.decision.run_burst(packets, bits);
        count_ones(&bits[..words])
    }

    /// The engine that decides the packets of long bursts. Chosen by the shape of the filter and by what the processor has.
    ///
    /// ```
    /// # use pflang::{Backend, BurstEngine, Compiler};
    /// # use wire::LinkType;
    /// let reference = Compiler::new(LinkType::EN10MB).backend(Backend::Interpreter).compile("tcp")?;
    /// assert_eq!(reference.burst_engine(), BurstEngine::Interpreter);
    /// # Ok::<(), pflang::Error>(())
    /// ```
    pub fn burst_engine(&self) -> BurstEngine {
        self.0.decision.burst_engine()
    }

    /// The text it was compiled from.
    ///
    /// ```
    /// # use pflang::Compiler;
    /// # use wire::LinkType;
    /// let filter = Compiler::new(LinkType::EN10MB).compile("not vlan and udp")?;
    /// assert_eq!((filter.source(), filter.linktype()), ("not vlan and udp", LinkType::EN10MB));
    /// # Ok::<(), pflang::Error>(())
    /// ```
    pub fn source(&self) -> &str {
        &self.0.source
    }

    /// The link type of the packets it understands.
    ///
    /// ```
    /// # use pflang::{Compiler, LinkType};
    /// let filter = Compiler::new(LinkType::RAW).compile("udp")?;
    /// assert_eq!(filter.linktype(), LinkType::RAW);
    /// # Ok::<(), pflang::Error>(())
    /// ```
    pub fn linktype(&self) -> LinkType {
        self.0.linktype
    }

    /// Whether the answer may depend on the length on the wire. Where it does not, any length will do.
    ///
    /// ```
    /// # use pflang::Compiler;
    /// # use wire::LinkType;
    /// let compiler = Compiler::new(LinkType::EN10MB);
    /// assert!(compiler.compile("tcp and greater 1000")?.reads_wire_len());
    /// assert!(!compiler.compile("tcp and ip[2:2] >= 1000")?.reads_wire_len());
    /// // It matches every packet.
    /// assert!(!compiler.compile("tcp or len >= 0")?.reads_wire_len());
    /// # Ok::<(), pflang::Error>(())
    /// ```
    pub fn reads_wire_len(&self) -> bool {
        self.graph().reads_wire_len()
    }

    /// The filter as a program of classic BPF: see [`Compiler::to_cbpf`](crate::Compiler::to_cbpf). The text is compiled again, with the names and limits of the compiler
    /// that it came from.
    ///
    /// ```
    /// use pflang::{Compiler, LinkType};
    ///
    /// let filter = Compiler::new(LinkType::EN10MB).compile("tcp port 80")?;
    /// assert!(filter.to_cbpf()?.len() < 30);
    /// # Ok::<(), pflang::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Compiler::to_cbpf`](crate::Compiler::to_cbpf).
    pub fn to_cbpf(&self) -> Result<Vec<Insn>, Error> {
        (self.0.written)(&self.0.source)
    }

    /// The graph that runs.
    #[doc(hidden)]
    pub fn graph(&self) -> &Graph {
        self.0.decision.graph()
    }

    /// Whether it runs as machine code.
    ///
    /// ```
    /// # use pflang::Compiler;
    /// # use wire::LinkType;
    /// let filter = Compiler::new(LinkType::EN10MB).compile("arp")?;
    /// assert_eq!(filter.is_native(), filter.fallback_reason().is_none());
    /// # Ok::<(), pflang::Error>(())
    /// ```
    pub fn is_native(&self) -> bool {
        self.native().is_some()
    }

    /// The machine code.
    #[doc(hidden)]
    pub fn native(&self) -> Option<&NativeFilter> {
        self.0.decision.native()
    }

    /// The reason why there is no machine code, where it was wanted; the interpreter runs the filter then.
    ///
    /// ```
    /// # use pflang::{Compiler, LinkType};
    /// let filter = Compiler::new(LinkType::EN10MB).compile("udp")?;
    /// if let Some(reason) = filter.fallback_reason() {
    ///     eprintln!("the interpreter runs it: {reason}");
    /// }
    /// # Ok::<(), pflang::Error>(())
    /// ```
    pub fn fallback_reason(&self) -> Option<&NoExec> {
        self.0.decision.fallback_reason()
    }
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filter")
            .field("source", &self.0.source)
            .field("linktype", &self.0.linktype)
            .field("native", &self.is_native())
            .finish_non_exhaustive()
    }
}
