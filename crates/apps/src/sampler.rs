//! `sampler`: lets one packet in N through.
//!
//! | inputs | `input` |
//! |---|---|
//! | outputs | `output`: the sample; `rest`: the others, if it is linked |
//! | `every` | of how many packets one passes, at least 1; required |
//! | `random` | whether each packet passes by chance, one in `every` on average, rather than each `every`th; `false` unless set |
//! | `seed` | where chance begins, 0 unless set |
//! | `not_sampled` | counts packets dropped as `rest` is not linked |
//!
//! Each `every`th packet is what Snabb's `Sample` lets through; traffic that repeats itself may never show all of itself so, which is
//! what chance is for (RFC 5475, section 5, has both).

use crate::shared::filtering::LANES;
use crate::shared::random::Random;
use engine::shm::Counter;
use engine::{App, Class, Io, OptionError, Ports, Setup};
use serde::Deserialize;

/// Options of `sampler`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sampler {
    /// Of how many packets one passes.
    pub every: u32,
    /// Whether that is by chance.
    #[serde(default)]
    pub random: bool,
    /// Where chance begins.
    #[serde(default)]
    pub seed: u64,
}

/// A running `sampler`.
#[derive(Debug)]
pub struct Running {
    options: Sampler,
    random: Random,
    /// Packets before the next that passes.
    skip: u64,
    not_sampled: Counter,
}

impl Class for Sampler {
    const TYPE: &'static str = "sampler";
    const OUTPUTS: Ports = Ports::Named(&["output", "rest"]);
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        OptionError::check_range("every", self.every, 1..=u32::MAX)
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        let random = Random::new(self.seed);
        let not_sampled = setup.rejects("not_sampled");
        let mut app = Running { options: self.clone(), random, skip: 0, not_sampled };
        app.skip = app.gap() - 1;
        Ok(app)
    }
}

impl App for Running {
    fn push(&mut self, io: &mut Io<'_>) {
        while let Some(burst) = io.inputs[0].burst_of_at_most(LANES) {
            let bits = self.choose(burst.len() as u64);
            let (sample, rest) = burst.partition(bits);
            io.outputs[0].send(sample);
            io.outputs[1].send_or_free(rest, io.pool, &self.not_sampled);
        }
    }
}

impl Running {
    /// Which of the next `count` packets pass, 64 at most.
    fn choose(&mut self, count: u64) -> u64 {
        let mut bits = 0;
        while self.skip < count {
            bits |= 1 << self.skip;
            self.skip += self.gap();
        }
        self.skip -= count;
        bits
    }

    /// From one packet that passes to the next. By chance, gaps are distributed geometrically: one random number a sample, not a packet.
    fn gap(&mut self) -> u64 {
        let every = u64::from(self.options.every);
        if !self.options.random || every == 1 {
            return every;
        }
        let misses = (1.0 - self.random.unit()).ln() / (1.0 - 1.0 / every as f64).ln();
        1 + misses as u64
    }
}

#[cfg(test)]
mod tests {
    use super::Sampler;
    use engine::Class;
    use testkit::rig::Rig;

    fn sampled(sampler: Sampler, count: u32) -> Vec<u32> {
        let mut rig = Rig::new(sampler, &["input"], &["output"]);
        (0..count).for_each(|i| rig.send("input", i.to_be_bytes()));
        (0..count / 500 + 1).for_each(|_| rig.breathe());
        let sample = rig.take("output");
        assert_eq!(rig.counter("not_sampled"), u64::from(count) - sample.len() as u64);
        sample.iter().map(|packet| u32::from_be_bytes(packet[..].try_into().unwrap())).collect()
    }

    #[test]
    fn each_nth() {
        let sampler = |every| Sampler { every, random: false, seed: 0 };
        assert_eq!(sampled(sampler(1), 100), (0..100).collect::<Vec<_>>());
        assert_eq!(sampled(sampler(3), 10), [2, 5, 8]);
        assert_eq!(sampled(sampler(100), 350), [99, 199, 299], "across bursts");
        assert_eq!(sampled(sampler(u32::MAX), 100), []);
    }

    #[test]
    fn by_chance() {
        let sampler = |every, seed| Sampler { every, random: true, seed };
        assert_eq!(sampled(sampler(1, 0), 100).len(), 100);
        let sample = sampled(sampler(10, 1), 20_000);
        assert!((1_850..2_150).contains(&sample.len()), "{}", sample.len());
        let neighbours = sample.windows(2).filter(|pair| pair[0] + 1 == pair[1]).count();
        assert!((140..260).contains(&neighbours), "{neighbours}: one in ten is followed by another");
        assert_eq!(sampled(sampler(10, 1), 20_000), sample);
        assert_ne!(sampled(sampler(10, 2), 20_000), sample);
    }

    #[test]
    fn the_rest_may_be_wanted() {
        let mut rig = Rig::new(Sampler { every: 2, random: false, seed: 0 }, &["input"], &["output", "rest"]);
        assert_eq!(rig.pass(&[b"1", b"2", b"3"]), [b"2"]);
        assert_eq!(rig.take("rest"), [b"1", b"3"]);
    }

    #[test]
    fn options_are_checked() {
        let error = Sampler { every: 0, random: false, seed: 0 }.check().unwrap_err();
        assert_eq!(error.to_string(), "`every`: 0 is not between 1 and 4294967295");
    }
}
