//! The command `sluss`, with an app of its own beside the standard ones: `sample` lets one packet of `every` through.
//!
//! ```text
//! cargo run -p sluss --example own_apps -- apps sample
//! cargo run -p sluss --example own_apps -- run crates/cli/examples/own_apps.toml
//! ```

use engine::shm::Counter;
use engine::{App, Burst, Class, Io, OptionError, Setup};
use serde::Deserialize;
use std::process::ExitCode;

/// Options of `sample`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sample {
    /// Of so many packets one goes on.
    every: u32,
}

/// A running `sample`.
struct Running {
    every: u32,
    /// Packets until the next that goes on.
    left: u32,
    passed_over: Counter,
}

impl Class for Sample {
    const TYPE: &'static str = "sample";
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        OptionError::check_range("every", self.every, 1..=1_000_000)
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        Ok(Running { every: self.every, left: 0, passed_over: setup.rejects("passed_over") })
    }
}

impl App for Running {
    fn push(&mut self, io: &mut Io<'_>) {
        while let Some(burst) = io.inputs[0].burst_of_at_most(Burst::SIFTED) {
            let others = io.outputs[0].sift(burst, |_| {
                let is_next = self.left == 0;
                self.left = if is_next { self.every - 1 } else { self.left - 1 };
                is_next
            });
            io.pool.free_burst(others, &self.passed_over);
        }
    }
}

fn main() -> ExitCode {
    sluss::main(sluss::registry().with::<Sample>())
}
