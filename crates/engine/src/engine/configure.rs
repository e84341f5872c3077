//! From one graph to the next, by difference.
//!
//! ```text
//! check the options of all apps;  start those that are new          (until here, an error changes nothing)
//! stop those that are gone;  start those that claim what these had;  give the changed ones their options, or stop and start them
//! drop links that are gone;  make new ones;  keep the others, with the packets in them
//! place apps on workers;  put all together
//! ```
//!
//! Nothing runs meanwhile: workers come to the end of a breath first, so an app never sees half of a change.

use super::placement::{self, Places, Placing};
use super::{Engine, LinkState};
use crate::app::Ports;
use crate::config::{Fault, OptionError};
use crate::graph::{AppSpec, Graph, Link, breathing_order};
use crate::link::{self, Input, Output, Ring};
use crate::pool::Orphans;
use crate::shm::{EntryKind, Record, RecordKind};
use crate::uses::{self, Conflict};
use crate::worker::{LastWords, Method, Slot, Worker};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// What is measured for less time says little.
const MEASURED_MIN_NS: u64 = 100_000_000;

/// Fewer breaths say nothing of the clock: one more on either side would be an eighth of the mean turn or more.
const BREATHS_MIN: u64 = 8;

/// What is left of the costs of a worker that keeps up with another one that is always busy: with fewer packets at a time each costs
/// more, by how much is not known. A tenth a time leads to where something is dropped.
const WAITING: f64 = 0.9;

/// What a new graph has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Changes {
    /// Apps that were started, those whose class has changed included.
    pub started: Vec<String>,
    /// Apps that were stopped.
    pub stopped: Vec<String>,
    /// Apps that were given other options, and kept their state.
    pub reconfigured: Vec<String>,
    /// Apps that were stopped and started with other options.
    pub restarted: Vec<String>,
    /// Links that were made.
    pub linked: Vec<Link>,
    /// Links that were removed.
    pub unlinked: Vec<Link>,
    /// Apps that did not start with their new options, or in place of one that was stopped for them. They run with the old ones
    /// again, or are down, and will be started with them.
    pub failed: Vec<(String, OptionError)>,
    /// What apps that were stopped had to report at last.
    pub reports: Vec<(String, LastWords)>,
}

/// Why a graph was not taken on. What ran goes on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigureError {
    /// An app does not take its options as they are: [`OptionError::fault`] says why.
    #[error("app `{app}` ({class}): {error}")]
    App {
        /// The app.
        app: String,
        /// Its class.
        class: &'static str,
        /// What is wrong.
        error: OptionError,
    },
    /// The system refused memory.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Ends of links, by link.
#[derive(Default)]
struct Ends {
    outputs: BTreeMap<Link, Output>,
    inputs: BTreeMap<Link, Input>,
}

/// Apps that take over what another has left, by name: the name of that one, and a record.
type Heirs = BTreeMap<String, (String, Record)>;

/// What apps have cost, by name, in nanoseconds.
pub(super) type Costs = BTreeMap<String, f64>;

/// Slots that have been taken out of their workers, with the worker they were on.
type Slots = BTreeMap<String, (usize, Slot)>;

impl Engine {
    /// Runs another graph from now on. Apps and links that are in both keep their state and their packets.
    ///
    /// # Errors
    /// When an option is wrong or a new app does not start: then nothing has changed.
    pub fn configure(&mut self, graph: &Graph) -> Result<Changes, ConfigureError> {
        self.check(graph)?;
        let mut changes = Changes::default();
        let heirs = self.heirs(graph)?;
        let mut fresh = self.start_fresh(graph, &heirs, &mut changes)?;
        let new_links = self.make_links(graph, &mut changes)?;
        let costs = self.lasting_costs();

        let mut graph = graph.clone();
        let mut slots = self.take_slots();
        self.stop_gone(&graph, &mut slots, &mut changes);
        self.start_heirs(heirs, &graph, &mut slots, &mut fresh, &mut changes);
        self.change(&mut graph, &mut slots, &mut changes);
        let mut ends = self.take_ends(&mut slots);
        self.drop_links(&graph, &mut ends, &mut changes);
        for (link, output, input) in new_links {
            ends.outputs.insert(link.clone(), output);
            ends.inputs.insert(link, input);
        }
        slots.append(&mut fresh);
        self.graph = graph;
        self.assemble(slots, ends, &Placing::ByCost(costs.clone()));
        self.measure_anew(costs);
        Ok(changes)
    }

