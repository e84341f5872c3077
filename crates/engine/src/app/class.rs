//! Classes: what a graph holds of an app before it runs. A class is the app's options, its name and its ports, and it starts the app.

use super::{App, Direction, Passage, PortNames, Ports, Setup};
use crate::option::{OptionError, Review};
use std::borrow::Cow;
use std::fmt;

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
pub trait Class: Clone + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// Its name: the `type` in a graph file.
    const TYPE: &'static str;
    /// Its inputs.
    const INPUTS: Ports = Ports::INPUT;
    /// Its outputs.
    const OUTPUTS: Ports = Ports::OUTPUT;
    /// Where what comes in goes.
    const PASSAGE: Passage = Passage::Through;
    /// Options that all apps of the class have in common: a graph file says them once, in a table at top level with the name of the class.
    const COMMON: &'static [&'static str] = &[];
    /// The running app.
    type App: App;

    /// What the class says of itself: the five constants, unless it is made at run time only
    /// ([`Registry::with_class`](crate::Registry::with_class)).
    fn info(&self) -> ClassInfo {
        ClassInfo::of::<Self>()
    }

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

    /// Packets that a pool must have for the limits of the app to be reached: those that it may keep beside what is in its links; or, where it never keeps
    /// more than a share of a pool, as many as that is a share of. 0 for an app that keeps none to speak of.
    fn needs_packets(&self) -> usize {
        0
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

/// What a class says of itself, the same whatever the options: known before any app starts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClassInfo {
    /// Its name: the `type` in a graph file.
    pub name: Cow<'static, str>,
    /// Its inputs.
    pub inputs: Ports,
    /// Its outputs.
    pub outputs: Ports,
    /// Where what comes in goes.
    pub passage: Passage,
    /// Options that all its apps have in common.
    pub common: &'static [&'static str],
}

impl ClassInfo {
    /// That of a class that is made at run time.
    pub fn new(name: impl Into<Cow<'static, str>>, inputs: Ports, outputs: Ports, passage: Passage) -> Self {
        ClassInfo { name: name.into(), inputs, outputs, passage, common: &[] }
    }

    /// Its ports of one direction.
    pub fn ports(&self, direction: Direction) -> &Ports {
        match direction {
            Direction::Input => &self.inputs,
            Direction::Output => &self.outputs,
        }
    }

    pub(crate) fn of<C: Class>() -> Self {
        ClassInfo { common: C::COMMON, ..ClassInfo::new(C::TYPE, C::INPUTS, C::OUTPUTS, C::PASSAGE) }
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
