//! Apps: a few methods, which the engine calls with the app's links and the pool.

mod turn;

pub(crate) use turn::{AnyApp, Breath, Plugs};

use crate::clock::ClockKind;
use crate::link::{Input, Output};
use crate::notice::Notifier;
use crate::option::{OptionError, Prepared, Review};
use crate::pool::Pool;
use crate::shm::{Counter, EntryKind, Record};
use serde::de::DeserializeOwned;
use std::any::Any;
use std::fmt;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// A running app.
///
/// The engine calls its methods from one thread at a time. A method that panics stops this app only: the packets it
/// holds are freed as `panic`, packets that arrive for it as `app_down`, and it is started again after a while.
pub trait App: Any + Send {
    /// The methods that the engine is to call.
    fn roles(&self) -> Roles {
        Roles::PUSH
    }

    /// Brings packets in from outside. Called once a breath, before any `push`.
    fn pull(&mut self, io: &mut Io<'_>) {
        let _ = io;
    }

    /// Works on the packets that wait at the inputs. Called once a breath, when any do, senders before receivers.
    fn push(&mut self, io: &mut Io<'_>) {
        let _ = io;
    }

    /// Does what has to be done from time to time, a thousand times a second unless set otherwise; a hundred times while the worker waits for devices alone.
    fn tick(&mut self, io: &mut Io<'_>) {
        let _ = io;
    }

    /// Links came or went. Called before the first breath and after each change.
    fn link(&mut self, ports: &PortNames<'_>) {
        let _ = ports;
    }

    /// The app is about to go: the last time to send or free what it holds.
    fn stop(&mut self, io: &mut Io<'_>) {
        let _ = io;
    }

    /// A line or more for the final report.
    fn report(&self) -> Option<String> {
        None
    }

    /// Whether the app failed in its work, as [`App::report`] says: a capture is damaged, a
    /// disk is full. The run goes on, and `sluss run` ends with exit code 5.
    fn has_failed(&self) -> bool {
        false
    }

    /// Packets that the app keeps between its turns.
    fn held(&self) -> usize {
        0
    }

    /// Whether the app reads or writes [`Metadata`](crate::Metadata). If any of a graph does, new packets are stamped and copies keep
    /// their stamp; else nobody touches it.
    fn uses_metadata(&self) -> bool {
        false
    }

    /// Whether the app will not bring in any more packets. A run ends when that is so of every app that pulls, and all is at rest.
    fn is_finished(&self) -> bool {
        false
    }

    /// What becomes readable when there is something to pull, for an app that pulls nothing else, and holds nothing back. Where all that pull
    /// name such a thing, or are finished, and nothing has come for a second, the worker waits for these, 10 ms at a time.
    fn wakes_on(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Whether the whole run is to end, as if its time were over: whoever it was for has gone, such as the reader of what a printer prints.
    /// Asked with the ticks.
    fn ends_run(&self) -> bool {
        false
    }

    /// When the app has something to do next of its own accord, in nanoseconds since 1970. On capture time, the clock jumps there,
    /// and stands still as long as any app names a time that is past: one that waits for room or memory names none. It counts from 0 until
    /// an app that has named 0 names another time, which it jumps to: that one knows when the capture begins. As long as any names 0 before that, nobody else
    /// pulls. On the time of day,
    /// a worker whose apps leave packets in their links, and that has nothing else to do, does not sleep beyond it.
    fn next_event_ns(&self) -> Option<u64> {
        None
    }
}

/// Which methods of an [`App`] the engine calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roles(u8);

impl Roles {
    /// Nothing: the app only has links.
    pub const NONE: Roles = Roles(0);
    /// [`App::pull`], every breath.
    pub const PULL: Roles = Roles(1);
    /// [`App::push`], in breaths that bring packets.
    pub const PUSH: Roles = Roles(2);
    /// [`App::tick`], at the tick rate.
    pub const TICK: Roles = Roles(4);

    /// These roles and those.
    pub const fn and(self, other: Roles) -> Roles {
        Roles(self.0 | other.0)
    }

    /// Whether all of those roles are among these.
    pub const fn has(self, other: Roles) -> bool {
        self.0 & other.0 == other.0
    }
}

/// The links, the pool and the time that an app works with in its turn.
///
/// Ends of links are lent: they stay where they are, and above all with this app, since each is used by one thread. Where an app has
/// changed the places of its own, the engine puts them right when the graph changes.
#[derive(Debug)]
pub struct Io<'a> {
    /// Its inputs: those that the class names, in that order; else those that are linked, sorted by name.
    pub inputs: &'a mut [Input],
    /// Its outputs, in the same order. One that is named but not linked drops what it is sent, as `unlinked`.
    pub outputs: &'a mut [Output],
    /// Where packets come from and go to.
    pub pool: &'a mut Pool,
    /// The time of this breath, in nanoseconds since 1970; it never goes back.
    pub now_ns: u64,
    /// Packets that a pull should bring in at most.
    pub burst: usize,
}