    /// Whether a graph would be taken on, as far as that can be told before its apps are started. Options that run already
    /// are not looked at again.
    ///
    /// # Errors
    /// Which option is wrong.
    pub fn check(&self, graph: &Graph) -> Result<(), ConfigureError> {
        for (name, app) in graph.apps() {
            if self.graph.get(name).is_none_or(|running| running.config != app.config) {
                app.config.check().map_err(|error| app_error(name, app, error))?;
            }
            let linked = graph.linked_ports(name);
            let kind = app.config.kind();
            // Options that were put in place of others may be those of another class.
            check_links("output", kind.outputs, &linked.outputs)
                .and_then(|()| check_links("input", kind.inputs, &linked.inputs))
                .and_then(|()| app.config.check_ports(&linked))
                .map_err(|error| app_error(name, app, error))?;
        }
        self.check_uses(graph)
    }

    /// Whether every app can have what it uses, in the graph and while it comes in the place of the one that runs.
    fn check_uses(&self, graph: &Graph) -> Result<(), ConfigureError> {
        let in_graph = || uses::conflicts(graph).into_iter().next();
        let in_change = || {
            let successors = self.successors(graph);
            uses::conflict_in_change(&self.graph, graph, |app, before| successors.get(app) == Some(&before))
        };
        match in_graph().or_else(in_change) {
            Some(Conflict { app, error, .. }) => {
                let class = graph.get(&app).map_or("", |app| app.config.kind().name);
                Err(ConfigureError::App { app, class, error })
            }
            None => Ok(()),
        }
    }

    /// Places the apps on workers anew, by what each has cost since this was done last, or [`Engine::forget_costs`]. Apps and links keep their
    /// state and their packets. Nothing is done, and `false` returned, unless the worker that has most to do then has less to do by at
    /// least a share `gain_min` of its time, such as 0.02: then what takes less than 2 % of a core, or less than 4 % if it could be halved,
    /// stays where it is.
    ///
    /// What apps cost depends on where they are: call it again after some time, until it changes nothing.
    pub fn rebalance(&mut self, gain_min: f64) -> bool {
        let costs = self.costs();
        let workers = self.workers.len();
        let slots = self.workers.iter().flat_map(|worker| &worker.slots);
        let pulling: BTreeSet<&str> = slots.filter(|slot| slot.has(Method::Pull)).map(Slot::name).collect();
        let order = breathing_names(&self.graph, |name| pulling.contains(name));
        let heaviest = |places: &Places| placement::heaviest(places, &costs, workers);
        let before = heaviest(&self.places());
        let placing = Placing::ByCost(costs.clone());
        let gain = before - heaviest(&placing.places(&self.graph, &order, workers));
        let least = gain_min * (self.measured_ns() as f64).max(before);
        let is_better = !costs.is_empty() && gain > 0.0 && gain >= least;
        if is_better {
            self.place(&placing);
        }
        self.measure_anew(costs);
        is_better
    }

    /// Puts all apps that are not placed by hand on the first worker, to be measured there until [`Engine::rebalance`]. On a worker of
    /// their own, apps that have little to do are asked more often, for fewer packets at a time, and seem to cost as much as others.
    pub fn gather(&mut self) {
        self.place(&Placing::OnFirst);
        self.measure_anew(Costs::new());
    }

    /// Forgets what apps have cost so far: what they cost from now on is what [`Engine::rebalance`] goes by.
    pub fn forget_costs(&mut self) {
        self.measure_anew(Costs::new());
    }

    /// Measures apps from now on, which have cost that until now, as far as it is known.
    fn measure_anew(&mut self, costs: Costs) {
        self.workers.iter_mut().for_each(Worker::measure_anew);
        if !costs.is_empty() {
            self.known_costs = costs;
        }
    }

