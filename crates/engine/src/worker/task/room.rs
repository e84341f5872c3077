//! Room in the links that an app sends to: it is given no more packets than these take, one each, and goes on when their receivers have had
//! their turns.
//!
//! ```text
//! what waits at the inputs     900 ┐                         ┌ room 1024   first
//!                              900 ┘ 1024 of 1800 in a turn  └ room 1500   second
//! then first and second push; then the app again, for the other 776; all in one breath
//! ```
//!
//! - A link whose receiver pushes before the sender (it closes a loop), or on another worker, bounds nobody: it drops what it has no room for.
//! - Where nothing goes on any more, since a receiver leaves its packets, a sender of one output waits for the next breath. One that has
//!   others goes on with these: the full link is *stuck*, and drops, until it is found empty. It waits as well where all
//!   its links are full.
//! - An app with [`Roles::ROOM`] looks after the room itself. It is called again when it has left packets and filled a link.

use super::Task;
use crate::app::{Breath, Plugs, Roles};
use crate::link::{Input, Output};

/// Set in what a turn returns: the app has left packets since links were full, and can go on when they are not. The other bits say whether
/// anything moved.
pub(in crate::worker) const AGAIN: u32 = 1 << 31;

impl Plugs {
    /// The least that a link takes, of those that bound the app.
    pub(super) fn bound(&self) -> u32 {
        self.outputs.iter().map(Output::bound).min().unwrap_or(u32::MAX)
    }

    /// The same without links that are stuck, where the app has others. Where all are, as many as go on: the most that one takes.
    fn bound_but_for_stuck(&mut self) -> u32 {
        if !self.has_several_links() {
            return self.bound();
        }
        let (mut bound, mut most) = (None, 0);
        for output in self.outputs.iter_mut().filter(|output| output.is_linked()) {
            let takes = output.bound();
            most = most.max(takes);
            if !output.is_stuck() {
                bound = Some(takes.min(bound.unwrap_or(u32::MAX)));
            }
        }
        bound.unwrap_or(most)
    }

    fn has_several_links(&self) -> bool {
        self.outputs.iter().filter(|output| output.is_linked()).nth(1).is_some()
    }

    /// Packets that are here in this turn.
    fn waiting(&self) -> u32 {
        self.inputs.iter().map(|input| input.waiting() as u32).sum()
    }

    /// Shows the app no more than `count` packets, beginning with the input of this number.
    fn narrow(&mut self, mut count: u32, first: usize) {
        let len = self.inputs.len();
        for number in first..first + len {
            let input = &mut self.inputs[number % len];
            let part = count.min(input.waiting() as u32);
            input.narrow(part);
            count -= part;
        }
    }
}

impl Task {
    /// Lets the app push what waits, where it may be more than its links take. Returns what moved, and [`AGAIN`].
    #[inline(never)]
    pub(super) fn push_bounded(&mut self, breath: &mut Breath<'_>, waiting: u32) -> u32 {
        self.left_at = None;
        let Some(app) = self.app.as_deref_mut() else {
            self.drain(breath.pool);
            return self.end_turn();
        };
        if self.roles.has(Roles::ROOM) {
            app.push(&mut breath.io(&mut self.plugs));
            let moved = self.end_turn();
            let is_full = self.plugs.bound() == 0 && self.plugs.waiting() > 0;
            self.left_at = is_full.then_some(0);
            return moved | self.again();
        }
        let bound = self.plugs.bound_but_for_stuck();
        if bound == 0 {
            self.left_at = Some(0);
            return AGAIN;
        }
        // Of several inputs, another one comes first each time.
        self.first_input = self.first_input.wrapping_add(1);
        self.plugs.narrow(bound.min(waiting), self.first_input % self.plugs.inputs.len().max(1));
        app.push(&mut breath.io(&mut self.plugs));
        self.plugs.inputs.iter_mut().for_each(Input::widen);
        let moved = self.end_turn();
        if bound < waiting {
            self.left_at = Some(self.plugs.bound());
        }
        moved | self.again()
    }

    /// Lets the app push once more in a breath, if packets have come since, or links have more room than when it left some.
    pub(in crate::worker) fn push_again(&mut self, breath: &mut Breath<'_>) -> Option<u32> {
        let (mut waiting, mut any_new) = (0, false);
        for input in &mut self.plugs.inputs {
            let (here, is_more) = input.begin_again();
            waiting += here;
            any_new |= is_more;
        }
        if waiting == 0 {
            return None;
        }
        let goes_on = self.left_at.is_some_and(|bound| self.plugs.bound() > bound);
        if any_new || goes_on { Some(self.push_bounded(breath, waiting)) } else { Some(self.again()) }
    }

    /// Lets the app push where nothing goes on: those of its links that are full are stuck, and do not count, if it has others.
    pub(in crate::worker) fn push_stuck(&mut self, breath: &mut Breath<'_>) -> Option<u32> {
        self.find_stuck().then(|| self.push_bounded(breath, self.plugs.waiting()))
    }

    /// Finds out which links are stuck. Returns whether the app can go on without them.
    pub(super) fn find_stuck(&mut self) -> bool {
        let goes_on = self.left_at.is_some()
            && self.plugs.waiting() > 0
            && !self.roles.has(Roles::ROOM)
            && self.plugs.has_several_links();
        if goes_on {
            self.plugs.outputs.iter_mut().for_each(|output| output.find_stuck());
        }
        goes_on
    }

    pub(in crate::worker) fn again(&self) -> u32 {
        if self.left_at.is_some() { AGAIN } else { 0 }
    }
}
