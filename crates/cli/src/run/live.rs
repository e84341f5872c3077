//! A graph that runs: until it is finished, its time is over, or a signal comes; meanwhile its file is watched.

use super::asked::Asked;
use super::follow::{self, Following};
use super::report;
use super::reread::{Rereading, UNCHANGED, UntoldChange};
use super::source::{Source, Stamp, Watch};
use super::tell::Teller;
use crate::args::{ClockName, RunArgs};
use crate::ended::Ended;
use crate::exit::{Failure, Outcome};
use crate::instances;
use crate::message::Message;
use crate::notices::Announcer;
use crate::reader::{print_at_end, print_beside_packets};
use crate::signals::{self, Caught, Hangup};
use engine::{ClockKind, Engine, Graph, Rebalancer, Settings, Status, TimerId, Timers};
use graphfile::GraphFile;
use signal_hook::consts::SIGHUP;
use std::time::{Duration, Instant};

/// How often what may happen is looked for at least: terminals that hang up, and lines that were held back, are announced by nobody.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often that is done while a terminal may be about to hang up.
const SOON: Duration = Duration::from_millis(1);

/// Why the workers are to come to the end of a breath.
enum Wake {
    /// The time is over.
    Deadline,
    Signal(i32),
    /// There is another graph.
    Reload(Box<GraphFile>),
    /// The apps have been measured, and are to be placed anew.
    Rebalance,
}

/// What timers are set for.
#[derive(Clone, Copy, Debug)]
enum Alarm {
    /// The time is over.
    Deadline,
    /// The apps have been measured.
    Rebalance,
}

/// Runs a graph to its end.
pub(super) fn run(
    args: &RunArgs,
    file: GraphFile,
    (source, stamp): (Source, Option<Stamp>),
    teller: &Teller<'_>,
) -> Result<Outcome, Failure> {
    let name = args.name.clone().unwrap_or_else(|| source.instance_name());
    let filters = follow::filters(args, teller.terminal)?;
    let signals = signals::caught(signals::ENDING_GRAPHS)?;
    let hangup = Hangup::caught()?;
    let mut engine = Engine::new(settings(args, &name, &file.graph, teller)?).map_err(Failure::no_engine)?;
    engine.configure(&file.graph).map_err(|error| teller.refused(&file, &error, "nothing was started"))?;
    teller
        .pool_warnings(engine.graph(), engine.settings().packets)
        .iter()
        .for_each(|warning| teller.terminal.tell(warning));
    let following = filters.map(|filters| Following::begin(filters, args, &mut engine)).transpose()?;
    let begin = Instant::now();
    let mut timers = Timers::new();
    if let Some(duration) = args.duration {
        timers.after(0, duration, Alarm::Deadline);
    }
    if args.workers > 1 {
        engine.gather();
    }
    let watch = Watch::new(source.clone(), stamp);
    let mut lookout = Lookout {
        begin,
        timers,
        rebalancer: None,
        signals,
        hangup,
        watch,
        source,
        teller,
        announcer: Announcer::new(&engine, teller.terminal),
        had_failed: false,
        rereading: Rereading::default(),
        asked: Asked::default(),
        name: name.clone(),
        untold: None,
        unprinted: None,
        is_following: following.is_some(),
    };
    lookout.rebalance_from_now(&engine);
    lookout.serve();
    let signal = breathe(&mut engine, &mut lookout)?;
    lookout.tell_change(None);
    let followed = following.map_or(Ok(()), |following| following.end(&mut engine));
    let unprinted = lookout.unprinted.take().or(followed.err());
    let ran = report::Ran { name, duration: begin.elapsed(), workers: usize::from(args.workers) };
    let ended = Ended { fell_short: lookout.had_failed, ..Ended::stop(&mut engine) };
    lookout.announcer.announce_last();
    let last = report::Last::of(&ended, ran);
    let printed = if args.json {
        print_at_end(&format!("{}\n", last.object()), &lookout.signals)
    } else if !args.no_report {
        print_at_end(&last.in_words(), &lookout.signals)
    } else {
        Ok(())
    };
    // Nobody is left to read what is printed on a terminal that has gone.
    let printed = if signal == Some(SIGHUP) { Ok(()) } else { unprinted.map_or(printed, Err) };
    if args.json || args.no_report || printed.is_err() {
        ended.failures().for_each(|failure| teller.terminal.tell(&failure));
    }
    ended.outcome(printed, signal)
}

