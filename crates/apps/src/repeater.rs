//! `repeater`: keeps what it gets and sends copies of it over and over, as Snabb's `Repeater` does.
//!
//! | inputs | `input` |
//! |---|---|
//! | outputs | `output` |
//! | `limit` | packets kept at most, 4096 unless set |
//! | `count` | packets sent in all; without end unless set |
//! | drops `repeater_full` | counts packets as there are `limit` already, or as repeaters keep half of the packets of the pool, or of its large ones |
//! | drops `repeater_done` | counts packets that came when `count` had been sent |
//! | `repeated` | counts packets that were kept, and were let go in the end |
//! | `no_packet` | counts copies of long packets that were left out, as the pool had no large packet |
//!
//! It begins with the first packet it gets; others are joined to the end of the row as they come. Copies have the metadata of what
//! they are copies of, its timestamp included. As many are sent as the link has room for: a repeater drops nothing that it sends,
//! unless its output is not linked, when all is dropped as `unlinked`.
//!
//! Packets that are kept are the pool's. All repeaters together keep no more than half of them, nor of its large ones, since copies need as many again; the
//! first that is not kept for that reason is told. Each worker has a pool of its own, and a packet counts where it came from.
//! Where others hold the rest, a long packet that has waited for a whole turn is passed
//! over: the short ones after it are sent, and it has its next chance in the next round.

use engine::shm::Counter;
use engine::{
    App, Class, Io, Kept, MAX_PAYLOAD, Notifier, OptionError, Packet, Pool, Reconfigured, Roles, Setup,
};
use serde::Deserialize;

/// Options of `repeater`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Repeater {
    /// Packets kept at most.
    pub limit: usize,
    /// Packets sent in all.
    pub count: Option<u64>,
}

impl Default for Repeater {
    fn default() -> Self {
        Repeater { limit: 4096, count: None }
    }
}

/// A running `repeater`.
#[derive(Debug)]
pub struct Running {
    packets: Kept,
    /// The next to be sent.
    next: usize,
    left: u64,
    limit: usize,
    /// Whether it was told that the pool is too small.
    has_told: bool,
    notifier: Notifier,
    full: Counter,
    done: Counter,
    repeated: Counter,
    no_packet: Counter,
}

impl Class for Repeater {
    const TYPE: &'static str = "repeater";
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        OptionError::check_range("limit", self.limit, 1..=Pool::MAX_PACKETS)
    }

    /// Repeaters keep half of a pool at most.
    fn needs_packets(&self) -> usize {
        2 * self.limit
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        let mut packets = Kept::default();
        packets.make_room(self.limit);
        Ok(Running {
            packets,
            next: 0,
            left: self.count.unwrap_or(u64::MAX),
            limit: self.limit,
            has_told: false,
            notifier: setup.notifier(),
            full: setup.drops("repeater_full"),
            done: setup.rejects("repeater_done"),
            repeated: setup.consumed("repeated"),
            no_packet: setup.counter("no_packet"),
        })
    }

    /// Keeps the packets, those above a lower limit too. With another `count`, as many are sent from now on.
    fn reconfigure(
        &self,
        app: &mut Running,
        old: &Self,
        _: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        app.limit = self.limit;
        app.packets.make_room(self.limit);
        if self.count != old.count {
            app.left = self.count.unwrap_or(u64::MAX);
        }
        Ok(Reconfigured::Kept)
    }
}

impl App for Running {
    fn roles(&self) -> Roles {
        Roles::PULL.and(Roles::PUSH).and(Roles::ROOM)
    }

    fn push(&mut self, io: &mut Io<'_>) {
        while let Some(mut burst) = io.inputs[0].burst() {
            if self.left == 0 {
                io.pool.free_burst(burst, &self.done);
                continue;
            }
            let room = self.limit.saturating_sub(self.packets.len());
            for packet in burst.split_front(room) {
                self.keep(packet, io.pool);
            }
            io.pool.free_burst(burst, &self.full);
        }
    }

