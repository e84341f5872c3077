//! Looking at instances again and again.

use super::rules::{RuleRates, RulesBefore};
use crate::exit::Failure;
use crate::instances;
use crate::lasting::Lasting;
use engine::shm::runtime;
use observe::{Instance, Rates, Sample, State};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What was seen at one moment.
#[derive(Clone, Debug)]
pub(super) struct Moment {
    /// When, in nanoseconds since 1970.
    pub(super) at_unix_ns: u64,
    /// By name and process.
    pub(super) instances: Vec<Seen>,
    /// What went wrong with files that are named like counters, and with folders.
    pub(super) unreadable: Vec<String>,
    /// Folders that could be read.
    pub(super) folders: Vec<PathBuf>,
}

/// An instance, and what it did since the look before.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// The file, which tells it from others.
    pub(super) path: PathBuf,
    pub(super) name: String,
    pub(super) pid: u32,
    pub(super) state: State,
    pub(super) uptime: Option<Duration>,
    pub(super) rates: Rates,
    /// Turns that last, if it runs.
    pub(super) lasting: Lasting,
    /// Those of a wall, in the order of its policy.
    pub(super) rules: Vec<RuleRates>,
    /// How many it has, of which the busiest may be left here.
    pub(super) rules_in_all: usize,
}

/// Looks, and remembers what it saw the time before.
#[derive(Debug)]
pub(super) struct Watch {
    which: Option<String>,
    began: Instant,
    before: BTreeMap<PathBuf, Sample>,
    rules: RulesBefore,
}

impl Watch {
    /// Watches instances of a name or process, or all.
    pub(super) fn new(which: Option<String>) -> Self {
        Watch { which, began: Instant::now(), before: BTreeMap::new(), rules: RulesBefore::default() }
    }

    /// The first look; it is the user's fault if what was named is not there.
    pub(super) fn first(&mut self) -> Result<Moment, Failure> {
        let moment = self.look()?;
        match &self.which {
            Some(which) if moment.instances.is_empty() => Err(instances::none_called(which)),
            _ => Ok(moment),
        }
    }

    /// Looks at all instances.
    pub(super) fn look(&mut self) -> Result<Moment, Failure> {
        let found = instances::find(&runtime::folders())?;
        let at_unix_ns = instances::unix_ns();
        let is_wanted = |instance: &Instance| {
            self.which
                .as_ref()
                .is_none_or(|which| *which == instance.name || *which == instance.pid.to_string())
        };
        let instances: Vec<Instance> = found.instances.into_iter().filter(is_wanted).collect();
        let before = std::mem::take(&mut self.before);
        let instances =
            instances.into_iter().map(|instance| self.compare(instance, &before, at_unix_ns)).collect();
        let unreadable = found.unreadable.iter().map(|(path, error)| format!("{}: {error}", path.display()));
        Ok(Moment { at_unix_ns, instances, unreadable: unreadable.collect(), folders: found.folders })
    }

    fn compare(&mut self, instance: Instance, before: &BTreeMap<PathBuf, Sample>, at_unix_ns: u64) -> Seen {
        let uptime = instance.uptime(at_unix_ns);
        let Instance { path, name, pid, state, cpu, snapshot } = instance;
        let sample = Sample { at: self.began.elapsed(), cpu, snapshot };
        // What does not run has no rates, not rates of 0, and quantiles of all that it did.
        let rates = match state {
            State::Crashed => Rates::in_all(&sample),
            State::Running | State::Stopped => Rates::between(before.get(&path), &sample),
        };
        self.before.insert(path.clone(), sample);
        let lasting = Lasting::of(&rates, state, at_unix_ns);
        let rules = self.rules.compare(&path, state, &rates, self.began.elapsed());
        let rules_in_all = rules.len();
        Seen { path, name, pid, state, uptime, rates, lasting, rules, rules_in_all }
    }
}

impl Moment {
    /// A measure of the memory it takes.
    pub(super) fn weight(&self) -> usize {
        1 + self.instances.iter().map(|seen| seen.rates.weight() + seen.rules.len()).sum::<usize>()
    }
}
