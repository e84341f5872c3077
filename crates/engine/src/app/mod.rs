//! Apps: a few methods, which the engine calls with the app's links and the pool.
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | what every app has: turns, and the packets that it keeps |
//! | `parts.rs` | what few apps have besides: a time of their own, a device that wakes them, a report |
//! | `class.rs` | what starts an app: its options, its name, its ports |
//! | `ports.rs`, `setup.rs` | names of ports; what an app is given when it starts |
//! | `turn.rs` | how the engine calls an app whose class it does not know |

mod class;
mod parts;
mod ports;
mod setup;
mod turn;

pub use class::{Class, ClassInfo, Reconfigured, Use};
pub use parts::{Device, DeviceFacts, NextEvent, Reporting, Timed, Wakeable};
pub use ports::{Direction, Passage, PortNames, Ports};
pub(crate) use setup::Legacy;
pub use setup::Setup;
pub(crate) use turn::{AnyApp, Breath, Plugs};

use crate::link::{Input, Output};
use crate::pool::Pool;
use std::any::Any;

/// A running app.
///
/// Most apps have [`App::push`] alone, and those that bring packets in [`App::roles`] and [`App::pull`]. The last three methods are doors to
/// what few have: [`Timed`], [`Wakeable`], [`Reporting`].
///
/// The engine calls its methods from one thread at a time. A method that panics stops this app only: the packets it
/// holds are freed as `panic`, packets that arrive for it as `app_down`, and it is started again after a while.
pub trait App: Any + Send {
    /// The turns that the engine is to give the app, and what it needs to know of it beforehand. Asked when the app has started, and when it has
    /// taken on other options.
    fn roles(&self) -> Roles {
        Roles::PUSH
    }

    /// Brings packets in from outside. Called once a breath, before any `push`, and before those behind can make room: so an app that would
    /// rather wait than lose packets sends no more than its output's [allowance](Output::allowance). A full link drops the rest, counted.
    fn pull(&mut self, io: &mut Io<'_>) {
        let _ = io;
    }

    /// Works on the packets that wait at the inputs. Called when any do, senders before receivers; once a breath, and again when the app was
    /// given a part of them only, since its outputs had no room for more, and their receivers have had their turns. An app that sends more
    /// packets than it gets asks for room, and leaves what it cannot send: see [`Roles::ROOM`].
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

    /// The app goes, after it was stopped. What takes long to drop, such as a table of a million entries, may be handed over here: all apps
    /// stand still until it has gone, and this is dropped on another thread while they run on. It is to hold no packets.
    ///
    /// ```
    /// # use engine::App;
    /// # use std::any::Any;
    /// struct Lookup {
    ///     table: Vec<String>,
    /// }
    ///
    /// impl App for Lookup {
    ///     fn into_discards(self: Box<Self>) -> Option<Box<dyn Any + Send>> {
    ///         Some(Box::new(self.table))
    ///     }
    /// }
    /// ```
    fn into_discards(self: Box<Self>) -> Option<Box<dyn Any + Send>> {
        None
    }

    /// Packets that the app keeps between its turns.
    fn held(&self) -> usize {
        0
    }

    /// How many of these are unused, for packets to come: a run ends though an app keeps them.
    fn spare(&self) -> usize {
        0
    }

    /// Whether the app will not bring in any more packets. A run ends when that is so of every app that pulls, and all is at rest.
    fn is_finished(&self) -> bool {
        false
    }

    /// The app itself, if it has something to do at times of its own. Whether it is `None` must not change.
    fn timed(&self) -> Option<&dyn Timed> {
        None
    }

    /// The app itself, if a device can wake it. Whether it is `None` must not change.
    fn wakeable(&self) -> Option<&dyn Wakeable> {
        None
    }

    /// The app itself, if it is a device. Whether it is `None` must not change. What it copies between memory of its own and packets, or has
    /// copied by the kernel, it counts as `copies`.
    fn device(&self) -> Option<&dyn Device> {
        None
    }

    /// The app itself, if it has more to tell than its counters do. Whether it is `None` must not change.
    fn reporting(&self) -> Option<&dyn Reporting> {
        None
    }
}

/// Which turns of an [`App`] the engine calls, and what it needs to know of it.
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
    /// No turn: the app reads or writes [`Metadata`](crate::Metadata). If any of a graph does, new packets are stamped and copies keep
    /// their stamp; else nobody touches it.
    pub const METADATA: Roles = Roles(8);
    /// No turn: the app itself looks after the room in its outputs ([`Output::allowance`]), or keeps what comes. It is given all packets that
    /// wait, and called again in the same breath when it has left some and filled a link. Others are given no more than their outputs take, if
    /// they send one packet for each.
    pub const ROOM: Roles = Roles(16);
    /// No turn: the app compares what waits at its inputs, so that a [trace](crate::Trace) shows it all of it at a time.
    pub const TOGETHER: Roles = Roles(32);

    /// These roles and those.
    pub const fn and(self, other: Roles) -> Roles {
        Roles(self.0 | other.0)
    }

    /// These roles, or none.
    ///
    /// ```
    /// use engine::Roles;
    ///
    /// let asks_for_the_time = true;
    /// assert!(Roles::PUSH.and(Roles::METADATA.when(asks_for_the_time)).has(Roles::METADATA));
    /// ```
    #[must_use]
    pub const fn when(self, condition: bool) -> Roles {
        if condition { self } else { Roles::NONE }
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
