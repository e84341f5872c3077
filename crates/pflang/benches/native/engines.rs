//! The engines, each as a function from a burst to a count.

use crate::hand::{self, Call};
use pflang::emit::{self, Options};
use pflang::exec::NativeFilter;
use pflang::exec::native::bitmap_words;
use pflang::ir::verify::Verified;
use pflang::{Compiler, Packet};
use wire::LinkType;

/// How many packets match.
type Run<'e> = Box<dyn FnMut(&[Packet<'_>]) -> usize + 'e>;

pub(crate) struct Engine<'e> {
    pub(crate) name: &'static str,
    pub(crate) run: Run<'e>,
}

pub(crate) fn engines(filter: &str) -> Vec<Engine<'static>> {
    let mut engines = vec![one(native(filter, 0))];
    engines.extend(hand::for_filter(filter).map(by_hand));
    for (name, distance) in
        [("burst", 0), ("burst, prefetch 16", 16), ("burst, prefetch 24", 24), ("burst, prefetch 32", 32)]
    {
        engines.push(burst(name, native(filter, distance)));
    }
    engines.extend(libpcap(filter));
    engines
}

fn native(filter: &str, distance: u32) -> NativeFilter {
    let stages = Compiler::new(LinkType::EN10MB).stages(filter).expect("a valid filter");
    let mut options = Options::default();
    options.prefetch_distance = distance;
    let graph = match Verified::new(&stages.optimised) {
        Ok(graph) => graph,
        Err(violation) => {
            println!("(not optimised: {violation:?})");
            Verified::new(&stages.graph).expect("built with its guards")
        }
    };
    let code = emit::compile(graph, &options).expect("compiles");
    NativeFilter::new(&code).expect("executable memory")
}

fn one(filter: NativeFilter) -> Engine<'static> {
    Engine { name: "one packet", run: Box::new(move |packets| count_calls(filter.one(), packets)) }
}

fn by_hand(call: Call) -> Engine<'static> {
    Engine { name: "by hand", run: Box::new(move |packets| count_calls(call, packets)) }
}

/// The loop around every form that takes one packet.
#[inline(never)]
fn count_calls(call: Call, packets: &[Packet<'_>]) -> usize {
    let mut count = 0;
    for packet in packets {
        let data = packet.data();
        // SAFETY: the data of a packet are readable for their length.
        count += usize::from(unsafe { call(data.as_ptr(), data.len(), packet.wire_len()) } != 0);
    }
    count
}

fn burst(name: &'static str, filter: NativeFilter) -> Engine<'static> {
    let mut bitmap = Vec::new();
    let run = move |packets: &[Packet<'_>]| {
        bitmap.resize(bitmap_words(packets.len()), 0);
        filter.run_burst(packets, &mut bitmap);
        bitmap.iter().map(|word: &u64| word.count_ones() as usize).sum()
    };
    Engine { name, run: Box::new(run) }
}

/// Where the library is there, and the filter of a length that it compiles in reasonable time.
fn libpcap(filter: &str) -> Option<Engine<'static>> {
    if filter.len() > 2000 {
        return None;
    }
    let libpcap = testkit::oracle::libpcap("the benchmark of machine code")?;
    let options = testkit::oracle::Options { optimise: true, ..Default::default() };
    let program = libpcap.compile(testkit::linktype::LinkType::EN10MB, filter, options).ok()?;
    let run = move |packets: &[Packet<'_>]| {
        packets.iter().filter(|packet| program.accepts(packet.data(), packet.wire_len())).count()
    };
    Some(Engine { name: "libpcap, optimised", run: Box::new(run) })
}
