//! Rules of a wall that runs: asked for on the control socket that is beside its counters.

use super::watch::Seen;
use crate::control;
use crate::set::change::of_counters;
use observe::{Rates, State};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Rules of an instance that are kept, and shown on a screen: those with most packets.
pub(super) const BUSIEST: usize = 256;
/// How long a wall may take to answer. One that reloads its policy takes longer, and has no rules meanwhile.
const PATIENCE: Duration = Duration::from_millis(500);

/// What a rule has decided.
#[derive(Clone, Debug)]
pub(super) struct RuleRates {
    /// Its number in the policy, from 0.
    pub(super) number: usize,
    /// Its line in the file of the policy.
    pub(super) line: u64,
    pub(super) verdict: String,
    pub(super) rule: String,
    pub(super) packets: u64,
    pub(super) bytes: u64,
    pub(super) packets_per_s: Option<f64>,
    pub(super) bits_per_s: Option<f64>,
}

/// What walls had counted at the look before.
#[derive(Debug, Default)]
pub(super) struct RulesBefore(BTreeMap<PathBuf, Counts>);

#[derive(Debug)]
struct Counts {
    at: Duration,
    generation: Option<u64>,
    /// Packets and bytes of each rule.
    rules: Vec<(u64, u64)>,
}

impl RulesBefore {
    /// The rules of an instance, if it is a wall that answers, with what they have counted since the look before.
    pub(super) fn compare(
        &mut self,
        path: &Path,
        state: State,
        rates: &Rates,
        at: Duration,
    ) -> Vec<RuleRates> {
        let is_wall = state == State::Running && rates.apps.iter().any(|app| app.class == "l7_wall");
        let answer =
            is_wall.then(|| control::asked(&of_counters(path), &json!({ "cmd": "stats" }), PATIENCE));
        let Some(Ok(answer)) = answer else {
            self.0.remove(path);
            return Vec::new();
        };
        let mut rules: Vec<RuleRates> =
            answer["rules"].as_array().into_iter().flatten().enumerate().map(rule).collect();
        let counts = rules.iter().map(|rule| (rule.packets, rule.bytes)).collect();
        let now = Counts { at, generation: answer["generation"].as_u64(), rules: counts };
        let before = self.0.get(path).filter(|before| before.generation == now.generation);
        let seconds = before.map_or(0.0, |before| at.saturating_sub(before.at).as_secs_f64());
        if let Some(before) = before.filter(|_| seconds > 0.0) {
            for (rule, (packets, bytes)) in rules.iter_mut().zip(&before.rules) {
                let per_s = |now: u64, before: u64| Some(now.checked_sub(before)? as f64 / seconds);
                rule.packets_per_s = per_s(rule.packets, *packets);
                rule.bits_per_s = per_s(rule.bytes, *bytes).map(|bytes| bytes * 8.0);
            }
        }
        self.0.insert(path.to_owned(), now);
        rules
    }
}

fn rule((number, rule): (usize, &Value)) -> RuleRates {
    let count = |key: &str| rule[key].as_u64().unwrap_or_default();
    let text = |key: &str| rule[key].as_str().unwrap_or_default().to_owned();
    RuleRates {
        number,
        line: count("line"),
        verdict: text("verdict"),
        rule: text("rule"),
        packets: count("packets"),
        bytes: count("bytes"),
        packets_per_s: None,
        bits_per_s: None,
    }
}

/// The busiest rules first: by packets a second, then in all, then as the policy has them.
pub(super) fn busiest(rules: &mut [RuleRates]) {
    rules.sort_by(|a, b| {
        let rate = |rule: &RuleRates| rule.packets_per_s.unwrap_or(0.0);
        rate(b).total_cmp(&rate(a)).then(b.packets.cmp(&a.packets)).then(a.number.cmp(&b.number))
    });
}

/// Leaves the busiest rules, in their order in the policy.
pub(super) fn keep_busiest(seen: &mut Seen) {
    if seen.rules.len() > BUSIEST {
        busiest(&mut seen.rules);
        seen.rules.truncate(BUSIEST);
        seen.rules.sort_by_key(|rule| rule.number);
        seen.rules.shrink_to_fit();
    }
}

/// A rule for programs.
pub(super) fn object(rule: &RuleRates) -> Value {
    json!({
        "line": rule.line,
        "verdict": rule.verdict,
        "rule": rule.rule,
        "packets": rule.packets,
        "bytes": rule.bytes,
        "packets_per_s": rule.packets_per_s,
        "bits_per_s": rule.bits_per_s,
    })
}
