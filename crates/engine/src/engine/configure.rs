//! From one graph to the next, by difference.
//!
//! ```text
//! check the options of all apps, unless they have been reviewed;  start those that are new          (until here, an error changes nothing)
//! stop those that are gone;  start those that claim what these had;  give the changed ones their options, or stop them;  start these anew
//! drop links that are gone;  make new ones;  keep the others, with the packets in them
//! place apps on workers;  put all together
//! ```
//!
//! Nothing runs meanwhile: workers come to the end of a breath first, so an app never sees half of a change.

use super::placement::{Places, Placing};
use super::{Engine, LinkState};
use crate::app::{ClassInfo, Direction, Passage, Ports, Reconfigured};
use crate::drops;
use crate::graph::{AppSpec, Graph, Link, breathing_order, conflict_in_change};
use crate::link::{self, Between, Input, Output, Ring};
use crate::option::{Fault, OptionError};
use crate::panic::guarded;
use crate::pool::Orphans;
use crate::shm::{EntryKind, Record, RecordKind};
use crate::worker::{LastWords, Method, Task, Worker};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
use std::sync::Arc;

/// The changes that a new graph has made.
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
    /// Those of the failed that are down. The others run.
    pub down: Vec<String>,
    /// Apps that have gone on on another worker.
    pub moved: Vec<String>,
    /// The last reports of apps that were stopped.
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
        class: Box<str>,
        /// The error.
        error: Box<OptionError>,
    },
    /// The system refused memory.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Ends of links, by link.
#[derive(Default)]
pub(super) struct Ends {
    outputs: BTreeMap<Link, Output>,
    inputs: BTreeMap<Link, Input>,
}

/// Apps that take over what another has left, by name: the name of that one, and a record.
type Heirs = BTreeMap<String, (String, Record)>;

/// Tasks that have been taken out of their workers, with the worker they were on.
pub(super) type Tasks = BTreeMap<String, (usize, Task)>;

impl Engine {
    /// Runs another graph from now on. Apps and links that are in both keep their state and their packets.
    ///
    /// # Errors
    /// When an option is wrong or a new app does not start: then nothing has changed.
    pub fn configure(&mut self, graph: &Graph) -> Result<Changes, ConfigureError> {
        self.check(graph)?;
        self.end_trace();
        self.workers.iter_mut().for_each(Worker::stood);
        let mut changes = Changes::default();
        let heirs = self.heirs(graph)?;
        let mut fresh = self.start_fresh(graph, &heirs, &mut changes)?;
        let new_links = self.make_links(graph, &mut changes)?;
        let costs = self.lasting_costs();

        let mut graph = graph.clone();
        let mut tasks = self.take_tasks();
        self.stop_gone(&graph, &mut tasks, &mut changes);
        self.start_heirs(heirs, &graph, &mut tasks, &mut fresh, &mut changes);
        self.change(&mut graph, &mut tasks, &mut changes);
        let mut ends = self.take_ends(&mut tasks);
        self.drop_links(&graph, &mut ends, &mut changes);
        for (link, output, input) in new_links {
            ends.outputs.insert(link.clone(), output);
            ends.inputs.insert(link, input);
        }
        tasks.append(&mut fresh);
        // A review prepares all apps, also those that keep their options.
        graph.apps().for_each(|(_, app)| app.config.forget_prepared(&mut self.discards));
        tasks.values_mut().for_each(|(_, task)| self.discards.append(&mut task.discards));
        self.discards.add(std::mem::replace(&mut self.graph, graph));
        self.publish_retired();
        let before = workers_of(&tasks, &changes);
        self.assemble(tasks, ends, &Placing::ByCost(costs.clone()));
        self.tell_outcome(&before, &mut changes);
        self.start_balance(costs);
        Ok(changes)
    }

    /// Tells which apps are on another worker than before, and which of those that failed are down.
    fn tell_outcome(&self, before: &BTreeMap<String, usize>, changes: &mut Changes) {
        let failed: BTreeSet<&str> = changes.failed.iter().map(|(name, _)| name.as_str()).collect();
        for (index, worker) in self.workers.iter().enumerate() {
            for task in &worker.tasks {
                let name = task.name();
                if before.get(name).is_some_and(|&before| before != index) {
                    changes.moved.push(name.to_owned());
                }
                if failed.contains(name) && task.is_down() {
                    changes.down.push(name.to_owned());
                }
            }
        }
        changes.moved.sort_unstable();
        changes.down.sort_unstable();
    }

