//! A compiled filter: cheap to clone, safe to share, the same answer from every back end.

use crate::diag::Diagnostic;
use crate::exec::{NativeFilter, NoExec, Packet};
use crate::ir::interp::{self, Interp};
use crate::ir::verify::Checked;
use crate::ir::{Graph, REJECT};
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
    link_type: LinkType,
    lints: Vec<Diagnostic>,
    graph: Checked,
    runs: Runs,
}

/// How a filter runs.
#[derive(Debug)]
pub(crate) enum Runs {
    /// As machine code.
    Native(NativeFilter),
    /// In the interpreter, as asked.
    Interpreter,
    /// In the interpreter, for want of machine code.
    Fallback(NoExec),
}

impl Filter {
    /// Makes a filter of a verified graph.
    pub(crate) fn new(
        source: Arc<str>,
        link_type: LinkType,
        lints: Vec<Diagnostic>,
        graph: Checked,
        runs: Runs,
    ) -> Self {
        Filter(Arc::new(Inner { source, link_type, lints, graph, runs }))
    }

    /// Whether a packet matches of which every byte was captured.
    #[inline]
    pub fn matches(&self, packet: &[u8]) -> bool {
        self.matches_captured(packet, u32::try_from(packet.len()).unwrap_or(u32::MAX))
    }

    /// Whether a packet matches of which `captured` is the beginning and which was `wire_len` bytes long.
    #[inline]
    pub fn matches_captured(&self, captured: &[u8], wire_len: u32) -> bool {
        match &self.0.runs {
            Runs::Native(native) => native.run(captured, wire_len) != REJECT,
            _ => Interp::new(self.0.graph.graph()).run(interp::Packet { data: captured, wire_len }) != REJECT,
        }
    }

    /// Which packets of a burst match: bit `i % 64` of word `i / 64` of `bits` is for packet `i`. Returns how many.
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
        if let Runs::Native(native) = &self.0.runs {
            native.run_burst(packets, bits);
            return bits[..words].iter().map(|word| word.count_ones() as usize).sum();
        }
        let mut interp = Interp::new(self.0.graph.graph());
        let mut count = 0;
        for (word, packets) in bits.iter_mut().zip(packets.chunks(64)) {
            *word = 0;
            for (i, packet) in packets.iter().enumerate() {
                let packet = interp::Packet { data: packet.data(), wire_len: packet.wire_len() };
                let matches = interp.run(packet) != REJECT;
                *word |= u64::from(matches) << i;
                count += usize::from(matches);
            }
        }
        count
    }

    /// The text it was compiled from.
    pub fn source(&self) -> &str {
        &self.0.source
    }

    /// The link type of the packets it understands.
    pub fn link_type(&self) -> LinkType {
        self.0.link_type
    }

    /// Places where the meaning may surprise.
    pub fn lints(&self) -> &[Diagnostic] {
        &self.0.lints
    }

    /// The graph that runs.
    pub fn graph(&self) -> &Graph {
        self.0.graph.graph()
    }

    /// Whether it runs as machine code.
    pub fn is_native(&self) -> bool {
        self.native().is_some()
    }

    /// The machine code.
    pub fn native(&self) -> Option<&NativeFilter> {
        match &self.0.runs {
            Runs::Native(native) => Some(native),
            _ => None,
        }
    }

    /// Why there is no machine code, where it was wanted; the interpreter runs the filter then.
    pub fn fallback_reason(&self) -> Option<&NoExec> {
        match &self.0.runs {
            Runs::Fallback(reason) => Some(reason),
            _ => None,
        }
    }
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filter")
            .field("source", &self.0.source)
            .field("link_type", &self.0.link_type)
            .field("native", &self.is_native())
            .finish_non_exhaustive()
    }
}
