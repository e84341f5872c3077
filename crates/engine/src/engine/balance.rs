//! The costs of apps, and their placement on workers by cost.
//!
//! ```text
//! rebalance:
//!     cost of an app   = its usual turn x its turns, less the clock's part
//!     scale to         the time in which its worker did something of use
//!     discount         by a tenth if its worker waits for one that is always busy
//!     if the last move is on trial, and less is delivered now and a worker is full, or more is lost between workers for too little:
//!         undo it, and pause for 1, 2, 4 .. 32 calls
//!     else, unless pausing:
//!         if packets are lost between workers, and one worker can do it all: all apps on one, on trial
//!     else, unless moves have lost packets and no worker is full:
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

const NS_PER_S: f64 = 1e9;

/// The fewest breaths from which the cost of reading the clock is derived: with fewer, one more on either side weighs an eighth or more.
const BREATHS_MIN: u64 = 8;

/// The discount on costs of a worker that waits for one that is always busy: its bursts are smaller, which makes each packet dearer,
/// by how much is not known. A tenth at a time approaches the balance.
const WAITING: f64 = 0.9;

/// The share of useful time from which a worker counts as full.
const FULL: f64 = 0.9;

/// How much more is to be delivered, net of what is lost between workers, by places that lose more there.
const LOSSES_PAY: f64 = 1.1;

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
    /// Whether a move has lost packets between workers for too little: while no worker is full, there is no need for another.
    has_lost: bool,
    /// The packets a second that one worker can deliver, by what took it how much of its time when it last had all apps.
    one_carries: Option<f64>,
}

/// What became of packets while apps were measured.
#[derive(Clone, Copy, Debug)]
struct Measure {
    /// Packets delivered in a second.
    delivered: f64,
    /// Packets lost in a second at full links between workers.
    lost: f64,
    /// The share of its time that the busiest worker has used.
    used: f64,
}

impl Measure {
    /// Whether a worker had no time left.
    fn is_full(&self) -> bool {
        self.used >= FULL
    }

    fn net(&self) -> f64 {
        (self.delivered - self.lost).max(0.0)
    }

    /// Whether these places do harm, compared with earlier ones.
    fn is_worse_than(&self, before: &Measure) -> bool {
        self.loses_for_nothing(before) || (self.is_full() && self.delivered < before.delivered)
    }

    /// Whether more is lost between workers, and not much more delivered.
    fn loses_for_nothing(&self, before: &Measure) -> bool {
        self.lost > before.lost && self.net() < LOSSES_PAY * before.net()
    }
}

/// Apps that have moved, and what was before.
#[derive(Debug)]
struct Trial {
    places: Places,
    before: Measure,
}

impl Balance {
    /// The places before the last move, if it did harm: a worker is full, and less is delivered than before, or more is lost between workers.
    fn undo(&mut self, now: Option<Measure>) -> Option<Places> {
        let trial = self.trial.take()?;
        let Some(now) = now.filter(|now| now.is_worse_than(&trial.before)) else {
            self.undone = 0;
            return None;
        };
        self.has_lost |= now.loses_for_nothing(&trial.before);
        self.pause = 1 << self.undone;
        self.undone = (self.undone + 1).min(UNDONE_MAX);
        Some(trial.places)
    }

    /// All apps that are free were on one worker.
    fn were_together(&mut self, now: &Measure) {
        self.one_carries = (now.used > 0.0).then(|| FULL * now.delivered / now.used);
    }

    /// Whether packets are lost between workers though one worker can do it all, as far as is known. Apps are to go there then, on trial, and
    /// stay while it has time left.
    fn is_one_enough(&mut self, now: &Measure) -> bool {
        let is_enough = self.one_carries.is_none_or(|most| now.delivered + now.lost <= most);
        let is_one_enough = now.lost > 0.0 && is_enough;
        self.has_lost |= is_one_enough;
        is_one_enough
    }