    /// Whether a graph would be accepted, as far as that is known before its apps are started. Options that run already
    /// are not looked at again.
    ///
    /// # Errors
    /// Which option is wrong.
    pub fn check(&self, graph: &Graph) -> Result<(), ConfigureError> {
        for (name, app) in graph.apps() {
            // What a review has prepared makes sense, and to compare may take long.
            let is_other = || self.graph.get(name).is_none_or(|running| running.config != app.config);
            if !app.config.is_prepared() && is_other() {
                app.config.check().map_err(|error| app_error(name, app, error))?;
            }
            let linked = graph.linked_ports(name);
            let class = app.config.class();
            // Options that were put in place of others may be those of another class.
            check_links(&class, Direction::Output, &linked.outputs)
                .and_then(|()| check_links(&class, Direction::Input, &linked.inputs))
                .and_then(|()| app.config.check_ports(&linked))
                .map_err(|error| app_error(name, app, error))?;
        }
        self.check_uses(graph)
    }

    /// Whether every app can have what it uses, in the graph and while it comes in the place of the one that runs.
    fn check_uses(&self, graph: &Graph) -> Result<(), ConfigureError> {
        let in_graph = || graph.conflicts().into_iter().next();
        let in_change = || {
            let successors = self.successors(graph);
            conflict_in_change(&self.graph, graph, |app, before| successors.get(app) == Some(&before))
        };
        match in_graph().or_else(in_change) {
            Some(conflict) => {
                let class = graph.get(&conflict.app).map(|app| app.config.class().name.into());
                let class = class.unwrap_or_default();
                let error = conflict.as_option_error();
                Err(ConfigureError::App { app: conflict.app, class, error: error.into() })
            }
            None => Ok(()),
        }
    }

    /// Stops everything.
    pub fn stop(&mut self) -> Changes {
        // An empty graph has no app that could refuse to start.
        self.configure(&Graph::new()).unwrap_or_default()
    }

    /// Apps that are new, and claim what one has that is gone; each with the name of the other.
    fn successors<'g>(&'g self, graph: &'g Graph) -> BTreeMap<&'g str, &'g str> {
        let mut gone: BTreeMap<(Cow<'static, str>, String), &str> = BTreeMap::new();
        for (name, app) in self.graph.apps().filter(|&(name, app)| is_new(name, app, graph)) {
            gone.extend(claim(app).map(|claim| ((app.config.class().name, claim), name)));
        }
        let new = graph.apps().filter(|&(name, app)| is_new(name, app, &self.graph));
        new.filter_map(|(name, app)| Some((name, gone.remove(&(app.config.class().name, claim(app)?))?)))
            .collect()
    }

