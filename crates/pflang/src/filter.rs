//! A compiled filter: cheap to clone, safe to share, the same answer from every back end.

use crate::diag::Diagnostic;
use crate::emit::Bits;
use crate::exec::mask::{Isa, MaskFilter};
use crate::exec::{NativeFilter, NoExec, Packet, count_ones};
use crate::executable::Executable;
use crate::ir::{Graph, REJECT};
use std::fmt;
use std::sync::{Arc, OnceLock};
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
    lints: Vec<Diagnostic>,
    executable: Executable<Bits>,
    /// Translated for the first burst, where it is of use.
    masks: OnceLock<Option<MaskFilter>>,
}

/// The engine that decides the packets of a burst.
///
/// ```
/// use pflang::{BurstEngine, Isa};
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

/// Fewer packets than this are left to machine code.
///
/// An estimate: the mask VM takes some 200 ns for up to 64 packets, and machine code 8 for one in mixed traffic.
const MASKED_MIN: usize = 24;

impl Filter {
    /// Makes a filter of its parts.
    pub(crate) fn new(
        source: Arc<str>,
        linktype: LinkType,
        lints: Vec<Diagnostic>,
        executable: Executable<Bits>,
    ) -> Self {
        Filter(Arc::new(Inner { source, linktype, lints, executable, masks: OnceLock::new() }))
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
        self.0.executable.leaf(captured, wire_len) != REJECT
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
        match self.native() {
            Some(native) if packets.len() < MASKED_MIN => native.run_burst(packets, bits),
            native => match (self.masks(), native) {
                (Some(masks), native) => masked(masks, native, packets, bits),
                (None, Some(native)) => native.run_burst(packets, bits),
                (None, None) => self.interpret(packets, &mut bits[..words]),
            },
        }
        count_ones(&bits[..words])
    }

    fn interpret(&self, packets: &[Packet<'_>], bits: &mut [u64]) {
        bits.fill(0);
        for (i, leaf) in self.0.executable.interpreted(packets).enumerate() {
            bits[i / 64] |= u64::from(leaf != REJECT) << (i % 64);
        }
    }

    /// The filter for the mask VM, where that is to run bursts.
    fn masks(&self) -> Option<&MaskFilter> {
        let executable = &self.0.executable;
        let make = || match (executable.native(), executable.fallback_reason()) {
            (Some(_), _) => MaskFilter::if_fast(executable.verified(), Isa::detect()),
            (None, Some(_)) => MaskFilter::new(executable.verified()),
            (None, None) => None,
        };
        self.0.masks.get_or_init(make).as_ref()
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
        match (self.masks(), self.native()) {
            (Some(_), _) => BurstEngine::MaskVm(Isa::detect()),
            (None, Some(_)) => BurstEngine::MachineCode,
            (None, None) => BurstEngine::Interpreter,
        }
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
    pub fn linktype(&self) -> LinkType {
        self.0.linktype
    }

    /// Places where the meaning may surprise.
    ///
    /// ```
    /// # use pflang::Compiler;
    /// # use wire::LinkType;
    /// let filter = Compiler::new(LinkType::EN10MB).compile("not vlan and udp")?;
    /// for lint in filter.lints() {
    ///     println!("{}", lint.message);
    /// }
    /// # assert!(!filter.lints().is_empty());
    /// # Ok::<(), pflang::Error>(())
    /// ```
    pub fn lints(&self) -> &[Diagnostic] {
        &self.0.lints
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

    /// The graph that runs.
    #[doc(hidden)]
    pub fn graph(&self) -> &Graph {
        self.0.executable.graph()
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
        self.0.executable.native()
    }

    /// The reason why there is no machine code, where it was wanted; the interpreter runs the filter then.
    pub fn fallback_reason(&self) -> Option<&NoExec> {
        self.0.executable.fallback_reason()
    }
}

/// The mask VM, but the last packets of a burst in machine code if they are few.
fn masked(masks: &MaskFilter, native: Option<&NativeFilter>, packets: &[Packet<'_>], bits: &mut [u64]) {
    let last = packets.len() % 64;
    match native.filter(|_| last > 0 && last < MASKED_MIN) {
        Some(native) => {
            let (packets, last) = packets.split_at(packets.len() - last);
            let (bits, last_bits) = bits.split_at_mut(packets.len() / 64);
            masks.run_burst(Isa::detect(), packets, bits);
            native.run_burst(last, last_bits);
        }
        None => masks.run_burst(Isa::detect(), packets, bits),
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