    fn pull(&mut self, io: &mut Io<'_>) {
        let room = io.outputs[0].allowance().min(io.burst);
        let most = room.min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let (mut count, mut has_passed) = (most, false);
        while count > 0 && !self.packets.is_empty() {
            let end = self.packets.len().min(self.next + count);
            let wanted = end - self.next;
            let sent = io.outputs[0].send_copies_of(io.pool, &self.packets[self.next..end]);
            self.left -= sent as u64;
            count -= sent;
            self.next = (self.next + sent) % self.packets.len();
            if sent < wanted {
                // After others of this turn, a packet without memory waits for the next: some may come back until then.
                let waits = count < most && !has_passed;
                if waits || !self.pass_over_long() {
                    break;
                }
                has_passed = true;
            }
        }
        if self.left == 0 {
            self.let_go(io.pool);
        }
    }

    fn stop(&mut self, io: &mut Io<'_>) {
        self.let_go(io.pool);
    }

    fn held(&self) -> usize {
        self.packets.len()
    }

    /// Without packets there is nothing to repeat, and nothing to wait for but its input.
    fn is_finished(&self) -> bool {
        self.packets.is_empty()
    }
}

impl Running {
    fn keep(&mut self, packet: Packet, pool: &mut Pool) {
        if let Err(packet) = self.packets.keep(packet) {
            self.tell(&packet, pool);
            pool.free(packet, &self.full);
        }
    }

    /// Tells that the pool is too small to keep more, once.
    #[cold]
    fn tell(&mut self, packet: &Packet, pool: &Pool) {
        if std::mem::replace(&mut self.has_told, true) {
            return;
        }
        let (total, packets, flag) = match packet.max_len() > MAX_PAYLOAD {
            true => (pool.large_total(), "large packets", "--large-packets"),
            false => (pool.usual_total(), "packets", "--packets"),
        };
        self.notifier.warn(format!(
            "the pool has {total} {packets}, of which repeaters keep half; others are dropped: give it more (`{flag}`)"
        ));
    }

    /// Leaves out the long packets whose turn it is, for which there is no memory. Returns whether a short one comes after them.
    #[cold]
    fn pass_over_long(&mut self) -> bool {
        let (before, after) = self.packets.split_at(self.next);
        let short = after.iter().chain(before).position(|packet| packet.len() <= MAX_PAYLOAD);
        // Among long ones alone, each has its turn.
        let passed = short.unwrap_or(1);
        self.no_packet.add(passed as u64);
        self.next = (self.next + passed) % self.packets.len();
        short.is_some_and(|passed| passed > 0)
    }

    fn let_go(&mut self, pool: &mut Pool) {
        self.next = 0;
        self.packets.free(pool, &self.repeated);
    }
}

#[cfg(test)]
mod tests {
    use super::Repeater;
    use crate::{Delay, Join, Sink, Source, Tee};
    use engine::{Class, Engine, Graph, Settings};
    use testkit::rig::Rig;

    #[test]
    fn what_it_gets_comes_again_and_again() {
        let mut rig = Rig::new(Repeater::default(), &["input"], &["output"]);
        rig.breathe();
        assert!(rig.take("output").is_empty());
        [b"a", b"b", b"c"].iter().for_each(|packet| rig.send("input", packet));
        (0..4).for_each(|_| rig.breathe());
        let sent = rig.take("output");
        assert_eq!(sent.len(), 3 * 64, "a burst a breath, from the second on");
        assert!(sent.iter().enumerate().all(|(i, packet)| packet[..] == [b"abc"[i % 3]]), "{sent:?}");
    }

    #[test]
    fn it_ends_after_as_many_as_are_wanted() {
        let mut rig = Rig::new(Repeater { count: Some(100), ..Repeater::default() }, &["input"], &["output"]);
        [b"a", b"b", b"c"].iter().for_each(|packet| rig.send("input", packet));
        (0..5).for_each(|_| rig.breathe());
        assert_eq!(rig.take("output").len(), 100);
        assert_eq!(rig.counter("repeated"), 3);
        rig.send("input", b"late");
        (0..2).for_each(|_| rig.breathe());
        assert_eq!(rig.take("output").len(), 0);
        assert_eq!((rig.counter("repeated"), rig.counter("repeater_done")), (3, 1));
        rig.reconfigure(Repeater { count: Some(5), ..Repeater::default() });
        rig.send("input", b"again");
        (0..2).for_each(|_| rig.breathe());
        assert_eq!(rig.take("output").len(), 5);
    }

