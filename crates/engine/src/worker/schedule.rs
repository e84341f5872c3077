//! Whose turn follows whose in a breath.

use super::task::{Method, Task};

/// Whose turn follows whose, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    pulls: Vec<u32>,
    pushes: Vec<u32>,
    ticks: Vec<u32>,
}

impl Schedule {
    /// Those in this order push; those that pull do so in the order of their names.
    pub(super) fn new(tasks: &[Task]) -> Self {
        let with = |method| (0..).zip(tasks).filter(move |(_, task)| task.has(method)).map(|(task, _)| task);
        let mut pulls: Vec<u32> = with(Method::Pull).collect();
        pulls.sort_by_key(|&task| tasks[task as usize].name());
        Schedule { pulls, pushes: with(Method::Push).collect(), ticks: with(Method::Tick).collect() }
    }

    pub(super) fn of(&self, method: Method) -> &[u32] {
        match method {
            Method::Pull => &self.pulls,
            Method::Push => &self.pushes,
            Method::Tick => &self.ticks,
        }
    }
}