    /// Where apps are now.
    fn places(&self) -> Places {
        let of = |(index, worker): (usize, &Worker)| -> Vec<(String, usize)> {
            worker.slots.iter().map(|slot| (slot.name().to_owned(), index)).collect()
        };
        self.workers.iter().enumerate().flat_map(of).collect()
    }

    fn place(&mut self, placing: &Placing) {
        let mut slots = self.take_slots();
        let ends = self.take_ends(&mut slots);
        self.assemble(slots, ends, placing);
    }

    /// Stops everything.
    pub fn stop(&mut self) -> Changes {
        // An empty graph has no app that could refuse to start.
        self.configure(&Graph::new()).unwrap_or_default()
    }

    /// Apps that are new, and claim what one has that is gone; each with the name of the other.
    fn successors<'g>(&'g self, graph: &'g Graph) -> BTreeMap<&'g str, &'g str> {
        let mut gone: BTreeMap<(&str, String), &str> = BTreeMap::new();
        for (name, app) in self.graph.apps().filter(|&(name, app)| is_new(name, app, graph)) {
            gone.extend(claim(app).map(|claim| ((app.config.kind().name, claim), name)));
        }
        let new = graph.apps().filter(|&(name, app)| is_new(name, app, &self.graph));
        new.filter_map(|(name, app)| Some((name, gone.remove(&(app.config.kind().name, claim(app)?))?)))
            .collect()
    }

    /// The same, each with a record.
    fn heirs(&self, graph: &Graph) -> io::Result<Heirs> {
        let mut heirs = Heirs::new();
        for (name, before) in self.successors(graph) {
            if let Some(app) = graph.get(name) {
                heirs.insert(name.to_owned(), (before.to_owned(), self.app_record(name, app)?));
            }
        }
        Ok(heirs)
    }

    fn app_record(&self, name: &str, app: &AppSpec) -> io::Result<Record> {
        let (entries, numbers) = Slot::RECORD;
        self.settings.counters.record(RecordKind::App, name, app.config.kind().name, entries, numbers)
    }

    /// Starts the apps that are new, or of another class than before, heirs excepted.
    fn start_fresh(
        &self,
        graph: &Graph,
        heirs: &Heirs,
        changes: &mut Changes,
    ) -> Result<Slots, ConfigureError> {
        let is_fresh =
            |name: &str, app: &AppSpec| is_new(name, app, &self.graph) && !heirs.contains_key(name);
        let (clock, now_ns) = (self.settings.clock, self.now_ns());
        let mut fresh = Slots::new();
        for (name, app) in graph.apps().filter(|&(name, app)| is_fresh(name, app)) {
            let record = self.app_record(name, app)?;
            let restarts = self.settings.pace().restarts;
            let slot = Slot::start(name, app.config.clone(), record, (clock, now_ns), restarts)
                .map_err(|error| app_error(name, app, error))?;
            fresh.insert(name.to_owned(), (0, slot));
            changes.started.push(name.to_owned());
        }
        Ok(fresh)
    }

    /// Makes the links that are new.
    fn make_links(&mut self, graph: &Graph, changes: &mut Changes) -> io::Result<Vec<(Link, Output, Input)>> {
        let mut made = Vec::new();
        for link in graph.links().filter(|&link| !self.links.contains_key(link)) {
            let (record, counters) = self.settings.counters.link(&link.to_string())?;
            let (output, input) = link::link(counters, true);
            let state = LinkState { record, ring: Arc::downgrade(output.ring()) };
            made.push((link.clone(), state, output, input));
        }
        let remember = |(link, state, output, input): (Link, _, _, _)| {
            changes.linked.push(link.clone());
            self.links.insert(link.clone(), state);
            (link, output, input)
        };
        Ok(made.into_iter().map(remember).collect())
    }

    /// For how long apps have been measured.
    fn measured_ns(&self) -> u64 {
        self.workers.iter().map(Worker::measured_ns).max().unwrap_or(0)
    }

    /// What each app has cost, before that was forgotten if nothing is known since.
    pub(super) fn lasting_costs(&self) -> Costs {
        let costs = if self.measured_ns() < MEASURED_MIN_NS { Costs::new() } else { self.costs() };
        if costs.is_empty() { self.known_costs.clone() } else { costs }
    }

    /// What each app has cost since costs were forgotten, where that is known.
    fn costs(&self) -> Costs {
        let slots = || self.workers.iter().flat_map(|worker| &worker.slots);
        let (turns, turns_ns) = slots()
            .map(Slot::usual_turn)
            .fold((0, 0.0), |sum, turn| (sum.0 + turn.count, sum.1 + turn.total_ns()));
        let with_apps = self.workers.iter().filter(|worker| !worker.slots.is_empty());
        let (breaths, breaths_ns) = with_apps
            .map(Worker::usual_breath)
            .fold((0, 0.0), |sum, breath| (sum.0 + breath.count, sum.1 + breath.total_ns()));
        // What the turns of a breath take longer than the breath is the clock between them. Where workers breathe without turns, or apps
        // are gone that had some, the turns seem to be shorter; then nothing is known of the clock.
        let clock_ns = ((turns_ns - breaths_ns) / turns as f64).max(0.0);
        // There may be turns of one more breath than of those that were timed as a whole.
        let clock_ns = if breaths < BREATHS_MIN { 0.0 } else { clock_ns };
        let cost = |slot: &Slot| {
            let turn = slot.usual_turn();
            turn.count as f64 * (turn.mean_ns - clock_ns).max(turn.mean_ns / 16.0)
        };
        let are_held_up = self.workers.iter().any(Worker::holds_up_others);
        let of = |worker: &Worker| -> Vec<(String, f64)> {
            let waits = are_held_up && !worker.holds_up_others();
            let costs = worker.slots.iter().map(cost).sum();
            let scale = scale(worker, costs) * if waits { WAITING } else { 1.0 };
            worker.slots.iter().map(|slot| (slot.name().to_owned(), scale * cost(slot))).collect()
        };
        self.workers.iter().flat_map(of).filter(|&(_, cost)| cost > 0.0).collect()
    }

    fn take_slots(&mut self) -> Slots {
        let mut slots = Slots::new();
        for (index, worker) in self.workers.iter_mut().enumerate() {
            worker.sweep(Slot::discarded);
            for slot in worker.slots.drain(..) {
                slots.insert(slot.name().to_owned(), (index, slot));
            }
        }
        slots
    }

    /// Stops the apps that are gone, or that another was started for.
    fn stop_gone(&mut self, graph: &Graph, slots: &mut Slots, changes: &mut Changes) {
        for (name, (worker, slot)) in slots.iter_mut() {
            let is_gone = |app: &AppSpec| is_new(name, app, graph);
            if self.graph.get(name).is_none_or(is_gone) {
                let report = self.workers[*worker].stop(slot);
                changes.reports.extend(report.map(|report| (name.clone(), report)));
                self.retired.add_app(slot);
                changes.stopped.push(name.clone());
            }
        }
    }

    /// Starts apps in place of others that have been stopped.
    fn start_heirs(
        &self,
        heirs: Heirs,
        graph: &Graph,
        slots: &mut Slots,
        fresh: &mut Slots,
        changes: &mut Changes,
    ) {
        let (time, restarts) = ((self.settings.clock, self.now_ns()), self.settings.pace().restarts);
        for (name, (before, record)) in heirs {
            let (Some(app), Some((_, before))) = (graph.get(&name), slots.get_mut(&before)) else { continue };
            let config = app.config.clone();
            let (slot, started) = Slot::take_over(&name, config, record, time, restarts, before);
            changes.failed.extend(started.err().map(|error| (name.clone(), error)));
            changes.started.push(name.clone());
            fresh.insert(name, (0, slot));
        }
        changes.started.sort_unstable();
    }

    /// Gives apps that have changed their new options. One that does not start with them has its old ones again in `graph`.
    fn change(&mut self, graph: &mut Graph, slots: &mut Slots, changes: &mut Changes) {
        let restarts = self.settings.pace().restarts;
        for (name, (worker, slot)) in slots.iter_mut() {
            // They were stopped in the order of their names.
            if changes.stopped.binary_search(name).is_ok() {
                continue;
            }
            let Some(app) = graph.get_mut(name).filter(|app| app.config != *slot.config()) else { continue };
            let old = slot.config().clone();
            let worker = &mut self.workers[*worker];
            match worker.reconfigure(slot, &app.config) {
                Ok(true) => changes.reconfigured.push(name.clone()),
                Ok(false) => {
                    let report = worker.stop(slot);
                    changes.reports.extend(report.map(|report| (name.clone(), report)));
                    match slot.replace(&app.config, worker.now_ns(), restarts) {
                        Ok(()) => changes.restarted.push(name.clone()),
                        Err(error) => {
                            // If it fails as well, the app is down, and is started again later.
                            let _ = slot.replace(&old, worker.now_ns(), restarts);
                            app.config = old;
                            changes.failed.push((name.clone(), error));
                        }
                    }
                }
                Err(error) => {
                    app.config = old;
                    changes.failed.push((name.clone(), error));
                }
            }
        }
    }

    /// Takes the ends of all links out of the slots; ends without a link are gone.
    ///
    /// Which is which is said by their rings, not by where they are: an app may have changed the places of its ends.
    fn take_ends(&self, slots: &mut Slots) -> Ends {
        let links: BTreeMap<*const Ring, &Link> =
            self.links.iter().map(|(link, state)| (state.ring.as_ptr(), link)).collect();
        let link_of = |ring: &Arc<Ring>| links.get(&Arc::as_ptr(ring)).map(|&link| link.clone());
        let mut ends = Ends::default();
        for (_, slot) in slots.values_mut() {
            slot.output_names.clear();
            slot.input_names.clear();
            let outputs = slot.plugs.outputs.drain(..);
            ends.outputs.extend(outputs.filter_map(|output| Some((link_of(output.ring())?, output))));
            let inputs = slot.plugs.inputs.drain(..);
            ends.inputs.extend(inputs.filter_map(|input| Some((link_of(input.ring())?, input))));
        }
        ends
    }

    /// Drops the links that are gone, with the packets in them, which are counted as `link_removed`.
    fn drop_links(&mut self, graph: &Graph, ends: &mut Ends, changes: &mut Changes) {
        let gone: Vec<Link> = self.graph.links().filter(|&link| !graph.has_link(link)).cloned().collect();
        for link in gone {
            self.links.remove(&link);
            let (output, input) = (ends.outputs.remove(&link), ends.inputs.remove(&link));
            *self.retired.drops.entry("link_full".to_owned()).or_default() +=
                output.map_or(0, |output| output.dropped());
            drop(input);
            changes.unlinked.push(link);
        }
        Orphans::leave();
        self.workers[0].sweep(Slot::discarded);
    }

    /// Hands apps with their links to the workers.
    fn assemble(&mut self, slots: Slots, mut ends: Ends, placing: &Placing) {
        let pulls = |name: &str| slots.get(name).is_some_and(|(_, slot)| slot.has(Method::Pull));
        let order = breathing_names(&self.graph, pulls);
        let places = placing.places(&self.graph, &order, self.workers.len());
        let place = |app: &str| places.get(app).copied().unwrap_or(0);
        for (link, state) in &self.links {
            state.record.set_worker(place(&link.to.app));
            if let Some(ring) = state.ring.upgrade() {
                // An app that has hidden its end from us may use it on any thread.
                let are_here = ends.outputs.contains_key(link) && ends.inputs.contains_key(link);
                ring.set_local(are_here && place(&link.from.app) == place(&link.to.app));
            }
        }
        ends.outputs.values_mut().for_each(Output::settle);
        let mut slots: BTreeMap<String, Slot> =
            slots.into_iter().map(|(name, (_, slot))| (name, slot)).collect();
        slots.retain(|name, _| self.graph.get(name).is_some());
        let mut installed: Vec<Vec<Slot>> = self.workers.iter().map(|_| Vec::new()).collect();
        for name in &order {
            let Some(mut slot) = slots.remove(name) else { continue };
            plug_in(&mut slot, &self.graph, &mut ends);
            slot.record.set_worker(place(name));
            installed[place(name)].push(slot);
        }
        let stamping = installed.iter().flatten().any(Slot::uses_metadata);
        let now_ns = self.now_ns();
        for (worker, slots) in self.workers.iter_mut().zip(installed) {
            worker.not_before(now_ns);
            if stamping {
                worker.pool.stamp(now_ns);
            }
            worker.install(slots);
        }
        self.counters.generation.add(1);
        self.counters.apps.set(self.graph.apps().len() as u64);
        self.counters.links.set(self.graph.links().len() as u64);
    }
}

