//! What a policy keeps of each flow, beside its table: who was let through, and which payloads were seen.

use super::{Basis, Fault, Verdict};
use crate::rules::Action;
use flow::{Direction, Slot};

/// Numbers of states, as rules are given them.
pub(super) const NEW: u32 = 1;
pub(super) const ESTABLISHED: u32 = 2;
pub(super) const RELATED: u32 = 3;
pub(super) const INVALID: u32 = 4;

/// Packets with payload of a flow that are compared with patterns.
const PAYLOADS_MAX: u8 = 4;

/// The lower end was let through; of the higher, one bit on.
const ACCEPTED: u8 = 1;
/// The higher end was let through first.
const BY_HIGHER: u8 = 4;

/// It came when the table of flows was full, and nothing of it is let through.
const REFUSED: u8 = 8;

/// Packets from the lower end wait until it is known what the flow speaks; of the higher, one bit on.
const HOLDS: u8 = 16;
/// It has waited long enough.
const GAVE_UP: u8 = 64;

/// Another flow has announced it.
const ANNOUNCED: u8 = 128;

/// Beside the count of payloads: it comes in a tunnel.
const IN_TUNNEL: u8 = 128;

/// What is kept of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FlowState {
    generation: u32,
    /// A bit for each application of the policy's own whose payload it has shown.
    own: u32,
    /// What became of its last packet, as [`packed`]; 0 before the first.
    last: u32,
    /// Of the policy that said so: the low bits of its number.
    policy: u16,
    flags: u8,
    /// Packets with payload that were compared, and [`IN_TUNNEL`].
    payloads: u8,
}

const _: () = assert!(size_of::<FlowState>() == 16);

/// The number of the first rule, as [`packed`] has it: behind those of what else verdicts rest on.
const FIRST_RULE: u32 = 16;

/// A verdict as a number that is not 0: two bits for what became of a packet, the others for why.
#[inline]
fn packed(verdict: Verdict) -> u32 {
    let basis = match verdict.basis {
        Basis::Rule(rule) => FIRST_RULE.saturating_add(rule),
        Basis::Default => 1,
        Basis::Undecided => 2,
        Basis::Held => 3,
        Basis::NotIp => 4,
        Basis::Fault(fault) => 5 + fault as u32,
    };
    basis << 2 | verdict.action as u32
}

fn unpacked(word: u32) -> Option<Verdict> {
    let basis = match word >> 2 {
        0 => return None,
        1 => Basis::Default,
        2 => Basis::Undecided,
        3 => Basis::Held,
        4 => Basis::NotIp,
        number @ FIRST_RULE.. => Basis::Rule(number - FIRST_RULE),
        number => Basis::Fault(*Fault::ALL.get(number as usize - 5)?),
    };
    let action = *[Action::Accept, Action::Reject, Action::Drop].get((word & 3) as usize)?;
    Some(Verdict { action, basis })
}

impl FlowState {
    /// Takes note of what becomes of a packet by the policy of this number.
    #[inline]
    pub(super) fn note(&mut self, verdict: Verdict, policy: u32) {
        self.last = packed(verdict);
        self.policy = policy as u16;
    }

    /// What became of its last packet, and whether one of the policies from the first of these numbers to the second, which is the last, has said so.
    pub(super) fn last(&self, (since, policy): (u32, u32)) -> Option<(Verdict, bool)> {
        let age = (policy as u16).wrapping_sub(self.policy);
        Some((unpacked(self.last)?, u32::from(age) <= policy.wrapping_sub(since)))
    }

    /// A packet of this direction goes on.
    #[inline]
    fn accept(&mut self, direction: Direction) {
        if !self.has_accepted() && direction == Direction::Down {
            self.flags |= BY_HIGHER;
        }
        self.flags |= ACCEPTED << direction.index();
    }

    /// Whether a packet was let through.
    #[inline]
    pub(super) fn has_accepted(&self) -> bool {
        self.flags & (ACCEPTED | ACCEPTED << 1) != 0
    }

    /// Whether it is known which tunnels it is in, if any.
    #[inline]
    fn has_place(&self) -> bool {
        self.flags & (ACCEPTED | ACCEPTED << 1 | ANNOUNCED) != 0
    }

    /// The state that a packet of this direction finds: established if the other end was let through.
    #[inline]
    pub(super) fn state(&self, direction: Direction) -> u32 {
        if self.flags & ACCEPTED << direction.reverse().index() != 0 {
            ESTABLISHED
        } else if self.flags & ANNOUNCED != 0 {
            RELATED
        } else {
            NEW
        }
    }

    /// 1 if a packet of this direction comes from who was let through first, or would be; 2 from the other.
    #[inline]
    pub(super) fn from(&self, direction: Direction) -> u32 {
        let first = if self.flags & BY_HIGHER == 0 { Direction::Up } else { Direction::Down };
        if !self.has_accepted() || first == direction { 1 } else { 2 }
    }

    /// A packet of this direction waits.
    pub(super) fn hold(&mut self, direction: Direction) {
        self.flags |= HOLDS << direction.index();
    }

    /// Whether packets wait.
    #[inline]
    pub(super) fn is_holding(&self) -> bool {
        self.flags & (HOLDS | HOLDS << 1) != 0
    }

    /// Whether packets of this direction do.
    pub(super) fn holds(&self, direction: Direction) -> bool {
        self.flags & HOLDS << direction.index() != 0
    }

    /// None waits any more.
    pub(super) fn hold_none(&mut self) {
        self.flags &= !(HOLDS | HOLDS << 1);
    }

    /// None is to wait any more.
    pub(super) fn give_up(&mut self) {
        self.flags |= GAVE_UP;
    }