impl Io<'_> {
    /// The input and the output of an app that has one of each.
    ///
    /// # Panics
    /// If the class has no input or no output.
    #[inline]
    pub fn through(&mut self) -> (&mut Input, &mut Output) {
        (&mut self.inputs[0], &mut self.outputs[0])
    }
}

/// Names of the ports of an app, in the order of [`Io::inputs`] and [`Io::outputs`].
#[derive(Clone, Debug, Default)]
pub struct PortNames<'a> {
    /// Of the inputs.
    pub inputs: Vec<&'a str>,
    /// Of the outputs.
    pub outputs: Vec<&'a str>,
}

/// Which way packets go through a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Into the app.
    Input,
    /// Out of the app.
    Output,
}

impl Direction {
    /// `input` or `output`.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Input => "input",
            Direction::Output => "output",
        }
    }

    /// The other direction.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Direction::Input => Direction::Output,
            Direction::Output => Direction::Input,
        }
    }

    /// The verb for links at such a port.
    pub(crate) fn verb(self) -> &'static str {
        match self {
            Direction::Input => "reach",
            Direction::Output => "leave",
        }
    }

    /// The remedy where two links are at one such port.
    pub(crate) fn remedy(self) -> &'static str {
        match self {
            Direction::Input => "put a `join` between, which merges them",
            Direction::Output => "put a `tee` between to send copies to both",
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which ports a class has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ports {
    /// Those named, and no others. Each can be left without a link.
    Named(&'static [&'static str]),
    /// As many as are linked, of any name.
    Any,
}

impl Ports {
    /// No port.
    pub const NONE: Ports = Ports::Named(&[]);
    /// One, called `input`.
    pub const INPUT: Ports = Ports::Named(&["input"]);
    /// One, called `output`.
    pub const OUTPUT: Ports = Ports::Named(&["output"]);

    /// The ports that have names of their own.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Ports::Named(names) => names,
            Ports::Any => &[],
        }
    }

    /// Whether there can be a port of this name.
    pub fn allow(self, name: &str) -> bool {
        match self {
            Ports::Named(names) => names.contains(&name),
            Ports::Any => true,
        }
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ports::Named([]) => f.write_str("none"),
            Ports::Named(names) => write!(f, "`{}`", names.join("`, `")),
            Ports::Any => f.write_str("any"),
        }
    }
}

/// Where what comes into an app goes, whatever its options: by this it is known what is odd about ports without links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// It leaves by an output, whichever that is.
    Through,
    /// It leaves by an output of another name than the input's, as in a tunnel, which has two sides.
    Across,
    /// It leaves by an output, or ends in the app where none is linked.
    MayEnd,
    /// It goes out into the world, and what comes in from there leaves by the outputs: a device.
    World,
}

/// A class of apps, together with its options: what a graph holds, and what an app is started from.
///
/// ```
/// use engine::{App, Class, Io, OptionError, Setup};
///
/// /// Cuts packets to a length.
/// #[derive(Clone, Debug, PartialEq, serde::Deserialize)]
/// struct Shorten {
///     length: usize,
/// }
///
/// impl Class for Shorten {
///     const TYPE: &'static str = "shorten";
///     type App = Self;
///
///     fn start(&self, _: &mut Setup<'_>) -> Result<Self, OptionError> {
///         Ok(self.clone())
///     }
/// }
///
/// impl App for Shorten {
///     fn push(&mut self, io: &mut Io<'_>) {
///         let (input, output) = io.through();
///         while let Some(mut burst) = input.burst() {
///             burst.iter_mut().for_each(|packet| packet.truncate(self.length));
///             output.send(burst);
///         }
///     }
/// }
/// ```
pub trait Class: Clone + PartialEq + fmt::Debug + DeserializeOwned + Send + Sync + 'static {
    /// Its name: the `type` in a graph file.
    const TYPE: &'static str;
    /// Its inputs.
    const INPUTS: Ports = Ports::INPUT;
    /// Its outputs.
    const OUTPUTS: Ports = Ports::OUTPUT;
    /// Where what comes in goes.
    const PASSAGE: Passage = Passage::Through;
    /// The running app.
    type App: App;

    /// Whether the options make sense; called by [`Class::review`].
    ///
    /// # Errors
    /// Which option is wrong, and what it may be.
    fn check(&self) -> Result<(), OptionError> {
        Ok(())
    }

    /// As [`Class::check`], and says what is odd about options that make sense. It may hand over what takes [`Class::start`] long to
    /// make. Called when a graph is read from a file, while the one before it runs; else before anything of a new graph is started.
    ///
    /// # Errors
    /// As for [`Class::check`].
    fn review(&self) -> Result<Review, OptionError> {
        self.check().map(|()| Review::default())
    }

    /// Whether the ports that are linked make sense together with the options; called after [`Class::check`].
    ///
    /// # Errors
    /// Which option and which port do not go together.
    fn check_ports(&self, linked: &PortNames<'_>) -> Result<(), OptionError> {
        let _ = linked;
        Ok(())
    }

    /// Something that only one app at a time can have, such as a file or a device. Where one app is gone from a graph and another of its class claims the
    /// same, as happens when an app is renamed, the first is stopped before the second is started, which finds the first one's
    /// [legacy](Setup::legacy). Options with which it could not take that over make another claim.
    fn claim(&self) -> Option<String> {
        None
    }

    /// Things outside the graph that the app uses, such as files. A graph is refused in which an app wants for itself what another uses as well;
    /// and so is a change to one, if the other uses it until then and does not leave it to this app ([`Class::claim`]).
    fn uses(&self) -> Vec<Use> {
        Vec::new()
    }

    /// Starts an app.
    ///
    /// # Errors
    /// Which option is wrong, or what the system refused.
    fn start(&self, setup: &mut Setup<'_>) -> Result<Self::App, OptionError>;

    /// Gives a running app these options in place of `old`; it keeps what it holds and knows, or says that it cannot.
    ///
    /// # Errors
    /// As for [`Class::start`].
    fn reconfigure(
        &self,
        app: &mut Self::App,
        old: &Self,
        setup: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        let _ = (app, old, setup);
        Ok(Reconfigured::NeedsRestart)
    }
}