    /// The apps that take over from others, each with a record.
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
        let class = app.config.class().name;
        self.settings.counters.record(RecordKind::App, name, &class, Task::RECORD_SIZE)
    }

    /// Starts the apps that are new, or of another class than before, heirs excepted.
    fn start_fresh(
        &self,
        graph: &Graph,
        heirs: &Heirs,
        changes: &mut Changes,
    ) -> Result<Tasks, ConfigureError> {
        let is_fresh =
            |name: &str, app: &AppSpec| is_new(name, app, &self.graph) && !heirs.contains_key(name);
        let (clock, restarts, now_ns) = (self.settings.clock, self.settings.restarts(), self.now_ns());
        let mut fresh = Tasks::new();
        for (name, app) in graph.apps().filter(|&(name, app)| is_fresh(name, app)) {
            let record = self.app_record(name, app)?;
            let mut task = Task::vacant(name, app.config.clone(), record, clock, restarts, &self.notices);
            task.start(now_ns).map_err(|error| app_error(name, app, error))?;
            fresh.insert(name.to_owned(), (0, task));
            changes.started.push(name.to_owned());
        }
        Ok(fresh)
    }

    /// Makes the links that are new.
    fn make_links(&mut self, graph: &Graph, changes: &mut Changes) -> io::Result<Vec<(Link, Output, Input)>> {
        let mut made = Vec::new();
        for link in graph.links().filter(|&link| !self.links.contains_key(link)) {
            let (record, counters) = self.settings.counters.link(&link.to_string())?;
            let (output, input) = link::link(counters, Between::OneThread);
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

    pub(super) fn take_tasks(&mut self) -> Tasks {
        let mut tasks = Tasks::new();
        for (index, worker) in self.workers.iter_mut().enumerate() {
            worker.sweep(Task::discarded);
            for task in worker.tasks.drain(..) {
                tasks.insert(task.name().to_owned(), (index, task));
            }
        }
        tasks
    }

    /// Stops the apps that are gone, or that another was started for.
    fn stop_gone(&mut self, graph: &Graph, tasks: &mut Tasks, changes: &mut Changes) {
        for (name, (worker, task)) in tasks.iter_mut() {
            let is_gone = |app: &AppSpec| is_new(name, app, graph);
            if self.graph.get(name).is_none_or(is_gone) {
                let report = self.workers[*worker].stop(task);
                changes.reports.extend(report.map(|report| (name.clone(), report)));
                self.retired.add_app(task);
                changes.stopped.push(name.clone());
            }
        }
    }

    /// Starts apps in place of others that have been stopped.
    fn start_heirs(
        &self,
        heirs: Heirs,
        graph: &Graph,
        tasks: &mut Tasks,
        fresh: &mut Tasks,
        changes: &mut Changes,
    ) {
        let (clock, restarts, now_ns) = (self.settings.clock, self.settings.restarts(), self.now_ns());
        for (name, (before, record)) in heirs {
            let (Some(app), Some((_, before))) = (graph.get(&name), tasks.get_mut(&before)) else { continue };
            let mut task = Task::vacant(&name, app.config.clone(), record, clock, restarts, &self.notices);
            let started = task.take_over(before, now_ns);
            changes.failed.extend(started.err().map(|error| (name.clone(), error)));
            changes.started.push(name.clone());
            fresh.insert(name, (0, task));
        }
        changes.started.sort_unstable();
    }

    /// Gives apps that have changed their new options. One that does not start with them has its old ones again in `graph`.
    ///
    /// All that are started anew are stopped before the first of them starts: what they share may not take two sorts of options at a time.
    fn change(&mut self, graph: &mut Graph, tasks: &mut Tasks, changes: &mut Changes) {
        let mut stopped = Vec::new();
        for (name, (worker, task)) in tasks.iter_mut() {
            // They were stopped in the order of their names.
            if changes.stopped.binary_search(name).is_ok() {
                continue;
            }
            let Some(app) = graph.get_mut(name).filter(|app| app.config != *task.config()) else { continue };
            let worker = &mut self.workers[*worker];
            match worker.reconfigure(task, &app.config) {
                Ok(Reconfigured::Kept) => changes.reconfigured.push(name.clone()),
                Ok(Reconfigured::NeedsRestart) => {
                    let report = worker.stop(task);
                    changes.reports.extend(report.map(|report| (name.clone(), report)));
                    stopped.push(name.clone());
                }
                Err(error) => {
                    app.config = task.config().clone();
                    changes.failed.push((name.clone(), error));
                }
            }
        }
        for name in stopped {
            let (Some(app), Some((worker, task))) = (graph.get_mut(&name), tasks.get_mut(&name)) else {
                continue;
            };
            let (old, now_ns) = (task.config().clone(), self.workers[*worker].now_ns());
            match task.replace(&app.config, now_ns) {
                Ok(()) => changes.restarted.push(name),
                Err(error) => {
                    // At once: an app that shares something with it may be refused then, and goes back as well, so that both run.
                    // If the old ones fail as well, the app is down, and is started again later.
                    let _ = task.replace(&old, now_ns);
                    app.config = old;
                    changes.failed.push((name, error));
                }
            }
        }
    }

    /// Takes the ends of all links out of the tasks; ends without a link are gone.
    ///
    /// Which is which is said by their rings, not by where they are: an app may have changed the places of its ends.
    pub(super) fn take_ends(&self, tasks: &mut Tasks) -> Ends {
        let links: BTreeMap<*const Ring, &Link> =
            self.links.iter().map(|(link, state)| (state.ring.as_ptr(), link)).collect();
        let link_of = |ring: &Arc<Ring>| links.get(&Arc::as_ptr(ring)).map(|&link| link.clone());
        let mut ends = Ends::default();
        for (_, task) in tasks.values_mut() {
            task.output_names.clear();
            task.input_names.clear();
            let outputs = task.plugs.outputs.drain(..);
            ends.outputs.extend(outputs.filter_map(|output| Some((link_of(output.ring())?, output))));
            let inputs = task.plugs.inputs.drain(..);
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
            *self.retired.drops.entry(drops::LINK_FULL.to_owned()).or_default() +=
                output.map_or(0, |output| output.dropped());
            drop(input);
            changes.unlinked.push(link);
        }
        Orphans::leave();
        self.workers[0].sweep(Task::discarded);
    }

    /// Hands apps with their links to the workers.
    pub(super) fn assemble(&mut self, tasks: Tasks, mut ends: Ends, placing: &Placing) {
        let pulls = |name: &str| tasks.get(name).is_some_and(|(_, task)| task.has(Method::Pull));
        let order = breathing_names(&self.graph, pulls);
        let places = placing.places(&self.graph, &order, self.workers.len());
        let order = pushing_names(&self.graph, pulls);
        self.tell_links(&places, &order, &ends);
        ends.outputs.values_mut().for_each(Output::settle);
        let tasks = self.plugged_in(tasks, &mut ends, &order, &places);
        let stamping = tasks.iter().flatten().any(Task::uses_metadata);
        let now_ns = self.now_ns();
        for (worker, tasks) in self.workers.iter_mut().zip(tasks) {
            worker.not_before(now_ns);
            if stamping {
                worker.stamp();
            }
            worker.install(tasks);
        }
        self.counters.generation.add(1);
        self.counters.apps.set(self.graph.apps().len() as u64);
        self.counters.links.set(self.graph.links().len() as u64);
    }

    /// Tells links on which worker their packets arrive, and whether they come from there, in the same breath.
    fn tell_links(&self, places: &Places, order: &[String], ends: &Ends) {
        let place = |app: &str| places.get(app).copied().unwrap_or(0);
        let positions: BTreeMap<&str, usize> =
            (0..).zip(order).map(|(at, name)| (name.as_str(), at)).collect();
        // What comes in from the world is sent before anybody pushes.
        let position = |app: &str| positions.get(app).copied().unwrap_or(0);
        let is_forward = |link: &Link| {
            is_of_world(&self.graph, &link.from.app) || position(&link.from.app) < position(&link.to.app)
        };
        for (link, state) in &self.links {
            state.record.set_worker(place(&link.to.app));
            if let Some(ring) = state.ring.upgrade() {
                // An app that has hidden its end from us may use it on any thread.
                let are_here = ends.outputs.contains_key(link) && ends.inputs.contains_key(link);
                let is_local = are_here && place(&link.from.app) == place(&link.to.app);
                ring.place(match is_local {
                    true if is_forward(link) => Between::OneBreath,
                    true => Between::OneThread,
                    false => Between::TwoThreads,
                });
            }
        }
    }

    /// The apps of each worker that are still in the graph, as they breathe, with the ends of their links.
    fn plugged_in(
        &self,
        mut tasks: Tasks,
        ends: &mut Ends,
        order: &[String],
        places: &Places,
    ) -> Vec<Vec<Task>> {
        let mut plugged_in: Vec<Vec<Task>> = self.workers.iter().map(|_| Vec::new()).collect();
        for name in order {
            let Some((_, mut task)) = tasks.remove(name) else { continue };
            let place = places.get(name).copied().unwrap_or(0);
            plug_in(&mut task, &self.graph, ends);
            task.record.set_worker(place);
            plugged_in[place].push(task);
        }
        plugged_in
    }
}

/// The workers of the apps that go on, by name; those that have been started have been on none.
fn workers_of(tasks: &Tasks, changes: &Changes) -> BTreeMap<String, usize> {
    let goes_on = |name: &String| changes.started.binary_search(name).is_err();
    let going_on = tasks.iter().filter(|(name, _)| goes_on(name));
    going_on.map(|(name, (worker, _))| (name.clone(), *worker)).collect()
}

/// Whether there is no such app in a graph, or one of another class.
fn is_new(name: &str, app: &AppSpec, graph: &Graph) -> bool {
    graph.get(name).is_none_or(|other| other.config.class() != app.config.class())
}

/// What only one app of its class can have. One that fails to say so claims nothing.
fn claim(app: &AppSpec) -> Option<String> {
    guarded(|| app.config.claim()).unwrap_or_default()
}

/// Gives a task the ends of its links, in the order that its class promises.
fn plug_in(task: &mut Task, graph: &Graph, ends: &mut Ends) {
    let class = task.config().class();
    let name = task.name().to_owned();
    let linked = graph.linked_ports(&name);
    task.output_names = port_names(&class.outputs, &linked.outputs);
    task.input_names = port_names(&class.inputs, &linked.inputs);
    let mut leaving: BTreeMap<&str, &Link> =
        graph.links_from(&name).map(|link| (link.from.port.as_str(), link)).collect();
    let mut arriving: BTreeMap<&str, &Link> =
        graph.links_to(&name).map(|link| (link.to.port.as_str(), link)).collect();
    let unlinked = task.record.number(drops::UNLINKED, EntryKind::Drop);
    let output = |port: &String| {
        let link = leaving.remove(port.as_str());
        link.and_then(|link| ends.outputs.remove(link)).unwrap_or_else(|| Output::unlinked(unlinked.clone()))
    };
    task.plugs.outputs = task.output_names.iter().map(output).collect();
    let input = |port: &String| {
        let link = arriving.remove(port.as_str());
        link.and_then(|link| ends.inputs.remove(link)).unwrap_or_else(Input::unlinked)
    };
    task.plugs.inputs = task.input_names.iter().map(input).collect();
}

/// The names of an app's ports, in the order in which it sees them.
fn port_names(ports: &Ports, linked: &[&str]) -> Vec<String> {
    let named = ports.names();
    let names = if ports.are_any() { linked } else { &*named };
    names.iter().map(|&name| name.to_owned()).collect()
}

/// The names of the apps in the order in which packets come to them.
pub(super) fn breathing_names(graph: &Graph, pulls: impl Fn(&str) -> bool) -> Vec<String> {
    let names: Vec<&str> = graph.apps().map(|(name, _)| name).collect();
    let number = |name: &str| names.binary_search(&name).unwrap_or(0);
    let links: Vec<(usize, usize)> =
        graph.links().map(|link| (number(&link.from.app), number(&link.to.app))).collect();
    // A device that only sends would stand apart from the chain that ends in it.
    let sends: HashSet<usize> = links.iter().map(|&(from, _)| from).collect();
    let pulling: Vec<usize> =
        (0..names.len()).filter(|app| sends.contains(app) && pulls(names[*app])).collect();
    let order = breathing_order(names.len(), &pulling, &links);
    order.into_iter().map(|app| names[app].to_owned()).collect()
}

/// The names of the apps in the order in which they push. It is that in which packets come to them; but a device, from which other packets
/// come than it gets, is the last of those that lead to it.
fn pushing_names(graph: &Graph, pulls: impl Fn(&str) -> bool) -> Vec<String> {
    let names: Vec<&str> = graph.apps().map(|(name, _)| name).collect();
    let is_device: Vec<bool> = names.iter().map(|name| is_of_world(graph, name)).collect();
    let number = |name: &str| names.binary_search(&name).unwrap_or(0);
    let pulling: Vec<usize> = (0..names.len()).filter(|&app| pulls(names[app])).collect();
    // A device is two apps: one with its outputs, and one with its inputs, which pushes.
    let pushing = |app: usize| if is_device[app] { names.len() + app } else { app };
    let links: Vec<(usize, usize)> =
        graph.links().map(|link| (number(&link.from.app), pushing(number(&link.to.app)))).collect();
    let order = breathing_order(2 * names.len(), &pulling, &links);
    let pushers = order.into_iter().filter(|&app| app == pushing(app % names.len()));
    pushers.map(|app| names[app % names.len()].to_owned()).collect()
}

/// Whether an app is a device.
fn is_of_world(graph: &Graph, app: &str) -> bool {
    graph.get(app).is_some_and(|app| app.config.class().passage == Passage::World)
}

/// Whether a class has the ports that are linked.
fn check_links(class: &ClassInfo, direction: Direction, linked: &[&str]) -> Result<(), OptionError> {
    let ports = class.ports(direction);
    let Some(port) = linked.iter().find(|port| !ports.allow(port)) else { return Ok(()) };
    let message = format!("it has no {direction} `{port}`, which is linked; its {direction}s: {ports}");
    Err(OptionError::about(None, message, Fault::Option))
}

fn app_error(name: &str, app: &AppSpec, error: OptionError) -> ConfigureError {
    ConfigureError::App { app: name.to_owned(), class: app.config.class().name.into(), error: error.into() }
}
