//! `source`: the same packet, over and over, as fast as the graph takes it.
//!
//! | outputs | any: each gets as many |
//! |---|---|
//! | `size` | bytes of a packet, 14 to 65535; 60 unless set. More than 10240 take large packets of the pool, of which there are few |
//! | `count` | packets in all, to each output; without end unless set |
//!
//! The packets are Ethernet frames of the local experimental type (0x88b5, IEEE 802), otherwise zero. A link with little
//! room gets as many as fit: a source drops nothing. Each output gets its `count` in its own time, and one that is linked later
//! gets as many as those before it.

use engine::{
    App, Class, Io, MAX_LARGE_PAYLOAD, MAX_PAYLOAD, OptionError, Packet, Pool, PortNames, Ports, Reporting,
    Roles, Setup,
};
use serde::Deserialize;

/// Options of `source`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Source {
    /// Bytes of a packet.
    pub size: usize,
    /// Packets in all, to each output.
    pub count: Option<u64>,
}

impl Default for Source {
    fn default() -> Self {
        Source { size: 60, count: None }
    }
}

/// A running `source`.
#[derive(Debug)]
pub struct Running {
    frame: Vec<u8>,
    /// The packet that is copied; made in the first turn, which has the pool.
    template: Option<Packet>,
    /// Why there can be no packets: the pool can never have one to keep, and a copy of it.
    impossible: Option<String>,
    count: Option<u64>,
    /// The number of packets that each output is still to get.
    outputs: Vec<Due>,
}

#[derive(Debug)]
struct Due {
    name: String,
    left: u64,
}

impl Class for Source {
    const TYPE: &'static str = "source";
    const INPUTS: Ports = Ports::NONE;
    const OUTPUTS: Ports = Ports::Any;
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        OptionError::check_range("size", self.size, 14..=MAX_LARGE_PAYLOAD)
    }

    fn start(&self, _: &mut Setup<'_>) -> Result<Running, OptionError> {
        let mut frame = vec![0; self.size];
        frame[12..14].copy_from_slice(&[0x88, 0xb5]);
        Ok(Running { frame, template: None, impossible: None, count: self.count, outputs: Vec::new() })
    }
}

impl App for Running {
    fn roles(&self) -> Roles {
        Roles::PULL
    }

    fn link(&mut self, ports: &PortNames<'_>) {
        let before = std::mem::take(&mut self.outputs);
        let all = self.count.unwrap_or(u64::MAX);
        let left = |name: &str| before.iter().find(|due| due.name == name).map_or(all, |due| due.left);
        self.outputs =
            ports.outputs.iter().map(|&name| Due { name: name.to_owned(), left: left(name) }).collect();
    }

    fn pull(&mut self, io: &mut Io<'_>) {
        if self.template.is_none() && !self.is_finished() {
            self.impossible = why_impossible(self.frame.len(), io.pool);
            if self.impossible.is_none() {
                self.template = io.pool.packet(&self.frame);
            }
        }
        let Some(template) = &mut self.template else { return };
        // It may have been made before anybody asked for the time.
        io.pool.describe_as_new(template);
        for (due, output) in self.outputs.iter_mut().zip(io.outputs.iter_mut()) {
            let left = usize::try_from(due.left).unwrap_or(usize::MAX);
            let sent = output.send_copies(io.pool, template, io.burst.min(left).min(output.room()));
            due.left -= sent as u64;
        }
        if self.is_finished() {
            self.template.take().into_iter().for_each(|packet| io.pool.take_back(packet));
        }
    }

    fn held(&self) -> usize {
        usize::from(self.template.is_some())
    }

    fn is_finished(&self) -> bool {
        self.impossible.is_some() || self.count.is_some() && self.outputs.iter().all(|due| due.left == 0)
    }

    fn reporting(&self) -> Option<&dyn Reporting> {
        Some(self)
    }
}

impl Reporting for Running {
    fn report(&self) -> Option<String> {
        self.impossible.clone()
    }

    fn has_failed(&self) -> bool {
        self.impossible.is_some()
    }
}

/// Why a pool has no room for a packet of this length and a copy of it.
#[cold]
fn why_impossible(len: usize, pool: &Pool) -> Option<String> {
    let (kind, total, flag) = match len > MAX_PAYLOAD {
        true => (" large", pool.large_total(), "--large-packets"),
        false => ("", pool.usual_total(), "--packets"),
    };
    let why =
        || format!("packets of {len} bytes take{kind} packets, 2 at least: give the pool as many (`{flag}`)");
    (total < 2).then(why)
}

#[cfg(test)]
mod tests {
    use super::Source;
    use crate::{Delay, RateLimiter, Sink};
    use engine::{Engine, Graph, Settings};
    use testkit::rig::Rig;

