//! Every way in which `pflang` runs a filter, side by side.
//!
//! An engine is the lowered tree as it is traced, the graph as built, the optimised graph, or a finished filter on one of its entry points. All give the
//! same answer for each packet, or one of them is wrong: [`Engines::disagreement`] says which.

use crate::linktype::LinkType;
use crate::names;
use crate::packet::Packet;
use crate::table;
use pflang::internals::Stages;
use pflang::internals::exec::mask::{Isa, MaskFilter};
use pflang::internals::ir::interp::Interp;
use pflang::internals::ir::verify::Verified;
use pflang::internals::ir::{Graph, REJECT};
use pflang::{Backend, Compiler, Dialect, Error, Filter};

/// One filter, compiled for every engine.
#[derive(Debug)]
pub struct Engines {
    stages: Stages,
    filter: Filter,
    interpreted: Filter,
    /// The mask VM on both graphs; `None` where a graph is too large for it.
    masks: [Option<MaskFilter>; 2],
}

/// The answers of engines for one packet, with the engines' names: of all but the mask VM's for graphs that are too large for
/// it, and for vector instructions that this processor lacks.
pub type Answers = Vec<(&'static str, bool)>;

impl Engines {
    /// Compiles `filter` in libpcap's own dialect.
    ///
    /// # Errors
    ///
    /// What is wrong with the filter.
    pub fn strict(linktype: LinkType, filter: &str, netmask: Option<u32>) -> Result<Self, Error> {
        Self::compile(&names::compiler(linktype, netmask).dialect(Dialect::STRICT), filter)
    }

    /// Compiles the filter of a table test.
    ///
    /// # Errors
    ///
    /// What is wrong with the filter.
    pub fn of_test(test: &table::Test) -> Result<Self, Error> {
        let compiler = test.compiler();
        Self::compile(&compiler, &test.filter).map_err(|error| compiler.help(&error))
    }

    /// Compiles `filter` as `compiler` is set up.
    ///
    /// # Errors
    ///
    /// What is wrong with the filter.
    pub fn compile(compiler: &Compiler, filter: &str) -> Result<Self, Error> {
        let interpreter = compiler.clone().backend(Backend::Interpreter);
        let stages = compiler.stages(filter)?;
        let masks = [&stages.graph, &stages.optimised].map(|graph| {
            // A finished filter would fall back to the graph as built, and no test would see it.
            let verified = Verified::new(graph);
            MaskFilter::new(verified.unwrap_or_else(|violation| panic!("`{filter}`: {violation:?}")))
        });
        Ok(Engines {
            stages,
            filter: compiler.compile(filter)?,
            interpreted: interpreter.compile(filter)?,
            masks,
        })
    }

    /// Whether machine code is among the engines.
    pub fn is_native(&self) -> bool {
        self.filter.is_native()
    }

    /// What the finished filter says about a packet.
    pub fn matches(&self, packet: &Packet) -> bool {
        self.filter.matches_captured(&packet.bytes, packet.wire_len)
    }

    /// What each engine says about a packet.
    pub fn answers(&self, packet: &Packet) -> Answers {
        let (data, wire_len) = (&packet.bytes[..], packet.wire_len);
        let mut answers = vec![
            (
                "the trace",
                pflang::internals::trace(&self.stages.ast, &self.stages.lowered, data, wire_len).matches,
            ),
            ("the graph as built", run(&self.stages.graph, packet)),
            ("the optimised graph", run(&self.stages.optimised, packet)),
            ("the interpreter back end", self.interpreted.matches_captured(data, wire_len)),
            ("one packet", self.filter.matches_captured(data, wire_len)),
            ("a burst of one", self.bursts(std::slice::from_ref(packet))[0]),
        ];
        let [as_built, optimised] = self.masks.each_ref().map(Option::as_ref);
        let masks = [
            ("the mask VM, graph as built", as_built, Isa::detect()),
            ("the mask VM, portable", optimised, Isa::Portable),
            ("the mask VM, AVX2", optimised, Isa::Avx2),
            ("the mask VM, AVX-512 with plain loads", optimised, Isa::Avx512Loads),
            ("the mask VM, AVX-512", optimised, Isa::Avx512),
        ];
        let masks = masks.into_iter().filter(|(.., isa)| isa.is_available());
        answers.extend(masks.filter_map(|(name, masks, isa)| Some((name, masked(masks?, isa, packet)))));
        answers
    }

    /// What the burst entry point says about packets.
    pub fn bursts(&self, packets: &[Packet]) -> Vec<bool> {
        let views: Vec<_> = packets.iter().map(|p| pflang::Packet::new(&p.bytes, p.wire_len)).collect();
        let mut bits = vec![0; views.len().div_ceil(64)];
        let count = self.filter.match_burst(&views, &mut bits);
        let matches: Vec<bool> = (0..views.len()).map(|i| bits[i / 64] >> (i % 64) & 1 == 1).collect();
        assert_eq!(count, matches.iter().filter(|&&m| m).count(), "a burst counts what it marks");
        for (masks, isa) in
            self.masks.iter().flatten().flat_map(|masks| Isa::ALL.iter().map(move |isa| (masks, *isa)))
        {
            let mut masked = vec![u64::MAX; bits.len()];
            masks.run_burst(isa, &views, &mut masked);
            assert_eq!(masked, bits, "the mask VM ({isa}) and a burst of {} packets", views.len());
        }
        matches
    }

    /// The engines that do not answer `expected`, in words; `None` when all do.
    pub fn disagreement(&self, packet: &Packet, expected: bool) -> Option<String> {
        let wrong: Vec<_> =
            self.answers(packet).iter().filter(|&&(_, is)| is != expected).map(|&(name, _)| name).collect();
        let (should, do_) = if expected { ("accepted", "reject") } else { ("rejected", "accept") };
        (!wrong.is_empty()).then(|| format!("should be {should}, but these {do_} it: {}", wrong.join(", ")))
    }
}

/// What the mask VM says. The packet comes in the midst of others without any bytes.
fn masked(masks: &MaskFilter, isa: Isa, packet: &Packet) -> bool {
    let lane = packet.bytes.len() % 64;
    let mut views = [pflang::Packet::EMPTY; 64];
    views[lane] = pflang::Packet::new(&packet.bytes, packet.wire_len);
    let mut bits = [0];
    masks.run_burst(isa, &views, &mut bits);
    bits[0] >> lane & 1 == 1
}

/// An error on one line.
pub fn words(error: &Error) -> String {
    format!("{}: {}", error.code().name(), error.diagnostic.message)
}

fn run(graph: &Graph, packet: &Packet) -> bool {
    Interp::new(graph).run(&packet.bytes, packet.wire_len) != REJECT
}