/// What to multiply its apps' costs with, so that together they are the time in which the worker has done something of use. With
/// little to do, apps are asked more often, for fewer packets at a time, and seem to cost as much as others.
fn scale(worker: &Worker, costs: f64) -> f64 {
    match worker.useful_ns() {
        Some(useful_ns) if costs > 0.0 => useful_ns / costs,
        _ => 1.0,
    }
}

/// Whether there is no such app in a graph, or one of another class.
fn is_new(name: &str, app: &AppSpec, graph: &Graph) -> bool {
    graph.get(name).is_none_or(|other| other.config.kind() != app.config.kind())
}

/// What only one app of its class can have. One that fails to say so claims nothing.
fn claim(app: &AppSpec) -> Option<String> {
    catch_unwind(AssertUnwindSafe(|| app.config.claim())).unwrap_or_default()
}

/// Gives a slot the ends of its links, in the order that its class promises.
fn plug_in(slot: &mut Slot, graph: &Graph, ends: &mut Ends) {
    let kind = slot.config().kind();
    let name = slot.name().to_owned();
    let linked = graph.linked_ports(&name);
    slot.output_names = port_names(kind.outputs, &linked.outputs);
    slot.input_names = port_names(kind.inputs, &linked.inputs);
    let mut leaving: BTreeMap<&str, &Link> =
        graph.links_from(&name).map(|link| (link.from.port.as_str(), link)).collect();
    let mut arriving: BTreeMap<&str, &Link> =
        graph.links_to(&name).map(|link| (link.to.port.as_str(), link)).collect();
    let unlinked = slot.record.number("unlinked", EntryKind::Drop);
    let output = |port: &String| {
        let link = leaving.remove(port.as_str());
        link.and_then(|link| ends.outputs.remove(link)).unwrap_or_else(|| Output::unlinked(unlinked.clone()))
    };
    slot.plugs.outputs = slot.output_names.iter().map(output).collect();
    let input = |port: &String| {
        let link = arriving.remove(port.as_str());
        link.and_then(|link| ends.inputs.remove(link)).unwrap_or_else(Input::unlinked)
    };
    slot.plugs.inputs = slot.input_names.iter().map(input).collect();
}