    /// Whether apps are to stay: moves have lost packets, and no worker needs one.
    fn stays(&self, now: Option<&Measure>) -> bool {
        self.has_lost && !now.is_some_and(Measure::is_full)
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
    /// less was delivered since apps moved, though a worker was busy all the time, or more was lost at full links between workers and not a
    /// tenth more delivered besides, they go back to where they were; the next call moves none then, and the next 2, 4, up to 32 calls, if that
    /// happens again and again. Where packets are lost between workers, and one worker can do it all, apps go there, and stay until it has
    /// no time left.
    pub fn rebalance(&mut self, gain_min: f64) -> bool {
        let costs = self.costs();
        let now = self.measure();
        let before = self.places();
        let places = self.better_places(&before, &costs, gain_min, now);
        let have_moved = places.is_some();
        if let Some((places, is_trial)) = places {
            self.balance.trial = now.filter(|_| is_trial).map(|now| Trial { places: before, before: now });
            self.place(&Placing::At(places));
        }
        self.measure_anew(costs);
        have_moved
    }

    /// Where apps are to move, if they are, and whether that is to be tried: not if it undoes a move.
    fn better_places(
        &mut self,
        before: &Places,
        costs: &Costs,
        gain_min: f64,
        now: Option<Measure>,
    ) -> Option<(Places, bool)> {
        let together = Placing::OnFirst.places(&self.graph, &self.order(), self.workers.len());
        let are_together = *before == together;
        if let Some(now) = now.filter(|_| are_together) {
            self.balance.were_together(&now);
        }
        if let Some(places) = self.balance.undo(now) {
            return Some((places, false));
        }
        if self.balance.is_pausing() {
            return None;
        }
        if !are_together && now.is_some_and(|now| self.balance.is_one_enough(&now)) {
            return Some((together, true));
        }
        if self.balance.stays(now.as_ref()) {
            return None;
        }
        self.lighter_places(before, costs, gain_min).map(|places| (places, true))
    }

    /// Where apps are to move to spare the busiest worker that share of its time, if that can be.
    fn lighter_places(&self, before: &Places, costs: &Costs, gain_min: f64) -> Option<Places> {
        let places = Placing::ByCost(costs.clone()).places(&self.graph, &self.order(), self.workers.len());
        let heaviest = |places: &Places| placement::heaviest(places, costs, self.workers.len());
        let gain = heaviest(before) - heaviest(&places);
        let least = gain_min * (self.measured_ns() as f64).max(heaviest(before));
        (!costs.is_empty() && gain > 0.0 && gain >= least).then_some(places)
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

    /// What became of packets since measuring began, if that is long enough ago.
    fn measure(&self) -> Option<Measure> {
        let measured_ns = self.measured_ns();
        // It falls where what was written is lost.
        let delivered = self.delivered().checked_sub(self.balance.delivered)?;
        let lost: u64 = self.workers.iter().map(Worker::lost).sum();
        let per_second = |count: u64| count as f64 * NS_PER_S / measured_ns as f64;
        (measured_ns >= MEASURED_MIN_NS).then(|| Measure {
            delivered: per_second(delivered),
            lost: per_second(lost),
            used: self.used(),
        })
    }

    /// The share of its time that the busiest worker has used.
    fn used(&self) -> f64 {
        let used = |worker: &Worker| Some(worker.useful_ns()? / worker.measured_ns() as f64);
        self.workers.iter().filter_map(used).fold(0.0, f64::max)
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
    use super::{Balance, Measure, Places, Trial};

    /// So many packets a second, with a busiest worker that has no time left, or has.
    fn measure(delivered: f64, lost: f64, is_full: bool) -> Measure {
        Measure { delivered, lost, used: if is_full { 0.95 } else { 0.3 } }
    }

    fn full(delivered: f64) -> Option<Measure> {
        Some(measure(delivered, 0.0, true))
    }

    /// Where an app goes back to that was on worker 7 when that was measured.
    fn undo_from(balance: &mut Balance, before: Measure, now: Option<Measure>) -> Option<usize> {
        let places = Places::from([("app".to_owned(), 7)]);
        balance.trial = Some(Trial { places, before });
        balance.undo(now).map(|places| places["app"])
    }

    /// When 500 packets a second were delivered, and none lost.
    fn undo(balance: &mut Balance, now: Option<Measure>) -> Option<usize> {
        undo_from(balance, measure(500.0, 0.0, false), now)
    }

    #[test]
    fn moves_are_undone_that_do_harm() {
        let mut balance = Balance::default();
        assert_eq!(undo(&mut balance, full(490.0)), Some(7));
        assert!(balance.undo(full(10.0)).is_none(), "it is done once");
        assert_eq!(undo(&mut balance, full(500.0)), None);
        let less = Some(measure(10.0, 0.0, false));
        assert_eq!(undo(&mut balance, less), None, "less comes, since nobody is busy");
        assert_eq!(undo(&mut balance, None), None, "nothing is known");
        assert!(!balance.has_lost);
    }

    #[test]
    fn moves_are_undone_that_lose_packets_between_workers() {
        for is_full in [false, true] {
            for (delivered, lost) in [(497.0, 3.0), (500.0, 1.0), (600.0, 300.0)] {
                let mut balance = Balance::default();
                assert_eq!(undo(&mut balance, Some(measure(delivered, lost, is_full))), Some(7));
                assert!(balance.is_pausing() && !balance.is_pausing());
            }
        }
        let mut balance = Balance::default();
        let lost_before = measure(500.0, 20.0, false);
        assert_eq!(undo_from(&mut balance, lost_before, Some(measure(500.0, 30.0, false))), Some(7));
        assert_eq!(undo_from(&mut balance, lost_before, Some(measure(500.0, 20.0, false))), None);
        assert_eq!(undo_from(&mut balance, lost_before, Some(measure(500.0, 10.0, false))), None);
    }

    #[test]
    fn losses_are_borne_where_much_more_is_delivered() {
        let mut balance = Balance::default();
        assert_eq!(undo(&mut balance, Some(measure(800.0, 100.0, true))), None);
        assert!(!balance.stays(None));
    }

    #[test]
    fn apps_stay_after_losses_while_no_worker_is_full() {
        let mut balance = Balance::default();
        let (some_time_left, none_left) = (measure(500.0, 0.0, false), measure(500.0, 0.0, true));
        assert!(!balance.stays(Some(&some_time_left)), "nothing is known against a move");
        undo(&mut balance, Some(measure(490.0, 10.0, false)));
        assert!(balance.stays(Some(&some_time_left)) && balance.stays(None));
        assert!(!balance.stays(Some(&none_left)));
    }

    #[test]
    fn apps_that_lose_go_to_one_worker_if_it_can_do_it_all() {
        let mut balance = Balance::default();
        balance.were_together(&Measure { delivered: 500.0, lost: 0.0, used: 0.5 });
        assert!(!balance.is_one_enough(&measure(800.0, 0.0, false)), "nothing is lost");
        assert!(!balance.is_one_enough(&measure(890.0, 20.0, false)), "one worker carries 900");
        assert!(!balance.has_lost);
        assert!(balance.is_one_enough(&measure(870.0, 20.0, false)));
        assert!(balance.has_lost, "and they are to stay there");
        assert!(
            Balance::default().is_one_enough(&measure(9.0, 1.0, true)),
            "it is tried where nothing is known"
        );
    }

    #[test]
    fn apps_leave_one_worker_again_if_it_cannot_do_it_all() {
        let mut balance = Balance::default();
        let apart = measure(800.0, 20.0, false);
        assert_eq!(undo_from(&mut balance, apart, Some(measure(700.0, 0.0, true))), Some(7));
        assert!(balance.is_pausing());
        assert_eq!(undo_from(&mut balance, apart, Some(measure(799.0, 0.0, false))), None, "less comes");
    }

    #[test]
    fn the_pause_grows_until_a_move_is_right() {
        let mut balance = Balance::default();
        assert!(!balance.is_pausing());
        let mut undone = |delivered| {
            undo(&mut balance, full(delivered));
            (0..).take_while(|_| balance.is_pausing()).count()
        };
        let grown: Vec<usize> = (0..7).map(|_| undone(100.0)).collect();
        assert_eq!(grown, [1, 2, 4, 8, 16, 32, 32]);
        assert_eq!([undone(900.0), undone(100.0)], [0, 1]);
    }
}
