//! What goes on where one policy follows another: the counts and limits of rules that are written the same.

use super::Counts;
use crate::policy::{Bucket, Policy, Rule};
use crate::rules::Action;
use std::collections::HashMap;
use std::sync::Arc;

/// As [`same_rules`] says.
pub(super) type SameRules = Arc<[Option<usize>]>;

/// For each rule of a policy, the number of that of the policy before it that is written the same. The n-th of equal ones goes on from the n-th.
pub(super) fn same_rules(before: &Policy, policy: &Policy) -> Vec<Option<usize>> {
    // Where a set has changed, mostly.
    if before.text() == policy.text() {
        return (0..policy.rules().len()).map(Some).collect();
    }
    let mut known: HashMap<(&str, Action, Option<u32>, bool), Vec<usize>> = HashMap::new();
    for (at, rule) in before.rules().iter().enumerate().rev() {
        known.entry(written(rule)).or_default().push(at);
    }
    policy.rules().iter().map(|rule| known.get_mut(&written(rule))?.pop()).collect()
}

/// What a rule says.
fn written(rule: &Rule) -> (&str, Action, Option<u32>, bool) {
    (&rule.written, rule.action, rule.mark, rule.log)
}

/// Limits keep what they have left, each of a rule that of the same place in the same rule.
pub(super) fn keep_limits(
    before: &Policy,
    old: &[Bucket],
    policy: &Policy,
    limits: &[Bucket],
    same: &[Option<usize>],
) {
    for (rule, at) in policy.rules().iter().zip(same) {
        let Some(known) = at.and_then(|at| before.rules().get(at)) else { continue };
        for (limit, known) in rule.limits.iter().zip(&known.limits) {
            if let (Some(limit), Some(old)) = (limits.get(*limit), old.get(*known)) {
                limit.go_on_from(old);
            }
        }
    }
}

impl Counts {
    /// The same for a policy whose rules are those of the one before as [`same_rules`] says.
    pub(super) fn go_on(&self, same: &[Option<usize>]) -> Counts {
        let count = |at: &Option<usize>| at.and_then(|at| self.rules.get(at).copied()).unwrap_or_default();
        Counts { rules: same.iter().map(count).collect(), ..*self }
    }
}
