//! Networks of apps against loops written by hand for each of them: the same packets in the same memory, moved the way
//! one would if there were no engine. What the engine costs is the difference.

use crate::race::{Engine as Racer, engine as racer, race};
use crate::report::{Report, Target::AtLeast};
use apps::{Join, Sink, Source, Tee};
use engine::{Engine, Graph, GraphError, Packet, Pool, Settings};

const SUITE: &str = "engine";
/// Packets of a breath.
const BURST: usize = 64;
/// Breaths of a chunk that is timed.
const BREATHS: usize = 2048;
/// Bytes of a packet.
const SIZE: usize = 60;

/// What it is called, how the engine is given it, and a breath of it by hand.
type Net = (&'static str, fn(&mut Graph) -> Result<(), GraphError>, fn(&mut Hand) -> u64);

/// Runs the suite.
pub(crate) fn run(report: &mut Report) {
    let traffic = vec![(); BURST * BREATHS];
    let nets: [Net; 3] = [
        ("source -> sink", source_sink, Hand::source_sink),
        ("source -> tee -> 2 x sink", tee, Hand::tee),
        ("source -> 8 x join -> sink", chain, Hand::chain),
    ];
    for (name, build, by_hand) in nets {
        let mut graph = Graph::new();
        build(&mut graph).expect("a graph");
        let mut engine = Engine::new(Settings::new().expect("memory")).expect("memory");
        engine.configure(&graph).expect("apps that start");
        let mut hand = Hand::new();
        let mut racers: [Racer<'_, ()>; 2] = [
            racer("by hand", |packets: &[()]| (0..packets.len() / BURST).map(|_| by_hand(&mut hand)).sum()),
            racer("sluss", |packets: &[()]| {
                let before = engine.report().delivered;
                (0..packets.len() / BURST).for_each(|_| _ = engine.breathe());
                engine.report().delivered - before
            }),
        ];
        let laps = race(&traffic, &mut racers, usize::MAX, 41);
        report.laps(SUITE, name, &laps);
        let ratio = laps[0].over(&laps[1]);
        report.ratio(SUITE, format!("{name}: by hand / sluss"), ratio, Some(AtLeast(0.85)));
    }
}

fn source_sink(graph: &mut Graph) -> Result<(), GraphError> {
    graph.app("source", Source { size: SIZE, count: None })?;
    graph.app("sink", Sink {})?;
    graph.link("source.output -> sink.input")
}

fn tee(graph: &mut Graph) -> Result<(), GraphError> {
    graph.app("source", Source { size: SIZE, count: None })?;
    graph.app("tee", Tee {})?;
    graph.app("sink1", Sink {})?;
    graph.app("sink2", Sink {})?;
    graph.link("source.output -> tee.input")?;
    graph.link("tee.output1 -> sink1.input")?;
    graph.link("tee.output2 -> sink2.input")
}

fn chain(graph: &mut Graph) -> Result<(), GraphError> {
    graph.app("source", Source { size: SIZE, count: None })?;
    let mut last = "source".to_owned();
    for number in 1..=8 {
        let name = format!("join{number}");
        graph.app(&name, Join {})?;
        graph.link(&format!("{last}.output -> {name}.input"))?;
        last = name;
    }
    graph.app("sink", Sink {})?;
    graph.link(&format!("{last}.output -> sink.input"))
}

/// Addresses of packets: `u16` length, then bytes.
type Address = *mut u8;

/// What a loop by hand works with.
struct Hand {
    free: Vec<Address>,
    template: Address,
    /// Each link as an array, with what has passed it.
    links: Vec<Link>,
    /// Owns the packets, so that the memory stays.
    _packets: Vec<Packet>,
    _pool: Pool,
}

struct Link {
    slots: [Address; BURST],
    packets: u64,
    bytes: u64,
}

impl Hand {
    fn new() -> Self {
        let mut pool = Pool::new(16 * 1024).expect("memory");
        let mut packets: Vec<Packet> = std::iter::from_fn(|| pool.allocate()).take(4096).collect();
        packets[0].resize(SIZE).expect("it fits");
        let addresses = packets.iter().map(|packet| packet.data().as_ptr().cast_mut().wrapping_sub(2));
        let mut free: Vec<Address> = addresses.rev().collect();
        let template = free.pop().expect("packets");
        let link = || Link { slots: [std::ptr::null_mut(); BURST], packets: 0, bytes: 0 };
        Hand { free, template, links: (0..10).map(|_| link()).collect(), _packets: packets, _pool: pool }
    }

    /// Copies of the template, onto a link.
    fn source(&mut self, to: usize) {
        let left = self.free.len() - BURST;
        let Link { slots, packets, bytes } = &mut self.links[to];
        slots.copy_from_slice(&self.free[left..]);
        self.free.truncate(left);
        for &slot in slots.iter() {
            *bytes += copy(self.template, slot);
        }
        *packets += BURST as u64;
    }

    /// Everything on a link, back to where it came from.
    fn sink(&mut self, from: usize) -> u64 {
        self.free.extend_from_slice(&self.links[from].slots);
        BURST as u64
    }

    fn pass(&mut self, from: usize, to: usize) {
        let slots = self.links[from].slots;
        let link = &mut self.links[to];
        link.slots = slots;
        link.bytes += slots.iter().map(|&slot| length(slot)).sum::<u64>();
        link.packets += BURST as u64;
    }

    fn source_sink(&mut self) -> u64 {
        self.source(0);
        self.sink(0)
    }

    fn tee(&mut self) -> u64 {
        self.source(0);
        let originals = self.links[0].slots;
        let left = self.free.len() - BURST;
        let Link { slots, packets, bytes } = &mut self.links[1];
        slots.copy_from_slice(&self.free[left..]);
        self.free.truncate(left);
        for (&original, &slot) in originals.iter().zip(slots.iter()) {
            *bytes += copy(original, slot);
        }
        *packets += BURST as u64;
        self.pass(0, 2);
        self.sink(1) + self.sink(2)
    }

    fn chain(&mut self) -> u64 {
        self.source(0);
        (0..8).for_each(|link| self.pass(link, link + 1));
        self.sink(8)
    }
}

/// Copies a packet of at most 62 bytes, a cache line. Returns its length.
fn copy(from: Address, to: Address) -> u64 {
    // SAFETY: both are packets of the pool that `Hand` keeps, with a line of memory each, and different.
    unsafe { std::ptr::copy_nonoverlapping(from, to, 64) };
    length(to)
}

fn length(packet: Address) -> u64 {
    // SAFETY: as above; a packet begins with its length.
    u64::from(unsafe { packet.cast::<u16>().read() })
}