/// Breathes to the end, and changes what runs in between. Returns the signal that ended it, if one did.
fn breathe(engine: &mut Engine, lookout: &mut Lookout<'_>) -> Result<Option<i32>, Failure> {
    loop {
        let mut wake = None;
        let ran = engine.run_until(|status| {
            wake = lookout.look(status);
            wake.is_none().then(|| lookout.until_next_look())
        });
        ran.map_err(|error| Failure::world(format!("cannot start a thread: {error}")))?;
        match wake {
            None | Some(Wake::Deadline) => return Ok(None),
            Some(Wake::Signal(signal)) => return Ok(Some(signal)),
            Some(Wake::Rebalance) => lookout.rebalance(engine),
            Some(Wake::Reload(file)) => reload(engine, file, lookout),
        }
    }
}

/// Applies the difference to another graph. All stand still meanwhile, so that nothing is told before they run again.
fn reload(engine: &mut Engine, file: Box<GraphFile>, lookout: &mut Lookout<'_>) {
    lookout.tell_change(None);
    match engine.configure(&file.graph) {
        Ok(changes) => {
            lookout.had_failed |= changes.reports.iter().any(|(_, last)| last.has_failed);
            let is_same = changes.linked.is_empty()
                && changes.started.is_empty()
                && changes.reconfigured.is_empty()
                && changes.restarted.is_empty();
            let packets = engine.settings().packets;
            lookout.asked.done(Ok(()));
            lookout.serve();
            let pool =
                if is_same { Vec::new() } else { lookout.teller.pool_warnings(engine.graph(), packets) };
            lookout.untold = Some((UntoldChange { file, changes }, pool));
        }
        Err(error) => {
            let refused = lookout.teller.refused(&file, &error, UNCHANGED);
            lookout.asked.done(Err(refused.message.what().to_owned()));
            lookout.teller.terminal.tell(&refused.message);
        }
    }
    lookout.rebalance_from_now(engine);
}

/// Looks out for what may happen to a run.
struct Lookout<'a> {
    /// Timers count from here.
    begin: Instant,
    timers: Timers<Alarm>,
    /// What places the apps of the graph that runs, and its timer.
    rebalancer: Option<(Rebalancer, TimerId)>,
    signals: Caught,
    hangup: Hangup,
    watch: Watch,
    source: Source,
    teller: &'a Teller<'a>,
    announcer: Announcer<'a>,
    /// Whether an app had failed in its work that a change has stopped.
    had_failed: bool,
    rereading: Rereading,
    asked: Asked,
    /// The name of the instance.
    name: String,
    /// A change that is made and not told yet, and what is odd about the pool now.
    untold: Option<(UntoldChange, Vec<Message>)>,
    /// Why a change could not be printed, the first time.
    unprinted: Option<Failure>,
    /// Whether packets are followed: then the graph stays as it is.
    is_following: bool,
}

