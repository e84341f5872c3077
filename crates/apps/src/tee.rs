//! `tee`: sends what it gets to every output.
//!
//! | inputs | any |
//! |---|---|
//! | outputs | any: the last gets the packet itself, the others copies |
//! | `no_packet` | counts copies that were not made because the pool was exhausted |

use engine::shm::Counter;
use engine::{App, Class, Io, OptionError, Ports, Setup};
use serde::Deserialize;

/// Options of `tee`: none.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tee {}

/// A running `tee`.
#[derive(Debug)]
pub struct Running {
    no_packet: Counter,
    unlinked: Counter,
}

impl Class for Tee {
    const TYPE: &'static str = "tee";
    const INPUTS: Ports = Ports::Any;
    const OUTPUTS: Ports = Ports::Any;
    type App = Running;

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        Ok(Running { no_packet: setup.counter("no_packet"), unlinked: setup.drops("unlinked") })
    }
}

impl App for Running {
    fn push(&mut self, io: &mut Io<'_>) {
        let Some((last, others)) = io.outputs.split_last_mut() else {
            for input in io.inputs.iter_mut() {
                while let Some(burst) = input.burst() {
                    io.pool.free_burst(burst, &self.unlinked);
                }
            }
            return;
        };
        for input in io.inputs.iter_mut() {
            while let Some(burst) = input.burst() {
                for output in others.iter_mut() {
                    let made = output.send_copies_of(io.pool, &burst);
                    if made < burst.len() {
                        self.no_packet.add((burst.len() - made) as u64);
                    }
                }
                last.send(burst);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Tee;
    use testkit::rig::Rig;

    #[test]
    fn every_output_gets_every_packet() {
        let mut rig = Rig::new(Tee {}, &["input"], &["a", "b", "c"]);
        let packets: Vec<Vec<u8>> = [0, 1, 61, 62, 63, 64, 1500, 10240].map(|len| vec![7; len]).into();
        packets.iter().for_each(|packet| rig.send("input", packet));
        rig.breathe();
        for output in ["a", "b", "c"] {
            let received = rig.received(output);
            assert_eq!(
                received.iter().map(|packet| packet.data.clone()).collect::<Vec<_>>(),
                packets,
                "{output}"
            );
            assert!(received.iter().all(|packet| packet.metadata.timestamp_ns == rig.now_ns()));
        }
    }

    #[test]
    fn without_outputs_packets_are_dropped_and_counted() {
        let mut rig = Rig::new(Tee {}, &["input"], &[]);
        rig.send("input", b"x");
        rig.breathe();
        assert_eq!(rig.counter("unlinked"), 1);
    }

    #[test]
    fn an_exhausted_pool_is_counted() {
        let mut rig = Rig::with(Tee {}, &["input"], &["a", "b"], 6);
        (0..4).for_each(|_| rig.send("input", b"x"));
        rig.breathe();
        assert_eq!((rig.take("a").len(), rig.take("b").len(), rig.counter("no_packet")), (2, 4, 2));
    }
}
