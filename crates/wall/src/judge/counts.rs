//! What became of packets: by what was done, by rule, and by whatever else decided.

use super::{Basis, Verdict};
use crate::policy::Policy;
use crate::rules::Action;
use flow::Packet;

/// Packets, and their bytes on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Count {
    /// Counts a packet.
    #[inline]
    pub(super) fn add(&mut self, packet: &Packet<'_>) {
        self.add_all(Count { packets: 1, bytes: u64::from(packet.wire_len) });
    }

    #[inline]
    fn add_all(&mut self, more: Count) {
        self.packets += more.packets;
        self.bytes += more.bytes;
    }
}

/// What became of packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// By [`Action`]: accepted, rejected, dropped.
    pub actions: [Count; 3],
    /// By rule.
    pub rules: Vec<Count>,
    /// No rule took them.
    pub default: Count,
    /// See [`Basis::Undecided`].
    pub undecided: Count,
    /// They carry no IP.
    pub not_ip: Count,
    /// By [`Fault`](super::Fault).
    pub faults: [Count; 3],
    /// They were dropped or rejected without a look at their flows.
    pub stateless: u64,
    /// Their verdict was kept with their flow.
    pub kept: u64,
}

impl Counts {
    pub(super) fn of(policy: &Policy) -> Counts {
        Counts { rules: vec![Count::default(); policy.rules().len()], ..Counts::default() }
    }

    /// Counts a packet with its verdict.
    #[inline]
    pub(super) fn add(&mut self, packet: &Packet<'_>, verdict: &Verdict) {
        self.add_all(Count { packets: 1, bytes: u64::from(packet.wire_len) }, verdict);
    }

    /// Counts packets that have the same verdict.
    #[inline]
    pub(super) fn add_all(&mut self, more: Count, verdict: &Verdict) {
        if verdict.basis == Basis::Held {
            return;
        }
        self.actions[verdict.action as usize].add_all(more);
        let count = match verdict.basis {
            Basis::Rule(rule) => self.rules.get_mut(rule as usize),
            Basis::Default => Some(&mut self.default),
            Basis::Undecided => Some(&mut self.undecided),
            Basis::Held => None,
            Basis::NotIp => Some(&mut self.not_ip),
            Basis::Fault(fault) => Some(&mut self.faults[fault as usize]),
        };
        if let Some(count) = count {
            count.add_all(more);
        }
    }

    /// Adds those of another worker that judges by the same policy.
    pub(crate) fn merge(&mut self, other: &Counts) {
        let Counts { actions, rules, default, undecided, not_ip, faults, stateless, kept } = other;
        let sum = |ours: &mut [Count], others: &[Count]| {
            for (count, other) in ours.iter_mut().zip(others) {
                count.add_all(*other);
            }
        };
        self.rules.resize(self.rules.len().max(rules.len()), Count::default());
        sum(&mut self.rules, rules);
        sum(&mut self.actions, actions);
        sum(&mut self.faults, faults);
        for (count, other) in
            [(&mut self.default, default), (&mut self.undecided, undecided), (&mut self.not_ip, not_ip)]
        {
            sum(std::slice::from_mut(count), std::slice::from_ref(other));
        }
        self.stateless += stateless;
        self.kept += kept;
    }

    /// Packets that were judged in this way.
    #[must_use]
    pub fn packets(&self, action: Action) -> u64 {
        self.actions[action as usize].packets
    }
}
