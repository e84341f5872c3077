//! The costs of apps, and their placement on workers by cost.
//!
//! ```text
//! rebalance:
//!     cost of an app   = its usual turn x its turns, less the clock's part
//!     scale to         the time in which its worker did something of use
//!     discount         by a tenth if its worker waits for one that is always busy
//!     if the last move is on trial, less is delivered now and a worker is full:
//!         undo it, and pause for 1, 2, 4 .. 32 calls
//!     else, unless pausing:
//!         cut the order of breathing into one stretch a worker, the heaviest as light as possible
//!         if that spares the heaviest worker enough: move, on trial
//! ```
//!
//! A move is on trial because costs leave out what a packet costs that comes from another core, and what it no longer costs where
//! neighbours are gone.

use super::Engine;
use super::configure::breathing_names;
use super::placement::{self, Places, Placing};
use crate::worker::{Method, Task, Worker};
use std::collections::{BTreeMap, BTreeSet};

/// The shortest time over which costs mean something.
const MEASURED_MIN_NS: u64 = 100_000_000;

/// The fewest breaths from which the cost of reading the clock is derived: with fewer, one more on either side weighs an eighth or more.
const BREATHS_MIN: u64 = 8;

/// The discount on costs of a worker that waits for one that is always busy: its bursts are smaller, which makes each packet dearer,
/// by how much is not known. A tenth at a time approaches the balance.
const WAITING: f64 = 0.9;

/// The share of useful time from which a worker counts as full.
const FULL: f64 = 0.9;

/// The number of undone moves in a row after which the pause grows no more.
const UNDONE_MAX: u32 = 5;

/// Costs of apps, by name, in nanoseconds.
pub(super) type Costs = BTreeMap<String, f64>;

/// Knowledge of earlier calls about costs and places.
#[derive(Debug, Default)]
pub(super) struct Balance {
    /// Costs of apps when they were last known.
    known_costs: Costs,
    /// Packets that had been delivered when measuring began.
    delivered: u64,
    /// The last move, if it is not known what came of it.
    trial: Option<Trial>,
    /// Moves in a row that had to be undone.
    undone: u32,
    /// How often nothing is to be moved.
    pause: u32,
}

/// Apps that have moved, and what was before.
#[derive(Debug)]
struct Trial {
    places: Places,
    /// Packets that were delivered in a nanosecond.
    delivered_per_ns: f64,
}

impl Balance {
    /// The places before the last move, if it did harm: a worker is full, and less is delivered than before.
    fn undo(&mut self, delivered_per_ns: Option<f64>, is_any_full: bool) -> Option<Places> {
        let trial = self.trial.take()?;
        let is_less = delivered_per_ns.is_some_and(|now| now < trial.delivered_per_ns);
        if is_less && is_any_full {
            self.pause = 1 << self.undone;
            self.undone = (self.undone + 1).min(UNDONE_MAX);
            Some(trial.places)
        } else {
            self.undone = 0;
            None
        }
    }

    /// Whether nothing is to be moved this time.
    fn is_pausing(&mut self) -> bool {
        let is_pausing = self.pause > 0;
        self.pause = self.pause.saturating_sub(1);
        is_pausing
    }
}

impl Engine {
    /// Places the apps on workers by what each has cost since the last call, or since [`Engine::forget_costs`]. Apps and links keep their
    /// state and their packets. Apps move only if that spares the busiest worker at least the share `gain_min` of its time, such as 0.02;
    /// else nothing is done, and `false` returned. So apps that take less than 2 % of a core, or 4 % if they could be halved, stay where they are.
    ///
    /// What apps cost depends on where they are: call it again after some time, a tenth of a second at least, until it changes nothing. If
    /// less was delivered since apps moved, though a worker was busy all the time, they go back to where they were; the
    /// next call moves none then, and the next 2, 4, up to 32 calls, if that happens again and again.
    pub fn rebalance(&mut self, gain_min: f64) -> bool {
        let costs = self.costs();
        let delivered_per_ns = self.delivered_per_ns();
        let places = self.better_places(&costs, gain_min, delivered_per_ns);
        let have_moved = places.is_some();
        if let Some(places) = places {
            self.place(&Placing::At(places));
        }
        self.measure_anew(costs);
        have_moved
    }