    #[test]
    fn it_keeps_no_more_than_its_limit() {
        let mut rig = Rig::new(Repeater { limit: 2, count: Some(4) }, &["input"], &["output"]);
        [b"a", b"b", b"c"].iter().for_each(|packet| rig.send("input", packet));
        (0..2).for_each(|_| rig.breathe());
        assert_eq!(rig.take("output"), [b"a", b"b", b"a", b"b"]);
        assert_eq!(rig.counter("repeater_full"), 1);
    }

    #[test]
    fn an_exhausted_pool_is_waited_for() {
        let mut rig =
            Rig::with(Repeater { count: Some(50), ..Repeater::default() }, &["input"], &["output"], 8);
        (0..3_u8).for_each(|i| rig.send("input", [i]));
        (0..40).for_each(|_| rig.breathe());
        let sent = rig.take("output");
        assert_eq!(sent.len(), 50);
        assert!(sent.iter().enumerate().all(|(i, packet)| packet[..] == [i as u8 % 3]));
    }

    #[test]
    fn of_large_packets_half_are_kept() {
        let mut rig = Rig::with_large(
            Repeater { count: Some(9), ..Repeater::default() },
            &["input"],
            &["output"],
            64,
            4,
        );
        [20_000, 60, 30_000, 40_000].iter().for_each(|&len| rig.send("input", vec![1; len]));
        (0..20).for_each(|_| rig.breathe());
        let lens: Vec<usize> = rig.take("output").iter().map(Vec::len).collect();
        assert_eq!(lens, [20_000, 60, 30_000].repeat(3));
        assert_eq!((rig.counter("repeater_full"), rig.counter("repeated")), (1, 3));
        assert_eq!(told(&rig), [told_of("4 large packets", "--large-packets")]);
    }

    #[test]
    fn of_the_pool_half_is_kept() {
        let repeater = Repeater { count: Some(9), ..Repeater::default() };
        let mut rig = Rig::with(repeater, &["input"], &["output"], 6);
        (0..6_u8).for_each(|i| rig.send("input", [i]));
        (0..20).for_each(|_| rig.breathe());
        assert_eq!(rig.take("output").len(), 9);
        assert_eq!((rig.counter("repeater_full"), rig.counter("repeated")), (3, 3));
        assert_eq!(told(&rig), [told_of("6 packets", "--packets")]);
    }

    fn told(rig: &Rig) -> Vec<String> {
        rig.notices().into_iter().map(|notice| notice.text).collect()
    }

    fn told_of(packets: &str, flag: &str) -> String {
        format!(
            "the pool has {packets}, of which repeaters keep half; others are dropped: give it more (`{flag}`)"
        )
    }

    /// A repeater and an app that holds up what it gets: both get two long packets, all there can be, and so many short ones.
    fn beside_a_delay(short: u64) -> Engine {
        let mut graph = Graph::new();
        graph.app("long", Source { size: 20_000, count: Some(2) }).unwrap();
        graph.app("short", Source { count: Some(short), ..Source::default() }).unwrap();
        graph.app("join", Join {}).unwrap();
        graph.app("tee", Tee {}).unwrap();
        graph.app("repeater", Repeater { count: Some(500), ..Repeater::default() }).unwrap();
        graph.app("delay", Delay { delay_ms: 3_600_000.0, ..Delay::default() }).unwrap();
        graph.app("sink", Sink {}).unwrap();
        graph.app("later", Sink {}).unwrap();
        graph.link("long.output -> join.a").unwrap();
        graph.link("short.output -> join.b").unwrap();
        graph.link("join.output -> tee.input").unwrap();
        graph.link("tee.a -> repeater.input").unwrap();
        graph.link("repeater.output -> sink.input").unwrap();
        graph.link("tee.b -> delay.input").unwrap();
        graph.link("delay.output -> later.input").unwrap();
        engine_of(&graph, Settings { large_packets: 4, ..Settings::new().unwrap() })
    }

