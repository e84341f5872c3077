//! `join`: sends what comes in anywhere to one output.
//!
//! | inputs | any |
//! |---|---|
//! | outputs | `output` |

use engine::{App, Class, Io, OptionError, Ports, Setup};
use serde::Deserialize;

/// Options of `join`: none.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Join {}

impl Class for Join {
    const TYPE: &'static str = "join";
    const INPUTS: Ports = Ports::Any;
    type App = Self;

    fn start(&self, _: &mut Setup<'_>) -> Result<Self, OptionError> {
        Ok(self.clone())
    }
}

impl App for Join {
    fn push(&mut self, io: &mut Io<'_>) {
        let output = &mut io.outputs[0];
        for input in io.inputs.iter_mut() {
            while let Some(burst) = input.burst() {
                output.send(burst);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Join;
    use testkit::rig::Rig;

    #[test]
    fn what_comes_in_anywhere_goes_out() {
        let mut rig = Rig::new(Join {}, &["a", "b"], &["output"]);
        rig.send("b", b"from b");
        rig.send("a", b"from a");
        rig.breathe();
        assert_eq!(rig.take("output"), [b"from a", b"from b"]);
    }
}