    /// Where apps are to move, if they are.
    fn better_places(
        &mut self,
        costs: &Costs,
        gain_min: f64,
        delivered_per_ns: Option<f64>,
    ) -> Option<Places> {
        let is_any_full = self.is_any_full();
        if let Some(places) = self.balance.undo(delivered_per_ns, is_any_full) {
            return Some(places);
        }
        if self.balance.is_pausing() {
            return None;
        }
        let before = self.places();
        let places = Placing::ByCost(costs.clone()).places(&self.graph, &self.order(), self.workers.len());
        let heaviest = |places: &Places| placement::heaviest(places, costs, self.workers.len());
        let gain = heaviest(&before) - heaviest(&places);
        let least = gain_min * (self.measured_ns() as f64).max(heaviest(&before));
        if costs.is_empty() || gain <= 0.0 || gain < least {
            return None;
        }
        self.balance.trial =
            delivered_per_ns.map(|delivered_per_ns| Trial { places: before, delivered_per_ns });
        Some(places)
    }

    /// Puts all apps that are not placed by hand on the first worker, to be measured there until [`Engine::rebalance`]. On a worker of
    /// their own, apps that have little to do are asked more often, for fewer packets at a time, and seem to cost as much as others.
    pub fn gather(&mut self) {
        self.place(&Placing::OnFirst);
        self.start_balance(Costs::new());
    }

    /// Forgets what apps have cost so far: what they cost from now on is what [`Engine::rebalance`] goes by.
    pub fn forget_costs(&mut self) {
        self.measure_anew(Costs::new());
    }

    /// Begins again, with another graph or other places: earlier trials say nothing about these.
    pub(super) fn start_balance(&mut self, costs: Costs) {
        let known_costs = std::mem::take(&mut self.balance.known_costs);
        self.balance = Balance { known_costs, ..Balance::default() };
        self.measure_anew(costs);
    }

    /// Measures apps from now on, which have cost that until now, as far as it is known.
    fn measure_anew(&mut self, costs: Costs) {
        self.workers.iter_mut().for_each(Worker::measure_anew);
        self.balance.delivered = self.delivered();
        if !costs.is_empty() {
            self.balance.known_costs = costs;
        }
    }

    /// Where apps are now.
    fn places(&self) -> Places {
        let of = |(index, worker): (usize, &Worker)| -> Vec<(String, usize)> {
            worker.tasks.iter().map(|task| (task.name().to_owned(), index)).collect()
        };
        self.workers.iter().enumerate().flat_map(of).collect()
    }

    /// The names of all apps, as they breathe.
    fn order(&self) -> Vec<String> {
        let pulling: BTreeSet<&str> =
            self.tasks().filter(|task| task.has(Method::Pull)).map(Task::name).collect();
        breathing_names(&self.graph, |name| pulling.contains(name))
    }

    fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.workers.iter().flat_map(|worker| &worker.tasks)
    }

    /// For how long apps have been measured.
    pub(super) fn measured_ns(&self) -> u64 {
        self.workers.iter().map(Worker::measured_ns).max().unwrap_or(0)
    }

    /// Packets that the present apps have delivered so far.
    fn delivered(&self) -> u64 {
        self.tasks().map(Task::delivered).sum()
    }

    /// The rate of delivery since measuring began, if that is long enough ago.
    fn delivered_per_ns(&self) -> Option<f64> {
        let measured_ns = self.measured_ns();
        // It falls where what was written is lost.
        let delivered = self.delivered().checked_sub(self.balance.delivered)?;
        (measured_ns >= MEASURED_MIN_NS).then(|| delivered as f64 / measured_ns as f64)
    }

    /// Whether a worker had no time left.
    fn is_any_full(&self) -> bool {
        let is_full = |worker: &Worker| {
            worker.useful_ns().is_some_and(|useful_ns| useful_ns >= FULL * worker.measured_ns() as f64)
        };
        self.workers.iter().any(is_full)
    }

    /// The cost of each app; an earlier one where nothing is known since costs were forgotten.
    pub(super) fn lasting_costs(&self) -> Costs {
        let costs = if self.measured_ns() < MEASURED_MIN_NS { Costs::new() } else { self.costs() };
        if costs.is_empty() { self.balance.known_costs.clone() } else { costs }
    }

    /// The cost of each app since costs were forgotten, where it is known.
    fn costs(&self) -> Costs {
        let (turns, turns_ns) = self
            .tasks()
            .map(Task::usual_turn)
            .fold((0, 0.0), |sum, turn| (sum.0 + turn.count, sum.1 + turn.total_ns()));
        let with_apps = self.workers.iter().filter(|worker| !worker.tasks.is_empty());
        let (breaths, breaths_ns) = with_apps
            .map(Worker::usual_breath)
            .fold((0, 0.0), |sum, breath| (sum.0 + breath.count, sum.1 + breath.total_ns()));
        // What the turns of a breath take longer than the breath is the clock between them. Where workers breathe without turns, or apps
        // are gone that had some, the turns seem to be shorter; then nothing is known of the clock.
        let clock_ns = ((turns_ns - breaths_ns) / turns as f64).max(0.0);
        // There may be turns of one more breath than of those that were timed as a whole.
        let clock_ns = if breaths < BREATHS_MIN { 0.0 } else { clock_ns };
        let cost = |task: &Task| {
            let turn = task.usual_turn();
            turn.count as f64 * (turn.mean_ns - clock_ns).max(turn.mean_ns / 16.0)
        };
        let are_held_up = self.workers.iter().any(Worker::holds_up_others);
        let of = |worker: &Worker| -> Vec<(String, f64)> {
            let waits = are_held_up && !worker.holds_up_others();
            let costs = worker.tasks.iter().map(cost).sum();
            let scale = scale(worker, costs) * if waits { WAITING } else { 1.0 };
            worker.tasks.iter().map(|task| (task.name().to_owned(), scale * cost(task))).collect()
        };
        self.workers.iter().flat_map(of).filter(|&(_, cost)| cost > 0.0).collect()
    }

    fn place(&mut self, placing: &Placing) {
        let mut tasks = self.take_tasks();
        let ends = self.take_ends(&mut tasks);
        self.assemble(tasks, ends, placing);
    }
}

/// The factor for the costs of its apps, so that together they are the time in which the worker has done something of use. With
/// little to do, apps are asked more often, for fewer packets at a time, and seem to cost as much as others.
fn scale(worker: &Worker, costs: f64) -> f64 {
    match worker.useful_ns() {
        Some(useful_ns) if costs > 0.0 => useful_ns / costs,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::{Balance, Places, Trial};

    /// Where an app goes back to that was on worker 7 when 5 packets a nanosecond were delivered.
    fn undo(balance: &mut Balance, delivered_per_ns: Option<f64>, is_any_full: bool) -> Option<usize> {
        let places = Places::from([("app".to_owned(), 7)]);
        balance.trial = Some(Trial { places, delivered_per_ns: 5.0 });
        balance.undo(delivered_per_ns, is_any_full).map(|places| places["app"])
    }

    #[test]
    fn moves_are_undone_that_do_harm() {
        let mut balance = Balance::default();
        assert_eq!(undo(&mut balance, Some(4.9), true), Some(7));
        assert!(balance.undo(Some(0.1), true).is_none(), "it is done once");
        assert_eq!(undo(&mut balance, Some(5.0), true), None);
        assert_eq!(undo(&mut balance, Some(0.1), false), None, "less comes, since nobody is busy");
        assert_eq!(undo(&mut balance, None, true), None, "nothing is known");
    }

    #[test]
    fn the_pause_grows_until_a_move_is_right() {
        let mut balance = Balance::default();
        assert!(!balance.is_pausing());
        let mut undone = |delivered_per_ns| {
            undo(&mut balance, Some(delivered_per_ns), true);
            (0..).take_while(|_| balance.is_pausing()).count()
        };
        let grown: Vec<usize> = (0..7).map(|_| undone(1.0)).collect();
        assert_eq!(grown, [1, 2, 4, 8, 16, 32, 32]);
        assert_eq!([undone(9.0), undone(1.0)], [0, 1]);
    }
}
