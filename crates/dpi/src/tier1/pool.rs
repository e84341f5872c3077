//! States of flows that wait, in bounded memory.

use super::tcp::Tcp;
use super::udp::Udp;
use super::{Limits, Step, Usage};
use crate::Verdict;

/// The state of a flow that waits for more packets. It has one owner, the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateId(u32);

impl StateId {
    /// As a number, for owners that keep it in few bytes.
    #[must_use]
    pub fn bits(self) -> u32 {
        self.0
    }

    /// The state of a number that [`StateId::bits`] gave. Any other is that of another flow, or of none: nothing breaks, but answers are wrong.
    #[must_use]
    pub fn from_bits(bits: u32) -> StateId {
        StateId(bits)
    }
}

#[derive(Debug)]
pub(super) enum State {
    Tcp(Tcp),
    Udp(Udp),
}

impl State {
    pub(super) fn likely(&self) -> Option<Verdict> {
        match self {
            State::Tcp(tcp) => tcp.likely(),
            State::Udp(udp) => udp.likely(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            State::Tcp(tcp) => tcp.bytes(),
            State::Udp(udp) => udp.bytes(),
        }
    }
}

#[derive(Default)]
pub(super) struct Pool {
    states: Vec<Option<Box<State>>>,
    free: Vec<u32>,
    limits: Limits,
    bytes: usize,
    full: u64,
}

impl Pool {
    pub(super) fn new(limits: Limits) -> Self {
        Pool { limits, ..Pool::default() }
    }

    /// Looks at a flow's next packet with its state, or with a fresh one, which is kept if the flow is undecided. Where there is no room, the flow is not ours, and counted.
    pub(super) fn look(
        &mut self,
        id: &mut Option<StateId>,
        fresh: impl FnOnce() -> State,
        look: impl FnOnce(&mut State) -> Step,
    ) -> Step {
        let Some(id) = *id else {
            let mut state = fresh();
            let step = look(&mut state);
            if matches!(step, Step::Undecided) {
                *id = self.hold(state);
            }
            return if matches!(step, Step::Undecided) && id.is_none() { Step::NotOurs } else { step };
        };
        let Some(state) = self.states.get_mut(id.0 as usize).and_then(Option::as_deref_mut) else {
            return Step::NotOurs;
        };
        self.bytes -= state.bytes();
        let step = look(state);
        self.bytes += state.bytes();
        if self.bytes > self.limits.bytes && matches!(step, Step::Undecided) {
            self.full += 1;
            return Step::NotOurs;
        }
        step
    }

    /// Takes in a state; `None`, and counted, if there is no room for it.
    fn hold(&mut self, state: State) -> Option<StateId> {
        let bytes = state.bytes();
        if self.bytes + bytes > self.limits.bytes {
            self.full += 1;
            return None;
        }
        let at = match self.free.pop() {
            Some(at) => at,
            None if self.states.len() < self.limits.states.min(u32::MAX as usize) => {
                self.states.push(None);
                (self.states.len() - 1) as u32
            }
            None => {
                self.full += 1;
                return None;
            }
        };
        self.bytes += bytes;
        self.states[at as usize] = Some(Box::new(state));
        Some(StateId(at))
    }

    pub(super) fn get(&self, id: StateId) -> Option<&State> {
        self.states.get(id.0 as usize)?.as_deref()
    }

    pub(super) fn release(&mut self, id: StateId) {
        if let Some(state) = self.states.get_mut(id.0 as usize).and_then(Option::take) {
            self.bytes -= state.bytes();
            self.free.push(id.0);
        }
    }

    pub(super) fn usage(&self) -> Usage {
        Usage { states: self.states.len() - self.free.len(), bytes: self.bytes, full: self.full }
    }
}
