//! What a class says of itself: its name, its ports, and where what comes in goes. The same for all options, so it is known before any app starts.

use crate::app::{Class, Direction, Passage, Ports};

/// What a class says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassInfo {
    /// Its name: the `type` in a graph file.
    pub name: &'static str,
    /// Its inputs.
    pub inputs: Ports,
    /// Its outputs.
    pub outputs: Ports,
    /// Where what comes in goes.
    pub passage: Passage,
}

impl ClassInfo {
    /// Its ports of one direction.
    pub fn ports(&self, direction: Direction) -> Ports {
        match direction {
            Direction::Input => self.inputs,
            Direction::Output => self.outputs,
        }
    }

    pub(super) fn of<C: Class>() -> Self {
        ClassInfo { name: C::TYPE, inputs: C::INPUTS, outputs: C::OUTPUTS, passage: C::PASSAGE }
    }
}