impl Lookout<'_> {
    /// What has happened, if anything. Apps run on meanwhile.
    fn look(&mut self, status: &Status) -> Option<Wake> {
        if status.stood_still.is_some() {
            self.tell_change(status.stood_still);
        }
        self.announcer.announce();
        if let Some(signal) = self.signals.signal() {
            return Some(Wake::Signal(signal));
        }
        match self.timers.next_due(self.now_ns()) {
            Some(Alarm::Deadline) => return Some(Wake::Deadline),
            Some(Alarm::Rebalance) => return Some(Wake::Rebalance),
            None => (),
        }
        let asked = self.hangup.has_come();
        if self.hangup.is_of_terminal() {
            return Some(Wake::Signal(SIGHUP));
        }
        if self.is_following {
            if asked {
                self.teller.is_followed();
            }
            return None;
        }
        if asked && self.source.is_read_once() {
            self.teller.read_once();
            return None;
        }
        if asked {
            self.watch.is_read();
        }
        let is_asked_for_sets = !self.rereading.is_under_way() && self.asked.wants_reread();
        if (asked || is_asked_for_sets || self.watch.has_changed())
            && let Err(failure) = self.rereading.begin(&self.source)
        {
            self.asked.done(Err(failure.message.what().to_owned()));
            self.teller.terminal.tell(&failure.message);
        }
        self.other_graph()
    }

    /// Tells of a change that was made, if that was not told.
    fn tell_change(&mut self, stood_still: Option<Duration>) {
        let Some((change, pool)) = self.untold.take() else { return };
        let terminal = self.teller.terminal;
        pool.iter().for_each(|warning| terminal.tell(warning));
        let told = self.teller.changes(&change, stood_still);
        if !terminal.json {
            terminal.say(&told);
        } else if self.unprinted.is_none() {
            // What could not be printed may have been cut off within a line.
            self.unprinted = print_beside_packets(&format!("{told}\n")).err();
        }
    }

    /// How long nothing can happen of which nobody tells: signals and notices wake this thread.
    fn until_next_look(&self) -> Duration {
        let now_ns = self.now_ns();
        let until_timer =
            self.timers.next_ns().map(|due_ns| Duration::from_nanos(due_ns.saturating_sub(now_ns)));
        let until_hangup = (self.hangup.may_follow() || self.untold.is_some()).then_some(SOON);
        let waits = [until_timer, until_hangup, self.watch.until_next_look(), self.asked.until_expiry()];
        waits.into_iter().flatten().fold(LOOK_EVERY, Duration::min)
    }

    /// Has apps measured and placed anew from now on, if there is something to choose.
    fn rebalance_from_now(&mut self, engine: &Engine) {
        if let Some((_, timer)) = self.rebalancer.take() {
            self.timers.cancel(timer);
        }
        self.rebalancer = Rebalancer::of(engine).map(|rebalancer| self.with_timer(rebalancer));
    }

    /// Places apps that have been measured.
    fn rebalance(&mut self, engine: &mut Engine) {
        if let Some((mut rebalancer, _)) = self.rebalancer.take() {
            rebalancer.rebalance(engine);
            self.rebalancer = Some(self.with_timer(rebalancer));
        }
    }

    fn with_timer(&mut self, rebalancer: Rebalancer) -> (Rebalancer, TimerId) {
        let timer = self.timers.after(self.now_ns(), rebalancer.measure_for(), Alarm::Rebalance);
        (rebalancer, timer)
    }

    fn now_ns(&self) -> u64 {
        self.begin.elapsed().as_nanos() as u64
    }

    /// The graph that was read; if it is wrong, that is said.
    fn other_graph(&mut self) -> Option<Wake> {
        match self.rereading.end(&self.source, self.teller)? {
            Ok(file) => {
                self.teller.warn(&file);
                Some(Wake::Reload(Box::new(file)))
            }
            Err(failure) => {
                self.asked.done(Err(failure.message.what().to_owned()));
                self.teller.terminal.tell(&failure.message);
                None
            }
        }
    }

    /// Answers on a control socket, once filters name sets.
    fn serve(&mut self) {
        if self.is_following {
            return;
        }
        if let Err(failure) = self.asked.serve(&self.name, &self.source) {
            let why = format!("`sluss set` will not reach this: {}", failure.message.what());
            self.teller.terminal.tell(&Message::warning(why));
        }
    }
}

fn settings(args: &RunArgs, name: &str, graph: &Graph, teller: &Teller<'_>) -> Result<Settings, Failure> {
    if args.workers > 1 && args.clock == ClockName::Capture {
        let why = "with several workers, each would see another time: use `--workers 1`, or the time of day";
        return Err(Failure::user(format!("`--clock capture` is for one worker; {why}")));
    }
    let counters = instances::counters(name, teller.terminal)?;
    let settings = Settings {
        burst: usize::from(args.burst),
        packets: args.pool_for(graph),
        large_packets: args.large_packets as usize,
        workers: usize::from(args.workers),
        cores: args.cpu.clone(),
        busywait: args.busywait,
        clock: match args.clock {
            ClockName::Wall => ClockKind::Wall,
            ClockName::Capture => ClockKind::Capture,
        },
        restart_first: args.restart_first,
        restart_max: args.longest_pause(),
        ..Settings::with_counters(counters)
    };
    Ok(settings)
}
