//! Turns in which an app is shown a part of what waits for it: a packet that is followed is alone in its turn, so that what leaves in that turn
//! has come of it.

use super::Task;
use crate::app::{Breath, Roles};
use crate::pool::Packet;

impl Task {
    /// How many packets wait at each input, for turns of a breath that begin now.
    pub(in crate::worker) fn begin_apart(&mut self) -> Vec<u32> {
        self.plugs.inputs.iter_mut().map(|input| input.begin()).collect()
    }

    /// The same for further turns in the breath, if packets have come since, or links have more room than when some were left.
    pub(in crate::worker) fn begin_apart_again(&mut self) -> Option<Vec<u32>> {
        let (mut waiting, mut any_new) = (Vec::new(), false);
        for input in &mut self.plugs.inputs {
            let (here, is_more) = input.begin_again();
            waiting.push(here);
            any_new |= is_more;
        }
        let goes_on = self.left_at.is_some_and(|bound| self.plugs.bound() > bound);
        (any_new || goes_on).then_some(waiting)
    }

    /// The same where nothing goes on, if the app has other links than those that are stuck.
    pub(in crate::worker) fn begin_apart_stuck(&mut self) -> Option<Vec<u32>> {
        let waiting = |task: &Task| task.plugs.inputs.iter().map(|input| input.waiting() as u32).collect();
        self.find_stuck().then(|| waiting(self))
    }

    /// Shows the app so many packets of each input in its next turn. Returns how many these are together.
    pub(in crate::worker) fn show(&mut self, counts: &[u32]) -> u32 {
        self.plugs.inputs.iter_mut().zip(counts).map(|(input, &count)| input.begin_with(count)).sum()
    }

    /// The packets that the app is shown of an input. Where the ring begins again behind them, others follow.
    pub(in crate::worker) fn shown(&self, input: usize) -> &[Packet] {
        self.plugs.inputs[input].peek()
    }

    /// Lets it push what it is shown. Returns what moved, and [`AGAIN`](super::AGAIN).
    pub(in crate::worker) fn push_shown(&mut self, breath: &mut Breath<'_>, waiting: u32) -> u32 {
        self.push_ready(breath, waiting)
    }

    /// Whether it is to be shown all that waits at a time.
    pub(in crate::worker) fn wants_all_together(&self) -> bool {
        self.roles.has(Roles::TOGETHER)
    }
}