    #[test]
    fn it_sends_as_many_as_it_is_told_to() {
        let mut rig = Rig::new(Source { size: 100, count: Some(70) }, &[], &["a", "b"]);
        (0..5).for_each(|_| rig.breathe());
        for output in ["a", "b"] {
            let packets = rig.take(output);
            assert_eq!(packets.len(), 70, "{output}");
            assert!(packets.iter().all(|packet| packet.len() == 100 && packet[12..14] == [0x88, 0xb5]));
        }
    }

    #[test]
    fn packets_for_which_there_is_no_memory_are_a_failure() {
        for (large, failed) in [(0, true), (1, true), (2, false)] {
            let source = Source { size: 60_000, count: Some(3) };
            let mut rig = Rig::with_large(source, &[], &["a"], 10, large);
            (0..5).for_each(|_| rig.breathe());
            let report = rig.report();
            let app = report.apps.values().find(|app| app.class == "source").expect("the app");
            assert_eq!((app.has_failed, app.text.is_some()), (failed, failed), "{large}");
            assert_eq!(rig.take("a").is_empty(), failed, "{large}");
        }
    }

    #[test]
    fn a_pool_of_one_packet_is_a_failure() {
        for (packets, failed) in [(1, true), (2, false)] {
            let mut rig = Rig::with(Source { size: 60, count: Some(3) }, &[], &["a"], packets);
            (0..5).for_each(|_| rig.breathe());
            let report = rig.report();
            let app = report.apps.values().find(|app| app.class == "source").expect("the app");
            assert_eq!((app.has_failed, app.text.is_some()), (failed, failed), "{packets}");
            assert_eq!(rig.take("a").is_empty(), failed, "{packets}");
        }
    }

    #[test]
    fn a_scarce_pool_does_not_change_the_count() {
        let mut rig = Rig::with(Source { size: 60, count: Some(70) }, &[], &["a", "b"], 10);
        (0..30).for_each(|_| rig.breathe());
        assert_eq!([rig.take("a").len(), rig.take("b").len()], [70, 70]);
    }

    #[test]
    fn a_link_with_little_room_gets_its_count_later() {
        let mut graph = Graph::new();
        graph.app("source", Source { size: 60, count: Some(3000) }).unwrap();
        let hold = RateLimiter { packets_per_s: Some(1), hold: true, ..RateLimiter::default() };
        graph.app("hold", hold).unwrap();
        graph.app("delay", Delay::default()).unwrap();
        graph.app("sink", Sink {}).unwrap();
        for link in [
            "source.a -> hold.input",
            "source.b -> delay.input",
            "hold.output -> sink.a",
            "delay.output -> sink.b",
        ] {
            graph.link(link).unwrap();
        }
        let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
        engine.configure(&graph).unwrap();
        let sent = |engine: &mut Engine| {
            (0..60).for_each(|_| {
                engine.breathe();
            });
            let report = engine.report();
            let to = |to: &str| report.links.iter().find(|link| link.link.to_string().contains(to)).unwrap();
            [to("hold.input").txpackets, to("delay.input").txpackets]
        };
        assert_eq!(sent(&mut engine), [1025, 3000]);
        let open = RateLimiter { packets_per_s: Some(1_000_000_000_000), ..RateLimiter::default() };
        graph.get_mut("hold").unwrap().config = engine::Config::new(open);
        engine.configure(&graph).unwrap();
        assert_eq!(sent(&mut engine), [3000, 3000]);
        assert!(engine.report().balanced());
    }

    #[test]
    fn long_packets_come_as_large_ones_are_free() {
        let mut rig = Rig::with_large(Source { size: 60_000, count: Some(50) }, &[], &["a", "b"], 100, 4);
        (0..40).for_each(|_| rig.breathe());
        let (a, b) = (rig.take("a"), rig.take("b"));
        assert_eq!((a.len(), b.len()), (50, 50));
        assert!(a.iter().chain(&b).all(|packet| packet.len() == 60_000));
    }

    #[test]
    fn packets_have_the_time_at_which_they_are_sent() {
        let mut rig = Rig::new(Source { size: 60, count: None }, &[], &["a"]);
        for _ in 0..3 {
            rig.advance(1_000_000);
            let now_ns = rig.now_ns();
            let received = rig.received("a");
            assert!(!received.is_empty());
            assert!(received.iter().all(|packet| packet.metadata.timestamp_ns == now_ns));
        }
    }

    #[test]
    fn sizes_are_checked() {
        use engine::Class;
        let error = Source { size: 5, count: None }.check().unwrap_err();
        assert_eq!(error.to_string(), "`size`: 5 is not between 14 and 65535");
    }
}