    /// Whether that is so.
    pub(super) fn has_given_up(&self) -> bool {
        self.flags & GAVE_UP != 0
    }

    /// Nothing of the flow is let through.
    pub(super) fn refuse(&mut self) {
        self.flags |= REFUSED;
    }

    /// Whether that is so.
    pub(super) fn is_refused(&self) -> bool {
        self.flags & REFUSED != 0
    }

    /// What verdicts may depend on: as long as it is the same, the flow is as it was.
    #[inline]
    pub(super) fn facts(&self) -> (u32, u8) {
        (self.own, self.flags)
    }

    /// Bits of own applications.
    #[inline]
    pub(super) fn own(&self) -> u32 {
        self.own
    }

    /// Whether the next payload is compared with patterns.
    #[inline]
    pub(super) fn looks_at_payload(&self) -> bool {
        self.payloads & !IN_TUNNEL < PAYLOADS_MAX
    }

    /// Compares a payload with the patterns of own applications.
    pub(super) fn note_payload<'p>(&mut self, payload: &[u8], patterns: impl Iterator<Item = &'p [Vec<u8>]>) {
        self.payloads += 1;
        for (number, patterns) in patterns.enumerate().take(32) {
            if patterns.iter().any(|pattern| payload.starts_with(pattern)) {
                self.own |= 1 << number;
            }
        }
    }
}

/// What is kept of all flows, by their slots.
#[derive(Debug)]
pub(super) struct States {
    flows: Vec<FlowState>,
    /// Of flows in tunnels, [`flow::Decoded::outer`]. No memory is touched for others.
    outer: Vec<u32>,
}

impl States {
    pub(super) fn new(capacity: usize) -> States {
        States { flows: vec![FlowState::default(); capacity], outer: vec![0; capacity] }
    }

    /// That of a flow. If its slot had another before, that is forgotten.
    #[inline]
    pub(super) fn of(&mut self, slot: Slot) -> &mut FlowState {
        let state = &mut self.flows[slot.index as usize];
        if state.generation != slot.generation {
            *state = FlowState { generation: slot.generation, ..FlowState::default() };
        }
        state
    }

    /// The same, to be read.
    pub(super) fn get(&self, slot: Slot) -> Option<&FlowState> {
        self.flows.get(slot.index as usize).filter(|state| state.generation == slot.generation)
    }

    /// That of a flow that has been looked at, unless another has its slot.
    pub(super) fn known(&mut self, slot: Slot) -> Option<&mut FlowState> {
        self.flows.get_mut(slot.index as usize).filter(|state| state.generation == slot.generation)
    }

    /// Payloads are compared anew.
    pub(super) fn forget_payloads(&mut self) {
        for state in &mut self.flows {
            (state.own, state.payloads) = (0, state.payloads & IN_TUNNEL);
        }
    }

    /// Whether a packet came in other tunnels than those of its flow that were let through, or announced. Who may send tunnels to one host of the inside could
    /// else send it packets of any flow, by way of the tunnel.
    #[inline]
    pub(super) fn is_elsewhere(&self, slot: Slot, outer: u32) -> bool {
        let Some(state) = self.get(slot) else { return false };
        let known = if state.payloads & IN_TUNNEL == 0 { 0 } else { self.outer[slot.index as usize] };
        known != outer && state.has_place()
    }

    /// A packet of this direction goes on. Says whether it is one of the flow.
    #[inline]
    pub(super) fn accept(&mut self, slot: Slot, direction: Direction, outer: u32) -> bool {
        if self.is_elsewhere(slot, outer) {
            return false;
        }
        self.set_place(slot, outer);
        self.of(slot).accept(direction);
        true
    }

    /// A flow begins with the answer to a SYN of `initiator`, which belonged to the flow before it. That SYN went on if this end was let through in that flow: who sends an answer
    /// to none is let in by no rule about states.
    pub(super) fn reopen(&mut self, slot: Slot, before: Slot, initiator: Direction, outer: u32) {
        let state = self.get(before).copied().unwrap_or_default();
        let was_let_through = state.flags & ACCEPTED << initiator.index() != 0;
        if was_let_through && !self.is_elsewhere(before, outer) {
            self.accept(slot, initiator, outer);
        }
    }

    /// Another flow has announced this one, which begins.
    pub(super) fn announce(&mut self, slot: Slot, outer: u32) {
        self.set_place(slot, outer);
        self.of(slot).flags |= ANNOUNCED;
    }

    /// From now on a flow is in these tunnels, unless that is known already.
    #[inline]
    fn set_place(&mut self, slot: Slot, outer: u32) {
        if outer != 0 && !self.of(slot).has_place() {
            self.of(slot).payloads |= IN_TUNNEL;
            self.outer[slot.index as usize] = outer;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_verdict_of_a_flow_is_kept() {
        let mut bases = vec![Basis::Default, Basis::Undecided, Basis::Held, Basis::NotIp, Basis::Rule(0)];
        bases.extend([Basis::Rule(100_000)].into_iter().chain(Fault::ALL.map(Basis::Fault)));
        let mut state = FlowState::default();
        assert_eq!(state.last((0, 0)), None);
        for basis in bases {
            for action in [Action::Accept, Action::Reject, Action::Drop] {
                let verdict = Verdict { action, basis };
                state.note(verdict, 70_000);
                for (since, policy, is_current) in [
                    (70_000, 70_000, true),
                    (70_000, 70_009, true),
                    (70_001, 70_001, false),
                    (70_001, 70_009, false),
                ] {
                    assert_eq!(state.last((since, policy)), Some((verdict, is_current)));
                }
            }
        }
    }
}