/// The names of an app's ports, in the order in which it sees them.
fn port_names(ports: Ports, linked: &[&str]) -> Vec<String> {
    let names = match ports {
        Ports::Named(names) => names,
        Ports::Any => linked,
    };
    names.iter().map(|&name| name.to_owned()).collect()
}

/// The names of the apps in the order in which they push.
fn breathing_names(graph: &Graph, pulls: impl Fn(&str) -> bool) -> Vec<String> {
    let names: Vec<&str> = graph.apps().map(|(name, _)| name).collect();
    let number = |name: &str| names.binary_search(&name).unwrap_or(0);
    let pulling: Vec<usize> = (0..names.len()).filter(|&app| pulls(names[app])).collect();
    let links: Vec<(usize, usize)> =
        graph.links().map(|link| (number(&link.from.app), number(&link.to.app))).collect();
    let order = breathing_order(names.len(), &pulling, &links);
    order.into_iter().map(|app| names[app].to_owned()).collect()
}

/// Whether a class has the ports that are linked.
fn check_links(direction: &str, ports: Ports, linked: &[&str]) -> Result<(), OptionError> {
    let Some(port) = linked.iter().find(|port| !ports.allow(port)) else { return Ok(()) };
    let message = format!("it has no {direction} `{port}`, which is linked; its {direction}s: {ports}");
    Err(OptionError { option: None, message, fault: Fault::Option })
}

fn app_error(name: &str, app: &AppSpec, error: OptionError) -> ConfigureError {
    ConfigureError::App { app: name.to_owned(), class: app.config.kind().name, error }
}
