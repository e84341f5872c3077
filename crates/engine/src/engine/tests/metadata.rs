//! Metadata, once somebody asks for it.

use super::*;
use crate::app::Roles;

#[test]
fn metadata_is_kept_once_an_app_asks_for_it() {
    let mut pool = Pool::new(4).expect("memory");
    let mut packet = pool.allocate().expect("a packet");
    pool.describe(&mut packet, crate::Metadata { mark: 7, ..Default::default() });
    assert_eq!(packet.metadata().mark, 0);
    pool.stamp(5);
    assert_eq!((packet.metadata().timestamp_ns, packet.metadata().linktype), (5, 1));
    pool.stamp_time(9);
    pool.describe(&mut packet, crate::Metadata { mark: 7, ..Default::default() });
    let copy = pool.copy(&packet).expect("a packet");
    assert_eq!(copy.metadata().mark, 7);
    let mut again = pool.copy(&packet).expect("a packet");
    pool.describe_as_new(&mut again);
    assert_eq!((again.metadata().mark, again.metadata().timestamp_ns), (0, 9));
    let fresh = pool.allocate().expect("a packet");
    assert_eq!((fresh.metadata().timestamp_ns, fresh.metadata().linktype), (9, 1));
    for packet in [packet, copy, again, fresh] {
        pool.put_back(packet);
    }
}

#[test]
fn packets_inside_are_described_when_an_app_first_asks_for_metadata() {
    let mut engine = engine(1, 100);
    engine.configure(&line(Keeper::of(10))).expect("a graph");
    engine.breathe();
    assert!(!engine.workers[0].pool.uses_metadata());
    engine.configure(&read_after_ten(Reader { since_ns: 0 })).expect("a graph");
    engine.breathe();
    assert_eq!(balanced(&mut engine).delivered, 54 + 64);
}

#[test]
fn packets_inside_have_the_time_of_day_when_an_app_first_asks_for_metadata() {
    /// In the year 2096.
    const SET_NS: u64 = 4_000_000_000_000_000_000;
    const SECOND_NS: u64 = 1_000_000_000;
    let mut engine = engine(1, 100);
    engine.configure(&line(Keeper::of(10))).expect("a graph");
    engine.breathe();
    engine.workers[0].set_day(|| SET_NS);
    engine.configure(&read_after_ten(Reader { since_ns: SET_NS - SECOND_NS })).expect("a graph");
    engine.breathe();
    assert_eq!(balanced(&mut engine).delivered, 54 + 64);
}

/// Numbers, of which ten are kept, and a reader.
fn read_after_ten(reader: Reader) -> Graph {
    let mut graph = Graph::new();
    graph.app("numbers", Numbers::up_to(u64::MAX)).expect("a name");
    graph.app("keeper", Keeper::of(10)).expect("a name");
    graph.app("reader", reader).expect("a name");
    graph.link("numbers.output -> keeper.input").expect("ports");
    graph.link("keeper.output -> reader.input").expect("ports");
    graph
}

/// Takes no packet that nothing is known of, or that is older.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Reader {
    pub(super) since_ns: u64,
}

pub(super) struct Reading {
    since_ns: u64,
    delivered: Counter,
}

impl Class for Reader {
    const TYPE: &'static str = "reader";
    const OUTPUTS: Ports = Ports::NONE;
    type App = Reading;

    fn start(&self, setup: &mut Setup<'_>) -> Result<Reading, OptionError> {
        Ok(Reading { since_ns: self.since_ns, delivered: setup.delivered() })
    }
}

impl App for Reading {
    fn roles(&self) -> Roles {
        Roles::PUSH.and(Roles::METADATA)
    }

    fn push(&mut self, io: &mut Io<'_>) {
        for packet in io.inputs[0].burst().into_iter().flatten() {
            let metadata = packet.metadata();
            assert!(metadata.linktype == 1 && metadata.timestamp_ns > self.since_ns, "{metadata:?}");
            io.pool.free(packet, &self.delivered);
        }
    }
}
