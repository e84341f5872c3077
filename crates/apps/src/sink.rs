//! `sink`: swallows what it gets.
//!
//! | inputs | any |
//! |---|---|
//! | `delivered` | counts packets swallowed |

use engine::shm::Counter;
use engine::{App, Class, Io, OptionError, Ports, Setup};
use serde::Deserialize;

/// Options of `sink`: none.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sink {}

/// A running `sink`.
#[derive(Debug)]
pub struct Running {
    delivered: Counter,
}

impl Class for Sink {
    const TYPE: &'static str = "sink";
    const INPUTS: Ports = Ports::Any;
    const OUTPUTS: Ports = Ports::NONE;
    type App = Running;

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        Ok(Running { delivered: setup.delivered() })
    }
}

impl App for Running {
    fn push(&mut self, io: &mut Io<'_>) {
        for input in io.inputs.iter_mut() {
            while let Some(burst) = input.burst() {
                io.pool.free_burst(burst, &self.delivered);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Sink;
    use testkit::rig::Rig;

    #[test]
    fn what_comes_in_anywhere_is_swallowed() {
        let mut rig = Rig::new(Sink {}, &["a", "b"], &[]);
        (0..100).for_each(|_| rig.send("a", b"from a"));
        rig.send("b", vec![7; 20_000]);
        (0..2).for_each(|_| rig.breathe());
        assert_eq!(rig.counter("delivered"), 101);
        let report = rig.report();
        assert_eq!((report.pool.free, report.drops.len()), (report.pool.total, 0));
    }
}