    fn engine_of(graph: &Graph, settings: Settings) -> Engine {
        let mut engine = Engine::new(settings).unwrap();
        engine.configure(graph).unwrap();
        engine
    }

    fn counter(engine: &mut Engine, app: &str, name: &str) -> u64 {
        let counters = engine.report().apps[app].counters.clone();
        counters.iter().find(|(known, ..)| known == name).map_or(0, |&(.., count)| count)
    }

    fn sent(engine: &mut Engine, app: &str) -> u64 {
        let report = engine.report();
        assert!(report.balanced(), "{:#?}", report.imbalances);
        report.links.iter().find(|link| link.link.from.app == app).unwrap().txpackets
    }

    #[test]
    fn where_others_hold_all_large_packets_it_goes_on_with_short_ones() {
        let mut engine = beside_a_delay(3);
        (0..500).for_each(|_| _ = engine.breathe());
        assert_eq!(sent(&mut engine, "repeater"), 500);
        assert!(counter(&mut engine, "repeater", "no_packet") > 0);
    }

    #[test]
    fn where_others_hold_all_large_packets_and_there_are_no_short_ones_it_says_so() {
        let mut engine = beside_a_delay(0);
        (0..20).for_each(|_| _ = engine.breathe());
        assert!(counter(&mut engine, "repeater", "no_packet") > 0);
    }

    /// So many repeaters, each of which gets packets without end.
    fn fed_without_end(repeaters: &[&str]) -> Graph {
        let mut graph = Graph::new();
        graph.app("source", Source::default()).unwrap();
        for name in repeaters {
            graph.app(name, Repeater::default()).unwrap();
            graph.app(&format!("sink_{name}"), Sink {}).unwrap();
            graph.link(&format!("source.{name} -> {name}.input")).unwrap();
            graph.link(&format!("{name}.output -> sink_{name}.input")).unwrap();
        }
        graph
    }

    fn breathe_with_a_small_pool(graph: &Graph) -> Engine {
        let mut engine = engine_of(graph, Settings { packets: 64, burst: 4, ..Settings::new().unwrap() });
        (0..100).for_each(|_| _ = engine.breathe());
        engine
    }

    #[test]
    fn several_together_keep_half_of_the_pool() {
        let mut engine = breathe_with_a_small_pool(&fed_without_end(&["a", "b", "c"]));
        // The source keeps one.
        assert_eq!(engine.report().pool.held, 32 + 1);
        for name in ["a", "b", "c"] {
            let before = (sent(&mut engine, name), counter(&mut engine, name, "repeater_full"));
            (0..10).for_each(|_| _ = engine.breathe());
            let after = (sent(&mut engine, name), counter(&mut engine, name, "repeater_full"));
            assert!(after.0 > before.0 && after.1 > before.1, "{name}: {before:?}, then {after:?}");
        }
    }

    #[test]
    fn what_one_that_goes_had_kept_others_may_keep() {
        let mut engine = breathe_with_a_small_pool(&fed_without_end(&["a", "b"]));
        engine.configure(&fed_without_end(&["b", "c"])).unwrap();
        (0..100).for_each(|_| _ = engine.breathe());
        assert_eq!(engine.report().pool.held, 32 + 1);
        assert!(sent(&mut engine, "c") > 0);
    }

    #[test]
    fn without_a_link_it_comes_to_its_end() {
        let mut rig = Rig::new(Repeater { count: Some(100), ..Repeater::default() }, &["input"], &[]);
        rig.send("input", b"a");
        (0..5).for_each(|_| rig.breathe());
        assert_eq!(rig.report().drops.get("unlinked"), Some(&100));
        assert_eq!((rig.counter("repeated"), rig.report().pool.held), (1, 0));
    }

    #[test]
    fn limits_are_checked() {
        let error = Repeater { limit: 0, count: None }.check().unwrap_err().to_string();
        assert!(error.starts_with("`limit`: 0 is not between 1 and "), "{error}");
    }
}
