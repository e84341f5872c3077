//! `repeater`: keeps what it gets and sends copies of it over and over, as Snabb's `Repeater` does.
//!
//! | inputs | `input` |
//! |---|---|
//! | outputs | `output` |
//! | `limit` | packets kept at most, 4096 unless set |
//! | `count` | packets sent in all; without end unless set |
//! | `repeater_full` | counts packets dropped as there are `limit` already, or half of the packets of the pool, or of its large ones |
//! | `repeated` | counts packets that were kept, and were let go in the end |
//! | `no_packet` | counts copies of long packets that were left out, as the pool had no large packet |
//!
//! It begins with the first packet it gets; others are joined to the end of the row as they come. Copies have the metadata of what
//! they are copies of, its timestamp included. As many are sent as the link has room for: a repeater drops nothing that it sends,
//! unless its output is not linked, when all is dropped as `unlinked`.
//!
//! Packets that are kept are the pool's. No more than half of them are kept, nor of its large ones, since copies need as many again; the
//! first that is not kept for that reason is told. Each repeater has a half of its own: several in a graph can hold the whole pool, and then stand still;
//! give them limits that leave room. Where others hold the rest, a long packet that has waited for a whole turn is passed
//! over: the short ones after it are sent, and it has its next chance in the next round.

use engine::shm::Counter;
use engine::{App, Class, Io, MAX_PAYLOAD, Notifier, OptionError, Packet, Pool, Reconfigured, Roles, Setup};
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
    packets: Vec<Packet>,
    /// Large ones among them.
    large: usize,
    /// The next to be sent.
    next: usize,
    left: u64,
    limit: usize,
    /// Whether it was told that the pool is too small.
    has_told: bool,
    notifier: Notifier,
    full: Counter,
    repeated: Counter,
    no_packet: Counter,
}

impl Class for Repeater {
    const TYPE: &'static str = "repeater";
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        OptionError::check_range("limit", self.limit, 1..=Pool::MAX_PACKETS)
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        Ok(Running {
            packets: Vec::with_capacity(self.limit),
            large: 0,
            next: 0,
            left: self.count.unwrap_or(u64::MAX),
            limit: self.limit,
            has_told: false,
            notifier: setup.notifier(),
            full: setup.drops("repeater_full"),
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
        app.packets.reserve(self.limit.saturating_sub(app.packets.len()));
        if self.count != old.count {
            app.left = self.count.unwrap_or(u64::MAX);
        }
        Ok(Reconfigured::Kept)
    }
}

impl App for Running {
    fn roles(&self) -> Roles {
        Roles::PULL.and(Roles::PUSH)
    }

    fn push(&mut self, io: &mut Io<'_>) {
        while let Some(mut burst) = io.inputs[0].burst() {
            if self.left == 0 {
                io.pool.free_burst(burst, &self.repeated);
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
        let is_large = packet.max_len() > MAX_PAYLOAD;
        let (kept, total) = match is_large {
            true => (self.large, pool.large_total()),
            false => (self.packets.len() - self.large, pool.usual_total()),
        };
        if kept >= total / 2 {
            self.tell(is_large, total);
            return pool.free(packet, &self.full);
        }
        self.large += usize::from(is_large);
        self.packets.push(packet);
    }

    /// Tells that the pool is too small to keep more, once.
    #[cold]
    fn tell(&mut self, is_large: bool, total: usize) {
        if std::mem::replace(&mut self.has_told, true) {
            return;
        }
        let (packets, flag) =
            if is_large { ("large packets", "--large-packets") } else { ("packets", "--packets") };
        self.notifier.warn(format!(
            "the pool has {total} {packets}, of which half are kept; others are dropped: give it more (`{flag}`)"
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
        (self.next, self.large) = (0, 0);
        self.packets.drain(..).for_each(|packet| pool.free(packet, &self.repeated));
    }
}

#[cfg(test)]
mod tests {
    use super::Repeater;
    use crate::{Join, Sink, Source, Tee};
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
        assert_eq!((rig.take("output").len(), rig.counter("repeated")), (0, 4));
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
        format!("the pool has {packets}, of which half are kept; others are dropped: give it more (`{flag}`)")
    }

    /// Two repeaters that get two long packets each, all there can be, and so many short ones.
    fn two_with_long_packets(short: u64) -> Engine {
        let mut graph = Graph::new();
        graph.app("long", Source { size: 20_000, count: Some(2) }).unwrap();
        graph.app("short", Source { count: Some(short), ..Source::default() }).unwrap();
        graph.app("join", Join {}).unwrap();
        graph.app("tee", Tee {}).unwrap();
        graph.link("long.output -> join.a").unwrap();
        graph.link("short.output -> join.b").unwrap();
        graph.link("join.output -> tee.input").unwrap();
        for name in ["one", "two"] {
            graph.app(name, Repeater { count: Some(500), ..Repeater::default() }).unwrap();
            graph.app(&format!("sink_{name}"), Sink {}).unwrap();
            graph.link(&format!("tee.{name} -> {name}.input")).unwrap();
            graph.link(&format!("{name}.output -> sink_{name}.input")).unwrap();
        }
        let settings = Settings { large_packets: 4, ..Settings::new().unwrap() };
        let mut engine = Engine::new(settings).unwrap();
        engine.configure(&graph).unwrap();
        engine
    }

    fn left_out(engine: &mut Engine, app: &str) -> u64 {
        let counters = engine.report().apps[app].counters.clone();
        counters.iter().find(|(name, ..)| name == "no_packet").map_or(0, |&(.., count)| count)
    }

    #[test]
    fn two_that_hold_all_large_packets_go_on_with_short_ones() {
        let mut engine = two_with_long_packets(3);
        for _ in 0..500 {
            engine.breathe();
        }
        let report = engine.report();
        assert!(report.balanced(), "{:#?}", report.imbalances);
        let sent = |name| report.links.iter().find(|link| link.link.from.app == name).unwrap().txpackets;
        assert_eq!((sent("one"), sent("two")), (500, 500));
        assert!(left_out(&mut engine, "one") > 0 && left_out(&mut engine, "two") > 0);
    }

    #[test]
    fn two_that_hold_all_large_packets_and_no_others_say_so() {
        let mut engine = two_with_long_packets(0);
        for _ in 0..20 {
            engine.breathe();
        }
        assert!(left_out(&mut engine, "one") > 0 && left_out(&mut engine, "two") > 0);
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
