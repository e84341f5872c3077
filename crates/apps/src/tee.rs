//! `tee`: sends what it gets to every output.
//!
//! | inputs | any |
//! |---|---|
//! | outputs | any: one gets the packet itself, the others copies. When copies fail, the next is the one, so that all lack as many |
//! | `no_packet` | counts copies that were not made because the pool was exhausted, or for long packets its large ones |

use engine::shm::Counter;
use engine::{App, Class, Io, MAX_PAYLOAD, OptionError, Output, Packet, Pool, Ports, Reporting, Setup};
use serde::Deserialize;

/// Options of `tee`: none.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tee {}

/// A running `tee`.
#[derive(Debug)]
pub struct Running {
    /// How many outputs stand before the one that is the first to get a copy; the one before that gets the packet itself.
    first: usize,
    no_packet: Counter,
    unlinked: Counter,
}

impl Class for Tee {
    const TYPE: &'static str = "tee";
    const INPUTS: Ports = Ports::Any;
    const OUTPUTS: Ports = Ports::Any;
    type App = Running;

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        Ok(Running { first: 0, no_packet: setup.counter("no_packet"), unlinked: setup.drops("unlinked") })
    }
}

impl App for Running {
    fn push(&mut self, io: &mut Io<'_>) {
        let outputs = io.outputs.len();
        if outputs == 0 {
            for input in io.inputs.iter_mut() {
                while let Some(burst) = input.burst() {
                    io.pool.free_burst(burst, &self.unlinked);
                }
            }
            return;
        }
        if self.first >= outputs {
            self.first = 0;
        }
        for input in io.inputs.iter_mut() {
            while let Some(burst) = input.burst() {
                let mut is_short = false;
                // Those from the first to the last, then those before it but one.
                let (before, behind) = io.outputs.split_at_mut(self.first);
                let (original, others) = match before.split_last_mut() {
                    Some((original, before)) => (original, behind.iter_mut().chain(before)),
                    None => match behind.split_last_mut() {
                        Some((original, behind)) => (original, behind.iter_mut().chain([].as_mut_slice())),
                        None => return,
                    },
                };
                for output in others {
                    let made = output.send_copies_of(io.pool, &burst);
                    if made < burst.len() {
                        self.send_others(output, io.pool, &burst[made..]);
                        is_short = true;
                    }
                }
                original.send(burst);
                if is_short {
                    self.first = (self.first + 1) % outputs;
                }
            }
        }
    }

    fn reporting(&self) -> Option<&dyn Reporting> {
        Some(self)
    }
}

impl Reporting for Running {
    /// Which copies were not made, if any.
    fn report(&self) -> Option<String> {
        let missing = self.no_packet.get();
        let copies = match missing {
            0 => return None,
            1 => "a copy was".to_owned(),
            _ => format!("{missing} copies were"),
        };
        Some(format!(
            "{copies} not made, as no packet was free: give the pool more (`--packets`, or `--large-packets` for long ones)"
        ))
    }
}

impl Running {
    /// Sends copies of packets for the first of which there was no memory: where that is a long one, there may be for others.
    #[cold]
    fn send_others(&self, output: &mut Output, pool: &mut Pool, mut packets: &[Packet]) {
        while let [first, others @ ..] = packets
            && first.len() > MAX_PAYLOAD
        {
            self.no_packet.add(1);
            packets = &others[output.send_copies_of(pool, others)..];
        }
        self.no_packet.add(packets.len() as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::Tee;
    use testkit::rig::Rig;

    #[test]
    fn every_output_gets_every_packet() {
        let mut rig = Rig::new(Tee {}, &["input"], &["a", "b", "c"]);
        let lens = [0, 1, 61, 62, 63, 64, 1500, 10_240, 10_241, 60_000, 60, 65_535];
        let packets: Vec<Vec<u8>> = lens.map(|len| vec![len as u8; len]).into();
        packets.iter().for_each(|packet| rig.send("input", packet));
        rig.breathe();
        assert_eq!(rig.report().apps[testkit::rig::APP].text, None);
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
        let report = rig.report();
        let app = &report.apps[testkit::rig::APP];
        assert!(app.text.as_ref().is_some_and(|text| text.starts_with("2 copies were not made")), "{app:?}");
        assert!(!app.has_failed);
    }

    #[test]
    fn all_outputs_lack_as_many_packets() {
        for names in [&["a", "b"][..], &["a", "b", "c"]] {
            let mut rig = Rig::with(Tee {}, &["input"], names, 8);
            let mut received = vec![0; names.len()];
            for _ in 0..60 {
                (0..6).for_each(|_| rig.send("input", b"x"));
                rig.breathe();
                received.iter_mut().zip(names).for_each(|(count, name)| *count += rig.take(name).len());
            }
            let (least, most) = (received.iter().min().unwrap(), received.iter().max().unwrap());
            assert!(rig.counter("no_packet") > 0 && most - least <= 12, "{received:?}");
        }
    }

    #[test]
    fn long_packets_without_memory_take_no_others_with_them() {
        let mut rig = Rig::with_large(Tee {}, &["input"], &["a", "b"], 64, 5);
        let lens = [60, 60_000, 61, 60_001, 62, 60_002, 63, 60_003];
        lens.iter().for_each(|&len| rig.send("input", vec![1; len]));
        rig.breathe();
        let lens_of = |packets: Vec<Vec<u8>>| packets.iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(lens_of(rig.take("a")), [60, 60_000, 61, 62, 63], "four of the five are on their way");
        assert_eq!((lens_of(rig.take("b")), rig.counter("no_packet")), (lens.to_vec(), 3));
    }
}
