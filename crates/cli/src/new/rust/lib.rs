//! `my_app`: an app that lets packets pass whose length is at least `length`, and counts the others.

use engine::shm::Counter;
use engine::{App, Burst, Class, Io, OptionError, Setup};
use serde::Deserialize;

/// Options of `my_app`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MyApp {
    /// The least length of packets that pass.
    pub length: usize,
}

impl Default for MyApp {
    fn default() -> Self {
        MyApp { length: 60 }
    }
}

impl Class for MyApp {
    const TYPE: &'static str = "my_app";
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        OptionError::check_range("length", self.length, 0..=65535)
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        Ok(Running { length: self.length, short: setup.rejects("short") })
    }
}

/// A running `my_app`.
pub struct Running {
    length: usize,
    short: Counter,
}

impl App for Running {
    fn push(&mut self, io: &mut Io<'_>) {
        while let Some(burst) = io.inputs[0].burst_of_at_most(Burst::SIFTED) {
            let short = io.outputs[0].sift(burst, |packet| packet.len() >= self.length);
            io.pool.free_burst(short, &self.short);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::rig::Rig;

    #[test]
    fn short_packets_are_dropped_and_counted() {
        let mut rig = Rig::new(MyApp { length: 3 }, &["input"], &["output"]);
        let passed: Vec<Vec<u8>> = rig.pass(&[&b"ab"[..], b"abc", b"", b"abcd"]);
        assert_eq!(passed, [&b"abc"[..], b"abcd"]);
        assert_eq!(rig.counter("short"), 2);
    }
}
