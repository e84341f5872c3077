//! The peers behind one shape: run over a slice of descriptors, count matches.

use crate::hand::Entry;
use crate::race::{Engine, engine};
use crate::traffic::Descriptor;
use pflang::internals::exec::NativeFilter;
use pflang::{Backend, Compiler, Filter};
use testkit::oracle::{self, BpfProgram, Libpcap, Options};
use wire::LinkType;

/// A loop that calls through a pointer that nobody can see through, the same for all.
#[inline(never)]
fn call_each(entry: Entry, packets: &[Descriptor]) -> u64 {
    let mut count = 0;
    for packet in packets {
        // SAFETY: descriptors point into the traffic's memory, which outlives the race; generated code loads only
        // inside the captured length, and the hand-written peers are trusted to.
        count += u64::from(unsafe { entry(packet.data, packet.captured as usize, packet.wire) } != 0);
    }
    count
}

/// Calls `entry` once a packet.
pub(crate) fn calls(name: &'static str, entry: Entry) -> Engine<'static, Descriptor> {
    engine(name, move |packets: &[Descriptor]| call_each(entry, packets))
}

/// Our filter.
///
/// # Panics
/// Where it does not compile to machine code: then there is nothing to measure.
pub(crate) fn compiled(source: &str) -> Filter {
    let filter = Compiler::new(LinkType::EN10MB).compile(source).expect("the benchmark's filters compile");
    assert!(filter.fallback_reason().is_none(), "no machine code: {:?}", filter.fallback_reason());
    filter
}

/// Its machine code.
pub(crate) fn native(filter: &Filter) -> &NativeFilter {
    filter.native().expect("checked when it was compiled")
}

/// The reference interpreter, so that counts are checked where no peer could be asked.
pub(crate) fn interpreter<'e>(source: &str) -> Engine<'e, Descriptor> {
    let compiler = Compiler::new(LinkType::EN10MB).backend(Backend::Interpreter);
    let filter = compiler.compile(source).expect("the benchmark's filters compile");
    engine("interpreter", move |packets: &[Descriptor]| {
        // SAFETY: as in `call_each`.
        let data = |packet: &Descriptor| unsafe {
            std::slice::from_raw_parts(packet.data, packet.captured as usize)
        };
        packets.iter().filter(|&packet| filter.matches_captured(data(packet), packet.wire)).count() as u64
    })
}

/// libpcap's optimised bytecode in its own `bpf_filter`.
pub(crate) fn libpcap<'e>(pcap: Libpcap, source: &str) -> Engine<'e, Descriptor> {
    let options = Options { optimise: true, ..Options::default() };
    let program = pcap.compile(LinkType::EN10MB, source, options).expect("libpcap compiles it");
    bpf_filter("libpcap bpf_filter", program)
}

/// Bytecode in libpcap's `bpf_filter`.
pub(crate) fn bpf_filter<'e>(name: &'static str, program: BpfProgram) -> Engine<'e, Descriptor> {
    engine(name, move |packets: &[Descriptor]| {
        let mut count = 0;
        for packet in packets {
            // SAFETY: as in `call_each`.
            let data = unsafe { std::slice::from_raw_parts(packet.data, packet.captured as usize) };
            count += u64::from(program.accepts(data, packet.wire));
        }
        count
    })
}

/// libpcap, where it is installed.
pub(crate) fn peer() -> Option<Libpcap> {
    oracle::libpcap("the benchmark")
}
