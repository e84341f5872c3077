//! `split`: spreads packets over its outputs in turn.
//!
//! | inputs | any |
//! |---|---|
//! | outputs | any: each gets one packet after another, in the order of their names |
//! | `numbered` | whether packets get numbers, by which a `merge` puts them in order again; `false` unless set |
//!
//! A link that is full is passed over; only when all are full are packets dropped. (Snabb's `Split` is meant to do so, but fills the
//! first output with all it gets.)
//!
//! Packets of a flow go different ways, and may overtake each other on them. Where that matters, use `rss`, or give them numbers and
//! put a `merge` behind the branches. A packet has room for one number: each numbered `split` needs a `merge` of its own, and there must not
//! be another pair on its branches, whose numbers would take the place of the first.

use engine::shm::Counter;
use engine::{App, Class, Io, OptionError, Output, Packet, PortNames, Ports, Reconfigured, Roles, Setup};
use serde::Deserialize;

/// Options of `split`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Split {
    /// Whether packets get numbers.
    pub numbered: bool,
}

/// A running `split`.
#[derive(Debug)]
pub struct Running {
    numbered: bool,
    /// The number of the next packet. They begin with the time, so that those after a restart are larger than those before.
    number: u64,
    /// The output whose turn it is.
    turn: usize,
    /// The number of packets that each output takes in this turn.
    rooms: Vec<usize>,
    unlinked: Counter,
}

impl Class for Split {
    const TYPE: &'static str = "split";
    const INPUTS: Ports = Ports::Any;
    const OUTPUTS: Ports = Ports::Any;
    type App = Running;

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        Ok(Running {
            numbered: self.numbered,
            number: setup.now_ns.max(1),
            turn: 0,
            rooms: Vec::new(),
            unlinked: setup.drops("unlinked"),
        })
    }

    fn reconfigure(
        &self,
        app: &mut Running,
        _: &Self,
        _: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        app.numbered = self.numbered;
        Ok(Reconfigured::Kept)
    }
}

impl App for Running {
    fn roles(&self) -> Roles {
        Roles::PUSH.and(Roles::METADATA.when(self.numbered))
    }

    fn link(&mut self, ports: &PortNames<'_>) {
        self.rooms = vec![0; ports.outputs.len()];
        self.turn = 0;
    }

    fn push(&mut self, io: &mut Io<'_>) {
        for (room, output) in self.rooms.iter_mut().zip(io.outputs.iter()) {
            *room = output.room();
        }
        for input in io.inputs.iter_mut() {
            while let Some(mut burst) = input.burst() {
                if io.outputs.is_empty() {
                    io.pool.free_burst(burst, &self.unlinked);
                    continue;
                }
                if self.numbered {
                    burst.iter_mut().for_each(|packet| self.number(packet));
                }
                burst.for_each(|packet| self.deal(packet, io.outputs));
            }
        }
    }
}

impl Running {
    #[inline]
    fn number(&mut self, packet: &mut Packet) {
        packet.metadata_mut().sequence = self.number;
        self.number += 1;
    }

    /// Sends a packet to the next output that has room; to the one whose turn it is if none has.
    #[inline]
    fn deal(&mut self, packet: Packet, outputs: &mut [Output]) {
        if self.rooms[self.turn] == 0 {
            self.pass_over_full();
        }
        outputs[self.turn].put(packet);
        self.rooms[self.turn] = self.rooms[self.turn].saturating_sub(1);
        self.advance();
    }

    #[inline]
    fn advance(&mut self) {
        self.turn += 1;
        if self.turn == self.rooms.len() {
            self.turn = 0;
        }
    }

    #[cold]
    fn pass_over_full(&mut self) {
        for _ in 0..self.rooms.len() {
            if self.rooms[self.turn] > 0 {
                return;
            }
            self.advance();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Split;
    use testkit::rig::Rig;

    #[test]
    fn outputs_take_turns() {
        let mut rig = Rig::new(Split::default(), &["input"], &["a", "b", "c"]);
        (0..8_u8).for_each(|i| rig.send("input", [i]));
        rig.breathe();
        assert_eq!(rig.take("a"), [[0], [3], [6]]);
        assert_eq!(rig.take("b"), [[1], [4], [7]]);
        assert_eq!(rig.take("c"), [[2], [5]]);
        rig.send("input", [8]);
        rig.breathe();
        assert_eq!(rig.take("c"), [[8]], "the turn goes on");
    }

    #[test]
    fn numbers_rise_by_one() {
        let mut rig = Rig::new(Split { numbered: true }, &["x", "y"], &["a", "b"]);
        (0..10_u8).for_each(|i| rig.send(["x", "y"][usize::from(i) % 2], [i]));
        rig.breathe();
        let received = [rig.received("a"), rig.received("b")].concat();
        let mut numbers: Vec<u64> = received.iter().map(|packet| packet.metadata.sequence).collect();
        numbers.sort_unstable();
        assert!(numbers[0] > 0 && numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{numbers:?}");
    }

    #[test]
    fn a_breath_has_more_packets_than_a_link() {
        let mut rig = Rig::new(Split::default(), &["x", "y", "z"], &["a", "b"]);
        for input in ["x", "y", "z"] {
            (0..1024).for_each(|_| rig.send(input, b"packet"));
        }
        rig.breathe();
        assert_eq!((rig.take("a").len(), rig.take("b").len()), (1536, 1536));
        assert_eq!(rig.report().drops.len(), 0);
    }

    #[test]
    fn without_outputs_packets_are_dropped_and_counted() {
        let mut rig = Rig::new(Split::default(), &["input"], &[]);
        rig.send("input", b"x");
        rig.breathe();
        assert_eq!(rig.counter("unlinked"), 1);
    }
}