/// Something outside the graph that an app uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// The option that names it.
    pub option: &'static str,
    /// A text that identifies the thing, by whatever name the app knows it.
    pub identity: String,
    /// Its name, for messages.
    pub name: String,
    /// The verb for the use: "reads".
    pub verb: &'static str,
    /// Whether others may do the same at the same time.
    pub is_shared: bool,
    /// The consequence and the remedy, for a message where the use is refused.
    pub remedy: &'static str,
}

/// Whether a running app has taken on other options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reconfigured {
    /// It has, and kept what it holds and knows.
    Kept,
    /// It cannot: it is to be stopped, and another to be started.
    NeedsRestart,
}

/// Name, clock and counters of an app that starts.
///
/// A counter of the same name as before a restart goes on where it was.
#[derive(Debug)]
pub struct Setup<'a> {
    /// The name of the app in the graph.
    pub name: &'a str,
    /// Which clock the graph runs on.
    pub clock: ClockKind,
    /// The time, in nanoseconds since 1970.
    pub now_ns: u64,
    pub(crate) record: &'a mut Record,
    pub(crate) legacy: &'a mut Legacy,
    pub(crate) notifier: &'a Notifier,
    pub(crate) prepared: &'a Prepared,
}

/// Things that apps of one place have left for the next.
pub(crate) type Legacy = Option<Arc<dyn Any + Send + Sync>>;

impl Setup<'_> {
    /// A counter, shown by `sluss top` and in reports. Names are at most 24 bytes long.
    pub fn counter(&mut self, name: &str) -> Counter {
        self.record.number(name, EntryKind::Counter)
    }

    /// A number that goes up and down.
    pub fn gauge(&mut self, name: &str) -> Counter {
        self.record.number(name, EntryKind::Gauge)
    }

    /// The counter of a reason for which the app drops packets.
    pub fn drops(&mut self, reason: &str) -> Counter {
        self.record.number(reason, EntryKind::Drop)
    }

    /// The counter of packets that have arrived where they were meant to: written, sent, or swallowed by a sink.
    pub fn delivered(&mut self) -> Counter {
        self.consumed("delivered")
    }

    /// The counter of packets that have served their purpose otherwise, such as fragments that were joined.
    pub fn consumed(&mut self, how: &str) -> Counter {
        self.record.number(how, EntryKind::Delivered)
    }

    /// What the app tells whoever runs the engine by, as things happen.
    pub fn notifier(&self) -> Notifier {
        self.notifier.clone()
    }

    /// What [`Class::review`] has made of the options for this start, if it has handed over anything. An app is started again without it after it
    /// has failed.
    pub fn take_prepared<T: Send + 'static>(&mut self) -> Option<T> {
        self.prepared.take()
    }

    /// What an app before this one has left: it failed, was stopped to be given other options, or had another name and the same
    /// [claim](Class::claim). The default at first. It goes with the app's place in the graph.
    pub fn legacy<T: Default + Send + Sync + 'static>(&mut self) -> Arc<T> {
        let known = self.legacy.clone().and_then(|known| known.downcast().ok());
        known.unwrap_or_else(|| {
            let legacy = Arc::new(T::default());
            *self.legacy = Some(legacy.clone());
            legacy
        })
    }
}
